//! The memory of a flow cache: the index and the slots. See [`crate::flows`].
//!
//! ```text
//! │ index: numbers of slots, 32 bits each ... │ no flow's slot │ slots of flows, in the order in which they came ... │ │ │
//! ```
//!
//! Slots are contiguous, and the index has [`ENTRIES_PER_FLOW`] entries for each of them: a thousand flows use 24 pages
//! of 4 KiB. If the hash selected slots directly, each would be in a page of its own, and a processor's first-level TLB
//! has only some 70 entries. A huge page takes one TLB entry only where the host of a virtual machine uses a huge page
//! for it, too.
//!
//! Slots in the first [`NEAR_BYTES`] stay in the processor's caches. Slots after that come from memory; they are used
//! only for programs whose table searches cost more. When there are many flows, slots are [prefetched](Index::fetch)
//! before their packets are executed. Address space is reserved for all slots; a page takes memory when a flow first
//! uses it.
//!
//! Entries form groups. A flow that is new in an entry takes it, and the previous flow moves to the next entry of the
//! group, where it is found from then on. When the group is full, the new flow gets the slot of the flow in the group
//! that has been absent for the most table changes. When all slots are taken, it gets the slot of some other flow,
//! chosen by a hash.

use crate::flow_slots::SlotLayout;
use forebay_tables::memory::{HUGE_PAGE, HugePages, prefetch_at};
use forebay_tables::search::HASH_FACTOR;

/// Bytes of slots that stay in the processor's caches.
const NEAR_BYTES: usize = 2 * HUGE_PAGE;

/// The most bytes of all slots, and the most slots.
const SLOTS_BYTES: usize = 128 * HUGE_PAGE;
const SLOTS_MAX: usize = 1 << 20;

/// Bits of an entry's number: initially, at most while slots are near, and at most.
const INDEX_BITS_MIN: u32 = 10;
const INDEX_BITS_NEAR: u32 = 18;
const INDEX_BITS_MAX: u32 = 22;

/// For far slots an index grows by this many bits at a time: each growth enters all slots again, and packets wait while
/// the system clears the memory of the new index.
const INDEX_BITS_STEP: u32 = 2;

/// Bytes of an index entry, and the most bytes of the index.
pub(crate) const ENTRY_BYTES: usize = size_of::<u32>();
const INDEX_BYTES: usize = ENTRY_BYTES << INDEX_BITS_MAX;

/// Entries of the index per flow, as long as the index is below its maximum.
const ENTRIES_PER_FLOW: usize = 8;

/// Slots of more total bytes are prefetched: about what a core's own cache holds beside other data.
const FETCHED_BYTES: usize = 512 << 10;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// XOR masks from the number of one entry to those of its group, which is half a cache line. The entry itself comes first.
/// With groups of four and four entries per flow, one flow in sixty was in a group with too many flows. Where flows send
/// in turns, all of such a group are forgotten before their next packet.
pub(crate) const GROUP: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// A flow without a packet during this many table changes is taken to have ended.
const ENDED: u32 = 1024;

/// See the [module](self). [`FlowPages::forget`] must be called before anything else.
#[derive(Debug)]
pub(crate) struct FlowPages {
    pages: Option<HugePages>,
    slot_bytes: usize,
    /// The number of the next unused slot. Slot numbers count from the beginning of the index.
    next: usize,
    index_bits: u32,
    /// Whether far slots may be used.
    goes_far: bool,
}

/// The index as compiled code uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    /// The first entry, which is also the base of slot numbers.
    pub(crate) first: *mut u64,
    /// The right shift that turns a hash into the number of an entry.
    pub(crate) shift: u64,
}

impl Default for FlowPages {
    fn default() -> FlowPages {
        FlowPages {
            pages: None,
            slot_bytes: NEAR_BYTES,
            next: 0,
            index_bits: INDEX_BITS_MIN,
            goes_far: false,
        }
    }
}

impl FlowPages {
    /// Forgets all flows; new flows have slots of this layout.
    pub(crate) fn forget(&mut self, layout: &SlotLayout) {
        self.slot_bytes = layout.bytes;
        self.goes_far = layout.goes_far;
        self.next = self.no_flow() + 1;
        self.index_anew(INDEX_BITS_MIN);
    }

    /// Whether the slots in use exceed the core's own cache.
    #[inline]
    pub(crate) fn are_far(&self) -> bool {
        (self.next - self.no_flow()) * self.slot_bytes > FETCHED_BYTES
    }

