//! The data of a packet that compiled code accesses.
//!
//! A [`Context`] belongs to one packet's way through the bodies of a program. Compiled code reads and writes its first
//! fields at constant offsets; the functions of [`crate::runtime`] use the rest. On the fast path a burst has one
//! context, and what differs between its packets is in their lanes ([`crate::packet_context`]).

use crate::cold_calls::ARGUMENTS_MAX;
use crate::flows::FlowCache;
use crate::graph::GraphMemory;
use crate::noted_digests::NotedDigests;
use crate::notes::{GoingOn, NotedClones, SentBack};
use crate::packet_context::{Copies, Lanes, verdict};
use crate::route::Replica;
use crate::tables::TableObjects;
use crate::verdict::{CopyVerdict, Frame, Frames};
use forebay_bits::Bits;
use forebay_exec::{BitBuffer, PacketFacts, Random, Requests};
use forebay_ir::TableId;
use forebay_tables::{Location, State};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU64;

/// A field that is left uninitialized until it is needed, because a context is made for every packet.
pub(crate) type Later<T> = MaybeUninit<T>;

/// See the [module](self).
#[repr(C)]
pub(crate) struct Context<'a> {
    /// First byte of the packet.
    pub(crate) packet: *const u8,
    /// Its length in bits.
    pub(crate) packet_bits: u64,
    /// The parser's position, in bits; at most `packet_bits`.
    pub(crate) cursor: u64,
    /// The words of all slots.
    pub(crate) state: *mut u64,
    /// Memory for values that are wider than registers, keys, and data to be hashed: as many words as the compiler
    /// found that the program needs.
    pub(crate) temporaries: *mut u64,
    /// Statements and terminators that the body may still execute.
    pub(crate) steps_left: Later<u64>,
    /// The `error` with which a parser rejected.
    pub(crate) error: Later<u64>,
    /// On the fast path: the port by which the packets arrived.
    pub(crate) ingress_port: Later<u64>,
    /// On the fast path: the time of their arrival.
    pub(crate) timestamp_us: Later<u64>,
    /// On the fast path, stage-batched order: see [`crate::packet_context`].
    pub(crate) queues: Later<*mut u64>,
    /// Fast path, run-to-completion order: base and stride of the frame descriptors; begin and end of the verdict
    /// array; base and stride (in words) of the packet contexts.
    pub(crate) first_frame: Later<*mut Frame>,
    pub(crate) frame_stride: Later<usize>,
    pub(crate) verdicts: Later<*mut u64>,
    pub(crate) verdicts_end: Later<*mut u64>,
    pub(crate) lanes: Later<*mut u64>,
    pub(crate) lane_words: Later<usize>,
    /// On the fast path: see [`crate::route::Arguments`].
    pub(crate) last_queue: Later<u64>,
    pub(crate) random_seed: Later<u64>,
    /// On the fast path: see [`crate::arrays::Arrays`].
    pub(crate) registers: *const u64,
    /// The counters, likewise.
    pub(crate) counters: *const u64,
    /// The times of hits, likewise.
    pub(crate) hit_times: *const u64,
    /// See [`TableObjects::held_lock`].
    pub(crate) held_lock: *mut *const AtomicU64,
    /// On the fast path and in the function of a graph: the locations of the tables that compiled code searches itself,
    /// in the order of the list that comes with the function.
    pub(crate) locations: Later<*const Location>,
    /// On the fast path, with a flow cache: see [`crate::flow_pages::Index`]; and the tag of valid slots.
    pub(crate) flow_index: Later<*mut u64>,
    pub(crate) flow_tag: Later<u64>,
    pub(crate) flow_shift: Later<u64>,
    /// Arguments of cold calls: see [`crate::cold_calls`].
    pub(crate) rare_arguments: Later<[u64; ARGUMENTS_MAX]>,
    /// On the fast path, see [`crate::packet_context::Copies`]: the first copy's frame descriptor, the stride of the
    /// descriptors, the first copy's verdict word, the number of copies, and the most copies.
    pub(crate) copy_frames: Later<*mut Frame>,
    pub(crate) copy_stride: Later<usize>,
    pub(crate) copy_verdicts: Later<*mut u64>,
    pub(crate) copies: Later<u64>,
    pub(crate) copies_max: Later<u64>,
    /// The multicast group that was looked up last, its members, and their number.
    pub(crate) group: Later<u64>,
    pub(crate) group_members: Later<*const Replica>,
    pub(crate) group_size: Later<u64>,
    /// In the function of a graph: the address for the next byte that the deparser emits, and the end of the memory for
    /// emitted bytes.
    pub(crate) output_next: *mut u8,
    pub(crate) output_end: *mut u8,
    /// The buffer for emitted bytes; null once they go to the output.
    pub(crate) output_buffer: *mut u8,
    /// Whether there was a clone or a digest.
    pub(crate) wants_copies: u64,
    /// In the function of a graph: see [`Requests::asked`].
    pub(crate) asked: u64,
    /// In the function of a graph, see [`crate::graph`]: the number of the entrance, and the place at which code has
    /// stopped.
    pub(crate) entrance: u64,
    pub(crate) stop: u64,
    /// In the function of a graph: the switch's arguments; the values that come with the packet.
    pub(crate) switch_arguments: *mut u64,
    pub(crate) kept: *mut u64,
    /// In the function of a graph, the values of the present end. Suspension in a queue: port, class and length;
    /// transmission: the port; drop: the error.
    pub(crate) end_values: [u64; 3],
    /// In the function of a graph: the lowest address to which headers may be written.
    pub(crate) frame_floor: *const u8,
    /// In the function of a graph: the maximum length of a frame in bytes.
    pub(crate) length_max: u64,
    /// In the function of a graph: whether packets pass queues, and whether the current packet has.
    pub(crate) passes_queues: u64,
    pub(crate) has_passed: u64,
    /// Tables and stateful objects.
    pub(crate) objects: &'a dyn TableObjects,
    /// What the program requests from its architecture.
    pub(crate) requests: *mut Requests,
    /// What the deparser emitted.
    pub(crate) output: *mut BitBuffer,
    /// Buffers of the runtime functions.
    pub(crate) memory: *mut Memory,
    /// Packet length and time, for counters and meters.
    pub(crate) facts: PacketFacts,
    /// The generator of `random`.
    pub(crate) random: Random,
}

