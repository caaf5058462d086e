//! The metrics of a switch.

mod control;
mod program;

pub use control::ControlReport;

use crate::family::Family;
use forebay_daemon::Report;
use forebay_packet::PortState;
use forebay_pipeline::Pipeline;

/// The metrics of a switch that runs a program; `control` is there if controllers are served.
pub fn families(report: &Report, pipeline: &Pipeline, control: Option<&ControlReport>) -> Vec<Family> {
    let mut families = packets(report);
    families.extend(ports(report));
    families.extend(queues(report));
    families.extend(paths(report));
    families.extend(times(report));
    families.extend(program::tables(report));
    families.extend(program::learning(report));
    families.extend(program::counters(pipeline));
    families.extend(control.into_iter().flat_map(control::families));
    families
}

/// The process: its version and when it started, in nanoseconds since the Unix epoch.
pub fn process(start_ns: u64) -> Vec<Family> {
    let mut build = Family::gauge("forebay_build_info", "The version of forebay; the value is 1.");
    build.add(&[("version", &env!("CARGO_PKG_VERSION"))], 1u64);
    let start = Family::gauge(
        "forebay_start_time_seconds",
        "When the process started, in seconds since the Unix epoch.",
    );
    vec![build, start.of(start_ns as f64 / 1e9)]
}

/// The books of the switch: received + copied = sent + dropped + inside.
fn packets(report: &Report) -> Vec<Family> {
    let counters = &report.counters;
    let inside = (counters.received + counters.copies).saturating_sub(counters.transmitted + counters.dropped);
    vec![
        Family::counter("forebay_received_packets_total", "Packets that ports delivered.").of(counters.received),
        Family::counter(
            "forebay_copied_packets_total",
            "Packets made inside: multicast replicas beyond the first, and clones.",
        )
        .of(counters.copies),
        Family::counter("forebay_sent_packets_total", "Packets that ports accepted for sending.")
            .of(counters.transmitted),
        Family::counter("forebay_dropped_packets_total", "Packets dropped for any reason.").of(counters.dropped),
        Family::gauge(
            "forebay_inside_packets",
            "Packets inside the switch: in queues, or on their way back to ingress.",
        )
        .of(inside),
    ]
}

fn ports(report: &Report) -> Vec<Family> {
    let mut up = Family::gauge("forebay_port_up", "Whether the port can carry packets.");
    let counter = Family::counter;
    let mut received = counter(
        "forebay_port_received_packets_total",
        "Packets that the port delivered.",
    );
    let mut received_bytes = counter("forebay_port_received_bytes_total", "Bytes that the port delivered.");
    let mut sent = counter(
        "forebay_port_sent_packets_total",
        "Packets that the port accepted for sending.",
    );
    let mut sent_bytes = counter(
        "forebay_port_sent_bytes_total",
        "Bytes that the port accepted for sending.",
    );
    let mut dropped = counter(
        "forebay_port_dropped_packets_total",
        "Packets dropped at the port, by the port itself, or by the switch: on their way in or out by it.",
    );
    for port in &report.ports {
        let labels: [(&'static str, &dyn std::fmt::Display); 2] = [("port", &port.number), ("name", &port.name)];
        up.add(&labels, port.state == PortState::Up);
        received.add(&labels, port.counters.received_packets);
        received_bytes.add(&labels, port.counters.received_bytes);
        sent.add(&labels, port.counters.sent_packets);
        sent_bytes.add(&labels, port.counters.sent_bytes);
        let [number, name] = labels;
        for (reason, packets) in port.counters.nonzero_drops() {
            dropped.add(&[number, name, ("by", &"port"), ("reason", &reason.name())], packets);
        }
        for (reason, packets) in &port.drops {
            dropped.add(&[number, name, ("by", &"switch"), ("reason", reason)], *packets);
        }
    }
    vec![up, received, received_bytes, sent, sent_bytes, dropped]
}

fn queues(report: &Report) -> Vec<Family> {
    let mut waiting = Family::gauge("forebay_queue_packets", "Packets that wait in the queue.");
    let mut capacity = Family::gauge("forebay_queue_capacity_packets", "Packets that the queue can hold.");
    let mut taken = Family::counter("forebay_queue_taken_packets_total", "Packets that the queue has taken.");
    let mut dropped = Family::counter(
        "forebay_queue_dropped_packets_total",
        "Packets that the queue has refused because it was full.",
    );
    for queue in &report.queues {
        let labels: [(&'static str, &dyn std::fmt::Display); 2] = [("port", &queue.port), ("queue", &queue.queue)];
        waiting.add(&labels, queue.depth);
        capacity.add(&labels, queue.capacity);
        taken.add(&labels, queue.enqueued);
        dropped.add(&labels, queue.dropped);
    }
    vec![waiting, capacity, taken, dropped]
}

fn paths(report: &Report) -> Vec<Family> {
    let mut fast = Family::counter(
        "forebay_fast_path_packets_total",
        "Packets of the fast path, by the form of its code.",
    );
    for (form, packets) in report.paths.fast() {
        fast.add(&[("form", &form.name())], packets);
    }
    let mut slow = Family::counter(
        "forebay_slow_path_packets_total",
        "Packets of the slow path, by what kept them off the fast path.",
    );
    for (reason, packets) in report.paths.slow() {
        slow.add(&[("reason", &reason.name())], packets);
    }
    let misses = Family::counter(
        "forebay_flow_cache_misses_total",
        "Look-ups whose key was not that of the flow cache.",
    );
    let mut further = Family::counter(
        "forebay_further_passes_total",
        "Passes through ingress after a packet's first one.",
    );
    further.add(&[("kind", &"resubmitted")], report.paths.further_passes.resubmitted);
    further.add(&[("kind", &"recirculated")], report.paths.further_passes.recirculated);
    let further_fast = Family::counter(
        "forebay_further_passes_fast_total",
        "Passes through ingress after a packet's first one, on the fast path.",
    );
    let further_fast = further_fast.of(report.paths.further_passes.fast);
    vec![fast, slow, misses.of(report.paths.flow_misses), further, further_fast]
}

fn times(report: &Report) -> Vec<Family> {
    let inside = Family::histogram(
        "forebay_packet_poll_seconds",
        "Of all packets, the time from the beginning of the poll that received them to its end.",
    );
    let delay = Family::histogram(
        "forebay_packet_delay_seconds",
        "Of sampled packets, the time from the port that delivered them to the port that sent them, queues included.",
    );
    let delays = report.delays.as_ref().map(|delays| delay.of(delays));
    [inside.of(&report.inside)].into_iter().chain(delays).collect()
}
