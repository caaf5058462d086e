//! The frames that a stream repeats.

use crate::scenario::{FrameEntry, MessageEntry, NPacketEntry, UdpEntry};
use crate::sizes::SizeEntry;
use forebay_packet::SplitMix64;
use forebay_traffic::frame::parse_mac;
use forebay_traffic::{FrameSpec, MessageFormat, MessageId, Network, Transport, VlanTag};
use std::net::Ipv4Addr;

/// Frames that are made before the simulation when there are fewer flows: enough to tell messages apart.
const FRAMES: u32 = 64;

/// Frames that are made to have every size in every flow.
const FRAMES_MAX: u32 = 1 << 16;

/// UDP port of IoT traffic: see `programs/common/iot.p4`.
const IOT_PORT: u16 = 9000;

/// The server to which messages go.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// UDP and the headers before it, without a VLAN tag.
const UDP_HEADERS: usize = 14 + 20 + 8;

/// Bytes of a VLAN tag.
const TAG_BYTES: usize = 4;

/// The longest frame, in bytes.
const FRAME_MAX: usize = 9_000;

/// Random lengths are the same in every run: a stream's frames are made once.
const SIZES_SEED: u64 = 0;

/// Flows, of which each has an address of its own with 16 bits.
const FLOWS_MAX: u32 = 1 << 16;

/// The largest VLAN identifier (IEEE 802.1Q, 9.6: 0xfff is reserved).
const VLAN_MAX: u16 = 4094;

/// The frames of an entry, in order.
///
/// # Errors
/// When a length or an address is impossible, in words; a capture file is the caller's business.
pub(crate) fn frames(
    entry: &FrameEntry,
    read: impl Fn(&str) -> Result<Vec<Vec<u8>>, String>,
) -> Result<Vec<Vec<u8>>, String> {
    let ethernet = Ethernet::of(entry)?;
    match (&entry.udp, &entry.message, &entry.n_packet, &entry.pcap) {
        (Some(udp), None, None, None) => udp_frames(udp, &ethernet),
        (None, Some(message), None, None) => message_frames(message, &ethernet),
        (None, None, Some(packet), None) => n_packets(packet, &ethernet),
        (None, None, None, Some(_)) if ethernet != Ethernet::default() => {
            Err("the frames of a capture file are sent as they are: give them no MAC address and no VLAN".to_string())
        }
        (None, None, None, Some(pcap)) => read(&pcap.file),
        _ => {
            Err("a frame is exactly one of udp, message, n-packet and pcap, as in { udp = { bytes = 64 } }".to_string())
        }
    }
}

/// The lengths of the payloads of an entry's messages when all are alike: what N-packets of them are split by.
pub(crate) fn payload_bytes(entry: &FrameEntry) -> Option<usize> {
    let of_message = entry.message.as_ref().and_then(|message| match message.payload_bytes {
        SizeEntry::Fixed(size) => Some(size),
        _ => None,
    });
    of_message.or(entry.n_packet.as_ref().map(|packet| packet.payload_bytes))
}

/// The Ethernet header of an entry's frames.
#[derive(Clone, Debug, PartialEq)]
struct Ethernet {
    source_mac: [u8; 6],
    destination_mac: [u8; 6],
    vlan: Option<u16>,
}

impl Default for Ethernet {
    fn default() -> Ethernet {
        Ethernet {
            source_mac: [2, 0, 0, 0, 0, 1],
            destination_mac: [2, 0, 0, 0, 0, 0xfe],
            vlan: None,
        }
    }
}

impl Ethernet {
    fn of(entry: &FrameEntry) -> Result<Ethernet, String> {
        let default = Ethernet::default();
        let address = |text: &Option<String>, default| text.as_deref().map_or(Ok(default), mac);
        if let Some(vlan) = entry.vlan.filter(|vlan| *vlan > VLAN_MAX) {
            return Err(format!("vlan is {vlan}; an identifier is 0 to {VLAN_MAX}"));
        }
        Ok(Ethernet {
            source_mac: address(&entry.source_mac, default.source_mac)?,
            destination_mac: address(&entry.destination_mac, default.destination_mac)?,
            vlan: entry.vlan,
        })
    }

    /// UDP and the headers before it.
    fn headers(&self) -> usize {
        UDP_HEADERS + self.vlan.map_or(0, |_| TAG_BYTES)
    }

    fn udp_spec(&self, flow: u16, destination: Ipv4Addr, destination_port: u16) -> FrameSpec {
        let [high, low] = flow.to_be_bytes();
        FrameSpec {
            source_mac: self.source_mac,
            destination_mac: self.destination_mac,
            vlan: self.vlan.map(|identifier| VlanTag {
                identifier,
                priority: 0,
            }),
            network: Network::Ipv4 {
                source: Ipv4Addr::new(10, 1, high, low),
                destination,
                time_to_live: 64,
                identification: flow,
                traffic_class: 0,
            },
            transport: Transport::Udp {
                source: 10_000,
                destination: destination_port,
            },
        }
    }

