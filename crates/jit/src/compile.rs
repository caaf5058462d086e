//! From a program to [`Code`].

use crate::analysis::{action_body, longest_way, size, truncates};
use crate::code::{Addresses, Code, CodeMemory, Needs};
use crate::lane::Shape;
use crate::pool::Pool;
use crate::route::Route;
use crate::route::plan::Plan;
use crate::translate::{Environment, Order, ParserErrors, StepCounting, Translator, Unit, body_signature};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::UserFuncName;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context as CodegenContext};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, ModuleReloc, default_libcall_names};
use forebay_interp::StateLayout;
use forebay_ir::{ActionId, Body, BodyId, BodyKind, Program, Terminator};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What compiled code needs to know besides the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Statements and terminators that one body may execute for one packet.
    pub step_limit: u64,
    /// The short way that packets may take, if the program has one.
    pub route: Option<&'a Route>,
}

/// Why a program could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// The machine that we run on is none for which code can be made, for this reason.
    UnsupportedMachine(String),
    /// A body is too large.
    TooLarge {
        /// Its name.
        body: String,
    },
    /// The operating system gave no memory for code, for this reason.
    Memory(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::UnsupportedMachine(reason) => {
                write!(formatter, "programs cannot be compiled for this machine: {reason}")
            }
            CompileError::TooLarge { body } => write!(formatter, "`{body}` is too large to be compiled"),
            CompileError::Memory(reason) => write!(formatter, "there is no memory for compiled code: {reason}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// An action of this size or less is copied to wherever its table is applied.
const INLINED_SIZE_MAX: usize = 64;

/// Compiles a program that the verifier of `forebay-ir` accepts.
pub fn compile(program: &Program, options: Options<'_>) -> Result<Code, CompileError> {
    let mut module = new_module()?;
    let outlined = declare_actions(program, &mut module)?;
    let layout = StateLayout::new(program);
    let obstacle = options
        .route
        .and_then(|route| route.obstacle(program, options.step_limit));
    let routed = options.route.filter(|_| obstacle.is_none());
    let plan = routed.map(|route| Plan::new(program, route, route.known(program), options.step_limit));
    let mut pool = Pool::default();
    let mut environment = Environment {
        program,
        layout: &layout,
        errors: parser_errors(program),
        pool: &mut pool,
        temporaries: 0,
        headroom: 0,
        shape: Shape::default(),
        searched: Vec::new(),
        outlined: &outlined,
    };
    let mut compiler = Compiler {
        builder_context: FunctionBuilderContext::new(),
        module: &mut module,
        step_limit: options.step_limit,
        functions: Vec::new(),
    };
    for (&action, &function) in &outlined {
        compiler.function(&mut environment, Unit::Action(action), function);
    }
    let mut bodies = HashMap::new();
    for body in (0..program.bodies.len() as u32).map(BodyId) {
        if program.bodies[body.index()].kind != BodyKind::Action {
            let function = compiler.declare()?;
            compiler.function(&mut environment, Unit::Body(body), function);
            bodies.insert(body, function);
        }
    }
    let mut short_way = |order| -> Result<Option<FuncId>, CompileError> {
        let (Some(plan), Some(route)) = (&plan, routed) else {
            return Ok(None);
        };
        let function = compiler.declare()?;
        compiler.function(&mut environment, Unit::Route(route, plan, order), function);
        Ok(Some(function))
    };
    let straight = short_way(Order::Straight)?;
    let staged = match routed {
        Some(route) if !route.keeps_order(program) => short_way(Order::Staged)?,
        _ => None,
    };
    let functions = compiler.functions;
    let needs = Needs {
        temporaries: environment.temporaries as usize,
        headroom: environment.headroom,
        shape: environment.shape,
        copies: plan.as_ref().is_some_and(Plan::makes_copies),
        registers: program.registers.len(),
        counters: program.counters.len(),
        step_limit: options.step_limit,
        // Copies compare their lengths with the limit without asking whether there is one.
        truncates: truncates(program) || plan.as_ref().is_some_and(Plan::makes_copies),
        searched: environment.searched,
    };
    generate(&mut module, functions)?;
    module
        .finalize_definitions()
        .map_err(|error| CompileError::Memory(error.to_string()))?;
    let entries = (0..program.bodies.len() as u32)
        .map(|body| {
            bodies
                .get(&BodyId(body))
                .map(|&function| module.get_finalized_function(function))
        })
        .collect();
    let addresses = Addresses {
        bodies: entries,
        straight: straight.map(|function| module.get_finalized_function(function)),
        staged: staged.map(|function| module.get_finalized_function(function)),
    };
    Ok(Code::new(CodeMemory::new(module), pool, addresses, needs, obstacle))
}

/// An empty module for this machine.
fn new_module() -> Result<JITModule, CompileError> {
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

/// Functions for the actions that are too large to be copied.
fn declare_actions(program: &Program, module: &mut JITModule) -> Result<HashMap<ActionId, FuncId>, CompileError> {
    let signature = body_signature(module.isa().default_call_conv());
    let mut functions = HashMap::new();
    for table in &program.tables {
        for listed in &table.actions {
            let action = &program.actions[listed.action.index()];
            let large = size(action_body(program, action)) > INLINED_SIZE_MAX;
            if large && !functions.contains_key(&listed.action) {
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
    // A program without the core library's declarations has no parser that could end so.
    let error = |name| program.error(name).unwrap_or(0);
    ParserErrors {
        packet_too_short: error("PacketTooShort"),
        header_too_short: error("HeaderTooShort"),
        parser_invalid_argument: error("ParserInvalidArgument"),
    }
}

/// How a unit watches the limit. An action may be called by any body, and so counts when one of them does.
fn step_counting(program: &Program, unit: Unit<'_>, limit: u64) -> StepCounting {
    let may_reach = |body: &Body| longest_way(program, body).is_none_or(|steps| steps > limit);
    match unit {
        Unit::Body(body) => match &program.bodies[body.index()] {
            body if !may_reach(body) => StepCounting::Never,
            body if body.kind == BodyKind::Parser => StepCounting::Always,
            _ => StepCounting::BeforeEffects,
        },
        Unit::Action(_) if program.bodies.iter().any(may_reach) => StepCounting::BeforeEffects,
        Unit::Action(_) => StepCounting::Never,
        // A program with a short way has no loops but in its parser, whose ways are all known.
        Unit::Route(..) => StepCounting::Never,
    }
}

/// Turns units into functions, one after the other.
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
    /// Of what was translated.
    name: String,
    context: CodegenContext,
}

impl Compiler<'_> {
    fn declare(&mut self) -> Result<FuncId, CompileError> {
        let signature = body_signature(self.module.isa().default_call_conv());
        self.module
            .declare_anonymous_function(&signature)
            .map_err(|error| module_error(&error, ""))
    }

    /// Translates a unit.
    fn function<'a>(&mut self, environment: &mut Environment<'a>, unit: Unit<'a>, id: FuncId) {
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
        let Unit::Body(body) = unit else {
            return HashMap::new();
        };
        let mut callees = HashMap::new();
        for block in &environment.program.bodies[body.index()].blocks {
            let Terminator::Apply { table, .. } = block.terminator else {
                continue;
            };
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

/// Generates the machine code of functions and puts it into the module. This is what takes the time, and functions do not
/// need one another for it.
fn generate(module: &mut JITModule, mut functions: Vec<Function>) -> Result<(), CompileError> {
    let instructions: usize = functions.iter().map(|f| f.context.func.dfg.num_insts()).sum();
    let threads = match instructions > SERIAL_MAX {
        true => thread::available_parallelism().map_or(1, |count| count.get().min(functions.len())),
        false => 1,
    };
    let isa = module.isa();
    // The last ones are the largest.
    let queue = Mutex::new(functions.iter_mut().rev());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(function) = next() {
            let compiled = function.context.compile(isa, &mut ControlPlane::default());
            if let Err(error) = compiled {
                return Err(module_error(&error.into(), &function.name));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for other in others {
            result = result.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        result
    })?;
    functions.iter().try_for_each(|function| define(module, function))
}

fn define(module: &mut JITModule, function: &Function) -> Result<(), CompileError> {
    let code = function.context.compiled_code().expect("it was compiled");
    let relocations = code.buffer.relocs().iter();
    let relocations: Vec<ModuleReloc> = relocations
        .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &function.context.func, function.id))
        .collect();
    let alignment = u64::from(code.buffer.alignment);
    module
        .define_function_bytes(function.id, alignment, code.code_buffer(), &relocations)
        .map_err(|error| module_error(&error, &function.name))
}

fn unit_name<'p>(program: &'p Program, unit: Unit<'_>) -> &'p str {
    match unit {
        Unit::Body(body) => &program.bodies[body.index()].name,
        Unit::Action(action) => &program.actions[action.index()].name,
        Unit::Route(..) => "the whole program",
    }
}

fn module_error(error: &ModuleError, body: &str) -> CompileError {
    match error {
        ModuleError::Compilation(CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge) => {
            CompileError::TooLarge { body: body.to_owned() }
        }
        ModuleError::Allocation { .. } => CompileError::Memory(error.to_string()),
        other => panic!("the translation of `{body}` is not valid: {other:?}"),
    }
}
