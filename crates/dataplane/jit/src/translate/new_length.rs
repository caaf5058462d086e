//! The length of the valid headers and, on the fast path, of a packet after ingress.

use super::Translator;
use super::value_locations::Home;
use crate::route::facts::Facts;
use crate::route::plan::Leaf;
use crate::route::{ClonedFrame, Route};
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{Header, SlotId};

impl Translator<'_, '_, '_> {
    /// After the parser: stores the length of the headers that are valid now, if it is needed.
    pub(super) fn begin_new_length(&mut self, route: &Route, leaf: &Leaf) {
        let shows_headers =
            route.cloning.frames[1] == ClonedFrame::Headers && self.notes_clones_from_egress(route, leaf);
        if route.reads_new_length(&leaf.program) || shows_headers || route.cloning.leave {
            let bits = self.valid_header_bits(&Facts::default());
            let variable = self.variable(bits);
            self.path_mut().parsed_bits = Some(variable);
        }
    }

    /// The length in bytes after ingress, where these facts are certain. It is 0 if more headers were removed than the
    /// packet had bytes.
    pub(super) fn new_length(&mut self, facts: &Facts) -> ir::Value {
        let parsed = self.on_path().parsed_bits.expect("it was noted after the parser");
        let parsed = self.builder.use_var(parsed);
        let (present, frame) = (self.valid_header_bits(facts), self.received_bytes());
        // Each is in whole bytes, as on the slow path.
        let [parsed, present] = [parsed, present].map(|bits| self.shifted_right(bits, 3));
        let sum = self.ins().iadd(frame, present);
        let length = self.ins().isub(sum, parsed);
        let zero = self.number(0);
        self.ins().smax(length, zero)
    }

    /// The bytes that the parser left, plus the value of a slot.
    pub(super) fn payload_and(&mut self, slot: SlotId) -> ir::Value {
        let parsed = self.load_cursor();
        let frame = self.packet_bits();
        let left = self.ins().isub(frame, parsed);
        let left = self.shifted_right(left, 3);
        let more = self.word_of_slot(slot);
        self.ins().iadd(left, more)
    }

    /// The bits of all valid headers.
    pub(super) fn valid_header_bits(&mut self, facts: &Facts) -> ir::Value {
        let program = self.program;
        let mut sum = self.number(0);
        let mut always = 0;
        for header in &program.headers {
            let (fixed, _) = program.header_bits(header);
            let varbits: Vec<SlotId> = header.fields.iter().filter_map(|field| field.length).collect();
            match self.known_validity(header, facts) {
                Some(false) => {}
                Some(true) if varbits.is_empty() => always += fixed,
                known => {
                    let bits = self.bits_of(fixed, &varbits);
                    let bits = match known {
                        Some(_) => bits,
                        None => {
                            let (valid, zero) = (self.word_of_slot(header.valid), self.number(0));
                            self.ins().select(valid, bits, zero)
                        }
                    };
                    sum = self.ins().iadd(sum, bits);
                }
            }
        }
        self.ins().iadd_imm_u(sum, always as i64)
    }

    pub(super) fn known_validity(&self, header: &Header, facts: &Facts) -> Option<bool> {
        match self.homes.of(header.valid) {
            Home::Constant(value) => Some(!value.is_zero()),
            _ => facts.value(header.valid).map(|value| value != 0),
        }
    }

    fn bits_of(&mut self, fixed: u64, varbits: &[SlotId]) -> ir::Value {
        let mut bits = self.number(fixed as i64);
        for length in varbits {
            let length = self.word_of_slot(*length);
            bits = self.ins().iadd(bits, length);
        }
        bits
    }
}
