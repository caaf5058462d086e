//! Split rings (Virtual I/O Device 1.2 §2.7).
//!
//! ```text
//!   descriptors:  address, length, flags, next                     the driver's, named by the other two
//!   driver area:  flags, index, chains[size], used event           heads of available chains
//!   device area:  flags, index, (chain, length)[size], avail event chains that were used
//! ```

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::chains::{Chains, Taken};
use super::memory::{GuestMemory, Part};
use super::ring::{
    Chain, DESCRIPTOR_BYTES, Direction, INDIRECT, NEXT, RingFeatures, RingParts, append_buffer, append_table, ask_for,
    needs_event, read_descriptor,
};
use crate::link::Fault;

/// The largest ring.
const SIZE_MAX: u16 = 32_768;

/// Bytes of an entry of the device area.
const USED_BYTES: usize = 8;

/// Of either area: the flags, the index, the entries.
const FLAGS_AT: usize = 0;
const INDEX_AT: usize = 2;
const ENTRIES_AT: usize = 4;

/// In the flags of the driver: it wants no events.
const NO_INTERRUPT: u16 = 1;
/// In the flags of the device: it wants no events.
const NO_NOTIFY: u16 = 1;

/// A split ring.
pub(crate) struct SplitRing {
    pub(super) memory: Arc<GuestMemory>,
    features: RingFeatures,
    size: u16,
    descriptors: Part,
    driver: Part,
    device: Part,
    /// Chains that were taken.
    next: u16,
    /// The driver's index when we looked last.
    available: u16,
    /// Used chains that the driver can see.
    published: u16,
    /// Entries of used chains that the driver cannot see yet. They are written together, so that their lines change hands once a
    /// burst.
    hidden: Vec<[u8; USED_BYTES]>,
    /// Our flags.
    flags: u16,
}

impl SplitRing {
    pub(super) fn new(parts: RingParts) -> Result<SplitRing, Fault> {
        let RingParts {
            memory,
            size,
            addresses,
            features,
        } = parts;
        if !size.is_power_of_two() || size > SIZE_MAX {
            return Err(Fault("the size of a ring is no power of two"));
        }
        let entries = usize::from(size);
        let table = |address, bytes, alignment| memory.table_at_user_address(address, bytes, alignment);
        // Both areas with the event index after them, which is there whether it is used or not.
        let descriptors = table(addresses.descriptors, entries * DESCRIPTOR_BYTES, 8)?;
        let driver = table(addresses.driver, ENTRIES_AT + 2 * entries + 2, 2)?;
        let device = table(addresses.device, ENTRIES_AT + USED_BYTES * entries + 2, 4)?;
        let mut ring = SplitRing {
            memory,
            features,
            size,
            descriptors,
            driver,
            device,
            next: 0,
            available: 0,
            published: 0,
            hidden: Vec::with_capacity(entries),
            flags: 0,
        };
        ring.write_flags(NO_NOTIFY);
        ring.recover();
        ring.disarm();
        Ok(ring)
    }

    /// Goes on where the driver believes us to be. All chains are used in the order in which they are taken, so that
    /// after a restart the index in the device area says how far we had come.
    fn recover(&mut self) {
        let index = self.memory.of(&self.device).word16(self.device.at + INDEX_AT);
        let index = index.load(Ordering::Acquire);
        (self.next, self.available, self.published) = (index, index, index);
    }

    /// Its place, as front ends keep it.
    pub(super) fn base(&self) -> u32 {
        u32::from(self.published)
    }

    /// Looks how many chains are available. Those that were taken since the driver was told last are not its own yet.
    #[inline]
    fn look(&mut self) -> Result<(), Fault> {
        let index = self.memory.of(&self.driver).word16(self.driver.at + INDEX_AT);
        self.available = index.load(Ordering::Acquire);
        match self.available.wrapping_sub(self.published) {
            count if count <= self.size => Ok(()),
            _ => Err(Fault("a ring has more chains in it than descriptors")),
        }
    }

    #[inline]
    fn entry(&self, position: u16) -> usize {
        usize::from(position & (self.size - 1))
    }

    /// Chains that were available when we looked last, and are not taken.
    #[inline]
    fn ready(&self) -> usize {
        usize::from(self.available.wrapping_sub(self.next))
    }

