//! What a run has shown.

use forebay_chip::Constant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run has shown, in the units of its names. Rates are those between the end of the warm-up and that of the
/// traffic. Delays and order are those of all frames that were sent in this time, whenever they leave. Counts of
/// packets are about the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Results {
    /// The scenario's description.
    pub description: String,
    /// With which random numbers.
    pub seed: u64,
    /// Time over which rates are averaged.
    pub measured_us: f64,
    /// Time between samples; 0 when none were taken.
    pub sample_us: f64,
    /// What the model had to do: events, and passes of packets through ingress or egress.
    pub events: u64,
    /// Passes through a pipeline, ingress and egress together counted once: the larger of both numbers.
    pub packet_passes: u64,
    /// What was sent, by stream.
    pub sources: Vec<SourceResults>,
    /// What hosts sent one another, by flow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowResults>,
    /// What came out, by port.
    pub outputs: Vec<OutputResults>,
    /// What happened inside, by chip.
    pub chips: Vec<ChipResults>,
    /// What became of IoT messages, when they are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageResults>,
}

/// IoT messages, one by one, in the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MessageResults {
    /// Messages that came in.
    pub sent: u64,
    /// Messages that came out, alone or in N-packets.
    pub delivered: u64,
    /// Messages that came in and never out.
    pub missing: u64,
    /// Messages that came out and had not come in, or not so often.
    pub unexpected: u64,
    /// Frames out that are no correct frames.
    pub damaged: u64,
    /// Frames out that carried messages.
    pub frames: u64,
    /// How many each of them carried, on average.
    pub messages_per_frame: f64,
    /// From the message's last byte in to its frame's last byte out.
    pub wait: LatencyResults,
}

/// Data from one host to another. Bytes are those of data; goodput is about the time that is measured, everything else
/// about the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowResults {
    /// Its name.
    pub name: String,
    /// `newreno`, `cubic`, `dctcp` or `roce`.
    pub transport: String,
    /// Bytes that have come, in order.
    pub delivered_bytes: u64,
    /// Delivered bits in a nanosecond.
    pub goodput_gbps: f64,
    /// Packets of data sent.
    pub sent: u64,
    /// Packets of data that had been sent before.
    pub retransmitted: u64,
    /// Deadlines that passed without an acknowledgement.
    pub timeouts: u64,
    /// Share of acknowledgements that echo a mark.
    pub marked_share: f64,
    /// From sending a packet to its acknowledgement; none when that was not measured, as by senders like RoCE's.
    pub round_trip_mean_us: Option<f64>,
    /// Segments that might be under way, mean over acknowledgements; none for senders without a window.
    pub window_mean: Option<f64>,
    /// From the start until all was acknowledged; none for flows without an end, and those that had not ended.
    pub completed_us: Option<f64>,
    /// Gbps of data that came in each sample.
    pub samples_gbps: Vec<f64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A stream into a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SourceResults {
    /// Name of the traffic.
    pub name: String,
    /// `chip:port`.
    pub to: String,
    /// Frames.
    pub sent: u64,
    /// Packets of which a frame came out, so at most as many as were sent.
    pub delivered: u64,
    /// Frames that came out of packets of which one had come out before: copies that the program makes.
    pub copies: u64,
    /// Packets of which several frames must come out, when that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsResults>,
    /// Packets of this stream, copies included, that ended inside: where and why, and how many.
    pub ends: BTreeMap<String, u64>,
    /// The rate that was asked for: from when, in microseconds, and Gbps on the wire.
    pub rates_gbps: Vec<(f64, f64)>,
    /// On the wire, with framing, after the warm-up.
    pub offered_gbps: f64,
    /// From the last byte in to the last byte out.
    pub latency: LatencyResults,
    /// In the order of leaving.
    pub reordering: ReorderingResults,
}

/// Packets of a stream of which several frames must come out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartsResults {
    /// Frames that must come out for each.
    pub frames_per_packet: u64,
    /// Packets of which none came out.
    pub lost_whole: u64,
    /// Packets of which some came out and some did not.
    pub lost_in_part: u64,
}

/// A distribution of delays, in nanoseconds; from a histogram of three digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencyResults {
    /// How many.
    pub count: u64,
    /// The smallest.
    pub min_ns: f64,
    /// The mean.
    pub mean_ns: f64,
    /// The largest.
    pub max_ns: f64,
    /// 5, 25, 50, 75, 95, 99 and 99.9 % are at most these.
    pub percentiles_ns: BTreeMap<String, f64>,
}

/// Reordering after RFC 4737.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReorderingResults {
    /// Packets that arrived.
    pub arrived: u64,
    /// Share of packets that were overtaken.
    pub reordered_ratio: f64,
    /// The largest extent, in packets.
    pub extent_max: u64,
    /// Share of packets overtaken by one of their own flow, when flows take turns at this distance.
    pub ratio_at_distance: BTreeMap<u32, f64>,
}

/// A port that leads outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutputResults {
    /// `chip:port`.
    pub port: String,
    /// Frames in the whole run, those included that leave after the end of the traffic.
    pub frames: u64,
    /// On the wire, with framing, between the end of the warm-up and that of the traffic.
    pub gbps: f64,
    /// Frames a second in millions.
    pub mpps: f64,
    /// The rate in each sample.
    pub samples_gbps: Vec<f64>,
}

