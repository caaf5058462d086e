//! Values in registers and in memory.

use super::value_locations::Home;
use super::{Translator, int_of};
use crate::runtime::{self, WideOperation, words};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, InstructionData, Opcode, types};
use cranelift_frontend::Variable;
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, SlotId};
use forebay_tables::Placement;

/// A value while a statement is executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) width: u32,
    pub(super) place: Place,
}

/// The place of a value. The bits above its width are zero, as in the state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Up to 64 bits: a register.
    Word(ir::Value),
    /// 65 to 128 bits: a value of Cranelift's 128-bit type.
    Double(ir::Value),
    /// More than 128 bits: the address of its words, which do not change while the statement is executed.
    Memory(ir::Value),
}

/// The data of the action that is executed: a part of the record of a table.
#[derive(Clone, Debug)]
pub(super) struct ActionData {
    pub(super) record: ir::Value,
    /// The record's first word. It is loaded only once, because a record of one word may be replaced at any time.
    pub(super) first_word: ir::Value,
    /// By parameter.
    pub(super) places: Vec<Placement>,
    /// Whether a later look-up of the packet may put another record in its place.
    pub(super) is_replaced: bool,
}

/// A mask of the low bits of a word.
pub(super) fn low_mask(width: u32) -> i64 {
    match width {
        0 => 0,
        1..64 => ((1u64 << width) - 1) as i64,
        _ => -1,
    }
}

/// The most words of a value in memory that is copied or computed without a call. Wider values are rare, and code for
/// each of their words takes long to compile.
pub(super) const WORDS_IN_PLACE_MAX: usize = 8;

impl Value {
    /// A value of up to 64 bits.
    pub(super) fn word(width: u32, value: ir::Value) -> Value {
        debug_assert!(width <= 64);
        Value {
            width,
            place: Place::Word(value),
        }
    }

    /// A value of up to 128 bits.
    pub(super) fn register(width: u32, value: ir::Value) -> Value {
        debug_assert!(width <= 128);
        let place = if width <= 64 {
            Place::Word(value)
        } else {
            Place::Double(value)
        };
        Value { width, place }
    }

    /// The register of a value of up to 128 bits.
    pub(super) fn in_register(self) -> ir::Value {
        match self.place {
            Place::Word(value) | Place::Double(value) => value,
            Place::Memory(_) => unreachable!("wide values are in memory"),
        }
    }

    /// A value of more than 128 bits.
    pub(super) fn memory(width: u32, address: ir::Value) -> Value {
        debug_assert!(width > 128);
        Value {
            width,
            place: Place::Memory(address),
        }
    }
}

