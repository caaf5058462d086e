//! A connection to a switch with the program: tables compared and written, counters read.

use crate::compile::TWIN;
use crate::entry::{Action, Difference, Entries, Key};
use crate::schema::{Counted, Schema};
use forebay_client::{CallError, Client};
use forebay_pfcp::wire::Usage;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{Entity, Update, update};
use std::collections::{HashMap, HashSet};

/// Updates of a batch when tables are compared.
const BATCH: usize = 1_000;

/// The connection to a switch with the program.
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) schema: Schema,
}

/// What a comparison of tables has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Synchronised {
    pub(crate) right: usize,
    pub(crate) written: usize,
    pub(crate) deleted: usize,
}

impl Link {
    pub(crate) fn updates(&self, difference: &Difference) -> Vec<Update> {
        let write = |kind: update::Type| move |(key, action): &(Key, Action)| self.schema.write(kind, key, action);
        let inserted = difference.inserted.iter().map(write(update::Type::Insert));
        let modified = difference.modified.iter().map(write(update::Type::Modify));
        let deleted = difference.deleted.iter().filter_map(|key| self.schema.delete(key));
        inserted.chain(modified).chain(deleted).collect()
    }

    /// Reads all tables, and the rates that are wanted, and writes what differs.
    pub(crate) fn synchronise(&mut self, wanted: &Entries) -> Result<Synchronised, CallError> {
        let mut questions = self.schema.all_entries();
        questions.extend(self.schema.rates_of(wanted.keys()));
        let read = self.client.read(questions)?;
        let present: Entries = read.iter().filter_map(|entity| self.schema.read(entity)).collect();
        let difference = Difference::between(&present, wanted);
        for updates in self.updates(&difference).chunks(BATCH) {
            self.client.write(updates.to_vec(), Atomicity::RollbackOnError)?;
        }
        Ok(Synchronised {
            right: wanted.len() - difference.inserted.len() - difference.modified.len(),
            written: difference.inserted.len() + difference.modified.len(),
            deleted: difference.deleted.len(),
        })
    }

    /// The counters of URRs in the order of their numbers.
    pub(crate) fn counters(&mut self, numbers: &[u32], twins: &HashSet<u32>) -> Result<Vec<Usage>, CallError> {
        let is_twin = |number: &&u32| twins.contains(number);
        let seconds = numbers.iter().filter(is_twin).map(|number| number + TWIN);
        let all = numbers.iter().copied().chain(seconds);
        let questions: Vec<Entity> = all.flat_map(|number| self.schema.usage_questions(number)).collect();
        let read = self.client.read(questions)?;
        let mut counters: Vec<(u32, Counted)> = read.iter().filter_map(|one| self.schema.read_usage(one)).collect();
        // Padding is subtracted from what has been added.
        counters.sort_by_key(|(_, counted)| matches!(counted, Counted::DownlinkPadding(_)));
        let mut found: HashMap<u32, Usage> = HashMap::new();
        for (number, counted) in counters {
            add(&mut found, number, counted);
        }
        Ok(numbers
            .iter()
            .map(|number| found.get(number).copied().unwrap_or_default())
            .collect())
    }
}

/// Adds a counter to the usage of its URR. Those of second numbers have the directions exchanged.
fn add(found: &mut HashMap<u32, Usage>, number: u32, counted: Counted) {
    let is_twin = number >= TWIN;
    let usage = found.entry(number % TWIN).or_default();
    let (uplink, downlink) = (
        (&mut usage.uplink_packets, &mut usage.uplink_bytes),
        (&mut usage.downlink_packets, &mut usage.downlink_bytes),
    );
    let (of_tunnel, of_network) = if is_twin {
        (downlink, uplink)
    } else {
        (uplink, downlink)
    };
    match counted {
        Counted::Uplink { packets } => *of_tunnel.0 += packets,
        Counted::UplinkBytes(bytes) => *of_tunnel.1 += bytes,
        Counted::Downlink { packets, bytes } => {
            *of_network.0 += packets;
            *of_network.1 += bytes;
        }
        Counted::DownlinkPadding(bytes) => *of_network.1 = of_network.1.saturating_sub(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_no_usage() {
        let mut found = HashMap::new();
        let (packets, bytes) = (2, 92);
        add(&mut found, 7, Counted::Downlink { packets, bytes });
        add(&mut found, 7, Counted::DownlinkPadding(12));
        let usage = Usage {
            downlink_packets: 2,
            downlink_bytes: 80,
            ..Usage::default()
        };
        assert_eq!(found[&7], usage);
    }
}
