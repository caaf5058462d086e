//! Results for people.

use crate::certainty::Certainty;
use crate::results::{ChipResults, MessageResults, Results, SourceResults};
use crate::search::{Backlog, SearchResults};
use forebay_chip::Constant;
use std::fmt::Write;

/// Values without a source that are named; others are counted.
const UNSOURCED_SHOWN: usize = 6;

/// The results in a few tables.
pub fn text(results: &Results) -> String {
    let mut text = format!("{}\n\n", results.description);
    sources(results, &mut text);
    flows(results, &mut text);
    outputs(results, &mut text);
    if let Some(messages) = &results.messages {
        self::messages(messages, &mut text);
    }
    results.chips.iter().for_each(|chip| self::chip(chip, &mut text));
    text
}

/// `1 seed`, `2 seeds`
fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// What a search has found, in a line or two; what it has not found is said too.
pub fn search_text(search: &SearchResults) -> String {
    let how = format!(
        "trials of {} us, within {} Gbps, {}, {}",
        search.trial_us,
        search.tolerance_gbps,
        counted(search.seeds as usize, "seed"),
        counted(search.trials.len(), "trial")
    );
    let how = match &search.certainty {
        None => how,
        Some(certainty) => format!("{}; {how}", sure(certainty, search.tolerance_gbps)),
    };
    let (_, most) = search.range_gbps;
    let found = match search.max_gbps {
        None => format!("nothing found: {} ({how})", lowest_loss(search)),
        Some(max) if search.at_least => {
            let why = if search.ceiling_is_line_rate {
                "the port takes no more"
            } else {
                "the search goes no higher: to_gbps"
            };
            format!("at least {max:.3} Gbps without loss: {why} ({how})")
        }
        Some(max) => format!("{max:.3} Gbps without loss (up to {most} Gbps, {how})"),
    };
    found + &search.backlog.map(backlog).unwrap_or_default()
}

/// That the trials were too short.
fn backlog(backlog: Backlog) -> String {
    let Backlog { halfway, at_end, sent } = backlog;
    format!(
        "\nnote: at this load the chip's buffer fills: {halfway} packets were inside halfway and {at_end} of {sent} at the end of the trial. \
         A longer duration_us would find less"
    )
}

/// How sure the mean of several searches is.
fn sure(certainty: &Certainty, tolerance_gbps: f64) -> String {
    let reached = if certainty.reached {
        ""
    } else {
        ", which is not as sure as was asked for: searches, or longer trials, still differ too much"
    };
    // Searches end on a grid: the mean of those that agree is known as well as one of them.
    let mean = if certainty.half_width_gbps < tolerance_gbps {
        format!("mean within the tolerance of {tolerance_gbps} Gbps")
    } else {
        format!("mean +- {:.3} Gbps", certainty.half_width_gbps)
    };
    format!(
        "{mean} at {} % confidence{reached}, {} searches with trials up to {} us",
        100.0 * certainty.confidence,
        certainty.searches.len(),
        certainty.searches.last().map_or(0.0, |search| search.trial_us)
    )
}

/// The losses at the lowest load that was tried and lost something.
fn lowest_loss(search: &SearchResults) -> String {
    let Some(trial) = search.lowest_bad() else {
        return "no load was tried".to_string();
    };
    let reasons = search.lowest_loss.iter().flat_map(Results::losses);
    let reasons: Vec<String> = reasons.map(|(reason, count)| format!("{reason} {count}")).collect();
    let reasons = if reasons.is_empty() {
        String::new()
    } else {
        format!(" ({})", reasons.join(", "))
    };
    let missing = match trial.missing {
        0 => String::new(),
        missing if missing > 0 => format!(", {missing} frames missing at the outputs"),
        surplus => format!(", {} frames more than expected at the outputs", -surplus),
    };
    format!(
        "at {:.3} Gbps, the lowest load tried, {} of {} frames are lost{reasons}{missing}",
        trial.gbps, trial.lost, trial.sent
    )
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
        "{:<12} {:>8} {:>11} {:>11} {:>9} {:>12} {:>10} {:>10} {:>10} {:>10} {:>7}",
        "stream",
        "to",
        "sent",
        "delivered",
        "copies",
        "offered Gbps",
        "min ns",
        "median ns",
        "99 % ns",
        "reordered",
        "extent"
    );
    results.sources.iter().for_each(|source| self::source(source, text));
    line!(
        text,
        "  delivered: packets of which a frame came out; copies: further frames of them. Gbps and Mpps: on the wire, framing\n  \
         included, from the end of the warm-up to that of the traffic. Delays and order: of frames sent in that time, whenever\n  \
         they leave; last byte in to last byte out. Extent: by how many packets one is late (RFC 4737). Counts: the whole run."
    );
}

