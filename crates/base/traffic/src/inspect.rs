//! Takes a TCP or UDP frame apart and checks its lengths and checksums.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use forebay_packet::checksum::{Sum, internet_checksum};

use crate::frame::{FrameSpec, IPV4_ETHERTYPE, IPV6_ETHERTYPE, Network, TCP, Transport, UDP, VLAN_ETHERTYPE, VlanTag};

const PROVIDER_VLAN_ETHERTYPE: u16 = 0x88a8;

/// What [`inspect`] found: the headers, and where the payload is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The headers; building them again with the payload gives the same frame when it has no
    /// options and at most one tag, of 802.1Q.
    pub spec: FrameSpec,
    /// The bytes of the payload within the frame, without padding.
    pub payload: Range<usize>,
}

/// Why a frame is not a correct TCP or UDP frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFault {
    /// It ends within a header, or before the length a header says.
    Truncated,
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// Neither TCP nor UDP directly over IP.
    NotTcpOrUdp,
    /// A length field contradicts another.
    Length,
    /// A fragment of an IPv4 packet.
    Fragment,
    /// The IPv4 header checksum is wrong.
    Ipv4Checksum,
    /// The TCP or UDP checksum is wrong.
    TransportChecksum,
}

impl fmt::Display for FrameFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FrameFault::Truncated => "the frame is cut off",
            FrameFault::NotIp => "neither IPv4 nor IPv6",
            FrameFault::NotTcpOrUdp => "neither TCP nor UDP",
            FrameFault::Length => "a length field is wrong",
            FrameFault::Fragment => "a fragment",
            FrameFault::Ipv4Checksum => "the IPv4 header checksum is wrong",
            FrameFault::TransportChecksum => "the TCP or UDP checksum is wrong",
        })
    }
}

impl std::error::Error for FrameFault {}

/// The network layer as inspected, with what the transport layer needs of it.
struct InspectedNetwork {
    network: Network,
    protocol: u8,
    transport: Range<usize>,
    pseudo_header: Sum,
}

/// Takes a TCP or UDP frame apart and checks its lengths and checksums. Padding after the IP
/// packet is ignored, an IPv4 UDP checksum of zero means none (RFC 768).
///
/// # Errors
/// Says the first thing that is wrong.
pub fn inspect(frame: &[u8]) -> Result<Inspected, FrameFault> {
    let addresses = frame.get(..12).ok_or(FrameFault::Truncated)?;
    let mut at = 12;
    let mut vlan = None;
    let mut ethertype = get_u16(frame, at)?;
    while matches!(ethertype, VLAN_ETHERTYPE | PROVIDER_VLAN_ETHERTYPE) {
        let control = get_u16(frame, at + 2)?;
        vlan = Some(VlanTag {
            identifier: control & 0xfff,
            priority: (control >> 13) as u8,
        });
        at += 4;
        ethertype = get_u16(frame, at)?;
    }
    let found = match ethertype {
        IPV4_ETHERTYPE => inspect_ipv4(frame, at + 2)?,
        IPV6_ETHERTYPE => inspect_ipv6(frame, at + 2)?,
        _ => return Err(FrameFault::NotIp),
    };
    let (transport, header_bytes) = inspect_transport(frame, &found)?;
    let mut spec = FrameSpec {
        source_mac: [0; 6],
        destination_mac: [0; 6],
        vlan,
        network: found.network,
        transport,
    };
    spec.destination_mac.copy_from_slice(&addresses[..6]);
    spec.source_mac.copy_from_slice(&addresses[6..]);
    Ok(Inspected {
        spec,
        payload: found.transport.start + header_bytes..found.transport.end,
    })
}

