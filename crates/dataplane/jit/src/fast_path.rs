//! The compiled fast path, and how bursts run through it. See [`crate::route`].

use crate::arrays::ArraysShape;
use crate::code::{CodeMemory, Entry};
use crate::context::{Context, Memory};
use crate::flow_pages::Index;
use crate::flow_slots::SlotLayout;
use crate::packet_context::{Lanes, Shape, verdict};
use crate::route::plan::COMPOSED_BITS_MAX;
use crate::route::{Arguments, BailOut, Obstacle, Order, PathId};
use crate::tables::TableObjects;
use forebay_exec::{BitBuffer, Buffers, CloneRequest, PacketFacts, Preserve, Requests};
use forebay_ir::{DigestId, TableId};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The compiled fast path of a program in one of its forms; shared by all threads.
#[derive(Debug)]
pub struct FastPathCode {
    /// Unique among all code.
    number: u64,
    entries: Entries,
    needs: Needs,
    _memory: CodeMemory,
}

/// The functions of a fast path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries {
    /// Executes packets.
    pub(crate) packets: Entry,
    /// The size of `packets` in bytes.
    pub(crate) packets_bytes: usize,
    /// Computes the hashes of packets' flows, if there is a flow cache.
    pub(crate) hashes: Option<Entry>,
}

/// What the code of a fast path needs at run time.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    /// Words of temporaries.
    pub(crate) temporaries: usize,
    /// See [`FastPathCode::headroom`].
    pub(crate) headroom: usize,
    /// Lanes and queues.
    pub(crate) shape: Shape,
    /// Whether packets may become copies.
    pub(crate) copies: bool,
    /// The most clones of a packet that may be recorded, whether each must be executed before the next packet, and
    /// whether they must be executed in order.
    pub(crate) clones: usize,
    pub(crate) clones_first: bool,
    pub(crate) clones_in_order: bool,
    /// Whether packets request changes of tables, pools or quotas.
    pub(crate) asks_tables: bool,
    /// The shape of the program's arrays.
    pub(crate) arrays: ArraysShape,
    /// Whether packets may be truncated.
    pub(crate) truncates: bool,
    /// What was left out at planning.
    pub(crate) obstacles: Vec<Obstacle>,
    /// Whether packets are batched at look-ups.
    pub(crate) staged: bool,
    /// Whether all packets of a burst have the same verdict, and no packet is read.
    pub(crate) uniform: bool,
    /// Whether this also holds for later packets from the same port, as long as the tables do not change.
    pub(crate) steady: bool,
    /// Tables whose locations the code reads.
    pub(crate) searched: Vec<TableId>,
    /// The layout of slots in the flow cache, if there is one.
    pub(crate) slots: Option<SlotLayout>,
    /// See [`FastPathCode::left_out`].
    pub(crate) left_out: Vec<PathId>,
}

impl FastPathCode {
    /// Finished code.
    ///
    /// # Safety
    ///
    /// The entries are functions in that memory, and need no more than `needs` says.
    pub(crate) unsafe fn new(memory: CodeMemory, entries: Entries, needs: Needs) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        FastPathCode {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            entries,
            needs,
            _memory: memory,
        }
    }

    /// Bytes in front of a frame to which the code may write.
    pub fn headroom(&self) -> usize {
        self.needs.headroom
    }

    /// The machine code, for disassemblers and profilers, at the address where it is executed.
    pub fn machine_code(&self) -> &[u8] {
        // SAFETY: the memory is readable, holds the function in this length, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.entries.packets as *const u8, self.entries.packets_bytes) }
    }

    /// What keeps packets off the fast path because the program is too large, or because its copies cannot be put
    /// together.
    pub fn obstacles(&self) -> &[Obstacle] {
        &self.needs.obstacles
    }

    /// The left-out paths through the parser, and beginnings of paths: packets on them [bail out](BailOut::TooLarge).
    pub fn left_out(&self) -> &[PathId] {
        &self.needs.left_out
    }

    /// The unique number of this code.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether look-ups use the flow cache. In a program without look-ups [`Order::Cached`] generates the same code as
    /// [`Order::RunToCompletion`].
    #[inline]
    pub fn caches_flows(&self) -> bool {
        self.needs.slots.is_some()
    }

    /// Whether packets may become copies on the fast path.
    #[inline]
    pub fn makes_copies(&self) -> bool {
        self.needs.copies
    }

    /// Whether clones of packets may be [recorded](FastPath::take_clones).
    #[inline]
    pub fn notes_clones(&self) -> bool {
        self.clones_of_each() > 0
    }

    /// Whether clones must be executed in the order of their packets.
    #[inline]
    pub fn keeps_order_of_clones(&self) -> bool {
        self.needs.clones_in_order
    }

    /// The most clones of a packet that may be recorded, one per session.
    #[inline]
    pub fn clones_of_each(&self) -> usize {
        self.needs.clones
    }

    /// Updates the locations of its tables: see [`Memory::locate`].
    fn locate(&self, memory: &mut Memory, objects: &dyn TableObjects) -> usize {
        memory.locate(self.number, &self.needs.searched, objects)
    }

    /// The most bytes that a copy of a frame needs.
    pub fn copy_bytes(frame_bytes: usize) -> usize {
        frame_bytes + (COMPOSED_BITS_MAX / 8) as usize
    }
}

