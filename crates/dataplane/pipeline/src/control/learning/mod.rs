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

use crate::control::{Batch, Record};
use crate::load::{Options, Pipeline};
use book::Tie;
pub(crate) use book::{Book, EntryKey, Hold};
use forebay_bits::Bits;
use forebay_exec::DigestRequest;
use forebay_ir::{Program, Recipient, TableId};
use forebay_tables::{ActionCall, ActionId, KeyMatch, TableError};
pub use kept::{Held, LearnedEntries, LearnedEntry};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds of the expiry profiles by number, for tables that do not specify them.
const PROFILE_SECONDS: [u64; 8] = [10, 30, 60, 120, 300, 43_200, 120, 120];

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The most entries that are examined at once; the others wait for the next poll.
const LOOKS_MAX: usize = 256;

/// What the packets of a session request from tables, in order.
#[derive(Debug)]
pub(crate) enum Learned {
    /// A message to a table, a pool or a quota.
    Request(DigestRequest),
    /// Something that a packet has taken and that belongs to no entry.
    Taken(Hold),
    /// The following requests belong to another packet.
    PacketEnds,
}

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
    /// Before this time no entry expires.
    next_ns: AtomicU64,
    added: AtomicU64,
    known: AtomicU64,
    refused: AtomicU64,
    expired: AtomicU64,
}

