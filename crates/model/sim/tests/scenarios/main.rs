//! Scenarios from text to results, and the messages about wrong ones.

mod mistakes;
#[path = "../programs/mod.rs"]
mod programs;

use forebay_ir::Program;
use forebay_sim::{
    Arrivals, Library, Results, Run, Search, SearchResults, Setup, Silent, Variation, expand, find_max, results_text,
    search_text,
};
use programs::Programs;

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
        latency.min_ns >= 400.0 && latency.mean_ns > latency.min_ns,
        "{latency:?}"
    );
    assert_eq!(results.sources[0].reordering.extent_max, 0);
    assert_eq!(results.chips[0].queues[0].samples_bytes.len(), 19);
}

#[test]
fn the_search_finds_the_output_port() {
    let found = searched(SCENARIO);
    let max = found.max_gbps.unwrap();
    assert!(found.found && !found.at_least && (44.0..51.0).contains(&max), "{max}");
    assert!(found.trials.iter().any(|trial| !trial.good && trial.lost > 0));
    assert!(found.lowest_loss.is_some_and(|results| results.lost() > 0));
}

fn searched(text: &str) -> SearchResults {
    find_max(&setup(text), Search { seed: 1 }, &mut Silent).unwrap()
}

#[test]
fn a_search_says_what_it_has_not_found() {
    let nothing = searched(&SCENARIO.replace("delivered_per_sent = 1", "delivered_per_sent = 2"));
    assert_eq!(
        (nothing.found, nothing.max_gbps, nothing.best.is_none()),
        (false, None, true)
    );
    let lowest = nothing.lowest_bad().unwrap();
    assert!(lowest.gbps == 10.0 && lowest.missing > 0, "{lowest:?}");
    let said = search_text(&nothing);
    assert!(
        said.starts_with("nothing found: at 10.000 Gbps, the lowest load tried, 0 of "),
        "{said}"
    );
    let from_zero = searched(
        &SCENARIO
            .replace("from_gbps = 10", "from_gbps = 0")
            .replace("_sent = 1", "_sent = 2"),
    );
    let lowest = from_zero.lowest_bad().unwrap();
    assert_eq!((from_zero.found, lowest.gbps, lowest.sent), (false, 0.0, 0));
    let ceiling = searched(&SCENARIO.replace("to_gbps = 90", "to_gbps = 30"));
    assert_eq!(
        (ceiling.found, ceiling.at_least, ceiling.max_gbps),
        (true, true, Some(30.0))
    );
    let said = search_text(&ceiling);
    assert!(
        said.starts_with("at least 30.000 Gbps without loss: the search goes no higher"),
        "{said}"
    );
    assert_eq!(ceiling.backlog, None);
}

/// Two ports at 60 Gbps each into one of 100: in a short trial the buffer takes what is too much.
/// A port of Tofino 2 may have four channels, and an ideal chip has ports of any rate.
#[test]
fn a_port_is_as_fast_as_the_chip_can_make_it() {
    for (chip, gbps, expected) in [
        ("tofino2", 400, None),
        ("v1model-ideal", 5_000, None),
        (
            "tofino2",
            500,
            Some("gbps is 500; a port of tofino2 has 400 Gbps at most"),
        ),
    ] {
        let text = SCENARIO.replace("\"tofino\"", &format!("{chip:?}"));
        let text = text.replace("numbers = [3]", &format!("numbers = [3]\ngbps = {gbps}"));
        let said = Setup::new(&text, &Programs)
            .err()
            .map(|problems| problems[0].to_string());
        assert_eq!(said.is_some(), expected.is_some(), "{said:?}");
        assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()));
    }
}

/// A share of what must come out grows with the trial, a number of frames does not.
#[test]
fn a_search_tolerates_as_many_missing_frames_as_it_says() {
    let with = |tolerated: &str| {
        let key = "delivered_per_sent = 1";
        searched(&SCENARIO.replace(key, &format!("{key}\n{tolerated}")))
    };
    let (strict, frames, share) = (with(""), with("missing_frames = 3"), with("missing_share = 0.01"));
    let lost = |search: &SearchResults| search.best.as_ref().map_or(0, Results::lost);
    assert_eq!(lost(&strict), 0);
    assert!(lost(&frames) <= 3 && frames.max_gbps >= strict.max_gbps, "{frames:?}");
    assert!(lost(&share) > 3 && share.max_gbps > frames.max_gbps, "{share:?}");
    let lowest = frames.lowest_bad().expect("a load that loses");
    assert!(lowest.missing > 3, "{lowest:?}");
}

