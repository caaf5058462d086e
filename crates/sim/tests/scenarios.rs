//! Scenarios from text to results, and what is said of those that are wrong.

use forebay_files::FileSources;
use forebay_ir::Program;
use forebay_sim::{Library, Run, Search, Setup, Silent, find_max};

/// Programs of the repository by their names.
struct Programs;

impl Library for Programs {
    fn program(&self, path: &str, defines: &[String]) -> Result<Program, String> {
        let path = format!("{}/../../programs/{path}/{path}.p4", env!("CARGO_MANIFEST_DIR"));
        let provider = FileSources::new();
        let options = forebay_frontend::Options {
            provider: &provider,
            include_paths: &[],
            defines,
        };
        forebay_frontend::compile(&path, &options)
            .program
            .ok_or_else(|| format!("cannot compile {path}"))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        Err(format!("cannot read {path}"))
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("cannot read {path}"))
    }
}

const SCENARIO: &str = r#"
description = "Two ports into one"
duration_us = 200

[[chip]]
name = "switch"
spec = "tofino"
program = "portfwd"
commands = """
add ports ingress_port:1 forward(port:3)
add ports ingress_port:2 forward(port:3)
"""

[[chip.port]]
numbers = [3]
queues = [{ quantum_bytes = 1500, capacity_bytes = 50_000 }]

[[traffic]]
name = "in"
to = ["switch:1", "switch:2"]
gbps = 40
arrivals = "poisson"
frame = { udp = { bytes = "imix", flows = 10 } }

[measure]
sample_us = 10
queues = ["switch:3"]

[search]
from_gbps = 10
to_gbps = 90
tolerance_gbps = 1
delivered_per_sent = 1
"#;

fn setup(text: &str) -> Setup {
    match Setup::new(text, &Programs) {
        Ok(setup) => setup,
        Err(problems) => panic!("{problems:?}"),
    }
}

fn problem(from: &str, to: &str) -> String {
    assert!(SCENARIO.contains(from), "{from}");
    match Setup::new(&SCENARIO.replace(from, to), &Programs) {
        Ok(_) => panic!("{to} should be wrong"),
        Err(problems) => problems[0].to_string(),
    }
}

fn run(setup: &Setup, seed: u64) -> String {
    let results = setup.run(Run { seed, gbps: None }, &mut Silent);
    serde_json::to_string(&results).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let (first, second) = (setup(SCENARIO), setup(SCENARIO));
    assert_eq!(run(&first, 1), run(&second, 1));
    assert_ne!(run(&first, 1), run(&first, 2));
}

#[test]
fn what_comes_in_goes_out() {
    let results = setup(SCENARIO).run(Run { seed: 1, gbps: None }, &mut Silent);
    assert_eq!((results.lost(), results.sent()), (0, results.delivered()));
    assert!((results.offered_gbps() - 80.0).abs() < 4.0);
    assert!((results.output_gbps() - results.offered_gbps()).abs() < 1.0);
    let latency = &results.sources[0].latency;
    assert!(
        latency.min_ns >= 700.0 && latency.mean_ns > latency.min_ns,
        "{latency:?}"
    );
    assert_eq!(results.sources[0].reordering.extent_max, 0);
    assert_eq!(results.chips[0].queues[0].samples_bytes.len(), 19);
}

#[test]
fn the_search_finds_the_output_port() {
    let found = find_max(&setup(SCENARIO), Search { seed: 1 }, &mut Silent).unwrap();
    assert!(
        found.found && (44.0..51.0).contains(&found.max_gbps),
        "{}",
        found.max_gbps
    );
    assert!(found.trials.iter().any(|trial| !trial.good && trial.lost > 0));
}

