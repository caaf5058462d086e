//! Learned entries outside of their tables: to be kept over a restart, or carried to another program.

use super::{EntryKey, Hold, Tie};
use crate::control::parts::{PART, let_others_in};
use crate::control::{Batch, Record, convert};
use crate::load::Pipeline;
use crate::objects::Control;
use forebay_bits::Bits;
use forebay_ir::{ActionId, Recipient, RegisterId, TableId};
use forebay_tables::{ActionCall, Entry, EntryAction, KeyMatch, Table};
use parking_lot::MutexGuard;
use std::collections::{BTreeMap, BTreeSet};

/// An entry that a packet has added, or two that end together, with what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearnedEntries {
    /// The entries.
    pub entries: Vec<LearnedEntry>,
    /// Those that a controller has changed: they are its own, and still end together with the others.
    pub adopted: Vec<AdoptedEntry>,
    /// Numbers of pools and shares of quotas.
    pub held: Vec<Held>,
}

/// An entry that a packet has added and a controller has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptedEntry {
    /// Its table.
    pub table: TableId,
    /// A value for each field.
    pub key: Vec<Bits>,
}

/// An entry that a packet has added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedEntry {
    /// Its table.
    pub table: TableId,
    /// A value for each field.
    pub key: Vec<Bits>,
    /// The action that it invokes.
    pub action: ActionId,
    /// An argument for each parameter.
    pub args: Vec<Bits>,
    /// Nanoseconds without a packet after which it expires; 0 for never.
    pub timeout_ns: u64,
    /// Nanoseconds from its last packet to the last packet that hit any such entry.
    pub idle_ns: u64,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The register of the pool's free numbers, or of the quota's shares.
    pub register: RegisterId,
    /// The number, or the quota's index.
    pub number: u32,
}

/// Entries that are looked up under one lock: more than [`PART`], since a look-up takes less time.
const PRESENT_PART: usize = 16 * PART;

/// The numbers of pools that are taken, by the registers of the pool.
type Taken = BTreeMap<(RegisterId, RegisterId), BTreeSet<u32>>;

impl Pipeline {
    /// Passes the entries of a table that packets have not added to `take`, in the order in which they were added.
    /// Packets may add others meanwhile.
    pub fn each_written_record(&self, table: TableId, take: impl FnMut(Record)) {
        let read = |control: &Control, entry: &Entry| {
            let key = EntryKey {
                table,
                slot: entry.slot() as u32,
                id: entry.id(),
            };
            (!control.book.is_learned(key)).then(|| self.record_of(table, entry))
        };
        self.each_entry(table, read, take);
    }

    /// All entries that packets have added, as of a moment of this call, in no order, and what is tied to those that
    /// controllers have changed. Entries that expire before the end of the call may be left out.
    pub fn learned(&self) -> Vec<LearnedEntries> {
        self.learned_if(|_, _| true)
    }

    /// The same without the entries that are still the packets' own: what is tied to those that controllers have
    /// changed.
    pub fn adopted(&self) -> Vec<LearnedEntries> {
        let is_adopted = |control: &Control, entry: EntryKey| {
            let mut pair = [Some(entry), control.book.partner(entry)].into_iter().flatten();
            pair.any(|entry| !control.book.is_learned(entry))
        };
        let mut all = self.learned_if(is_adopted);
        all.iter_mut().for_each(|learned| learned.entries.clear());
        all.retain(|learned| !learned.adopted.is_empty());
        all
    }

    /// For each pair, `is_wanted` is called with one entry.
    fn learned_if(&self, is_wanted: impl Fn(&Control, EntryKey) -> bool) -> Vec<LearnedEntries> {
        let mut control = self.control();
        let (mut all, latest_ns) = self.learned_in_parts(&mut control, is_wanted);
        // The lock was released in between: an entry may have gone, and another one may have its key or its number.
        for part in all.chunks_mut(PRESENT_PART) {
            for (entry, learned) in part {
                let present = control.tables[entry.table.index()].id_in_slot(entry.slot);
                if present != Some(entry.id) {
                    *learned = LearnedEntries::default();
                }
            }
            let_others_in(&mut control);
        }
        drop(control);
        let mut all: Vec<_> = all.into_iter().map(|(_, learned)| learned).collect();
        all.retain(|learned| !learned.entries.is_empty() || !learned.adopted.is_empty());
        // Until here it is the time of the last hit.
        for entry in all.iter_mut().flat_map(|learned| &mut learned.entries) {
            entry.idle_ns = latest_ns.saturating_sub(entry.idle_ns);
        }
        all
    }

