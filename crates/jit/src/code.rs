//! Compiled programs, and one packet's way through them.

use crate::context::{Context, Memory};
use crate::lane::{BURST_MAX, Copy, Lanes, Shape, fate};
use crate::pool::Pool;
use crate::route::plan::COMPOSED_BITS_MAX;
use crate::route::{Arguments, Obstacle};
use crate::tables::TableObjects;
use cranelift_jit::JITModule;
use forebay_interp::{BitBuffer, Buffers, Ended, Input, Objects, PacketFacts, Random, Requests, State};
use forebay_ir::{BodyId, TableId};
use std::fmt;

/// A compiled program; shared by all threads.
#[derive(Debug)]
pub struct Code {
    /// By body; nothing for actions.
    entries: Vec<Option<Entry>>,
    /// The short way, for packets one after the other.
    straight: Option<Entry>,
    /// The short way, for packets that wait for each other; nothing when their order can be seen.
    staged: Option<Entry>,
    /// Why there is no short way although one was asked for.
    obstacle: Option<Obstacle>,
    needs: Needs,
    /// What the entries are addresses in.
    _memory: CodeMemory,
    /// What code points to.
    _pool: Pool,
}

/// A compiled body.
type Entry = unsafe extern "C" fn(*mut Context<'_>) -> i64;

/// The memory where code is.
pub(crate) struct CodeMemory(Option<JITModule>);

// SAFETY: after the code is finished, the module is not touched until it is dropped.
unsafe impl Send for CodeMemory {}
// SAFETY: as above.
unsafe impl Sync for CodeMemory {}

impl CodeMemory {
    pub(crate) fn new(module: JITModule) -> Self {
        CodeMemory(Some(module))
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the entries are dropped with us, and who runs one borrows the code.
            unsafe { module.free_memory() };
        }
    }
}

impl fmt::Debug for CodeMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CodeMemory")
    }
}

impl Code {
    /// Finished code with the addresses of its bodies.
    pub(crate) fn new(
        memory: CodeMemory,
        pool: Pool,
        addresses: Addresses,
        needs: Needs,
        obstacle: Option<Obstacle>,
    ) -> Self {
        let entry = |address: *const u8| {
            // SAFETY: the address is that of a finished function with this signature.
            unsafe { std::mem::transmute::<*const u8, Entry>(address) }
        };
        Code {
            entries: addresses.bodies.into_iter().map(|address| address.map(entry)).collect(),
            straight: addresses.straight.map(entry),
            staged: addresses.staged.map(entry),
            obstacle,
            needs,
            _memory: memory,
            _pool: pool,
        }
    }

    /// Whether packets can take the short way.
    pub fn has_short_way(&self) -> bool {
        self.straight.is_some()
    }

    /// Bytes in front of a frame into which its short way may write.
    pub fn headroom(&self) -> usize {
        self.needs.headroom
    }

    /// Whether packets may become copies on the short way.
    pub fn makes_copies(&self) -> bool {
        self.needs.copies
    }

    /// Bytes that a copy of a frame needs at most.
    pub fn copy_bytes(frame_bytes: usize) -> usize {
        frame_bytes + (COMPOSED_BITS_MAX / 8) as usize
    }

    /// Why there is none although one was asked for.
    pub fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.as_ref()
    }
}

/// What finished code needs when it runs.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    /// Words of temporaries.
    pub(crate) temporaries: usize,
    /// See [`Code::headroom`].
    pub(crate) headroom: usize,
    /// Lanes and queues of the short way.
    pub(crate) shape: Shape,
    /// Whether packets may become copies.
    pub(crate) copies: bool,
    /// Registers and counters of the program.
    pub(crate) registers: usize,
    pub(crate) counters: usize,
    /// Steps that a body may take.
    pub(crate) step_limit: u64,
    /// Whether packets may be truncated.
    pub(crate) truncates: bool,
    /// Tables whose locations code wants to know.
    pub(crate) searched: Vec<TableId>,
}

/// Where finished functions are.
pub(crate) struct Addresses {
    /// By body; nothing for actions.
    pub(crate) bodies: Vec<Option<*const u8>>,
    pub(crate) straight: Option<*const u8>,
    pub(crate) staged: Option<*const u8>,
}

/// One packet's way through the bodies of a compiled program.
pub struct Execution<'a> {
    code: &'a Code,
    context: Context<'a>,
    packet: &'a [u8],
    state: &'a mut State,
    requests: &'a mut Requests,
    buffers: &'a mut Buffers,
    memory: &'a mut Memory,
}

