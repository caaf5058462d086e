//! Copies that packets become on the short way, in buffers of their own.

use crate::outcome::DropReason;
use forebay_jit::{CopyFate, Memory, ShortCode};
use forebay_packet::Packet;

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

/// Where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The port of the group's member.
    pub port: u32,
    /// The bytes that leave, or why it does not leave. Not counted yet.
    pub length: Result<usize, DropReason>,
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

    /// Copies from a place on, in order, in empty packets whose [`Packet::set_received`] is still to be told.
    pub(super) fn iter<'a>(
        &'a mut self,
        memory: &'a Memory,
        first: usize,
        count: usize,
        length_max: usize,
    ) -> impl Iterator<Item = (Copied, &'a mut Packet)> {
        let packets = self.packets[first..][..count].iter_mut();
        packets.zip(first..).map(move |(packet, index)| {
            let CopyFate { port, length } = memory.copy(index);
            let length = match length {
                None => Err(DropReason::EgressDrop),
                Some(length) if length > length_max => Err(DropReason::PacketTooLong),
                Some(length) => Ok(length),
            };
            (Copied { port, length }, packet)
        })
    }
}
