//! One update on its way into a pipeline.

use crate::ledger::Ledger;
use crate::ports::Ports;
use crate::roles::RoleConfig;
use crate::schema::Schema;
use crate::stream::idle::IdleTimers;
use forebay_bits::Bits;
use forebay_ir::TableId;
use forebay_pipeline::{Batch, ColorCounts, CounterValue, MeterRates, Pipeline};
use std::ops::Range;

/// Who writes, and when.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) role: &'a RoleConfig,
    pub(crate) ports: &'a Ports,
    /// Nanoseconds since the switch started.
    pub(crate) now_ns: u64,
    /// Whether what was read from a switch is written again. It may hold what no controller may write: members and
    /// groups with number 0, which came with the entries that the switch was started with, and entries of the program
    /// with priority 0.
    pub(crate) writes_again: bool,
    /// Whether the program's constraints hold for it. What the same program held before need not obey them: entries of
    /// the program itself, or of a file.
    pub(crate) is_bound: bool,
    /// Whether it may write what BMv2 has and P4Runtime has not: groups and sessions that make a copy twice, a clone session
    /// with number 0, members and groups of action profiles as defaults of tables.
    pub(crate) is_bmv2: bool,
}

/// What an update may read and change.
pub(crate) struct Change<'a, 'p> {
    pub(crate) schema: &'a Schema,
    pub(crate) writer: Writer<'a>,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) timers: &'a mut IdleTimers,
    pub(crate) batch: &'a mut Batch<'p>,
    /// Writes of what packets share; they follow when all of the batch has succeeded.
    pub(crate) later: &'a mut Vec<Later>,
}

/// A write to something that packets write too, checked already: it cannot fail. One to all elements of an array takes no
/// more memory than one to a single element.
#[derive(Debug)]
pub(crate) enum Later {
    DirectCounter {
        table: TableId,
        slot: u64,
        value: CounterValue,
    },
    DirectMeter {
        table: TableId,
        slot: u64,
        rates: Option<MeterRates>,
    },
    DirectMeterCounts {
        table: TableId,
        slot: u64,
        counts: ColorCounts,
    },
    Counter {
        name: String,
        indices: Range<u64>,
        value: CounterValue,
    },
    Meter {
        name: String,
        indices: Range<u64>,
        rates: Option<MeterRates>,
    },
    MeterCounts {
        name: String,
        indices: Range<u64>,
        counts: ColorCounts,
    },
    Register {
        name: String,
        indices: Range<u64>,
        value: Bits,
    },
}

impl Later {
    /// Does it.
    pub(crate) fn apply(self, pipeline: &Pipeline) {
        let done = match self {
            Later::DirectCounter { table, slot, value } => {
                pipeline.set_direct_counter_at(table, slot, value);
                Ok(())
            }
            Later::DirectMeter { table, slot, rates } => pipeline.set_direct_meter_at(table, slot, rates),
            Later::DirectMeterCounts { table, slot, counts } => {
                pipeline.set_direct_meter_counts_at(table, slot, counts);
                Ok(())
            }
            Later::Counter {
                name,
                mut indices,
                value,
            } => indices.try_for_each(|index| pipeline.write_counter(&name, index, value)),
            Later::Meter {
                name,
                mut indices,
                rates,
            } => indices.try_for_each(|index| pipeline.configure_meter(&name, index, rates)),
            Later::MeterCounts {
                name,
                mut indices,
                counts,
            } => indices.try_for_each(|index| pipeline.write_meter_counts(&name, index, counts)),
            Later::Register {
                name,
                mut indices,
                value,
            } => indices.try_for_each(|index| pipeline.write_register(&name, index, &value)),
        };
        debug_assert_eq!(done, Ok(()), "writes were checked before");
    }

    /// Whether it is about the direct counter or meter of this entry.
    pub(crate) fn is_of(&self, of_table: TableId, of_slot: u64) -> bool {
        match self {
            Later::DirectCounter { table, slot, .. }
            | Later::DirectMeter { table, slot, .. }
            | Later::DirectMeterCounts { table, slot, .. } => (*table, *slot) == (of_table, of_slot),
            _ => false,
        }
    }
}
