//! Packed rings (Virtual I/O Device 1.2 §2.8).
//!
//! There is one ring, which both sides write. Two bits of a descriptor's flags say whose it is, compared with the
//! number of the round, which each side counts modulo 2. A chain stands in consecutive descriptors, its identifier in
//! the last of them; the device writes one descriptor for it, where the first one was, and goes on after the chain.
//!
//! # Where the device is, told by the ring alone
//! The bit [`USED`] of a descriptor is the device's round from where the device has used it, and the other value from
//! where it has not, whatever the driver has written meanwhile. So the bit flips exactly once, at the device's
//! position, if the device marks *all* descriptors of a chain as used, not the first one alone. Drivers do not look at
//! the others. A device that has died is followed by one that finds its place by this bit ([`PackedRing::recover`]):
//! front ends of network cards do not keep it.
//!
//! What was used is written in [`PackedRing::publish`], each descriptor's words together, the first chain last: the
//! driver, which looks at that one, sees the whole burst at once, and does not fetch lines that are still written. So a
//! process can end at a moment that leaves behind
//!
//! * a chain whose later descriptors are marked and whose first one is not: the marks are taken back;
//! * chains that are marked after one that is not: that one is shown to the driver as used, without bytes.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering, fence};

use super::chains::{Chains, Taken};
use super::memory::{GuestMemory, Part};
use super::ring::{
    CHAIN_MAX, Chain, DESCRIPTOR_BYTES, Direction, INDIRECT, NEXT, RingFeatures, RingParts, WRITE, append_buffer,
    append_table, ask_for, needs_event, read_packed_descriptor,
};
use crate::link::Fault;

/// The largest ring.
const SIZE_MAX: u16 = 32_768;

/// In the flags of a descriptor: equal to the round of the driver when it is available.
const AVAILABLE: u16 = 1 << 7;
/// In the flags of a descriptor: equal to the round of the device when it is used.
const USED: u16 = 1 << 15;

/// Within a descriptor: length, identifier and flags, which are written together.
const TAIL_AT: usize = 8;
const FLAGS_AT: usize = 14;

/// An area: the position for which an event is wanted, and whether any is.
const EVENT_BYTES: usize = 4;
const EVENT_FLAGS_AT: usize = 2;
const EVENTS_ON: u16 = 0;
const EVENTS_OFF: u16 = 1;
const EVENTS_BY_POSITION: u16 = 2;

/// A place in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    index: u16,
    /// The number of the round, modulo 2.
    round: bool,
}

impl Place {
    #[inline]
    fn behind(self, count: u16, size: u16) -> Place {
        match self.index + count {
            index if index < size => Place { index, ..self },
            index => Place {
                index: index - size,
                round: !self.round,
            },
        }
    }

    #[inline]
    fn before(self, count: u16, size: u16) -> Place {
        match self.index.checked_sub(count) {
            Some(index) => Place { index, ..self },
            None => Place {
                index: self.index + size - count,
                round: !self.round,
            },
        }
    }
}

/// A chain that was used.
#[derive(Clone, Copy)]
struct Used {
    place: Place,
    /// Descriptors that it has.
    count: u16,
    /// Length, identifier and flags of the first.
    tail: u64,
}

impl Used {
    #[inline]
    fn new(place: Place, chain: Chain, written: u32) -> Used {
        let round = if place.round { AVAILABLE | USED } else { 0 };
        let flags = round | if written > 0 { WRITE } else { 0 };
        Used {
            place,
            count: chain.count,
            tail: u64::from(written) | u64::from(chain.id) << 32 | u64::from(flags) << 48,
        }
    }
}

/// Whether a descriptor is not available: it is marked as used, in this round or the one before, or new.
fn is_marked(flags: u16) -> bool {
    (flags & AVAILABLE != 0) == (flags & USED != 0)
}

/// A packed ring.
pub(crate) struct PackedRing {
    pub(super) memory: Arc<GuestMemory>,
    features: RingFeatures,
    size: u16,
    descriptors: Part,
    driver: Part,
    device: Part,
    /// The next chain that is taken.
    next: Place,
    /// Descriptors that were taken since the driver was shown something last.
    taken: usize,
    /// Where the next chain that is used is written.
    used: Place,
    /// Chains that were used, which the driver does not see yet.
    hidden: Vec<Used>,
    /// Where `used` was when the driver was shown something last.
    published: u16,
    /// Our flags: which events we want.
    events: u16,
}

