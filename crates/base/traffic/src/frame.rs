//! Ethernet frames with right lengths and checksums, built from a [`FrameSpec`].
//! [`inspect`](crate::inspect::inspect) takes them apart again.

use std::net::{Ipv4Addr, Ipv6Addr};

use forebay_packet::checksum::{Sum, internet_checksum};

pub(crate) const IPV4_ETHERTYPE: u16 = 0x0800;
pub(crate) const IPV6_ETHERTYPE: u16 = 0x86dd;
pub(crate) const VLAN_ETHERTYPE: u16 = 0x8100;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// The headers of a frame; with a payload they make the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameSpec {
    /// Ethernet source address.
    pub source_mac: [u8; 6],
    /// Ethernet destination address.
    pub destination_mac: [u8; 6],
    /// An 802.1Q tag, or none.
    pub vlan: Option<VlanTag>,
    /// The network layer.
    pub network: Network,
    /// The transport layer.
    pub transport: Transport,
}

/// An 802.1Q tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// VLAN identifier, 12 bits.
    pub identifier: u16,
    /// Priority code point, 3 bits.
    pub priority: u8,
}

/// The network layer of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// IPv4 without options, never fragmented.
    Ipv4 {
        /// Source address.
        source: Ipv4Addr,
        /// Destination address.
        destination: Ipv4Addr,
        /// Time to live.
        time_to_live: u8,
        /// Identification.
        identification: u16,
        /// Differentiated services code point and congestion notification.
        traffic_class: u8,
    },
    /// IPv6 without extension headers.
    Ipv6 {
        /// Source address.
        source: Ipv6Addr,
        /// Destination address.
        destination: Ipv6Addr,
        /// Hop limit.
        hop_limit: u8,
        /// Traffic class.
        traffic_class: u8,
        /// Flow label, 20 bits.
        flow_label: u32,
    },
}

/// The transport layer of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// UDP, with a checksum.
    Udp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
    },
    /// TCP without options.
    Tcp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
        /// Sequence number.
        sequence: u32,
        /// Acknowledgment number.
        acknowledgment: u32,
        /// The flags CWR to FIN.
        flags: u8,
        /// Window.
        window: u16,
    },
    /// The payload follows the network header.
    None {
        /// The protocol that the network header names.
        protocol: u8,
    },
}

impl Transport {
    fn protocol(self) -> u8 {
        match self {
            Transport::Udp { .. } => UDP,
            Transport::Tcp { .. } => TCP,
            Transport::None { protocol } => protocol,
        }
    }

    fn header_bytes(self) -> usize {
        match self {
            Transport::Udp { .. } => 8,
            Transport::Tcp { .. } => 20,
            Transport::None { .. } => 0,
        }
    }

    /// The checksum of a header and its payload, whose sum this is, and where it stands in the header.
    fn checksum(self, sum: Sum) -> Option<(u16, usize)> {
        match self {
            Transport::Udp { .. } => Some((sum.udp_checksum(), 6)),
            Transport::Tcp { .. } => Some((sum.checksum(), 16)),
            Transport::None { .. } => None,
        }
    }
}

