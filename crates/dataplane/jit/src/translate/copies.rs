//! The fast path of the copies of a packet. A loop around what follows ingress makes them. For every copy, the slots
//! again have the values that they had before the loop. Each copy is put together in memory of its own
//! ([`crate::packet_context::Copies`]):
//!
//! ```text
//!   replicate ─► more members? ─► port, instance ─► egress ─► Left ─► compute checksum ─► Deparse
//!                   ▲     │ no                                 │ dropped                      │
//!                   │     └──► next lane                       ▼                              ▼
//!                   └──────────────────────────────────────── next ◄──────────────────────────┘
//! ```

use super::Translator;
use super::boundaries::Destination;
use super::value_locations::Home;
use crate::packet_context::{Lane, verdict};
use crate::route::loop_invariant_tables::{differs, once_for_copies};
use crate::route::plan::Leaf;
use crate::route::{Replica, Route, Source};
use crate::runtime::{self, words};
use crate::verdict::Frame;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Variable;
use forebay_ir::{BlockId, SlotId, TableId, Terminator};
use std::collections::BTreeSet;
use std::mem::offset_of;

/// The loop that makes the copies of a packet.
#[derive(Clone, Copy)]
pub(super) struct CopyLoop {
    /// The address of the current copy's [frame](crate::verdict::Frame).
    frame: Variable,
    /// The address for its verdict.
    verdict: Variable,
    /// Its output port.
    pub(super) port: Variable,
    /// The most bytes of it that leave, in variants in which packets do not wait: see [`Lane::truncate_to`].
    pub(super) truncate_to: Variable,
    /// Continues with the next copy.
    next: ir::Block,
}

impl<'a> Translator<'_, 'a, '_> {
    pub(super) fn end_copy(&mut self, copies: CopyLoop, how: u64) {
        let port = self.builder.use_var(copies.port);
        let verdict = self.verdict_with(how, port);
        let place = self.builder.use_var(copies.verdict);
        self.store(verdict, place, 0);
        self.ins().jump(copies.next, &[]);
    }

    /// Ends the current copy if an assertion's condition is 0. Otherwise continues in a new block.
    pub(super) fn require_of_copy(&mut self, condition: ir::Value, copies: CopyLoop) {
        let [next, failed] = self.blocks();
        self.builder.set_cold_block(failed);
        self.ins().brif(condition, next, &[], failed, &[]);
        self.enter(failed);
        self.end_copy(copies, verdict::ASSERT_FAILED);
        self.enter(next);
    }

    /// Begins the loop, and continues with the first code for each copy. Also returns the tables that have been
    /// applied once for all copies.
    pub(super) fn replicate(&mut self, route: &Route, leaf: &'a Leaf, id: BlockId) -> (CopyLoop, BTreeSet<TableId>) {
        let [frame, verdict, port, truncate_to, member, end] =
            std::array::from_fn(|_| self.builder.declare_var(types::I64));
        let copies = CopyLoop {
            frame,
            verdict,
            port,
            truncate_to,
            next: self.builder.create_block(),
        };
        let [head, body] = self.blocks();
        self.begin_copies(route, copies, member, end);
        let once = self.apply_once(route, leaf, id);
        let truncate_to = self.truncate_limit();
        let values = self.values_to_restore(leaf);
        self.ins().jump(head, &[]);

        self.builder.switch_to_block(copies.next);
        let stride = self.load(self.context, in_context!(copy_stride));
        self.move_by(copies.frame, stride);
        let bytes = self.number(size_of::<u64>() as i64);
        self.move_by(copies.verdict, bytes);
        let bytes = self.number(size_of::<Replica>() as i64);
        self.move_by(member, bytes);
        self.ins().jump(head, &[]);

        self.builder.switch_to_block(head);
        let (present, last) = (self.builder.use_var(member), self.builder.use_var(end));
        let more = self.ins().icmp(IntCC::NotEqual, present, last);
        let next_lane = self.next_lane_block();
        self.ins().brif(more, body, &[], next_lane, &[]);

        self.enter(body);
        self.path_mut().copy_loop = Some(copies);
        self.set_truncate_limit(truncate_to);
        self.path_mut().copy_loop = None;
        self.restore(values);
        let flags = super::within_bounds();
        let offset = offset_of!(Replica, egress_port) as i32;
        let port = self.ins().uload32(flags, present, offset);
        let offset = offset_of!(Replica, instance) as i32;
        let instance = self.ins().uload16(types::I64, flags, present, offset);
        self.builder.def_var(copies.port, port);
        let sources: Vec<(SlotId, Source)> = if once.is_empty() {
            route.before_copy().to_vec()
        } else {
            sources_for_copies(route, true)
        };
        let facts = &leaf.flow.block(id).facts;
        self.set_sources(route, &sources, Some(Destination { port, instance }), facts);
        self.begin_random_numbers_of_egress(route, port, instance);
        (copies, once)
    }

    /// Applies the tables that are [applied once](once_for_copies) for all copies, after setting the sources that all
    /// copies share. Returns these tables.
    fn apply_once(&mut self, route: &Route, leaf: &'a Leaf, replicate: BlockId) -> BTreeSet<TableId> {
        let tables = once_for_copies(self.program, route, &leaf.flow, replicate);
        let has_records = |table: TableId| self.program.tables[table.index()].implementation.is_none();
        let tables: Vec<(TableId, BlockId)> = tables.into_iter().filter(|(table, _)| has_records(*table)).collect();
        if tables.is_empty() || self.burst_state().staged() {
            return BTreeSet::new();
        }
        let facts = &leaf.flow.block(replicate).facts;
        self.set_sources(route, &sources_for_copies(route, false), None, facts);
        let of_packet = self.path_mut().flow_slot.take();
        for (_, block) in &tables {
            let Terminator::Apply {
                table, hit, action_run, ..
            } = leaf.flow.block(*block).block.terminator
            else {
                unreachable!("it applies a table")
            };
            let next = self.builder.create_block();
            self.apply(table, (hit, action_run), *block, next);
            self.enter(next);
        }
        self.path_mut().flow_slot = of_packet;
        tables.into_iter().map(|(table, _)| table).collect()
    }

