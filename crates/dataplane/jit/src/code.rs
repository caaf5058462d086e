//! The compiled bodies of a program, and one packet's way through them.

use crate::analysis::emits_whole_bytes;
use crate::arrays::ArraysShape;
use crate::context::{Context, Later, Memory, gress_exit};
use crate::gress::{Given, GressExit, Side};
use crate::in_place::LeftField;
use crate::pool::Pool;
use crate::tables::TableObjects;
use cranelift_jit::JITModule;
use forebay_exec::{Buffers, Ended, Input, Random, Requests, State};
use forebay_ir::{BodyId, Program, TableId};
use forebay_tables::{Location, Session};
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bodies of a program, compiled; shared by all threads.
#[derive(Debug)]
pub struct Code {
    entries: Entries,
    /// Words of temporaries that they need.
    temporaries: usize,
    /// What arrays the program has.
    arrays: ArraysShape,
    /// Steps that a body may take.
    step_limit: u64,
    /// Whether deparsers emit whole bytes, which they put where they are to be.
    emits_whole_bytes: bool,
    /// See [`Code::left_fields`].
    left: Vec<LeftField>,
    _memory: CodeMemory,
}

/// The functions of a program.
#[derive(Debug)]
pub(crate) struct Entries {
    /// By body; nothing for actions, and for bodies that are only executed with others.
    pub(crate) bodies: Vec<Option<Entry>>,
    /// Of ingress and of egress: see [`crate::gress`]. Nothing when the program was compiled without them.
    pub(crate) gresses: Vec<GressCode>,
}

/// The function of a side.
#[derive(Debug)]
pub(crate) struct GressCode {
    side: Side,
    entry: Entry,
    /// The tables that it searches itself, in the order of their locations.
    searched: Vec<TableId>,
    /// No other function has the same.
    number: u64,
}

impl GressCode {
    pub(crate) fn new(side: Side, entry: Entry, searched: Vec<TableId>) -> GressCode {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        GressCode {
            side,
            entry,
            searched,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        }
    }
}

/// A compiled function.
pub(crate) type Entry = unsafe extern "C" fn(*mut Context<'_>) -> i64;

/// A finished function.
///
/// # Safety
///
/// The address is that of a finished function with this signature, in memory that is kept as long as the entry.
pub(crate) unsafe fn entry(address: *const u8) -> Entry {
    // SAFETY: as the caller promises.
    unsafe { std::mem::transmute::<*const u8, Entry>(address) }
}

/// The memory where code is, and what code points to.
pub(crate) struct CodeMemory {
    module: Option<JITModule>,
    _pool: Pool,
}

// SAFETY: after the code is finished, the module is not touched until it is dropped.
unsafe impl Send for CodeMemory {}
// SAFETY: as above.
unsafe impl Sync for CodeMemory {}

impl CodeMemory {
    pub(crate) fn new(module: JITModule, pool: Pool) -> Self {
        CodeMemory {
            module: Some(module),
            _pool: pool,
        }
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: entries are dropped with us, and who runs one borrows what holds both.
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
    /// Finished code.
    ///
    /// # Safety
    ///
    /// The entries are in that memory, of that program, and find so many temporaries enough.
    pub(crate) unsafe fn new(
        memory: CodeMemory,
        entries: Entries,
        temporaries: usize,
        left: Vec<LeftField>,
        program: &Program,
        step_limit: u64,
    ) -> Self {
        Code {
            entries,
            temporaries,
            arrays: ArraysShape::of(program),
            step_limit,
            emits_whole_bytes: emits_whole_bytes(program),
            left,
            _memory: memory,
        }
    }
}

impl Code {
    /// Fields that [`Execution::ingress`] does not extract: nobody reads or changes them, and [`Execution::egress`] and the
    /// deparser leave them in the frame or take them from there.
    pub fn left_fields(&self) -> &[LeftField] {
        &self.left
    }

    /// Where packets are on one side, while a pin of the tables lives.
    ///
    /// # Panics
    /// When the program was compiled without [`crate::gress::Gresses`].
    #[inline]
    pub fn on_side<'a>(&'a self, side: Side, objects: &'a impl TableObjects, locations: &'a mut Locations) -> Site<'a> {
        let half = &self.entries.gresses[side as usize];
        if !half.searched.is_empty() {
            locations.find(half, objects);
        }
        Site {
            code: self,
            half: Some(half),
            locations: &locations.tables,
        }
    }

    /// Where packets are that are taken through single bodies.
    #[inline]
    pub fn in_bodies(&self) -> Site<'_> {
        Site {
            code: self,
            half: None,
            locations: &[],
        }
    }
}

/// Where the tables are that the function of a side searches.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    tables: Vec<Location>,
    /// By the function of which number, and with pins of which session they were found.
    found: Option<(u64, Session)>,
}

impl Locations {
    /// Finds them unless they are known.
    #[inline]
    fn find(&mut self, half: &GressCode, objects: &impl TableObjects) {
        let wanted = objects.pin().session().map(|session| (half.number, session));
        if wanted.is_none() || wanted != self.found {
            self.found = None;
            self.find_anew(half, objects);
            self.found = wanted;
        }
    }

    #[inline(never)]
    fn find_anew(&mut self, half: &GressCode, objects: &dyn TableObjects) {
        self.tables.clear();
        let searched = half.searched.iter();
        self.tables
            .extend(searched.map(|table| objects.table(*table).location(objects.pin())));
    }
}

