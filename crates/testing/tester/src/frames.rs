//! The frames of a stream: a template for each flow and size, and which frame is made of which.
//!
//! Frames differ from their templates in the tag alone ([`crate::tag`]), so a frame costs a copy and 18 bytes. Templates
//! that end alike are copied in two parts (`shared_tail.rs`).

use crate::shared_tail::SharedTail;
use crate::tag::{TAG_BYTES, Tag};
use crate::test_file::{
    DESTINATION, FlowsEntry, FrameEntry, HexEntry, OrderEntry, SOURCE, SOURCE_V6, TransportEntry, VaryEntry,
};
use forebay_packet::SplitMix64;
use forebay_sim::SizeEntry;
use forebay_traffic::frame::parse_mac;
use forebay_traffic::{FrameSpec, Network, Transport, VlanTag};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The shortest and the longest frame, without check sequence.
const BYTES_MIN: usize = 14 + TAG_BYTES;
pub(crate) const BYTES_MAX: usize = 9_214;

/// Templates of a stream at most.
pub(crate) const TEMPLATES_MAX: usize = 1 << 21;

/// Frames after which a random order of flows repeats.
const ORDER_FRAMES: usize = 1 << 16;

/// Frames of such an order at most.
const ORDER_FRAMES_MAX: usize = 1 << 24;

/// So near below a whole number of frames a share has reached it.
const ROUNDING: f64 = 1e-9;

/// Values of a transport port.
const PORTS: usize = 1 << 16;

/// The largest VLAN identifier (IEEE 802.1Q, 9.6: 0xfff is reserved).
const VLAN_MAX: u16 = 4094;

/// The frames of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    templates: Vec<Vec<u8>>,
    /// Them as they are sent, where that differs.
    sent: Option<SharedTail>,
    /// Flows, each with a template of every size: that of flow f and size s is f × sizes + s.
    flows: usize,
    sizes: usize,
    /// The flow of each frame, again and again; empty when flows take turns.
    order: Vec<u32>,
}

impl Frames {
    /// These frames in turn; each is a flow of its own.
    pub fn in_turn(templates: Vec<Vec<u8>>) -> Frames {
        Frames {
            flows: templates.len(),
            sent: SharedTail::of(&templates),
            templates,
            sizes: 1,
            order: Vec::new(),
        }
    }

    /// These frames, one for each flow, in the order that the entry says.
    ///
    /// # Errors
    /// When the order has an impossible exponent, in words.
    pub fn in_order(templates: Vec<Vec<u8>>, flows: &FlowsEntry, seed: u64) -> Result<Frames, String> {
        let order = order(flows, templates.len(), seed)?;
        Ok(Frames {
            order,
            ..Frames::in_turn(templates)
        })
    }

    /// Frames of which the first `hits` are those of entries, in the order that the flows say, and the others miss the
    /// table. Of any number of frames the share of misses is as near to that of the flows as whole frames allow; they
    /// are spread evenly.
    ///
    /// # Errors
    /// When the order has an impossible exponent, in words.
    pub fn with_misses(templates: Vec<Vec<u8>>, hits: usize, flows: &FlowsEntry, seed: u64) -> Result<Frames, String> {
        let misses = templates.len() - hits;
        if misses == 0 {
            return Frames::in_order(templates, flows, seed);
        }
        let whole = hits as f64 / (1.0 - flows.misses);
        if whole > ORDER_FRAMES_MAX as f64 {
            return Err(format!(
                "with {hits} entries and a share of misses of {}, each entry is hit once in {whole:.0} frames; {ORDER_FRAMES_MAX} are possible",
                flows.misses
            ));
        }
        let of_hits = order(flows, hits, seed)?;
        let hit = |turn: usize| match of_hits.len() {
            0 => (turn % hits) as u32,
            length => of_hits[turn % length],
        };
        // Whole rounds of all entries, so that each is hit as often as any other when they take turns.
        let rounds = (ORDER_FRAMES as f64 * (1.0 - flows.misses) / hits as f64).ceil() as usize;
        let (hits_sent, share) = (rounds.max(1) * hits, flows.misses / (1.0 - flows.misses));
        let mut order = Vec::new();
        let mut missed = 0;
        for turn in 0..hits_sent {
            order.push(hit(turn));
            while missed < ((turn + 1) as f64 * share + ROUNDING) as usize {
                order.push((hits + missed % misses) as u32);
                missed += 1;
            }
        }
        Ok(Frames {
            order,
            ..Frames::in_turn(templates)
        })
    }

