//! The flow cache: look-up results of a flow's last packet, reused for its next packets.
//!
//! ```text
//!  fields that keys are made of ─► hash ─► entry of the index ─► slot │ hash, tag │ key, record │ key, record │ …
//!                                                                           │      │
//!                                                 tables as they were then ◄┘      └► the key that a packet has at this look-up?
//!                                                                                     then the record
//! ```
//!
//! Each worker has a flow cache, in huge pages. Packets whose keys are made of the same field values share a slot,
//! which has a place for each table. Every look-up compares its key with the key in its place, so the result does not
//! depend on which packets share a slot. If the keys differ, the table is searched and the result replaces the old one.
//! A packet of a known flow thus needs one hash for all its look-ups, whatever the match kinds of the tables, and its
//! records can be prefetched together if they are not in the slot itself.
//!
//! With many flows, slots come from memory. A separate function that consists of the parser alone then computes the
//! hashes of all packets of a burst first ([`crate::translate`], `flows.rs`). Their slots are
//! [prefetched](crate::flow_pages::Index::fetch), and so is the other memory that the flow's last packet read
//! ([`crate::flow_trail`]). Each packet then finds its data in a near cache. This matters because in a program that
//! writes registers the executions of successive packets cannot overlap.
//!
//! [`crate::flow_pages`] describes where slots are, [`crate::flow_slots`] what they contain. Every change of tables
//! gives the cache a new tag. The first packet of a flow after that finds a slot with an older tag and
//! [renews](FlowCache::admit) it: the places of tables that have changed since are emptied, by the [`Version`]s of the
//! tables' groups. An update thus costs each flow one look-up in the changed table. For the code of another program the
//! cache begins empty.
//!
//! Misses in a table to which packets add entries are not cached, so an added entry neither changes anything for other
//! flows nor makes a new version of the table ([`forebay_tables::TableSpec::learns`]).
//!
//! The cache pays if packets of a flow come again before their slot is reused. When more than one look-up in [`MISSES`]
//! misses, packets bypass the cache for a while, each time for longer ([`FlowCache::serves`]).

use crate::flow_pages::{FlowPages, Index};
use crate::flow_slots::{Nothing, SlotLayout};
use forebay_ir::TableId;
use forebay_tables::{Pin, State, Version};

/// The cache costs as much as it saves when one look-up in this many misses. Packets are assumed to look up all tables
/// that have places, and at least `TABLES_MIN`.
const MISSES: u64 = 12;
const TABLES_MIN: usize = 3;

/// Bursts before the cache is first assessed: by then all flows for which it has room should have come.
const LEARNING: u32 = 1024;

/// The same where slots may be far. There is room for many more flows, and this does not wait for all of them.
const LEARNING_FAR: u32 = 4096;

/// Bursts per assessment.
const WINDOW: u32 = 64;

/// Bursts without the cache after it was of no use: initially, and at most. Learning in vain takes several times as long
/// as the look-ups themselves, so a rest is long beside it.
const REST_MIN: u32 = 64 << 10;
const REST_MAX: u32 = 1 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct FlowCache {
    pages: FlowPages,
    /// The number of the code that wrote the slots.
    code: Option<u64>,
    /// The tag of valid slots. New pages, which are zero, have no valid tag.
    tag: u32,
    /// The tables' state when the cache was last opened.
    state: Option<State>,
    /// The groups of the tables that have places.
    groups: Vec<Group>,
    /// For each place: the index of its table's group, and how to empty it.
    places: Vec<(usize, Nothing)>,
    /// Misses of look-ups in this window.
    pub(crate) misses: u64,
    /// Misses in earlier windows.
    misses_before: u64,
    /// Packets in this window.
    packets: u64,
    phase: Phase,
    bursts_left: u32,
    /// Bursts without the cache if this window shows that it is of no use.
    rest: u32,
    /// Whether slots are always prefetched, however few there are.
    pub(crate) counts_as_far: bool,
}

/// A group of tables.
#[derive(Clone, Copy, Debug)]
struct Group {
    number: usize,
    /// The version at the last change of the tag.
    version: Option<Version>,
    /// The first tag with this version.
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

impl FlowCache {
    /// Whether the next burst should use the cache.
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

    /// Whether slots exceed the processor's near caches.
    #[inline]
    pub(crate) fn are_far(&self) -> bool {
        self.counts_as_far || self.pages.are_far()
    }

    /// All look-ups so far that missed, and searched the table.
    pub(crate) fn all_misses(&self) -> u64 {
        self.misses_before + self.misses
    }

    /// Counts packets that have used the cache.
    #[inline]
    pub(crate) fn count(&mut self, packets: usize) {
        self.packets += packets as u64;
    }

    /// Opens the cache for the code with this number and slot layout, under this pin. Returns the index and the tag of
    /// valid slots. `group` returns the group of a table.
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

    /// Forgets all flows, for code with this slot layout.
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

    /// Records which groups have changed, or are being changed. If any has, valid slots get a new tag.
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

    /// Gives the flow whose hash leads to an index entry its slot there, with the places of changed tables emptied; or
    /// a new, empty slot.
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

    /// The number of bursts for which [`FlowCache::serves`] returns `serves`. Each has 64 packets and `misses` missed
    /// look-ups.
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
