//! Counters as the API shows them.

use crate::config::Config;
use forebay_tester::histogram::Histogram;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// Over which time a rate is taken, and how often counters are noted for it.
const WINDOW_NS: u64 = 1_000_000_000;
const SAMPLE_NS: u64 = 100_000_000;

/// Preamble and gap of a frame on the wire.
const GAP_BYTES: f64 = 20.0;

/// A rate over a shorter time says nothing.
const SHORTEST_NS: u64 = 1_000_000;

/// Rates of counters over the last second.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Counters at times, the oldest first.
    samples: VecDeque<(u64, [u64; 4])>,
}

impl Rates {
    /// Notes the counters, which the caller orders, at a time. To be called more often than every tenth of a second.
    pub fn note(&mut self, now_ns: u64, counters: impl FnOnce() -> [u64; 4]) {
        if self
            .samples
            .back()
            .is_some_and(|(last_ns, _)| now_ns < last_ns + SAMPLE_NS)
        {
            return;
        }
        self.samples.push_back((now_ns, counters()));
        while self
            .samples
            .get(1)
            .is_some_and(|(next_ns, _)| next_ns + WINDOW_NS <= now_ns)
        {
            self.samples.pop_front();
        }
    }

    /// Rates a second at a time with these counters.
    pub fn at(&self, now_ns: u64, counters: [u64; 4]) -> [f64; 4] {
        let since = self
            .samples
            .front()
            .filter(|(from_ns, _)| from_ns + SHORTEST_NS <= now_ns);
        since.map_or([0.0; 4], |(from_ns, before)| {
            std::array::from_fn(|at| counters[at].saturating_sub(before[at]) as f64 * 1e9 / (now_ns - from_ns) as f64)
        })
    }
}

/// All counters at one time.
pub struct Snapshot {
    /// The metrics of flows, in the order of the configuration.
    pub flows: Vec<FlowSnapshot>,
    /// The metrics of ports.
    pub ports: Vec<PortSnapshot>,
    /// Why nothing is sent any more.
    pub fault: Option<String>,
}

/// Counters of a flow.
pub struct FlowSnapshot {
    pub is_sending: bool,
    pub is_paused: bool,
    pub sent: u64,
    /// Frames that came, with duplicates, and the bytes of all of them.
    pub came: u64,
    /// Frames that came, without duplicates.
    pub received: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub misdirected: u64,
    /// Frames sent and received, bytes sent and received.
    pub rates: [f64; 4],
    /// From the real sending time.
    pub latency: Histogram,
    /// From the intended one.
    pub open_loop_latency: Histogram,
    pub inter_arrival: Histogram,
    pub first_ns: u64,
    pub last_ns: u64,
}

/// Counters of a port.
#[derive(Clone, Debug, Default)]
pub struct PortSnapshot {
    pub frames_tx: u64,
    pub frames_rx: u64,
    pub bytes_tx: u64,
    pub bytes_rx: u64,
    /// Frames sent and received, bytes sent and received.
    pub rates: [f64; 4],
    pub is_sending: bool,
    pub is_capturing: bool,
    /// Whether frames can be sent and received.
    pub is_up: bool,
}

impl PortSnapshot {
    /// Frames sent and received, bytes sent and received.
    pub fn counted(&self) -> [u64; 4] {
        [self.frames_tx, self.frames_rx, self.bytes_tx, self.bytes_rx]
    }
}

/// What metrics of flows and of ports may be asked for by name.
pub const FLOW_METRICS: &[&str] = &[
    "transmit",
    "frames_tx",
    "frames_rx",
    "bytes_tx",
    "bytes_rx",
    "frames_tx_rate",
    "frames_rx_rate",
    "tx_l1_rate_bps",
    "rx_l1_rate_bps",
    "tx_rate_bytes",
    "rx_rate_bytes",
    "tx_rate_bps",
    "rx_rate_bps",
    "tx_rate_kbps",
    "rx_rate_kbps",
    "tx_rate_mbps",
    "rx_rate_mbps",
    "loss",
    "latency",
    "timestamps",
];
/// See [`FLOW_METRICS`].
pub const PORT_METRICS: &[&str] = &[
    "location",
    "link",
    "capture",
    "transmit",
    "frames_tx",
    "frames_rx",
    "bytes_tx",
    "bytes_rx",
    "frames_tx_rate",
    "frames_rx_rate",
    "bytes_tx_rate",
    "bytes_rx_rate",
];

