//! The graph of an architecture ([`forebay_ir::pipeline`]) as one function of machine code: glue and bodies.
//!
//! ```text
//!  entrance ─► glue ─► body ─► glue ─► ... ─► stop                      the caller acts on the stop, then
//!                                 └─ suspend, queue is empty ────►┐     enters again after it
//!                     glue of the entry after the queue ◄─────────┘
//! ```
//!
//! Code itself changes slots and the frame. It stops where other packets, the control plane or the switch
//! are concerned: at mirrors and replicas, at digests, at queues and at the packet's end. At a stop, all that is known
//! of the packet is in its state, its frame and a [`GraphPass`]. So code can be entered again after the stop, and the
//! interpreter could also continue from there.
//!
//! # Empty queues
//!
//! A caller that has found all queues empty may let packets pass them (`passes_queues`). The function then continues
//! after the queue at once, with queue depths of 0 and no time spent in the queue.
//!
//! # The frame
//!
//! The bytes that deparsers emit are put together in a buffer beside the frame. [`GlueOp::Reframe`] copies them in
//! place, in front of what the parser left, if there is room down to [`FrameInPlace::floor`]. Without room, the code
//! stops there.

use crate::TableLocations;
use crate::arrays::ArraysShape;
use crate::code::{CodeMemory, Entry as CodeEntry};
use crate::context::{Context, Later, Memory, ending};
use crate::live_slots::LiveSlots;
use crate::tables::TableObjects;
use crate::translate::graph::COPIED_AT_ONCE;
use forebay_bits::Bits;
use forebay_exec::{Buffers, PacketFacts, Random, Requests, State};
use forebay_ir::pipeline::{Argument, End, Entry, GlueOp, Graph, MirrorFrame};
use forebay_ir::{BlockId, Program, SlotId, TableId, Walk};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::{ptr, slice};

/// Number of [`Argument`]s.
pub const ARGUMENTS: usize = Argument::TruncateRequest as usize + 1;

/// Bytes that deparsers may emit before the emitted bytes move to a growing buffer.
const EMITTED_MAX: usize = 1024;

/// A position in a graph: before an operation of a block, or after the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The block.
    pub block: BlockId,
    /// The operation.
    pub op: usize,
}

impl At {
    /// A block's beginning.
    pub fn beginning(block: BlockId) -> At {
        At { block, op: 0 }
    }

    /// The position as one number.
    pub(crate) fn number(self) -> i64 {
        (i64::from(self.block.0) << 32) | self.op as i64
    }

    fn of_number(number: u64) -> At {
        At {
            block: BlockId((number >> 32) as u32),
            op: number as u32 as usize,
        }
    }
}

/// A point at which code is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entrance {
    pub(crate) at: At,
    /// Whether packets begin there, with all slots 0.
    pub(crate) clears: bool,
}

/// What the translation of a graph follows, and what callers need to enter the code.
#[derive(Debug)]
pub(crate) struct GraphPlan {
    /// By entrance number.
    pub(crate) entrances: Vec<Entrance>,
    /// Entrance numbers of the entries, by [`place_of`]; [`NO_ENTRANCE`] where the graph has no entry.
    entries: Vec<usize>,
    /// Entrance numbers of positions in the graph.
    places: BTreeMap<At, usize>,
    /// Slots whose values come with packets, each with the index of the word that says whether there is one: it is 1,
    /// and the words of the value follow, or it is 0, and so are these.
    pub(crate) kept: BTreeMap<SlotId, usize>,
    /// Words of all kept values together.
    pub(crate) kept_words: usize,
    /// The slots that come with packets, by block with a [`GlueOp::Restore`], each with whether all packets have it
    /// that come there. A packet without it leaves the slot as it is.
    pub(crate) restored: BTreeMap<BlockId, BTreeMap<SlotId, bool>>,
    /// Blocks that follow a queue.
    pub(crate) after_queue: BTreeSet<BlockId>,
    pub(crate) live: LiveSlots,
}