/// Tables of at most this total size are assumed to be in near caches, so packets are not batched at look-ups.
const NEAR_BYTES: usize = 512 << 10;

/// The compiled forms of a fast path.
#[derive(Clone, Copy, Debug)]
pub struct Forms<'a> {
    /// The form that is compiled first: [`Order::Cached`], unless a test selects another one.
    pub first: &'a FastPathCode,
    /// [`Order::RunToCompletion`].
    pub straight: Option<&'a FastPathCode>,
    /// [`Order::Staged`].
    pub staged: Option<&'a FastPathCode>,
}

impl<'a> Forms<'a> {
    /// Only this form.
    pub fn of(first: &'a FastPathCode) -> Forms<'a> {
        Forms {
            first,
            straight: None,
            staged: None,
        }
    }

    /// The form for a burst that does not use the flow cache, with its tables located; and a missing form that would be
    /// better.
    fn without_cache(self, memory: &mut Memory, objects: &dyn TableObjects) -> (&'a FastPathCode, Option<Order>) {
        let is_straight = !self.first.caches_flows();
        let straight = self.straight.or(is_straight.then_some(self.first));
        let bytes = straight.unwrap_or(self.first).locate(memory, objects);
        match (straight, self.staged) {
            (None, _) => (self.first, Some(Order::RunToCompletion)),
            (Some(straight), _) if bytes <= NEAR_BYTES => (straight, None),
            (Some(straight), None) => (straight, Some(Order::Staged)),
            (_, Some(staged)) => {
                staged.locate(memory, objects);
                memory.forget_memos(NEAR_BYTES);
                (staged, None)
            }
        }
    }

    /// The lanes and queues that are enough for all forms.
    fn shape(self) -> Shape {
        let others = [self.straight, self.staged].into_iter().flatten();
        others.fold(self.first.needs.shape, |shape, code| shape.or(code.needs.shape))
    }
}

/// Runs bursts of packets through a compiled program.
pub struct FastPath<'a> {
    code: &'a FastPathCode,
    /// A form that would be better but is missing.
    wanted: Option<Order>,
    /// The index of the flow cache if slots are prefetched, and the number of packets for which that has been done.
    far_slots: Option<Index>,
    packets_ahead: usize,
    /// The number of frames processed so far.
    done: usize,
    context: Context<'a>,
    requests: &'a mut Requests,
    output: &'a mut BitBuffer,
    memory: &'a mut Memory,
}

/// A clone that the fast path leaves to the architecture. The packet itself continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedClone {
    /// The index of its packet among those that the [`FastPath`] has taken.
    pub place: usize,
    /// Whether egress made the clone, or else ingress.
    pub from_egress: bool,
    /// The clone session.
    pub session: u32,
    /// The metadata that it keeps.
    pub preserve: Preserve,
    /// See [`NotedClones::bytes_of`].
    pub(crate) bytes: Range<usize>,
}

