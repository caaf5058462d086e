//! Programs in memory, on a chip, and compared with the reference executor.

mod support;

use forebay_pipeline::Pipeline;
use forebay_sim::Library;
use forebay_tester::one_by_one::OneByOne;
use forebay_tester::{Progress, Session, Silent, parser_paths, report};
use std::sync::Arc;
use support::{Repository, read, run, simulate};

fn l3fwd(device: &str, flows: &str) -> String {
    format!(
        "description = \"l3fwd\"\nduration_s = 0.05\nsample_s = 0\n[device]\nprogram = \"programs/l3fwd/l3fwd.p4\"\n\
         entries = [\"programs/l3fwd/entries.stf\"]\n{device}\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\n{flows}\npps = 20_000\nframe = {{ udp = {{ bytes = 60, destination = \"10.0.2.0\" }} }}\n"
    )
}

#[test]
fn a_program_in_memory_forwards_everything() {
    for engine in ["jit", "interp"] {
        let text = l3fwd(&format!("engine = \"{engine}\""), "to = 3\nflows = { count = 250 }");
        let found = run(&text);
        let stream = &found.trials[0].streams[0];
        assert_eq!((stream.paths[0].lost, stream.misdirected), (0, 0), "{stream:?}");
        let own = found.self_test.expect("a self test");
        assert_eq!(own.lost, 0);
        assert!(own.floor_ns <= stream.paths[0].latency_all.p50_ns);
    }
}

/// Half of the flows go to one port, half to the other; each frame is what the reference executor says.
#[test]
fn frames_are_compared_with_the_reference() {
    let other = "[[traffic]]\nname = \"b\"\nfrom = 1\nto = 2\npps = 1\nframe = { udp = { bytes = 60, destination = \"10.0.1.0\" } }\n\
                 [[traffic]]\nname = \"c\"\nfrom = 1\npps = 1000\nframe = { udp = { bytes = 60, destination = \"11.0.0.0\" } }\n";
    let text = l3fwd("check = true", "flows = { count = 512 }") + other;
    let found = simulate(&text);
    let streams = &found.trials[0].streams;
    let check = streams[0].check.as_ref().expect("checked");
    assert_eq!((check.same, check.different, check.unexpected), (1000, 0, 0));
    let ports: Vec<_> = streams[0]
        .paths
        .iter()
        .map(|path| (path.port, path.expected, path.received))
        .collect();
    assert_eq!(
        ports,
        [(Some(2), 488, 488), (Some(3), 512, 512)],
        "1000 frames of 512 flows in turns"
    );
    let dropped = streams[2].check.as_ref().expect("checked");
    assert_eq!((dropped.same, dropped.expected_drops), (0, 50), "no route");
    assert!(streams[2].paths.is_empty());
    assert!(found.trials[0].is_perfect());
    assert_eq!(found.trials[0].drops, [("ingress_drop".to_string(), 50)]);
}

/// Frames without a route, some that leave by the other port, and some that come: alone in the device, each says why it
/// was lost.
#[test]
fn lost_frames_are_sent_once_more_each_alone() {
    let other = "[[traffic]]\nname = \"b\"\nfrom = 1\nto = 3\npps = 1000\nframe = { udp = { bytes = 60, destination = \"11.0.0.0\" } }\n\
                 [[traffic]]\nname = \"c\"\nfrom = 1\nto = 3\npps = 1000\nframe = { udp = { bytes = 60, destination = \"10.0.2.0\" } }\n";
    let found = simulate(&(l3fwd("ports = [2]", "to = 3\nflows = { count = 512 }") + other));
    let [elsewhere, dropped] = &found.trials[0].one_by_one[..] else {
        panic!("{:?}", found.trials[0].one_by_one)
    };
    let counts = |found: &OneByOne| (found.frames, found.tried, found.came_back);
    let reasons = |found: &OneByOne| {
        let reasons = found.dropped.iter();
        reasons.map(|own| (own.reason.clone(), own.frames)).collect::<Vec<_>>()
    };
    assert_eq!((elsewhere.stream.as_str(), counts(elsewhere)), ("a", (512, 128, 64)));
    assert_eq!(reasons(elsewhere), [("came out by another port".to_string(), 64)]);
    assert_eq!((dropped.stream.as_str(), counts(dropped)), ("b", (1, 1, 0)));
    assert_eq!(reasons(dropped), [("ingress_drop".to_string(), 1)]);
    assert!(dropped.dropped[0].frame.contains("0b000000"), "{dropped:?}");
    let text = report::text(&found);
    assert!(
        text.contains("a: 128 of its 512 different frames were sent once more, each alone; 64 came back"),
        "{text}"
    );
    assert!(text.contains("  ingress_drop: 1, the first is frame 0: "), "{text}");
    let twice = format!(
        "trials = 2\n{}",
        l3fwd("ports = [2]", "to = 3\nflows = { count = 512 }")
    );
    let numbers: Vec<u64> = simulate(&twice).trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers, [1, 2], "trials are counted, not what is sent between them");
    // What the reference drops is not lost, so nothing is sent again.
    let checked = simulate(&(l3fwd("check = true", "flows = { count = 512 }") + &other.replace("to = 3\n", "")));
    assert!(checked.trials[0].is_perfect() && checked.trials[0].one_by_one.is_empty());
}

