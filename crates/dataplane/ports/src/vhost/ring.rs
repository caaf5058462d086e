//! Virtqueues, from the device's side: what split and packed rings have in common (Virtual I/O Device 1.2 §2.6).
//!
//! The driver, in the guest, makes chains of buffers available; the device uses them. Here a chain is a list of
//! [`Part`]s in checked memory. Chains are used in the order in which they were made available. Several are taken
//! together, their memory is asked for, and [`Ring::publish`] tells the driver of all that were used together.
//!
//! A ring goes on where it says itself that the device was, not where the front end says: if the last device has died,
//! the front end does not know.

use std::sync::Arc;

use super::chains::{Chains, Taken};
use super::memory::{GuestMemory, Part};
use super::packed::PackedRing;
use super::split::SplitRing;
use crate::link::Fault;
use crate::system::event::Event;

/// The longest chain, in descriptors, also by an indirect table.
pub(super) const CHAIN_MAX: usize = 1024;

/// Chains that are taken together: enough to wait for the memory of all of them at once.
pub(crate) const BATCH: usize = 64;

/// Bytes of a descriptor, of either sort of ring.
pub(super) const DESCRIPTOR_BYTES: usize = 16;

/// Bytes of a cache line.
const LINE: usize = 64;

/// In the flags of a descriptor: the chain goes on.
pub(super) const NEXT: u16 = 1;
/// In the flags of a descriptor: the device writes the buffer.
pub(super) const WRITE: u16 = 2;
/// In the flags of a descriptor: the buffer is a table of descriptors.
pub(super) const INDIRECT: u16 = 4;

/// The direction of the frames of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The device reads them: a frame from the guest.
    FromGuest,
    /// The device writes them: room for a frame to the guest.
    ToGuest,
}

/// What both sides have agreed on that concerns rings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RingFeatures {
    /// Rings are packed.
    pub(crate) packed: bool,
    /// Descriptors may be tables.
    pub(crate) indirect: bool,
    /// Events are asked for by position (VIRTIO_F_EVENT_IDX).
    pub(crate) event_index: bool,
}

/// A descriptor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptor {
    pub(super) address: u64,
    pub(super) bytes: u32,
    pub(super) flags: u16,
    /// The next descriptor in a split ring, the identifier of the buffer in a packed one.
    pub(super) tail: u16,
}

/// A chain that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    /// What the driver knows it by.
    pub(super) id: u16,
    /// Descriptors of the ring that it has.
    pub(super) count: u16,
}

/// Where a ring lies, by addresses of the peer's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// The descriptors.
    pub(crate) descriptors: u64,
    /// What the driver writes: available chains, or the events that it wants.
    pub(crate) driver: u64,
    /// What the device writes: used chains, or the events that it wants.
    pub(crate) device: u64,
}

/// What a ring is made of.
pub(crate) struct RingParts {
    pub(crate) memory: Arc<GuestMemory>,
    pub(crate) size: u16,
    pub(crate) addresses: Addresses,
    pub(crate) features: RingFeatures,
}

/// A ring of either sort.
pub(crate) enum Ring {
    Split(SplitRing),
    Packed(PackedRing),
}

impl Ring {
    /// A ring that the peer has set up.
    ///
    /// # Errors
    /// When it does not lie in the guest's memory, or has an impossible size.
    pub(crate) fn new(parts: RingParts) -> Result<Ring, Fault> {
        if parts.features.packed {
            PackedRing::new(parts).map(Ring::Packed)
        } else {
            SplitRing::new(parts).map(Ring::Split)
        }
    }

    pub(crate) fn memory(&self) -> &GuestMemory {
        match self {
            Ring::Split(ring) => &ring.memory,
            Ring::Packed(ring) => &ring.memory,
        }
    }

    /// How far it has come, as a number for its front end. All that was taken is used.
    pub(crate) fn base(&self) -> u32 {
        match self {
            Ring::Split(ring) => ring.base(),
            Ring::Packed(ring) => ring.base(),
        }
    }

    /// Takes up to `count` chains, as many as are available and find room.
    ///
    /// # Errors
    /// When the next chain cannot be right. Those before it were taken.
    #[inline]
    pub(crate) fn take_several(
        &mut self,
        direction: Direction,
        count: usize,
        chains: &mut Chains,
    ) -> Result<(), Fault> {
        match self {
            Ring::Split(ring) => ring.take_several(direction, count, chains),
            Ring::Packed(ring) => ring.take_several(direction, count, chains),
        }
    }

    /// Makes the last chains that were taken and not used available again.
    #[inline]
    pub(crate) fn untake(&mut self, taken: &[Taken]) {
        match self {
            Ring::Split(ring) => ring.untake(taken),
            Ring::Packed(ring) => ring.untake(taken),
        }
    }

    /// Says that a chain was used, and how many bytes of it were written. The driver does not see it yet.
    #[inline]
    pub(crate) fn use_up(&mut self, chain: Chain, written: u32) {
        match self {
            Ring::Split(ring) => ring.use_up(chain, written),
            Ring::Packed(ring) => ring.use_up(chain, written),
        }
    }