/// Clones of packets, in order.
#[derive(Clone, Debug, Default)]
pub struct NotedClones {
    pub(crate) noted: Vec<NotedClone>,
    pub(crate) bytes: Vec<u8>,
}

impl NotedClones {
    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, NotedClone> {
        self.noted.iter()
    }

    /// The values of [`crate::route::Cloning::kept`] where the clone was made, each in whole bytes. Then the frame.
    /// In place of [`crate::route::ClonedFrame::Headers`] follow: the packet's length and the length of the frame that
    /// entered ingress, in bytes, each a 32-bit number; a validity bit for each of the program's headers, padded to
    /// whole bytes; the valid headers; and what the parser has left.
    pub fn bytes_of(&self, clone: &NotedClone) -> &[u8] {
        &self.bytes[clone.bytes.clone()]
    }

    /// Removes all clones.
    pub fn clear(&mut self) {
        self.noted.clear();
        self.bytes.clear();
    }
}

/// Packets that are sent back to ingress, with what each may keep for its next pass.
#[derive(Clone, Debug, Default)]
pub struct SentBack {
    notes: Vec<(Preserve, Range<usize>)>,
    bytes: Vec<u8>,
}

impl SentBack {
    /// Adds a packet, and returns the number of its note.
    pub(crate) fn add(&mut self, preserve: Preserve, kept: &[u8]) -> usize {
        let first = self.bytes.len();
        self.bytes.extend_from_slice(kept);
        self.notes.push((preserve, first..self.bytes.len()));
        self.notes.len() - 1
    }

    /// The metadata that the packet of a note keeps, and the values of all slots of
    /// [`crate::route::SendsBack::kept`], each in whole bytes.
    pub fn note(&self, number: u32) -> (Preserve, &[u8]) {
        let (preserve, kept) = &self.notes[number as usize];
        (*preserve, &self.bytes[kept.clone()])
    }
}

/// A packet that leaves specialised code after ingress and goes on in general code: see
/// [`crate::route::Route::leaving`].
#[derive(Clone, Debug, Default)]
pub struct GoingOn {
    /// Its clone, if the program cloned it by an operation. General code executes the clone first.
    pub clone: Option<CloneRequest>,
    /// The most bytes of it that leave, if that is limited.
    pub truncate_to: Option<u32>,
    /// The values of [`crate::route::Route::leaving`], each in whole bytes.
    pub slots: Vec<u8>,
    /// For a packet with such a clone: the bytes of the headers that were valid before ingress.
    pub header_bytes: u64,
    /// The state of the generator of random numbers, if ingress draws any.
    pub random: u64,
    /// The parser's position in bits.
    pub cursor: usize,
}

/// A frame in memory. Compiled code reads the descriptor, and updates it for a frame that leaves.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its first byte.
    pub start: *mut u8,
    /// Its length in bytes.
    pub length: usize,
}

/// The frame descriptors of a burst.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// The first descriptor.
    pub first: *mut Frame,
    /// The distance between descriptors in bytes.
    pub stride: usize,
    /// The number of frames.
    pub count: usize,
}

/// The verdicts of a burst's frames when all that leave do so by one port: see [`FastPath::departures`].
#[derive(Clone, Copy, Debug)]
pub struct Departures {
    /// The port.
    pub port: u32,
    /// The number of frames dropped in ingress.
    pub dropped_in_ingress: usize,
    /// The number of frames dropped in egress.
    pub dropped_in_egress: usize,
    /// A bit for each frame that leaves.
    leaving: u64,
}

impl Departures {
    /// The indices in the burst of the frames that leave, in order.
    #[inline]
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let lowest = |bits: u64| (bits > 0).then_some(bits);
        let left = std::iter::successors(lowest(self.leaving), move |bits| lowest(bits & (bits - 1)));
        left.map(|bits| bits.trailing_zeros() as usize)
    }

    /// The number of frames that leave.
    #[inline]
    pub fn count(&self) -> usize {
        self.leaving.count_ones() as usize
    }
}

