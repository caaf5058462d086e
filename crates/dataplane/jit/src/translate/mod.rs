//! Translates bodies to a function of machine code.
//!
//! All functions have the same signature: they take a pointer to a [`Context`](crate::context::Context). The function
//! of a graph returns one of [`ending`], and slots stay in the state's memory between operations. On the fast path
//! ([`crate::route`]) the number of packets is returned, and most slots are in registers or in the packet.
//!
//! | file | what it translates |
//! |---|---|
//! | `mode.rs` | what a function is translated for, a graph or the fast path, and what only that translation has |
//! | `value.rs`, `value_locations.rs` | values in registers and in memory, and the locations of slots |
//! | `access.rs` | loads and stores |
//! | `known.rs` | known constants and value ranges of words, to avoid needless instructions |
//! | `expression.rs`, `in_registers.rs`, `wide.rs` | expressions; operators on up to 128 bits; on words of more |
//! | `stack_index.rs` | an element of a stack in the packet, by a computed index |
//! | `field_concat.rs`, `fused_compare.rs` | concatenated fields; several comparisons at once |
//! | `flow.rs`, `select.rs`, `apply.rs` | blocks and terminators |
//! | `parse.rs` | extract, advance, lookahead |
//! | `pack.rs` | emit, and the data of hashes and checksums |
//! | `crc.rs` | CRCs |
//! | `checksum.rs` | Internet checksums of fields |
//! | `new_length.rs` | the length of valid headers, and of a packet after ingress or egress |
//! | `random.rs` | random numbers |
//! | `externs.rs` | registers, counters, meters, requests to the architecture |
//! | `stateful.rs` | registers without calls |
//! | `cloning.rs` | the fast path: clones |
//! | `counting.rs` | counters without calls, and taking packets back from them |
//! | `section.rs` | atomic sections, and their locks in elements of registers |
//! | `search.rs` | looks keys up in place |
//! | `flows.rs` | the fast path: look-ups that reuse the results of the flow's last packet |
//! | `inline_caches.rs` | the fast path: look-ups that need not be repeated |
//! | `graph.rs` | the graph of an architecture, with all bodies, in one function |
//! | `route.rs` | the fast path: all bodies in one function |
//! | `boundaries.rs` | the fast path after the parser: what the architecture does between controls |
//! | `copies.rs` | the fast path: copies of a packet |
//! | `sending_back.rs` | the fast path: packets that are resubmitted or recirculated |
//! | `burst.rs` | the fast path: the loop over a burst, and the points at which packets wait for each other |
//! | `deparse.rs` | the fast path: emitted headers, in place where possible |

/// The offset of a field of the [`Context`](crate::context::Context).
macro_rules! in_context {
    ($($field:tt)+) => {
        std::mem::offset_of!(crate::context::Context<'_>, $($field)+) as i32
    };
}

mod access;
mod apply;
mod boundaries;
mod burst;
mod checksum;
mod cloning;
mod compose;
mod copies;
mod counting;
mod crc;
mod deparse;
mod expression;
mod externs;
mod field_concat;
mod flow;
mod flows;
mod fused_compare;
pub(crate) mod graph;
mod in_registers;
mod inline_caches;
mod known;
mod mode;
mod new_length;
mod pack;
mod parse;
mod random;
mod route;
mod search;
mod section;
mod select;
mod sending_back;
mod stack_index;
mod stateful;
mod value;
mod value_locations;
mod wide;

use crate::analysis::CursorFact;
use crate::cold_calls::{self, Trampolines};
use crate::context::ending;
use crate::flow_slots::SlotLayout;
use crate::graph::GraphPlan;
use crate::inline_caches::Joins;
use crate::packet_context::{Shape, verdict};
use crate::pool::Pool;
use crate::register_groups::RegisterBanks;
use crate::route::plan::Plan;
use crate::route::{BailOut, Order, Route};
use crate::runtime::Function;
use access::{int_of, within_bounds};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder, Variable};
use forebay_exec::StateLayout;
use forebay_ir::pipeline::Graph;
use forebay_ir::{IndexSet, Program, SlotId, TableId};
use mode::Mode;
use std::collections::{BTreeMap, HashMap};
use value_locations::{Homes, Registers};

