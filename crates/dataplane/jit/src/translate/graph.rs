//! The graph of an architecture in one function: see [`crate::graph`].

use super::mode::Mode;
use super::{Ending, Translator};
use crate::analysis::{CursorFact, emits_whole_bytes};
use crate::compile::body_counting;
use crate::context::ending;
use crate::graph::{At, GraphPlan};
use crate::route::facts::Facts;
use crate::runtime::{self, words};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Switch;
use forebay_ir::pipeline::{Argument, End, Entry, Finish, GlueOp, Graph, Pairs, Target};
use forebay_ir::{BlockId, Body, BodyId, BodyKind, Expr, KeySet, Op, Program, SlotId};

/// Up to this many words of the state are cleared by stores, more by a call.
const CLEARED_WORDS_MAX: usize = 256;

/// Bytes copied by one load and store.
pub(crate) const COPIED_AT_ONCE: i64 = 16;

/// A graph, the plan for it, and Cranelift's block for each of its blocks.
struct GraphRegion<'a> {
    graph: &'a Graph,
    plan: &'a GraphPlan,
    blocks: Vec<ir::Block>,
    /// The blocks in which stopped code continues, by entrance.
    resumed: Vec<ir::Block>,
    /// The error of a parser that does not end in time. Without it, such a packet ends.
    timeout: Option<u32>,
}

impl GraphRegion<'_> {
    fn block(&self, id: BlockId) -> ir::Block {
        self.blocks[id.index()]
    }

    /// The block in which code continues after an operation.
    fn behind(&self, at: At) -> ir::Block {
        self.resumed[self.plan.place(At { op: at.op + 1, ..at })]
    }
}

impl<'a> Translator<'_, 'a, '_> {
    /// Translates the whole graph.
    pub(super) fn graph(&mut self, graph: &'a Graph, plan: &'a GraphPlan) {
        let region = GraphRegion {
            graph,
            plan,
            blocks: graph.blocks.iter().map(|_| self.builder.create_block()).collect(),
            resumed: plan.entrances.iter().map(|_| self.builder.create_block()).collect(),
            timeout: self.program.error("ParserTimeout"),
        };
        self.enter_graph(&region);
        for (id, block) in (0..).map(BlockId).zip(&graph.blocks) {
            self.builder.switch_to_block(region.block(id));
            for (op, glue) in block.ops.iter().enumerate() {
                self.glue_op(&region, glue, At { block: id, op });
            }
            self.glue_end(&region, &block.end, id);
        }
    }

    /// Jumps to the block of the entrance.
    fn enter_graph(&mut self, region: &GraphRegion<'a>) {
        let zero = self.number(0);
        self.store(zero, self.context, in_context!(has_passed));
        let entrance = self.load(self.context, in_context!(entrance));
        let mut switch = Switch::new();
        for (number, block) in (0_u128..).zip(&region.resumed).skip(1) {
            switch.set_entry(number, *block);
        }
        switch.emit(&mut self.builder, entrance, region.resumed[0]);
        for (entrance, resumed) in region.plan.entrances.iter().zip(&region.resumed) {
            if entrance.at.op > 0 {
                continue;
            }
            self.builder.switch_to_block(*resumed);
            if entrance.clears {
                let live = region.plan.live.before(entrance.at.block);
                self.clear_slots(|_, slot| live.contains(slot.index()));
            }
            self.ins().jump(region.block(entrance.at.block), &[]);
        }
    }

    fn glue_op(&mut self, region: &GraphRegion<'a>, op: &'a GlueOp, at: At) {
        self.temporaries_used = 0;
        match op {
            GlueOp::Set { slot, value } => {
                let value = self.value(value, None);
                self.write_slot(*slot, value);
            }
            GlueOp::Take { slot, argument } => {
                let number = self.argument(*argument);
                self.write_number(*slot, number);
            }
            GlueOp::Clear(clear) => self.clear_slots(|program, slot| clear.concerns(&program.slot(slot).kind)),
            GlueOp::Restore => self.restore_kept(region, at.block),
            GlueOp::Reframe { truncate } => self.reframe(region, truncate.as_ref(), at),
            GlueOp::Mirror(_) => self.stop_at(region, at),
            GlueOp::Commit => {
                let wanted = self.load(self.context, in_context!(wants_copies));
                let (stops, behind) = (self.builder.create_block(), region.behind(at));
                self.builder.set_cold_block(stops);
                self.ins().brif(wanted, stops, &[], behind, &[]);
                self.builder.switch_to_block(stops);
                self.stop_at(region, at);
            }
        }
    }

