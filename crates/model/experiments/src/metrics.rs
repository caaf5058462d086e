//! What of a simulation is compared, by name.

use forebay_sim::{Measures, QueueResults, Results, SearchResults, SourceResults, suggestion};

/// What a simulation or a search has found.
#[derive(Clone)]
pub(crate) struct Found {
    /// What was searched, if it was.
    pub(crate) search: Option<SearchResults>,
    /// The run that is evaluated: of a search, the one at the highest load without loss.
    pub(crate) results: Option<Results>,
}

/// A value of the model, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) value: f64,
    /// The search ended at its highest load: the value is at least this.
    pub(crate) at_least: bool,
    /// That load is the rate of the port.
    pub(crate) is_line_rate: bool,
    /// Half of the confidence interval's width, of searches that were repeated.
    pub(crate) half_width: f64,
}

impl Found {
    pub(crate) fn of_run(results: Results) -> Found {
        Found {
            search: None,
            results: Some(results),
        }
    }

    pub(crate) fn of_search(mut search: SearchResults) -> Found {
        Found {
            results: search.best.take(),
            search: Some(search),
        }
    }

    /// Whether a search has found no load without loss.
    pub(crate) fn nothing_found(&self) -> bool {
        self.search.as_ref().is_some_and(|search| !search.found)
    }

    /// The value of a metric; none when there is nothing to take it from.
    pub(crate) fn metric(&self, name: &str) -> Option<Value> {
        let at_least = self.search.as_ref().is_some_and(|search| search.at_least);
        let is_line_rate = at_least && self.search.as_ref().is_some_and(|search| search.ceiling_is_line_rate);
        let certainty = self.search.as_ref().and_then(|search| search.certainty.as_ref());
        if name == "max_gbps" {
            let value = self.search.as_ref()?.max_gbps?;
            return Some(Value {
                value,
                at_least,
                is_line_rate,
                half_width: certainty.map_or(0.0, |certainty| certainty.half_width_gbps),
            });
        }
        let results = self.results.as_ref()?;
        let value = of_results(results, name)?;
        Some(Value {
            value,
            at_least: at_least && name == "output_gbps",
            is_line_rate,
            half_width: 0.0,
        })
    }
}

/// What a metric is, for the axis of a chart: quantity and unit.
pub(crate) struct Quantity {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
}

