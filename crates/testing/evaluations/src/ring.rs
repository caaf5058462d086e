//! The ring of the aggregation paper: the highest load of messages that comes back whole.
//!
//! ```text
//!   tester ── messages ──► aggregation ── N-packets ──► disaggregation ── messages ──► tester
//! ```
//!
//! The switches are the two programs of the repository in memory, polled by the tester's thread: one processor does the
//! work of all three, and time is what it works for this thread. A message is counted when it comes back unchanged. Up
//! to N - 1 messages of a trial's end wait in the first switch for the rest of their N-packet; they are not lost.

use crate::evaluation::check_list;
use crate::sockets::{SocketResult, SocketSetting};
use crate::trials::{Effort, LoadResult, Trials, UNIT_PPS, check_effort};
use forebay_bench::programs;
use forebay_entries::{Applied, Controller, parse};
use forebay_pipeline::{Engine, FastPath, Options, Pipeline};
use forebay_sim::Library;
use forebay_tester::clock::Clock;
use forebay_tester::device::{self, Device};
use forebay_tester::frames::Frames;
use forebay_tester::messages::templates;
use forebay_tester::schedule::{Arrivals, Shape};
use forebay_tester::search::{Confirmed, LimitedBy};
use forebay_tester::stream::{Rate, Stream, wire_bits};
use forebay_traffic::message::FLAG_HEADER;
use forebay_traffic::{MessageFormat, message};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Packets that a port in memory holds.
const QUEUE_PACKETS: usize = 4096;

/// How long the last packets may take: the thread does nothing else, so they need some polls.
const DRAIN_NS: u64 = 1_000_000;

/// Clone session and multicast group that lead to port 2: `FIRST_REPLICA` of the program, and the port.
const REPLICAS: u32 = 1002;

/// The share of the highest load at which latency is measured.
const SHARE: f64 = 0.9;

/// How N-packets are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// By resubmission, and a clone in each pass.
    Resubmit,
    /// By N replicas.
    Multicast,
}

impl Method {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Resubmit => "resubmit",
            Method::Multicast => "multicast",
        }
    }

    /// The macro `METHOD` of the program.
    fn number(self) -> u32 {
        match self {
            Method::Resubmit => 1,
            Method::Multicast => 2,
        }
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingSetting {
    /// How N-packets are taken apart.
    pub methods: Vec<Method>,
    /// N: messages in an N-packet.
    pub messages: Vec<u32>,
    /// S: bytes of a message after its UDP header.
    pub message_bytes: Vec<usize>,
    /// How long latency is measured in a trial.
    pub seconds: f64,
    /// Trials of latency.
    #[serde(default = "crate::flows::one")]
    pub turns: u32,
    /// Trials of a search: their length, and how much of them decides.
    pub trial_s: f64,
    /// See `trial_s`.
    pub trials_s: f64,
    /// The highest load that is tried.
    pub pps_max: f64,
    /// Results of experiments with the timed chip, by method: what they say of the same N and S is shown beside.
    #[serde(default)]
    pub chip: BTreeMap<String, String>,
    /// User programs with sockets.
    pub sockets: SocketSetting,
}

/// A combination that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct RingResult {
    /// None for the tester on a wire, without switches.
    pub method: Option<Method>,
    /// N.
    pub messages: u32,
    /// S.
    pub message_bytes: usize,
    /// The highest load of messages without loss; none when even the least one loses some.
    pub ndr_pps: Option<f64>,
    /// The same as bits on the wire: 24 bytes more than the frame.
    pub ndr_gbps: Option<f64>,
    pub limited_by: LimitedBy,
    /// Whether the load held when it was offered again, and how many did not.
    #[serde(default)]
    pub confirmed: Confirmed,
    /// At nine tenths of it.
    pub load: Option<LoadResult>,
    /// What the paper has measured, in Gbps.
    pub published_gbps: Option<f64>,
    /// What the timed chip carries, in Gbps.
    pub chip_gbps: Option<f64>,
}