    /// Stops before an operation, and continues after it.
    fn stop_at(&mut self, region: &GraphRegion<'_>, at: At) {
        self.stop(at, ending::STOPPED_AT_OP);
        self.builder.switch_to_block(region.behind(at));
    }

    fn stop(&mut self, at: At, ending: i64) {
        let place = self.number(at.number());
        self.store(place, self.context, in_context!(stop));
        self.end(ending);
    }

    /// The value of an argument.
    fn argument(&mut self, argument: Argument) -> ir::Value {
        match argument {
            Argument::FrameLength => self.received_bytes(),
            Argument::HeaderBytes => {
                let bits = self.valid_header_bits(&Facts::default());
                self.shifted_right(bits, 3)
            }
            _ if let Some(request) = Argument::REQUESTS.iter().position(|request| *request == argument) => {
                self.requested(request)
            }
            _ => {
                let arguments = self.load(self.context, in_context!(switch_arguments));
                self.load(arguments, 8 * argument as i32)
            }
        }
    }

    /// A request of the packet. Most packets have none, which needs no call.
    fn requested(&mut self, request: usize) -> ir::Value {
        let asked = self.load(self.context, in_context!(asked));
        let asks = self.ins().band_imm_u(asked, 1 << request);
        let [some, next] = self.blocks();
        let value = self.builder.append_block_param(next, types::I64);
        let zero = self.number(0);
        self.ins().brif(asks, some, &[], next, &[zero.into()]);
        self.builder.switch_to_block(some);
        let request = self.number(request as i64);
        let requested = self.call_for_result(runtime::REQUESTED, &[self.context, request]);
        self.ins().jump(next, &[requested.into()]);
        self.builder.switch_to_block(next);
        value
    }

    /// Sets slots to 0.
    fn clear_slots(&mut self, is_cleared: impl Fn(&Program, SlotId) -> bool) {
        let slots = (0..self.program.slots.len() as u32).map(SlotId);
        let slots = slots.filter(|slot| is_cleared(self.program, *slot));
        let words = slots.flat_map(|slot| {
            let first = self.environment.layout.first_word(slot);
            first..first + words(self.program.slot(slot).width)
        });
        let words: Vec<usize> = words.collect();
        if words.len() <= CLEARED_WORDS_MAX {
            return self.clear_by_stores(&words);
        }
        for run in words.chunk_by(|word, next| word + 1 == *next) {
            let first = self.address(self.state, 8 * run[0] as i32);
            let count = self.number(run.len() as i64);
            self.call(runtime::CLEAR, &[first, count]);
        }
    }

    /// Sets words of the state, given in ascending order, to 0.
    fn clear_by_stores(&mut self, words: &[usize]) {
        let zeros = self.builder.func.dfg.constants.insert(vec![0; 16].into());
        let zeros = self.ins().vconst(types::I64X2, zeros);
        let zero = self.number(0);
        let mut rest = words;
        while let [first, behind @ ..] = rest {
            let is_pair = behind.first() == Some(&(first + 1));
            let value = if is_pair { zeros } else { zero };
            self.store(value, self.state, 8 * *first as i32);
            rest = &behind[usize::from(is_pair)..];
        }
    }

    /// Sets slots to the values that came with the packet, where there are any.
    fn restore_kept(&mut self, region: &GraphRegion<'_>, block: BlockId) {
        let kept = self.load(self.context, in_context!(kept));
        for (slot, always) in region.plan.restored.get(&block).into_iter().flatten() {
            let place = 8 * region.plan.kept[slot] as i32;
            let present = if *always {
                self.number(1)
            } else {
                self.load(kept, place)
            };
            self.when(present, |translator| {
                let width = translator.program.slot(*slot).width;
                let value = translator.load_value(width, kept, place + 8);
                translator.write_slot(*slot, value);
            });
        }
    }