/// A program may send a frame several times by one port, as a mirror does: its copies are due, and others are not.
#[test]
fn copies_by_one_port_are_due() {
    let text = "description = \"copies\"\nduration_s = 0.05\nsample_s = 0\n[device]\ncheck = true\n\
                program = \"tests/stf/traffic/multicast_overrides_port.p4\"\n\
                commands = \"\"\"\nmc_mgrp_create 5\nmc_node_create 1 2\nmc_node_create 2 2\n\
                mc_node_associate 5 0\nmc_node_associate 5 1\n\"\"\"\n\
                [[traffic]]\nname = \"a\"\nfrom = 1\npps = 20_000\n\
                frame = { udp = { bytes = 100 }, destination_mac = \"00:00:00:00:00:02\" }\n";
    let counts = |found: &forebay_tester::Results| {
        let path = &found.trials[0].streams[0].paths[0];
        (path.expected, path.received, path.lost, path.duplicated)
    };
    let whole = simulate(text);
    assert_eq!(counts(&whole), (2000, 2000, 0, 0));
    let stream = &whole.trials[0].streams[0];
    let ratio = stream.paths[0].received_gbps / stream.sent_gbps;
    assert!(whole.trials[0].is_perfect() && (ratio - 2.0).abs() < 1e-6, "{ratio}");
    let doubled = simulate(&format!("{text}[[impairment]]\nport = 2\nduplication = 1\n"));
    assert_eq!(counts(&doubled), (2000, 2000, 0, 2000));
    let cut = simulate(&format!("{text}[[impairment]]\nport = 2\nloss = 0.25\n"));
    let lost = cut.injected.as_ref().map_or(0, |injected| injected.lost);
    assert!(lost > 400, "{lost}");
    assert_eq!(counts(&cut), (2000, 2000 - lost, lost, 0));
    let at_end = cut.trials[0].streams[0].paths[0].lost_at_end;
    assert!(
        at_end < 10,
        "{at_end}: a frame of which one copy came is not lost at the end"
    );
}

/// With `check` the reference says where frames come out: a `to` that says something else would be ignored.
#[test]
fn a_stream_is_checked_where_the_file_expects_it() {
    let problem = |device: &str, to: &str, destination: &str| {
        let text = l3fwd(&format!("check = true\n{device}"), to).replace("10.0.2.0", destination);
        support::problems(&text)
    };
    // Port 3 is where the program sends; neither a port that the device does not have nor one that it has makes that
    // right.
    for device in ["", "ports = [3]"] {
        let said = problem(device, "to = 2", "10.0.2.0");
        let expected = "12: the reference executor sends to port 3, not to port 2, the frames of a; with check = true";
        assert!(said.contains(expected), "{device}: {said}");
    }
    let said = problem("", "to = 3", "11.0.0.0");
    assert!(
        said.contains("12: the reference executor drops all frames of a"),
        "{said}"
    );
    assert_eq!(problem("", "to = 3", "10.0.2.0"), "");
    let said = problem("ports = [4]", "", "10.0.2.0");
    assert!(
        said.contains("11: the reference executor sends all frames of a to port 3, which the test does not have"),
        "{said}"
    );
    // Flows of two ports, expected at one.
    let said = problem("", "to = 3\nflows = { count = 512 }", "10.0.2.0");
    assert!(said.contains("sends to ports 2, 3, not to port 3 alone"), "{said}");
}