    /// All templates.
    pub fn templates(&self) -> &[Vec<u8>] {
        &self.templates
    }

    /// A template in two parts, of which the second may be empty.
    #[inline]
    pub(crate) fn parts(&self, template: usize) -> (&[u8], &[u8]) {
        match &self.sent {
            Some(sent) => sent.parts(template),
            None => (&self.templates[template], &[]),
        }
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows
    }

    /// The flow of the frame with this number.
    #[inline]
    pub fn flow_of(&self, number: u64) -> usize {
        match self.order.len() as u64 {
            0 if self.flows == 1 => 0,
            0 => (number % self.flows as u64) as usize,
            length => self.order[(number % length) as usize] as usize,
        }
    }

    /// The template of the frame with this number.
    #[inline]
    pub fn template_of(&self, number: u64) -> usize {
        let flow = self.flow_of(number);
        if self.sizes == 1 {
            return flow;
        }
        // Each flow goes through all sizes, one after another; the first frames of flows have different ones.
        let size = if self.order.is_empty() {
            number % self.flows as u64 + number / self.flows as u64
        } else {
            number
        };
        flow * self.sizes + (size % self.sizes as u64) as usize
    }

    /// Bytes of a frame on average.
    pub fn mean_bytes(&self) -> f64 {
        let bytes: usize = self.templates.iter().map(Vec::len).sum();
        bytes as f64 / self.templates.len() as f64
    }
}

/// The frames of an entry.
///
/// # Errors
/// When a length or an address is impossible, in words.
pub fn frames(entry: &FrameEntry, flows: Option<&FlowsEntry>, seed: u64) -> Result<Frames, String> {
    match (&entry.udp, &entry.tcp, &entry.hex) {
        (Some(udp), None, None) => transport_frames(entry, udp, Kind::Udp, flows, seed),
        (None, Some(tcp), None) => transport_frames(entry, tcp, Kind::Tcp, flows, seed),
        (None, None, Some(hex)) => hex_frames(hex, flows, seed),
        _ => Err(ONE_KIND.to_string()),
    }
}

/// What is wrong when a frame is of no kind, or of several.
pub const ONE_KIND: &str =
    "a frame is exactly one of udp, tcp, message, pcap, hex and parser, as in { udp = { bytes = 60 } }";

/// The frames of a capture file. Their last bytes become the tag.
///
/// # Errors
/// When one of them is too short for a tag.
pub fn captured(frames: Vec<Vec<u8>>) -> Result<Frames, String> {
    if frames.is_empty() {
        return Err("the capture file has no frames".to_string());
    }
    let short = frames.iter().position(|frame| frame.len() < BYTES_MIN);
    if let Some(at) = short {
        return Err(format!(
            "frame {} of the capture file has {} bytes; with the tag of {TAG_BYTES} bytes, in place of its last, it needs {BYTES_MIN}",
            at + 1,
            frames[at].len()
        ));
    }
    Ok(Frames::in_turn(frames))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Udp,
    Tcp,
}

fn transport_frames(
    entry: &FrameEntry,
    transport: &TransportEntry,
    kind: Kind,
    flows: Option<&FlowsEntry>,
    seed: u64,
) -> Result<Frames, String> {
    let spec = spec(entry, transport, kind)?;
    let sizes = sizes(&transport.bytes, spec.header_bytes() + TAG_BYTES, seed)?;
    let count = flow_count(flows, sizes.len())?;
    let order = flows.map_or(Ok(Vec::new()), |flows| order(flows, count, seed))?;
    let vary = flows.and_then(|flows| flows.vary).unwrap_or_default();
    if matches!(vary, VaryEntry::SourcePort | VaryEntry::DestinationPort) && count > PORTS {
        return Err(format!("{count} flows that differ in a port; it has {PORTS} values"));
    }
    let mut templates = Vec::with_capacity(count * sizes.len());
    for flow in 0..count {
        let spec = varied(&spec, vary, flow as u32);
        templates.extend(sizes.iter().map(|size| build(&spec, *size)));
    }
    Ok(Frames {
        flows: count,
        sizes: sizes.len(),
        order,
        ..Frames::in_turn(templates)
    })
}

/// How many flows there are.
fn flow_count(flows: Option<&FlowsEntry>, sizes: usize) -> Result<usize, String> {
    let count = flows.and_then(|flows| flows.count).unwrap_or(1) as usize;
    match count * sizes {
        0 => Err("there are 0 flows; a stream has at least one".to_string()),
        1..=TEMPLATES_MAX => Ok(count),
        many => Err(format!(
            "{count} flows of {sizes} sizes are {many} different frames; {TEMPLATES_MAX} are possible"
        )),
    }
}

