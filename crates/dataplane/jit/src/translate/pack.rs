//! Packs values without gaps: what the deparser emits, and the data of hashes and checksums.
//!
//! Values of fixed width are packed in registers, 64 bits at a time; the first bit is the most significant.

use super::Translator;
use super::crc::crc_of;
use super::value::{ActionData, Value};
use super::value_locations::{Field, Home};
use crate::analysis::emits_whole_bytes;
use crate::runtime::{self, target, words};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::{BinaryOp, DataItem, Expr, HashAlgorithm, HeaderId, SlotId};

/// The runtime computes CRCs of more data.
const CRC_BITS_MAX: u32 = 512;

/// A piece of data.
#[derive(Clone, Copy)]
enum Item {
    Value(Value),
    Varbit { value: SlotId, length: SlotId },
}

/// Packed values: words in order, left-aligned, with zeros after the last bit.
pub(super) struct Packed {
    pub(super) words: Vec<ir::Value>,
    pub(super) bits: u32,
}

impl Translator<'_, '_, '_> {
    /// Appends a header to the output if it is valid.
    pub(super) fn emit(&mut self, id: HeaderId) {
        let program = self.program;
        let header = &program.headers[id.index()];
        let valid = self.word_of_slot(header.valid);
        self.when(valid, |translator| {
            let items: Vec<Item> = header
                .fields
                .iter()
                .map(|field| match field.length {
                    None => Item::Value(translator.read_slot(field.slot)),
                    Some(length) => Item::Varbit {
                        value: field.slot,
                        length,
                    },
                })
                .collect();
            translator.append(target::OUTPUT, &items);
        });
    }

    /// The hash of data, in as many bits as the algorithm has.
    pub(super) fn hash(
        &mut self,
        algorithm: HashAlgorithm,
        data: &[DataItem],
        payload: bool,
        action: Option<&ActionData>,
    ) -> ir::Value {
        if algorithm == HashAlgorithm::Csum16
            && !payload
            && let Some(checksum) = self.checksum_of_fields(data, action)
        {
            return checksum;
        }
        if let Some(crc) = crc_of(algorithm).filter(|_| !payload)
            && let Some(check) = self.crc_of_packet(crc, data)
        {
            return check;
        }
        let items: Vec<Item> = data
            .iter()
            .map(|item| match item {
                DataItem::Value(expr) => Item::Value(self.value(expr, action)),
                DataItem::Varbit { value, length } => Item::Varbit {
                    value: *value,
                    length: *length,
                },
            })
            .collect();
        let values: Option<Vec<Value>> = items.iter().map(fixed).collect();
        match values {
            Some(values) if !payload => {
                let packed = self.pack(&values);
                self.hash_of_packed(algorithm, &packed)
            }
            _ => {
                self.call(runtime::HASH_BEGIN, &[self.context]);
                self.append(target::HASH_INPUT, &items);
                let algorithm = self.environment.pool.keep(algorithm);
                let (algorithm, payload) = (self.pointer(algorithm), self.number(payload.into()));
                self.tell_packet();
                self.call_for_result(runtime::HASH_END, &[self.context, algorithm, payload])
            }
        }
    }

    fn hash_of_packed(&mut self, algorithm: HashAlgorithm, packed: &Packed) -> ir::Value {
        if algorithm == HashAlgorithm::Csum16 {
            return self.internet_checksum(&packed.words);
        }
        if let Some(crc) = crc_of(algorithm).filter(|_| packed.bits <= CRC_BITS_MAX) {
            return self.crc(crc, &packed.words, packed.bits.div_ceil(8));
        }
        let algorithm = self.environment.pool.keep(algorithm);
        let algorithm = self.pointer(algorithm);
        let address = self.store_packed(packed);
        let length = self.number(packed.bits.div_ceil(8).into());
        self.call_for_result(runtime::HASH_BYTES, &[self.context, algorithm, address, length])
    }

    /// `base + hash mod max` in the slot's width; a `max` of 0 counts as 1.
    pub(super) fn hash_in_range(
        &mut self,
        hash: ir::Value,
        (base, max_expr): (&Expr, &Expr),
        width: u32,
        action: Option<&ActionData>,
    ) -> Value {
        let (base, max) = (self.value(base, action), self.value(max_expr, action));
        if let (Some(power), true) = (power_of_two(max_expr), width <= 64) {
            let rest = self.masked(power, hash);
            let base = self.low_word(base);
            let sum = self.ins().iadd(base, rest);
            return self.value_of_u64(width, sum);
        }
        let bits = if width <= 64 && max.width <= 64 { 64 } else { 128 };
        let [base, max, hash] = [base, max, Value::word(64, hash)].map(|value| self.resized(bits, value));
        // A remainder by 0 is 0.
        let rest = self.binary(BinaryOp::Mod, hash, max);
        let sum = self.binary(BinaryOp::Add, base, rest);
        self.resized(width, sum)
    }

    /// Appends data to a buffer of the runtime.
    fn append(&mut self, to: i64, items: &[Item]) {
        let mut run = Vec::new();
        for item in items {
            match *item {
                Item::Value(value) => run.push(value),
                Item::Varbit { value, length } => {
                    self.append_run(to, &std::mem::take(&mut run));
                    self.append_varbit(to, value, length);
                }
            }
        }
        self.append_run(to, &run);
    }

    fn append_run(&mut self, to: i64, values: &[Value]) {
        let packed = self.pack(values);
        if packed.bits == 0 {
            return;
        }
        if to == target::OUTPUT && emits_whole_bytes(self.program) {
            let address = self.place_in_output(packed.bits / 8);
            return self.store_words(address, &packed.words, packed.bits / 8);
        }
        let address = self.store_packed(&packed);
        let (to, bits) = (self.number(to), self.number(packed.bits.into()));
        self.call(runtime::APPEND_BITS, &[self.context, to, address, bits]);
    }

    /// The address for the next bytes of the output.
    fn place_in_output(&mut self, bytes: u32) -> ir::Value {
        let length = self.number(bytes.into());
        if self.is_fast_path() {
            return self.call_for_result(runtime::EXTEND_OUTPUT, &[self.context, length]);
        }
        let [next, end] = self.words_of_context([in_context!(output_next), in_context!(output_end)]);
        let behind = self.ins().iadd(next, length);
        let [fits, grows] = self.blocks();
        let place = self.builder.append_block_param(fits, types::I64);
        let is_room = self.ins().icmp(IntCC::UnsignedLessThanOrEqual, behind, end);
        self.ins().brif(is_room, fits, &[next.into()], grows, &[]);
        self.enter_cold(grows);
        let grown = self.call_for_result(runtime::GROW_OUTPUT, &[self.context, length]);
        self.ins().jump(fits, &[grown.into()]);
        self.enter(fits);
        let behind = self.ins().iadd(place, length);
        self.store(behind, self.context, in_context!(output_next));
        place
    }

    fn append_varbit(&mut self, to: i64, value: SlotId, length: SlotId) {
        let (value, present) = (self.read_slot(value), self.word_of_slot(length));
        let address = self.address_of(value);
        let (to, width) = (self.number(to), self.number(value.width.into()));
        self.call(runtime::APPEND_VALUE, &[self.context, to, address, width, present]);
    }

    /// Stores packed values in a temporary, and returns its address.
    fn store_packed(&mut self, packed: &Packed) -> ir::Value {
        let first = self.temporary(packed.words.len());
        for (index, &word) in packed.words.iter().enumerate() {
            let bytes = self.ins().bswap(word);
            self.store(bytes, self.temporaries, first + 8 * index as i32);
        }
        self.address(self.temporaries, first)
    }

    /// Packs values.
    pub(super) fn pack(&mut self, values: &[Value]) -> Packed {
        let mut packer = Packer::default();
        values.iter().for_each(|value| packer.push_value(self, *value));
        packer.finish(self)
    }

    /// Packs the values of slots. Fields that are adjacent in the packet are loaded together.
    pub(super) fn pack_slots(&mut self, slots: impl Iterator<Item = SlotId>) -> Packed {
        let mut packer = Packer::default();
        let mut run: Option<(Field, u32)> = None;
        for slot in slots {
            let width = self.program.slot(slot).width;
            run = match (run.take(), self.unchanged(slot)) {
                (Some((first, bits)), Some(field)) if first.is_followed_by(bits, &field) => Some((first, bits + width)),
                (before, field) => {
                    packer.push_run(self, before);
                    if field.is_none() {
                        let value = self.read_slot(slot);
                        packer.push_value(self, value);
                    }
                    field.map(|field| (field, width))
                }
            };
        }
        packer.push_run(self, run);
        packer.finish(self)
    }

    /// The field of the packet that holds a slot's value, if nothing has changed that field.
    pub(super) fn unchanged(&self, slot: SlotId) -> Option<Field> {
        self.path()?;
        match self.fast_path().burst.parsed.of(slot) {
            Home::Packet(field) if !self.changed.contains(slot.index()) => Some(*field),
            _ => None,
        }
    }
}

