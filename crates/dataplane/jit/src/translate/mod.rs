//! From a body to a function of machine code.
//!
//! The signature is that of all bodies: a pointer to a [`Context`] goes in, one of [`ending`] comes out. In the
//! function of a graph, slots stay in the state's memory between operations; on the fast path ([`crate::route`]) most
//! are in registers or in the packet.
//!
//! | file | what it translates |
//! |---|---|
//! | `value.rs`, `value_locations.rs` | values in registers and in memory, and where slots are |
//! | `access.rs` | loads and stores |
//! | `known.rs` | what is known of words, so that nothing is computed in vain |
//! | `expression.rs`, `word.rs`, `double.rs` | expressions; of up to 64 bits; of up to 128 bits |
//! | `element.rs` | an element of a stack in the packet, by a computed index |
//! | `flow.rs`, `select.rs`, `apply.rs` | blocks and terminators |
//! | `parse.rs` | extract, advance, lookahead |
//! | `pairs.rs` | fields of whole bytes, two at a time |
//! | `pack.rs` | emit, and the data of hashes and checksums |
//! | `crc.rs` | CRCs |
//! | `checksum.rs` | Internet checksums of fields |
//! | `new_length.rs` | the fast path: how long a packet is behind ingress or egress |
//! | `random.rs` | random numbers |
//! | `externs.rs` | registers, counters, meters, requests to the architecture |
//! | `stateful.rs` | registers without calls |
//! | `cloning.rs` | the fast path: clones |
//! | `counting.rs` | counters without calls, and packets that are taken back from them |
//! | `slots.rs` | slots in the state, around bodies |
//! | `section.rs` | atomic sections, and their locks in elements of registers |
//! | `search.rs` | looking keys up in place |
//! | `flows.rs` | the fast path: look-ups that take what the last packet of the flow has found |
//! | `memo.rs` | the fast path: look-ups that need not be repeated |
//! | `graph.rs` | the graph of an architecture, with all bodies, in one function |
//! | `route.rs` | the fast path: all bodies in one function |
//! | `joints.rs` | the fast path behind the parser: what the architecture does between controls |
//! | `choices.rs` | the fast path: writes to one of several registers |
//! | `copies.rs` | the fast path: copies of a packet |
//! | `burst.rs` | the fast path: the loop over a burst, and where packets wait for each other |
//! | `deparse.rs` | the fast path: headers in their places |

mod access;
mod apply;
mod boundaries;
mod burst;
mod checksum;
mod cloning;
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
mod indexed_stores;
mod inline_caches;
mod known;
mod new_length;
mod pack;
mod parse;
mod random;
mod route;
mod search;
mod section;
mod select;
mod slots;
mod stack_index;
mod stateful;
mod value;
mod value_locations;
mod wide_loads;
mod word128;
mod word64;

use crate::analysis::CursorFact;
use crate::cold_calls::{self, Ways};
use crate::context::{Context, ending};
use crate::flow_slots::SlotLayout;
use crate::graph::GraphPlan;
use crate::inline_caches::Joins;
use crate::packet_context::{Shape, fate};
use crate::pool::Pool;
use crate::register_groups::RegisterBanks;
use crate::route::plan::{Leaf, Plan};
use crate::route::{BailOut, Order, Route};
use crate::runtime::{Function, words};
use access::within_bounds;
use burst::Burst;
use cloning::CloneWanted;
use copies::{CopyLoop, FoundOnce};
use counting::{Counted, TakenBack};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use flows::FlowSlot;
use forebay_exec::StateLayout;
use forebay_ir::pipeline::Graph;
use forebay_ir::{Action, ActionId, Body, IndexSet, Program, SlotId, TableId};
use indexed_stores::ChosenWrite;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::offset_of;
use value::Value;
use value_locations::{Homes, Registers};
pub(crate) use wide_loads::machine_shuffles;

