//! Joins stores of two adjacent loop-invariant words into one vector store.
//!
//! Copies of a packet begin with headers, most of whose bytes are the same in all copies. There are more such words
//! than general-purpose registers, so each would be reloaded from the stack for each copy before it is stored. Vector
//! registers are free for them:
//! ```text
//!   before the loop                        in the loop
//!   first, second                          store first, place            store first:second, place
//!                                          store second, place+8    ─►
//! ```
//!
//! The pass runs on a function that has been optimized once, so loop-invariant values are computed before the loop. The
//! second optimization then hoists the vectors out of the loop, too.

use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Block, Function, Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef, types};
use cranelift_codegen::loop_analysis::Loop;

/// A store of a word.
#[derive(Clone, Copy)]
struct WordStore {
    inst: Inst,
    place: Value,
    offset: i32,
    word: Value,
}

/// Joins adjacent stores in the loops of a function.
pub(crate) fn join(context: &mut Context) {
    context.compute_cfg();
    context.compute_domtree();
    context.compute_loop_analysis();
    let blocks: Vec<Block> = context.func.layout.blocks().collect();
    for block in blocks {
        if let Some(inside) = context.loop_analysis.innermost_loop(block) {
            for (first, second) in pairs(context, block, inside) {
                store_both(&mut context.func, first, second);
            }
        }
    }
}

/// The pairs of stores in a block that can be joined; a store is in at most one pair.
fn pairs(context: &Context, block: Block, inside: Loop) -> Vec<(WordStore, WordStore)> {
    let function = &context.func;
    let mut pairs = Vec::new();
    let mut before: Option<WordStore> = None;
    for inst in function.layout.block_insts(block) {
        let opcode = function.dfg.insts[inst].opcode();
        let touches_memory = opcode.can_load() || opcode.can_store() || opcode.other_side_effects() || opcode.is_call();
        let store = word_store(function, inst).filter(|store| is_from_before(context, store.word, inside));
        before = match (before, store) {
            (Some(first), Some(second)) if first.place == second.place && first.offset + 8 == second.offset => {
                pairs.push((first, second));
                None
            }
            (_, Some(store)) => Some(store),
            (before, None) if !touches_memory => before,
            _ => None,
        };
    }
    pairs
}

/// The 64-bit store that an instruction performs, if it cannot trap.
fn word_store(function: &Function, inst: Inst) -> Option<WordStore> {
    let InstructionData::Store {
        opcode: Opcode::Store,
        args: [word, place],
        flags,
        offset,
    } = function.dfg.insts[inst]
    else {
        return None;
    };
    let is_plain = function.dfg.value_type(word) == types::I64 && function.dfg.mem_flags[flags].notrap();
    is_plain.then(|| WordStore {
        inst,
        place: function.dfg.resolve_aliases(place),
        offset: offset.into(),
        word: function.dfg.resolve_aliases(word),
    })
}

/// Whether a value is defined outside a loop.
fn is_from_before(context: &Context, value: Value, inside: Loop) -> bool {
    let function = &context.func;
    let block = match function.dfg.value_def(value) {
        ValueDef::Result(inst, _) => function.layout.inst_block(inst),
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Union(..) => None,
    };
    block.is_some_and(|block| !context.loop_analysis.is_in_loop(block, inside))
}

/// Replaces two stores by one vector store, at the second of them.
fn store_both(function: &mut Function, first: WordStore, second: WordStore) {
    let InstructionData::Store { flags, .. } = function.dfg.insts[first.inst] else {
        unreachable!("it is a store")
    };
    let flags = function.dfg.mem_flags[flags];
    let mut cursor = FuncCursor::new(function).at_inst(second.inst);
    let vector = cursor.ins().scalar_to_vector(types::I64X2, first.word);
    let both = cursor.ins().insertlane(vector, second.word, 1);
    cursor.ins().store(flags, both, first.place, first.offset);
    for inst in [first.inst, second.inst] {
        function.layout.remove_inst(inst);
    }
}
