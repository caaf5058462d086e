//! What stands in a scenario file.

use crate::hosts::{FlowEntry, HostEntry, PfcEntry};
use crate::pair::Pair;
use crate::parameters::Put;
use crate::rules::RuleKeys;
use crate::sizes::SizeEntry;
use forebay_chip::Service;
use serde::Deserialize;
use std::fmt;
use toml::Spanned;

/// A mistake in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1, when it is known.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Lines are quoted up to this length.
const LINE_SHOWN_MAX: usize = 120;

impl Problem {
    /// A mistake in a line, when that is known.
    pub fn new(line: Option<usize>, message: impl Into<String>) -> Problem {
        Problem {
            line,
            message: message.into(),
        }
    }

    /// What the TOML reader says of a text, in plain words, with the line that it is about.
    pub fn of_toml(text: &str, error: &toml::de::Error) -> Problem {
        let line = error.span().map(|span| line_of(text, span.start));
        let message = crate::words::plain(error.message());
        let written = line.and_then(|line| text.lines().nth(line - 1)).map(str::trim);
        match written {
            // With the values of parameters put in, which the file does not show.
            Some(written) if (1..=LINE_SHOWN_MAX).contains(&written.len()) => {
                let joint = if message.ends_with('?') { "" } else { ":" };
                Problem::new(line, format!("{message}{joint} `{written}`"))
            }
            _ => Problem::new(line, message),
        }
    }
}

impl Problem {
    /// Says which values were put into its line.
    pub(crate) fn say_values(&mut self, put: &[Put]) {
        let of_line = put.iter().filter(|put| Some(put.line) == self.line);
        let mut values: Vec<String> = of_line
            .map(|put| format!("{} is {}", put.expression, put.value))
            .collect();
        values.dedup();
        if !values.is_empty() {
            self.message = format!("{} ({})", self.message, values.join(", "));
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{line}: {}", self.message),
            None => write!(f, " {}", self.message),
        }
    }
}

/// The line, from 1, of a byte.
pub fn line_of(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

/// A scenario as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is about, in a line.
    pub description: String,
    /// Begins all sequences of random numbers.
    #[serde(default)]
    pub seed: u64,
    /// How long traffic is sent, in microseconds of simulated time.
    pub duration_us: Spanned<f64>,
    /// What comes before is not measured.
    #[serde(default)]
    pub warm_up_us: f64,
    /// How long the network may take to become empty afterwards.
    #[serde(default = "drain_us")]
    pub drain_us: f64,
    /// Values for `${NAME}`: see `parameters`.
    #[serde(default)]
    pub parameters: toml::Table,
    /// The chips.
    #[serde(default)]
    pub(crate) chip: Vec<ChipEntry>,
    /// What joins them.
    #[serde(default)]
    pub(crate) link: Vec<LinkEntry>,
    /// What comes.
    #[serde(default)]
    pub(crate) traffic: Vec<TrafficEntry>,
    /// Hosts, which send and receive by a transport protocol.
    #[serde(default)]
    pub(crate) host: Vec<HostEntry>,
    #[serde(default)]
    pub(crate) flow: Vec<FlowEntry>,
    /// What goes wrong on purpose.
    #[serde(default)]
    pub(crate) fault: Vec<FaultEntry>,
    /// Packets that clocks of the chips make.
    #[serde(default)]
    pub(crate) timer: Vec<TimerEntry>,
    /// What is looked at.
    #[serde(default)]
    pub(crate) measure: MeasureEntry,
    /// How the highest load without loss is searched.
    pub(crate) search: Option<SearchEntry>,
}

impl Scenario {
    /// Microseconds between samples; 0 when none are taken.
    pub fn sample_us(&self) -> f64 {
        self.measure.sample_us
    }

    /// What the experiment that compares it must know: which measures the scenario takes.
    pub fn measures(&self) -> Measures<'_> {
        Measures {
            queues: !self.measure.queues.is_empty(),
            parts: self.frames_per_packet().is_some(),
            messages: *self.measure.messages.get_ref(),
            distances: self.measure.reordering_distances.get_ref(),
        }
    }

    /// Frames that must come out for each packet, when there are several.
    pub(crate) fn frames_per_packet(&self) -> Option<u8> {
        let own = self.measure.frames_per_packet.as_ref().map(|frames| *frames.get_ref());
        let searched = self.search.as_ref().and_then(|search| search.delivered_per_sent);
        let whole = searched.filter(|frames| frames.fract() == 0.0 && (2.0..=255.0).contains(frames));
        own.or(whole.map(|frames| frames as u8)).filter(|frames| *frames > 1)
    }

    /// Whether the scenario does not say how to search.
    pub fn search_is_missing(&self) -> bool {
        self.search.is_none()
    }
}

