//! The loop over the packets of a burst, and the places where they wait for each other.
//!
//! In a straight form, or one with a flow cache, packets do not wait: there is one segment, which goes along the list of frames
//! and writes that of fates, and look-ups are made where they stand. In a staged form they do:
//!
//! ```text
//!          ┌─────────────► lane ─────────────┬──────────────┬─────────── …
//!          │                                 ▼              ▼
//!          │                            segment 0      segment 1
//!          │                        parse, then aside      find
//!          │                          at a look-up │       action …
//!          └── more lanes? ◄─────── next ◄─────────┴──────────┘
//!                   │ no
//!                   ▼
//!               next segment: find all keys of its queue; return behind the last
//! ```
//!
//! A packet that reaches a look-up is laid aside: its key and what is in registers and will be read later go into its lane,
//! the lane's address into the look-up's queue. When all packets have come to their ends or look-ups, the keys of
//! each queue are looked up together, so that the memory accesses of one overlap those of the others, and the packets go on.

use super::Translator;
use super::search::Match;
use super::value_locations::{Home, Homes};
use crate::analysis::truncates;
use crate::context::Context;
use crate::fast_path::Frame;
use crate::packet_context::{HEAD_WORDS, Lane, QUEUE_WORDS, Shape, fate};
use crate::route::BailOut;
use crate::route::live_sets::Crossing;
use crate::route::plan::Leaf;
use crate::runtime::{self, LaneLookup};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::{Switch, Variable};
use forebay_exec::PacketFacts;
use forebay_ir::{BlockId, SlotId, TableId};
use forebay_tables::Search;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::offset_of;

/// How packets of a burst go.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Whether they wait for each other at look-ups.
    pub(super) staged: bool,
    /// Whether most of them use their lane, which nobody finds without looking for it if they do not.
    pub(super) uses_lanes: bool,
}

/// What the fast path's translation keeps in mind.
pub(super) struct Burst {
    /// Whether packets wait at look-ups.
    staged: bool,
    /// The address of the present lane, if packets wait or use it otherwise.
    lane: Option<Variable>,
    /// Where it says where the present frame is, if packets do not wait.
    frame: Option<Variable>,
    /// Where in the queue the lane's address is, and the queue's end; else where it is written what became of the packet, and
    /// where that of the last one ends.
    position: Variable,
    end: Variable,
    segment: Variable,
    /// Goes on with the next lane.
    next: ir::Block,
    /// The segments behind the first: look-ups before them, and where they begin.
    segments: Vec<(Vec<LaneLookup>, ir::Block)>,
    /// The look-ups to be made where the packet waits next.
    asked: Vec<LaneLookup>,
    /// Where packets wait for look-ups, by block of the present way's flow.
    pub(super) asked_at: BTreeSet<BlockId>,
    /// By table: its look-up where packets wait for another one.
    early: BTreeMap<TableId, LaneLookup>,
    /// Homes of all slots behind the parser, on the way that is being translated.
    pub(super) parsed: Homes,
    /// Registers that are not slots and are needed later.
    pub(super) carried: Vec<Variable>,
    /// Offsets in the lane.
    slots: HashMap<SlotId, i32>,
    variables: HashMap<u32, i32>,
    words: usize,
    /// Whether anything but a packet's fate is read or written of it, or of its lane.
    touched: bool,
    /// Records that were found for the whole burst, and whether they are entries'.
    ahead: HashMap<TableId, (Variable, Variable)>,
}

impl Burst {
    /// Whether packets wait at look-ups.
    pub(super) fn staged(&self) -> bool {
        self.staged
    }

    /// Room for so many words in every lane: its offset in bytes.
    pub(super) fn reserve(&mut self, words: usize) -> i32 {
        let offset = self.words;
        self.words += words;
        (8 * offset) as i32
    }
}