    /// The entries that packets have added, each found under the lock, but not all at one moment. Also gives the time
    /// of the last hit of any.
    fn learned_in_parts(
        &self,
        control: &mut MutexGuard<'_, Control>,
        is_wanted: impl Fn(&Control, EntryKey) -> bool,
    ) -> (Vec<(EntryKey, LearnedEntries)>, u64) {
        let (mut all, mut latest_ns) = (Vec::new(), 0);
        for table in (0..self.program.tables.len() as u32).map(TableId) {
            let mut first = 0;
            loop {
                let part: Vec<_> = control.book.learned(table, first).take(PART).collect();
                let is_met = |entry: &&EntryKey| is_met_first(control, **entry) && is_wanted(control, **entry);
                for entry in part.iter().filter(is_met) {
                    all.push((*entry, self.learned_with(control, *entry, &mut latest_ns)));
                }
                match part.last() {
                    Some(last) if part.len() == PART => first = last.slot as usize + 1,
                    _ => break,
                }
                let_others_in(control);
            }
        }
        (all, latest_ns)
    }

    /// An entry and its partner with what both hold, and with the times of their last hits in place of those since
    /// then.
    fn learned_with(&self, control: &Control, entry: EntryKey, latest_ns: &mut u64) -> LearnedEntries {
        let mut learned = LearnedEntries::default();
        for entry in [Some(entry), control.book.partner(entry)].into_iter().flatten() {
            learned.held.extend(control.book.held(entry).map(held_of));
            if !control.book.is_learned(entry) {
                learned.adopted.extend(self.adopted_entry(control, entry));
                continue;
            }
            let last_hit_ns = self.stateful.last_hit_ns(entry.table, entry.slot as usize);
            *latest_ns = last_hit_ns.max(*latest_ns);
            learned.entries.extend(self.learned_entry(control, entry));
        }
        learned
    }

    fn adopted_entry(&self, control: &Control, entry: EntryKey) -> Option<AdoptedEntry> {
        let table = entry.table;
        let present = control.tables[table.index()].in_slot(entry.slot)?;
        if present.id() != entry.id {
            return None;
        }
        let key = exact_key(&self.program.tables[table.index()], &present)?;
        Some(AdoptedEntry { table, key })
    }

    /// An entry, with the time of its last hit in place of that since then.
    fn learned_entry(&self, control: &Control, entry: EntryKey) -> Option<LearnedEntry> {
        let table = entry.table;
        let present = control.tables[table.index()].in_slot(entry.slot)?;
        if present.id() != entry.id {
            return None;
        }
        let declared = &self.program.tables[table.index()];
        let EntryAction::Call(call) = present.action() else {
            return None;
        };
        Some(LearnedEntry {
            table,
            key: exact_key(declared, &present)?,
            action: ActionId(call.action.0),
            args: call.args.clone(),
            timeout_ns: present.idle_timeout_ns(),
            idle_ns: self.stateful.last_hit_ns(table, present.slot()),
        })
    }

    /// Adds entries again that packets had added to a pipeline of a program with the same tables, and takes what they
    /// hold from its pools and quotas, none of whose numbers may be taken. Entries for which there is no place are left
    /// out, with their partners. Those that controllers have changed must be there again already. Returns how many were
    /// added.
    pub fn learn_again(&self, learned: &[LearnedEntries], now_ns: u64) -> usize {
        self.batch(|batch| {
            let mut taken = Taken::new();
            let added = learned
                .iter()
                .map(|learned| batch.add_again(learned, &mut taken, now_ns));
            let added = added.sum();
            for ((ring, counts), numbers) in taken {
                self.stateful.take_numbers(&self.readers, (ring, counts), &numbers);
            }
            added
        })
    }
}

