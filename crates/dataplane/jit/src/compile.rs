//! From a program to [`GraphCode`] and [`FastPathCode`].

use crate::analysis::{action_body, longest_path, size, truncates, varbits_up_to_length};
use crate::arrays::ArraysShape;
use crate::code::{CodeMemory, Entry, entry};
use crate::cold_calls::Trampolines;
use crate::fast_path_code::{Entries, FastPathCode, Needs};
use crate::graph::{GraphCode, GraphNeeds, GraphPlan};
use crate::inline_caches::Joins;
use crate::packet_context::Shape;
use crate::pool::Pool;
use crate::register_groups::RegisterBanks;
use crate::route::plan::Plan;
use crate::route::{Notes, Order, PathId, Route};
use crate::translate::{Environment, ParserErrors, SLOTS_MAX, StepCounting, Translator, Unit, body_signature};
use crate::wide_stores;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::UserFuncName;
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context as CodegenContext};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, ModuleReloc, default_libcall_names};
use forebay_exec::StateLayout;
use forebay_ir::pipeline::Graph;
use forebay_ir::{ActionId, Body, BodyId, BodyKind, Program};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Why a program could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// Code cannot be generated for this machine, for this reason.
    UnsupportedMachine(String),
    /// A body is too large.
    TooLarge {
        /// Its name.
        body: String,
    },
    /// There was no memory for code, or for compiling it, for this reason.
    Memory(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::UnsupportedMachine(reason) => {
                write!(formatter, "programs cannot be compiled for this machine: {reason}")
            }
            CompileError::TooLarge { body } => write!(formatter, "{body} is too large for the code generator"),
            CompileError::Memory(reason) => write!(formatter, "there is no memory for compiled code: {reason}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// An action of at most this size is inlined wherever its table is applied; so is one that is applied in only one
/// place.
const INLINED_SIZE_MAX: usize = 64;

/// Compiles a program's graph with all bodies that it runs. The verifier of `forebay-ir` must accept the graph.
///
/// # Errors
/// See [`CompileError`].
pub fn compile_graph(program: &Program, graph: &Graph, step_limit: u64) -> Result<GraphCode, CompileError> {
    let mut module = new_module()?;
    let outlined = declare_actions(program, &mut module)?;
    let layout = StateLayout::new(program);
    let plan = GraphPlan::new(program, graph);
    let mut pool = Pool::default();
    let trampolines = Trampolines::get()?;
    let mut environment = environment(program, &layout, &mut pool, &outlined, trampolines, step_limit);
    let mut compiler = Compiler::new(&mut module, step_limit);
    for (&action, &function) in &outlined {
        compiler.function(&mut environment, Unit::Action(action), function);
    }
    let function = compiler.declare()?;
    compiler.function(&mut environment, Unit::Graph(graph, &plan), function);
    let functions = compiler.functions;
    let needs = GraphNeeds {
        temporaries: environment.temporaries as usize,
        arrays: ArraysShape::of(program),
        searched: environment.searched,
    };
    generate(&mut module, functions)?;
    let entry = entry_of(&module, function);
    // SAFETY: the entry is in the module and of that plan, and the environment has counted.
    Ok(unsafe { GraphCode::new(CodeMemory::new(module, pool), entry, plan, needs) })
}

/// Compiles the fast path of a program, in one of its forms. If the program is too large for all paths through its
/// parser, the paths in `wanted` are compiled first, then others as far as there is room.
///
/// # Panics
/// When the program [has no fast path](Route::is_blocked), or the order of packets is observable
/// ([`Route::keeps_order`]) and would not be kept.
///
/// # Errors
/// See [`CompileError`].
pub fn compile_fast_path(
    program: &Program,
    route: &Route,
    order: Order,
    step_limit: u64,
    wanted: &[PathId],
) -> Result<FastPathCode, CompileError> {
    assert!(!route.is_blocked(program, step_limit), "there is a fast path");
    assert!(
        order != Order::Staged || !route.keeps_order(program),
        "the order of packets cannot be seen"
    );
    let plan = Plan::new(program, route, order, step_limit, wanted);
    let mut translated = TranslatedFastPath::new(program, route, &plan, order, step_limit, SLOTS_MAX)?;
    if translated.functions.iter().any(Function::is_crowded) {
        translated = TranslatedFastPath::new(program, route, &plan, order, step_limit, SLOTS_WHERE_CROWDED)?;
    }
    translated.generate()
}

/// The fast path of a program in Cranelift's representation.
struct TranslatedFastPath {
    module: JITModule,
    pool: Pool,
    functions: Vec<Function>,
    packets: FuncId,
    hashes: Option<FuncId>,
    needs: Needs,
}

impl TranslatedFastPath {
    /// With at most `slots_in_registers` slots in Cranelift's registers.
    fn new(
        program: &Program,
        route: &Route,
        plan: &Plan,
        order: Order,
        step_limit: u64,
        slots_in_registers: usize,
    ) -> Result<TranslatedFastPath, CompileError> {
        let mut module = new_module()?;
        let layout = StateLayout::new(program);
        let (mut pool, outlined) = (Pool::default(), HashMap::new());
        let trampolines = Trampolines::get()?;
        let mut environment = environment(program, &layout, &mut pool, &outlined, trampolines, step_limit);
        environment.slots_in_registers = slots_in_registers;
        let mut compiler = Compiler::new(&mut module, step_limit);
        let packets = compiler.declare()?;
        compiler.function(&mut environment, Unit::Route(route, plan, order), packets);
        let touches_packets = environment.touches_packets;
        let mut hashes = None;
        // The parser only parses (see [`Route::obstacles`]), so it may run twice for a packet.
        if environment.slots.is_some() {
            let function = compiler.declare()?;
            compiler.function(&mut environment, Unit::Hashes(route, plan), function);
            hashes = Some(function);
        }
        let functions = compiler.functions;
        let uniform = !touches_packets
            && route.is_stateless(program)
            && !route.may_bail_out(program, Notes::default())
            && plan.leaves.iter().all(|leaf| !leaf.misses);
        let needs = Needs {
            temporaries: environment.temporaries as usize,
            headroom: environment.headroom,
            shape: environment.shape,
            copies: plan.makes_copies(),
            clones: if plan.leaves.iter().any(|leaf| leaf.notes.clones) {
                route.clones(program).into_iter().map(usize::from).sum()
            } else {
                0
            },
            clones_first: !route.clones_commute(program),
            clones_in_order: route.keeps_order_of_clones(program),
            asks_tables: route.asks_tables(program),
            arrays: ArraysShape::of(program),
            truncates: truncates(program),
            obstacles: plan.limits.obstacles(program, route),
            staged: order == Order::Staged,
            uniform,
            steady: uniform && !route.depends_on_time(program),
            searched: environment.searched,
            slots: environment.slots,
            left_out: plan.left_out.clone(),
        };
        Ok(TranslatedFastPath {
            module,
            pool,
            functions,
            packets,
            hashes,
            needs,
        })
    }

    fn generate(mut self) -> Result<FastPathCode, CompileError> {
        let bytes = generate(&mut self.module, self.functions)?;
        let entries = Entries {
            packets: entry_of(&self.module, self.packets),
            packets_bytes: bytes[0],
            hashes: self.hashes.map(|hashes| entry_of(&self.module, hashes)),
        };
        // SAFETY: the entries are those of the functions in the module, the length is the first one's, and the
        // environment has counted.
        Ok(unsafe { FastPathCode::new(CodeMemory::new(self.module, self.pool), entries, self.needs) })
    }
}

/// What functions of a program have in common; nothing is needed yet.
fn environment<'a>(
    program: &'a Program,
    layout: &'a StateLayout,
    pool: &'a mut Pool,
    outlined: &'a HashMap<ActionId, FuncId>,
    trampolines: &'static Trampolines,
    step_limit: u64,
) -> Environment<'a> {
    Environment {
        program,
        layout,
        errors: parser_errors(program),
        pool,
        temporaries: 0,
        headroom: 0,
        shape: Shape::default(),
        touches_packets: false,
        joins: Joins::of(program),
        banks: RegisterBanks::of(program),
        varbits: varbits_up_to_length(program),
        no_memo: std::ptr::null(),
        slots: None,
        slots_in_registers: SLOTS_MAX,
        searched: Vec::new(),
        step_limit,
        outlined,
        trampolines,
    }
}