    fn iot_spec(&self, device: u32) -> FrameSpec {
        self.udp_spec(device as u16, SERVER, IOT_PORT)
    }
}

/// `02:00:00:00:00:01`.
fn mac(text: &str) -> Result<[u8; 6], String> {
    parse_mac(text).ok_or_else(|| format!("{text:?} is no MAC address; write one as \"02:00:00:00:00:01\""))
}

fn udp_frames(entry: &UdpEntry, ethernet: &Ethernet) -> Result<Vec<Vec<u8>>, String> {
    let sizes = sizes(&entry.bytes, ethernet.headers())?;
    let flows = flows(entry.flows)?;
    let flow = |index: u32| ethernet.udp_spec((index % flows) as u16, entry.destination, entry.destination_port);
    let count = whole_rounds(least_common_multiple(flows, sizes.len() as u32), flows);
    let frame = |index: u32| {
        let size = sizes[index as usize % sizes.len()];
        flow(index).build(&filling(index, size - ethernet.headers()))
    };
    Ok((0..count).map(frame).collect())
}

fn message_frames(entry: &MessageEntry, ethernet: &Ethernet) -> Result<Vec<Vec<u8>>, String> {
    let formats = payload_sizes(&entry.payload_bytes)?.into_iter().map(format);
    let formats: Vec<MessageFormat> = formats.collect::<Result<_, _>>()?;
    let flows = flows(entry.flows)?;
    let message = |index: u32| {
        let id = MessageId {
            flow: index % flows,
            sequence: index / flows,
        };
        let mut datagram = Vec::new();
        // Sizes change within a flow as well.
        let size = (index + index / flows) as usize % formats.len();
        formats[size].write_message(id, &mut datagram);
        ethernet.iot_spec(id.flow).build(&datagram)
    };
    let count = whole_rounds(u64::from(flows) * formats.len() as u64, flows);
    Ok((0..count).map(message).collect())
}

fn n_packets(entry: &NPacketEntry, ethernet: &Ethernet) -> Result<Vec<Vec<u8>>, String> {
    let format = format(entry.payload_bytes)?;
    let flag_header = format.message_bytes() - format.payload_bytes();
    let most = (FRAME_MAX - ethernet.headers() - flag_header) / entry.payload_bytes;
    if !(1..=most).contains(&entry.messages) {
        return Err(format!(
            "an N-packet has 1 to {most} messages of {} bytes, not {}: a frame has at most {FRAME_MAX} bytes",
            entry.payload_bytes, entry.messages
        ));
    }
    let packet = |index: u32| {
        let id = |sequence: usize| MessageId {
            flow: 0,
            sequence: index * entry.messages as u32 + sequence as u32,
        };
        let ids: Vec<MessageId> = (0..entry.messages).map(id).collect();
        let mut datagram = Vec::new();
        format.write_aggregate(&ids, &mut datagram);
        ethernet.iot_spec(0).build(&datagram)
    };
    Ok((0..FRAMES).map(packet).collect())
}

/// How many frames are made, so that all flows have as many of them: whole rounds of `period`, in which every flow has
/// every size, or of the flows alone when these are too many.
fn whole_rounds(period: u64, flows: u32) -> u32 {
    match u32::try_from(period) {
        Ok(period) if period <= FRAMES_MAX => period * FRAMES.div_ceil(period),
        _ => flows * (FRAMES_MAX / flows),
    }
}

fn least_common_multiple(one: u32, other: u32) -> u64 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    u64::from(one / divisor) * u64::from(other)
}

/// A number of flows that have addresses.
fn flows(flows: u32) -> Result<u32, String> {
    match flows {
        1..=FLOWS_MAX => Ok(flows),
        _ => Err(format!("flows is {flows}; there are 1 to {FLOWS_MAX}")),
    }
}

fn format(payload_bytes: usize) -> Result<MessageFormat, String> {
    MessageFormat::new(payload_bytes).map_err(|error| error.to_string())
}

/// Payloads of messages.
fn payload_sizes(entry: &SizeEntry) -> Result<Vec<usize>, String> {
    match entry {
        SizeEntry::Fixed(size) => Ok(vec![*size]),
        SizeEntry::Several(sizes) if !sizes.is_empty() => Ok(sizes.clone()),
        _ => Err("a payload's length is a number of bytes, or a list of them".to_string()),
    }
}

/// The lengths of frames with `headers` bytes of headers.
fn sizes(entry: &SizeEntry, headers: usize) -> Result<Vec<usize>, String> {
    entry.sizes(headers..=FRAME_MAX, SIZES_SEED, |size| {
        format!("a UDP frame has {headers} to {FRAME_MAX} bytes, not {size}")
    })
}

