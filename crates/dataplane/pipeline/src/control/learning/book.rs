//! The dates of entries that expire: when to examine which entry, and what ends with it.
//!
//! Each entry that may expire has one *date*, in the bucket of a tick of about 17 ms. A packet's hit does not move the
//! date. When the date comes, the time of the entry's last hit decides whether the entry expires or gets another date.
//! So packets cost nothing here, and an examination costs as much as there are dates. A pair needs one date, because
//! its entries end together. If a date is replaced by an earlier one, the old one stays in its bucket and is skipped;
//! so does the date of an entry that ends before it. Therefore no date is further ahead than [`AHEAD_MAX_NS`]: an entry
//! with a longer time-out is examined several times.

use crate::control::Record;
use crate::objects::Stateful;
use forebay_bits::Bits;
use forebay_ir::{RegisterId, TableId};
use forebay_tables::{Domain, EntryId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryKey {
    pub(crate) table: TableId,
    /// The slot, by which the book finds the entry.
    pub(crate) slot: u32,
    /// The id, which distinguishes the slot's successive entries.
    pub(crate) id: EntryId,
}

/// Nanoseconds of a tick, as a power of two.
const TICK_BITS: u32 = 24;

/// The longest time from now to a date: 5 minutes. With 10,000 entries a second that end before their dates, the dates
/// that are left behind take 48 MB.
const AHEAD_MAX_NS: u64 = 300_000_000_000;

/// Bits of numbers and shares.
const WIDTH: u32 = 32;

/// Elements of the register of a pool's counts.
const FIRST: u64 = 0;
const LAST: u64 = 1;
const TAKEN: u64 = 2;

/// The most expired entries that wait to be reported to a controller.
const EXPIRED_MAX: usize = 65_536;

/// Something that an entry holds, and that is given back when the entry ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// A number of a pool.
    Number {
        /// The pool's numbers.
        ring: RegisterId,
        /// The pool's counts.
        counts: RegisterId,
        /// Number.
        number: u32,
    },
    /// A share of a quota.
    Share {
        /// The quota's shares.
        taken: RegisterId,
        /// Index.
        index: u32,
    },
}

/// What ends with an entry.
#[derive(Debug, Default)]
pub(super) struct Tie {
    pub(super) partner: Option<EntryKey>,
    pub(super) held: Vec<Hold>,
}

/// What is known about the entry of a slot. There is one for each of millions of entries.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The id of the entry; [`NOTHING`] when nothing is known.
    entry: u64,
    /// The tick of its date; [`NEVER`] without one.
    tick: u64,
    /// The table and the slot of its partner, of which something is known, too; [`NO_PARTNER`] without one.
    partner: (u32, u32),
    /// What it holds: see [`Holds`].
    holds: u32,
    /// Whether a packet has added it.
    is_learned: bool,
}

const NOTHING: u64 = u64::MAX;
const NEVER: u64 = u64::MAX;
const NO_PARTNER: (u32, u32) = (u32::MAX, u32::MAX);

impl Known {
    fn of(entry: u64) -> Known {
        Known {
            entry,
            tick: NEVER,
            partner: NO_PARTNER,
            holds: Holds::NONE,
            is_learned: false,
        }
    }

    fn is_tied(&self) -> bool {
        self.partner != NO_PARTNER || self.holds != Holds::NONE
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// By table and slot.
    known: Vec<Vec<Known>>,
    holds: Holds,
    buckets: BTreeMap<u64, Vec<EntryKey>>,
    /// Tables whose expired entries are reported to controllers.
    pub(super) told: BTreeSet<TableId>,
    /// Entries that have expired, until they are reported.
    pub(super) expired: VecDeque<(TableId, Record)>,
}

impl Book {
    /// Gives an entry that ends at `end_ns` a date, unless it has an earlier one. Returns the time at which to examine
    /// it.
    pub(super) fn watch(&mut self, entry: EntryKey, end_ns: u64, now_ns: u64) -> u64 {
        let at_ns = end_ns.min(now_ns.saturating_add(AHEAD_MAX_NS));
        let tick = (at_ns >> TICK_BITS) + 1;
        let known = self.of(entry);
        if tick >= known.tick {
            return known.tick << TICK_BITS;
        }
        known.tick = tick;
        self.bucket(tick).push(entry);
        tick << TICK_BITS
    }

    /// The entries of a tick.
    fn bucket(&mut self, tick: u64) -> &mut Vec<EntryKey> {
        self.buckets.entry(tick).or_default()
    }

    /// Removes and returns an entry whose date has come.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<EntryKey> {
        loop {
            let mut first = self.buckets.first_entry()?;
            let tick = *first.key();
            if tick << TICK_BITS > now_ns {
                return None;
            }
            let Some(entry) = first.get_mut().pop() else {
                first.remove();
                continue;
            };
            if let Some(known) = self.get(entry)
                && known.tick == tick
            {
                known.tick = NEVER;
                return Some(entry);
            }
        }
    }

