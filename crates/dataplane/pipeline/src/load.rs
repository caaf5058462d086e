//! Loads a program into a pipeline.

use crate::control::convert;
use crate::control::learning::{Book, Learning};
use crate::error::{ControlError, LoadError};
use crate::layout::Layout;
use crate::machine_code::MachineCode;
use crate::memory;
use crate::objects::{Control, LookupPlan, Snapshot, Stateful};
use crate::outcome::DropCounters;
use crate::replication::ReplicationEngine;
use crate::sections::{self, RegisterLocks};
use crate::storage::Storage;
use crate::straight;
use forebay_ir::pipeline::{End, Finish};
use forebay_ir::{Architecture, CustomCrc, Op, Program, TableId, Unit};
use forebay_jit::route::PassSet;
use forebay_jit::{RegisterBanks, default_slot, key_spec};
use forebay_tables::crc::{Crc, CrcParameters};
use forebay_tables::{
    ActionProfile, ActionScope, ActionSpec, CounterArray, CounterKind, Domain, HitTimes, Implementation, MeterArray,
    MeterKind, NewEntry, Published, RegisterArray, Table, TableSpec,
};
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The executor of a program's bodies. All engines give the same results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// `forebay-interp`, the reference.
    #[default]
    Interpreter,
    /// `forebay-jit`: machine code. Traced packets go through the interpreter.
    Jit,
}

/// When the fast path of [`Engine::Jit`] is compiled. It is the whole program as one function, so compiling it takes
/// longer than compiling the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastPath {
    /// During loading.
    #[default]
    BeforePackets,
    /// In a thread of its own, which begins with [`Options::beside_workers`]. Until it is ready, packets take the slow
    /// path.
    BesidePackets,
    /// Never: [`crate::Worker::pass`] must not be called.
    Never,
    /// Never, but everything that would keep packets off it is known: see [`Pipeline::obstacles`].
    Planned,
}

/// What a thread does first that compiles beside packets. It inherits the processor of the worker that starts it, and
/// should leave that; how is the system's part. It changes no result, so any two are equal.
#[derive(Clone, Copy)]
pub struct BesideWorkers(pub fn());

impl Default for BesideWorkers {
    fn default() -> BesideWorkers {
        BesideWorkers(|| ())
    }
}

impl fmt::Debug for BesideWorkers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BesideWorkers")
    }
}

impl PartialEq for BesideWorkers {
    fn eq(&self, _: &BesideWorkers) -> bool {
        true
    }
}

impl Eq for BesideWorkers {}

/// The number of expiry profiles whose times an operator may set.
pub const EXPIRY_PROFILES: usize = 16;

/// Limits, and the choice of executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What runs the bodies.
    pub engine: Engine,
    /// The most operations of one body for one packet.
    pub step_limit: u64,
    /// The most resubmissions of one packet.
    pub resubmit_limit: u32,
    /// The most recirculations of one packet.
    pub recirculate_limit: u32,
    /// The most clones from egress that are cloned from each other: where a session makes several copies, they share what
    /// is left, so that the clones of one packet come to an end.
    pub clone_limit: u32,
    /// The most bytes of a packet.
    pub packet_limit: u32,
    /// When the fast path is compiled.
    pub fast_path: FastPath,
    /// Passes that the fast path is compiled without.
    pub without_passes: PassSet,
    /// What threads do first that compile beside packets.
    pub beside_workers: BesideWorkers,
    /// The most bytes of registers, counters, meters and table entries together; `None` for no limit.
    pub memory_limit: Option<u64>,
    /// The number of threads that move packets. Each counts in memory of its own.
    pub workers: u32,
    /// Times of expiry profiles by number, in nanoseconds; 0 for never. They replace the times from the program or the
    /// architecture.
    pub expiry_profiles: [Option<u64>; EXPIRY_PROFILES],
}

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: Engine::Interpreter,
            step_limit: 1_000_000,
            resubmit_limit: 1_000,
            recirculate_limit: 10_000,
            clone_limit: 100,
            packet_limit: 65_535,
            fast_path: FastPath::BeforePackets,
            without_passes: PassSet::NONE,
            beside_workers: BesideWorkers::default(),
            memory_limit: None,
            workers: 1,
            expiry_profiles: [None; EXPIRY_PROFILES],
        }
    }
}

