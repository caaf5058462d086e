//! Atomic sections.
//!
//! A single worker needs no locks. This is tested first; with several workers, functions that preserve all registers
//! take and release the locks ([`crate::section_locks`]).

use super::Translator;
use super::value::ActionData;
use crate::cold_calls;
use crate::section_locks::{INDEX, LOCK, WORD};
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{Expr, RegisterId};
use forebay_tables::RegisterArray;

impl Translator<'_, '_, '_> {
    /// Begins an atomic section.
    pub(super) fn enter_section(&mut self, lock: u32, index: Option<&Expr>, data: Option<&ActionData>) {
        let register = index.and_then(|_| self.register_with_locks(lock));
        let index = match index {
            Some(index) => self.saturated_of(index, data),
            None => self.number(0),
        };
        self.unless_alone(|translator| {
            let word = match register {
                Some(register) => translator.word_with_lock(register, index),
                None => translator.number(0),
            };
            let lock = translator.number(lock.into());
            for (number, argument) in [(LOCK, lock), (INDEX, index), (WORD, word)] {
                translator.store(argument, translator.context, cold_calls::argument_offset(number));
            }
            translator.call_preserving(translator.environment.trampolines.take_lock);
        });
    }

    /// Ends the section.
    pub(super) fn leave_section(&mut self) {
        self.unless_alone(|translator| translator.call_preserving(translator.environment.trampolines.release_lock));
    }

    /// Executes code if there are several workers.
    fn unless_alone(&mut self, then: impl FnOnce(&mut Self)) {
        let held = self.load(self.context, in_context!(held_lock));
        self.when_rarely(held, then);
    }

    /// The register whose elements have this lock, if a lock covers only one index.
    fn register_with_locks(&self, lock: u32) -> Option<RegisterId> {
        let declared = self.program.registers.get(lock as usize)?;
        RegisterArray::have_locks(declared.width).then_some(RegisterId(lock))
    }

    /// The address of an element's word; 0 outside the array.
    fn word_with_lock(&mut self, register: RegisterId, index: ir::Value) -> ir::Value {
        let inside = self.is_inside(index, self.program.registers[register.index()].size);
        let (element, first) = self.element(register, index);
        let word = self.address(element, first);
        match inside {
            Some(inside) => {
                let none = self.number(0);
                self.ins().select(inside, word, none)
            }
            None => word,
        }
    }
}
