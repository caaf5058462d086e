//! What was measured beside what was published: tables and charts.

use crate::evaluation::{Evaluation, Figure, Found, Standing};
use crate::flows::{FlowResult, LOADS};
use crate::frames::CHECK_SEQUENCE_BYTES;
use crate::growth::{Condition, growth_table, growths};
use crate::own_growth::{own_growth_table, own_growths};
use crate::rules::Kind;
use crate::table_size::{Attempt, TableResult};
use crate::trials::LoadResult;
use crate::updates::{ControlName, UpdateResult};
use forebay_sim::plot::{Axis, Chart, Point, Series, Style};
use forebay_tester::histogram::Distribution;
use forebay_tester::self_test::SelfTest;
use forebay_tester::stream::wire_bits;
use std::fmt::Write;

/// Nanoseconds in a microsecond.
const US: f64 = 1e3;

/// A line that tells of a result.
pub fn flow_line(result: &FlowResult) -> String {
    let load = |load: &LoadResult| {
        let latency = load.undisturbed().map_or(
            "none, the sender was late or every packet disturbed".to_string(),
            |latency| {
                let (p50_us, p99_us) = (latency.p50_ns as f64 / US, latency.p99_ns as f64 / US);
                format!("p50 {p50_us:.2} µs, p99 {p99_us:.2} µs")
            },
        );
        format!("{:.0} % of it: {latency}", 100.0 * load.share)
    };
    let loads: Vec<String> = result.loads.iter().map(load).collect();
    format!(
        "{} {} {} B: {}, {}{}; {}",
        result.kind.name(),
        result.case.name,
        result.frame_bytes,
        rate(result.ndr_pps),
        result.limited_by.words(),
        result.confirmed.remark(),
        loads.join("; ")
    )
}

fn rate(pps: Option<f64>) -> String {
    pps.map_or("no load without loss".to_string(), |pps| {
        format!("{:.3} Mpps", pps / 1e6)
    })
}

/// A line that tells of an attempt.
pub fn attempt_line(kind: Kind, attempt: &Attempt) -> String {
    format!(
        "{} {}: {} taken, {} verified, {:.0} insertions/s{}",
        kind.name(),
        attempt.size,
        attempt.taken,
        attempt.verified,
        attempt.insertions_per_s,
        attempt
            .failure
            .as_ref()
            .map(|failure| format!("; {failure}"))
            .unwrap_or_default()
    )
}

/// A line that tells of a combination.
pub fn update_line(result: &UpdateResult) -> String {
    format!(
        "{} {}, {} rules, {} B at {} Mbps: response p50 {:.3} ms, p99 {:.3} ms, {:.0} updates/s, {} lost, {} half",
        result.control.name(),
        result.decision.name(),
        result.rules,
        result.frame_bytes,
        result.mbps,
        result.response.p50_ns as f64 / 1e6,
        result.response.p99_ns as f64 / 1e6,
        result.updates_per_s,
        result.lost,
        result.halves + result.stale
    )
}

impl Found {
    /// The quantities that published values are compared with.
    pub fn figures(&self) -> Vec<Figure> {
        let mut all: Vec<Figure> = self.flows.iter().flat_map(flow_figures).collect();
        all.extend(self.table_size.iter().flat_map(size_figures));
        let mut figure = |quantity: String, value: f64| all.push(Figure::new(quantity, value));
        for condition in Condition::ALL {
            for growth in growths(&self.flows, "RmaxF1k", condition) {
                let (kind, bytes, condition) = (growth.kind.name(), growth.frame_bytes, condition.name());
                figure(
                    format!("growth of latency p50 from R1F1 to RmaxF1k (%), {kind}, {bytes} B, {condition}"),
                    growth.spread.percent,
                );
            }
        }
        for own in own_growths(&self.flows, "RmaxF1k") {
            let (kind, bytes, condition) = (own.kind.name(), own.frame_bytes, Condition::OneRate.name());
            let of = format!("from R1F1 to RmaxF1k (%), {kind}, {bytes} B, {condition}");
            figure(format!("growth on a wire of latency p50 {of}"), own.wire.percent);
            figure(format!("growth of the switch's own latency p50 {of}"), own.own.percent);
        }
        self.update_figures(&mut figure);
        self.ring.figures(&mut figure);
        all
    }