    /// Whether far slots may be used.
    pub(crate) fn go_far(&self) -> bool {
        self.goes_far
    }

    /// The index, grown if the number of flows requires it.
    #[inline]
    pub(crate) fn index(&mut self) -> Index {
        let flows = self.next - self.no_flow();
        let wanted = match (ENTRIES_PER_FLOW * flows).next_power_of_two().ilog2() {
            bits if bits <= INDEX_BITS_NEAR => bits,
            bits if self.goes_far => bits.next_multiple_of(INDEX_BITS_STEP).min(INDEX_BITS_MAX),
            _ => INDEX_BITS_NEAR,
        };
        if wanted > self.index_bits {
            self.index_anew(wanted);
        }
        Index {
            first: self.first(),
            shift: (u64::BITS - self.index_bits).into(),
        }
    }

    /// The slot, and its old tag, of a known flow whose hash leads to this entry. The slot gets this signature, and
    /// becomes the first of its group.
    ///
    /// # Panics
    ///
    /// When the index has no such entry.
    pub(crate) fn renew(&mut self, entry: usize, signature: u64) -> Option<(*mut u64, u32)> {
        let group = GROUP.map(|other| entry ^ other);
        let has_hash = |present: u64| present >> u32::BITS == signature >> u32::BITS;
        let place = group.iter().position(|other| {
            let number = self.entry(*other);
            number != self.no_flow() && has_hash(self.signature(number))
        })?;
        let number = self.entry(group[place]);
        let slot = self.slot(number);
        let tag = self.signature(number) as u32;
        self.move_after(group, place);
        self.set_entry(entry, number);
        // SAFETY: it is a slot.
        unsafe { slot.write(signature) };
        Some((slot, tag))
    }

    /// A slot for a new flow with this signature, whose hash leads to this entry.
    ///
    /// # Panics
    ///
    /// When the index has no such entry.
    pub(crate) fn give(&mut self, entry: usize, signature: u64) -> *mut u64 {
        let group = GROUP.map(|other| entry ^ other);
        let number = match self.reusable(group, signature as u32) {
            Some(entry) => self.empty(entry),
            None => self.take(signature),
        };
        let free = self.free_entry(group).expect("one was free, or is now");
        self.move_after(group, free);
        self.set_entry(entry, number);
        self.slot(number)
    }

    /// Moves the entries of a group before `place` on by one.
    fn move_after(&mut self, group: [usize; GROUP.len()], place: usize) {
        for path in (1..=place).rev() {
            let moved = self.entry(group[path - 1]);
            self.set_entry(group[path], moved);
        }
    }

    /// The entry of a group whose flow has been absent longest, if that flow has ended or all entries are in use.
    fn reusable(&mut self, group: [usize; GROUP.len()], tag: u32) -> Option<usize> {
        let mut oldest: Option<(u32, usize)> = None;
        let mut all_in_use = true;
        for entry in group {
            let number = self.entry(entry);
            if number == self.no_flow() {
                all_in_use = false;
                continue;
            }
            let age = tag - self.signature(number) as u32;
            oldest = oldest.filter(|(other, _)| *other > age).or(Some((age, entry)));
        }
        let (age, entry) = oldest?;
        (all_in_use || age >= ENDED).then_some(entry)
    }

    /// A slot that no index entry refers to.
    fn take(&mut self, signature: u64) -> usize {
        let end = self.slots_end();
        if self.next < end {
            self.next += 1;
            return self.next - 1;
        }
        let flows = self.no_flow() + 1..end;
        let random = (signature.wrapping_mul(HASH_FACTOR) >> u32::BITS) as usize;
        let number = flows.start + random % flows.len();
        let first = self.first_entry(number);
        let mut group = GROUP.into_iter().map(|other| first ^ other);
        if let Some(entry) = group.find(|entry| self.entry(*entry) == number) {
            self.empty(entry);
        }
        number
    }

    /// The number of the slot before all others, which belongs to no flow.
    fn no_flow(&self) -> usize {
        INDEX_BYTES.div_ceil(self.slot_bytes)
    }

    /// The number after the last slot.
    fn slots_end(&self) -> usize {
        let bytes = if self.goes_far { SLOTS_BYTES } else { NEAR_BYTES };
        self.no_flow() + (bytes / self.slot_bytes).min(SLOTS_MAX)
    }

