//! What a demonstration showed, as tables and as JSON.

use crate::measurement::{Amount, Measurement, ratio};
use crate::screen::{grouped, per_second};
use crate::settings::{Method, Settings};
use forebay_traffic::message::MESSAGE_HEADERS;
use forebay_traffic::wire::{PUBLISHED_HEADERS, header_share};
use serde_json::{Value, json};
use std::fmt::Write;

/// Sizes of N-packets for which header shares are shown, and were published.
const BATCHES: [u32; 4] = [1, 2, 4, 8];

/// Published header shares in percent, for [`BATCHES`].
const PUBLISHED_PERCENT: [u32; 4] = [78, 64, 47, 30];

/// Bytes of a message of Sigfox, on which the published shares stand.
const PUBLISHED_PAYLOAD: usize = 12;

/// Width of the first column of a table, in characters.
const FIRST: usize = 42;

/// Width of the other columns.
const OTHERS: usize = 14;

/// A demonstration that was done.
pub struct Demonstration {
    settings: Settings,
    network: bool,
    measurements: Vec<Measurement>,
}

impl Demonstration {
    pub(crate) fn new(settings: Settings, network: bool, measurements: Vec<Measurement>) -> Demonstration {
        Demonstration {
            settings,
            network,
            measurements,
        }
    }

    /// Whether every message of every run came once and unchanged.
    pub fn is_correct(&self) -> bool {
        self.measurements.iter().all(Measurement::is_correct)
    }