impl GraphPlan {
    pub(crate) fn new(program: &Program, graph: &Graph) -> GraphPlan {
        let mut entrances = Vec::new();
        let places_of_entries = graph.entries.keys().map(|entry| place_of(*entry) + 1);
        let mut entries = vec![NO_ENTRANCE; places_of_entries.max().unwrap_or(0)];
        for (entry, info) in &graph.entries {
            entries[place_of(*entry)] = entrances.len();
            entrances.push(Entrance {
                at: At::beginning(info.block),
                clears: begins_with_zeros(graph, *entry),
            });
        }
        let places = places(graph)
            .into_iter()
            .zip(entrances.len()..)
            .collect::<BTreeMap<At, usize>>();
        entrances.extend(places.keys().map(|at| Entrance { at: *at, clears: false }));
        let kept: BTreeSet<SlotId> = (graph.entries.values())
            .flat_map(|entry| entry.preserved.iter().copied())
            .collect();
        let mut kept_words = 0;
        let kept = kept.into_iter().map(|slot| {
            let first = kept_words;
            kept_words += 1 + crate::runtime::words(program.slot(slot).width);
            (slot, first)
        });
        let kept = kept.collect();
        let mut entering: BTreeMap<BlockId, Vec<Entry>> = BTreeMap::new();
        let mut after_queue = BTreeSet::new();
        for (entry, info) in &graph.entries {
            let reached = Walk::from(info.block, graph.blocks.len(), |id| graph.block(id).end.successors()).order;
            // What a packet may reach without entering anew.
            for block in &reached {
                entering.entry(*block).or_default().push(*entry);
            }
            if matches!(entry, Entry::Dequeued(_)) {
                after_queue.extend(reached);
            }
        }
        let restored = entering.into_iter().map(|(block, entries)| {
            let preserved = entries.iter().flat_map(|entry| &graph.entries[entry].preserved);
            let comes = |slot: SlotId| entries.iter().all(|entry| always_comes(graph, *entry, slot));
            let slots: BTreeMap<SlotId, bool> = preserved.map(|slot| (*slot, comes(*slot))).collect();
            (block, slots)
        });
        GraphPlan {
            entrances,
            entries,
            places,
            kept,
            kept_words,
            restored: restored.collect(),
            after_queue,
            live: LiveSlots::of(program, graph),
        }
    }

    /// The number of the entrance at a position.
    ///
    /// # Panics
    /// If code is not entered there.
    pub(crate) fn place(&self, at: At) -> usize {
        self.places[&at]
    }
}

/// Stands for an entry that the graph does not have.
const NO_ENTRANCE: usize = usize::MAX;

/// The index of an entry among all possible entries.
#[inline]
fn place_of(entry: Entry) -> usize {
    match entry {
        Entry::Arrival => 0,
        Entry::Resubmitted => 1,
        Entry::Recirculated => 2,
        Entry::CloneIngress => 3,
        Entry::CloneEgress => 4,
        Entry::Replica(number) => 5 + 2 * usize::from(number),
        Entry::Dequeued(number) => 6 + 2 * usize::from(number),
    }
}

/// Whether code may stop at an operation.
pub(crate) fn may_stop(op: &GlueOp) -> bool {
    matches!(op, GlueOp::Commit | GlueOp::Mirror(_) | GlueOp::Reframe { .. })
}

/// Whether each packet that comes to an entry has a value for this slot. Lists of fields that clones and packets on
/// their way back keep differ from place to place in a program.
fn always_comes(graph: &Graph, entry: Entry, slot: SlotId) -> bool {
    let ops = graph.blocks.iter().flat_map(|block| &block.ops);
    let mirrors = ops.filter_map(|op| match op {
        GlueOp::Mirror(mirror) => Some((mirror.to, &mirror.preserve[..])),
        _ => None,
    });
    let ends = graph.blocks.iter().filter_map(|block| block.end.entries());
    let mut sources = mirrors.chain(ends).filter(|(to, _)| *to == entry).peekable();
    sources.peek().is_some() && sources.all(|(_, pairs)| pairs.iter().any(|(_, to)| *to == slot))
}

/// Whether all slots of a packet are 0 at an entry: for packets from ports and loops, and for clones that are only
/// frames.
fn begins_with_zeros(graph: &Graph, entry: Entry) -> bool {
    let mut ops = graph.blocks.iter().flat_map(|block| &block.ops);
    match entry {
        Entry::Arrival | Entry::Resubmitted | Entry::Recirculated => true,
        Entry::CloneIngress | Entry::CloneEgress => !ops.any(|op| match op {
            GlueOp::Mirror(mirror) => mirror.to == entry && mirror.frame == MirrorFrame::WithState,
            _ => false,
        }),
        Entry::Replica(_) | Entry::Dequeued(_) => false,
    }
}

