//! Rates of counters: what was counted between two looks at them.

use crate::listing::{Cell, Record};
use std::collections::HashMap;

/// What counters said when they were looked at before.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// The counters that were not 0; none before the first look.
    before: Option<HashMap<String, (i64, i64)>>,
}

impl Rates {
    /// The records of counters that are not 0, each with its rates over the last `seconds`; at the first look they have
    /// none.
    pub fn look(&mut self, records: Vec<Record>, seconds: f64) -> Vec<Record> {
        let before = self.before.take();
        let mut now = HashMap::new();
        let counted = records.into_iter().filter(|record| counts(record) != (0, 0));
        let look = |record: Record| {
            let (counted, identity) = (counts(&record), identity(&record));
            // What was not among them was 0.
            let before = before
                .as_ref()
                .map(|before| before.get(&identity).copied().unwrap_or_default());
            now.insert(identity, counted);
            with_rates(record, counted, before, seconds)
        };
        let records = counted.map(look).collect();
        self.before = Some(now);
        records
    }
}

fn with_rates(record: Record, now: (i64, i64), before: Option<(i64, i64)>, seconds: f64) -> Record {
    let rate = |now: i64, before: i64| (now - before).max(0) as f64 / seconds;
    let (packet_rate, bit_rate) = match before {
        Some(before) if seconds > 0.0 => (rate(now.0, before.0), 8.0 * rate(now.1, before.1)),
        _ => (0.0, 0.0),
    };
    record
        .with("packets/s", Cell::Real(packet_rate))
        .with("bits/s", Cell::Real(bit_rate))
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

    #[test]
    fn counters_begin_with_0_and_may_be_reset() {
        let mut rates = Rates::default();
        let mut rate = |packets: i64| {
            rates
                .look(vec![counter(packets)], 1.0)
                .pop()
                .and_then(|record| record.json()["packets/s"].as_f64())
        };
        assert_eq!(rate(0), None);
        assert_eq!(rate(7), Some(7.0));
        assert_eq!(rate(0), None, "it was reset");
        assert_eq!(rate(3), Some(3.0));
    }
}