impl Translator<'_, '_, '_> {
    /// The loop around what `first` translates, which is the first segment, and before it what `prepare` translates.
    pub(super) fn burst(
        &mut self,
        way: Way,
        key_words: usize,
        prepare: impl FnOnce(&mut Self),
        first: impl FnOnce(&mut Self),
    ) -> Shape {
        let declare = |translator: &mut Self| translator.builder.declare_var(types::I64);
        let staged = way.staged;
        let burst = Burst {
            staged,
            lane: (staged || way.uses_lanes).then(|| declare(self)),
            frame: (!staged).then(|| declare(self)),
            position: declare(self),
            end: declare(self),
            segment: declare(self),
            next: self.builder.create_block(),
            segments: Vec::new(),
            asked: Vec::new(),
            asked_at: BTreeSet::new(),
            early: BTreeMap::new(),
            parsed: Homes::default(),
            carried: Vec::new(),
            slots: HashMap::new(),
            variables: HashMap::new(),
            words: HEAD_WORDS + key_words,
            touched: false,
            ahead: HashMap::new(),
        };
        let (position, end, segment) = (burst.position, burst.end, burst.segment);
        let (lane, frame) = (burst.lane, burst.frame);
        self.burst = Some(burst);
        let (begin, last) = match staged {
            true => {
                let queues = self.load_queues();
                (self.address(queues, 8), self.load(queues, 0))
            }
            false => (self.load_fates(), self.load_fates_end()),
        };
        if let Some(lane) = lane {
            let first = self.load_lanes();
            self.builder.def_var(lane, first);
        }
        if let Some(frame) = frame {
            let first = self.load_first_frame();
            self.builder.def_var(frame, first);
        }
        let zero = self.number(0);
        self.builder.def_var(position, begin);
        self.builder.def_var(end, last);
        self.builder.def_var(segment, zero);
        prepare(self);
        let lane_block = self.builder.create_block();
        self.builder.ins().jump(lane_block, &[]);
        let first_block = self.builder.create_block();
        self.builder.switch_to_block(first_block);
        self.burst_state().touched = false;
        first(self);
        self.next_lane(lane_block);
        self.enter_lane(lane_block, first_block);
        let burst = self.burst.as_ref().expect("it was set above");
        self.environment.touches_packets |= burst.touched;
        Shape {
            lane_words: burst.words,
            queues: 1 + burst.segments.len(),
        }
    }

    pub(super) fn burst_state(&mut self) -> &mut Burst {
        self.burst.as_mut().expect("only the fast path has bursts")
    }

    /// Where the present lane's way has ended.
    pub(super) fn next_lane_block(&mut self) -> ir::Block {
        self.burst_state().next
    }

    /// Takes the lane that is next in the queue into its segment.
    fn enter_lane(&mut self, lane_block: ir::Block, first: ir::Block) {
        self.builder.switch_to_block(lane_block);
        let burst = self.burst_state();
        let (lane, position, segment) = (burst.lane, burst.position, burst.segment);
        let blocks: Vec<ir::Block> = burst.segments.iter().map(|(_, block)| *block).collect();
        let frame = burst.frame;
        match lane.filter(|_| burst.staged) {
            Some(lane) => {
                let position = self.builder.use_var(position);
                let address = self.load(position, 0);
                self.builder.def_var(lane, address);
            }
            None => {
                let all = [Some(position), frame, lane];
                all.into_iter().flatten().for_each(|variable| self.name(variable));
            }
        }
        if blocks.is_empty() {
            self.builder.ins().jump(first, &[]);
            return;
        }
        let segment = self.builder.use_var(segment);
        let mut switch = Switch::new();
        for (index, block) in (1u128..).zip(blocks) {
            switch.set_entry(index, block);
        }
        switch.emit(&mut self.builder, segment, first);
    }

    /// Moves on in the queue, or to the next queue.
    fn next_lane(&mut self, lane_block: ir::Block) {
        let burst = self.burst_state();
        let (next, position, end) = (burst.next, burst.position, burst.end);
        let (frame, lane) = (burst.frame, burst.lane.filter(|_| !burst.staged));
        let next_segment = self.builder.create_block();
        self.builder.switch_to_block(next);
        if let Some(frame) = frame {
            let stride = self.load_frame_stride();
            self.move_by(frame, stride);
        }
        if let Some(lane) = lane {
            let words = self.load_lane_words();
            let bytes = self.shifted_left(words, 3);
            self.move_by(lane, bytes);
        }
        let present = self.builder.use_var(position);
        let following = self.address(present, 8);
        self.builder.def_var(position, following);
        let last = match frame {
            // Not for long in a register, of which programs have too few.
            Some(_) => self.load_fates_end(),
            None => self.builder.use_var(end),
        };
        let more = self.builder.ins().icmp(IntCC::NotEqual, following, last);
        self.builder.ins().brif(more, lane_block, &[], next_segment, &[]);
        self.builder.switch_to_block(next_segment);
        self.next_segment(next_segment, lane_block);
    }

    /// Has a register that differs from lane to lane count as computed in this one: Cranelift finds that values are the same on
    /// all ways through a lane only if they are results of instructions.
    fn name(&mut self, variable: Variable) {
        let value = self.builder.use_var(variable);
        let zero = self.number(0);
        let same = self.builder.ins().iadd(value, zero);
        self.builder.def_var(variable, same);
    }

    pub(super) fn move_by(&mut self, variable: Variable, bytes: ir::Value) {
        let present = self.builder.use_var(variable);
        let following = self.builder.ins().iadd(present, bytes);
        self.builder.def_var(variable, following);
    }

    /// Returns how many packets have come to their ends.
    fn done(&mut self, begin: ir::Value, behind: ir::Value) {
        let bytes = self.builder.ins().isub(behind, begin);
        let count = self.shifted_right(bytes, 3);
        self.builder.ins().return_(&[count]);
    }

    /// The same, of a form in which they do so one after the other, when the present one was the last.
    fn done_so_far(&mut self, behind: ir::Value) {
        let begin = self.load_fates();
        self.done(begin, behind);
    }

    fn next_segment(&mut self, next_segment: ir::Block, lane_block: ir::Block) {
        let burst = self.burst_state();
        let (position, end, segment) = (burst.position, burst.end, burst.segment);
        let look_ups: Vec<Vec<LaneLookup>> = burst.segments.iter().map(|(look_ups, _)| look_ups.clone()).collect();
        if !burst.staged {
            let behind = self.builder.use_var(position);
            return self.done_so_far(behind);
        }
        let count = look_ups.len();
        let look_ups = self.environment.pool.keep(look_ups);
        let number = self.builder.use_var(segment);
        let one = self.number(1);
        let number = self.builder.ins().iadd(number, one);
        self.builder.def_var(segment, number);
        let (done, look) = (self.builder.create_block(), self.builder.create_block());
        let limit = self.number(count as i64);
        let is_done = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, number, limit);
        self.builder.ins().brif(is_done, done, &[], look, &[]);
        self.builder.switch_to_block(done);
        // All lanes of the first queue.
        let queues = self.load_queues();
        let (begin, last) = (self.address(queues, 8), self.load(queues, 0));
        self.done(begin, last);
        self.builder.switch_to_block(look);
        let bytes = self.number(8 * QUEUE_WORDS as i64);
        let offset = self.builder.ins().imul(number, bytes);
        let queues = self.load_queues();
        let queue = self.builder.ins().iadd(queues, offset);
        let begin = self.address(queue, 8);
        let last = self.load(queue, 0);
        self.store(begin, queue, 0);
        self.builder.def_var(position, begin);
        self.builder.def_var(end, last);
        let find = self.builder.create_block();
        let is_empty = self.builder.ins().icmp(IntCC::Equal, begin, last);
        self.builder.ins().brif(is_empty, next_segment, &[], find, &[]);
        self.builder.switch_to_block(find);
        let index = self.builder.ins().isub(number, one);
        let look_ups = self.pointer(look_ups);
        self.call(runtime::FIND_ALL, &[self.context, look_ups, index, begin, last]);
        self.builder.ins().jump(lane_block, &[]);
    }

    /// Remembers what was found for the whole burst.
    pub(super) fn note_ahead(&mut self, table: TableId, found: Match) {
        let variables = [found.record, found.hit].map(|value| {
            let variable = self.builder.declare_var(types::I64);
            self.builder.def_var(variable, value);
            variable
        });
        self.burst_state().ahead.insert(table, variables.into());
    }

    /// What was found for the whole burst, if the table was looked up for it.
    pub(super) fn found_ahead(&mut self, table: TableId) -> Option<Match> {
        let (record, hit) = *self.burst.as_ref()?.ahead.get(&table)?;
        Some(Match {
            record: self.builder.use_var(record),
            hit: self.builder.use_var(hit),
        })
    }

    /// Looks a key up. Packets may wait here.
    pub(super) fn find(
        &mut self,
        table: TableId,
        search: Option<Search>,
        key: &[ir::Value],
        crossing: Option<&Crossing>,
    ) -> Match {
        match crossing.filter(|_| self.burst_state().staged) {
            Some(crossing) => {
                self.store_key(key);
                let mut look_ups = std::mem::take(&mut self.burst_state().asked);
                look_ups.push(self.lane_look_up(table, HEAD_WORDS, LaneLookup::FOUND, key.len()));
                self.wait(look_ups, crossing);
                self.match_in_lane()
            }
            None => self.look_up_now(table, search, key),
        }
    }

    /// Has tables looked up where the packet waits at the end of a block, besides the one that it waits for.
    pub(super) fn ask_early(&mut self, leaf: &Leaf, block: BlockId) {
        if !self.burst_state().staged || !leaf.crossings.contains_key(&block) {
            return;
        }
        for table in leaf.early.asked_at(block).iter().copied() {
            let Some(layout) = self.table_layout(table).filter(|_| self.found_ahead(table).is_none()) else {
                continue;
            };
            let key = self.key_words(table, &layout);
            let look_up = self.early_look_up(table, key.len());
            for (index, word) in key.into_iter().enumerate() {
                self.store_lane(8 * (look_up.key + index), word);
            }
            self.burst_state().asked.push(look_up);
        }
        self.burst_state().asked_at.insert(block);
    }

    /// A table's look-up where packets wait for another one. All have the same places in the lane.
    fn early_look_up(&mut self, table: TableId, key_words: usize) -> LaneLookup {
        if let Some(look_up) = self.burst_state().early.get(&table) {
            return *look_up;
        }
        let burst = self.burst_state();
        let (key, found) = (burst.reserve(key_words) / 8, burst.reserve(2) / 8);
        let look_up = self.lane_look_up(table, key as usize, found as usize, key_words);
        self.burst_state().early.insert(table, look_up);
        look_up
    }

    fn lane_look_up(&self, table: TableId, key: usize, found: usize, key_words: usize) -> LaneLookup {
        let declared = &self.program.tables[table.index()];
        let is_counted = declared.direct_counter.is_some() || declared.direct_meter.is_some();
        LaneLookup {
            table,
            needs_slots: is_counted || declared.supports_timeout,
            key,
            key_words,
            found,
        }
    }

    /// What was found for the table that a block applies, if every packet had it looked up where it waited for another one.
    pub(super) fn found_early(&mut self, leaf: &Leaf, block: BlockId, table: TableId) -> Option<Match> {
        let places = leaf.early.found_at(block)?;
        if !places.is_subset(&self.burst_state().asked_at) {
            return None;
        }
        let found = 8 * self.burst_state().early.get(&table)?.found;
        Some(Match {
            record: self.load_lane(found),
            hit: self.load_lane(found + 8),
        })
    }

    /// Puts the words of a key into the lane.
    pub(super) fn store_key(&mut self, key: &[ir::Value]) {
        for (index, word) in key.iter().enumerate() {
            self.store_lane(Self::key_offset(index), *word);
        }
    }

    /// Lays the lane aside, and goes on where it is taken up again.
    fn wait(&mut self, look_ups: Vec<LaneLookup>, crossing: &Crossing) {
        let taken = self.lay_aside(crossing);
        let lane = self.lane();
        let burst = self.burst_state();
        let next = burst.next;
        let queue = (8 * QUEUE_WORDS * (burst.segments.len() + 1)) as i32;
        let queues = self.load_queues();
        let end = self.load(queues, queue);
        self.store(lane, end, 0);
        let end = self.address(end, 8);
        self.store(end, queues, queue);
        self.ask_for_first(&look_ups, queues, queue, end);
        self.builder.ins().jump(next, &[]);
        let begin = self.builder.create_block();
        self.burst_state().segments.push((look_ups, begin));
        self.builder.switch_to_block(begin);
        self.take_up(taken);
    }

    /// When so many lanes are in the queue that look-ups begin with, their memory is asked for: it comes while others are on their way
    /// to the queue. `end` is where that ends.
    fn ask_for_first(&mut self, look_ups: &[LaneLookup], queues: ir::Value, queue: i32, end: ir::Value) {
        let kept = self.environment.pool.keep(look_ups.to_vec());
        let begin = self.address(queues, queue + 8);
        let first = self.address(begin, 8 * forebay_tables::ahead(look_ups.len()) as i32);
        let is_time = self.builder.ins().icmp(IntCC::Equal, end, first);
        self.when_rarely(is_time, |translator| {
            let kept = translator.pointer(kept);
            translator.call_rarely(runtime::ASK, &[kept, begin, end]);
        });
    }

    /// Stores what is needed behind a look-up; what is to be done there.
    fn lay_aside(&mut self, crossing: &Crossing) -> Vec<(Taken, Variable)> {
        let mut taken = Vec::new();
        for slot in (0..self.program.slots.len() as u32).map(SlotId) {
            let Home::Register(variable) = *self.homes.of(slot) else {
                continue;
            };
            let was_register = matches!(self.burst_state().parsed.of(slot), Home::Register(_) | Home::State);
            if !crossing.live.contains(slot.index()) {
                taken.push((Taken::Dead(slot), variable));
            } else if crossing.written.contains(slot.index()) || was_register {
                let value = self.read_slot(slot);
                let offset = self.lane_offset(slot);
                let lane = self.lane();
                self.store_value(value, lane, offset);
                taken.push((Taken::Stored(slot), variable));
            } else {
                taken.push((Taken::Parsed(slot), variable));
            }
        }
        for variable in self.burst_state().carried.clone() {
            let value = self.builder.use_var(variable);
            let offset = self.variable_offset(variable);
            let lane = self.lane();
            self.store(value, lane, offset);
            taken.push((Taken::Carried, variable));
        }
        taken
    }

    fn take_up(&mut self, taken: Vec<(Taken, Variable)>) {
        let lane = self.lane();
        // Fields may be at places that are carried.
        let (carried, slots): (Vec<_>, Vec<_>) =
            taken.into_iter().partition(|(what, _)| matches!(what, Taken::Carried));
        for (_, variable) in carried {
            let offset = self.variable_offset(variable);
            let value = self.load(lane, offset);
            self.builder.def_var(variable, value);
        }
        for (what, variable) in slots {
            match what {
                Taken::Dead(slot) => {
                    let nothing = forebay_bits::Bits::zero(self.program.slot(slot).width);
                    let nothing = self.constant(&nothing);
                    self.define(variable, nothing);
                }
                Taken::Stored(slot) => {
                    let offset = self.lane_offset(slot);
                    let value = self.load_value(self.program.slot(slot).width, lane, offset);
                    self.define(variable, value);
                }
                Taken::Parsed(slot) => {
                    let home = self.burst_state().parsed.of(slot).clone();
                    let value = self.read_home(slot, &home);
                    self.define(variable, value);
                }
                Taken::Carried => unreachable!("they were taken out"),
            }
        }
    }

    /// The address of the present lane.
    pub(super) fn lane(&mut self) -> ir::Value {
        let burst = self.burst_state();
        burst.touched = true;
        let (lane, position) = (burst.lane, burst.position);
        if let Some(lane) = lane {
            return self.builder.use_var(lane);
        }
        let position = self.builder.use_var(position);
        let (fates, lanes, words) = (self.load_fates(), self.load_lanes(), self.load_lane_words());
        let offset = self.builder.ins().isub(position, fates);
        let offset = self.builder.ins().imul(offset, words);
        self.builder.ins().iadd(lanes, offset)
    }

    /// The place of the present packet in the burst, of a form in which packets do not wait.
    pub(super) fn place_in_burst(&mut self) -> ir::Value {
        let position = self.burst_state().position;
        let position = self.builder.use_var(position);
        let first = self.load_fates();
        let bytes = self.builder.ins().isub(position, first);
        self.shifted_right(bytes, 3)
    }

    /// The first byte of the present packet.
    pub(super) fn packet(&mut self) -> ir::Value {
        match self.burst {
            Some(_) => {
                let frame = self.frame();
                self.load_unchanging(frame, offset_of!(Frame, start))
            }
            None => self.load_packet(),
        }
    }

    /// Where it says where the present packet is.
    fn frame(&mut self) -> ir::Value {
        let burst = self.burst_state();
        burst.touched = true;
        match burst.frame {
            Some(frame) => self.builder.use_var(frame),
            None => {
                let lane = self.lane();
                self.load_unchanging(lane, offset_of!(Lane, frame))
            }
        }
    }

    /// The present packet leaves: it begins so many bytes behind where it began, or before, and is no longer than the program wants.
    /// Nothing is asked of it any more.
    pub(super) fn move_frame(&mut self, by: Option<ir::Value>) {
        let truncates = truncates(self.program);
        if by.is_none() && !truncates {
            return;
        }
        let (frame, mut length) = (self.frame(), self.frame_bytes());
        if let Some(by) = by {
            let packet = self.packet();
            let start = self.builder.ins().iadd(packet, by);
            length = self.builder.ins().isub(length, by);
            self.store(start, frame, offset_of!(Frame, start) as i32);
        }
        if truncates {
            let limit = self.truncate_limit();
            length = self.builder.ins().umin(length, limit);
        }
        self.store(length, frame, offset_of!(Frame, length) as i32);
    }

    /// The length of the present packet in bits.
    pub(super) fn packet_bits(&mut self) -> ir::Value {
        match self.burst {
            Some(_) => {
                let bytes = self.frame_bytes();
                self.shifted_left(bytes, 3)
            }
            None => self.load_packet_bits(),
        }
    }

    /// Whether the present packet has at least so many bits.
    pub(super) fn packet_has(&mut self, bits: u64) -> ir::Value {
        let (length, wanted) = match self.burst {
            Some(_) => (self.frame_bytes(), bits.div_ceil(8)),
            None => (self.load_packet_bits(), bits),
        };
        let wanted = self.number(wanted as i64);
        self.builder
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, length, wanted)
    }

    fn frame_bytes(&mut self) -> ir::Value {
        let frame = self.frame();
        self.load_unchanging(frame, offset_of!(Frame, length))
    }

    pub(super) fn load_lane(&mut self, offset: usize) -> ir::Value {
        let lane = self.lane();
        self.load(lane, offset as i32)
    }

    pub(super) fn store_lane(&mut self, offset: usize, value: ir::Value) {
        let lane = self.lane();
        self.store(value, lane, offset as i32);
    }

    /// The offset of word `index` of the key in a lane.
    fn key_offset(index: usize) -> usize {
        8 * (HEAD_WORDS + index)
    }

    /// The offset of a slot's words in a lane.
    pub(super) fn lane_offset(&mut self, slot: SlotId) -> i32 {
        let count = runtime::words(self.program.slot(slot).width);
        let burst = self.burst_state();
        match burst.slots.get(&slot) {
            Some(&offset) => offset,
            None => {
                let offset = burst.reserve(count);
                burst.slots.insert(slot, offset);
                offset
            }
        }
    }

    fn variable_offset(&mut self, variable: Variable) -> i32 {
        let burst = self.burst_state();
        match burst.variables.get(&variable.as_u32()) {
            Some(&offset) => offset,
            None => {
                let offset = burst.reserve(1);
                burst.variables.insert(variable.as_u32(), offset);
                offset
            }
        }
    }

    /// The packet leaves, in this way.
    pub(super) fn send_lane(&mut self, how: u64) {
        let port = self.egress_port.expect("ingress chose one");
        if how == fate::REWRITTEN {
            self.tell_truncate_limit();
        }
        let port = self.builder.use_var(port);
        let fate = self.fate_with(how, port);
        self.store_fate(fate);
        let next = self.burst_state().next;
        self.builder.ins().jump(next, &[]);
    }

    /// The word that says what became of a packet, and, of one that leaves, the port, or of one that has become copies, how many.
    pub(super) fn fate_with(&mut self, how: u64, number: ir::Value) -> ir::Value {
        match how << 32 {
            0 => number,
            how => {
                let how = self.number(how as i64);
                self.builder.ins().bor(number, how)
            }
        }
    }

    /// Says what became of the packet.
    pub(super) fn store_fate(&mut self, fate: ir::Value) {
        let burst = self.burst_state();
        let (staged, lane, position) = (burst.staged, burst.lane, burst.position);
        let place = match lane.filter(|_| staged) {
            Some(lane) => {
                let lane = self.builder.use_var(lane);
                self.load_unchanging(lane, offset_of!(Lane, fate))
            }
            None => self.builder.use_var(position),
        };
        self.store(fate, place, 0);
    }

    /// The lane's way ends like this.
    pub(super) fn end_lane(&mut self, how: u64) {
        self.end_lane_with(how, 0);
    }

    /// The same with a number.
    pub(super) fn end_lane_with(&mut self, how: u64, number: u32) {
        let fate_value = self.number((how << 32 | u64::from(number)) as i64);
        self.store_fate(fate_value);
        let next = self.burst_state().next;
        self.builder.ins().jump(next, &[]);
    }

    /// The lane's packet takes the slow path, for this reason, at this one of the ways that were left out, if it is on one.
    pub(super) fn bail_out_lane(&mut self, reason: BailOut, way: Option<u32>) {
        if self.finds_hashes {
            // It has no flow.
            return self.end_lane(0);
        }
        let fate_value = self.number((fate::BAILED_OUT << 32 | fate::bail_out(reason as u32, way)) as i64);
        self.store_fate(fate_value);
        let burst = self.burst_state();
        let (next, staged, position) = (burst.next, burst.staged, burst.position);
        if staged {
            self.builder.ins().jump(next, &[]);
            return;
        }
        // Packets behind it have to wait until it has gone the slow path.
        let position = self.builder.use_var(position);
        let behind = self.address(position, 8);
        self.done_so_far(behind);
    }

    /// Tells functions of the runtime what counters and meters count.
    pub(super) fn tell_facts(&mut self) {
        if self.burst.is_none() {
            return;
        }
        let bytes = self.counted_bytes();
        let offset = offset_of!(Context<'_>, facts) + offset_of!(PacketFacts, length_bytes);
        let context = self.context;
        self.builder
            .ins()
            .istore32(super::within_bounds(), bytes, context, offset as i32);
    }

    /// The length that counters and meters count.
    pub(super) fn counted_bytes(&mut self) -> ir::Value {
        match self.counted_length {
            Some(slot) => {
                let length = self.read_slot(slot);
                self.low_word(length)
            }
            None => {
                let bits = self.packet_bits();
                self.shifted_right(bits, 3)
            }
        }
    }

    /// Tells functions of the runtime which packet they shall look into.
    pub(super) fn tell_packet(&mut self) {
        if self.burst.is_none() {
            return;
        }
        let (packet, bits, cursor) = (self.packet(), self.packet_bits(), self.load_cursor());
        self.store(packet, self.context, offset_of!(Context<'_>, packet) as i32);
        self.store(bits, self.context, offset_of!(Context<'_>, packet_bits) as i32);
        self.store(cursor, self.context, offset_of!(Context<'_>, cursor) as i32);
    }
}

/// What is to be done for a register where a lane is taken up again.
enum Taken {
    /// Nobody reads the slot.
    Dead(SlotId),
    /// The slot's value is in the lane.
    Stored(SlotId),
    /// The slot's value is what it was behind the parser.
    Parsed(SlotId),
    /// It is no slot's; its value is in the lane.
    Carried,
}