impl FrameSpec {
    /// UDP over IPv4 between two hosts whose Ethernet addresses follow from their IP addresses
    /// (`02:00` and the four bytes), with a time to live of 64.
    pub fn udp_ipv4(source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16)) -> FrameSpec {
        FrameSpec {
            source_mac: mac_of(source.0),
            destination_mac: mac_of(destination.0),
            vlan: None,
            network: Network::Ipv4 {
                source: source.0,
                destination: destination.0,
                time_to_live: 64,
                identification: 0,
                traffic_class: 0,
            },
            transport: Transport::Udp {
                source: source.1,
                destination: destination.1,
            },
        }
    }

    /// Bytes in front of the payload.
    pub fn header_bytes(&self) -> usize {
        let vlan = if self.vlan.is_some() { 4 } else { 0 };
        let network = match self.network {
            Network::Ipv4 { .. } => 20,
            Network::Ipv6 { .. } => 40,
        };
        14 + vlan + network + self.transport.header_bytes()
    }

    /// Replaces `frame` by the frame with this payload. It is not padded.
    ///
    /// # Panics
    /// When the payload is longer than an IP packet can carry (65,535 bytes with headers).
    pub fn write(&self, payload: &[u8], frame: &mut Vec<u8>) {
        let transport_bytes = self.transport.header_bytes() + payload.len();
        assert!(transport_bytes + 20 <= 65_535, "payload of {} bytes", payload.len());
        frame.clear();
        frame.reserve(self.header_bytes() + payload.len());
        frame.extend(self.destination_mac);
        frame.extend(self.source_mac);
        if let Some(tag) = self.vlan {
            frame.extend(VLAN_ETHERTYPE.to_be_bytes());
            let control = (u16::from(tag.priority & 7) << 13) | (tag.identifier & 0xfff);
            frame.extend(control.to_be_bytes());
        }
        let pseudo_header = self.write_network(transport_bytes as u16, frame);
        let transport_at = frame.len();
        self.write_transport(transport_bytes as u16, frame);
        frame.extend(payload);
        let sum = pseudo_header.add_bytes(&frame[transport_at..]);
        if let Some((checksum, at)) = self.transport.checksum(sum) {
            let field = transport_at + at;
            frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// The frame with this payload.
    ///
    /// # Panics
    /// As [`FrameSpec::write`].
    pub fn build(&self, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        self.write(payload, &mut frame);
        frame
    }

    /// Writes the EtherType and the network header; returns the sum of the pseudo-header.
    fn write_network(&self, transport_bytes: u16, frame: &mut Vec<u8>) -> Sum {
        let protocol = self.transport.protocol();
        match self.network {
            Network::Ipv4 {
                source,
                destination,
                time_to_live,
                identification,
                traffic_class,
            } => {
                frame.extend(IPV4_ETHERTYPE.to_be_bytes());
                let at = frame.len();
                frame.extend([0x45, traffic_class]);
                frame.extend((20 + transport_bytes).to_be_bytes());
                frame.extend(identification.to_be_bytes());
                frame.extend([0x40, 0, time_to_live, protocol, 0, 0]); // do not fragment
                frame.extend(source.octets());
                frame.extend(destination.octets());
                let checksum = internet_checksum(&frame[at..]);
                frame[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
                Sum::new().add_ipv4_pseudo_header(source, destination, protocol, transport_bytes)
            }
            Network::Ipv6 {
                source,
                destination,
                hop_limit,
                traffic_class,
                flow_label,
            } => {
                frame.extend(IPV6_ETHERTYPE.to_be_bytes());
                let first = (6 << 28) | (u32::from(traffic_class) << 20) | (flow_label & 0x000f_ffff);
                frame.extend(first.to_be_bytes());
                frame.extend(transport_bytes.to_be_bytes());
                frame.extend([protocol, hop_limit]);
                frame.extend(source.octets());
                frame.extend(destination.octets());
                let length = u32::from(transport_bytes);
                Sum::new().add_ipv6_pseudo_header(source, destination, protocol, length)
            }
        }
    }

    /// Writes the transport header with a checksum of zero.
    fn write_transport(&self, transport_bytes: u16, frame: &mut Vec<u8>) {
        match self.transport {
            Transport::Udp { source, destination } => {
                for word in [source, destination, transport_bytes, 0] {
                    frame.extend(word.to_be_bytes());
                }
            }
            Transport::Tcp {
                source,
                destination,
                sequence,
                acknowledgment,
                flags,
                window,
            } => {
                frame.extend(source.to_be_bytes());
                frame.extend(destination.to_be_bytes());
                frame.extend(sequence.to_be_bytes());
                frame.extend(acknowledgment.to_be_bytes());
                frame.extend([5 << 4, flags]);
                frame.extend(window.to_be_bytes());
                frame.extend([0; 4]);
            }
            Transport::None { .. } => {}
        }
    }
}

/// The MAC address that a text means, like `02:00:00:00:00:01`: six bytes of two hexadecimal digits each.
///
/// ```
/// use forebay_traffic::frame::parse_mac;
///
/// assert_eq!(parse_mac("02:00:00:00:00:Ff"), Some([2, 0, 0, 0, 0, 0xff]));
/// assert_eq!(parse_mac("2:0:0:0:0:1"), None);
/// assert_eq!(parse_mac("+2:00:00:00:00:01"), None);
/// ```
pub fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let byte = |digits: &str| {
        // `from_str_radix` alone would take a sign for a digit.
        let is_byte = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(digits, 16).ok().filter(|_| is_byte)
    };
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    bytes?.try_into().ok()
}

fn mac_of(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [2, 0, a, b, c, d]
}