/// The exponent of a constant that is a power of two below 2^64.
fn power_of_two(expr: &Expr) -> Option<u32> {
    let Expr::Const(value) = expr else { return None };
    let number = value.limbs().skip(1).all(|limb| limb == 0).then(|| value.to_u64())?;
    number.is_power_of_two().then(|| number.ilog2())
}

/// The value, if its width is fixed.
fn fixed(item: &Item) -> Option<Value> {
    match item {
        Item::Value(value) => Some(*value),
        Item::Varbit { .. } => None,
    }
}

/// Puts values together.
#[derive(Default)]
struct Packer {
    words: Vec<ir::Value>,
    /// The word that is not full yet: its bits, right-aligned, and their number.
    open: Option<(ir::Value, u32)>,
    bits: u32,
}

impl Packer {
    fn push_value(&mut self, translator: &mut Translator<'_, '_, '_>, value: Value) {
        for index in (0..words(value.width)).rev() {
            let width = (value.width - 64 * index as u32).min(64);
            let limb = translator.limb(value, index);
            self.push(translator, limb, width);
        }
    }

    /// Appends bits of the packet, in parts that fill words.
    fn push_run(&mut self, translator: &mut Translator<'_, '_, '_>, run: Option<(Field, u32)>) {
        let Some((field, bits)) = run else { return };
        let address = translator.address_of_field(&field);
        let mut done = 0;
        while done < bits {
            let filled = self.open.map_or(0, |(_, filled)| filled);
            let width = (bits - done).min(64 - filled);
            let part = translator.load_bits(address, field.bytes, field.first_bit + done, width);
            self.push(translator, part, width);
            done += width;
        }
    }

    /// Appends the low `width` bits (1 to 64) of a word whose other bits are zero.
    fn push(&mut self, translator: &mut Translator<'_, '_, '_>, word: ir::Value, width: u32) {
        self.bits += width;
        let (open, filled) = self.open.take().unwrap_or((word, 0));
        let room = 64 - filled;
        let rest = width.saturating_sub(room);
        let fitting = translator.shifted_right(word, rest);
        let joined = if filled == 0 {
            fitting
        } else {
            let moved = translator.shifted_left(open, width - rest);
            translator.ins().bor(moved, fitting)
        };
        if width < room {
            self.open = Some((joined, filled + width));
            return;
        }
        self.words.push(joined);
        if rest > 0 {
            self.open = Some((translator.masked(rest, word), rest));
        }
    }

    fn finish(mut self, translator: &mut Translator<'_, '_, '_>) -> Packed {
        if let Some((open, filled)) = self.open {
            self.words.push(translator.shifted_left(open, 64 - filled));
        }
        Packed {
            words: self.words,
            bits: self.bits,
        }
    }
}
