//! Entries that no packet has hit for as long as they allow (P4Runtime §16.4).
//!
//! Tables that allow time-outs are looked through from time to time. An entry that is idle is told once; its time begins
//! anew then.

use crate::entity::table_read::identity;
use crate::forwarding::Forwarding;
use crate::schema::TableSchema;
use forebay_pipeline::IdleTime;
use forebay_protocol::p4::v1::{IdleTimeoutNotification, TableEntry};
use std::collections::HashMap;

/// The shortest and the longest time between two looks, in nanoseconds. In between it is a quarter of the shortest
/// time-out, so that large tables are not looked through for nothing.
const INTERVAL_MIN_NS: u64 = 10_000_000;
const INTERVAL_MAX_NS: u64 = 1_000_000_000;

/// When idle entries were told of.
#[derive(Debug, Default)]
pub(crate) struct IdleScan {
    /// By table id and [`forebay_pipeline::Record::id`].
    told_ns: HashMap<(u32, u64), u64>,
    next_ns: u64,
    /// The shortest time-out of the last look.
    shortest_ns: u64,
}

impl IdleScan {
    /// Entries may have changed: looks again soon.
    pub(crate) fn hurry(&mut self, now_ns: u64) {
        self.next_ns = self.next_ns.min(now_ns + INTERVAL_MIN_NS);
    }

    /// When to look next, if a table of the program allows time-outs.
    pub(crate) fn next_ns(&self, forwarding: &Forwarding) -> Option<u64> {
        tables(forwarding).next().map(|_| self.next_ns)
    }

    /// A notification for each table that has idle entries; `timestamp` is the time since 1970 in nanoseconds.
    pub(crate) fn scan(
        &mut self,
        forwarding: &Forwarding,
        now_ns: u64,
        timestamp: i64,
    ) -> Vec<(u32, IdleTimeoutNotification)> {
        if now_ns < self.next_ns {
            return Vec::new();
        }
        self.shortest_ns = u64::MAX;
        let before = std::mem::take(&mut self.told_ns);
        let idle = tables(forwarding).filter_map(|table| {
            let table_entry = self.idle_entries(forwarding, table, &before, now_ns);
            let notification = IdleTimeoutNotification { table_entry, timestamp };
            (!notification.table_entry.is_empty()).then_some((table.id, notification))
        });
        let idle = idle.collect();
        self.next_ns = now_ns + (self.shortest_ns / 4).clamp(INTERVAL_MIN_NS, INTERVAL_MAX_NS);
        idle
    }

    fn idle_entries(
        &mut self,
        forwarding: &Forwarding,
        table: &TableSchema,
        before: &HashMap<(u32, u64), u64>,
        now_ns: u64,
    ) -> Vec<TableEntry> {
        let mut idle = Vec::new();
        for (
            id,
            IdleTime {
                timeout_ns,
                last_hit_ns,
            },
        ) in forwarding.pipeline.idle_times(table.index)
        {
            self.shortest_ns = self.shortest_ns.min(timeout_ns);
            let told_ns = before.get(&(table.id, id)).copied();
            let since_ns = last_hit_ns.max(told_ns.unwrap_or(0));
            if now_ns.saturating_sub(since_ns) >= timeout_ns {
                idle.push(id);
                self.told_ns.insert((table.id, id), now_ns);
            } else if let Some(told_ns) = told_ns {
                self.told_ns.insert((table.id, id), told_ns);
            }
        }
        if idle.is_empty() {
            return Vec::new();
        }
        let records = forwarding.pipeline.records(table.index).into_iter();
        let entries = records.filter(|record| idle.binary_search(&record.id).is_ok());
        entries
            .map(|record| identity(table, &record, forwarding.ledger.entry(table.id, record.id)))
            .collect()
    }
}

fn tables(forwarding: &Forwarding) -> impl Iterator<Item = &TableSchema> {
    forwarding.schema.tables.values().filter(|table| table.supports_timeout)
}
