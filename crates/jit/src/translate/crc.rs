//! CRCs of data that was put together in registers.

use super::{Translator, within_bounds};
use crate::crc::{Crc, STEP};
use cranelift_codegen::ir::{self, InstBuilder};

impl Translator<'_, '_, '_> {
    /// The check of so many bytes, whose first is the most significant of the first word.
    pub(super) fn crc(&mut self, crc: &'static Crc, words: &[ir::Value], bytes: u32) -> ir::Value {
        let tables = self.pointer(&raw const crc.remainders);
        let mut remainder = self.number(crc.initial.into());
        for (word, &data) in (0..).zip(words) {
            let count = (bytes - word * STEP as u32).min(STEP as u32);
            remainder = self.crc_step(tables, remainder, data, count);
        }
        let final_xor = self.number(crc.final_xor.into());
        self.builder.ins().bxor(remainder, final_xor)
    }

    /// The remainder behind the first `count` bytes of a word.
    fn crc_step(&mut self, tables: ir::Value, before: ir::Value, data: ir::Value, count: u32) -> ir::Value {
        let first = self.builder.ins().bswap(before);
        let dividend = self.builder.ins().bxor(data, first);
        // Of fewer than four bytes, the remainder before is not used up.
        let left = (count < 4).then(|| self.shifted_right(before, 8 * count));
        (0..count)
            .fold(left, |sum, index| {
                let byte = 56 - 8 * index;
                let following = count - 1 - index;
                let remainder = self.table_word(tables, following, dividend, byte);
                Some(match sum {
                    Some(sum) => self.builder.ins().bxor(sum, remainder),
                    None => remainder,
                })
            })
            .unwrap_or(before)
    }

    /// What a table has for the byte of a word that is so many bits from its end.
    fn table_word(&mut self, tables: ir::Value, table: u32, word: ir::Value, byte: u32) -> ir::Value {
        // The byte's bits, as an offset in bytes at once.
        const ENTRY: u32 = size_of::<u32>().ilog2();
        let turned = match byte.checked_sub(ENTRY) {
            Some(right) => self.shifted_right(word, right),
            None => self.shifted_left(word, ENTRY - byte),
        };
        let mask = self.number(0xFF << ENTRY);
        let offset = self.builder.ins().band(turned, mask);
        let place = self.builder.ins().iadd(tables, offset);
        let bytes_of_table = size_of::<[u32; 256]>() as i32;
        self.builder
            .ins()
            .uload32(within_bounds(), place, table as i32 * bytes_of_table)
    }
}
