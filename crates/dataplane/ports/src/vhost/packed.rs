//! Packed rings (Virtual I/O Device 1.2 §2.8).
//!
//! There is one ring, which both sides write. Two bits of a descriptor's flags say whose it is, compared with the number of the
//! round, which each side counts modulo 2. A chain stands in consecutive descriptors, its identifier in the last of them; the
//! device writes one descriptor for it, where the first one was, and goes on behind the chain.
//!
//! Several chains become visible together: the flags of the first are written last.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::memory::{GuestMemory, Part};
use super::ring::{
    Chain, DESCRIPTOR_BYTES, Direction, INDIRECT, NEXT, Position, RingFeatures, RingParts, WRITE, append_buffer,
    append_table, needs_event, read_packed_descriptor,
};
use crate::link::Fault;

/// The largest ring.
const SIZE_MAX: u16 = 32_768;

/// In the flags of a descriptor: equal to the round of the driver when it is available.
const AVAILABLE: u16 = 1 << 7;
/// In the flags of a descriptor: equal to the round of the device when it is used.
const USED: u16 = 1 << 15;

/// Within a descriptor.
const LENGTH_AT: usize = 8;
const FLAGS_AT: usize = 14;

/// An area: the position for which an event is wanted, and whether any is.
const EVENT_BYTES: usize = 4;
const EVENT_FLAGS_AT: usize = 2;
const EVENTS_ON: u16 = 0;
const EVENTS_OFF: u16 = 1;
const EVENTS_BY_POSITION: u16 = 2;

/// A place in the ring.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    /// Where the next chain that is used is written.
    used: Place,
    /// The first of those that the driver does not see yet, with its flags.
    hidden: Option<(Place, u16)>,
    /// Where `used` was when the driver was shown something last.
    published: u16,
}

impl PackedRing {
    pub(super) fn new(parts: RingParts) -> Result<PackedRing, Fault> {
        let RingParts {
            memory,
            size,
            addresses,
            position,
            features,
        } = parts;
        if size == 0 || size > SIZE_MAX || position.next >= size {
            return Err(Fault("a ring has an impossible size or position"));
        }
        let bytes = usize::from(size) * DESCRIPTOR_BYTES;
        let place = Place {
            index: position.next,
            round: position.wrap,
        };
        let mut ring = PackedRing {
            features,
            size,
            descriptors: memory.table_at_user_address(addresses.descriptors, bytes, 8)?,
            driver: memory.table_at_user_address(addresses.driver, EVENT_BYTES, 4)?,
            device: memory.table_at_user_address(addresses.device, EVENT_BYTES, 4)?,
            memory,
            next: place,
            used: place,
            hidden: None,
            published: place.index,
        };
        ring.disarm();
        Ok(ring)
    }

    pub(super) fn position(&self) -> Position {
        Position {
            next: self.used.index,
            wrap: self.used.round,
        }
    }

    #[inline]
    fn descriptor_at(&self, index: u16) -> usize {
        self.descriptors.at + usize::from(index) * DESCRIPTOR_BYTES
    }

    /// Whether the next chain is available.
    #[inline]
    fn is_available(&self) -> bool {
        let flags = self
            .memory
            .of(&self.descriptors)
            .word16(self.descriptor_at(self.next.index) + FLAGS_AT);
        let flags = flags.load(Ordering::Acquire);
        (flags & AVAILABLE != 0) == self.next.round && (flags & USED != 0) != self.next.round
    }

    #[inline]
    pub(super) fn take(&mut self, direction: Direction, parts: &mut Vec<Part>) -> Result<Option<Chain>, Fault> {
        if !self.is_available() {
            return Ok(None);
        }
        let mut place = self.next;
        for count in 1..=self.size {
            let descriptor = read_packed_descriptor(&self.memory, &self.descriptors, usize::from(place.index));
            let (id, flags) = (descriptor.tail, descriptor.flags);
            place = place.behind(1, self.size);
            if flags & INDIRECT != 0 {
                if !self.features.indirect || flags & NEXT != 0 || count > 1 {
                    return Err(Fault("a table of descriptors where there may be none"));
                }
                append_table(&self.memory, &descriptor, true, direction, parts)?;
            } else {
                append_buffer(&self.memory, &descriptor, direction, parts)?;
            }
            if flags & NEXT == 0 {
                self.next = place;
                return Ok(Some(Chain { id, count }));
            }
        }
        Err(Fault("a chain of descriptors has no end"))
    }

    pub(super) fn untake(&mut self, chains: &[Chain]) {
        for chain in chains {
            self.next = self.next.before(chain.count, self.size);
        }
    }

    #[inline]
    pub(super) fn use_up(&mut self, chain: Chain, written: u32) {
        let at = self.descriptor_at(self.used.index);
        let memory = self.memory.of(&self.descriptors);
        let round = if self.used.round { AVAILABLE | USED } else { 0 };
        let flags = round | if written > 0 { WRITE } else { 0 };
        memory.word32(at + LENGTH_AT).store(written, Ordering::Relaxed);
        memory.word16(at + LENGTH_AT + 4).store(chain.id, Ordering::Relaxed);
        match self.hidden {
            None => self.hidden = Some((self.used, flags)),
            Some(_) => memory.word16(at + FLAGS_AT).store(flags, Ordering::Release),
        }
        self.used = self.used.behind(chain.count, self.size);
    }

    /// Shows the driver what was used; returns whether it wants an event.
    #[inline]
    pub(super) fn publish(&mut self) -> bool {
        let Some((first, flags)) = self.hidden.take() else {
            return false;
        };
        let memory = self.memory.of(&self.descriptors);
        let flags_word = memory.word16(self.descriptor_at(first.index) + FLAGS_AT);
        flags_word.store(flags, Ordering::Release);
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

    fn set_events(&self, flags: u16) {
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
        self.set_events(EVENTS_OFF);
    }
}
