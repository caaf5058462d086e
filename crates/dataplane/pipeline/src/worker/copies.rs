//! Copies made of packets on the fast path, in buffers of their own.

use super::fast_path::PacketVerdict;
use super::frames::{all_fit, frames};
use super::returns::Return;
use crate::outcome::DropReason;
use forebay_jit::{CopyVerdict, FastPathCode, Memory};
use forebay_packet::{Burst, Packet};
use std::ops::Range;

/// The most copies that are made together.
const COPIES_MAX: usize = 1024;

/// The preferred number of copies made together: their first lines then fit into the first-level cache.
const COPIES_NEAR: usize = 128;

/// The most packets to take together, if each may have this many copies, and there is room for `room` of them.
pub(super) fn packets_together(members: usize, room: usize) -> usize {
    let most = room.min(COPIES_MAX).checked_div(members).unwrap_or(usize::MAX);
    let near = COPIES_NEAR.checked_div(members).unwrap_or(usize::MAX);
    most.min(near.max(1))
}

/// Consecutive copies with the same destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The first copy.
    pub start: u32,
    /// The index after the last copy.
    pub end: u32,
    /// The port of the group's members, unless they begin again.
    pub port: Option<u32>,
    /// They leave, are dropped, or begin again. A drop has not been counted yet.
    pub verdict: PacketVerdict,
}

/// Buffers for copies.
#[derive(Debug)]
pub(super) struct Copies {
    /// The buffers are the spares of this burst.
    burst: Burst,
    /// The number of buffers that are ready.
    ready: usize,
    /// The number of buffers that the last burst has used.
    used: usize,
    /// Bytes for which every buffer that is ready has room.
    room: usize,
}

impl Default for Copies {
    fn default() -> Copies {
        Copies {
            burst: Burst::new(COPIES_MAX),
            ready: 0,
            used: 0,
            room: 0,
        }
    }
}

impl Copies {
    /// Prepares buffers for `count` copies of frames of at most `frame_bytes` bytes. Those of the last burst are
    /// reused.
    pub(super) fn prepare(&mut self, memory: &mut Memory, count: usize, frame_bytes: usize) {
        let room = FastPathCode::copy_bytes(frame_bytes);
        // Buffers of the last burst may have been exchanged.
        let mut stale = std::mem::take(&mut self.used);
        if room > self.room || count > self.ready {
            self.room = self.room.max(room);
            self.ready = self.ready.max(count);
            stale = self.ready;
        }
        Packet::make_room_in_all(self.burst.spares_mut(stale), self.room);
        // SAFETY: `self` owns the packets, they stay in place until the next call, and each has room for copies of the
        // frames.
        unsafe { memory.set_copies(frames(self.burst.spares_mut(count))) };
    }

    /// Records that all copies before index `behind` have been made.
    pub(super) fn made(&mut self, behind: usize) {
        self.used = self.used.max(behind);
    }

    /// The port by which all of the first `count` copies leave, if there is a single one.
    pub(super) fn one_port(&mut self, memory: &Memory, count: usize, length_max: usize) -> Option<u32> {
        let CopyVerdict::Leaves { port } = memory.copy(0) else {
            return None;
        };
        let is_one = memory.copies_alike(0, count) == count && all_fit(self.burst.spares_mut(count), length_max);
        is_one.then_some(port)
    }

    /// Puts the first `count` copies into a burst of their own.
    pub(super) fn all_packets(&mut self, count: usize) -> &mut Burst {
        self.burst.fill_from_spares(count);
        &mut self.burst
    }

    /// Removes copies from the beginning of a range: those with the same destination, or one that does not leave.
    pub(super) fn next(&mut self, memory: &Memory, range: &mut Range<u32>, length_max: usize) -> Option<Copied> {
        if range.start >= range.end {
            return None;
        }
        let (start, behind) = (range.start as usize, range.end as usize);
        let first = memory.copy(start);
        let (port, verdict, alike) = match first {
            CopyVerdict::Leaves { port } => (
                Some(port),
                PacketVerdict::Transmit(port),
                memory.copies_alike(start, behind),
            ),
            CopyVerdict::Recirculated { note } => (None, PacketVerdict::Returns(Return::Recirculated(note)), 1),
            CopyVerdict::Dropped { port } => (Some(port), PacketVerdict::Drop(DropReason::EgressDrop), 0),
            CopyVerdict::AssertFailed { port } => (Some(port), PacketVerdict::Drop(DropReason::AssertFailed), 0),
        };
        let packets = &self.burst.spares_mut(behind)[start..][..alike];
        let fit = if all_fit(packets, length_max) {
            alike
        } else {
            packets.iter().take_while(|packet| packet.len() <= length_max).count()
        };
        let verdict = match (alike, fit) {
            (1.., 0) => PacketVerdict::Drop(DropReason::PacketTooLong),
            _ => verdict,
        };
        range.start += fit.max(1) as u32;
        Some(Copied {
            start: start as u32,
            end: range.start,
            port,
            verdict,
        })
    }

    /// The packets of copies.
    pub(super) fn packets(&mut self, start: u32, end: u32) -> &mut [Packet] {
        &mut self.burst.spares_mut(end as usize)[start as usize..]
    }
}
