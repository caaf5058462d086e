//! Building control-flow graphs.
//!
//! A [`BodyBuilder`] has a *current* block, to which operations are appended. It has none after a `return`, an `exit`
//! or anything else that ends control flow: what follows is then unreachable, and is not appended.

use crate::assign;
use crate::build;
use crate::context::Context;
use crate::place::Place;
use crate::storage::{self, Storage};
use crate::value::Value;
use forebay_ir::{Block, BlockId, Body, BodyKind, Expr, Location, Op, SlotId, Statement, Terminator};

/// A body that is being built.
pub struct BodyBuilder {
    name: String,
    scope: String,
    kind: BodyKind,
    blocks: Vec<Block>,
    current: Option<BlockId>,
    /// The calls being inlined, innermost last.
    pub calls: Vec<InlinedCall>,
    /// Loops around the current position that are outside of any call.
    outer_loops: Vec<LoopTargets>,
    /// How an `exit` leaves.
    pub exit: ExitMode,
    /// The number of `@atomic` blocks around the current position.
    pub atomic_depth: usize,
}

/// How an `exit` leaves a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitMode {
    /// With [`Terminator::Exit`].
    Plain,
    /// By a flag: an action of a control that was inlined with copies sets this slot and returns. The application of
    /// the table then copies out before it exits.
    Flag(SlotId),
}

/// A call that is being inlined.
pub struct InlinedCall {
    /// The target of `return`.
    pub return_block: BlockId,
    /// The storage for the value of `return e`.
    pub result: Option<Storage>,
    /// What is copied back at the end: target and storage of the parameter.
    pub copy_outs: Vec<(Place, Storage)>,
    /// Loops around the current position that are inside the call.
    pub loops: Vec<LoopTargets>,
}

/// Targets of `break` and `continue`.
#[derive(Clone, Copy, Debug)]
pub struct LoopTargets {
    /// After the loop.
    pub break_block: BlockId,
    /// Before the next round.
    pub continue_block: BlockId,
}

impl BodyBuilder {
    /// A body whose current block is its entry.
    pub fn new(name: String, kind: BodyKind) -> BodyBuilder {
        let mut builder = BodyBuilder {
            scope: name.clone(),
            name,
            kind,
            blocks: Vec::new(),
            current: None,
            calls: Vec::new(),
            outer_loops: Vec::new(),
            exit: ExitMode::Plain,
            atomic_depth: 0,
        };
        builder.current = Some(builder.add_block(None, Location::default()));
        builder
    }

    /// Prefix of the names of variables: the name of the body, or of the sub-control or sub-parser being inlined.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Sets the prefix of the names of variables, and returns the previous one.
    pub fn enter_scope(&mut self, scope: String) -> String {
        std::mem::replace(&mut self.scope, scope)
    }

    /// What the body is.
    pub fn kind(&self) -> BodyKind {
        self.kind
    }

    /// Targets of `break` and `continue` in the innermost call, innermost loop last.
    pub fn loops(&mut self) -> &mut Vec<LoopTargets> {
        match self.calls.last_mut() {
            Some(call) => &mut call.loops,
            None => &mut self.outer_loops,
        }
    }

    fn add_block(&mut self, label: Option<String>, location: Location) -> BlockId {
        let id = BlockId(self.blocks.len() as u32);
        self.blocks.push(Block {
            label,
            statements: Vec::new(),
            terminator: Terminator::Return,
            location,
        });
        id
    }
}

/// Begins a new body and returns the one that was being built.
pub fn begin(cx: &mut Context, name: String, kind: BodyKind) -> BodyBuilder {
    std::mem::replace(&mut cx.body, BodyBuilder::new(name, kind))
}

/// Ends the current body, and continues with the one that was interrupted.
pub fn end(cx: &mut Context, interrupted: BodyBuilder) -> Body {
    terminate(cx, Terminator::Return);
    let builder = std::mem::replace(&mut cx.body, interrupted);
    let mut body = Body {
        name: builder.name,
        kind: builder.kind,
        blocks: builder.blocks,
    };
    forebay_ir::passes::tidy(&mut body);
    body
}

/// Whether operations appended now are reachable.
pub fn is_reachable(cx: &Context) -> bool {
    cx.body.current.is_some()
}

