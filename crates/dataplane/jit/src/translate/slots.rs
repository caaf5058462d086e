//! Slots in the state, for the glue around bodies.

use super::Translator;
use crate::runtime;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::SlotId;

/// Up to this many words are cleared by stores, more by a call.
const CLEARED_WORDS_MAX: usize = 256;

impl Translator<'_, '_, '_> {
    /// Sets words of the state, given in ascending order, to 0.
    pub(super) fn clear_these(&mut self, words: &[usize]) {
        if words.len() <= CLEARED_WORDS_MAX {
            return self.clear_by_stores(words);
        }
        for run in words.chunk_by(|word, next| word + 1 == *next) {
            let first = self.address(self.state, 8 * run[0] as i32);
            let count = self.number(run.len() as i64);
            self.call(runtime::CLEAR, &[first, count]);
        }
    }

    fn clear_by_stores(&mut self, words: &[usize]) {
        let zeros = self.builder.func.dfg.constants.insert(vec![0; 16].into());
        let zeros = self.builder.ins().vconst(types::I64X2, zeros);
        let zero = self.number(0);
        let mut rest = words;
        while let [first, behind @ ..] = rest {
            let is_pair = behind.first() == Some(&(first + 1));
            let value = if is_pair { zeros } else { zero };
            self.store(value, self.state, 8 * *first as i32);
            rest = &behind[usize::from(is_pair)..];
        }
    }

    /// Writes the low bits of a number to a slot, as many as it has.
    pub(super) fn write_number(&mut self, slot: SlotId, number: ir::Value) {
        let value = self.value_of_u64(self.program.slot(slot).width, number);
        self.write_slot(slot, value);
    }

    /// The bytes of all valid headers, including those that no deparser emits.
    pub(super) fn header_bytes(&mut self) -> ir::Value {
        let program = self.program;
        let mut bits = self.number(0);
        for header in &program.headers {
            let valid = self.read_slot(header.valid);
            let valid = self.low_word(valid);
            let (fixed, _) = program.header_bits(header);
            let mut length = self.number(fixed as i64);
            for slot in header.fields.iter().filter_map(|field| field.length) {
                let present = self.read_slot(slot);
                let present = self.low_word(present);
                length = self.builder.ins().iadd(length, present);
            }
            let own = self.builder.ins().imul(valid, length);
            bits = self.builder.ins().iadd(bits, own);
        }
        self.shifted_right(bits, 3)
    }
}
