//! Compiled programs, and one packet's way through them.

use crate::context::{Context, Memory, NO_COLOR};
use crate::pool::Pool;
use cranelift_jit::JITModule;
use forebay_interp::{Buffers, Ended, Input, Objects, Random, Requests, State};
use forebay_ir::BodyId;
use std::fmt;

/// A compiled program; shared by all threads.
#[derive(Debug)]
pub struct Code {
    /// By body; nothing for actions.
    entries: Vec<Option<Entry>>,
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
        entries: Vec<Option<*const u8>>,
        temporaries: usize,
        step_limit: u64,
    ) -> Self {
        let entry = |address: *const u8| {
            // SAFETY: the address is that of a finished function with this signature.
            unsafe { std::mem::transmute::<*const u8, Entry>(address) }
        };
        let entries = entries.into_iter().map(|address| address.map(entry)).collect();
        Code {
            entries,
            temporaries,
            step_limit,
            _memory: memory,
            _pool: pool,
        }
    }
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
        let context = Context {
            packet: input.packet.as_ptr(),
            packet_bits: input.packet.len() as u64 * 8,
            cursor: input.cursor as u64,
            state: std::ptr::null_mut(),
            temporaries: std::ptr::null_mut(),
            steps_left: 0,
            error: 0,
            hit: 0,
            color: NO_COLOR,
            arguments: std::ptr::null(),
            objects,
            requests: std::ptr::null_mut(),
            output: std::ptr::null_mut(),
            memory: std::ptr::null_mut(),
            facts: input.facts,
            random: Random::new(input.random_seed),
        };
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