impl Translator<'_, '_, '_> {
    pub(super) fn constant(&mut self, value: &Bits) -> Value {
        let width = value.width();
        if width > 128 {
            let address = self.environment.pool.words(value.limbs().collect());
            return Value::memory(width, self.pointer(address));
        }
        let words = value.limbs().map(|limb| self.number(limb as i64)).collect();
        self.value_of_words(width, words)
    }

    /// The low bits of a 64-bit number, as a value of some width.
    pub(super) fn value_of_u64(&mut self, width: u32, number: ir::Value) -> Value {
        self.masked_value(width, vec![number])
    }

    /// The low bits of a value in a register.
    pub(super) fn masked(&mut self, width: u32, word: ir::Value) -> ir::Value {
        if width > 64 && width < 128 {
            let (low, high) = self.split(word);
            let high = self.masked(width - 64, high);
            return self.ins().iconcat(low, high);
        }
        if width >= 64 || self.significant_bits(word) <= width {
            return word;
        }
        if width == 32 {
            // A mask of 32 bits would be loaded from memory.
            let low = self.ins().ireduce(types::I32, word);
            return self.ins().uextend(types::I64, low);
        }
        self.ins().band_imm_u(word, low_mask(width))
    }

    /// The value at an address.
    pub(super) fn load_value(&mut self, width: u32, address: ir::Value, offset: i32) -> Value {
        if width > 128 {
            return Value::memory(width, self.address(address, offset));
        }
        let words = (0..words(width)).map(|index| self.load(address, offset + 8 * index as i32));
        let words: Vec<ir::Value> = words.collect();
        if let [word] = words[..] {
            self.note_width(word, width);
        }
        self.value_of_words(width, words)
    }

    /// Stores a value at an address.
    pub(super) fn store_value(&mut self, value: Value, address: ir::Value, offset: i32) {
        match value.place {
            Place::Memory(source) if words(value.width) > WORDS_IN_PLACE_MAX => {
                let target = self.address(address, offset);
                let bytes = self.number(8 * words(value.width) as i64);
                self.call(runtime::COPY_BYTES, &[target, source, bytes]);
            }
            _ => {
                // All loads come first: the places may overlap.
                let words = self.words_of(value);
                self.store_limbs(&words, address, offset);
            }
        }
    }

    /// The address of the value's words.
    pub(super) fn address_of(&mut self, value: Value) -> ir::Value {
        if let Place::Memory(address) = value.place {
            return address;
        }
        let offset = self.temporary(words(value.width));
        self.store_value(value, self.temporaries, offset);
        self.address(self.temporaries, offset)
    }

    /// Stores values one after another in temporaries, and returns their address.
    pub(super) fn store_all(&mut self, values: &[Value]) -> ir::Value {
        let count = values.iter().map(|value| words(value.width)).sum();
        let first = self.temporary(count);
        let mut offset = first;
        for value in values {
            self.store_value(*value, self.temporaries, offset);
            offset += 8 * words(value.width) as i32;
        }
        self.address(self.temporaries, first)
    }

    /// The location of a slot's words in memory: a base and an offset.
    fn slot_place(&mut self, slot: SlotId) -> (ir::Value, i32) {
        if self.is_fast_path() {
            return (self.lane(), self.lane_offset(slot));
        }
        (self.state, (self.environment.layout.first_word(slot) * 8) as i32)
    }

    pub(super) fn read_slot(&mut self, slot: SlotId) -> Value {
        let home = self.homes.of(slot).clone();
        self.read_home(slot, &home)
    }

    /// The low 64 bits of a slot.
    pub(super) fn word_of_slot(&mut self, slot: SlotId) -> ir::Value {
        let value = self.read_slot(slot);
        self.low_word(value)
    }

    /// The value of a slot with this home.
    pub(super) fn read_home(&mut self, slot: SlotId, home: &Home) -> Value {
        let width = self.program.slot(slot).width;
        match home {
            Home::State => {
                let (base, offset) = self.slot_place(slot);
                self.load_value(width, base, offset)
            }
            Home::Register(variable) => {
                let value = self.builder.use_var(*variable);
                if width <= 64 {
                    self.note_width(value, width);
                }
                Value::register(width, value)
            }
            Home::Packet(field) => self.load_field(field, width),
            Home::Constant(value) => self.constant(value),
        }
    }

    pub(super) fn write_slot(&mut self, slot: SlotId, value: Value) {
        debug_assert_eq!(value.width, self.program.slot(slot).width);
        match self.homes.of(slot).clone() {
            Home::State => {
                let (base, offset) = self.slot_place(slot);
                self.store_value(value, base, offset);
            }
            Home::Register(variable) => self.define(variable, value),
            Home::Packet(field) if self.path().is_some_and(|path| path.leaf.in_place) => {
                self.store_field(&field, value)
            }
            Home::Packet(_) | Home::Constant(_) => {
                self.move_to_register(slot);
                self.write_slot(slot, value);
            }
        }
    }

    /// Writes the low bits of a number to a slot, as many as it has.
    pub(super) fn write_number(&mut self, slot: SlotId, number: ir::Value) {
        let value = self.value_of_u64(self.program.slot(slot).width, number);
        self.write_slot(slot, value);
    }

    /// Sets a register to a value of up to 128 bits.
    pub(super) fn define(&mut self, variable: Variable, value: Value) {
        self.builder.def_var(variable, value.in_register());
    }

    /// Gives a slot a register, or words of the state if it is too wide or there are too many slots. The slot's value
    /// is then undefined.
    pub(super) fn move_to_register(&mut self, slot: SlotId) {
        let kind = match self.program.slot(slot).width {
            1..=64 => Some(types::I64),
            65..=128 => Some(types::I128),
            _ => None,
        };
        let builder = &mut self.builder;
        let register = kind.and_then(|kind| self.registers.of(slot, || builder.declare_var(kind)));
        self.homes.set(slot, register.map_or(Home::State, Home::Register));
    }

    /// The address of a slot's words, which are in the state.
    pub(super) fn slot_address(&mut self, slot: SlotId) -> ir::Value {
        if !matches!(self.homes.of(slot), Home::State) {
            self.homes.set(slot, Home::State);
        }
        let (base, offset) = self.slot_place(slot);
        self.address(base, offset)
    }

    /// Lets a runtime function write a slot's words, wherever the slot is.
    pub(super) fn write_slot_through(&mut self, slot: SlotId, write: impl FnOnce(&mut Self, ir::Value)) {
        if let Home::State = self.homes.of(slot) {
            let address = self.slot_address(slot);
            return write(self, address);
        }
        let width = self.program.slot(slot).width;
        let address = self.temporary_address(words(width));
        write(self, address);
        let value = self.load_value(width, address, 0);
        self.write_slot(slot, value);
    }

    /// A parameter of the action that is executed.
    pub(super) fn parameter(&mut self, data: &ActionData, index: u32, width: u32) -> Value {
        let place = data.places[index as usize];
        if width > 64 || width == 0 {
            return self.load_value(width, data.record, 8 * place.word as i32);
        }
        let word = match place.word {
            0 => data.first_word,
            word if data.is_replaced => self.load(data.record, 8 * word as i32),
            // A single load: the old value or the new one, but the same for the whole action.
            word => self.load_unchanging(data.record, 8 * word),
        };
        let moved = self.shifted_right(word, place.shift);
        // The bits above a word's last value are zero.
        let is_above = |other: &Placement| other.word == place.word && other.shift > place.shift;
        if !data.places.iter().any(is_above) {
            self.note_width(moved, width);
        }
        let argument = self.masked(width, moved);
        Value::word(width, argument)
    }

    /// Word `index` of a value, counted from the least significant. It must exist.
    pub(super) fn limb(&mut self, value: Value, index: usize) -> ir::Value {
        match value.place {
            Place::Word(word) => word,
            Place::Double(double) => {
                let (low, high) = self.split(double);
                if index == 0 { low } else { high }
            }
            Place::Memory(address) => self.load(address, 8 * index as i32),
        }
    }

    /// The low 64 bits.
    pub(super) fn low_word(&mut self, value: Value) -> ir::Value {
        self.limb(value, 0)
    }

    /// The number, or the largest 64-bit number if it is larger.
    pub(super) fn saturated(&mut self, value: Value) -> ir::Value {
        let words = self.words_of(value);
        let Some((&low, above)) = words.split_first() else {
            return self.low_word(value);
        };
        let Some(above) = above.iter().copied().reduce(|one, other| self.ins().bor(one, other)) else {
            return low;
        };
        let largest = self.number(-1);
        let fits = self.ins().icmp_imm_u(IntCC::Equal, above, 0);
        self.ins().select(fits, low, largest)
    }

    /// Whether two values of the same width are equal, as an 8-bit value that can be branched on.
    pub(super) fn equal(&mut self, left: Value, right: Value) -> ir::Value {
        self.comparison(BinaryOp::Eq, left, right)
    }

    /// The low and the high 64 bits. If the value was built from two words, those words.
    pub(super) fn split(&mut self, double: ir::Value) -> (ir::Value, ir::Value) {
        let dfg = &self.builder.func.dfg;
        if let Some(inst) = dfg.value_def(double).inst()
            && let InstructionData::Binary {
                opcode: Opcode::Iconcat,
                args: [low, high],
            } = dfg.insts[inst]
        {
            return (low, high);
        }
        self.ins().isplit(double)
    }

    /// An operator on values of more than 64 bits for which there is no code.
    pub(super) fn binary_by_runtime(&mut self, operator: BinaryOp, left: Value, right: Value) -> Value {
        let width = if operator.is_comparison() { 1 } else { left.width };
        let operation = self.environment.pool.keep(WideOperation {
            operator,
            left_width: left.width,
            right_width: right.width,
        });
        let target = self.temporary_address(words(width));
        let arguments = [
            target,
            self.pointer(operation),
            self.address_of(left),
            self.address_of(right),
        ];
        self.call(runtime::WIDE, &arguments);
        self.load_value(width, target, 0)
    }

    /// Loads a word, or part of one, from the packet.
    pub(super) fn load_big_endian(&mut self, bytes: u32, address: ir::Value, offset: i32) -> ir::Value {
        if bytes == 1 {
            return self.load_from_packet(types::I8, address, offset);
        }
        let flags = self.packet_flags();
        let loaded = self.ins().load(int_of(bytes), flags, address, offset);
        let swapped = self.ins().bswap(loaded);
        if bytes == 8 {
            swapped
        } else {
            self.ins().uextend(types::I64, swapped)
        }
    }
}
