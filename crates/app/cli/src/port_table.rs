//! The ports of a running switch as a table.

use forebay_packet::{PortCounters, PortState};
use forebay_ports::{Means, PresentMeans};
use forebay_switch::PortReport;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Remembers the counters of the interval before, to show rates.
#[derive(Default)]
pub struct PortTable {
    means: BTreeMap<u32, PresentMeans>,
    before: BTreeMap<u32, PortCounters>,
}

/// What a port carried in an interval.
struct Interval {
    received_packets_per_second: f64,
    received_bits_per_second: f64,
    sent_packets_per_second: f64,
    sent_bits_per_second: f64,
}

impl PortTable {
    /// A table of ports that carry packets by these means.
    pub fn new(means: BTreeMap<u32, PresentMeans>) -> PortTable {
        PortTable {
            means,
            before: BTreeMap::new(),
        }
    }

    /// How a port carries packets now.
    pub fn means_of(&self, number: u32) -> Option<Means> {
        self.means.get(&number).map(PresentMeans::now)
    }

    /// Forgets the interval before: the next rates are over the whole time.
    pub fn restart(&mut self) {
        self.before.clear();
    }

    /// A line for each port: totals, rates over the last `seconds`, drops. Then a line for each port that is down, with
    /// the reason.
    pub fn text(&mut self, ports: &[PortReport], seconds: f64) -> String {
        let widest = ports.iter().map(|port| port.name.chars().count()).max().unwrap_or(0);
        let width = widest.max("name".len());
        let mut text = format!(
            "port {:width$}  state     packets in      rate in packets out     rate out  drops\n",
            "name"
        );
        for port in ports {
            let rates = self.interval(port, seconds);
            let _ = writeln!(
                text,
                "{:<4} {:width$}  {:<8} {:>11} {:>12} {:>11} {:>12}  {}",
                port.number,
                port.name,
                state_name(port.state),
                port.counters.received_packets,
                bit_rate(rates.received_bits_per_second),
                port.counters.sent_packets,
                bit_rate(rates.sent_bits_per_second),
                drops_text(port),
            );
        }
        for port in ports {
            if let Some(why) = &port.why_down {
                let _ = writeln!(text, "port {} is {}: {why}", port.number, state_name(port.state));
            }
        }
        text
    }

    /// The same as an object.
    pub fn json(&mut self, ports: &[PortReport], seconds: f64, elapsed: f64) -> Value {
        let ports: Vec<Value> = ports.iter().map(|port| self.port_json(port, seconds)).collect();
        json!({ "elapsed_seconds": elapsed, "ports": ports })
    }

    fn port_json(&mut self, port: &PortReport, seconds: f64) -> Value {
        let rates = self.interval(port, seconds);
        let means = self.means_of(port.number);
        let drops: serde_json::Map<String, Value> = drops(port)
            .into_iter()
            .map(|(name, count)| (name.to_string(), json!(count)))
            .collect();
        json!({
            "port": port.number,
            "name": port.name,
            "kind": means.as_ref().map(|means| means.kind),
            "means": means.as_ref().map(|means| &means.detail),
            "reason": means.as_ref().and_then(|means| means.reason.as_ref()),
            "state": state_name(port.state),
            "why_down": port.why_down,
            "received_packets": port.counters.received_packets,
            "received_bytes": port.counters.received_bytes,
            "received_packets_per_second": rates.received_packets_per_second,
            "received_bits_per_second": rates.received_bits_per_second,
            "sent_packets": port.counters.sent_packets,
            "sent_bytes": port.counters.sent_bytes,
            "sent_packets_per_second": rates.sent_packets_per_second,
            "sent_bits_per_second": rates.sent_bits_per_second,
            "drops": drops,
        })
    }

    fn interval(&mut self, port: &PortReport, seconds: f64) -> Interval {
        let now = port.counters;
        let before = self.before.insert(port.number, now).unwrap_or_default();
        let rate = |now: u64, before: u64| {
            if seconds > 0.0 {
                // AF_XDP takes back what an interface has refused.
                now.saturating_sub(before) as f64 / seconds
            } else {
                0.0
            }
        };
        Interval {
            received_packets_per_second: rate(now.received_packets, before.received_packets),
            received_bits_per_second: 8.0 * rate(now.received_bytes, before.received_bytes),
            sent_packets_per_second: rate(now.sent_packets, before.sent_packets),
            sent_bits_per_second: 8.0 * rate(now.sent_bytes, before.sent_bytes),
        }
    }
}

fn drops(port: &PortReport) -> Vec<(&str, u64)> {
    let by_port = port
        .counters
        .nonzero_drops()
        .map(|(reason, count)| (reason.name(), count));
    by_port
        .chain(port.drops.iter().map(|(reason, count)| (reason.as_str(), *count)))
        .collect()
}

fn drops_text(port: &PortReport) -> String {
    let drops: Vec<String> = drops(port)
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if drops.is_empty() {
        "-".to_string()
    } else {
        drops.join(", ")
    }
}

fn state_name(state: PortState) -> &'static str {
    match state {
        PortState::Up => "up",
        PortState::Down => "down",
        PortState::Gone => "gone",
        PortState::Finished => "finished",
    }
}

/// `1.23 Gbit/s`
fn bit_rate(bits_per_second: f64) -> String {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    match units.iter().find(|(unit, _)| bits_per_second >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", bits_per_second / unit),
        None => format!("{bits_per_second:.0} bit/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        assert_eq!(bit_rate(0.0), "0 bit/s");
        assert_eq!(bit_rate(1_500.0), "1.50 kbit/s");
        assert_eq!(bit_rate(2.5e9), "2.50 Gbit/s");
    }

    #[test]
    fn a_port_that_is_down_says_why() {
        let report = PortReport {
            number: 7,
            name: "memif:/run/a.sock".to_string(),
            state: PortState::Down,
            why_down: Some("nobody listens at /run/a.sock".to_string()),
            counters: PortCounters::default(),
            drops: Vec::new(),
        };
        let text = PortTable::default().text(std::slice::from_ref(&report), 1.0);
        assert!(text.ends_with("\nport 7 is down: nobody listens at /run/a.sock\n"));
        let json = PortTable::default().json(&[report], 1.0, 1.0);
        assert_eq!(json["ports"][0]["why_down"], "nobody listens at /run/a.sock");
    }

    #[test]
    fn rates_are_over_the_interval() {
        let mut table = PortTable::default();
        let mut report = PortReport {
            number: 1,
            name: "veth0".to_string(),
            state: PortState::Up,
            why_down: None,
            counters: PortCounters::default(),
            drops: Vec::new(),
        };
        report.counters.count_sent(60);
        table.text(std::slice::from_ref(&report), 1.0);
        for _ in 0..10 {
            report.counters.count_received(125);
        }
        report.counters.sent_packets -= 1;
        let json = table.json(&[report], 2.0, 3.0);
        assert_eq!(json["ports"][0]["received_bits_per_second"], 5000.0);
        assert_eq!(json["ports"][0]["sent_packets_per_second"], 0.0, "it was refused");
    }
}
