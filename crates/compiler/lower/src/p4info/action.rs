//! Actions and their parameters.

use super::catalog::UsedAction;
use super::number::field_ids;
use super::{Context, annotation, restriction, types};
use forebay_check::annotations;
use forebay_check::hir::{self, Type, Var};
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{Action, P4NamedType, Param};
use forebay_syntax::ast::{Annotation, Direction};
use forebay_syntax::source::Span;

/// The message of an action; `None` when it is hidden.
pub fn action(cx: &mut Context, used: &UsedAction) -> Option<Action> {
    if annotations::has(&used.action.annotations, "hidden") {
        return None;
    }
    let mut preamble = cx.symbols.preamble(SymbolKind::Action, &used.name);
    annotation::annotate(&mut preamble, &used.action.annotations, &[]);
    let data = if used.is_listed {
        action_data(cx.program, used.action)
    } else {
        Vec::new()
    };
    let ids = action_data_ids(cx, used.action);
    let params: Vec<Param> = data.iter().zip(ids).map(|(var, id)| param(cx, used, var, id)).collect();
    if used.is_listed {
        restriction::check_data(cx, &used.action.annotations, &params);
    }
    Some(Action { preamble, params })
}

/// The parameters without a direction, whose values the control plane provides.
pub fn action_data<'a>(program: &'a hir::Program, action: &hir::Action) -> Vec<&'a Var> {
    let data = action.params.iter().filter(|param| param.direction == Direction::None);
    data.map(|param| &program.vars[param.var.index()]).collect()
}

/// The ids of these parameters.
pub fn action_data_ids(cx: &mut Context, action: &hir::Action) -> Vec<u32> {
    let data = action_data(cx.program, action);
    let fields: Vec<(&[Annotation], Span)> = data.iter().map(|var| (var.annotations.as_slice(), var.span)).collect();
    field_ids(cx, &fields)
}

fn param(cx: &mut Context, used: &UsedAction, var: &Var, id: u32) -> Param {
    let ty = used.scope.types.apply(&var.ty);
    types::describe(cx, &ty);
    let type_name = match &ty {
        Type::Enum(id) if cx.program.enums[id.index()].representation.is_none() => {
            types::named(cx.program, &ty).map(|name| P4NamedType { name })
        }
        _ => types::new_type_reference(cx.program, &ty),
    };
    let (annotations, structured_annotations) = annotation::written(&var.annotations, &[]);
    Param {
        id,
        name: annotations::name(&var.annotations).unwrap_or(&var.name).to_string(),
        annotations,
        bitwidth: types::control_plane_width(cx.program, &ty),
        doc: annotation::documentation(&var.annotations),
        type_name,
        structured_annotations,
        ..Param::default()
    }
}