fn entry_of(module: &JITModule, function: FuncId) -> Entry {
    // SAFETY: all functions have this signature, and the entry is kept together with the module that owns the code.
    unsafe { entry(module.get_finalized_function(function)) }
}

/// An empty module for this machine.
pub(crate) fn new_module() -> Result<JITModule, CompileError> {
    let mut flags = settings::builder();
    let choices = [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("unwind_info", "false"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ];
    for (name, value) in choices {
        flags
            .set(name, value)
            .unwrap_or_else(|error| panic!("Cranelift knows the setting {name}: {error}"));
    }
    let unsupported = |reason: &dyn fmt::Display| CompileError::UnsupportedMachine(reason.to_string());
    let machine = cranelift_native::builder().map_err(|reason| unsupported(&reason))?;
    let target = machine
        .finish(settings::Flags::new(flags))
        .map_err(|error| unsupported(&error))?;
    Ok(JITModule::new(JITBuilder::with_isa(target, default_libcall_names())))
}

/// By action: the number of places where it may be applied.
fn places_of_actions(program: &Program) -> Vec<usize> {
    let mut places = vec![0; program.actions.len()];
    for table in program.bodies.iter().flat_map(|body| body.applied_tables()) {
        let listed = &program.tables[table.index()].actions;
        listed.iter().for_each(|listed| places[listed.action.index()] += 1);
    }
    places
}

/// Declares functions for the actions that are too large to be inlined.
fn declare_actions(program: &Program, module: &mut JITModule) -> Result<HashMap<ActionId, FuncId>, CompileError> {
    let signature = body_signature(module.isa().default_call_conv());
    let mut functions = HashMap::new();
    let places = places_of_actions(program);
    for table in &program.tables {
        for listed in &table.actions {
            let action = &program.actions[listed.action.index()];
            let large = size(action_body(program, action)) > INLINED_SIZE_MAX;
            let repeated = places[listed.action.index()] > 1;
            if large && repeated && !functions.contains_key(&listed.action) {
                let function = module
                    .declare_anonymous_function(&signature)
                    .map_err(|e| module_error(&e, &action.name))?;
                functions.insert(listed.action, function);
            }
        }
    }
    Ok(functions)
}

fn parser_errors(program: &Program) -> ParserErrors {
    // A program without the core library's declarations has no parser that rejects with these errors.
    let error = |name| program.error(name).unwrap_or(0);
    ParserErrors {
        packet_too_short: error("PacketTooShort"),
        header_too_short: error("HeaderTooShort"),
        parser_invalid_argument: error("ParserInvalidArgument"),
    }
}

/// How a unit counts steps. Any body may call an action, so an action counts if any body of the program does.
fn step_counting(program: &Program, unit: Unit<'_>, limit: u64) -> StepCounting {
    match unit {
        Unit::Action(_) if program.bodies.iter().any(|body| may_reach(program, body, limit)) => {
            StepCounting::BeforeEffects
        }
        Unit::Action(_) => StepCounting::Never,
        // Each of its bodies is counted separately.
        Unit::Graph(..) => StepCounting::Never,
        // A program with a fast path has loops only in its parser, and these are unrolled.
        Unit::Route(..) | Unit::Hashes(..) => StepCounting::Never,
    }
}

/// How a body counts steps.
pub(crate) fn body_counting(program: &Program, body: BodyId, limit: u64) -> StepCounting {
    match &program.bodies[body.index()] {
        body if !may_reach(program, body, limit) => StepCounting::Never,
        body if body.kind == BodyKind::Parser => StepCounting::Always,
        _ => StepCounting::BeforeEffects,
    }
}

fn may_reach(program: &Program, body: &Body, limit: u64) -> bool {
    longest_path(program, body).is_none_or(|steps| steps > limit)
}

/// Translates units into functions.
struct Compiler<'m> {
    module: &'m mut JITModule,
    builder_context: FunctionBuilderContext,
    step_limit: u64,
    /// The functions so far.
    functions: Vec<Function>,
}