/// What leaves by a port that the test leaves out is not dropped by the program.
#[test]
fn frames_of_ports_that_are_left_out_are_counted() {
    let found = simulate(&l3fwd("check = true\nports = [2]", "flows = { count = 512 }"));
    let stream = &found.trials[0].streams[0];
    let check = stream.check.as_ref().expect("checked");
    assert_eq!((check.same, check.expected_drops, check.unmeasured), (488, 0, 512));
    let ports: Vec<_> = stream.paths.iter().map(|path| path.port).collect();
    assert_eq!((ports, found.trials[0].lost()), (vec![Some(2)], 0));
    let text = forebay_tester::report::text(&found);
    assert!(
        text.contains("512 frames leave by ports that the test does not have"),
        "{text}"
    );
}

/// Programs with state give the same frame different fates; that cannot be compared so.
#[test]
fn programs_with_state_cannot_be_checked() {
    let text = l3fwd("check = true", "to = 3")
        .replace("l3fwd/l3fwd.p4", "iot_aggregate/iot_aggregate.p4")
        .replace("entries = [\"programs/l3fwd/entries.stf\"]", "");
    let test = read(&text);
    let error = Session::open(&test).err().expect("refused");
    assert!(error.contains("has registers"), "{error}");
    // The first frame of a flow has another outcome than the second, so the reference has no outcome for all of them.
    let text = l3fwd("check = true", "to = 3")
        .replace("programs/l3fwd/l3fwd.p4", "tests/stf/pna/add_on_miss.p4")
        .replace("entries = [\"programs/l3fwd/entries.stf\"]", "");
    let error = Session::open(&read(&text)).err().expect("refused");
    assert!(error.contains("has tables that learn"), "{error}");
    // Each frame has another time of arrival, so the reference has no content for all of them.
    let text = l3fwd("check = true", "to = 3")
        .replace(
            "programs/l3fwd/l3fwd.p4",
            "crates/testing/tester/tests/programs/arrival_time.p4",
        )
        .replace("entries = [\"programs/l3fwd/entries.stf\"]", "");
    let error = Session::open(&read(&text)).err().expect("refused");
    assert!(error.contains("or on the time"), "{error}");
}

#[test]
fn one_file_runs_on_the_chip_too() {
    let text = l3fwd("chip = \"v1model-ideal\"", "to = 3\nflows = { count = 250 }");
    let found = simulate(&text);
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!((path.received, path.lost), (1000, 0));
    let remarks = found.chip.as_ref().expect("a chip");
    assert_eq!((remarks.lifted.len(), remarks.unsourced.len()), (0, 0));
    assert_eq!(found, simulate(&text), "simulated time");
    assert!(found.self_test.is_none());
}

#[test]
fn entries_that_do_not_suit_the_program_are_an_error() {
    let text = l3fwd("commands = \"add nothing a:1 b()\"", "to = 3");
    let said = support::problems(&text);
    assert!(
        said.starts_with("7: commands, line 1: the entries do not suit"),
        "{said}"
    );
}

#[test]
fn a_trial_that_is_stopped_says_so() {
    struct Stop;
    impl forebay_tester::Progress for Stop {
        fn at(&mut self, _: f64, _: u64, _: u64) -> bool {
            false
        }
    }
    let test = read(&l3fwd("", "to = 3").replace("duration_s = 0.05", "duration_s = 100"));
    let mut session = Session::open(&test).expect("opens");
    let found = session.trial(test.plan(), &mut Stop).expect("runs");
    assert!(found.doubts.iter().any(|doubt| doubt.contains("stopped")));
    assert!(found.measured_s < 50.0);
    let _ = Silent;
}

