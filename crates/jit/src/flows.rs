//! The flow cache: what look-ups found for the last packet of a flow, one of the next packet finds at once.
//!
//! ```text
//!  fields that keys are made of ─► hash ─► slot │ tag │ key, record │ key, record │ …
//!                                                 │      │
//!                       tables as they were then ◄┘      └► the key that a packet has at this look-up? then the record
//! ```
//!
//! A worker has one, in a huge page. Packets whose keys are made of the same fields share a slot, which has a place for each table.
//! Every look-up compares its own key with the one in its place, so nothing depends on which packets share a slot; where it is
//! another one, the table is searched and what was found takes its place. So a packet of a known flow needs one hash for all its
//! look-ups, no matter what kinds of tables these are, and their records can be fetched at the same time.
//!
//! A slot holds as long as the tables are in the same [`State`]: whenever they are in another one, or code of another program
//! runs, the cache has another tag, and slots with an older one count as empty.
//!
//! It is of use when flows are few enough for their slots to stay. When more packets than one in [`MISSES`] find something else in
//! their slot, packets go without it for a while, each time for longer ([`FlowCache::serves`]).

use crate::tables::TableLayout;
use forebay_bits::Bits;
use forebay_ir::TableId;
use forebay_tables::memory::{HUGE_PAGE, Page};
use forebay_tables::{Search, State};
use std::collections::BTreeMap;

/// Bytes of all slots.
pub(crate) const CACHE_BYTES: usize = HUGE_PAGE;

/// Words of a slot at most. Tables for which there is no room are searched.
const SLOT_WORDS_MAX: usize = 32;

/// Where the parts of a slot are.
#[derive(Clone, Debug)]
pub(crate) struct SlotLayout {
    places: BTreeMap<TableId, FlowPlace>,
    /// A power of two.
    pub(crate) bytes: usize,
}

/// Where a table is in a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlace {
    /// The offset of the key, in bytes.
    pub(crate) key: i32,
    /// Words of it; the record's address follows.
    pub(crate) key_words: usize,
    /// The word that is all ones when nothing has been found yet, which it is in no key. Nothing when all bits of all words
    /// may be set: then the record's address is null.
    pub(crate) never: Option<usize>,
}

impl FlowPlace {
    /// The offset of the record's address, in bytes.
    pub(crate) fn record(self) -> i32 {
        self.key + 8 * self.key_words as i32
    }
}

impl SlotLayout {
    /// With a place for each of these tables, as far as there is room; nothing when no table has any.
    pub(crate) fn new<'a>(tables: impl IntoIterator<Item = (TableId, &'a TableLayout)>) -> Option<SlotLayout> {
        let mut places = BTreeMap::new();
        let mut words = 1;
        for (table, layout) in tables {
            let key_words = layout.key.words();
            let is_searched = key_words > 0 && layout.search != Some(Search::Never);
            if !is_searched || words + key_words + 1 > SLOT_WORDS_MAX {
                continue;
            }
            let place = FlowPlace {
                key: 8 * words as i32,
                key_words,
                never: word_with_room(layout),
            };
            places.insert(table, place);
            words += key_words + 1;
        }
        (!places.is_empty()).then(|| SlotLayout {
            places,
            bytes: 8 * words.next_power_of_two(),
        })
    }

    pub(crate) fn place(&self, table: TableId) -> Option<FlowPlace> {
        self.places.get(&table).copied()
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = FlowPlace> + '_ {
        self.places.values().copied()
    }
}

/// A word of keys of which a bit is never set.
fn word_with_room(layout: &TableLayout) -> Option<usize> {
    let mut used = vec![0; layout.key.words()];
    for place in layout.key.places().iter().flatten() {
        place.put(&mut used, &Bits::ones(place.width));
    }
    used.iter().position(|bits| *bits != u64::MAX)
}

/// Packets of which one may miss, if the cache is to be of use: then it costs what it saves.
const MISSES: u64 = 4;

/// Bursts after which it is first seen whether the cache is of use: by then all flows for which it has room have come.
const LEARNING: u32 = 512;

/// Bursts of which it is seen together.
const WINDOW: u32 = 64;

