//! Learned entries outside of their tables: to be kept over a restart, or carried to another program.

use super::{EntryKey, Hold, Tie};
use crate::control::{Batch, Record, convert};
use crate::load::Pipeline;
use forebay_bits::Bits;
use forebay_ir::{ActionId, Recipient, RegisterId, TableId};
use forebay_tables::{ActionCall, EntryAction, KeyMatch, Table};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// An entry that a packet has added, or two that end together, with what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearnedEntries {
    /// The entries.
    pub entries: Vec<LearnedEntry>,
    /// Numbers of pools and shares of quotas.
    pub held: Vec<Held>,
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

/// The numbers of pools that are taken, by the registers of the pool.
type Taken = BTreeMap<(RegisterId, RegisterId), BTreeSet<u32>>;

impl Pipeline {
    /// The entries of a table that packets have not added, in the order in which they were added. Packets may add
    /// others meanwhile.
    pub fn written_records(&self, table: TableId) -> Vec<Record> {
        let control = self.control();
        let learned: HashSet<u64> = match self.learning.deletes_idle(table) {
            true => control.book.learned(table).map(|entry| entry.id.0).collect(),
            false => HashSet::new(),
        };
        let entries = control.tables[table.index()].entries();
        let written = entries.filter(|entry| !learned.contains(&entry.id().0));
        written.map(|entry| self.record_of(table, &entry)).collect()
    }

    /// All entries that packets have added, in no order.
    pub fn learned(&self) -> Vec<LearnedEntries> {
        self.batch(|batch| batch.learned())
    }

    /// Adds entries again that packets had added to a pipeline of a program with the same tables, and takes what they
    /// hold from its pools and quotas, none of whose numbers may be taken. Entries for which there is no place are left
    /// out, with their partners. Returns how many were added.
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
    fn learned(&mut self) -> Vec<LearnedEntries> {
        let (mut all, mut latest_ns) = (Vec::new(), 0);
        for table in (0..self.pipeline.program.tables.len() as u32).map(TableId) {
            let entries: Vec<_> = self.control_mut().book.learned(table).collect();
            for entry in entries {
                let partner = self.learned_partner(entry);
                // A pair is met twice.
                if partner.is_some_and(|partner| (partner.table, partner.slot) < (table, entry.slot)) {
                    continue;
                }
                let mut learned = LearnedEntries::default();
                for entry in [Some(entry), partner].into_iter().flatten() {
                    let held = self.control_mut().book.held(entry);
                    learned.held.extend(held.map(held_of));
                    let slot = entry.slot as usize;
                    latest_ns = latest_ns.max(self.pipeline.stateful.last_hit_ns(entry.table, slot));
                    learned.entries.extend(self.learned_entry(entry));
                }
                all.push(learned);
            }
        }
        // Until here it is the time of the last hit.
        for entry in all.iter_mut().flat_map(|learned| &mut learned.entries) {
            entry.idle_ns = latest_ns.saturating_sub(entry.idle_ns);
        }
        all
    }

    /// The other entry of a pair, if no controller has changed it.
    fn learned_partner(&mut self, entry: EntryKey) -> Option<EntryKey> {
        let partner = self.partner(entry)?;
        self.control_mut().book.is_learned(partner).then_some(partner)
    }

    /// An entry, with the time of its last hit in place of that since then.
    fn learned_entry(&self, entry: EntryKey) -> Option<LearnedEntry> {
        let table = entry.table;
        let present = self.table(table).in_slot(entry.slot)?;
        if present.id() != entry.id {
            return None;
        }
        let declared = &self.pipeline.program.tables[table.index()];
        let key = convert::key_of(declared, &present)
            .into_iter()
            .map(|value| match value {
                KeyMatch::Exact(value) => Some(value),
                _ => None,
            });
        let EntryAction::Call(call) = present.action() else {
            return None;
        };
        Some(LearnedEntry {
            table,
            key: key.collect::<Option<_>>()?,
            action: ActionId(call.action.0),
            args: call.args.clone(),
            timeout_ns: present.idle_timeout_ns(),
            idle_ns: self.pipeline.stateful.last_hit_ns(table, present.slot()),
        })
    }

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
        added.len()
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

fn held_of(hold: Hold) -> Held {
    match hold {
        Hold::Number { ring, number, .. } => Held { register: ring, number },
        Hold::Share { taken, index } => Held {
            register: taken,
            number: index,
        },
    }
}
