//! Reports and events as points of InfluxDB's line protocol.
//!
//! | measurement | tags | fields |
//! |---|---|---|
//! | `int_hop` | `node`, `mode`, `egress_port`, `queue` | `flow`, `hop`, `ingress_port`, `latency_ns`, `queue_depth`, `ingress_time_ns`, `egress_time_ns` |
//! | `int_drop` | `node`, `reason` | `flow`, `ingress_port` |
//! | `int_event` | `kind`, `node` | `flow`, `text` |
//!
//! The time of a point is that of its report, moved on by nanoseconds where two would be the same: points of the same
//! series and time replace one another.

use crate::analysis::{Burst, Event, Path};
use crate::report::{Hop, Report};
use forebay_telemetry::Batch;
use forebay_telemetry::influx::{Field, point};

/// Rows of a batch.
const ROWS_MAX: u64 = 5_000;

/// Points that wait to be sent.
#[derive(Default)]
pub(crate) struct Points {
    text: String,
    rows: u64,
    last_ns: u64,
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// The tags of a hop in which the hops of a report differ.
fn series(hop: &Hop) -> (Option<u32>, Option<u16>, Option<u8>) {
    (hop.node, hop.egress_port, hop.queue)
}

impl Points {
    /// A time that no point has yet.
    fn next_ns(&mut self, time_ns: u64) -> u64 {
        self.last_ns = time_ns.max(self.last_ns + 1);
        self.last_ns
    }

    pub(crate) fn report(&mut self, report: &Report, received_ns: u64) {
        let mut time_ns = self.next_ns(received_ns);
        let flow = report.flow.map(|flow| flow.to_string());
        if report.flags.dropped {
            return self.drop(report, flow.as_deref(), time_ns);
        }
        for (place, hop) in report.hops.iter().enumerate() {
            // In a loop, or where nodes do not say who they are, hops are of the same series.
            if report.hops[..place].iter().any(|other| series(other) == series(hop)) {
                time_ns = self.next_ns(received_ns);
            }
            self.hop(report, (place as u64 + 1, hop), flow.as_deref(), time_ns);
        }
    }

    fn hop(&mut self, report: &Report, (place, hop): (u64, &Hop), flow: Option<&str>, time_ns: u64) {
        let (node, port, queue) = (number(hop.node), number(hop.egress_port), number(hop.queue));
        let tags = [
            ("node", &*node),
            ("mode", report.mode.name()),
            ("egress_port", &*port),
            ("queue", &*queue),
        ];
        let optional = [
            ("ingress_port", hop.ingress_port.map(u64::from)),
            ("latency_ns", hop.latency_ns.map(u64::from)),
            ("queue_depth", hop.queue_depth.map(u64::from)),
            ("ingress_time_ns", hop.ingress_time_ns),
            ("egress_time_ns", hop.egress_time_ns),
        ];
        let mut fields = vec![("hop", Field::Whole(place))];
        fields.extend(flow.map(|flow| ("flow", Field::Text(flow))));
        fields.extend(
            optional
                .iter()
                .filter_map(|(name, value)| Some((*name, Field::Whole((*value)?)))),
        );
        point(&mut self.text, "int_hop", &tags, &fields, time_ns);
        self.rows += 1;
    }

    fn drop(&mut self, report: &Report, flow: Option<&str>, time_ns: u64) {
        let (node, reason) = (report.reporter.node.to_string(), number(report.drop_reason));
        let port = report.hops.last().and_then(|hop| hop.ingress_port);
        let mut fields = vec![("flow", Field::Text(flow.unwrap_or_default()))];
        fields.extend(port.map(|port| ("ingress_port", Field::Whole(u64::from(port)))));
        point(
            &mut self.text,
            "int_drop",
            &[("node", &node), ("reason", &reason)],
            &fields,
            time_ns,
        );
        self.rows += 1;
    }

    pub(crate) fn event(&mut self, event: &Event, time_ns: u64) {
        let (node, flow, text) = match event {
            Event::Loop { node, flow, path } => (Some(*node), *flow, path_text(path)),
            Event::PathChange { flow, from, to } => (
                None,
                Some(*flow),
                format!("{}, before {}", path_text(to), path_text(from)),
            ),
            Event::Burst(burst) => (Some(burst.node), burst.flow, burst_text(burst)),
        };
        let flow = flow.map(|flow| flow.to_string()).unwrap_or_default();
        let time_ns = self.next_ns(time_ns);
        let fields = [("flow", Field::Text(&flow)), ("text", Field::Text(&text))];
        let node = number(node);
        point(
            &mut self.text,
            "int_event",
            &[("kind", event.kind()), ("node", &node)],
            &fields,
            time_ns,
        );
        self.rows += 1;
    }

    /// What waits, if it is enough for a batch or everything is wanted.
    pub(crate) fn take(&mut self, everything: bool) -> Option<Batch> {
        let is_due = self.rows >= ROWS_MAX || (everything && self.rows > 0);
        is_due.then(|| Batch {
            body: std::mem::take(&mut self.text).into_bytes(),
            rows: std::mem::take(&mut self.rows),
        })
    }
}

/// Nodes with arrows between them.
pub(crate) fn path_text(path: &Path) -> String {
    let nodes: Vec<String> = path.iter().map(u32::to_string).collect();
    nodes.join(" > ")
}

pub(crate) fn burst_text(burst: &Burst) -> String {
    format!(
        "{} ns, {} packets, depth {}, latency {} ns",
        burst.duration_ns, burst.packets, burst.depth_max, burst.latency_max_ns
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Flags, Mode, Reporter};

    #[test]
    fn no_hop_of_a_loop_replaces_another() {
        let hop = |node| Hop {
            node: Some(node),
            ..Hop::default()
        };
        let report = Report {
            reporter: Reporter { node: 2, hardware: 0 },
            sequence: 0,
            flags: Flags::default(),
            drop_reason: None,
            mode: Mode::Md,
            flow: None,
            hops: [1, 2, 1, 2].into_iter().map(hop).collect(),
            is_whole: true,
        };
        let mut points = Points::default();
        points.report(&report, 100);
        points.report(&report, 100);
        let batch = points.take(true).expect("points");
        let text = String::from_utf8(batch.body).expect("a text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "int_hop,node=1,mode=md hop=1i 100");
        assert_eq!(lines[1], "int_hop,node=2,mode=md hop=2i 100");
        assert_eq!(lines[2], "int_hop,node=1,mode=md hop=3i 101");
        let identities = lines.iter().map(|line| {
            let (series, rest) = line.split_once(' ').expect("fields");
            (series, rest.rsplit_once(' ').expect("a time").1)
        });
        let identities: std::collections::BTreeSet<(&str, &str)> = identities.collect();
        assert_eq!(identities.len(), 8, "{text}");
    }
}
