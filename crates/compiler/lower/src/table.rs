//! Tables and their application.
//!
//! A table exists once for each instance of its control, and is made when it is first applied. Tables that are never
//! applied disappear.

use crate::action;
use crate::context::Context;
use crate::control;
use crate::elaborate;
use crate::entries;
use crate::expression;
use crate::externs;
use crate::externs::learning::{self, Learning};
use crate::graph;
use crate::limits;
use crate::names;
use crate::object::{Object, ObjectId};
use crate::storage;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_check::{annotations, hir};
use forebay_ir::{self as ir, BodyKind, Expr, MatchKind, SlotId, Terminator};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::Sign;
use num_traits::ToPrimitive;

/// The size of a table without a `size` property.
const DEFAULT_SIZE: u64 = 1024;

/// `t.apply()`; `hit` and `action_run` receive the results.
pub fn apply(cx: &mut Context, table: &hir::Expr, hit: Option<SlotId>, action_run: Option<SlotId>) {
    let hir::ExprKind::Table(id) = table.kind else { return };
    let Some(owner) = cx.control.filter(|_| cx.body.kind() == BodyKind::Control) else {
        cx.error(
            codes::MISPLACED_CALL,
            table.span,
            "a table cannot be applied in this block of the architecture",
        );
        return;
    };
    if !graph::is_reachable(cx) {
        return;
    }
    let mut keys = evaluate_keys(cx, id);
    if entries_may_change(cx, id) {
        // Actions identify the entry by the key that was looked up.
        keys.iter_mut().for_each(|key| key.is_computed = true);
    }
    let known = control::instance(cx, owner).and_then(|instance| instance.tables.get(&id).copied());
    let lowered = match known {
        Some(lowered) => lowered,
        None => declare(cx, owner, id, &keys),
    };
    if cx.unreached == 0 {
        cx.program.tables[lowered.index()].is_hidden = is_hidden(cx, id);
    }
    assign_computed_keys(cx, lowered, keys);
    let next = graph::new_block(cx);
    graph::terminate(
        cx,
        Terminator::Apply {
            table: lowered,
            hit,
            action_run,
            next,
        },
    );
    graph::start(cx, next);
    let exit_flag = control::instance(cx, owner).and_then(|instance| instance.exit_flag);
    if let Some(flag) = exit_flag {
        graph::when(cx, Expr::Slot(flag), graph::exit);
    }
}

fn is_hidden(cx: &Context, id: hir::TableId) -> bool {
    annotations::has(&cx.hir.tables[id.index()].annotations, "hidden")
}

/// `t.apply().hit` as a truth value.
pub fn apply_for_hit(cx: &mut Context, apply_call: &hir::Expr) -> Expr {
    let hit = storage::temporary(cx, 1);
    if let hir::ExprKind::Call(call) = &apply_call.kind
        && let hir::Callee::TableApply(table) = &call.callee
    {
        apply(cx, table, Some(hit), None);
    }
    Expr::Slot(hit)
}

/// The value of a key field where the table is applied.
struct Key {
    value: Expr,
    /// Whether evaluating it took operations, so that it must be stored.
    is_computed: bool,
}

fn evaluate_keys(cx: &mut Context, id: hir::TableId) -> Vec<Key> {
    let hir = cx.hir;
    let declared = &hir.tables[id.index()].keys;
    let mut keys = Vec::new();
    for (index, key) in declared.iter().enumerate() {
        let before = cx.operations;
        let mut value = expression::scalar(cx, &key.expr);
        if declared[index + 1..]
            .iter()
            .any(|later| expression::has_effects(&later.expr))
        {
            value = graph::save_expr(cx, value);
        }
        let is_computed = cx.operations != before;
        keys.push(Key { value, is_computed });
    }
    keys
}

/// If a key is computed, the table reads a slot, which every application must set.
fn assign_computed_keys(cx: &mut Context, table: ir::TableId, keys: Vec<Key>) {
    for (index, key) in keys.into_iter().enumerate() {
        let declared = cx.program.tables[table.index()]
            .keys
            .get(index)
            .map(|key| key.expr.clone());
        if let (true, Some(Expr::Slot(slot))) = (key.is_computed, declared) {
            graph::assign(cx, slot, key.value);
        }
    }
}