    /// Rebuilds the index with this size for the slots in use. Slots that do not fit in their group are forgotten.
    #[cold]
    fn index_anew(&mut self, bits: u32) {
        self.index_bits = bits;
        let none = self.no_flow();
        assert!(bits <= INDEX_BITS_MAX, "the index has fewer entries");
        // SAFETY: the entries lie in the index.
        unsafe { std::slice::from_raw_parts_mut(self.place(0), 1 << bits).fill(none as u32) };
        // SAFETY: it is a slot.
        unsafe { self.slot(none).write(0) };
        for number in none + 1..self.next {
            let first = self.first_entry(number);
            let group = GROUP.map(|other| first ^ other);
            if let Some(free) = self.free_entry(group) {
                self.set_entry(group[free], number);
            }
        }
    }

    /// The position in the group of the first entry without a flow.
    fn free_entry(&mut self, group: [usize; GROUP.len()]) -> Option<usize> {
        group.into_iter().position(|entry| self.entry(entry) == self.no_flow())
    }

    /// The entry to which the hash of a slot's flow leads.
    fn first_entry(&mut self, number: usize) -> usize {
        (self.signature(number) >> (u64::BITS - self.index_bits)) as usize
    }

    fn signature(&mut self, number: usize) -> u64 {
        // SAFETY: it is a slot.
        unsafe { self.slot(number).read() }
    }

    fn slot(&mut self, number: usize) -> *mut u64 {
        self.first().wrapping_byte_add(number * self.slot_bytes)
    }

    fn first(&mut self) -> *mut u64 {
        // There must be room for one slot more than the maximum after the index.
        let count = (INDEX_BYTES + SLOTS_BYTES) / HUGE_PAGE + 1;
        let pages = self.pages.get_or_insert_with(|| HugePages::on_use(count));
        pages.as_mut_ptr()
    }

    fn entry(&mut self, entry: usize) -> usize {
        // SAFETY: it lies in the index.
        unsafe { self.place(entry).read() as usize }
    }

    fn set_entry(&mut self, entry: usize, number: usize) {
        // SAFETY: as above.
        unsafe { self.place(entry).write(number as u32) }
    }

    /// Empties an entry; returns the number that it had.
    fn empty(&mut self, entry: usize) -> usize {
        let number = self.entry(entry);
        self.set_entry(entry, self.no_flow());
        number
    }

    fn place(&mut self, entry: usize) -> *mut u32 {
        assert!(entry < 1 << INDEX_BITS_MAX, "the index has no entry {entry}");
        self.first().cast::<u32>().wrapping_add(entry)
    }
}

impl Index {
    /// Prefetches the slots of flows with these hashes, and what their [trails](SlotLayout::trail) point to. A packet
    /// without a flow has hash 0.
    pub(crate) fn fetch(self, layout: &SlotLayout, hashes: &[u64]) {
        let entry = |hash: u64| (hash >> self.shift) as usize;
        let entries = hashes.iter().filter(|hash| **hash != 0).map(|hash| entry(*hash));
        let place = |entry: usize| self.first.cast::<u32>().wrapping_add(entry);
        entries.clone().for_each(|entry| prefetch_at(place(entry).addr()));
        // SAFETY: the shift leaves as many bits as the index has, and each entry has the number of a slot.
        let slot = |entry: usize| unsafe {
            let number = place(entry).read() as usize;
            self.first.wrapping_byte_add(number * layout.bytes)
        };
        entries.clone().for_each(|entry| prefetch_at(slot(entry).addr()));
        for slot in entries.clone().map(slot) {
            // SAFETY: it is a slot of this layout.
            let mut lines = unsafe { layout.lines_in_use(slot) } & !1;
            while lines != 0 {
                prefetch_at(slot.addr() + LINE_BYTES * lines.trailing_zeros() as usize);
                lines &= lines - 1;
            }
        }
        for entry in entries {
            // SAFETY: words of a trail are words of the slot.
            let address = |word: usize| unsafe { slot(entry).add(word).read() as usize };
            let addresses = layout.trail.iter().map(|word| address(*word));
            addresses.filter(|address| *address != 0).for_each(prefetch_at);
        }
    }
}

#[cfg(test)]
impl FlowPages {
    /// The slot in an entry of the index.
    pub(crate) fn slot_of(&mut self, entry: usize) -> *mut u64 {
        let number = self.entry(entry);
        self.slot(number)
    }
}