#[test]
fn a_search_says_when_its_trials_are_too_short() {
    let short = searched(
        &SCENARIO
            .replace("to_gbps = 90", "to_gbps = 60")
            .replace("duration_us = 200", "duration_us = 50")
            .replace("capacity_bytes = 50_000", "capacity_bytes = 10_000_000"),
    );
    assert!(short.at_least, "{:?}", short.max_gbps);
    let backlog = short.backlog.expect("the buffer fills");
    assert!(
        backlog.at_end > backlog.halfway && backlog.at_end < backlog.sent,
        "{backlog:?}"
    );
    assert!(search_text(&short).contains("A longer duration_us would find less"));
    assert_eq!(searched(SCENARIO).backlog, None);
}

#[test]
fn a_program_that_needs_what_the_chip_lacks_is_refused() {
    let spec = include_str!("../../../chip/chips/tofino.toml");
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
defines = ["METHOD=1", "N=2", "S=22"]
commands = """
add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)
mirroring_add 1002 2
"""

[[traffic]]
name = "N-packets"
to = ["switch:1"]
gbps = 1
frame = { n-packet = { payload_bytes = 16, messages = 2 } }

[measure]
messages = true
"#;

fn results(text: &str) -> Results {
    setup(text).run(Run { seed: 1, gbps: None }, &mut Silent)
}

/// They are in no balance, since there never was such a packet.
#[test]
fn clones_to_a_session_that_does_not_exist_are_counted() {
    let results = results(&DISAGGREGATING.replace("mirroring_add 1002 2\n", ""));
    let refused = results.chips[0].refused.get("no_clone_session").copied();
    assert_eq!((refused, results.chips[0].copies), (Some(2 * results.sent()), 0));
    assert!(results_text(&results).contains("never made, no_clone_session: "));
    assert!(self::results(DISAGGREGATING).chips[0].refused.is_empty());
}

#[test]
fn messages_in_n_packets_are_followed_and_copies_are_counted_apart() {
    let results = results(DISAGGREGATING);
    let messages = results.messages.as_ref().expect("messages are followed");
    let source = &results.sources[0];
    assert!(source.sent > 10);
    assert_eq!((messages.sent, messages.delivered), (2 * source.sent, 2 * source.sent));
    assert_eq!((messages.missing, messages.unexpected, messages.damaged), (0, 0, 0));
    assert_eq!((source.delivered, source.copies), (source.sent, source.sent));
    assert_eq!(results.frames_out(), 2 * source.sent);
}

#[test]
fn a_stream_that_ends_inside_says_where() {
    let results = results(&DISAGGREGATING.replace("mirroring_add 1002 2\n", ""));
    let source = &results.sources[0];
    assert_eq!((source.delivered, source.copies), (0, 0));
    assert!(
        source
            .ends
            .keys()
            .any(|end| end.starts_with("dropped by the program at switch:1: ")),
        "{source:?}"
    );
    let text = results_text(&results);
    assert!(
        text.contains("ends inside, dropped by the program at switch:1: "),
        "{text}"
    );
    assert!(
        text.contains(" – ") && text.contains("nothing left the network"),
        "{text}"
    );
}

fn refusal(text: &str) -> String {
    match Setup::new(text, &Programs) {
        Ok(_) => panic!("{text} should be refused"),
        Err(problems) => problems[0].to_string(),
    }
}

/// Four messages take three resubmissions; the chip permits one.
#[test]
fn a_rule_of_the_chip_is_lifted_by_name_and_with_a_reason() {
    let four = DISAGGREGATING
        .replace("N=2", "N=4")
        .replace("messages = 2", "messages = 4");
    let said = refusal(&four);
    assert!(
        said.contains("is resubmitted more often than tofino permits (max_resubmissions = 1)"),
        "{said}"
    );
    let lifted = |more: &str| four.replace("\"S=22\"]", &format!("\"S=22\"]\n{more}"));
    let said = refusal(&lifted("max_resubmissions = 3"));
    assert!(said.contains("the key max_resubmissions_reason is missing"), "{said}");
    let text = lifted("max_resubmissions = 3\nmax_resubmissions_reason = \"to see what it costs\"");
    let results = results(&text);
    let rule = &results.chips[0].lifted[0];
    assert_eq!(rule.rule, "tofino resubmits a packet at most once: here 3 times");
    assert_eq!((rule.reason.as_str(), results.lost()), ("to see what it costs", 0));
    assert!(results_text(&results).contains("rule lifted: tofino resubmits"));
    let said = refusal(&lifted("max_resubmissions = 2\nmax_resubmissions_reason = \"too few\""));
    assert!(
        said.contains("more often than tofino permits (max_resubmissions = 2)"),
        "{said}"
    );
}

/// Eight payloads of 16 bytes end at byte 176.
#[test]
fn an_egress_parser_reads_so_many_bytes() {
    let eight = DISAGGREGATING
        .replace("N=2", "N=8")
        .replace("messages = 2", "messages = 8")
        .replace(
            "\"S=22\"]",
            "\"S=22\"]\nmax_resubmissions = 8\nmax_resubmissions_reason = \"as published\"",
        );
    let said = refusal(&eight);
    assert!(
        said.contains(
            "egress uses headers up to byte 176 of a packet, and the egress parser of tofino reads 160 bytes"
        ),
        "{said}"
    );
    let lifted = |most: u32| {
        let keys = format!("max_egress_bytes = {most}\nmax_egress_bytes_reason = \"as published\"\nmax_resubmissions");
        eight.replacen("max_resubmissions", &keys, 1)
    };
    assert!(refusal(&lifted(170)).contains("reads 170 bytes"));
    let setup = setup(&lifted(176));
    let rules: Vec<&str> = setup.lifted().map(|lifted| lifted.rule.as_str()).collect();
    assert!(
        rules.contains(&"the egress parser of tofino reads at most 160 bytes: here 176"),
        "{rules:?}"
    );
}

#[test]
fn a_run_has_no_rate_that_ports_do_not_take_or_that_would_have_no_effect() {
    let two_rates = SCENARIO.replace("to = [\"switch:1\", \"switch:2\"]", "to = [\"switch:1\"]").replace(
        "[measure]",
        "[[traffic]]\nname = \"more\"\nto = [\"switch:2\"]\ngbps = 80\nframe = { udp = { bytes = 100 } }\n[measure]",
    );
    let faster = setup(&two_rates.replace("to_gbps = 90", "to_gbps = 50"));
    assert_eq!(faster.check_rate(50.0), Ok(()));
    let said = faster.check_rate(51.0).unwrap_err();
    assert!(said.contains("up to 50 Gbps of the first stream"), "{said}");
    let search = SCENARIO.find("[search]").expect("the table");
    let silent = setup(&SCENARIO[..search].replace("gbps = 40", "gbps = 0\nsteps = [[100, 40]]"));
    let said = silent.check_rate(10.0).unwrap_err();
    assert!(said.contains("begins with a rate of 0"), "{said}");
}

#[test]
fn packets_that_are_lost_in_part_are_told_from_those_that_are_lost_as_a_whole() {
    let ports = "numbers = [2]\nqueues = [{ capacity_bytes = 200 }]";
    let text = format!(
        "{DISAGGREGATING}\n[search]\nfrom_gbps = 1\nto_gbps = 90\ntolerance_gbps = 1\ndelivered_per_sent = 2\n"
    )
    .replace("[[traffic]]", &format!("[[chip.port]]\n{ports}\n[[traffic]]"));
    let run = |gbps: f64| {
        setup(&text).run(
            Run {
                seed: 1,
                gbps: Some(gbps),
            },
            &mut Silent,
        )
    };
    assert_eq!(run(1.0).lost_whole_and_in_part(), Some((0, 0)));
    let results = run(90.0);
    let (whole, part) = results.lost_whole_and_in_part().unwrap();
    let source = &results.sources[0];
    assert!(part > 0, "{source:?}");
    assert_eq!(whole, source.sent - source.delivered);
    assert_eq!(part, source.delivered - source.copies);
}

#[test]
fn a_search_is_repeated_until_it_is_sure() {
    let text = SCENARIO
        .replace("arrivals = \"poisson\"\n", "arrivals = { bursts = { frames = 4 } }\n")
        .replace(
            "delivered_per_sent = 1",
            "delivered_per_sent = 1\nconfidence = 0.95\nwithin = 0.05\nsearches_max = 4",
        );
    let found = searched(&text);
    let certainty = found.certainty.as_ref().expect("it was asked for");
    let lengths: Vec<f64> = certainty.searches.iter().map(|search| search.trial_us).collect();
    assert!(certainty.searches.len() >= 3 && lengths.is_sorted(), "{certainty:?}");
    let longest = certainty
        .searches
        .iter()
        .filter(|search| search.trial_us == found.trial_us);
    let values: Vec<f64> = longest.filter_map(|search| search.max_gbps).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert_eq!(found.max_gbps, Some(mean));
    assert!(search_text(&found).contains("% confidence"), "{}", search_text(&found));
    assert!(refusal(&text.replace("confidence = 0.95", "confidence = 0.8")).contains("it is 0.9, 0.95 or 0.99"));
}

/// A trial that is so short that the buffer holds the excess does not measure the load; longer ones do.
#[test]
fn a_highest_load_without_loss_is_tried_in_longer_trials() {
    let short = SCENARIO
        .replace("duration_us = 200", "duration_us = 30")
        .replace("capacity_bytes = 50_000", "capacity_bytes = 300_000")
        .replace("gbps = 40\narrivals = \"poisson\"\n", "gbps = 40\n");
    let once = searched(&short);
    assert!(once.at_least && once.max_gbps == Some(90.0), "{:?}", once.max_gbps);
    let sure = "delivered_per_sent = 1\nconfidence = 0.95\nwithin = 0.1\nlengths_max = 4";
    let found = searched(&short.replace("delivered_per_sent = 1", sure));
    let max = found.max_gbps.expect("a load");
    assert!(
        !found.at_least && (48.0..70.0).contains(&max),
        "{max} {:?}",
        found.certainty
    );
    let certainty = found.certainty.expect("it was asked for");
    assert_eq!(certainty.searches[0].trial_us, 30.0);
    assert!(found.trial_us > 30.0);
}

/// With the fourth seed the highest load is without loss, with the three before it is not.
#[test]
fn a_highest_load_that_loses_with_some_seeds_is_no_bound() {
    let text = SCENARIO
        .replace("to_gbps = 90", "to_gbps = 46")
        .replace("tolerance_gbps = 1", "tolerance_gbps = 0.5")
        .replace("capacity_bytes = 50_000", "capacity_bytes = 15_000")
        .replace(
            "delivered_per_sent = 1",
            "delivered_per_sent = 1\nconfidence = 0.95\nlengths_max = 1",
        );
    let found = find_max(&setup(&text), Search { seed: 5 }, &mut Silent).unwrap();
    let max = found.max_gbps.expect("a load");
    assert!(!found.at_least && (42.0..45.5).contains(&max), "{max}");
    let searches = found.certainty.expect("it was asked for").searches;
    assert!(searches.len() > 4, "{searches:?}");
    assert_eq!(searches[3].max_gbps, Some(46.0), "{searches:?}");
}

#[test]
fn seeds_go_on_behind_the_largest() {
    let text = SCENARIO.replace(
        "delivered_per_sent = 1",
        "delivered_per_sent = 1\nseeds = 2\nconfidence = 0.9\nlengths_max = 1\nsearches_max = 3",
    );
    let found = find_max(&setup(&text), Search { seed: u64::MAX }, &mut Silent).unwrap();
    let searches = found.certainty.expect("it was asked for").searches;
    let seeds: Vec<u64> = searches.iter().map(|search| search.seed).collect();
    assert_eq!(seeds[..2], [u64::MAX, 1]);
}

/// Two cables have no common clock: which of two streams at equal distances loses more hangs on their phases.
#[test]
fn streams_at_equal_distances_are_not_in_step() {
    let text = SCENARIO
        .replace("gbps = 40", "gbps = 80")
        .replace("arrivals = \"poisson\"", "arrivals = \"constant\"")
        .replace("bytes = \"imix\", flows = 10", "bytes = 256");
    let share = |seed| {
        let found = setup(&text).run(Run { seed, gbps: None }, &mut Silent);
        let [first, second] = [0, 1].map(|stream| found.sources[stream].delivered as f64);
        first / (first + second)
    };
    let shares: Vec<f64> = (0..16).map(share).collect();
    let is_any = |range: std::ops::RangeInclusive<f64>| shares.iter().any(|share| range.contains(share));
    assert!(is_any(0.0..=0.48) && is_any(0.52..=1.0), "{shares:?}");
}

#[test]
fn a_setup_is_varied_in_one_thing() {
    let setup = setup(SCENARIO);
    let variations = Variation::usual(&setup);
    assert!(variations.contains(&Variation::Constant("scheduler.bytes_per_weight".to_string(), 1.1)));
    assert!(
        setup.varied(&Variation::Arrivals(Arrivals::Poisson)).is_none(),
        "it has them"
    );
    let sent = |setup: &Setup| setup.run(Run { seed: 1, gbps: None }, &mut Silent).sent() as f64;
    let longer = setup
        .varied(&Variation::Length(4.0))
        .expect("no stream has an end of its own");
    let ratio = sent(&longer) / sent(&setup);
    assert!((3.8..4.2).contains(&ratio), "{ratio}");
    assert_eq!(longer.run(Run { seed: 1, gbps: None }, &mut Silent).lost(), 0);
    let shorter = Variation::Length(0.25);
    assert!(setup.varied(&shorter).is_some());
    for late in ["duration_us = 200\nwarm_up_us = 50", "duration_us = 200\ndrain_us = 50"] {
        let late = self::setup(&SCENARIO.replace("duration_us = 200", late));
        assert_eq!(late.varied(&shorter).is_some(), late.scenario().warm_up_us == 0.0);
    }
}

#[test]
fn a_program_that_does_not_fit_its_chip_is_not_timed() {
    let text = SCENARIO
        .replace("\"portfwd\"", "\"iot_aggregate\"")
        .replace("\nadd ports", "\n# add ports");
    let said = refusal(&text);
    assert!(
        said.starts_with("8: the program does not fit tofino: ") && said.contains("--ignore-fit"),
        "{said}"
    );
    let case = &expand(&text, &[]).unwrap()[0];
    let setup = Setup::of_case(case, &Programs, Some("tried")).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(
        setup.lifted().next().map(|lifted| lifted.reason.as_str()),
        Some("tried")
    );
    let ignored = |more: &str| text.replace("\"iot_aggregate\"", &format!("\"iot_aggregate\"\n{more}"));
    assert!(refusal(&ignored("ignore_fit = true")).contains("ignore_fit needs a reason"));
    let own = Setup::new(&ignored("ignore_fit = true\nignore_fit_reason = \"known\""), &Programs);
    let own = own.unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(own.lifted().next().map(|lifted| lifted.reason.as_str()), Some("known"));
    assert!(Setup::new(&text.replace("\"tofino\"", "\"v1model-ideal\""), &Programs).is_ok());
}

#[test]
fn a_scenario_has_traffic() {
    let (before, _) = SCENARIO.split_once("[[traffic]]").unwrap();
    assert_eq!(
        refusal(before).trim(),
        "there is no traffic; a scenario has at least one [[traffic]], [[timer]] or [[flow]]"
    );
}

/// What a fault makes of a frame on a link has gone out of one port and come in by the other.
#[test]
fn copies_of_a_fault_stand_in_the_rows_of_both_ports() {
    let linked = SCENARIO.replace(
        "[[traffic]]",
        "[[link]]\nfrom = \"switch:3\"\nto = \"switch:4\"\n[[fault]]\nport = \"switch:3\"\nduplication = 0.5\n[[traffic]]",
    );
    let results = setup(&linked).run(Run { seed: 1, gbps: None }, &mut Silent);
    let chip = &results.chips[0];
    let row = |number| chip.ports.iter().find(|port| port.port == number).expect("a row");
    assert!(chip.copies > 100, "{chip:?}");
    assert_eq!(row(3).sent_frames, chip.transmitted);
    assert_eq!(row(4).received_frames, row(3).sent_frames);
    assert_eq!(row(3).sent_frames, results.sent() + chip.copies);
}

/// A queue that nothing leaves has no wait: 0 would be the best of all.
#[test]
fn a_queue_that_nothing_leaves_has_no_wait() {
    let results = results(&SCENARIO.replace("queues = [\"switch:3\"]", "queues = [\"switch:3\", \"switch:4\"]"));
    let queues = &results.chips[0].queues;
    assert!(queues[0].mean_wait_ns > Some(0.0), "{:?}", queues[0]);
    assert!(queues[1..].iter().all(|queue| queue.mean_wait_ns.is_none()));
}

/// Samples make up the whole time: those in which nothing leaves, and the last one, which is shorter.
#[test]
fn the_rate_of_an_output_is_sampled_to_the_end() {
    let even = SCENARIO
        .replace("duration_us = 200", "duration_us = 205")
        .replace("arrivals = \"poisson\"", "arrivals = \"constant\"")
        .replace("bytes = \"imix\", flows = 10", "bytes = 256");
    let samples = |text: &str| results(text).outputs[0].samples_gbps.clone();
    let all = samples(&even);
    assert_eq!(all.len(), 21);
    assert!(all[1..].iter().all(|gbps| (75.0..85.0).contains(gbps)), "{all:?}");
    let silent = samples(&even.replace("gbps = 40\n", "gbps = 40\nstop_us = 100\n"));
    assert_eq!(silent.len(), 21);
    assert!(silent[12..].iter().all(|gbps| *gbps == 0.0), "{silent:?}");
}

/// Every key that a scenario may have is on the page that lists them.
#[test]
fn every_key_of_a_scenario_is_documented() {
    let page = include_str!("../../../../../docs/scenarios.md");
    let source = include_str!("../../src/scenario.rs");
    let (_, entries) = source.split_once("pub struct Scenario {").expect("the scenario");
    let (entries, _) = entries.split_once("#[cfg(test)]").unwrap_or((entries, ""));
    let mut keys = 0;
    for line in entries.lines().map(str::trim) {
        let field = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub "));
        let Some((name, _)) = field.and_then(|field| field.split_once(':')) else {
            continue;
        };
        if !name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '2')
            || ["distances", "parts"].contains(&name)
        {
            continue;
        }
        let key = if name == "n_packet" { "n-packet" } else { name };
        assert!(
            page.contains(&format!("`{key}`")),
            "docs/scenarios.md does not say what {key} is"
        );
        keys += 1;
    }
    assert!(keys > 50, "only {keys} keys were found");
}

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

