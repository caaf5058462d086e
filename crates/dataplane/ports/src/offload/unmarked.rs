//! Open checksums that nothing marks.
//!
//! AF_XDP gives the bytes of a frame and nothing beside them, so that it does not tell of a transport checksum that was
//! left open for a network card, as packet sockets do. But an open checksum shows itself: the field holds the sum of
//! the pseudo-header, where a finished one holds the complement of the sum over everything. Both are the same for one
//! finished frame in 65,536, which is found out by checking it; so every frame that is right stays as it is. A frame
//! with a *wrong* checksum is taken for an open one when that happens to be the sum of its pseudo-header.
//!
//! Not recognised: checksums inside tunnels, and SCTP. To send these from sockets on the same machine, switch the
//! offload off: `ethtool -K NAME tx off` at the other end.

use super::complete_checksum;
use super::headers::{Transport, get_u16};

/// Completes the TCP or UDP checksum of a frame that holds only the sum of the pseudo-header.
#[inline]
pub(crate) fn complete_open_checksum(frame: &mut [u8]) {
    let Some(transport) = Transport::find(frame) else {
        return;
    };
    let end = transport.packet_end(frame);
    let packet = &mut frame[..end];
    if is_open(packet, &transport) {
        complete_checksum(packet, transport.transport_at, transport.checksum_offset());
    }
}

fn is_open(frame: &[u8], transport: &Transport) -> bool {
    let field_at = transport.transport_at + transport.checksum_offset();
    if frame.len() < field_at + 2 || transport.is_fragment(frame) {
        return false;
    }
    let pseudo_header = transport.pseudo_header(frame);
    get_u16(frame, field_at) == pseudo_header.fold()
        && pseudo_header.add_bytes(&frame[transport.transport_at..]).fold() != 0xffff
}

#[cfg(test)]
mod tests {
    use super::super::headers::{TCP, UDP, put_u16};
    use super::*;
    use proptest::prelude::*;

    /// A frame whose checksum field is zero.
    fn frame(ipv6: bool, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64]);
            frame.extend([0x20; 32]);
        } else {
            frame.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
            frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend(vec![0; if protocol == TCP { 20 } else { 8 }]);
        frame.extend(payload);
        frame
    }

    proptest! {
        #[test]
        fn open_checksums_are_completed_and_others_stay(
            ipv6 in any::<bool>(),
            protocol in prop_oneof![Just(TCP), Just(UDP)],
            payload in proptest::collection::vec(any::<u8>(), 0..200),
            wrong in 1..0xffffu16,
        ) {
            let mut open = frame(ipv6, protocol, &payload);
            let transport = Transport::find(&open).expect("it is there");
            let field_at = transport.transport_at + transport.checksum_offset();
            let pseudo_header = transport.pseudo_header(&open);
            let right = pseudo_header.add_bytes(&open[transport.transport_at..]).udp_checksum();
            put_u16(&mut open, field_at, pseudo_header.fold());
            complete_open_checksum(&mut open);
            let found = get_u16(&open, field_at);
            prop_assert!(found == right || found == right.wrapping_add(1), "{found:04x} is not {right:04x}");

            let finished = open.clone();
            complete_open_checksum(&mut open);
            prop_assert_eq!(&open, &finished);

            let wrong = right.wrapping_add(wrong);
            prop_assume!(wrong != pseudo_header.fold());
            put_u16(&mut open, field_at, wrong);
            let before = open.clone();
            complete_open_checksum(&mut open);
            prop_assert_eq!(open, before);
        }

        #[test]
        fn no_frame_panics(
            mut frame in proptest::collection::vec(any::<u8>(), 0..90),
            ethertype in prop_oneof![Just([8, 0]), Just([0x86, 0xdd]), Just([0x81, 0])],
            version in any::<u8>(),
            protocol in prop_oneof![Just(TCP), Just(UDP)],
        ) {
            for (at, value) in [(12, ethertype[0]), (13, ethertype[1]), (14, version), (20, protocol), (23, protocol)] {
                if let Some(byte) = frame.get_mut(at) {
                    *byte = value;
                }
            }
            complete_open_checksum(&mut frame);
        }
    }

    /// The one source port for which the right checksum is the sum of the pseudo-header with a length that has the
    /// padding in it.
    #[test]
    fn padding_is_no_part_of_the_packet() {
        let mut right = frame(false, TCP, b"");
        put_u16(&mut right, 16, 40);
        let transport = Transport::find(&right).expect("it is there");
        let (at, field_at) = (transport.transport_at, transport.transport_at + 16);
        let with_padding = transport.pseudo_header_of(&right, 26).fold();
        assert!((0..=u16::MAX).any(|port| {
            put_u16(&mut right, at, port);
            put_u16(&mut right, field_at, 0);
            let checksum = transport.pseudo_header(&right).add_bytes(&right[at..]).checksum();
            put_u16(&mut right, field_at, checksum);
            checksum == with_padding
        }));
        right.extend([0; 6]);
        let before = right.clone();
        complete_open_checksum(&mut right);
        assert_eq!(right, before);

        let open = transport.pseudo_header_of(&right, 20).fold();
        put_u16(&mut right, field_at, open);
        complete_open_checksum(&mut right);
        assert_eq!(
            right, before,
            "an open checksum is completed with the length of the packet"
        );
    }

    #[test]
    fn fragments_stay() {
        let mut open = frame(false, UDP, b"part of a datagram");
        open[20] = 0x20;
        let transport = Transport::find(&open).expect("it is there");
        let pseudo_header = transport.pseudo_header(&open);
        put_u16(&mut open, transport.transport_at + 6, pseudo_header.fold());
        let before = open.clone();
        complete_open_checksum(&mut open);
        assert_eq!(open, before);
    }
}