/// Bursts without it when it was of no use: at first, and at most.
const REST_MIN: u32 = 8 << 10;
const REST_MAX: u32 = 1 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct FlowCache {
    page: Option<Page>,
    /// Of the slots that hold. No slot has it when it is new.
    tag: u64,
    /// The code that wrote them, and the tables' state.
    written: Option<(u64, State)>,
    /// Look-ups that found something else in their slot, in this window.
    pub(crate) misses: u64,
    /// Packets in this window.
    packets: u64,
    phase: Phase,
    bursts_left: u32,
    /// For how long it rests if it is of no use now.
    rest: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Slots may still be empty.
    Learning,
    Serving,
    Resting,
}

impl Default for FlowCache {
    fn default() -> FlowCache {
        FlowCache {
            page: None,
            tag: 0,
            written: None,
            misses: 0,
            packets: 0,
            phase: Phase::Learning,
            bursts_left: LEARNING,
            rest: REST_MIN,
        }
    }
}

/// Begins empty.
impl Clone for FlowCache {
    fn clone(&self) -> FlowCache {
        FlowCache::default()
    }
}

impl FlowCache {
    /// Whether the burst that begins should use it.
    #[inline]
    pub(crate) fn serves(&mut self) -> bool {
        if self.bursts_left == 0 {
            self.next_phase();
        }
        self.bursts_left -= 1;
        self.phase != Phase::Resting
    }

    fn next_phase(&mut self) {
        let fails = self.misses * MISSES > self.packets;
        (self.phase, self.bursts_left) = match self.phase {
            Phase::Serving if fails => {
                let rest = self.rest;
                self.rest = (2 * rest).min(REST_MAX);
                (Phase::Resting, rest)
            }
            Phase::Serving => {
                self.rest = REST_MIN;
                (Phase::Serving, WINDOW)
            }
            Phase::Learning => (Phase::Serving, WINDOW),
            Phase::Resting => (Phase::Learning, LEARNING),
        };
        (self.misses, self.packets) = (0, 0);
    }

    /// So many packets are about to use it.
    #[inline]
    pub(crate) fn count(&mut self, packets: usize) {
        self.packets += packets as u64;
    }

    /// Its first slot and the tag of those that hold, for code with this number that uses tables in this state.
    #[inline]
    pub(crate) fn open(&mut self, code: u64, state: Option<State>) -> (*mut u64, u64) {
        let written = state.map(|state| (code, state));
        if written.is_none() || written != self.written {
            self.written = written;
            self.tag += 1;
        }
        (self.page.get_or_insert_default().as_mut_ptr(), self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_tables::Domain;

    /// Bursts of 64 packets each until it serves no more, or again; in each, so many look-ups miss.
    fn bursts_while(cache: &mut FlowCache, serves: bool, misses: u64) -> u32 {
        (0..)
            .find(|_| {
                if cache.serves() != serves {
                    return true;
                }
                cache.count(64);
                cache.misses += misses;
                false
            })
            .expect("it changes")
    }

    #[test]
    fn it_rests_when_it_is_of_no_use_and_tries_again() {
        let mut cache = FlowCache::default();
        assert_eq!(bursts_while(&mut cache, true, 17), LEARNING + WINDOW);
        assert_eq!(bursts_while(&mut cache, false, 0), REST_MIN - 1);
        assert_eq!(bursts_while(&mut cache, true, 17), LEARNING + WINDOW - 1);
        assert_eq!(bursts_while(&mut cache, false, 0), 2 * REST_MIN - 1, "twice as long");
        for burst in 0..10 * (LEARNING + WINDOW) {
            assert!(cache.serves(), "burst {burst}");
            cache.count(64);
            cache.misses += 16;
        }
        let more = bursts_while(&mut cache, true, 17);
        assert!(more <= 2 * WINDOW, "{more} bursts");
        assert_eq!(bursts_while(&mut cache, false, 0), REST_MIN - 1, "it was of use");
    }

    #[test]
    fn a_slot_holds_for_the_same_code_and_the_same_tables() {
        let (domain, other) = (Domain::new(), Domain::new());
        let [state, of_another] = [&domain, &other].map(|domain| domain.reader().pin().state());
        assert!(state.is_some() && state != of_another);
        let mut cache = FlowCache::default();
        let mut tag = |code, state| cache.open(code, state).1;
        let first = tag(7, state);
        assert!(first > 0, "no slot of a new page holds");
        assert_eq!(tag(7, state), first);
        let mut tags = vec![first, tag(8, state), tag(8, of_another), tag(7, state)];
        tags.extend([tag(7, None), tag(7, None), tag(7, state)]);
        let all = tags.len();
        tags.dedup();
        assert!(tags.is_sorted() && tags.len() == all, "{tags:?}");
    }
}
