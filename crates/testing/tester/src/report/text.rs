//! The report for terminals.

use super::wrong_frame::wrong_frame;
use super::{bits, rate, time};
use crate::histogram::Distribution;
use crate::on_chip::ChipRemarks;
use crate::one_by_one::OneByOne;
use crate::results::{PathResults, ReorderingResults, Results, StreamResults, TrialResults};
use crate::search::rfc2544::{BackToBack, SizeResults};
use crate::search::rfc2889::BridgeResults;
use crate::search::{Confirmed, LimitedBy, SearchResults};
use crate::self_test::SelfTest;
use std::fmt::Write;

/// Rows of a histogram.
const ROWS: usize = 12;

/// Characters of its longest bar.
const BAR: usize = 40;

/// The results as text.
pub fn text(results: &Results) -> String {
    let mut out = format!("{}\n  device: {}\n", results.description, results.device);
    if let Some(machine) = &results.machine {
        let _ = writeln!(out, "  machine: {}", machine.words());
    }
    for words in results.self_test.iter().flat_map(SelfTest::words) {
        let _ = writeln!(out, "  {words}");
    }
    if let Some(chip) = &results.chip {
        self::chip(chip, &mut out);
    }
    for trial in &results.trials {
        if results.trials.len() > 1 {
            let _ = writeln!(out, "\ntrial {}", trial.number);
        }
        trial_text(trial, &mut out);
    }
    for found in &results.searches {
        search(found, &mut out);
    }
    if !results.rfc2544.is_empty() {
        sizes(&results.rfc2544, &mut out);
        recoveries(&results.rfc2544, &mut out);
    }
    if let Some(ended_by) = &results.ended_by {
        let _ = writeln!(out, "ended early: {ended_by}");
    }
    if let Some(found) = &results.rfc2889 {
        bridge(found, &mut out);
    }
    if let Some(injected) = &results.injected {
        let _ = writeln!(
            out,
            "\ninjected on purpose: {} lost, {} duplicated, {} reordered",
            injected.lost, injected.duplicated, injected.reordered
        );
    }
    out
}

/// What the figures of a chip hang on.
fn chip(chip: &ChipRemarks, out: &mut String) {
    for lifted in &chip.lifted {
        let _ = writeln!(out, "  rule lifted: {}; reason: {}", lifted.rule, lifted.reason);
    }
    let words = [
        forebay_sim::fitted_text(&chip.spec, &chip.fitted),
        forebay_sim::unsourced_text(&chip.spec, &chip.unsourced),
    ];
    for words in words.into_iter().flatten() {
        let _ = writeln!(out, "  {words}");
    }
}

fn bridge(found: &BridgeResults, out: &mut String) {
    let at_least = |is_so: bool| if is_so { "at least " } else { "" };
    let _ = writeln!(
        out,
        "\naddress caching capacity (RFC 2889 §5.7): {}{} addresses behind a port",
        at_least(found.capacity_is_at_least),
        found.caching_capacity
    );
    let _ = writeln!(
        out,
        "address learning rate (§5.8): {}{:.0} addresses a second",
        at_least(found.learning_rate_is_at_least),
        found.learning_rate_per_s
    );
    let limits = [found.capacity_limited_by, found.learning_rate_limited_by];
    if limits.contains(&LimitedBy::Tester) {
        let unsent: u64 = found.attempts.iter().map(|attempt| attempt.unsent).sum();
        let _ = writeln!(
            out,
            "  limited by the tester, which could not send {unsent} frames: the bridge may learn more"
        );
    }
    if found.ended_by.is_some() {
        out.push_str("broadcast frames (§5.9): not measured\n");
        return;
    }
    let broadcast = found.broadcast_pps.map_or("none without loss".to_string(), rate);
    let _ = writeln!(
        out,
        "broadcast frames (§5.9): {broadcast}, by all other ports\n  {}",
        found.broadcast_limited_by.words()
    );
}

