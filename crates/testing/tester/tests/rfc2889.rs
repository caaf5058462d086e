//! RFC 2889 with a bridge that learns as many addresses as its tables have room for.

mod support;

use forebay_tester::search::LimitedBy;
use forebay_tester::search::rfc2889::BridgeResults;
use forebay_tester::{Progress, Session, Silent, report};
use support::{problems, read};

fn bridge(size: u32, addresses_max: u32) -> String {
    format!(
        "description = \"a bridge\"\nduration_s = 1\ndrain_s = 0.01\n\
         [device]\nprogram = \"crates/testing/tester/tests/rfc2889/bridge.p4\"\ndefines = [\"SIZE={size}\"]\n\
         commands = \"mc_mgrp_create 1\\nmc_node_create 0 1 2 3\\nmc_node_associate 1 0\"\n\
         [rfc2889]\nlearning_port = 1\ntest_port = 2\nmonitoring_port = 3\naddresses_max = {addresses_max}\n\
         learning_pps = 20_000\npps_max = 40_000\nduration_scale = 0.002\n"
    )
}

/// What is found in simulated time.
fn found(size: u32, addresses_max: u32) -> BridgeResults {
    let test = read(&bridge(size, addresses_max));
    let session = Session::open(&test).expect("a device");
    let results = session.in_simulated_time().rfc2889(&mut Silent);
    results.expect("results").rfc2889.expect("of a bridge")
}

#[test]
fn the_capacity_of_a_bridge_is_found_exactly() {
    let found = found(100, 1000);
    // One of the hundred is the station at the test port.
    assert_eq!(
        (found.caching_capacity, found.capacity_is_at_least),
        (99, false),
        "{:?}",
        found.attempts
    );
    assert!(
        found.learning_rate_is_at_least,
        "in simulated time a program takes no time"
    );
    assert_eq!(
        (found.broadcast_pps, found.broadcast_limited_by),
        (Some(40_000.0), LimitedBy::HighestLoad)
    );
}

/// Stops the test at a call.
struct StopsAt {
    calls: u32,
    last: u32,
}

impl Progress for StopsAt {
    fn at(&mut self, _share: f64, _sent: u64, _received: u64) -> bool {
        self.calls += 1;
        self.calls < self.last
    }
}

/// With a bridge that is given minutes to forget, the first results took hours.
#[test]
fn a_test_that_is_stopped_has_what_was_known() {
    let test = read(&bridge(100, 1000));
    let run = |last| {
        let mut session = Session::open(&test).expect("a device").in_simulated_time();
        let mut progress = StopsAt { calls: 0, last };
        let found = session.rfc2889(&mut progress);
        (found, progress.calls)
    };
    let (whole, calls) = run(u32::MAX);
    let whole = whole.expect("results").rfc2889.expect("of a bridge");
    assert_eq!(whole.ended_by, None);
    let error = run(1).0.expect_err("nothing is known yet");
    assert!(error.contains("was stopped"), "{error}");
    let mut parts = Vec::new();
    for last in (1..=20).map(|part| calls * part / 20) {
        let Ok(results) = run(last).0 else { continue };
        let found = results.rfc2889.clone().expect("of a bridge");
        assert!(results.ended_by.as_ref().is_some_and(|why| why.contains("was stopped")));
        assert_eq!(found.attempts[..], whole.attempts[..found.attempts.len()]);
        assert!(found.caching_capacity <= whole.caching_capacity);
        assert!(found.capacity_is_at_least || found.caching_capacity == whole.caching_capacity);
        assert_eq!(found.broadcast_pps, None);
        let text = report::text(&results);
        assert!(
            text.contains("broadcast frames (§5.9): not measured") && text.contains("ended early"),
            "{text}"
        );
        parts.push((found.caching_capacity, found.learning_rate_per_s as u64));
    }
    assert!(parts.is_sorted(), "{parts:?}");
    let all = (whole.caching_capacity, whole.learning_rate_per_s as u64);
    assert_eq!(parts.last(), Some(&all), "stopped while broadcast frames are sent");
}

/// No thread sends as much: what it cannot send is no limit of the bridge.
#[test]
fn broadcast_frames_that_are_not_sent_are_the_testers_limit() {
    let text = bridge(100, 4).replace("pps_max = 40_000", "pps_max = 900_000_000");
    let test = read(&text);
    let results = Session::open(&test).expect("a device").rfc2889(&mut Silent);
    let results = results.expect("results");
    assert!(results.self_test.is_some(), "by the machine's clock");
    let found = results.rfc2889.as_ref().expect("of a bridge");
    assert_eq!(found.broadcast_limited_by, LimitedBy::Tester, "{found:?}");
    let text = report::text(&results);
    let broadcast = &text[text.find("broadcast frames").expect("a line")..];
    assert!(broadcast.contains("limited by the tester"), "{text}");
}

#[test]
fn a_bridge_with_room_for_all_has_at_least_as_many() {
    let found = found(4096, 500);
    assert_eq!(
        (found.caching_capacity, found.capacity_is_at_least),
        (500, true),
        "{:?}",
        found.attempts
    );
}

/// Attempts and loads stand one after the other: each is a slice with its name.
#[test]
fn attempts_and_broadcast_loads_are_in_the_timeline() {
    let test = read(&bridge(100, 1000));
    let session = Session::open(&test).expect("a device");
    let results = session.in_simulated_time().rfc2889(&mut Silent).expect("results");
    assert_eq!(results.self_test, None, "in simulated time");
    let found = results.rfc2889.as_ref().expect("of a bridge");
    assert!(
        found.attempts.iter().all(|attempt| attempt.seconds > 0.0),
        "{:?}",
        found.attempts
    );
    let loads = found.broadcast_search.as_ref().map_or(0, |search| search.trials.len());
    let timeline: serde_json::Value = serde_json::from_str(&report::timeline(&results, None)).expect("JSON");
    let slices = timeline["traceEvents"].as_array().expect("events");
    let slices = slices.iter().filter(|event| event["ph"] == "X").count();
    assert!(loads > 0);
    assert_eq!(slices, found.attempts.len() + loads);
}

/// Each attempt has a device of its own.
#[test]
fn what_is_lost_on_purpose_is_counted_in_all_attempts() {
    let text = format!("{}[[impairment]]\nport = 1\nloss = 1.0\n", bridge(100, 1000));
    let test = read(&text);
    let session = Session::open(&test).expect("a device");
    let results = session.in_simulated_time().rfc2889(&mut Silent).expect("results");
    let attempts = results.rfc2889.expect("of a bridge").attempts;
    let lost: u64 = attempts.iter().map(|attempt| attempt.lost).sum();
    let injected = results.injected.expect("impaired").lost;
    assert!(lost > 0 && injected >= lost, "{injected} of {lost}");
}

#[test]
fn ports_must_differ() {
    let text = bridge(100, 1000).replace("test_port = 2", "test_port = 1");
    let problems = problems(&text);
    assert!(problems.contains("three different ports"), "{problems}");
}
