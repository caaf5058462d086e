//! The short way: see [`crate::route`].

use super::homes::{Field, Home, Homes};
use super::value::Value;
use super::{Ending, Translator, within_bounds};
use crate::analysis::header_bits;
use crate::context::ending;
use crate::route::plan::{Leaf, Next, Node, NodeId, Plan};
use crate::route::{Argument, Route, Source};
use crate::runtime::words;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_bits::Bits;
use forebay_ir::{BodyId, Expr, HeaderId, KeySet, Op, SlotId};
use std::collections::HashMap;

/// What is known where the tree of the parser is translated.
#[derive(Clone, Default)]
struct Parsed {
    homes: Homes,
    /// The fields that were extracted, where they are.
    fields: HashMap<SlotId, Field>,
}

impl<'a> Translator<'_, 'a, '_> {
    pub(super) fn route(&mut self, route: &'a Route, plan: &'a Plan) {
        let slots = self.program.slots.len();
        self.homes = Homes::new(slots);
        for slot in (0..slots as u32).map(SlotId) {
            let zero = Bits::zero(self.program.slot(slot).width);
            self.homes.set(slot, Home::Constant(zero));
        }
        let failed = self.builder.declare_var(types::I64);
        let zero = self.number(0);
        self.builder.def_var(failed, zero);
        self.checksum_failed = Some(failed);
        for (slot, source) in &route.before_parser {
            match source {
                Source::Number(number) => {
                    let value = Bits::new(self.program.slot(*slot).width, (*number).into());
                    self.homes.set(*slot, Home::Constant(value));
                }
                _ => self.set_source(*slot, *source, zero),
            }
        }
        let parsed = Parsed {
            homes: self.homes.clone(),
            fields: HashMap::new(),
        };
        self.node(route, plan, plan.root(), parsed);
    }

    fn set_source(&mut self, slot: SlotId, source: Source, egress_port: ir::Value) {
        let number = match source {
            Source::Number(number) => self.number(number as i64),
            Source::Argument(Argument::IngressPort) => self.load_ingress_port(),
            Source::Argument(Argument::Timestamp) => self.load_timestamp(),
            Source::Argument(Argument::PacketLength) => {
                let bits = self.load_packet_bits();
                self.shifted_right(bits, 3)
            }
            Source::EgressPort => egress_port,
        };
        let value = self.value_of_u64(self.program.slot(slot).width, number);
        self.write_slot(slot, value);
    }

    /// A node of the parser's tree, and all below it.
    fn node(&mut self, route: &'a Route, plan: &'a Plan, id: NodeId, mut parsed: Parsed) {
        let node: &'a Node = &plan.nodes[id.0];
        self.homes = parsed.homes.clone();
        for planned in &node.statements {
            self.cursor = planned.cursor;
            self.temporaries_used = 0;
            self.parse_statement(&planned.op, &mut parsed);
        }
        if let Next::Leaf(index) = &node.next {
            for (slot, value) in &plan.leaves[*index].known {
                self.homes.set(*slot, Home::Constant(value.clone()));
            }
        }
        parsed.homes = self.homes.clone();
        self.temporaries_used = 0;
        match &node.next {
            Next::GiveUp => {
                let end = self.ending(Ending::GaveUp);
                self.builder.ins().jump(end, &[]);
            }
            Next::Leaf(index) => self.leaf(route, &plan.leaves[*index], &parsed),
            Next::Branch {
                condition,
                then_node,
                else_node,
            } => {
                let condition = self.condition(condition, None);
                let (then_block, else_block) = (self.builder.create_block(), self.builder.create_block());
                self.builder.ins().brif(condition, then_block, &[], else_block, &[]);
                for (block, node) in [(then_block, *then_node), (else_block, *else_node)] {
                    self.builder.switch_to_block(block);
                    self.builder.seal_block(block);
                    self.node(route, plan, node, parsed.clone());
                }
            }
            Next::Select { keys, cases, default } => {
                let targets: Vec<ir::Block> = cases.iter().map(|_| self.builder.create_block()).collect();
                let default_block = self.builder.create_block();
                let targets_of: Vec<(&[KeySet], ir::Block)> = cases
                    .iter()
                    .map(|(keysets, _)| &keysets[..])
                    .zip(targets.iter().copied())
                    .collect();
                self.select(keys, &targets_of, default_block, None);
                let nodes = cases.iter().map(|(_, node)| *node).chain([*default]);
                for (node, block) in nodes.zip(targets.iter().copied().chain([default_block])) {
                    self.builder.switch_to_block(block);
                    self.builder.seal_block(block);
                    self.node(route, plan, node, parsed.clone());
                }
            }
        }
    }