/// A metric with a fixed name: quantity, unit, and how it is taken.
type Fixed = (&'static str, &'static str, &'static str, fn(&Results) -> Option<f64>);

const FIXED: &[Fixed] = &[
    ("thirty_ports_gbps", "rate with 30 ports full", "Gbps", |results| {
        Some(THIRTY_PORTS * results.output_gbps() / ports_needed(results))
    }),
    (
        "payload_recirculations",
        "recirculations of a payload, mean",
        "",
        payload_recirculations,
    ),
    (
        "settled_us",
        "time until the output has the new rate, longest",
        "µs",
        settled_us,
    ),
    ("lost", "packets lost by the chip", "", |results| {
        Some(results.lost() as f64)
    }),
    ("lost_share", "packets lost by the chip, of those sent", "", |results| {
        Some(results.lost() as f64 / results.sent().max(1) as f64)
    }),
    ("delivered_share", "packets delivered, of those sent", "", |results| {
        Some(results.delivered() as f64 / results.sent().max(1) as f64)
    }),
    (
        "lost_whole_share",
        "packets of which nothing came out, of those sent",
        "",
        |results| {
            let (whole, _) = results.lost_whole_and_in_part()?;
            Some(whole as f64 / results.sent().max(1) as f64)
        },
    ),
    (
        "lost_in_part_share",
        "packets of which a part came out, of those sent",
        "",
        |results| {
            let (_, part) = results.lost_whole_and_in_part()?;
            Some(part as f64 / results.sent().max(1) as f64)
        },
    ),
    ("goodput_gbps", "data that came, all flows", "Gbps", |results| {
        let rates = results.flows.iter().map(|flow| flow.goodput_gbps);
        (!results.flows.is_empty()).then(|| rates.sum())
    }),
    ("fairness", "Jain's index of the flows' rates", "", Results::fairness),
    ("retransmitted_share", "packets of flows sent again", "", |results| {
        let sent: u64 = results.flows.iter().map(|flow| flow.sent).sum();
        let again: u64 = results.flows.iter().map(|flow| flow.retransmitted).sum();
        (sent > 0).then(|| again as f64 / sent as f64)
    }),
    ("window_mean", "window, mean of the flows", "segments", |results| {
        mean(results.flows.iter().filter_map(|flow| flow.window_mean))
    }),
    ("round_trip_mean_us", "round trip, mean of the flows", "µs", |results| {
        mean(results.flows.iter().filter_map(|flow| flow.round_trip_mean_us))
    }),
    (
        "completed_us",
        "time until a flow is complete, longest",
        "µs",
        completed_us,
    ),
    ("pauses", "pauses", "", |results| {
        let ports = results.chips.iter().flat_map(|chip| &chip.ports);
        Some(ports.map(|port| port.pauses_sent).sum::<u64>() as f64)
    }),
    ("output_gbps", "rate of all outputs", "Gbps", |results| {
        Some(results.output_gbps())
    }),
    ("latency_min_ns", "delay, smallest", "ns", |results| {
        first(results).map(|source| source.latency.min_ns)
    }),
    ("latency_mean_ns", "delay, mean", "ns", |results| {
        first(results).map(|source| source.latency.mean_ns)
    }),
    ("extent_max", "reordering extent, largest", "packets", |results| {
        first(results).map(|source| source.reordering.extent_max as f64)
    }),
    ("reordered_ratio", "share of packets reordered", "", |results| {
        first(results).map(|source| source.reordering.reordered_ratio)
    }),
    ("buffer_max_bytes", "packet buffer in use, most", "bytes", |results| {
        results.chips.first().map(|chip| chip.buffer_max_bytes as f64)
    }),
    ("messages_sent", "messages sent", "", |results| {
        results.messages.as_ref().map(|messages| messages.sent as f64)
    }),
    ("messages_missing", "messages missing", "", |results| {
        results.messages.as_ref().map(|messages| messages.missing as f64)
    }),
    ("messages_unexpected", "messages damaged or unexpected", "", |results| {
        let unexpected = |messages: &forebay_sim::MessageResults| (messages.unexpected + messages.damaged) as f64;
        results.messages.as_ref().map(unexpected)
    }),
    ("messages_per_frame", "messages in a frame, mean", "", |results| {
        results.messages.as_ref().map(|messages| messages.messages_per_frame)
    }),
    ("wait_mean_us", "wait of a message, mean", "µs", |results| {
        results.messages.as_ref().map(|messages| messages.wait.mean_ns / 1e3)
    }),
    ("wait_max_us", "wait of a message, longest", "µs", |results| {
        results.messages.as_ref().map(|messages| messages.wait.max_ns / 1e3)
    }),
];

/// Percentiles of delays that runs have.
const PERCENTILES: [&str; 7] = ["5", "25", "50", "75", "95", "99", "99.9"];

/// What is known of a queue.
const OF_QUEUES: [(&str, &str, &str); 3] = [
    ("wait_ns", "wait, mean", "ns"),
    ("mean_bytes", "length, mean", "bytes"),
    ("max_bytes", "length, most", "bytes"),
];

/// A metric as its name says.
enum Named<'a> {
    Max,
    Fixed(&'static Fixed),
    /// `latency_p50_ns`.
    Percentile(&'a str),
    /// `reordered_at_100`.
    Distance(u32),
    /// `queue1_wait_ns`, and what it is.
    Queue(usize, &'static (&'static str, &'static str, &'static str)),
}

fn named(name: &str) -> Option<Named<'_>> {
    if name == "max_gbps" {
        return Some(Named::Max);
    }
    if let Some(fixed) = FIXED.iter().find(|fixed| fixed.0 == name) {
        return Some(Named::Fixed(fixed));
    }
    if let Some(percent) = name.strip_prefix("latency_p").and_then(|rest| rest.strip_suffix("_ns")) {
        return PERCENTILES.contains(&percent).then_some(Named::Percentile(percent));
    }
    if let Some(distance) = name.strip_prefix("reordered_at_") {
        return distance.parse().ok().map(Named::Distance);
    }
    let (number, what) = name.strip_prefix("queue")?.split_once('_')?;
    let what = OF_QUEUES.iter().find(|known| known.0 == what)?;
    Some(Named::Queue(number.parse().ok()?, what))
}