/// A template. The sum of its tag is that of all tags, so its checksum is that of all frames.
fn build(spec: &FrameSpec, bytes: usize) -> Vec<u8> {
    let mut payload = vec![0; bytes - spec.header_bytes()];
    TEMPLATE_TAG.write(&mut payload);
    spec.build(&payload)
}

/// What stands in the place of the tag in templates.
pub(crate) const TEMPLATE_TAG: Tag = Tag {
    trial: 0,
    stream: 0,
    number: 0,
    intended_ns: 0,
    lateness_ns: 0,
};

fn hex_frames(entry: &HexEntry, flows: Option<&FlowsEntry>, seed: u64) -> Result<Frames, String> {
    if flows.is_some() {
        return Err("frames in hexadecimal have no flows; give several streams".to_string());
    }
    let headers = parse_hex(&entry.headers)?;
    let sizes = sizes(&entry.bytes, headers.len() + TAG_BYTES, seed)?;
    let frame = |size: &usize| {
        let mut frame = headers.clone();
        frame.resize(*size, 0);
        frame
    };
    let mut frames = Frames::in_turn(sizes.iter().map(frame).collect());
    (frames.flows, frames.sizes) = (1, sizes.len());
    Ok(frames)
}

/// Bytes in hexadecimal; blanks do not matter.
pub(crate) fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
        }
        _ => Err("headers are whole bytes in hexadecimal, two digits each".to_string()),
    }
}

/// The lengths of an entry. None is shorter than `least`.
fn sizes(entry: &SizeEntry, least: usize, seed: u64) -> Result<Vec<usize>, String> {
    entry.sizes(least..=BYTES_MAX, seed, |size| {
        format!(
            "a frame of {size} bytes; with these headers and the tag of {TAG_BYTES} bytes it has {least} to {BYTES_MAX} (without check sequence)"
        )
    })
}

/// The exponent of Zipf's distribution when the file has none: flow n sends a share of 1/n.
const ZIPF_EXPONENT: f64 = 1.0;

/// The order in which `count` flows send; empty when they take turns.
fn order(flows: &FlowsEntry, count: usize, seed: u64) -> Result<Vec<u32>, String> {
    let mut random = SplitMix64::new(seed ^ 0x666c_6f77);
    let frames = ORDER_FRAMES.max(4 * count).next_power_of_two();
    let exponent = flows.exponent.unwrap_or(ZIPF_EXPONENT);
    let order = match flows.order {
        OrderEntry::RoundRobin | OrderEntry::Random if flows.exponent.is_some() => {
            return Err("exponent goes with order = \"zipf\"; leave it out".to_string());
        }
        OrderEntry::RoundRobin => Vec::new(),
        OrderEntry::Random => (0..frames).map(|_| (random.uniform() * count as f64) as u32).collect(),
        OrderEntry::Zipf if !(exponent > 0.0 && exponent <= 10.0) => {
            return Err(format!(
                "the exponent is {exponent}; it must be more than 0 and at most 10"
            ));
        }
        OrderEntry::Zipf => {
            let shares = zipf(count, exponent);
            let draw = |random: &mut SplitMix64| {
                let at = random.uniform();
                shares.partition_point(|share| *share < at).min(count - 1) as u32
            };
            (0..frames).map(|_| draw(&mut random)).collect()
        }
    };
    Ok(order)
}

/// The cumulated shares of Zipf's distribution.
pub(crate) fn zipf(count: usize, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let cumulate = |weight: f64| {
        sum += weight / total;
        sum
    };
    weights.into_iter().map(cumulate).collect()
}

fn spec(entry: &FrameEntry, transport: &TransportEntry, kind: Kind) -> Result<FrameSpec, String> {
    let mac_or = |text: &Option<String>, default| text.as_deref().map_or(Ok(default), mac);
    if let Some(vlan) = entry.vlan.filter(|vlan| *vlan > VLAN_MAX) {
        return Err(format!("vlan is {vlan}; an identifier is 0 to {VLAN_MAX}"));
    }
    if entry.priority.is_some_and(|priority| priority > 7) || entry.priority.is_some() && entry.vlan.is_none() {
        return Err("priority is 0 to 7, and goes with a vlan".to_string());
    }
    Ok(FrameSpec {
        source_mac: mac_or(&entry.source_mac, [2, 0, 0, 0, 0, 1])?,
        destination_mac: mac_or(&entry.destination_mac, [2, 0, 0, 0, 0, 0xfe])?,
        vlan: entry.vlan.map(|identifier| VlanTag {
            identifier,
            priority: entry.priority.unwrap_or(0),
        }),
        network: network(transport)?,
        transport: match kind {
            Kind::Udp => Transport::Udp {
                source: transport.source_port,
                destination: transport.destination_port,
            },
            Kind::Tcp => Transport::Tcp {
                source: transport.source_port,
                destination: transport.destination_port,
                sequence: 0,
                acknowledgment: 0,
                flags: 0x10,
                window: 0xffff,
            },
        },
    })
}