/// Fields that say what a metric is of.
const IDENTITY: &[&str] = &["name", "port_tx", "port_rx"];

/// Leaves out of an answer what was not asked for; all stays when nothing was named.
pub fn keep_fields(metrics: &mut Value, wanted: &[String]) {
    let lists = metrics.as_object_mut().into_iter().flat_map(|all| all.values_mut());
    for metric in lists.filter_map(Value::as_array_mut).flatten() {
        if let Some(metric) = metric.as_object_mut().filter(|_| !wanted.is_empty()) {
            metric.retain(|name, _| IDENTITY.contains(&name.as_str()) || wanted.contains(name));
        }
    }
}

/// A 64-bit number, which protobuf's JSON writes as a string.
fn long(number: u64) -> Value {
    Value::String(number.to_string())
}

impl Snapshot {
    /// The metrics of flows that have them, all or those that are named.
    pub fn flow_metrics(&self, config: &Config, names: &[String]) -> Value {
        let all = config.flows.iter().zip(&self.flows);
        let all = all.filter(|(flow, _)| flow.metrics.is_enabled);
        let wanted = all.filter(|(flow, _)| names.is_empty() || names.contains(&flow.name));
        let metrics = wanted.map(|(flow, found)| {
            let rx: Vec<&str> = flow.rx.iter().map(|port| config.ports[*port].name.as_str()).collect();
            let mut metric = json!({
                "name": flow.name,
                "port_tx": config.ports[flow.tx].name,
                "port_rx": rx.join(","),
                "transmit": found.state(),
                "frames_tx": long(found.sent),
                "frames_rx": long(found.came),
                "bytes_tx": long(found.sent_bytes),
                "bytes_rx": long(found.received_bytes),
                "frames_tx_rate": found.rates[0],
                "frames_rx_rate": found.rates[1],
            });
            if let Some(metric) = metric.as_object_mut() {
                found.add_rates(metric);
                found.add_wanted(metric, flow.metrics);
            }
            metric
        });
        json!({ "choice": "flow_metrics", "flow_metrics": metrics.collect::<Vec<_>>() })
    }

    /// The metrics of ports, all or those that are named.
    pub fn port_metrics(&self, config: &Config, names: &[String]) -> Value {
        let all = config.ports.iter().zip(&self.ports);
        let wanted = all.filter(|(port, _)| names.is_empty() || names.contains(&port.name));
        let metrics = wanted.map(|(port, found)| {
            json!({
                "name": port.name,
                "location": port.location,
                "link": if self.fault.is_none() && found.is_up { "up" } else { "down" },
                "capture": if found.is_capturing { "started" } else { "stopped" },
                "transmit": if found.is_sending { "started" } else { "stopped" },
                "frames_tx": long(found.frames_tx),
                "frames_rx": long(found.frames_rx),
                "bytes_tx": long(found.bytes_tx),
                "bytes_rx": long(found.bytes_rx),
                "frames_tx_rate": found.rates[0],
                "frames_rx_rate": found.rates[1],
                "bytes_tx_rate": found.rates[2],
                "bytes_rx_rate": found.rates[3],
            })
        });
        json!({ "choice": "port_metrics", "port_metrics": metrics.collect::<Vec<_>>() })
    }

    /// Distributions of flows, for which the API has no fields.
    pub fn distributions(&self, config: &Config) -> Value {
        let flows = config.flows.iter().zip(&self.flows).map(|(flow, found)| {
            json!({
                "name": flow.name,
                "port_tx": config.ports[flow.tx].name,
                "sent": found.sent,
                "received": found.received,
                "duplicated": found.duplicated,
                "reordered": found.reordered,
                "misdirected": found.misdirected,
                "latency": found.latency.summary(),
                "open_loop_latency": found.open_loop_latency.summary(),
                "inter_arrival": found.inter_arrival.summary(),
            })
        });
        json!({ "format": "forebay-tester-flows/1", "fault": self.fault, "flows": flows.collect::<Vec<_>>() })
    }
}