/// A function in Cranelift's representation.
struct Function {
    id: FuncId,
    /// The name of what was translated.
    name: String,
    /// Whether it has a loop that makes copies of a packet.
    makes_copies: bool,
    context: CodegenContext,
}

/// A function with more blocks, which hand on more values to each other, is crowded. Large programs of p4c's have up to
/// 12,600 blocks, each with one value on average.
const CROWDED_BLOCKS: usize = 2_000;
const CROWDED_VALUES_PER_BLOCK: usize = 5;
/// Slots that have a register in a program that is crowded otherwise. With 200 headers, each with a condition of its own,
/// registers are allocated in 0.6 s, and in 23 s with [`SLOTS_MAX`]; packets take 3 to 10 % longer.
const SLOTS_WHERE_CROWDED: usize = 16;

impl Function {
    /// Whether allocating registers would take many seconds: hundreds of values live in thousands of blocks, most of
    /// which do not use them.
    fn is_crowded(&self) -> bool {
        let (blocks, function) = (self.context.func.dfg.num_blocks(), &self.context.func);
        let params = |block| function.dfg.block_params(block).len();
        let handed_on: usize = function.layout.blocks().map(params).sum();
        blocks > CROWDED_BLOCKS && handed_on > blocks * CROWDED_VALUES_PER_BLOCK
    }
}

