//! Building control-flow graphs: a current block to which operations are appended.

use super::Translator;
use forebay_bits::Bits;
use forebay_ir::{
    Block, BlockId, Body, BodyKind, Expr, Location, Op, Slot, SlotId, SlotKind, Statement, Terminator, build,
};

/// A body that is being built.
pub struct BodyBuilder {
    name: String,
    kind: BodyKind,
    blocks: Vec<Block>,
    /// None after the end of control flow: what follows is unreachable and appended nowhere.
    current: Option<BlockId>,
    /// The place of what is appended.
    pub location: Location,
}

impl Default for BodyBuilder {
    fn default() -> BodyBuilder {
        BodyBuilder::new("", BodyKind::Control)
    }
}

impl BodyBuilder {
    /// A body whose current block is its entry.
    pub fn new(name: &str, kind: BodyKind) -> BodyBuilder {
        let mut builder = BodyBuilder {
            name: name.to_owned(),
            kind,
            blocks: Vec::new(),
            current: None,
            location: Location::default(),
        };
        builder.current = Some(builder.block(None));
        builder
    }

    /// What the body is.
    pub fn kind(&self) -> BodyKind {
        self.kind
    }

    /// A new block, not yet reached from anywhere; with a label it begins a parser state.
    pub fn block(&mut self, label: Option<String>) -> BlockId {
        let id = BlockId(self.blocks.len() as u32);
        self.blocks.push(Block {
            label,
            statements: Vec::new(),
            terminator: Terminator::Return,
            location: self.location,
        });
        id
    }

    /// Makes a block the current one.
    pub fn start(&mut self, block: BlockId) {
        self.current = Some(block);
    }

    /// Appends an operation.
    pub fn emit(&mut self, op: Op) {
        let Some(current) = self.current else { return };
        let statement = Statement {
            op,
            location: self.location,
        };
        self.blocks[current.index()].statements.push(statement);
    }

    /// `slot = value`
    pub fn assign(&mut self, slot: SlotId, value: Expr) {
        if value != Expr::Slot(slot) {
            self.emit(Op::Assign { slot, value });
        }
    }

    /// Ends the current block.
    pub fn terminate(&mut self, terminator: Terminator) {
        let Some(current) = self.current.take() else { return };
        let block = &mut self.blocks[current.index()];
        block.terminator = terminator;
        block.location = self.location;
    }

    /// Goes on there.
    pub fn jump(&mut self, block: BlockId) {
        self.terminate(Terminator::Jump(block));
    }

    /// Goes on here or there.
    pub fn branch(&mut self, condition: Expr, then_block: BlockId, else_block: BlockId) {
        match build::as_bool(&condition) {
            Some(true) => self.jump(then_block),
            Some(false) => self.jump(else_block),
            None => self.terminate(Terminator::Branch {
                condition,
                then_block,
                else_block,
            }),
        }
    }

    /// The body; its end returns.
    pub fn finish(mut self) -> Body {
        self.terminate(Terminator::Return);
        Body {
            name: self.name,
            kind: self.kind,
            blocks: self.blocks,
        }
    }
}

impl Translator<'_> {
    /// A new slot.
    pub(super) fn slot(&mut self, name: String, width: u32, signed: bool, kind: SlotKind) -> SlotId {
        let id = SlotId(self.program.slots.len() as u32);
        self.program.slots.push(Slot {
            name,
            width,
            signed,
            kind,
        });
        id
    }

    /// A new slot for a value in between.
    pub(super) fn temporary(&mut self, width: u32) -> SlotId {
        let name = format!("{}.$tmp{}", self.body.name, self.program.slots.len());
        self.slot(name, width, false, SlotKind::Local)
    }

    /// Stores a value, so that it stays what it is and is computed once.
    pub(super) fn save(&mut self, value: Expr) -> Expr {
        if matches!(value, Expr::Const(_) | Expr::Param { .. }) {
            return value;
        }
        let slot = self.temporary(value.width(&self.program));
        self.body.assign(slot, value);
        Expr::Slot(slot)
    }

    /// In a parser: rejects with the named error of the core library unless the condition holds.
    pub(super) fn require(&mut self, condition: Expr, error: &str) {
        if self.body.kind() != BodyKind::Parser {
            return;
        }
        let good = self.body.block(None);
        let bad = self.body.block(None);
        self.body.branch(condition, good, bad);
        self.body.start(bad);
        let error = self.error_constant(error);
        self.body.terminate(Terminator::Reject(error));
        self.body.start(good);
    }

    /// The number of an error of the core library; that of `NoError` where the JSON lists none of this name.
    pub(super) fn error_constant(&self, name: &str) -> Expr {
        let number = self.program.error(name).unwrap_or(0);
        Expr::Const(Bits::new(32, u128::from(number)))
    }
}
