//! Table application: the look-up, then the action.
//!
//! Tables are looked up by the words of a key, and actions read their data from the record that was found. If entries
//! name members of an action profile, a call of the runtime looks up the values.

use super::Translator;
use super::value::{ActionData, Place, Value};
use crate::context::NO_COLOR;
use crate::flow_slots::{FlowPlace, FoundForFlow};
use crate::flow_trail::ArrayId;
use crate::runtime::{self, Function};
use crate::tables::{Members, TableLayout};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Switch;
use forebay_ir::{ActionId, BlockId, SlotId, TableId, TableKey};
use forebay_tables::{KeyLayout, SLOT_BITS};

/// Up to this many actions, the action is chosen by comparisons.
const COMPARED_MAX: usize = 4;

/// The value of a slot for the action that ran, if no action ran.
const NO_ACTION: i64 = u32::MAX as i64;

/// The slots for a look-up's results: whether it hit, and which action ran.
type Results = (Option<SlotId>, Option<SlotId>);

/// The index of an action, shifted left. Shifting it right takes one more instruction.
#[derive(Clone, Copy)]
struct Index {
    value: ir::Value,
    shift: u32,
}

/// A record that was found.
struct Found {
    record: ir::Value,
    first_word: ir::Value,
    layout: TableLayout,
    /// Whether it is a copy, in whose place a later look-up of the packet puts another one.
    is_replaced: bool,
}

