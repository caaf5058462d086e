//! The fast path after the parser: the graph of [`crate::route::flow`], and what the architecture does at its joints.

use super::Translator;
use super::copies::CopyLoop;
use super::flow::Region;
use super::route::Parsed;
use super::value_locations::Home;
use crate::analysis::truncates;
use crate::packet_context::{Lane, verdict};
use crate::route::facts::Facts;
use crate::route::flow::{Flow, FlowBlock, Joint, Stage};
use crate::route::plan::Leaf;
use crate::route::{BailOut, DropWhen, Route, Source};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use forebay_bits::Bits;
use forebay_ir::{BlockId, SlotId, TableId, Terminator};
use std::collections::{BTreeSet, HashMap};
use std::mem::offset_of;

/// The destination of a packet, or of a copy of it, after ingress.
#[derive(Clone, Copy)]
pub(super) struct Destination {
    pub(super) port: ir::Value,
    pub(super) instance: ir::Value,
}

impl<'a> Translator<'_, 'a, '_> {
    /// Translates all blocks of the graph.
    pub(super) fn flow(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed) {
        let flow: &'a Flow = &leaf.flow;
        let region = Region::of_blocks(flow.blocks.iter().map(|_| self.builder.create_block()).collect());
        self.ins().jump(region.block(BlockId(0)), &[]);
        let mut loops: HashMap<BlockId, (CopyLoop, BTreeSet<TableId>)> = HashMap::new();
        let stages = flow.stages();
        for (block, id) in flow.blocks.iter().zip((0..).map(BlockId)) {
            // Blocks are in topological order.
            self.enter(region.block(id));
            self.carry(leaf, parsed, stages[id.index()]);
            self.count_in_block(id.index());
            let is_behind = stages[id.index()] == Stage::Egress;
            self.on_exit = block.exit.map(|exit| region.block(exit));
            let copies = block.copies.map(|replicate| &loops[&replicate]);
            let is_applied = |table| copies.is_some_and(|(_, once)| once.contains(&table));
            let packet_rests = block.copies.is_some() && !self.burst_state().staged();
            self.changed.clone_from(&leaf.written_before[id.index()]);
            let failed = flow.failed_in(route, id).map(|failed| region.block(failed));
            failed.iter().for_each(|failed| self.builder.set_cold_block(*failed));
            let path = self.path_mut();
            path.sums_known.clone_from(&path.sums_before[id.index()]);
            path.counted_length = route.counted_length.filter(|_| is_behind);
            path.copy_loop = copies.map(|(copies, _)| *copies);
            path.packet_rests = packet_rests;
            path.on_checksum_error = failed;
            self.statements(&region, &block.block.statements);
            self.temporaries_used = 0;
            match block.joint {
                None => match block.block.terminator {
                    Terminator::Apply { table, next, .. } if is_applied(table) => {
                        self.ins().jump(region.block(next), &[]);
                    }
                    _ => self.terminator(&region, &block.block.terminator, id),
                },
                Some(Joint::Deparse) => self.deparse_with(route, leaf, parsed, block),
                Some(Joint::Verified) => self.verified(route),
                Some(Joint::Decide { replicate }) => {
                    let replicate = replicate.map(|block| region.block(block));
                    self.decide(route, block, replicate);
                }
                Some(Joint::Replicate) => {
                    let copies = self.replicate(route, leaf, id);
                    loops.insert(id, copies);
                }
                Some(Joint::Left) => {
                    self.note_clone_from_egress(route, leaf, &block.facts);
                    self.leave(route, block);
                }
            }
            if let (Some(_), Terminator::Jump(next)) = (block.joint, &block.block.terminator) {
                self.ins().jump(region.block(*next), &[]);
            }
        }
        self.on_exit = None;
    }

    fn verified(&mut self, route: &Route) {
        if let Some(slot) = route.checksum_error {
            let failed = self.fast_path().checksum_failed;
            let failed = self.builder.use_var(failed);
            self.note_width(failed, 1);
            self.write_number(slot, failed);
        }
    }

    /// After ingress: decides whether and how the packet continues.
    fn decide(&mut self, route: &Route, block: &FlowBlock, replicate: Option<ir::Block>) {
        self.go_on_if_cloned(route, &block.facts);
        let may_be_set =
            |slot, translator: &Self| !translator.is_known_zero(slot) && block.facts.value(slot) != Some(0);
        for request in &route.requests {
            if may_be_set(request.slot, self) {
                self.end_if_requested(route, request.slot, request.kind.reason());
            }
        }
        if let Some(misses) = route.misses.filter(|slot| may_be_set(*slot, self)) {
            self.bail_out_if_set(misses, BailOut::EgressParser);
        }
        self.resubmit_if_asked(route, &block.facts);
        // A group, at a point at which copies cannot be made.
        let group = route
            .group()
            .filter(|group| block.facts.value(*group) != Some(0) && !self.is_known_zero(*group));
        if group.is_none() || replicate.is_some() {
            self.note_clone_from_ingress(route, &block.facts);
        }
        if let Some(group) = group {
            let group = self.word_of_slot(group);
            let unicast = self.builder.create_block();
            let copies = replicate.unwrap_or_else(|| self.bail_out_block(BailOut::Copies));
            self.ins().brif(group, copies, &[], unicast, &[]);
            self.enter(unicast);
            if replicate.is_none() {
                self.note_clone_from_ingress(route, &block.facts);
            }
        }
        let error = self.parser_error(route);
        self.drop_if_asked(route.ingress_drop, block, (verdict::DROPPED_IN_INGRESS, error));
        if block.block.terminator == Terminator::Return {
            return;
        }
        let port = self.word_of_slot(route.egress_spec);
        let instance = self.number(0);
        let destination = Some(Destination { port, instance });
        self.set_sources(route, &route.before_egress, destination, &block.facts);
        self.begin_random_numbers_of_egress(route, port, instance);
        let chosen = self.on_path().egress_port;
        self.builder.def_var(chosen, port);
    }

