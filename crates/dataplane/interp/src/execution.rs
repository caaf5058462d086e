//! Executes bodies: blocks, terminators, and the dispatch of operations.

use forebay_bits::Bits;
use forebay_exec::{Buffers, Ended, Event, Input, Objects, PacketFacts, Random, Requests, State, Tracer, eval};
use forebay_ir::{
    Block, BlockId, Body, BodyId, Expr, KeySet, Location, Op, Program, SelectCase, SlotId, TableId, Terminator,
};

/// One packet's path through the bodies of a pipeline.
#[derive(Debug)]
pub struct Execution<'a, O, T> {
    pub(crate) program: &'a Program,
    pub(crate) objects: &'a O,
    pub(crate) state: &'a mut State,
    pub(crate) requests: &'a mut Requests,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) tracer: &'a mut T,
    pub(crate) packet: &'a [u8],
    pub(crate) cursor: usize,
    pub(crate) facts: PacketFacts,
    pub(crate) random: Random,
    step_limit: u64,
    steps_left: u64,
}

/// The result of an operation or a block.
pub(crate) enum Flow {
    /// Execution continues with the next one.
    Continue,
    /// The body has ended.
    End(Ended),
}

impl<'a, O: Objects, T: Tracer> Execution<'a, O, T> {
    /// Prepares to execute bodies of `program` for one packet.
    pub fn new(
        program: &'a Program,
        objects: &'a O,
        input: Input<'a>,
        state: &'a mut State,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        tracer: &'a mut T,
    ) -> Self {
        Execution {
            program,
            objects,
            state,
            requests,
            buffers,
            tracer,
            packet: input.packet,
            cursor: input.cursor,
            facts: input.facts,
            random: Random::new(input.random_seed),
            step_limit: input.step_limit,
            steps_left: input.step_limit,
        }
    }

    /// The parser's position, in bits from the packet's start. What follows it is the payload.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The state of the generator for `random`.
    pub fn random(&self) -> Random {
        self.random
    }

    /// The values of the slots, for the architecture to change between bodies.
    pub fn state(&mut self) -> &mut State {
        self.state
    }

    /// The requests so far.
    pub fn requests(&mut self) -> &mut Requests {
        self.requests
    }

    /// Executes a body from its first block.
    pub fn run(&mut self, body: BodyId) -> Ended {
        self.steps_left = self.step_limit;
        let body = &self.program.bodies[body.index()];
        self.run_body(body, &[])
    }

    fn run_body(&mut self, body: &'a Body, action_data: &[Bits]) -> Ended {
        if T::ON {
            self.tracer.event(Event::Enter {
                body: &body.name,
                kind: body.kind,
            });
        }
        let ended = self.run_blocks(body, action_data);
        if T::ON {
            self.tracer.event(Event::Leave {
                body: &body.name,
                exit: ended == Ended::Exited,
            });
        }
        ended
    }

    fn run_blocks(&mut self, body: &'a Body, action_data: &[Bits]) -> Ended {
        let mut block_id = BlockId(0);
        loop {
            let block = &body.blocks[block_id.index()];
            if T::ON
                && let Some(name) = &block.label
            {
                let first = block.statements.first().map(|statement| statement.location);
                self.tracer.event(Event::ParserState {
                    name,
                    location: first.unwrap_or(block.location),
                });
            }
            for statement in &block.statements {
                if !self.take_step() {
                    return Ended::StepLimit;
                }
                if let Flow::End(ended) = self.execute(&statement.op, statement.location, action_data) {
                    return ended;
                }
            }
            if !self.take_step() {
                return Ended::StepLimit;
            }
            match self.follow(body, block, action_data) {
                Ok(next) => block_id = next,
                Err(ended) => return ended,
            }
        }
    }

    fn take_step(&mut self) -> bool {
        let left = self.steps_left.checked_sub(1);
        self.steps_left = left.unwrap_or(0);
        left.is_some()
    }

