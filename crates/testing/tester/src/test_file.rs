//! The test file: what stands in it. `docs/tester.md` describes every key.

use crate::search::Goal;
use crate::search::goal::NAMES;
use forebay_sim::suggestion;
use serde::Deserialize;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use toml::Spanned;

/// A test file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestFile {
    /// What it is about, in a line.
    pub description: String,
    /// Begins all sequences of random numbers.
    #[serde(default)]
    pub seed: u64,
    /// How long frames are sent and measured, in seconds.
    pub duration_s: Spanned<f64>,
    /// How long frames are sent before.
    #[serde(default)]
    pub warm_up_s: f64,
    /// How long the last frames may take.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Trials of the same kind, one after another.
    #[serde(default = "one")]
    pub trials: Spanned<u32>,
    /// Frames that are sent at once at most.
    #[serde(default = "burst")]
    pub burst: Spanned<usize>,
    /// Seconds between samples of rates.
    #[serde(default = "sample_s")]
    pub sample_s: f64,
    /// A pause of the tester that is longer disturbs what is measured.
    #[serde(default = "disturbance_us")]
    pub disturbance_us: f64,
    /// What is between the ports.
    #[serde(default)]
    pub device: DeviceEntry,
    /// What is sent.
    #[serde(default)]
    pub traffic: Vec<TrafficEntry>,
    /// What goes wrong on purpose with frames that come back.
    #[serde(default)]
    pub impairment: Vec<ImpairmentEntry>,
    /// What is searched.
    #[serde(default)]
    pub search: SearchEntry,
    /// The bridge for the tests of RFC 2889, which need no traffic of the file.
    pub rfc2889: Option<Spanned<BridgeEntry>>,
}

/// A bridge that learns, and how far it is tested.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [rfc2889]")]
pub struct BridgeEntry {
    /// Behind this port are the addresses that are learned.
    pub learning_port: u32,
    /// From this port frames are sent to them.
    pub test_port: u32,
    /// By this port nothing may come out once they are learned.
    pub monitoring_port: u32,
    /// Addresses at most.
    pub addresses_max: u64,
    /// How fast addresses are taught when their number is searched, and frames are sent to them.
    pub learning_pps: f64,
    /// The highest rate that is tried.
    pub pps_max: f64,
    /// Length of frames without check sequence.
    #[serde(default = "bridge_bytes")]
    pub frame_bytes: usize,
    /// How long a bridge between interfaces takes to forget.
    #[serde(default)]
    pub ageing_s: f64,
    /// Makes the trials with broadcast frames shorter.
    #[serde(default = "full")]
    pub duration_scale: f64,
}

fn bridge_bytes() -> usize {
    60
}

fn drain_s() -> f64 {
    0.2
}

fn sample_s() -> f64 {
    0.1
}

fn disturbance_us() -> f64 {
    100.0
}

fn burst() -> Spanned<usize> {
    Spanned::new(0..0, 8)
}

fn one() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

/// What the tester is connected with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [device]")]
pub struct DeviceEntry {
    /// A P4 program that runs in the tester's process.
    pub program: Option<Spanned<String>>,
    /// Macros for it.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Files of its table entries.
    #[serde(default)]
    pub entries: Vec<Spanned<String>>,
    /// STF commands that fill its tables.
    pub commands: Option<Spanned<String>>,
    /// What executes it.
    #[serde(default)]
    pub engine: EngineEntry,
    /// Interfaces, with the numbers by which traffic names them: `1@veth0`.
    #[serde(default)]
    pub interfaces: Vec<Spanned<String>>,
    /// Where the switch between the interfaces serves its metrics: `HOST:PORT`.
    pub metrics: Option<Spanned<String>>,
    /// Ports of the program beside those that traffic names.
    #[serde(default)]
    pub ports: Vec<Spanned<u32>>,
    /// Nothing: what is sent comes back by the port `to`.
    #[serde(default)]
    pub wire: bool,
    /// A chip of the timed model runs the program, in simulated time.
    pub chip: Option<Spanned<String>>,
    /// Bytes that a queue of the chip holds.
    pub queue_bytes: Option<u64>,
    /// Times a program that does not fit the chip, for the reason that must be given.
    #[serde(default)]
    pub ignore_fit: bool,
    /// The reason.
    pub ignore_fit_reason: Option<Spanned<String>>,
    /// In place of the chip's own rule; 0: as often as the program likes.
    pub max_resubmissions: Option<Spanned<u32>>,
    /// The reason.
    pub max_resubmissions_reason: Option<Spanned<String>>,
    /// In place of the chip's own rule, bytes that an egress parser can read; 0: all.
    pub max_egress_bytes: Option<Spanned<u32>>,
    /// The reason.
    pub max_egress_bytes_reason: Option<Spanned<String>>,
    /// Registers and meters are those of the whole chip, for the reason that must be given.
    #[serde(default)]
    pub shared_registers: bool,
    /// The reason.
    pub shared_registers_reason: Option<Spanned<String>>,
    /// Compare each packet with what the reference executor says.
    #[serde(default)]
    pub check: bool,
    /// Packets that the device keeps for a port at most, in memory.
    #[serde(default = "queue_packets")]
    pub queue_packets: Spanned<usize>,
}