impl<'a> Execution<'a> {
    /// Prepares to execute bodies for one packet. The state is one of the compiled program. [`Input::step_limit`] is not
    /// looked at: the limit is part of the code.
    pub fn new(
        code: &'a Code,
        objects: &'a dyn Objects,
        input: Input<'a>,
        state: &'a mut State,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        memory: &'a mut Memory,
    ) -> Self {
        memory.make_room(code.needs.temporaries);
        let mut context = Context::new(objects, input.facts);
        context.packet = input.packet.as_ptr();
        context.packet_bits = input.packet.len() as u64 * 8;
        context.cursor = input.cursor as u64;
        context.random = Random::new(input.random_seed);
        Execution {
            code,
            context,
            packet: input.packet,
            state,
            requests,
            buffers,
            memory,
        }
    }

    /// Executes a body from its first block.
    ///
    /// # Panics
    /// When the body is an action's, or the state another program's.
    pub fn run(&mut self, body: BodyId) -> Ended {
        let entry = self.code.entries[body.index()].expect("actions are executed by their tables");
        debug_assert!(self.context.cursor <= self.packet.len() as u64 * 8);
        self.context.steps_left = self.code.needs.step_limit;
        self.context.state = self.state.words_mut().as_mut_ptr();
        self.context.temporaries = self.memory.temporaries.as_mut_ptr();
        self.context.requests = self.requests;
        self.context.output = &mut self.buffers.output;
        self.context.memory = self.memory;
        // SAFETY: the context describes a packet, a state, temporaries and buffers that are ours until this returns, all
        // as large as the code was told.
        let ending = unsafe { entry(&mut self.context) };
        self.context.ended(ending)
    }

    /// Where the parser stands, in bits from the packet's start: what follows is the payload.
    pub fn cursor(&self) -> usize {
        self.context.cursor as usize
    }

    /// The values of the slots, for the architecture to change between bodies.
    pub fn state(&mut self) -> &mut State {
        self.state
    }

    /// The requests so far.
    pub fn requests(&mut self) -> &mut Requests {
        self.requests
    }
}

/// Tables of so many bytes together are taken to be in the caches nearby: packets do not wait for each other.
const NEAR_BYTES: usize = 512 << 10;

/// The short way of packets through a compiled program.
pub struct ShortWay<'a> {
    code: &'a Code,
    entry: Entry,
    context: Context<'a>,
    requests: &'a mut Requests,
    output: &'a mut BitBuffer,
    memory: &'a mut Memory,
}

/// A frame in memory.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its first byte.
    pub start: *mut u8,
    /// Its length in bytes.
    pub length: usize,
}

/// What became of a packet on the short way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It leaves as it lies in its memory now, as long as it was.
    Plain {
        /// The port.
        port: u32,
    },
    /// It leaves, in the same memory.
    Sent {
        /// The port.
        port: u32,
        /// Where it begins now, in bytes from where it began; negative when it has become longer.
        start: isize,
        /// At most so many bytes leave.
        length_max: u32,
    },
    /// It leaves, with a part of [`ShortWay::output`] in place of what the parser took.
    Rewritten {
        /// The port.
        port: u32,
        /// What the parser took, in bits.
        parsed_bits: usize,
        /// Where the part begins, in whole bytes.
        output_start: usize,
        /// Its length in bits.
        output_bits: usize,
        /// At most so many bytes leave.
        length_max: u32,
    },
    /// The program dropped it in ingress.
    DroppedInIngress,
    /// The program dropped it in egress.
    DroppedInEgress,
    /// An assertion did not hold.
    AssertFailed,
    /// It has become copies: so many, from this one on. See [`Memory::copy`].
    Replicated {
        /// The first.
        first: usize,
        /// How many.
        count: usize,
    },
    /// It has to take the long way. Nothing has been changed.
    GaveUp,
}

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyFate {
    /// Where it goes.
    pub port: u32,
    /// Its length in bytes; nothing when egress dropped it.
    pub length: Option<usize>,
}

impl<'a> ShortWay<'a> {
    /// Prepares for packets, if the code has a short way.
    pub fn new(
        code: &'a Code,
        objects: &'a dyn TableObjects,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        memory: &'a mut Memory,
    ) -> Option<Self> {
        let straight = code.straight?;
        memory.make_room(code.needs.temporaries);
        Lanes::prepare(memory, code.needs.shape);
        let bytes = memory.locate(&code.needs.searched, objects);
        let entry = code.staged.filter(|_| bytes > NEAR_BYTES).unwrap_or(straight);
        let mut context = Context::new(objects, PacketFacts::default());
        context.next_copy = memory.copies.as_mut_ptr();
        context.copies_left = memory.copies.len() as u64;
        let arrays = objects.arrays();
        assert!(
            arrays.are_of(code.needs.registers, code.needs.counters),
            "the arrays are those of the program"
        );
        context.tables = Some(objects);
        context.registers = arrays.registers();
        context.counters = arrays.counters();
        context.needs_locks = objects.needs_locks().into();
        Some(ShortWay {
            code,
            entry,
            context,
            requests,
            output: &mut buffers.output,
            memory,
        })
    }

