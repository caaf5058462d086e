//! Entries that the data plane adds to tables, and how they expire.
//!
//! A packet requests an entry with a message ([`Recipient`]). The worker then writes as a controller does, under the
//! same lock, and before the next packet, which finds the entry; controllers see the entry, too. On the slow path the
//! message is kept until the session has ended and no table is pinned. On the fast path the worker stays pinned for
//! the next packet of the burst, and makes only writes that need not wait ([`Pipeline::learn_beside_pin`]).
//!
//! An entry that no packet has hit for its time-out is deleted, whether the data plane or a controller added it. The
//! two entries of a pair stay as long as packets hit one of them. When one of them ends, for any reason, the other one
//! ends, too. What a packet has taken from a pool or a quota belongs to the entry that the packet added, and is given
//! back when that entry ends. Without such an entry, because the packet added none or the table refused it, it is
//! given back at once. [`Book`] has both the dates and these ties.

mod book;
mod kept;
mod requests;

use crate::control::{Batch, Record};
use crate::load::{Options, Pipeline};
use book::Tie;
pub(crate) use book::{Book, EntryKey, Hold};
use forebay_ir::{DigestId, Program, Recipient, TableId};
use forebay_tables::{EntryId, Key, Table, TableError};
pub use kept::{AdoptedEntry, Held, LearnedEntries, LearnedEntry};
pub(crate) use requests::LearnedList;
use requests::{EntryPlan, Learned, Plan};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds of the expiry profiles by number, for tables that do not specify them.
const PROFILE_SECONDS: [u64; 8] = [10, 30, 60, 120, 300, 43_200, 120, 120];

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The most entries that are examined at once; the others wait for the next poll.
const LOOKS_MAX: usize = 256;

/// Counts of learning since the program was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearningCounters {
    /// Entries that packets have added; a pair counts as two.
    pub added: u64,
    /// Requested entries, or pairs, that existed already.
    pub known: u64,
    /// Entries, or pairs, for which there was no room.
    pub refused: u64,
    /// Entries that have expired.
    pub expired: u64,
}

/// Which tables learn entries from packets or delete idle ones, and what is known about them without a lock.
#[derive(Debug)]
pub(crate) struct Learning {
    /// By table: the times of its expiry profiles in nanoseconds; `None` when idle entries stay.
    profiles: Vec<Option<Box<[u64]>>>,
    /// By digest: how it becomes an entry.
    plans: Vec<Option<Plan>>,
    /// Before this time no entry expires.
    next_ns: AtomicU64,
    added: AtomicU64,
    known: AtomicU64,
    refused: AtomicU64,
    expired: AtomicU64,
}

impl Learning {
    pub(crate) fn new(program: &Program, tables: &[Table], options: &Options) -> Learning {
        let profiles = program.tables.iter().map(|table| {
            let declared = match &table.expire_seconds[..] {
                [] => &PROFILE_SECONDS[..],
                declared => declared,
            };
            let mut times: Vec<u64> = declared
                .iter()
                .map(|seconds| seconds.saturating_mul(NS_PER_SECOND))
                .collect();
            for (profile, time_ns) in options.expiry_profiles.into_iter().enumerate() {
                let Some(time_ns) = time_ns else { continue };
                times.resize(times.len().max(profile + 1), 0);
                times[profile] = time_ns;
            }
            table.deletes_idle.then(|| times.into_boxed_slice())
        });
        let digests = (0..program.digests.len() as u32).map(DigestId);
        Learning {
            profiles: profiles.collect(),
            plans: digests.map(|digest| Plan::of(program, tables, digest)).collect(),
            next_ns: AtomicU64::new(u64::MAX),
            added: AtomicU64::new(0),
            known: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            expired: AtomicU64::new(0),
        }
    }

    /// Whether entries of a table expire.
    pub(crate) fn deletes_idle(&self, table: TableId) -> bool {
        self.profiles[table.index()].is_some()
    }

    /// Whether any entries expire.
    pub(crate) fn is_used(&self) -> bool {
        self.profiles.iter().any(Option::is_some)
    }

    /// The time of an expiry profile in a table; 0 for never.
    fn timeout_ns(&self, table: TableId, profile: u64) -> u64 {
        let times = self.profiles[table.index()].as_deref().unwrap_or_default();
        times.get(profile as usize).copied().unwrap_or(0)
    }