#[test]
fn rates_on_the_wire_have_the_framing_of_the_chip() {
    let chip = include_str!("../../../chip/chips/tofino.toml");
    let chip = chip.replacen("\ngap_bytes = 12", "\ngap_bytes = 112", 1);
    let text = SCENARIO
        .replace("\"tofino\"", "\"mine.toml\"")
        .replace("arrivals = \"poisson\"", "arrivals = \"constant\"");
    let setup = Setup::new(&text, &WithChip(&chip)).unwrap_or_else(|problems| panic!("{problems:?}"));
    let results = setup.run(Run { seed: 1, gbps: None }, &mut Silent);
    for gbps in [results.offered_gbps(), results.output_gbps()] {
        assert!((78.0..82.0).contains(&gbps), "{gbps}");
    }
}

const TIMED: &str = r#"
description = "Messages of different lengths, gathered for 50 us at most"
duration_us = 1000

[[chip]]
name = "switch"
spec = "tofino"
program = "iot_aggregate_timed"
defines = ["N=8", "MAX_AGE=50", "FLOWS=64", "TIMER_PORT=15"]
ignore_fit = true
ignore_fit_reason = "its registers need one another"
commands = """
add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)
"""

[[timer]]
port = "switch:15"
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
        "[[link]]\nfrom = \"switch:3\"\nto = \"switch:5\"\n[[fault]]\nport = \"switch:3\"\nloss = 1.0\n[[traffic]]",
    );
    let results = setup(&looping).run(Run { seed: 1, gbps: None }, &mut Silent);
    assert_eq!(results.lost(), results.sent(), "each frame on the link is lost");
    assert!(
        results.chips[0].lost.contains_key("3.injected_fault"),
        "{:?}",
        results.chips[0].lost
    );
}

/// A frame of which the last part leaves after the measured time takes the wire for the part that lies within.
#[test]
fn a_wire_is_never_taken_for_more_than_the_time() {
    let slow = SCENARIO.replace("numbers = [3]", "numbers = [3]\ngbps = 0.001");
    let results = setup(&slow).run(Run { seed: 1, gbps: None }, &mut Silent);
    let port = results.chips[0].ports.iter().find(|port| port.port == 3).unwrap();
    assert!(
        (0.95..=1.0).contains(&port.wire_utilisation),
        "{}",
        port.wire_utilisation
    );
}
