//! Register-preserving trampolines for cold runtime calls.
//!
//! A call clobbers most registers, so live values are spilled, often on the path that all packets take although few
//! packets make the call. A cold call therefore goes through a trampoline that preserves all registers
//! ([`CallConv::PreserveAll`]), made once for the process. The trampoline gets only the context; the other arguments
//! are stored there, since passing them would fix registers.
//!
//! The locks of atomic sections are taken and released in the same way, by
//! [functions of their own](crate::section_locks): programs have up to thousands of sections.

use crate::compile::{CompileError, module_error, new_module};
use crate::context::Context;
use crate::runtime::{self, Function};
use crate::section_locks;
use cranelift_codegen::Context as CodegenContext;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, MemFlagsData, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use std::mem::offset_of;
use std::sync::OnceLock;

/// The functions that are called through trampolines.
const CALLED_RARELY: [Function; 11] = [
    runtime::FIND,
    runtime::FIND_MEMBER,
    runtime::FIND_FOR_FLOW,
    runtime::ADMIT_FLOW,
    runtime::PREFETCH,
    runtime::FIND_MEMBERS,
    runtime::NOTE_METER,
    runtime::COUNT,
    runtime::TAKE_BACK_COUNT,
    runtime::NOTE_DIGEST,
    runtime::ENTER_ATOMIC,
];

/// The addresses of functions that preserve all registers.
#[derive(Debug)]
pub(crate) struct Trampolines {
    trampolines: [usize; CALLED_RARELY.len()],
    /// Takes the lock of a section.
    pub(crate) take_lock: usize,
    /// Releases the lock that is held.
    pub(crate) release_lock: usize,
}

impl Trampolines {
    /// The trampolines of this process.
    pub(crate) fn get() -> Result<&'static Trampolines, CompileError> {
        static TRAMPOLINES: OnceLock<Result<Trampolines, CompileError>> = OnceLock::new();
        TRAMPOLINES
            .get_or_init(Trampolines::make)
            .as_ref()
            .map_err(Clone::clone)
    }

    fn make() -> Result<Trampolines, CompileError> {
        let mut module = new_module()?;
        let mut ids = Vec::new();
        for function in &CALLED_RARELY {
            ids.push(trampoline(&mut module, function)?);
        }
        let waits = CALLED_RARELY
            .iter()
            .position(|known| known.address == runtime::ENTER_ATOMIC.address);
        let waits = ids[waits.expect("it is called rarely")];
        let take = define(&mut module, |builder, module, context| {
            let waits = module.declare_func_in_func(waits, builder.func);
            section_locks::take(builder, waits, context);
        })?;
        let release = define(&mut module, |builder, _, context| {
            section_locks::release(builder, context)
        })?;
        let finished = module.finalize_definitions();
        finished.map_err(|error| CompileError::Memory(error.to_string()))?;
        let address = |id| module.get_finalized_function(id).expose_provenance();
        // The module is not freed, so its code stays.
        Ok(Trampolines {
            trampolines: std::array::from_fn(|index| address(ids[index])),
            take_lock: address(take),
            release_lock: address(release),
        })
    }

    /// The address of a function's trampoline.
    ///
    /// # Panics
    /// When the function has none.
    pub(crate) fn to(&self, function: Function) -> usize {
        let index = CALLED_RARELY.iter().position(|known| known.address == function.address);
        self.trampolines[index.expect("it is among those that are called rarely")]
    }
}

/// The maximum number of arguments besides the context.
pub(crate) const ARGUMENTS_MAX: usize = 4;

/// The signature of a trampoline.
pub(crate) fn signature() -> Signature {
    with_parameters(CallConv::PreserveAll, 1)
}

/// The offset of an argument in the context; argument 0 is the first one after the context.
pub(crate) fn argument_offset(number: usize) -> i32 {
    assert!(number < ARGUMENTS_MAX, "there is room for {ARGUMENTS_MAX} arguments");
    (offset_of!(Context<'_>, rare_arguments) + 8 * number) as i32
}

fn with_parameters(convention: CallConv, parameters: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.resize(parameters, AbiParam::new(types::I64));
    signature
}

/// Defines the trampoline to a function.
fn trampoline(module: &mut JITModule, function: &Function) -> Result<FuncId, CompileError> {
    assert!(!function.has_result, "no register is left for a result");
    define(module, |builder, module, context| {
        let mut arguments = vec![context];
        arguments.extend((0..function.parameters - 1).map(|number| argument(builder, context, number)));
        let convention = module.isa().default_call_conv();
        let target = builder.import_signature(with_parameters(convention, function.parameters));
        let address = function.address.expose_provenance() as i64;
        let address = builder.ins().iconst(types::I64, address);
        builder.ins().call_indirect(target, address, &arguments);
        builder.ins().return_(&[]);
    })
}

/// Loads an argument of a cold call from the context.
pub(crate) fn argument(builder: &mut FunctionBuilder<'_>, context: ir::Value, number: usize) -> ir::Value {
    let flags = MemFlagsData::trusted();
    builder.ins().load(types::I64, flags, context, argument_offset(number))
}

/// Defines a function that takes the context and preserves all registers.
fn define(
    module: &mut JITModule,
    body: impl FnOnce(&mut FunctionBuilder<'_>, &mut JITModule, ir::Value),
) -> Result<FuncId, CompileError> {
    let own = signature();
    let failed = |error| module_error(&error);
    let id = module.declare_anonymous_function(&own).map_err(failed)?;
    let mut context = CodegenContext::new();
    context.func.signature = own;
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let own_context = builder.block_params(block)[0];
    body(&mut builder, module, own_context);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(id, &mut context).map_err(failed)?;
    Ok(id)
}
