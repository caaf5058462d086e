//! Charts of results.

use crate::histogram::Distribution;
use crate::results::{Results, StreamResults, TrialResults};
use crate::search::SearchResults;
use crate::search::rfc2544::SizeResults;
use forebay_sim::plot::{Chart, Point, Series, Style};

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
    let chart = |subtitle: &str, x: &str, y: &str, series| Chart {
        title: title.to_string(),
        subtitle: format!("{subtitle}, trial {}", trial.number),
        x_label: x.to_string(),
        y_label: y.to_string(),
        series,
    };
    let paths = |pick: fn(&crate::results::PathResults) -> &Distribution| -> Vec<Series> {
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
    let rates = trial.streams.iter().flat_map(|stream| rates(stream, trial.sample_s));
    vec![
        (
            format!("latency {}", trial.number),
            chart(
                "latency from the intended time, frames disturbed by the machine left out",
                "latency (µs)",
                "frames with at most that (%)",
                paths(|path| &path.latency),
            ),
        ),
        (
            format!("variation {}", trial.number),
            chart(
                "difference of the latencies of neighbours",
                "difference (µs)",
                "frames with at most that (%)",
                paths(|path| &path.delay_variation),
            ),
        ),
        (
            format!("lateness {}", trial.number),
            chart(
                "how much later than intended the tester sent",
                "lateness (µs)",
                "frames with at most that (%)",
                lateness.collect(),
            ),
        ),
        (
            format!("rates {}", trial.number),
            chart("frames sent and received", "time (s)", "rate (kpps)", rates.collect()),
        ),
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

/// The cumulated distribution up to 99.9 %: the rest would make everything else a stroke.
fn cumulated(found: &Distribution) -> Vec<Point> {
    let mut below = 0;
    let mut points = Vec::new();
    let step = found.histogram.len().div_ceil(POINTS_MAX).max(1);
    for (index, (_, upper, count)) in found.histogram.iter().enumerate() {
        below += count;
        let share = 100.0 * below as f64 / found.count as f64;
        if index % step == 0 || index + 1 == found.histogram.len() {
            points.push(Point::new(*upper.min(&found.max_ns) as f64 / US, share));
        }
        if share >= 99.9 {
            break;
        }
    }
    points
}

fn rates(stream: &StreamResults, sample_s: f64) -> Vec<Series> {
    if sample_s <= 0.0 {
        return Vec::new();
    }
    let points = |pick: fn(&(u32, u32)) -> u32| {
        let samples = stream.samples.iter().enumerate();
        let point = |(index, sample): (usize, &(u32, u32))| {
            Point::new(
                (index as f64 + 0.5) * sample_s,
                f64::from(pick(sample)) / sample_s / 1e3,
            )
        };
        samples.map(point).collect()
    };
    vec![
        line(format!("{}, sent", stream.name), points(|sample| sample.0)),
        line(format!("{}, received", stream.name), points(|sample| sample.1)),
    ]
}

fn of_search(search: &SearchResults, title: &str) -> Chart {
    let points = search
        .trials
        .iter()
        .zip(1..)
        .map(|(trial, number)| Point::new(f64::from(number), trial.pps / 1e3));
    Chart {
        title: title.to_string(),
        subtitle: "loads that the search tried".to_string(),
        x_label: "trial".to_string(),
        y_label: "load (kpps)".to_string(),
        series: vec![line("load".to_string(), points.collect())],
    }
}

fn throughput(sizes: &[SizeResults], title: &str) -> Chart {
    let point = |size: &SizeResults| Some(Point::new(size.frame_bytes as f64, size.throughput_pps? / 1e3));
    Chart {
        title: title.to_string(),
        subtitle: "throughput (RFC 2544 §26.1)".to_string(),
        x_label: "frame without check sequence (bytes)".to_string(),
        y_label: "throughput (kpps)".to_string(),
        series: vec![line("throughput".to_string(), sizes.iter().filter_map(point).collect())],
    }
}

fn latency_over_load(sizes: &[SizeResults], title: &str) -> Chart {
    let series = |size: &SizeResults| {
        let points = size.latency.iter();
        let points = points.map(|found| Point::new(100.0 * found.share, found.typical_ns as f64 / US));
        line(format!("{} bytes, median", size.frame_bytes), points.collect())
    };
    Chart {
        title: title.to_string(),
        subtitle: "latency at shares of the throughput".to_string(),
        x_label: "load (% of the throughput)".to_string(),
        y_label: "latency (µs)".to_string(),
        series: sizes.iter().map(series).collect(),
    }
}

fn loss_over_load(sizes: &[SizeResults], title: &str) -> Chart {
    let series = |size: &SizeResults| {
        let points = size.loss.iter().map(|(pps, loss)| Point::new(pps / 1e3, 100.0 * loss));
        line(format!("{} bytes", size.frame_bytes), points.collect())
    };
    Chart {
        title: title.to_string(),
        subtitle: "frame loss rate (RFC 2544 §26.3)".to_string(),
        x_label: "load (kpps)".to_string(),
        y_label: "lost (%)".to_string(),
        series: sizes.iter().map(series).collect(),
    }
}
