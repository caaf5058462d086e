//! What aggregation and disaggregation share: the formats of messages and N-packets, and their routes.
//!
//! ```text
//!   message    Ethernet 14 | IPv4 20 | UDP 8 | 0xfa, padding 5 | payload P
//!   N-packet   Ethernet 14 | IPv4 20 | UDP 8 | 0xfc, padding 5 | payload P x N
//! ```

use crate::forwarder::DropReason;
use crate::headers::{ETHERNET, IPV4, Ipv4, Ipv4Frame};
use crate::lpm::Prefix;
use crate::routing::{Adjacency, Routes};
use std::collections::HashMap;

/// UDP destination port of IoT traffic.
pub const UDP_PORT: u16 = 9000;

/// Bytes in front of a payload.
pub(crate) const HEADERS: usize = ETHERNET + IPV4 + UDP + FLAG;

const UDP: usize = 8;
const FLAG: usize = 6;

/// Where UDP begins.
const UDP_AT: usize = ETHERNET + IPV4;

/// Where the flag header begins.
const FLAG_AT: usize = UDP_AT + UDP;

/// All headers of a message or an N-packet.
pub(crate) type IotHeaders = [u8; HEADERS];

/// The kinds of IoT packets, as the flag header tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Message = 0xfa,
    NPacket = 0xfc,
}

/// A route: prefix, number of the next hop, port.
pub type Route = (Prefix, u16, u16);

/// A next hop: number, source and destination MAC address.
pub type NextHop = (u16, u64, u64);

/// The routing table of routes and next hops. A route to a next hop that does not exist drops in egress.
pub(crate) fn routes(routes: &[Route], next_hops: &[NextHop]) -> Routes {
    let by_number: HashMap<u16, &NextHop> = next_hops.iter().rev().map(|hop| (hop.0, hop)).collect();
    let routes: Vec<_> = routes
        .iter()
        .map(|(prefix, next_hop, port)| (*prefix, (*next_hop, *port)))
        .collect();
    Routes::new(&routes, |(next_hop, port)| match by_number.get(&next_hop) {
        None => Adjacency::drop(DropReason::Egress),
        Some((_, source, destination)) => Adjacency::new(*source, *destination, port),
    })
}

/// Where a parser of these formats may stop.
pub(crate) enum Parsed<'a> {
    /// A UDP datagram to the IoT port, not a fragment, and the bytes after its header.
    IotUdp(&'a mut [u8]),
    /// Other IPv4.
    Ipv4(&'a mut Ipv4Frame),
}

/// The part of the parser that both functions have.
///
/// # Errors
/// The reason for which the packet is dropped: it ends too early, or is not IPv4.
#[inline(always)]
pub(crate) fn parse(data: &mut [u8]) -> Result<Parsed<'_>, DropReason> {
    let length = data.len();
    if length < UDP_AT {
        let is_ipv4 = length >= ETHERNET && data[12..ETHERNET] == [0x08, 0x00];
        let cut = length < ETHERNET || is_ipv4;
        return Err(if cut { DropReason::TooShort } else { DropReason::Ingress });
    }
    let frame: &Ipv4Frame = data.first_chunk().expect("the length was compared");
    if !frame.is_ipv4() {
        return Err(DropReason::Ingress);
    }
    let is_fragment = u16::from_be_bytes([frame[20], frame[21]]) & 0x3fff != 0;
    let is_udp = frame.version_and_length() == 0x45 && !is_fragment && frame[23] == 17;
    if is_udp && length < FLAG_AT {
        return Err(DropReason::TooShort);
    }
    if is_udp && word(data, UDP_AT + 2) == UDP_PORT {
        return Ok(Parsed::IotUdp(data));
    }
    Ok(Parsed::Ipv4(data.first_chunk_mut().expect("the length was compared")))
}

/// The length of an IPv4 packet, as its header has it.
#[inline(always)]
pub(crate) fn total_length(data: &[u8]) -> u16 {
    word(data, ETHERNET + 2)
}