#[cfg(test)]
impl Index {
    /// The signature in the slot of an entry.
    pub(crate) fn signature(&self, layout: &SlotLayout, entry: usize) -> u64 {
        // SAFETY: tests pass entries of the index, whose numbers are those of slots of this layout.
        unsafe {
            let number = self.first.cast::<u32>().add(entry).read();
            self.first.byte_add(number as usize * layout.bytes).read()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const TAG: u64 = 3;

    /// Pages, and a layout that has as many slots as possible.
    fn pages() -> (FlowPages, SlotLayout) {
        let layout = SlotLayout::of_short_keys(1);
        let mut pages = FlowPages::default();
        pages.forget(&layout);
        (pages, layout)
    }

    /// The signature of a flow of a number.
    fn signature(flow: u64) -> u64 {
        flow.wrapping_mul(HASH_FACTOR) & !u64::from(u32::MAX) | TAG
    }

    /// As compiled code does, with a new tag or the same: whether the flow had a slot.
    fn meet(pages: &mut FlowPages, layout: &SlotLayout, signature: u64) -> bool {
        let index = pages.index();
        let entry = (signature >> index.shift) as usize;
        if GROUP
            .iter()
            .any(|other| index.signature(layout, entry ^ other) == signature)
        {
            return true;
        }
        let slot = pages.give(entry, signature);
        // SAFETY: it is a slot of this layout.
        unsafe { layout.begin(slot, signature) };
        assert_eq!(
            index.signature(layout, entry),
            signature,
            "the one that came last is found first"
        );
        false
    }

    #[test]
    fn flows_that_fit_are_found_again() {
        let (mut pages, layout) = pages();
        for flow in 0..10_000 {
            assert!(!meet(&mut pages, &layout, signature(flow)));
        }
        let found = (0..10_000)
            .filter(|flow| meet(&mut pages, &layout, signature(*flow)))
            .count();
        assert!(found > 9_990, "{found}");
        assert!(pages.next - pages.no_flow() < 10_100, "slots are side by side");
        assert_eq!(pages.index_bits, 17);
    }

    #[test]
    fn nine_flows_of_one_group_share_eight_slots() {
        let (mut pages, layout) = pages();
        let flows: Vec<u64> = (0..9).map(|flow| flow << 40 | TAG).collect();
        for flow in &flows[..8] {
            assert!(!meet(&mut pages, &layout, *flow));
        }
        assert!(flows[..8].iter().all(|flow| meet(&mut pages, &layout, *flow)));
        assert!(!meet(&mut pages, &layout, flows[8]));
        assert!(
            !meet(&mut pages, &layout, flows[0]),
            "the one that was there first had to go"
        );
        assert!(meet(&mut pages, &layout, flows[8]));
        assert_eq!(pages.next - pages.no_flow(), 9);
    }

    #[test]
    fn slots_that_do_not_hold_are_used_again() {
        let (mut pages, layout) = pages();
        for flow in 0..100 {
            let tag = flow * u64::from(ENDED);
            assert!(!meet(&mut pages, &layout, 7 << 60 | flow << 32 | tag));
        }
        assert_eq!(pages.next - pages.no_flow(), 2);
    }

    #[test]
    fn a_slot_with_an_older_tag_is_found_and_comes_first() {
        let (mut pages, layout) = pages();
        let flows: Vec<u64> = (0..4).map(|flow| 7 << 60 | flow << 40 | TAG).collect();
        for flow in &flows {
            assert!(!meet(&mut pages, &layout, *flow));
        }
        let entry = (flows[0] >> pages.index().shift) as usize;
        let (slot, tag) = pages.renew(entry, flows[0] + 1).expect("it is there");
        // SAFETY: it is a slot of the pages.
        let signature = unsafe { slot.read() };
        assert_eq!((tag, signature), (TAG as u32, flows[0] + 1));
        assert_eq!(pages.index().signature(&layout, entry), flows[0] + 1);
        assert!(pages.renew(entry, 7 << 60 | 9 << 40).is_none());
        assert!(
            flows[1..].iter().all(|flow| meet(&mut pages, &layout, *flow)),
            "all others are there"
        );
    }

    #[test]
    fn more_flows_than_slots_take_slots_from_each_other() {
        let (mut pages, layout) = pages();
        let slots = pages.slots_end() - pages.no_flow() - 1;
        for round in 0..3 {
            let found = (0..slots as u64 + 9000).filter(|flow| meet(&mut pages, &layout, signature(*flow)));
            assert!((found.count() > slots / 4) == (round > 0));
        }
        let mut numbers = BTreeSet::new();
        for entry in 0..1 << pages.index_bits {
            let number = pages.entry(entry);
            assert!(
                number == pages.no_flow() || numbers.insert(number),
                "two entries with one slot"
            );
        }
        assert!(numbers.len() > slots * 9 / 10, "{} of {slots}", numbers.len());
    }
}