/// What is the same for all bodies of a program.
pub(crate) struct Environment<'a> {
    pub(crate) program: &'a Program,
    pub(crate) layout: &'a StateLayout,
    /// Errors with which the core library ends a parser.
    pub(crate) errors: ParserErrors,
    /// What compiled code points to.
    pub(crate) pool: &'a mut Pool,
    /// Words of temporaries that the bodies so far need.
    pub(crate) temporaries: u32,
    /// Bytes in front of packets into which the fast path may write.
    pub(crate) headroom: usize,
    /// Memory that the fast path needs.
    pub(crate) shape: Shape,
    /// Whether the fast path looks at packets, or writes anything of them besides what becomes of them.
    pub(crate) touches_packets: bool,
    /// Look-ups whose keys others have found, and a memo that never holds.
    pub(crate) joins: Joins,
    pub(crate) no_memo: *const u64,
    /// Where registers are.
    pub(crate) banks: RegisterBanks,
    /// Where tables are in the slots of a flow cache, if there is one.
    pub(crate) slots: Option<SlotLayout>,
    /// The tables that the present function searches itself.
    pub(crate) searched: Vec<TableId>,
    /// Whether the machine shuffles the bytes of vectors.
    pub(crate) shuffles: bool,
    /// Steps that a body may take.
    pub(crate) step_limit: u64,
    /// The functions of actions that are not inlined.
    pub(crate) outlined: &'a HashMap<ActionId, cranelift_module::FuncId>,
    /// How functions are called that change no register.
    pub(crate) ways: &'static Ways,
}

/// Numbers of `error` values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParserErrors {
    pub(crate) packet_too_short: u32,
    pub(crate) header_too_short: u32,
    pub(crate) parser_invalid_argument: u32,
}

/// How a function watches the limit of steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepCounting {
    /// Not at all: no way through it is longer than the limit.
    Never,
    /// Before statements whose effect can be seen although the packet is dropped.
    BeforeEffects,
    /// Before every statement: a packet whose parser does not end in time goes on with the state that it has then.
    Always,
}

/// What is translated into a function.
#[derive(Clone, Copy)]
pub(crate) enum Unit<'a> {
    /// An action that controls call.
    Action(ActionId),
    /// Everything that an architecture does, and the bodies.
    Graph(&'a Graph, &'a GraphPlan),
    /// The fast path.
    Route(&'a Route, &'a Plan, Order),
    /// Of its parser, what finds the [hashes](crate::flow_pages::Index::fetch) of packets' flows.
    Hashes(&'a Route, &'a Plan),
}

/// How a body ends early.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Exited,
    StepLimit,
    AssertFailed,
    /// The packet takes the slow path, for this reason.
    BailedOut(BailOut),
    /// The packet takes the slow path for this reason, on this one of the ways through the parser that were left out.
    LeftOut(BailOut, u32),
    /// A parser rejects with this error.
    Rejected(u32),
}

