//! Table entries with everything that a controller can read about them: idle time-outs, direct counters and meters,
//! ids.
//!
//! [`crate::Entry`] describes what an entry does. A [`Record`] adds what the data plane stores about it.

use crate::control::convert;
use crate::control::learning::EntryKey;
use crate::control::{Batch, Entry, MeterRates};
use crate::error::ControlError;
use crate::load::Pipeline;
use forebay_ir::{EntryMatch, TableId};
use forebay_jit::default_slot;
use forebay_tables::{ColorCounts, CounterValue, EntryId, NewEntry};

/// A table entry, and what the data plane stores about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The entry's id. Ids are never reused in a table, and later entries have larger ids.
    pub id: u64,
    /// The index of the entry's element in the table's direct counter and meter.
    pub slot: u64,
    /// What it matches and does.
    pub entry: Entry,
    /// Whether the program forbids changing the entry.
    pub is_const: bool,
    /// The entry's idle time-out, and the time of its last hit.
    pub idle: IdleTime,
}

/// How long an entry may be without a packet. Times are nanoseconds since the switch started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleTime {
    /// Time without a packet after which the entry is idle; 0 for never.
    pub timeout_ns: u64,
    /// The time at which the last packet hit the entry, or at which it was added.
    pub last_hit_ns: u64,
}

impl Pipeline {
    /// All entries of a table in the order in which they were added.
    pub fn records(&self, table: TableId) -> Vec<Record> {
        let mut records = Vec::new();
        self.for_entries(table, |_, entry| records.push(self.record_of(table, entry)));
        records
    }

    /// Passes the entries of a table to `take`, in the order in which they were added, without all of them in memory.
    pub fn each_record(&self, table: TableId, take: impl FnMut(Record)) {
        self.each_entry(table, |_, entry| Some(self.record_of(table, entry)), take);
    }

    /// The entry with this match and priority.
    ///
    /// # Errors
    /// If there is none, or the match does not fit the table.
    pub fn record(&self, table: TableId, matches: &[EntryMatch], priority: i64) -> Result<Record, ControlError> {
        let entry = self.find(&self.control().tables[table.index()], table, matches, priority)?;
        Ok(self.record_of(table, &entry))
    }

    /// The number of entries of a table.
    pub fn entry_count(&self, table: TableId) -> usize {
        self.control().tables[table.index()].len()
    }

    /// An entry by its [`Record::id`].
    pub fn record_by_id(&self, table: TableId, id: u64) -> Option<Record> {
        let control = self.control();
        let entry = control.tables[table.index()].get(EntryId(id))?;
        Some(self.record_of(table, &entry))
    }

    /// The idle time of an entry, by its [`Record::id`].
    pub fn idle_time(&self, table: TableId, id: u64) -> Option<IdleTime> {
        let control = self.control();
        Some(self.idle_time_of(table, &*control.tables[table.index()].get(EntryId(id))?))
    }

    /// The idle time of each entry that may become idle, by [`Record::id`].
    pub fn idle_times(&self, table: TableId) -> Vec<(u64, IdleTime)> {
        let mut times = Vec::new();
        self.for_entries(table, |_, entry| {
            let idle = self.idle_time_of(table, entry);
            if idle.timeout_ns > 0 {
                times.push((entry.id().0, idle));
            }
        });
        times
    }

    /// The default entry's element of a table's direct counter and meter, which counts and meters misses.
    pub fn default_slot(&self, table: TableId) -> u64 {
        default_slot(&self.program.tables[table.index()])
    }

    /// The direct counter of the entry with this [`Record::slot`]; `None` when the table has none.
    pub fn direct_counter_at(&self, table: TableId, slot: u64) -> Option<CounterValue> {
        let counter = self.program.tables[table.index()].direct_counter?;
        Some(self.stateful.counters[counter.index()].read(slot))
    }

    /// Changes the direct counter of an entry. Does nothing when the table has none.
    pub fn set_direct_counter_at(&self, table: TableId, slot: u64, value: CounterValue) {
        if let Some(counter) = self.program.tables[table.index()].direct_counter {
            self.stateful.counters[counter.index()].write(slot, value);
        }
    }

    /// The rates of the direct meter of an entry, if the table has one and it was configured.
    pub fn direct_meter_at(&self, table: TableId, slot: u64) -> Option<MeterRates> {
        let direct = self.program.tables[table.index()].direct_meter?;
        let config = self.stateful.meters[direct.meter.index()].config(slot)?;
        Some(super::objects::rates_from_tables(config))
    }

    /// Sets the rates of an entry's direct meter; without rates it always returns green.
    ///
    /// # Errors
    /// If the committed rate is above the peak rate.
    pub fn set_direct_meter_at(
        &self,
        table: TableId,
        slot: u64,
        rates: Option<MeterRates>,
    ) -> Result<(), ControlError> {
        let Some(direct) = self.program.tables[table.index()].direct_meter else {
            return Ok(());
        };
        let configured = self.write_rates(direct.meter.index(), slot, rates);
        let name = &self.program.meters[direct.meter.index()].name;
        configured.map_err(|error| super::objects::meter_error(name, slot, error))
    }