    fn update_figures(&self, figure: &mut dyn FnMut(String, f64)) {
        let p50 = |result: &UpdateResult| milliseconds(&result.response, |response| response.p50_ns);
        for result in &self.updates {
            let of = format!("{}, {}", result.decision.name(), result.control.name());
            let traffic = format!("{} rules, {} B, {} Mbps", result.rules, result.frame_bytes, result.mbps);
            if let Some(ms) = p50(result) {
                figure(format!("response T4-T1 p50 (ms), {of}, {traffic}"), ms);
            }
        }
        for control in [ControlName::P4Runtime, ControlName::Library, ControlName::Command] {
            let of = || self.updates.iter().filter(move |result| result.control == control);
            if of().next().is_none() {
                continue;
            }
            let name = control.name();
            let mut worst = |quantity: &str, value: fn(&UpdateResult) -> Option<f64>| {
                if let Some(ms) = of().filter_map(value).max_by(f64::total_cmp) {
                    figure(format!("{quantity}, worst combination, {name}"), ms);
                }
            };
            worst("response T4-T1 p50 (ms)", |result| {
                milliseconds(&result.response, |response| response.p50_ns)
            });
            worst("response T4-T1 p99 (ms)", |result| {
                milliseconds(&result.response, |response| response.p99_ns)
            });
            worst(
                "response T4-T1 p99 (ms), updates that the machine did not disturb",
                |result| milliseconds(&result.quiet_response, |response| response.p99_ns),
            );
            if of().any(|result| p50(result).is_some()) {
                figure(
                    format!("response T4-T1 p50 (ms), median of combinations, {name}"),
                    median(of().filter_map(p50)),
                );
            }
            let rates = of().map(|result| result.updates_per_s).filter(|rate| *rate > 0.0);
            if let Some(slowest) = rates.min_by(f64::total_cmp) {
                figure(
                    format!("updates a second, one by one, slowest combination, {name}"),
                    slowest,
                );
            }
            let wrong = of()
                .map(|result| result.lost + result.duplicated + result.halves + result.stale)
                .sum::<u64>();
            figure(
                format!("packets lost, doubled or treated by half of an update, {name}"),
                wrong as f64,
            );
        }
    }

    /// The report as Markdown; `command` is what writes it.
    pub fn markdown(&self, evaluation: &Evaluation, command: &str) -> String {
        let mut out = format!(
            "# {}\n\nPublished: {}. Written by `{command}`.\n\n",
            self.title, evaluation.source
        );
        if !evaluation.notes.trim().is_empty() {
            let _ = writeln!(out, "{}\n", evaluation.notes.trim());
        }
        // A comparison measures nothing: each of its records has a machine of its own.
        if self.comparison.rows.is_empty() {
            let _ = writeln!(
                out,
                "Measured: {}, on {}: other processes wanted the machine too where the load is above 1.\n",
                self.device,
                self.machine.words()
            );
        }
        for words in self.self_test.iter().flat_map(SelfTest::words) {
            let _ = writeln!(out, "The tester's {words}.\n");
        }
        self.beside(evaluation, &mut out);
        self.flow_table(&mut out);
        self.size_table(&mut out);
        self.update_table(&mut out);
        self.ring.markdown(&mut out);
        self.comparison.markdown(&mut out);
        out
    }

