//! The slots by which a straight program says that a packet begins again: see [`SendsBack`].

use super::new_slot;
use forebay_ir::{Expr, Program, SlotId, build};
use forebay_jit::route::SendsBack;

/// The width of a field list's number.
pub(super) const LIST_WIDTH: u32 = 8;

/// New slots, for packets that may keep these values.
pub(super) fn slots(program: &mut Program, kept: Vec<SlotId>) -> SendsBack {
    let [resubmit, recirculate] = ["resubmit", "recirculate"].map(|name| new_slot(program, name, LIST_WIDTH + 1));
    SendsBack {
        resubmit,
        recirculate,
        kept,
        recirculates_fast: false,
    }
}

/// A value of one of the slots.
pub(super) fn value(number: u64) -> Expr {
    build::constant(LIST_WIDTH + 1, number.into())
}

/// The value with which a packet keeps what this field list names.
pub(super) fn keeping(list: u32) -> Expr {
    value(SendsBack::FIRST_LIST + u64::from(list))
}
