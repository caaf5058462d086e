//! Programs on a chip of the timed model: what its ports carry, which programs it takes, and what belongs to one of its
//! pipelines.

mod support;

use forebay_tester::search::LimitedBy;
use forebay_tester::{Overrides, Session, Silent, Test, report};
use support::{Repository, problems, read, simulate};

fn on_chip(device: &str, traffic: &str) -> String {
    format!(
        "description = \"on a chip\"\nduration_s = 0.0001\nsample_s = 0\n[device]\nchip = \"tofino\"\n{device}\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\nto = 3\nframe = {{ udp = {{ bytes = 60 }} }}\n{traffic}\n"
    )
}

fn portfwd(traffic: &str) -> String {
    let device = "program = \"programs/portfwd/portfwd.p4\"\ncommands = \"add ports ingress_port:1 forward(port:3)\"";
    on_chip(device, traffic)
}

#[test]
fn a_port_carries_line_rate_and_no_more() {
    let found = simulate(&portfwd("pps = \"max\""));
    let stream = &found.trials[0].streams[0];
    // Tofino takes at most one packet in a cycle of each pipeline, so when frames of 60 bytes arrive at line rate, some
    // are lost in the chip.
    assert!((99.0..100.05).contains(&stream.sent_gbps), "{}", stream.sent_gbps);
    let found = simulate(&portfwd("gbps = 100").replace("bytes = 60", "bytes = 1514"));
    let stream = &found.trials[0].streams[0];
    assert_eq!((stream.unsent, stream.refused, stream.paths[0].lost), (0, 0, 0));
    assert!((99.0..100.05).contains(&stream.sent_gbps), "{}", stream.sent_gbps);
}

#[test]
fn rates_above_line_rate_are_refused_before_anything_is_sent() {
    let test = read(&portfwd("gbps = 200"));
    let problem = test.rates_fit().expect_err("too fast");
    assert_eq!(problem.line, Some(9));
    let said =
        "the streams from port 1 ask for 200.0000 Gbps on the wire; it carries 100 Gbps, which are 148.8095 million";
    assert!(problem.message.starts_with(said), "{problem}");
    let error = Session::open(&test)
        .expect("opens")
        .run(&mut Silent)
        .expect_err("refused");
    assert_eq!(error, problem.message);
    let twice = "gbps = 60\n[[traffic]]\nname = \"b\"\nfrom = 1\nto = 3\nframe = { udp = { bytes = 60 } }\ngbps = 50";
    let problem = read(&portfwd(twice)).rates_fit().expect_err("too fast");
    assert_eq!(problem.line, Some(15), "{problem}");
    let peak = "gbps = 60\nshape = { steps = [[0, 1.0], [0.00005, 2.0]] }";
    assert!(read(&portfwd(peak)).rates_fit().is_err());
    assert!(read(&portfwd("gbps = 100")).rates_fit().is_ok());
}

/// Frames that leave by a port of the chip where the test has none are lost with a reason, as those of a program in
/// memory are; the trial ends when nothing is inside any more.
#[test]
fn frames_for_ports_without_a_tester_are_lost_with_a_reason() {
    let found = simulate(&portfwd("pps = 1_000_000").replace("forward(port:3)", "forward(port:4)"));
    let trial = &found.trials[0];
    assert_eq!(trial.streams[0].paths[0].lost, 100);
    assert_eq!(trial.drops, [("no_such_port".to_string(), 100)]);
}

/// What happens inside the chip during the first trial stands in the timeline, with the line of a drop; measured is the
/// same.
#[test]
fn the_timeline_has_what_happens_inside_the_chip() {
    let text = portfwd("pps = 1_000_000").replace("duration_s", "trials = 2\nduration_s");
    for (text, expected) in [
        (text.clone(), "\"port 3: wire\""),
        (
            text.replace("ingress_port:1", "ingress_port:9"),
            "ingress_drop portfwd.p4:",
        ),
    ] {
        let test = read(&text);
        let mut session = Session::open(&test).expect("opens");
        session.record();
        let recorded = session.run(&mut Silent).expect("runs");
        let inside = session.take_recording().expect("a chip");
        let timeline = report::timeline(&recorded, Some(&inside));
        assert!(
            timeline.contains("\"port 1: parser\"") && timeline.contains(expected),
            "{timeline}"
        );
        let parsed = timeline.matches("\"name\":\"packet 0\"").count();
        assert!(
            parsed >= 2,
            "the first packet is in the parser and in ingress: {parsed}"
        );
        assert!(
            !timeline.contains("\"name\":\"packet 64\""),
            "the second trial is not there"
        );
        let compiled = Session::open(&test).expect("opens").run(&mut Silent).expect("runs");
        assert_eq!(
            serde_json::to_value(&recorded).expect("JSON"),
            serde_json::to_value(&compiled).expect("JSON")
        );
    }
}