    /// Whether an entry may expire now.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        self.next_ns.load(Ordering::Relaxed) <= now_ns
    }

    /// Whether the caller is to look for expired entries now; only one caller at a time is.
    fn begin_look(&self, now_ns: u64) -> bool {
        let due_ns = self.next_ns.load(Ordering::Relaxed);
        due_ns <= now_ns
            && self
                .next_ns
                .compare_exchange(due_ns, u64::MAX, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    pub(crate) fn look_at(&self, time_ns: u64) {
        if time_ns < self.next_ns.load(Ordering::Relaxed) {
            self.next_ns.fetch_min(time_ns, Ordering::Relaxed);
        }
    }
}

/// Counts. Only the holder of the control plane's lock does.
fn count(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

impl Pipeline {
    /// Whether entries of a table end when no packet has hit them for their time-out.
    pub fn deletes_idle(&self, table: TableId) -> bool {
        self.learning.deletes_idle(table)
    }

    /// Whether entries of any table do.
    pub fn any_deletes_idle(&self) -> bool {
        self.learning.is_used()
    }

    /// Counts of learning since the program was loaded.
    pub fn learning_counters(&self) -> LearningCounters {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LearningCounters {
            added: value(&self.learning.added),
            known: value(&self.learning.known),
            refused: value(&self.learning.refused),
            expired: value(&self.learning.expired),
        }
    }

    /// Does what packets requested from tables, and empties the list. If an entry exists already, or the table has no
    /// room, the request is counted and has no effect.
    pub(crate) fn learn(&self, learned: &mut LearnedList, now_ns: u64) {
        self.batch(|batch| batch.learn_all(learned, now_ns));
    }

    /// Does the same for a worker that has pinned the tables, as far as that needs no waiting. Returns whether
    /// everything is done. The worker must do the rest after it has unpinned.
    pub(crate) fn learn_beside_pin(&self, learned: &mut LearnedList, now_ns: u64) -> bool {
        let done = self.batch_beside_pin(|batch| {
            let entries = 2 * learned.len();
            if !learned.items().iter().any(|item| batch.would_wait(item, entries)) {
                batch.learn_all(learned, now_ns);
            }
        });
        if let Some(((), released)) = done {
            learned.taken(released);
        }
        learned.is_empty()
    }

    /// Deletes entries that no packet has hit for their time-out, up to a limit.
    pub(crate) fn expire(&self, now_ns: u64) {
        if self.learning.begin_look(now_ns) {
            self.batch(|batch| batch.expire(now_ns));
        }
    }

    /// Deletes all entries that no packet has hit for their time-out. Workers also do this, a part in each poll. The
    /// caller must not hold a pin.
    pub fn expire_at(&self, now_ns: u64) {
        while self.learning.is_due(now_ns) {
            self.expire(now_ns);
        }
    }

    /// From now on, keeps expired entries of these tables for [`Pipeline::take_expired`].
    pub fn tell_expired(&self, tables: impl IntoIterator<Item = TableId>) {
        let is_told = |table: &TableId| self.learning.deletes_idle(*table);
        self.control().book.told = tables.into_iter().filter(is_told).collect();
    }

    /// Whether expired entries of any table are kept.
    pub fn tells_expired(&self) -> bool {
        !self.control().book.told.is_empty()
    }

    /// The first `count` entries that have expired since the last call, in order. Entries that are not taken in time
    /// are lost.
    pub fn take_expired(&self, count: usize) -> Vec<(TableId, Record)> {
        let mut control = self.control();
        let expired = &mut control.book.expired;
        let count = count.min(expired.len());
        expired.drain(..count).collect()
    }
}

/// An entry that a packet requests.
struct Asked {
    table: TableId,
    key: Key,
    record: Key,
    timeout_ns: u64,
}

/// Why a table refused an entry.
enum Refusal {
    Exists,
    NoRoom,
}

impl Batch<'_> {
    fn learn_all(&mut self, learned: &mut LearnedList, now_ns: u64) {
        let mut held = Vec::new();
        for item in learned.items() {
            match item {
                Learned::Request(digest, place) => self.learn(*digest, learned.words(place), now_ns, &mut held),
                Learned::Taken(hold) => self.released.push(*hold),
                Learned::PacketEnds => self.give_back(&mut held),
            }
        }
        learned.clear();
        self.give_back(&mut held);
    }

    /// Whether a request, among `entries` entries, may have to wait until readers have unpinned.
    fn would_wait(&self, learned: &Learned, entries: usize) -> bool {
        let Learned::Request(digest, _) = learned else {
            return false;
        };
        match self.pipeline.program.digests[digest.index()].to {
            Recipient::NewEntry { table, .. } => self.table(table).waits_for_readers(entries),
            Recipient::NewPair { table, reverse, .. } => [table, reverse]
                .iter()
                .any(|table| self.table(*table).waits_for_readers(entries)),
            Recipient::Controller
            | Recipient::NewTimeout { .. }
            | Recipient::Number { .. }
            | Recipient::Share { .. } => false,
        }
    }

    fn learn(&mut self, digest: DigestId, words: &[u64], now_ns: u64, held: &mut Vec<Hold>) {
        let pipeline = self.pipeline;
        let plan = pipeline.learning.plans[digest.index()].as_ref();
        match pipeline.program.digests[digest.index()].to {
            Recipient::Controller => {}
            Recipient::Number { ring, counts } => {
                held.extend(taken(words).map(|number| Hold::Number { ring, counts, number }));
            }
            Recipient::Share { taken: shares } => {
                held.extend(taken(words).map(|index| Hold::Share { taken: shares, index }));
            }
            Recipient::NewTimeout { .. } => {
                if let Some(plan) = plan {
                    self.change_timeout(plan, words, now_ns);
                }
            }
            Recipient::NewEntry { .. } | Recipient::NewPair { .. } => {
                let added = match plan {
                    Some(plan) => self.add_planned(plan, words, now_ns),
                    None => Err(Refusal::NoRoom),
                };
                self.conclude(added, held);
            }
        }
    }

    /// Adds the entry, or the two entries, that a message requests.
    fn add_planned(
        &mut self,
        plan: &Plan,
        words: &[u64],
        now_ns: u64,
    ) -> Result<(EntryKey, Option<EntryKey>), Refusal> {
        let learning = &self.pipeline.learning;
        let asked = |entry: &EntryPlan| Asked {
            table: entry.table,
            key: entry.key(words),
            record: entry.record(words),
            timeout_ns: learning.timeout_ns(entry.table, plan.profile(words)),
        };
        let other = plan.reverse.as_ref().map(asked);
        if let Some(other) = &other {
            self.table(other.table).prefetch_for_insertion(&other.key);
        }
        self.add_all(asked(&plan.entry), other, now_ns)
    }

    /// Adds an entry, or two that end together; or none.
    fn add_all(
        &mut self,
        one: Asked,
        other: Option<Asked>,
        now_ns: u64,
    ) -> Result<(EntryKey, Option<EntryKey>), Refusal> {
        let timeout_ns = one.timeout_ns;
        let entry = self.add_asked(one, now_ns)?;
        let partner = match other.map(|other| self.add_asked(other, now_ns)).transpose() {
            Ok(partner) => partner,
            Err(refusal) => {
                self.remove_alone((entry.table, entry.id))
                    .expect("it was just added, and is not const");
                return Err(refusal);
            }
        };
        self.watch(entry, timeout_ns, now_ns);
        Ok((entry, partner))
    }

    fn add_asked(&mut self, mut asked: Asked, now_ns: u64) -> Result<EntryKey, Refusal> {
        let table = asked.table;
        let insert = |table: &mut Table, prepare: &mut dyn FnMut(usize)| {
            table.learn(&asked.key, &mut asked.record, asked.timeout_ns, prepare)
        };
        self.add_by(table, insert, now_ns)
    }

    /// Adds an entry that `insert` puts into the table, without a date.
    fn add_by(
        &mut self,
        table: TableId,
        insert: impl FnOnce(&mut Table, &mut dyn FnMut(usize)) -> Result<EntryId, TableError>,
        now_ns: u64,
    ) -> Result<EntryKey, Refusal> {
        self.claim_entry(table).map_err(|_| Refusal::NoRoom)?;
        let pipeline = self.pipeline;
        let mut taken = 0;
        let mut prepare = |slot| {
            taken = slot;
            pipeline.reset_direct_objects(table, slot, now_ns);
        };
        match insert(self.table_mut(table), &mut prepare) {
            Ok(id) => {
                let slot = taken as u32;
                let entry = EntryKey { table, slot, id };
                self.control_mut().book.note_learned(entry);
                Ok(entry)
            }
            Err(error) => {
                self.disclaim_entry(table);
                Err(match error {
                    TableError::Duplicate(_) => Refusal::Exists,
                    _ => Refusal::NoRoom,
                })
            }
        }
    }

    /// Counts the result of a request for entries, and ties what the packet holds to the new entries.
    fn conclude(&mut self, added: Result<(EntryKey, Option<EntryKey>), Refusal>, held: &mut Vec<Hold>) {
        let learning = &self.pipeline.learning;
        match added {
            Ok((entry, partner)) => {
                count(&learning.added, 1 + u64::from(partner.is_some()));
                if partner.is_some() || !held.is_empty() {
                    let held = std::mem::take(held);
                    self.control_mut().book.tie(entry, Tie { partner, held });
                }
            }
            Err(refusal) => {
                match refusal {
                    Refusal::Exists => count(&learning.known, 1),
                    Refusal::NoRoom => count(&learning.refused, 1),
                }
                self.give_back(held);
            }
        }
    }

    /// Gives the entry with this key, and its partner, another time-out, which starts now.
    fn change_timeout(&mut self, plan: &Plan, words: &[u64], now_ns: u64) {
        let table = plan.entry.table;
        let timeout_ns = self.pipeline.learning.timeout_ns(table, plan.profile(words));
        let found = self.table(table).exact_slot(&plan.entry.key(words));
        let Some(entry) = found.and_then(|slot| self.entry_in(table, slot)) else {
            return;
        };
        let partner = self.control_mut().book.partner(entry);
        self.set_timeout(entry, timeout_ns, now_ns);
        if let Some(partner) = partner {
            self.set_timeout(partner, timeout_ns, now_ns);
        }
    }

    fn entry_in(&self, table: TableId, slot: u32) -> Option<EntryKey> {
        let id = self.table(table).id_in_slot(slot)?;
        Some(EntryKey { table, slot, id })
    }

    fn set_timeout(&mut self, entry: EntryKey, timeout_ns: u64, now_ns: u64) {
        if !self.holds(entry) {
            return;
        }
        let present = self.table(entry.table).timeout_in_slot(entry.slot);
        if present.is_some_and(|present| present != timeout_ns) {
            // A constant entry keeps its time-out.
            let _ = self.table_mut(entry.table).set_timeout(entry.id, timeout_ns);
            self.note_date(entry, timeout_ns, now_ns);
        }
    }

    /// Records when an entry may expire.
    pub(crate) fn watch(&mut self, entry: EntryKey, timeout_ns: u64, from_ns: u64) {
        if timeout_ns > 0 && self.pipeline.learning.deletes_idle(entry.table) {
            let end_ns = from_ns.saturating_add(timeout_ns);
            let due_ns = self.control_mut().book.watch(entry, end_ns, from_ns);
            self.pipeline.learning.look_at(due_ns);
        }
    }

    fn expire(&mut self, now_ns: u64) {
        for _ in 0..LOOKS_MAX {
            let Some(entry) = self.control_mut().book.take_due(now_ns) else {
                break;
            };
            let Some(end_ns) = self.end_of(entry) else { continue };
            if end_ns > now_ns {
                self.control_mut().book.watch(entry, end_ns, now_ns);
                continue;
            }
            let partner = self.control_mut().book.partner(entry);
            let records: Vec<_> = [Some(entry), partner]
                .into_iter()
                .flatten()
                .filter_map(|entry| self.record_to_tell(entry))
                .collect();
            if self.remove(entry.table, entry.id).is_ok() {
                count(&self.pipeline.learning.expired, 1 + u64::from(partner.is_some()));
                self.control_mut().book.tell(records);
            }
        }
        if let Some(due_ns) = self.control_mut().book.next_ns() {
            self.pipeline.learning.look_at(due_ns);
        }
    }

    /// An entry that is about to expire, if its expiry is reported to a controller.
    fn record_to_tell(&mut self, entry: EntryKey) -> Option<(TableId, Record)> {
        let table = entry.table;
        if !self.control_mut().book.told.contains(&table) || !self.holds(entry) {
            return None;
        }
        let entry = self.table(table).in_slot(entry.slot)?;
        Some((table, self.pipeline.record_of(table, &entry)))
    }

    /// The time at which an entry expires, together with its partner; `None` when it does not expire, or is gone.
    fn end_of(&mut self, entry: EntryKey) -> Option<u64> {
        let partner = self.control_mut().book.partner(entry);
        let end = |entry: EntryKey| {
            let timeout_ns = self.table(entry.table).timeout_in_slot(entry.slot);
            let timeout_ns = timeout_ns.filter(|timeout_ns| *timeout_ns > 0 && self.holds(entry))?;
            let last_hit_ns = self.pipeline.stateful.last_hit_ns(entry.table, entry.slot as usize);
            Some(last_hit_ns.saturating_add(timeout_ns))
        };
        let own = end(entry)?;
        match partner {
            Some(partner) => Some(own.max(end(partner)?)),
            None => Some(own),
        }
    }

    fn give_back(&mut self, held: &mut Vec<Hold>) {
        self.released.append(held);
    }
}

/// The first value of a message about something taken, if it was taken.
fn taken(words: &[u64]) -> Option<u32> {
    match words {
        [value, is_taken] => (*is_taken != 0).then_some(*value as u32),
        _ => None,
    }
}
