//! Functions for the sides of a traffic manager: see [`crate::gress`].

use super::{Ending, Translator};
use crate::analysis::header_bits;
use crate::compile::body_counting;
use crate::context::{Context, ending};
use crate::gress::{EgressHalf, IngressHalf, MetadataSource};
use crate::runtime;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::{BodyId, SlotId};
use std::mem::offset_of;

/// So many words are cleared by stores, more by a call.
const CLEARED_WORDS_MAX: usize = 256;

impl Translator<'_, '_, '_> {
    /// Everything before the traffic manager.
    pub(super) fn ingress_half(&mut self, half: &IngressHalf) {
        self.clear_state();
        self.set_given(&half.before_parser);
        self.parser_of_half(half);
        if let Some(verify_checksum) = half.verify_checksum {
            self.control_of_half(verify_checksum);
            if let Some(slot) = half.checksum_error {
                let failed = self.call_for_result(runtime::CHECKSUM_FAILED, &[self.context]);
                self.write_number(slot, failed);
            }
        }
        self.note_header_bytes(offset_of!(Context<'_>, parsed_bytes));
        self.control_of_half(half.ingress);
        self.note_header_bytes(offset_of!(Context<'_>, header_bytes));
        self.end(ending::RETURNED);
    }

    /// Everything behind the traffic manager.
    pub(super) fn egress_half(&mut self, half: &EgressHalf) {
        self.set_given(&half.before_egress);
        self.control_of_half(half.egress);
        self.note_header_bytes(offset_of!(Context<'_>, header_bytes));
        let copies = self.load(self.context, offset_of!(Context<'_>, wants_copies) as i32);
        self.when_rarely_ended(copies, ending::WANTS_COPIES);
        let (slot, drop_port) = half.drop;
        let port = self.read_slot(slot);
        let port = self.low_word(port);
        let drop_port = self.number(drop_port.into());
        let dropped = self.builder.ins().icmp(IntCC::Equal, port, drop_port);
        self.when_rarely_ended(dropped, ending::DROPPED);
        if let Some(compute_checksum) = half.compute_checksum {
            self.control_of_half(compute_checksum);
        }
        self.control_of_half(half.deparser);
        self.end(ending::RETURNED);
    }

    /// All slots are 0, unless somebody has made the state ready.
    fn clear_state(&mut self) {
        let is_ready = self.load(self.context, offset_of!(Context<'_>, state_is_ready) as i32);
        let (clear, ready) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_ready, ready, &[], clear, &[]);
        self.enter(clear);
        let words = self.environment.layout.words();
        if words <= CLEARED_WORDS_MAX {
            self.clear_words();
        } else {
            let count = self.number(words as i64);
            self.call(runtime::CLEAR, &[self.state, count]);
        }
        self.builder.ins().jump(ready, &[]);
        self.enter(ready);
    }

    /// By stores of two words where it is possible.
    fn clear_words(&mut self) {
        let words = self.cleared_words();
        let zeros = self.builder.func.dfg.constants.insert(vec![0; 16].into());
        let zeros = self.builder.ins().vconst(types::I64X2, zeros);
        let zero = self.number(0);
        let mut rest = &words[..];
        while let [first, behind @ ..] = rest {
            let is_pair = behind.first() == Some(&(first + 1));
            let value = if is_pair { zeros } else { zero };
            self.store(value, self.state, 8 * *first as i32);
            rest = &behind[usize::from(is_pair)..];
        }
    }

    /// The words of all slots that begin with 0, in their order.
    fn cleared_words(&self) -> Vec<usize> {
        let slots = (0..self.program.slots.len() as u32).map(SlotId);
        let slots = slots.filter(|slot| !self.environment.uncleared.contains(slot.index()));
        let words = slots.flat_map(|slot| {
            let first = self.environment.layout.first_word(slot);
            first..first + runtime::words(self.program.slot(slot).width)
        });
        words.collect()
    }

    fn set_given(&mut self, values: &[(SlotId, MetadataSource)]) {
        let given = self.load(self.context, offset_of!(Context<'_>, given) as i32);
        for (slot, source) in values {
            let number = match source {
                MetadataSource::Number(number) => self.number(*number as i64),
                MetadataSource::Given(index) => self.load(given, 8 * *index as i32),
            };
            self.write_number(*slot, number);
        }
    }

    /// Writes the bits of a number that a slot has.
    fn write_number(&mut self, slot: SlotId, number: ir::Value) {
        let value = self.value_of_u64(self.program.slot(slot).width, number);
        self.write_slot(slot, value);
    }

    /// The parser; its error, which ends no packet.
    fn parser_of_half(&mut self, half: &IngressHalf) {
        let (next, rejected) = (self.builder.create_block(), self.builder.create_block());
        let error = self.builder.append_block_param(rejected, types::I64);
        self.on_reject = Some(rejected);
        self.begin_body(half.parser);
        let program = self.program;
        self.body(&program.bodies[half.parser.index()], None, Some(next));
        self.on_reject = None;
        for (ending, block) in std::mem::take(&mut self.endings) {
            let number = match ending {
                Ending::Rejected(error) => Some(error),
                Ending::StepLimit => half.timeout,
                _ => None,
            };
            match number {
                Some(number) => {
                    self.enter(block);
                    self.builder.set_cold_block(block);
                    let number = self.number(number.into());
                    self.builder.ins().jump(rejected, &[number.into()]);
                }
                None => {
                    self.endings.insert(ending, block);
                }
            }
        }
        self.enter(rejected);
        self.builder.set_cold_block(rejected);
        if let Some(slot) = half.parser_error {
            self.write_number(slot, error);
        }
        self.builder.ins().jump(next, &[]);
        self.enter(next);
    }

    /// A control, to its end or to `exit`.
    fn control_of_half(&mut self, body: BodyId) {
        let next = self.builder.create_block();
        self.on_exit = Some(next);
        self.begin_body(body);
        let program = self.program;
        self.body(&program.bodies[body.index()], None, Some(next));
        self.on_exit = None;
        self.enter(next);
    }

    /// Every body has all steps before it.
    fn begin_body(&mut self, body: BodyId) {
        self.steps = 0;
        let limit = self.environment.step_limit;
        self.counting = body_counting(self.program, body, limit);
        let limit = self.number(limit as i64);
        self.store_steps_left(limit);
    }

    /// Bytes of all valid headers, those that no deparser emits included.
    fn note_header_bytes(&mut self, field: usize) {
        let program = self.program;
        let mut bits = self.number(0);
        for header in &program.headers {
            let valid = self.read_slot(header.valid);
            let valid = self.low_word(valid);
            let (fixed, _) = header_bits(program, header);
            let mut length = self.number(fixed as i64);
            for slot in header.fields.iter().filter_map(|field| field.length) {
                let present = self.read_slot(slot);
                let present = self.low_word(present);
                length = self.builder.ins().iadd(length, present);
            }
            let own = self.builder.ins().imul(valid, length);
            bits = self.builder.ins().iadd(bits, own);
        }
        let bytes = self.shifted_right(bits, 3);
        self.store(bytes, self.context, field as i32);
    }

    /// Returns so when a condition is not 0, which is seldom.
    fn when_rarely_ended(&mut self, condition: ir::Value, ending: i64) {
        let (ends, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(ends);
        self.builder.ins().brif(condition, ends, &[], next, &[]);
        self.enter(ends);
        self.end(ending);
        self.enter(next);
    }
}