/// A loaded program with its tables, shared by all workers and the control plane.
#[derive(Debug)]
pub struct Pipeline {
    number: u64,
    pub(crate) program: Program,
    pub(crate) options: Options,
    pub(crate) storage: Storage,
    /// The program's machine code, with the engine [`Engine::Jit`].
    pub(crate) code: Option<MachineCode>,
    /// See [`Worker::goes_round_by`](crate::Worker::goes_round_by).
    pub(crate) loop_port: Option<u32>,
    pub(crate) plan: LookupPlan,
    pub(crate) stateful: Stateful,
    pub(crate) learning: Learning,
    /// The memory that another entry of each table needs: see [`memory::entry_bytes`].
    pub(crate) entry_bytes: Vec<u64>,
    /// The workers that read tables and snapshots.
    pub(crate) readers: Arc<Domain>,
    control: Mutex<Control>,
    pub(crate) published: Published<Snapshot>,
    drops: DropCounters,
}

fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// The largest sum of weights in a group of an action selector.
pub const GROUP_WEIGHT_MAX: u64 = 65_536;

impl Pipeline {
    /// Loads a program with default options.
    ///
    /// # Errors
    /// As for [`Pipeline::load_with`].
    pub fn load(program: Program) -> Result<Pipeline, LoadError> {
        Pipeline::load_with(program, Options::default())
    }

    /// Loads a program that has passed the verifier of `forebay-ir`. Tables begin with the entries of the program,
    /// registers with their initial values, and everything else empty.
    ///
    /// # Errors
    /// When a block or a field of its architecture is missing, a table or an object is too large, all of its state
    /// needs more memory than the options allow, an entry of the program does not fit its table, or no machine code can
    /// be made for it.
    pub fn load_with(mut program: Program, options: Options) -> Result<Pipeline, LoadError> {
        let state_bytes = memory::check(&program, &options)?;
        let register_locks = sections::place(&mut program);
        // Before the graph is built, since building it needs the layout.
        let layout = Layout::of(&program)?;
        forebay_arch::attach(&mut program).map_err(LoadError::Architecture)?;
        let storage = Storage::new(&program);
        let readers = Domain::new();
        let leading = forebay_jit::leading_tables(&program);
        let tables = (0..program.tables.len()).map(|index| {
            let memo = leading.contains(&TableId(index as u32));
            load_table(&program, index, memo, &readers)
        });
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        let snapshot = Arc::new(Snapshot {
            tables: tables.iter().map(|table| Arc::clone(table.view())).collect(),
            profiles: program
                .action_profiles
                .iter()
                .map(|profile| Arc::new(new_profile(profile)))
                .collect(),
            value_sets: program.value_sets.iter().map(|_| Arc::default()).collect(),
            replication: Arc::new(ReplicationEngine::of(program.architecture)),
            calculations: Arc::new(load_calculations(&program)),
        });
        Ok(Pipeline {
            number: next_number(),
            code: MachineCode::new(&program, layout.as_ref(), &options).map_err(LoadError::Compile)?,
            loop_port: straight::loop_port(&program),
            storage,
            plan: LookupPlan::new(&program),
            learning: Learning::new(&program, &tables, &options),
            entry_bytes: memory::entry_bytes(&program),
            stateful: load_stateful(&program, register_locks)?,
            published: Published::new(&readers, Arc::clone(&snapshot)),
            control: Mutex::new(Control {
                tables,
                snapshot,
                state_bytes,
                book: Book::default(),
            }),
            readers,
            drops: DropCounters::new(program.errors.len()),
            program,
            options,
        })
    }

    /// Whether the program contains a resubmission.
    pub fn resubmits(&self) -> bool {
        let mut statements = self.program.statements();
        let graph = self.program.graph.as_ref();
        let ends = graph.iter().flat_map(|graph| &graph.blocks).map(|block| &block.end);
        let mut ends = ends.filter(|end| matches!(end, End::Finish(Finish::Resubmit(_))));
        statements.any(|statement| matches!(statement.op, Op::Resubmit { .. })) || ends.next().is_some()
    }

