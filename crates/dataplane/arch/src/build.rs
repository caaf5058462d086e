//! Builds graphs: blocks by label, slots by name, short forms for expressions.

use crate::BuildError;
use forebay_bits::Bits;
use forebay_ir::pipeline::{Argument, End, Entry, EntryInfo, GlueBlock, GlueOp, Graph, Pairs};
use forebay_ir::{BinaryOp, BlockId, BodyId, Expr, Location, Program, Role, Slot, SlotId, SlotKind, build};
use std::collections::HashMap;

/// A graph under construction. Blocks may be named before they are defined; they keep the order of their definitions.
pub(crate) struct Builder<'a> {
    pub(crate) program: &'a mut Program,
    entries: Vec<(Entry, BlockId, Vec<SlotId>)>,
    blocks: Vec<(BlockId, GlueBlock)>,
    labels: HashMap<String, BlockId>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(program: &'a mut Program) -> Builder<'a> {
        Builder {
            program,
            entries: Vec::new(),
            blocks: Vec::new(),
            labels: HashMap::new(),
        }
    }

    /// The slot of the graph with this name, which is added unless the program has had a graph before.
    pub(crate) fn slot(&mut self, name: &str, width: u32) -> SlotId {
        let slot = Slot {
            name: format!("request.{name}"),
            width,
            signed: false,
            kind: SlotKind::Request,
        };
        let known = self.program.slots.iter().position(|known| *known == slot);
        let index = known.unwrap_or_else(|| {
            self.program.slots.push(slot);
            self.program.slots.len() - 1
        });
        SlotId(index as u32)
    }

    /// A field of intrinsic metadata that programs may leave out.
    pub(crate) fn optional(&self, name: &str) -> Option<SlotId> {
        self.program.intrinsic.get(name).copied()
    }

    /// A field of intrinsic metadata.
    pub(crate) fn intrinsic(&self, name: &str) -> Result<SlotId, BuildError> {
        let found = self.optional(name);
        found.ok_or_else(|| BuildError::MissingIntrinsic(name.to_string()))
    }

    /// The body of a role.
    pub(crate) fn body(&self, role: Role) -> Result<BodyId, BuildError> {
        let found = self.program.stages.get(&role).copied();
        found.ok_or_else(|| BuildError::MissingBlock(format!("{role:?}")))
    }

    /// The slots of a field list.
    pub(crate) fn list(&self, number: u32) -> Vec<SlotId> {
        self.program.field_lists.get(&number).cloned().unwrap_or_default()
    }

    pub(crate) fn width(&self, slot: SlotId) -> u32 {
        self.program.slot(slot).width
    }

    /// The block with this label, which may be defined later.
    pub(crate) fn to(&mut self, label: &str) -> BlockId {
        let next = BlockId(self.labels.len() as u32);
        *self.labels.entry(label.to_string()).or_insert(next)
    }

    /// Adds an entry of the graph at a block. The slots in `preserved` keep the values that come with packets.
    pub(crate) fn enter(&mut self, entry: Entry, label: &str, preserved: Vec<SlotId>) {
        let block = self.to(label);
        self.entries.push((entry, block, preserved));
    }

    /// Defines a block.
    pub(crate) fn block(&mut self, label: &str, ops: impl IntoIterator<Item = GlueOp>, end: End) {
        let id = self.to(label);
        let block = GlueBlock {
            label: label.to_string(),
            ops: ops.into_iter().collect(),
            end,
            location: Location::default(),
        };
        self.blocks.push((id, block));
    }

    /// The end of a block that runs a body.
    pub(crate) fn run(&mut self, role: Role, next: &str) -> Result<End, BuildError> {
        let body = self.body(role)?;
        let next = self.to(next);
        Ok(End::Run {
            body,
            next,
            reject: None,
        })
    }

    /// The end of a block that runs a parser.
    pub(crate) fn parse(&mut self, role: Role, next: &str, reject: &str) -> Result<End, BuildError> {
        let body = self.body(role)?;
        let (next, reject) = (self.to(next), Some(self.to(reject)));
        Ok(End::Run { body, next, reject })
    }

    pub(crate) fn jump(&mut self, label: &str) -> End {
        End::Jump(self.to(label))
    }

    pub(crate) fn branch(&mut self, condition: Expr, then_block: &str, else_block: &str) -> End {
        End::Branch {
            condition,
            then_block: self.to(then_block),
            else_block: self.to(else_block),
        }
    }

    /// The graph, its blocks numbered as they were defined.
    ///
    /// # Panics
    /// If a block was named but not defined.
    pub(crate) fn finish(self) -> Graph {
        let places: HashMap<BlockId, BlockId> = (0..)
            .zip(&self.blocks)
            .map(|(place, (id, _))| (*id, BlockId(place)))
            .collect();
        let mut blocks: Vec<GlueBlock> = self.blocks.into_iter().map(|(_, block)| block).collect();
        for block in &mut blocks {
            block.end.for_each_target(&mut |id| *id = places[id]);
        }
        let entries = self.entries.into_iter().map(|(entry, block, preserved)| {
            let block = places[&block];
            (entry, EntryInfo { block, preserved })
        });
        Graph {
            entries: entries.collect(),
            blocks,
        }
    }
}

/// `slot = value`
pub(crate) fn set(slot: SlotId, value: Expr) -> GlueOp {
    GlueOp::Set { slot, value }
}

/// `slot = $argument`
pub(crate) fn take(slot: SlotId, argument: Argument) -> GlueOp {
    GlueOp::Take { slot, argument }
}

pub(crate) fn slot(slot: SlotId) -> Expr {
    Expr::Slot(slot)
}

pub(crate) fn number(width: u32, value: u64) -> Expr {
    build::constant(width, value.into())
}

/// A slot's value in another width: zero-extended, or truncated to the low bits.
pub(crate) fn resized(program: &Program, from: SlotId, width: u32) -> Expr {
    build::resize(Expr::Slot(from), program.slot(from).width, width, false)
}

/// `left + right |-| less`, in 32 bits.
pub(crate) fn sum_less(left: SlotId, right: SlotId, less: SlotId) -> Expr {
    let sum = build::binary(BinaryOp::Add, slot(left), slot(right));
    build::binary(BinaryOp::SatSubUnsigned, sum, slot(less))
}

/// The slot of a program's graph with this name.
pub(crate) fn request(program: &Program, name: &str) -> Option<SlotId> {
    let mut slots = program.slots.iter();
    let place = slots.position(|slot| slot.kind == SlotKind::Request && slot.name == name)?;
    Some(SlotId(place as u32))
}

/// Whether a slot is not 0.
pub(crate) fn is_set(program: &Program, of: SlotId) -> Expr {
    match program.slot(of).width {
        1 => slot(of),
        width => build::binary(BinaryOp::Ne, slot(of), Expr::Const(Bits::zero(width))),
    }
}

/// The smaller of two limits, where 0 means no limit.
pub(crate) fn least(left: SlotId, right: SlotId, width: u32) -> Expr {
    let zero = || number(width, 0);
    let smaller = build::mux(
        build::binary(BinaryOp::Lt, slot(left), slot(right)),
        slot(left),
        slot(right),
    );
    let without_left = build::mux(build::equal(slot(left), zero()), slot(right), smaller);
    build::mux(build::equal(slot(right), zero()), slot(left), without_left)
}

/// Slots that are copied to themselves.
pub(crate) fn same(slots: Vec<SlotId>) -> Pairs {
    slots.into_iter().map(|slot| (slot, slot)).collect()
}
