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

/// Declares the context's fields, each with its value in a context that has the given objects but no packet or memory.
macro_rules! context {
    ($objects:ident; $($(#[$doc:meta])* $field:ident: $kind:ty = $first:expr,)*) => {
        /// See the [module](self).
        #[repr(C)]
        pub(crate) struct Context<'a> {
            $($(#[$doc])* pub(crate) $field: $kind,)*
        }

        impl<'a> Context<'a> {
            #[inline]
            pub(crate) fn new($objects: &'a dyn TableObjects) -> Self {
                Context { $($field: $first,)* }
            }
        }
    };
}

context! {
    objects;
    /// First byte of the packet.
    packet: *const u8 = ptr::null(),
    /// Its length in bits.
    packet_bits: u64 = 0,
    /// The parser's position, in bits; at most `packet_bits`.
    cursor: u64 = 0,
    /// The words of all slots.
    state: *mut u64 = ptr::null_mut(),
    /// Memory for values that are wider than registers, keys, and data to be hashed: as many words as the compiler
    /// found that the program needs.
    temporaries: *mut u64 = ptr::null_mut(),
    /// Statements and terminators that the body may still execute.
    steps_left: Later<u64> = Later::uninit(),
    /// On the fast path: the port by which the packets arrived.
    ingress_port: Later<u64> = Later::uninit(),
    /// On the fast path: the time of their arrival.
    timestamp_us: Later<u64> = Later::uninit(),
    /// On the fast path, stage-batched order: see [`crate::packet_context`].
    queues: Later<*mut u64> = Later::uninit(),
    /// Fast path, run-to-completion order: base and stride of the frame descriptors; begin and end of the verdict
    /// array; base and stride (in words) of the packet contexts.
    first_frame: Later<*mut Frame> = Later::uninit(),
    frame_stride: Later<usize> = Later::uninit(),
    verdicts: Later<*mut u64> = Later::uninit(),
    verdicts_end: Later<*mut u64> = Later::uninit(),
    lanes: Later<*mut u64> = Later::uninit(),
    lane_words: Later<usize> = Later::uninit(),
    /// On the fast path: see [`crate::route::Arguments`].
    last_queue: Later<u64> = Later::uninit(),
    random_seed: Later<u64> = Later::uninit(),
    /// On the fast path: see [`crate::arrays::Arrays`].
    registers: *const u64 = objects.arrays().registers(),
    /// The counters, likewise.
    counters: *const u64 = objects.arrays().counters(),
    /// The times of hits, likewise.
    hit_times: *const u64 = objects.arrays().hit_times(),
    /// See [`TableObjects::held_lock`].
    held_lock: *mut *const AtomicU64 = objects.held_lock(),
    /// On the fast path and in the function of a graph: the locations of the tables that compiled code searches itself,
    /// in the order of the list that comes with the function.
    locations: Later<*const Location> = Later::uninit(),
    /// On the fast path, with a flow cache: see [`crate::flow_pages::Index`]; and the tag of valid slots.
    flow_index: Later<*mut u64> = Later::uninit(),
    flow_tag: Later<u64> = Later::uninit(),
    flow_shift: Later<u64> = Later::uninit(),
    /// Arguments of cold calls: see [`crate::cold_calls`].
    rare_arguments: Later<[u64; ARGUMENTS_MAX]> = Later::uninit(),
    /// On the fast path, see [`crate::packet_context::Copies`]: the first copy's frame descriptor, the stride of the
    /// descriptors, the first copy's verdict word, the number of copies, and the most copies.
    copy_frames: Later<*mut Frame> = Later::uninit(),
    copy_stride: Later<usize> = Later::uninit(),
    copy_verdicts: Later<*mut u64> = Later::uninit(),
    copies: Later<u64> = Later::uninit(),
    copies_max: Later<u64> = Later::uninit(),
    /// The multicast group that was looked up last, its members, and their number.
    group: Later<u64> = Later::uninit(),
    group_members: Later<*const Replica> = Later::uninit(),
    group_size: Later<u64> = Later::uninit(),
    /// In the function of a graph: the address for the next byte that the deparser emits, and the end of the memory for
    /// emitted bytes.
    output_next: *mut u8 = ptr::null_mut(),
    output_end: *mut u8 = ptr::null_mut(),
    /// The buffer for emitted bytes; null once they go to the output.
    output_buffer: *mut u8 = ptr::null_mut(),
    /// Whether there was a clone or a digest.
    wants_copies: u64 = 0,
    /// In the function of a graph: see [`Requests::asked`].
    asked: u64 = 0,
    /// In the function of a graph, see [`crate::graph`]: the number of the entrance, and the place at which code has
    /// stopped.
    entrance: u64 = 0,
    stop: u64 = 0,
    /// In the function of a graph: the switch's arguments; the values that come with the packet.
    switch_arguments: *mut u64 = ptr::null_mut(),
    kept: *mut u64 = ptr::null_mut(),
    /// In the function of a graph, the values of the present end. Suspension in a queue: port, class and length;
    /// transmission: the port; drop: the error.
    end_values: [u64; 3] = [0; 3],
    /// In the function of a graph: the lowest address to which headers may be written.
    frame_floor: *const u8 = ptr::null(),
    /// In the function of a graph: the maximum length of a frame in bytes.
    length_max: u64 = u64::MAX,
    /// In the function of a graph: whether packets pass queues, and whether the current packet has.
    passes_queues: u64 = 0,
    has_passed: u64 = 0,
    /// Tables and stateful objects.
    objects: &'a dyn TableObjects = objects,
    /// What the program requests from its architecture.
    requests: *mut Requests = ptr::null_mut(),
    /// What the deparser emitted.
    output: *mut BitBuffer = ptr::null_mut(),
    /// Buffers of the runtime functions.
    memory: *mut Memory = ptr::null_mut(),
    /// Packet length and time, for counters and meters.
    facts: PacketFacts = PacketFacts::default(),
    /// The generator of `random`.
    random: Random = Random::new(0),
}

/// Stands for the colour of a packet that was not metered.
pub(crate) const NO_COLOR: u64 = u64::MAX;

/// The return value of the function of a graph: how it ended.
pub(crate) mod ending {
    pub(crate) const STEP_LIMIT: i64 = 0;
    pub(crate) const ASSERT_FAILED: i64 = 1;
    pub(crate) const STOPPED_AT_OP: i64 = 2;
    pub(crate) const STOPPED_AT_END: i64 = 3;
}

impl Context<'_> {
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
#[derive(Debug, Default)]
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
