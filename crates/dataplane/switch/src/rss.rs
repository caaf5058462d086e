//! Receive-side scaling: which worker processes a packet.
//!
//! All packets of a flow go to one worker, so that they stay in order and meet the same state. What identifies a flow
//! is configurable: [`Spread::FiveTuple`], read from the raw frame by [`five_tuple_hash`], or fields that the
//! program's parser extracts ([`Spread::Fields`]).

use forebay_pipeline::{FlowKey, Pipeline, Worker};
use std::sync::Arc;

/// What identifies a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Addresses, protocol and ports, in either direction: see [`five_tuple_hash`].
    #[default]
    FiveTuple,
    /// Values of header fields of the program, whose parser runs once more for this. A field of a header that the
    /// packet does not have counts as 0. The two directions are different flows.
    Fields(FlowKey),
}

/// Computes hashes of flows, for the ports that a worker keeps.
pub(crate) enum Classifier {
    FiveTuple,
    Fields(FlowKey, Box<Worker>),
}

impl Classifier {
    pub(crate) fn new(spread: &Spread, pipeline: &Arc<Pipeline>) -> Classifier {
        match spread {
            Spread::FiveTuple => Classifier::FiveTuple,
            Spread::Fields(key) => Classifier::Fields(key.clone(), Box::new(Worker::new(Arc::clone(pipeline)))),
        }
    }

    /// The worker, of `workers`, for a frame that arrived at this port.
    #[inline]
    pub(crate) fn worker(&mut self, frame: &[u8], ingress_port: u32, workers: usize) -> usize {
        let hash = match self {
            Classifier::FiveTuple => five_tuple_hash(frame),
            Classifier::Fields(key, parser) => mix(parser.flow_hash(key, frame, ingress_port)),
        };
        // The upper half of the hash as a fraction of the workers.
        ((hash >> 32).wrapping_mul(workers as u64) >> 32) as usize
    }
}

const ETHERNET_BYTES: usize = 14;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPE_VLAN: u16 = 0x8100;
const ETHERTYPE_SERVICE_VLAN: u16 = 0x88A8;
/// Protocols whose header begins with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// A hash of the fields that identify a frame's flow. For IPv4 and IPv6 these are both addresses, the protocol and,
/// for TCP, UDP, SCTP, DCCP and UDP-Lite, both ports. For everything else they are both Ethernet addresses and the
/// type.
///
/// It is symmetric: a frame and its answer have the same hash. Up to two VLAN tags are skipped. The ports of
/// fragments, also of the first one, are not used, so that all fragments of a packet go the same way. IPv6 extension
/// headers are not followed. A truncated frame is hashed as far as it goes.
pub fn five_tuple_hash(frame: &[u8]) -> u64 {
    let (mut kind, mut offset) = (word16(frame, 12), ETHERNET_BYTES);
    for _ in 0..2 {
        if matches!(kind, ETHERTYPE_VLAN | ETHERTYPE_SERVICE_VLAN) {
            (kind, offset) = (word16(frame, offset + 2), offset + 4);
        }
    }
    let hash = match kind {
        ETHERTYPE_IPV4 => ipv4(frame.get(offset..).unwrap_or_default()),
        ETHERTYPE_IPV6 => ipv6(frame.get(offset..).unwrap_or_default()),
        _ => None,
    };
    hash.unwrap_or_else(|| {
        let address = |at| u64::from(word32(frame, at)) << 16 | u64::from(word16(frame, at + 4));
        mix(symmetric(address(0), address(6)) ^ u64::from(kind))
    })
}

/// `None` when the frame ends before the addresses do.
fn ipv4(packet: &[u8]) -> Option<u64> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let protocol = header[9];
    let is_fragment = word16(header, 6) & 0x3FFF != 0;
    let header_bytes = usize::from(header[0] & 0xF) * 4;
    let ports = if is_fragment {
        0
    } else {
        ports(packet, header_bytes, protocol)
    };
    let addresses = symmetric(word32(header, 12).into(), word32(header, 16).into());
    Some(mix(addresses ^ ports ^ u64::from(protocol)))
}

