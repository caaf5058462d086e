//! Headers of a v1model program that are extracted and never emitted: they are missing in every packet that leaves.
//!
//! A header whose validity the program sets or copies is left out, as it may be removed on purpose, or its contents go
//! on in another header. So is the header of packets from controllers, which ends at the switch.

use crate::context::Context;
use forebay_check::annotations;
use forebay_ir::{Architecture, Body, Expr, HeaderId, Op, Role, SlotId};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use std::collections::BTreeSet;

/// Warns of such headers.
pub fn check(cx: &mut Context) {
    let Some(deparser) = cx.program.stages.get(&Role::Deparser) else {
        return;
    };
    if cx.program.architecture != Architecture::V1Model {
        return;
    }
    let emitted = emitted(&cx.program.bodies[deparser.index()]);
    let moved = moved(cx);
    let lost = cx.extracted.iter().filter(|(header, _)| {
        let valid = cx.program.headers[header.index()].valid;
        !emitted.contains(*header) && !moved.contains(&valid) && !is_of_a_controller(cx, **header)
    });
    let hint = "write `PACKET.emit(HEADER);` in the deparser; where a header is to be removed, `HEADER.setInvalid();`";
    let warnings: Vec<Diagnostic> = lost
        .map(|(header, span)| {
            let name = &cx.program.headers[header.index()].name;
            let (message, cause) = if emitted.is_empty() {
                let message =
                    "the deparser emits nothing: what the parser extracts is missing in all packets that leave";
                (message.to_string(), "nothing is emitted".to_string())
            } else {
                let message =
                    format!("`{name}` is extracted, but never emitted: it is missing in all packets that leave");
                // Elements of a stack are extracted at one place.
                (message, format!("lost at {span:?}"))
            };
            Diagnostic::warning(codes::NEVER_EMITTED, *span, message)
                .cause(cause)
                .hint(hint)
        })
        .collect();
    for warning in warnings {
        cx.diagnostics.push(warning);
    }
}

/// The slots that the program assigns, or copies as they are: a header whose validity is among them may be removed on
/// purpose, added, or go on as another one.
pub fn moved(cx: &Context) -> BTreeSet<SlotId> {
    cx.program.bodies.iter().flat_map(assigned).collect()
}

/// Whether the program sends packets back: what leaves a pass may be for the next one alone.
pub fn recirculates(cx: &Context) -> bool {
    let mut operations = cx.program.bodies.iter().flat_map(operations);
    operations.any(|op| matches!(op, Op::Recirculate { .. }))
}

/// All operations of a body.
pub fn operations(body: &Body) -> impl Iterator<Item = &Op> {
    body.blocks
        .iter()
        .flat_map(|block| &block.statements)
        .map(|statement| &statement.op)
}

/// The headers that a deparser emits, if they are valid.
pub fn emitted(deparser: &Body) -> BTreeSet<HeaderId> {
    let headers = operations(deparser).filter_map(|op| match op {
        Op::Emit { header } => Some(*header),
        _ => None,
    });
    headers.collect()
}

/// The slots that a body assigns, and those that it copies as they are.
fn assigned(body: &Body) -> Vec<SlotId> {
    let mut slots = Vec::new();
    for op in operations(body) {
        if let Op::Assign { slot, value } = op {
            slots.push(*slot);
            if let Expr::Slot(copied) = value {
                slots.push(*copied);
            }
        }
    }
    slots
}

fn is_of_a_controller(cx: &Context, header: HeaderId) -> bool {
    let name = &cx.program.headers[header.index()].type_name;
    let mut types = cx.hir.composites.iter();
    types.any(|ty| ty.name == *name && annotations::has(&ty.annotations, "controller_header"))
}
