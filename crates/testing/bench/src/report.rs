//! The results of a measurement: a table for people, JSON for programs.

use crate::account::Account;
use crate::measure::{Contender, Figure, Measured};
use forebay_pipeline::{Engine, FastForm, PathCounters};
use serde_json::{Value, json};
use std::fmt::Write;

/// The heads of the columns of [`lines`].
pub fn heading() -> String {
    format!(
        "{:<18} {:>8} {:>8} {:>6} {:>4}  {:<7} {:>9} {:>8} {:>8} {:>9} {:>13} {:>7} {:>10}\n",
        "program",
        "entries",
        "flows",
        "bytes",
        "work",
        "engine",
        "Mpps in",
        "ns",
        "cycles",
        "Mpps out",
        "hand-written",
        "ratio",
        "harness ns"
    )
}

/// A line for each engine.
pub fn lines(measured: &Measured) -> String {
    let programs = measured
        .figures
        .iter()
        .filter(|figure| matches!(figure.contender, Contender::Program(_)));
    programs.map(|figure| line(measured, figure)).collect()
}

fn line(measured: &Measured, figure: &Figure) -> String {
    let number = |value: Option<usize>| value.map_or("-".to_string(), |value| value.to_string());
    let ns = ns_per_packet(measured, figure);
    let cycles = measured
        .cycles
        .cycles(ns)
        .map_or("-".to_string(), |cycles| format!("{cycles:.1}"));
    let by_hand = measured.figure(Contender::HandWritten);
    let by_hand = by_hand.map_or("-".to_string(), |twin| format!("{:.3}", twin.received_per_s() / 1e6));
    let ratio = measured.ratio(figure.contender, Contender::HandWritten);
    let harness = measured.figure(Contender::Harness);
    let mut line = String::new();
    let _ = writeln!(
        line,
        "{:<18} {:>8} {:>8} {:>6.0} {:>4}  {:<7} {:>9.3} {:>8.1} {:>8} {:>9.3} {:>13} {:>7} {:>10}",
        measured.name,
        number(measured.scale.map(|scale| scale.entries)),
        number(measured.scale.map(|scale| scale.flows)),
        measured.frame_bytes,
        measured.workers,
        figure.contender,
        figure.received_per_s() / 1e6,
        ns,
        cycles,
        figure.transmitted_per_s() / 1e6,
        by_hand,
        ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}")),
        harness.map_or("-".to_string(), |harness| format!(
            "{:.1}",
            ns_per_packet(measured, harness)
        )),
    );
    if figure.contender == Contender::Program(Engine::Jit) {
        line += &slow_line(&figure.paths);
        line += &general_line(&figure.paths);
        line += &further_line(figure);
    }
    line
}

/// Says what share of the packets took the slow path, if more than one in a thousand did, and why most of them.
fn slow_line(paths: &PathCounters) -> String {
    let Some(fast) = fast_share(paths).filter(|fast| *fast < 0.999) else {
        return String::new();
    };
    let most = paths.slow().max_by_key(|(_, packets)| *packets);
    let why = most.map_or("", |(reason, _)| reason.words());
    format!(
        "  slow path: {:.1} % of the packets, most of them {why}\n",
        100.0 * (1.0 - fast)
    )
}

/// Says how often packets passed once more, if they did.
fn further_line(figure: &Figure) -> String {
    let further = figure.paths.further_passes;
    match further.total() {
        0 => String::new(),
        passes => format!(
            "  further passes: {:.2} for a packet, {:.1} % of them on the fast path\n",
            passes as f64 / (figure.paths.fast_total() + figure.paths.slow_total()).max(1) as f64,
            100.0 * further.fast as f64 / passes as f64
        ),
    }
}

/// Says what share of the packets general code took, if more than one in a thousand. `forebay build` says why.
fn general_line(paths: &PathCounters) -> String {
    match general_share(paths) {
        Some(share) if share > 0.001 => format!(
            "  general code, 4 times slower or more: {:.1} % of the packets (`forebay build` says why)\n",
            100.0 * share
        ),
        _ => String::new(),
    }
}

/// The share of the packets that went through general code; none of those whose way was not counted.
fn general_share(paths: &PathCounters) -> Option<f64> {
    let all = paths.fast_total() + paths.slow_total();
    let general = paths.fast().filter(|(form, _)| *form == FastForm::General);
    (all > 0).then(|| general.map(|(_, packets)| packets).sum::<u64>() as f64 / all as f64)
}

/// The share of the packets that took the fast path; none of those whose way was not counted.
fn fast_share(paths: &PathCounters) -> Option<f64> {
    let (fast, slow) = (paths.fast_total(), paths.slow_total());
    (fast + slow > 0).then(|| fast as f64 / (fast + slow) as f64)
}

