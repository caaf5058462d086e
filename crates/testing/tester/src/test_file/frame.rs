//! The key `frame` of a stream.

use forebay_sim::SizeEntry;
use serde::Deserialize;

/// What the frames of a stream are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a frame, as in { udp = { bytes = 60 } },")]
pub struct FrameEntry {
    /// UDP over IPv4 or IPv6.
    pub udp: Option<TransportEntry>,
    /// TCP over IPv4 or IPv6.
    pub tcp: Option<TransportEntry>,
    /// IoT messages.
    pub message: Option<MessageEntry>,
    /// The frames of a capture file, in their order.
    pub pcap: Option<String>,
    /// A frame in hexadecimal; filled up to `bytes`.
    pub hex: Option<HexEntry>,
    /// Frames for each way through the program's parser.
    pub parser: Option<ParserEntry>,
    /// `02:00:00:00:00:01`.
    pub source_mac: Option<String>,
    /// `02:00:00:00:00:02`.
    pub destination_mac: Option<String>,
    /// An 802.1Q tag with this identifier.
    pub vlan: Option<u16>,
    /// The tag's priority.
    pub priority: Option<u8>,
}

impl FrameEntry {
    /// Whether it says what stands in the Ethernet header.
    pub fn has_ethernet(&self) -> bool {
        self.source_mac.is_some() || self.destination_mac.is_some() || self.vlan.is_some() || self.priority.is_some()
    }

    /// The same with another length; none when its frames have lengths of their own.
    pub fn resized(&self, bytes: usize) -> Option<FrameEntry> {
        let mut entry = self.clone();
        if let Some(parser) = &mut entry.parser {
            parser.bytes = bytes;
            return Some(entry);
        }
        let size = match (&mut entry.udp, &mut entry.tcp, &mut entry.hex) {
            (Some(transport), ..) | (_, Some(transport), _) => &mut transport.bytes,
            (.., Some(hex)) => &mut hex.bytes,
            _ => return None,
        };
        *size = SizeEntry::Fixed(bytes);
        Some(entry)
    }
}

/// UDP or TCP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in { bytes = 60 },")]
pub struct TransportEntry {
    /// Lengths of frames, without check sequence.
    pub bytes: SizeEntry,
    /// An IPv4 or IPv6 address.
    pub source: Option<String>,
    /// An address of the same kind.
    pub destination: Option<String>,
    /// The source port.
    #[serde(default = "source_port")]
    pub source_port: u16,
    /// The destination port.
    #[serde(default = "destination_port")]
    pub destination_port: u16,
    /// Time to live, or hop limit.
    #[serde(default = "time_to_live")]
    pub time_to_live: u8,
    /// Type of service, or traffic class.
    #[serde(default)]
    pub traffic_class: u8,
}

fn source_port() -> u16 {
    10_000
}

fn destination_port() -> u16 {
    9
}

fn time_to_live() -> u8 {
    64
}

/// IoT messages; see `forebay_traffic::message`.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table, as in { payload_bytes = 16, devices = 10 },"
)]
pub struct MessageEntry {
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Devices that send in turns.
    #[serde(default = "one_device")]
    pub devices: u32,
}

fn one_device() -> u32 {
    1
}

/// A frame in hexadecimal.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table, as in { headers = \"ffff...\", bytes = 60 },"
)]
pub struct HexEntry {
    /// The beginning of each frame.
    pub headers: String,
    /// Lengths of frames.
    pub bytes: SizeEntry,
}

/// Frames for each way through a parser.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in { bytes = 128 },")]
pub struct ParserEntry {
    /// The length of the frames.
    pub bytes: usize,
    /// Frames for each way, with different values in fields that the parser does not look at.
    #[serde(default = "one_variant")]
    pub variants: usize,
}

fn one_variant() -> usize {
    1
}