/// Measures that a scenario takes beside those that are always taken.
#[derive(Clone, Copy, Debug)]
pub struct Measures<'a> {
    /// Whether queues are followed.
    pub queues: bool,
    /// Whether packets that are lost as a whole and in part are counted.
    pub parts: bool,
    /// Whether IoT messages are followed.
    pub messages: bool,
    /// Distances of flows that take turns.
    pub distances: &'a [u32],
}

fn drain_us() -> f64 {
    1_000.0
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[chip]]")]
pub(crate) struct ChipEntry {
    pub(crate) name: Spanned<String>,
    /// Name of a known chip, or a file.
    pub(crate) spec: Spanned<String>,
    pub(crate) program: Spanned<String>,
    #[serde(default)]
    pub(crate) defines: Vec<String>,
    /// Folders in which `#include` of the program looks.
    #[serde(default)]
    pub(crate) include: Vec<String>,
    /// STF files whose commands fill tables.
    #[serde(default)]
    pub(crate) entries: Vec<Spanned<String>>,
    /// STF commands.
    pub(crate) commands: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) engine: EngineEntry,
    /// How many groups of ports there are that carry what those of the scenario carry; one is simulated.
    pub(crate) alike: Option<Spanned<u32>>,
    /// Runs a program that does not fit the chip, for the reason that must be given.
    #[serde(default)]
    pub(crate) ignore_fit: bool,
    pub(crate) ignore_fit_reason: Option<Spanned<String>>,
    /// In place of the chip's own rule; 0: as often as the program likes.
    pub(crate) max_resubmissions: Option<Spanned<u32>>,
    pub(crate) max_resubmissions_reason: Option<Spanned<String>>,
    /// In place of the chip's own rule, bytes that an egress parser can read; 0: all.
    pub(crate) max_egress_bytes: Option<Spanned<u32>>,
    pub(crate) max_egress_bytes_reason: Option<Spanned<String>>,
    /// Registers and meters are those of the whole chip, for the reason that must be given.
    #[serde(default)]
    pub(crate) shared_registers: bool,
    pub(crate) shared_registers_reason: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) port: Vec<PortEntry>,
    /// Priority flow control.
    pub(crate) pfc: Option<PfcEntry>,
}