impl PackedRing {
    pub(super) fn new(parts: RingParts) -> Result<PackedRing, Fault> {
        let RingParts {
            memory,
            size,
            addresses,
            features,
        } = parts;
        if size == 0 || size > SIZE_MAX {
            return Err(Fault("a ring has an impossible size"));
        }
        let bytes = usize::from(size) * DESCRIPTOR_BYTES;
        let start = Place { index: 0, round: true };
        let mut ring = PackedRing {
            features,
            size,
            descriptors: memory.table_at_user_address(addresses.descriptors, bytes, 8)?,
            driver: memory.table_at_user_address(addresses.driver, EVENT_BYTES, 4)?,
            device: memory.table_at_user_address(addresses.device, EVENT_BYTES, 4)?,
            memory,
            next: start,
            taken: 0,
            used: start,
            hidden: Vec::with_capacity(usize::from(size)),
            published: 0,
            events: EVENTS_ON,
        };
        ring.recover();
        ring.disarm();
        Ok(ring)
    }

    /// Goes on where the device was: see the module. In a new ring, which is all zeroes, that is the beginning.
    fn recover(&mut self) {
        (0..self.size).for_each(|index| self.undo_marks(index));
        (0..self.size).for_each(|index| self.show_burst(index));
        let before = self.flags(0) & USED != 0;
        let flip = (1..self.size).find(|index| (self.flags(*index) & USED != 0) != before);
        let place = match flip {
            Some(index) => Place { index, round: before },
            None => Place {
                index: 0,
                round: !before,
            },
        };
        (self.next, self.used, self.published) = (place, place, place.index);
    }