/// Whether a metric can be taken from what a scenario measures.
///
/// # Errors
/// Why not, in words.
pub(crate) fn check(name: &str, searched: bool, sampled: bool, measures: Measures<'_>) -> Result<(), String> {
    let needs = |there: bool, what: &str| {
        if there {
            Ok(())
        } else {
            Err(format!("metric {name} needs {what}"))
        }
    };
    match named(name) {
        None => {
            let families = ["max_gbps", "latency_p50_ns", "reordered_at_100", "queue0_wait_ns"];
            let known = FIXED.iter().map(|fixed| fixed.0).chain(families);
            Err(format!("there is no metric {name:?}{}", suggestion(name, known)))
        }
        Some(Named::Max) => needs(searched, "search = true in experiment.toml"),
        Some(Named::Distance(distance)) => needs(
            measures.distances.contains(&distance),
            &format!("{distance} among reordering_distances of [measure]"),
        ),
        Some(Named::Queue(..)) => needs(measures.queues, "queues in [measure]"),
        Some(Named::Fixed((name, ..))) => match *name {
            "payload_recirculations" => needs(measures.queues, "queues in [measure]"),
            "settled_us" => needs(sampled, "sample_us in [measure]"),
            "lost_whole_share" | "lost_in_part_share" => {
                needs(measures.parts, "frames_per_packet in [measure], of 2 or more")
            }
            _ if name.starts_with("messages_") || name.starts_with("wait_") => {
                needs(measures.messages, "messages = true in [measure]")
            }
            _ => Ok(()),
        },
        Some(Named::Percentile(_)) => Ok(()),
    }
}

/// Quantity and unit of a metric that is known.
pub(crate) fn quantity(name: &str) -> Quantity {
    let of = |what: String, unit| Quantity { what, unit };
    match named(name) {
        Some(Named::Max) => of("highest load without loss".to_string(), "Gbps"),
        Some(Named::Fixed((_, what, unit, _))) => of(what.to_string(), unit),
        Some(Named::Percentile(percent)) => of(format!("delay, {percent}th percentile"), "ns"),
        Some(Named::Distance(distance)) => of(format!("share reordered, every {distance}th packet of a flow"), ""),
        Some(Named::Queue(queue, (_, what, unit))) => of(format!("queue {queue}: {what}"), unit),
        None => of(name.to_string(), ""),
    }
}