fn network(entry: &TransportEntry) -> Result<Network, String> {
    let parse = |text: &Option<String>| match text {
        Some(text) => match text.parse::<IpAddr>() {
            Ok(address) => Ok(Some(address)),
            Err(_) => Err(format!("{text:?} is no IPv4 or IPv6 address")),
        },
        None => Ok(None),
    };
    let (source, destination) = (parse(&entry.source)?, parse(&entry.destination)?);
    match (source, destination) {
        (None | Some(IpAddr::V4(_)), None | Some(IpAddr::V4(_))) => Ok(ipv4(entry, source, destination)),
        (None | Some(IpAddr::V6(_)), Some(IpAddr::V6(destination))) => Ok(ipv6(entry, source, destination)),
        _ => Err("source and destination are both IPv4 addresses, or both IPv6 addresses".to_string()),
    }
}

fn ipv4(entry: &TransportEntry, source: Option<IpAddr>, destination: Option<IpAddr>) -> Network {
    let of = |address, default| match address {
        Some(IpAddr::V4(address)) => address,
        _ => default,
    };
    Network::Ipv4 {
        source: of(source, SOURCE),
        destination: of(destination, DESTINATION),
        time_to_live: entry.time_to_live,
        identification: 0,
        traffic_class: entry.traffic_class,
    }
}

fn ipv6(entry: &TransportEntry, source: Option<IpAddr>, destination: Ipv6Addr) -> Network {
    Network::Ipv6 {
        source: match source {
            Some(IpAddr::V6(source)) => source,
            _ => SOURCE_V6,
        },
        destination,
        hop_limit: entry.time_to_live,
        traffic_class: entry.traffic_class,
        flow_label: 0,
    }
}

/// `02:00:00:00:00:01`.
fn mac(text: &str) -> Result<[u8; 6], String> {
    parse_mac(text).ok_or_else(|| format!("{text:?} is no MAC address; write one as \"02:00:00:00:00:01\""))
}

/// The headers of a flow.
fn varied(spec: &FrameSpec, vary: VaryEntry, flow: u32) -> FrameSpec {
    let mut spec = spec.clone();
    match vary {
        VaryEntry::Source | VaryEntry::Destination => vary_address(&mut spec.network, vary, flow),
        VaryEntry::SourcePort | VaryEntry::DestinationPort => vary_port(&mut spec.transport, vary, flow),
        VaryEntry::SourceMac => count_up(&mut spec.source_mac, flow),
        VaryEntry::DestinationMac => count_up(&mut spec.destination_mac, flow),
    }
    spec
}

fn vary_address(network: &mut Network, vary: VaryEntry, flow: u32) {
    match network {
        Network::Ipv4 {
            source, destination, ..
        } => {
            let address = if vary == VaryEntry::Source { source } else { destination };
            *address = Ipv4Addr::from(u32::from(*address).wrapping_add(flow));
        }
        Network::Ipv6 {
            source, destination, ..
        } => {
            let address = if vary == VaryEntry::Source { source } else { destination };
            *address = Ipv6Addr::from(u128::from(*address).wrapping_add(u128::from(flow)));
        }
    }
}

fn vary_port(transport: &mut Transport, vary: VaryEntry, flow: u32) {
    let (Transport::Udp { source, destination }
    | Transport::Tcp {
        source, destination, ..
    }) = transport
    else {
        return;
    };
    let port = if vary == VaryEntry::SourcePort {
        source
    } else {
        destination
    };
    *port = port.wrapping_add(flow as u16);
}