fn search(found: &SearchResults, out: &mut String) {
    let seconds: f64 = found.trials.iter().map(|trial| trial.seconds).sum();
    let disturbed = found.trials.iter().filter(|trial| trial.is_disturbed).count();
    let late = found.trials.iter().filter(|trial| trial.is_late).count();
    let load = |pps: Option<f64>| pps.map_or("none".to_string(), rate);
    let _ = writeln!(
        out,
        "\n{} (loss up to {}, {:.0} % of the time may be worse): {}; too high: {}; conditional throughput {}",
        found.goal,
        share(found.loss_ratio),
        100.0 * found.exceed_ratio,
        load(found.lower_bound_pps),
        load(found.upper_bound_pps),
        load(found.conditional_throughput_pps)
    );
    let _ = writeln!(
        out,
        "  {}{}; {} trials of {} in all, {disturbed} of them disturbed by the machine, {late} with the sender late",
        found.limited_by.words(),
        found.confirmed.map(Confirmed::remark).unwrap_or_default(),
        found.trials.len(),
        time((seconds * 1e9) as u64)
    );
    if let Some(backlog) = found.backlog() {
        let _ = writeln!(
            out,
            "  doubt: at this load {}; make duration_scale larger",
            super::backlog(backlog)
        );
    }
    if let Some(silence) = found.silence() {
        let _ = writeln!(out, "  {silence}");
    }
    if !found.is_complete {
        out.push_str("  the search ended before the bounds were as near as the goal wants\n");
    }
}

fn sizes(sizes: &[SizeResults], out: &mut String) {
    let _ = writeln!(
        out,
        "\n{:>6}  {:>12}  {:>10}{:>10}{:>10}  {:>12}  {:>10}   at 90 % of the throughput; burst at the highest load",
        "bytes", "throughput", "median", "99.9 %", "PDV", "burst", "buffer"
    );
    for size in sizes {
        let at = size.latency.iter().find(|found| found.share == 0.9);
        let ns = |pick: fn(&crate::search::rfc2544::LatencyResults) -> Option<u64>| {
            at.and_then(pick).map_or("-".to_string(), time)
        };
        let burst = &size.back_to_back;
        let (frames, buffer) = bursts(burst);
        let is_late = burst.is_late || at.is_some_and(|found| found.is_late);
        let late = if is_late { "; sender late" } else { "" };
        let confirmed = size.search.confirmed.map(Confirmed::remark).unwrap_or_default();
        let fills = match size.search.backlog() {
            Some(_) => "; doubt: the chip's buffer fills, trials are too short",
            None => "",
        };
        let ended = size
            .ended_by
            .as_ref()
            .map_or(String::new(), |why| format!("; ended early: {why}"));
        let _ = writeln!(
            out,
            "{:>6}  {:>12}  {:>10}{:>10}{:>10}  {frames:>12}  {buffer:>10}   {}{late}{confirmed}{fills}{ended}",
            size.frame_bytes,
            throughput(&size.search),
            ns(|found| found.typical_ns),
            ns(|found| found.worst_case_ns),
            ns(|found| found.pdv_ns),
            size.limited_by.words()
        );
    }
}

/// What a search has found; less than there may be when it ended early.
fn throughput(found: &SearchResults) -> String {
    match (found.lower_bound_pps, found.is_complete) {
        (Some(pps), true) => rate(pps),
        (Some(pps), false) => format!("≥ {}", rate(pps)),
        (None, true) => "none".to_string(),
        (None, false) => "not known".to_string(),
    }
}

/// The longest burst without loss, and the buffer that it implies.
fn bursts(found: &BackToBack) -> (String, String) {
    if found.frames.is_empty() {
        return ("-".to_string(), "-".to_string());
    }
    let more = if found.at_least || found.is_late { "≥ " } else { "" };
    (
        format!("{more}{:.0}", found.mean_frames),
        time((found.corrected_buffer_s * 1e9) as u64),
    )
}

