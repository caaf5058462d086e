//! What compiled code knows of the packet it works on.
//!
//! A [`Context`] is one packet's way through the bodies of a program. Compiled code reads and writes its first fields at
//! constant offsets; the rest is for the functions of [`crate::runtime`] that compiled code calls. On the fast path there
//! is one for a burst, and what differs between its packets is in their lanes ([`crate::packet_context`]).

use crate::cold_calls::ARGUMENTS_MAX;
use crate::fast_path::{CopyFate, Frame, Frames, NotedClones};
use crate::flows::FlowCache;
use crate::graph::GraphMemory;
use crate::packet_context::{Copies, Lanes, fate};
use crate::route::Replica;
use crate::tables::TableObjects;
use forebay_bits::Bits;
use forebay_exec::{BitBuffer, DigestRequest, PacketFacts, Random, Requests};
use forebay_ir::TableId;
use forebay_tables::{Location, State};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU64;

/// A value that is not there before somebody needs it: contexts are made for every packet.
pub(crate) type Later<T> = MaybeUninit<T>;

/// See the [module](self).
#[repr(C)]
pub(crate) struct Context<'a> {
    /// First byte of the packet.
    pub(crate) packet: *const u8,
    /// Its length in bits.
    pub(crate) packet_bits: u64,
    /// Where the parser stands, in bits; never beyond `packet_bits`.
    pub(crate) cursor: u64,
    /// The words of all slots.
    pub(crate) state: *mut u64,
    /// Memory for values that are wider than registers, keys, and data to be hashed: as many words as the compiler found
    /// that the program needs.
    pub(crate) temporaries: *mut u64,
    /// Statements and terminators that the body may still execute.
    pub(crate) steps_left: Later<u64>,
    /// The `error` with which a parser rejected.
    pub(crate) error: Later<u64>,
    /// Whether the last lookup hit.
    pub(crate) hit: Later<u64>,
    /// The colour of the last lookup's direct meter; [`NO_COLOR`] when there is none.
    pub(crate) color: Later<u64>,
    /// The action data that the last lookup found, each argument in as many words as it needs.
    pub(crate) arguments: Later<*const u64>,
    /// On the fast path: where the packets came from.
    pub(crate) ingress_port: Later<u64>,
    /// On the fast path: when.
    pub(crate) timestamp_us: Later<u64>,
    /// On the fast path, where packets wait for each other: see [`crate::packet_context`].
    pub(crate) queues: Later<*mut u64>,
    /// Fast path, run-to-completion order: base and stride of the frame descriptors; begin and end of the verdict array; base and
    /// stride (in words) of the packet contexts.
    pub(crate) first_frame: Later<*mut Frame>,
    pub(crate) frame_stride: Later<usize>,
    pub(crate) fates: Later<*mut u64>,
    pub(crate) fates_end: Later<*mut u64>,
    pub(crate) lanes: Later<*mut u64>,
    pub(crate) lane_words: Later<usize>,
    /// On the fast path: see [`crate::route::Arguments`].
    pub(crate) last_queue: Later<u64>,
    pub(crate) random_seed: Later<u64>,
    /// On the fast path: see [`crate::arrays::Arrays`].
    pub(crate) registers: *const u64,
    /// The same of counters.
    pub(crate) counters: *const u64,
    /// And of the times of hits.
    pub(crate) hit_times: *const u64,
    /// See [`TableObjects::held_lock`].
    pub(crate) held_lock: *mut *const AtomicU64,
    /// On the fast path and in the function of a graph: where the tables are that compiled code searches itself, in the
    /// order of the list that comes with the function.
    pub(crate) locations: Later<*const Location>,
    /// On the fast path, with a flow cache: see [`crate::flow_pages::Index`], and which slots hold.
    pub(crate) flow_index: Later<*mut u64>,
    pub(crate) flow_tag: Later<u64>,
    pub(crate) flow_shift: Later<u64>,
    /// Arguments of cold calls: see [`crate::cold_calls`].
    pub(crate) rare_arguments: Later<[u64; ARGUMENTS_MAX]>,
    /// On the fast path, see [`crate::packet_context::Copies`]: where the first copy is put, how far behind it the next one, where is noted what
    /// becomes of the first, how many there are, and how many there may be.
    pub(crate) copy_frames: Later<*mut Frame>,
    pub(crate) copy_stride: Later<usize>,
    pub(crate) copy_fates: Later<*mut u64>,
    pub(crate) copies: Later<u64>,
    pub(crate) copies_max: Later<u64>,
    /// The group whose members were asked for last, who they are, and how many.
    pub(crate) group: Later<u64>,
    pub(crate) group_members: Later<*const Replica>,
    pub(crate) group_size: Later<u64>,
    /// In the function of a graph: where the next byte is put that the deparser emits, and where the memory for them ends. Null
    /// before the first one, unless they are put into the frame.
    pub(crate) output_next: *mut u8,
    pub(crate) output_end: *mut u8,
    /// Where the frame begins when they are put there.
    pub(crate) output_frame: *mut u8,
    /// Whether there was a clone or a digest.
    pub(crate) wants_copies: u64,
    /// In the function of a graph: see [`Requests::asked`].
    pub(crate) asked: u64,
    /// In the function of a graph, see [`crate::graph`]: where it is entered, and where it has stopped.
    pub(crate) entrance: u64,
    pub(crate) stop: u64,
    /// There: what the switch says, by argument; values that come with the packet.
    pub(crate) said: *mut u64,
    pub(crate) kept: *mut u64,
    /// There: what the present end is about. Of a queue, port, class and length; of a port, its number; of a drop, the error.
    pub(crate) end_values: [u64; 3],
    /// There: the first byte that headers may be put to.
    pub(crate) frame_floor: *const u8,
    /// There: the most bytes of a frame.
    pub(crate) length_max: u64,
    /// There: whether packets pass queues, and whether the present one has.
    pub(crate) passes_queues: u64,
    pub(crate) has_passed: u64,
    /// Tables and stateful objects.
    pub(crate) objects: &'a dyn TableObjects,
    /// What the program asks of its architecture.
    pub(crate) requests: *mut Requests,
    /// What the deparser emitted.
    pub(crate) output: *mut BitBuffer,
    /// Memory of the functions that compiled code calls.
    pub(crate) memory: *mut Memory,
    /// Length and time for counters and meters.
    pub(crate) facts: PacketFacts,
    /// The numbers of `random`.
    pub(crate) random: Random,
}

