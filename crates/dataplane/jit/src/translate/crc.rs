//! CRCs of data in registers or in the packet.

use super::Translator;
use super::access::{int_of, unchanging};
use super::value_locations::Field;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::{DataItem, HashAlgorithm};
use forebay_tables::crc::CrcParameters;
use forebay_tables::reflected_crc::ReflectedCrc;

const STEP: usize = ReflectedCrc::STEP;

static CRC_32: ReflectedCrc = ReflectedCrc::new(CrcParameters::CRC_32);
static CRC_16: ReflectedCrc = ReflectedCrc::new(CrcParameters::CRC_16);

/// The CRC of an algorithm, unless the control plane can change its parameters.
pub(super) fn crc_of(algorithm: HashAlgorithm) -> Option<&'static ReflectedCrc> {
    match algorithm {
        HashAlgorithm::Crc32 => Some(&CRC_32),
        HashAlgorithm::Crc16 => Some(&CRC_16),
        _ => None,
    }
}

/// A byte of data: a word, and the byte's lowest bit in it.
type Byte = (ir::Value, u32);

impl Translator<'_, '_, '_> {
    /// The CRC of `bytes` bytes. The first byte is the most significant of the first word.
    pub(super) fn crc(&mut self, crc: &'static ReflectedCrc, words: &[ir::Value], bytes: u32) -> ir::Value {
        let mut steps = words.chunks(STEP / size_of::<u64>());
        let first_count = bytes.min(STEP as u32);
        let first = bytes_of(steps.next().unwrap_or_default(), first_count);
        let constant = crc.initial_after(first_count);
        let mut left = bytes - first_count;
        if left == 0 {
            return self.crc_of_bytes(crc, &first);
        }
        let constant = self.number(i64::from(constant));
        let mut remainder = self.crc_step(crc, &first, constant);
        for data in steps {
            let count = left.min(STEP as u32);
            left -= count;
            remainder = self.crc_after(crc, remainder, data, count);
        }
        self.ins().bxor_imm_u(remainder, i64::from(crc.final_xor))
    }

    /// The CRC of data that the parser has extracted and that has not changed since, read from the packet. `None` when
    /// the data is not of this kind or too long.
    pub(super) fn crc_of_packet(&mut self, crc: &'static ReflectedCrc, data: &[DataItem]) -> Option<ir::Value> {
        let mut slots = Vec::new();
        for item in data {
            let DataItem::Value(expr) = item else { return None };
            slots.extend(self.composition(expr)?);
        }
        let runs = self.runs(&slots)?;
        let are_bytes = |(field, bits): &(Field, u32)| bits.is_multiple_of(8) && field.first_bit.is_multiple_of(8);
        let bits: u32 = runs.iter().map(|(_, bits)| bits).sum();
        if bits == 0 || bits > 8 * STEP as u32 || !runs.iter().all(are_bytes) {
            return None;
        }
        let mut bytes = Vec::new();
        for (field, bits) in runs {
            let (address, first, count) = (self.address_of_field(&field), field.first_bit / 8, bits / 8);
            let mut done = 0;
            while done < count {
                let size = 1 << (count - done).ilog2().min(3);
                let offset = (first + done) as i32;
                let word = match size {
                    8 => self.load(address, offset),
                    _ => self.load_from_packet(int_of(size), address, offset),
                };
                bytes.extend((0..size).map(|byte| (word, 8 * byte)));
                done += size;
            }
        }
        Some(self.crc_of_bytes(crc, &bytes))
    }

    /// The CRC of bytes that are divided in one step.
    fn crc_of_bytes(&mut self, crc: &'static ReflectedCrc, bytes: &[Byte]) -> ir::Value {
        let constant = self.number(i64::from(crc.initial_after(bytes.len() as u32) ^ crc.final_xor));
        self.crc_step(crc, bytes, constant)
    }

    /// The remainder of the first `count` bytes of some words, after bytes whose remainder is `before`.
    fn crc_after(
        &mut self,
        crc: &'static ReflectedCrc,
        before: ir::Value,
        words: &[ir::Value],
        count: u32,
    ) -> ir::Value {
        let first = self.ins().bswap(before);
        let mut dividend = words.to_vec();
        dividend[0] = self.ins().bxor(words[0], first);
        // Fewer than four bytes do not use up the previous remainder.
        let left = if count < 4 {
            self.shifted_right(before, 8 * count)
        } else {
            self.number(0)
        };
        self.crc_step(crc, &bytes_of(&dividend, count), left)
    }

    /// The remainder of bytes, added to `before`. The two halves are summed up separately, so that neither waits for
    /// the other.
    fn crc_step(&mut self, crc: &'static ReflectedCrc, bytes: &[Byte], before: ir::Value) -> ir::Value {
        let tables = self.pointer(&raw const crc.remainders);
        let [tables, before] = self.used_once(tables, before);
        let before = self.ins().ireduce(types::I32, before);
        let mut sums = [before, self.ins().iconst(types::I32, 0)];
        for (following, (byte, sum)) in bytes.iter().rev().zip((0..2).cycle()).enumerate() {
            let remainder = self.table_word(tables, following, *byte);
            sums[sum] = self.ins().bxor(sums[sum], remainder);
        }
        let [even, odd] = sums.map(|sum| self.ins().uextend(types::I64, sum));
        let [even, odd] = self.used_once(even, odd);
        self.ins().bxor(even, odd)
    }

    /// Returns two words unchanged. This keeps Cranelift from folding a load into the instruction that uses it.
    /// Cranelift does that if the result, and all that is computed from it, has a single use; an instruction with two
    /// results ends this chain.
    fn used_once(&mut self, one: ir::Value, other: ir::Value) -> [ir::Value; 2] {
        let both = self.ins().iconcat(one, other);
        let (one, other) = self.ins().isplit(both);
        [one, other]
    }

    /// The table's entry for a byte.
    fn table_word(&mut self, tables: ir::Value, table: usize, (word, first_bit): Byte) -> ir::Value {
        // The byte's bits, already as an offset in bytes.
        const ENTRY: u32 = size_of::<u32>().ilog2();
        let turn = (u64::BITS + ENTRY - first_bit) % u64::BITS;
        let turned = self.ins().rotl_imm_u(word, i64::from(turn));
        let offset = self.ins().band_imm_u(turned, 0xFF << ENTRY);
        let place = self.ins().iadd(tables, offset);
        let bytes_of_table = size_of::<[u32; 256]>();
        self.ins()
            .load(types::I32, unchanging(), place, (table * bytes_of_table) as i32)
    }
}

/// The first bytes of words, beginning with the most significant.
fn bytes_of(words: &[ir::Value], count: u32) -> Vec<Byte> {
    let bytes = words.iter().flat_map(|word| (0..8).map(|byte| (*word, 56 - 8 * byte)));
    bytes.take(count as usize).collect()
}
