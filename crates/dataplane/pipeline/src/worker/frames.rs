//! The frame descriptors of packets, which compiled code reads and writes, and the lengths of frames.

use forebay_jit::{Frame, Frames};
use forebay_packet::Packet;
use std::mem::offset_of;

/// Whether all packets have at most `length_max` bytes.
#[inline]
pub(super) fn all_fit(packets: &[Packet], length_max: usize) -> bool {
    length_bits(packets) <= length_max || packets.iter().all(|packet| packet.len() <= length_max)
}

/// The bitwise OR of all lengths. It is at least as large as each of them, less than twice the largest, and cheap to
/// compute.
#[inline]
pub(super) fn length_bits(packets: &[Packet]) -> usize {
    // Four at a time, so that the operations do not all depend on each other.
    let (fours, rest) = packets.as_chunks::<4>();
    let of_fours = fours.iter().fold(0, |bits, [a, b, c, d]| {
        bits | ((a.len() | b.len()) | (c.len() | d.len()))
    });
    rest.iter().fold(of_fours, |bits, packet| bits | packet.len())
}

/// The frame descriptors of packets.
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