fn queue_packets() -> Spanned<usize> {
    Spanned::new(0..0, 4096)
}

impl Default for DeviceEntry {
    fn default() -> DeviceEntry {
        DeviceEntry {
            program: None,
            defines: Vec::new(),
            entries: Vec::new(),
            commands: None,
            engine: EngineEntry::default(),
            interfaces: Vec::new(),
            metrics: None,
            ports: Vec::new(),
            wire: false,
            chip: None,
            queue_bytes: None,
            ignore_fit: false,
            ignore_fit_reason: None,
            max_resubmissions: None,
            max_resubmissions_reason: None,
            max_egress_bytes: None,
            max_egress_bytes_reason: None,
            shared_registers: false,
            shared_registers_reason: None,
            check: false,
            queue_packets: queue_packets(),
        }
    }
}

/// What executes a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineEntry {
    /// The reference executor.
    Interp,
    /// Machine code.
    #[default]
    Jit,
}

/// A stream.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[traffic]]")]
pub struct TrafficEntry {
    /// What it is called.
    pub name: Spanned<String>,
    /// The port it is sent by.
    pub from: Spanned<u32>,
    /// The port where it is expected; anywhere when it is not there.
    pub to: Option<Spanned<u32>>,
    /// Frames a second.
    pub pps: Option<Spanned<RateEntry>>,
    /// Bits a second on the wire, in 10^9.
    pub gbps: Option<Spanned<f64>>,
    /// Bits a second on the wire, in 10^6.
    pub mbps: Option<Spanned<f64>>,
    /// How frames follow one another.
    #[serde(default = "constant")]
    pub arrivals: Spanned<ArrivalsEntry>,
    /// The rate over time.
    pub shape: Option<Spanned<ShapeEntry>>,
    /// What its frames are.
    pub frame: Spanned<FrameEntry>,
    /// Its flows.
    pub flows: Option<Spanned<FlowsEntry>>,
}

fn constant() -> Spanned<ArrivalsEntry> {
    Spanned::new(0..0, ArrivalsEntry::Constant)
}

/// A rate in frames a second, or the highest that is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateEntry {
    /// A number per second.
    Fixed(f64),
    /// As many as the tester can send. There are no intended times then.
    Max,
}

impl<'de> Deserialize<'de> for RateEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<RateEntry, D::Error> {
        deserializer.deserialize_any(RateVisitor)
    }
}

struct RateVisitor;

impl serde::de::Visitor<'_> for RateVisitor {
    type Value = RateEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number of frames a second, or \"max\"")
    }

    fn visit_i64<E: serde::de::Error>(self, rate: i64) -> Result<RateEntry, E> {
        Ok(RateEntry::Fixed(rate as f64))
    }

    fn visit_f64<E: serde::de::Error>(self, rate: f64) -> Result<RateEntry, E> {
        Ok(RateEntry::Fixed(rate))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<RateEntry, E> {
        match name {
            "max" => Ok(RateEntry::Max),
            _ => Err(E::custom(format!("a rate is a number, or \"max\", not {name:?}"))),
        }
    }
}

/// How frames follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalsEntry {
    /// At equal distances.
    #[default]
    Constant,
    /// At exponential distances.
    Poisson,
    /// A number at once.
    Bursts {
        /// Frames of a burst.
        frames: u32,
    },
}