/// Bytes that differ from frame to frame.
fn filling(index: u32, length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(index.into());
    (0..length).map(|_| random.next_u64() as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> FrameEntry {
        toml::from_str(text).unwrap()
    }

    fn lengths(text: &str) -> Vec<usize> {
        let frames = frames(&entry(text), |_| Err(String::new())).unwrap();
        frames.iter().map(Vec::len).collect()
    }

    fn mistake(text: &str) -> String {
        frames(&entry(text), |_| Ok(Vec::new())).unwrap_err()
    }

    #[test]
    fn frames_have_the_lengths_that_are_asked_for() {
        let message = lengths("message = { payload_bytes = 16 }");
        assert!(message.iter().all(|length| *length == 64));
        let mixed = lengths("message = { payload_bytes = [12, 20, 31], flows = 100 }");
        let of_length = |length: usize| mixed.iter().filter(|other| **other == 48 + length).count();
        assert_eq!((mixed.len(), of_length(12), of_length(20)), (300, 100, 100));
        let packet = lengths("n-packet = { payload_bytes = 16, messages = 8 }");
        assert!(packet.iter().all(|length| *length == 48 + 8 * 16));
        let fixed = lengths("udp = { bytes = 1500 }");
        assert!(fixed.iter().all(|length| *length == 1500));
        assert!(lengths("udp = { bytes = \"imix\" }").len().is_multiple_of(12));
    }

    #[test]
    fn random_lengths_are_uniform() {
        let made = lengths("udp = { bytes = { from = 60, to = 1514 } }");
        let mean = made.iter().sum::<usize>() as f64 / made.len() as f64;
        assert!((mean - 787.0).abs() < 10.0, "{mean}");
        let few = lengths("udp = { bytes = { from = 100, to = 102 }, flows = 4 }");
        let of_length = |length: usize| few.iter().filter(|other| **other == length).count();
        assert_eq!([100, 101, 102].map(of_length), [few.len() / 3; 3]);
    }

    /// Frames are sent again and again: each flow has as many of them as the others, and of each size its part.
    #[test]
    fn flows_take_turns() {
        for (text, flows) in [
            ("udp = { bytes = 100, flows = 33 }", 33),
            ("udp = { bytes = \"imix\", flows = 10 }", 10),
            ("message = { payload_bytes = 16, flows = 40 }", 40),
            ("message = { payload_bytes = [12, 20], flows = 33 }", 33),
        ] {
            let frames = frames(&entry(text), |_| Err(String::new())).unwrap();
            let of_flow = |flow: u8| frames.iter().filter(|frame| frame[29] == flow).count();
            assert!(frames.len() >= 64, "{text}");
            assert!(
                (0..flows).all(|flow| of_flow(flow) == frames.len() / usize::from(flows)),
                "{text}"
            );
        }
        assert!(
            lengths("udp = { bytes = \"imix\", flows = 100 }")
                .len()
                .is_multiple_of(300)
        );
        assert_eq!(lengths("udp = { bytes = [60, 61, 62], flows = 65_535 }").len(), 65_535);
    }

    #[test]
    fn frames_have_the_addresses_that_are_asked_for() {
        let text = "udp = { bytes = 100 }\nsource_mac = \"02:00:00:00:00:0a\"\ndestination_mac = \"ff:ff:ff:ff:ff:ff\"\nvlan = 7";
        let frames = frames(&entry(text), |_| Err(String::new())).unwrap();
        assert_eq!(frames[0][..6], [0xff; 6]);
        assert_eq!(frames[0][6..16], [2, 0, 0, 0, 0, 0x0a, 0x81, 0x00, 0x00, 0x07]);
        assert_eq!(frames[0].len(), 100, "the tag counts");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("udp = { bytes = \"big\" }", "there is no mix of lengths \"big\""),
            (
                "udp = { bytes = 45 }\nvlan = 1",
                "a UDP frame has 46 to 9000 bytes, not 45",
            ),
            (
                "udp = { bytes = 64 }\nvlan = 4095",
                "vlan is 4095; an identifier is 0 to 4094",
            ),
            (
                "udp = { bytes = 64 }\nsource_mac = \"2:0\"",
                "\"2:0\" is no MAC address",
            ),
            (
                "n-packet = { payload_bytes = 16, messages = 100000 }",
                "an N-packet has 1 to 559 messages of 16 bytes, not 100000",
            ),
            (
                "udp = { bytes = 64, flows = 65537 }",
                "flows is 65537; there are 1 to 65536",
            ),
            (
                "udp = { bytes = { from = 90, to = 60 } }",
                "from 90 to 60: the first is larger",
            ),
            ("udp = { bytes = { from = 60, to = 9001 } }", "to 9000 bytes, not 9001"),
            (
                "message = { payload_bytes = { from = 8, to = 9 } }",
                "or a list of them",
            ),
            ("vlan = 1", "exactly one of udp, message, n-packet and pcap"),
            ("pcap = { file = \"a\" }\nvlan = 1", "are sent as they are"),
        ] {
            let said = mistake(text);
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
