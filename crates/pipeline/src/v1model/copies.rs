//! Copies that packets become on the short way, in buffers of their own.

use crate::outcome::DropReason;
use forebay_jit::{CopyFate, Memory, ShortCode};
use forebay_packet::Packet;
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
#[derive(Debug, Default)]
pub(super) struct Copies {
    packets: Vec<Packet>,
    /// How many the last burst has used.
    used: usize,
    /// Bytes for which every buffer has room.
    room: usize,
}

impl Copies {
    /// Makes so many buffers ready for copies of frames of at most so many bytes. Those of the last burst are used again.
    pub(super) fn prepare(&mut self, memory: &mut Memory, count: usize, frame_bytes: usize) {
        let room = ShortCode::copy_bytes(frame_bytes);
        // Buffers of the last burst have changed places with others.
        let mut stale = std::mem::take(&mut self.used);
        if room > self.room {
            self.room = room;
            stale = self.packets.len();
        }
        let known = self.packets.len();
        if known < count {
            self.packets.resize_with(count, Packet::new);
        }
        for index in (0..stale).chain(known..self.packets.len()) {
            let target = self.packets[index].room_for(self.room).as_mut_ptr();
            // SAFETY: the buffer is ours, stays where it is until the next call, and has room for copies of the frames.
            unsafe { memory.set_copy(index, target) };
        }
    }

    /// Says that all copies before this one have been made.
    pub(super) fn made(&mut self, behind: usize) {
        self.used = self.used.max(behind);
    }

    /// Takes those at the beginning of a range of copies that go the same way; their packets get their lengths.
    pub(super) fn next(&mut self, memory: &Memory, range: &mut Range<u32>, length_max: usize) -> Option<Copied> {
        let start = range.start;
        let mut first: Option<(u32, Result<(), DropReason>)> = None;
        while range.start < range.end {
            let CopyFate { port, length } = memory.copy(range.start as usize);
            let fate = match length {
                None => Err(DropReason::EgressDrop),
                Some(length) if length > length_max => Err(DropReason::PacketTooLong),
                Some(_) => Ok(()),
            };
            if *first.get_or_insert((port, fate)) != (port, fate) {
                break;
            }
            self.packets[range.start as usize].set_received(length.unwrap_or(0));
            range.start += 1;
        }
        first.map(|(port, fate)| Copied {
            start,
            end: range.start,
            port,
            fate,
        })
    }

    /// The packets of copies.
    pub(super) fn packets(&mut self, start: u32, end: u32) -> &mut [Packet] {
        &mut self.packets[start as usize..end as usize]
    }
}
