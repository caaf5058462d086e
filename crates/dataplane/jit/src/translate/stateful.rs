//! Registers in generated code, without calls.
//!
//! Arrays have as many elements as the program declares: see [`crate::arrays`]. Words are written by plain stores. On
//! the machines that Cranelift supports, these are what relaxed atomic stores become. Elements that [have a
//! lock](RegisterArray::have_locks) in their word are read and written without the lock.

use super::Translator;
use super::access::within_bounds;
use super::value::Value;
use crate::context::Context;
use crate::flow_trail::ArrayId;
use crate::runtime::words;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{RegisterId, SlotId};
use forebay_tables::{LOCKED_BITS_MAX, RegisterArray};
use std::mem::offset_of;

const _: () = assert!(
    LOCKED_BITS_MAX <= 48,
    "a value beside a lock is stored as four bytes and two"
);

impl Translator<'_, '_, '_> {
    /// Reads an element; 0 outside the array.
    pub(super) fn read_element(&mut self, register: RegisterId, index: ir::Value, slot: SlotId) {
        let declared = &self.program.registers[register.index()];
        let (size, width) = (declared.size, declared.width);
        if size == 0 {
            let zero = self.constant(&forebay_bits::Bits::zero(width));
            return self.write_slot(slot, zero);
        }
        let inside = self.is_inside(index, size);
        let zero = self.number(0);
        // An index outside the array reads the first element, whose value is not used.
        let index = self.select_inside(inside, index, zero);
        let (element, first) = self.element(register, index);
        let limbs: Vec<ir::Value> = (0..words(width))
            .map(|limb| {
                let stored = self.load_beside_lock(width, element, first + 8 * limb as i32);
                self.select_inside(inside, stored, zero)
            })
            .collect();
        if width > 128 {
            return self.write_slot_through(slot, |translator, target| translator.store_limbs(&limbs, target, 0));
        }
        let value = self.value_of_words(width, limbs);
        self.write_slot(slot, value);
    }

    /// Writes an element; does nothing if the index is outside the array.
    pub(super) fn write_element(&mut self, register: RegisterId, index: ir::Value, value: Value) {
        let size = self.program.registers[register.index()].size;
        self.when_inside(index, size, |translator| {
            let (element, first) = translator.element(register, index);
            if RegisterArray::have_locks(value.width) {
                let word = translator.limb(value, 0);
                translator.store_beside_lock(value.width, word, element, first);
            } else {
                translator.store_value(value, element, first);
            }
        });
    }

    /// Loads a limb of an element of `width` bits, without the lock.
    fn load_beside_lock(&mut self, width: u32, address: ir::Value, offset: i32) -> ir::Value {
        if !RegisterArray::have_locks(width) {
            return self.load(address, offset);
        }
        if width <= 32 {
            return self.ins().uload32(within_bounds(), address, offset);
        }
        let with_lock = self.load(address, offset);
        self.masked(width, with_lock)
    }

    /// Stores a value of `width` bits, without the highest bytes of its word.
    fn store_beside_lock(&mut self, width: u32, word: ir::Value, address: ir::Value, offset: i32) {
        self.ins().istore32(within_bounds(), word, address, offset);
        if width > 32 {
            let high = self.shifted_right(word, 32);
            self.ins().istore16(within_bounds(), high, address, offset + 4);
        }
    }

    /// Whether the index is inside an array of this size; `None` when it certainly is.
    pub(super) fn is_inside(&mut self, index: ir::Value, size: u64) -> Option<ir::Value> {
        let bits = self.computed_bits(index);
        if bits < u64::BITS && 1 << bits <= size {
            return None;
        }
        Some(self.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, size as i64))
    }

    /// Executes code if the index is inside the array.
    pub(super) fn when_inside(&mut self, index: ir::Value, size: u64, then: impl FnOnce(&mut Self)) {
        match self.is_inside(index, size) {
            Some(inside) => self.when(inside, then),
            None => then(self),
        }
    }

    /// One of two values, by whether the index is inside the array.
    fn select_inside(&mut self, inside: Option<ir::Value>, value: ir::Value, otherwise: ir::Value) -> ir::Value {
        match inside {
            Some(inside) => self.ins().select(inside, value, otherwise),
            None => value,
        }
    }

    /// The location of an element: the address of the bank's words for the index, and the element's offset in bytes.
    pub(super) fn element(&mut self, register: RegisterId, index: ir::Value) -> (ir::Value, i32) {
        let place = self.environment.banks.place(register);
        let registers = self.load_unchanging(self.context, offset_of!(Context<'_>, registers));
        let bank = self.load_unchanging(registers, 8 * place.bank);
        let elements = self.place_of(bank, index, place.stride_words as u64);
        self.note_element(ArrayId::Bank(place.bank), elements);
        (elements, 8 * place.first_word as i32)
    }

    /// The address of element `index` of an array whose elements have `words` words.
    pub(super) fn place_of(&mut self, array: ir::Value, index: ir::Value, words: u64) -> ir::Value {
        let offset = self.times(index, 8 * words);
        self.ins().iadd(array, offset)
    }
}