    fn beside(&self, evaluation: &Evaluation, out: &mut String) {
        if evaluation.published.is_empty() {
            return;
        }
        out.push_str("| quantity | by | published | measured |\n|---|---|---|---|\n");
        let figures = self.figures();
        for published in &evaluation.published {
            let own = figures.iter().find(|figure| figure.quantity == published.quantity);
            let own = own.map_or("not measured".to_string(), Figure::text);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {own} |",
                published.quantity, published.device, published.value
            );
        }
        out.push('\n');
    }

    fn flow_table(&self, out: &mut String) {
        if self.flows.is_empty() {
            return;
        }
        out.push_str("## Latency in µs, from the intended sending time of each packet\n\n");
        out.push_str(
            "| table | case | rules | flows | bytes | load | Mpps | packets | lost | min | 25 % | 50 % | 75 % | 99 % | 99.9 % | max | outliers | all packets: 50 %, 99.9 % | 50 % of each trial | sender late | disturbed | limited by | confirmations failed |\n",
        );
        out.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        for result in &self.flows {
            for load in result.loads.iter().chain(&result.common) {
                flow_row(result, load, out);
            }
            if result.ndr_pps.is_none() {
                row_without_load(result, out);
            }
        }
        out.push_str(
            "\nThe load is a share of the highest one without loss; the last one of a case is the same rate for all cases with frames of this \
             length, half of the least of their highest unless the file names it. *Outliers* lie above the box by more than 1.5 times its height. \
             Packets that were due while the tester itself stood still for more than 0.1 ms are left out of the first columns \
             and counted in *all packets*. Of several trials, in which the cases take turns, the one with the middle median is shown, with \
             the least and the largest median; those with a *late sender* (the load was not reached: it needed 0.1 % longer than intended, or its \
             least lateness grew by as much) are left out; latency is not shown where all were late. Cells also are empty where the machine disturbed all packets; *disturbed* is the share of the time. \
             *Limited by* says what kept the highest load from being higher: where it is not the device, the device may carry more (in memory tester \
             and switch share a thread, so that it is both). \
             *Confirmations failed*: loads that the search had found and that did not hold in most of three trials as long as those of latency; the \
             search went on below each.\n\n",
        );
        growth_table(&self.flows, out);
        own_growth_table(&self.flows, out);
    }

    fn size_table(&self, out: &mut String) {
        if self.table_size.is_empty() {
            return;
        }
        out.push_str("## Sizes that were tried\n\n");
        out.push_str("| table | size | entries taken | verified by a packet | insertions/s | look-ups read (MB) | process (MB) | verdict |\n|---|---|---|---|---|---|---|---|\n");
        for result in &self.table_size {
            for attempt in &result.tried {
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {} | {:.0} | {:.1} | {:.0} | {} |",
                    result.kind.name(),
                    attempt.size,
                    attempt.taken,
                    attempt.verified,
                    attempt.insertions_per_s,
                    attempt.table_bytes as f64 / 1e6,
                    attempt.process_bytes as f64 / 1e6,
                    attempt.failure.as_deref().unwrap_or("works")
                );
            }
        }
        out.push('\n');
    }

    fn update_table(&self, out: &mut String) {
        if self.updates.is_empty() {
            return;
        }
        out.push_str("## Times in ms\n\n");
        out.push_str(
            "| control | rule | rules | bytes | Mbps | call T2-T1 50 % | 99 % | response T4-T1 50 % | 99 % | 99.9 % | max | undisturbed: updates | 50 % | 99 % | gap T4-T3 50 % | updates/s | packets | lost | doubled | half | stale | pauses |\n",
        );
        out.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        for result in &self.updates {
            // Of no update at all there is no time.
            let ms = |of: &Distribution, ns: u64| match of.count {
                0 => String::new(),
                _ => short(ns as f64 / 1e6),
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} | {} | {} | {} | {} | {} | {} |",
                result.control.name(),
                result.decision.name(),
                result.rules,
                result.frame_bytes,
                result.mbps,
                ms(&result.call, result.call.p50_ns),
                ms(&result.call, result.call.p99_ns),
                ms(&result.response, result.response.p50_ns),
                ms(&result.response, result.response.p99_ns),
                ms(&result.response, result.response.p99_9_ns),
                ms(&result.response, result.response.max_ns),
                result.quiet_response.count,
                ms(&result.quiet_response, result.quiet_response.p50_ns),
                ms(&result.quiet_response, result.quiet_response.p99_ns),
                ms(&result.gap, result.gap.p50_ns),
                result.updates_per_s,
                result.sent,
                result.lost,
                result.duplicated,
                result.halves,
                result.stale,
                result.pauses
            );
        }
        out.push_str(
            "\nT1, T2: before and after the call. T3, T4: arrivals of the last packet under the old rule and of the first under the \
             new one. *Half*: packets whose MAC addresses are of two versions. *Stale*: packets under a version older than one that was \
             seen before. *Pauses*: times that the tester itself stood still for more than 0.1 ms; *undisturbed* updates are those without one \
             since the update before.\n\n",
        );
    }

    /// Charts with names of files.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let mut charts = Vec::new();
        for kind in [Kind::Exact, Kind::Lpm, Kind::Ternary, Kind::Range] {
            for load in LOADS {
                charts.extend(self.flow_chart(kind, load));
            }
        }
        charts.extend(self.update_chart());
        charts.extend(self.ring.chart());
        charts.extend(self.comparison.charts());
        charts
    }

    fn flow_chart(&self, kind: Kind, share: f64) -> Option<(String, Chart)> {
        let of_kind: Vec<&FlowResult> = self.flows.iter().filter(|result| result.kind == kind).collect();
        let mut sizes: Vec<usize> = of_kind.iter().map(|result| result.frame_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut series = Vec::new();
        for (index, bytes) in sizes.iter().enumerate() {
            let offset = (index as f64 - (sizes.len() as f64 - 1.0) / 2.0) * BOX_DISTANCE;
            let mut points = Vec::new();
            for result in of_kind.iter().filter(|result| result.frame_bytes == *bytes) {
                let is_shown = |load: &&LoadResult| load.share == share && load.undisturbed().is_some();
                let load = result.loads.iter().find(is_shown);
                let place = CASES.iter().position(|case| *case == result.case.name);
                let (Some(load), Some(place)) = (load, place) else {
                    continue;
                };
                let x = place as f64 + 1.0 + offset;
                let [low, middle, high] = load.box_plot.quartiles;
                let ends = [load.box_plot.min, low, middle, high, load.box_plot.upper_whisker];
                points.extend(ends.map(|ns| Point::new(x, ns as f64 / US)));
            }
            series.push(Series {
                group: format!("{bytes} bytes"),
                style: Style::Boxes,
                points,
            });
        }
        let percent = (100.0 * share).round();
        let chart = Chart {
            title: format!("Latency by rules and flows, {} table", kind.name()),
            subtitle: format!(
                "{percent} % of the highest rate without loss; boxes are quartiles, outliers are left out"
            ),
            x_label: "rules and flows: one, 1,000 (F1k) or as many as there are (max)".to_string(),
            y_label: "latency (µs)".to_string(),
            series,
            x_axis: Axis::Names(CASES.map(str::to_string).to_vec()),
            y_axis: Axis::Logarithmic,
        };
        let has_points = chart.series.iter().any(|series| !series.points.is_empty());
        has_points.then(|| (format!("latency_{}_{percent}", kind.name()), chart))
    }

    fn update_chart(&self) -> Option<(String, Chart)> {
        let mut series: Vec<Series> = Vec::new();
        for result in &self.updates {
            let group = format!("{}, {}", result.control.name(), result.decision.name());
            if series.iter().any(|own| own.group == group) {
                continue;
            }
            series.push(Series {
                group,
                style: Style::Line,
                points: cumulated(&result.response.histogram, result.response.count),
            });
        }
        let first = self.updates.first()?;
        let chart = Chart {
            title: "Response to a rule update".to_string(),
            subtitle: format!(
                "{} bytes at {} Mbps, {} updates",
                first.frame_bytes, first.mbps, first.repetitions
            ),
            x_label: "response time T4-T1 (ms)".to_string(),
            y_label: "updates with at most that (%)".to_string(),
            x_axis: Axis::for_values(series.iter().flat_map(|series| &series.points).map(|point| point.x)),
            series,
            ..Chart::default()
        };
        Some(("response".to_string(), chart))
    }
}