fn count_up(address: &mut [u8; 6], flow: u32) {
    let mut wide = [0; 8];
    wide[2..].copy_from_slice(address);
    let counted = u64::from_be_bytes(wide).wrapping_add(flow.into());
    address.copy_from_slice(&counted.to_be_bytes()[2..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_traffic::inspect;

    fn entry(text: &str) -> (FrameEntry, Option<FlowsEntry>) {
        #[derive(serde::Deserialize)]
        struct Both {
            frame: FrameEntry,
            flows: Option<FlowsEntry>,
        }
        let both: Both = toml::from_str(text).expect("an entry");
        (both.frame, both.flows)
    }

    fn made(text: &str) -> Result<Frames, String> {
        let (frame, flows) = entry(text);
        frames(&frame, flows.as_ref(), 1)
    }

    #[test]
    fn checksums_hold_whatever_the_tag() {
        for network in ["", ", destination = \"2001:db8::5\""] {
            for (kind, bytes) in [("udp", 97), ("tcp", 142), ("udp", 1514)] {
                let made = made(&format!("frame = {{ {kind} = {{ bytes = {bytes}{network} }} }}")).expect("frames");
                let mut frame = made.templates()[0].clone();
                let tag = Tag {
                    trial: 9,
                    stream: 200,
                    number: 12_345_678,
                    intended_ns: 987_654_321,
                    lateness_ns: 55_555,
                };
                tag.write(&mut frame);
                assert_eq!(frame.len(), bytes);
                inspect(&frame).unwrap_or_else(|fault| panic!("{kind} {bytes}{network}: {fault}"));
            }
        }
    }

    #[test]
    fn the_shortest_ethernet_frame_has_room() {
        assert!(made("frame = { udp = { bytes = 60 } }").is_ok());
        let error = made("frame = { udp = { bytes = 59 } }").expect_err("too short");
        assert!(error.contains("it has 60 to 9214"), "{error}");
        let error = made("frame = { tcp = { bytes = 60 } }").expect_err("too short");
        assert!(error.contains("72"), "{error}");
    }

    #[test]
    fn sizes_change_within_every_flow() {
        for flows in 1..=13 {
            let text = format!("frame = {{ udp = {{ bytes = \"imix\" }} }}\nflows = {{ count = {flows} }}");
            let made = made(&text).expect("frames");
            let mut seen = std::collections::BTreeMap::<(usize, usize), u32>::new();
            for number in 0..1_200 * flows as u64 {
                let bytes = made.templates()[made.template_of(number)].len();
                *seen.entry((made.flow_of(number), bytes)).or_default() += 1;
            }
            for flow in 0..flows {
                let of_flow = [60, 590, 1514].map(|bytes| seen.get(&(flow, bytes)).copied());
                assert_eq!(of_flow, [Some(700), Some(400), Some(100)], "flow {flow} of {flows}");
            }
        }
    }

    #[test]
    fn zipf_prefers_the_first_flows() {
        let text = "frame = { udp = { bytes = 60 } }\nflows = { count = 100, order = \"zipf\" }";
        let made = made(text).expect("frames");
        let of = |flow| (0..1 << 16).filter(|number| made.flow_of(*number) == flow).count() as f64;
        let ratio = of(0) / of(9);
        assert!((9.0..11.2).contains(&ratio), "{ratio}");
        assert_eq!(made, super::tests::made(text).expect("frames"), "the seed decides");
    }

    #[test]
    fn too_many_flows_are_refused_before_their_order_is_made() {
        for order in ["round-robin", "random", "zipf"] {
            let text =
                format!("frame = {{ udp = {{ bytes = 60 }} }}\nflows = {{ count = 4294967295, order = \"{order}\" }}");
            let error = made(&text).expect_err("64 GiB");
            assert!(error.ends_with("2097152 are possible"), "{error}");
        }
    }

    #[test]
    fn what_differs_between_flows() {
        let text =
            "frame = { udp = { bytes = 60, source = \"10.0.0.255\" } }\nflows = { count = 2, vary = \"source\" }";
        let made = made(text).expect("frames");
        assert_eq!(made.templates()[1][26..30], [10, 0, 1, 0]);
        assert!(made.templates().iter().all(|frame| inspect(frame).is_ok()));
    }

    #[test]
    fn random_lengths_are_uniform() {
        let made = made("frame = { udp = { bytes = { from = 60, to = 1514 } } }").expect("frames");
        assert!((made.mean_bytes() - 787.0).abs() < 10.0, "{}", made.mean_bytes());
        assert!(super::tests::made("frame = { udp = { bytes = { from = 90, to = 60 } } }").is_err());
        // Four times as many as there are lengths is 2^64.
        let error = super::tests::made("frame = { udp = { bytes = { from = 60, to = 4611686018427387963 } } }");
        assert!(error.is_err_and(|error| error.starts_with("a frame of 4611686018427387963 bytes")));
    }
}