/// System recovery, a line for each frame size that has it.
fn recoveries(sizes: &[SizeResults], out: &mut String) {
    for size in sizes {
        let Some(recovery) = &size.recovery else { continue };
        let after = format!(
            "{:>6}  recovery after {}",
            size.frame_bytes,
            rate(recovery.overload_pps)
        );
        let times = recovery.each_ns.len();
        let mut found = match recovery.mean_ns {
            Some(mean) => format!("{}, mean of {times}", time(mean as u64)),
            None => "not found".to_string(),
        };
        if recovery.without_loss > 0 {
            let _ = write!(found, "; {} times the overload lost nothing", recovery.without_loss);
        }
        if recovery.not_recovered > 0 {
            let _ = write!(found, "; {} times frames were lost to the end", recovery.not_recovered);
        }
        if recovery.unknown > 0 {
            let _ = write!(
                found,
                "; {} times not known, as frames of a stream come out by several ports",
                recovery.unknown
            );
        }
        if recovery.is_late {
            found.push_str("; sender late");
        }
        let _ = writeln!(out, "{after}: {found}");
    }
}

fn trial_text(trial: &TrialResults, out: &mut String) {
    for stream in &trial.streams {
        stream_text(stream, out);
    }
    if !trial.drops.is_empty() {
        let drops = trial.drops.iter().map(|(reason, count)| format!("{reason} {count}"));
        let of = match trial.warm_up_s {
            Some(warm_up_s) if warm_up_s > 0.0 => ", warm-up included",
            _ => "",
        };
        let drops = drops.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "\ndropped by the device{of}: {drops}");
    }
    for words in trial.one_by_one.iter().flat_map(OneByOne::words) {
        let _ = writeln!(out, "{words}");
    }
    if trial.foreign > 0 {
        let _ = writeln!(
            out,
            "\n{} frames came without a tag of this trial: sent by others, or changed on the way",
            trial.foreign
        );
    }
    for doubt in &trial.doubts {
        let _ = writeln!(out, "doubt: {doubt}");
    }
}

fn stream_text(stream: &StreamResults, out: &mut String) {
    let intended = match stream.intended_pps {
        Some(pps) => format!(" of {} intended", rate(pps)),
        None => ", as fast as possible".to_string(),
    };
    let _ = writeln!(
        out,
        "\n{}: sent {} frames, {}{intended}, {} on the wire; late at most {}, 99 % within {}",
        stream.name,
        stream.sent,
        rate(stream.sent_pps),
        bits(stream.sent_gbps),
        time(stream.lateness.max_ns),
        time(stream.lateness.p99_ns)
    );
    for path in &stream.paths {
        path_text(path, out);
    }
    if stream.misdirected > 0 {
        let _ = writeln!(out, "  {} frames came out by other ports", stream.misdirected);
    }
    if let Some(check) = &stream.check {
        let _ = writeln!(
            out,
            "  reference: {} frames the same, {} different, {} unexpected; {} dropped by the program",
            check.same, check.different, check.unexpected, check.expected_drops
        );
        if check.unmeasured > 0 {
            let _ = writeln!(
                out,
                "  reference: {} frames leave by ports that the test does not have; name them in `ports` of [device]",
                check.unmeasured
            );
        }
        check.examples.iter().for_each(|example| wrong_frame(example, out));
    }
}

fn path_text(path: &PathResults, out: &mut String) {
    let port = path.port.map_or("any port".to_string(), |port| format!("port {port}"));
    let _ = writeln!(
        out,
        "  {port}: received {} of {}, {}; lost {} ({}), duplicated {}, reordered {}",
        path.received,
        path.expected,
        rate(path.received_pps),
        path.lost,
        share(path.loss_ratio),
        path.duplicated,
        path.reordering.reordered
    );
    if path.reordering.reordered > 0 {
        reordering(&path.reordering, out);
    }
    latencies(path, out);
}

/// A share as a percentage with enough digits that what is not zero does not look so.
fn share(ratio: f64) -> String {
    match ratio {
        0.0 => "0 %".to_string(),
        ratio if ratio < 1e-4 => format!("{:.1e} %", 100.0 * ratio),
        ratio => format!("{:.3} %", 100.0 * ratio),
    }
}

fn reordering(found: &ReorderingResults, out: &mut String) {
    let _ = writeln!(
        out,
        "    reordering: within flows {}, extent {:.1} on average and {} at most, 3-reordered {}, {:.0} frames between",
        found.reordered_in_flow, found.extent_mean, found.extent_max, found.three_reordered, found.free_run_mean
    );
}