impl RingSetting {
    /// Whether the programs take it.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_list("methods", &self.methods)?;
        check_list("messages", &self.messages)?;
        check_list("message_bytes", &self.message_bytes)?;
        if self.turns == 0 {
            return Err("turns is 0; it is at least 1".to_string());
        }
        let mut all = self.messages.iter().chain(&self.sockets.messages);
        if let Some(messages) = all.find(|messages| !(1..=8).contains(*messages)) {
            return Err(format!("N is {messages}; it is 1 to 8"));
        }
        let sizes = self.message_bytes.iter().chain([&self.sockets.message_bytes]);
        let format = |bytes: &usize| MessageFormat::new(bytes.saturating_sub(FLAG_HEADER));
        match sizes.map(format).find_map(Result::err) {
            Some(error) => Err(error.to_string()),
            None => check_effort(self.seconds, self.trial_s, self.trials_s, self.pps_max),
        }
    }
}

/// What is known of the ring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct RingFound {
    pub rings: Vec<RingResult>,
    pub sockets: Vec<SocketResult>,
}

/// Measures all combinations, and the user programs. `told` hears of each result.
///
/// # Errors
/// When a program cannot be loaded, a trial cannot be run, or a result of the timed chip cannot be read, in words.
pub fn measure(
    setting: &RingSetting,
    library: &dyn Library,
    told: &mut dyn FnMut(&RingResult),
) -> Result<RingFound, String> {
    let mut rings = Vec::new();
    let chip = ChipResults::read(setting, library)?;
    let mut take = |result: RingResult| {
        told(&result);
        rings.push(result);
    };
    for bytes in &setting.message_bytes {
        let wire = device::wire(&[1, 2], &[(1, 2)], QUEUE_PACKETS);
        take(one((None, 1, *bytes), wire, setting, &chip)?);
        for method in &setting.methods {
            for messages in &setting.messages {
                let device = switches(*method, *messages, *bytes)?;
                take(one((Some(*method), *messages, *bytes), device, setting, &chip)?);
            }
        }
    }
    let sockets = crate::sockets::measure(&setting.sockets)?;
    Ok(RingFound { rings, sockets })
}

fn one(
    (method, messages, message_bytes): (Option<Method>, u32, usize),
    device: Device,
    setting: &RingSetting,
    chip: &ChipResults,
) -> Result<RingResult, String> {
    let effort = Effort {
        seconds: setting.seconds,
        samples: 0,
        trial_s: setting.trial_s,
        trials_s: setting.trials_s,
        pps_max: setting.pps_max,
        drain_ns: DRAIN_NS,
        inside: u64::from(messages - 1),
    };
    let mut trials = Trials::new(device, Clock::thread(), [1, 2], effort);
    let stream = stream(message_bytes)?;
    let found = trials.highest(stream.clone())?;
    let mut loads = Vec::new();
    if let Some(pps) = found.pps {
        for _ in 0..setting.turns {
            loads.push(trials.load(stream.clone(), SHARE * pps, Some(pps))?);
        }
    }
    let load = LoadResult::middle(loads);
    let bits = wire_bits(frame_bytes(message_bytes));
    let elsewhere = chip.of(method, messages, message_bytes);
    Ok(RingResult {
        method,
        messages,
        message_bytes,
        ndr_pps: found.pps,
        ndr_gbps: found.pps.map(|pps| pps * bits / 1e9),
        limited_by: found.limited_by,
        confirmed: found.confirmed,
        load,
        published_gbps: elsewhere.published,
        chip_gbps: elsewhere.chip,
    })
}

/// Bytes of a message's frame, without check sequence.
fn frame_bytes(message_bytes: usize) -> usize {
    message::MESSAGE_HEADERS - FLAG_HEADER + message_bytes
}

