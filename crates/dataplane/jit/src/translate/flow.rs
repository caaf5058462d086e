//! Blocks and terminators.

use super::Translator;
use super::mode::Mode;
use super::value::ActionData;
use crate::analysis::{CursorFact, cursor_facts, has_outside_effect};
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{BlockId, Body, BodyKind, KeySet, Op, Statement, Terminator};

/// A body within a function.
pub(super) struct Region {
    /// Cranelift's block for each block of the body.
    blocks: Vec<ir::Block>,
    data: Option<ActionData>,
    /// The block to which the body returns, if it does.
    on_return: Option<ir::Block>,
}

impl Region {
    /// A region without action data that does not return.
    pub(super) fn of_blocks(blocks: Vec<ir::Block>) -> Region {
        Region {
            blocks,
            data: None,
            on_return: None,
        }
    }

    pub(super) fn block(&self, id: BlockId) -> ir::Block {
        self.blocks[id.index()]
    }

    pub(super) fn data(&self) -> Option<&ActionData> {
        self.data.as_ref()
    }
}

impl Translator<'_, '_, '_> {
    /// Translates a whole body.
    pub(super) fn body(&mut self, body: &Body, data: Option<ActionData>, on_return: ir::Block) {
        let blocks: Vec<ir::Block> = body.blocks.iter().map(|_| self.builder.create_block()).collect();
        self.ins().jump(blocks[0], &[]);
        let facts = match body.kind {
            BodyKind::Parser => cursor_facts(self.program, body),
            BodyKind::Control | BodyKind::Deparser | BodyKind::Action => {
                vec![CursorFact::Anywhere; body.blocks.len()]
            }
        };
        let region = Region {
            blocks,
            data,
            on_return: Some(on_return),
        };
        for ((block, fact), id) in body.blocks.iter().zip(facts).zip(0..) {
            self.builder.switch_to_block(region.block(BlockId(id)));
            if body.blocks.len() == 1 {
                self.builder.seal_block(region.block(BlockId(id)));
            }
            self.cursor = fact;
            self.statements(&region, &block.statements);
            self.terminator(&region, &block.terminator, BlockId(id));
        }
        if body.blocks.len() > 1 {
            region.blocks.iter().for_each(|block| self.builder.seal_block(*block));
        }
    }

    /// Translates operations, up to the terminator.
    pub(super) fn statements(&mut self, region: &Region, statements: &[Statement]) {
        self.compositions.clear();
        let mut rest = statements;
        while let Some(first) = rest.first() {
            let together = self.written_together(rest);
            let (now, behind) = rest.split_at(together.max(1));
            rest = behind;
            now.iter()
                .for_each(|statement| self.step(has_outside_effect(statement)));
            match (together, &first.op) {
                (0, op) => self.statement(op, region.data()),
                _ => self.write_together(now, region.data()),
            }
            for statement in now {
                self.note_written(&statement.op);
                self.note_composition(&statement.op);
                self.cursor = self.cursor.after(self.program, &statement.op);
            }
        }
        self.step(true);
    }

    /// On the fast path: marks written fields as changed, so that they are not loaded from the packet together with
    /// others.
    fn note_written(&mut self, op: &Op) {
        if self.path().is_some() {
            self.changed.insert_slots(op.slots_written(self.program));
        }
    }

    /// Translates the end of a block.
    pub(super) fn terminator(&mut self, region: &Region, terminator: &Terminator, id: BlockId) {
        match terminator {
            Terminator::Jump(next) => {
                self.ins().jump(region.block(*next), &[]);
            }
            Terminator::Branch {
                condition,
                then_block,
                else_block,
            } => {
                let condition = self.condition(condition, region.data());
                let (then_block, else_block) = (region.block(*then_block), region.block(*else_block));
                self.ins().brif(condition, then_block, &[], else_block, &[]);
            }
            Terminator::Select { keys, cases, default } => {
                let targets: Vec<(&[KeySet], ir::Block)> = cases
                    .iter()
                    .map(|case| (&case.keysets[..], region.block(case.target)))
                    .collect();
                self.select(keys, &targets, region.block(*default), region.data());
            }
            Terminator::Apply {
                table,
                hit,
                action_run,
                next,
            } => {
                self.apply(*table, (*hit, *action_run), id, region.block(*next));
            }
            Terminator::Return => {
                let next = region.on_return.expect("such blocks have a joint");
                self.ins().jump(next, &[]);
            }
            Terminator::Exit => {
                let end = self.on_exit.expect("a control or an action exits");
                self.ins().jump(end, &[]);
            }
            Terminator::Reject(error) => {
                let error = self.word_of(error, region.data());
                let Mode::Graph {
                    on_reject: Some(rejected),
                } = self.mode
                else {
                    unreachable!("the parser of a graph rejects")
                };
                self.ins().jump(rejected, &[error.into()]);
            }
        }
    }
}
