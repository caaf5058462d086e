//! The flow cache: what look-ups found for the last packet of a flow, one of the next packets finds at once.
//!
//! ```text
//!  fields that keys are made of ─► hash ─► entry of the index ─► slot │ hash, tag │ key, record │ key, record │ …
//!                                                                           │      │
//!                                                 tables as they were then ◄┘      └► the key that a packet has at this look-up?
//!                                                                                     then the record
//! ```
//!
//! A worker has one, in huge pages. Packets whose keys are made of the same fields share a slot, which has a place for each table.
//! Every look-up compares its own key with the one in its place, so nothing depends on which packets share a slot; where it is
//! another one, the table is searched and what was found takes its place. So a packet of a known flow needs one hash for all its
//! look-ups, no matter what kinds of tables these are, and its records can be fetched at the same time, if they are not in the slot
//! themselves.
//!
//! Where slots are says [`crate::flow_pages`], and what a slot has of each table [`crate::flow_slots`]. A slot holds as long as the
//! tables are in the same [`State`]: whenever they are in another one the cache has another tag, and slots with an older one count
//! as free. For the code of another program the cache begins empty.
//!
//! It is of use when flows are few enough for their slots to stay. When more packets than one in [`MISSES`] find something else in
//! their slot, packets go without it for a while, each time for longer ([`FlowCache::serves`]).

use crate::flow_pages::{FlowPages, Index};
use crate::flow_slots::SlotLayout;
use forebay_tables::State;

/// Packets of which one may miss, if the cache is to be of use: then it costs what it saves.
const MISSES: u64 = 4;

/// Bursts after which it is first seen whether the cache is of use: by then all flows for which it has room have come.
const LEARNING: u32 = 1024;

/// Bursts of which it is seen together.
const WINDOW: u32 = 64;

/// Bursts without it when it was of no use: at first, and at most.
const REST_MIN: u32 = 64 << 10;
const REST_MAX: u32 = 1 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct FlowCache {
    pages: FlowPages,
    /// Of the code that wrote the slots.
    code: Option<u64>,
    /// Of the slots that hold. No slot has it when it is new.
    tag: u32,
    /// The tables' state when they were written.
    state: Option<State>,
    /// Look-ups that found something else in their slot, in this window.
    pub(crate) misses: u64,
    /// And in those before.
    misses_before: u64,
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
    InPlace,
}

impl Default for FlowCache {
    fn default() -> FlowCache {
        FlowCache {
            pages: FlowPages::default(),
            code: None,
            tag: 0,
            state: None,
            misses: 0,
            misses_before: 0,
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
        self.phase != Phase::InPlace
    }

    fn next_phase(&mut self) {
        let fails = self.misses * MISSES > self.packets;
        (self.phase, self.bursts_left) = match self.phase {
            Phase::Serving if fails => {
                let rest = self.rest;
                self.rest = (2 * rest).min(REST_MAX);
                (Phase::InPlace, rest)
            }
            Phase::Serving => {
                self.rest = REST_MIN;
                (Phase::Serving, WINDOW)
            }
            Phase::Learning => (Phase::Serving, WINDOW),
            Phase::InPlace => (Phase::Learning, LEARNING),
        };
        self.misses_before += self.misses;
        (self.misses, self.packets) = (0, 0);
    }

    /// Look-ups of all packets that found something else in their slot, and searched the table.
    pub(crate) fn all_misses(&self) -> u64 {
        self.misses_before + self.misses
    }

    /// So many packets are about to use it.
    #[inline]
    pub(crate) fn count(&mut self, packets: usize) {
        self.packets += packets as u64;
    }

    /// The index and the tag of slots that hold, for code with this number, whose slots are laid out like this, and tables in
    /// this state.
    #[inline]
    pub(crate) fn open(&mut self, code: u64, layout: &SlotLayout, state: Option<State>) -> (Index, u64) {
        if self.code != Some(code) {
            self.code = Some(code);
            self.pages.forget(layout);
        }
        if state.is_none() || state != self.state {
            self.state = state;
            self.tag = self.tag.checked_add(1).unwrap_or_else(|| {
                self.pages.forget(layout);
                1
            });
        }
        (self.pages.index(), self.tag.into())
    }

    /// Gives the flow whose hash leads to an entry of the index a slot there, in which nothing is known yet.
    ///
    /// # Safety
    ///
    /// The cache is open for code with this layout, and the entry is one of its index.
    #[cold]
    pub(crate) unsafe fn admit(&mut self, layout: &SlotLayout, entry: usize, signature: u64) {
        let slot = self.pages.give(entry, signature);
        // SAFETY: it is a slot of this layout.
        unsafe { layout.begin(slot, signature) }
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
        let layout = SlotLayout::of_one_key();
        let mut tag = |state| cache.open(7, &layout, state).1;
        let first = tag(state);
        assert!(first > 0, "no slot of a new page holds");
        assert_eq!(tag(state), first);
        let mut tags = vec![first, tag(of_another), tag(state), tag(None), tag(None), tag(state)];
        let all = tags.len();
        tags.dedup();
        assert!(tags.is_sorted() && tags.len() == all, "{tags:?}");
        cache.tag = u32::MAX;
        assert_eq!(cache.open(7, &layout, None).1, 1, "and all flows are forgotten");
    }

    #[test]
    fn another_code_knows_no_flow() {
        let mut cache = FlowCache::default();
        let layout = SlotLayout::of_one_key();
        let domain = Domain::new();
        let state = domain.reader().pin().state();
        let (index, tag) = cache.open(7, &layout, state);
        let signature = 9 << 32 | tag;
        // SAFETY: the cache is open, and the entry in its index.
        unsafe { cache.admit(&layout, 5, signature) };
        assert_eq!(index.signature(&layout, 5), signature);
        let (index, _) = cache.open(8, &layout, state);
        assert_eq!(index.signature(&layout, 5), 0);
    }
}
