//! Unrolls loops with a known number of rounds.
//!
//! ```text
//!   i = 0 ─► i < 4? ─ no ─►                       i = 0 ─► round 0 ─► round 1 ─► round 2 ─► round 3 ─►
//!              │ yes  ▲            becomes
//!            round ─ i + 1
//! ```
//!
//! A block of the result is a block of the original together with the values that are certain there for the slots that
//! decide whether a loop continues. The same statements and terminators are executed as before, so a packet takes as
//! many steps. A body whose loops cannot be unrolled stays as it is.

use super::facts::Facts;
use super::flow::{slots_of, slots_of_decision};
use super::jump_threading::{learn_from, simplify, thread_terminator};
use super::obstacles::loop_heads;
use super::{Pass, Route};
use forebay_ir::{Block, BlockId, Body, BodyId, Op, Program, SlotId};
use std::collections::{BTreeMap, BTreeSet};

/// The most blocks of a body, before and after unrolling.
const BLOCKS_MAX: usize = 1_000;

impl Route {
    /// The program with the loops of its controls unrolled, if it has loops.
    pub fn unrolled(&self, program: &Program) -> Option<Program> {
        if self.without.has(Pass::Unrolling) {
            return None;
        }
        let unrolled: Vec<(BodyId, Body)> = self
            .bodies_with_actions(program)
            .into_iter()
            .filter_map(|id| Some((id, unroll(program, &program.bodies[id.index()])?)))
            .collect();
        if unrolled.is_empty() {
            return None;
        }
        let mut program = program.clone();
        for (id, body) in unrolled {
            program.bodies[id.index()] = body;
        }
        Some(program)
    }
}

/// The body without loops; `None` when it has none, or they cannot be unrolled.
pub fn unroll(program: &Program, body: &Body) -> Option<Body> {
    // To find what decides takes memory for each pair of blocks.
    if body.blocks.len() > BLOCKS_MAX || loop_heads(body).is_empty() {
        return None;
    }
    let mut unroller = Unroller {
        program,
        body,
        deciding: deciding(body),
        made: BTreeMap::new(),
        pending: Vec::new(),
        blocks: Vec::new(),
    };
    unroller.block_of(BlockId(0), Facts::default());
    while let Some((id, original, facts)) = unroller.pending.pop() {
        if unroller.blocks.len() > BLOCKS_MAX {
            return None;
        }
        let block = unroller.unrolled(original, facts);
        unroller.blocks[id.index()] = Some(block);
    }
    let blocks = unroller.blocks.into_iter();
    let unrolled = Body {
        blocks: blocks.collect::<Option<Vec<Block>>>()?,
        ..body.clone()
    };
    loop_heads(&unrolled).is_empty().then_some(unrolled)
}

/// The slots whose values decide whether loops continue.
fn deciding(body: &Body) -> BTreeSet<SlotId> {
    let reached: Vec<BTreeSet<usize>> = (0..body.blocks.len()).map(|index| reached_from(body, index)).collect();
    let in_one_loop = |one: usize, other: usize| reached[one].contains(&other) && reached[other].contains(&one);
    let mut slots = BTreeSet::new();
    for (index, block) in body.blocks.iter().enumerate() {
        let successors = block.terminator.successors();
        let is_exit = successors.iter().any(|next| !in_one_loop(index, next.index()));
        if reached[index].contains(&index) && is_exit {
            slots.extend(slots_of_decision(&block.terminator));
        }
    }
    loop {
        let before = slots.len();
        for statement in body.statements() {
            if let Op::Assign { slot, value } = &statement.op
                && slots.contains(slot)
            {
                let mut read = Vec::new();
                slots_of(value, &mut read);
                slots.extend(read);
            }
        }
        if slots.len() == before {
            return slots;
        }
    }
}