    /// Stores the values that go with the packet to an entry.
    fn keep(&mut self, region: &GraphRegion<'_>, entry: Entry, pairs: &Pairs) {
        let kept = self.load(self.context, in_context!(kept));
        for slot in &region.graph.entries[&entry].preserved {
            let present = region.plan.kept[slot];
            let width = self.program.slot(*slot).width;
            match pairs.iter().rev().find(|(_, to)| to == slot) {
                Some((from, _)) => {
                    let one = self.number(1);
                    self.store(one, kept, 8 * present as i32);
                    let value = self.read_slot(*from);
                    self.store_value(value, kept, 8 * (present as i32 + 1));
                }
                None => {
                    let zero = self.number(0);
                    (present..=present + words(width)).for_each(|word| self.store(zero, kept, 8 * word as i32));
                }
            }
        }
    }

    fn glue_end(&mut self, region: &GraphRegion<'a>, end: &'a End, id: BlockId) {
        self.temporaries_used = 0;
        let op = region.graph.block(id).ops.len();
        match end {
            End::Jump(next) => {
                self.ins().jump(region.block(*next), &[]);
            }
            End::Branch {
                condition,
                then_block,
                else_block,
            } => {
                let condition = self.condition(condition, None);
                let (then_block, else_block) = (region.block(*then_block), region.block(*else_block));
                self.ins().brif(condition, then_block, &[], else_block, &[]);
            }
            End::Select { key, cases, default } => {
                let keysets: Vec<[KeySet; 1]> = (cases.iter())
                    .map(|(value, _)| [KeySet::Exact(value.clone())])
                    .collect();
                let cases: Vec<(&[KeySet], ir::Block)> = (keysets.iter().zip(cases))
                    .map(|(keyset, (_, target))| (&keyset[..], region.block(*target)))
                    .collect();
                self.select(std::slice::from_ref(key), &cases, region.block(*default), None);
            }
            End::Run { body, next, reject } => self.run(region, *body, *next, *reject),
            End::Suspend { .. } => self.suspend(region, end, At { block: id, op }),
            End::Replicate { .. } | End::Finish(_) => {
                self.note_end(end);
                self.stop(At { block: id, op }, ending::STOPPED_AT_END);
            }
        }
    }

    /// Stores the values of an end for the caller.
    fn note_end(&mut self, end: &End) {
        let values: Vec<&Expr> = match end {
            End::Replicate {
                target: Target::Group(group),
                ..
            } => vec![group],
            End::Suspend {
                port, class, length, ..
            } => vec![port, class, length],
            End::Finish(Finish::Transmit { port }) => vec![port],
            _ => Vec::new(),
        };
        for (index, expr) in values.into_iter().enumerate() {
            let value = self.saturated_of(expr, None);
            self.store_end_value(index, value);
        }
        if let End::Finish(Finish::Drop(reason)) = end {
            let error = match reason.error {
                Some(slot) => self.word_of_slot(slot),
                None => self.number(0),
            };
            self.store_end_value(0, error);
        }
    }

    fn store_end_value(&mut self, index: usize, value: ir::Value) {
        self.store(value, self.context, in_context!(end_values) + 8 * index as i32);
    }

    /// Suspends the packet at a queue, or lets it pass the queue.
    fn suspend(&mut self, region: &GraphRegion<'a>, end: &End, at: At) {
        let End::Suspend {
            port,
            class,
            resume,
            preserve,
            ..
        } = end
        else {
            unreachable!("it is called with one")
        };
        let passes = self.load(self.context, in_context!(passes_queues));
        let [past, waits] = self.blocks();
        self.ins().brif(passes, past, &[], waits, &[]);
        self.builder.switch_to_block(waits);
        self.note_end(end);
        self.stop(at, ending::STOPPED_AT_END);
        self.builder.switch_to_block(past);
        let port = self.word_of(port, None);
        let class = self.word_of(class, None);
        self.keep(region, *resume, preserve);
        self.pass_queue(port, class);
        self.begin_random_after_queue(region, port);
        let behind = region.graph.entries[resume].block;
        self.ins().jump(region.block(behind), &[]);
    }