/// Stands for the colour of a packet that was not metered.
pub(crate) const NO_COLOR: u64 = u64::MAX;

/// The return value of compiled code: how a body ended.
pub(crate) mod ending {
    pub(crate) const RETURNED: i64 = 0;
    pub(crate) const EXITED: i64 = 1;
    pub(crate) const REJECTED: i64 = 2;
    pub(crate) const STEP_LIMIT: i64 = 3;
    pub(crate) const ASSERT_FAILED: i64 = 4;
    pub(crate) const STOPPED_AT_OP: i64 = 5;
    pub(crate) const STOPPED_AT_END: i64 = 6;
}

impl<'a> Context<'a> {
    /// A context with these objects, without a packet or memory.
    #[inline]
    pub(crate) fn new(objects: &'a dyn TableObjects) -> Self {
        let arrays = objects.arrays();
        Context {
            packet: ptr::null(),
            packet_bits: 0,
            cursor: 0,
            state: ptr::null_mut(),
            temporaries: ptr::null_mut(),
            steps_left: Later::uninit(),
            error: Later::uninit(),
            ingress_port: Later::uninit(),
            timestamp_us: Later::uninit(),
            last_queue: Later::uninit(),
            random_seed: Later::uninit(),
            queues: Later::uninit(),
            first_frame: Later::uninit(),
            frame_stride: Later::uninit(),
            verdicts: Later::uninit(),
            verdicts_end: Later::uninit(),
            lanes: Later::uninit(),
            lane_words: Later::uninit(),
            registers: arrays.registers(),
            counters: arrays.counters(),
            hit_times: arrays.hit_times(),
            held_lock: objects.held_lock(),
            locations: Later::uninit(),
            flow_index: Later::uninit(),
            flow_tag: Later::uninit(),
            flow_shift: Later::uninit(),
            rare_arguments: Later::uninit(),
            copy_frames: Later::uninit(),
            copy_stride: Later::uninit(),
            copy_verdicts: Later::uninit(),
            copies: Later::uninit(),
            copies_max: Later::uninit(),
            group: Later::uninit(),
            group_members: Later::uninit(),
            group_size: Later::uninit(),
            output_next: ptr::null_mut(),
            output_end: ptr::null_mut(),
            output_buffer: ptr::null_mut(),
            wants_copies: 0,
            asked: 0,
            entrance: 0,
            stop: 0,
            switch_arguments: ptr::null_mut(),
            kept: ptr::null_mut(),
            end_values: [0; 3],
            frame_floor: ptr::null(),
            length_max: u64::MAX,
            passes_queues: 0,
            has_passed: 0,
            objects,
            requests: ptr::null_mut(),
            output: ptr::null_mut(),
            memory: ptr::null_mut(),
            facts: PacketFacts::default(),
            random: Random::new(0),
        }
    }

    /// Cuts the output after the last byte that compiled code wrote. Returns the number of emitted bytes if they are in
    /// the buffer.
    ///
    /// # Safety
    ///
    /// The output is ours, and nothing else has changed it since `output_next` was set.
    #[inline]
    pub(crate) unsafe fn end_output(&mut self) -> Option<usize> {
        let next = std::mem::replace(&mut self.output_next, ptr::null_mut());
        let end = std::mem::replace(&mut self.output_end, ptr::null_mut());
        if !self.output_buffer.is_null() {
            assert!(next <= end, "code compares with the end of the buffer");
            return Some(next.addr() - self.output_buffer.addr());
        }
        if !next.is_null() {
            // SAFETY: as the caller promises.
            let output = unsafe { &mut *self.output };
            output.truncate_bytes(next.addr() - output.bytes().as_ptr().addr());
        }
        None
    }

