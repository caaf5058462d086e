//! Cutting a TCP or UDP super-frame into the frames a network card would have sent.
//!
//! Each segment gets a copy of the headers with what differs corrected: lengths, the IPv4
//! identification and checksum, the TCP sequence number and flags (FIN and PSH only on the last,
//! CWR only on the first), and the transport checksum, computed in full.

use forebay_packet::checksum::internet_checksum;
use forebay_packet::{FRAME_BYTES_MAX, Packet};

use super::headers::{Network, TCP, Transport, UDP, get_u16, put_u16};
use super::{Segmentation, SegmentationKind};

/// The most segments that one super-frame is cut into.
const MAX_SEGMENTS: usize = 1024;

const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// How a super-frame is cut: where its headers are, and how much payload goes in each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    transport: Transport,
    payload_at: usize,
    payload_end: usize,
    segment_bytes: usize,
}

impl Plan {
    /// Reads the headers of a super-frame; `None` when [`Transport::find`] does not find its protocol, or its headers
    /// are not whole.
    pub(crate) fn new(frame: &[u8], segmentation: Segmentation) -> Option<Plan> {
        let protocol = match segmentation.kind {
            SegmentationKind::Tcp => TCP,
            SegmentationKind::Udp => UDP,
            SegmentationKind::Other => return None,
        };
        let transport = Transport::find(frame).filter(|transport| transport.protocol == protocol)?;
        let transport_at = transport.transport_at;
        let transport_length = match protocol {
            TCP => usize::from(frame.get(transport_at + 12)? >> 4) * 4,
            _ => 8,
        };
        let payload_at = transport_at + transport_length;
        let minimum = if protocol == TCP { 20 } else { 8 };
        let payload = frame.len().checked_sub(payload_at)?;
        let cuttable = transport_length >= minimum
            && segmentation.segment_bytes > 0
            && payload_at + payload.min(segmentation.segment_bytes) <= FRAME_BYTES_MAX
            && payload.div_ceil(segmentation.segment_bytes) <= MAX_SEGMENTS;
        cuttable.then_some(Plan {
            transport,
            payload_at,
            payload_end: frame.len(),
            segment_bytes: segmentation.segment_bytes,
        })
    }

    /// How many segments there are: at least one.
    pub(crate) fn count(&self) -> usize {
        (self.payload_end - self.payload_at).div_ceil(self.segment_bytes).max(1)
    }

    /// Writes the `index`-th segment of `frame` (the one the plan was made for) into `segment`.
    pub(crate) fn write(&self, frame: &[u8], index: usize, segment: &mut Packet) {
        let from = self.payload_at + index * self.segment_bytes;
        let to = (from + self.segment_bytes).min(self.payload_end);
        segment.set_data(&frame[..self.payload_at]);
        segment.append(&frame[from..to]);
        segment.original_length = segment.len() as u32;
        let bytes = segment.data_mut();
        let Transport {
            network_at,
            transport_at,
            protocol,
            ..
        } = self.transport;
        self.correct_network(&mut bytes[network_at..], index);
        match protocol {
            TCP => self.correct_tcp(&mut bytes[transport_at..], index),
            _ => correct_udp(&mut bytes[transport_at..]),
        }
        self.write_checksum(bytes);
    }

    fn correct_network(&self, packet: &mut [u8], index: usize) {
        let length = packet.len();
        match self.transport.network {
            Network::Ipv4 => {
                let header_length = self.transport.transport_at - self.transport.network_at;
                put_u16(packet, 2, length as u16);
                let identification = get_u16(packet, 4).wrapping_add(index as u16);
                put_u16(packet, 4, identification);
                put_u16(packet, 10, 0);
                let checksum = internet_checksum(&packet[..header_length]);
                put_u16(packet, 10, checksum);
            }
            Network::Ipv6 => put_u16(packet, 4, (length - 40) as u16),
        }
    }