impl Batch<'_> {
    /// Adds all of these entries, or none; returns how many.
    fn add_again(&mut self, learned: &LearnedEntries, taken: &mut Taken, now_ns: u64) -> usize {
        let Some(held) = self.free(learned, taken) else {
            return 0;
        };
        let mut added = Vec::new();
        for entry in &learned.entries {
            let call = ActionCall::new(forebay_tables::ActionId(entry.action.0), entry.args.clone());
            let insert = |table: &mut Table, prepare: &mut dyn FnMut(usize)| {
                table.insert_exact(&entry.key, call, entry.timeout_ns, prepare)
            };
            let hit_ns = now_ns.saturating_sub(entry.idle_ns);
            match self.add_by(entry.table, insert, hit_ns) {
                Ok(added_now) => {
                    self.watch(added_now, entry.timeout_ns, hit_ns);
                    added.push(added_now);
                }
                Err(_) => {
                    for entry in added {
                        self.remove_alone((entry.table, entry.id))
                            .expect("it was just added, and is not const");
                    }
                    return 0;
                }
            }
        }
        let count = added.len();
        let adopted = learned.adopted.iter().filter_map(|entry| self.find_adopted(entry));
        let adopted: Vec<EntryKey> = adopted.collect();
        added.extend(adopted);
        let Some((first, others)) = added.split_first() else {
            return 0;
        };
        for hold in &held {
            match *hold {
                Hold::Number { ring, counts, number } => {
                    taken.entry((ring, counts)).or_default().insert(number);
                }
                Hold::Share { taken, index } => self.pipeline.stateful.take_share(&self.pipeline.readers, taken, index),
            }
        }
        let partner = others.first().copied();
        self.control_mut().book.tie(*first, Tie { partner, held });
        count
    }

    fn find_adopted(&self, entry: &AdoptedEntry) -> Option<EntryKey> {
        let key = entry.key.iter().cloned().map(KeyMatch::Exact).collect();
        let found = self.table(entry.table).find(key, 0).ok()?;
        self.entry_key(entry.table, found.id())
    }

    /// What entries are to hold; nothing when a number is not of this program's pools, or taken.
    fn free(&self, learned: &LearnedEntries, taken: &Taken) -> Option<Vec<Hold>> {
        let program = &self.pipeline.program;
        let hold = |held: &Held| {
            let size = program.registers.get(held.register.index())?.size;
            let hold = program.digests.iter().find_map(|digest| match digest.to {
                Recipient::Number { ring, counts } if ring == held.register => Some(Hold::Number {
                    ring,
                    counts,
                    number: held.number,
                }),
                Recipient::Share { taken } if taken == held.register => Some(Hold::Share {
                    taken,
                    index: held.number,
                }),
                _ => None,
            })?;
            let is_taken = match hold {
                Hold::Number { ring, counts, number } => taken
                    .get(&(ring, counts))
                    .is_some_and(|numbers| numbers.contains(&number)),
                Hold::Share { .. } => false,
            };
            (u64::from(held.number) < size && !is_taken).then_some(hold)
        };
        learned.held.iter().map(hold).collect()
    }
}

/// The key of an entry of a table whose fields are all matched exactly.
fn exact_key(declared: &forebay_ir::Table, entry: &Entry) -> Option<Vec<Bits>> {
    let values = convert::key_of(declared, entry).into_iter();
    let values = values.map(|value| match value {
        KeyMatch::Exact(value) => Some(value),
        _ => None,
    });
    values.collect()
}

/// Whether this is the first entry of a pair, since a pair is met twice.
fn is_met_first(control: &Control, entry: EntryKey) -> bool {
    let place = |entry: EntryKey| (entry.table, entry.slot);
    let partner = control.book.partner(entry);
    partner.is_none_or(|partner| place(entry) < place(partner))
}

fn held_of(hold: Hold) -> Held {
    match hold {
        Hold::Number { ring, number, .. } => Held { register: ring, number },
        Hold::Share { taken, index } => Held {
            register: taken,
            number: index,
        },
    }
}