/// A burst goes on the wire frame by frame; what is asked for later than the wire takes it is late, not lost.
#[test]
fn a_burst_takes_its_time_on_the_wire() {
    let text = portfwd("pps = 1_000_000\narrivals = { bursts = { frames = 50 } }").replace("bytes = 60", "bytes = 256");
    let found = simulate(&text);
    let stream = &found.trials[0].streams[0];
    assert_eq!((stream.sent, stream.paths[0].lost), (100, 0));
    let frame_ns = 8 * 280 / 100;
    let wait = stream.lateness.max_ns;
    assert!((40 * frame_ns..50 * frame_ns).contains(&wait), "{wait}");
}

#[test]
fn searches_end_at_line_rate_and_say_so() {
    let search = "gbps = 200\n[search]\nmax_pps = 500_000_000\ngoals = [\"ndr\"]\nduration_scale = 0.00005";
    let text = portfwd(search).replace("bytes = 60", "bytes = 1514");
    let found = Session::open(&read(&text))
        .expect("opens")
        .search(&mut Silent)
        .expect("searches");
    let search = &found.searches[0];
    let line = 100e9 / (8.0 * 1538.0);
    let lower = search.lower_bound_pps.expect("found");
    assert!((lower / line - 1.0).abs() < 1e-9, "{lower} {line}");
    assert_eq!(search.limited_by, LimitedBy::LineRate);
    assert!(report::text(&found).contains("line rate was reached"));
    assert!(search.trials.iter().all(|trial| trial.pps <= line * (1.0 + 1e-9)));
}

/// Tests of RFC 2544 offer no more than line rate either.
#[test]
fn rfc2544_ends_at_line_rate() {
    let search = "gbps = 300\n[search]\nframe_bytes = [1514]\nduration_scale = 0.000002";
    let found = Session::open(&read(&portfwd(search)))
        .expect("opens")
        .rfc2544(&mut Silent)
        .expect("tests");
    let size = &found.rfc2544[0];
    let line = 100e9 / (8.0 * 1538.0);
    assert_eq!(size.limited_by, LimitedBy::LineRate);
    assert!((size.throughput_pps.expect("found") / line - 1.0).abs() < 1e-6);
    assert!((size.loss[0].0 / line - 1.0).abs() < 1e-9);
}

/// Two streams of 80 Gbps into a port of 100 Gbps.
fn overload(seconds: f64, more: &str) -> String {
    let device = "program = \"programs/portfwd/portfwd.p4\"\ncommands = \"\"\"\nadd ports ingress_port:1 forward(port:3)\nadd ports ingress_port:2 forward(port:3)\n\"\"\"";
    let other =
        "gbps = 80\n[[traffic]]\nname = \"b\"\nfrom = 2\nto = 3\nframe = { udp = { bytes = 256 } }\ngbps = 80\n";
    on_chip(device, &format!("{other}{more}"))
        .replace("bytes = 60", "bytes = 256")
        .replace("duration_s = 0.0001", &format!("duration_s = {seconds}"))
}

/// No two cables have a common clock: which of two streams at equal distances loses more in a full queue hangs on their
/// phases.
#[test]
fn streams_at_equal_distances_are_not_in_step() {
    let share = |seed: u64| {
        let text = overload(0.0005, "").replace("[device]", &format!("seed = {seed}\n[device]\nqueue_bytes = 20_000"));
        let found = simulate(&text);
        let [first, second] = [0, 1].map(|stream| found.trials[0].streams[stream].paths[0].lost as f64);
        first / (first + second)
    };
    let shares: Vec<f64> = (0..16).map(share).collect();
    let is_any = |range: std::ops::RangeInclusive<f64>| shares.iter().any(|share| range.contains(share));
    assert!(is_any(0.0..=0.4) && is_any(0.6..=1.0), "{shares:?}");
}

/// In a short trial the buffer holds the excess: nothing is lost, and a doubt says why.
#[test]
fn trials_that_are_too_short_for_the_buffer_are_doubted() {
    let found = simulate(&overload(0.0001, ""));
    let trial = &found.trials[0];
    assert_eq!(trial.lost(), 0);
    let backlog = trial.backlog.expect("it grows");
    assert!(
        backlog.at_end > backlog.halfway && backlog.at_end > backlog.sent / 4,
        "{backlog:?}"
    );
    assert!(
        trial
            .doubts
            .iter()
            .any(|doubt| doubt.starts_with("the chip's buffer fills: ")),
        "{:?}",
        trial.doubts
    );
    assert!(
        simulate(&overload(0.0001, "").replace("gbps = 80", "gbps = 40")).trials[0]
            .doubts
            .is_empty()
    );

    let search = "[search]\ngoals = [\"ndr\"]\nduration_scale = 0.0001\n";
    let test = read(&overload(0.0001, search));
    let found = Session::open(&test)
        .expect("opens")
        .search(&mut Silent)
        .expect("searches");
    assert!(found.searches[0].backlog().is_some(), "{:?}", found.searches[0].trials);
    let text = report::text(&found);
    assert!(text.contains("doubt: at this load the chip's buffer fills: "), "{text}");
}

