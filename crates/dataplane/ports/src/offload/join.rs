//! Joining TCP segments into the super-frame that they may have been cut from: the reverse of [`super::segment`].
//!
//! A veth pair carries a super-frame of 64 KiB at little more than the price of one frame, so segments that leave by
//! one one after another are handed over together. Nothing is lost by it: only segments are joined that cutting gives
//! again bit for bit, with right checksums and consecutive sequence numbers and identifications, and otherwise the same
//! headers.

use forebay_packet::Packet;
use forebay_packet::checksum::internet_checksum;

use super::headers::{Network, TCP, Transport, get_u16, put_u16};
use super::{GSO_TCP_IPV4, GSO_TCP_IPV6, NEEDS_CHECKSUM};
use crate::system::OFFLOAD_HEADER;

/// The most segments that are joined.
pub(crate) const SEGMENTS_MAX: usize = 64;

/// The longest IP packet, in bytes.
const PACKET_MAX: usize = 65_535;

/// Ethernet, two tags, and the longest IPv4 and TCP headers, in bytes.
const HEADERS_MAX: usize = 14 + 8 + 60 + 60;

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;

/// The headers of a super-frame, and how many packets it is made of.
pub(crate) struct Joined {
    headers: [u8; HEADERS_MAX],
    payload_at: usize,
    segments: usize,
    /// What stands before the frame: `struct virtio_net_hdr`.
    pub(crate) offload: [u8; OFFLOAD_HEADER],
}

impl Joined {
    /// Joins as many of the first packets as possible; none when that is not two. Frames may be `longest` bytes long.
    pub(crate) fn first_of(packets: &[Packet], longest: usize) -> Option<Joined> {
        let [first, second, ..] = packets else { return None };
        let head = Segment::of(first.data())?;
        let fits = first.len() <= longest && head.payload_at <= HEADERS_MAX;
        if !fits || !head.continues(1, second.data()) || !head.is_right(first.data()) {
            return None;
        }
        let mut segments = 1;
        let mut length = first.len() - head.transport.network_at;
        for packet in packets.iter().take(SEGMENTS_MAX).skip(1) {
            let frame = packet.data();
            let is_last = packets[segments - 1].len() < first.len() || head.pushes(packets[segments - 1].data());
            let payload = frame.len().saturating_sub(head.payload_at);
            if is_last || length + payload > PACKET_MAX || !head.continues(segments, frame) || !head.is_right(frame) {
                break;
            }
            length += payload;
            segments += 1;
        }
        (segments > 1).then(|| head.join(&packets[..segments], length))
    }

    /// How many packets it is made of.
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    /// Its headers; the payloads of the packets stand after them.
    pub(crate) fn headers(&self) -> &[u8] {
        &self.headers[..self.payload_at]
    }

    /// The part of a packet that it takes.
    pub(crate) fn payload<'a>(&self, packet: &'a Packet) -> &'a [u8] {
        &packet.data()[self.payload_at..]
    }
}

/// A TCP segment with a payload, of the sort that is cut from a super-frame.
struct Segment<'a> {
    frame: &'a [u8],
    transport: Transport,
    payload_at: usize,
}