impl<'m> Compiler<'m> {
    fn new(module: &'m mut JITModule, step_limit: u64) -> Self {
        Compiler {
            module,
            builder_context: FunctionBuilderContext::new(),
            step_limit,
            functions: Vec::new(),
        }
    }

    fn declare(&mut self) -> Result<FuncId, CompileError> {
        let signature = body_signature(self.module.isa().default_call_conv());
        self.module
            .declare_anonymous_function(&signature)
            .map_err(|error| module_error(&error, ""))
    }

    /// Translates a unit.
    fn function<'a>(&mut self, environment: &mut Environment<'a>, unit: Unit<'a>, id: FuncId) {
        forebay_budget::check();
        let mut context = self.module.make_context();
        context.func.signature = body_signature(self.module.isa().default_call_conv());
        context.func.name = UserFuncName::user(0, id.as_u32());
        let callees = self.callees(environment, unit, &mut context.func);
        let builder = FunctionBuilder::new(&mut context.func, &mut self.builder_context);
        let counting = step_counting(environment.program, unit, self.step_limit);
        let builder = Translator::new(environment, builder, callees, counting).translate(unit);
        builder.finalize(self.module.target_config());
        self.functions.push(Function {
            id,
            name: unit_name(environment.program, unit).to_owned(),
            makes_copies: matches!(unit, Unit::Route(_, plan, _) if plan.makes_copies()),
            context,
        });
    }

    /// References to the outlined actions of the tables that a body applies.
    fn callees(
        &mut self,
        environment: &Environment<'_>,
        unit: Unit<'_>,
        function: &mut cranelift_codegen::ir::Function,
    ) -> HashMap<ActionId, cranelift_codegen::ir::FuncRef> {
        let bodies = match unit {
            Unit::Graph(graph, _) => graph.bodies().collect(),
            Unit::Action(_) | Unit::Route(..) | Unit::Hashes(..) => Vec::new(),
        };
        let mut callees = HashMap::new();
        let bodies = bodies.iter().map(|body| &environment.program.bodies[body.index()]);
        for table in bodies.flat_map(|body| body.applied_tables()) {
            for listed in &environment.program.tables[table.index()].actions {
                if let Some(&id) = environment.outlined.get(&listed.action) {
                    let reference = || self.module.declare_func_in_func(id, function);
                    callees.entry(listed.action).or_insert_with(reference);
                }
            }
        }
        callees
    }
}

