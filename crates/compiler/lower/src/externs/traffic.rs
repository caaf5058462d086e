//! Requests to the traffic manager, and `random`.

use super::{Args, receive};
use crate::build;
use crate::context::Context;
use crate::graph;
use crate::place::Place;
use crate::storage::Storage;
use crate::types;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_check::hir::Type;
use forebay_ir::{CloneKind, Expr, Op, SlotId};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::collections::BTreeSet;

/// `mark_to_drop(standard_metadata)`: sets the drop port and no multicast group. Without an argument, it concerns the
/// current packet.
pub fn mark_to_drop(cx: &mut Context, args: &Args) {
    let own = args.place(0).cloned();
    for (field, value) in [
        ("egress_spec", Bits::ones as fn(u32) -> Bits),
        ("mcast_grp", Bits::zero),
    ] {
        let slot = match &own {
            Some(place) => field_slot(cx, place, &args.ty(0), field),
            None => cx.program.intrinsic.get(field).copied(),
        };
        if let Some(slot) = slot {
            let width = cx.program.slot(slot).width;
            graph::assign(cx, slot, Expr::Const(value(width)));
        }
    }
}

/// The slot of a field of a struct in a place.
fn field_slot(cx: &Context, place: &Place, ty: &Type, name: &str) -> Option<SlotId> {
    let Type::Composite(id, args) = types::resolve(cx, ty) else {
        return None;
    };
    let index = types::fields(cx, id, &args)
        .iter()
        .position(|(field, _)| field == name)?;
    match place.component(index).as_storage() {
        Some(Storage::Scalar(slot)) => Some(*slot),
        _ => None,
    }
}

/// `random(result, low, high)`
pub fn random(cx: &mut Context, args: &Args) {
    let low = args.scalar(cx, 1);
    let high = args.scalar(cx, 2);
    receive(cx, args.place(0), &args.ty(0), |slot| Op::Random { low, high, slot });
}

/// `clone(type, session)`, with data to preserve in the two longer forms.
pub fn clone(cx: &mut Context, args: &Args, function: &str) {
    let kind = match args.member(cx, 0).as_str() {
        "E2E" => CloneKind::EgressToEgress,
        _ => CloneKind::IngressToEgress,
    };
    let session = args.scalar(cx, 1);
    let field_list = preserved(cx, args, 2, function);
    graph::emit(
        cx,
        Op::Clone {
            kind,
            session,
            field_list,
        },
    );
}

/// `resubmit(data)`, `resubmit_preserving_field_list(index)`
pub fn resubmit(cx: &mut Context, args: &Args, function: &str) {
    let field_list = preserved(cx, args, 0, function);
    graph::emit(cx, Op::Resubmit { field_list });
}

/// `recirculate(data)`, `recirculate_preserving_field_list(index)`
pub fn recirculate(cx: &mut Context, args: &Args, function: &str) {
    let field_list = preserved(cx, args, 0, function);
    graph::emit(cx, Op::Recirculate { field_list });
}

/// The field list that an argument names by its index or, in the older functions, by its fields.
fn preserved(cx: &mut Context, args: &Args, index: usize, function: &str) -> Option<Expr> {
    if function.ends_with("_preserving_field_list") {
        let list = args.scalar(cx, index);
        note_list(cx, &list, args.span(index), function);
        let width = list.width(&cx.program);
        return Some(build::resize(list, width, 8, false));
    }
    let data = args.value(cx, index);
    let mut slots = Vec::new();
    let mut is_plain = true;
    data.visit(&mut |leaf| match leaf {
        Expr::Slot(slot) => slots.push(*slot),
        Expr::Const(_) => {}
        _ => is_plain = false,
    });
    if !is_plain {
        cx.error(
            codes::UNSUPPORTED_EXPRESSION,
            args.span(index),
            "only variables and constants can be preserved",
        );
    }
    if slots.is_empty() || data == Value::Void {
        return None;
    }
    anonymous_list(cx, slots, args, index)
}

/// The field lists that calls name.
#[derive(Debug, Default)]
pub struct NamedLists {
    /// Their numbers, those of lists without fields too.
    numbers: BTreeSet<u32>,
    /// Whether a number is computed, so that it may be any.
    is_computed: bool,
    /// Where packets are sent back with a list 0 that has no fields, written as a number.
    sent_back_with_none: Vec<Span>,
}

/// Notes the list that a call names, and warns of one without fields. Without a list a packet can be cloned, but not
/// sent back: list 0 says that nothing is preserved, unless [`warn_of_lists`] finds a reason to doubt it.
fn note_list(cx: &mut Context, list: &Expr, span: Span, function: &str) {
    let Expr::Const(number) = list else {
        cx.named_lists.is_computed = true;
        return;
    };
    let Ok(number) = u32::try_from(number.to_u64_saturating()) else {
        return;
    };
    cx.named_lists.numbers.insert(number);
    if cx.program.field_lists.contains_key(&number) {
        return;
    }
    if number == 0 && !function.starts_with("clone") {
        // A name for 0, as a constant or macro, says that it is meant.
        let has_name = !cx
            .sources
            .text(span)
            .starts_with(|letter: char| letter.is_ascii_digit());
        if !has_name {
            cx.named_lists.sent_back_with_none.push(span);
        }
    } else {
        let warning = empty_list(number, span);
        cx.diagnostics.push(warning);
    }
}

/// Warns where packets are sent back with list 0, which has no fields, if the program marks fields for a list that no
/// call names: it may be meant.
pub fn warn_of_lists(cx: &mut Context) {
    let named = &cx.named_lists;
    let mut lists = cx.program.field_lists.keys();
    let Some(forgotten) = lists.find(|number| !named.is_computed && !named.numbers.contains(*number)) else {
        return;
    };
    let hint = format!("no call names list {forgotten}, for which fields are marked: is it meant?");
    let spans = named.sent_back_with_none.iter();
    let warnings: Vec<Diagnostic> = spans.map(|span| empty_list(0, *span).hint(hint.clone())).collect();
    for warning in warnings {
        cx.diagnostics.push(warning);
    }
}

fn empty_list(number: u32, span: Span) -> Diagnostic {
    let message = format!("no metadata field is marked with @field_list({number}), so nothing is preserved");
    Diagnostic::warning(codes::EMPTY_FIELD_LIST, span, message)
}

/// A field list for fields that are given as arguments. It is numbered from the top, where programs do not number
/// theirs.
fn anonymous_list(cx: &mut Context, slots: Vec<SlotId>, args: &Args, index: usize) -> Option<Expr> {
    let lists = &mut cx.program.field_lists;
    let known = lists
        .iter()
        .find(|(_, list)| **list == slots)
        .map(|(number, _)| *number);
    let number = known.or_else(|| (0..=255).rev().find(|number| !lists.contains_key(number)));
    let Some(number) = number else {
        cx.error(
            codes::SIZE_TOO_LARGE,
            args.span(index),
            "there can be at most 256 field lists",
        );
        return None;
    };
    lists.insert(number, slots);
    cx.named_lists.numbers.insert(number);
    Some(build::constant(8, u128::from(number)))
}

/// `truncate(bytes)`
pub fn truncate(cx: &mut Context, args: &Args) {
    let bytes = args.scalar(cx, 0);
    graph::emit(cx, Op::Truncate { bytes });
}