impl Translator<'_, '_, '_> {
    /// Applies a table, at the end of block `id` of the present body.
    pub(super) fn apply(&mut self, table: TableId, results: Results, id: BlockId, next: ir::Block) {
        let layout = self.table_layout(table);
        let lasting = self.temporaries_lasting;
        let (action, found) = self.find_record(table, layout, results, id);
        let no_action = found.layout.members.as_ref().map(Members::no_action);
        if let Some(slot) = results.1 {
            let index = self.shifted_right(action.value, action.shift);
            let index = match no_action {
                Some(none) => self.index_or_none(index, none),
                None => index,
            };
            self.write_slot(slot, Value::word(32, index));
        }
        let listed = &self.program.tables[table.index()].actions;
        let actions: Vec<(ActionId, ir::Block)> = listed
            .iter()
            .map(|listed| (listed.action, self.builder.create_block()))
            .collect();
        self.choose_action(action, &actions, next, no_action.is_none());
        for (index, (action, block)) in actions.into_iter().enumerate() {
            self.enter(block);
            self.run_action(table, (action, index), &found, next);
        }
        self.temporaries_lasting = lasting;
    }

    /// The index of an action, or [`NO_ACTION`] in place of `none`.
    fn index_or_none(&mut self, index: ir::Value, none: usize) -> ir::Value {
        let (none, no_action) = (self.number(none as i64), self.number(NO_ACTION));
        let is_none = self.ins().icmp(IntCC::Equal, index, none);
        self.ins().select(is_none, no_action, index)
    }

    /// Jumps to the action's block by its index, or to `next` if it is none of these, unless `is_one` rules that out.
    fn choose_action(&mut self, index: Index, actions: &[(ActionId, ir::Block)], next: ir::Block, is_one: bool) {
        let Some(((_, last), others)) = actions.split_last().filter(|_| is_one && actions.len() <= COMPARED_MAX) else {
            let mut switch = Switch::new();
            for (number, (_, block)) in (0u128..).zip(actions) {
                switch.set_entry(number, *block);
            }
            let index = self.shifted_right(index.value, index.shift);
            return switch.emit(&mut self.builder, index, next);
        };
        for (number, (_, block)) in (0_i64..).zip(others) {
            let same = self.ins().icmp_imm_u(IntCC::Equal, index.value, number << index.shift);
            self.go_on_unless(same, *block);
        }
        self.ins().jump(*last, &[]);
    }

    /// The layout of a table's key and action data.
    pub(super) fn table_layout(&self, table: TableId) -> TableLayout {
        TableLayout::new(self.program, table, self.environment.joins.leads(table))
    }

    fn key(&mut self, id: TableId) -> Vec<Value> {
        let program = self.program;
        let keys = &program.tables[id.index()].keys;
        let value = |field: &TableKey| match self.value_of_flow(&field.expr) {
            Some(known) => known,
            None => self.value(&field.expr, None),
        };
        keys.iter().map(value).collect()
    }

    /// Looks up the words of the key and writes the results except for the action. Returns the index of the action,
    /// and the record.
    fn find_record(&mut self, id: TableId, layout: TableLayout, (hit, _): Results, block: BlockId) -> (Index, Found) {
        let is_copy = |(_, place): (ir::Value, FlowPlace)| matches!(place.found, FoundForFlow::Copy(..));
        let is_replaced = layout.members.is_some() || self.flow_place(id).is_some_and(is_copy);
        let found = match self.found_ahead(id) {
            Some(found) => found,
            None if let Some(place) = self.flow_place(id) => self.find_for_flow(id, &layout, place),
            None if let Some(members) = &layout.members => {
                let key = self.key_words(id, &layout);
                self.find_member(members, &key)
            }
            None if !self.is_fast_path() => {
                let key = self.key_words(id, &layout);
                self.look_up_now(id, layout.search, &key)
            }
            None => {
                let path = self.path().filter(|path| path.copy_loop.is_none());
                let leaf = path.map(|path| path.leaf);
                let crossing = leaf.and_then(|leaf| leaf.crossings.get(&block));
                match self.memo_of(id) {
                    Some(memo) => self.find_by_memo(id, &layout, memo, crossing),
                    None if let Some(found) = leaf.and_then(|leaf| self.found_early(leaf, block, id)) => found,
                    None => {
                        let key = self.key_words(id, &layout);
                        leaf.into_iter().for_each(|leaf| self.ask_early(leaf, block));
                        self.find(id, layout.search, &key, crossing)
                    }
                }
            }
        };
        let record = found.record;
        let first_word = self.load(record, 0);
        if let Some(slot) = hit {
            self.write_slot(slot, Value::word(1, found.hit));
        }
        self.note_hit(id, found.hit, first_word);
        let action = layout.record.action();
        let index = Index {
            value: self
                .ins()
                .band_imm_u(first_word, ((1 << action.width) - 1) << action.shift),
            shift: action.shift,
        };
        let found = Found {
            record,
            first_word,
            layout,
            is_replaced,
        };
        (index, found)
    }

    /// Looks the key up once, before the packets of the burst.
    pub(super) fn look_up_ahead(&mut self, id: TableId, layout: &TableLayout) {
        let key = self.key_words(id, layout);
        let found = self.look_up_now(id, layout.search, &key);
        self.note_ahead(id, found);
    }

    pub(super) fn key_words(&mut self, id: TableId, layout: &TableLayout) -> Vec<ir::Value> {
        let values = self.key(id);
        self.words_of_key(&values, &layout.key)
    }

    /// The words of a key with these values.
    fn words_of_key(&mut self, values: &[Value], layout: &KeyLayout) -> Vec<ir::Value> {
        let mut words: Vec<Option<ir::Value>> = vec![None; layout.words()];
        for (value, place) in values.iter().copied().zip(layout.places()) {
            let Some(place) = place else { continue };
            for index in 0..runtime::words(value.width) {
                let limb = match value.place {
                    Place::Word(word) => self.shifted_left(word, place.shift),
                    _ => self.limb(value, index),
                };
                let word = &mut words[place.word + index];
                *word = Some(match *word {
                    Some(others) => self.ins().bor(others, limb),
                    None => limb,
                });
            }
        }
        let words = words.into_iter();
        words.map(|word| word.unwrap_or_else(|| self.number(0))).collect()
    }

    /// Counts and meters a hit or a miss as the program declares, and stores the time of a hit.
    fn note_hit(&mut self, id: TableId, hit: ir::Value, first_word: ir::Value) {
        let table = &self.program.tables[id.index()];
        self.count_directly(id, hit, first_word);
        if table.supports_timeout {
            self.when(hit, |translator| translator.note_time_of_hit(id, first_word));
        }
        if let Some(direct) = table.direct_meter {
            self.when(hit, |translator| {
                let slot = translator.masked(SLOT_BITS, first_word);
                translator.note_meter(direct.meter, slot);
                translator.call_for_color(id, runtime::HIT, Some(slot));
            });
            let missed = self.ins().icmp_imm_u(IntCC::Equal, hit, 0);
            self.when(missed, |translator| translator.call_for_color(id, runtime::MISS, None));
        }
    }

    /// Sets an entry's hit time to the packet's arrival time, unless it already has a later one.
    fn note_time_of_hit(&mut self, id: TableId, first_word: ir::Value) {
        let tables = self.load(self.context, in_context!(hit_times));
        let times = self.load(tables, 8 * id.0 as i32);
        let slot = self.masked(SLOT_BITS, first_word);
        let time = self.place_of(times, slot, 1);
        self.note_element(ArrayId::HitTimes(id), time);
        let microseconds = self.load(self.context, in_context!(facts.timestamp_us));
        let now = self.ins().imul_imm_u(microseconds, 1000);
        let last = self.load(time, 0);
        let latest = self.ins().umax(last, now);
        self.store(latest, time, 0);
    }

    /// Calls a function that returns the colour of a table's direct meter.
    fn call_for_color(&mut self, id: TableId, function: Function, slot: Option<ir::Value>) {
        self.tell_facts();
        let table = self.number(id.0.into());
        let arguments = [self.context, table].into_iter().chain(slot);
        let arguments: Vec<ir::Value> = arguments.collect();
        let color = self.call_for_result(function, &arguments);
        if let Some(slot) = self.color_slot(id) {
            self.write_color(slot, color);
        }
    }

    fn color_slot(&self, id: TableId) -> Option<SlotId> {
        self.program.tables[id.index()].color_slot()
    }

    /// Writes a meter's colour, if there is one.
    pub(super) fn write_color(&mut self, slot: SlotId, color: ir::Value) {
        let is_color = self.ins().icmp_imm_u(IntCC::NotEqual, color, NO_COLOR as i64);
        self.when(is_color, |translator| {
            translator.write_number(slot, color);
        });
    }

    /// Executes code if a condition is not 0.
    pub(super) fn when(&mut self, condition: ir::Value, then: impl FnOnce(&mut Self)) {
        match self.constant_of(condition) {
            Some(0) => {}
            Some(_) => then(self),
            None => {
                let block = self.builder.create_block();
                self.when_in(block, condition, then);
            }
        }
    }

    /// Executes code if a condition is not 0, which is rare.
    pub(super) fn when_rarely(&mut self, condition: ir::Value, then: impl FnOnce(&mut Self)) {
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        self.when_in(block, condition, then);
    }

    /// Executes code in this block if a condition is not 0.
    fn when_in(&mut self, block: ir::Block, condition: ir::Value, then: impl FnOnce(&mut Self)) {
        let next = self.builder.create_block();
        self.ins().brif(condition, block, &[], next, &[]);
        self.enter(block);
        then(self);
        self.ins().jump(next, &[]);
        self.enter(next);
    }

    /// Runs an action with the data of a record, and continues at `next`.
    fn run_action(&mut self, table: TableId, (id, index): (ActionId, usize), found: &Found, next: ir::Block) {
        let program = self.program;
        let data = ActionData {
            record: found.record,
            first_word: found.first_word,
            places: found.layout.record.data(index).to_vec(),
            is_replaced: found.is_replaced,
        };
        self.note_memo(table, id, &found.layout, &data);
        let action = &program.actions[id.index()];
        self.body(&program.bodies[action.body.index()], Some(data), next);
    }
}