/// A time of a distribution; none of no update at all.
fn milliseconds(of: &Distribution, ns: fn(&Distribution) -> u64) -> Option<f64> {
    (of.count > 0).then(|| ns(of) as f64 / 1e6)
}

/// Rates and latencies of a case. The latency at shares of a load that did not hold is that of another load than it
/// says.
fn flow_figures(result: &FlowResult) -> Vec<Figure> {
    let of = format!("{}, {}, {} B", result.kind.name(), result.case.name, result.frame_bytes);
    let standing = result.standing();
    let mut figures = Vec::new();
    let mut figure = |quantity: String, value: f64, standing: Standing| {
        figures.push(Figure {
            quantity,
            value,
            standing,
        });
    };
    if let Some(pps) = result.ndr_pps {
        let bits = wire_bits(result.frame_bytes - CHECK_SEQUENCE_BYTES);
        figure(format!("highest rate (Mpps), {of}"), pps / 1e6, standing);
        figure(format!("highest rate (Gbps), {of}"), pps * bits / 1e9, standing);
    }
    let of_latency = match standing {
        Standing::AtLeast => Standing::Measured,
        standing => standing,
    };
    let loads = result.loads.iter();
    let loads = loads.map(|load| (Condition::of_share(load.share), load, of_latency));
    // That rate is far below the highest one, whose standing says nothing of it.
    let common = result.common.iter();
    let common = common.map(|load| (Condition::OneRate, load, Standing::Measured));
    for (condition, load, of_latency) in loads.chain(common) {
        let name = condition.name();
        let Some(&Distribution { p50_ns, p99_ns, .. }) = load.undisturbed() else {
            continue;
        };
        let jitter_us = (p99_ns - p50_ns) as f64 / US;
        figure(
            format!("latency p50 (µs), {of}, {name}"),
            p50_ns as f64 / US,
            of_latency,
        );
        figure(
            format!("latency p99 less p50 (µs), {of}, {name}"),
            jitter_us,
            of_latency,
        );
    }
    figures
}