fn inspect_ipv4(frame: &[u8], at: usize) -> Result<InspectedNetwork, FrameFault> {
    let fixed = get_array::<20>(frame, at)?;
    let header_bytes = usize::from(fixed[0] & 0x0f) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if fixed[0] >> 4 != 4 || header_bytes < 20 || total_bytes < header_bytes {
        return Err(FrameFault::Length);
    }
    let packet = frame.get(at..at + total_bytes).ok_or(FrameFault::Truncated)?;
    if internet_checksum(&packet[..header_bytes]) != 0 {
        return Err(FrameFault::Ipv4Checksum);
    }
    if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 {
        return Err(FrameFault::Fragment);
    }
    let source = Ipv4Addr::from(get_array::<4>(frame, at + 12)?);
    let destination = Ipv4Addr::from(get_array::<4>(frame, at + 16)?);
    let transport_bytes = (total_bytes - header_bytes) as u16;
    Ok(InspectedNetwork {
        network: Network::Ipv4 {
            source,
            destination,
            time_to_live: fixed[8],
            identification: u16::from_be_bytes([fixed[4], fixed[5]]),
            traffic_class: fixed[1],
        },
        protocol: fixed[9],
        transport: at + header_bytes..at + total_bytes,
        pseudo_header: Sum::new().add_ipv4_pseudo_header(source, destination, fixed[9], transport_bytes),
    })
}

fn inspect_ipv6(frame: &[u8], at: usize) -> Result<InspectedNetwork, FrameFault> {
    let fixed = get_array::<40>(frame, at)?;
    let first = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
    if first >> 28 != 6 {
        return Err(FrameFault::Length);
    }
    let transport_bytes = u16::from_be_bytes([fixed[4], fixed[5]]);
    let transport = at + 40..at + 40 + usize::from(transport_bytes);
    frame.get(transport.clone()).ok_or(FrameFault::Truncated)?;
    let source = Ipv6Addr::from(get_array::<16>(frame, at + 8)?);
    let destination = Ipv6Addr::from(get_array::<16>(frame, at + 24)?);
    Ok(InspectedNetwork {
        network: Network::Ipv6 {
            source,
            destination,
            hop_limit: fixed[7],
            traffic_class: (first >> 20) as u8,
            flow_label: first & 0x000f_ffff,
        },
        protocol: fixed[6],
        transport,
        pseudo_header: Sum::new().add_ipv6_pseudo_header(source, destination, fixed[6], u32::from(transport_bytes)),
    })
}

/// The transport header and its length in bytes, once lengths and checksum are found right.
fn inspect_transport(frame: &[u8], network: &InspectedNetwork) -> Result<(Transport, usize), FrameFault> {
    let segment = &frame[network.transport.clone()];
    let (transport, header_bytes, has_checksum) = match network.protocol {
        UDP => {
            let [source, destination, length, checksum] = [
                get_u16(segment, 0)?,
                get_u16(segment, 2)?,
                get_u16(segment, 4)?,
                get_u16(segment, 6)?,
            ];
            if usize::from(length) != segment.len() {
                return Err(FrameFault::Length);
            }
            let over_ipv4 = matches!(network.network, Network::Ipv4 { .. });
            (Transport::Udp { source, destination }, 8, !(over_ipv4 && checksum == 0))
        }
        TCP => {
            let fixed = get_array::<20>(segment, 0)?;
            let header_bytes = usize::from(fixed[12] >> 4) * 4;
            if !(20..=segment.len()).contains(&header_bytes) {
                return Err(FrameFault::Length);
            }
            (tcp_header(&fixed), header_bytes, true)
        }
        _ => return Err(FrameFault::NotTcpOrUdp),
    };
    if has_checksum && network.pseudo_header.add_bytes(segment).fold() != 0xffff {
        return Err(FrameFault::TransportChecksum);
    }
    Ok((transport, header_bytes))
}

fn tcp_header(fixed: &[u8; 20]) -> Transport {
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let word = |at: usize| (u32::from(half(at)) << 16) | u32::from(half(at + 2));
    Transport::Tcp {
        source: half(0),
        destination: half(2),
        sequence: word(4),
        acknowledgment: word(8),
        flags: fixed[13],
        window: half(14),
    }
}

fn get_array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FrameFault> {
    let rest = bytes.get(at..).ok_or(FrameFault::Truncated)?;
    rest.first_chunk().copied().ok_or(FrameFault::Truncated)
}

