//! The test file: what stands in it. `docs/tester.md` describes every key.

mod device;
mod flows;
mod frame;
mod impairment;
mod search;
mod stream;

pub use device::{DeviceEntry, EngineEntry};
pub use flows::{FlowsEntry, OrderEntry, VaryEntry};
use forebay_sim::Problem;
pub use frame::{FrameEntry, HexEntry, MessageEntry, ParserEntry, TransportEntry};
pub use impairment::{DelayEntry, ImpairmentEntry};
pub use search::{CustomGoal, GoalEntry, SearchEntry};
use serde::Deserialize;
use std::net::{Ipv4Addr, Ipv6Addr};
pub use stream::{ArrivalsEntry, RateEntry, ShapeEntry, TrafficEntry};
use toml::Spanned;

/// Keys of a frame's Ethernet header, with an example of each. They are beside `udp` and `tcp`.
const ETHERNET: [(&str, &str); 4] = [
    ("source_mac", "\"02:00:00:00:00:01\""),
    ("destination_mac", "\"02:00:00:00:00:02\""),
    ("vlan", "7"),
    ("priority", "3, vlan = 7"),
];

/// Headers of tables that are written in the other form than is right, and the right one.
const HEADERS: [(&str, &str); 5] = [
    ("[traffic]", "[[traffic]]: a file may have several of these tables"),
    (
        "[impairment]",
        "[[impairment]]: a file may have several of these tables",
    ),
    ("[[device]]", "[device]: a file has one such table"),
    ("[[search]]", "[search]: a file has one such table"),
    ("[[rfc2889]]", "[rfc2889]: a file has one such table"),
];

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
    #[serde(default = "full_scale")]
    pub duration_scale: f64,
}

impl TestFile {
    /// Reads it.
    ///
    /// # Errors
    /// A mistake in its form, with its line.
    pub fn read(text: &str) -> Result<TestFile, Problem> {
        toml::from_str(text).map_err(|error| {
            let problem = Problem::of_toml(text, &error);
            if let Some(right) = right_header(text, problem.line) {
                return Problem::new(problem.line, format!("write {right}"));
            }
            let is_elsewhere = |(key, _): &&(&str, &str)| problem.message.starts_with(&unknown(key));
            match ETHERNET.iter().find(is_elsewhere) {
                Some((key, value)) => {
                    let right = format!("frame = {{ udp = {{ bytes = 60 }}, {key} = {value} }}");
                    let message = format!("{}; it goes beside `udp` or `tcp`: {right}", unknown(key));
                    Problem::new(problem.line, message)
                }
                None => problem,
            }
        })
    }
}

/// How the header in a line should be written; none when there is none, or it is right.
fn right_header(text: &str, line: Option<usize>) -> Option<&'static str> {
    let written = text.lines().nth(line?.checked_sub(1)?)?.trim_start();
    let found = HEADERS.iter().find(|(wrong, _)| written.starts_with(wrong));
    found.map(|(_, right)| *right)
}

/// The beginning of the message about a key that is not known where it is.
fn unknown(key: &str) -> String {
    format!("there is no key `{key}` here")
}

fn full_scale() -> f64 {
    1.0
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

/// Where a stream's frames go when nothing is said.
pub(crate) const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// Where they come from.
pub(crate) const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

/// The same for IPv6.
pub(crate) const SOURCE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