pub(crate) use value_locations::SLOTS_MAX;

/// What all functions of a program share.
pub(crate) struct Environment<'a> {
    pub(crate) program: &'a Program,
    pub(crate) layout: &'a StateLayout,
    /// Errors with which the core library ends a parser.
    pub(crate) errors: ParserErrors,
    /// The memory of the data that compiled code points to.
    pub(crate) pool: &'a mut Pool,
    /// Words of temporaries that the bodies translated so far need.
    pub(crate) temporaries: u32,
    /// Bytes in front of packets into which the fast path may write.
    pub(crate) headroom: usize,
    /// Memory that the fast path needs.
    pub(crate) shape: Shape,
    /// Whether the fast path reads packets, or writes anything for them other than their verdicts.
    pub(crate) touches_packets: bool,
    /// Look-ups whose keys come from other look-ups, and the address of a memo that is never valid.
    pub(crate) joins: Joins,
    pub(crate) no_memo: *const u64,
    /// The locations of registers.
    pub(crate) banks: RegisterBanks,
    /// See [`varbits_up_to_length`](crate::analysis::varbits_up_to_length).
    pub(crate) varbits: BTreeMap<SlotId, SlotId>,
    /// The places of tables in a slot of the flow cache, if there is one.
    pub(crate) slots: Option<SlotLayout>,
    /// The most slots that have a register.
    pub(crate) slots_in_registers: usize,
    /// The tables that the current function searches itself.
    pub(crate) searched: Vec<TableId>,
    /// Steps that a body may take.
    pub(crate) step_limit: u64,
    /// The trampolines to runtime functions that are called rarely.
    pub(crate) trampolines: &'static Trampolines,
}

/// Numbers of `error` values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParserErrors {
    pub(crate) packet_too_short: u32,
    pub(crate) header_too_short: u32,
    pub(crate) parser_invalid_argument: u32,
}

/// How a function checks the step limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepCounting {
    /// Not at all: every path through it is shorter than the limit.
    Never,
    /// Before statements whose effect outlives a dropped packet.
    BeforeEffects,
    /// Before every statement: a packet whose parser does not end in time continues with its current state.
    Always,
}

/// What is translated into a function.
#[derive(Clone, Copy)]
pub(crate) enum Unit<'a> {
    /// The graph of an architecture, with the bodies.
    Graph(&'a Graph, &'a GraphPlan),
    /// The fast path.
    Route(&'a Route, &'a Plan, Order),
    /// The part of the fast path's parser that finds the [hashes](crate::flow_pages::Index::fetch) of packets' flows.
    Hashes(&'a Route, &'a Plan),
}

/// How a body ends early.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    StepLimit,
    AssertFailed,
    /// The packet takes the slow path, for this reason.
    BailedOut(BailOut),
    /// The packet takes the slow path for this reason, on this one of the parser paths that were left out.
    LeftOut(BailOut, u32),
    /// The parser rejects the packet with this error.
    Rejected(u32),
}

