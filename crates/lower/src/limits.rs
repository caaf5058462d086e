//! Bounds on what a program can make lowering build. Real programs stay far below them.

use crate::context::Context;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;

/// Slots of a program.
pub const MAX_SLOTS: usize = 200_000;

/// Operations and blocks of a program together.
pub const MAX_OPERATIONS: usize = 2_000_000;

/// Depth of nested inlining and nested expressions and statements together.
pub const MAX_DEPTH: usize = 1_500;

/// Calls inlined in one another.
pub const MAX_INLINE_DEPTH: usize = 100;

/// Widest value in bits.
pub const MAX_WIDTH: u32 = 1 << 20;

/// Elements of a register, counter, meter or table.
pub const MAX_SIZE: u64 = 1 << 32;

/// Whether lowering should go on. Reports the first excess at `span`.
pub fn check_size(cx: &mut Context, span: Span) -> bool {
    if cx.aborted {
        return false;
    }
    let slots = cx.program.slots.len();
    if slots > MAX_SLOTS {
        cx.abort(
            codes::TOO_MANY_SLOTS,
            span,
            format!("the program needs more than {MAX_SLOTS} pieces of storage"),
        );
        return false;
    }
    if cx.operations > MAX_OPERATIONS {
        cx.abort(
            codes::PROGRAM_TOO_LARGE,
            span,
            format!("the program needs more than {MAX_OPERATIONS} operations once all calls are inlined"),
        );
        return false;
    }
    true
}

/// Runs `inner` one level deeper; none, with a message, when that would be too deep.
pub fn deeper<T>(cx: &mut Context, span: Span, inner: impl FnOnce(&mut Context) -> T) -> Option<T> {
    if cx.aborted {
        return None;
    }
    if cx.depth >= MAX_DEPTH {
        cx.abort(
            codes::INLINING_TOO_DEEP,
            span,
            "calls, statements and expressions are nested too deeply here".to_string(),
        );
        return None;
    }
    cx.depth += 1;
    let result = inner(cx);
    cx.depth -= 1;
    Some(result)
}

/// Runs `inner`, the inlining of a call; none, with a message, when too many calls are inlined in one another.
pub fn inlined<T>(cx: &mut Context, span: Span, inner: impl FnOnce(&mut Context) -> T) -> Option<T> {
    if cx.aborted {
        return None;
    }
    if cx.inline_depth >= MAX_INLINE_DEPTH {
        cx.abort(
            codes::INLINING_TOO_DEEP,
            span,
            format!("more than {MAX_INLINE_DEPTH} calls are nested in one another"),
        );
        return None;
    }
    cx.inline_depth += 1;
    let result = inner(cx);
    cx.inline_depth -= 1;
    Some(result)
}