/// The length of a UDP datagram, as its header has it.
#[inline(always)]
pub(crate) fn udp_length(data: &[u8]) -> u16 {
    word(data, UDP_AT + 4)
}

/// The type in the flag header.
#[inline(always)]
pub(crate) fn kind(data: &[u8]) -> u8 {
    data[FLAG_AT]
}

#[inline(always)]
fn word(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

/// UDP length of a packet with `payload_bytes` after the flag header.
pub(crate) const fn udp_length_with(payload_bytes: usize) -> u16 {
    (UDP + FLAG + payload_bytes) as u16
}

/// IPv4 length of a packet with `payload_bytes` after the flag header.
pub(crate) const fn total_length_with(payload_bytes: usize) -> u16 {
    udp_length_with(payload_bytes) + IPV4 as u16
}

/// Whether a datagram's checksum is absent or right. `payload_sum` is the sum over what follows the flag header.
#[inline(always)]
pub(crate) fn is_intact(headers: &IotHeaders, payload_sum: u64) -> bool {
    let checksum = [headers[40], headers[41]];
    checksum == [0; 2] || crate::headers::fold(sum_of_headers(headers) + payload_sum) == 0xffff
}

/// Makes the headers those of a packet with another payload, with right lengths and checksums; a datagram without
/// a checksum remains without.
#[inline(always)]
pub(crate) fn become_kind(headers: &mut IotHeaders, kind: Kind, payload_bytes: usize) {
    headers[FLAG_AT] = kind as u8;
    headers[UDP_AT + 4..UDP_AT + 6].copy_from_slice(&udp_length_with(payload_bytes).to_be_bytes());
    headers[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&total_length_with(payload_bytes).to_be_bytes());
}

/// Computes the header checksum of IPv4 anew.
#[inline(always)]
pub(crate) fn write_ipv4_checksum(headers: &mut IotHeaders) {
    headers[24..26].fill(0);
    let frame: &Ipv4Frame = headers.first_chunk().expect("the first headers");
    let checksum = !crate::headers::fold(crate::headers::sum_of_ipv4(frame));
    headers[24..26].copy_from_slice(&checksum.to_ne_bytes());
}

/// The checksum of UDP for headers whose own is zero, as it stands in the header.
#[inline(always)]
pub(crate) fn udp_checksum(headers_sum: u64, payload_sum: u64) -> [u8; 2] {
    match !crate::headers::fold(headers_sum + payload_sum) {
        0 => [0xff; 2],
        checksum => checksum.to_ne_bytes(),
    }
}

/// The sum, in words as the machine reads them, over pseudo-header, UDP header and flag header.
#[inline(always)]
pub(crate) fn sum_of_headers(headers: &IotHeaders) -> u64 {
    let double = |at: usize| {
        u64::from(u32::from_ne_bytes(
            *headers[at..].first_chunk().expect("at is at most 42"),
        ))
    };
    let single = |at: usize| u64::from(u16::from_ne_bytes([headers[at], headers[at + 1]]));
    let protocol = u64::from(u16::from_ne_bytes([0, headers[23]]));
    // Addresses, protocol and length of the pseudo-header; ports, length and checksum; flag header.
    double(26) + double(30) + protocol + single(38) + double(34) + double(38) + double(42) + single(46)
}

/// The sum over a payload that begins at an even place, in words as the machine reads them.
#[inline(always)]
pub(crate) fn sum_of_payload(payload: &[u8]) -> u64 {
    let (doubles, rest) = payload.as_chunks::<4>();
    let mut sum: u64 = doubles.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let (words, odd) = rest.as_chunks::<2>();
    sum += words
        .iter()
        .map(|word| u64::from(u16::from_ne_bytes(*word)))
        .sum::<u64>();
    if let [last] = odd {
        sum += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    sum
}

/// A payload's sum when it stands after `bytes` others: after an odd number of bytes the halves of its words trade
/// places.
#[inline(always)]
pub(crate) fn sum_after(bytes: usize, sum: u64) -> u64 {
    match bytes % 2 {
        0 => sum,
        _ => crate::headers::fold(sum).swap_bytes().into(),
    }
}
