//! Copies that packets become on the short way, in buffers of their own.

use crate::outcome::DropReason;
use forebay_jit::{CopyFate, Memory, ShortCode};
use forebay_packet::{Burst, Packet};
use std::ops::Range;

/// Copies that packets may become together at most.
const COPIES_MAX: usize = 1024;

/// So many are made together when it is possible: their first lines are in the first-level cache then.
const COPIES_NEAR: usize = 128;

/// Packets that may be taken together when each may become so many copies and there is room for so many.
pub(super) fn packets_together(members: usize, room: usize) -> usize {
    let most = room.min(COPIES_MAX).checked_div(members).unwrap_or(usize::MAX);
    let near = COPIES_NEAR.checked_div(members).unwrap_or(usize::MAX);
    most.min(near.max(1))
}

/// Copies that go the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The first of them.
    pub start: u32,
    /// Behind the last.
    pub end: u32,
    /// The port of the group's members.
    pub port: u32,
    /// Why they do not leave, if they do not. Not counted yet.
    pub fate: Result<(), DropReason>,
}

/// Buffers for copies.
#[derive(Debug)]
pub(super) struct Copies {
    /// They are its spares.
    burst: Burst,
    /// How many have places in the memory of compiled code.
    known: usize,
    /// How many the last burst has used.
    used: usize,
    /// Bytes for which every buffer has room.
    room: usize,
}

impl Default for Copies {
    fn default() -> Copies {
        Copies {
            burst: Burst::new(COPIES_MAX),
            known: 0,
            used: 0,
            room: 0,
        }
    }
}

impl Copies {
    /// Makes so many buffers ready for copies of frames of at most so many bytes. Those of the last burst are used again.
    pub(super) fn prepare(&mut self, memory: &mut Memory, count: usize, frame_bytes: usize) {
        let room = ShortCode::copy_bytes(frame_bytes);
        // Buffers of the last burst may be others now.
        let mut stale = std::mem::take(&mut self.used);
        if room > self.room || count > self.known {
            self.room = self.room.max(room);
            self.known = self.known.max(count);
            stale = self.known;
        }
        let room = self.room;
        let targets = self.burst.spares_mut(stale).iter_mut();
        let targets = targets.map(|packet| packet.room_for(room));
        // SAFETY: each buffer is ours, stays where it is until the next call, and has room for copies of the frames.
        unsafe { memory.set_copies(targets) };
    }

    /// Says that all copies before this one have been made.
    pub(super) fn made(&mut self, behind: usize) {
        self.used = self.used.max(behind);
    }

    /// The port by which all of the first `count` copies leave, if it is one; then their packets have their lengths.
    pub(super) fn one_port(&mut self, memory: &Memory, count: usize, length_max: usize) -> Option<u32> {
        let copies = memory.copies(0, count).zip(self.burst.spares_mut(count));
        let (mut port, mut is_one, mut length_bits) = (None, true, 0);
        for (copy, packet) in copies {
            let length = copy.length.unwrap_or(usize::MAX);
            length_bits |= length;
            is_one &= *port.get_or_insert(copy.port) == copy.port;
            packet.set_received(length);
        }
        port.filter(|_| is_one && length_bits <= length_max)
    }

    /// The first `count` copies, in a burst of their own.
    pub(super) fn all_packets(&mut self, count: usize) -> &mut Burst {
        self.burst.fill_from_spares(count);
        &mut self.burst
    }

    /// Takes those at the beginning of a range of copies that leave the same way, or one that does not leave; their packets get
    /// their lengths.
    pub(super) fn next(&mut self, memory: &Memory, range: &mut Range<u32>, length_max: usize) -> Option<Copied> {
        let (start, behind) = (range.start as usize, range.end as usize);
        let mut copies = memory
            .copies(start, behind)
            .zip(&mut self.burst.spares_mut(behind)[start..]);
        let (first, packet) = copies.next()?;
        packet.set_received(first.length.unwrap_or(0));
        let fate = fate(first, length_max);
        let alike = copies.take_while(|(copy, _)| match (fate, copy.length) {
            (Ok(()), Some(length)) => copy.port == first.port && length <= length_max,
            _ => false,
        });
        let more = alike.map(|(copy, packet)| packet.set_received(copy.length.unwrap_or(0)));
        range.start += 1 + more.count() as u32;
        Some(Copied {
            start: start as u32,
            end: range.start,
            port: first.port,
            fate,
        })
    }

    /// The packets of copies.
    pub(super) fn packets(&mut self, start: u32, end: u32) -> &mut [Packet] {
        &mut self.burst.spares_mut(end as usize)[start as usize..]
    }
}

/// What becomes of a copy.
fn fate(copy: CopyFate, length_max: usize) -> Result<(), DropReason> {
    match copy.length {
        None => Err(DropReason::EgressDrop),
        Some(length) if length > length_max => Err(DropReason::PacketTooLong),
        Some(_) => Ok(()),
    }
}