    /// The next block, or how the body ends.
    fn follow(&mut self, body: &'a Body, block: &'a Block, action_data: &[Bits]) -> Result<BlockId, Ended> {
        let location = block.location;
        match &block.terminator {
            Terminator::Jump(next) => Ok(*next),
            Terminator::Branch {
                condition,
                then_block,
                else_block,
            } => {
                let taken = !self.eval(condition, action_data).is_zero();
                if T::ON {
                    self.tracer.event(Event::Branch { taken, location });
                }
                Ok(if taken { *then_block } else { *else_block })
            }
            Terminator::Select { keys, cases, default } => {
                let choice = Choice {
                    body,
                    cases,
                    default: *default,
                };
                Ok(self.select(keys, choice, location, action_data))
            }
            Terminator::Apply {
                table,
                hit,
                action_run,
                next,
            } => self.apply(*table, *hit, *action_run, location).map(|()| *next),
            Terminator::Return => Err(Ended::Returned),
            Terminator::Exit => Err(Ended::Exited),
            Terminator::Reject(error) => {
                let error = self.eval(error, action_data).to_u64() as u32;
                Err(self.reject(error, location))
            }
        }
    }

    pub(crate) fn eval(&self, expr: &Expr, action_data: &[Bits]) -> Bits {
        eval(expr, self.state, action_data)
    }

    /// Ends a parser with an error.
    pub(crate) fn reject(&mut self, error: u32, location: Location) -> Ended {
        if T::ON {
            let name = self.program.errors.get(error as usize).map_or("error", String::as_str);
            self.tracer.event(Event::ParserError { error: name, location });
        }
        Ended::Rejected(error)
    }

    /// Ends a parser with an error of the core library.
    pub(crate) fn reject_with(&mut self, error: &str, location: Location) -> Flow {
        let number = self
            .program
            .error(error)
            .unwrap_or_else(|| panic!("core.p4 declares error.{error}"));
        Flow::End(self.reject(number, location))
    }

    /// The first case that matches (P4_16 §13.6).
    fn select(&mut self, keys: &[Expr], choice: Choice<'a>, location: Location, action_data: &[Bits]) -> BlockId {
        let mut values = std::mem::take(&mut self.buffers.keys);
        values.clear();
        values.extend(keys.iter().map(|key| self.eval(key, action_data)));
        let matches = |case: &SelectCase| self.case_matches(&case.keysets, &values, action_data);
        let case = choice.cases.iter().position(matches);
        let target = choice.target(case);
        if T::ON {
            self.tracer.event(Event::Select {
                keys: &values,
                case,
                keysets: case.map_or(&[], |case| &choice.cases[case].keysets),
                cases: choice.cases.len(),
                target: state_name(choice.body, target),
                location,
            });
        }
        self.buffers.keys = values;
        target
    }

    fn case_matches(&self, keysets: &[KeySet], keys: &[Bits], action_data: &[Bits]) -> bool {
        keysets
            .iter()
            .zip(keys)
            .enumerate()
            .all(|(position, (keyset, key))| match keyset {
                KeySet::Any => true,
                KeySet::Exact(value) => key == value,
                KeySet::Mask { value, mask } => key.and(mask) == value.and(mask),
                KeySet::Range { low, high } => low <= key && key <= high,
                KeySet::Equals(expr) => *key == self.eval(expr, action_data),
                KeySet::EqualsMasked { value, mask } => {
                    let mask = self.eval(mask, action_data);
                    key.and(&mask) == self.eval(value, action_data).and(&mask)
                }
                // One member must match all components, so the first component tests all of them.
                KeySet::ValueSet { set, component: 0 } => {
                    let following = keysets[position..].iter().zip(0..);
                    let count = following
                        .take_while(|(keyset, index)| is_component(keyset, *set, *index))
                        .count();
                    self.objects.value_set_contains(*set, &keys[position..position + count])
                }
                KeySet::ValueSet { .. } => true,
            })
    }