/// Translates one function.
pub(crate) struct Translator<'e, 'a, 'f> {
    environment: &'e mut Environment<'a>,
    program: &'a Program,
    builder: FunctionBuilder<'f>,
    /// References to outlined actions in this function.
    callees: HashMap<ActionId, ir::FuncRef>,
    context: ir::Value,
    state: ir::Value,
    temporaries: ir::Value,
    /// The packet is known to have so many bits.
    bits_assured: u64,
    /// On the fast path: the way of packets that end before what the statement reads, if it is one that was left out.
    too_short: Option<usize>,
    /// Words of temporaries in use by the present statement.
    temporaries_used: u32,
    /// Words of temporaries in use by all of them.
    temporaries_lasting: u32,
    counting: StepCounting,
    /// Steps since the last check of the limit.
    steps: i64,
    /// Where the parser stands.
    cursor: CursorFact,
    /// Blocks that end the body early, filled when everything else is translated.
    endings: BTreeMap<Ending, ir::Block>,
    signatures: HashMap<(usize, bool), ir::SigRef>,
    /// Where slots are.
    homes: Homes,
    /// The value of a slot that the next statement writes again, and which nobody but this statement sees.
    deferred: Option<(SlotId, Value)>,
    /// The registers of slots.
    registers: Registers,
    /// Where the errors of a parser lead when the function goes on behind it.
    on_reject: Option<ir::Block>,
    /// Where `exit` leads when the function goes on behind the control.
    on_exit: Option<ir::Block>,
    /// On the fast path: whether a checksum was found wrong.
    checksum_failed: Option<Variable>,
    /// On the fast path, behind ingress: where the packet leaves.
    egress_port: Option<Variable>,
    /// What is counted in the present block, if it is not the frame's length: see [`crate::route::Route::counted_length`].
    counted_length: Option<SlotId>,
    /// On the fast path: bits of the headers that were valid behind the parser, if that is asked for.
    parsed_bits: Option<Variable>,
    /// The fast path's loop.
    burst: Option<Burst>,
    /// On the fast path: where the parser stands, in bits.
    cursor_variable: Variable,
    /// On the fast path: the way through the parser behind which we are.
    leaf: Option<&'a Leaf>,
    /// On the fast path: sums that are needed again, and the slots that may change in between.
    bases: Vec<checksum::Base<'a>>,
    changing: checksum::Changing,
    /// By block of the flow: sums that are known when it begins; and those that are known in the present one.
    sums_before: Vec<checksum::SumsKnown>,
    sums_known: checksum::SumsKnown,
    /// Slots that may have been written behind the parser.
    changed: IndexSet,
    /// The fields from which values are put together that the present block has computed.
    compositions: HashMap<SlotId, Vec<SlotId>>,
    /// On the fast path, when packets do not wait for each other: at most so many bytes of the present one leave, if they may be
    /// limited.
    truncate_to: Option<Variable>,
    /// The present packet's slot in the flow cache, if a look-up uses it, and the tables that are looked up with it.
    flow_slot: Option<FlowSlot>,
    flow_tables: BTreeSet<TableId>,
    /// Whether the function does nothing but find hashes of flows.
    finds_hashes: bool,
    /// By leading table: where the memo of the record is that was found.
    memos: BTreeMap<TableId, Variable>,
    /// Bits that words have.
    widths: known::Widths,
    /// The loop that makes copies, where we are in one.
    copy_loop: Option<CopyLoop>,
    /// Whether nobody writes to the packet from here on, nor has done so behind the parser, while this packet has its turn.
    packet_rests: bool,
    /// Where packets with a wrong checksum go on at once.
    on_checksum_error: Option<ir::Block>,
    /// The present block has a write to one of several registers.
    chosen_write: Option<ChosenWrite>,
    /// On the fast path: the clone that is wanted of the present packet, if clones are noted.
    clone_wanted: Option<CloneWanted>,
    /// On the fast path: where the present packet has been counted.
    counted: Counted,
    /// Packets that bail out and have been counted: translated when everything else is.
    taken_back: Vec<TakenBack>,
    /// What look-ups found that are the same for all copies, by the loop's register and table.
    found_once: HashMap<(u32, TableId), FoundOnce>,
}

/// Words of an action's arguments.
fn argument_words(action: &Action) -> usize {
    action.params.iter().map(|param| words(param.width)).sum()
}

/// The signature of all compiled bodies.
pub(crate) fn body_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