    /// Has packets wait for each other at look-ups or not, however large the tables are. Those whose order can be seen
    /// never wait.
    pub fn set_staged(&mut self, staged: bool) {
        let staged = self.code.staged.filter(|_| staged);
        self.entry = staged.or(self.code.straight).expect("there is a short way");
    }

    /// Takes the first of the frames, at most [`BURST_MAX`], the short way, and says of how many they were to know what
    /// became of them: see [`ShortWay::fate`]. When it is not all of them, the last one gave up, and those behind it have
    /// not been touched.
    ///
    /// # Safety
    ///
    /// Each frame is in memory of the caller's, with [`Code::headroom`] more bytes before it, and no two share any. The
    /// addresses for copies ([`Memory::set_copy`]) are good for the longest of them.
    pub unsafe fn run(&mut self, frames: impl ExactSizeIterator<Item = Frame>, arguments: Arguments) -> usize {
        let count = frames.len().min(BURST_MAX);
        if count == 0 {
            return 0;
        }
        let lanes = &mut self.memory.lanes;
        for (index, frame) in frames.take(count).enumerate() {
            let lane = lanes.lane(index);
            lane.packet = frame.start;
            lane.packet_bits = frame.length as u64 * 8;
            if self.code.needs.truncates {
                lane.truncate_to = u32::MAX.into();
            }
        }
        lanes.set_count(count);
        self.output.clear();
        let context = &mut self.context;
        context.ingress_port = arguments.ingress_port.into();
        context.timestamp_us = arguments.timestamp_us;
        context.facts.timestamp_us = arguments.timestamp_us;
        context.queues = lanes.queues();
        context.locations = self.memory.locations.as_ptr();
        context.temporaries = self.memory.temporaries.as_mut_ptr();
        context.requests = self.requests;
        context.output = self.output;
        context.memory = self.memory;
        let first = context.queues.wrapping_add(1).expose_provenance();
        // SAFETY: the context describes frames as the caller promises, lanes, queues, temporaries and buffers that are
        // ours until this returns, all as large as the code was told.
        let behind = unsafe { (self.entry)(context) };
        let ran = (behind as usize - first) / size_of::<u64>();
        debug_assert!(ran <= count);
        ran
    }

    /// The port by which the first `count` frames of the last burst leave, if that is one and all lie there as they
    /// leave.
    #[inline]
    pub fn only_port(&mut self, count: usize) -> Option<u32> {
        let lanes = &mut self.memory.lanes;
        let first = lanes.lane(0).fate;
        let same = (1..count).all(|index| lanes.lane(index).fate == first);
        (same && count > 0 && first >> 32 == fate::PLAIN).then_some(first as u32)
    }

    /// What became of a frame of the last burst.
    #[inline]
    pub fn fate(&mut self, index: usize) -> Fate {
        let lane = self.memory.lanes.lane(index);
        let port = lane.fate as u32;
        let length_max = match self.code.needs.truncates {
            true => lane.truncate_to as u32,
            false => u32::MAX,
        };
        match lane.fate >> 32 {
            fate::PLAIN => Fate::Plain { port },
            fate::SENT => Fate::Sent {
                port,
                start: lane.start as isize,
                length_max,
            },
            fate::REWRITTEN => Fate::Rewritten {
                port,
                parsed_bits: lane.parsed_bits as usize,
                output_start: lane.output_start as usize / 8,
                output_bits: lane.output_bits as usize,
                length_max,
            },
            fate::DROPPED_IN_INGRESS => Fate::DroppedInIngress,
            fate::DROPPED_IN_EGRESS => Fate::DroppedInEgress,
            fate::ASSERT_FAILED => Fate::AssertFailed,
            fate::GAVE_UP => Fate::GaveUp,
            fate::REPLICATED => {
                let (address, count) = (lane.copies as usize, lane.copies_count as usize);
                let first = (address - self.memory.copies.as_ptr().addr()) / size_of::<Copy>();
                Fate::Replicated { first, count }
            }
            other => unreachable!("the code of a short way does not end with {other}"),
        }
    }

    /// See [`Memory::copy`].
    pub fn copy(&self, index: usize) -> CopyFate {
        self.memory.copy(index)
    }

    /// What the deparser emitted for the packets of the last burst that are [rewritten](Fate::Rewritten).
    pub fn output(&self) -> &BitBuffer {
        self.output
    }

    /// See [`Code::headroom`].
    pub fn headroom(&self) -> usize {
        self.code.headroom()
    }
}
