//! Counters, meters, and the locks of `@atomic` blocks.

use super::Function;
use crate::context::{Context, NO_COLOR};
use forebay_ir::{CounterId, MeterId};

functions! {
    NOTE_METER = note_meter(_, _, _, _);
    COUNT = count(_, _, _);
    TAKE_BACK_COUNT = take_back_count(_, _, _);
    ENTER_ATOMIC = enter_atomic(_, _, _);
    EXECUTE_METER = execute_meter(_, _, _, _) -> u64;
}

/// Stores the addresses that a meter's element reads. A first word other than 0 means that they are stored.
unsafe extern "C" fn note_meter(context: *const Context<'_>, meter: u64, index: u64, lines: *mut [usize; 2]) {
    // SAFETY: see the module; slots have two words for a meter.
    unsafe {
        let [element, meter] = (*context).objects.meter_lines(MeterId(meter as u32), index);
        lines.write([element.max(1), meter]);
    }
}

unsafe extern "C" fn count(context: *const Context<'_>, counter: u64, index: u64) {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    context.objects.count(CounterId(counter as u32), index, context.facts);
}

unsafe extern "C" fn take_back_count(context: *const Context<'_>, counter: u64, index: u64) {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    context
        .objects
        .take_back_count(CounterId(counter as u32), index, context.facts);
}

/// The colour, or [`NO_COLOR`] outside the array.
unsafe extern "C" fn execute_meter(context: *const Context<'_>, meter: u64, index: u64, before: u64) -> u64 {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    let color = context
        .objects
        .execute_meter(MeterId(meter as u32), index, before.min(2) as u8, context.facts);
    color.map_or(NO_COLOR, u64::from)
}

unsafe extern "C" fn enter_atomic(context: *const Context<'_>, lock: u64, index: u64) {
    // SAFETY: see the module.
    unsafe { (*context).objects.enter_atomic(lock as u32, index) };
}
