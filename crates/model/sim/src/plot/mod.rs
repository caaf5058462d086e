//! Charts, as SVG and PDF.
//!
//! ```text
//!   Chart ─► Drawing: lines, circles, text at places ─► SVG
//!   what is shown                                    └► PDF
//! ```
//!
//! A chart says what it shows in a title, quantity and unit at both axes, and everything else in a legend beside the
//! data. Series of one group (published, model and formula for the same parameters) share a colour and the shape of
//! their marks, so that they can be told apart without colours too.

mod canvas;
mod chart;
mod pdf;
mod scale;
mod svg;

pub use chart::{Chart, Point, Series, Style};
pub use scale::Axis;

use crate::results::{QueueResults, Results};

/// The charts that a run gives, with short names: what was sampled over time, once every `sample_us` microseconds.
pub fn of_results(results: &Results, sample_us: f64) -> Vec<(&'static str, Chart)> {
    let over_time = |title: &str, quantity: &str, lines: Vec<(String, Vec<f64>)>| Chart {
        title: results.description.clone(),
        subtitle: title.to_string(),
        x_label: "simulated time (µs)".to_string(),
        y_label: quantity.to_string(),
        series: lines
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| sampled(name, values, sample_us))
            .collect(),
        ..Chart::default()
    };
    let outputs = results.outputs.iter();
    let outputs = outputs.map(|output| (output.port.clone(), output.samples_gbps.clone()));
    let bytes = |samples: &[u64]| samples.iter().map(|bytes| *bytes as f64).collect();
    let queues = results.chips.iter().flat_map(|chip| {
        let name = |queue: &QueueResults| format!("{}:{} queue {}", chip.name, queue.port, queue.queue);
        let used = chip.queues.iter().filter(|queue| queue.max_bytes > 0);
        used.map(move |queue| (name(queue), bytes(&queue.samples_bytes)))
    });
    let buffers = results.chips.iter();
    let buffers = buffers.map(|chip| (chip.name.clone(), bytes(&chip.buffer_samples_bytes)));
    let charts = [
        (
            "rates",
            over_time("rate of each output", "rate on the wire (Gbps)", outputs.collect()),
        ),
        (
            "queues",
            over_time("length of queues", "length (bytes)", queues.collect()),
        ),
        (
            "buffer",
            over_time("packet buffer in use", "in use (bytes)", buffers.collect()),
        ),
    ];
    charts
        .into_iter()
        .filter(|(_, chart)| !chart.series.is_empty())
        .collect()
}

fn sampled(group: String, values: Vec<f64>, sample_us: f64) -> Series {
    let times = (1..).map(|number| f64::from(number) * sample_us);
    Series {
        group,
        style: Style::Line,
        points: times.zip(values).map(|(x, y)| Point::new(x, y)).collect(),
    }
}

/// The rate that the first stream was given and what came out, over time.
pub fn rates_over_time(title: &str, results: &Results) -> Option<Chart> {
    let source = results.sources.first()?;
    let samples = &results.outputs.first()?.samples_gbps;
    if results.sample_us <= 0.0 || samples.is_empty() {
        return None;
    }
    let steps = source.rates_gbps.windows(2).flat_map(|step| {
        let [(begins, rate), (ends, _)] = step else {
            return Vec::new();
        };
        vec![Point::new(*begins, *rate), Point::new(*ends, *rate)]
    });
    let measured = (0..).zip(samples).flat_map(|(number, rate)| {
        let begins = f64::from(number) * results.sample_us;
        [Point::new(begins, *rate), Point::new(begins + results.sample_us, *rate)]
    });
    let series = |group: &str, points| Series {
        group: group.to_string(),
        style: Style::Line,
        points,
    };
    Some(Chart {
        title: title.to_string(),
        subtitle: format!("rate in and out, means of {} µs", results.sample_us),
        x_label: "simulated time (µs)".to_string(),
        y_label: "rate on the wire (Gbps)".to_string(),
        series: vec![
            series("in, as configured", steps.collect()),
            series("out, model", measured.collect()),
        ],
        ..Chart::default()
    })
}