/// The rate over time: exactly one of these.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a shape, as in { on_s = 0.1, off_s = 0.4 },")]
pub struct ShapeEntry {
    /// Seconds at full rate.
    pub on_s: Option<f64>,
    /// Seconds without frames, after those.
    pub off_s: Option<f64>,
    /// `[second, factor]`: the factor from then on.
    pub steps: Option<Vec<(f64, f64)>>,
    /// `[second, factor]`: the factor changes linearly from one to the next.
    pub ramp: Option<Vec<(f64, f64)>>,
}

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
    /// Their length.
    pub bytes: usize,
    /// Frames for each way, with different values in fields that the parser does not look at.
    #[serde(default = "one_variant")]
    pub variants: usize,
}

fn one_variant() -> usize {
    1
}

/// Lengths in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeEntry {
    /// All alike.
    Fixed(usize),
    /// By name: `imix`.
    Named(String),
    /// Some in turn.
    Several(Vec<usize>),
    /// Uniformly distributed, both ends included.
    Random {
        /// The shortest.
        from: usize,
        /// The longest.
        to: usize,
    },
}

impl<'de> Deserialize<'de> for SizeEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SizeEntry, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl<'de> serde::de::Visitor<'de> for SizeVisitor {
    type Value = SizeEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number of bytes, a list of them, { from = 60, to = 1514 }, or \"imix\"")
    }

    fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<SizeEntry, E> {
        let bytes = usize::try_from(bytes);
        bytes
            .map(SizeEntry::Fixed)
            .map_err(|_| E::custom("a length is not negative"))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<SizeEntry, E> {
        Ok(SizeEntry::Named(name.to_string()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut elements: A) -> Result<SizeEntry, A::Error> {
        let mut sizes = Vec::new();
        while let Some(size) = elements.next_element()? {
            sizes.push(size);
        }
        Ok(SizeEntry::Several(sizes))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<SizeEntry, A::Error> {
        let range = Range::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(SizeEntry::Random {
            from: range.from,
            to: range.to,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: usize,
    to: usize,
}

/// The flows of a stream.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "flows, as in { count = 1000, vary = \"destination\" },"
)]
pub struct FlowsEntry {
    /// How many.
    pub count: Option<u32>,
    /// In place of a number, a table: a flow for each of its entries.
    pub entries: Option<String>,
    /// The share of flows that hit no entry.
    #[serde(default)]
    pub misses: f64,
    /// What differs between them.
    #[serde(default)]
    pub vary: VaryEntry,
    /// In what order they send.
    #[serde(default)]
    pub order: OrderEntry,
    /// The exponent of `order = "zipf"`, 1 when it is not there; other orders have none.
    pub exponent: Option<f64>,
}

/// What differs between flows: counted up from the value of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VaryEntry {
    /// The source address.
    Source,
    /// The destination address.
    #[default]
    Destination,
    /// The source port.
    SourcePort,
    /// The destination port.
    DestinationPort,
    /// The source MAC address.
    SourceMac,
    /// The destination MAC address.
    DestinationMac,
}

/// In what order flows send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderEntry {
    /// In turns.
    #[default]
    RoundRobin,
    /// Each frame is of a random flow.
    Random,
    /// Random, flow n with a share of 1/n to the power of the exponent.
    Zipf,
}

/// What goes wrong on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[impairment]]")]
pub struct ImpairmentEntry {
    /// The port where the frames come back.
    pub port: Spanned<u32>,
    /// The share that is lost.
    #[serde(default)]
    pub loss: f64,
    /// The share that comes twice.
    #[serde(default)]
    pub duplication: f64,
    /// The share that is held until others have passed.
    #[serde(default)]
    pub reordering: f64,
    /// How many others.
    #[serde(default = "reordering_by")]
    pub reordering_by: u32,
    /// How long frames take.
    pub delay: Option<DelayEntry>,
}

fn reordering_by() -> u32 {
    3
}

/// How long frames take: exactly one of these.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a delay, as in { constant_us = 50 },")]
pub struct DelayEntry {
    /// Always the same, in microseconds.
    pub constant_us: Option<f64>,
    /// Between these two.
    pub uniform_us: Option<(f64, f64)>,
    /// With this mean.
    pub exponential_us: Option<f64>,
}

/// What a search looks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [search]")]
pub struct SearchEntry {
    /// The least load that is tried, in frames a second of all streams together.
    pub min_pps: Option<Spanned<f64>>,
    /// The highest load that is tried.
    pub max_pps: Option<Spanned<f64>>,
    /// What is searched: `ndr`, `pdr`, `rfc2544`, `tst009`, or tables with numbers of their own.
    #[serde(default)]
    pub goals: Vec<Spanned<GoalEntry>>,
    /// Lengths of frames for the tests of RFC 2544, in place of those of the streams.
    #[serde(default)]
    pub frame_bytes: Vec<Spanned<usize>>,
    /// Makes all durations of goals shorter.
    #[serde(default = "full")]
    pub duration_scale: f64,
    /// The longest time that a search may take, in seconds.
    pub time_limit_s: Option<Spanned<f64>>,
}

impl Default for SearchEntry {
    fn default() -> SearchEntry {
        SearchEntry {
            min_pps: None,
            max_pps: None,
            goals: Vec::new(),
            frame_bytes: Vec::new(),
            duration_scale: full(),
            time_limit_s: None,
        }
    }
}

fn full() -> f64 {
    1.0
}

/// A goal of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum GoalEntry {
    /// One that has a name.
    Named(String),
    /// One with numbers of its own.
    Custom(CustomGoal),
}

impl<'de> Deserialize<'de> for GoalEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<GoalEntry, D::Error> {
        deserializer.deserialize_any(GoalVisitor)
    }
}