/// Where in a compiled program packets are: see [`Code::on_side`] and [`Code::in_bodies`].
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    code: &'a Code,
    half: Option<&'a GressCode>,
    /// Of the tables that the function of the side searches.
    locations: &'a [Location],
}

/// One packet's way through the bodies of a compiled program.
pub struct Execution<'a> {
    site: Site<'a>,
    /// Has the only pointers to requests, output and memory.
    context: Context<'a>,
    state: *mut State,
    /// Bytes that the deparser has put into the frame.
    emitted: Option<usize>,
    _lent: PhantomData<(&'a mut State, &'a mut Requests, &'a mut Buffers, &'a mut Memory)>,
}

impl<'a> Execution<'a> {
    /// Prepares to execute bodies for one packet. The state is one of the compiled program. [`Input::step_limit`] is not
    /// looked at: the limit is part of the code.
    #[inline]
    pub fn new(
        site: &Site<'a>,
        objects: &'a dyn TableObjects,
        input: Input<'a>,
        state: &'a mut State,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        memory: &'a mut Memory,
    ) -> Self {
        let code = site.code;
        memory.make_room(code.temporaries);
        let arrays = objects.arrays();
        assert!(arrays.are_of(code.arrays), "the arrays are those of the program");
        Execution {
            site: *site,
            context: Context {
                packet: input.packet.as_ptr(),
                packet_bits: input.packet.len() as u64 * 8,
                cursor: input.cursor as u64,
                random: Random::new(input.random_seed),
                registers: arrays.registers(),
                counters: arrays.counters(),
                held_lock: objects.held_lock(),
                locations: Later::new(site.locations.as_ptr()),
                temporaries: memory.temporaries.as_mut_ptr(),
                requests,
                output: &mut buffers.output,
                memory,
                ..Context::new(objects, input.facts)
            },
            state,
            emitted: None,
            _lent: PhantomData,
        }
    }

    /// Executes a body from its first block.
    ///
    /// # Panics
    /// When the body has no function of its own, or the state is another program's.
    #[inline]
    pub fn run(&mut self, body: BodyId) -> Ended {
        let entry = self.site.code.entries.bodies[body.index()].expect("it has a function of its own");
        self.context.steps_left.write(self.site.code.step_limit);
        let ending = self.execute(entry);
        self.context.ended(ending)
    }

    /// Executes everything before the traffic manager. The state is cleared first, unless it is ready.
    ///
    /// # Panics
    /// When this is another side's [`Site`], or the state is another program's.
    #[inline]
    pub fn ingress(&mut self, given: &Given, state_is_ready: bool) -> GressExit {
        self.context.state_is_ready = state_is_ready.into();
        self.half(Side::Ingress, given)
    }

    /// Executes everything behind the traffic manager.
    ///
    /// # Panics
    /// As above.
    #[inline]
    pub fn egress(&mut self, given: &Given) -> GressExit {
        self.half(Side::Egress, given)
    }

    /// The same, where what the deparser emits may replace the first `front` bytes of the frame: how many bytes it has put
    /// there from the first one on, if it has put all of them there, and nothing into the output. The frame comes in place of
    /// [`Input::packet`].
    ///
    /// # Panics
    /// As above, and when the frame is not so long.
    #[inline]
    pub fn egress_into(&mut self, given: &Given, frame: &'a mut [u8], front: usize) -> (GressExit, Option<usize>) {
        assert!(front <= frame.len(), "the front is a part of the frame");
        self.context.packet_bits = frame.len() as u64 * 8;
        let start = frame.as_mut_ptr();
        self.context.packet = start;
        if self.site.code.emits_whole_bytes {
            self.context.output_next = start;
            self.context.output_end = start.wrapping_add(front);
            self.context.output_frame = start;
        }
        let end = self.half(Side::Egress, given);
        (end, self.emitted)
    }

    #[inline(always)]
    fn half(&mut self, side: Side, given: &Given) -> GressExit {
        let half = self.site.half.filter(|half| half.side == side);
        self.context.given = given.as_ptr();
        let ending = self.execute(half.expect("the site is on that side").entry);
        gress_exit(ending)
    }

    /// Behind a side: bytes of all valid headers.
    #[inline]
    pub fn header_bytes(&self) -> u64 {
        self.context.header_bytes
    }

    /// Behind ingress: the same where its parser had ended.
    #[inline]
    pub fn parsed_bytes(&self) -> u64 {
        self.context.parsed_bytes
    }

    #[inline(always)]
    fn execute(&mut self, entry: Entry) -> i64 {
        debug_assert!(self.context.cursor <= self.context.packet_bits);
        self.context.state = self.state().words_mut().as_mut_ptr();
        // SAFETY: the context describes a packet, a state, temporaries and buffers that are ours until this returns, all
        // as large as the code was told.
        let ending = unsafe { entry(&mut self.context) };
        // SAFETY: the output was lent to us, and only this function has put something there.
        self.emitted = unsafe { self.context.end_output() };
        ending
    }

    /// Where the parser stands, in bits from the packet's start: what follows is the payload.
    #[inline]
    pub fn cursor(&self) -> usize {
        self.context.cursor as usize
    }

    /// The values of the slots, for the architecture to change between bodies.
    #[inline]
    pub fn state(&mut self) -> &mut State {
        // SAFETY: it was lent to us for `'a`, and nobody else has the pointer while no body runs.
        unsafe { &mut *self.state }
    }

    /// The requests so far.
    #[inline]
    pub fn requests(&mut self) -> &mut Requests {
        // SAFETY: as above.
        unsafe { &mut *self.context.requests }
    }
}
