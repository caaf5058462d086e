//! Charts of results.

use crate::histogram::Distribution;
use crate::results::{PathResults, Results, StreamResults, TrialResults};
use crate::search::SearchResults;
use crate::search::rfc2544::SizeResults;
use forebay_sim::plot::{Axis, Chart, Point, Series, Style};

/// Nanoseconds in a microsecond.
const US: f64 = 1e3;

/// Points of a curve at most.
const POINTS_MAX: usize = 400;

/// All charts of results, with short names.
pub fn charts(results: &Results) -> Vec<(String, Chart)> {
    let mut charts = Vec::new();
    for trial in &results.trials {
        charts.extend(of_trial(trial, &results.description));
    }
    if let Some(search) = results.searches.first() {
        charts.push(("search".to_string(), of_search(search, &results.description)));
    }
    if !results.rfc2544.is_empty() {
        charts.push((
            "throughput".to_string(),
            throughput(&results.rfc2544, &results.description),
        ));
        charts.push((
            "latency over load".to_string(),
            latency_over_load(&results.rfc2544, &results.description),
        ));
        charts.push((
            "loss over load".to_string(),
            loss_over_load(&results.rfc2544, &results.description),
        ));
    }
    charts.retain(|(_, chart)| chart.series.iter().any(|series| !series.points.is_empty()));
    charts
}

fn of_trial(trial: &TrialResults, title: &str) -> Vec<(String, Chart)> {
    let cumulated_chart = |subtitle: &str, x: &str, series: Vec<Series>| {
        let values = series.iter().flat_map(|series| &series.points).map(|point| point.x);
        Chart {
            title: title.to_string(),
            subtitle: format!("{subtitle}, trial {}", trial.number),
            x_label: x.to_string(),
            y_label: "frames with at most that (%)".to_string(),
            x_axis: Axis::for_values(values),
            series,
            ..Chart::default()
        }
    };
    let paths = |pick: fn(&PathResults) -> &Distribution| -> Vec<Series> {
        let all = trial
            .streams
            .iter()
            .flat_map(|stream| stream.paths.iter().map(move |path| (stream, path)));
        all.map(|(stream, path)| line(path_name(stream, path.port), cumulated(pick(path))))
            .collect()
    };
    let lateness = trial
        .streams
        .iter()
        .map(|stream| line(stream.name.clone(), cumulated(&stream.lateness)));
    vec![
        (
            format!("latency {}", trial.number),
            cumulated_chart(
                "latency from the intended time, frames disturbed by the machine left out",
                "latency (µs)",
                paths(|path| &path.latency),
            ),
        ),
        (
            format!("variation {}", trial.number),
            cumulated_chart(
                "difference of the latencies of neighbours",
                "difference (µs)",
                paths(|path| &path.delay_variation),
            ),
        ),
        (
            format!("lateness {}", trial.number),
            cumulated_chart(
                "how much later than intended the tester sent",
                "lateness (µs)",
                lateness.collect(),
            ),
        ),
        (format!("rates {}", trial.number), rates(trial, title)),
    ]
}

fn path_name(stream: &StreamResults, port: Option<u32>) -> String {
    port.map_or(stream.name.clone(), |port| format!("{}, port {port}", stream.name))
}

fn line(group: String, points: Vec<Point>) -> Series {
    Series {
        group,
        style: Style::Line,
        points,
    }
}

/// The cumulated distribution up to 99.9 %: the rest would make everything else a stroke. It begins at 0, and is level
/// where there are no values.
fn cumulated(found: &Distribution) -> Vec<Point> {
    let us = |ns: u64| ns.max(found.min_ns).min(found.max_ns) as f64 / US;
    let share = |frames: u64| 100.0 * frames as f64 / found.count as f64;
    let step = found.histogram.len().div_ceil(POINTS_MAX).max(1);
    let mut points = Vec::new();
    let (mut below, mut last_ns): (u64, Option<u64>) = (0, None);
    for (index, (lower, upper, count)) in found.histogram.iter().enumerate() {
        let is_apart = last_ns.is_none_or(|last| last + 1 < *lower);
        if is_apart {
            points.push(Point::new(us(*lower), share(below)));
        }
        below += count;
        let is_end = index + 1 == found.histogram.len() || share(below) >= 99.9;
        if is_apart || is_end || index % step == 0 {
            points.push(Point::new(us(*upper), share(below)));
        }
        if is_end {
            break;
        }
        last_ns = Some(*upper);
    }
    points
}