    /// Shows the driver what was used, and rings if it wants that.
    #[inline]
    pub(crate) fn publish(&mut self, call: Option<&Event>) {
        let wants_event = match self {
            Ring::Split(ring) => ring.publish(),
            Ring::Packed(ring) => ring.publish(),
        };
        if wants_event && let Some(call) = call {
            call.ring();
        }
    }

    /// Asks the driver to ring for the next chain. Returns whether one is available already.
    pub(crate) fn arm(&mut self) -> bool {
        match self {
            Ring::Split(ring) => ring.arm(),
            Ring::Packed(ring) => ring.arm(),
        }
    }

    /// Asks the driver not to ring.
    pub(crate) fn disarm(&mut self) {
        match self {
            Ring::Split(ring) => ring.disarm(),
            Ring::Packed(ring) => ring.disarm(),
        }
    }
}

/// The descriptor at an offset of a table.
#[inline]
pub(super) fn read_descriptor(memory: &GuestMemory, table: &Part, index: usize) -> Descriptor {
    let [address, rest] = memory.of(table).read_pair(table.at + index * DESCRIPTOR_BYTES);
    Descriptor {
        address,
        bytes: rest as u32,
        flags: (rest >> 32) as u16,
        tail: (rest >> 48) as u16,
    }
}

/// The descriptor at an offset of a packed ring or table, in which the identifier stands before the flags.
#[inline]
pub(super) fn read_packed_descriptor(memory: &GuestMemory, table: &Part, index: usize) -> Descriptor {
    let as_split = read_descriptor(memory, table, index);
    Descriptor {
        flags: as_split.tail,
        tail: as_split.flags,
        ..as_split
    }
}

/// Appends the buffer of a descriptor. One without bytes is a part too, so that chains of any descriptors are bounded.
#[inline]
pub(super) fn append_buffer(
    memory: &GuestMemory,
    descriptor: &Descriptor,
    direction: Direction,
    chains: &mut Chains,
) -> Result<(), Fault> {
    let is_writable = descriptor.flags & WRITE != 0;
    if is_writable != (direction == Direction::ToGuest) {
        return Err(Fault(
            "a buffer is to be read where it is to be written, or the other way round",
        ));
    }
    let (mut address, mut rest) = (descriptor.address, descriptor.bytes as usize);
    if rest == 0 {
        return chains.append(Part::default());
    }
    while rest > 0 {
        let part = memory.at_guest_address(address, rest);
        let part = part.ok_or(Fault("a buffer does not lie in the guest's memory"))?;
        chains.append(part)?;
        // Regions may follow each other: a buffer then goes on in the next.
        address += part.bytes as u64;
        rest -= part.bytes;
    }
    Ok(())
}

/// Appends the buffers of a table of descriptors. In packed rings they stand one after another; in split rings they are
/// chained.
#[cold]
pub(super) fn append_table(
    memory: &GuestMemory,
    descriptor: &Descriptor,
    is_packed: bool,
    direction: Direction,
    chains: &mut Chains,
) -> Result<(), Fault> {
    let bytes = descriptor.bytes as usize;
    let count = bytes / DESCRIPTOR_BYTES;
    if !bytes.is_multiple_of(DESCRIPTOR_BYTES) || count == 0 || count > CHAIN_MAX {
        return Err(Fault("a table of descriptors has an impossible length"));
    }
    let table = memory.table_at_guest_address(descriptor.address, bytes)?;
    let mut index = 0;
    for _ in 0..count {
        let entry = if is_packed {
            read_packed_descriptor(memory, &table, index)
        } else {
            read_descriptor(memory, &table, index)
        };
        if entry.flags & INDIRECT != 0 {
            return Err(Fault("a table of descriptors is in a table of descriptors"));
        }
        append_buffer(memory, &entry, direction, chains)?;
        index = if is_packed {
            index + 1
        } else if entry.flags & NEXT != 0 {
            usize::from(entry.tail)
        } else {
            return Ok(());
        };
        if !is_packed && index >= count {
            return Err(Fault("a descriptor names one that there is not"));
        }
    }
    if is_packed {
        Ok(())
    } else {
        Err(Fault("a chain of descriptors has no end"))
    }
}

/// Whether a driver that wants an event for position `event` wants one now that a position has gone from `old` to
/// `new`.
#[inline]
pub(super) fn needs_event(event: u16, new: u16, old: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

/// Asks for the memory in which the header of a chain lies and its frame begins.
#[inline]
pub(super) fn ask_for(memory: &GuestMemory, direction: Direction, parts: &[Part]) {
    let Some(first) = parts.first() else { return };
    let memory = memory.of(first);
    for at in [first.at, first.at + LINE] {
        match direction {
            Direction::FromGuest => memory.prefetch(at),
            Direction::ToGuest => memory.prefetch_to_write(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_empty_buffers_is_bounded() {
        let empty = Descriptor {
            address: 0,
            bytes: 0,
            flags: NEXT,
            tail: 0,
        };
        let (memory, mut chains) = (GuestMemory::default(), Chains::new(1));
        let mut append = || append_buffer(&memory, &empty, Direction::FromGuest, &mut chains);
        assert!((0..2 * CHAIN_MAX).all(|_| append().is_ok()));
        assert!(append().is_err());
    }
}
