//! What was measured in one run, and what follows from it.

use crate::screen::{grouped, per_second};
use crate::server::{is_correct, report_json};
use crate::settings::Method;
use crate::topology::{DOWNSTREAM_PORT, UPSTREAM_PORT};
use forebay_switch::PortReport;
use forebay_traffic::wire::OVERHEAD_BYTES;
use forebay_traffic::{MessageFormat, Report};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Frames and their bytes, addresses to payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Frames.
    pub frames: u64,
    /// Bytes of the frames.
    pub bytes: u64,
}

impl Amount {
    /// Bytes of time on a wire: with preamble, start delimiter, check sequence and gap.
    pub fn wire_bytes(self) -> u64 {
        self.bytes + self.frames * OVERHEAD_BYTES as u64
    }

    fn json(self) -> Value {
        json!({ "frames": self.frames, "bytes": self.bytes, "wire_bytes": self.wire_bytes() })
    }
}

/// What a port of a switch counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortFigures {
    /// Its number.
    pub number: u32,
    /// What came in.
    pub received: Amount,
    /// What went out.
    pub sent: Amount,
    /// Drops by reason.
    pub drops: BTreeMap<String, u64>,
}

impl PortFigures {
    /// From a switch in this process.
    pub fn from_report(report: &PortReport) -> PortFigures {
        let counters = report.counters;
        let by_port = counters.nonzero_drops().map(|(reason, count)| (reason.name(), count));
        let by_switch = report.drops.iter().map(|(reason, count)| (reason.as_str(), *count));
        PortFigures {
            number: report.number,
            received: Amount {
                frames: counters.received_packets,
                bytes: counters.received_bytes,
            },
            sent: Amount {
                frames: counters.sent_packets,
                bytes: counters.sent_bytes,
            },
            drops: by_port
                .chain(by_switch)
                .map(|(name, count)| (name.to_string(), count))
                .collect(),
        }
    }

    /// From an element of `ports` of what `forebay run --json` prints; none when it is not of that form.
    pub fn from_json(value: &Value) -> Option<PortFigures> {
        let number = |name: &str| value[name].as_u64();
        Some(PortFigures {
            number: number("port")? as u32,
            received: Amount {
                frames: number("received_packets")?,
                bytes: number("received_bytes")?,
            },
            sent: Amount {
                frames: number("sent_packets")?,
                bytes: number("sent_bytes")?,
            },
            drops: value["drops"]
                .as_object()?
                .iter()
                .filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)))
                .collect(),
        })
    }
}

/// What a switch counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchFigures {
    /// Its ports.
    pub ports: Vec<PortFigures>,
}

impl SwitchFigures {
    /// A port; all zero when there is none of this number.
    pub fn port(&self, number: u32) -> PortFigures {
        self.ports
            .iter()
            .find(|port| port.number == number)
            .cloned()
            .unwrap_or_default()
    }

    /// Drops of all ports, by reason.
    pub fn drops(&self) -> BTreeMap<String, u64> {
        let mut sum = BTreeMap::new();
        for (name, count) in self.ports.iter().flat_map(|port| &port.drops) {
            *sum.entry(name.clone()).or_default() += count;
        }
        sum
    }
}

/// The capture files of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captures {
    /// Between devices and switch 1.
    pub devices: PathBuf,
    /// Between the switches.
    pub link: PathBuf,
    /// Between switch 2 and server.
    pub server: PathBuf,
}

impl Captures {
    /// Files in `folder`.
    pub fn in_folder(folder: &Path) -> Captures {
        Captures {
            devices: folder.join("devices.pcap"),
            link: folder.join("link.pcap"),
            server: folder.join("server.pcap"),
        }
    }
}

/// What was measured in one run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// How N-packets were disaggregated.
    pub method: Method,
    /// What became of the messages.
    pub report: Report,
    /// From the first message at the server to the last.
    pub seconds: f64,
    /// The switches.
    pub switches: [SwitchFigures; 2],
    /// The capture files.
    pub captures: Captures,
}

impl Measurement {
    /// Whether every message came once and unchanged.
    pub fn is_correct(&self) -> bool {
        is_correct(&self.report)
    }

    /// What the devices sent: what would cross the link without aggregation.
    pub fn without_aggregation(&self) -> Amount {
        self.switches[0].port(UPSTREAM_PORT).received
    }