    /// Finds the members of the group, and room for as many copies.
    fn begin_copies(&mut self, route: &Route, copies: CopyLoop, member: Variable, end: Variable) {
        let group = route.group().expect("copies are made of packets with a group");
        let group = self.word_of_slot(group);
        let first = self.find_members(group);
        let size = self.load(self.context, in_context!(group_size));
        let behind = self.ins().iadd(first, size);
        self.store(behind, self.context, in_context!(copies));
        self.store_lane(offset_of!(Lane, first_copy), first);
        let [frames, stride] = self.words_of_context([in_context!(copy_frames), in_context!(copy_stride)]);
        let bytes = self.ins().imul(first, stride);
        let frame = self.ins().iadd(frames, bytes);
        self.builder.def_var(copies.frame, frame);
        let verdicts = self.load(self.context, in_context!(copy_verdicts));
        let place = self.place_of(verdicts, first, 1);
        self.builder.def_var(copies.verdict, place);
        let members = self.load(self.context, in_context!(group_members));
        let bytes = self.times(size, size_of::<Replica>() as u64);
        let behind = self.ins().iadd(members, bytes);
        self.builder.def_var(member, members);
        self.builder.def_var(end, behind);
        let replicated = self.verdict_with(verdict::REPLICATED, size);
        self.store_verdict(replicated);
    }

    /// Sets the members of a group in the context, and makes sure that there is room for as many copies. Returns the
    /// number of copies made so far. Consecutive packets often have the same group.
    fn find_members(&mut self, group: ir::Value) -> ir::Value {
        let [known, size] = self.words_of_context([in_context!(group), in_context!(group_size)]);
        let [copies, most] = self.words_of_context([in_context!(copies), in_context!(copies_max)]);
        let behind = self.ins().iadd(copies, size);
        let is_known = self.ins().icmp(IntCC::Equal, known, group);
        let fit = self.ins().icmp(IntCC::UnsignedLessThanOrEqual, behind, most);
        let is_ready = self.ins().band(is_known, fit);
        let [find, ready] = self.blocks();
        self.builder.set_cold_block(find);
        self.ins().brif(is_ready, ready, &[], find, &[]);
        self.enter(find);
        self.call_rarely(runtime::FIND_MEMBERS, &[group]);
        self.ins().jump(ready, &[]);
        self.enter(ready);
        copies
    }

    /// The slots that may be written for a copy, and the sums, with their current values.
    fn values_to_restore(&mut self, leaf: &Leaf) -> Vec<Restored> {
        let mut values = Vec::new();
        for &slot in &leaf.written {
            match *self.homes.of(slot) {
                Home::Register(variable) => values.push(Restored::Register(variable, self.builder.use_var(variable))),
                Home::State => {
                    let count = words(self.program.slot(slot).width);
                    let (source, kept) = (self.lane_offset(slot), self.burst_state().reserve(count));
                    self.copy_in_lane(kept, source, count);
                    values.push(Restored::Lane {
                        slot: source,
                        kept,
                        words: count,
                    });
                }
                Home::Packet(_) | Home::Constant(_) => {}
            }
        }
        // The packet's sums are also the same for all copies. Cranelift detects this if every copy restores them.
        if !self.burst_state().staged() {
            for variable in self.sum_variables() {
                values.push(Restored::Register(variable, self.builder.use_var(variable)));
            }
        }
        values
    }

    fn restore(&mut self, values: Vec<Restored>) {
        for value in values {
            match value {
                Restored::Register(variable, value) => self.builder.def_var(variable, value),
                Restored::Lane { slot, kept, words } => self.copy_in_lane(slot, kept, words),
            }
        }
    }

    fn copy_in_lane(&mut self, target: i32, source: i32, words: usize) {
        let lane = self.lane();
        for word in 0..words as i32 {
            let value = self.load(lane, source + 8 * word);
            self.store(value, lane, target + 8 * word);
        }
    }

    /// Completes the current copy. Of its `length` bytes, at most as many leave as the truncation limit allows.
    pub(super) fn finish_copy(&mut self, copies: CopyLoop, length: ir::Value) {
        let limit = self.truncate_limit();
        let length = self.ins().umin(length, limit);
        let frame = self.builder.use_var(copies.frame);
        self.store(length, frame, offset_of!(Frame, length) as i32);
        self.end_copy(copies, verdict::PLAIN);
    }

    /// The address of the current copy's bytes.
    pub(super) fn copy_target(&mut self, copies: CopyLoop) -> ir::Value {
        let frame = self.builder.use_var(copies.frame);
        self.load(frame, offset_of!(Frame, start) as i32)
    }
}

/// A value that is restored for every copy.
enum Restored {
    Register(Variable, ir::Value),
    /// Words in the lane, and the place in the lane where their values are kept.
    Lane {
        slot: i32,
        kept: i32,
        words: usize,
    },
}

/// The sources for copies: those that differ between copies, or those that do not.
fn sources_for_copies(route: &Route, differing: bool) -> Vec<(SlotId, Source)> {
    let sources = route.before_copy().iter().copied();
    sources.filter(|(_, source)| differs(*source) == differing).collect()
}
