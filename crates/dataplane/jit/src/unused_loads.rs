//! Removes loads whose values are not used.
//!
//! Translating a field loads it, although the value may turn out to be unused: the field is loaded together with its neighbours, or used only on
//! paths that a packet does not take. Cranelift removes unused instructions, but of loads only those from memory that never changes.

use cranelift_codegen::ir::{Function, Inst, InstructionData, Value, ValueDef};
use std::collections::HashSet;

/// Removes unused loads, and what is computed only from them.
pub(crate) fn remove(function: &mut Function) {
    let instructions: Vec<Inst> = function
        .layout
        .blocks()
        .flat_map(|block| function.layout.block_insts(block))
        .collect();
    let (optional, needed): (Vec<Inst>, Vec<Inst>) =
        instructions.into_iter().partition(|inst| is_optional(function, *inst));
    let mut used = HashSet::new();
    let mut new = needed;
    while let Some(inst) = new.pop() {
        let values = function.dfg.inst_values(inst).map(|value| definition(function, value));
        new.extend(values.flatten().filter(|inst| used.insert(*inst)));
    }
    for inst in optional.into_iter().filter(|inst| !used.contains(inst)) {
        function.layout.remove_inst(inst);
    }
}

/// Whether an instruction does nothing but compute its results.
fn is_optional(function: &Function, inst: Inst) -> bool {
    let data = &function.dfg.insts[inst];
    let opcode = data.opcode();
    let has_effects = opcode.is_call()
        || opcode.is_branch()
        || opcode.is_terminator()
        || opcode.can_trap()
        || opcode.can_store()
        || opcode.other_side_effects();
    let is_harmless = match *data {
        InstructionData::Load { flags, .. } => function.dfg.mem_flags[flags].notrap(),
        _ => !opcode.can_load(),
    };
    !has_effects && is_harmless
}

/// The instruction that defines a value.
fn definition(function: &Function, value: Value) -> Option<Inst> {
    match function.dfg.value_def(value) {
        ValueDef::Result(inst, _) => Some(inst),
        _ => None,
    }
}