/// A unit of rates, and how many frames a second it is: the largest that leaves the highest rate a number from 1 on.
fn unit(highest_pps: f64) -> (&'static str, f64) {
    match highest_pps {
        pps if pps >= 1e6 => ("Mpps", 1e6),
        pps if pps >= 1e3 => ("kpps", 1e3),
        _ => ("pps", 1.0),
    }
}

/// The unit that suits all of these rates.
fn unit_of(pps: impl Iterator<Item = f64>) -> (&'static str, f64) {
    unit(pps.fold(0.0, f64::max))
}

fn rates(trial: &TrialResults, title: &str) -> Chart {
    let samples = |stream: &StreamResults| stream.samples[..trial.whole_samples(stream)].to_vec();
    let pps = |frames: u32| f64::from(frames) / trial.sample_s;
    let all = trial.streams.iter().flat_map(samples);
    let (unit, unit_pps) = unit_of(all.flat_map(|(sent, received)| [pps(sent), pps(received)]));
    let series = |stream: &StreamResults| {
        let points = |pick: fn(&(u32, u32)) -> u32| {
            let point = |(index, sample): (usize, &(u32, u32))| {
                let time_s = (index as f64 + 0.5) * trial.sample_s;
                Point::new(time_s, pps(pick(sample)) / unit_pps)
            };
            samples(stream).iter().enumerate().map(point).collect()
        };
        [
            line(format!("{}, sent", stream.name), points(|sample| sample.0)),
            line(format!("{}, received", stream.name), points(|sample| sample.1)),
        ]
    };
    Chart {
        title: title.to_string(),
        subtitle: format!("frames sent and received, trial {}", trial.number),
        x_label: "time (s)".to_string(),
        y_label: format!("rate ({unit})"),
        series: trial.streams.iter().flat_map(series).collect(),
        ..Chart::default()
    }
}

fn of_search(search: &SearchResults, title: &str) -> Chart {
    let (unit, unit_pps) = unit_of(search.trials.iter().map(|trial| trial.pps));
    let points = search
        .trials
        .iter()
        .zip(1..)
        .map(|(trial, number)| Point::new(f64::from(number), trial.pps / unit_pps));
    Chart {
        title: title.to_string(),
        subtitle: "loads that the search tried".to_string(),
        x_label: "trial".to_string(),
        y_label: format!("load ({unit})"),
        series: vec![line("load".to_string(), points.collect())],
        y_axis: Axis::for_values(search.trials.iter().map(|trial| trial.pps)),
        ..Chart::default()
    }
}

fn throughput(sizes: &[SizeResults], title: &str) -> Chart {
    let (unit, unit_pps) = unit_of(sizes.iter().filter_map(|size| size.throughput_pps));
    let point = |size: &SizeResults| Some(Point::new(size.frame_bytes as f64, size.throughput_pps? / unit_pps));
    Chart {
        title: title.to_string(),
        subtitle: "throughput (RFC 2544 §26.1)".to_string(),
        x_label: "frame without check sequence (bytes)".to_string(),
        y_label: format!("throughput ({unit})"),
        series: vec![line("throughput".to_string(), sizes.iter().filter_map(point).collect())],
        ..Chart::default()
    }
}

fn latency_over_load(sizes: &[SizeResults], title: &str) -> Chart {
    let series = |size: &SizeResults| {
        let points = size.latency.iter();
        let points = points.filter_map(|found| Some(Point::new(100.0 * found.share, found.typical_ns? as f64 / US)));
        line(format!("{} bytes, median", size.frame_bytes), points.collect())
    };
    let series: Vec<Series> = sizes.iter().map(series).collect();
    let values = series.iter().flat_map(|series| &series.points).map(|point| point.y);
    Chart {
        title: title.to_string(),
        subtitle: "latency at shares of the throughput".to_string(),
        x_label: "load (% of the throughput)".to_string(),
        y_label: "latency (µs)".to_string(),
        y_axis: Axis::for_values(values),
        series,
        ..Chart::default()
    }
}

fn loss_over_load(sizes: &[SizeResults], title: &str) -> Chart {
    let loads = sizes.iter().flat_map(|size| &size.loss).map(|(pps, _)| *pps);
    let (unit, unit_pps) = unit_of(loads);
    let series = |size: &SizeResults| {
        let points = size
            .loss
            .iter()
            .map(|(pps, loss)| Point::new(pps / unit_pps, 100.0 * loss));
        line(format!("{} bytes", size.frame_bytes), points.collect())
    };
    Chart {
        title: title.to_string(),
        subtitle: "frame loss rate (RFC 2544 §26.3)".to_string(),
        x_label: format!("load ({unit})"),
        y_label: "lost (%)".to_string(),
        series: sizes.iter().map(series).collect(),
        ..Chart::default()
    }
}