fn declare(cx: &mut Context, owner: ObjectId, id: hir::TableId, keys: &[Key]) -> ir::TableId {
    let table = &cx.hir.tables[id.index()];
    let scope = control::instance(cx, owner).map_or(String::new(), |instance| instance.scope.path.clone());
    let name = names::control_plane_name(&scope, &table.name, &table.annotations);
    names::declare(cx, "tables", &name, table.span);
    let location = cx.locate(table.span);
    let keys = declare_keys(cx, table, keys);
    let learns = entries_may_change(cx, id);
    cx.learning = learns.then(|| Learning::new(id, ir::TableId(cx.program.tables.len() as u32), &keys));
    let mut actions: Vec<_> = table
        .actions
        .iter()
        .map(|listed| list_action(cx, owner, listed))
        .collect();
    cx.learning = None;
    let default_action = default_action(cx, table, &mut actions);
    let (entries, places) = entries::lower(cx, table, &keys, &actions).into_iter().unzip();
    let size = table.size.as_ref().map(|size| constant_size(cx, size));
    // Programs write size 0 for a table that exists only to be logged; p4c treats it as no size.
    let size = size.filter(|size| *size > 0).unwrap_or(DEFAULT_SIZE);
    let id_in_program = ir::TableId(cx.program.tables.len() as u32);
    let mut lowered = ir::Table {
        name: name.clone(),
        keys,
        actions,
        default_action,
        default_is_const: table.default_action.as_ref().is_some_and(|default| default.is_const),
        entries,
        entries_are_const: table.entries_are_const,
        size,
        implementation: None,
        empty_group_action: None,
        direct_counter: None,
        direct_meter: None,
        supports_timeout: false,
        deletes_idle: false,
        expire_seconds: learning::expire_seconds(&table.annotations),
        // Until it is applied where it can be executed: P4Info leaves out others.
        is_hidden: true,
        location,
    };
    for property in &table.properties {
        apply_property(cx, &mut lowered, property);
    }
    lowered.empty_group_action = empty_group_action(cx, table, &lowered);
    lowered.deletes_idle = lowered.supports_timeout && deletes_idle(cx, id);
    if adds_on_miss(cx, id) {
        check_learning_keys(cx, table, &lowered.keys);
        lowered.deletes_idle = true;
    }
    lowered.supports_timeout |= lowered.deletes_idle;
    cx.program.tables.push(lowered);
    cx.table_declarations.push(id);
    cx.entry_places.push(places);
    if let Some(instance) = control::instance(cx, owner) {
        instance.tables.insert(id, id_in_program);
    }
    id_in_program
}

fn declare_keys(cx: &mut Context, table: &hir::Table, keys: &[Key]) -> Vec<ir::TableKey> {
    let mut declared = Vec::new();
    for (key, value) in table.keys.iter().zip(keys) {
        let name = names::key_name(cx.hir, cx.sources, key);
        let width = value.value.width(&cx.program);
        let expr = if value.is_computed {
            Expr::Slot(storage::temporary(cx, width))
        } else {
            value.value.clone()
        };
        let match_kind = match_kind(cx, &key.match_kind, key.span);
        declared.push(ir::TableKey {
            name,
            expr,
            width,
            match_kind,
        });
    }
    let lpm_keys = declared.iter().filter(|key| key.match_kind == MatchKind::Lpm).count();
    if lpm_keys > 1 {
        let message = format!("table `{}` has {lpm_keys} keys of match kind lpm", table.name);
        cx.error(codes::INVALID_KEYS, table.span, message);
    }
    declared
}

/// A match kind by its name.
pub fn match_kind(cx: &mut Context, name: &str, span: Span) -> MatchKind {
    match name {
        "exact" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" => MatchKind::Ternary,
        "range" => MatchKind::Range,
        "optional" => MatchKind::Optional,
        "selector" => MatchKind::Selector,
        _ => {
            let message = format!("the match kind `{name}` cannot be executed");
            cx.error(codes::UNSUPPORTED_MATCH_KIND, span, message);
            MatchKind::Exact
        }
    }
}

fn list_action(cx: &mut Context, owner: ObjectId, listed: &hir::TableAction) -> ir::TableAction {
    ir::TableAction {
        action: action::for_table(cx, owner, listed),
        table_only: annotations::has(&listed.annotations, "tableonly"),
        default_only: annotations::has(&listed.annotations, "defaultonly"),
    }
}

/// The default action; `NoAction` if the program names none, which is added to the list if necessary (§14.2.1.3).
fn default_action(cx: &mut Context, table: &hir::Table, actions: &mut Vec<ir::TableAction>) -> ir::ActionCall {
    if let Some(default) = &table.default_action {
        let args = action_data(cx, actions, default.action, &default.args);
        return ir::ActionCall {
            action: default.action as u32,
            args,
        };
    }
    let listed = table
        .actions
        .iter()
        .position(|listed| is_no_action(&cx.hir.actions[listed.action.index()]));
    let index = listed.unwrap_or_else(|| {
        let existing = cx
            .program
            .actions
            .iter()
            .position(|action| action.name == "NoAction" && action.params.is_empty());
        let action = match existing {
            Some(index) => ir::ActionId(index as u32),
            None => action::do_nothing(cx),
        };
        actions.push(ir::TableAction {
            action,
            table_only: false,
            default_only: true,
        });
        actions.len() - 1
    });
    ir::ActionCall {
        action: index as u32,
        args: Vec::new(),
    }
}