impl ChipEntry {
    /// The keys that lift rules of the chip.
    pub(crate) fn rule_keys(&self) -> RuleKeys<'_> {
        RuleKeys {
            spec: self.spec.span(),
            program: self.program.span(),
            ignore_fit: self.ignore_fit,
            ignore_fit_reason: self.ignore_fit_reason.as_ref(),
            max_resubmissions: self.max_resubmissions.as_ref(),
            max_resubmissions_reason: self.max_resubmissions_reason.as_ref(),
            max_egress_bytes: self.max_egress_bytes.as_ref(),
            max_egress_bytes_reason: self.max_egress_bytes_reason.as_ref(),
            shared_registers: self.shared_registers,
            shared_registers_reason: self.shared_registers_reason.as_ref(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EngineEntry {
    Interp,
    #[default]
    Jit,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[chip.port]]")]
pub(crate) struct PortEntry {
    /// Ports that are alike.
    pub(crate) numbers: Spanned<Vec<u16>>,
    #[serde(default)]
    pub(crate) loopback: bool,
    #[serde(default)]
    pub(crate) gbps: f64,
    /// Eight strict ones when it is not there.
    pub(crate) queues: Option<Vec<QueueEntry>>,
}

impl PortEntry {
    /// The queues that are written; none when all are the usual ones.
    pub(crate) fn queues(&self) -> &[QueueEntry] {
        self.queues.as_deref().unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a queue, as in { weight = 10, capacity_bytes = 88_000 },"
)]
pub(crate) struct QueueEntry {
    /// Weight of deficit weighted round robin, in the chip's unit; strict priority when neither it nor a quantum is
    /// there.
    pub(crate) weight: Option<u32>,
    /// In place of a weight, bytes a turn.
    pub(crate) quantum_bytes: Option<u32>,
    #[serde(default)]
    pub(crate) capacity_bytes: u64,
}

impl QueueEntry {
    /// The service, on a chip where a unit of weight is worth `bytes_per_weight` bytes.
    pub(crate) fn service(&self, bytes_per_weight: u32) -> Service {
        let by_weight = self.weight.map(|weight| weight.saturating_mul(bytes_per_weight));
        self.quantum_bytes
            .or(by_weight)
            .map_or(Service::Strict, Service::Quantum)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[link]]")]
pub(crate) struct LinkEntry {
    /// `chip:port`.
    pub(crate) from: Spanned<String>,
    pub(crate) to: Spanned<String>,
    #[serde(default)]
    pub(crate) gbps: f64,
    #[serde(default)]
    pub(crate) delay_ns: f64,
    #[serde(default)]
    pub(crate) loss: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[traffic]]")]
pub(crate) struct TrafficEntry {
    pub(crate) name: Spanned<String>,
    /// Ports, each with a stream of its own: `chip:port`.
    pub(crate) to: Spanned<Vec<String>>,
    /// On the wire, each stream.
    pub(crate) gbps: Spanned<f64>,
    #[serde(default)]
    pub(crate) arrivals: ArrivalsEntry,
    pub(crate) frame: Spanned<FrameEntry>,
    /// When it begins.
    #[serde(default)]
    pub(crate) start_us: f64,
    /// When it ends; with the scenario when it is not there.
    pub(crate) stop_us: Option<Spanned<f64>>,
    /// `[time in microseconds, Gbps]`: the rate from then on.
    #[serde(default)]
    pub(crate) steps: Vec<Pair<f64>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[fault]]")]
pub(crate) struct FaultEntry {
    /// On the wire of which port, a loopback port or one with a link: `chip:port`.
    pub(crate) port: Spanned<String>,
    /// Only frames of these lengths, from the first to the second.
    #[serde(default = "any_length")]
    pub(crate) bytes: Pair<u32>,
    pub(crate) loss: Option<f64>,
    pub(crate) duplication: Option<f64>,
    pub(crate) delay: Option<f64>,
    pub(crate) delay_ns: Option<f64>,
}

fn any_length() -> Pair<u32> {
    Pair(0, u32::MAX)
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[timer]]")]
pub(crate) struct TimerEntry {
    /// Where its packets come in: `chip:port`.
    pub(crate) port: Spanned<String>,
    /// From one packet to the next.
    pub(crate) interval_ns: f64,
    /// They are numbered from 0 to this, less one.
    pub(crate) packets: u32,
    /// Whether all of them come once more at the end.
    #[serde(default = "yes")]
    pub(crate) last_round: bool,
}

fn yes() -> bool {
    true
}

/// How the frames of a stream are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalsEntry {
    /// At the rate, each frame up to a frame's time early or late.
    #[default]
    Jittered,
    /// At the rate exactly.
    Constant,
    /// At random.
    Poisson,
    /// A number of frames back to back, then a pause.
    Bursts {
        /// In a burst.
        frames: u32,
    },
    /// Back to back for a time, then a pause that gives the rate; both times are exponentially distributed.
    OnOff {
        /// Mean of the times at line rate, in microseconds.
        on_us: f64,
    },
    /// At the distances that the frames have in their capture file, all of them stretched alike to give the rate.
    Capture,
}

/// What the frames of a stream are: exactly one of the first four.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a frame, as in { udp = { bytes = 64 } },")]
pub(crate) struct FrameEntry {
    pub(crate) udp: Option<UdpEntry>,
    pub(crate) message: Option<MessageEntry>,
    #[serde(rename = "n-packet")]
    pub(crate) n_packet: Option<NPacketEntry>,
    pub(crate) pcap: Option<PcapEntry>,
    /// `02:00:00:00:00:01`.
    pub(crate) source_mac: Option<String>,
    pub(crate) destination_mac: Option<String>,
    /// An IEEE 802.1Q tag with this identifier.
    pub(crate) vlan: Option<u16>,
}

/// IPv4 and UDP, with right checksums.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in { bytes = 64, flows = 100 },")]
pub(crate) struct UdpEntry {
    pub(crate) bytes: SizeEntry,
    #[serde(default = "one")]
    pub(crate) flows: u32,
    #[serde(default = "discard_port")]
    pub(crate) destination_port: u16,
    #[serde(default = "destination")]
    pub(crate) destination: std::net::Ipv4Addr,
}

/// IoT messages: see `forebay_traffic::message`.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table, as in { payload_bytes = 16, flows = 100 },"
)]
pub(crate) struct MessageEntry {
    pub(crate) payload_bytes: SizeEntry,
    #[serde(default = "one")]
    pub(crate) flows: u32,
}

/// N-packets of messages that are all alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table, as in { payload_bytes = 16, messages = 8 },"
)]
pub(crate) struct NPacketEntry {
    pub(crate) payload_bytes: usize,
    pub(crate) messages: usize,
}