/// How many took the slow path, by reason.
fn slow_packets(paths: &PathCounters) -> Value {
    let reasons = paths.slow().filter(|(_, packets)| *packets > 0);
    reasons
        .map(|(reason, packets)| (reason.name().to_string(), json!(packets)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Nanoseconds of one worker for a packet.
fn ns_per_packet(measured: &Measured, figure: &Figure) -> f64 {
    1e9 * measured.workers as f64 / figure.received_per_s()
}

/// What measurements say beside one another, a line each: engines, numbers of flows, numbers of workers, and messages
/// out of disaggregation for packets of port forwarding.
pub fn comparisons(all: &[Measured]) -> String {
    let (jit, interpreter) = (Contender::Program(Engine::Jit), Contender::Program(Engine::Interpreter));
    let mut text = String::new();
    let mut say = |what: String, ratio: f64| {
        let _ = writeln!(text, "{what:<70} {ratio:>8.2}");
    };
    let same = |first: &Measured, second: &Measured| flows(first) == flows(second) && first.workers == second.workers;
    for (first, second) in pairs(all, same) {
        if let (Some(compiled), Some(interpreted)) = (first.figure(jit), second.figure(interpreter)) {
            say(format!("{}: jit / interp", label(first)), compiled.ratio(interpreted));
        }
    }
    for (few, many) in pairs(all, |few, many| few.workers == many.workers && flows(few) < flows(many)) {
        if let Some(ratio) = beside(many, few, jit) {
            say(
                format!("{}: {} flows / {} flows", few.name, flows(many), flows(few)),
                ratio,
            );
        }
    }
    for (one, more) in pairs(all, |one, more| one.workers < more.workers && flows(one) == flows(more)) {
        if let Some(ratio) = beside(more, one, jit) {
            say(
                format!("{}: {} workers / {} workers", label(one), more.workers, one.workers),
                ratio,
            );
        }
    }
    let named = |name: &str| all.iter().find(|measured| measured.name.starts_with(name))?.figure(jit);
    if let (Some(messages), Some(packets)) = (named("iot_disaggregate"), named("portfwd")) {
        let ratio = messages.transmitted_per_s() / packets.transmitted_per_s();
        say(
            "iot_disaggregate: messages out / portfwd packets out".to_string(),
            ratio,
        );
    }
    text
}

fn label(measured: &Measured) -> String {
    match measured.scale {
        Some(scale) => format!("{}, {} entries, {} flows", measured.name, scale.entries, scale.flows),
        None => measured.name.clone(),
    }
}

fn flows(measured: &Measured) -> usize {
    measured.scale.map_or(0, |scale| scale.flows)
}

/// Measurements of the same program, entries and frame size for which `holds`.
fn pairs(
    all: &[Measured],
    holds: impl Fn(&Measured, &Measured) -> bool,
) -> impl Iterator<Item = (&Measured, &Measured)> {
    let key = |measured: &Measured| {
        let scale = measured.scale.map(|scale| (scale.entries, scale.frame_bytes));
        (measured.name.clone(), scale)
    };
    let pairs = all
        .iter()
        .flat_map(move |first| all.iter().map(move |second| (first, second)));
    pairs.filter(move |(first, second)| key(first) == key(second) && holds(first, second))
}

/// How fast one is in terms of the other; both were measured in the same rounds.
fn beside(of: &Measured, to: &Measured, contender: Contender) -> Option<f64> {
    let (of, to) = (of.figure(contender)?, to.figure(contender)?);
    Some(of.ratio(to))
}

/// A warning when the machine had other things to do in these measurements.
pub fn busy_line(measured: &[Measured]) -> Option<String> {
    let share = measured.iter().map(Measured::processor_share).fold(1.0, f64::min);
    (share < 0.95).then(|| {
        let percent = 100.0 * share;
        format!(
            "The machine is busy: in the worst turn the threads had {percent:.0} % of a processor. Their own time counts, \
             but caches are shared.\n"
        )
    })
}

/// Everything that was measured.
pub fn measured_json(measured: &Measured) -> Value {
    let figures = measured.figures.iter().map(|figure| {
        let ns = ns_per_packet(measured, figure);
        json!({
            "contender": figure.contender.to_string(),
            "received_per_s": figure.received_per_s(),
            "transmitted_per_s": figure.transmitted_per_s(),
            "ns_per_packet": ns,
            "cycles_per_packet": measured.cycles.cycles(ns),
            "ratio_to_hand_written": measured.ratio(figure.contender, Contender::HandWritten),
            "fast_path_share": fast_share(&figure.paths),
            "general_code_share": general_share(&figure.paths),
            "slow_packets": slow_packets(&figure.paths),
            "further_passes": {
                "resubmitted": figure.paths.further_passes.resubmitted,
                "recirculated": figure.paths.further_passes.recirculated,
                "fast": figure.paths.further_passes.fast,
            },
            "rounds": figure.turns.iter().map(|turn| turn.received_per_s).collect::<Vec<_>>(),
        })
    });
    json!({
        "program": measured.name,
        "entries": measured.scale.map(|scale| scale.entries),
        "flows": measured.scale.map(|scale| scale.flows),
        "frame_bytes": measured.frame_bytes,
        "workers": measured.workers,
        "processor_share": measured.processor_share(),
        "contenders": figures.collect::<Vec<_>>(),
    })
}

/// The account of malformed traffic.
pub fn account_text(account: &Account) -> String {
    let mut text = format!(
        "{}: {} packets in {:.2} s, {:.3} Mpps\n",
        account.name,
        account.received,
        account.seconds,
        account.received as f64 / account.seconds / 1e6
    );
    let mut line = |what: &str, count: u64| {
        let _ = writeln!(text, "  {what:<40} {count:>12}");
    };
    for (kind, count) in &account.damaged {
        line(&format!("of them {kind}"), *count);
    }
    line("copies made", account.copies);
    line("sent", account.transmitted);
    for (reason, count) in &account.drops {
        line(&format!("dropped: {reason}"), *count);
    }
    line("not accounted for", 0);
    text
}

/// The account of malformed traffic.
pub fn account_json(account: &Account) -> Value {
    let damaged = account
        .damaged
        .iter()
        .map(|(kind, count)| (kind.to_string(), json!(count)));
    let drops = account
        .drops
        .iter()
        .map(|(reason, count)| (reason.clone(), json!(count)));
    json!({
        "program": account.name,
        "received": account.received,
        "damaged": Value::Object(damaged.collect()),
        "copies": account.copies,
        "transmitted": account.transmitted,
        "dropped": Value::Object(drops.collect()),
        "seconds": account.seconds,
    })
}