    /// Sets the arguments of an empty queue.
    fn pass_queue(&mut self, port: ir::Value, class: ir::Value) {
        let arguments = self.load(self.context, in_context!(switch_arguments));
        let last = self.load(self.context, in_context!(last_queue));
        let class = self.ins().umin(class, last);
        let time = self.load(arguments, 8 * Argument::TimeUs as i32);
        let (one, none) = (self.number(1), self.number(0));
        for (argument, value) in [
            (Argument::EgressPort, port),
            (Argument::Class, class),
            (Argument::EnqueueTimeUs, time),
            (Argument::EnqueueDepth, none),
            (Argument::DequeueDepth, none),
        ] {
            self.store(value, arguments, 8 * argument as i32);
        }
        self.store(one, self.context, in_context!(has_passed));
    }

    /// Gives the packet a new random number generator after a queue.
    fn begin_random_after_queue(&mut self, region: &GraphRegion<'_>, port: ir::Value) {
        if !draws_after_queue(self.program, region) {
            return;
        }
        let seed = self.load(self.context, in_context!(random_seed));
        let seed = self.seed_in_egress(seed, port);
        self.store(seed, self.context, in_context!(random));
    }

    /// Translates a body. It continues at `next`, or at `reject` if the parser rejects.
    fn run(&mut self, region: &GraphRegion<'a>, id: BodyId, next: BlockId, reject: Option<BlockId>) {
        let program: &'a Program = self.program;
        let body: &'a Body = &program.bodies[id.index()];
        self.bits_assured = 0;
        self.begin_body(id);
        let next = region.block(next);
        match body.kind {
            BodyKind::Parser => self.run_parser(region, body, next, reject.map_or(next, |id| region.block(id))),
            _ => {
                self.on_exit = Some(next);
                self.body(body, None, next);
                self.on_exit = None;
            }
        }
        self.cursor = CursorFact::Anywhere;
    }

    /// Resets the steps at a body's beginning: every body may take all of them.
    fn begin_body(&mut self, body: BodyId) {
        self.steps = 0;
        let limit = self.environment.step_limit;
        self.counting = body_counting(self.program, body, limit);
        let limit = self.number(limit as i64);
        self.store(limit, self.context, in_context!(steps_left));
    }

    fn run_parser(&mut self, region: &GraphRegion<'_>, body: &'a Body, next: ir::Block, reject: ir::Block) {
        let before = std::mem::take(&mut self.endings);
        let rejected = self.builder.create_block();
        let error = self.builder.append_block_param(rejected, types::I64);
        self.mode = Mode::Graph {
            on_reject: Some(rejected),
        };
        self.body(body, None, next);
        self.mode = Mode::Graph { on_reject: None };
        for (ending, block) in std::mem::replace(&mut self.endings, before) {
            let error = match ending {
                Ending::Rejected(error) => Some(error),
                Ending::StepLimit => region.timeout,
                _ => None,
            };
            self.builder.switch_to_block(block);
            self.builder.set_cold_block(block);
            match error {
                Some(error) => {
                    let error = self.number(error.into());
                    self.ins().jump(rejected, &[error.into()]);
                }
                None => {
                    let ends = self.ending(ending);
                    self.ins().jump(ends, &[]);
                }
            }
        }
        self.builder.switch_to_block(rejected);
        self.builder.set_cold_block(rejected);
        let arguments = self.load(self.context, in_context!(switch_arguments));
        self.store(error, arguments, 8 * Argument::ParserError as i32);
        self.ins().jump(reject, &[]);
    }

    /// Makes the emitted bytes, followed by what the parser left, the frame.
    fn reframe(&mut self, region: &GraphRegion<'_>, truncate: Option<&Expr>, at: At) {
        let (stops, behind) = (self.builder.create_block(), region.behind(at));
        self.builder.set_cold_block(stops);
        if emits_whole_bytes(self.program) {
            self.reframe_in_place(truncate, stops);
            self.ins().jump(behind, &[]);
        } else {
            self.ins().jump(stops, &[]);
        }
        self.builder.switch_to_block(stops);
        self.stop_at(region, at);
    }

