//! Metrics of OpenTelemetry, as JSON for OTLP over HTTP (`POST /v1/metrics`, `application/json`).
//!
//! Counters are cumulative monotonic sums, histograms are cumulative. Names are those of the families; OTLP has buckets
//! between bounds where Prometheus has counts up to bounds.

use crate::family::{Distribution, Family, Kind, Sample, Value as Measured};
use crate::target::Identity;
use serde_json::{Value, json};

/// Aggregation temporality: values are since the start.
const CUMULATIVE: u32 = 2;

/// The name of what the metrics are of.
const SERVICE: &str = "forebay";

/// The request for families, at a time in nanoseconds since the Unix epoch.
pub fn request(families: &[Family], identity: &Identity, time_ns: u64) -> Value {
    let times = Times {
        start_ns: identity.start_ns,
        time_ns,
    };
    let resource = [
        attribute("service.name", SERVICE),
        attribute("service.instance.id", &identity.instance),
    ];
    let families = families.iter().filter(|family| !family.samples.is_empty());
    let metrics: Vec<Value> = families.map(|family| metric(family, times)).collect();
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": resource },
            "scopeMetrics": [{
                "scope": { "name": "forebay", "version": env!("CARGO_PKG_VERSION") },
                "metrics": metrics,
            }],
        }],
    })
}

#[derive(Clone, Copy)]
struct Times {
    start_ns: u64,
    time_ns: u64,
}

fn metric(family: &Family, times: Times) -> Value {
    let points: Vec<Value> = family.samples.iter().map(|sample| point(sample, times)).collect();
    let (data, content) = match family.kind {
        Kind::Counter => (
            "sum",
            json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true }),
        ),
        Kind::Gauge => ("gauge", json!({ "dataPoints": points })),
        Kind::Histogram => (
            "histogram",
            json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE }),
        ),
    };
    json!({ "name": family.name, "description": family.help, "unit": unit(family.name), data: content })
}

/// The unit, in the codes of UCUM, that a name ends with.
fn unit(name: &str) -> &'static str {
    let name = name.strip_suffix("_total").unwrap_or(name);
    match name.rsplit('_').next() {
        Some("seconds") => "s",
        Some("bytes") => "By",
        Some("packets") => "{packet}",
        _ => "1",
    }
}

fn point(sample: &Sample, times: Times) -> Value {
    let attributes: Vec<Value> = sample
        .labels
        .iter()
        .map(|(name, value)| attribute(name, value))
        .collect();
    let mut point = match &sample.value {
        // 64-bit numbers are texts in the JSON of protocol buffers.
        Measured::Count(count) => json!({ "asInt": i64::try_from(*count).unwrap_or(i64::MAX).to_string() }),
        Measured::Number(number) => json!({ "asDouble": number }),
        Measured::Distribution(distribution) => histogram(distribution),
    };
    point["attributes"] = attributes.into();
    point["startTimeUnixNano"] = times.start_ns.to_string().into();
    point["timeUnixNano"] = times.time_ns.to_string().into();
    point
}

fn histogram(distribution: &Distribution) -> Value {
    let bounds: Vec<f64> = distribution.up_to.iter().map(|(bound, _)| *bound).collect();
    let counts = distribution.up_to.iter().map(|(_, count)| *count);
    let mut below = 0;
    let between: Vec<String> = counts
        .chain([distribution.count])
        .map(|count| (count - std::mem::replace(&mut below, count)).to_string())
        .collect();
    json!({
        "count": distribution.count.to_string(),
        "sum": distribution.sum,
        "explicitBounds": bounds,
        "bucketCounts": between,
    })
}

fn attribute(name: &str, value: &str) -> Value {
    json!({ "key": name, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_become_metrics() {
        let mut drops = Family::counter("forebay_dropped_packets_total", "Drops.");
        drops.add(&[("reason", &"ttl")], 3u64);
        let mut times = Family::histogram("forebay_delay_seconds", "Times.");
        times.samples.push(Sample {
            labels: Vec::new(),
            value: Measured::Distribution(Distribution {
                up_to: vec![(0.1, 1), (0.2, 4)],
                sum: 0.75,
                count: 6,
            }),
        });
        let ratio = Family::gauge("forebay_ratio", "A ratio.").of(0.5);
        let identity = Identity {
            instance: "s1".to_string(),
            start_ns: 5,
        };
        let request = request(&[drops, times, ratio], &identity, 7);
        let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        assert_eq!(
            metrics[0],
            json!({
                "name": "forebay_dropped_packets_total", "description": "Drops.", "unit": "{packet}",
                "sum": {
                    "aggregationTemporality": 2, "isMonotonic": true,
                    "dataPoints": [{
                        "asInt": "3", "startTimeUnixNano": "5", "timeUnixNano": "7",
                        "attributes": [{ "key": "reason", "value": { "stringValue": "ttl" } }],
                    }],
                },
            })
        );
        let point = &metrics[1]["histogram"]["dataPoints"][0];
        assert_eq!(point["bucketCounts"], json!(["1", "3", "2"]));
        assert_eq!(point["explicitBounds"], json!([0.1, 0.2]));
        assert_eq!(metrics[2]["gauge"]["dataPoints"][0]["asDouble"], json!(0.5));
        assert_eq!(metrics[1]["unit"], "s");
    }
}