/// The positions at which stopped code is entered again.
fn places(graph: &Graph) -> BTreeSet<At> {
    let mut places = BTreeSet::new();
    for (block, glue) in (0..).map(BlockId).zip(&graph.blocks) {
        let stops = (0..).zip(&glue.ops).filter(|(_, op)| may_stop(op));
        places.extend(stops.map(|(op, _)| At { block, op: op + 1 }));
        if let End::Replicate { none: Some(none), .. } = glue.end {
            places.insert(At::beginning(none));
        }
    }
    places
}

/// The slots whose values a packet needs where it continues at a block of a graph.
pub fn slots_needed_at(program: &Program, graph: &Graph, block: BlockId) -> Vec<SlotId> {
    let live = LiveSlots::of(program, graph);
    let slots = (0..program.slots.len() as u32).map(SlotId);
    slots.filter(|slot| live.before(block).contains(slot.index())).collect()
}

/// The graph of a program, compiled; shared by all threads.
#[derive(Debug)]
pub struct GraphCode {
    plan: GraphPlan,
    entry: CodeEntry,
    metadata: GraphMetadata,
    /// A number that no other function has.
    number: u64,
    _memory: CodeMemory,
}

/// What the run time must know of the code of a graph.
#[derive(Debug)]
pub(crate) struct GraphMetadata {
    /// Words of temporaries.
    pub(crate) temporaries: usize,
    pub(crate) arrays: ArraysShape,
    /// The tables that the code searches itself, in the order of their locations.
    pub(crate) searched: Vec<TableId>,
}

impl GraphCode {
    /// Takes over finished code.
    ///
    /// # Safety
    ///
    /// `entry` is in `memory`, was translated from `plan`, and needs no more than `metadata` says.
    pub(crate) unsafe fn new(
        memory: CodeMemory,
        entry: CodeEntry,
        plan: GraphPlan,
        metadata: GraphMetadata,
    ) -> GraphCode {
        GraphCode {
            plan,
            entry,
            metadata,
            number: crate::code::next_number(),
            _memory: memory,
        }
    }

    /// The number of an entry's entrance.
    ///
    /// # Panics
    /// If the graph has no such entry.
    #[inline]
    pub fn entry(&self, entry: Entry) -> usize {
        let entrance = self.plan.entries[place_of(entry)];
        assert!(entrance != NO_ENTRANCE, "the graph has this entry");
        entrance
    }

    /// The number of the entrance at a position: after an operation at which code stops, or at the block of a
    /// replicate without members.
    ///
    /// # Panics
    /// If the position is none of these.
    #[inline]
    pub fn place(&self, at: At) -> usize {
        self.plan.place(at)
    }
}

/// A compiled graph, and the locations of its tables while they are pinned.
#[derive(Clone, Copy, Debug)]
pub struct GraphSite<'a> {
    /// The code.
    pub code: &'a GraphCode,
    locations: &'a TableLocations,
}

impl<'a> GraphSite<'a> {
    /// Finds the tables, unless their locations are known.
    #[inline]
    pub fn new(code: &'a GraphCode, objects: &impl TableObjects, locations: &'a mut TableLocations) -> GraphSite<'a> {
        locations.find(code.number, &code.metadata.searched, objects);
        GraphSite { code, locations }
    }
}

/// A frame that code changes in place.
#[derive(Clone, Copy, Debug)]
pub struct FrameInPlace {
    /// The address of the first byte.
    pub start: *mut u8,
    /// The length in bytes.
    pub length: usize,
    /// The lowest address at which headers that are put before the frame may begin.
    pub floor: *const u8,
}

impl FrameInPlace {
    /// The floor of a frame that must not be changed: code stops at every [`GlueOp::Reframe`].
    pub const UNCHANGED: *const u8 = ptr::without_provenance(usize::MAX / 2);
}

/// What is known of a packet when code is entered.
#[derive(Clone, Copy, Debug)]
pub struct GraphPacket {
    /// The frame.
    pub frame: FrameInPlace,
    /// The parser's position in the frame, in bits.
    pub cursor: usize,
    /// Length and time for counters and meters.
    pub facts: PacketFacts,
    /// The state of the generator for `random`.
    pub random: Random,
    /// The seed from which generators after a queue are made, together with the port: see [`forebay_exec::Seed`].
    pub seed: u64,
}

/// Why code stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphStop {
    /// Before an operation that the caller must do.
    Op(At),
    /// At the end of a block, which the caller must handle.
    End(BlockId),
    /// At the limit of steps.
    StepLimit,
    /// At an assertion that failed.
    AssertFailed,
}