/// Flows from installed entries: each entry is hit by as many frames as any other, and the share of misses is as asked.
#[test]
fn flows_of_the_entries_of_a_table() {
    let text = l3fwd("check = true", "flows = { entries = \"ipv4_lpm\", misses = 0.5 }");
    let found = simulate(&text);
    let stream = &found.trials[0].streams[0];
    let check = stream.check.as_ref().expect("checked");
    assert_eq!(
        (check.same, check.expected_drops, check.different),
        (500, 500, 0),
        "{check:?}"
    );
    let ports: Vec<_> = stream.paths.iter().map(|path| (path.port, path.received)).collect();
    assert_eq!(
        ports,
        [(Some(2), 250), (Some(3), 250)],
        "an entry leads to port 2, one to port 3"
    );
    let error = support::problems(&text.replace("ipv4_lpm", "ipv4_lmp"));
    assert!(error.contains("no table \"ipv4_lmp\""), "{error}");
}

/// The share of misses is one of frames, however few entries a table has.
#[test]
fn the_share_of_misses_is_what_the_file_says() {
    for (misses, order) in [
        (0.1, "round-robin"),
        (0.013, "round-robin"),
        (0.7, "random"),
        (0.25, "zipf"),
    ] {
        let flows = format!("flows = {{ entries = \"ipv4_lpm\", misses = {misses}, order = \"{order}\" }}");
        let found = simulate(&l3fwd("check = true", &flows));
        let stream = &found.trials[0].streams[0];
        let check = stream.check.as_ref().expect("checked");
        let expected = (misses * 1000.0f64).round() as u64;
        assert_eq!(
            (check.expected_drops, check.same),
            (expected, 1000 - expected),
            "{misses} {order}"
        );
    }
}

/// The same traffic on a wire.
fn wire(flows: &str) -> String {
    let [program, entries] = [
        "program = \"programs/l3fwd/l3fwd.p4\"\n",
        "entries = [\"programs/l3fwd/entries.stf\"]\n",
    ];
    l3fwd("wire = true\ncheck = true", flows)
        .replace(program, "")
        .replace(entries, "")
}

/// A wire gives back what is sent: that is compared, not what the program would send.
#[test]
fn a_wire_is_compared_with_what_was_sent() {
    for (to, port) in [("", 1), ("to = 3", 3)] {
        let found = simulate(&wire(&format!("{to}\nflows = {{ count = 10 }}")));
        let stream = &found.trials[0].streams[0];
        let check = stream.check.as_ref().expect("checked");
        assert_eq!((check.same, check.different, check.unexpected), (1000, 0, 0), "{to}");
        assert_eq!((stream.paths[0].port, stream.paths[0].lost), (Some(port), 0));
        assert!(found.trials[0].is_perfect());
    }
    let two = "to = 3\n".to_string() + "flows = { count = 10 }";
    let other = "[[traffic]]\nname = \"b\"\nfrom = 1\nto = 2\npps = 1\nframe = { udp = { bytes = 60 } }\n";
    let said = support::problems(&(wire(&two) + other));
    assert!(
        said.contains("17: a wire leads from port 1 to one port, here 3"),
        "{said}"
    );
}

/// The intended rate is the mean over the trial, not over the shape, whose last factor has no end.
#[test]
fn intended_rates_are_those_of_the_trial() {
    for (shape, pps) in [
        ("{ ramp = [[0, 0.0], [0.05, 1.0]] }", 10_000.0),
        ("{ steps = [[0, 1.0], [0.025, 3.0]] }", 40_000.0),
        ("{ on_s = 0.002, off_s = 0.008 }", 4_000.0),
    ] {
        let found = simulate(&l3fwd("", &format!("to = 3\nshape = {shape}")));
        let stream = &found.trials[0].streams[0];
        let intended = stream.intended_pps.expect("a rate");
        assert!((intended / pps - 1.0).abs() < 1e-6, "{shape}: {intended}");
        assert!(
            (stream.sent_pps / pps - 1.0).abs() < 6e-3,
            "{shape}: {}",
            stream.sent_pps
        );
    }
}

