//! The packet that a report is about: its flow, and the INT stack that a sink has left in it.
//!
//! A report has the beginning of a packet only, so headers that are cut off are no error: then there is no flow, or
//! there are fewer hops.

use super::bytes::Bytes;
use super::metadata::Bitmap;
use super::{Hop, Malformed, Mode};
use smallvec::SmallVec;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Types of the packet in a report.
const INNER_NONE: u8 = 0;
const INNER_ETHERNET: u8 = 3;
const INNER_IPV4: u8 = 4;
const INNER_IPV6: u8 = 5;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: [u16; 2] = [0x8100, 0x88a8];

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The INT shim header: its types, and the meanings of its last half word.
const SHIM_MD: u8 = 1;
const SHIM_MX: u8 = 3;
const NEXT_UDP_PORT: u8 = 1;
const NEXT_PROTOCOL: u8 = 2;

/// The version of INT.
const INT_VERSION: u8 = 2;

/// Flags in the first byte of the header of INT-MD: the hop count or the MTU was exceeded, so that a hop has added
/// nothing.
const EXCEEDED: u8 = 0b0110;

/// Words of the INT header, which the length in the shim header has in it.
const INT_HEADER_WORDS: usize = 3;

/// Packets with the same addresses, protocol and ports. Ports of other protocols than TCP and UDP, and of fragments but
/// the first, are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol of IP.
    pub protocol: u8,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

impl fmt::Display for Flow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            1 => "ICMP",
            TCP => "TCP",
            UDP => "UDP",
            58 => "ICMPv6",
            other => return write!(formatter, "IP {other} {} > {}", self.source, self.destination),
        };
        if ![TCP, UDP].contains(&self.protocol) {
            return write!(formatter, "{protocol} {} > {}", self.source, self.destination);
        }
        let end = |address, port| SocketAddr::new(address, port);
        let (source, destination) = (
            end(self.source, self.source_port),
            end(self.destination, self.destination_port),
        );
        write!(formatter, "{protocol} {source} > {destination}")
    }
}

/// What is read from a packet.
pub(super) struct Packet {
    pub(super) mode: Mode,
    pub(super) flow: Option<Flow>,
    /// From the source on.
    pub(super) hops: SmallVec<[Hop; 4]>,
    /// Whether the stack is there to its end and no hop has left its metadata out.
    pub(super) is_whole: bool,
}

impl Packet {
    fn of(flow: Option<Flow>) -> Packet {
        Packet {
            mode: Mode::Xd,
            flow,
            hops: SmallVec::new(),
            is_whole: true,
        }
    }
}

/// Takes apart a packet of a type.
pub(super) fn parse(inner: u8, mut packet: Bytes<'_>, int_port: u16) -> Result<Packet, Malformed> {
    let network = match inner {
        INNER_NONE => None,
        INNER_ETHERNET => ethernet(&mut packet),
        INNER_IPV4 => ipv4(&mut packet),
        INNER_IPV6 => ipv6(&mut packet),
        _ => return Err(Malformed::InnerType),
    };
    match network {
        Some(network) => transport(network, packet, int_port),
        None => Ok(Packet::of(None)),
    }
}

/// What is read from the network header.
#[derive(Clone, Copy)]
struct Network {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    /// A fragment, but not the first.
    is_behind: bool,
}

impl Network {
    fn flow(self, protocol: u8, (source_port, destination_port): (u16, u16)) -> Flow {
        Flow {
            source: self.source,
            destination: self.destination,
            protocol,
            source_port,
            destination_port,
        }
    }
}

fn ethernet(packet: &mut Bytes<'_>) -> Option<Network> {
    packet.take(12)?;
    let mut ether_type = packet.u16()?;
    for _ in 0..2 {
        if ETHERTYPE_VLAN.contains(&ether_type) {
            packet.take(2)?;
            ether_type = packet.u16()?;
        }
    }
    match ether_type {
        ETHERTYPE_IPV4 => ipv4(packet),
        ETHERTYPE_IPV6 => ipv6(packet),
        _ => None,
    }
}

fn ipv4(packet: &mut Bytes<'_>) -> Option<Network> {
    let length = 4 * usize::from(packet.at(0)? & 0xf);
    let mut header = packet.take(length.max(20))?;
    header.take(6)?;
    let fragment = header.u16()?;
    header.take(1)?;
    let protocol = header.u8()?;
    header.take(2)?;
    Some(Network {
        source: Ipv4Addr::from(header.array::<4>()?).into(),
        destination: Ipv4Addr::from(header.array::<4>()?).into(),
        protocol,
        is_behind: fragment & 0x1fff != 0,
    })
}

