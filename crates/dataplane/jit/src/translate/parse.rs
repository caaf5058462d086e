//! Reading packets: extract, advance, lookahead.
//!
//! One test per header finds whether the packet has its bits; the fields are then loaded without further tests. A load
//! may cover more bytes than its field, but none outside the header.

use super::value::Value;
use super::value_locations::{Address, Field};
use super::{Ending, Translator};
use crate::analysis::CursorFact;
use crate::runtime::{self, words};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{Expr, Header, HeaderId, SlotId};

/// Consecutive fields of fixed width.
#[derive(Clone, Copy)]
struct Run {
    /// Position in the packet of the first field, in bits.
    position: ir::Value,
    /// The address of the run's first byte, and the bit in that byte at which it begins, if known.
    start: Option<(ir::Value, u32)>,
    /// Bits of all fields.
    bits: u32,
}

impl Run {
    /// Bytes that the run touches.
    fn bytes(&self, bit: u32) -> u32 {
        (bit + self.bits).div_ceil(8)
    }
}

impl Translator<'_, '_, '_> {
    /// The bits from a position to the packet's end.
    fn bits_after(&mut self, cursor: ir::Value) -> ir::Value {
        let bits = self.packet_bits();
        self.ins().isub(bits, cursor)
    }

    /// Ends the parser unless the packet has this many more bits. Returns the position before them.
    pub(super) fn require_bits(&mut self, bits: ir::Value) -> ir::Value {
        let cursor = self.cursor_position();
        let enough = match (self.cursor, self.constant_of(bits)) {
            (CursorFact::At(position), Some(bits)) if let Some(end) = position.checked_add(bits) => {
                if end <= self.bits_assured {
                    return cursor;
                }
                self.packet_has(end)
            }
            _ => {
                let left = self.bits_after(cursor);
                self.ins().icmp(IntCC::UnsignedLessThanOrEqual, bits, left)
            }
        };
        self.require(enough, Ending::Rejected(self.environment.errors.packet_too_short));
        cursor
    }

    fn cursor_position(&mut self) -> ir::Value {
        match self.cursor {
            CursorFact::At(position) => self.number(position as i64),
            CursorFact::Aligned(_) | CursorFact::Anywhere => self.load_cursor(),
        }
    }

    pub(super) fn advance(&mut self, bits: &Expr) {
        let bits = self.saturated_of(bits, None);
        let cursor = self.require_bits(bits);
        let cursor = self.ins().iadd(cursor, bits);
        self.store_cursor(cursor);
    }

    pub(super) fn lookahead(&mut self, slot: SlotId) {
        let width = self.program.slot(slot).width;
        let bits = self.number(width.into());
        let cursor = self.require_bits(bits);
        let run = self.run_at(cursor, width);
        self.read_field(&run, 0, slot);
    }

    pub(super) fn packet_length(&mut self, slot: SlotId) {
        let bytes = self.received_bytes();
        self.write_number(slot, bytes);
    }

    /// Extracts a header. The tests are made in the interpreter's order.
    pub(super) fn extract(&mut self, id: HeaderId, varbit_bits: Option<&Expr>) {
        let program = self.program;
        let header = &program.headers[id.index()];
        let (fixed, varbit_max) = program.header_bits(header);
        let end = match varbit_bits {
            None => {
                let bits = self.number(fixed as i64);
                let cursor = self.require_bits(bits);
                self.read_fields(&header.fields, cursor);
                self.ins().iadd(cursor, bits)
            }
            Some(expr) => {
                let present = self.saturated_of(expr, None);
                let cursor = self.require_varbit(present, fixed, varbit_max);
                self.read_header_with_varbit(header, cursor, present)
            }
        };
        self.store_cursor(end);
        let one = self.number(1);
        self.write_slot(header.valid, Value::word(1, one));
    }

    pub(super) fn require_varbit(&mut self, present: ir::Value, fixed: u64, varbit_max: u64) -> ir::Value {
        let errors = self.environment.errors;
        let odd_bits = self.ins().band_imm_u(present, 7);
        self.refuse(odd_bits, Ending::Rejected(errors.parser_invalid_argument));
        self.require_bits(present);
        // This does not overflow: the packet has `present` bits.
        let all = self.ins().iadd_imm_u(present, fixed as i64);
        let cursor = self.require_bits(all);
        let fits = self
            .ins()
            .icmp_imm_u(IntCC::UnsignedLessThanOrEqual, present, varbit_max as i64);
        self.require(fits, Ending::Rejected(errors.header_too_short));
        cursor
    }

    /// Copies the bits that a varbit field has, where others are not used. Returns whether this is done.
    pub(super) fn copy_varbit(&mut self, slot: SlotId, copied: SlotId) -> bool {
        let varbits = &self.environment.varbits;
        let Some(length) = varbits
            .get(&copied)
            .copied()
            .filter(|_| self.is_fast_path() && varbits.contains_key(&slot))
        else {
            return false;
        };
        if !self.is_known_zero(copied) {
            let length = self.word_of_slot(length);
            let words = self.ins().iadd_imm_u(length, 63);
            let words = self.shifted_right(words, u64::BITS.ilog2());
            let bytes = self.shifted_left(words, 3);
            let (target, source) = (self.slot_address(slot), self.slot_address(copied));
            self.call(runtime::COPY_BYTES, &[target, source, bytes]);
        }
        true
    }

    /// Reads the fields before the varbit field, the varbit field and the fields after it. Returns the position after
    /// the header.
    fn read_header_with_varbit(&mut self, header: &Header, cursor: ir::Value, present: ir::Value) -> ir::Value {
        let position = header.fields.iter().position(|field| field.length.is_some());
        let position = position.expect("the verifier wants a varbit field where its length is given");
        let before = self.read_fields(&header.fields[..position], cursor);
        let varbit = &header.fields[position];
        let is_up_to_length = self.is_fast_path() && self.environment.varbits.contains_key(&varbit.slot);
        let width = if is_up_to_length {
            present
        } else {
            self.number(self.program.slot(varbit.slot).width.into())
        };
        let target = self.slot_address(varbit.slot);
        self.tell_packet();
        self.call(runtime::READ_PACKET, &[self.context, before, present, width, target]);
        if let Some(length) = varbit.length {
            self.write_slot(length, Value::word(32, present));
        }
        // The varbit field has whole bytes, so the alignment after it is the same.
        let behind = self.ins().iadd(before, present);
        let known = self.cursor;
        let before_bits: u32 = header.fields[..position]
            .iter()
            .map(|field| self.program.slot(field.slot).width)
            .sum();
        self.cursor = match known.bit_in_byte() {
            Some(bit) => CursorFact::Aligned((bit + before_bits) % 8),
            None => CursorFact::Anywhere,
        };
        let end = self.read_fields(&header.fields[position + 1..], behind);
        self.cursor = known;
        end
    }

    /// Reads fields of fixed width from a position on. Returns the position after them.
    fn read_fields(&mut self, fields: &[forebay_ir::HeaderField], position: ir::Value) -> ir::Value {
        let program = self.program;
        let bits = fields.iter().map(|field| program.slot(field.slot).width).sum();
        let run = self.run_at(position, bits);
        let mut offset = 0;
        for field in fields {
            self.read_field(&run, offset, field.slot);
            offset += program.slot(field.slot).width;
        }
        self.ins().iadd_imm_u(position, i64::from(bits))
    }

    fn run_at(&mut self, position: ir::Value, bits: u32) -> Run {
        let start = self.cursor.bit_in_byte().map(|bit| {
            let packet = self.packet();
            let byte = self.shifted_right(position, 3);
            (self.ins().iadd(packet, byte), bit)
        });
        Run { position, start, bits }
    }

    /// Reads the field at an offset of a run.
    fn read_field(&mut self, run: &Run, offset: u32, slot: SlotId) {
        let width = self.program.slot(slot).width;
        let Some((address, bit)) = run.start else {
            let offset = self.number(offset.into());
            let position = self.ins().iadd(run.position, offset);
            let width = self.number(width.into());
            return self.write_slot_through(slot, |translator, target| {
                translator.tell_packet();
                translator.call(
                    runtime::READ_PACKET,
                    &[translator.context, position, width, width, target],
                );
            });
        };
        let field = Field {
            address: Address::Known(address),
            bytes: run.bytes(bit),
            first_bit: bit + offset,
        };
        self.read_into(slot, &field);
    }

    /// Gives a slot the value of a field.
    pub(super) fn read_into(&mut self, slot: SlotId, field: &Field) {
        let width = self.program.slot(slot).width;
        if width <= 128 {
            let value = self.load_field(field, width);
            return self.write_slot(slot, value);
        }
        self.read_wide(slot, field, width);
    }

    /// Reads a field of more than 128 bits into the words of its slot.
    pub(super) fn read_wide(&mut self, slot: SlotId, field: &Field, width: u32) {
        let (target, source) = (self.slot_address(slot), self.address_of_field(field));
        for index in 0..words(width) {
            let word = self.load_limb(source, field, width, index);
            self.store(word, target, 8 * index as i32);
        }
    }

    /// Loads a field of up to 128 bits.
    pub(super) fn load_field(&mut self, field: &Field, width: u32) -> Value {
        let address = self.address_of_field(field);
        let words = (0..words(width))
            .map(|index| self.load_limb(address, field, width, index))
            .collect();
        self.value_of_words(width, words)
    }

    /// The address of the bytes that contain a field.
    pub(super) fn address_of_field(&mut self, field: &Field) -> ir::Value {
        match field.address {
            Address::Known(address) => address,
            Address::InPacket(bytes) => {
                let packet = self.packet();
                self.address(packet, bytes as i32)
            }
            Address::AfterBits(variable) => {
                let bits = self.builder.use_var(variable);
                let bytes = self.shifted_right(bits, 3);
                let packet = self.packet();
                self.ins().iadd(packet, bytes)
            }
        }
    }

    /// Loads word `index` of a field, counted from the least significant.
    pub(super) fn load_limb(&mut self, address: ir::Value, field: &Field, width: u32, index: usize) -> ir::Value {
        let end = field.first_bit + width - 64 * index as u32;
        let limb_width = (width - 64 * index as u32).min(64);
        self.load_bits(address, field.bytes, end - limb_width, limb_width)
    }

    /// Loads 1 to 64 bits at a bit offset from an address. Only the first `bytes` bytes there may be loaded.
    pub(super) fn load_bits(&mut self, address: ir::Value, bytes: u32, first_bit: u32, width: u32) -> ir::Value {
        let first = first_bit / 8;
        let end_bit = first_bit + width;
        let end = end_bit.div_ceil(8);
        let behind = end * 8 - end_bit;
        if end - first > 8 {
            let high = self.load_big_endian(8, address, first as i32);
            let low = self.load_big_endian(1, address, first as i32 + 8);
            let high = self.shifted_left(high, 8 - behind);
            let low = self.shifted_right(low, behind);
            let all = self.ins().bor(high, low);
            return self.masked(width, all);
        }
        let size = (end - first).next_power_of_two();
        let (loaded, behind) = if first + size <= bytes {
            (
                self.load_big_endian(size, address, first as i32),
                behind + 8 * (first + size - end),
            )
        } else if end >= size {
            (self.load_big_endian(size, address, (end - size) as i32), behind)
        } else {
            (self.load_in_parts(address, first, end), behind)
        };
        let moved = self.shifted_right(loaded, behind);
        self.masked(width, moved)
    }

    /// Loads bytes in parts, if their number is not a power of two and the header is no longer than they are.
    fn load_in_parts(&mut self, address: ir::Value, first: u32, end: u32) -> ir::Value {
        let mut all = self.number(0);
        let mut at = first;
        while at < end {
            let size = 1 << (end - at).ilog2();
            let part = self.load_big_endian(size, address, at as i32);
            let moved = self.shifted_left(all, 8 * size);
            all = self.ins().bor(moved, part);
            at += size;
        }
        all
    }
}