/// Messages that a switch has put together, N into a packet, count one by one. The first of eight waits for seven more.
#[test]
fn messages_in_n_packets_are_taken_apart() {
    let text = "description = \"aggregation\"\nduration_s = 0.05\nsample_s = 0\n[device]\nprogram = \"programs/iot_aggregate/iot_aggregate.p4\"\n\
                entries = [\"programs/iot_aggregate/entries.stf\"]\nengine = \"interp\"\n\
                [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\npps = 16_000\nframe = { message = { payload_bytes = 16, devices = 1 } }\n";
    let found = simulate(text);
    let (trial, path) = (&found.trials[0], &found.trials[0].streams[0].paths[0]);
    assert_eq!(
        (trial.foreign, path.received, path.lost),
        (0, 800, 0),
        "{:?}",
        trial.drops
    );
    assert_eq!(path.latency.max_ns / 1000, 437, "seven gaps of 62.5 µs");
    assert!(path.latency.min_ns < 1000);
}

/// Frames from the parser graph: every path through the parser is taken, and each frame does what the reference
/// executor says.
#[test]
fn frames_for_each_way_through_the_parser() {
    let text = l3fwd("check = true", "").replace(
        "udp = { bytes = 60, destination = \"10.0.2.0\" }",
        "parser = { bytes = 200, variants = 20 }",
    );
    let test = read(&text);
    let frames = test.streams[0].frames.templates();
    let is_ipv4 = |frame: &&Vec<u8>| frame[12..14] == [8, 0];
    assert!(
        frames.iter().filter(is_ipv4).count() >= 20 && frames.iter().any(|frame| !is_ipv4(&frame)),
        "{}",
        frames.len()
    );
    let found = simulate(&text);
    let check = found.trials[0].streams[0].check.as_ref().expect("checked");
    assert_eq!(
        (check.different, check.unexpected, check.same + check.expected_drops),
        (0, 0, 1000)
    );
}

/// Datagrams from the parser graph have right checksums with the tag that each frame gets: the program drops others.
#[test]
fn frames_of_a_parser_have_right_checksums_with_their_tags() {
    let text = "description = \"checksums\"\nduration_s = 0.01\nsample_s = 0\n[device]\n\
                program = \"crates/testing/tester/tests/programs/udp_checksum.p4\"\n\
                [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\npps = 20_000\nframe = { parser = { bytes = 100, variants = 20 } }\n";
    let found = simulate(text);
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!((path.received, path.lost), (200, 0), "{:?}", found.trials[0].drops);
}

/// Loops of a parser end where its stacks are full: two stacks with three elements each are filled in 69 orders.
#[test]
fn frames_for_each_way_through_a_parser_with_loops() {
    let program = Repository.program("tests/stf/stacks/next_across_states.p4", &[]);
    let pipeline = Arc::new(Pipeline::load(program.expect("it compiles")).expect("it loads"));
    let frames = parser_paths::frames(&pipeline, 1, 60, 1, 7).expect("frames");
    assert_eq!(frames.len(), 69);
}

/// Parsers of PSA and PNA have names of their own.
#[test]
fn frames_for_each_way_through_the_parser_of_every_architecture() {
    for path in [
        "tests/stf/psa/clones_with_headers.p4",
        "tests/stf/pna/mirror_with_headers.p4",
    ] {
        let program = Repository.program(path, &[]).expect("it compiles");
        let pipeline = Arc::new(Pipeline::load(program).expect("it loads"));
        let frames = parser_paths::frames(&pipeline, 1, 60, 1, 7).expect("frames");
        assert_eq!(frames.len(), 2, "{path}");
    }
}

/// Goes on while frames are sent.
struct UntilDrain;

impl Progress for UntilDrain {
    fn at(&mut self, share: f64, _sent: u64, _received: u64) -> bool {
        share < 1.0
    }
}

/// What the program drops never comes back: the drain would wait for ten minutes.
#[test]
fn a_test_can_be_stopped_while_it_drains() {
    let text = l3fwd("", "to = 3").replace("10.0.2.0", "11.0.0.1");
    let test = read(&text.replace("duration_s", "drain_s = 600\nduration_s"));
    let found = Session::open(&test).expect("opens").run(&mut UntilDrain).expect("runs");
    assert!(found.trials[0].was_stopped && found.trials[0].lost() > 0);
}