/// [`Context::color`] without a colour.
pub(crate) const NO_COLOR: u64 = u64::MAX;

/// How compiled code says that a body ended: its return value.
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
    /// A context without packet and memory.
    #[inline]
    pub(crate) fn new(objects: &'a dyn TableObjects, facts: PacketFacts) -> Self {
        Context {
            packet: ptr::null(),
            packet_bits: 0,
            cursor: 0,
            state: ptr::null_mut(),
            temporaries: ptr::null_mut(),
            steps_left: Later::uninit(),
            error: Later::uninit(),
            hit: Later::uninit(),
            color: Later::uninit(),
            arguments: Later::uninit(),
            ingress_port: Later::uninit(),
            timestamp_us: Later::uninit(),
            last_queue: Later::uninit(),
            random_seed: Later::uninit(),
            queues: Later::uninit(),
            first_frame: Later::uninit(),
            frame_stride: Later::uninit(),
            fates: Later::uninit(),
            fates_end: Later::uninit(),
            lanes: Later::uninit(),
            lane_words: Later::uninit(),
            registers: ptr::null(),
            counters: ptr::null(),
            hit_times: ptr::null(),
            held_lock: ptr::null_mut(),
            locations: Later::uninit(),
            flow_index: Later::uninit(),
            flow_tag: Later::uninit(),
            flow_shift: Later::uninit(),
            rare_arguments: Later::uninit(),
            copy_frames: Later::uninit(),
            copy_stride: Later::uninit(),
            copy_fates: Later::uninit(),
            copies: Later::uninit(),
            copies_max: Later::uninit(),
            group: Later::uninit(),
            group_members: Later::uninit(),
            group_size: Later::uninit(),
            output_next: ptr::null_mut(),
            output_end: ptr::null_mut(),
            output_frame: ptr::null_mut(),
            wants_copies: 0,
            asked: 0,
            entrance: 0,
            stop: 0,
            said: ptr::null_mut(),
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
            facts,
            random: Random::new(0),
        }
    }

    /// Has the output end behind the last byte that was put there, and not where its memory ends. When all of them are in the
    /// frame: how many.
    ///
    /// # Safety
    ///
    /// The output is ours, and nothing else has changed it since `output_next` was set.
    #[inline]
    pub(crate) unsafe fn end_output(&mut self) -> Option<usize> {
        let next = std::mem::replace(&mut self.output_next, ptr::null_mut());
        let end = std::mem::replace(&mut self.output_end, ptr::null_mut());
        if !self.output_frame.is_null() {
            assert!(
                next <= end,
                "headers that stay in the frame were extracted from its front"
            );
            return Some(next.addr() - self.output_frame.addr());
        }
        if !next.is_null() {
            // SAFETY: as the caller promises.
            let output = unsafe { &mut *self.output };
            output.truncate_bytes(next.addr() - output.bytes().as_ptr().addr());
        }
        None
    }

    /// Has bytes that were put into the frame go to the output, where all others will.
    ///
    /// # Safety
    ///
    /// As above; and the frame is ours.
    pub(crate) unsafe fn leave_frame(&mut self) {
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(bytes) = self.end_output() {
                let emitted = std::slice::from_raw_parts(self.output_frame, bytes);
                (*self.output).append(emitted, 8 * bytes);
                self.output_frame = ptr::null_mut();
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
    /// See [`Context::arguments`].
    pub(crate) arguments: Vec<u64>,
    /// The input of a hash that compiled code does not put together itself.
    pub(crate) hash_input: BitBuffer,
    /// The lanes and queues of the fast path.
    pub(crate) lanes: Lanes,
    /// See [`Context::locations`].
    pub(crate) locations: Vec<Location>,
    /// For which code, and in which state of the tables.
    located: Option<(u64, State)>,
    located_bytes: usize,
    /// The copies that packets become on the fast path.
    pub(crate) copies: Copies,
    pub(crate) flows: FlowCache,
    /// Digests that packets have sent on the fast path, with their places in the burst.
    pub(crate) digests: Vec<(usize, DigestRequest)>,
    /// Clones that are noted there.
    pub(crate) clones: NotedClones,
    /// What goes with packets through a graph.
    pub(crate) graph: GraphMemory,
}

impl Memory {
    /// Look-ups with a flow cache that had to search their table since the memory is there.
    pub fn flow_misses(&self) -> u64 {
        self.flows.all_misses()
    }

    /// From now on slots of flows are fetched before packets need them, however few there are: for tests.
    pub fn fetch_few_flows(&mut self) {
        self.flows.counts_as_far = true;
    }

    /// Notes where the tables are of code with this number, unless they are still there; the bytes that searches read at random in
    /// all of them.
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

    /// Has memos into tables of more bytes looked past: packets ask for records there together.
    pub(crate) fn forget_memos(&mut self, bytes_max: usize) {
        self.located = None;
        for location in self.locations.iter_mut().filter(|location| location.bytes > bytes_max) {
            location.version = forebay_tables::search::NEVER;
        }
    }

    /// Says where copies are put, so many at most from [`crate::FastPath::new`] on: each to where its frame begins. Its length is noted there
    /// when it leaves.
    ///
    /// # Safety
    ///
    /// Until this is said anew, when frames take a fast path with this memory, what describes the frames of copies is the
    /// caller's, and nobody else changes it; and each begins with as many bytes as [`crate::ShortCode::copy_bytes`] says for the longest
    /// frame, which nobody else uses.
    #[inline]
    pub unsafe fn set_copies(&mut self, frames: Frames) {
        self.copies.put_into(frames);
    }

    /// What became of a copy.
    #[inline]
    pub fn copy(&self, index: usize) -> CopyFate {
        let fate = self.copies.fates()[index];
        CopyFate {
            port: fate as u32,
            leaves: fate >> 32 == fate::PLAIN,
        }
    }

    /// Of how many of the copies from `first` to before `behind`, the first among them, one behind the other, the same became.
    #[inline]
    pub fn copies_alike(&self, first: usize, behind: usize) -> usize {
        fate::alike(&self.copies.fates()[first..behind])
    }

    /// Makes sure that there are so many words of temporaries.
    #[inline]
    pub(crate) fn make_room(&mut self, temporaries: usize) {
        if self.temporaries.len() < temporaries {
            self.temporaries.resize(temporaries, 0);
        }
    }
}