macro_rules! context_fields {
    ($($load:ident, $store:ident: $field:ident;)*) => {
        impl Translator<'_, '_, '_> {$(
            context_fields!(@load $load $field);
            context_fields!(@store $store $field);
        )*}
    };
    (@load none $field:ident) => {};
    (@load $name:ident $field:ident) => {
        fn $name(&mut self) -> ir::Value {
            self.load(self.context, offset_of!(Context<'_>, $field) as i32)
        }
    };
    (@store none $field:ident) => {};
    (@store $name:ident $field:ident) => {
        fn $name(&mut self, value: ir::Value) {
            self.store(value, self.context, offset_of!(Context<'_>, $field) as i32);
        }
    };
}

context_fields! {
    load_packet, none: packet;
    load_packet_bits, none: packet_bits;
    load_context_cursor, store_context_cursor: cursor;
    load_state, none: state;
    load_temporaries, none: temporaries;
    load_steps_left, store_steps_left: steps_left;
    none, store_error: error;
    load_output_frame, none: output_frame;
    load_hit, none: hit;
    load_color, none: color;
    load_arguments, store_arguments: arguments;
    load_ingress_port, none: ingress_port;
    load_timestamp, none: timestamp_us;
    load_last_queue, none: last_queue;
    load_random_seed, none: random_seed;
    load_queues, none: queues;
    load_first_frame, none: first_frame;
    load_frame_stride, none: frame_stride;
    load_fates, none: fates;
    load_fates_end, none: fates_end;
    load_lanes, none: lanes;
    load_lane_words, none: lane_words;
    load_flow_index, none: flow_index;
    load_flow_tag, none: flow_tag;
    load_flow_shift, none: flow_shift;
    load_counters, none: counters;
    load_hit_times, none: hit_times;
    load_held_lock, none: held_lock;
    load_output_next, store_output_next: output_next;
    load_output_end, none: output_end;
}

impl<'e, 'a, 'f> Translator<'e, 'a, 'f> {
    /// Begins a function.
    pub(crate) fn new(
        environment: &'e mut Environment<'a>,
        mut builder: FunctionBuilder<'f>,
        callees: HashMap<ActionId, ir::FuncRef>,
        counting: StepCounting,
    ) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let context = builder.block_params(entry)[0];
        let cursor_variable = builder.declare_var(types::I64);
        let mut translator = Translator {
            program: environment.program,
            environment,
            builder,
            callees,
            context,
            state: context,
            temporaries: context,
            bits_assured: 0,
            too_short: None,
            temporaries_used: 0,
            temporaries_lasting: 0,
            counting,
            steps: 0,
            cursor: CursorFact::Anywhere,
            endings: BTreeMap::new(),
            signatures: HashMap::new(),
            homes: Homes::default(),
            deferred: None,
            registers: Registers::default(),
            on_reject: None,
            on_exit: None,
            checksum_failed: None,
            egress_port: None,
            counted_length: None,
            parsed_bits: None,
            burst: None,
            cursor_variable,
            leaf: None,
            bases: Vec::new(),
            changing: checksum::Changing::new(),
            sums_before: Vec::new(),
            sums_known: checksum::SumsKnown::new(),
            changed: IndexSet::new(0),
            compositions: HashMap::new(),
            truncate_to: None,
            flow_slot: None,
            flow_tables: BTreeSet::new(),
            finds_hashes: false,
            memos: BTreeMap::new(),
            widths: known::Widths::new(),
            copy_loop: None,
            on_checksum_error: None,
            chosen_write: None,
            packet_rests: false,
            clone_wanted: None,
            counted: Counted::default(),
            taken_back: Vec::new(),
            found_once: HashMap::new(),
        };
        translator.state = translator.load_state();
        translator.temporaries = translator.load_temporaries();
        translator
    }

    /// Translates the whole of it.
    pub(crate) fn translate(mut self, unit: Unit<'a>) -> FunctionBuilder<'f> {
        let program = self.program;
        match unit {
            Unit::Action(action) => {
                // Whoever calls it may have put the arguments there.
                self.temporaries_lasting = argument_words(&program.actions[action.index()]) as u32;
                self.environment.temporaries = self.environment.temporaries.max(self.temporaries_lasting);
                let arguments = self.load_arguments();
                self.action_body(action, arguments, None);
            }
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

    fn action_body(&mut self, action: ActionId, arguments: ir::Value, on_return: Option<ir::Block>) {
        let program = self.program;
        let action = &program.actions[action.index()];
        let body: &Body = &program.bodies[action.body.index()];
        self.body(body, Some(value::ActionData::of_values(action, arguments)), on_return);
    }

    /// Goes on with a block to which nothing leads that has not been translated: what registers hold in it is known at once.
    fn enter(&mut self, block: ir::Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    /// A constant of 64 bits.
    fn number(&mut self, number: i64) -> ir::Value {
        self.builder.ins().iconst(types::I64, number)
    }

    /// The address of something that lives as long as the code.
    fn pointer<T>(&mut self, target: *const T) -> ir::Value {
        self.number(target.expose_provenance() as i64)
    }

    /// Calls a function that has no result.
    fn call(&mut self, function: Function, arguments: &[ir::Value]) {
        self.call_instruction(function, arguments);
    }

    /// Calls a function that has no result and wants the context first, where that hardly ever happens: no register changes.
    fn call_rarely(&mut self, function: Function, arguments: &[ir::Value]) {
        assert_eq!(function.parameters, 1 + arguments.len(), "it gets all its arguments");
        for (number, argument) in arguments.iter().enumerate() {
            self.store(*argument, self.context, cold_calls::argument_offset(number));
        }
        let signature = self.builder.import_signature(cold_calls::signature());
        let way = self.number(self.environment.ways.to(function) as i64);
        self.builder.ins().call_indirect(signature, way, &[self.context]);
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
        self.builder.ins().call_indirect(signature, address, arguments)
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

    /// Memory for so many words, until the statement ends: its offset in bytes.
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
        let offset = self.number(offset.into());
        self.builder.ins().iadd(base, offset)
    }

    /// Goes on in a new block when `condition` is not 0, and ends the body so otherwise.
    fn require(&mut self, condition: ir::Value, otherwise: Ending) {
        let (next, end) = (self.builder.create_block(), self.ending(otherwise));
        self.builder.ins().brif(condition, next, &[], end, &[]);
        self.enter(next);
    }

    /// Goes on in a new block unless `condition` is not 0: then the body ends so.
    fn refuse(&mut self, condition: ir::Value, ending: Ending) {
        let (next, end) = (self.builder.create_block(), self.ending(ending));
        self.builder.ins().brif(condition, end, &[], next, &[]);
        self.enter(next);
    }

    /// Whether the function is the fast path.
    fn is_fast_path(&self) -> bool {
        self.burst.is_some()
    }

    /// Where the parser stands, in bits.
    fn load_cursor(&mut self) -> ir::Value {
        match self.leaf.map(|leaf| leaf.cursor) {
            // Not carried to where a packet is taken up again.
            Some(CursorFact::At(position)) => self.number(position as i64),
            _ if self.is_fast_path() => self.builder.use_var(self.cursor_variable),
            _ => self.load_context_cursor(),
        }
    }

    fn store_cursor(&mut self, cursor: ir::Value) {
        match self.is_fast_path() {
            true => self.builder.def_var(self.cursor_variable, cursor),
            false => self.store_context_cursor(cursor),
        }
    }

    /// The block that ends the body so. On the fast path, a packet that the parser rejects takes the long one.
    fn ending(&mut self, ending: Ending) -> ir::Block {
        let ending = match ending {
            Ending::Rejected(error) if self.is_fast_path() => match self.too_short {
                Some(way) if error == self.environment.errors.packet_too_short => {
                    Ending::LeftOut(BailOut::ParserError, way as u32)
                }
                _ => Ending::BailedOut(BailOut::ParserError),
            },
            other => other,
        };
        let builder = &mut self.builder;
        *self.endings.entry(ending).or_insert_with(|| builder.create_block())
    }

    fn fill_endings(&mut self) {
        for (ending, block) in std::mem::take(&mut self.endings) {
            self.builder.switch_to_block(block);
            self.builder.set_cold_block(block);
            match ending {
                Ending::Exited => self.end(ending::EXITED),
                Ending::StepLimit => self.end(ending::STEP_LIMIT),
                Ending::AssertFailed if self.is_fast_path() => self.end_lane(fate::ASSERT_FAILED),
                Ending::AssertFailed => self.end(ending::ASSERT_FAILED),
                Ending::BailedOut(reason) => self.bail_out_lane(reason, None),
                Ending::LeftOut(reason, way) => self.bail_out_lane(reason, Some(way)),
                Ending::Rejected(error) => {
                    let error = self.number(error.into());
                    self.store_error(error);
                    self.end(ending::REJECTED);
                }
            }
        }
    }

    /// Returns from the function.
    fn end(&mut self, ending: i64) {
        let ending = self.number(ending);
        self.builder.ins().return_(&[ending]);
    }

    /// A statement or terminator begins: checks the limit where it can be seen whether it was executed.
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
        let left = self.load_steps_left();
        let enough = self
            .builder
            .ins()
            .icmp(ir::condcodes::IntCC::UnsignedGreaterThanOrEqual, left, steps);
        let remaining = self.builder.ins().isub(left, steps);
        self.store_steps_left(remaining);
        self.require(enough, Ending::StepLimit);
    }
}
