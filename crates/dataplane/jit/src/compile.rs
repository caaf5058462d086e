//! From a program to [`GraphCode`] and [`FastPathCode`].

use crate::analysis::{longest_path, truncates, varbits_up_to_length};
use crate::arrays::ArraysShape;
use crate::code::{CodeMemory, Entry, entry};
use crate::cold_calls::Trampolines;
use crate::fast_path_code::{Entries, FastPathCode, FastPathMetadata};
use crate::graph::{GraphCode, GraphMetadata, GraphPlan};
use crate::inline_caches::Joins;
use crate::packet_context::Shape;
use crate::pool::Pool;
use crate::register_groups::RegisterBanks;
use crate::route::plan::Plan;
use crate::route::{Notes, Order, Pass, PathId, Route, Watch};
use crate::translate::{Environment, ParserErrors, SLOTS_MAX, StepCounting, Translator, Unit, body_signature};
use crate::wide_stores;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::UserFuncName;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context as CodegenContext};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, default_libcall_names};
use forebay_exec::StateLayout;
use forebay_ir::pipeline::Graph;
use forebay_ir::{Body, BodyId, BodyKind, Program};
use std::fmt;

/// Why a program could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// Code cannot be generated for this machine, for this reason.
    UnsupportedMachine(String),
    /// The program is too large.
    TooLarge,
    /// There was no memory for code, or for compiling it, for this reason.
    Memory(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::UnsupportedMachine(reason) => {
                write!(formatter, "programs cannot be compiled for this machine: {reason}")
            }
            CompileError::TooLarge => formatter.write_str("the program is too large for the code generator"),
            CompileError::Memory(reason) => write!(formatter, "there is no memory for compiled code: {reason}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// Compiles a program's graph with all bodies that it runs. The verifier of `forebay-ir` must accept the graph.
///
/// # Errors
/// See [`CompileError`].
pub fn compile_graph(program: &Program, graph: &Graph, step_limit: u64) -> Result<GraphCode, CompileError> {
    let mut module = new_module()?;
    let layout = StateLayout::new(program);
    let plan = GraphPlan::new(program, graph);
    let mut pool = Pool::default();
    let mut environment = environment(program, &layout, &mut pool, Trampolines::get()?, step_limit);
    let function = translate(&mut module, &mut environment, Unit::Graph(graph, &plan))?;
    let metadata = GraphMetadata {
        temporaries: environment.temporaries as usize,
        arrays: ArraysShape::of(program),
        searched: environment.searched,
    };
    let function = generate(&mut module, function, &mut |_| ())?;
    finish(&mut module)?;
    let entry = entry_of(&module, function.id);
    // SAFETY: the entry is in the module and of that plan, and the environment has counted.
    Ok(unsafe { GraphCode::new(CodeMemory::new(module, pool), entry, plan, metadata) })
}

/// Compiles the fast path of a program, in one of its forms. If the program is too large for all paths through its
/// parser, the paths in `wanted` are compiled first, then others as far as there is room. `watch` is told after each
/// [pass](Pass), by its name, and after `parser`, `translation` and `code-generation`.
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
    watch: &mut Watch<'_>,
) -> Result<FastPathCode, CompileError> {
    assert!(!route.is_blocked(program, step_limit), "there is a fast path");
    assert!(
        order != Order::Staged || !route.keeps_order(program),
        "the order of packets cannot be seen"
    );
    let plan = Plan::new(program, route, order, step_limit, wanted, watch);
    let mut translated = TranslatedFastPath::new(program, route, &plan, order, step_limit, SLOTS_MAX)?;
    if translated.packets.is_crowded() || translated.hashes.as_ref().is_some_and(Function::is_crowded) {
        translated = TranslatedFastPath::new(program, route, &plan, order, step_limit, SLOTS_WHERE_CROWDED)?;
    }
    watch("translation");
    let code = translated.generate(watch);
    watch("code-generation");
    code
}

/// The fast path of a program in Cranelift's representation.
struct TranslatedFastPath {
    module: JITModule,
    pool: Pool,
    packets: Function,
    hashes: Option<Function>,
    metadata: FastPathMetadata,
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
        let mut pool = Pool::default();
        let mut environment = environment(program, &layout, &mut pool, Trampolines::get()?, step_limit);
        environment.slots_in_registers = slots_in_registers;
        let packets = translate(&mut module, &mut environment, Unit::Route(route, plan, order))?;
        let touches_packets = environment.touches_packets;
        let mut hashes = None;
        // The parser only parses (see [`Route::obstacles`]), so it may run twice for a packet.
        if environment.slots.is_some() {
            hashes = Some(translate(&mut module, &mut environment, Unit::Hashes(route, plan))?);
        }
        let uniform = !touches_packets
            && route.is_stateless(program)
            && !route.may_bail_out(program, Notes::default())
            && plan.leaves.iter().all(|leaf| !leaf.misses);
        let metadata = FastPathMetadata {
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
            packets,
            hashes,
            metadata,
        })
    }

    fn generate(mut self, watch: &mut Watch<'_>) -> Result<FastPathCode, CompileError> {
        let module = &mut self.module;
        let packets = generate(module, self.packets, watch)?;
        let hashes = self.hashes.map(|hashes| generate(module, hashes, watch)).transpose()?;
        finish(module)?;
        let entries = Entries {
            packets: entry_of(module, packets.id),
            packets_bytes: packets
                .context
                .compiled_code()
                .expect("it was compiled")
                .code_buffer()
                .len(),
            hashes: hashes.map(|hashes| entry_of(module, hashes.id)),
        };
        // SAFETY: the entries are those of the functions in the module, the length is the first one's, and the
        // environment has counted.
        Ok(unsafe { FastPathCode::new(CodeMemory::new(self.module, self.pool), entries, self.metadata) })
    }
}