fn latencies(path: &PathResults, out: &mut String) {
    if path.latency_all.count == 0 {
        out.push_str("    no frame came, so there is no latency\n");
        return;
    }
    let _ = writeln!(
        out,
        "    {:28}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "min", "50 %", "90 %", "99 %", "99.9 %", "max"
    );
    const INTENDED: &str = "latency from intended time";
    let is_known = path.latency.count > 0;
    if is_known {
        row(INTENDED, &path.latency, out)
    } else {
        let _ = writeln!(out, "    {INTENDED:28}  none: the machine disturbed every frame");
    }
    let from_sending = if is_known {
        "latency from sending time"
    } else {
        "from sending time, disturbed"
    };
    let rows: [(&str, &Distribution); 3] = [
        (from_sending, &path.device_latency),
        ("difference of neighbours", &path.delay_variation),
        ("between arrivals", &path.inter_arrival),
    ];
    for (name, found) in rows.into_iter().filter(|(_, found)| found.count > 0) {
        row(name, found, out);
    }
    if path.latency_all.count > path.latency.count {
        row("  with disturbed frames", &path.latency_all, out);
    }
    out.push_str(&histogram(&path.latency_all));
}

fn row(name: &str, found: &Distribution, out: &mut String) {
    let _ = write!(out, "    {name:28}");
    for ns in [
        found.min_ns,
        found.p50_ns,
        found.p90_ns,
        found.p99_ns,
        found.p99_9_ns,
        found.max_ns,
    ] {
        let _ = write!(out, "{:>10}", time(ns));
    }
    out.push('\n');
}

/// Bars of equal ratios from the minimum to the maximum: as many as have labels that differ.
fn histogram(found: &Distribution) -> String {
    if found.count == 0 {
        return String::new();
    }
    let (low, high) = (found.min_ns.max(1) as f64, found.max_ns.max(2) as f64);
    let ratio = (high / low).max(1.000_001);
    let labels = |rows: usize| -> Vec<String> {
        let from = |row: usize| low * ratio.powf(row as f64 / rows as f64);
        (0..rows).map(|row| time(from(row) as u64)).collect()
    };
    let differ = |labels: &Vec<String>| labels.windows(2).all(|pair| pair[0] != pair[1]);
    let labels = (1..=ROWS).rev().map(labels).find(differ).unwrap_or_default();
    let rows = labels.len() as f64;
    let row_of = |ns: u64| ((ns.max(1) as f64 / low).ln() / ratio.ln() * rows).clamp(0.0, rows - 1.0) as usize;
    let mut counts = vec![0u64; labels.len()];
    for (lower, upper, count) in &found.histogram {
        counts[row_of(lower + (upper - lower) / 2)] += count;
    }
    let most = counts.iter().max().copied().unwrap_or(1).max(1);
    let mut out = String::new();
    for (label, count) in labels.iter().zip(&counts) {
        let bar = (*count as f64 / most as f64 * BAR as f64).round() as usize;
        // What is there is seen.
        let bar = bar.max(usize::from(*count > 0));
        let _ = writeln!(out, "    {label:>10} |{:BAR$}| {count}", "#".repeat(bar));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    fn rows(values: impl IntoIterator<Item = u64>) -> Vec<String> {
        let mut all = Histogram::default();
        values.into_iter().for_each(|ns| all.record(ns));
        let text = histogram(&all.summary());
        text.lines().map(|line| line.trim_start().to_string()).collect()
    }

    #[test]
    fn shares_are_percentages_however_small() {
        let shown = [0.0, 2e-6, 5e-5, 1e-4, 0.005, 1.0].map(share);
        assert_eq!(
            shown,
            ["0 %", "2.0e-4 %", "5.0e-3 %", "0.010 %", "0.500 %", "100.000 %"]
        );
    }

    #[test]
    fn rows_of_a_histogram_have_labels_of_their_own() {
        assert_eq!(rows(50_800..50_802).len(), 1);
        assert_eq!(rows([1_000, 1_000_000]).len(), ROWS);
        let narrow = rows(50_000..51_000);
        let labels: Vec<&str> = narrow.iter().filter_map(|row| row.split('|').next()).collect();
        assert!(
            labels.len() > 5 && labels.windows(2).all(|pair| pair[0] != pair[1]),
            "{narrow:?}"
        );
    }
}