const L3FWD: &str = "program = \"programs/l3fwd/l3fwd.p4\"\nentries = [\"programs/l3fwd/entries.stf\"]";

#[test]
fn a_program_that_does_not_fit_is_refused_as_by_sim() {
    let rate = "pps = 1000";
    let said = problems(&on_chip(L3FWD, rate));
    assert!(said.starts_with("6: the program does not fit tofino"), "{said}");
    let said = problems(&on_chip(&format!("{L3FWD}\nignore_fit = true"), rate));
    assert!(said.contains("6: ignore_fit needs a reason"), "{said}");
    let said = problems(&on_chip(&format!("{L3FWD}\nmax_egress_bytes = 0"), rate));
    assert!(said.contains("the key max_egress_bytes_reason is missing"), "{said}");
}

#[test]
fn what_is_lifted_and_what_was_fitted_is_said() {
    let lifted = format!("{L3FWD}\nignore_fit = true\nignore_fit_reason = \"to see its latency\"");
    let overrides = Overrides {
        ignore_fit: Some("on the command line".to_string()),
        ..Overrides::default()
    };
    for (device, overrides, reason) in [
        (lifted.as_str(), Overrides::default(), "to see its latency"),
        (L3FWD, overrides, "on the command line"),
    ] {
        let test = Test::read(&on_chip(device, "pps = 1000"), &Repository, &overrides);
        let test = test.unwrap_or_else(|problems| panic!("{problems:?}"));
        let found = Session::open(&test).expect("opens").run(&mut Silent).expect("runs");
        let chip = found.chip.as_ref().expect("a chip");
        assert_eq!((chip.lifted.len(), chip.lifted[0].reason.as_str()), (1, reason));
        assert!(
            chip.fitted
                .iter()
                .any(|constant| constant.name == "latency.ingress_rest_ps"),
            "{:?}",
            chip.fitted
        );
        let text = report::text(&found);
        assert!(
            text.contains("rule lifted: the program fits tofino: it does not"),
            "{text}"
        );
        assert!(text.contains("constants fitted to published results: "), "{text}");
    }
}

/// Ports 1 and 17 of Tofino are those of two pipelines, which do not see the registers of one another.
#[test]
fn registers_belong_to_a_pipeline() {
    let device = |more: &str| format!("program = \"crates/testing/tester/tests/data/count.p4\"\n{more}");
    let traffic = |from: u32| {
        format!(
            "pps = 1_000_000\n[[traffic]]\nname = \"b\"\nfrom = {from}\nto = 3\npps = 1_000_000\nframe = {{ udp = {{ bytes = 60 }} }}"
        )
    };
    let lost = |text: &str| -> Vec<u64> {
        let found = simulate(text);
        let streams = found.trials[0].streams.iter();
        streams.map(|stream| stream.paths[0].lost).collect()
    };
    assert_eq!(
        lost(&on_chip(&device(""), &traffic(17))),
        [50, 50],
        "every second frame of each"
    );
    assert_eq!(
        lost(&on_chip(&device(""), &traffic(2))),
        [100, 0],
        "the first of each pair"
    );
    let shared = "shared_registers = true\nshared_registers_reason = \"to compare\"";
    assert_eq!(lost(&on_chip(&device(shared), &traffic(17))), [100, 0]);
}

#[test]
fn ports_that_a_chip_does_not_have_have_a_line() {
    let said = problems(&portfwd("pps = 1000").replace("to = 3", "to = 100"));
    assert!(
        said.contains("11: tofino has no port 100; its ports are 0 to 63"),
        "{said}"
    );
}

/// A program may send to a port that the chip does not have; that is a loss with a name.
#[test]
fn frames_to_ports_that_a_chip_does_not_have_are_lost_in_it() {
    let text = portfwd("pps = 1_000_000")
        .replace("forward(port:3)", "forward(port:200)")
        .replace("to = 3\n", "");
    let found = simulate(&text);
    let trial = &found.trials[0];
    assert_eq!((trial.lost(), trial.drops.len()), (100, 1), "{:?}", trial.drops);
}

#[test]
fn a_bridge_is_not_taught_faster_than_line_rate() {
    let text = portfwd("pps = 1000")
        + "[rfc2889]\nlearning_port = 1\ntest_port = 2\nmonitoring_port = 3\naddresses_max = 10\nlearning_pps = 1000\npps_max = 200_000_000\n";
    let said = problems(&text);
    assert!(
        said.contains("pps_max is 200000000; a port of the chip carries 148809524 of these frames a second"),
        "{said}"
    );
}