    /// The port that leads back to ingress, if the architecture has one.
    pub fn recirculation_port(&self) -> Option<u32> {
        match self.program.architecture {
            Architecture::Psa => Some(forebay_arch::psa::PORT_RECIRCULATE),
            Architecture::V1Model | Architecture::Pna => None,
        }
    }

    /// A number that no other pipeline of this process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Limits and executor.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Reserves a shard of all counters for a worker.
    pub(crate) fn take_shard(&self) -> usize {
        let shard = self.stateful.take_shard();
        self.drops.make_shard(shard);
        shard
    }

    /// Dropped packets by reason. The switch counts its own reasons here too.
    pub fn drops(&self) -> &DropCounters {
        &self.drops
    }

    /// What the control plane has written so far.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.control().snapshot)
    }

    /// Exclusive access to the tables, for the control plane. Workers continue to read.
    pub(crate) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock()
    }

    /// Does the same if no other thread has access.
    pub(crate) fn try_control(&self) -> Option<MutexGuard<'_, Control>> {
        self.control.try_lock()
    }
}

/// The CRCs whose parameters the control plane sets, with their initial parameters.
fn load_calculations(program: &Program) -> Vec<Arc<Crc>> {
    let plain = |crc| match crc {
        CustomCrc::Crc16 => CrcParameters::CRC_16,
        CustomCrc::Crc32 => CrcParameters::CRC_32,
    };
    let calculations = program.calculations.iter();
    calculations
        .map(|calculation| Arc::new(Crc::new(plain(calculation.crc))))
        .collect()
}

fn new_profile(profile: &forebay_ir::ActionProfile) -> ActionProfile {
    ActionProfile::new(profile.size.try_into().unwrap_or(usize::MAX), GROUP_WEIGHT_MAX)
}

/// The most entries of a table; always at least the number of those in the program.
fn table_size(table: &forebay_ir::Table) -> usize {
    let declared = usize::try_from(table.size).unwrap_or(usize::MAX);
    let most = if table.supports_timeout {
        HitTimes::LEN_MAX
    } else {
        usize::MAX
    };
    declared.min(most).max(table.entries.len())
}

fn load_table(program: &Program, index: usize, memo: bool, readers: &Arc<Domain>) -> Result<Table, LoadError> {
    let declared = &program.tables[index];
    let mut table = Table::in_domain(table_spec(program, index, memo), readers);
    for entry in &declared.entries {
        forebay_budget::check();
        insert_program_entry(program, declared, &mut table, entry).map_err(|error| LoadError::Entry {
            table: declared.name.clone(),
            error,
        })?;
    }
    if declared.entries_are_const {
        table.seal();
    }
    Ok(table)
}

fn insert_program_entry(
    program: &Program,
    declared: &forebay_ir::Table,
    table: &mut Table,
    entry: &forebay_ir::TableEntry,
) -> Result<(), ControlError> {
    let key = convert::key_from_control(declared, &entry.matches)?;
    let priority = convert::priority(declared, entry.priority)?;
    let call = convert::call_of_program(declared, &entry.action);
    let mut new = NewEntry::new(key, priority, forebay_tables::EntryAction::Call(call));
    new.is_const = entry.is_const;
    table
        .insert(new)
        .map_err(|error| convert::table_error(program, declared, error))?;
    Ok(())
}

fn table_spec(program: &Program, index: usize, memo: bool) -> TableSpec {
    let table = &program.tables[index];
    let implementation = match table.implementation {
        None => Implementation::Direct,
        Some(profile) if program.action_profiles[profile.index()].selector.is_some() => Implementation::Selector,
        Some(_) => Implementation::Profile,
    };
    TableSpec {
        keys: table.keys.iter().map(key_spec).collect(),
        size: table_size(table),
        actions: table
            .actions
            .iter()
            .map(|action| action_spec(program, action))
            .collect(),
        default_action: convert::call_of_program(table, &table.default_action),
        const_default: table.default_is_const,
        implementation,
        memo,
        learns: program.learns(TableId(index as u32)),
    }
}