    /// What crossed the link.
    pub fn with_aggregation(&self) -> Amount {
        self.switches[0].port(DOWNSTREAM_PORT).sent
    }

    /// Messages that arrived in a second.
    pub fn messages_per_second(&self) -> f64 {
        if self.seconds > 0.0 {
            self.report.delivered as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// The share of bytes on the link that are not payload of a delivered message, from 0 to 1.
    pub fn header_share(&self, format: MessageFormat) -> f64 {
        let payload = self.report.delivered * format.payload_bytes() as u64;
        1.0 - ratio(payload, self.with_aggregation().bytes)
    }

    /// A line on what became of the messages.
    pub fn summary(&self) -> String {
        format!(
            "  {} in {:.2} s, {}\n",
            grouped(self.report.delivered),
            self.seconds,
            per_second(self.messages_per_second())
        )
    }

    /// As an object.
    pub fn json(&self, format: MessageFormat) -> Value {
        let (without, with) = (self.without_aggregation(), self.with_aggregation());
        json!({
            "method": self.method.name(),
            "correct": self.is_correct(),
            "messages": report_json(&self.report),
            "seconds": self.seconds,
            "messages_per_second": self.messages_per_second(),
            "link": {
                "without_aggregation": without.json(),
                "with_aggregation": with.json(),
                "saved_bytes_share": 1.0 - ratio(with.bytes, without.bytes),
                "saved_wire_bytes_share": 1.0 - ratio(with.wire_bytes(), without.wire_bytes()),
                "header_share": self.header_share(format),
            },
            "drops": { "switch1": self.switches[0].drops(), "switch2": self.switches[1].drops() },
            "captures": {
                "devices": self.captures.devices.display().to_string(),
                "link": self.captures.link.display().to_string(),
                "server": self.captures.server.display().to_string(),
            },
        })
    }
}

/// A part of a whole; 0 when there is no whole.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of 80 messages of 16 bytes without fault, N = 8.
    pub(crate) fn flawless() -> Measurement {
        let port = |number, received, sent| PortFigures {
            number,
            received,
            sent,
            drops: BTreeMap::new(),
        };
        let none = Amount::default();
        let messages = Amount {
            frames: 80,
            bytes: 80 * 64,
        };
        let aggregates = Amount {
            frames: 10,
            bytes: 10 * 176,
        };
        let mut switches = [
            SwitchFigures {
                ports: vec![port(1, messages, none), port(2, none, aggregates)],
            },
            SwitchFigures {
                ports: vec![port(1, aggregates, none), port(2, none, messages)],
            },
        ];
        switches[0].ports[0].drops.insert("ingress_drop".to_string(), 70);
        Measurement {
            method: Method::Multicast,
            report: Report {
                sent: 80,
                delivered: 80,
                ..Report::default()
            },
            seconds: 2.0,
            switches,
            captures: Captures::in_folder(Path::new("captures")),
        }
    }

    #[test]
    fn the_link_carries_a_third() {
        let measurement = flawless();
        assert_eq!(measurement.with_aggregation().wire_bytes(), 10 * 200);
        let format = MessageFormat::new(16).expect("an allowed length");
        assert!((measurement.header_share(format) - 48.0 / 176.0).abs() < 1e-12);
        assert_eq!(measurement.messages_per_second(), 40.0);
        assert!(measurement.is_correct());
        let json = measurement.json(format);
        assert_eq!(json["link"]["saved_bytes_share"], 0.65625);
        assert_eq!(json["drops"]["switch1"]["ingress_drop"], 70);
    }

    #[test]
    fn reordering_is_no_fault_but_loss_is() {
        let mut measurement = flawless();
        measurement.report.reordered = 5;
        assert!(measurement.is_correct());
        measurement.report.lost = 1;
        assert!(!measurement.is_correct());
    }

    #[test]
    fn ports_are_read_from_json() {
        let json = json!({
            "port": 2, "name": "veth0", "state": "up", "received_packets": 1, "received_bytes": 64,
            "sent_packets": 3, "sent_bytes": 200, "drops": { "queue_full": 4 },
        });
        let port = PortFigures::from_json(&json).expect("the form of `forebay run --json`");
        assert_eq!((port.number, port.sent), (2, Amount { frames: 3, bytes: 200 }));
        assert_eq!(SwitchFigures { ports: vec![port] }.drops()["queue_full"], 4);
        assert_eq!(PortFigures::from_json(&json!({})), None);
    }
}