fn ipv6(packet: &mut Bytes<'_>) -> Option<Network> {
    packet.take(6)?;
    let protocol = packet.u8()?;
    packet.take(1)?;
    Some(Network {
        source: Ipv6Addr::from(packet.array::<16>()?).into(),
        destination: Ipv6Addr::from(packet.array::<16>()?).into(),
        protocol,
        is_behind: false,
    })
}

fn transport(network: Network, mut packet: Bytes<'_>, int_port: u16) -> Result<Packet, Malformed> {
    let has_ports = [TCP, UDP].contains(&network.protocol) && !network.is_behind;
    let ports = has_ports.then(|| ports(&mut packet)).flatten();
    match ports {
        Some(ports) if network.protocol == UDP && ports.1 == int_port => {
            // Length and checksum; a packet that ends here has no INT.
            match packet.take(4) {
                Some(_) => int(network, ports.0, packet),
                None => Ok(Packet::of(None)),
            }
        }
        None if has_ports => Ok(Packet::of(None)),
        ports => Ok(Packet::of(Some(
            network.flow(network.protocol, ports.unwrap_or_default()),
        ))),
    }
}

fn ports(packet: &mut Bytes<'_>) -> Option<(u16, u16)> {
    Some((packet.u16()?, packet.u16()?))
}

/// Shim header, INT header and stack, after a UDP header with this source port.
fn int(network: Network, source_port: u16, mut packet: Bytes<'_>) -> Result<Packet, Malformed> {
    let Some([kind, words, high, low]) = packet.array() else {
        return Ok(Packet::of(None));
    };
    let original = u16::from_be_bytes([high, low]);
    let stack_words = usize::from(words)
        .checked_sub(INT_HEADER_WORDS)
        .ok_or(Malformed::IntHeader)?;
    let mut hops = SmallVec::new();
    let mode = match kind >> 4 {
        SHIM_MD => Mode::Md,
        SHIM_MX => Mode::Mx,
        _ => return Err(Malformed::IntHeader),
    };
    let has_all_hops = mode != Mode::Md || packet.at(0).is_none_or(|flags| flags & EXCEEDED == 0);
    let is_there = match mode {
        Mode::Md => stack(&mut packet, stack_words, &mut hops)?,
        _ => packet.take(4 * (INT_HEADER_WORDS + stack_words)).is_some(),
    };
    let flow = match kind >> 2 & 3 {
        NEXT_UDP_PORT => Some(network.flow(UDP, (source_port, original))),
        NEXT_PROTOCOL => after_int(network, original as u8, is_there, packet),
        _ => None,
    };
    Ok(Packet {
        mode,
        flow,
        hops,
        is_whole: is_there && has_all_hops,
    })
}

/// The flow of a packet whose own transport header comes after INT.
fn after_int(network: Network, protocol: u8, is_there: bool, mut packet: Bytes<'_>) -> Option<Flow> {
    if ![TCP, UDP].contains(&protocol) {
        return Some(network.flow(protocol, (0, 0)));
    }
    let ports = is_there.then(|| ports(&mut packet)).flatten();
    ports.map(|ports| network.flow(protocol, ports))
}

/// The header and stack of INT-MD. The stack has the latest hop first. Returns whether all of it is there.
fn stack(packet: &mut Bytes<'_>, words: usize, hops: &mut SmallVec<[Hop; 4]>) -> Result<bool, Malformed> {
    let Some(header) = packet.array::<{ 4 * INT_HEADER_WORDS }>() else {
        return Ok(false);
    };
    if header[0] >> 4 != INT_VERSION {
        return Err(Malformed::IntHeader);
    }
    let hop_words = usize::from(header[2] & 0x1f);
    let bitmap = Bitmap::of_hops(u16::from_be_bytes([header[4], header[5]]));
    if words > 0
        && (hop_words == 0 || !words.is_multiple_of(hop_words) || bitmap.words().is_some_and(|own| own > hop_words))
    {
        return Err(Malformed::IntStack);
    }
    for _ in 0..words.checked_div(hop_words).unwrap_or(0) {
        let Some(mut hop) = packet.take(4 * hop_words) else {
            hops.reverse();
            return Ok(false);
        };
        let (hop, _) = bitmap.read(&mut hop).ok_or(Malformed::IntStack)?;
        hops.push(hop);
    }
    hops.reverse();
    Ok(true)
}
