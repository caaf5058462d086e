//! Limits on the size of lowered programs. Real programs stay far below them.

use crate::context::Context;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;

/// The cause that all messages about limits share, so that a program that is too large is reported once.
pub const TOO_LARGE: &str = "the program is too large";

/// Slots of a program.
pub const MAX_SLOTS: usize = 200_000;

/// Operations and blocks of a program together.
pub const MAX_OPERATIONS: usize = 2_000_000;

/// Depth of nested inlining and nested expressions and statements together.
pub const MAX_DEPTH: usize = 500;

/// Calls inlined in one another.
pub const MAX_INLINE_DEPTH: usize = 100;

/// Objects of the instance tree.
pub const MAX_OBJECTS: usize = 50_000;

/// Elements among which an index that is not constant may choose; for nested indices, the product.
pub const MAX_CHOICES: usize = 4_096;

/// Cases into which one case of a select may be split.
pub const MAX_ALTERNATIVES: usize = 1_024;

/// Types of which a type may be made once its type parameters are replaced, which can double from one declaration to
/// the next. Code that walks a type may assume that it stays within this bound.
pub const MAX_TYPE_SIZE: usize = 1 << 16;

/// What is said of a larger type.
pub fn type_too_large() -> String {
    format!("a type here has more than {MAX_TYPE_SIZE} parts once its type parameters are replaced")
}

/// Widest value in bits.
pub const MAX_WIDTH: u32 = forebay_ir::verify::MAX_WIDTH;

/// Bits that are kept of a `varbit<W>`.
pub fn varbit_width(declared: u32) -> u32 {
    declared.min(MAX_WIDTH)
}

/// Deeper expressions are split with temporaries, so that recursion over expressions is safe.
pub const MAX_EXPRESSION_DEPTH: usize = 48;

/// Entries of a table, members of an action profile, elements of a value set.
pub const MAX_SIZE: u64 = 1 << 32;

/// Bytes that the elements of a register, counter or meter may take.
pub const MAX_ARRAY_BYTES: u64 = 1 << 30;

/// Whether lowering should continue. Reports the first excess at `span`.
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

/// Runs `inner` one level deeper. Returns `None`, with a message, if that would be too deep.
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

/// Runs `inner`, the inlining of a call. Returns `None`, with a message, if calls are nested too deeply.
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