/// The size that works, and the memory of the process with it. When the search began with that size, a larger one may
/// work too.
fn size_figures(result: &TableResult) -> [Figure; 2] {
    let (kind, operable) = (result.kind.name(), result.operable());
    let size = operable.map_or(0, |attempt| attempt.size);
    let bytes = operable.map_or(0, |attempt| attempt.process_bytes);
    let rules = Figure {
        standing: match result.tried.first() {
            Some(first) if first.failure.is_none() => Standing::AtLeast,
            _ => Standing::Measured,
        },
        ..Figure::new(format!("operable rules, {kind}"), f64::from(size))
    };
    [
        rules,
        Figure::new(format!("memory of the process (MB), {kind}"), bytes as f64 / 1e6),
    ]
}

/// The cases of the flow charts, from left to right.
const CASES: [&str; 4] = ["R1F1", "RmaxF1", "RmaxF1k", "RmaxFmax"];

/// The distance of boxes of one case.
const BOX_DISTANCE: f64 = 0.18;

/// A cumulated distribution up to 99 %.
fn cumulated(histogram: &[(u64, u64, u64)], count: u64) -> Vec<Point> {
    let mut below = 0;
    let mut points = Vec::new();
    for (_, high, of_bucket) in histogram {
        below += of_bucket;
        let share = 100.0 * below as f64 / count as f64;
        points.push(Point::new(*high as f64 / 1e6, share));
        if share >= 99.0 {
            break;
        }
    }
    points
}

