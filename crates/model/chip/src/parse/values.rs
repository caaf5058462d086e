//! Values whose origins are known while a parser is unfolded.

use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Expr, Program, SlotId, SlotKind};
use std::collections::{BTreeMap, BTreeSet};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// It is always this.
    Constant(Bits),
    /// Bits of the frame, at most 64, of which those in the mask count.
    Frame { bit: u32, width: u32, mask: u64 },
    /// The packet's instance type, of which the bits in the mask count.
    InstanceType { mask: u64 },
    /// The port that it came by, likewise.
    IngressPort { mask: u64 },
    /// Something else.
    Unknown,
}

/// The values of slots on a way through a parser.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    known: BTreeMap<SlotId, Value>,
}

impl Values {
    /// Where the parser begins: intrinsic metadata, and what no pass has set. Slots that are preserved from the pass
    /// before are not known.
    pub(crate) fn new(program: &Program) -> Values {
        let mut known = BTreeMap::new();
        let preserved: BTreeSet<SlotId> = program.field_lists.values().flatten().copied().collect();
        for (index, slot) in program.slots.iter().enumerate() {
            let id = SlotId(index as u32);
            if slot.kind != SlotKind::Intrinsic && !preserved.contains(&id) {
                known.insert(id, Value::Constant(Bits::zero(slot.width)));
            }
        }
        for (name, value) in [
            ("instance_type", Value::InstanceType { mask: u64::MAX }),
            ("ingress_port", Value::IngressPort { mask: u64::MAX }),
        ] {
            known.extend(program.intrinsic.get(name).map(|slot| (*slot, value)));
        }
        Values { known }
    }

    pub(crate) fn set(&mut self, slot: SlotId, value: Value) {
        self.known.insert(slot, value);
    }

    /// Bits of the frame go into a slot.
    pub(crate) fn set_frame(&mut self, slot: SlotId, bit: u32, width: u32) {
        let value = match width {
            1..=64 => Value::Frame {
                bit,
                width,
                mask: ones(width),
            },
            _ => Value::Unknown,
        };
        self.set(slot, value);
    }

    /// Where an expression's value comes from.
    pub(crate) fn of(&self, expr: &Expr) -> Value {
        match expr {
            Expr::Const(bits) => Value::Constant(bits.clone()),
            Expr::Slot(slot) => self.known.get(slot).cloned().unwrap_or(Value::Unknown),
            Expr::Unary(op, operand) => match self.of(operand) {
                Value::Constant(operand) => Value::Constant(op.apply(&operand)),
                _ => Value::Unknown,
            },
            Expr::Binary(op, left, right) => binary(*op, self.of(left), self.of(right)),
            Expr::Slice { operand, hi, lo } => slice(self.of(operand), *hi, *lo),
            Expr::ZeroExtend(width, operand) => match self.of(operand) {
                Value::Constant(operand) => Value::Constant(operand.zext(*width)),
                // The number stays what it is.
                value => value,
            },
            Expr::Truncate(width, operand) => slice(self.of(operand), *width - 1, 0),
            Expr::Param { .. } | Expr::Concat(..) | Expr::SignExtend(..) | Expr::Mux { .. } => Value::Unknown,
        }
    }
}

/// A number whose low `width` bits are 1.
fn ones(width: u32) -> u64 {
    u64::MAX >> (64 - width.clamp(1, 64))
}

fn binary(op: BinaryOp, left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Constant(left), Value::Constant(right)) => Value::Constant(op.apply(&left, &right)),
        (value, Value::Constant(constant)) | (Value::Constant(constant), value) if op == BinaryOp::And => {
            masked(value, constant.to_u64_saturating())
        }
        _ => Value::Unknown,
    }
}

/// A value without the bits that are not in the mask.
fn masked(value: Value, more: u64) -> Value {
    match value {
        Value::Frame { bit, width, mask } => Value::Frame {
            bit,
            width,
            mask: mask & more,
        },
        Value::InstanceType { mask } => Value::InstanceType { mask: mask & more },
        Value::IngressPort { mask } => Value::IngressPort { mask: mask & more },
        Value::Constant(_) | Value::Unknown => Value::Unknown,
    }
}

fn slice(value: Value, hi: u32, lo: u32) -> Value {
    match value {
        Value::Constant(bits) => Value::Constant(bits.slice(hi, lo)),
        Value::Frame { bit, width, mask } if hi < width => Value::Frame {
            bit: bit + width - 1 - hi,
            width: hi - lo + 1,
            mask: (mask >> lo) & ones(hi - lo + 1),
        },
        Value::InstanceType { .. } | Value::IngressPort { .. } if lo == 0 => masked(value, ones(hi + 1)),
        _ => Value::Unknown,
    }
}
