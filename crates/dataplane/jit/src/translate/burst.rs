//! The loop over the packets of a burst, and the points at which packets wait for each other.
//!
//! In the straight and the flow-cached variants, packets do not wait: there is one segment, which walks the list of
//! frames and writes the list of verdicts, and look-ups are made where the program has them. In the staged variant,
//! packets wait:
//!
//! ```text
//!          ┌─────────────► lane ─────────────┬──────────────┬─────────── …
//!          │                                 ▼              ▼
//!          │                            segment 0      segment 1
//!          │                        parse, then wait       find
//!          │                          at a look-up │       action …
//!          └── more lanes? ◄─────── next ◄─────────┴──────────┘
//!                   │ no
//!                   ▼
//!               next segment: look up all keys of its queue; return after the last
//! ```
//!
//! A packet that reaches a look-up is suspended: its key, and the registers that will be read later, are stored in its
//! lane, and the lane's address is appended to the look-up's queue. When every packet has ended or reached a look-up,
//! the keys of each queue are looked up together, so that their memory accesses overlap, and the packets continue.

use super::Translator;
use super::mode::{FastPath, Mode};
use super::search::Match;
use super::value_locations::{Home, Homes};
use crate::analysis::truncates;
use crate::packet_context::{HEAD_WORDS, Lane, QUEUE_WORDS, Shape, verdict};
use crate::route::BailOut;
use crate::route::live_sets::Crossing;
use crate::route::plan::Leaf;
use crate::runtime::{self, LaneLookup};
use crate::verdict::Frame;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::{Switch, Variable};
use forebay_ir::{BlockId, SlotId, TableId};
use forebay_tables::Search;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::offset_of;

/// Where a context has the length that counters and meters count.
pub(super) const BYTES_COUNTED: i32 = in_context!(facts.length_bytes);

/// How the packets of a burst are processed.
#[derive(Clone, Copy)]
pub(super) struct Path {
    /// Whether they wait for each other at look-ups.
    pub(super) staged: bool,
    /// Whether most packets use their lane. Otherwise the lane's address is computed only when it is needed.
    pub(super) uses_lanes: bool,
    /// Whether only the hashes of packets' flows are found.
    pub(super) finds_hashes: bool,
}

/// The state of the fast path's translation.
pub(super) struct Burst {
    /// Whether packets wait at look-ups.
    staged: bool,
    /// The address of the current lane, if packets wait or use their lanes otherwise.
    lane: Option<Variable>,
    /// The address of the current frame's descriptor, if packets do not wait.
    frame: Option<Variable>,
    /// If packets wait, the position of the lane's address in the queue, and the queue's end. Otherwise the address
    /// for the packet's verdict, and the end of the list of verdicts.
    position: Variable,
    end: Variable,
    segment: Variable,
    /// Continues with the next lane.
    next: ir::Block,
    /// The segments after the first: the look-ups before each, and its first block.
    segments: Vec<(Vec<LaneLookup>, ir::Block)>,
    /// The look-ups to be made where the packet waits next.
    asked: Vec<LaneLookup>,
    /// By block of the current path's flow: the blocks at which packets wait for look-ups.
    pub(super) asked_at: BTreeSet<BlockId>,
    /// By table: its look-up at a point at which packets wait for another one.
    early: BTreeMap<TableId, LaneLookup>,
    /// The homes of all slots after the parser, on the path that is being translated.
    pub(super) parsed: Homes,
    /// Registers that are not slots but are needed later.
    pub(super) carried: Vec<Variable>,
    /// The offsets of what is kept in the lane.
    offsets: HashMap<Kept, i32>,
    words: usize,
    /// Whether generated code reads or writes anything of a packet or its lane other than its verdict.
    touched: bool,
    /// Records that were looked up for the whole burst, and whether they are entries'.
    ahead: HashMap<TableId, (Variable, Variable)>,
}

impl Burst {
    /// Whether packets wait at look-ups.
    pub(super) fn staged(&self) -> bool {
        self.staged
    }

    /// The offset in bytes of something that is kept in every lane, in this many words.
    fn offset_of(&mut self, kept: Kept, words: usize) -> i32 {
        if let Some(offset) = self.offsets.get(&kept) {
            return *offset;
        }
        let offset = self.reserve(words);
        self.offsets.insert(kept, offset);
        offset
    }

    /// Reserves words in every lane, and returns their offset in bytes.
    pub(super) fn reserve(&mut self, words: usize) -> i32 {
        let offset = self.words;
        self.words += words;
        (8 * offset) as i32
    }
}