    fn correct_tcp(&self, segment: &mut [u8], index: usize) {
        let advance = (index * self.segment_bytes) as u32;
        let sequence = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
        segment[4..8].copy_from_slice(&sequence.wrapping_add(advance).to_be_bytes());
        if index > 0 {
            segment[13] &= !CWR;
        }
        if index + 1 < self.count() {
            segment[13] &= !FIN_AND_PSH;
        }
    }

    fn write_checksum(&self, bytes: &mut [u8]) {
        let (at, field) = (self.transport.transport_at, self.transport.checksum_offset());
        put_u16(&mut bytes[at..], field, 0);
        let sum = self.transport.pseudo_header(bytes).add_bytes(&bytes[at..]);
        let checksum = if self.transport.protocol == UDP {
            sum.udp_checksum()
        } else {
            sum.checksum()
        };
        put_u16(&mut bytes[at..], field, checksum);
    }
}

fn correct_udp(datagram: &mut [u8]) {
    let length = datagram.len() as u16;
    put_u16(datagram, 4, length);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A super-frame: Ethernet, tags, IP, TCP or UDP, payload. Checksums are left open.
    pub(in crate::offload) fn super_frame(ipv6: bool, tags: usize, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for _ in 0..tags {
            frame.extend([0x81, 0x00, 0x00, 0x05]);
        }
        if ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64]);
            frame.extend([0x20; 32]);
        } else {
            frame.extend([0x08, 0x00, 0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0]);
            frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([0x30, 0x39, 0, 80]);
        match protocol {
            TCP => frame.extend([
                0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 1, 0x60, 0x99, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1,
            ]),
            _ => frame.extend([0, 0, 0, 0]),
        }
        frame.extend(payload);
        frame
    }

    fn cut(frame: &[u8], kind: SegmentationKind, segment_bytes: usize) -> Option<Vec<Vec<u8>>> {
        let plan = Plan::new(frame, Segmentation { kind, segment_bytes })?;
        let mut packet = Packet::new();
        Some(
            (0..plan.count())
                .map(|index| {
                    plan.write(frame, index, &mut packet);
                    packet.data().to_vec()
                })
                .collect(),
        )
    }

    /// Checks lengths and checksums of a segment; returns its transport header and payload.
    fn verify(segment: &[u8]) -> Vec<u8> {
        let found = Transport::find(segment).expect("TCP or UDP over IP");
        let (at, transport_at) = (found.network_at, found.transport_at);
        match found.network {
            Network::Ipv4 => {
                assert_eq!(usize::from(get_u16(segment, at + 2)), segment.len() - at);
                assert_eq!(internet_checksum(&segment[at..at + 20]), 0);
            }
            Network::Ipv6 => assert_eq!(usize::from(get_u16(segment, at + 4)), segment.len() - at - 40),
        }
        let transport = &segment[transport_at..];
        let sum = found.pseudo_header(segment).add_bytes(transport);
        assert_eq!(sum.fold(), 0xffff, "the transport checksum is right");
        transport.to_vec()
    }

    #[test]
    fn tcp_flags_sequence_numbers_and_identifications() {
        let payload: Vec<u8> = (0..25).collect();
        let frame = super_frame(false, 0, TCP, &payload);
        let segments = cut(&frame, SegmentationKind::Tcp, 10).expect("it can be cut");
        let headers: Vec<_> = segments
            .iter()
            .map(|segment| {
                let tcp = verify(segment);
                (get_u16(segment, 18), tcp[4..8].to_vec(), tcp[13], tcp[24..].to_vec())
            })
            .collect();
        assert_eq!(
            headers,
            [
                (0xffff, vec![0xff, 0xff, 0xff, 0xf0], 0x90, payload[..10].to_vec()),
                (0x0000, vec![0xff, 0xff, 0xff, 0xfa], 0x10, payload[10..20].to_vec()),
                (0x0001, vec![0x00, 0x00, 0x00, 0x04], 0x19, payload[20..].to_vec()),
            ]
        );
    }

    /// A super-frame with an extension header of IPv6 of this kind, whose bytes after the next header are these.
    fn extended(kind: u8, rest: [u8; 7], payload: &[u8]) -> Vec<u8> {
        let mut frame = super_frame(true, 0, TCP, payload);
        frame[20] = kind;
        frame.splice(54..54, [TCP].into_iter().chain(rest));
        frame
    }

    #[test]
    fn extension_headers_are_copied() {
        let payload: Vec<u8> = (0..25).collect();
        for (kind, rest) in [
            (0, [0, 1, 4, 0, 0, 0, 0]),
            (43, [0, 4, 0, 0, 0, 0, 0]),
            (60, [0, 1, 4, 0, 0, 0, 0]),
        ] {
            let frame = extended(kind, rest, &payload);
            let segments = cut(&frame, SegmentationKind::Tcp, 10).expect("it can be cut");
            assert_eq!(segments.len(), 3);
            let joined: Vec<u8> = segments
                .iter()
                .flat_map(|segment| verify(segment)[24..].to_vec())
                .collect();
            assert_eq!(joined, payload);
            assert!(segments.iter().all(|segment| segment[54..62] == frame[54..62]));
        }
        let on_its_way = extended(43, [0, 4, 1, 0, 0, 0, 0], &payload);
        assert_eq!(cut(&on_its_way, SegmentationKind::Tcp, 10), None);
        let jumbogram = extended(0, [0, 0xc2, 4, 0, 1, 0, 0], &payload);
        assert_eq!(cut(&jumbogram, SegmentationKind::Tcp, 10), None);
        let too_long = extended(60, [255, 1, 4, 0, 0, 0, 0], &payload);
        assert_eq!(cut(&too_long, SegmentationKind::Tcp, 10), None);
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let frame = super_frame(false, 0, TCP, &[0; 100]);
        assert_eq!(cut(&frame, SegmentationKind::Other, 10), None);
        assert_eq!(cut(&frame, SegmentationKind::Udp, 10), None, "it is TCP");
        assert_eq!(cut(&frame, SegmentationKind::Tcp, 0), None);
        assert_eq!(cut(&frame[..50], SegmentationKind::Tcp, 10), None);
        assert_eq!(cut(&[0; 60], SegmentationKind::Tcp, 10), None);
        let long = super_frame(false, 0, UDP, &[0; 5000]);
        assert_eq!(cut(&long, SegmentationKind::Udp, 1), None, "too many segments");
    }

    proptest! {
        #[test]
        fn segments_are_correct_and_lose_nothing(
            ipv6 in any::<bool>(),
            tags in 0..3usize,
            tcp in any::<bool>(),
            payload in proptest::collection::vec(any::<u8>(), 0..4000),
            segment_bytes in 8..1500usize,
        ) {
            let (protocol, kind, header) = if tcp {
                (TCP, SegmentationKind::Tcp, 24)
            } else {
                (UDP, SegmentationKind::Udp, 8)
            };
            let frame = super_frame(ipv6, tags, protocol, &payload);
            let segments = cut(&frame, kind, segment_bytes).expect("it can be cut");
            let joined: Vec<u8> =
                segments.iter().flat_map(|segment| verify(segment)[header..].to_vec()).collect();
            prop_assert_eq!(joined, payload);
        }

        #[test]
        fn no_frame_panics(
            mut frame in proptest::collection::vec(any::<u8>(), 0..120),
            ethertype in prop_oneof![Just([8, 0]), Just([0x86, 0xdd]), Just([0x81, 0])],
            kind in prop_oneof![Just(SegmentationKind::Tcp), Just(SegmentationKind::Udp)],
            segment_bytes in 0..100usize,
        ) {
            if let Some(field) = frame.get_mut(12..14) {
                field.copy_from_slice(&ethertype);
            }
            cut(&frame, kind, segment_bytes);
        }
    }
}
