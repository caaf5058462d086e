//! Direct counters and meters: an element for each entry of a table.

use crate::control::MeterRates;
use crate::control::objects::{meter_error, rates_from_tables};
use crate::error::ControlError;
use crate::load::Pipeline;
use forebay_ir::{CounterId, EntryMatch, MeterId, TableId};
use forebay_tables::{ColorCounts, CounterValue};

impl Pipeline {
    /// The direct counter of an entry.
    ///
    /// # Errors
    /// When there is no such table or entry, or the table has no direct counter.
    pub fn read_direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<CounterValue, ControlError> {
        let (counter, slot) = self.direct_counter(table, matches, priority)?;
        Ok(self.stateful.counters[counter.index()].read(slot))
    }

    /// Changes the direct counter of an entry.
    ///
    /// # Errors
    /// When there is no such table or entry, or the table has no direct counter.
    pub fn write_direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
        value: CounterValue,
    ) -> Result<(), ControlError> {
        let (counter, slot) = self.direct_counter(table, matches, priority)?;
        self.stateful.counters[counter.index()].write(slot, value);
        Ok(())
    }

    /// Sets the rates of an entry's direct meter; without rates it always returns green.
    ///
    /// # Errors
    /// When there is no such table or entry, the table has no direct meter, or the committed rate is above the peak
    /// rate.
    pub fn configure_direct_meter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
        rates: Option<MeterRates>,
    ) -> Result<(), ControlError> {
        let (meter, slot) = self.direct_meter(table, matches, priority)?;
        let name = &self.program.meters[meter.index()].name;
        let configured = self.write_rates(meter.index(), slot, rates);
        configured.map_err(|error| meter_error(name, slot, error))
    }

    /// The rates of an entry's direct meter, if it was configured.
    ///
    /// # Errors
    /// When there is no such table or entry, or the table has no direct meter.
    pub fn direct_meter_rates(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<Option<MeterRates>, ControlError> {
        let (meter, slot) = self.direct_meter(table, matches, priority)?;
        Ok(self.stateful.meters[meter.index()].config(slot).map(rates_from_tables))
    }

    /// Resets what belongs only to the entry of this slot. `from_ns` is the initial time of its last hit. No packet may
    /// be hitting the slot, unless the caller is a guest of the workers.
    pub(super) fn reset_direct_objects(&self, table: TableId, slot: usize, from_ns: u64) {
        self.stateful.begin_time(table, slot, from_ns);
        let slot = slot as u64;
        let declared = &self.program.tables[table.index()];
        if let Some(counter) = declared.direct_counter {
            self.stateful.counters[counter.index()].write(slot, CounterValue::default());
        }
        if let Some(direct) = declared.direct_meter {
            // A slot of the table is always an index of its meter.
            let meters = &self.stateful.meters[direct.meter.index()];
            let _ = meters.configure(slot, None);
            meters.set_counts(slot, ColorCounts::default());
        }
    }

    /// The element of the direct counter that belongs to an entry.
    fn direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<(CounterId, u64), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let counter = declared.direct_counter.ok_or_else(|| ControlError::Unsuitable {
            name: declared.name.clone(),
            expected: "has no direct counter",
        })?;
        let entry = self.find(&self.control().tables[id.index()], id, matches, priority)?;
        Ok((counter, entry.slot() as u64))
    }

    /// The element of the direct meter that belongs to an entry.
    fn direct_meter(&self, table: &str, matches: &[EntryMatch], priority: i64) -> Result<(MeterId, u64), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let direct = declared.direct_meter.ok_or_else(|| ControlError::Unsuitable {
            name: declared.name.clone(),
            expected: "has no direct meter",
        })?;
        let entry = self.find(&self.control().tables[id.index()], id, matches, priority)?;
        Ok((direct.meter, entry.slot() as u64))
    }
}
