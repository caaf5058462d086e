//! Undoing what the kernel left for a network card to do.
//!
//! A frame from a socket on the same machine (a veth pair, a container) comes to a packet socket
//! *unfinished*, because the kernel counts on offloads: its transport checksum is only the sum of
//! the pseudo-header, its VLAN tag stands beside the data, and a TCP or UDP "frame" may be a
//! super-frame of up to 64 KiB, to be cut by the card. A P4 program must see what a wire would
//! carry. With PACKET_VNET_HDR the kernel tells what is open, in a `struct virtio_net_hdr`
//! (Virtual I/O Device 1.2 §5.1.6); with PACKET_AUXDATA it tells the tag.

pub(crate) mod headers;
pub(crate) mod join;
mod segment;
pub(crate) mod segments;
pub(crate) mod unmarked;

use forebay_packet::Packet;
use forebay_packet::checksum::{Sum, crc32c};

use crate::system::OFFLOAD_HEADER;

const NEEDS_CHECKSUM: u8 = 1;

/// The kinds of super-frames that hold TCP.
const GSO_TCP_IPV4: u8 = 1;
const GSO_TCP_IPV6: u8 = 4;

/// Where the checksum stands in the header of SCTP. No protocol has an Internet checksum there.
const SCTP_CHECKSUM_AT: usize = 8;

/// What is left to do on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offload {
    /// The transport checksum: where its coverage starts, and where it stands after that.
    pub(crate) checksum: Option<(usize, usize)>,
    /// The frame is a super-frame of this sort, to be cut.
    pub(crate) segmentation: Option<Segmentation>,
}

/// How a super-frame is to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segmentation {
    pub(crate) kind: SegmentationKind,
    /// Payload bytes of each segment but the last.
    pub(crate) segment_bytes: usize,
}

/// What a super-frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentationKind {
    Tcp,
    Udp,
    /// Something that is not cut here (fragmentation of UDP datagrams, tunnels).
    Other,
}

impl Offload {
    /// Reads the header before a frame; its integers are in the machine's byte order.
    pub(crate) fn parse(header: &[u8; OFFLOAD_HEADER]) -> Offload {
        let half = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        // The top bit says that explicit congestion notification is in use; cutting copies it.
        let kind = match header[1] & 0x7f {
            0 => None,
            GSO_TCP_IPV4 | GSO_TCP_IPV6 => Some(SegmentationKind::Tcp),
            5 => Some(SegmentationKind::Udp),
            _ => Some(SegmentationKind::Other),
        };
        Offload {
            checksum: (header[0] & NEEDS_CHECKSUM != 0).then(|| (half(6), half(8))),
            segmentation: kind.map(|kind| Segmentation {
                kind,
                segment_bytes: half(4),
            }),
        }
    }
}

/// Completes a transport checksum: the field holds the sum of the pseudo-header; the coverage is
/// from `start` to the end of the frame. SCTP has no pseudo-header. False when the field is not within the frame.
pub(crate) fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(covered) = frame.get_mut(start..) else {
        return false;
    };
    if offset == SCTP_CHECKSUM_AT {
        return complete_sctp(covered);
    }
    let sum = Sum::new().add_bytes(covered);
    // UDP keeps its checksum at offset 6 and must not send zero; for TCP (16) both zeroes are one.
    let checksum = if offset == 6 {
        sum.udp_checksum()
    } else {
        sum.checksum()
    };
    match covered.get_mut(offset..offset + 2) {
        Some(field) => {
            field.copy_from_slice(&checksum.to_be_bytes());
            true
        }
        None => false,
    }
}

/// Writes the checksum of an SCTP packet: CRC32c, with zeroes where it stands (RFC 9260 §6.8).
fn complete_sctp(packet: &mut [u8]) -> bool {
    let field = SCTP_CHECKSUM_AT..SCTP_CHECKSUM_AT + 4;
    let Some(zeroes) = packet.get_mut(field.clone()) else {
        return false;
    };
    zeroes.fill(0);
    let checksum = crc32c(packet);
    packet[field].copy_from_slice(&checksum.to_le_bytes());
    true
}

/// Puts a VLAN tag after the addresses. The frame has at least an Ethernet header.
pub(crate) fn insert_vlan_tag(packet: &mut Packet, protocol: u16, control: u16) {
    packet.prepend(4);
    let frame = packet.data_mut();
    frame.copy_within(4..16, 0);
    frame[12..14].copy_from_slice(&protocol.to_be_bytes());
    frame[14..16].copy_from_slice(&control.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_are_read() {
        assert_eq!(
            Offload::parse(&[0; 10]),
            Offload {
                checksum: None,
                segmentation: None
            }
        );
        let mut header = [0; 10];
        header[0] = NEEDS_CHECKSUM;
        header[1] = 0x80 | 1;
        header[4..6].copy_from_slice(&1448u16.to_ne_bytes());
        header[6..8].copy_from_slice(&34u16.to_ne_bytes());
        header[8..10].copy_from_slice(&16u16.to_ne_bytes());
        let segmentation = Segmentation {
            kind: SegmentationKind::Tcp,
            segment_bytes: 1448,
        };
        assert_eq!(
            Offload::parse(&header),
            Offload {
                checksum: Some((34, 16)),
                segmentation: Some(segmentation)
            }
        );
    }

    #[test]
    fn a_tag_goes_behind_the_addresses() {
        let mut packet = Packet::from_bytes(b"DDDDDDSSSSSS\x08\x00payload");
        insert_vlan_tag(&mut packet, 0x88a8, 0x6064);
        assert_eq!(packet.data(), b"DDDDDDSSSSSS\x88\xa8\x60\x64\x08\x00payload");
    }

    #[test]
    fn the_checksum_of_sctp_is_another_one() {
        let mut frame = vec![2u8; 34];
        frame.extend([0x13, 0x88, 0x96, 0x0c, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 1, 0, 0, 20]);
        frame.extend([0; 16]);
        assert!(complete_checksum(&mut frame, 34, 8));
        assert_eq!(frame[42..46], [0x81, 0x67, 0xae, 0xea]);
        assert!(!complete_checksum(&mut frame[..45], 34, 8), "the field is cut");
    }

    proptest! {
        #[test]
        fn a_completed_checksum_is_right(
            mut frame in proptest::collection::vec(any::<u8>(), 0..200),
            start in 0..220usize,
            offset in (0..30usize).prop_map(|half| half * 2),
        ) {
            prop_assume!(offset != SCTP_CHECKSUM_AT);
            let length = frame.len();
            let field = frame.get(start..).and_then(|covered| covered.get(offset..offset + 2));
            let pseudo_header = field.map(|field| u16::from_be_bytes([field[0], field[1]]));
            let done = complete_checksum(&mut frame, start, offset);
            prop_assert_eq!(done, start + offset + 2 <= length);
            if let Some(pseudo_header) = pseudo_header {
                let sum = Sum::new().add_bytes(&frame[start..]).add_word(pseudo_header);
                prop_assert!(matches!(sum.fold(), 0xffff), "what a receiver computes");
            }
        }
    }
}
