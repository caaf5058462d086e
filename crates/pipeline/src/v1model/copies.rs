//! Copies that packets become on the short way, in buffers of their own.

use crate::outcome::DropReason;
use forebay_jit::{Code, CopyFate, Memory, ShortWay};
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
    /// Why it does not leave, if so. Not counted yet.
    pub dropped: Option<DropReason>,
}

/// Buffers for copies, and what became of those of the last burst.
#[derive(Debug, Default)]
pub(super) struct Copies {
    packets: Vec<Packet>,
    copied: Vec<Copied>,
    /// Bytes for which every buffer has room.
    room: usize,
}

impl Copies {
    /// Makes so many buffers ready for copies of frames of at most so many bytes. Those of the last burst are used again.
    pub(super) fn prepare(&mut self, memory: &mut Memory, count: usize, frame_bytes: usize) {
        let room = Code::copy_bytes(frame_bytes);
        // Buffers of the last burst have changed places with others.
        let mut stale = self.copied.len().min(self.packets.len());
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
        self.copied.clear();
    }

    /// Takes over what became of copies.
    pub(super) fn take(&mut self, short_way: &ShortWay<'_>, first: usize, count: usize, packet_limit: u32) {
        let unused = Copied { port: 0, dropped: None };
        self.copied.resize(self.copied.len().max(first + count), unused);
        for index in first..first + count {
            let CopyFate { port, length } = short_way.copy(index);
            let dropped = match length {
                None => Some(DropReason::EgressDrop),
                Some(length) if length > packet_limit as usize => Some(DropReason::PacketTooLong),
                Some(_) => None,
            };
            self.packets[index].set_received(length.unwrap_or(0));
            self.copied[index] = Copied { port, dropped };
        }
    }

    /// Copies from a place on, in order.
    pub(super) fn iter(&mut self, first: usize, count: usize) -> impl Iterator<Item = (Copied, &mut Packet)> {
        let copied = self.copied[first..][..count].iter().copied();
        copied.zip(&mut self.packets[first..][..count])
    }
}