/// A case of which no load is known that it carries: it has no latency.
fn row_without_load(result: &FlowResult, out: &mut String) {
    let case = &result.case;
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | none without loss | {} {} | {} |",
        result.kind.name(),
        case.name,
        case.rules,
        case.flows,
        result.frame_bytes,
        "| ".repeat(15),
        result.limited_by.name(),
        result.confirmed.cell()
    );
}

/// A load as a share of the highest one, in percent; nothing where that is not known.
fn share_of_highest(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 1.0 => format!("{percent:.0} %"),
        percent if percent > 0.0 => "under 1 %".to_string(),
        _ => String::new(),
    }
}

fn flow_row(result: &FlowResult, load: &LoadResult, out: &mut String) {
    let us = |ns: u64| short(ns as f64 / US);
    let if_undisturbed = |text: String| load.undisturbed().map(|_| text).unwrap_or_default();
    let undisturbed = |ns: u64| if_undisturbed(us(ns));
    let plot = &load.box_plot;
    let medians = if_undisturbed(format!("{} to {}", us(load.medians_ns.0), us(load.medians_ns.1)));
    // What a late sender measures is its own lateness.
    let all = if load.is_late {
        String::new()
    } else {
        format!("{}, {}", us(load.latency_all.p50_ns), us(load.latency_all.p99_9_ns))
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {:.3} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} % | {} | {} |",
        result.kind.name(),
        result.case.name,
        result.case.rules,
        result.case.flows,
        result.frame_bytes,
        share_of_highest(load.share),
        load.pps / 1e6,
        load.sent,
        load.lost,
        undisturbed(plot.min),
        undisturbed(plot.quartiles[0]),
        undisturbed(plot.quartiles[1]),
        undisturbed(plot.quartiles[2]),
        undisturbed(load.latency.p99_ns),
        undisturbed(load.latency.p99_9_ns),
        undisturbed(plot.max),
        if_undisturbed(plot.outliers.to_string()),
        all,
        medians,
        load.late(),
        100.0 * load.disturbed_share,
        result.limited_by.name(),
        result.confirmed.cell()
    );
}