    /// The time of the next date.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let (tick, _) = self.buckets.first_key_value()?;
        Some(tick << TICK_BITS)
    }

    /// A packet has added this entry.
    pub(super) fn note_learned(&mut self, entry: EntryKey) {
        self.of(entry).is_learned = true;
    }

    /// A controller has changed this entry, which is its own from now on.
    pub(crate) fn adopt(&mut self, entry: EntryKey) {
        if let Some(known) = self.get(entry) {
            known.is_learned = false;
        }
    }

    /// Whether a packet has added this entry.
    pub(super) fn is_learned(&self, entry: EntryKey) -> bool {
        self.known_of(entry).is_some_and(|known| known.is_learned)
    }

    /// The entries of a table that packets have added, and those to which something is still tied, in the order of
    /// slots from `first` on.
    pub(super) fn learned(&self, table: TableId, first: usize) -> impl Iterator<Item = EntryKey> + '_ {
        let slots = self.known.get(table.index()).map_or(&[][..], Vec::as_slice);
        let learned = (first as u32..)
            .zip(slots.get(first..).unwrap_or_default())
            .filter(|(_, known)| known.entry != NOTHING && (known.is_learned || known.is_tied()));
        learned.map(move |(slot, known)| EntryKey {
            table,
            slot,
            id: EntryId(known.entry),
        })
    }

    /// What an entry holds.
    pub(super) fn held(&self, entry: EntryKey) -> impl Iterator<Item = Hold> + '_ {
        let first = self.known_of(entry).map_or(Holds::NONE, |known| known.holds);
        self.holds.of(first)
    }

    pub(super) fn tie(&mut self, entry: EntryKey, tie: Tie) {
        if let Some(partner) = tie.partner {
            self.of(partner).partner = (entry.table.0, entry.slot);
            self.of(entry).partner = (partner.table.0, partner.slot);
        }
        let holds = self.holds.add(&tie.held);
        self.of(entry).holds = holds;
    }

    /// What is known about an entry, possibly nothing yet.
    fn of(&mut self, entry: EntryKey) -> &mut Known {
        let (table, slot) = (entry.table.index(), entry.slot as usize);
        if self.known.len() <= table {
            self.known.resize_with(table + 1, Vec::new);
        }
        let slots = &mut self.known[table];
        if slots.len() <= slot {
            slots.resize(slot + 1, Known::of(NOTHING));
        }
        let known = &mut slots[slot];
        if known.entry != entry.id.0 {
            *known = Known::of(entry.id.0);
        }
        known
    }

    fn known_of(&self, entry: EntryKey) -> Option<&Known> {
        let known = self.known.get(entry.table.index())?.get(entry.slot as usize)?;
        (known.entry == entry.id.0).then_some(known)
    }

    fn get(&mut self, entry: EntryKey) -> Option<&mut Known> {
        let known = self.known.get_mut(entry.table.index())?.get_mut(entry.slot as usize)?;
        (known.entry == entry.id.0).then_some(known)
    }

    fn take(&mut self, entry: EntryKey) -> Option<Known> {
        let known = self.get(entry)?;
        Some(std::mem::replace(known, Known::of(NOTHING)))
    }

    /// Keeps expired entries, as far as there is room.
    pub(super) fn tell(&mut self, records: Vec<(TableId, Record)>) {
        let room = EXPIRED_MAX.saturating_sub(self.expired.len());
        self.expired.extend(records.into_iter().take(room));
    }

    /// The other entry of a pair.
    pub(crate) fn partner(&self, entry: EntryKey) -> Option<EntryKey> {
        self.partner_of(entry, self.known_of(entry)?)
    }

    /// The partner of an entry about which this is known.
    fn partner_of(&self, entry: EntryKey, known: &Known) -> Option<EntryKey> {
        let (table, slot) = known.partner;
        let partner = self.known.get(table as usize)?.get(slot as usize)?;
        let is_it = partner.entry != NOTHING && partner.partner == (entry.table.0, entry.slot);
        is_it.then_some(EntryKey {
            table: TableId(table),
            slot,
            id: EntryId(partner.entry),
        })
    }

    /// Forgets an entry and its partner. Appends to `held` what they held.
    pub(crate) fn forget(&mut self, entry: EntryKey, held: &mut Vec<Hold>) {
        let Some(known) = self.take(entry) else { return };
        let partner = self.partner_of(entry, &known).and_then(|partner| self.take(partner));
        for known in [Some(known), partner].into_iter().flatten() {
            self.holds.take(known.holds, held);
        }
    }
}

/// What entries hold: lists in one array, each by the place of its first element.
#[derive(Debug, Default)]
struct Holds {
    /// Elements with the place of the next one of the list.
    places: Vec<(Hold, u32)>,
    free: Vec<u32>,
}

impl Holds {
    /// The empty list.
    const NONE: u32 = u32::MAX;