fn ipv6(packet: &[u8]) -> Option<u64> {
    let header: &[u8; 40] = packet.first_chunk()?;
    let next_header = header[6];
    let address = |at: usize| {
        let half = |at| u64::from(word32(header, at)) << 32 | u64::from(word32(header, at + 4));
        mix(half(at)).rotate_left(1) ^ half(at + 8)
    };
    let addresses = symmetric(address(8), address(24));
    Some(mix(addresses ^ ports(packet, 40, next_header) ^ u64::from(next_header)))
}

/// Both ports of a segment at this offset, in either order; 0 when it has none.
fn ports(packet: &[u8], offset: usize, protocol: u8) -> u64 {
    if !WITH_PORTS.contains(&protocol) || packet.len() < offset + 4 {
        return 0;
    }
    let (source, destination) = (word16(packet, offset), word16(packet, offset + 2));
    symmetric(source.into(), destination.into()) << 8
}

/// The same for (a, b) and (b, a), and different for most other pairs.
fn symmetric(a: u64, b: u64) -> u64 {
    mix(a).wrapping_add(mix(b))
}

/// Spreads each bit of a number over all others (the finaliser of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

/// Two bytes in network order; 0 beyond the end.
fn word16(bytes: &[u8], at: usize) -> u16 {
    let two = bytes.get(at..).and_then(<[u8]>::first_chunk);
    two.map_or(0, |two| u16::from_be_bytes(*two))
}

/// Four bytes in network order; 0 beyond the end.
fn word32(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk);
    four.map_or(0, |four| u32::from_be_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4_udp(source: [u8; 4], destination: [u8; 4], ports: [u16; 2], fragment: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0, 0, 32, 0, 0]);
        frame.extend(fragment.to_be_bytes());
        frame.extend([64, 17, 0, 0]);
        frame.extend([source, destination].concat());
        frame.extend(ports.map(u16::to_be_bytes).concat());
        frame.extend([0; 8]);
        frame
    }

    const A: [u8; 4] = [10, 0, 0, 1];
    const B: [u8; 4] = [10, 0, 1, 2];

    #[test]
    fn a_flow_and_its_answers_go_together() {
        let there = five_tuple_hash(&ipv4_udp(A, B, [5000, 53], 0));
        assert_eq!(there, five_tuple_hash(&ipv4_udp(B, A, [53, 5000], 0)));
        assert_ne!(there, five_tuple_hash(&ipv4_udp(A, B, [5001, 53], 0)));
        assert_ne!(there, five_tuple_hash(&ipv4_udp(A, A, [5000, 53], 0)));
    }

    #[test]
    fn tags_do_not_count() {
        let plain = ipv4_udp(A, B, [5000, 53], 0);
        let tagged = [&plain[..12], &[0x81, 0, 0, 7], &plain[12..]].concat();
        let twice = [&plain[..12], &[0x88, 0xA8, 0, 9], &tagged[12..]].concat();
        assert_eq!(five_tuple_hash(&plain), five_tuple_hash(&tagged));
        assert_eq!(five_tuple_hash(&plain), five_tuple_hash(&twice));
    }

    #[test]
    fn fragments_of_a_packet_go_together() {
        let first = five_tuple_hash(&ipv4_udp(A, B, [5000, 53], 0x2000));
        assert_eq!(first, five_tuple_hash(&ipv4_udp(A, B, [0xABCD, 1], 0x0003)));
    }

    #[test]
    fn frames_of_any_length_have_a_hash() {
        let frame = ipv4_udp(A, B, [1, 2], 0);
        for length in 0..frame.len() {
            five_tuple_hash(&frame[..length]);
        }
        let mut ipv6: [u8; 70] = std::array::from_fn(|index| index as u8);
        ipv6[12..14].copy_from_slice(&[0x86, 0xDD]);
        ipv6[20] = 17;
        let whole = five_tuple_hash(&ipv6);
        (0..ipv6.len()).for_each(|length| _ = five_tuple_hash(&ipv6[..length]));
        for at in [23, 40, 55, 57] {
            let mut other = ipv6;
            other[at] ^= 0x10;
            assert_ne!(five_tuple_hash(&other), whole, "byte {at}");
        }
    }

    #[test]
    fn flows_spread_over_workers() {
        let mut classifier = Classifier::FiveTuple;
        let mut counts = [0u32; 4];
        for port in 0..4000 {
            let frame = ipv4_udp(A, B, [port, 53], 0);
            counts[classifier.worker(&frame, 0, 4)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