struct GoalVisitor;

impl<'de> serde::de::Visitor<'de> for GoalVisitor {
    type Value = GoalEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a goal, or { name = \"mine\", loss_ratio = 0.001, ... }")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<GoalEntry, E> {
        Ok(GoalEntry::Named(name.to_string()))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<GoalEntry, A::Error> {
        let goal = CustomGoal::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(GoalEntry::Custom(goal))
    }
}

impl GoalEntry {
    /// The goals that it names.
    ///
    /// # Errors
    /// When there are none of this name, or its numbers contradict each other, in words.
    pub fn resolved(&self) -> Result<Vec<Goal>, String> {
        match self {
            GoalEntry::Custom(goal) => Goal::custom(goal).map(|goal| vec![goal]),
            GoalEntry::Named(name) => Goal::named(name)
                .ok_or_else(|| format!("there is no goal {name:?}{}", suggestion(name, NAMES.iter().copied()))),
        }
    }
}

impl SearchEntry {
    /// All goals, NDR and PDR when none is named, with scaled durations.
    ///
    /// # Errors
    /// As [`GoalEntry::resolved`].
    pub fn resolved(&self) -> Result<Vec<Goal>, String> {
        let mut goals = Vec::new();
        for goal in &self.goals {
            goals.extend(goal.get_ref().resolved()?);
        }
        if goals.is_empty() {
            goals = Goal::named("csit").unwrap_or_default();
        }
        Ok(goals.into_iter().map(|goal| goal.scaled(self.duration_scale)).collect())
    }
}

/// The numbers of a goal; see RFC draft MLRsearch, "Search Goal".
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomGoal {
    /// What it is called.
    pub name: String,
    /// The share of frames that may be lost in a good trial.
    #[serde(default)]
    pub loss_ratio: f64,
    /// The share of the time in trials with more loss at which a load is still good.
    #[serde(default)]
    pub exceed_ratio: f64,
    /// The shortest trial.
    #[serde(default = "second")]
    pub initial_trial_s: f64,
    /// The trials that decide.
    #[serde(default = "second")]
    pub final_trial_s: f64,
    /// How much time of trials decides.
    #[serde(default = "second")]
    pub duration_sum_s: f64,
    /// How near the bounds come, as a share of the load.
    #[serde(default = "width")]
    pub width: f64,
}

fn second() -> f64 {
    1.0
}

fn width() -> f64 {
    0.005
}

/// Where a stream's frames go when nothing is said.
pub(crate) const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// Where they come from.
pub(crate) const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

/// The same for IPv6.
pub(crate) const SOURCE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
