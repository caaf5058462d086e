//! Results for people.

use crate::results::{ChipResults, MessageResults, Results};
use std::fmt::Write;

/// The results in a few tables.
pub fn text(results: &Results) -> String {
    let mut text = format!("{}\n\n", results.description);
    sources(results, &mut text);
    outputs(results, &mut text);
    if let Some(messages) = &results.messages {
        self::messages(messages, &mut text);
    }
    results.chips.iter().for_each(|chip| self::chip(chip, &mut text));
    text
}

/// Writing to a string has no errors.
macro_rules! line {
    ($text:expr, $($argument:tt)*) => {
        writeln!($text, $($argument)*).expect("a string takes everything")
    };
}

fn sources(results: &Results, text: &mut String) {
    line!(
        text,
        "{:<12} {:>8} {:>11} {:>11} {:>9} {:>11} {:>11} {:>11} {:>10} {:>7}",
        "stream",
        "to",
        "sent",
        "delivered",
        "Gbps",
        "min ns",
        "median ns",
        "99 % ns",
        "reordered",
        "extent"
    );
    for source in &results.sources {
        let percentile = |name| source.latency.percentiles_ns.get(name).copied().unwrap_or(0.0);
        line!(
            text,
            "{:<12} {:>8} {:>11} {:>11} {:>9.3} {:>11.0} {:>11.0} {:>11.0} {:>8.3} % {:>7}",
            source.name,
            source.to,
            source.sent,
            source.delivered,
            source.offered_gbps,
            source.latency.min_ns,
            percentile("50"),
            percentile("99"),
            100.0 * source.reordering.reordered_ratio,
            source.reordering.extent_max
        );
    }
}

fn outputs(results: &Results, text: &mut String) {
    line!(text, "\n{:<12} {:>11} {:>9} {:>9}", "output", "frames", "Gbps", "Mpps");
    for output in &results.outputs {
        line!(
            text,
            "{:<12} {:>11} {:>9.3} {:>9.3}",
            output.port,
            output.frames,
            output.gbps,
            output.mpps
        );
    }
}

fn messages(messages: &MessageResults, text: &mut String) {
    line!(
        text,
        "\nmessages: {} in, {} out, {} missing, {} unexpected; {:.2} in a frame; they wait {:.1} us on average, {:.1} us at most",
        messages.sent,
        messages.delivered,
        messages.missing,
        messages.unexpected,
        messages.messages_per_frame,
        messages.wait.mean_ns / 1e3,
        messages.wait.max_ns / 1e3
    );
}

fn chip(chip: &ChipResults, text: &mut String) {
    line!(
        text,
        "\nchip {} ({}): {} in + {} copies = {} out + {} lost + {} dropped by the program + {} inside",
        chip.name,
        chip.spec,
        chip.received,
        chip.copies,
        chip.transmitted,
        chip.lost.values().sum::<u64>(),
        chip.dropped.values().sum::<u64>(),
        chip.inside
    );
    for (reason, count) in &chip.lost {
        line!(text, "  lost at port {}: {count}", reason.replacen('.', ", ", 1));
    }
    for (reason, count) in &chip.dropped {
        line!(text, "  dropped by the program, {reason}: {count}");
    }
    line!(
        text,
        "  {:>5} {:>11} {:>11} {:>8} {:>8}",
        "port",
        "in",
        "out",
        "wire",
        "parser"
    );
    for port in &chip.ports {
        line!(
            text,
            "  {:>5} {:>11} {:>11} {:>6.1} % {:>6.1} %",
            port.port,
            port.received_frames,
            port.sent_frames,
            100.0 * port.wire_utilisation,
            100.0 * port.parser_utilisation
        );
    }
    for queue in chip.queues.iter().filter(|queue| queue.max_bytes > 0) {
        line!(
            text,
            "  port {} queue {}: waits {:.0} ns, {:.0} bytes on average, {} at most",
            queue.port,
            queue.queue,
            queue.mean_wait_ns,
            queue.mean_bytes,
            queue.max_bytes
        );
    }
    let busiest = chip.replication_bus_utilisation.iter().copied().fold(0.0, f64::max);
    line!(
        text,
        "  packet buffer at most {} bytes, replication bus {:.1} %",
        chip.buffer_max_bytes,
        100.0 * busiest
    );
}