#[test]
fn mistakes_have_their_lines_and_say_what_would_be_right() {
    for (from, to, expected) in [
        ("duration_us = 200", "duration = 200", "3: unknown field `duration`"),
        ("duration_us = 200", "duration_us = -1", "3: duration_us is -1"),
        (
            "\"tofino\"",
            "\"tofino9\"",
            "7: there is no chip \"tofino9\"; there are tofino, tofino2, v1model-ideal",
        ),
        ("\"portfwd\"", "\"nothing\"", "8: cannot compile"),
        (
            "forward(port:3)",
            "forwards(port:3)",
            "the program refuses the command in line 1",
        ),
        (
            "numbers = [3]",
            "numbers = [64]",
            "15: tofino has no port 64; its ports are 0 to 63",
        ),
        ("numbers = [3]", "numbers = [3, 3]", "15: port 3 is configured twice"),
        (
            "quantum_bytes = 1500",
            "quantum_bytes = 0",
            "15: a queue with a quantum of 0 bytes would never be served",
        ),
        ("quantum_bytes", "weight", "16: unknown field `weight`"),
        ("\"switch:2\"]", "\"switch:64\"]", "20: chip switch has no port 64"),
        (
            "\"switch:2\"]",
            "\"other:1\"]",
            "20: there is no chip \"other\"; there are: switch",
        ),
        (
            "\"switch:2\"]",
            "\"switch\"]",
            "20: \"switch\" is no port; write chip:port, as in \"switch:1\"",
        ),
        ("gbps = 40", "gbps = -40", "21: a rate is 0 to 10000 Gbps"),
        (
            "gbps = 40",
            "gbps = abc",
            "21: string values must be quoted, expected literal string: `gbps = abc`",
        ),
        ("\"imix\"", "\"big\"", "23: \"big\" is no size"),
        ("\"imix\"", "20", "23: a UDP frame has 42 to 9000 bytes, not 20"),
        (
            "tolerance_gbps = 1",
            "tolerance_gbps = 0",
            "32: tolerance_gbps is more than 0",
        ),
        (
            "[measure]",
            "[[timer]]\nport = \"switch:5\"\ninterval_ns = 0\npackets = 1\n[measure]",
            "26: a timer has an interval_ns of at least 1",
        ),
        (
            "[measure]",
            "[[fault]]\nport = \"switch:5\"\nloss = 2\n[measure]",
            "26: loss, duplication and delay of a fault are shares",
        ),
        (
            "duration_us = 200",
            "duration_us = 200\ndrain_us = 1e12",
            "3: drain_us is 1000000000000; it is 0 to 60000000",
        ),
        (
            "[[traffic]]",
            "[[link]]\nfrom = \"switch:3\"\nto = \"switch:1\"\n[[traffic]]",
            "23: a frame of \"in\" goes round for ever",
        ),
    ] {
        let said = problem(from, to);
        assert!(said.contains(expected), "{to}: {said:?} instead of {expected:?}");
    }
}

#[test]
fn a_program_that_needs_what_the_chip_lacks_is_refused() {
    let spec = include_str!("../../chip/chips/tofino.toml");
    let without = spec.replace("resubmit_buffer_packets = 16", "resubmit_buffer_packets = 0");
    let text = DISAGGREGATING.replace("\"tofino\"", "\"no_resubmission.toml\"");
    let library = WithChip(&without);
    let said = match Setup::new(&text, &library) {
        Ok(_) => panic!("nothing is resubmitted on this chip"),
        Err(problems) => problems[0].to_string(),
    };
    assert!(said.starts_with("8: the program resubmits packets, and"), "{said}");
    assert!(Setup::new(DISAGGREGATING, &Programs).is_ok());
}

const DISAGGREGATING: &str = r#"
description = "N-packets are taken apart by resubmission"
duration_us = 10

[[chip]]
name = "switch"
spec = "tofino"
program = "iot_disaggregate_tofino"
defines = ["METHOD=1"]
"#;

/// Programs, and the text of a chip.
struct WithChip<'a>(&'a str);

impl Library for WithChip<'_> {
    fn program(&self, path: &str, defines: &[String]) -> Result<Program, String> {
        Programs.program(path, defines)
    }

    fn text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.to_string())
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        Programs.bytes(path)
    }
}

const TIMED: &str = r#"
description = "Messages of different lengths, gathered for 50 us at most"
duration_us = 1000

[[chip]]
name = "switch"
spec = "tofino"
program = "iot_aggregate_timed"
defines = ["N=8", "MAX_AGE=50", "FLOWS=64"]
commands = """
add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)
"""

[[timer]]
port = "switch:63"
interval_ns = 100
packets = 64

[[traffic]]
name = "messages"
to = ["switch:1"]
gbps = 0.2
arrivals = "poisson"
frame = { message = { payload_bytes = [12, 20, 31], flows = 40 } }

[measure]
messages = true
"#;

#[test]
fn messages_wait_for_a_bounded_time_and_none_is_missing() {
    let followed = |text: &str| {
        let results = setup(text).run(Run { seed: 1, gbps: None }, &mut Silent);
        results.messages.expect("messages are followed")
    };
    let messages = followed(TIMED);
    assert!(messages.sent > 200, "{messages:?}");
    assert_eq!((messages.missing, messages.unexpected, messages.damaged), (0, 0, 0));
    // A batch's age, a round of the timer, a microsecond of the program's clock, and the way through the chip.
    assert!(
        (50e3..50e3 + 6.4e3 + 2e3).contains(&messages.wait.max_ns),
        "{messages:?}"
    );
    let kept = followed(&TIMED.replace("packets = 64", "packets = 64\nlast_round = false"));
    assert!(kept.missing > 0, "without a last round some are never sent");
}

#[test]
fn faults_of_a_scenario_strike() {
    let looping = SCENARIO.replace(
        "[[traffic]]",
        "[[link]]\nfrom = \"switch:3\"\nto = \"switch:1\"\n[[fault]]\nport = \"switch:3\"\nloss = 1.0\n[[traffic]]",
    );
    let results = setup(&looping).run(Run { seed: 1, gbps: None }, &mut Silent);
    assert_eq!(results.lost(), results.sent(), "each frame on the link is lost");
    assert!(
        results.chips[0].lost.contains_key("3.injected_fault"),
        "{:?}",
        results.chips[0].lost
    );
}
