//! Values of more than 128 bits, and their memory.

use super::Function;
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, UnaryOp};
use std::slice;

functions! {
    WIDE = wide(_, _, _, _);
    COPY = copy(_, _, _);
    SATURATE = saturate(_, _) -> u64;
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

/// An operation on values that do not fit in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideOperation {
    pub(crate) operator: WideOperator,
    pub(crate) left_width: u32,
    /// 0 for operators with one operand.
    pub(crate) right_width: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum WideOperator {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Slice { hi: u32, lo: u32 },
    Concat,
    ZeroExtend(u32),
    SignExtend(u32),
    Truncate(u32),
}

/// Applies the reference's own arithmetic to values in memory.
unsafe extern "C" fn wide(target: *mut u64, operation: *const WideOperation, left: *const u64, right: *const u64) {
    // SAFETY: see the module.
    unsafe {
        let WideOperation {
            operator,
            left_width,
            right_width,
        } = *operation;
        let left = load(left_width, left);
        let result = match operator {
            WideOperator::Unary(operator) => operator.apply(&left),
            WideOperator::Binary(operator) => operator.apply(&left, &load(right_width, right)),
            WideOperator::Slice { hi, lo } => left.slice(hi, lo),
            WideOperator::Concat => Bits::concat(&left, &load(right_width, right)),
            WideOperator::ZeroExtend(width) => left.zext(width),
            WideOperator::SignExtend(width) => left.sext(width),
            WideOperator::Truncate(width) => left.truncate(width),
        };
        store(&result, target);
    }
}

/// Copies words.
unsafe extern "C" fn copy(target: *mut u64, source: *const u64, words: u64) {
    // SAFETY: see the module.
    unsafe { std::ptr::copy(source, target, words as usize) }
}

/// A number of `words` words, or the largest 64-bit number if it is larger.
unsafe extern "C" fn saturate(value: *const u64, words: u64) -> u64 {
    // SAFETY: see the module.
    let value = unsafe { slice::from_raw_parts(value, words as usize) };
    match value {
        [] => 0,
        [low, high @ ..] if high.iter().all(|&word| word == 0) => *low,
        _ => u64::MAX,
    }
}

/// Sets words to zero.
unsafe extern "C" fn clear(words: *mut u64, count: u64) {
    // SAFETY: see the module.
    unsafe { std::ptr::write_bytes(words, 0, count as usize) }
}
