//! Compiled programs, and one packet's way through them.

use crate::context::{Context, Memory, ending};
use crate::pool::Pool;
use crate::route::{Arguments, Obstacle};
use cranelift_jit::JITModule;
use forebay_interp::{BitBuffer, Buffers, Ended, Input, Objects, PacketFacts, Random, Requests, State};
use forebay_ir::BodyId;
use std::fmt;

/// A compiled program; shared by all threads.
#[derive(Debug)]
pub struct Code {
    /// By body; nothing for actions.
    entries: Vec<Option<Entry>>,
    short_way: Option<Entry>,
    /// Why there is no short way although one was asked for.
    obstacle: Option<Obstacle>,
    temporaries: usize,
    step_limit: u64,
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
        temporaries: usize,
        step_limit: u64,
        obstacle: Option<Obstacle>,
    ) -> Self {
        let entry = |address: *const u8| {
            // SAFETY: the address is that of a finished function with this signature.
            unsafe { std::mem::transmute::<*const u8, Entry>(address) }
        };
        Code {
            entries: addresses.bodies.into_iter().map(|address| address.map(entry)).collect(),
            short_way: addresses.short_way.map(entry),
            obstacle,
            temporaries,
            step_limit,
            _memory: memory,
            _pool: pool,
        }
    }

    /// Whether packets can take the short way.
    pub fn has_short_way(&self) -> bool {
        self.short_way.is_some()
    }

    /// Why there is none although one was asked for.
    pub fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.as_ref()
    }
}

/// Where finished functions are.
pub(crate) struct Addresses {
    /// By body; nothing for actions.
    pub(crate) bodies: Vec<Option<*const u8>>,
    pub(crate) short_way: Option<*const u8>,
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
        if memory.temporaries.len() < code.temporaries {
            memory.temporaries.resize(code.temporaries, 0);
        }
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
        self.context.steps_left = self.code.step_limit;
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

/// The short way of packets through a compiled program.
pub struct ShortWay<'a> {
    entry: Entry,
    context: Context<'a>,
    requests: &'a mut Requests,
    buffers: &'a mut Buffers,
}

/// What became of a packet on the short way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It leaves. The frame is as it shall be, but for bytes behind `length_max`.
    Sent {
        /// The port.
        port: u32,
        /// At most so many bytes leave.
        length_max: u32,
    },
    /// It leaves, with the deparser's output in place of what the parser took.
    Rewritten {
        /// The port.
        port: u32,
        /// What the parser took, in bits.
        parsed_bits: usize,
        /// At most so many bytes leave.
        length_max: u32,
    },
    /// The program dropped it in ingress.
    DroppedInIngress,
    /// The program dropped it in egress.
    DroppedInEgress,
    /// An assertion did not hold.
    AssertFailed,
    /// It has to take the long way. Nothing has been changed.
    GaveUp,
}

impl<'a> ShortWay<'a> {
    /// Prepares for packets, if the code has a short way. The state is one of the compiled program; its values do not
    /// matter.
    pub fn new(
        code: &'a Code,
        objects: &'a dyn Objects,
        state: &'a mut State,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        memory: &'a mut Memory,
    ) -> Option<Self> {
        let entry = code.short_way?;
        if memory.temporaries.len() < code.temporaries {
            memory.temporaries.resize(code.temporaries, 0);
        }
        let mut context = Context::new(objects, PacketFacts::default());
        context.state = state.words_mut().as_mut_ptr();
        context.temporaries = memory.temporaries.as_mut_ptr();
        context.memory = memory;
        Some(ShortWay {
            entry,
            context,
            requests,
            buffers,
        })
    }

    /// Takes a packet the short way.
    #[inline]
    pub fn run(&mut self, frame: &mut [u8], arguments: Arguments) -> Fate {
        let context = &mut self.context;
        context.packet = frame.as_mut_ptr();
        context.packet_bits = frame.len() as u64 * 8;
        context.cursor = 0;
        context.ingress_port = arguments.ingress_port.into();
        context.timestamp_us = arguments.timestamp_us;
        context.truncate_to = u32::MAX.into();
        context.facts = PacketFacts {
            length_bytes: frame.len() as u32,
            timestamp_us: arguments.timestamp_us,
        };
        // A packet before may have been dropped in the deparser.
        self.buffers.output.clear();
        context.requests = self.requests;
        context.output = &mut self.buffers.output;
        // SAFETY: the context describes a frame, a state, temporaries and buffers that are ours until this returns, all
        // as large as the code was told.
        let ending = unsafe { (self.entry)(context) };
        let (port, length_max) = (context.egress_port as u32, context.truncate_to as u32);
        match ending {
            ending::SENT_IN_PLACE => Fate::Sent { port, length_max },
            ending::SENT_REWRITTEN => Fate::Rewritten {
                port,
                parsed_bits: context.cursor as usize,
                length_max,
            },
            ending::DROPPED_IN_INGRESS => Fate::DroppedInIngress,
            ending::DROPPED_IN_EGRESS => Fate::DroppedInEgress,
            ending::ASSERT_FAILED => Fate::AssertFailed,
            ending::GAVE_UP => Fate::GaveUp,
            other => unreachable!("the code of a short way does not return {other}"),
        }
    }

    /// What the deparser emitted for the last packet.
    pub fn output(&mut self) -> &mut BitBuffer {
        &mut self.buffers.output
    }
}