impl Segment<'_> {
    /// Looks at the headers alone.
    #[inline]
    fn of(frame: &[u8]) -> Option<Segment<'_>> {
        let transport = Transport::find(frame).filter(|transport| transport.protocol == TCP)?;
        let (network_at, at) = (transport.network_at, transport.transport_at);
        let payload_at = at + usize::from(frame.get(at + 12)? >> 4) * 4;
        let length = match transport.network {
            Network::Ipv4 => usize::from(get_u16(frame, network_at + 2)),
            Network::Ipv6 => usize::from(get_u16(frame, network_at + 4)) + 40,
        };
        let has_extensions = transport.network == Network::Ipv6 && at > network_at + 40;
        let is_plain = payload_at >= at + 20
            && !has_extensions
            && frame.len() > payload_at
            && length == frame.len() - network_at
            && frame[at + 13] & !PSH == ACK
            && !transport.is_fragment(frame);
        is_plain.then_some(Segment {
            frame,
            transport,
            payload_at,
        })
    }

    /// Payload bytes of each segment but the last.
    fn segment_bytes(&self) -> usize {
        self.frame.len() - self.payload_at
    }

    fn pushes(&self, frame: &[u8]) -> bool {
        frame[self.transport.transport_at + 13] & PSH != 0
    }

    /// Whether a frame is what the segment with this index after this one would be, but for its payload and checksums.
    #[inline]
    fn continues(&self, index: usize, frame: &[u8]) -> bool {
        let Transport {
            network,
            network_at,
            transport_at,
            ..
        } = self.transport;
        let own = self.frame;
        if frame.len() <= self.payload_at || frame.len() > own.len() {
            return false;
        }
        let same = |from: usize, to: usize| frame[from..to] == own[from..to];
        let length = (frame.len() - network_at) as u16;
        let network_continues = match network {
            Network::Ipv4 => {
                same(network_at, network_at + 2)
                    && get_u16(frame, network_at + 2) == length
                    && get_u16(frame, network_at + 4) == get_u16(own, network_at + 4).wrapping_add(index as u16)
                    && same(network_at + 6, network_at + 10)
                    && same(network_at + 12, transport_at)
            }
            Network::Ipv6 => {
                same(network_at, network_at + 4)
                    && get_u16(frame, network_at + 4) == length.wrapping_sub(40)
                    && same(network_at + 6, transport_at)
            }
        };
        let sequence = |frame: &[u8]| {
            let high = u32::from(get_u16(frame, transport_at + 4)) << 16;
            high | u32::from(get_u16(frame, transport_at + 6))
        };
        let advance = (index * self.segment_bytes()) as u32;
        network_continues
            && same(0, network_at)
            && same(transport_at, transport_at + 4)
            && sequence(frame) == sequence(own).wrapping_add(advance)
            && same(transport_at + 8, transport_at + 13)
            && frame[transport_at + 13] & !PSH == ACK
            && same(transport_at + 14, transport_at + 16)
            && same(transport_at + 18, self.payload_at)
    }

    /// Whether the checksums of a frame with the same headers are right.
    fn is_right(&self, frame: &[u8]) -> bool {
        let Transport {
            network,
            network_at,
            transport_at,
            ..
        } = self.transport;
        let header_is_right = match network {
            Network::Ipv4 => internet_checksum(&frame[network_at..transport_at]) == 0,
            Network::Ipv6 => true,
        };
        let sum = self.transport.pseudo_header(frame).add_bytes(&frame[transport_at..]);
        header_is_right && sum.fold() == 0xffff
    }

    /// The headers of all packets together, which make an IP packet of `length` bytes.
    fn join(&self, packets: &[Packet], length: usize) -> Joined {
        let Transport {
            network,
            network_at,
            transport_at,
            ..
        } = self.transport;
        let mut headers = [0; HEADERS_MAX];
        let own = &mut headers[..self.payload_at];
        own.copy_from_slice(&self.frame[..self.payload_at]);
        let kind = match network {
            Network::Ipv4 => {
                put_u16(own, network_at + 2, length as u16);
                put_u16(own, network_at + 10, 0);
                let checksum = internet_checksum(&own[network_at..transport_at]);
                put_u16(own, network_at + 10, checksum);
                GSO_TCP_IPV4
            }
            Network::Ipv6 => {
                put_u16(own, network_at + 4, (length - 40) as u16);
                GSO_TCP_IPV6
            }
        };
        let last = packets.last().map_or(self.frame, Packet::data);
        own[transport_at + 13] = last[transport_at + 13];
        // The sum of the pseudo-header: what is left open.
        let sum = self.transport.pseudo_header_of(own, network_at + length - transport_at);
        put_u16(own, transport_at + 16, sum.fold());
        let mut offload = [0; OFFLOAD_HEADER];
        (offload[0], offload[1]) = (NEEDS_CHECKSUM, kind);
        for (at, value) in [
            (2, self.payload_at),
            (4, self.segment_bytes()),
            (6, transport_at),
            (8, 16),
        ] {
            offload[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
        }
        Joined {
            headers,
            payload_at: self.payload_at,
            segments: packets.len(),
            offload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::tests::super_frame;
    use super::super::{Offload, segments::Segments};
    use super::*;
    use forebay_packet::{Burst, PortCounters};
    use proptest::prelude::*;

    /// The frames that a super-frame is cut into.
    fn cut(frame: &[u8], segment_bytes: usize) -> Vec<Packet> {
        let mut segments = Segments::new();
        let segmentation = super::super::Segmentation {
            kind: super::super::SegmentationKind::Tcp,
            segment_bytes,
        };
        segments.cut(frame, segmentation, None).expect("it can be cut");
        let mut burst = Burst::new(256);
        segments.deliver(&mut burst, 256, 0, &mut PortCounters::default());
        burst.iter().map(|packet| Packet::from_bytes(packet.data())).collect()
    }

    /// What is handed over for the first packets.
    fn whole(joined: &Joined, packets: &[Packet]) -> Vec<u8> {
        let payloads = packets[..joined.segments()].iter();
        let payloads = payloads.flat_map(|packet| joined.payload(packet).to_vec());
        joined.headers().iter().copied().chain(payloads).collect()
    }

    /// Makes the flags of a super-frame those of ordinary data.
    fn plain(mut frame: Vec<u8>, pushes: bool) -> Vec<u8> {
        let transport = Transport::find(&frame).expect("it is there");
        frame[transport.transport_at + 13] = ACK | if pushes { PSH } else { 0 };
        frame
    }

    proptest! {
        #[test]
        fn what_is_joined_is_cut_into_the_same(
            ipv6 in any::<bool>(),
            tags in 0..3usize,
            pushes in any::<bool>(),
            payload in proptest::collection::vec(any::<u8>(), 1..4000),
            segment_bytes in 100..1460usize,
        ) {
            let packets = cut(&plain(super_frame(ipv6, tags, TCP, &payload), pushes), segment_bytes);
            let joined = Joined::first_of(&packets, 1600);
            prop_assert_eq!(joined.is_some(), packets.len() > 1);
            if let Some(joined) = joined {
                prop_assert_eq!(joined.segments(), packets.len());
                let offload = Offload::parse(&joined.offload);
                let bytes = offload.segmentation.expect("it is a super-frame").segment_bytes;
                prop_assert_eq!(bytes, segment_bytes);
                let again = cut(&whole(&joined, &packets), bytes);
                prop_assert_eq!(again.len(), packets.len());
                for (one, other) in again.iter().zip(&packets) {
                    prop_assert_eq!(one.data(), other.data());
                }
            }
        }

        /// A frame that cutting would not give again goes by itself.
        #[test]
        fn a_changed_byte_ends_a_run(
            ipv6 in any::<bool>(),
            at in 0..154usize,
            bits in 1..=255u8,
        ) {
            let mut packets = cut(&plain(super_frame(ipv6, 0, TCP, &[7; 500]), false), 100);
            let at = at.min(packets[2].len() - 1);
            packets[2].data_mut()[at] ^= bits;
            let joined = Joined::first_of(&packets, 1514).expect("two are as they were");
            prop_assert_eq!(joined.segments(), 2);
        }
    }

    #[test]
    fn others_are_left_alone() {
        let packets = cut(&plain(super_frame(false, 0, TCP, &[7; 500]), false), 100);
        assert!(Joined::first_of(&packets[..1], 1514).is_none(), "it is alone");
        assert!(Joined::first_of(&packets, 100).is_none(), "they are too long");
        let turned: Vec<Packet> = [&packets[1], &packets[0]]
            .map(|packet| Packet::from_bytes(packet.data()))
            .into();
        assert!(Joined::first_of(&turned, 1514).is_none(), "they are not in order");
        let short = [Packet::from_bytes(&[0; 20]), Packet::from_bytes(&[0; 20])];
        assert!(Joined::first_of(&short, 1514).is_none());
    }
}
