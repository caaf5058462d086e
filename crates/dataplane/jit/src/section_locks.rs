//! The locks of atomic sections: functions that take and release them.
//!
//! A single worker needs no locks, so the calls are cold ([`crate::cold_calls`]). The usual case, an element whose word
//! has its own lock ([`forebay_tables::Lock`]), needs few registers, so these functions save few:
//!
//! ```text
//!   held is null?        ── no: only one lock is held at a time; the runtime releases it first
//!   the word has a lock? ── no: the runtime finds the lock, if there is one
//!   exchange the lock's byte for 1
//!   it was 0?            ── no: the runtime waits
//!   held = address of the word
//! ```

use crate::cold_calls;
use crate::context::Context;
use cranelift_codegen::ir::{self, AtomicRmwOp, InstBuilder, MemFlagsData, types};
use cranelift_frontend::FunctionBuilder;
use forebay_tables::Lock;
use std::mem::offset_of;

/// Argument numbers of [`take`]. The first two are those of the runtime.
pub(crate) const LOCK: usize = 0;
pub(crate) const INDEX: usize = 1;
/// The address of the word that has the lock, or 0.
pub(crate) const WORD: usize = 2;

/// Takes a lock; `waits` is the trampoline to the runtime.
pub(crate) fn take(builder: &mut FunctionBuilder<'_>, waits: ir::FuncRef, context: ir::Value) {
    let elsewhere = builder.create_block();
    let held = held(builder, context);
    let other = builder.ins().load(types::I64, MemFlagsData::trusted(), held, 0);
    go_on_if(builder, other, false, elsewhere);
    let word = cold_calls::argument(builder, context, WORD);
    go_on_if(builder, word, true, elsewhere);
    let lock = builder.ins().iadd_imm_u(word, Lock::BYTE as i64);
    let taken = builder.ins().iconst(types::I8, 1);
    let flags = MemFlagsData::trusted();
    let before = builder
        .ins()
        .atomic_rmw(types::I8, flags, AtomicRmwOp::Xchg, lock, taken);
    go_on_if(builder, before, false, elsewhere);
    builder.ins().store(MemFlagsData::trusted(), word, held, 0);
    builder.ins().return_(&[]);

    builder.switch_to_block(elsewhere);
    builder.ins().call(waits, &[context]);
    builder.ins().return_(&[]);
}

/// Releases the lock that is held, if any, after all preceding writes.
pub(crate) fn release(builder: &mut FunctionBuilder<'_>, context: ir::Value) {
    let nothing_held = builder.create_block();
    let held = held(builder, context);
    let word = builder.ins().load(types::I64, MemFlagsData::trusted(), held, 0);
    go_on_if(builder, word, true, nothing_held);
    let free = builder.ins().iconst(types::I8, 0);
    let flags = MemFlagsData::trusted();
    if cfg!(target_arch = "x86_64") {
        // On this architecture, stores become visible in program order.
        builder.ins().store(flags, free, word, Lock::BYTE as i32);
    } else {
        let lock = builder.ins().iadd_imm_u(word, Lock::BYTE as i64);
        builder.ins().atomic_store(flags, free, lock);
    }
    let nothing = builder.ins().iconst(types::I64, 0);
    builder.ins().store(flags, nothing, held, 0);
    builder.ins().jump(nothing_held, &[]);

    builder.switch_to_block(nothing_held);
    builder.ins().return_(&[]);
}

/// The address of the pointer to the held lock.
fn held(builder: &mut FunctionBuilder<'_>, context: ir::Value) -> ir::Value {
    let offset = offset_of!(Context<'_>, held_lock) as i32;
    builder.ins().load(types::I64, MemFlagsData::trusted(), context, offset)
}

/// Continues in a new block if a value is not 0, or if it is 0, and otherwise elsewhere.
fn go_on_if(builder: &mut FunctionBuilder<'_>, value: ir::Value, is_set: bool, elsewhere: ir::Block) {
    let here = builder.create_block();
    let (then, otherwise) = if is_set { (here, elsewhere) } else { (elsewhere, here) };
    builder.ins().brif(value, then, &[], otherwise, &[]);
    builder.switch_to_block(here);
}
