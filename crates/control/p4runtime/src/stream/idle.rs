//! Entries that no packet has hit for as long as they allow (P4Runtime §16.4).
//!
//! An entry with a time-out has a timer from when it was written. When the timer is due, the entry's last hit says how
//! it stands: the timer is armed for the rest of the time, or the entry is idle. An idle entry is reported once; its
//! time then starts again. One call reports a bounded number of entries, so that other calls are served in between.
//!
//! An entry that packets have added, or that is in a table to which packets add entries, is reported when it has
//! expired and been deleted.
//!
//! A timer of an entry that was deleted is forgotten when it is due, or when such timers become many.

use super::wheel::Wheel;
use crate::entity::table_read::identity;
use crate::forwarding::Forwarding;
use crate::schema::{Schema, TableSchema};
use forebay_pipeline::{IdleTime, Pipeline};
use forebay_protocol::p4::v1::{IdleTimeoutNotification, TableEntry};
use std::collections::BTreeMap;

/// Timers that one look is about.
const DUE_MAX: usize = 256;

/// Timers of deleted entries may be as many as entries, and this many more.
const SPARE: usize = 1024;

/// Time between two looks for entries that have expired in tables that packets add entries to.
const EXPIRED_NS: u64 = 100_000_000;

/// The timers of a program's entries.
#[derive(Debug, Default)]
pub(crate) struct IdleTimers {
    wheel: Wheel,
    /// When to look next for entries that the data plane has deleted; none when it deletes none.
    expired_ns: Option<u64>,
}

impl IdleTimers {
    /// Timers for all entries that have a time-out and that the data plane does not delete.
    pub(crate) fn of(schema: &Schema, pipeline: &Pipeline) -> IdleTimers {
        let mut timers = IdleTimers::default();
        let keeps_idle = |table: &&TableSchema| table.supports_timeout && !pipeline.deletes_idle(table.index);
        for table in schema.tables.values().filter(keeps_idle) {
            for (entry, idle) in pipeline.idle_times(table.index) {
                timers.watch(table.id, entry, idle);
            }
        }
        let tables = schema.tables.values().filter(|table| table.supports_timeout);
        pipeline.tell_expired(tables.map(|table| table.index));
        timers.expired_ns = pipeline.tells_expired().then_some(0);
        timers
    }

    /// An entry was written that the data plane does not delete when it is idle.
    pub(crate) fn watch(&mut self, table: u32, entry: u64, idle: IdleTime) {
        if idle.timeout_ns > 0 {
            self.wheel.arm((table, entry), idle.last_hit_ns, idle.timeout_ns);
        }
    }

    /// When to look next.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let next_ns = self.wheel.next_ns();
        self.expired_ns.into_iter().chain(next_ns).min()
    }

    /// Forgets timers of deleted entries when there are many.
    pub(crate) fn tidy(&mut self, schema: &Schema, pipeline: &Pipeline) {
        if self.wheel.len() <= SPARE {
            return;
        }
        let tables = schema.tables.values().filter(|table| table.supports_timeout);
        let entries: usize = tables.map(|table| pipeline.entry_count(table.index)).sum();
        if self.wheel.len() > 2 * entries + SPARE {
            self.wheel
                .retain(|(table, entry)| idle_time(schema, pipeline, table, entry).is_some());
        }
    }
}

/// How an entry with a time-out stands; none when it is gone.
fn idle_time(schema: &Schema, pipeline: &Pipeline, table: u32, entry: u64) -> Option<IdleTime> {
    let idle = pipeline.idle_time(schema.tables.get(&table)?.index, entry)?;
    (idle.timeout_ns > 0).then_some(idle)
}

/// A notification for each table that has idle entries and for which `is_heard` is true; `timestamp` is the time since
/// 1970 in nanoseconds. There may be more at once: see [`IdleTimers::next_ns`].
pub(crate) fn look(
    forwarding: &mut Forwarding,
    now_ns: u64,
    timestamp: i64,
    is_heard: impl Fn(u32) -> bool,
) -> Vec<(u32, IdleTimeoutNotification)> {
    let mut found = Found::new();
    find_idle(forwarding, now_ns, &is_heard, &mut found);
    find_expired(forwarding, now_ns, &is_heard, &mut found);
    found
        .into_iter()
        .map(|(table, table_entry)| (table, IdleTimeoutNotification { table_entry, timestamp }))
        .collect()
}

/// Entries that are to be reported, by their table.
type Found = BTreeMap<u32, Vec<TableEntry>>;

/// The entries whose timers are due and that no packet has hit since. All these timers are armed again.
fn find_idle(forwarding: &mut Forwarding, now_ns: u64, is_heard: impl Fn(u32) -> bool, found: &mut Found) {
    let Forwarding {
        schema,
        pipeline,
        ledger,
        timers,
        ..
    } = forwarding;
    for ((table, entry), counted_from_ns) in timers.wheel.take_due(now_ns, DUE_MAX) {
        let Some(idle) = idle_time(schema, pipeline, table, entry) else {
            continue;
        };
        let since_ns = idle.last_hit_ns.max(counted_from_ns);
        if now_ns.saturating_sub(since_ns) < idle.timeout_ns {
            timers.wheel.arm((table, entry), since_ns, idle.timeout_ns);
            continue;
        }
        timers.wheel.arm((table, entry), now_ns, idle.timeout_ns);
        let table = &schema.tables[&table];
        if is_heard(table.id)
            && let Some(record) = pipeline.record_by_id(table.index, entry)
        {
            let entry = identity(table, &record, ledger.entry(table.id, record.id));
            found.entry(table.id).or_default().push(entry);
        }
    }
}

/// The entries that the data plane has deleted, when it is time to look for them.
fn find_expired(forwarding: &mut Forwarding, now_ns: u64, is_heard: impl Fn(u32) -> bool, found: &mut Found) {
    let Forwarding {
        schema,
        pipeline,
        ledger,
        timers,
        ..
    } = forwarding;
    if timers.expired_ns.is_none_or(|due_ns| due_ns > now_ns) {
        return;
    }
    let expired = pipeline.take_expired(DUE_MAX);
    let rest_ns = if expired.len() < DUE_MAX { EXPIRED_NS } else { 0 };
    timers.expired_ns = Some(now_ns + rest_ns);
    for (index, record) in expired {
        let Some(table) = schema.tables.values().find(|table| table.index == index) else {
            continue;
        };
        let notes = ledger.take_entry(table.id, record.id);
        if is_heard(table.id) {
            let entry = identity(table, &record, notes.as_ref());
            found.entry(table.id).or_default().push(entry);
        }
    }
}
