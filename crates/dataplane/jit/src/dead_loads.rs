//! Removes loads whose results nobody uses.
//!
//! A field that is read for a comparison and then compared together with its neighbours leaves such a load. Cranelift
//! keeps every load, because one might trap; those of translated programs cannot.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Function, Inst, InstructionData, Value, ValueDef};

/// Removes unused loads that cannot trap, and what was computed only for them.
pub(crate) fn remove(function: &mut Function) {
    let insts = function
        .layout
        .blocks()
        .flat_map(|block| function.layout.block_insts(block));
    let insts: Vec<Inst> = insts.collect();
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(function.dfg.num_values());
    for &inst in &insts {
        for value in function.dfg.inst_values(inst) {
            uses[function.dfg.resolve_aliases(value)] += 1;
        }
    }
    let is_unused = |function: &Function, uses: &SecondaryMap<Value, u32>, inst: Inst| {
        let results = function.dfg.inst_results(inst);
        has_no_effect(function, inst) && results.iter().all(|result| uses[*result] == 0)
    };
    let mut unused: Vec<Inst> = insts;
    unused.retain(|inst| is_unused(function, &uses, *inst));
    while let Some(inst) = unused.pop() {
        let operands: Vec<Value> = function.dfg.inst_values(inst).collect();
        function.layout.remove_inst(inst);
        for operand in operands {
            let operand = function.dfg.resolve_aliases(operand);
            uses[operand] -= 1;
            if let ValueDef::Result(of, _) = function.dfg.value_def(operand)
                && uses[operand] == 0
                && is_unused(function, &uses, of)
            {
                unused.push(of);
            }
        }
    }
}

/// Whether an instruction can be left out when its results are not used.
fn has_no_effect(function: &Function, inst: Inst) -> bool {
    let data = &function.dfg.insts[inst];
    let opcode = data.opcode();
    match data {
        InstructionData::Load { flags, .. } => function.dfg.mem_flags[*flags].notrap(),
        _ => {
            !(opcode.can_load()
                || opcode.can_store()
                || opcode.can_trap()
                || opcode.is_call()
                || opcode.is_terminator()
                || opcode.other_side_effects())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::cursor::{Cursor, FuncCursor};
    use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};

    #[test]
    fn what_only_an_unused_load_needs_goes_with_it() {
        let mut function = Function::new();
        let block = function.dfg.make_block();
        let address = function.dfg.append_block_param(block, types::I64);
        let mut cursor = FuncCursor::new(&mut function);
        cursor.insert_block(block);
        let notrap = MemFlagsData::new().with_notrap();
        let used = cursor.ins().load(types::I64, notrap, address, 0);
        let behind = cursor.ins().iadd(used, address);
        let pointer = cursor.ins().load(types::I64, notrap, behind, 8);
        cursor.ins().load(types::I64, notrap, pointer, 16);
        cursor.ins().load(types::I64, MemFlagsData::new(), address, 24);
        cursor.ins().store(notrap, used, address, 32);
        cursor.ins().return_(&[]);
        remove(&mut function);
        let text = function.display().to_string();
        let count = |what: &str| text.matches(what).count();
        assert_eq!([count(" load"), count("iadd"), count("store")], [2, 0, 1], "{text}");
        assert!(text.contains("v0+24"), "{text}");
    }
}
