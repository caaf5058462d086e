//! Values of more than 128 bits, and their memory.

use super::Function;
use forebay_bits::Bits;
use forebay_ir::BinaryOp;
use std::slice;

functions! {
    WIDE = wide(_, _, _, _);
    CLEAR = clear(_, _);
}

/// The number of words that a value of this width takes.
pub(crate) const fn words(width: u32) -> usize {
    width.div_ceil(64) as usize
}

/// Reads a value from memory.
///
/// # Safety
///
/// There are as many words as the width needs.
pub(super) unsafe fn load(width: u32, value: *const u64) -> Bits {
    // SAFETY: as the caller promises.
    Bits::from_limbs(width, unsafe { slice::from_raw_parts(value, words(width)) })
}

/// Writes a value to memory.
///
/// # Safety
///
/// There are as many words as the value's width needs.
pub(super) unsafe fn store(value: &Bits, target: *mut u64) {
    for (index, limb) in value.limbs().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { target.add(index).write(limb) }
    }
}

/// An operator on values that do not fit in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideOperation {
    pub(crate) operator: BinaryOp,
    pub(crate) left_width: u32,
    pub(crate) right_width: u32,
}

/// Applies the reference's own arithmetic to values in memory.
unsafe extern "C" fn wide(target: *mut u64, operation: *const WideOperation, left: *const u64, right: *const u64) {
    // SAFETY: see the module.
    unsafe {
        let operation = &*operation;
        let (left, right) = (load(operation.left_width, left), load(operation.right_width, right));
        store(&operation.operator.apply(&left, &right), target);
    }
}

/// Sets words to zero.
unsafe extern "C" fn clear(words: *mut u64, count: u64) {
    // SAFETY: see the module.
    unsafe { std::ptr::write_bytes(words, 0, count as usize) }
}