/// The blocks that are reachable from one. That block is among them only when a path leads back to it.
fn reached_from(body: &Body, index: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = body.blocks[index].terminator.successors();
    while let Some(next) = open.pop() {
        if reached.insert(next.index()) {
            open.extend(body.blocks[next.index()].terminator.successors());
        }
    }
    reached
}

struct Unroller<'a> {
    program: &'a Program,
    body: &'a Body,
    deciding: BTreeSet<SlotId>,
    made: BTreeMap<(BlockId, Facts), BlockId>,
    pending: Vec<(BlockId, BlockId, Facts)>,
    blocks: Vec<Option<Block>>,
}

impl Unroller<'_> {
    /// The new block for an original block with these facts.
    fn block_of(&mut self, original: BlockId, mut facts: Facts) -> BlockId {
        facts.retain(|slot| self.deciding.contains(&slot));
        let state = (original, facts);
        if let Some(known) = self.made.get(&state) {
            return *known;
        }
        let id = BlockId(self.blocks.len() as u32);
        self.blocks.push(None);
        self.made.insert(state.clone(), id);
        self.pending.push((id, state.0, state.1));
        id
    }

    fn unrolled(&mut self, original: BlockId, mut facts: Facts) -> Block {
        let mut made = self.body.blocks[original.index()].clone();
        for statement in &mut made.statements {
            simplify(&mut statement.op, &facts, self.program);
            learn_from(&statement.op, &mut facts);
        }
        let program = self.program;
        thread_terminator(program, &mut made.terminator, facts, |target, facts| {
            self.block_of(target, facts)
        });
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::example;
    use forebay_bits::Bits;
    use forebay_ir::{BinaryOp, BodyKind, Expr, Statement, Terminator};

    const COUNT: SlotId = SlotId(0);
    const LIMIT: SlotId = SlotId(1);

    fn program() -> Program {
        example::slots(&[("count", 8), ("limit", 8)])
    }

    fn assign(value: Expr) -> Statement {
        Statement::new(Op::Assign { slot: COUNT, value })
    }

    fn number(value: u128) -> Expr {
        Expr::Const(Bits::new(8, value))
    }

    /// A loop that counts from 0 to less than the limit.
    fn counting(limit: Expr) -> Body {
        let block = |statements, terminator| Block {
            label: None,
            statements,
            terminator,
            location: Default::default(),
        };
        let count = || Box::new(Expr::Slot(COUNT));
        let condition = Expr::Binary(BinaryOp::Lt, count(), Box::new(limit));
        let next = Expr::Binary(BinaryOp::Add, count(), Box::new(number(1)));
        Body {
            name: "Ingress".to_owned(),
            kind: BodyKind::Control,
            blocks: vec![
                block(vec![assign(number(0))], Terminator::Jump(BlockId(1))),
                block(
                    Vec::new(),
                    Terminator::Branch {
                        condition,
                        then_block: BlockId(2),
                        else_block: BlockId(3),
                    },
                ),
                block(vec![assign(next)], Terminator::Jump(BlockId(1))),
                block(Vec::new(), Terminator::Return),
            ],
        }
    }

    #[test]
    fn known_rounds_follow_each_other() {
        let program = program();
        let unrolled = unroll(&program, &counting(number(4))).expect("it has a loop");
        // The first assignment, five tests, four rounds, the end.
        assert_eq!(unrolled.blocks.len(), 1 + 5 + 4 + 1);
        assert!(unroll(&program, &unrolled).is_none(), "nothing is left");
    }

    #[test]
    fn large_bodies_are_not_looked_into() {
        let program = program();
        let mut body = counting(number(4));
        let last = body.blocks[3].clone();
        body.blocks.resize(BLOCKS_MAX, last.clone());
        assert!(unroll(&program, &body).is_some());
        body.blocks.push(last);
        assert!(unroll(&program, &body).is_none());
    }

    #[test]
    fn rounds_that_the_packet_decides_stay_a_loop() {
        assert!(unroll(&program(), &counting(Expr::Slot(LIMIT))).is_none());
    }
}
