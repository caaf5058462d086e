//! Direct counters and meters of PSA and PNA may be used only in actions of their table (PSA 1.2 §7.6.3, §7.7.1).
//! Elsewhere there is no entry that they could count or measure. Those of v1model must belong to a table at all.

use crate::context::Context;
use crate::table;
use forebay_check::hir::{self, ActionId, Call, Callee, ControlId, ExprKind, InstanceId, Local, Node, TableId};
use forebay_ir::Architecture;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::collections::BTreeSet;

/// A call of a method of a direct object.
struct Use<'a> {
    object: InstanceId,
    method: &'a str,
    span: Span,
}

/// Reports calls outside of actions of the object's table. Actions that are never invoked are ignored.
pub fn check(cx: &mut Context) {
    let hir = cx.hir;
    if cx.program.architecture == Architecture::V1Model {
        return warn_of_those_without_table(cx);
    }
    for index in (0..hir.controls.len() as u32).map(ControlId) {
        let (mut misplaced, called) = uses(hir, outside_of_actions(hir, index));
        for action in invoked(hir, index, called) {
            let (inside, _) = uses(hir, [body(hir, action)]);
            misplaced.extend(inside.into_iter().filter(|used| !belongs(hir, used.object, action)));
        }
        for used in &misplaced {
            cx.diagnostics.push(message(hir, used));
        }
    }
}

/// Warns of direct counters and meters of v1model that are used and belong to no table: nothing counts there.
fn warn_of_those_without_table(cx: &mut Context) {
    let hir = cx.hir;
    let controls = (0..hir.controls.len() as u32).map(ControlId);
    let nodes = controls.flat_map(|control| outside_of_actions(hir, control));
    let actions = hir.actions.iter().map(|action| Node::Block(&action.body));
    let mut said = BTreeSet::new();
    for used in uses(hir, nodes.chain(actions)).0 {
        if owner(hir, used.object).is_some() || !said.insert(used.object) {
            continue;
        }
        let object = &hir.instances[used.object.index()];
        let (what, property) = match used.method {
            "read" => ("meter", "meters"),
            _ => ("counter", "counters"),
        };
        let name = &object.name;
        let message = format!("the direct {what} `{name}` belongs to no table, so this has no effect");
        let warning = Diagnostic::warning(codes::DIRECT_WITHOUT_TABLE, used.span, message);
        let hint = format!("name it in the table whose entries it is for: `{property} = {name};`");
        cx.diagnostics
            .push(warning.secondary(object.span, "declared here").hint(hint));
    }
}

/// What a control executes itself: initial values of its variables, keys of its tables, and its apply block.
fn outside_of_actions(hir: &hir::Program, id: ControlId) -> impl Iterator<Item = Node<'_>> {
    let body = hir.controls[id.index()].body.as_ref();
    let values = body
        .into_iter()
        .flat_map(|body| body.locals.iter().filter_map(Local::value));
    let tables = hir.tables.iter().filter(move |table| table.control == id);
    let keys = tables.flat_map(|table| &table.keys).map(|key| &key.expr);
    let apply = body.map(|body| Node::Block(&body.apply));
    values.chain(keys).map(Node::Expr).chain(apply)
}

fn body(hir: &hir::Program, action: ActionId) -> Node<'_> {
    Node::Block(&hir.actions[action.index()].body)
}

/// The direct objects that nodes use, and the actions that they call.
fn uses<'a>(hir: &'a hir::Program, nodes: impl IntoIterator<Item = Node<'a>>) -> (Vec<Use<'a>>, Vec<ActionId>) {
    let (mut used, mut called) = (Vec::new(), Vec::new());
    for (Call { callee, .. }, span) in hir::calls(nodes) {
        match callee {
            Callee::Action(action) => called.push(*action),
            Callee::Method {
                receiver,
                extern_type,
                method,
            } => {
                let declared = &hir.externs[extern_type.index()];
                let is_direct = matches!(
                    declared.name.as_str(),
                    "DirectCounter" | "DirectMeter" | "direct_counter" | "direct_meter"
                );
                if let (ExprKind::Instance(object), true) = (&receiver.kind, is_direct) {
                    used.push(Use {
                        object: *object,
                        method: &declared.methods[*method].name,
                        span,
                    });
                }
            }
            _ => {}
        }
    }
    (used, called)
}

/// The actions that the tables of a control list, those that are `called`, and those that any of them calls.
fn invoked(hir: &hir::Program, control: ControlId, called: Vec<ActionId>) -> BTreeSet<ActionId> {
    let tables = hir.tables.iter().filter(|table| table.control == control);
    let listed = tables.flat_map(|table| &table.actions).map(|listed| listed.action);
    with_callees(hir, listed.chain(called).collect())
}

fn with_callees(hir: &hir::Program, mut pending: Vec<ActionId>) -> BTreeSet<ActionId> {
    let mut found = BTreeSet::new();
    while let Some(action) = pending.pop() {
        if found.insert(action) {
            let (_, called) = uses(hir, [body(hir, action)]);
            pending.extend(called);
        }
    }
    found
}

/// Whether an action is one of the table to which a direct object belongs, or is called by one.
fn belongs(hir: &hir::Program, object: InstanceId, action: ActionId) -> bool {
    owner(hir, object).is_some_and(|table| {
        let listed = hir.tables[table.index()].actions.iter().map(|listed| listed.action);
        with_callees(hir, listed.collect()).contains(&action)
    })
}

/// The table that names a direct object in its properties.
fn owner(hir: &hir::Program, object: InstanceId) -> Option<TableId> {
    let names = |property: &hir::TableProperty| {
        table::takes_direct_object(&property.name)
            && matches!(property.value.kind, ExprKind::Instance(id) if id == object)
    };
    let tables = (0..).zip(&hir.tables);
    let mut owners = tables.filter(|(_, table)| table.properties.iter().any(names));
    owners.next().map(|(index, _)| TableId(index))
}

fn message(hir: &hir::Program, used: &Use) -> Diagnostic {
    let name = &hir.instances[used.object.index()].name;
    let method = used.method;
    match owner(hir, used.object) {
        Some(table) => {
            let table = &hir.tables[table.index()];
            let message = format!(
                "`{name}.{method}` is called outside of the actions of its table `{}`",
                table.name
            );
            let hint = format!(
                "call it in an action of `{}`, or use an object with indices",
                table.name
            );
            Diagnostic::error(codes::MISPLACED_CALL, used.span, message)
                .secondary(table.span, format!("`{name}` belongs to this table"))
                .hint(hint)
        }
        None => {
            let message = format!("`{name}.{method}` is called, but `{name}` belongs to no table");
            Diagnostic::error(codes::MISPLACED_CALL, used.span, message)
                .hint("name it in the table whose entries it is for, or use an object with indices")
        }
    }
}