/// A rule of a chip that does not hold in a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lifted {
    /// Which rule, and what holds in its place.
    pub rule: String,
    /// Why, in the scenario's words.
    pub reason: String,
}

/// A chip.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChipResults {
    /// Its name in the scenario.
    pub name: String,
    /// The name of its specification.
    pub spec: String,
    /// Rules of the chip that the scenario lifts.
    pub lifted: Vec<Lifted>,
    /// Constants of the chip's model that were fitted to published results.
    pub fitted: Vec<Constant>,
    /// Values of a chip of the user's own of which its file does not say where they come from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsourced: Vec<String>,
    /// Frames from outside.
    pub received: u64,
    /// Copies made.
    pub copies: u64,
    /// Frames out.
    pub transmitted: u64,
    /// Packets still inside at the end.
    pub inside: u64,
    /// Packets inside when half of the time has passed in which traffic is sent, and when that time ends.
    #[serde(skip)]
    pub inside_while_sending: [u64; 2],
    /// Lost by the chip: by port and reason, `port.reason`.
    pub lost: BTreeMap<String, u64>,
    /// Dropped by the program, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Clones and digests that were never made, by reason: they are in no balance.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// Ports that carried something.
    pub ports: Vec<PortResults>,
    /// The most bytes that were in headroom at any time.
    #[serde(skip_serializing_if = "is_zero")]
    pub headroom_max_bytes: u64,
    /// The most bytes of the packet buffer that were taken at any time.
    pub buffer_max_bytes: u64,
    /// Bytes of the packet buffer in each sample.
    pub buffer_samples_bytes: Vec<u64>,
    /// Bytes of one of its cells.
    #[serde(skip)]
    pub buffer_cell_bytes: u32,
    /// Queues that are followed.
    pub queues: Vec<QueueResults>,
}

/// A port of a chip. Shares of time are about that which is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PortResults {
    /// Its number.
    pub port: u16,
    /// Frames received.
    pub received_frames: u64,
    /// Frames sent, those that come back included.
    pub sent_frames: u64,
    /// Pauses that it has begun at the other end of its wire.
    #[serde(skip_serializing_if = "is_zero")]
    pub pauses_sent: u64,
    /// Share of the time that the wire was taken.
    pub wire_utilisation: f64,
    /// Share of the time that the ingress parser was taken.
    pub parser_utilisation: f64,
}

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueResults {
    /// The port.
    pub port: u16,
    /// The queue: the priority of its packets.
    pub queue: usize,
    /// Packets that it has taken in the whole run.
    pub taken: u64,
    /// Mean wait of the packets that left it after the warm-up; none when none did.
    pub mean_wait_ns: Option<f64>,
    /// The most bytes seen in a sample.
    pub max_bytes: u64,
    /// The mean over samples after the warm-up.
    pub mean_bytes: f64,
    /// Bytes in each sample.
    pub samples_bytes: Vec<u64>,
}

impl Results {
    /// Packets that chips have lost, all reasons together.
    pub fn lost(&self) -> u64 {
        self.chips.iter().flat_map(|chip| chip.lost.values()).sum()
    }

    /// Frames sent by all streams.
    pub fn sent(&self) -> u64 {
        self.sources.iter().map(|source| source.sent).sum()
    }

    /// Packets of which a frame came out.
    pub fn delivered(&self) -> u64 {
        self.sources.iter().map(|source| source.delivered).sum()
    }

    /// Frames that came out, copies included.
    pub fn frames_out(&self) -> u64 {
        self.sources.iter().map(|source| source.delivered + source.copies).sum()
    }

    /// Packets of which no frame came out, and those of which only some did; none when that is not counted.
    pub fn lost_whole_and_in_part(&self) -> Option<(u64, u64)> {
        let parts = self.sources.iter().filter_map(|source| source.parts.as_ref());
        parts
            .map(|parts| (parts.lost_whole, parts.lost_in_part))
            .reduce(|(whole, part), (more_whole, more_part)| (whole + more_whole, part + more_part))
    }

    /// How evenly flows share what they get: Jain's index, from one divided by their number to 1; none without flows.
    pub fn fairness(&self) -> Option<f64> {
        let rates = || self.flows.iter().map(|flow| flow.goodput_gbps);
        let squares: f64 = rates().map(|rate| rate * rate).sum();
        (squares > 0.0).then(|| rates().sum::<f64>().powi(2) / (self.flows.len() as f64 * squares))
    }

    /// What chips have lost, by reason.
    pub fn losses(&self) -> BTreeMap<String, u64> {
        let mut losses = BTreeMap::new();
        for (place, count) in self.chips.iter().flat_map(|chip| &chip.lost) {
            let reason = place.split_once('.').map_or(place.as_str(), |(_, reason)| reason);
            *losses.entry(reason.to_string()).or_insert(0) += count;
        }
        losses
    }

    /// Packets that programs have dropped.
    pub fn dropped(&self) -> u64 {
        self.chips.iter().flat_map(|chip| chip.dropped.values()).sum()
    }

    /// On the wire, all streams together.
    pub fn offered_gbps(&self) -> f64 {
        self.sources.iter().map(|source| source.offered_gbps).sum()
    }

    /// On the wire, all outputs together.
    pub fn output_gbps(&self) -> f64 {
        self.outputs.iter().map(|output| output.gbps).sum()
    }
}