    /// Jumps to `otherwise`, with nothing changed, if there is no room or the emitted bits are not whole bytes.
    fn reframe_in_place(&mut self, truncate: Option<&Expr>, otherwise: ir::Block) {
        let emitted = self.load(self.context, in_context!(output_buffer));
        self.go_on_if(emitted, otherwise);
        let cursor = self.load(self.context, in_context!(cursor));
        let within_byte = self.ins().band_imm_u(cursor, 7);
        let is_whole = self.ins().icmp_imm_u(IntCC::Equal, within_byte, 0);
        self.go_on_if(is_whole, otherwise);
        let output_next = self.load(self.context, in_context!(output_next));
        let bytes = self.ins().isub(output_next, emitted);
        let front = self.shifted_right(cursor, 3);
        let packet = self.load(self.context, in_context!(packet));
        let payload = self.ins().iadd(packet, front);
        let start = self.ins().isub(payload, bytes);
        let floor = self.load(self.context, in_context!(frame_floor));
        // The last copy may begin before the frame.
        let before = self.number(COPIED_AT_ONCE - 1);
        let floor = self.ins().iadd(floor, before);
        let is_room = self.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, start, floor);
        self.go_on_if(is_room, otherwise);
        let bits = self.load(self.context, in_context!(packet_bits));
        let length = self.shifted_right(bits, 3);
        let rest = self.ins().isub(length, front);
        let mut length = self.ins().iadd(rest, bytes);
        if let Some(limit) = truncate {
            let limit = self.saturated_of(limit, None);
            let one = self.number(1);
            // No limit is the largest number.
            let limit = self.ins().isub(limit, one);
            length = self.ins().umin(length, limit);
        }
        let length_max = self.load(self.context, in_context!(length_max));
        let fits = self.ins().icmp(IntCC::UnsignedLessThanOrEqual, length, length_max);
        self.go_on_if(fits, otherwise);
        self.copy_before(payload, output_next, start);
        let bits = self.shifted_left(length, 3);
        let zero = self.number(0);
        self.store(start, self.context, in_context!(packet));
        self.store(bits, self.context, in_context!(packet_bits));
        self.store(zero, self.context, in_context!(cursor));
        self.store(emitted, self.context, in_context!(output_next));
        self.tell_bytes(length);
    }

    /// Copies the bytes before one address to before another one, down to `start`. It may copy further bytes before
    /// that.
    fn copy_before(&mut self, to: ir::Value, from: ir::Value, start: ir::Value) {
        let [copy, next] = self.blocks();
        let to_now = self.builder.append_block_param(copy, types::I64);
        let from_now = self.builder.append_block_param(copy, types::I64);
        let is_something = self.ins().icmp(IntCC::UnsignedGreaterThan, to, start);
        self.ins()
            .brif(is_something, copy, &[to.into(), from.into()], next, &[]);
        self.builder.switch_to_block(copy);
        let flags = super::within_bounds();
        let step = self.number(COPIED_AT_ONCE);
        let (to, from) = (self.ins().isub(to_now, step), self.ins().isub(from_now, step));
        let bytes = self.ins().load(types::I8X16, flags, from, 0);
        self.ins().store(flags, bytes, to, 0);
        let is_something = self.ins().icmp(IntCC::UnsignedGreaterThan, to, start);
        self.ins()
            .brif(is_something, copy, &[to.into(), from.into()], next, &[]);
        self.builder.seal_block(copy);
        self.enter(next);
    }
}

/// Whether a body that runs after a queue draws random numbers.
fn draws_after_queue(program: &Program, region: &GraphRegion<'_>) -> bool {
    let draws = |body: &Body| {
        body.statements()
            .any(|statement| matches!(statement.op, Op::Random { .. }))
    };
    let blocks = region.plan.after_queue.iter().map(|id| region.graph.block(*id));
    let runs = blocks.filter_map(|block| match block.end {
        End::Run { body, .. } => Some(body),
        _ => None,
    });
    // Actions may belong to tables before or after the queue.
    let of_actions = (0..).map(BodyId).zip(&program.bodies);
    let of_actions = of_actions
        .filter(|(_, body)| body.kind == BodyKind::Action)
        .map(|(id, _)| id);
    runs.chain(of_actions).any(|id| draws(&program.bodies[id.index()]))
}