    /// The runs.
    pub fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }

    /// All tables.
    pub fn text(&self) -> String {
        [
            self.messages(),
            self.link(),
            self.headers(),
            self.drops(),
            self.captures(),
            self.verdict(),
        ]
        .join("\n")
    }

    /// All figures as an object.
    pub fn json(&self) -> Value {
        let (settings, format) = (&self.settings, self.settings.format());
        let shares: Vec<Value> = BATCHES
            .iter()
            .zip(PUBLISHED_PERCENT)
            .map(|(&batch, published)| {
                json!({
                    "n": batch,
                    "this_format": header_share(MESSAGE_HEADERS, format.payload_bytes(), batch as usize),
                    "published_format": header_share(PUBLISHED_HEADERS, PUBLISHED_PAYLOAD, batch as usize),
                    "published_percent": published,
                })
            })
            .collect();
        json!({
            "correct": self.is_correct(),
            "place": if self.network { "network" } else { "memory" },
            "messages": settings.messages(),
            "messages_asked": settings.messages_asked(),
            "flows": settings.flows(),
            "n": settings.batch(),
            "s": format.message_bytes(),
            "payload_bytes": format.payload_bytes(),
            "runs": self.measurements.iter().map(|run| run.json(format)).collect::<Vec<_>>(),
            "header_shares_computed": shares,
            "folder": settings.folder().display().to_string(),
        })
    }

    fn messages(&self) -> String {
        let mut text = self.headline("Messages");
        let mut line = |name: &str, value: fn(&Measurement) -> u64| {
            text.push_str(&self.row(name, |run| grouped(value(run))));
        };
        line("sent", |run| run.report.sent);
        line("received", |run| run.report.delivered);
        line("lost", |run| run.report.lost);
        line("duplicated", |run| run.report.duplicated + run.report.too_late);
        line("changed", |run| run.report.changed + run.report.unexpected);
        line("reordered within their flow", |run| run.report.reordered);
        text.push_str(&self.row("rate", |run| per_second(run.messages_per_second())));
        if self
            .measurements
            .iter()
            .any(|run| run.method == Method::Resubmit && run.report.reordered > 0)
        {
            text.push_str(
                "  Reordered: two N-packets of a flow were resubmitted side by side; their messages leave in turns.\n",
            );
        }
        text
    }

    fn link(&self) -> String {
        let mut text = self.headline("On the link, counted by the ports");
        let mut part = |name: &str, value: fn(Amount) -> u64| {
            text.push_str(&self.row(&format!("{name} without aggregation"), |run| {
                grouped(value(run.without_aggregation()))
            }));
            text.push_str(&self.row("  with aggregation", |run| grouped(value(run.with_aggregation()))));
            text.push_str(&self.row("  saved", |run| {
                percent(1.0 - ratio(value(run.with_aggregation()), value(run.without_aggregation())))
            }));
        };
        part("frames", |amount| amount.frames);
        part("bytes", |amount| amount.bytes);
        part("bytes on the wire*", Amount::wire_bytes);
        text.push_str("  * with preamble, start delimiter, check sequence and gap: 24 bytes a frame\n");
        text
    }

    fn headers(&self) -> String {
        let payload = self.settings.format().payload_bytes();
        let format = self.settings.format();
        let mut text = format!("{:<FIRST$}", "Headers' share of the bytes");
        text.extend(BATCHES.map(|batch| format!("{:>9}", format!("N = {batch}"))));
        text.push('\n');
        let mut line = |name: String, shares: [String; 4]| {
            let _ = write!(text, "  {name:<width$}", width = FIRST - 2);
            text.extend(shares.map(|share| format!("{share:>9}")));
            text.push('\n');
        };
        for run in &self.measurements {
            let measured = percent(run.header_share(format));
            line(
                format!("measured, {}", run.method.name()),
                BATCHES.map(|batch| {
                    if batch == self.settings.batch() {
                        measured.clone()
                    } else {
                        String::new()
                    }
                }),
            );
        }
        line(
            format!("this format: {MESSAGE_HEADERS} / ({MESSAGE_HEADERS} + {payload} N)"),
            BATCHES.map(|batch| percent(header_share(MESSAGE_HEADERS, payload, batch as usize))),
        );
        line(
            format!("published format: {PUBLISHED_HEADERS} / ({PUBLISHED_HEADERS} + {PUBLISHED_PAYLOAD} N)"),
            BATCHES.map(|batch| percent(header_share(PUBLISHED_HEADERS, PUBLISHED_PAYLOAD, batch as usize))),
        );
        line(
            "published".to_string(),
            PUBLISHED_PERCENT.map(|published| format!("{published} %")),
        );
        let _ = writeln!(
            text,
            "  This format has {payload} bytes of payload after {MESSAGE_HEADERS} of headers: Ethernet, IPv4, UDP, flag. \
             The published shares are\n  for {PUBLISHED_PAYLOAD} bytes (a message of Sigfox) behind {PUBLISHED_HEADERS}: \
             Ethernet, IPv4, UDP. Both formats' shares are computed; measured is\n  what was counted on the link."
        );
        text
    }

    fn drops(&self) -> String {
        let mut text = self.headline("Drops");
        for (switch, name) in ["switch 1", "switch 2"].into_iter().enumerate() {
            let mut reasons: Vec<String> = self
                .measurements
                .iter()
                .flat_map(|run| run.switches[switch].drops().into_keys())
                .collect();
            reasons.sort();
            reasons.dedup();
            if reasons.is_empty() {
                text.push_str(&self.row(name, |_| "0".to_string()));
            }
            for reason in reasons {
                text.push_str(&self.row(&format!("{name}, {reason}"), |run| {
                    grouped(run.switches[switch].drops().get(&reason).copied().unwrap_or(0))
                }));
            }
        }
        text.push_str(
            "  ingress_drop is the programs' own doing: switch 1 drops a message once its payload is kept for the batch,\n  \
             switch 2 (resubmit) drops an N-packet once all its clones are taken.\n",
        );
        text
    }

    fn captures(&self) -> String {
        let mut text = format!("Captures, for wireshark, in {}\n", self.settings.folder().display());
        for run in &self.measurements {
            let _ = writeln!(text, "  {}/ devices.pcap, link.pcap, server.pcap", run.method.name());
        }
        text.push_str("  programs/ the P4 programs of both switches\n");
        text
    }

    fn verdict(&self) -> String {
        if self.is_correct() {
            let times = if self.measurements.len() > 1 {
                ", with both methods"
            } else {
                ""
            };
            return format!("Every message arrived once and unchanged{times}.\n");
        }
        let mut text = String::from("NOT CORRECT:\n");
        for run in self.measurements.iter().filter(|run| !run.is_correct()) {
            let _ = writeln!(text, "  {}: {}", run.method.name(), run.report);
        }
        text
    }

    /// A title and the names of the methods.
    fn headline(&self, title: &str) -> String {
        let mut text = format!("{title:<FIRST$}");
        text.extend(
            self.measurements
                .iter()
                .map(|run| format!("{:>OTHERS$}", run.method.name())),
        );
        text.push('\n');
        text
    }

    /// A name and a value for each method.
    fn row(&self, name: &str, value: impl Fn(&Measurement) -> String) -> String {
        let mut text = format!("  {name:<width$}", width = FIRST - 2);
        text.extend(self.measurements.iter().map(|run| format!("{:>OTHERS$}", value(run))));
        text.push('\n');
        text
    }
}

/// `27.3 %`
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::tests::flawless;
    use crate::settings::{Options, tests::options};

    fn demonstration(measurements: Vec<Measurement>) -> Demonstration {
        let options = Options {
            messages: 80,
            ..options()
        };
        Demonstration::new(Settings::new(&options).expect("correct options"), false, measurements)
    }

    #[test]
    fn the_tables_show_what_was_measured_and_what_was_published() {
        let text = demonstration(vec![flawless()]).text();
        for part in [
            "65.6 %",
            "27.3 %",
            "30.4 %",
            "30 %",
            "78 %",
            "switch 1, ingress_drop",
            "once and unchanged.",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn a_lost_message_is_not_correct() {
        let mut measurement = flawless();
        measurement.report.lost = 1;
        measurement.report.delivered = 79;
        let demonstration = demonstration(vec![flawless(), measurement]);
        assert!(!demonstration.is_correct());
        assert!(demonstration.text().contains("NOT CORRECT"));
        assert_eq!(demonstration.json()["correct"], false);
        assert_eq!(demonstration.json()["runs"][0]["correct"], true);
    }
}