    /// What the direct meter of an entry has counted of each colour; `None` when the table has no meter.
    pub fn direct_meter_counts_at(&self, table: TableId, slot: u64) -> Option<ColorCounts> {
        let direct = self.program.tables[table.index()].direct_meter?;
        self.stateful.meters[direct.meter.index()].counts(slot)
    }

    /// Changes what the direct meter of an entry has counted. Does nothing when the table has no meter.
    pub fn set_direct_meter_counts_at(&self, table: TableId, slot: u64, counts: ColorCounts) {
        if let Some(direct) = self.program.tables[table.index()].direct_meter {
            self.write_counts(direct.meter.index(), slot, counts);
        }
    }

    pub(super) fn record_of(&self, table: TableId, entry: &forebay_tables::Entry) -> Record {
        let declared = &self.program.tables[table.index()];
        Record {
            id: entry.id().0,
            slot: entry.slot() as u64,
            entry: convert::entry_to_control(&self.program, declared, entry),
            is_const: entry.is_const() || declared.entries_are_const,
            idle: self.idle_time_of(table, entry),
        }
    }

    fn idle_time_of(&self, table: TableId, entry: &forebay_tables::Entry) -> IdleTime {
        IdleTime {
            timeout_ns: entry.idle_timeout_ns(),
            last_hit_ns: self.stateful.last_hit_ns(table, entry.slot()),
        }
    }
}

impl Batch<'_> {
    /// Adds an entry with an idle time-out. Returns its [`Record::id`] and [`Record::slot`].
    ///
    /// # Errors
    /// As [`Pipeline::insert_entry`].
    pub fn insert_record(&mut self, table: TableId, entry: &Entry, idle: IdleTime) -> Result<(u64, u64), ControlError> {
        let declared = &self.pipeline.program.tables[table.index()];
        let key = convert::key_from_control(declared, &entry.matches)?;
        let priority = convert::priority(declared, entry.priority)?;
        let action = convert::action_from_control(&self.pipeline.program, declared, &entry.action)?;
        let mut new = NewEntry::new(key, priority, action);
        new.idle_timeout_ns = idle.timeout_ns;
        let inserted = self.add(table, new, idle.last_hit_ns)?;
        let slot = self.table(table).get(inserted).map_or(0, |entry| entry.slot() as u64);
        Ok((inserted.0, slot))
    }

    /// Changes the action and the idle time-out of the entry with the same match and priority. If the time-out
    /// changes, the time without a packet starts again.
    ///
    /// # Errors
    /// As [`Pipeline::modify_entry`].
    pub fn modify_record(&mut self, table: TableId, entry: &Entry, idle: IdleTime) -> Result<(), ControlError> {
        let declared = &self.pipeline.program.tables[table.index()];
        let action = convert::action_from_control(&self.pipeline.program, declared, &entry.action)?;
        let found = self
            .pipeline
            .find(self.table(table), table, &entry.matches, entry.priority)?;
        self.acquire(table, action.as_ref())?;
        let timeout = (found.idle_timeout_ns() != idle.timeout_ns).then_some(idle.timeout_ns);
        let modified = self
            .table_mut(table)
            .modify_with_timeout(found.id(), action.clone(), timeout);
        let unused = if modified.is_ok() { found.action() } else { &action };
        self.release(table, unused.as_ref());
        let entry = EntryKey {
            table,
            slot: found.slot() as u32,
            id: found.id(),
        };
        if modified.is_ok() {
            self.note_changed(entry);
        }
        if let (Ok(()), Some(timeout_ns)) = (&modified, timeout) {
            self.note_date(entry, timeout_ns, idle.last_hit_ns);
        }
        modified.map_err(|error| convert::table_error(&self.pipeline.program, declared, error))
    }

    /// Whether another entry is deleted together with this one, which is given by its [`Record::id`].
    pub fn has_partner(&self, table: TableId, id: u64) -> bool {
        let entry = self.entry_key(table, EntryId(id));
        entry.is_some_and(|entry| self.partner(entry).is_some())
    }

    /// See [`Pipeline::deletes_idle`].
    pub fn deletes_idle(&self, table: TableId) -> bool {
        self.pipeline.deletes_idle(table)
    }

    /// See [`Pipeline::default_slot`].
    pub fn default_slot(&self, table: TableId) -> u64 {
        self.pipeline.default_slot(table)
    }

    /// The entry with this match and priority, with what the batch has written so far.
    ///
    /// # Errors
    /// If there is none, or the match does not fit the table.
    pub fn record(&self, table: TableId, matches: &[EntryMatch], priority: i64) -> Result<Record, ControlError> {
        let entry = self.pipeline.find(self.table(table), table, matches, priority)?;
        Ok(self.pipeline.record_of(table, &entry))
    }
}