    fn parse_statement(&mut self, op: &Op, parsed: &mut Parsed) {
        match op {
            Op::Extract { header, varbit_bits } => self.locate(*header, varbit_bits.as_ref(), parsed),
            _ => self.statement(op, None),
        }
    }

    /// Extracts a header: finds out where it is.
    fn locate(&mut self, id: HeaderId, varbit_bits: Option<&Expr>, parsed: &mut Parsed) {
        let program = self.program;
        let header = &program.headers[id.index()];
        let (fixed, _) = header_bits(program, header);
        if varbit_bits.is_some() || self.cursor.bit_in_byte().is_none() {
            return self.extract_to_slots(id, varbit_bits, parsed);
        }
        let bits = self.number(fixed as i64);
        let position = self.require_bits(bits);
        let start = self
            .field_at(position, fixed as u32)
            .expect("where the parser stands in its byte is known");
        let mut offset = start.first_bit;
        for field in &header.fields {
            let width = program.slot(field.slot).width;
            let place = Field {
                first_bit: offset,
                ..start
            };
            offset += width;
            parsed.fields.insert(field.slot, place);
            if width <= 128 {
                self.homes.set(field.slot, Home::Packet(place));
            } else {
                self.homes.set(field.slot, Home::State);
                self.read_wide(field.slot, &place, width);
            }
        }
        self.homes.set(header.valid, Home::Constant(Bits::from_bool(true)));
        let end = self.builder.ins().iadd(position, bits);
        self.store_cursor(end);
    }

    fn read_wide(&mut self, slot: SlotId, place: &Field, width: u32) {
        let target = self.slot_address(slot);
        for index in 0..words(width) {
            let word = self.load_limb(place, width, index);
            self.store(word, target, 8 * index as i32);
        }
    }

    /// A header whose fields are not at places that are known: they are read at once.
    fn extract_to_slots(&mut self, id: HeaderId, varbit_bits: Option<&Expr>, parsed: &mut Parsed) {
        let header = &self.program.headers[id.index()];
        for slot in header.slots() {
            self.move_to_register(slot);
            parsed.fields.remove(&slot);
        }
        for field in &header.fields {
            if field.length.is_some() {
                self.homes.set(field.slot, Home::State);
            }
        }
        self.extract(id, varbit_bits);
        self.homes.set(header.valid, Home::Constant(Bits::from_bool(true)));
    }

    /// All that follows the parser.
    fn leaf(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed) {
        let whole = std::mem::replace(&mut self.program, &leaf.program);
        self.cursor = leaf.cursor;
        self.settle(leaf);
        self.control(route.verify_checksum);
        if let (Some(slot), Some(failed)) = (route.checksum_error, self.checksum_failed) {
            let failed = self.builder.use_var(failed);
            let value = self.value_of_u64(self.program.slot(slot).width, failed);
            self.write_slot(slot, value);
        }
        self.control(route.ingress);
        let egress_port = self.decide(route);
        for (slot, source) in &route.before_egress {
            self.set_source(*slot, *source, egress_port);
        }
        self.control(route.egress);
        self.drop_if_asked(route, ending::DROPPED_IN_EGRESS);
        self.control(route.compute_checksum);
        self.store_egress_port(egress_port);
        if leaf.in_place && self.can_write_back(leaf, parsed) {
            self.write_back(leaf, parsed);
            self.end(ending::SENT_IN_PLACE);
        } else {
            self.control(route.deparser);
            self.end(ending::SENT_REWRITTEN);
        }
        self.program = whole;
    }

    /// Gives the slots that the bodies write their registers, with the values that they have now.
    fn settle(&mut self, leaf: &Leaf) {
        for &slot in &leaf.written {
            if matches!(self.homes.of(slot), Home::Constant(_) | Home::Packet(_)) {
                let value = self.read_slot(slot);
                self.move_to_register(slot);
                self.write_slot(slot, value);
            }
        }
    }

    /// A control, from here on.
    fn control(&mut self, body: BodyId) {
        let program = self.program;
        let next = self.builder.create_block();
        self.on_exit = Some(next);
        self.body(&program.bodies[body.index()], None, Some(next));
        self.on_exit = None;
        self.builder.switch_to_block(next);
        self.temporaries_used = 0;
    }

    /// Behind ingress: whether the packet goes on this way; its port.
    fn decide(&mut self, route: &Route) -> ir::Value {
        for &slot in &route.copying {
            if self.is_known_zero(slot) {
                continue;
            }
            let copies = self.read_slot(slot);
            let copies = self.low_word(copies);
            self.refuse(copies, Ending::GaveUp);
        }
        self.drop_if_asked(route, ending::DROPPED_IN_INGRESS);
        let port = self.read_slot(route.egress_spec);
        self.low_word(port)
    }

