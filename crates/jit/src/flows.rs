//! The flow cache: what look-ups found for the last packet of a flow, one of the next packets finds at once.
//!
//! ```text
//!  fields that keys are made of ─► hash ─► slot │ hash, tag │ key, record │ key, record │ …
//!                                                      │      │
//!                            tables as they were then ◄┘      └► the key that a packet has at this look-up? then the record
//! ```
//!
//! A worker has one, in a huge page. Packets whose keys are made of the same fields share a slot, which has a place for each table.
//! Every look-up compares its own key with the one in its place, so nothing depends on which packets share a slot; where it is
//! another one, the table is searched and what was found takes its place. So a packet of a known flow needs one hash for all its
//! look-ups, no matter what kinds of tables these are, and its records can be fetched at the same time, if they are not in the slot
//! themselves.
//!
//! Slots are in pairs. A flow that comes to the slot of another one moves that into the other slot of the pair, where it is found from
//! then on.
//!
//! What a slot has of each table says [`crate::flow_slots`]. A slot holds as long as the tables are in the same [`State`]: whenever they are in another one, or code of another program
//! runs, the cache has another tag, and slots with an older one count as empty.
//!
//! It is of use when flows are few enough for their slots to stay. When more packets than one in [`MISSES`] find something else in
//! their slot, packets go without it for a while, each time for longer ([`FlowCache::serves`]).

use forebay_tables::State;
use forebay_tables::memory::{HUGE_PAGE, Page};

/// Bytes of all slots.
pub(crate) const CACHE_BYTES: usize = HUGE_PAGE;

/// Packets of which one may miss, if the cache is to be of use: then it costs what it saves.
const MISSES: u64 = 4;

/// Bursts after which it is first seen whether the cache is of use: by then all flows for which it has room have come.
const LEARNING: u32 = 512;

/// Bursts of which it is seen together.
const WINDOW: u32 = 64;

/// Bursts without it when it was of no use: at first, and at most.
const REST_MIN: u32 = 64 << 10;
const REST_MAX: u32 = 1 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct FlowCache {
    page: Option<Page>,
    /// Of the slots that hold. No slot has it when it is new.
    tag: u32,
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
            self.tag = self.tag.checked_add(1).unwrap_or_else(|| {
                self.page = None;
                1
            });
        }
        (self.page.get_or_insert_default().as_mut_ptr(), self.tag.into())
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
        cache.tag = u32::MAX;
        assert_eq!(cache.open(7, None).1, 1, "with a new page");
    }
}