    /// Moves emitted bytes from the buffer to the output, where all later bytes go too.
    ///
    /// # Safety
    ///
    /// As above; and the buffer is ours.
    pub(crate) unsafe fn leave_buffer(&mut self) {
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(bytes) = self.end_output() {
                let emitted = std::slice::from_raw_parts(self.output_buffer, bytes);
                (*self.output).append(emitted, 8 * bytes);
                self.output_buffer = ptr::null_mut();
            }
        }
    }
}

/// Memory that executions reuse.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// See [`Context::temporaries`].
    pub(crate) temporaries: Vec<u64>,
    /// The key of a lookup.
    pub(crate) key: Vec<Bits>,
    /// The input of a hash that compiled code does not assemble itself.
    pub(crate) hash_input: BitBuffer,
    /// The lanes and queues of the fast path.
    pub(crate) lanes: Lanes,
    /// See [`Context::locations`].
    pub(crate) locations: Vec<Location>,
    /// The code and the state of the tables for which `locations` holds.
    located: Option<(u64, State)>,
    located_bytes: usize,
    /// The copies of packets on the fast path.
    pub(crate) copies: Copies,
    pub(crate) flows: FlowCache,
    /// Digests that packets have sent on the fast path.
    pub(crate) digests: NotedDigests,
    /// Clones recorded on the fast path.
    pub(crate) clones: NotedClones,
    /// Packets that are sent back, recorded on the fast path.
    pub(crate) sent_back: SentBack,
    /// The last packet that left specialised code after ingress.
    pub(crate) going_on: GoingOn,
    /// What belongs to a packet while it goes through a graph.
    pub(crate) graph: GraphMemory,
}

impl Memory {
    /// Flow-cache look-ups that had to search their table, over the lifetime of this memory.
    pub fn flow_misses(&self) -> u64 {
        self.flows.all_misses()
    }

    /// From now on flow slots are always prefetched, however few there are: for tests.
    pub fn fetch_few_flows(&mut self) {
        self.flows.counts_as_far = true;
    }

    /// Updates `locations` for the code with this number, unless they still hold. Returns the size in bytes of the
    /// memory that searches of these tables access at random.
    pub(crate) fn locate(&mut self, code: u64, tables: &[TableId], objects: &dyn TableObjects) -> usize {
        let pin = objects.pin();
        let located = pin.state().map(|state| (code, state));
        if located.is_none() || located != self.located {
            self.located = located;
            self.locations.clear();
            self.locations
                .extend(tables.iter().map(|table| objects.table(*table).location(pin)));
            self.located_bytes = self.locations.iter().map(|location| location.bytes).sum();
        }
        self.located_bytes
    }

    /// Disables memos (inline caches) into tables larger than `bytes_max`, so that the records of several packets are
    /// prefetched together.
    pub(crate) fn forget_memos(&mut self, bytes_max: usize) {
        self.located = None;
        for location in self.locations.iter_mut().filter(|location| location.bytes > bytes_max) {
            location.version = forebay_tables::search::NEVER;
        }
    }

    /// Sets the frames for the copies of packets. The packets of one [`crate::FastPath`] become at most as many copies
    /// as there are frames. Compiled code reads the start of a copy's memory from the frame descriptor, and writes the
    /// copy's length there when the copy leaves.
    ///
    /// # Safety
    ///
    /// As long as frames take a fast path with this memory, until the next call: the frame descriptors belong to the
    /// caller and nothing else changes them; each points to as many bytes as [`crate::FastPathCode::copy_bytes`]
    /// returns for the longest frame, which nothing else uses.
    #[inline]
    pub unsafe fn set_copies(&mut self, frames: Frames) {
        self.copies.put_into(frames);
    }

    /// The verdict of a copy.
    #[inline]
    pub fn copy(&self, index: usize) -> CopyVerdict {
        let verdict = self.copies.verdicts()[index];
        let number = verdict as u32;
        match verdict >> 32 {
            verdict::PLAIN => CopyVerdict::Leaves { port: number },
            verdict::RECIRCULATED => CopyVerdict::Recirculated { note: number },
            verdict::ASSERT_FAILED => CopyVerdict::AssertFailed { port: number },
            _ => CopyVerdict::Dropped { port: number },
        }
    }

    /// The length of the run of equal verdicts that begins at copy `first`, up to `behind`.
    #[inline]
    pub fn copies_alike(&self, first: usize, behind: usize) -> usize {
        verdict::alike(&self.copies.verdicts()[first..behind])
    }

    /// Makes room for at least `temporaries` words.
    #[inline]
    pub(crate) fn make_room(&mut self, temporaries: usize) {
        if self.temporaries.len() < temporaries {
            self.temporaries.resize(temporaries, 0);
        }
    }
}