fn of_results(results: &Results, name: &str) -> Option<f64> {
    match named(name)? {
        Named::Max => None,
        Named::Fixed((_, _, _, take)) => take(results),
        Named::Percentile(percent) => first(results)?.latency.percentiles_ns.get(percent).copied(),
        Named::Distance(distance) => {
            let ratios = &first(results)?.reordering.ratio_at_distance;
            ratios.get(&distance).copied()
        }
        Named::Queue(number, (what, ..)) => {
            let queues = &results.chips.first()?.queues;
            let queue: &QueueResults = queues.iter().find(|queue| queue.queue == number)?;
            Some(match *what {
                "wait_ns" => queue.mean_wait_ns?,
                "mean_bytes" => queue.mean_bytes,
                _ => queue.max_bytes as f64,
            })
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// The time of the flow that takes longest; none as long as one is not complete.
fn completed_us(results: &Results) -> Option<f64> {
    let times: Option<Vec<f64>> = results.flows.iter().map(|flow| flow.completed_us).collect();
    times?.into_iter().reduce(f64::max)
}

fn first(results: &Results) -> Option<&SourceResults> {
    results.sources.first()
}

/// Ports of the published comparison, and of what it compares.
const THIRTY_PORTS: f64 = 30.0;

/// Wires that are taken, in ports that would be full.
fn ports_needed(results: &Results) -> f64 {
    let ports = results.chips.iter().flat_map(|chip| &chip.ports);
    ports.map(|port| port.wire_utilisation).sum()
}

/// How often a payload has left queue 1, on average: both recirculation ports are followed.
fn payload_recirculations(results: &Results) -> Option<f64> {
    let queues = &results.chips.first()?.queues;
    let taken: u64 = queues
        .iter()
        .filter(|queue| queue.queue == 1)
        .map(|queue| queue.taken)
        .sum();
    Some(taken as f64 / results.sent().max(1) as f64)
}

/// What arrivals and their delays make the rate of a sample differ by.
const SETTLED_GBPS: f64 = 5.0;

/// The longest time after a change of the rate until the output is, and stays, within [`SETTLED_GBPS`] of the new rate;
/// a change after which that never happens counts until the next.
fn settled_us(results: &Results) -> Option<f64> {
    let samples = &results.outputs.first()?.samples_gbps;
    let rates = &first(results)?.rates_gbps;
    let sample_us = results.sample_us;
    let index = |time: f64| ((time / sample_us).round() as usize).min(samples.len());
    let steps = rates.windows(2).skip(1);
    let settled = steps.map(|step| {
        let [(begins, rate), (ends, _)] = step else { return 0 };
        let of_step = &samples[index(*begins)..index(*ends)];
        let last_off = of_step.iter().rposition(|out| (out - rate).abs() > SETTLED_GBPS);
        last_off.map_or(0, |place| place + 1)
    });
    Some(settled.max()? as f64 * sample_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_sim::{FlowResults, OutputResults};

    fn check_run(name: &str) -> Result<(), String> {
        let measures = Measures {
            queues: false,
            parts: false,
            messages: false,
            distances: &[50],
        };
        check(name, false, false, measures)
    }

    #[test]
    fn a_metric_must_exist_and_be_measured() {
        assert_eq!(check_run("reordered_at_50"), Ok(()));
        assert_eq!(check_run("latency_p99.9_ns"), Ok(()));
        for (name, expected) in [
            ("los", "there is no metric \"los\"; did you mean lost?"),
            ("reordered_at_51", "needs 51 among reordering_distances"),
            ("queue0_wait_ns", "needs queues"),
            ("wait_max_us", "needs messages = true"),
            ("settled_us", "needs sample_us"),
            ("max_gbps", "needs search = true"),
            ("latency_p51_ns", "there is no metric"),
        ] {
            let said = check_run(name).unwrap_err();
            assert!(said.contains(expected), "{name}: {said}");
        }
    }

    fn flow(completed_us: Option<f64>, window_mean: Option<f64>) -> FlowResults {
        FlowResults {
            completed_us,
            window_mean,
            ..FlowResults::default()
        }
    }

    #[test]
    fn metrics_of_flows_are_about_all_of_them() {
        let of = |flows: &[FlowResults], name| {
            let results = Results {
                flows: flows.to_vec(),
                ..Results::default()
            };
            of_results(&results, name)
        };
        let flows = [
            flow(Some(5166.0), Some(4.0)),
            flow(Some(8229.0), Some(6.0)),
            flow(Some(7000.0), None),
        ];
        assert_eq!(of(&flows, "completed_us"), Some(8229.0));
        assert_eq!(of(&flows, "window_mean"), Some(5.0));
        assert_eq!(of(&flows, "round_trip_mean_us"), None, "none was measured");
        let flows = [flow(Some(5166.0), None), flow(None, None)];
        assert_eq!(of(&flows, "completed_us"), None, "one is not complete");
        assert_eq!(of(&[], "completed_us"), None);
    }

    /// Steps of two samples: from 20 to 70 and back.
    fn stepped(samples: &[f64]) -> Results {
        Results {
            sample_us: 100.0,
            sources: vec![SourceResults {
                rates_gbps: vec![(0.0, 20.0), (200.0, 70.0), (400.0, 20.0), (600.0, 0.0)],
                ..SourceResults::default()
            }],
            outputs: vec![OutputResults {
                samples_gbps: samples.to_vec(),
                ..OutputResults::default()
            }],
            ..Results::default()
        }
    }

    #[test]
    fn an_output_has_settled_when_it_has_the_new_rate() {
        assert_eq!(settled_us(&stepped(&[20.0, 20.0, 70.0, 70.0, 20.0, 20.0])), Some(0.0));
        assert_eq!(settled_us(&stepped(&[20.0, 20.0, 60.0, 70.0, 20.0, 20.0])), Some(100.0));
        // Steady, but at a rate that is not the new one.
        assert_eq!(settled_us(&stepped(&[20.0, 20.0, 40.0, 40.0, 20.0, 20.0])), Some(200.0));
    }
}
