//! Finding TCP and UDP in a frame, no further than offloads need.

use std::net::{Ipv4Addr, Ipv6Addr};

use forebay_packet::checksum::Sum;

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

const ETHERNET: usize = 14;

/// Extension headers of IPv6 that may stand before TCP and UDP (RFC 8200 §4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION_OPTIONS: u8 = 60;

/// The shortest one, in bytes; others have a multiple of that.
const EXTENSION: usize = 8;

/// How many are gone through.
const EXTENSIONS_MAX: usize = 8;

/// The option of a packet whose length is not in its header (RFC 2675).
const JUMBO_PAYLOAD: u8 = 0xc2;

/// The shorter header of both protocols, in bytes.
const UDP_HEADER: usize = 8;

/// The IP version of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Ipv4,
    Ipv6,
}

/// Where TCP or UDP over IP stands in a frame, after at most two VLAN tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transport {
    pub(crate) network: Network,
    /// Where the IP header begins.
    pub(crate) network_at: usize,
    /// [`TCP`] or [`UDP`].
    pub(crate) protocol: u8,
    /// Where the TCP or UDP header begins; it may be cut off.
    pub(crate) transport_at: usize,
}

impl Transport {
    /// `None` for another protocol, headers of IP that are not whole, and of IPv6 for a fragment, a jumbogram, or a
    /// route that has not been gone to its end.
    pub(crate) fn find(frame: &[u8]) -> Option<Transport> {
        let (network, network_at) = find_network(frame)?;
        let (protocol, transport_at) = match network {
            Network::Ipv4 => ipv4_payload(frame, network_at)?,
            Network::Ipv6 => ipv6_payload(frame, network_at)?,
        };
        matches!(protocol, TCP | UDP).then_some(Transport {
            network,
            network_at,
            protocol,
            transport_at,
        })
    }

    /// Where the checksum stands after the beginning of the TCP or UDP header.
    pub(crate) fn checksum_offset(&self) -> usize {
        if self.protocol == TCP { 16 } else { 6 }
    }

    /// The sum of the pseudo-header, where TCP or UDP reaches to the end of `frame` (the one this was found in, or one
    /// with the same headers).
    pub(crate) fn pseudo_header(&self, frame: &[u8]) -> Sum {
        self.pseudo_header_of(frame, frame.len() - self.transport_at)
    }

    /// The same where TCP or UDP is `length` bytes long.
    pub(crate) fn pseudo_header_of(&self, frame: &[u8], length: usize) -> Sum {
        match self.network {
            Network::Ipv4 => {
                let address = |at: usize| Ipv4Addr::from(get_array::<4>(frame, at));
                let (source, destination) = (address(self.network_at + 12), address(self.network_at + 16));
                Sum::new().add_ipv4_pseudo_header(source, destination, self.protocol, length as u16)
            }
            Network::Ipv6 => {
                let address = |at: usize| Ipv6Addr::from(get_array::<16>(frame, at));
                let (source, destination) = (address(self.network_at + 8), address(self.network_at + 24));
                Sum::new().add_ipv6_pseudo_header(source, destination, self.protocol, length as u32)
            }
        }
    }

    /// Where the IP packet ends: a short frame may have padding after it. Where its header has a length that cannot be
    /// right, that is the end of the frame.
    pub(crate) fn packet_end(&self, frame: &[u8]) -> usize {
        let length = match self.network {
            Network::Ipv4 => usize::from(get_u16(frame, self.network_at + 2)),
            Network::Ipv6 => usize::from(get_u16(frame, self.network_at + 4)) + 40,
        };
        let end = self.network_at + length;
        if (self.transport_at + UDP_HEADER..=frame.len()).contains(&end) {
            end
        } else {
            frame.len()
        }
    }

    /// Whether the packet is a fragment of a longer one (RFC 791 §3.1), so that its checksum covers more than is here.
    pub(crate) fn is_fragment(&self, frame: &[u8]) -> bool {
        self.network == Network::Ipv4 && get_u16(frame, self.network_at + 6) & 0x3fff != 0
    }
}

/// The network layer after the Ethernet header and at most two VLAN tags.
fn find_network(frame: &[u8]) -> Option<(Network, usize)> {
    let mut at = ETHERNET;
    for _ in 0..3 {
        match u16::from_be_bytes(*frame.get(at - 2..at)?.first_chunk()?) {
            0x0800 => return Some((Network::Ipv4, at)),
            0x86dd => return Some((Network::Ipv6, at)),
            0x8100 | 0x88a8 => at += 4,
            _ => return None,
        }
    }
    None
}

/// The protocol in a whole IPv4 header, and where its payload begins.
fn ipv4_payload(frame: &[u8], at: usize) -> Option<(u8, usize)> {
    let header = frame.get(at..at + 20)?;
    let length = usize::from(header[0] & 0x0f) * 4;
    let is_whole = header[0] >> 4 == 4 && length >= 20 && frame.len() >= at + length;
    is_whole.then_some((header[9], at + length))
}

/// The protocol after a whole IPv6 header and extension headers with which the destination is still the last one, and
/// where it begins.
fn ipv6_payload(frame: &[u8], at: usize) -> Option<(u8, usize)> {
    let header = frame.get(at..at + 40).filter(|header| header[0] >> 4 == 6)?;
    let (mut protocol, mut at) = (header[6], at + 40);
    for _ in 0..EXTENSIONS_MAX {
        if !matches!(protocol, HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS) {
            break;
        }
        let extension = frame.get(at..at + EXTENSION)?;
        let (option, segments_left) = (extension[2], extension[3]);
        match protocol {
            HOP_BY_HOP if option == JUMBO_PAYLOAD => return None,
            ROUTING if segments_left > 0 => return None,
            _ => {}
        }
        protocol = extension[0];
        at += EXTENSION * (1 + usize::from(extension[1]));
    }
    (at <= frame.len()).then_some((protocol, at))
}

fn get_array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

pub(crate) fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(get_array(bytes, at))
}

pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