/// The action for empty groups of the table's selector. The table must have a selector.
fn empty_group_action(cx: &mut Context, table: &hir::Table, lowered: &ir::Table) -> Option<ir::ActionCall> {
    let written = table.empty_group_action.as_ref()?;
    let profile = lowered.implementation.map(|profile| profile.index());
    let has_groups = profile.is_some_and(|index| cx.program.action_profiles[index].selector.is_some());
    if !has_groups && !cx.aborted {
        let message = format!(
            "table `{}` has an action of empty groups, but no action selector",
            table.name
        );
        cx.error(codes::INVALID_PROPERTY, written.span, message);
        return None;
    }
    let args = action_data(cx, &lowered.actions, written.action, &written.args);
    Some(ir::ActionCall {
        action: written.action as u32,
        args,
    })
}

fn is_no_action(action: &hir::Action) -> bool {
    action.control.is_none() && action.name == "NoAction"
}

/// Arguments for the data of an action of a table's list.
pub fn action_data(cx: &mut Context, actions: &[ir::TableAction], index: usize, args: &[hir::Expr]) -> Vec<Bits> {
    let Some(listed) = actions.get(index) else {
        return Vec::new();
    };
    let widths: Vec<u32> = cx.program.actions[listed.action.index()]
        .params
        .iter()
        .map(|param| param.width)
        .collect();
    let each = widths.into_iter().enumerate();
    each.map(|(index, width)| {
        args.get(index)
            .map_or_else(|| Bits::zero(width), |arg| constant(cx, arg, width))
    })
    .collect()
}

/// A compile-time value of a known width.
pub fn constant(cx: &mut Context, expr: &hir::Expr, width: u32) -> Bits {
    match expression::expression(cx, expr) {
        Value::Scalar(Expr::Const(bits)) if bits.width() == width => bits,
        Value::Integer(number) => Bits::from_bigint(width, &number),
        _ => {
            if !cx.aborted {
                cx.error(
                    codes::NOT_COMPILE_TIME,
                    expr.span,
                    "this value must be known at compile time",
                );
            }
            Bits::zero(width)
        }
    }
}

/// A compile-time number of elements.
pub fn constant_size(cx: &mut Context, expr: &hir::Expr) -> u64 {
    let value = expression::expression(cx, expr);
    size_of(cx, Some(&value), expr.span)
}

/// A constructor argument that is a number of elements.
pub fn size_of(cx: &mut Context, value: Option<&Value>, span: Span) -> u64 {
    let (size, is_negative) = match value {
        Some(Value::Scalar(Expr::Const(bits))) => (bits.try_to_u64(), false),
        Some(Value::Integer(number)) => (number.to_u64(), number.sign() == Sign::Minus),
        _ => {
            if !cx.aborted {
                cx.error(codes::NOT_COMPILE_TIME, span, "the size must be known at compile time");
            }
            return 0;
        }
    };
    match size.filter(|size| *size <= limits::MAX_SIZE) {
        Some(size) => size,
        None => {
            let message = if is_negative {
                "a size cannot be negative".to_string()
            } else {
                format!("a size can be at most {}", limits::MAX_SIZE)
            };
            cx.error(codes::SIZE_TOO_LARGE, span, message);
            0
        }
    }
}

/// Whether actions of a table may change its entries: whether the table has one of the properties for that, and it is
/// not `false`.
fn entries_may_change(cx: &mut Context, id: hir::TableId) -> bool {
    let properties = &cx.hir.tables[id.index()].properties;
    properties
        .iter()
        .filter(|property| learning::PROPERTIES.contains(&property.name.as_str()))
        .any(|property| expression::expression(cx, &property.value) != Value::boolean(false))
}

/// Whether a property of a table exists and has this truth value.
pub fn property_is(cx: &mut Context, id: hir::TableId, name: &str, expected: bool) -> bool {
    let properties = &cx.hir.tables[id.index()].properties;
    let property = properties.iter().find(|property| property.name == name);
    property.is_some_and(|property| expression::expression(cx, &property.value) == Value::boolean(expected))
}

/// Whether the data plane adds entries to a table.
fn adds_on_miss(cx: &mut Context, id: hir::TableId) -> bool {
    property_is(cx, id, learning::ADD_ON_MISS, true)
}

/// Whether idle entries of a table are deleted instead of being reported to the control plane.
fn deletes_idle(cx: &mut Context, id: hir::TableId) -> bool {
    let properties = &cx.hir.tables[id.index()].properties;
    properties.iter().any(|property| {
        let is_enum = Property::named(&property.name) == Some(Property::IdleTimeout)
            && matches!(property.value.ty, hir::Type::Enum(_));
        is_enum && {
            let value = expression::expression(cx, &property.value);
            let ty = property.value.ty.clone();
            externs::member_name(cx, &value, &ty, property.value.span) == "AUTO_DELETE"
        }
    })
}

