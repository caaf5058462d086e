//! Frames that leave, one by one.

mod programs;

use forebay_sim::{Departure, Results, Run, Setup, Silent};
use programs::Programs;

const SCENARIO: &str = r#"
description = "Two streams through one port"
duration_us = 100
[[chip]]
name = "switch"
spec = "v1model-ideal"
program = "portfwd"
commands = """
add ports ingress_port:1 forward(port:3)
add ports ingress_port:2 forward(port:3)
"""
[[traffic]]
name = "large"
to = ["switch:1"]
gbps = 20
arrivals = "poisson"
frame = { udp = { bytes = 1000 } }
[[traffic]]
name = "small"
to = ["switch:2"]
gbps = 10
frame = { udp = { bytes = 100 } }
"#;

fn simulated(scenario: &str) -> (Results, Vec<Departure>) {
    let setup = Setup::new(scenario, &Programs).unwrap_or_else(|problems| panic!("{problems:?}"));
    let run = Run { seed: 5, gbps: None };
    let (results, departures) = setup.run_with_departures(run, &mut Silent);
    assert_eq!(results, setup.run(run, &mut Silent), "recording changes nothing");
    (results, departures)
}

#[test]
fn each_frame_that_leaves_is_recorded_in_order() {
    let (results, departures) = simulated(SCENARIO);
    assert_eq!(departures.len() as u64, results.outputs[0].frames);
    assert!(departures.iter().all(|departure| departure.port == "switch:3"));
    assert!(departures.is_sorted_by_key(|departure| departure.departed_ps));
    for source in &results.sources {
        let own = departures
            .iter()
            .filter(|departure| departure.source.as_ref() == Some(&source.name));
        let sequence: Vec<u64> = own.map(|departure| departure.sequence).collect();
        assert_eq!(sequence, (0..source.sent).collect::<Vec<_>>(), "{}", source.name);
    }
}

/// A port that is sent more than it takes, so that frames leave long after the traffic has ended.
fn overloaded() -> String {
    let slow = "program = \"portfwd\"\nport = [{ numbers = [3], gbps = 15 }]";
    SCENARIO
        .replace("program = \"portfwd\"", slow)
        .replace("duration_us = 100", "duration_us = 100\nwarm_up_us = 20")
}

/// The report's delays come from a histogram of three digits, of whole nanoseconds, of all frames sent after the
/// warm-up.
#[test]
fn times_are_those_of_the_report() {
    for (scenario, warm_up_ps, leaves_late) in [(SCENARIO, 0, false), (&overloaded(), 20_000_000, true)] {
        let (results, departures) = simulated(scenario);
        let last = departures.last().map_or(0, |departure| departure.departed_ps);
        assert_eq!(last > 150_000_000, leaves_late, "{last} ps");
        for (source, bytes) in results.sources.iter().zip([1000, 100]) {
            let arrived = |departure: &Departure| departure.arrived_ps.expect("is remembered");
            let measured = departures
                .iter()
                .filter(|departure| departure.source.as_ref() == Some(&source.name) && arrived(departure) >= warm_up_ps)
                .inspect(|departure| assert_eq!(departure.bytes, bytes));
            let delays: Vec<f64> = measured
                .map(|departure| (departure.departed_ps - arrived(departure)) as f64 / 1e3)
                .collect();
            assert_eq!(delays.len() as u64, source.latency.count);
            assert_eq!(source.reordering.arrived, source.latency.count);
            let mean = delays.iter().sum::<f64>() / delays.len() as f64;
            let (mean_ns, max_ns) = (source.latency.mean_ns, source.latency.max_ns);
            assert!((mean - mean_ns).abs() < 1.0 + 0.01 * mean, "{mean} ns and {mean_ns} ns");
            let max = delays.iter().copied().fold(0.0, f64::max);
            assert!((max - max_ns).abs() < 1.0 + 0.01 * max, "{max} ns and {max_ns} ns");
        }
    }
}
