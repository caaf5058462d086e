//! Actions. One that several tables use, or several instances in the IR, is described once. Those that controls call
//! like functions are described too, without parameters: p4c does so, and no entry can name them.

use super::{Builder, annotations, types};
use forebay_check::hir;
use forebay_p4info::ids::{SymbolKind, field_ids};
use forebay_p4info::model::{Action, P4NamedType, Param};
use forebay_syntax::ast::Direction;
use forebay_syntax::codes::lower as codes;
use std::collections::HashSet;

/// Every action that is not hidden.
pub fn all(builder: &mut Builder) -> Vec<Action> {
    let mut described = HashSet::new();
    let mut actions = listed(builder, &mut described);
    let hir = builder.cx.hir;
    for (name, origin) in &builder.cx.origins.called_actions {
        let written = &hir.actions[origin.index()].annotations;
        if !annotations::is_hidden(written) && described.insert(name.clone()) {
            let preamble = builder.symbols.preamble(SymbolKind::Action, name);
            actions.push(Action {
                preamble: annotations::annotate(preamble, written, &[]),
                params: Vec::new(),
            });
        }
    }
    actions
}

/// Every action that a table lists.
fn listed(builder: &mut Builder, described: &mut HashSet<String>) -> Vec<Action> {
    let mut actions = Vec::new();
    for index in 0..builder.cx.program.actions.len() {
        let name = builder.cx.program.actions[index].name.clone();
        let origin = builder.cx.origins.actions[index];
        let hir = builder.cx.hir;
        let written = origin.map_or(&[][..], |origin| &hir.actions[origin.index()].annotations);
        if annotations::is_hidden(written) || !described.insert(name.clone()) {
            continue;
        }
        let preamble = builder.symbols.preamble(SymbolKind::Action, &name);
        let params = origin.map_or(Vec::new(), |origin| params(builder, origin));
        actions.push(Action {
            preamble: annotations::annotate(preamble, written, &[]),
            params,
        });
    }
    actions
}

/// The parameters that are action data.
fn data(action: &hir::Action) -> impl Iterator<Item = &hir::Param> {
    action.params.iter().filter(|param| param.direction == Direction::None)
}

/// Numbers of an action's data.
pub fn param_ids(builder: &mut Builder, id: hir::ActionId) -> Vec<u32> {
    let hir = builder.cx.hir;
    let action = &hir.actions[id.index()];
    let user: Vec<_> = data(action)
        .map(|param| annotations::id(&hir.vars[param.var.index()].annotations))
        .collect();
    numbers(builder, &user, action.span)
}

/// Numbers of fields, from the `@id`s that some have.
pub fn numbers(builder: &mut Builder, user: &[Option<u32>], span: forebay_syntax::source::Span) -> Vec<u32> {
    match field_ids(user) {
        Ok(numbers) => numbers,
        Err(error) => {
            builder.cx.error(codes::INVALID_ID, span, error.to_string());
            (1..=user.len() as u32).collect()
        }
    }
}

fn params(builder: &mut Builder, id: hir::ActionId) -> Vec<Param> {
    let hir = builder.cx.hir;
    let ids = param_ids(builder, id);
    let mut params = Vec::new();
    for (param, id) in data(&hir.actions[id.index()]).zip(ids) {
        let var = &hir.vars[param.var.index()];
        let ty = crate::types::resolve(builder.cx, &var.ty);
        types::mention(builder, &ty);
        let is_plain_enum = matches!(&ty, hir::Type::Enum(id) if hir.enums[id.index()].representation.is_none());
        let type_name = match types::new_type_name(builder.cx, &ty) {
            None if is_plain_enum => crate::types::name(builder.cx, &ty),
            name => name,
        };
        params.push(Param {
            id,
            name: forebay_check::annotations::name(&var.annotations)
                .unwrap_or(&var.name)
                .to_string(),
            annotations: annotations::texts(&var.annotations, &[]),
            structured_annotations: annotations::structured(&var.annotations),
            doc: annotations::documentation(&var.annotations),
            bitwidth: if is_plain_enum {
                0
            } else {
                types::width(builder.cx, &ty)
            },
            type_name: type_name.map(|name| P4NamedType { name }),
            ..Param::default()
        });
    }
    params
}