/// Messages of one device.
fn stream(message_bytes: usize) -> Result<Stream, String> {
    let payload_bytes = message_bytes.saturating_sub(FLAG_HEADER);
    let format = MessageFormat::new(payload_bytes).map_err(|error| error.to_string())?;
    let macs = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0xfe]);
    Ok(Stream {
        name: "messages".to_string(),
        from: 1,
        to: Some(2),
        frames: Arc::new(Frames::in_turn(templates(format, 1, macs))),
        rate: Rate::Frames(UNIT_PPS),
        arrivals: Arrivals::Constant,
        shape: Shape::flat(),
        messages: Some((format, 1)),
    })
}

/// Aggregation, which leads to disaggregation.
fn switches(method: Method, messages: u32, message_bytes: usize) -> Result<Device, String> {
    let defines = |method: Option<Method>| {
        let mut defines = vec![format!("N={messages}"), format!("S={message_bytes}")];
        defines.extend(method.map(|method| format!("METHOD={}", method.number())));
        defines
    };
    let first = load("iot_aggregate", &defines(None), ROUTE)?;
    let second = load("iot_disaggregate", &defines(Some(method)), &splitting_entries(messages))?;
    Ok(device::chain(vec![first, second], QUEUE_PACKETS, 0))
}

/// To the server: by port 2.
const ROUTE: &str = "add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:0x0200000001FE, dst_addr:0x020000000102)
";

/// The same, with the replicas of both methods.
fn splitting_entries(messages: u32) -> String {
    let mut text = format!("{ROUTE}mirroring_add {REPLICAS} 2\nmc_mgrp_create {REPLICAS}\n");
    for message in 0..messages {
        let _ = writeln!(
            text,
            "mc_node_create {message} 2\nmc_node_associate {REPLICAS} {message}"
        );
    }
    text
}

fn load(name: &str, defines: &[String], entries: &str) -> Result<Arc<Pipeline>, String> {
    let program = programs::compiled(name, defines).map_err(|error| error.to_string())?;
    let options = Options {
        engine: Engine::Jit,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    };
    let pipeline = Pipeline::load_with(program, options).map_err(|error| error.to_string())?;
    let pipeline = Arc::new(pipeline);
    let mut controller = Controller::new(Arc::clone(&pipeline));
    let test = parse(entries).map_err(|error| format!("{name}: {error:?}"))?;
    for command in &test.commands {
        if let Applied::Refused(why) = controller.apply(&command.value) {
            return Err(format!("{name}: {why}"));
        }
    }
    Ok(pipeline)
}

/// What the paper and the timed chip say, by method, N and S.
struct ChipResults(BTreeMap<(&'static str, String, String), Throughput>);

/// The throughput of a combination, in Gbps.
#[derive(Clone, Copy, Default)]
struct Throughput {
    published: Option<f64>,
    chip: Option<f64>,
}

/// The part of an experiment's `result.json` that is read.
#[derive(Deserialize)]
struct Table {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    parameters: BTreeMap<String, String>,
    published: Option<f64>,
    model: Option<f64>,
}

impl ChipResults {
    fn read(setting: &RingSetting, library: &dyn Library) -> Result<ChipResults, String> {
        let mut all = BTreeMap::new();
        for method in [Method::Resubmit, Method::Multicast] {
            let Some(path) = setting.chip.get(method.name()) else {
                continue;
            };
            let table: Table =
                serde_json::from_str(&library.text(path)?).map_err(|error| format!("{path}: {error}"))?;
            for row in table.rows {
                let parameter = |name: &str| row.parameters.get(name).cloned().unwrap_or_default();
                all.insert(
                    (method.name(), parameter("N"), parameter("S")),
                    Throughput {
                        published: row.published,
                        chip: row.model,
                    },
                );
            }
        }
        Ok(ChipResults(all))
    }

    fn of(&self, method: Option<Method>, messages: u32, message_bytes: usize) -> Throughput {
        let key = method.map(|method| (method.name(), messages.to_string(), message_bytes.to_string()));
        let found = key.and_then(|key| self.0.get(&key).copied());
        found.unwrap_or_default()
    }
}
