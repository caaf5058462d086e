//! Hashes and checksums.

use super::{Args, receive};
use crate::assign;
use crate::calculations;
use crate::context::Context;
use crate::graph;
use crate::place::Place;
use crate::storage::{self, Storage};
use crate::value::Value;
use forebay_ir::{CustomCrc, DataItem, Expr, HashAlgorithm, Op, Role, SlotId};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::collections::BTreeSet;

/// An algorithm by its name in `HashAlgorithm` of v1model, `PSA_HashAlgorithm_t` or `PNA_HashAlgorithm_t`. A custom
/// algorithm gets parameters that the control plane may set.
pub fn algorithm(cx: &mut Context, name: &str, span: Span) -> HashAlgorithm {
    match CustomCrc::from_name(&name.to_lowercase()) {
        Some(crc) => calculations::add(cx, crc),
        None => fixed_algorithm(cx, name, span),
    }
}

/// An algorithm whose parameters cannot be set: custom CRCs are the plain ones.
pub fn fixed_algorithm(cx: &mut Context, name: &str, span: Span) -> HashAlgorithm {
    if let Some(crc) = CustomCrc::from_name(&name.to_lowercase()) {
        return crc.plain();
    }
    let known = match name {
        "ONES_COMPLEMENT16" => Some(HashAlgorithm::Csum16),
        "TARGET_DEFAULT" => Some(HashAlgorithm::Crc32),
        "IDENTITY" | "CRC32" | "CRC16" | "TOEPLITZ" => HashAlgorithm::from_name(&name.to_lowercase()),
        _ => HashAlgorithm::from_name(name),
    };
    known.unwrap_or_else(|| {
        if !name.is_empty() {
            let message = format!("the hash algorithm `{name}` is not known");
            cx.error(codes::UNSUPPORTED_EXTERN, span, message);
        }
        HashAlgorithm::Crc32
    })
}

fn algorithm_argument(cx: &mut Context, args: &Args, index: usize) -> HashAlgorithm {
    let name = args.member(cx, index);
    algorithm(cx, &name, args.span(index))
}

/// Warns of a call that belongs into v1model's other control for checksums.
pub fn warn_of_other_control(cx: &mut Context, function: &str, span: Span) {
    let (message, hint) = match cx.role {
        Some(Role::ComputeChecksum) if function.starts_with("verify_checksum") => (
            "a checksum that is verified in ComputeChecksum is looked at by nothing",
            "write `update_checksum`, or verify it in the control before ingress",
        ),
        Some(Role::VerifyChecksum) if function.starts_with("update_checksum") => (
            "a checksum that is updated in VerifyChecksum knows nothing of what ingress and egress change",
            "write `verify_checksum`, or update it in the control after egress",
        ),
        _ => return,
    };
    let note = "the order is V1Switch(parser, VerifyChecksum, ingress, egress, ComputeChecksum, deparser)";
    let warning = Diagnostic::warning(codes::CHECKSUM_IN_OTHER_CONTROL, span, message);
    cx.diagnostics.push(warning.note(note).hint(hint));
}

/// Whether an Internet checksum is computed over data that has the checksum in it.
fn is_of_itself(data: &[DataItem], algorithm: HashAlgorithm, checksum: &Expr) -> bool {
    let is_itself = |item: &DataItem| matches!(item, DataItem::Value(value) if value == checksum);
    algorithm == HashAlgorithm::Csum16 && matches!(checksum, Expr::Slot(_)) && data.iter().any(is_itself)
}

/// Warns of an Internet checksum over data that has the checksum in it: the old one is added.
fn warn_of_itself(cx: &mut Context, span: Span) {
    let message = "the checksum is among the data that it is computed from";
    let warning = Diagnostic::warning(codes::CHECKSUM_OF_ITSELF, span, message);
    cx.diagnostics.push(warning.hint("leave it out: it counts as 0"));
}

/// Warns of checksums that are updated over themselves, but for those that the program sets to 0: where it does so
/// before, what is computed is right.
pub fn warn_of_updates(cx: &mut Context) {
    let operations = cx.program.bodies.iter().flat_map(crate::lost::operations);
    let zeroed: BTreeSet<SlotId> = operations
        .filter_map(|op| match op {
            Op::Assign {
                slot,
                value: Expr::Const(value),
            } => (value.to_u64_saturating() == 0).then_some(*slot),
            _ => None,
        })
        .collect();
    for (checksum, span) in std::mem::take(&mut cx.updated_over_themselves) {
        if !zeroed.contains(&checksum) {
            warn_of_itself(cx, span);
        }
    }
}

