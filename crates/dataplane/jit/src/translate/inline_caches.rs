//! The fast path: look-ups whose result is cached in the record of another look-up: see [`crate::inline_caches`].

use super::Translator;
use super::search::Match;
use super::value::ActionData;
use crate::inline_caches::{determines, key_slots};
use crate::route::live_sets::Crossing;
use crate::tables::TableLayout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Variable;
use forebay_ir::{ActionId, TableId};
use forebay_tables::search::{Location, MEMO_PLACE_BITS};
use std::mem::offset_of;

impl<'a> Translator<'_, 'a, '_> {
    /// Begins a path on which no memo is known yet.
    pub(super) fn begin_memos(&mut self) {
        if self.environment.slots.is_some() {
            // The flow cache makes memos unnecessary.
            return;
        }
        let program = self.program;
        for leader in (0..program.tables.len() as u32).map(TableId) {
            if self.environment.joins.leads(leader) {
                let nowhere = self.no_memo();
                let place = self.variable(nowhere);
                self.path_mut().memos.insert(leader, place);
            }
        }
    }

    /// The registers with the addresses of memos, for a packet that is suspended.
    pub(super) fn memo_variables(&self) -> Vec<Variable> {
        self.on_path().memos.values().copied().collect()
    }

    /// The address of a memo that is never valid.
    fn no_memo(&mut self) -> ir::Value {
        if self.environment.no_memo.is_null() {
            self.environment.no_memo = self.environment.pool.words([0].into());
        }
        self.pointer(self.environment.no_memo)
    }

    /// Before an action runs with the data of a record: sets the memo's address if the action determines the next
    /// keys.
    pub(super) fn note_memo(&mut self, table: TableId, action: ActionId, layout: &TableLayout, data: &ActionData) {
        let place = self.path().and_then(|path| path.memos.get(&table).copied());
        let (Some(place), Some(memo)) = (place, layout.record.memo()) else {
            return;
        };
        let program = self.environment.program;
        let is_certain = self.environment.joins.followers(table).all(|follower| {
            let key = key_slots(program, follower);
            key.is_some_and(|key| determines(program, action, &key))
        });
        let address = if is_certain {
            self.address(data.record, 8 * memo as i32)
        } else {
            self.no_memo()
        };
        self.builder.def_var(place, address);
    }

    /// The memo's address for a look-up, if the look-up may have one.
    pub(super) fn memo_of(&mut self, table: TableId) -> Option<ir::Value> {
        let leader = self.environment.joins.leader(table)?;
        // If a record leads to several tables, the memo belongs to the first.
        let is_first = self.environment.joins.followers(leader).next() == Some(table);
        let is_as_declared = key_slots(self.program, table) == key_slots(self.environment.program, table);
        let path = self.path()?;
        let place = *path
            .memos
            .get(&leader)
            .filter(|_| is_first && is_as_declared && path.copy_loop.is_none())?;
        Some(self.builder.use_var(place))
    }

    /// Takes the result from the memo if it is valid. Otherwise looks the key up and writes the memo.
    pub(super) fn find_by_memo(
        &mut self,
        table: TableId,
        layout: &TableLayout,
        place: ir::Value,
        crossing: Option<&Crossing>,
    ) -> Match {
        let location = self.location(table);
        let memo = self.load(place, 0);
        let noted = self.shifted_right(memo, MEMO_PLACE_BITS);
        let present = self.load_unchanging(location, offset_of!(Location, version));
        let holds = self.ins().icmp(IntCC::Equal, noted, present);
        let [known, unknown] = self.blocks();
        let (found, result) = self.block_with_match();
        self.ins().brif(holds, known, &[], unknown, &[]);

        self.enter(known);
        let array = self.load_unchanging(location, offset_of!(Location, array));
        let words = self.masked(MEMO_PLACE_BITS, memo);
        let bytes = self.shifted_left(words, 3);
        let noted = self.ins().iadd(array, bytes);
        let one = self.number(1);
        self.ins().jump(found, &[noted.into(), one.into()]);

        self.enter_cold(unknown);
        let leader = self.environment.joins.leader(table).expect("it has a memo");
        let key = self.key_words(table, layout);
        let by_key = self.find(table, layout.search, &key, crossing);
        // The packet may have been suspended meanwhile.
        let place = self.on_path().memos[&leader];
        let place = self.builder.use_var(place);
        self.write_memo(table, place, by_key);
        self.ins().jump(found, &[by_key.record.into(), by_key.hit.into()]);

        self.enter(found);
        result
    }

    /// Writes a memo if the record belongs to an entry in the array that the burst uses.
    fn write_memo(&mut self, table: TableId, place: ir::Value, found: Match) {
        let location = self.location(table);
        let array = self.load_unchanging(location, offset_of!(Location, array));
        let bytes = self.load_unchanging(location, offset_of!(Location, bytes));
        let version = self.load_unchanging(location, offset_of!(Location, version));
        let offset = self.ins().isub(found.record, array);
        let is_inside = self.ins().icmp(IntCC::UnsignedLessThan, offset, bytes);
        let nowhere = self.no_memo();
        let is_somewhere = self.ins().icmp(IntCC::NotEqual, place, nowhere);
        let holds = self.ins().icmp_imm_u(IntCC::NotEqual, version, -1);
        let all = self.ins().band(is_inside, is_somewhere);
        let all = self.ins().band(all, holds);
        let hit = self.ins().ireduce(types::I8, found.hit);
        let all = self.ins().band(all, hit);
        self.when(all, |translator| {
            let words = translator.shifted_right(offset, 3);
            let version = translator.shifted_left(version, MEMO_PLACE_BITS);
            let memo = translator.ins().bor(version, words);
            translator.store(memo, place, 0);
        });
    }
}