impl FlowSnapshot {
    fn state(&self) -> &'static str {
        match (self.is_sending, self.is_paused) {
            (true, _) => "started",
            (false, true) => "paused",
            (false, false) => "stopped",
        }
    }

    /// Bits and bytes a second, with check sequence; on layer 1 with preamble and gap, too.
    fn add_rates(&self, metric: &mut Map<String, Value>) {
        for (way, at) in [("tx", 0), ("rx", 1)] {
            let (frames, bytes) = (self.rates[at], self.rates[at + 2]);
            let rates = [
                ("l1_rate_bps", 8.0 * (bytes + frames * GAP_BYTES)),
                ("rate_bytes", bytes),
                ("rate_bps", 8.0 * bytes),
                ("rate_kbps", 8.0 * bytes / 1e3),
                ("rate_mbps", 8.0 * bytes / 1e6),
            ];
            metric.extend(rates.map(|(name, rate)| (format!("{way}_{name}"), json!(rate))));
        }
    }

    fn add_wanted(&self, metric: &mut Map<String, Value>, wanted: crate::config::Wanted) {
        if wanted.loss && self.sent > 0 {
            let lost = self.sent.saturating_sub(self.received);
            metric.insert("loss".to_string(), json!(100.0 * lost as f64 / self.sent as f64));
        }
        if wanted.latency && self.latency.count() > 0 {
            let latency = json!({
                "minimum_ns": self.latency.min() as f64,
                "average_ns": self.latency.mean(),
                "maximum_ns": self.latency.max() as f64,
            });
            metric.insert("latency".to_string(), latency);
        }
        if wanted.timestamps && self.received > 0 {
            let times = json!({ "first_timestamp_ns": self.first_ns as f64, "last_timestamp_ns": self.last_ns as f64 });
            metric.insert("timestamps".to_string(), times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_second() {
        let mut rates = Rates::default();
        assert_eq!(rates.at(0, [7; 4]), [0.0; 4], "nothing is known yet");
        for tenth in 0..=30 {
            // 100 a second, none in the last second.
            rates.note(tenth * SAMPLE_NS, || [10 * tenth.min(20); 4]);
        }
        assert_eq!(rates.at(30 * SAMPLE_NS, [200; 4]), [0.0; 4]);
        let mut rates = Rates::default();
        (0..=20).for_each(|tenth| rates.note(tenth * SAMPLE_NS, || [10 * tenth, 0, 0, 0]));
        assert_eq!(rates.at(20 * SAMPLE_NS, [200, 0, 0, 0]), [100.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn rates_of_layers_1_and_2() {
        let flow = FlowSnapshot {
            is_sending: true,
            is_paused: false,
            sent: 0,
            came: 0,
            received: 0,
            sent_bytes: 0,
            received_bytes: 0,
            duplicated: 0,
            reordered: 0,
            misdirected: 0,
            // Frames of 64 bytes at 1 Gbps.
            rates: [1_488_095.0, 0.0, 95_238_080.0, 0.0],
            latency: Histogram::default(),
            open_loop_latency: Histogram::default(),
            inter_arrival: Histogram::default(),
            first_ns: 0,
            last_ns: 0,
        };
        let mut metric = Map::new();
        flow.add_rates(&mut metric);
        assert_eq!(metric["tx_l1_rate_bps"], 999_999_840.0);
        assert_eq!(metric["tx_rate_bytes"], 95_238_080.0);
        assert_eq!(metric["tx_rate_mbps"], 761.90464);
        assert_eq!((metric.len(), &metric["rx_l1_rate_bps"]), (10, &json!(0.0)));
    }

    #[test]
    fn what_was_not_asked_for_is_left_out() {
        let mut metrics =
            json!({ "choice": "port_metrics", "port_metrics": [{ "name": "p1", "frames_tx": "1", "link": "up" }] });
        keep_fields(&mut metrics, &["link".to_string()]);
        assert_eq!(metrics["port_metrics"][0], json!({ "name": "p1", "link": "up" }));
    }
}