    #[inline]
    pub(super) fn take_several(
        &mut self,
        direction: Direction,
        count: usize,
        chains: &mut Chains,
    ) -> Result<(), Fault> {
        if self.ready() < count {
            self.look()?;
        }
        for _ in 0..count.min(self.ready()) {
            if !chains.has_room() {
                break;
            }
            let at = self.driver.at + ENTRIES_AT + 2 * self.entry(self.next);
            let head = self.memory.of(&self.driver).word16(at).load(Ordering::Relaxed);
            self.walk(head, direction, chains)?;
            ask_for(&self.memory, direction, chains.finish(Chain { id: head, count: 1 }));
            self.next = self.next.wrapping_add(1);
        }
        Ok(())
    }

    /// Appends the parts of the chain that begins with a descriptor.
    #[inline]
    fn walk(&self, head: u16, direction: Direction, chains: &mut Chains) -> Result<(), Fault> {
        let mut index = head;
        for _ in 0..self.size {
            if index >= self.size {
                return Err(Fault("a descriptor names one that there is not"));
            }
            let descriptor = read_descriptor(&self.memory, &self.descriptors, usize::from(index));
            if descriptor.flags & INDIRECT != 0 {
                if !self.features.indirect || descriptor.flags & NEXT != 0 {
                    return Err(Fault("a table of descriptors where there may be none"));
                }
                return append_table(&self.memory, &descriptor, false, direction, chains);
            }
            append_buffer(&self.memory, &descriptor, direction, chains)?;
            if descriptor.flags & NEXT == 0 {
                return Ok(());
            }
            index = descriptor.tail;
        }
        Err(Fault("a chain of descriptors has no end"))
    }

    #[inline]
    pub(super) fn untake(&mut self, taken: &[Taken]) {
        self.next = self.next.wrapping_sub(taken.len() as u16);
    }

    #[inline]
    pub(super) fn use_up(&mut self, chain: Chain, written: u32) {
        let entry = u64::from(chain.id) | u64::from(written) << 32;
        self.hidden.push(entry.to_le_bytes());
    }

    /// Writes the entries of what was used.
    #[inline]
    fn write_hidden(&self) {
        let first = self.entry(self.published);
        let room = usize::from(self.size) - first;
        let (now, behind) = self.hidden.split_at(room.min(self.hidden.len()));
        let (memory, entries) = (self.memory.of(&self.device), self.device.at + ENTRIES_AT);
        memory.copy_in(entries + USED_BYTES * first, now.as_flattened());
        memory.copy_in(entries, behind.as_flattened());
    }

    /// Shows the driver what was used; returns whether it wants an event.
    #[inline]
    pub(super) fn publish(&mut self) -> bool {
        if self.hidden.is_empty() {
            return false;
        }
        self.write_hidden();
        let (old, new) = (self.published, self.published.wrapping_add(self.hidden.len() as u16));
        self.hidden.clear();
        let device = self.memory.of(&self.device);
        device.word16(self.device.at + INDEX_AT).store(new, Ordering::Release);
        self.published = new;
        // The index must be visible before we read what the driver wants.
        fence(Ordering::SeqCst);
        let driver = self.memory.of(&self.driver);
        if self.features.event_index {
            let event_at = self.driver.at + ENTRIES_AT + 2 * usize::from(self.size);
            return needs_event(driver.word16(event_at).load(Ordering::Relaxed), new, old);
        }
        driver.word16(self.driver.at + FLAGS_AT).load(Ordering::Relaxed) & NO_INTERRUPT == 0
    }

    /// Says of which chain the driver is to tell us. Those before it never come again, so the one before is none.
    fn want_event_at(&self, position: u16) {
        let at = self.device.at + ENTRIES_AT + USED_BYTES * usize::from(self.size);
        self.memory
            .of(&self.device)
            .word16(at)
            .store(position, Ordering::Relaxed);
    }

    /// Writes our flags when they change: they share a line with the index, which the driver polls.
    #[inline]
    fn set_flags(&mut self, flags: u16) {
        if self.flags != flags {
            self.write_flags(flags);
        }
    }

    fn write_flags(&mut self, flags: u16) {
        self.flags = flags;
        let flags_word = self.memory.of(&self.device).word16(self.device.at + FLAGS_AT);
        flags_word.store(flags, Ordering::Relaxed);
    }

    pub(super) fn arm(&mut self) -> bool {
        if self.features.event_index {
            self.want_event_at(self.next)
        } else {
            self.set_flags(0)
        }
        // What we want must be visible before we look for the last time.
        fence(Ordering::SeqCst);
        self.look().is_err() || self.available != self.next
    }

    pub(super) fn disarm(&mut self) {
        if self.features.event_index {
            self.want_event_at(self.next.wrapping_sub(1))
        } else {
            self.set_flags(NO_NOTIFY)
        }
    }
}