    /// Bails out if a slot is not 0.
    pub(super) fn bail_out_if_set(&mut self, slot: SlotId, reason: BailOut) {
        let is_set = self.word_of_slot(slot);
        let end = self.bail_out_block(reason);
        self.go_on_unless(is_set, end);
    }

    /// After egress: decides whether the packet leaves.
    fn leave(&mut self, route: &Route, block: &FlowBlock) {
        self.drop_if_asked(route.egress_drop, block, (verdict::DROPPED_IN_EGRESS, 0));
    }

    /// The error with which the parser has rejected packets on this path; 0 if it accepts them.
    fn parser_error(&self, route: &Route) -> u32 {
        let leaf = self.on_path().leaf;
        let error = route.parser_error.and_then(|slot| leaf.known.get(&slot));
        error.map_or(0, |error| error.to_u64() as u32)
    }

    /// Ends the packet if the program dropped it. If that is certain, nothing follows.
    fn drop_if_asked(&mut self, when: DropWhen, block: &FlowBlock, how: (u64, u32)) {
        match block.facts.value(when.slot) {
            Some(value) if value == when.value => {
                self.mark_cold();
                return self.end_packet(how);
            }
            Some(_) => return,
            None => {}
        }
        let slot = self.word_of_slot(when.slot);
        let dropped = self.ins().icmp_imm_u(IntCC::Equal, slot, when.value as i64);
        self.end_when(dropped, |translator| translator.end_packet(how));
    }

    /// Ends the packet, or the current copy, with this verdict and number; after ingress, the number is the port.
    fn end_packet(&mut self, (how, number): (u64, u32)) {
        match self.copy_loop() {
            Some(copies) => self.end_copy(copies, how),
            None if how == verdict::DROPPED_IN_EGRESS => self.send_lane(how),
            None => self.end_lane(how, number),
        }
    }

    /// Sets slots to the values of sources. No source reads the slot of another one.
    pub(super) fn set_sources(
        &mut self,
        route: &Route,
        sources: &[(SlotId, Source)],
        destination: Option<Destination>,
        facts: &Facts,
    ) {
        let read = route.slots_read(self.program);
        for (slot, source) in sources.iter().filter(|(slot, _)| read.contains(slot)) {
            self.set_source(*slot, *source, destination, facts);
        }
    }

    /// Deparses with the known validities.
    fn deparse_with(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed, block: &FlowBlock) {
        self.recirculate_if_asked(route, &block.facts);
        let homes = self.homes.clone();
        for id in leaf.emitted.iter().flatten() {
            let valid = self.program.headers[id.index()].valid;
            if let Some(value) = block.facts.value(valid) {
                self.homes.set(valid, Home::Constant(Bits::from_bool(value != 0)));
            }
        }
        self.deparse(route, leaf, parsed);
        self.homes = homes;
    }

    /// After the parser: sets no limit yet. In the staged variant, the limit is in the lane.
    pub(super) fn begin_truncation(&mut self) {
        if truncates(self.program) && !self.burst_state().staged() {
            let none = self.number(u32::MAX.into());
            let register = self.variable(none);
            self.path_mut().truncate_to = Some(register);
        }
    }

    /// The register with the limit of the packet, or of the current copy.
    fn truncate_register(&mut self) -> Option<Variable> {
        match self.copy_loop().filter(|_| !self.burst_state().staged()) {
            Some(copies) => Some(copies.truncate_to),
            None => self.on_path().truncate_to,
        }
    }

    /// The most bytes of the packet, or of the current copy, that leave.
    pub(super) fn truncate_limit(&mut self) -> ir::Value {
        if !truncates(self.program) {
            return self.number(u32::MAX.into());
        }
        match self.truncate_register() {
            Some(register) => self.builder.use_var(register),
            None => self.load_lane(offset_of!(Lane, truncate_to)),
        }
    }

    pub(super) fn set_truncate_limit(&mut self, bytes: ir::Value) {
        if !truncates(self.program) {
            return;
        }
        match self.truncate_register() {
            Some(register) => self.builder.def_var(register, bytes),
            None => self.store_lane(offset_of!(Lane, truncate_to), bytes),
        }
    }

    /// Stores the limit for the sender of the packet. In the staged variant it is already in the lane.
    pub(super) fn tell_truncate_limit(&mut self) {
        if truncates(self.environment.program) && !self.burst_state().staged() {
            let limit = self.truncate_limit();
            self.store_lane(offset_of!(Lane, truncate_to), limit);
        }
    }
}