fn source(source: &SourceResults, text: &mut String) {
    let delay = |value: Option<f64>| match value {
        Some(value) if source.latency.count > 0 => format!("{value:.0}"),
        _ => "–".to_string(),
    };
    let percentile = |name| delay(source.latency.percentiles_ns.get(name).copied());
    let (reordered, extent) = match source.reordering.arrived {
        0 => ("–".to_string(), "–".to_string()),
        _ => (
            format!("{:.3} %", 100.0 * source.reordering.reordered_ratio),
            source.reordering.extent_max.to_string(),
        ),
    };
    line!(
        text,
        "{:<12} {:>8} {:>11} {:>11} {:>9} {:>12.3} {:>10} {:>10} {:>10} {:>10} {:>7}",
        source.name,
        source.to,
        source.sent,
        source.delivered,
        source.copies,
        source.offered_gbps,
        delay(Some(source.latency.min_ns)),
        percentile("50"),
        percentile("99"),
        reordered,
        extent
    );
    if source.delivered < source.sent {
        for (end, count) in &source.ends {
            line!(text, "  ends inside, {end}: {count}");
        }
    }
}

fn outputs(results: &Results, text: &mut String) {
    line!(
        text,
        "\n{:<12} {:>11} {:>9} {:>9}",
        "output",
        "frames",
        "Gbps out",
        "Mpps"
    );
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
    if results.outputs.is_empty() {
        line!(text, "  nothing left the network");
    }
}

fn flows(results: &Results, text: &mut String) {
    if results.flows.is_empty() {
        return;
    }
    line!(
        text,
        "\n{:<16} {:<8} {:>12} {:>9} {:>7} {:>9} {:>8} {:>9} {:>12}",
        "flow",
        "",
        "goodput Gbps",
        "sent",
        "again",
        "time-outs",
        "marked",
        "trip us",
        "completed us"
    );
    for flow in &results.flows {
        let time = |time: Option<f64>, digits: usize| time.map_or("–".to_string(), |time| format!("{time:.digits$}"));
        line!(
            text,
            "{:<16} {:<8} {:>12.3} {:>9} {:>7} {:>9} {:>6.1} % {:>9} {:>12}",
            flow.name,
            flow.transport,
            flow.goodput_gbps,
            flow.sent,
            flow.retransmitted,
            flow.timeouts,
            100.0 * flow.marked_share,
            time(flow.round_trip_mean_us, 2),
            time(flow.completed_us, 1)
        );
    }
    if let Some(fairness) = results.fairness() {
        line!(text, "fairness (Jain's index) {fairness:.3}");
    }
}

fn messages(messages: &MessageResults, text: &mut String) {
    line!(
        text,
        "\nmessages: {} in, {} out, {} missing, {} unexpected, {} frames that are none; {:.2} in a frame; they wait {:.1} us on average, {:.1} us at most",
        messages.sent,
        messages.delivered,
        messages.missing,
        messages.unexpected,
        messages.damaged,
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
    for lifted in &chip.lifted {
        line!(text, "  rule lifted: {}; reason: {}", lifted.rule, lifted.reason);
    }
    for (reason, count) in &chip.lost {
        line!(text, "  lost at port {}: {count}", reason.replacen('.', ", ", 1));
    }
    for (reason, count) in &chip.dropped {
        line!(text, "  dropped by the program, {reason}: {count}");
    }
    for (reason, count) in &chip.refused {
        line!(text, "  clones or digests that were never made, {reason}: {count}");
    }
    ports(chip, text);
    line!(text, "  packet buffer at most {} bytes", chip.buffer_max_bytes);
    let pauses: u64 = chip.ports.iter().map(|port| port.pauses_sent).sum();
    if pauses > 0 {
        let headroom = chip.headroom_max_bytes;
        line!(text, "  {pauses} pauses, headroom at most {headroom} bytes");
    }
    if let Some(words) = fitted_text(&chip.spec, &chip.fitted) {
        line!(text, "  {words}");
    }
    if let Some(words) = unsourced_text(&chip.spec, &chip.unsourced) {
        line!(text, "  {words}");
    }
}

/// Which constants of a chip's model were fitted; none when none was.
pub fn fitted_text(spec: &str, fitted: &[Constant]) -> Option<String> {
    let names: Vec<&str> = fitted.iter().map(|constant| constant.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the model of {spec} has {} constants fitted to published results: {}",
            names.len(),
            names.join(", ")
        )
    })
}

/// Which values of a chip have no source; none when all have one.
pub fn unsourced_text(spec: &str, unsourced: &[String]) -> Option<String> {
    let count = unsourced.len();
    (count > 0).then(|| {
        let shown: Vec<&str> = unsourced.iter().map(String::as_str).take(UNSOURCED_SHOWN).collect();
        let more = if count > UNSOURCED_SHOWN { ", ..." } else { "" };
        format!(
            "the file of {spec} does not say where {count} of its values come from (tables [from.*]): {}{more}",
            shown.join(", ")
        )
    })
}

fn ports(chip: &ChipResults, text: &mut String) {
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
        let wait = queue.mean_wait_ns.map_or("–".to_string(), |wait| format!("{wait:.0}"));
        line!(
            text,
            "  port {} queue {}: waits {wait} ns, {:.0} bytes on average, {} at most",
            queue.port,
            queue.queue,
            queue.mean_bytes,
            queue.max_bytes
        );
    }
}