    fn is_known_zero(&self, slot: SlotId) -> bool {
        matches!(self.homes.of(slot), Home::Constant(value) if value.is_zero())
    }

    fn drop_if_asked(&mut self, route: &Route, how: i64) {
        let spec = self.read_slot(route.egress_spec);
        let spec = self.low_word(spec);
        let drop_port = self.number(route.drop_port.into());
        let dropped = self.builder.ins().icmp(IntCC::Equal, spec, drop_port);
        let (end, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(dropped, end, &[], next, &[]);
        self.builder.switch_to_block(end);
        self.end(how);
        self.builder.switch_to_block(next);
    }

    /// The packet takes the long way from here on.
    pub(super) fn give_up(&mut self) {
        let end = self.ending(Ending::GaveUp);
        self.builder.ins().jump(end, &[]);
        // What follows is never reached.
        let next = self.builder.create_block();
        self.builder.switch_to_block(next);
    }

    /// The slots of fields of extracted headers that may differ from what is in the packet.
    fn changed_fields(&self, leaf: &Leaf, parsed: &Parsed) -> Vec<SlotId> {
        let program = self.program;
        let headers = leaf.extracted.iter().map(|header| &program.headers[header.index()]);
        let slots = headers.flat_map(|header| &header.fields).map(|field| field.slot);
        let was_changed = |slot: &SlotId| {
            parsed.fields.contains_key(slot) && matches!(parsed.homes.of(*slot), Home::Register(_) | Home::Constant(_))
        };
        slots
            .filter(|slot| leaf.written.contains(slot) || was_changed(slot))
            .collect()
    }

    fn can_write_back(&self, leaf: &Leaf, parsed: &Parsed) -> bool {
        self.changed_fields(leaf, parsed)
            .iter()
            .all(|slot| parsed.fields.contains_key(slot))
    }

    /// Puts the fields that the program changed where they were.
    fn write_back(&mut self, leaf: &Leaf, parsed: &Parsed) {
        for slot in self.changed_fields(leaf, parsed) {
            let value = self.read_slot(slot);
            self.store_field(&parsed.fields[&slot], value);
        }
    }

    fn store_field(&mut self, place: &Field, value: Value) {
        let count = words(value.width);
        for index in 0..count {
            let end = place.first_bit + value.width - 64 * index as u32;
            let width = (value.width - 64 * index as u32).min(64);
            let word = self.limb(value, index);
            self.store_bits(place.address, end - width, width, word);
        }
    }

    /// Writes the low `width` bits of a word, whose other bits are zero.
    fn store_bits(&mut self, address: ir::Value, first_bit: u32, width: u32, word: ir::Value) {
        let end = first_bit + width;
        if first_bit.is_multiple_of(8) && end.is_multiple_of(8) {
            return self.store_bytes(address, first_bit / 8, end / 8, word);
        }
        for byte in first_bit / 8..end.div_ceil(8) {
            // Bits of the field in this byte: from the left, `skip` are others', and `behind` on the right.
            let skip = first_bit.saturating_sub(8 * byte);
            let behind = (8 * byte + 8).saturating_sub(end);
            let part = if behind > 0 {
                self.shifted_left(word, behind)
            } else {
                self.shifted_right(word, end - 8 * byte - 8)
            };
            let mask = (0xFFi64 >> skip) & !((1 << behind) - 1);
            let keep = self.number(0xFF & !mask);
            let mask = self.number(mask);
            let old = self.load_big_endian(1, address, byte as i32);
            let old = self.builder.ins().band(old, keep);
            let part = self.builder.ins().band(part, mask);
            let new = self.builder.ins().bor(old, part);
            self.builder.ins().istore8(within_bounds(), new, address, byte as i32);
        }
    }

    /// Writes whole bytes, in as few parts as there are powers of two.
    fn store_bytes(&mut self, address: ir::Value, first: u32, end: u32, word: ir::Value) {
        let mut at = first;
        while at < end {
            let size = 1u32 << (end - at).ilog2();
            let part = self.shifted_right(word, 8 * (end - at - size));
            let kind = match size {
                1 => types::I8,
                2 => types::I16,
                4 => types::I32,
                _ => types::I64,
            };
            let part = if size == 8 {
                part
            } else {
                self.builder.ins().ireduce(kind, part)
            };
            let part = if size == 1 {
                part
            } else {
                self.builder.ins().bswap(part)
            };
            self.builder.ins().store(within_bounds(), part, address, at as i32);
            at += size;
        }
    }
}
