//! Prometheus's text format, version 0.0.4.

use crate::family::{Distribution, Family, Kind, Sample, Value};
use std::fmt::Write;

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text of families. Those without samples are left out.
pub fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        write_family(&mut text, family);
    }
    text
}

fn write_family(text: &mut String, family: &Family) {
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let name = family.name;
    let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    for sample in &family.samples {
        write_sample(text, name, sample);
    }
}

fn write_sample(text: &mut String, name: &str, sample: &Sample) {
    let labels: Vec<String> = sample.labels.iter().map(|(name, value)| label(name, value)).collect();
    match &sample.value {
        Value::Count(count) => line(text, name, &labels, count),
        Value::Number(number) => line(text, name, &labels, &number_text(*number)),
        Value::Distribution(distribution) => write_distribution(text, name, &labels, distribution),
    }
}

fn write_distribution(text: &mut String, name: &str, labels: &[String], distribution: &Distribution) {
    let bucket = format!("{name}_bucket");
    let bounds = distribution.up_to.iter().copied();
    for (bound, count) in bounds.chain([(f64::INFINITY, distribution.count)]) {
        let mut labels = labels.to_vec();
        labels.push(label("le", &number_text(bound)));
        line(text, &bucket, &labels, &count);
    }
    line(text, &format!("{name}_sum"), labels, &number_text(distribution.sum));
    line(text, &format!("{name}_count"), labels, &distribution.count);
}

fn line(text: &mut String, name: &str, labels: &[String], value: &dyn std::fmt::Display) {
    let _ = if labels.is_empty() {
        writeln!(text, "{name} {value}")
    } else {
        writeln!(text, "{name}{{{}}} {value}", labels.join(","))
    };
}

fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

fn number_text(number: f64) -> String {
    match number {
        f64::INFINITY => "+Inf".to_string(),
        f64::NEG_INFINITY => "-Inf".to_string(),
        number if number.is_nan() => "NaN".to_string(),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_as_the_format_says() {
        let mut drops = Family::counter("forebay_drops_total", "Packets dropped.\nBy reason \\ name.");
        drops.add(&[("reason", &"a\\b\"c\nd"), ("port", &7)], 3u64);
        let ratio = Family::gauge("forebay_ratio", "A ratio.").of(0.25);
        let mut times = Family::histogram("forebay_seconds", "Times.");
        let distribution = Distribution {
            up_to: vec![(1e-7, 1), (0.5, 2)],
            sum: 7.5,
            count: 3,
        };
        times.samples.push(Sample {
            labels: vec![("way", "x".to_string())],
            value: Value::Distribution(distribution),
        });
        let none = Family::gauge("forebay_none", "Nothing.");
        assert_eq!(
            text(&[drops, ratio, times, none]),
            "# HELP forebay_drops_total Packets dropped.\\nBy reason \\\\ name.\n\
             # TYPE forebay_drops_total counter\n\
             forebay_drops_total{reason=\"a\\\\b\\\"c\\nd\",port=\"7\"} 3\n\
             # HELP forebay_ratio A ratio.\n\
             # TYPE forebay_ratio gauge\n\
             forebay_ratio 0.25\n\
             # HELP forebay_seconds Times.\n\
             # TYPE forebay_seconds histogram\n\
             forebay_seconds_bucket{way=\"x\",le=\"0.0000001\"} 1\n\
             forebay_seconds_bucket{way=\"x\",le=\"0.5\"} 2\n\
             forebay_seconds_bucket{way=\"x\",le=\"+Inf\"} 3\n\
             forebay_seconds_sum{way=\"x\"} 7.5\n\
             forebay_seconds_count{way=\"x\"} 3\n"
        );
    }

    #[test]
    fn numbers_that_are_none_have_names() {
        let written = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300].map(number_text);
        assert_eq!(&written[..3], ["+Inf", "-Inf", "NaN"]);
        assert_eq!(written[3].parse::<f64>(), Ok(1e300));
    }
}
