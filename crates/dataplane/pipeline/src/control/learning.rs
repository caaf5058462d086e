//! Entries that the data plane adds to tables, and how they expire.
//!
//! A packet asks for an entry with a message ([`Recipient`]). The worker keeps it until its burst has ended and no table is
//! pinned, and then writes as a controller does, under the same lock: the next burst finds the entry, and controllers see
//! it. Programs that do this move packets one by one, so the next packet finds it.
//!
//! In tables that the data plane adds entries to, an entry that no packet has hit for its time is deleted, whoever has
//! added it. That is looked for before a burst, when the first entry may have expired.

use crate::control::{Batch, Entry, EntryAction, IdleTime};
use crate::load::Pipeline;
use forebay_bits::Bits;
use forebay_exec::DigestRequest;
use forebay_ir::{EntryMatch, Program, Recipient, TableId};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds of the expiry profiles by number; entries with another profile never expire.
const PROFILE_SECONDS: [u64; 8] = [10, 30, 60, 120, 300, 43_200, 120, 120];

/// The least time between two looks for expired entries.
const INTERVAL_NS: u64 = 1_000_000;

/// Tables that the data plane adds entries to.
#[derive(Debug)]
pub(crate) struct Learning {
    tables: BTreeSet<TableId>,
    /// Before this time no entry expires.
    next_ns: AtomicU64,
}

impl Learning {
    pub(crate) fn new(program: &Program) -> Learning {
        let added = |digest: &forebay_ir::Digest| match digest.to {
            Recipient::NewEntry { table, .. } => Some(table),
            Recipient::Controller | Recipient::NewTimeout { .. } => None,
        };
        Learning {
            tables: program.digests.iter().filter_map(added).collect(),
            next_ns: AtomicU64::new(u64::MAX),
        }
    }

    fn expires_at(&self, time_ns: u64) {
        self.next_ns.fetch_min(time_ns, Ordering::Relaxed);
    }
}

impl Pipeline {
    /// Whether packets change entries of tables.
    pub(crate) fn learns(&self) -> bool {
        self.program
            .digests
            .iter()
            .any(|digest| digest.to != Recipient::Controller)
    }

    /// Does what packets asked of tables. What does not fit, because the entry exists or the table is full, has no effect.
    pub(crate) fn learn(&self, requests: impl Iterator<Item = DigestRequest>, now_ns: u64) {
        self.batch(|batch| {
            for request in requests {
                batch.learn(&request, now_ns);
            }
        });
    }

    /// Deletes entries that no packet has hit for their time.
    pub(crate) fn expire(&self, now_ns: u64) {
        if self.learning.next_ns.load(Ordering::Relaxed) > now_ns {
            return;
        }
        self.learning.next_ns.store(u64::MAX, Ordering::Relaxed);
        for &table in &self.learning.tables {
            let mut expired = Vec::new();
            for (id, idle) in self.idle_times(table) {
                match idle.last_hit_ns.saturating_add(idle.timeout_ns) {
                    end if end <= now_ns => expired.push(id),
                    end => self.learning.expires_at(end.max(now_ns + INTERVAL_NS)),
                }
            }
            self.batch(|batch| expired.into_iter().for_each(|id| batch.remove_by_id(table, id)));
        }
    }
}

impl Batch<'_> {
    fn learn(&mut self, request: &DigestRequest, now_ns: u64) {
        let program = &self.pipeline.program;
        let digest = &program.digests[request.digest.index()];
        let Some(table) = digest.to.table() else { return };
        let keys = program.tables[table.index()].keys.len();
        let Some((profile, values)) = request.values.split_last() else {
            return;
        };
        let (key, args) = values.split_at(keys.min(values.len()));
        let idle = IdleTime {
            timeout_ns: timeout_ns(profile),
            last_hit_ns: now_ns,
        };
        let matches = key.iter().cloned().map(EntryMatch::Exact).collect();
        match digest.to {
            Recipient::NewEntry { action, .. } => self.add_learned(table, matches, (action, args), idle),
            Recipient::NewTimeout { .. } => self.change_timeout(table, matches, idle),
            Recipient::Controller => return,
        }
        if idle.timeout_ns > 0 {
            self.pipeline
                .learning
                .expires_at(now_ns.saturating_add(idle.timeout_ns));
        }
    }

    fn add_learned(
        &mut self,
        table: TableId,
        matches: Vec<EntryMatch>,
        (action, args): (u32, &[Bits]),
        idle: IdleTime,
    ) {
        let program = &self.pipeline.program;
        let listed = program.tables[table.index()].actions[action as usize].action;
        let entry = Entry {
            matches,
            priority: 0,
            action: EntryAction::call(&program.actions[listed.index()].name, args.to_vec()),
        };
        // It exists, or there is no room: the packet has gone on.
        let _ = self.insert_record(table, &entry, idle);
    }

    fn change_timeout(&mut self, table: TableId, matches: Vec<EntryMatch>, idle: IdleTime) {
        if let Ok(record) = self.record(table, &matches, 0) {
            let _ = self.modify_record(table, &record.entry, idle);
        }
    }
}

fn timeout_ns(profile: &Bits) -> u64 {
    let seconds = PROFILE_SECONDS.get(profile.to_u64() as usize).copied();
    seconds.unwrap_or(0) * 1_000_000_000
}