/// Translates one function.
pub(crate) struct Translator<'e, 'a, 'f> {
    environment: &'e mut Environment<'a>,
    program: &'a Program,
    builder: FunctionBuilder<'f>,
    context: ir::Value,
    state: ir::Value,
    temporaries: ir::Value,
    /// The packet is known to have at least this many bits.
    bits_assured: u64,
    /// What the function is translated for, with what only such functions have.
    mode: Mode<'a>,
    /// Words of temporaries in use by the current statement.
    temporaries_used: u32,
    /// Words of temporaries in use by all statements.
    temporaries_lasting: u32,
    counting: StepCounting,
    /// Steps since the last check of the limit.
    steps: i64,
    /// The parser's position.
    cursor: CursorFact,
    /// Blocks that end the body early. They are filled after everything else has been translated.
    endings: BTreeMap<Ending, ir::Block>,
    signatures: HashMap<(usize, bool), ir::SigRef>,
    /// The locations of slots.
    homes: Homes,
    /// The registers of slots.
    registers: Registers,
    /// The block to which `exit` leads, if the function continues after the control.
    on_exit: Option<ir::Block>,
    /// Slots that may have been written after the parser.
    changed: IndexSet,
    /// For slots assigned in the current block: the fields of which their values consist.
    compositions: HashMap<SlotId, Vec<SlotId>>,
    /// The widths of words.
    widths: known::Widths,
}

/// The signature of all compiled functions.
pub(crate) fn body_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

impl<'e, 'a, 'f> Translator<'e, 'a, 'f> {
    /// Begins a function.
    pub(crate) fn new(environment: &'e mut Environment<'a>, mut builder: FunctionBuilder<'f>) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let context = builder.block_params(entry)[0];
        let slots_in_registers = environment.slots_in_registers;
        let mut translator = Translator {
            program: environment.program,
            environment,
            builder,
            context,
            state: context,
            temporaries: context,
            bits_assured: 0,
            mode: Mode::Graph { on_reject: None },
            temporaries_used: 0,
            temporaries_lasting: 0,
            counting: StepCounting::Never,
            steps: 0,
            cursor: CursorFact::Anywhere,
            endings: BTreeMap::new(),
            signatures: HashMap::new(),
            homes: Homes::default(),
            registers: Registers::new(slots_in_registers),
            on_exit: None,
            changed: IndexSet::new(0),
            compositions: HashMap::new(),
            widths: known::Widths::new(),
        };
        translator.state = translator.load(translator.context, in_context!(state));
        translator.temporaries = translator.load(translator.context, in_context!(temporaries));
        translator
    }

