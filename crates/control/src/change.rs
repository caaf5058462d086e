//! One update on its way into a pipeline.

use crate::ledger::Ledger;
use crate::ports::Ports;
use crate::schema::Schema;
use forebay_bits::Bits;
use forebay_ir::TableId;
use forebay_pipeline::{Batch, CounterValue, MeterRates, Pipeline};

/// What an update may read and change.
pub(crate) struct Change<'a, 'p> {
    pub(crate) schema: &'a Schema,
    pub(crate) ports: &'a Ports,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) batch: &'a mut Batch<'p>,
    /// Writes of what packets share; they follow when all of the batch has succeeded.
    pub(crate) later: &'a mut Vec<Later>,
    /// Nanoseconds since the switch started.
    pub(crate) now_ns: u64,
}

/// A write to something that packets write too, checked already: it cannot fail.
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
    Counter {
        name: String,
        index: u64,
        value: CounterValue,
    },
    Meter {
        name: String,
        index: u64,
        rates: Option<MeterRates>,
    },
    Register {
        name: String,
        index: u64,
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
            Later::Counter { name, index, value } => pipeline.write_counter(&name, index, value),
            Later::Meter { name, index, rates } => pipeline.configure_meter(&name, index, rates),
            Later::Register { name, index, value } => pipeline.write_register(&name, index, &value),
        };
        debug_assert_eq!(done, Ok(()), "writes were checked before");
    }

    /// Whether it is about the direct counter or meter of this entry.
    pub(crate) fn is_of(&self, of_table: TableId, of_slot: u64) -> bool {
        match self {
            Later::DirectCounter { table, slot, .. } | Later::DirectMeter { table, slot, .. } => {
                (*table, *slot) == (of_table, of_slot)
            }
            _ => false,
        }
    }
}
