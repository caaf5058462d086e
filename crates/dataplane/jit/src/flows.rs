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
//! With many flows slots come from memory. Then a function that is the parser alone finds the hashes of all packets of a burst first
//! ([`crate::translate`], `flows.rs`), their slots are [fetched](crate::flow_pages::Index::fetch), and so is what the flow's last packet
//! read elsewhere ([`crate::flow_trail`]): one packet after the other finds in a near cache what it needs, although a program that
//! writes registers lets no packet begin before the one in front of it has ended.
//!
//! Where slots are says [`crate::flow_pages`], and what a slot has of each table [`crate::flow_slots`]. Whenever tables have changed the
//! cache has another tag. The first packet of a flow after that finds a slot with an older one, which is made [to hold](FlowCache::admit)
//! again: its places are emptied whose tables have changed since, which the [`Version`]s of their groups say. So an update costs a
//! flow a look-up in the table that it was made in. For the code of another program the cache begins empty.
//!
//! That a key was missed in a table to which packets add entries is not remembered: so an entry that comes is no change for other flows, and no other
//! version of the table ([`forebay_tables::TableSpec::learns`]).
//!
//! It is of use when the packets of a flow come again before its slot is another flow's. When more look-ups than one in [`MISSES`] find something else in
//! their slot, packets go without it for a while, each time for longer ([`FlowCache::serves`]).

use crate::flow_pages::{FlowPages, Index};
use crate::flow_slots::{Nothing, SlotLayout};
use forebay_ir::TableId;
use forebay_tables::{Pin, State, Version};

/// Look-ups of which one may miss, if the cache is to be of use: then it costs what it saves. Packets are taken to look up all tables that
/// have places, and at least so many.
const MISSES: u64 = 12;
const TABLES_MIN: usize = 3;

/// Bursts after which it is first seen whether the cache is of use: by then all flows for which it has room have come.
const LEARNING: u32 = 1024;

/// The same where slots may be far: room for many more flows, which cannot all be waited for.
const LEARNING_FAR: u32 = 4096;

/// Bursts of which it is seen together.
const WINDOW: u32 = 64;

/// Bursts without it when it was of no use: at first, and at most.
const REST_MIN: u32 = 8 << 10;
const REST_MAX: u32 = 1 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct FlowCache {
    pages: FlowPages,
    /// Of the code that wrote the slots.
    code: Option<u64>,
    /// Of the slots that hold. No slot has it when it is new.
    tag: u32,
    /// The tables' state when the cache was last opened.
    state: Option<State>,
    /// The groups of tables that have places, and their versions then.
    groups: Vec<Group>,
    /// What empties the places of slots, by the group's index.
    places: Vec<(usize, Nothing)>,
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
    /// Whether slots are fetched however few there are.
    pub(crate) counts_as_far: bool,
}

/// A group of tables.
#[derive(Clone, Copy, Debug)]
struct Group {
    number: usize,
    /// The version that slots with the present tag are of.
    version: Option<Version>,
    /// The tag of the first slots of that version.
    since: u32,
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
            groups: Vec::new(),
            places: Vec::new(),
            misses: 0,
            misses_before: 0,
            packets: 0,
            phase: Phase::Learning,
            bursts_left: LEARNING,
            rest: REST_MIN,
            counts_as_far: false,
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

    /// Bursts until all flows for which there is room may have come.
    fn learning(&self) -> u32 {
        if self.pages.go_far() { LEARNING_FAR } else { LEARNING }
    }