impl Learning {
    pub(crate) fn new(program: &Program, options: &Options) -> Learning {
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
        Learning {
            profiles: profiles.collect(),
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
    fn timeout_ns(&self, table: TableId, profile: &Bits) -> u64 {
        let times = self.profiles[table.index()].as_deref().unwrap_or_default();
        times.get(profile.to_u64() as usize).copied().unwrap_or(0)
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

fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
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

    /// Does what packets requested from tables. If an entry exists already, or the table has no room, the request is
    /// counted and has no effect.
    pub(crate) fn learn(&self, learned: impl Iterator<Item = Learned>, now_ns: u64) {
        self.batch(|batch| batch.learn_all(learned, now_ns));
    }

    /// Does the same for a worker that has pinned the tables, as far as that needs no waiting. Returns whether
    /// everything is done. The worker must do the rest after it has unpinned.
    pub(crate) fn learn_beside_pin(&self, learned: &mut Vec<Learned>, now_ns: u64) -> bool {
        let done = self.batch_beside_pin(|batch| {
            let entries = 2 * learned.len();
            if !learned.iter().any(|learned| batch.would_wait(learned, entries)) {
                batch.learn_all(learned.drain(..), now_ns);
            }
        });
        if let Some(((), released)) = done {
            learned.extend(released.into_iter().map(Learned::Taken));
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
struct Asked<'v> {
    table: TableId,
    key: &'v [Bits],
    call: ActionCall,
    timeout_ns: u64,
}

/// Why a table refused an entry.
enum Refusal {
    Exists,
    NoRoom,
}

impl Batch<'_> {
    fn learn_all(&mut self, learned: impl Iterator<Item = Learned>, now_ns: u64) {
        let mut held = Vec::new();
        for learned in learned {
            match learned {
                Learned::Request(request) => self.learn(&request, now_ns, &mut held),
                Learned::Taken(hold) => self.released.push(hold),
                Learned::PacketEnds => self.give_back(&mut held),
            }
        }
        self.give_back(&mut held);
    }

    /// Whether a request, among `entries` entries, may have to wait until readers have unpinned.
    fn would_wait(&self, learned: &Learned, entries: usize) -> bool {
        let Learned::Request(request) = learned else {
            return false;
        };
        match self.pipeline.program.digests[request.digest.index()].to {
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

    fn learn(&mut self, request: &DigestRequest, now_ns: u64, held: &mut Vec<Hold>) {
        let program = &self.pipeline.program;
        let values = &request.values[..];
        match program.digests[request.digest.index()].to {
            Recipient::Controller => {}
            Recipient::Number { ring, counts } => {
                if let Some(number) = taken(values) {
                    held.push(Hold::Number { ring, counts, number });
                }
            }
            Recipient::Share { taken: shares } => {
                if let Some(index) = taken(values) {
                    held.push(Hold::Share { taken: shares, index });
                }
            }
            Recipient::NewTimeout { table } => self.change_timeout(table, values, now_ns),
            Recipient::NewEntry { table, action } => {
                if let Some((asked, _)) = self.asked((table, action), values, None) {
                    let added = self.add_asked(asked, now_ns).map(|entry| (entry, None));
                    self.conclude(added, held);
                }
            }
            Recipient::NewPair {
                table,
                action,
                reverse,
                reverse_action,
            } => {
                let Some((asked, rest)) = self.asked((table, action), values, values.last()) else {
                    return;
                };
                let Some((other, _)) = self.asked((reverse, reverse_action), rest, values.last()) else {
                    return;
                };
                self.table(reverse).ask_for_insertion(other.key);
                let added = self.add_pair(asked, other, now_ns);
                self.conclude(added, held);
            }
        }
    }

    /// An entry from the values of a message, and the remaining values. The profile is the last value unless it is
    /// given.
    fn asked<'v>(
        &self,
        (table, action): (TableId, u32),
        values: &'v [Bits],
        profile: Option<&Bits>,
    ) -> Option<(Asked<'v>, &'v [Bits])> {
        let program = &self.pipeline.program;
        let declared = &program.tables[table.index()];
        let listed = declared.actions[action as usize].action;
        let (key, rest) = values.split_at_checked(declared.keys.len())?;
        let (args, rest) = rest.split_at_checked(program.actions[listed.index()].params.len())?;
        let profile = profile.or(rest.first())?;
        let asked = Asked {
            table,
            key,
            call: ActionCall::new(ActionId(listed.0), args.to_vec()),
            timeout_ns: self.pipeline.learning.timeout_ns(table, profile),
        };
        Some((asked, rest))
    }

    fn add_asked(&mut self, asked: Asked<'_>, now_ns: u64) -> Result<EntryKey, Refusal> {
        let Asked {
            table,
            key,
            call,
            timeout_ns,
        } = asked;
        self.claim_entry(table).map_err(|_| Refusal::NoRoom)?;
        let pipeline = self.pipeline;
        let mut taken = 0;
        let prepare = |slot| {
            taken = slot;
            pipeline.reset_direct_objects(table, slot, now_ns);
        };
        let added = self.table_mut(table).insert_exact(key, call, timeout_ns, prepare);
        match added {
            Ok(id) => {
                let slot = taken as u32;
                let entry = EntryKey { table, slot, id };
                self.control_mut().book.note_learned(entry);
                self.watch(entry, timeout_ns, now_ns);
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

    /// Adds two entries, or none.
    fn add_pair(
        &mut self,
        one: Asked<'_>,
        other: Asked<'_>,
        now_ns: u64,
    ) -> Result<(EntryKey, Option<EntryKey>), Refusal> {
        let entry = self.add_asked(one, now_ns)?;
        match self.add_asked(other, now_ns) {
            Ok(other) => Ok((entry, Some(other))),
            Err(refusal) => {
                self.remove_alone((entry.table, entry.id))
                    .expect("it was just added, and is not const");
                Err(refusal)
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
    fn change_timeout(&mut self, table: TableId, values: &[Bits], now_ns: u64) {
        let Some((profile, key)) = values.split_last() else {
            return;
        };
        let timeout_ns = self.pipeline.learning.timeout_ns(table, profile);
        let key = key.iter().cloned().map(KeyMatch::Exact).collect();
        let Ok(found) = self.table(table).find(key, 0) else {
            return;
        };
        let entry = EntryKey {
            table,
            slot: found.slot() as u32,
            id: found.id(),
        };
        let partner = self.control_mut().book.partner(entry);
        self.set_timeout(entry, timeout_ns, now_ns);
        if let Some(partner) = partner {
            self.set_timeout(partner, timeout_ns, now_ns);
        }
    }

    fn set_timeout(&mut self, entry: EntryKey, timeout_ns: u64, now_ns: u64) {
        if !self.holds(entry) {
            return;
        }
        let found = self.table(entry.table).in_slot(entry.slot);
        if found.is_some_and(|found| found.idle_timeout_ns() != timeout_ns) {
            // A constant entry keeps its time-out.
            let _ = self.table_mut(entry.table).set_timeout(entry.id, timeout_ns);
            self.note_date(entry, timeout_ns, now_ns);
        }
    }

    /// Records when an entry may expire.
    pub(crate) fn watch(&mut self, entry: EntryKey, timeout_ns: u64, from_ns: u64) {
        if timeout_ns > 0 && self.pipeline.learning.deletes_idle(entry.table) {
            let at_ns = from_ns.saturating_add(timeout_ns);
            let due_ns = self.control_mut().book.watch(entry, at_ns);
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
                self.control_mut().book.watch(entry, end_ns);
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
        Some((table, self.pipeline.record_of(table, entry)))
    }

    /// The time at which an entry expires, together with its partner; `None` when it does not expire, or is gone.
    fn end_of(&mut self, entry: EntryKey) -> Option<u64> {
        let partner = self.control_mut().book.partner(entry);
        let end = |entry: EntryKey| {
            let EntryKey { table, slot, id } = entry;
            let entry = self.table(table).in_slot(slot).filter(|entry| entry.id() == id)?;
            let last_hit_ns = self.pipeline.stateful.last_hit_ns(table, entry.slot());
            (entry.idle_timeout_ns() > 0).then(|| last_hit_ns.saturating_add(entry.idle_timeout_ns()))
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
fn taken(values: &[Bits]) -> Option<u32> {
    match values {
        [value, is_taken] => (!is_taken.is_zero()).then(|| value.to_u64() as u32),
        _ => None,
    }
}