/// The frames of a capture file, again and again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in { file = \"frames.pcap\" },")]
pub(crate) struct PcapEntry {
    pub(crate) file: String,
}

fn one() -> u32 {
    1
}

fn discard_port() -> u16 {
    9
}

fn destination() -> std::net::Ipv4Addr {
    std::net::Ipv4Addr::new(10, 0, 2, 2)
}

fn not() -> Spanned<bool> {
    Spanned::new(0..0, false)
}

fn no_distances() -> Spanned<Vec<u32>> {
    Spanned::new(0..0, Vec::new())
}

impl Default for MeasureEntry {
    fn default() -> MeasureEntry {
        MeasureEntry {
            sample_us: 0.0,
            queues: Vec::new(),
            reordering_distances: no_distances(),
            frames_per_packet: None,
            messages: not(),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [measure]")]
pub(crate) struct MeasureEntry {
    /// How often queues and buffers are looked at, and over what time rates are averaged; never when 0.
    #[serde(default)]
    pub(crate) sample_us: f64,
    /// Ports whose queues are followed: `chip:port`.
    #[serde(default)]
    pub(crate) queues: Vec<Spanned<String>>,
    /// Distances at which reordering within interleaved flows is counted: see `reordering`.
    #[serde(default = "no_distances")]
    pub(crate) reordering_distances: Spanned<Vec<u32>>,
    /// Frames that must come out for each packet that goes in: which packets are lost as a whole and which in part is
    /// counted when it is 2 or more. By default `delivered_per_sent` of the search, when that is a whole number.
    pub(crate) frames_per_packet: Option<Spanned<u8>>,
    /// Whether IoT messages are followed one by one: see `messages`.
    #[serde(default = "not")]
    pub(crate) messages: Spanned<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [search]")]
pub(crate) struct SearchEntry {
    /// The least and the highest load that are tried, in Gbps of each stream.
    pub(crate) from_gbps: f64,
    pub(crate) to_gbps: Spanned<f64>,
    /// How close the two ends come, in Gbps.
    pub(crate) tolerance_gbps: Spanned<f64>,
    /// Frames that must come out for each that goes in; when it is not there, only what chips lose counts.
    pub(crate) delivered_per_sent: Option<f64>,
    /// How much of what should come out may be missing, as a share: what is still gathered in the switch at the end.
    #[serde(default)]
    pub(crate) missing_share: f64,
    /// The same as a number of frames; half of one when it is not there.
    pub(crate) missing_frames: Option<f64>,
    /// Runs of each load, with different seeds.
    #[serde(default = "one")]
    pub(crate) seeds: u32,
    /// Searches are repeated until the mean is known with this probability; once when it is not there.
    pub(crate) confidence: Option<Spanned<f64>>,
    /// How well, as a share of the mean.
    pub(crate) within: Option<f64>,
    /// The most searches with trials of one length.
    pub(crate) searches_max: Option<u32>,
    /// Lengths of trials that are tried, each four times the one before, until the mean changes no more.
    pub(crate) lengths_max: Option<u32>,
}

impl SearchEntry {
    /// How well the mean is to be known: a hundredth of it when nothing else is written.
    pub(crate) fn within(&self) -> f64 {
        self.within.unwrap_or(0.01)
    }

    /// Searches with trials of one length: ten when nothing else is written.
    pub(crate) fn searches_max(&self) -> u32 {
        self.searches_max.unwrap_or(10)
    }

    /// Lengths of trials: three when nothing else is written.
    pub(crate) fn lengths_max(&self) -> u32 {
        self.lengths_max.unwrap_or(3)
    }
}
