//! Atomic sections.
//!
//! A single worker needs no locks. This is tested first, and the code for several workers is out of line. If the
//! elements of a register have locks ([`forebay_tables::Lock`]), they are taken and released here:
//!
//! ```text
//!   held is null?    ── no: only one lock is held at a time; the runtime releases it first
//!   index is inside? ── no: the runtime takes no lock
//!   exchange the lock's byte for 1
//!   it was 0?        ── no: the runtime waits
//!   held = address of the word
//! ```

use super::Translator;
use super::access::within_bounds;
use super::value::ActionData;
use crate::runtime;
use cranelift_codegen::ir::{self, AtomicRmwOp, InstBuilder, MemFlagsData, types};
use forebay_ir::{Expr, RegisterId};
use forebay_tables::{Lock, RegisterArray};

impl Translator<'_, '_, '_> {
    /// Begins an atomic section.
    pub(super) fn enter_section(&mut self, lock: u32, index: Option<&Expr>, data: Option<&ActionData>) {
        let register = index.and_then(|_| self.register_with_locks(lock));
        let index = match index {
            Some(index) => self.saturated_of(index, data),
            None => self.number(0),
        };
        self.unless_alone(|translator, held| match register {
            Some(register) => translator.lock_element(held, register, index),
            None => translator.wait_for_lock(lock, index),
        });
    }

    /// Ends the section.
    pub(super) fn leave_section(&mut self) {
        self.unless_alone(|translator, held| {
            let word = translator.load(held, 0);
            translator.when(word, |translator| {
                translator.release(word);
                let nothing = translator.number(0);
                translator.store(nothing, held, 0);
            });
        });
    }

    /// Executes code if there are several workers, with the address of the pointer to the held lock.
    fn unless_alone(&mut self, then: impl FnOnce(&mut Self, ir::Value)) {
        let held = self.load_held_lock();
        self.when_rarely(held, |translator| then(translator, held));
    }

    /// The register whose elements have this lock, if a lock covers only one index.
    fn register_with_locks(&self, lock: u32) -> Option<RegisterId> {
        let declared = self.program.registers.get(lock as usize)?;
        RegisterArray::have_locks(declared.width).then_some(RegisterId(lock))
    }

    fn lock_element(&mut self, held: ir::Value, register: RegisterId, index: ir::Value) {
        let (waits, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(waits);
        let other = self.load(held, 0);
        self.leave_for(waits, other, true);
        if let Some(inside) = self.is_inside(index, self.program.registers[register.index()].size) {
            self.leave_for(waits, inside, false);
        }
        let (element, first) = self.element(register, index);
        let word = self.address(element, first);
        let lock = self.address(word, Lock::BYTE as i32);
        let taken = self.builder.ins().iconst(types::I8, 1);
        let flags = MemFlagsData::trusted();
        let before = self
            .builder
            .ins()
            .atomic_rmw(types::I8, flags, AtomicRmwOp::Xchg, lock, taken);
        self.leave_for(waits, before, true);
        self.store(word, held, 0);
        self.builder.ins().jump(next, &[]);
        self.enter(waits);
        self.wait_for_lock(register.0, index);
        self.builder.ins().jump(next, &[]);
        self.enter(next);
    }

    /// Jumps to `elsewhere` if a condition has this value, and otherwise continues.
    fn leave_for(&mut self, elsewhere: ir::Block, condition: ir::Value, is: bool) {
        let here = self.builder.create_block();
        let (then, otherwise) = if is { (elsewhere, here) } else { (here, elsewhere) };
        self.builder.ins().brif(condition, then, &[], otherwise, &[]);
        self.enter(here);
    }

    fn wait_for_lock(&mut self, lock: u32, index: ir::Value) {
        let lock = self.number(lock.into());
        self.call(runtime::ENTER_ATOMIC, &[self.context, lock, index]);
    }

    /// Releases the lock in a word, after all preceding writes.
    fn release(&mut self, word: ir::Value) {
        let free = self.builder.ins().iconst(types::I8, 0);
        if cfg!(target_arch = "x86_64") {
            // On this architecture, stores become visible in program order.
            self.builder.ins().store(within_bounds(), free, word, Lock::BYTE as i32);
        } else {
            let lock = self.address(word, Lock::BYTE as i32);
            self.builder.ins().atomic_store(MemFlagsData::trusted(), free, lock);
        }
    }
}
