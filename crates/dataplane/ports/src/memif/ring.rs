//! The rings of memif, from either side.
//!
//! ```text
//!   0   cookie, flags, head          head and tail count up; an index is their remainder by the ring's size
//!   64  tail
//!   128 descriptors: flags, region, length, offset, metadata
//! ```
//!
//! All memory is the client's. On a ring to the server the client writes a frame and then `head`; the server takes it
//! and then writes `tail`. On a ring to the client, `head` says how many empty buffers the client has put there; the
//! server fills them and then writes `tail`. A frame that is longer than a buffer takes several descriptors, each but
//! the last with a flag.
//!
//! The client places its buffers once, and uses nothing that the server could have written except lengths; the server
//! checks region, offset and length of every descriptor.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::link::Fault;
use crate::system::event::Event;
use crate::system::shared::SharedMemory;

/// What a ring begins with.
pub(super) const COOKIE: u32 = 0x03E3_1F20;

const FLAGS_AT: usize = 4;
const HEAD_AT: usize = 6;
const TAIL_AT: usize = 64;
const DESCRIPTORS_AT: usize = 128;
const DESCRIPTOR_BYTES: usize = 16;

/// In the flags of a ring: its consumer requests no events.
const NO_EVENTS: u16 = 1;

/// In the flags of a descriptor: the frame goes on in the next one.
pub(super) const CONTINUES: u64 = 1;

/// The largest ring that is taken: its positions have 16 bits.
pub(crate) const EXPONENT_MAX: u8 = 14;

/// The regions of a connection by their index.
pub(crate) type Regions = Arc<[SharedMemory]>;

/// Bytes of a ring.
pub(crate) fn ring_bytes(exponent: u8) -> usize {
    DESCRIPTORS_AT + (DESCRIPTOR_BYTES << exponent)
}

/// Which side of the connection we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The memory is the peer's.
    Server,
    /// The memory is ours: buffers of equal size, one after another from an offset in region 0 on.
    Client {
        /// Bytes of a buffer.
        buffer_bytes: u32,
        /// Where the first one begins.
        buffers_at: u32,
    },
}

/// A ring, and the event that announces changes.
pub(crate) struct Ring {
    pub(super) regions: Regions,
    region: usize,
    at: usize,
    exponent: u8,
    pub(super) side: Side,
    event: Event,
    /// Our position.
    pub(super) next: u16,
}

/// A part of a frame: region, offset, length.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    pub(super) region: usize,
    pub(super) at: usize,
    pub(super) bytes: usize,
}

impl Ring {
    /// The ring at an offset of a region.
    ///
    /// # Errors
    /// When it does not lie within the region, or is not a ring.
    pub(crate) fn new(
        regions: &Regions,
        (region, at): (u16, u32),
        exponent: u8,
        side: Side,
        event: Event,
    ) -> Result<Ring, Fault> {
        let (region, at) = (usize::from(region), at as usize);
        let memory = regions
            .get(region)
            .ok_or(Fault("a ring lies in a region that there is not"))?;
        if exponent > EXPONENT_MAX {
            return Err(Fault("a ring has too many descriptors"));
        }
        if !at.is_multiple_of(8) || !memory.contains(at, ring_bytes(exponent)) {
            return Err(Fault("a ring does not lie within its region"));
        }
        let mut ring = Ring {
            regions: Arc::clone(regions),
            region,
            at,
            exponent,
            side,
            event,
            next: 0,
        };
        match side {
            Side::Client { .. } => ring.memory().word32(at).store(COOKIE, Ordering::Relaxed),
            Side::Server if ring.memory().word32(at).load(Ordering::Relaxed) != COOKIE => {
                return Err(Fault("a ring does not begin with its cookie"));
            }
            Side::Server => {}
        }
        ring.next = match side {
            Side::Client { .. } => 0,
            Side::Server => ring.tail(),
        };
        Ok(ring)
    }

    /// The event by which one side announces changes to the other.
    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    #[inline]
    fn memory(&self) -> &SharedMemory {
        &self.regions[self.region]
    }

    pub(super) fn size(&self) -> u16 {
        1 << self.exponent
    }

    #[inline]
    pub(super) fn head(&self) -> u16 {
        self.memory().word16(self.at + HEAD_AT).load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn tail(&self) -> u16 {
        self.memory().word16(self.at + TAIL_AT).load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn publish_head(&self, position: u16) {
        self.memory()
            .word16(self.at + HEAD_AT)
            .store(position, Ordering::Release);
    }

    #[inline]
    pub(super) fn publish_tail(&self, position: u16) {
        self.memory()
            .word16(self.at + TAIL_AT)
            .store(position, Ordering::Release);
    }

    /// Where the descriptor at a position lies.
    #[inline]
    fn descriptor_at(&self, position: u16) -> usize {
        self.at + DESCRIPTORS_AT + usize::from(position & (self.size() - 1)) * DESCRIPTOR_BYTES
    }

    /// The flags, and the part that a descriptor describes. Whether it lies in memory is checked.
    #[inline]
    pub(super) fn descriptor(&self, position: u16) -> Result<(u64, Part), Fault> {
        let [first, second] = self.memory().read_pair(self.descriptor_at(position));
        let bytes = (first >> 32) as usize;
        let part = match self.side {
            Side::Server => Part {
                region: (first >> 16 & 0xFFFF) as usize,
                at: (second & 0xFFFF_FFFF) as usize,
                bytes,
            },
            Side::Client { buffer_bytes, .. } if bytes > buffer_bytes as usize => {
                return Err(Fault("a frame is longer than its buffer"));
            }
            Side::Client { .. } => Part {
                bytes,
                ..self.own_buffer(position)
            },
        };
        match self.regions.get(part.region) {
            Some(region) if region.contains(part.at, part.bytes) => Ok((first & 0xFFFF, part)),
            Some(_) => Err(Fault("a descriptor points out of its region")),
            None => Err(Fault("a descriptor names a region that there is not")),
        }
    }

    /// The buffer of a client at a position.
    #[inline]
    pub(super) fn own_buffer(&self, position: u16) -> Part {
        match self.side {
            Side::Client {
                buffer_bytes,
                buffers_at,
            } => Part {
                region: 0,
                at: buffers_at as usize + usize::from(position & (self.size() - 1)) * buffer_bytes as usize,
                bytes: buffer_bytes as usize,
            },
            Side::Server => Part::default(),
        }
    }

    /// Writes a descriptor.
    #[inline]
    pub(super) fn describe(&self, position: u16, flags: u64, part: Part, bytes: usize) {
        let first = flags | (part.region as u64) << 16 | (bytes as u64) << 32;
        self.memory()
            .write_pair(self.descriptor_at(position), [first, part.at as u64]);
    }

    /// Announces new entries to the peer, unless it polls.
    #[inline]
    pub(super) fn ring_peer(&self) {
        // Our position must be visible before the flags are read.
        fence(Ordering::SeqCst);
        if self.memory().word16(self.at + FLAGS_AT).load(Ordering::Relaxed) & NO_EVENTS == 0 {
            self.event.ring();
        }
    }

    /// Sets whether the consumer requests events. Returns when this is visible to the peer.
    pub(super) fn want_events(&self, is_wanted: bool) {
        let flags = if is_wanted { 0 } else { NO_EVENTS };
        self.memory().word16(self.at + FLAGS_AT).store(flags, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}