impl Translator<'_, '_, '_> {
    /// Translates the loop. `prepare` translates what comes before it, and `first` its first segment.
    pub(super) fn burst(
        &mut self,
        path: Path,
        key_words: usize,
        prepare: impl FnOnce(&mut Self),
        first: impl FnOnce(&mut Self),
    ) -> Shape {
        let declare = |translator: &mut Self| translator.builder.declare_var(types::I64);
        let staged = path.staged;
        let burst = Burst {
            staged,
            lane: (staged || path.uses_lanes).then(|| declare(self)),
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
            offsets: HashMap::new(),
            words: HEAD_WORDS + key_words,
            touched: false,
            ahead: HashMap::new(),
        };
        let (position, end, segment) = (burst.position, burst.end, burst.segment);
        let (lane, frame) = (burst.lane, burst.frame);
        let (cursor, checksum_failed) = (declare(self), declare(self));
        self.mode = Mode::FastPath(Box::new(FastPath {
            burst,
            finds_hashes: path.finds_hashes,
            cursor,
            checksum_failed,
            too_short: None,
            path: None,
            taken_back: Vec::new(),
        }));
        let (begin, last) = if staged {
            let queues = self.load(self.context, in_context!(queues));
            (self.address(queues, 8), self.load(queues, 0))
        } else {
            self.words_of_context([in_context!(verdicts), in_context!(verdicts_end)])
                .into()
        };
        if let Some(lane) = lane {
            let first = self.load(self.context, in_context!(lanes));
            self.builder.def_var(lane, first);
        }
        if let Some(frame) = frame {
            let first = self.load(self.context, in_context!(first_frame));
            self.builder.def_var(frame, first);
        }
        let zero = self.number(0);
        self.builder.def_var(position, begin);
        self.builder.def_var(end, last);
        self.builder.def_var(segment, zero);
        prepare(self);
        let lane_block = self.builder.create_block();
        self.ins().jump(lane_block, &[]);
        let first_block = self.builder.create_block();
        self.builder.switch_to_block(first_block);
        self.burst_state().touched = false;
        first(self);
        self.next_lane(lane_block);
        self.enter_lane(lane_block, first_block);
        let burst = self.burst_state();
        let (touched, lane_words, queues) = (burst.touched, burst.words, 1 + burst.segments.len());
        self.environment.touches_packets |= touched;
        Shape { lane_words, queues }
    }

    pub(super) fn burst_state(&mut self) -> &mut Burst {
        &mut self.fast_path_mut().burst
    }

    /// The block for lanes that have ended.
    pub(super) fn next_lane_block(&mut self) -> ir::Block {
        self.burst_state().next
    }

    /// Jumps to the segment of the queue's next lane.
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
            self.ins().jump(first, &[]);
            return;
        }
        let segment = self.builder.use_var(segment);
        let mut switch = Switch::new();
        for (index, block) in (1u128..).zip(blocks) {
            switch.set_entry(index, block);
        }
        switch.emit(&mut self.builder, segment, first);
    }

    /// Moves on to the next lane of the queue, or to the next queue.
    fn next_lane(&mut self, lane_block: ir::Block) {
        let burst = self.burst_state();
        let (next, position, end) = (burst.next, burst.position, burst.end);
        let (frame, lane) = (burst.frame, burst.lane.filter(|_| !burst.staged));
        let next_segment = self.builder.create_block();
        self.builder.switch_to_block(next);
        if let Some(frame) = frame {
            let stride = self.load(self.context, in_context!(frame_stride));
            self.move_by(frame, stride);
        }
        if let Some(lane) = lane {
            let words = self.load(self.context, in_context!(lane_words));
            let bytes = self.shifted_left(words, 3);
            self.move_by(lane, bytes);
        }
        let present = self.builder.use_var(position);
        let following = self.address(present, 8);
        self.builder.def_var(position, following);
        let last = match frame {
            // Loaded each time, because registers are scarce.
            Some(_) => self.load(self.context, in_context!(verdicts_end)),
            None => self.builder.use_var(end),
        };
        let more = self.ins().icmp(IntCC::NotEqual, following, last);
        self.ins().brif(more, lane_block, &[], next_segment, &[]);
        self.builder.switch_to_block(next_segment);
        self.next_segment(next_segment, lane_block);
    }

    /// Makes a register that differs from lane to lane count as computed in this lane. Cranelift recognises that
    /// values are equal on all paths through a lane only if they are results of instructions.
    fn name(&mut self, variable: Variable) {
        let value = self.builder.use_var(variable);
        let same = self.ins().iadd_imm_u(value, 0);
        self.builder.def_var(variable, same);
    }

    pub(super) fn move_by(&mut self, variable: Variable, bytes: ir::Value) {
        let present = self.builder.use_var(variable);
        let following = self.ins().iadd(present, bytes);
        self.builder.def_var(variable, following);
    }

    /// Returns the number of packets that have ended.
    fn done(&mut self, begin: ir::Value, behind: ir::Value) {
        let bytes = self.ins().isub(behind, begin);
        let count = self.shifted_right(bytes, 3);
        self.ins().return_(&[count]);
    }

    /// Returns the number of packets that have ended, in variants in which they end one after another and the current
    /// one is the last.
    fn done_so_far(&mut self, behind: ir::Value) {
        let begin = self.load(self.context, in_context!(verdicts));
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
        let number = self.ins().iadd(number, one);
        self.builder.def_var(segment, number);
        let [done, look] = self.blocks();
        let is_done = self.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, number, count as i64);
        self.ins().brif(is_done, done, &[], look, &[]);
        self.builder.switch_to_block(done);
        // All lanes of the first queue.
        let queues = self.load(self.context, in_context!(queues));
        let (begin, last) = (self.address(queues, 8), self.load(queues, 0));
        self.done(begin, last);
        self.builder.switch_to_block(look);
        let offset = self.ins().imul_imm_u(number, 8 * QUEUE_WORDS as i64);
        let queues = self.load(self.context, in_context!(queues));
        let queue = self.ins().iadd(queues, offset);
        let begin = self.address(queue, 8);
        let last = self.load(queue, 0);
        self.store(begin, queue, 0);
        self.builder.def_var(position, begin);
        self.builder.def_var(end, last);
        let find = self.builder.create_block();
        let is_empty = self.ins().icmp(IntCC::Equal, begin, last);
        self.ins().brif(is_empty, next_segment, &[], find, &[]);
        self.builder.switch_to_block(find);
        let index = self.ins().isub(number, one);
        let look_ups = self.pointer(look_ups);
        self.call(runtime::FIND_ALL, &[self.context, look_ups, index, begin, last]);
        self.ins().jump(lane_block, &[]);
    }

    /// Stores what was looked up for the whole burst.
    pub(super) fn note_ahead(&mut self, table: TableId, found: Match) {
        let variables = [found.record, found.hit].map(|value| self.variable(value));
        self.burst_state().ahead.insert(table, variables.into());
    }

    /// What was looked up for the whole burst, if the table was.
    pub(super) fn found_ahead(&mut self, table: TableId) -> Option<Match> {
        let Mode::FastPath(fast) = &self.mode else { return None };
        let (record, hit) = *fast.burst.ahead.get(&table)?;
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

    /// Adds look-ups of other tables where the packet waits at the end of a block.
    pub(super) fn ask_early(&mut self, leaf: &Leaf, block: BlockId) {
        if !self.burst_state().staged || !leaf.crossings.contains_key(&block) {
            return;
        }
        for table in leaf.early.asked_at(block).iter().copied() {
            let layout = self.table_layout(table);
            if layout.members.is_some() || self.found_ahead(table).is_some() {
                continue;
            }
            let key = self.key_words(table, &layout);
            let look_up = self.early_look_up(table, key.len());
            for (index, word) in key.into_iter().enumerate() {
                self.store_lane(8 * (look_up.key + index), word);
            }
            self.burst_state().asked.push(look_up);
        }
        self.burst_state().asked_at.insert(block);
    }

    /// A table's look-up at points at which packets wait for another table. All of them use the same words of the
    /// lane.
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

    /// The result for the table that a block applies, if it was looked up for every packet where the packet waited for
    /// another table.
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

    /// Stores the words of a key in the lane.
    pub(super) fn store_key(&mut self, key: &[ir::Value]) {
        for (index, word) in key.iter().enumerate() {
            self.store_lane(Self::key_offset(index), *word);
        }
    }

    /// Suspends the lane, and continues in the segment that resumes it.
    fn wait(&mut self, look_ups: Vec<LaneLookup>, crossing: &Crossing) {
        let taken = self.lay_aside(crossing);
        let lane = self.lane();
        let burst = self.burst_state();
        let next = burst.next;
        let queue = (8 * QUEUE_WORDS * (burst.segments.len() + 1)) as i32;
        let queues = self.load(self.context, in_context!(queues));
        let end = self.load(queues, queue);
        self.store(lane, end, 0);
        let end = self.address(end, 8);
        self.store(end, queues, queue);
        self.prefetch_for_first(&look_ups, queues, queue, end);
        self.ins().jump(next, &[]);
        let begin = self.builder.create_block();
        self.burst_state().segments.push((look_ups, begin));
        self.builder.switch_to_block(begin);
        self.take_up(taken);
    }

    /// Prefetches the memory of the look-ups for the first lanes of the queue once there are enough of them. The data
    /// arrives while other lanes are on their way to the queue. `end` is the current end of the queue.
    fn prefetch_for_first(&mut self, look_ups: &[LaneLookup], queues: ir::Value, queue: i32, end: ir::Value) {
        let kept = self.environment.pool.keep(look_ups.to_vec());
        let begin = self.address(queues, queue + 8);
        let first = self.address(begin, 8 * forebay_tables::ahead(look_ups.len()) as i32);
        let is_time = self.ins().icmp(IntCC::Equal, end, first);
        self.when_rarely(is_time, |translator| {
            let kept = translator.pointer(kept);
            translator.call_rarely(runtime::PREFETCH, &[kept, begin, end]);
        });
    }

    /// Stores what is needed after a look-up. Returns what is to be done there for each register.
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
        // Fields may be at positions that are carried.
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

    /// The address of the current lane.
    pub(super) fn lane(&mut self) -> ir::Value {
        let burst = self.burst_state();
        burst.touched = true;
        let (lane, position) = (burst.lane, burst.position);
        if let Some(lane) = lane {
            return self.builder.use_var(lane);
        }
        let position = self.builder.use_var(position);
        let [verdicts, lanes, words] =
            self.words_of_context([in_context!(verdicts), in_context!(lanes), in_context!(lane_words)]);
        let offset = self.ins().isub(position, verdicts);
        let offset = self.ins().imul(offset, words);
        self.ins().iadd(lanes, offset)
    }

    /// The index of the current packet in the burst, in variants in which packets do not wait.
    pub(super) fn place_in_burst(&mut self) -> ir::Value {
        let position = self.burst_state().position;
        let position = self.builder.use_var(position);
        let first = self.load(self.context, in_context!(verdicts));
        let bytes = self.ins().isub(position, first);
        self.shifted_right(bytes, 3)
    }

    /// The address of the current packet's first byte.
    pub(super) fn packet(&mut self) -> ir::Value {
        match self.mode {
            Mode::FastPath(_) => {
                let frame = self.frame();
                self.load_unchanging(frame, offset_of!(Frame, start))
            }
            Mode::Graph { .. } => self.load(self.context, in_context!(packet)),
        }
    }

    /// The address of the current packet's frame descriptor.
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

    /// The packet leaves: moves its beginning by a number of bytes, and truncates it if the program does. The packet is
    /// not read afterwards.
    pub(super) fn move_frame(&mut self, by: Option<ir::Value>) {
        let truncates = truncates(self.program);
        if by.is_none() && !truncates {
            return;
        }
        let (frame, mut length) = (self.frame(), self.frame_bytes());
        if let Some(by) = by {
            let packet = self.packet();
            let start = self.ins().iadd(packet, by);
            length = self.ins().isub(length, by);
            self.store(start, frame, offset_of!(Frame, start) as i32);
        }
        if truncates {
            let limit = self.truncate_limit();
            length = self.ins().umin(length, limit);
        }
        self.store(length, frame, offset_of!(Frame, length) as i32);
    }

    /// The length of the current packet in bits.
    pub(super) fn packet_bits(&mut self) -> ir::Value {
        match self.mode {
            Mode::FastPath(_) => {
                let bytes = self.frame_bytes();
                self.shifted_left(bytes, 3)
            }
            Mode::Graph { .. } => self.load(self.context, in_context!(packet_bits)),
        }
    }

    /// Whether the current packet has at least this many bits.
    pub(super) fn packet_has(&mut self, bits: u64) -> ir::Value {
        let (length, wanted) = match self.mode {
            Mode::FastPath(_) => (self.frame_bytes(), bits.div_ceil(8)),
            Mode::Graph { .. } => (self.load(self.context, in_context!(packet_bits)), bits),
        };
        self.ins()
            .icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, length, wanted as i64)
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
        let words = runtime::words(self.program.slot(slot).width);
        self.burst_state().offset_of(Kept::Slot(slot), words)
    }

    fn variable_offset(&mut self, variable: Variable) -> i32 {
        self.burst_state().offset_of(Kept::Variable(variable.as_u32()), 1)
    }

    /// The packet ends after ingress with this verdict and its port.
    pub(super) fn send_lane(&mut self, how: u64) {
        let port = self.on_path().egress_port;
        if how == verdict::REWRITTEN {
            self.tell_truncate_limit();
        }
        let port = self.builder.use_var(port);
        let verdict = self.verdict_with(how, port);
        self.store_verdict(verdict);
        let next = self.burst_state().next;
        self.ins().jump(next, &[]);
    }

    /// The word with a packet's verdict: the verdict, and the port of a packet that leaves or the number of copies of a
    /// packet that was replicated.
    pub(super) fn verdict_with(&mut self, how: u64, number: ir::Value) -> ir::Value {
        match how << 32 {
            0 => number,
            how => self.ins().bor_imm_u(number, how as i64),
        }
    }

    /// Stores the packet's verdict.
    pub(super) fn store_verdict(&mut self, verdict: ir::Value) {
        let burst = self.burst_state();
        let (staged, lane, position) = (burst.staged, burst.lane, burst.position);
        let place = match lane.filter(|_| staged) {
            Some(lane) => {
                let lane = self.builder.use_var(lane);
                self.load_unchanging(lane, offset_of!(Lane, verdict))
            }
            None => self.builder.use_var(position),
        };
        self.store(verdict, place, 0);
    }

    /// Ends the lane with this verdict and a number.
    pub(super) fn end_lane(&mut self, how: u64, number: u32) {
        let verdict_value = self.number((how << 32 | u64::from(number)) as i64);
        self.store_verdict(verdict_value);
        let next = self.burst_state().next;
        self.ins().jump(next, &[]);
    }

    /// Sends the lane's packet to the slow path for this reason. `path` is the packet's path through the parser, if
    /// that was left out.
    pub(super) fn bail_out_lane(&mut self, reason: BailOut, path: Option<u32>) {
        if self.fast_path().finds_hashes {
            // The packet has no flow.
            return self.end_lane(0, 0);
        }
        let verdict_value = self.number((verdict::BAILED_OUT << 32 | verdict::bail_out(reason as u32, path)) as i64);
        self.end_burst_with(verdict_value);
    }

    /// Ends the lane with this verdict, and the burst if packets run to completion: later packets must wait until the
    /// architecture has acted.
    pub(super) fn end_burst_with(&mut self, verdict: ir::Value) {
        self.store_verdict(verdict);
        let burst = self.burst_state();
        let (next, staged, position) = (burst.next, burst.staged, burst.position);
        if staged {
            self.ins().jump(next, &[]);
            return;
        }
        let position = self.builder.use_var(position);
        let behind = self.address(position, 8);
        self.done_so_far(behind);
    }

    /// Stores, for runtime functions, what counters and meters count.
    pub(super) fn tell_facts(&mut self) {
        if !self.is_fast_path() {
            return;
        }
        let bytes = self.counted_bytes();
        self.tell_bytes(bytes);
    }

    /// Stores, for runtime functions, the length that counters and meters count.
    pub(super) fn tell_bytes(&mut self, bytes: ir::Value) {
        let context = self.context;
        self.ins()
            .istore32(super::within_bounds(), bytes, context, BYTES_COUNTED);
    }

    /// The length that counters and meters count.
    pub(super) fn counted_bytes(&mut self) -> ir::Value {
        match self.path().and_then(|path| path.counted_length) {
            Some(slot) => self.word_of_slot(slot),
            None if self.is_fast_path() => self.received_bytes(),
            // A noted clone from egress enters the graph without its headers.
            None => self
                .builder
                .ins()
                .uload32(super::within_bounds(), self.context, BYTES_COUNTED),
        }
    }

    /// The length of the received frame.
    pub(super) fn received_bytes(&mut self) -> ir::Value {
        if self.is_fast_path() {
            return self.frame_bytes();
        }
        let bits = self.load(self.context, in_context!(packet_bits));
        self.shifted_right(bits, 3)
    }

    /// Stores, for runtime functions, which packet to read.
    pub(super) fn tell_packet(&mut self) {
        if !self.is_fast_path() {
            return;
        }
        let (packet, bits, cursor) = (self.packet(), self.packet_bits(), self.load_cursor());
        self.store(packet, self.context, in_context!(packet));
        self.store(bits, self.context, in_context!(packet_bits));
        self.store(cursor, self.context, in_context!(cursor));
    }
}

/// What may be kept in a lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kept {
    Slot(SlotId),
    /// A variable's number.
    Variable(u32),
}

/// What is to be done for a register where a lane resumes.
enum Taken {
    /// The slot is not read.
    Dead(SlotId),
    /// The slot's value is in the lane.
    Stored(SlotId),
    /// The slot has the value that it had after the parser.
    Parsed(SlotId),
    /// The register is not a slot's; its value is in the lane.
    Carried,
}