    /// Translates all of a unit.
    pub(crate) fn translate(mut self, unit: Unit<'a>) -> FunctionBuilder<'f> {
        match unit {
            Unit::Graph(graph, plan) => self.graph(graph, plan),
            Unit::Route(route, plan, order) => {
                let shape = self.route(route, plan, order);
                self.environment.shape = self.environment.shape.or(shape);
            }
            Unit::Hashes(route, plan) => self.hashes(route, plan),
        }
        self.fill_taken_back();
        self.fill_endings();
        self.builder.seal_all_blocks();
        self.builder
    }

    /// Continues in a block to which no untranslated block leads, so the values of its registers are known at once.
    fn enter(&mut self, block: ir::Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    /// The same, for a block that is rarely executed.
    fn enter_cold(&mut self, block: ir::Block) {
        self.enter(block);
        self.builder.set_cold_block(block);
    }

    fn blocks<const COUNT: usize>(&mut self) -> [ir::Block; COUNT] {
        std::array::from_fn(|_| self.builder.create_block())
    }

    /// A variable of 64 bits.
    fn variable(&mut self, value: ir::Value) -> Variable {
        let variable = self.builder.declare_var(types::I64);
        self.builder.def_var(variable, value);
        variable
    }

    /// Appends an instruction to the current block.
    fn ins(&mut self) -> FuncInstBuilder<'_, 'f> {
        self.builder.ins()
    }

    /// A constant of 64 bits.
    fn number(&mut self, number: i64) -> ir::Value {
        self.ins().iconst(types::I64, number)
    }

    /// The address of something that lives as long as the code.
    fn pointer<T>(&mut self, target: *const T) -> ir::Value {
        self.number(target.expose_provenance() as i64)
    }

    /// Calls a function that has no result.
    fn call(&mut self, function: Function, arguments: &[ir::Value]) {
        self.call_instruction(function, arguments);
    }

    /// Calls a function without a result that takes the context first. For cold calls: no register changes.
    fn call_rarely(&mut self, function: Function, arguments: &[ir::Value]) {
        assert_eq!(function.parameters, 1 + arguments.len(), "it gets all its arguments");
        for (number, argument) in arguments.iter().enumerate() {
            self.store(*argument, self.context, cold_calls::argument_offset(number));
        }
        self.call_preserving(self.environment.trampolines.to(function));
    }

    /// Calls a function that preserves all registers, with the context and the arguments that are stored there.
    fn call_preserving(&mut self, address: usize) {
        let signature = self.builder.import_signature(cold_calls::signature());
        let address = self.number(address as i64);
        self.builder.ins().call_indirect(signature, address, &[self.context]);
    }

    /// Calls a function that has a result.
    fn call_for_result(&mut self, function: Function, arguments: &[ir::Value]) -> ir::Value {
        let call = self.call_instruction(function, arguments);
        self.builder.inst_results(call)[0]
    }

    fn call_instruction(&mut self, function: Function, arguments: &[ir::Value]) -> ir::Inst {
        assert_eq!(
            arguments.len(),
            function.parameters,
            "a runtime function gets all its arguments"
        );
        let signature = self.signature(function.parameters, function.has_result);
        let address = self.pointer(function.address);
        self.ins().call_indirect(signature, address, arguments)
    }

    fn signature(&mut self, parameters: usize, has_result: bool) -> ir::SigRef {
        if let Some(&known) = self.signatures.get(&(parameters, has_result)) {
            return known;
        }
        let mut signature = Signature::new(self.builder.func.signature.call_conv);
        signature.params.resize(parameters, AbiParam::new(types::I64));
        signature
            .returns
            .resize(usize::from(has_result), AbiParam::new(types::I64));
        let imported = self.builder.import_signature(signature);
        self.signatures.insert((parameters, has_result), imported);
        imported
    }

    /// Allocates words that are free again when the statement ends, and returns their offset in bytes.
    fn temporary(&mut self, words: usize) -> i32 {
        let offset = self.temporaries_used;
        self.temporaries_used += words as u32;
        self.environment.temporaries = self.environment.temporaries.max(self.temporaries_used);
        (offset * 8) as i32
    }

    /// The address of a temporary.
    fn temporary_address(&mut self, words: usize) -> ir::Value {
        let offset = self.temporary(words);
        self.address(self.temporaries, offset)
    }

    fn address(&mut self, base: ir::Value, offset: i32) -> ir::Value {
        if offset == 0 {
            return base;
        }
        self.ins().iadd_imm_u(base, i64::from(offset))
    }

    /// Continues in a new block if `condition` is not 0, and otherwise at `elsewhere`.
    fn go_on_if(&mut self, condition: ir::Value, elsewhere: ir::Block) {
        let next = self.builder.create_block();
        self.ins().brif(condition, next, &[], elsewhere, &[]);
        self.enter(next);
    }

    /// Continues in a new block if `condition` is 0, and otherwise at `elsewhere`.
    fn go_on_unless(&mut self, condition: ir::Value, elsewhere: ir::Block) {
        let next = self.builder.create_block();
        self.ins().brif(condition, elsewhere, &[], next, &[]);
        self.enter(next);
    }

    /// Marks the block that is being filled as cold.
    fn mark_cold(&mut self) {
        let present = self.builder.current_block().expect("a block is being filled");
        self.builder.set_cold_block(present);
    }

    /// Executes one of two pieces of code, and continues after both.
    fn either(&mut self, condition: ir::Value, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let [holds, fails, next] = self.blocks();
        self.ins().brif(condition, holds, &[], fails, &[]);
        self.enter(holds);
        then(self);
        self.ins().jump(next, &[]);
        self.enter(fails);
        otherwise(self);
        self.ins().jump(next, &[]);
        self.enter(next);
    }

    /// Executes cold code that ends the packet if `condition` is not 0. Otherwise continues in a new block.
    fn end_when(&mut self, condition: ir::Value, end: impl FnOnce(&mut Self)) {
        let [ends, next] = self.blocks();
        self.builder.set_cold_block(ends);
        self.ins().brif(condition, ends, &[], next, &[]);
        self.enter(ends);
        end(self);
        self.enter(next);
    }

    /// Continues in a new block if `condition` is not 0. Otherwise the body ends with `otherwise`.
    fn require(&mut self, condition: ir::Value, otherwise: Ending) {
        let end = self.ending(otherwise);
        self.go_on_if(condition, end);
    }

    /// Ends the body with `ending` if `condition` is not 0. Otherwise continues in a new block.
    fn refuse(&mut self, condition: ir::Value, ending: Ending) {
        let end = self.ending(ending);
        self.go_on_unless(condition, end);
    }

    /// The parser's position, in bits.
    fn load_cursor(&mut self) -> ir::Value {
        match (self.path().map(|path| path.leaf.cursor), &self.mode) {
            // The register is not carried across a suspension, because the position is a constant.
            (Some(CursorFact::At(position)), _) => self.number(position as i64),
            (_, Mode::FastPath(fast)) => self.builder.use_var(fast.cursor),
            (_, Mode::Graph { .. }) => self.load(self.context, in_context!(cursor)),
        }
    }

    fn store_cursor(&mut self, cursor: ir::Value) {
        match &self.mode {
            Mode::FastPath(fast) => self.builder.def_var(fast.cursor, cursor),
            Mode::Graph { .. } => self.store(cursor, self.context, in_context!(cursor)),
        }
    }

    /// The block that ends the body with `ending`. On the fast path, a packet that the parser rejects takes the slow
    /// path.
    fn ending(&mut self, ending: Ending) -> ir::Block {
        let ending = match (ending, &self.mode) {
            (Ending::Rejected(error), Mode::FastPath(fast)) => match fast.too_short {
                Some(path) if error == self.environment.errors.packet_too_short => {
                    Ending::LeftOut(BailOut::ParserError, path as u32)
                }
                _ => Ending::BailedOut(BailOut::ParserError),
            },
            (other, _) => other,
        };
        let builder = &mut self.builder;
        *self.endings.entry(ending).or_insert_with(|| builder.create_block())
    }

    fn fill_endings(&mut self) {
        for (ending, block) in std::mem::take(&mut self.endings) {
            self.builder.switch_to_block(block);
            self.builder.set_cold_block(block);
            match ending {
                Ending::StepLimit => self.end(ending::STEP_LIMIT),
                Ending::AssertFailed if self.is_fast_path() => self.end_lane(verdict::ASSERT_FAILED, 0),
                Ending::AssertFailed => self.end(ending::ASSERT_FAILED),
                Ending::BailedOut(reason) => self.bail_out_lane(reason, None),
                Ending::LeftOut(reason, path) => self.bail_out_lane(reason, Some(path)),
                Ending::Rejected(_) => unreachable!("a parser's errors lead to the block behind it"),
            }
        }
    }

    /// Returns from the function.
    fn end(&mut self, ending: i64) {
        let ending = self.number(ending);
        self.ins().return_(&[ending]);
    }

    /// Begins a statement or terminator: checks the step limit if its execution has visible effects.
    fn step(&mut self, has_outside_effect: bool) {
        self.temporaries_used = self.temporaries_lasting;
        if self.counting == StepCounting::Never {
            return;
        }
        self.steps += 1;
        if !has_outside_effect && self.counting != StepCounting::Always {
            return;
        }
        let steps = std::mem::take(&mut self.steps);
        let steps = self.number(steps);
        let left = self.load(self.context, in_context!(steps_left));
        let enough = self
            .ins()
            .icmp(ir::condcodes::IntCC::UnsignedGreaterThanOrEqual, left, steps);
        let remaining = self.ins().isub(left, steps);
        self.store(remaining, self.context, in_context!(steps_left));
        self.require(enough, Ending::StepLimit);
    }
}