/// What functions of a program have in common; nothing is needed yet.
fn environment<'a>(
    program: &'a Program,
    layout: &'a StateLayout,
    pool: &'a mut Pool,
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

fn parser_errors(program: &Program) -> ParserErrors {
    // A program without the core library's declarations has no parser that rejects with these errors.
    let error = |name| program.error(name).unwrap_or(0);
    ParserErrors {
        packet_too_short: error("PacketTooShort"),
        header_too_short: error("HeaderTooShort"),
        parser_invalid_argument: error("ParserInvalidArgument"),
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

/// A function in Cranelift's representation.
struct Function {
    id: FuncId,
    /// Whether words are stored [together](wide_stores), since it has a loop that makes copies of a packet.
    joins_stores: bool,
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

/// Translates a unit into a function.
fn translate<'a>(
    module: &mut JITModule,
    environment: &mut Environment<'a>,
    unit: Unit<'a>,
) -> Result<Function, CompileError> {
    forebay_budget::check();
    let mut context = module.make_context();
    context.func.signature = body_signature(module.isa().default_call_conv());
    let id = module.declare_anonymous_function(&context.func.signature);
    let id = id.map_err(|error| module_error(&error))?;
    context.func.name = UserFuncName::user(0, id.as_u32());
    let mut builder_context = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let builder = Translator::new(environment, builder).translate(unit);
    builder.finalize(module.target_config());
    Ok(Function {
        id,
        joins_stores: match unit {
            Unit::Route(route, plan, _) => plan.makes_copies() && !route.without.has(Pass::WideStores),
            Unit::Graph(..) | Unit::Hashes(..) => false,
        },
        context,
    })
}

/// Generates the machine code of a function. This takes most of the compile time.
fn generate(module: &mut JITModule, mut function: Function, watch: &mut Watch<'_>) -> Result<Function, CompileError> {
    forebay_budget::check();
    let context = &mut function.context;
    if function.joins_stores {
        let optimized = context.optimize(module.isa(), &mut ControlPlane::default());
        optimized.map_err(|error| module_error(&error.into()))?;
        wide_stores::join(context);
        watch(Pass::WideStores.name());
    }
    let defined = module.define_function(function.id, context);
    defined.map_err(|error| module_error(&error))?;
    Ok(function)
}

/// Makes the code of a module executable.
fn finish(module: &mut JITModule) -> Result<(), CompileError> {
    let finished = module.finalize_definitions();
    finished.map_err(|error| CompileError::Memory(error.to_string()))
}

pub(crate) fn module_error(error: &ModuleError) -> CompileError {
    match error {
        ModuleError::Compilation(CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge) => {
            CompileError::TooLarge
        }
        ModuleError::Allocation { .. } => CompileError::Memory(error.to_string()),
        other => panic!("the translation is not valid: {other:?}"),
    }
}