/// `hash(result, algorithm, base, data, max)`
pub fn hash(cx: &mut Context, args: &Args) {
    let algorithm = algorithm_argument(cx, args, 1);
    let base = args.scalar(cx, 2);
    let data = args.value(cx, 3);
    let data = data_items(cx, &data);
    let max = args.scalar(cx, 4);
    receive(cx, args.place(0), &args.ty(0), |slot| Op::Hash {
        algorithm,
        data,
        range: Some((base, max)),
        slot,
    });
}

/// `verify_checksum(condition, data, checksum, algorithm)`
pub fn verify(cx: &mut Context, args: &Args, payload: bool) {
    let condition = args.scalar(cx, 0);
    let data = args.value(cx, 1);
    let data = data_items(cx, &data);
    let checksum = args.scalar(cx, 2);
    let algorithm = algorithm_argument(cx, args, 3);
    if is_of_itself(&data, algorithm, &checksum) {
        warn_of_itself(cx, args.span(1));
    }
    graph::emit(
        cx,
        Op::VerifyChecksum {
            condition,
            data,
            checksum,
            algorithm,
            payload,
        },
    );
}

/// `update_checksum(condition, data, checksum, algorithm)`: the checksum keeps its value when the condition fails.
pub fn update(cx: &mut Context, args: &Args, payload: bool) {
    let condition = args.scalar(cx, 0);
    let data = args.value(cx, 1);
    let data = data_items(cx, &data);
    let algorithm = algorithm_argument(cx, args, 3);
    let Some(place) = args.place(2) else { return };
    if let Some(Storage::Scalar(slot)) = place.as_storage() {
        if is_of_itself(&data, algorithm, &Expr::Slot(*slot)) {
            cx.updated_over_themselves.push((*slot, args.span(1)));
        }
        graph::emit(
            cx,
            Op::UpdateChecksum {
                condition,
                data,
                slot: *slot,
                algorithm,
                payload,
            },
        );
        return;
    }
    let slot = copy_of(cx, place, args);
    graph::emit(
        cx,
        Op::UpdateChecksum {
            condition,
            data,
            slot,
            algorithm,
            payload,
        },
    );
    assign::write(cx, place, Value::Scalar(Expr::Slot(slot)));
}

fn copy_of(cx: &mut Context, place: &Place, args: &Args) -> SlotId {
    let value = crate::place::read(cx, place, &args.ty(2)).expr();
    let value = value.unwrap_or(crate::build::constant(16, 0));
    let slot = storage::temporary(cx, value.width(&cx.program));
    graph::assign(cx, slot, value);
    slot
}

/// `Checksum16.get(data)`
pub fn checksum16(cx: &mut Context, args: &Args) -> Value {
    let data = args.value(cx, 0);
    let data = data_items(cx, &data);
    let slot = storage::temporary(cx, 16);
    graph::emit(
        cx,
        Op::Hash {
            algorithm: HashAlgorithm::Csum16,
            data,
            range: None,
            slot,
        },
    );
    Value::Scalar(Expr::Slot(slot))
}

/// A value as data to be hashed: its scalars and varbits in order, headers by their fields.
pub fn data_items(cx: &mut Context, value: &Value) -> Vec<DataItem> {
    let mut items = Vec::new();
    collect(cx, value, &mut items);
    items
}

fn collect(cx: &mut Context, value: &Value, items: &mut Vec<DataItem>) {
    match value {
        Value::Scalar(expr) => items.push(DataItem::Value(expr.clone())),
        Value::Varbit { value, length } => {
            let value = as_slot(cx, value);
            let length = as_slot(cx, length);
            items.push(DataItem::Varbit { value, length });
        }
        _ => value
            .components()
            .iter()
            .for_each(|component| collect(cx, component, items)),
    }
}

fn as_slot(cx: &mut Context, expr: &Expr) -> SlotId {
    if let Expr::Slot(slot) = expr {
        return *slot;
    }
    let slot = storage::temporary(cx, expr.width(&cx.program));
    graph::assign(cx, slot, expr.clone());
    slot
}