    fn next_phase(&mut self) {
        let fails = self.misses * MISSES > self.packets * self.places.len().max(TABLES_MIN) as u64;
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
            Phase::InPlace => (Phase::Learning, self.learning()),
        };
        self.misses_before += self.misses;
        (self.misses, self.packets) = (0, 0);
    }

    /// Whether the slots of flows do not stay in the processor's caches.
    #[inline]
    pub(crate) fn are_far(&self) -> bool {
        self.counts_as_far || self.pages.are_far()
    }

    /// Look-ups of all packets that found something else in their slot, and searched the table.
    pub(crate) fn all_misses(&self) -> u64 {
        self.misses_before + self.misses
    }

    /// So many packets have used it.
    #[inline]
    pub(crate) fn count(&mut self, packets: usize) {
        self.packets += packets as u64;
    }

    /// The index and the tag of slots that hold, for code with this number, whose slots are laid out like this, and tables as they are
    /// under this pin. `group` says in which group a table is.
    #[inline]
    pub(crate) fn open(
        &mut self,
        code: u64,
        layout: &SlotLayout,
        pin: &Pin<'_>,
        group: impl Fn(TableId) -> usize,
    ) -> (Index, u64) {
        if self.code != Some(code) {
            self.code = Some(code);
            self.begin(layout, group);
        }
        let state = pin.state();
        if state.is_none() || state != self.state {
            self.state = state;
            self.note_changes(layout, pin);
        }
        (self.pages.index(), self.tag.into())
    }

    /// Forgets all flows, for code whose slots are laid out like this.
    #[cold]
    fn begin(&mut self, layout: &SlotLayout, group: impl Fn(TableId) -> usize) {
        self.pages.forget(layout);
        if self.phase == Phase::Learning {
            self.bursts_left = self.learning();
        }
        self.groups.clear();
        self.places.clear();
        for (table, nothing) in layout.emptied() {
            let number = group(table);
            let known = self.groups.iter().position(|group| group.number == number);
            let index = known.unwrap_or_else(|| {
                self.groups.push(Group {
                    number,
                    version: None,
                    since: 0,
                });
                self.groups.len() - 1
            });
            self.places.push((index, nothing));
        }
        self.state = None;
    }

    /// Notes which groups have changed, or are being changed. Slots hold with another tag from now on if any has.
    #[cold]
    fn note_changes(&mut self, layout: &SlotLayout, pin: &Pin<'_>) {
        let Some(tag) = self.tag.checked_add(1) else {
            self.pages.forget(layout);
            self.groups
                .iter_mut()
                .for_each(|group| (group.version, group.since) = (None, 0));
            self.tag = 0;
            return self.note_changes(layout, pin);
        };
        for group in &mut self.groups {
            let version = pin.version(group.number);
            if version.is_none() || version != group.version {
                (group.version, group.since) = (version, tag);
                self.tag = tag;
            }
        }
    }

    /// Gives the flow whose hash leads to an entry of the index its slot there, without what tables have found that have changed since; or
    /// a slot in which nothing is known yet.
    ///
    /// # Safety
    ///
    /// The cache is open for code with this layout, and the entry is one of its index.
    #[cold]
    pub(crate) unsafe fn admit(&mut self, layout: &SlotLayout, entry: usize, signature: u64) {
        // SAFETY: they are slots of this layout.
        unsafe {
            match self.pages.renew(entry, signature) {
                Some((slot, tag)) => {
                    layout.forget_meters(slot);
                    let changed = self.places.iter().filter(|(group, _)| self.groups[*group].since > tag);
                    changed.for_each(|(_, nothing)| nothing.put_into(slot));
                }
                None => layout.begin(self.pages.give(entry, signature), signature),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_tables::{
        ActionCall, ActionId, ActionScope, ActionSpec, Domain, Implementation, KeySpec, MatchKind, Reader, Table,
        TableSpec,
    };
    use std::sync::Arc;

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

    /// Tables of a domain, in groups 0, 1 and 2.
    fn tables(domain: &Arc<Domain>) -> [Table; 3] {
        let no_action = || ActionCall::new(ActionId(0), Vec::new());
        let spec = || TableSpec {
            keys: vec![KeySpec {
                width: 48,
                kind: MatchKind::Exact,
            }],
            size: 16,
            actions: vec![ActionSpec::new(ActionId(0), Vec::new(), ActionScope::TableAndDefault)],
            default_action: no_action(),
            const_default: false,
            implementation: Implementation::Direct,
            memo: false,
            learns: false,
        };
        [0, 1, 2].map(|_| Table::in_domain(spec(), domain))
    }

    /// The tag for a burst that begins now.
    fn tag(cache: &mut FlowCache, layout: &SlotLayout, reader: &mut Reader) -> u64 {
        cache.open(7, layout, &reader.pin(), |table| table.index()).1
    }

    #[test]
    fn slots_hold_until_a_table_with_a_place_changes() {
        let domain = Domain::new();
        let [mut first, mut second, mut without_place] = tables(&domain);
        let (mut reader, layout) = (domain.reader(), SlotLayout::of_short_keys(2));
        let mut cache = FlowCache::default();
        let present = tag(&mut cache, &layout, &mut reader);
        assert!(present > 0, "no slot of a new page holds");
        assert_eq!(tag(&mut cache, &layout, &mut reader), present);
        without_place.reset_default();
        assert_eq!(tag(&mut cache, &layout, &mut reader), present);
        first.reset_default();
        second.reset_default();
        assert_eq!(tag(&mut cache, &layout, &mut reader), present + 1);
        cache.tag = u32::MAX;
        first.reset_default();
        assert_eq!(tag(&mut cache, &layout, &mut reader), 1, "and all flows are forgotten");
        assert_eq!(tag(&mut cache, &layout, &mut reader), 1);
    }

    #[test]
    fn a_flow_keeps_what_other_tables_have_found() {
        const HASH: u64 = 9 << 32;
        let domain = Domain::new();
        let [mut first, ..] = tables(&domain);
        let (mut reader, layout) = (domain.reader(), SlotLayout::of_short_keys(2));
        let mut cache = FlowCache::default();
        let mut words_at = |cache: &mut FlowCache, found: Option<u64>| {
            let tag = tag(cache, &layout, &mut reader);
            // SAFETY: the cache is open, the entry in its index, and the words are those of its slot.
            unsafe {
                cache.admit(&layout, 0, HASH | tag);
                let slot = cache.pages.slot_of(0);
                assert_eq!(slot.read(), HASH | tag);
                [0, 1].map(|table| {
                    let (word, nothing) = layout.place(TableId(table)).expect("it has one").nothing.word();
                    let is_empty = slot.add(word).read() == nothing;
                    found.into_iter().for_each(|found| slot.add(word).write(found));
                    is_empty
                })
            }
        };
        assert_eq!(words_at(&mut cache, Some(5)), [true, true]);
        first.reset_default();
        assert_eq!(words_at(&mut cache, None), [true, false]);
    }

    #[test]
    fn another_code_knows_no_flow() {
        let domain = Domain::new();
        let (mut cache, layout) = (FlowCache::default(), SlotLayout::of_short_keys(1));
        let mut reader = domain.reader();
        let mut open = |cache: &mut FlowCache, code| cache.open(code, &layout, &reader.pin(), |table| table.index());
        let (index, tag) = open(&mut cache, 7);
        let signature = 9 << 32 | tag;
        // SAFETY: the cache is open, and the entry in its index.
        unsafe { cache.admit(&layout, 5, signature) };
        assert_eq!(index.signature(&layout, 5), signature);
        let (index, _) = open(&mut cache, 8);
        assert_eq!(index.signature(&layout, 5), 0);
    }
}