/// Appends an operation.
pub fn emit(cx: &mut Context, op: Op) {
    let Some(current) = cx.body.current else { return };
    cx.operations += 1;
    let statement = Statement {
        op,
        location: cx.location,
    };
    cx.body.blocks[current.index()].statements.push(statement);
}

/// `slot = value`
pub fn assign(cx: &mut Context, slot: SlotId, value: Expr) {
    if value != Expr::Slot(slot) {
        emit(cx, Op::Assign { slot, value });
    }
}

/// A new block without predecessors.
pub fn new_block(cx: &mut Context) -> BlockId {
    cx.operations += 1;
    cx.body.add_block(None, cx.location)
}

/// A new block that begins a parser state.
pub fn new_state(cx: &mut Context, label: String) -> BlockId {
    cx.operations += 1;
    cx.body.add_block(Some(label), cx.location)
}

/// Makes a block the current one.
pub fn start(cx: &mut Context, block: BlockId) {
    cx.body.current = Some(block);
}

/// Removes the current block, so that others can be appended to before [`resume`].
pub fn suspend(cx: &mut Context) -> Option<BlockId> {
    cx.body.current.take()
}

/// Continues with the block from [`suspend`].
pub fn resume(cx: &mut Context, current: Option<BlockId>) {
    cx.body.current = current;
}

/// Ends the current block.
pub fn terminate(cx: &mut Context, terminator: Terminator) {
    let Some(current) = cx.body.current.take() else { return };
    let block = &mut cx.body.blocks[current.index()];
    block.terminator = terminator;
    block.location = cx.location;
}

/// Jumps to a block.
pub fn jump(cx: &mut Context, block: BlockId) {
    terminate(cx, Terminator::Jump(block));
}

/// Branches on a condition.
pub fn branch(cx: &mut Context, condition: Expr, then_block: BlockId, else_block: BlockId) {
    match build::as_bool(&condition) {
        Some(true) => jump(cx, then_block),
        Some(false) => jump(cx, else_block),
        None => terminate(
            cx,
            Terminator::Branch {
                condition,
                then_block,
                else_block,
            },
        ),
    }
}

/// Appends `then` only for packets that meet the condition.
pub fn when(cx: &mut Context, condition: Expr, then: impl FnOnce(&mut Context)) {
    let then_block = new_block(cx);
    let after = new_block(cx);
    branch(cx, condition, then_block, after);
    start(cx, then_block);
    then(cx);
    jump(cx, after);
    start(cx, after);
}

/// Saves a value in temporaries, so that later assignments do not change it. Constants stay as they are.
pub fn save(cx: &mut Context, value: Value) -> Value {
    value.map(&mut |expr| save_expr(cx, expr))
}

/// Saves an expression in a temporary, unless it is constant.
pub fn save_expr(cx: &mut Context, expr: Expr) -> Expr {
    if matches!(expr, Expr::Const(_) | Expr::Param { .. }) {
        return expr;
    }
    let slot = storage::temporary(cx, expr.width(&cx.program));
    assign(cx, slot, expr);
    Expr::Slot(slot)
}

/// An expression that is cheap to repeat: itself if it is a leaf, otherwise a temporary with its value.
pub fn simple(cx: &mut Context, expr: Expr) -> Expr {
    match expr {
        Expr::Const(_) | Expr::Slot(_) | Expr::Param { .. } => expr,
        other => save_expr(cx, other),
    }
}

/// `return`: to the end of the innermost inlined call, or out of the body.
pub fn return_from_call(cx: &mut Context) {
    match cx.body.calls.last() {
        Some(call) => {
            let block = call.return_block;
            jump(cx, block);
        }
        None => terminate(cx, Terminator::Return),
    }
}

/// `exit`: ends everything, but copies `out` and `inout` arguments back first, innermost call first (§6.8: "exit").
pub fn exit(cx: &mut Context) {
    let copies: Vec<_> = cx
        .body
        .calls
        .iter()
        .rev()
        .flat_map(|call| call.copy_outs.iter().cloned())
        .collect();
    for (place, storage) in copies {
        assign::write(cx, &place, storage.read());
    }
    match cx.body.exit {
        ExitMode::Plain => terminate(cx, Terminator::Exit),
        ExitMode::Flag(slot) => {
            assign(cx, slot, build::boolean(true));
            terminate(cx, Terminator::Return);
        }
    }
}