/// The memory of a [`GraphPass`].
#[derive(Debug)]
pub(crate) struct GraphMemory {
    switch_arguments: [u64; ARGUMENTS],
    kept: Vec<u64>,
    /// Whether all words of `kept` are 0.
    nothing_is_kept: bool,
    emitted: Box<[u8]>,
}

impl Default for GraphMemory {
    fn default() -> GraphMemory {
        GraphMemory {
            switch_arguments: [0; ARGUMENTS],
            kept: Vec::new(),
            nothing_is_kept: true,
            emitted: vec![0; COPIED_AT_ONCE as usize + EMITTED_MAX].into(),
        }
    }
}

/// Takes packets through a compiled graph, one after another.
pub struct GraphPass<'a> {
    code: &'a GraphCode,
    /// Holds the only pointers to the requests, the output and the memory.
    context: Context<'a>,
    /// The address of the buffer for the bytes that deparsers emit.
    emitted: *mut u8,
    _lent: PhantomData<(&'a mut Requests, &'a mut Buffers, &'a mut Memory)>,
}

impl<'a> GraphPass<'a> {
    /// Prepares to take packets through the graph. Frames have at most `length_max` bytes.
    pub fn new(
        site: GraphSite<'a>,
        objects: &'a dyn TableObjects,
        length_max: u32,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        memory: &'a mut Memory,
    ) -> GraphPass<'a> {
        let GraphSite { code, locations } = site;
        memory.make_room(code.metadata.temporaries);
        memory.graph.kept.resize(code.plan.kept_words, 0);
        let arrays = objects.arrays();
        assert!(
            arrays.are_of(code.metadata.arrays),
            "the arrays are those of the program"
        );
        // Copies in units of sixteen bytes may begin before the emitted bytes.
        let emitted = memory.graph.emitted[COPIED_AT_ONCE as usize..].as_mut_ptr();
        let context = Context {
            locations: Later::new(locations.first()),
            temporaries: memory.temporaries.as_mut_ptr(),
            length_max: length_max.into(),
            switch_arguments: memory.graph.switch_arguments.as_mut_ptr(),
            kept: memory.graph.kept.as_mut_ptr(),
            requests,
            output: &mut buffers.output,
            memory,
            ..Context::new(objects)
        };
        GraphPass {
            code,
            context,
            emitted,
            _lent: PhantomData,
        }
    }

    /// Begins a packet: clears what the previous packet left.
    #[inline]
    pub fn begin(&mut self) {
        // SAFETY: both are lent to this pass, and no code runs.
        unsafe {
            (*self.context.requests).clear();
            (*self.context.output).clear();
        }
    }

    /// Sets an argument that the switch gives for the next packets.
    #[inline]
    pub fn set_argument(&mut self, argument: Argument, value: u64) {
        // SAFETY: there is a word for each argument, in memory that is lent to this pass.
        unsafe { self.context.switch_arguments.add(argument as usize).write(value) }
    }

    /// Sets whether packets may pass queues: see the [module](self). The queue numbers of such packets are at most
    /// `last_queue`.
    #[inline]
    pub fn pass_queues(&mut self, last_queue: Option<u64>) {
        self.context.passes_queues = last_queue.is_some().into();
        // SAFETY: the memory is lent to this pass, and no code runs.
        unsafe { (*self.context.memory).graph.nothing_is_kept &= last_queue.is_none() }
        self.context.last_queue.write(last_queue.unwrap_or_default());
    }

    /// Sets the values that come with the next packet, for slots that its entry preserves.
    #[inline]
    pub fn keep(&mut self, values: &[(SlotId, Bits)]) {
        // SAFETY: the memory is lent to this pass, and no code runs.
        let nothing_is_kept = unsafe { (*self.context.memory).graph.nothing_is_kept };
        if !values.is_empty() || !nothing_is_kept {
            self.keep_some(values);
        }
    }

    #[inline(never)]
    fn keep_some(&mut self, values: &[(SlotId, Bits)]) {
        let plan = &self.code.plan;
        // SAFETY: there are `kept_words` words, in memory that is lent to this pass.
        let kept = unsafe { slice::from_raw_parts_mut(self.context.kept, plan.kept_words) };
        kept.fill(0);
        for (slot, value) in values {
            if let Some(present) = plan.kept.get(slot) {
                kept[*present] = 1;
                kept[*present + 1..]
                    .iter_mut()
                    .zip(value.limbs())
                    .for_each(|(word, limb)| *word = limb);
            }
        }
        // SAFETY: as above.
        unsafe { (*self.context.memory).graph.nothing_is_kept = values.is_empty() }
    }

    /// Takes a packet from an entrance to the point where the code stops. The state must be one of the compiled
    /// program. At an entry, requests and output must be empty; elsewhere they must be as they were when the code last
    /// stopped for this packet.
    ///
    /// # Panics
    /// If the state is another program's.
    ///
    /// # Safety
    ///
    /// The caller owns the frame and the memory before it, down to the floor, and nothing else accesses them.
    #[inline]
    pub unsafe fn run(&mut self, entrance: usize, packet: GraphPacket, state: &mut State) -> GraphStop {
        debug_assert!(
            entrance < self.code.plan.entrances.len(),
            "the entrance is one of this graph"
        );
        let context = &mut self.context;
        context.packet = packet.frame.start;
        context.packet_bits = packet.frame.length as u64 * 8;
        context.frame_floor = packet.frame.floor;
        context.cursor = packet.cursor as u64;
        context.facts = packet.facts;
        context.random = packet.random;
        context.random_seed.write(packet.seed);
        context.entrance = entrance as u64;
        // SAFETY: the requests are lent to this pass.
        let requests = unsafe { &*context.requests };
        context.asked = requests.asked();
        // What was requested before the code stopped has not been committed yet.
        context.wants_copies = u64::from(requests.has_digests() || requests.clone.is_some());
        context.state = state.words_mut().as_mut_ptr();
        // SAFETY: the output is lent to this pass.
        if unsafe { (*context.output).len_bits() } == 0 {
            context.output_buffer = self.emitted;
            context.output_next = self.emitted;
            context.output_end = self.emitted.wrapping_add(EMITTED_MAX);
        }
        // SAFETY: the context describes a frame as the caller promises, and a state, temporaries and buffers that
        // belong to this pass and have the sizes that the code assumes.
        let ending = unsafe { (self.code.entry)(context) };
        if ending == ending::STOPPED_AT_OP {
            // SAFETY: as above; nothing else has changed the output.
            unsafe { context.leave_buffer() };
            return GraphStop::Op(At::of_number(context.stop));
        }
        context.output_buffer = ptr::null_mut();
        context.output_next = ptr::null_mut();
        context.output_end = ptr::null_mut();
        match ending {
            ending::STOPPED_AT_END => GraphStop::End(At::of_number(context.stop).block),
            ending::STEP_LIMIT => GraphStop::StepLimit,
            ending::ASSERT_FAILED => GraphStop::AssertFailed,
            other => unreachable!("the code of a graph does not return {other}"),
        }
    }

    /// The values of the end at which the code stopped. For a queue: port, class and length. For a port: its number.
    /// For a drop: the parser's error.
    #[inline]
    pub fn end_values(&self) -> [u64; 3] {
        let [first, second, third] = &self.context.end_values;
        // Word by word, as the code has just written them: a load of two words at once waits until both writes are in
        // the cache.
        // SAFETY: references can be read.
        unsafe {
            [
                ptr::from_ref(first).read_volatile(),
                ptr::from_ref(second).read_volatile(),
                ptr::from_ref(third).read_volatile(),
            ]
        }
    }

    /// The address of the frame's first byte, and the frame's length in bytes.
    #[inline]
    pub fn frame(&self) -> (*const u8, usize) {
        (self.context.packet, self.context.packet_bits as usize / 8)
    }

    /// The parser's position in the frame, in bits.
    #[inline]
    pub fn cursor(&self) -> usize {
        self.context.cursor as usize
    }

    /// The length that counters and meters count.
    #[inline]
    pub fn length_bytes(&self) -> u32 {
        self.context.facts.length_bytes
    }

    /// The state of the generator for `random` at this point.
    #[inline]
    pub fn random(&self) -> Random {
        self.context.random
    }

    /// Whether the packet has passed a queue since code was entered at an entry.
    #[inline]
    pub fn has_passed_queue(&self) -> bool {
        self.context.has_passed != 0
    }

    /// The value of an argument for the last packet, for example the error with which its parser ended.
    #[inline]
    pub fn argument(&self, argument: Argument) -> u64 {
        // SAFETY: there is a word for each argument, in memory that is lent to this pass.
        unsafe { self.context.switch_arguments.add(argument as usize).read() }
    }

    /// The requests of the current packet.
    pub fn requests(&mut self) -> &mut Requests {
        // SAFETY: they are lent to this pass, and no code runs.
        unsafe { &mut *self.context.requests }
    }
}