/// The verdict of a packet on the fast path: the verdict that compiled code has written for it, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves; its [`Frame`] now says where it starts and how long it is.
    Plain {
        /// The port.
        port: u32,
    },
    /// It leaves, with other headers.
    Rewritten {
        /// The port.
        port: u32,
        /// Its headers.
        headers: Rewriting,
    },
    /// It begins again as it was received: see [`FastPath::take_sent_back`].
    Resubmitted {
        /// The number of its note.
        note: u32,
    },
    /// It begins again as it would have left: see [`FastPath::take_sent_back`].
    Recirculated {
        /// The number of its note.
        note: u32,
        /// Its headers, if they are others.
        headers: Option<Rewriting>,
    },
    /// The program dropped it in ingress.
    DroppedInIngress {
        /// The parser's error; 0 when it had accepted the packet.
        parser_error: u16,
    },
    /// The program dropped it in egress.
    DroppedInEgress,
    /// An assertion failed.
    AssertFailed,
    /// It became `count` copies, from number `first` on. See [`Memory::copy`].
    Replicated {
        /// The number of the first copy.
        first: usize,
        /// The number of copies.
        count: usize,
    },
    /// It has passed ingress, and goes on in general code for this reason: see [`FastPath::going_on`]. Its frame is
    /// unchanged.
    GoesOn(BailOut),
    /// It must take the slow path, for this reason. Nothing has been changed.
    BailedOut(BailOut),
}

/// A part of [`FastPath::output`] that takes the place of the parsed headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewriting {
    /// The length of the parsed headers in bits.
    pub parsed_bits: usize,
    /// The start of the part, in bytes.
    pub output_start: usize,
    /// Its length in bits.
    pub output_bits: usize,
    /// The packet is cut to at most this number of bytes.
    pub length_max: u32,
}

/// The verdict of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyVerdict {
    /// It leaves, with the length in its [`Frame`].
    Leaves {
        /// Its egress port.
        port: u32,
    },
    /// Egress dropped it.
    Dropped {
        /// Its egress port.
        port: u32,
    },
    /// It begins again, with the length in its [`Frame`]: see [`FastPath::take_sent_back`].
    Recirculated {
        /// The number of its note.
        note: u32,
    },
}

impl<'a> FastPath<'a> {
    /// Prepares for a burst of packets, in the best available form. The flow cache is used as long as most flows are
    /// met again. Otherwise packets run to completion or, when tables are large, are batched at look-ups.
    pub fn new(
        forms: Forms<'a>,
        objects: &'a dyn TableObjects,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        memory: &'a mut Memory,
    ) -> Self {
        let first = forms.first;
        let (code, wanted) = if first.caches_flows() && memory.flows.serves() {
            first.locate(memory, objects);
            (first, None)
        } else {
            forms.without_cache(memory, objects)
        };
        memory.make_room(code.needs.temporaries);
        Lanes::prepare(memory, forms.shape());
        let mut context = Context::new(objects, PacketFacts::default());
        memory.copies.describe(&mut context);
        let arrays = objects.arrays();
        assert!(arrays.are_of(code.needs.arrays), "the arrays are those of the program");
        context.registers = arrays.registers();
        context.counters = arrays.counters();
        context.hit_times = arrays.hit_times();
        context.held_lock = objects.held_lock();
        let mut far_slots = None;
        if let Some(layout) = &code.needs.slots {
            let (index, tag) = memory
                .flows
                .open(code.number, layout, objects.pin(), |table| objects.table(table).group());
            context.flow_index.write(index.first);
            context.flow_shift.write(index.shift);
            context.flow_tag.write(tag);
            far_slots = memory.flows.are_far().then_some(index);
        }
        FastPath {
            code,
            wanted,
            far_slots,
            packets_ahead: 0,
            done: 0,
            context,
            requests,
            output: &mut buffers.output,
            memory,
        }
    }

    /// The form that would have been better for this burst, but is missing.
    #[inline]
    pub fn wanted(&self) -> Option<Order> {
        self.wanted
    }

    /// The form of this burst, and so its order of execution.
    #[inline]
    pub fn order(&self) -> Order {
        match (&self.code.needs.slots, self.code.needs.staged) {
            (Some(_), _) => Order::Cached,
            (None, true) => Order::Staged,
            (None, false) => Order::RunToCompletion,
        }
    }