fn action_spec(program: &Program, listed: &forebay_ir::TableAction) -> ActionSpec {
    let scope = match (listed.table_only, listed.default_only) {
        (true, _) => ActionScope::TableOnly,
        (false, true) => ActionScope::DefaultOnly,
        (false, false) => ActionScope::TableAndDefault,
    };
    let widths = program.actions[listed.action.index()]
        .params
        .iter()
        .map(|param| param.width)
        .collect();
    ActionSpec::new(forebay_tables::ActionId(listed.action.0), widths, scope)
}

fn load_stateful(program: &Program, register_locks: RegisterLocks) -> Result<Stateful, LoadError> {
    let registers = load_registers(program)?;
    let counters = (0..program.counters.len()).map(|index| load_counter(program, index));
    let meters = (0..program.meters.len()).map(|index| load_meter(program, index));
    let hit_times = program.tables.iter().map(load_hit_times);
    Ok(Stateful::new(
        registers,
        counters.collect::<Result<_, _>>()?,
        meters.collect::<Result<_, _>>()?,
        hit_times.collect::<Result<_, _>>()?,
        register_locks,
    ))
}

fn load_registers(program: &Program) -> Result<Vec<RegisterArray>, LoadError> {
    let arrays = RegisterBanks::of(program).arrays(program).map_err(|id| {
        let register = &program.registers[id.index()];
        LoadError::TooLarge {
            name: register.name.clone(),
            size: register.size,
        }
    })?;
    arrays
        .iter()
        .zip(&program.registers)
        .for_each(|(array, register)| initialise(array, register));
    Ok(arrays)
}

/// Sets every element of a zero array to its initial value.
fn initialise(array: &RegisterArray, register: &forebay_ir::Register) {
    if !register.initial.is_zero() {
        for index in 0..register.size {
            array.write(index, &register.initial);
        }
    }
}

fn load_counter(program: &Program, index: usize) -> Result<CounterArray, LoadError> {
    let counter = &program.counters[index];
    let kind = match counter.unit {
        Unit::Packets => CounterKind::Packets,
        Unit::Bytes => CounterKind::Bytes,
        Unit::PacketsAndBytes => CounterKind::PacketsAndBytes,
    };
    let size = counter_size(program, index);
    sized(&counter.name, size, |size| CounterArray::new(kind, size).ok())
}

/// Elements of a counter.
pub(crate) fn counter_size(program: &Program, index: usize) -> u64 {
    let of_table = |table: &&forebay_ir::Table| table.direct_counter.is_some_and(|id| id.index() == index);
    let size = program.counters[index].size;
    size.unwrap_or_else(|| direct_size(program.tables.iter().filter(of_table)))
}

fn load_meter(program: &Program, index: usize) -> Result<MeterArray, LoadError> {
    let meter = &program.meters[index];
    let kind = match meter.unit {
        Unit::Bytes => MeterKind::Bytes,
        Unit::Packets | Unit::PacketsAndBytes => MeterKind::Packets,
    };
    let size = meter_size(program, index);
    sized(&meter.name, size, |size| MeterArray::new(kind, size).ok())
}

fn load_hit_times(table: &forebay_ir::Table) -> Result<Option<HitTimes>, LoadError> {
    let size = table_size(table) as u64;
    let times = table
        .supports_timeout
        .then(|| sized(&table.name, size, |size| HitTimes::new(size).ok()));
    times.transpose()
}

/// Elements of a meter.
pub(crate) fn meter_size(program: &Program, index: usize) -> u64 {
    let of_table = |table: &&forebay_ir::Table| table.direct_meter.is_some_and(|direct| direct.meter.index() == index);
    let size = program.meters[index].size;
    size.unwrap_or_else(|| direct_size(program.tables.iter().filter(of_table)))
}

/// Elements of a direct counter or meter: one for each slot of its table, and one for the default entry.
fn direct_size<'a>(tables: impl Iterator<Item = &'a forebay_ir::Table>) -> u64 {
    let sizes = tables.map(|table| default_slot(table).saturating_add(1));
    sizes.max().unwrap_or(0)
}

fn sized<A>(name: &str, size: u64, make: impl FnOnce(usize) -> Option<A>) -> Result<A, LoadError> {
    let array = usize::try_from(size).ok().and_then(make);
    array.ok_or_else(|| LoadError::TooLarge {
        name: name.to_string(),
        size,
    })
}
