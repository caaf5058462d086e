//! Rates of counters: what was counted between two looks at them.

use crate::listing::{Cell, Record};
use std::collections::HashMap;

/// What counters said when they were looked at before.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    before: HashMap<String, (i64, i64)>,
}

impl Rates {
    /// The records of counters that are not 0, each with its rates over the last `seconds`; at the first look they have
    /// none.
    pub fn look(&mut self, records: Vec<Record>, seconds: f64) -> Vec<Record> {
        let counted = records.into_iter().filter(|record| counts(record) != (0, 0));
        counted.map(|record| self.with_rates(record, seconds)).collect()
    }

    fn with_rates(&mut self, record: Record, seconds: f64) -> Record {
        let (packets, bytes) = counts(&record);
        let before = self.before.insert(identity(&record), (packets, bytes));
        let rate = |now: i64, before: i64| (now - before).max(0) as f64 / seconds;
        let (packet_rate, bit_rate) = match before {
            Some((packets_before, bytes_before)) if seconds > 0.0 => {
                (rate(packets, packets_before), 8.0 * rate(bytes, bytes_before))
            }
            _ => (0.0, 0.0),
        };
        record
            .with("packets/s", Cell::Real(packet_rate))
            .with("bits/s", Cell::Real(bit_rate))
    }
}

/// Packets and bytes of a record.
fn counts(record: &Record) -> (i64, i64) {
    let count = |wanted| {
        let cell = record.cells.iter().find(|(name, _)| *name == wanted);
        match cell {
            Some((_, Cell::Number(count))) => *count,
            _ => 0,
        }
    };
    (count("packets"), count("bytes"))
}

/// What identifies a counter: everything but its counts.
fn identity(record: &Record) -> String {
    let cells = record
        .cells
        .iter()
        .filter(|(name, _)| !matches!(*name, "packets" | "bytes"));
    format!("{:?} {:?}", record.group, cells.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(packets: i64) -> Record {
        let record = Record::of("counter", "c").number("index", 1);
        record.number("packets", packets).number("bytes", 100 * packets)
    }

    #[test]
    fn rates_are_of_the_time_between_two_looks() {
        let mut rates = Rates::default();
        assert_eq!(rates.look(vec![counter(0)], 1.0), []);
        rates.look(vec![counter(5)], 1.0);
        let record = rates.look(vec![counter(25)], 2.0).remove(0);
        assert_eq!(record.json()["packets/s"], 10.0);
        assert_eq!(record.json()["bits/s"], 8000.0);
    }
}
