//! Where the frames of packets are that compiled code reads and writes, and how long they are.

use forebay_jit::{Frame, Frames};
use forebay_packet::Packet;
use std::mem::offset_of;

/// Whether no packet is longer.
#[inline]
pub(super) fn all_fit(packets: &[Packet], length_max: usize) -> bool {
    length_bits(packets) <= length_max || packets.iter().all(|packet| packet.len() <= length_max)
}

/// The bits of all lengths together: a number that is not smaller than any of them, less than twice the largest, and quickly made.
#[inline]
pub(super) fn length_bits(packets: &[Packet]) -> usize {
    // Four at a time: else each has to wait for the one before it.
    let (fours, rest) = packets.as_chunks::<4>();
    let of_fours = fours.iter().fold(0, |bits, [a, b, c, d]| {
        bits | ((a.len() | b.len()) | (c.len() | d.len()))
    });
    rest.iter().fold(of_fours, |bits, packet| bits | packet.len())
}

/// Where packets tell where they are.
pub(super) fn frames(packets: &mut [Packet]) -> Frames {
    const {
        assert!(offset_of!(Frame, start) == 0 && offset_of!(Frame, length) == size_of::<*mut u8>());
    }
    Frames {
        first: packets
            .as_mut_ptr()
            .cast::<u8>()
            .wrapping_add(Packet::PLACE_OFFSET)
            .cast(),
        stride: size_of::<Packet>(),
        count: packets.len(),
    }
}