    /// Whether all frames have the same verdict, and none of them is read or changed. [`FastPath::run_unseen`] is
    /// enough then.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.code.needs.uniform
    }

    /// Whether all frames from the same port have the same verdict, [as long as](TableObjects::pin) the tables do not
    /// change.
    #[inline]
    pub fn is_steady(&self) -> bool {
        self.code.needs.steady
    }

    /// Takes the first of the frames, at most [`BURST_MAX`](crate::packet_context::BURST_MAX), through the fast path,
    /// and returns how many were processed: see [`FastPath::verdict`]. If these are not all of them, the last one
    /// bailed out, or its clone must be executed before the next frame, or it has
    /// [sent a message to a table](FastPath::may_ask_table). The frames after it have not been touched.
    ///
    /// # Safety
    ///
    /// The frame descriptors belong to the caller and nothing else changes them. Each frame is in memory of the
    /// caller's, with [`FastPathCode::headroom`] more bytes before it, and no two frames overlap. The addresses for
    /// copies ([`Memory::set_copies`]) are valid for the longest frame.
    pub unsafe fn run(&mut self, frames: Frames, arguments: Arguments) -> usize {
        if frames.count == 0 {
            return 0;
        }
        let lanes = &mut self.memory.lanes;
        let count = lanes.refer_to(frames, self.code.needs.staged);
        if self.code.needs.truncates && self.code.needs.staged {
            lanes.limit(count, u32::MAX.into());
        }
        // SAFETY: as the caller promises.
        let count = unsafe { self.execute(arguments) };
        self.memory.flows.count(count);
        count
    }

    /// The verdict of every frame in this burst, when they are [all the same](FastPath::is_uniform).
    ///
    /// # Panics
    ///
    /// When they are not all the same.
    pub fn run_unseen(&mut self, arguments: Arguments) -> Verdict {
        assert!(self.is_uniform(), "frames are looked at");
        self.memory.lanes.set_count(1);
        // SAFETY: the code reads no frame.
        unsafe { self.execute(arguments) };
        self.verdict(0)
    }

    /// Executes the code for the packets of the first queue; returns how many were processed.
    ///
    /// # Safety
    ///
    /// If the code reads frames, they are as promised to [`FastPath::run`].
    unsafe fn execute(&mut self, arguments: Arguments) -> usize {
        self.output.clear();
        let noted = (self.memory.digests.len(), self.memory.clones.noted.len());
        let context = &mut self.context;
        self.memory.lanes.describe(context);
        context.ingress_port.write(arguments.ingress_port.into());
        context.timestamp_us.write(arguments.timestamp_us);
        context.last_queue.write(arguments.last_queue.into());
        context.random_seed.write(arguments.random_seed);
        context.facts.timestamp_us = arguments.timestamp_us;
        context.locations.write(self.memory.locations.as_ptr());
        context.temporaries = self.memory.temporaries.as_mut_ptr();
        context.requests = self.requests;
        context.output = self.output;
        context.memory = self.memory;
        if let (Some(index), 0) = (self.far_slots, self.packets_ahead)
            && let Some(layout) = &self.code.needs.slots
            && let Some(hashes) = self.code.entries.hashes
        {
            // SAFETY: as below.
            self.packets_ahead = unsafe { hashes(context) } as usize;
            index.fetch(layout, &self.memory.lanes.verdicts()[..self.packets_ahead]);
        }
        // SAFETY: the frames are as the caller promises; lanes, queues, temporaries and buffers in the context belong
        // to `self` until this returns, and are as large as the code needs.
        let count = unsafe { (self.code.entries.packets)(context) } as usize;
        self.packets_ahead = self.packets_ahead.saturating_sub(count);
        self.take_back(count, noted);
        let clones = &mut self.memory.clones.noted[..];
        clones
            .iter_mut()
            .skip(noted.1)
            .for_each(|clone| clone.place += self.done);
        self.done += count;
        count
    }

    /// Removes the digests and clones of the last processed packet if it bailed out, because the slow path makes them
    /// again. The pair is their number before this burst.
    fn take_back(&mut self, count: usize, (digests_before, clones_before): (usize, usize)) {
        let Memory {
            lanes, digests, clones, ..
        } = &mut *self.memory;
        let is_noted = digests.len() > digests_before || clones.noted.len() > clones_before;
        if !is_noted || lanes.verdicts()[count - 1] >> 32 != verdict::BAILED_OUT {
            return;
        }
        digests.take_back(count - 1, digests_before);
        let before_last = |clone: &NotedClone| clone.place < count - 1;
        let kept = clones.noted[clones_before..].partition_point(before_last);
        clones.noted.truncate(clones_before + kept);
    }

    /// Whether clones have been recorded since they were last taken.
    #[inline]
    pub fn has_clones(&self) -> bool {
        !self.memory.clones.noted.is_empty()
    }

    /// Whether a clone must be executed before the next packet.
    #[inline]
    pub fn is_clone_first(&self) -> bool {
        self.code.needs.clones_first && self.has_clones()
    }

    /// Whether the last packet may have sent a message to a table, a pool or a quota among its
    /// [digests](FastPath::take_digests), which must be applied before the next packet.
    #[inline]
    pub fn may_ask_table(&self) -> bool {
        self.code.needs.asks_tables && !self.memory.digests.is_empty()
    }

    /// Moves the recorded clones to `clones`, whose previous content is lost.
    pub fn take_clones(&mut self, clones: &mut NotedClones) {
        clones.clear();
        std::mem::swap(&mut self.memory.clones, clones);
    }

    /// Moves what is noted of packets that are sent back to `sent_back`, whose previous content is lost. Notes are
    /// numbered from the last call on.
    #[inline]
    pub fn take_sent_back(&mut self, sent_back: &mut SentBack) {
        let notes = &mut self.memory.sent_back;
        if !(notes.notes.is_empty() && sent_back.notes.is_empty()) {
            sent_back.notes.clear();
            sent_back.bytes.clear();
            std::mem::swap(notes, sent_back);
        }
    }

    /// The packet of the last burst that [goes on](Verdict::GoesOn).
    pub fn going_on(&self) -> &GoingOn {
        &self.memory.going_on
    }

    /// Passes on the digests that packets have sent since the last call, in the order of packets, with the words of
    /// their values, as in [`forebay_exec::DigestRequest::of_words`]. Packets that bailed out have none.
    pub fn take_digests(&mut self, each: impl FnMut(DigestId, &[u64])) {
        self.memory.digests.take(each);
    }

    /// The length of the run of equal verdicts that begins at frame `first` of the last burst, up to `behind`. It is 1
    /// where the verdict word is not the whole verdict.
    #[inline]
    pub fn alike(&self, first: usize, behind: usize) -> usize {
        let verdicts = &self.memory.lanes.verdicts()[first..behind];
        match verdict::is_all(verdicts[0]) {
            true => verdict::alike(verdicts),
            false => 1,
        }
    }

    /// The departures of the first `count` frames of the last burst, if at least one leaves, all that leave do so by
    /// one port as their [`Frame`] says, and all others were dropped. `alike`, less than `count`, is the length of the
    /// run of [equal verdicts](FastPath::alike) at the beginning.
    #[inline]
    pub fn departures(&self, count: usize, alike: usize) -> Option<Departures> {
        let verdicts = &self.memory.lanes.verdicts()[..count];
        let is_plain = |verdict: u64| verdict >> 32 == verdict::PLAIN;
        let leaves = match [verdicts[0], verdicts[alike]].map(is_plain) {
            // Frames leave by two ports, as in most bursts that do not use one port.
            [true, true] => return None,
            [true, false] => verdicts[0],
            [false, true] => verdicts[alike],
            [false, false] => verdicts.iter().copied().find(|verdict| is_plain(*verdict))?,
        };
        let leaving = verdict::which(verdicts, leaves);
        let dropped = |how: u64| verdict::which(verdicts, how << 32).count_ones() as usize;
        let departures = Departures {
            port: leaves as u32,
            dropped_in_ingress: dropped(verdict::DROPPED_IN_INGRESS),
            dropped_in_egress: dropped(verdict::DROPPED_IN_EGRESS),
            leaving,
        };
        let settled = departures.count() + departures.dropped_in_ingress + departures.dropped_in_egress;
        (settled == count).then_some(departures)
    }

    /// The verdict of a frame of the last burst.
    #[inline]
    pub fn verdict(&mut self, index: usize) -> Verdict {
        let verdict = self.memory.lanes.verdicts()[index];
        let number = verdict as u32;
        const RECIRCULATED_PLAIN: u64 = verdict::RECIRCULATED | verdict::PLAIN;
        const RECIRCULATED_REWRITTEN: u64 = verdict::RECIRCULATED | verdict::REWRITTEN;
        match verdict >> 32 {
            verdict::PLAIN => Verdict::Plain { port: number },
            verdict::REWRITTEN => Verdict::Rewritten {
                port: number,
                headers: self.rewriting(index),
            },
            verdict::RESUBMITTED => Verdict::Resubmitted { note: number },
            RECIRCULATED_PLAIN => Verdict::Recirculated {
                note: number,
                headers: None,
            },
            RECIRCULATED_REWRITTEN => Verdict::Recirculated {
                note: number,
                headers: Some(self.rewriting(index)),
            },
            verdict::DROPPED_IN_INGRESS => Verdict::DroppedInIngress {
                parser_error: verdict as u16,
            },
            verdict::DROPPED_IN_EGRESS => Verdict::DroppedInEgress,
            verdict::ASSERT_FAILED => Verdict::AssertFailed,
            verdict::GOES_ON => Verdict::GoesOn(BailOut::of_number(number)),
            verdict::BAILED_OUT => Verdict::BailedOut(BailOut::of_number(verdict::of_bail_out(verdict).0)),
            verdict::REPLICATED => Verdict::Replicated {
                first: self.memory.lanes.lane(index).first_copy as usize,
                count: number as usize,
            },
            other => unreachable!("the code of a fast path does not end with {other}"),
        }
    }

    /// The headers of a frame of the last burst that was rewritten.
    fn rewriting(&mut self, index: usize) -> Rewriting {
        let lane = self.memory.lanes.lane(index);
        Rewriting {
            parsed_bits: lane.parsed_bits as usize,
            output_start: lane.output_start as usize / 8,
            output_bits: lane.output_bits as usize,
            length_max: match self.code.needs.truncates {
                true => lane.truncate_to as u32,
                false => u32::MAX,
            },
        }
    }

    /// Which of the [left-out parser paths](FastPathCode::left_out) a frame of the last burst that bailed out takes, if
    /// it is on one.
    pub fn path_left_out(&self, index: usize) -> Option<usize> {
        let (_, path) = verdict::of_bail_out(self.memory.lanes.verdicts()[index]);
        path.map(|path| path as usize)
    }

    /// The code.
    pub fn code(&self) -> &'a FastPathCode {
        self.code
    }

    /// The number of copies of each of the first `count` frames (at least one) of the last burst, if it is the same
    /// positive number for all of them and the copies are in the order of the frames.
    pub fn copies_of_each(&mut self, count: usize) -> Option<usize> {
        let verdicts = &self.memory.lanes.verdicts()[..count];
        let is_alike = verdicts[0] >> 32 == verdict::REPLICATED && verdict::alike(verdicts) == count;
        let each = verdicts[0] as u32 as usize;
        // Packets that run to completion become copies in their order.
        let last = if self.code.needs.staged { count } else { 1 };
        let mut is_next = |index| self.memory.lanes.lane(index).first_copy == (index * each) as u64;
        (is_alike && each > 0 && (0..last).all(&mut is_next)).then_some(each)
    }

    /// The memory with the copies' verdicts.
    pub fn memory(&self) -> &Memory {
        self.memory
    }

    /// Whether frames may become copies.
    #[inline]
    pub fn makes_copies(&self) -> bool {
        self.code.needs.copies
    }

    /// The bytes that the deparser emitted for the packets of the last burst that are [rewritten](Verdict::Rewritten).
    pub fn output(&self) -> &BitBuffer {
        self.output
    }

    /// See [`FastPathCode::headroom`].
    pub fn headroom(&self) -> usize {
        self.code.headroom()
    }
}
