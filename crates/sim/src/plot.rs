//! Line charts as SVG.

use crate::results::{QueueResults, Results};
use plotters::prelude::*;

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What stands in the legend.
    pub name: String,
    /// Its points; single marks instead of a line when it is not connected.
    pub points: Vec<(f64, f64)>,
    /// Whether the points are joined.
    pub connected: bool,
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Below and beside it, with units.
    pub axes: (String, String),
    /// What it shows.
    pub lines: Vec<Line>,
}

/// Width and height in pixels.
const SIZE: (u32, u32) = (860, 520);

/// The charts that a run gives, with short names: what was sampled over time, once in so many microseconds.
pub fn of_results(results: &Results, sample_us: f64) -> Vec<(&'static str, Chart)> {
    let over_time = |title: &str, unit: &str, lines: Vec<(String, Vec<f64>)>| Chart {
        title: title.to_string(),
        axes: ("us".to_string(), unit.to_string()),
        lines: lines
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| sampled(name, values, sample_us))
            .collect(),
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
        ("rates", over_time("What leaves", "Gbps", outputs.collect())),
        ("queues", over_time("Queues", "bytes", queues.collect())),
        ("buffer", over_time("Packet buffer", "bytes", buffers.collect())),
    ];
    charts
        .into_iter()
        .filter(|(_, chart)| !chart.lines.is_empty())
        .collect()
}

fn sampled(name: String, values: Vec<f64>, sample_us: f64) -> Line {
    let times = (1..).map(|number| f64::from(number) * sample_us);
    Line {
        name,
        points: times.zip(values).collect(),
        connected: true,
    }
}

impl Chart {
    /// The chart as SVG.
    ///
    /// # Errors
    /// What the drawing library says; it has no reason to say anything.
    pub fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn std::error::Error + '_>> {
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (x, y) = self.ranges();
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.axes.0)
            .y_desc(&self.axes.1)
            .light_line_style(WHITE)
            .draw()?;
        for (index, line) in self.lines.iter().enumerate() {
            let colour = Palette99::pick(index).to_rgba();
            let points = line.points.iter().copied();
            let series = match line.connected {
                true => chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?,
                false => chart.draw_series(points.map(|point| Circle::new(point, 4, colour.filled())))?,
            };
            let sample = move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(3));
            series.label(&line.name).legend(sample);
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }

    /// All points, and zero.
    fn ranges(&self) -> (std::ops::Range<f64>, std::ops::Range<f64>) {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let largest = |values: &mut dyn Iterator<Item = f64>| match values.fold(0.0, f64::max) {
            0.0 => 1.0,
            largest => largest * 1.05,
        };
        let x = largest(&mut points().map(|point| point.0));
        let y = largest(&mut points().map(|point| point.1));
        (0.0..x, 0.0..y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_svg_with_its_words() {
        let line = |name: &str, connected| Line {
            name: name.to_string(),
            points: vec![(0.0, 1.0), (2.0, 3.0)],
            connected,
        };
        let chart = Chart {
            title: "Throughput".to_string(),
            axes: ("N".to_string(), "Gbps".to_string()),
            lines: vec![line("published", false), line("model", true)],
        };
        let svg = chart.svg().unwrap();
        assert!(svg.starts_with("<svg"));
        for word in ["Throughput", "Gbps", "published", "model"] {
            assert!(svg.contains(word), "{word}");
        }
    }
}