/// The median; 0 of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Three significant digits, without an exponent.
pub(crate) fn short(value: f64) -> String {
    let digits = match value.abs() {
        value if !(f64::MIN_POSITIVE..100.0).contains(&value) => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        value if value >= 0.1 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Comparison;
    use crate::flows::Case;
    use crate::machine::Machine;
    use crate::ring::RingFound;
    use crate::trials::BoxPlot;
    use crate::updates::DecisionName;
    use forebay_tester::search::{Confirmed, LimitedBy};

    /// A rate that the file names may be any share of what a case carries.
    #[test]
    fn small_shares_are_not_0_percent() {
        let shown = [0.0, 0.0025, 0.9, 1.4].map(share_of_highest);
        assert_eq!(shown, ["", "under 1 %", "90 %", "140 %"]);
    }

    /// A time that is not known is no figure: 0 ms would be the best of all.
    #[test]
    fn updates_that_were_all_disturbed_have_no_time_without_disturbance() {
        let times = |count| Distribution {
            count,
            p50_ns: 2_000_000 * count,
            p99_ns: 3_000_000 * count,
            ..Distribution::default()
        };
        let result = |quiet| UpdateResult {
            control: ControlName::Library,
            decision: DecisionName::Exact,
            rules: 1,
            frame_bytes: 64,
            mbps: 100.0,
            repetitions: 1,
            call: times(1),
            response: times(1),
            quiet_response: times(quiet),
            gap: times(1),
            latency: times(1),
            updates_per_s: 0.0,
            updates: 1,
            sent: 1,
            lost: 0,
            duplicated: 0,
            halves: 0,
            stale: 0,
            pauses: 1,
            disturbed_share: 1.0,
        };
        let figure = |updates: Vec<UpdateResult>, about: &str| {
            let found = Found {
                format: String::new(),
                title: String::new(),
                device: String::new(),
                machine: Machine::now(),
                self_test: None,
                flows: Vec::new(),
                table_size: Vec::new(),
                updates,
                ring: RingFound::default(),
                comparison: Comparison::default(),
            };
            let figures = found.figures();
            let figure = figures.iter().find(|figure| figure.quantity.starts_with(about));
            figure.map(|figure| figure.value)
        };
        let quiet = "response T4-T1 p99 (ms), updates that the machine did not disturb";
        assert_eq!(figure(vec![result(0)], quiet), None);
        assert_eq!(figure(vec![result(0), result(1)], quiet), Some(3.0));
        assert_eq!(figure(vec![result(0)], "response T4-T1 p99 (ms), worst"), Some(3.0));
        assert_eq!(figure(vec![result(0)], "updates a second"), None);
    }

    #[test]
    fn a_size_with_which_the_search_began_is_a_lower_bound() {
        let attempt = |size, failure: Option<&str>| Attempt {
            size,
            taken: size,
            verified: size,
            insertions_per_s: 1.0,
            verifications_per_s: 1.0,
            table_bytes: 0,
            process_bytes: 2_000_000,
            failure: failure.map(str::to_string),
        };
        let text = |tried: Vec<Attempt>| {
            let kind = Kind::Exact;
            size_figures(&TableResult { kind, tried }).map(|figure| figure.text())
        };
        assert_eq!(text(vec![attempt(8, None)]), ["≥ 8.00", "2.00"]);
        let halved = vec![attempt(16, Some("no room")), attempt(8, None)];
        assert_eq!(text(halved), ["8.00", "2.00"]);
        assert_eq!(text(vec![attempt(1, Some("no room"))]), ["0", "0"]);
    }

    /// What the report says of such rows: latency is not shown.
    #[test]
    fn rows_whose_trials_were_all_late_show_no_latency() {
        let distribution = Distribution {
            count: 10,
            p50_ns: 8_000,
            p99_9_ns: 8_000,
            ..Distribution::default()
        };
        let load = |is_late| LoadResult {
            share: 1.0,
            pps: 1e6,
            sent: 10,
            unsent: 0,
            lost: 0,
            latency: distribution.clone(),
            box_plot: BoxPlot {
                min: 8_000,
                quartiles: [8_000; 3],
                upper_whisker: 8_000,
                max: 8_000,
                outliers: 7,
            },
            latency_all: distribution.clone(),
            disturbed_share: 0.0,
            is_late,
            trials: 5,
            late_trials: if is_late { 5 } else { 0 },
            medians_ns: (8_000, 8_000),
            turns_ns: Vec::new(),
        };
        let result = FlowResult {
            kind: Kind::Exact,
            case: Case {
                name: "R1F1".to_string(),
                rules: 1,
                flows: 1,
            },
            frame_bytes: 64,
            ndr_pps: Some(1e6),
            limited_by: LimitedBy::Tester,
            confirmed: Confirmed::default(),
            loads: Vec::new(),
            common: None,
            wire_turns_ns: Vec::new(),
        };
        let row = |is_late| {
            let mut out = String::new();
            flow_row(&result, &load(is_late), &mut out);
            out
        };
        let mut without_load = String::new();
        row_without_load(&result, &mut without_load);
        let columns = |row: &str| row.matches('|').count();
        assert_eq!(columns(&without_load), columns(&row(false)), "{without_load}");
        let shown = row(false);
        assert!(
            shown.contains("| 8.00 | 7 | 8.00, 8.00 | 8.00 to 8.00 | 0 of 5 |"),
            "{shown}"
        );
        let late = row(true);
        assert!(
            late.contains("| 10 | 0 |  |  |  |  |  |  |  |  |  |  | 5 of 5 |"),
            "{late}"
        );
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.0123, 0.123, 1.234, 12.34, 123.4, 10_000_000.0].map(short);
        assert_eq!(shown, ["0", "0.0123", "0.123", "1.23", "12.3", "123", "10000000"]);
    }
}
