//! Table application: a call of the runtime that looks the key up, then the action.

use super::value::Value;
use super::{Ending, Translator};
use crate::context::{NO_COLOR, ending};
use crate::runtime::{self, TableShape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Switch;
use forebay_ir::{ActionId, SlotId, TableId};

impl Translator<'_, '_, '_> {
    pub(super) fn apply(&mut self, id: TableId, hit: Option<SlotId>, action_run: Option<SlotId>, next: ir::Block) {
        let action = self.lookup(id);
        self.write_results(id, hit, action_run, action);
        let mut switch = Switch::new();
        let mut actions: Vec<(ActionId, ir::Block)> = Vec::new();
        for (index, listed) in (0u32..).zip(&self.program.tables[id.index()].actions) {
            let block = self.builder.create_block();
            switch.set_entry(index.into(), block);
            actions.push((listed.action, block));
        }
        switch.emit(&mut self.builder, action, next);
        for (action, block) in actions {
            self.builder.switch_to_block(block);
            self.run_action(action, next);
        }
    }

    /// Evaluates the key and looks it up; the index of the action that is to run, if any is.
    fn lookup(&mut self, id: TableId) -> ir::Value {
        let table = &self.program.tables[id.index()];
        let key: Vec<Value> = table.keys.iter().map(|field| self.value(&field.expr, None)).collect();
        let key_widths = key.iter().map(|field| field.width).collect();
        let shape = self.environment.pool.keep(TableShape { table: id, key_widths });
        let shape = self.pointer(shape);
        let key = self.store_all(&key);
        self.call_for_result(runtime::LOOKUP, &[self.context, shape, key])
    }

    /// Tells the program what the lookup found.
    fn write_results(&mut self, id: TableId, hit: Option<SlotId>, action_run: Option<SlotId>, action: ir::Value) {
        if let Some(slot) = hit {
            let hit = self.load_hit();
            self.write_slot(slot, Value::word(1, hit));
        }
        if let Some(slot) = self.program.tables[id.index()]
            .direct_meter
            .and_then(|meter| meter.slot)
        {
            let color = self.load_color();
            self.write_color(slot, color);
        }
        if let Some(slot) = action_run {
            self.write_slot(slot, Value::word(32, action));
        }
    }

    /// Writes a meter's colour, if there is one.
    pub(super) fn write_color(&mut self, slot: SlotId, color: ir::Value) {
        let none = self.number(NO_COLOR as i64);
        let is_color = self.builder.ins().icmp(IntCC::NotEqual, color, none);
        self.when(is_color, |translator| {
            let color = translator.value_of_u64(translator.program.slot(slot).width, color);
            translator.write_slot(slot, color);
        });
    }

    /// Does something when a condition is not 0.
    pub(super) fn when(&mut self, condition: ir::Value, then: impl FnOnce(&mut Self)) {
        let (then_block, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(condition, then_block, &[], next, &[]);
        self.builder.switch_to_block(then_block);
        then(self);
        self.builder.ins().jump(next, &[]);
        self.builder.switch_to_block(next);
    }

    /// Runs an action with the data of the last lookup, and goes on at `next`.
    fn run_action(&mut self, action: ActionId, next: ir::Block) {
        match self.callees.get(&action) {
            Some(&callee) => self.call_action(callee, next),
            None => {
                let arguments = self.load_arguments();
                self.action_body(action, arguments, Some(next));
            }
        }
    }

    /// Calls the function of an action. When it does not return normally, neither does this one.
    fn call_action(&mut self, callee: ir::FuncRef, next: ir::Block) {
        let call = self.builder.ins().call(callee, &[self.context]);
        let ended = self.builder.inst_results(call)[0];
        let mut switch = Switch::new();
        switch.set_entry(ending::RETURNED as u128, next);
        switch.set_entry(ending::STEP_LIMIT as u128, self.ending(Ending::StepLimit));
        switch.set_entry(ending::ASSERT_FAILED as u128, self.ending(Ending::AssertFailed));
        let exited = self.ending(Ending::Exited);
        switch.emit(&mut self.builder, ended, exited);
    }
}
