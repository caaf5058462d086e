//! What of a simulation is compared, by name.

use forebay_sim::{QueueResults, Results, SearchResults};

/// What a simulation or a search has found.
pub(crate) struct Found {
    max_gbps: Option<f64>,
    results: Option<Results>,
}

impl Found {
    pub(crate) fn of_run(results: Results) -> Found {
        Found {
            max_gbps: None,
            results: Some(results),
        }
    }

    pub(crate) fn of_search(search: SearchResults) -> Found {
        Found {
            max_gbps: Some(search.max_gbps),
            results: search.best,
        }
    }

    /// The value of a metric; none when it is unknown or there is nothing to take it from.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        if name == "max_gbps" {
            return self.max_gbps;
        }
        let results = self.results.as_ref()?;
        let source = results.sources.first()?;
        match name {
            "thirty_ports_gbps" => Some(THIRTY_PORTS * results.output_gbps() / ports_needed(results)),
            "payload_recirculations" => payload_recirculations(results),
            "settled_us" => settled_us(results),
            "lost" => Some(results.lost() as f64),
            "delivered_share" => Some(results.delivered() as f64 / results.sent().max(1) as f64),
            "output_gbps" => Some(results.output_gbps()),
            "latency_min_ns" => Some(source.latency.min_ns),
            "latency_mean_ns" => Some(source.latency.mean_ns),
            "extent_max" => Some(source.reordering.extent_max as f64),
            "reordered_ratio" => Some(source.reordering.reordered_ratio),
            "buffer_max_bytes" => results.chips.first().map(|chip| chip.buffer_max_bytes as f64),
            _ => percentile(results, name)
                .or_else(|| messages(results, name))
                .or_else(|| distance(results, name))
                .or_else(|| queue(results, name)),
        }
    }
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

/// The longest time after a change of the rate until the output is, and stays, what it is at the end of the same step.
fn settled_us(results: &Results) -> Option<f64> {
    let samples = &results.outputs.first()?.samples_gbps;
    let steps = samples.chunks(SAMPLES_OF_STEP).skip(1);
    let unsettled = steps.filter_map(|step| {
        let last = step.last()?;
        Some(
            step.iter()
                .rposition(|rate| (rate - last).abs() > SETTLED_GBPS)
                .map_or(0, |place| place + 1),
        )
    });
    Some(unsettled.max()? as f64 * SAMPLE_US)
}

/// The scenario of the figure: samples of 100 us, steps of four.
const SAMPLE_US: f64 = 100.0;
const SAMPLES_OF_STEP: usize = 4;

/// What arrivals and their delays make the rate of a sample differ by.
const SETTLED_GBPS: f64 = 5.0;

/// `latency_p50_ns`.
fn percentile(results: &Results, name: &str) -> Option<f64> {
    let percent = name.strip_prefix("latency_p")?.strip_suffix("_ns")?;
    results.sources.first()?.latency.percentiles_ns.get(percent).copied()
}

/// `messages_missing` and others: of IoT messages that are followed one by one.
fn messages(results: &Results, name: &str) -> Option<f64> {
    let messages = results.messages.as_ref()?;
    match name {
        "messages_sent" => Some(messages.sent as f64),
        "messages_missing" => Some(messages.missing as f64),
        "messages_unexpected" => Some((messages.unexpected + messages.damaged) as f64),
        "messages_per_frame" => Some(messages.messages_per_frame),
        "wait_mean_us" => Some(messages.wait.mean_ns / 1e3),
        "wait_max_us" => Some(messages.wait.max_ns / 1e3),
        _ => None,
    }
}

/// `reordered_at_100`: the share of packets reordered in flows that take turns at that distance.
fn distance(results: &Results, name: &str) -> Option<f64> {
    let distance = name.strip_prefix("reordered_at_")?.parse().ok()?;
    results
        .sources
        .first()?
        .reordering
        .ratio_at_distance
        .get(&distance)
        .copied()
}

/// `queue1_wait_ns`, `queue1_mean_bytes`, `queue1_max_bytes`: of the first port whose queues are followed.
fn queue(results: &Results, name: &str) -> Option<f64> {
    let (number, what) = name.strip_prefix("queue")?.split_once('_')?;
    let number: usize = number.parse().ok()?;
    let queues = &results.chips.first()?.queues;
    let queue: &QueueResults = queues.iter().find(|queue| queue.queue == number)?;
    match what {
        "wait_ns" => Some(queue.mean_wait_ns),
        "mean_bytes" => Some(queue.mean_bytes),
        "max_bytes" => Some(queue.max_bytes as f64),
        _ => None,
    }
}