fn get_u16(bytes: &[u8], at: usize) -> Result<u16, FrameFault> {
    get_array(bytes, at).map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec() -> impl Strategy<Value = FrameSpec> {
        let network = prop_oneof![
            any::<(Ipv4Addr, Ipv4Addr, u8, u16, u8)>().prop_map(
                |(source, destination, time_to_live, identification, traffic_class)| {
                    Network::Ipv4 {
                        source,
                        destination,
                        time_to_live,
                        identification,
                        traffic_class,
                    }
                }
            ),
            (any::<(Ipv6Addr, Ipv6Addr, u8, u8)>(), 0..1u32 << 20).prop_map(
                |((source, destination, hop_limit, traffic_class), flow_label)| {
                    Network::Ipv6 {
                        source,
                        destination,
                        hop_limit,
                        traffic_class,
                        flow_label,
                    }
                }
            ),
        ];
        let transport = prop_oneof![
            any::<(u16, u16)>().prop_map(|(source, destination)| Transport::Udp { source, destination }),
            any::<(u16, u16, u32, u32, u8, u16)>().prop_map(
                |(source, destination, sequence, acknowledgment, flags, window)| Transport::Tcp {
                    source,
                    destination,
                    sequence,
                    acknowledgment,
                    flags,
                    window,
                }
            ),
        ];
        let tag = (0..4096u16, 0..8u8).prop_map(|(identifier, priority)| VlanTag { identifier, priority });
        (
            any::<[u8; 6]>(),
            any::<[u8; 6]>(),
            proptest::option::of(tag),
            network,
            transport,
        )
            .prop_map(|(source_mac, destination_mac, vlan, network, transport)| FrameSpec {
                source_mac,
                destination_mac,
                vlan,
                network,
                transport,
            })
    }

    /// The header that encyclopedias compute the IPv4 checksum of: 0xb861.
    #[test]
    fn a_known_header() {
        let address = |last| Ipv4Addr::new(192, 168, 0, last);
        let spec = FrameSpec::udp_ipv4((address(1), 53), (address(199), 1024));
        let frame = spec.build(&[7; 87]);
        let header = b"\x45\0\0\x73\0\0\x40\0\x40\x11\xb8\x61\xc0\xa8\0\x01\xc0\xa8\0\xc7";
        assert_eq!(&frame[14..34], header);
        assert_eq!(inspect(&frame), Ok(Inspected { spec, payload: 42..129 }));
    }

    #[test]
    fn faults_are_named() {
        let address = |last| Ipv4Addr::new(10, 0, 0, last);
        let good = FrameSpec::udp_ipv4((address(1), 1), (address(2), 2)).build(b"payload");
        let broken = |at: usize, value: u8| {
            let mut frame = good.clone();
            frame[at] ^= value;
            inspect(&frame).expect_err("a changed frame")
        };
        assert_eq!(broken(12, 1), FrameFault::NotIp);
        assert_eq!(broken(24, 1), FrameFault::Ipv4Checksum);
        assert_eq!(broken(39, 1), FrameFault::Length);
        assert_eq!(broken(45, 1), FrameFault::TransportChecksum);
        assert_eq!(inspect(&good[..40]), Err(FrameFault::Truncated));
    }

    proptest! {
        #[test]
        fn what_is_built_is_found_again(
            spec in spec(),
            payload in proptest::collection::vec(any::<u8>(), 0..1500),
            padding in 0..40usize,
        ) {
            let mut frame = spec.build(&payload);
            prop_assert_eq!(frame.len(), spec.header_bytes() + payload.len());
            frame.resize(frame.len() + padding, 0);
            let inspected = inspect(&frame).expect("a correct frame");
            prop_assert_eq!(&frame[inspected.payload], &payload[..]);
            prop_assert_eq!(inspected.spec, spec);
        }

        #[test]
        fn a_flipped_payload_bit_is_found(
            spec in spec(),
            payload in proptest::collection::vec(any::<u8>(), 1..200),
            position in any::<usize>(),
            bit in 0..8u32,
        ) {
            let mut frame = spec.build(&payload);
            let at = spec.header_bytes() + position % payload.len();
            frame[at] ^= 1 << bit;
            prop_assert_eq!(inspect(&frame), Err(FrameFault::TransportChecksum));
        }

        #[test]
        fn no_frame_panics(frame in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = inspect(&frame);
        }

        #[test]
        fn no_damaged_frame_panics(spec in spec(), position in any::<usize>(), value in any::<u8>()) {
            let mut frame = spec.build(b"some payload");
            let at = position % frame.len();
            frame[at] = value;
            let _ = inspect(&frame);
            let _ = inspect(&frame[..at]);
        }
    }
}