/// Checks that a table to which the data plane adds entries has exact keys.
fn check_learning_keys(cx: &mut Context, table: &hir::Table, keys: &[ir::TableKey]) {
    for (key, declared) in keys.iter().zip(&table.keys) {
        if key.match_kind != MatchKind::Exact {
            let message = format!(
                "table `{}` has `{}`, so its keys are exact",
                table.name,
                learning::ADD_ON_MISS
            );
            cx.error(codes::INVALID_KEYS, declared.span, message);
        }
    }
}

/// The meaning of a table property, which has different names in different architectures.
#[derive(Clone, Copy, PartialEq)]
enum Property {
    Implementation,
    Counter,
    Meter,
    IdleTimeout,
}

impl Property {
    fn named(name: &str) -> Option<Property> {
        Some(match name {
            "implementation" | "psa_implementation" | "pna_implementation" => Property::Implementation,
            "counters" | "psa_direct_counter" | "pna_direct_counter" => Property::Counter,
            "meters" | "psa_direct_meter" | "pna_direct_meter" => Property::Meter,
            "support_timeout" | "psa_idle_timeout" | "pna_idle_timeout" => Property::IdleTimeout,
            _ => return None,
        })
    }
}

/// Whether a property of this name takes a direct counter or meter.
pub fn takes_direct_object(name: &str) -> bool {
    matches!(Property::named(name), Some(Property::Counter | Property::Meter))
}

fn apply_property(cx: &mut Context, table: &mut ir::Table, property: &hir::TableProperty) {
    let Some(kind) = Property::named(&property.name) else {
        return;
    };
    if kind == Property::IdleTimeout {
        table.supports_timeout = has_timeout(cx, property);
        return;
    }
    match property_object(cx, table, property, kind) {
        Some(Object::ActionProfile(profile)) => table.implementation = Some(profile),
        Some(Object::DirectCounter(counter)) => table.direct_counter = Some(counter),
        Some(Object::DirectMeter(meter, slot)) => table.direct_meter = Some(ir::DirectMeter { meter, slot }),
        _ => {}
    }
}

/// Whether a table has idle time-outs: `true`, or a member of an enum that is not the one for none.
fn has_timeout(cx: &mut Context, property: &hir::TableProperty) -> bool {
    let value = expression::expression(cx, &property.value);
    match &property.value.ty {
        hir::Type::Enum(_) => {
            let ty = property.value.ty.clone();
            externs::member_name(cx, &value, &ty, property.value.span) != "NO_TIMEOUT"
        }
        _ => value == Value::boolean(true),
    }
}

/// The extern object that a property names or makes.
fn property_object(
    cx: &mut Context,
    table: &ir::Table,
    property: &hir::TableProperty,
    kind: Property,
) -> Option<Object> {
    let value = match &property.value.kind {
        hir::ExprKind::Construct(instance) => {
            let object = elaborate::property(cx, instance, &property.annotations, &table.name);
            object.map_or(Value::Void, Value::Object)
        }
        _ => expression::expression(cx, &property.value),
    };
    let object = match value {
        Value::Object(id) => Some(cx.object(id).clone()),
        _ => None,
    };
    let fits = matches!(
        (&object, kind),
        (Some(Object::ActionProfile(_)), Property::Implementation)
            | (Some(Object::DirectCounter(_)), Property::Counter)
            | (Some(Object::DirectMeter(..)), Property::Meter)
            | (Some(Object::Unsupported), _)
    );
    if !fits && !cx.aborted {
        wrong_object(cx, property, kind);
    }
    object
}

/// Reports a property whose value is not a single object of the required kind.
fn wrong_object(cx: &mut Context, property: &hir::TableProperty, kind: Property) {
    let is_list = matches!(
        property.value.ty,
        hir::Type::Tuple(_) | hir::Type::Record(_) | hir::Type::List(_)
    );
    let object = match kind {
        Property::Counter => "direct counter",
        Property::Meter => "direct meter",
        Property::Implementation => "action profile or selector",
        Property::IdleTimeout => "time-out",
    };
    let message = if is_list {
        format!("the property `{}` takes one {object}, not a list", property.name)
    } else {
        format!("the property `{}` takes one {object}", property.name)
    };
    let mut diagnostic = Diagnostic::error(codes::INVALID_PROPERTY, property.span, message);
    if is_list && matches!(kind, Property::Counter | Property::Meter) {
        let hint = format!(
            "PSA and P4Runtime have one {object} for each entry of a table; use indexed ones for the rest, with the index in the \
             action's data"
        );
        diagnostic = diagnostic.hint(hint);
    }
    cx.diagnostics.push(diagnostic);
}