/// Programs with more of Cranelift's instructions are compiled by several threads.
const SERIAL_MAX: usize = 2_000;

/// Generates the machine code of functions and makes it executable. Returns the size of each in bytes.
fn generate(module: &mut JITModule, mut functions: Vec<Function>) -> Result<Vec<usize>, CompileError> {
    generate_each(module.isa(), &mut functions)?;
    let bytes = functions.iter().map(|function| define(module, function));
    let bytes = bytes.collect::<Result<_, _>>()?;
    let finished = module.finalize_definitions();
    finished.map_err(|error| CompileError::Memory(error.to_string()))?;
    Ok(bytes)
}

/// Generates the code of each function. This takes most of the compile time; functions are independent, so several
/// threads share the work.
#[allow(
    clippy::disallowed_methods,
    reason = "functions are compiled side by side; all threads end before it returns"
)]
fn generate_each(isa: &dyn TargetIsa, functions: &mut [Function]) -> Result<(), CompileError> {
    let instructions: usize = functions.iter().map(|f| f.context.func.dfg.num_insts()).sum();
    let threads = if instructions > SERIAL_MAX {
        thread::available_parallelism().map_or(1, |count| count.get().min(functions.len()))
    } else {
        1
    };
    let queue = Mutex::new(functions.iter_mut());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let budget = forebay_budget::of_thread();
    let work = || {
        while let Some(function) = next() {
            if budget.as_ref().is_some_and(|budget| budget.is_stopped()) {
                break;
            }
            let context = &mut function.context;
            if function.makes_copies {
                let optimized = context.optimize(isa, &mut ControlPlane::default());
                optimized.map_err(|error| module_error(&error.into(), &function.name))?;
                wide_stores::join(context);
            }
            let compiled = context.compile(isa, &mut ControlPlane::default());
            compiled.map_err(|error| module_error(&error.into(), &function.name))?;
        }
        Ok(())
    };
    let generated = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for other in others {
            result = result.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        result
    });
    // When the budget is exceeded, some functions have no code.
    forebay_budget::check();
    generated
}

/// Puts the code of a function into the module. Returns its size in bytes.
fn define(module: &mut JITModule, function: &Function) -> Result<usize, CompileError> {
    let code = function.context.compiled_code().expect("it was compiled");
    let relocations = code.buffer.relocs().iter();
    let relocations: Vec<ModuleReloc> = relocations
        .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &function.context.func, function.id))
        .collect();
    let alignment = u64::from(code.buffer.alignment);
    module
        .define_function_bytes(function.id, alignment, code.code_buffer(), &relocations)
        .map_err(|error| module_error(&error, &function.name))?;
    Ok(code.code_buffer().len())
}

fn unit_name<'p>(program: &'p Program, unit: Unit<'_>) -> &'p str {
    match unit {
        Unit::Action(action) => &program.actions[action.index()].name,
        Unit::Graph(..) | Unit::Route(..) | Unit::Hashes(..) => "the whole program",
    }
}

pub(crate) fn module_error(error: &ModuleError, body: &str) -> CompileError {
    match error {
        ModuleError::Compilation(CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge) => {
            CompileError::TooLarge { body: body.to_owned() }
        }
        ModuleError::Allocation { .. } => CompileError::Memory(error.to_string()),
        other => panic!("the translation of `{body}` is not valid: {other:?}"),
    }
}
