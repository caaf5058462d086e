//! Echo messages of ICMP (RFC 792) and ICMPv6 (RFC 4443): what pings are made of.

use crate::hosts::{Interface, Mac};
use crate::packet::{ICMP, ICMPV6};
use forebay_packet::checksum::Sum;
use forebay_traffic::{FrameSpec, Network, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HOPS: u8 = 64;

/// The shortest frame, without check sequence.
const BYTES_MIN: usize = 60;

/// A message that has come.
#[derive(Debug, PartialEq)]
pub struct Echo {
    /// The MAC addresses of the frame: where it goes, and where it comes from.
    pub macs: (Mac, Mac),
    pub vlan: Option<u16>,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub is_request: bool,
    /// Identifier, sequence number and data.
    pub rest: Vec<u8>,
}

impl Echo {
    /// The message in a frame, if that has one with a right checksum.
    pub fn read(frame: &[u8]) -> Option<Echo> {
        let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        let (vlan, at) = match word(12)? {
            0x8100 => (Some(word(14)? & 0xfff), 18),
            _ => (None, 14),
        };
        let packet = frame.get(at..)?;
        let (source, destination, message, sum) = match word(at - 2)? {
            0x0800 => in_ipv4(packet)?,
            0x86dd => in_ipv6(packet)?,
            _ => return None,
        };
        let is_request = match (*message.first()?, source.is_ipv6()) {
            (8, false) | (128, true) => true,
            (0, false) | (129, true) => false,
            _ => return None,
        };
        if sum.add_bytes(message).fold() != 0xffff {
            return None;
        }
        Some(Echo {
            macs: (frame[..6].try_into().ok()?, frame[6..12].try_into().ok()?),
            vlan,
            source,
            destination,
            is_request,
            rest: message.get(4..)?.to_vec(),
        })
    }
}

/// Source, destination, message and the sum of what its checksum has beside it.
type Found<'a> = (IpAddr, IpAddr, &'a [u8], Sum);

fn in_ipv4(packet: &[u8]) -> Option<Found<'_>> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    if header[0] >> 4 != 4 || header_bytes < header.len() || header[9] != ICMP || is_fragment {
        return None;
    }
    let message = packet.get(header_bytes..usize::from(u16::from_be_bytes([header[2], header[3]])))?;
    let address = |at: usize| IpAddr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    Some((address(12), address(16), message, Sum::new()))
}

fn in_ipv6(packet: &[u8]) -> Option<Found<'_>> {
    let (header, rest) = packet.split_first_chunk::<40>()?;
    if header[0] >> 4 != 6 || header[6] != ICMPV6 {
        return None;
    }
    let message = rest.get(..usize::from(u16::from_be_bytes([header[4], header[5]])))?;
    let source: [u8; 16] = header[8..24].try_into().ok()?;
    let destination: [u8; 16] = header[24..].try_into().ok()?;
    let sum = pseudo_header(source.into(), destination.into(), message.len());
    Some((IpAddr::from(source), IpAddr::from(destination), message, sum))
}

fn pseudo_header(source: Ipv6Addr, destination: Ipv6Addr, bytes: usize) -> Sum {
    Sum::new().add_ipv6_pseudo_header(source, destination, ICMPV6, bytes as u32)
}

/// The frame of a message from the address of an interface: `rest` begins with its identifier and its sequence number.
pub fn frame(
    interface: &Interface,
    to: Mac,
    (own, other): (IpAddr, IpAddr),
    is_request: bool,
    rest: &[u8],
) -> Option<Vec<u8>> {
    let mut message = vec![0u8; 4];
    message.extend(rest);
    let (network, protocol, kinds, sum) = match (own, other) {
        (IpAddr::V4(own), IpAddr::V4(other)) => (ipv4(own, other), ICMP, [0, 8], Sum::new()),
        (IpAddr::V6(own), IpAddr::V6(other)) => {
            let sum = pseudo_header(own, other, message.len());
            (ipv6(own, other), ICMPV6, [129, 128], sum)
        }
        _ => return None,
    };
    message[0] = kinds[usize::from(is_request)];
    let checksum = sum.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    let spec = FrameSpec {
        source_mac: interface.mac,
        destination_mac: to,
        vlan: interface.vlan,
        network,
        transport: Transport::None { protocol },
    };
    let mut frame = spec.build(&message);
    frame.resize(frame.len().max(BYTES_MIN), 0);
    Some(frame)
}

fn ipv4(source: Ipv4Addr, destination: Ipv4Addr) -> Network {
    Network::Ipv4 {
        source,
        destination,
        time_to_live: HOPS,
        identification: 0,
        traffic_class: 0,
    }
}

fn ipv6(source: Ipv6Addr, destination: Ipv6Addr) -> Network {
    Network::Ipv6 {
        source,
        destination,
        hop_limit: HOPS,
        traffic_class: 0,
        flow_label: 0,
    }
}