    /// Looks a table up and executes the action (P4_16 §14.2).
    fn apply(
        &mut self,
        table_id: TableId,
        hit: Option<SlotId>,
        action_run: Option<SlotId>,
        location: Location,
    ) -> Result<(), Ended> {
        let table = &self.program.tables[table_id.index()];
        let mut key = std::mem::take(&mut self.buffers.keys);
        key.clear();
        key.extend(table.keys.iter().map(|field| self.eval(&field.expr, &[])));
        let found = self.objects.lookup(table_id, &key, self.facts);
        let action = found.action.map(|(index, args)| {
            let id = table.actions[index as usize].action;
            (index, &self.program.actions[id.index()], args)
        });
        if T::ON {
            let (name, args) = action.map_or(("", &[][..]), |(_, action, args)| (action.name.as_str(), args));
            self.tracer.event(Event::Lookup {
                table: table_id,
                key: &key,
                hit: found.hit,
                action: name,
                args,
                location,
            });
        }
        self.buffers.keys = key;
        if let Some(slot) = hit {
            self.assign(slot, Bits::from_bool(found.hit.is_some()), location);
        }
        if let (Some(slot), Some(color)) = (table.color_slot(), found.color) {
            let width = self.program.slot(slot).width;
            self.assign(slot, Bits::new(width, color.into()), location);
        }
        if let Some(slot) = action_run {
            let index = action.map_or(u32::MAX, |(index, ..)| index);
            self.assign(slot, Bits::new(32, index.into()), location);
        }
        let Some((_, action, args)) = action else {
            return Ok(());
        };
        match self.run_body(&self.program.bodies[action.body.index()], args) {
            Ended::Returned => Ok(()),
            ended => Err(ended),
        }
    }

    pub(crate) fn assign(&mut self, slot: SlotId, value: Bits, location: Location) {
        if T::ON {
            self.tracer.event(Event::Assign {
                slot,
                old: &self.state.get(slot),
                new: &value,
                location,
            });
        }
        self.state.set(slot, value);
    }

    fn execute(&mut self, op: &'a Op, location: Location, action_data: &[Bits]) -> Flow {
        match op {
            Op::Assign { slot, value } => {
                let value = self.eval(value, action_data);
                self.assign(*slot, value, location);
                Flow::Continue
            }
            Op::Extract { .. } | Op::Advance { .. } | Op::Lookahead { .. } | Op::PacketLength { .. } => {
                self.parser_op(op, location)
            }
            Op::Emit { header } => {
                self.emit(*header, location);
                Flow::Continue
            }
            Op::Assert { condition, text } | Op::Assume { condition, text } => {
                if !self.eval(condition, action_data).is_zero() {
                    return Flow::Continue;
                }
                if T::ON {
                    self.tracer.event(Event::AssertionFailed { text, location });
                }
                Flow::End(Ended::AssertFailed)
            }
            _ => {
                self.extern_op(op, location, action_data);
                Flow::Continue
            }
        }
    }
}

/// The cases of a select expression in a body.
#[derive(Clone, Copy)]
struct Choice<'a> {
    body: &'a Body,
    cases: &'a [SelectCase],
    default: BlockId,
}

impl Choice<'_> {
    fn target(&self, case: Option<usize>) -> BlockId {
        case.map_or(self.default, |case| self.cases[case].target)
    }
}

/// The parser state that begins with a block, for display.
fn state_name(body: &Body, block: BlockId) -> &str {
    let block = &body.blocks[block.index()];
    match (&block.label, &block.terminator) {
        (Some(label), _) => label,
        (None, Terminator::Return) if block.statements.is_empty() => "accept",
        (None, Terminator::Reject(_)) => "reject",
        _ => "",
    }
}

fn is_component(keyset: &KeySet, of: forebay_ir::ValueSetId, index: u32) -> bool {
    matches!(keyset, KeySet::ValueSet { set, component } if *set == of && *component == index)
}