    fn add(&mut self, held: &[Hold]) -> u32 {
        held.iter().rev().fold(Holds::NONE, |next, hold| {
            let place = self.free.pop().unwrap_or(self.places.len() as u32);
            match self.places.get_mut(place as usize) {
                Some(free) => *free = (*hold, next),
                None => self.places.push((*hold, next)),
            }
            place
        })
    }

    fn of(&self, first: u32) -> impl Iterator<Item = Hold> + '_ {
        let at = |place: u32| self.places.get(place as usize);
        let next = move |(_, next): &&(Hold, u32)| at(*next);
        std::iter::successors(at(first), next).map(|(hold, _)| *hold)
    }

    /// Moves a list to `held`.
    fn take(&mut self, mut place: u32, held: &mut Vec<Hold>) {
        while let Some((hold, next)) = self.places.get(place as usize) {
            held.push(*hold);
            self.free.push(place);
            place = *next;
        }
    }
}

impl Stateful {
    /// Gives numbers and shares back.
    pub(crate) fn give_back(&self, readers: &Domain, held: impl Iterator<Item = Hold>) {
        for hold in held {
            match hold {
                Hold::Number { ring, counts, number } => self.give_number(readers, (ring, counts), number),
                Hold::Share { taken, index } => {
                    let index = std::iter::once(u64::from(index));
                    self.for_elements(readers, taken.index(), index, |taken, index| {
                        let shares = taken.read(index).to_u64().saturating_sub(1);
                        taken.write(index, &Bits::new(WIDTH, shares.into()));
                    });
                }
            }
        }
    }

    /// Takes numbers of a pool of which none is taken.
    pub(crate) fn take_numbers(
        &self,
        readers: &Domain,
        (ring, counts): (RegisterId, RegisterId),
        numbers: &BTreeSet<u32>,
    ) {
        let ring = &self.registers[ring.index()];
        let size = ring.len() as u32;
        let free = (0..size).filter(|number| !numbers.contains(number));
        for (place, number) in (0..).zip(free) {
            let offset: u32 = number - place;
            ring.write(place.into(), &Bits::new(WIDTH, offset.into()));
        }
        let taken = numbers.len() as u32;
        self.for_elements(readers, counts.index(), std::iter::once(0), |counts, _| {
            counts.write(FIRST, &Bits::zero(WIDTH));
            counts.write(LAST, &Bits::new(WIDTH, ((size - taken) % size).into()));
            counts.write(TAKEN, &Bits::new(WIDTH, taken.into()));
        });
    }

    /// Takes a share of a quota.
    pub(crate) fn take_share(&self, readers: &Domain, taken: RegisterId, index: u32) {
        let index = std::iter::once(u64::from(index));
        self.for_elements(readers, taken.index(), index, |taken, index| {
            let shares = taken.read(index).to_u64() + 1;
            taken.write(index, &Bits::new(WIDTH, shares.into()));
        });
    }

    /// Appends a number to the free numbers of a pool.
    fn give_number(&self, readers: &Domain, (ring, counts): (RegisterId, RegisterId), number: u32) {
        let ring = &self.registers[ring.index()];
        let first = std::iter::once(0);
        self.for_elements(readers, counts.index(), first, |counts, _| {
            let last = counts.read(LAST).to_u64() as u32;
            let offset = number.wrapping_sub(last);
            ring.write(last.into(), &Bits::new(WIDTH, offset.into()));
            let next = (u64::from(last) + 1) % ring.len() as u64;
            counts.write(LAST, &Bits::new(WIDTH, next.into()));
            let taken = counts.read(TAKEN).to_u64().saturating_sub(1);
            counts.write(TAKEN, &Bits::new(WIDTH, taken.into()));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn entry(number: u32) -> EntryKey {
        EntryKey {
            table: TableId(0),
            slot: number,
            id: EntryId(number.into()),
        }
    }

    /// Connections that are closed long before their time-out of two hours.
    #[test]
    fn dates_that_are_left_behind_do_not_stay_for_long() {
        let mut book = Book::default();
        for second in 0..2_000 {
            let now_ns = u64::from(second) * SECOND;
            while book.take_due(now_ns).is_some() {}
            book.watch(entry(second), now_ns + 7_440 * SECOND, now_ns);
            book.watch(entry(second), now_ns + 60 * SECOND, now_ns);
        }
        let dates: usize = book.buckets.values().map(Vec::len).sum();
        assert!(dates < 400, "{dates} dates");
    }

    #[test]
    fn a_long_time_out_has_several_dates() {
        let mut book = Book::default();
        let end_ns = 700 * SECOND;
        let mut now_ns = 0;
        for examined in [300, 600, 700] {
            now_ns = book.watch(entry(0), end_ns, now_ns);
            assert_eq!(now_ns / SECOND, examined);
            assert_eq!(book.take_due(now_ns), Some(entry(0)));
        }
        assert!(now_ns > end_ns);
    }
}