    /// Takes back the marks of a chain whose first descriptor was not marked any more. The driver may be writing the
    /// next chains.
    fn undo_marks(&self, first: u16) {
        let mut flags = self.flags(first);
        if is_marked(flags) {
            return;
        }
        let mut place = Place {
            index: first,
            round: flags & AVAILABLE != 0,
        };
        for _ in 1..self.size.min(CHAIN_MAX as u16) {
            if flags & NEXT == 0 {
                return;
            }
            place = place.behind(1, self.size);
            flags = self.flags(place.index);
            if !is_marked(flags) || (flags & USED != 0) != place.round {
                return;
            }
            let word = self.flags_word(place.index);
            let _ = word.compare_exchange(flags, flags ^ USED, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Marks a chain as used, with a length of 0, if the chains after it are marked already.
    fn show_burst(&self, first: u16) {
        let before = self.flags((first + self.size - 1) % self.size);
        let flags = self.flags(first);
        if is_marked(flags) || (!is_marked(before) && before & NEXT != 0) {
            return;
        }
        let place = Place {
            index: first,
            round: flags & AVAILABLE != 0,
        };
        let ends = |distance: &u16| self.flags(place.behind(*distance, self.size).index) & NEXT == 0;
        let Some(last) = (0..self.size.min(CHAIN_MAX as u16)).find(ends) else {
            return;
        };
        let next = place.behind(last + 1, self.size);
        let next_flags = self.flags(next.index);
        if !is_marked(next_flags) || (next_flags & USED != 0) != next.round {
            return;
        }
        let last_index = place.behind(last, self.size).index;
        let descriptor = read_packed_descriptor(&self.memory, &self.descriptors, usize::from(last_index));
        let chain = Chain {
            id: descriptor.tail,
            count: last + 1,
        };
        self.mark(&Used::new(place, chain, 0));
    }

    /// Its place twice, as front ends keep it: what is taken, and what is used, which is the same.
    pub(super) fn base(&self) -> u32 {
        (u32::from(self.used.index) | u32::from(self.used.round) << 15) * 0x1_0001
    }

    #[inline]
    fn descriptor_at(&self, index: u16) -> usize {
        self.descriptors.at + usize::from(index) * DESCRIPTOR_BYTES
    }

    #[inline]
    fn flags_word(&self, index: u16) -> &AtomicU16 {
        let memory = self.memory.of(&self.descriptors);
        memory.word16(self.descriptor_at(index) + FLAGS_AT)
    }

    #[inline]
    fn flags(&self, index: u16) -> u16 {
        self.flags_word(index).load(Ordering::Acquire)
    }

    /// Whether the next chain is available.
    #[inline]
    fn is_available(&self) -> bool {
        let flags = self.flags(self.next.index);
        (flags & AVAILABLE != 0) == self.next.round && (flags & USED != 0) != self.next.round
    }

    #[inline]
    pub(super) fn take_several(
        &mut self,
        direction: Direction,
        count: usize,
        chains: &mut Chains,
    ) -> Result<(), Fault> {
        for _ in 0..count {
            if !chains.has_room() || !self.is_available() {
                break;
            }
            let chain = self.walk(direction, chains)?;
            self.taken += usize::from(chain.count);
            if self.taken > usize::from(self.size) {
                return Err(Fault("a ring has more chains in it than descriptors"));
            }
            self.next = self.next.behind(chain.count, self.size);
            ask_for(&self.memory, direction, chains.finish(chain));
        }
        Ok(())
    }

    /// Appends the parts of the next chain, which is available.
    #[inline]
    fn walk(&self, direction: Direction, chains: &mut Chains) -> Result<Chain, Fault> {
        let mut place = self.next;
        for count in 1..=self.size {
            let descriptor = read_packed_descriptor(&self.memory, &self.descriptors, usize::from(place.index));
            let (id, flags) = (descriptor.tail, descriptor.flags);
            place = place.behind(1, self.size);
            if flags & INDIRECT != 0 {
                if !self.features.indirect || flags & NEXT != 0 || count > 1 {
                    return Err(Fault("a table of descriptors where there may be none"));
                }
                append_table(&self.memory, &descriptor, true, direction, chains)?;
            } else {
                append_buffer(&self.memory, &descriptor, direction, chains)?;
            }
            if flags & NEXT == 0 {
                return Ok(Chain { id, count });
            }
        }
        Err(Fault("a chain of descriptors has no end"))
    }

    #[inline]
    pub(super) fn untake(&mut self, taken: &[Taken]) {
        for Taken { chain, .. } in taken {
            self.taken -= usize::from(chain.count);
            self.next = self.next.before(chain.count, self.size);
        }
    }

    #[inline]
    pub(super) fn use_up(&mut self, chain: Chain, written: u32) {
        self.hidden.push(Used::new(self.used, chain, written));
        self.used = self.used.behind(chain.count, self.size);
    }

    /// Marks the descriptors of a chain as used, the first one last.
    #[inline]
    fn mark(&self, used: &Used) {
        (1..used.count).for_each(|distance| self.mark_after(used, distance));
        let memory = self.memory.of(&self.descriptors);
        let tail = memory.word64(self.descriptor_at(used.place.index) + TAIL_AT);
        tail.store(used.tail, Ordering::Release);
    }

    /// Marks a descriptor after the first of its chain.
    #[inline]
    fn mark_after(&self, used: &Used, distance: u16) {
        let place = used.place.behind(distance, self.size);
        let flags = self.flags(place.index) & !USED | if place.round { USED } else { 0 };
        self.flags_word(place.index).store(flags, Ordering::Release);
    }

    /// Shows the driver what was used; returns whether it wants an event.
    #[inline]
    pub(super) fn publish(&mut self) -> bool {
        let Some((first, others)) = self.hidden.split_first() else {
            return false;
        };
        others.iter().for_each(|used| self.mark(used));
        self.mark(first);
        self.hidden.clear();
        self.taken = 0;
        let old = std::mem::replace(&mut self.published, self.used.index);
        // The flags must be visible before we read what the driver wants.
        fence(Ordering::SeqCst);
        let driver = self.memory.of(&self.driver);
        match driver.word16(self.driver.at + EVENT_FLAGS_AT).load(Ordering::Relaxed) {
            EVENTS_BY_POSITION if self.features.event_index => {
                let wanted = driver.word16(self.driver.at).load(Ordering::Relaxed);
                self.is_wanted(wanted, old)
            }
            EVENTS_OFF => false,
            _ => true,
        }
    }

    /// Whether an event that is wanted for a position is due, since `used` has gone on from `old`.
    fn is_wanted(&self, wanted: u16, old: u16) -> bool {
        let (mut position, round) = (wanted & 0x7FFF, wanted & 0x8000 != 0);
        let new = self.used.index;
        if round != self.used.round {
            position = position.wrapping_sub(self.size);
        }
        let old = if new <= old { old.wrapping_sub(self.size) } else { old };
        needs_event(position, new, old)
    }

    fn set_events(&mut self, flags: u16) {
        self.events = flags;
        let word = self.memory.of(&self.device).word16(self.device.at + EVENT_FLAGS_AT);
        word.store(flags, Ordering::Release);
    }

    pub(super) fn arm(&mut self) -> bool {
        if self.features.event_index {
            let position = self.next.index | u16::from(self.next.round) << 15;
            let word = self.memory.of(&self.device).word16(self.device.at);
            word.store(position, Ordering::Relaxed);
            self.set_events(EVENTS_BY_POSITION);
        } else {
            self.set_events(EVENTS_ON);
        }
        // What we want must be visible before we look for the last time.
        fence(Ordering::SeqCst);
        self.is_available()
    }

    pub(super) fn disarm(&mut self) {
        if self.events != EVENTS_OFF {
            self.set_events(EVENTS_OFF);
        }
    }
}
