//! Searches and RFC 2544 against devices whose limits are known.

mod support;

use forebay_tester::report;
use forebay_tester::search::LimitedBy;
use forebay_tester::{Progress, Session, Silent};
use support::{read, simulate};

/// A chip in simulated time forwards at the rate of its ports. Two streams of 60 % each into one port are too much.
fn two_into_one(search: &str) -> String {
    let stream = |name, from| {
        format!(
            "[[traffic]]\nname = \"{name}\"\nfrom = {from}\nto = 3\ngbps = 100\nframe = {{ udp = {{ bytes = 1276, destination = \"10.0.2.1\" }} }}\n"
        )
    };
    format!(
        "description = \"two into one\"\nduration_s = 0.0002\nsample_s = 0\ndrain_s = 0.01\n[device]\nprogram = \"programs/portfwd/portfwd.p4\"\n\
         commands = \"\"\"\nadd ports ingress_port:1 forward(port:3)\nadd ports ingress_port:2 forward(port:3)\n\"\"\"\n\
         chip = \"tofino\"\nqueue_bytes = 20_000\n{}{}[search]\n{search}\n",
        stream("a", 1),
        stream("b", 2)
    )
}

#[test]
fn ndr_of_two_ports_into_one_is_the_rate_of_the_one() {
    let goal = "goals = [{ name = \"ndr\", initial_trial_s = 0.00005, final_trial_s = 0.0002, duration_sum_s = 0.0002, width = 0.01 }]";
    let test = read(&two_into_one(goal));
    let found = Session::open(&test)
        .expect("opens")
        .search(&mut Silent)
        .expect("searches");
    let search = &found.searches[0];
    let line = 100e9 / (8.0 * 1300.0);
    let (lower, upper) = (
        search.lower_bound_pps.expect("found"),
        search.upper_bound_pps.expect("found"),
    );
    assert!(
        lower <= line * 1.02 && line * 0.98 <= upper,
        "{lower} {upper}, the line takes {line}"
    );
    assert_eq!(search.limited_by, LimitedBy::Device);
    assert!(report::text(&found).contains("limited by the device"));
}

#[test]
fn rfc2544_on_a_chip() {
    let text = two_into_one("frame_bytes = [252]\nduration_scale = 0.000005");
    let test = read(&text);
    let found = Session::open(&test)
        .expect("opens")
        .rfc2544(&mut Silent)
        .expect("tests");
    let size = &found.rfc2544[0];
    let line = 100e9 / (8.0 * 276.0);
    let throughput = size.throughput_pps.expect("found");
    assert!((0.9..1.05).contains(&(throughput / line)), "{throughput}");
    assert_eq!(size.latency.len(), 4);
    assert!(size.latency[0].typical_ns > Some(100) && size.latency[0].worst_case_ns >= size.latency[0].typical_ns);
    let (highest, loss) = size.loss[0];
    assert!(
        (highest / line - 2.0).abs() < 0.01 && (loss - 0.5).abs() < 0.2,
        "{highest} {loss}"
    );
    assert_eq!(size.loss.last().expect("some").1, 0.0);
    assert!(size.back_to_back.mean_frames > 1.0);
    // The queue has room as soon as less comes in than goes out: the last frame lost was due at most a queue's length
    // before the relief.
    let recovery = size.recovery.as_ref().expect("the search goes above the line");
    assert!((recovery.overload_pps / throughput - 1.1).abs() < 1e-9);
    let said = (recovery.each_ns.len(), recovery.not_recovered, recovery.without_loss);
    assert_eq!(said, (1, 0, 0), "{recovery:?}");
    assert!(recovery.each_ns[0] < 1_000, "{recovery:?}");
    assert!(report::text(&found).contains("recovery after"));
    assert!(report::text(&found).contains("252"));
    assert!(report::html(&found).contains("<svg"));
}

/// With `check`, each port has the numbers of its own frames; those of others are not lost.
#[test]
fn the_recovery_of_a_stream_that_comes_out_by_several_ports_is_not_known() {
    let stream = |name, from, more| {
        format!(
            "[[traffic]]\nname = \"{name}\"\nfrom = {from}\ngbps = 90\nframe = {{ udp = {{ bytes = 1276, destination = \"10.0.2.1\" }} }}\n{more}\n"
        )
    };
    let test = read(&format!(
        "description = \"two routes\"\nduration_s = 0.0002\nsample_s = 0\ndrain_s = 0.01\n[device]\nprogram = \"programs/l3fwd/l3fwd.p4\"\n\
         entries = [\"programs/l3fwd/entries.stf\"]\ncheck = true\nchip = \"tofino\"\nqueue_bytes = 20_000\nignore_fit = true\n\
         ignore_fit_reason = \"a test of the tester\"\n{}{}[search]\nframe_bytes = [252]\nduration_scale = 0.000005\n",
        stream("both", 1, "flows = { entries = \"ipv4_lpm\" }"),
        stream("one", 2, "")
    ));
    let found = Session::open(&test)
        .expect("opens")
        .rfc2544(&mut Silent)
        .expect("tests");
    let recovery = found.rfc2544[0].recovery.as_ref().expect("two ports into one");
    assert_eq!(
        (recovery.mean_ns, recovery.unknown, recovery.not_recovered),
        (None, 1, 0)
    );
    assert!(report::text(&found).contains("1 times not known"));
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

#[test]
fn a_search_that_is_stopped_has_what_was_known() {
    let goal = "goals = [{ name = \"ndr\", initial_trial_s = 0.001, final_trial_s = 0.001, duration_sum_s = 0.001, width = 0.01 }]";
    let test = read(&two_into_one(goal));
    let run = |last| {
        let mut progress = StopsAt { calls: 0, last };
        let found = Session::open(&test).expect("opens").search(&mut progress);
        (found, progress.calls)
    };
    let (whole, calls) = run(u32::MAX);
    let whole = whole.expect("a search");
    assert!(whole.searches[0].is_complete && whole.ended_by.is_none());
    let found = run(calls - 1).0.expect("a search");
    let (search, tried) = (&found.searches[0], whole.searches[0].trials.len());
    assert!(
        !search.is_complete && (1..tried).contains(&search.trials.len()),
        "{search:?}"
    );
    assert_eq!(search.trials[..], whole.searches[0].trials[..search.trials.len()]);
    assert!(report::text(&found).contains("ended early: the search was stopped"));
    assert_eq!(run(1).0.map(|_| ()), Err("the search was stopped".to_string()));
}

/// The first size may have taken hours: it is not lost when the test is stopped at the second one.
#[test]
fn an_rfc2544_test_that_is_stopped_has_the_sizes_that_were_measured() {
    let run = |sizes: &str, last| {
        let test = read(&two_into_one(&format!(
            "frame_bytes = {sizes}\nduration_scale = 0.000005"
        )));
        let mut progress = StopsAt { calls: 0, last };
        let found = Session::open(&test).expect("opens").rfc2544(&mut progress);
        (found.expect("results"), progress.calls)
    };
    let (one, calls) = run("[252]", u32::MAX);
    assert_eq!(one.ended_by, None);
    let (found, _) = run("[252, 508, 1020]", calls + 1);
    assert_eq!(found.rfc2544, one.rfc2544);
    let why = found.ended_by.clone().expect("a reason");
    assert!(
        why.ends_with("was stopped; frames of 508, 1020 bytes were not measured"),
        "{why}"
    );
    assert!(report::text(&found).contains(&format!("ended early: {why}")));
    assert!(report::html(&found).contains(&format!("<b>Ended early:</b> {why}")));
}

/// Wherever it is stopped: what was measured by then may have taken hours. What the rest of a trial would have lost is not
/// known.
#[test]
fn an_rfc2544_test_that_is_stopped_has_what_was_known_of_its_size() {
    let test = read(&two_into_one("frame_bytes = [252]\nduration_scale = 0.000005"));
    let run = |last| {
        let mut progress = StopsAt { calls: 0, last };
        let found = Session::open(&test).expect("opens").rfc2544(&mut progress);
        (found, progress.calls)
    };
    let (whole, calls) = run(u32::MAX);
    let whole = &whole.expect("a test").rfc2544[0];
    assert!(whole.recovery.is_some() && whole.ended_by.is_none());
    let error = run(1).0.expect_err("nothing is known yet");
    assert!(error.contains("was stopped"), "{error}");
    let mut parts = Vec::new();
    for last in (1..=40).map(|part| calls * part / 40) {
        let Ok(found) = run(last).0 else { continue };
        let why = found.ended_by.clone().expect("a reason");
        assert!(
            why.ends_with("was stopped; frames of 252 bytes were measured in part"),
            "{why}"
        );
        let size = &found.rfc2544[0];
        assert!(size.ended_by.is_some() && size.recovery.is_none(), "{size:?}");
        let (latency, loss, tried) = (size.latency.len(), size.loss.len(), size.search.trials.len());
        assert_eq!(size.latency[..], whole.latency[..latency]);
        assert_eq!(size.loss[..], whole.loss[..loss]);
        assert_eq!(size.search.trials[..], whole.search.trials[..tried]);
        let text = report::text(&found);
        assert!(
            text.contains("; ended early: the ") && text.contains(" was stopped\n"),
            "{text}"
        );
        let json = serde_json::to_string(&found).expect("JSON");
        let back: forebay_tester::Results = serde_json::from_str(&json).expect("the same form");
        assert_eq!(back.rfc2544[0].ended_by, size.ended_by);
        parts.push((tried, latency, loss, size.back_to_back.frames.len()));
    }
    assert!(parts.is_sorted(), "{parts:?}");
    assert!(parts.iter().any(|part| part.1 == 0), "in the search: {parts:?}");
    let all = (
        whole.search.trials.len(),
        whole.latency.len(),
        whole.loss.len(),
        whole.back_to_back.frames.len(),
    );
    assert_eq!(parts.last(), Some(&all), "recovery alone is not there");
}

/// Trials of a search see a part of a shape: the load is that of this part. All frames are lost, and so counted.
#[test]
fn loads_of_a_shape_are_those_of_the_trial() {
    let text = "description = \"a hole\"\nduration_s = 0.01\n[device]\nwire = true\n[[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\n\
                pps = 10_000\nshape = { on_s = 0.1, off_s = 0.4 }\nframe = { udp = { bytes = 60 } }\n[[impairment]]\nport = 2\nloss = 1.0\n\
                [search]\ngoals = [\"ndr\"]\nduration_scale = 0.05\nmin_pps = 1_000\n";
    let test = read(text);
    let session = Session::open(&test).expect("opens");
    let found = session.in_simulated_time().search(&mut Silent).expect("a search");
    let trials = &found.searches[0].trials;
    let offered: f64 = trials.iter().map(|trial| trial.pps * trial.seconds).sum();
    let sent = found.injected.expect("impaired").lost as f64;
    assert!((sent - offered).abs() <= trials.len() as f64, "{sent} of {offered}");
}

/// A device that loses everything is not good at a load of which no frame is due in a trial.
#[test]
fn trials_without_frames_say_nothing() {
    let text = "description = \"a hole\"\nduration_s = 0.01\nwarm_up_s = 0.02\n[device]\nwire = true\n[[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\n\
                pps = 10_000\nframe = { udp = { bytes = 60 } }\n[[impairment]]\nport = 2\nloss = 1.0\n\
                [search]\ngoals = [\"ndr\"]\nduration_scale = 0.01\n";
    let test = read(text);
    let session = Session::open(&test).expect("opens");
    let error = session
        .in_simulated_time()
        .search(&mut Silent)
        .expect_err("nothing to be found");
    assert!(error.contains("no frame is due in a trial of 0.01 s"), "{error}");
    let longer = text.replace("[search]", "[search]\nmin_pps = 1_000");
    let test = read(&longer);
    let session = Session::open(&test).expect("opens");
    let found = session.in_simulated_time().search(&mut Silent).expect("a search");
    assert_eq!(
        (found.searches[0].lower_bound_pps, found.searches[0].limited_by),
        (None, LimitedBy::LeastLoad)
    );
    let text = report::text(&found);
    assert!(text.contains("\n  no frame came back in "), "{text}");
    // Tests of hours would measure nothing.
    let session = Session::open(&test).expect("opens");
    let error = session.in_simulated_time().rfc2544(&mut Silent).expect_err("no device");
    assert!(error.starts_with("frames of 60 bytes: no frame came back"), "{error}");
    assert!(error.contains("is the device connected"), "{error}");
}

/// A device may have a smaller MTU than the largest frames.
#[test]
fn a_size_of_which_no_frame_comes_back_does_not_end_the_tests_of_others() {
    let test = read(
        "description = \"short frames\"\nduration_s = 0.01\nwarm_up_s = 0.02\n\
         [device]\nprogram = \"crates/testing/tester/tests/programs/short_frames.p4\"\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\npps = 10_000\nframe = { udp = { bytes = 60 } }\n\
         [search]\nframe_bytes = [1000, 60]\nmin_pps = 1_000\nduration_scale = 0.01\n",
    );
    let session = Session::open(&test).expect("opens");
    let found = session.in_simulated_time().rfc2544(&mut Silent).expect("results");
    let [long, short] = &found.rfc2544[..] else {
        panic!("two sizes: {found:?}")
    };
    let why = long.ended_by.as_deref().expect("a reason");
    assert!(why.starts_with("no frame came back in "), "{why}");
    assert_eq!((long.throughput_pps, long.loss.len()), (None, 0));
    assert!(short.throughput_pps.is_some() && short.ended_by.is_none(), "{short:?}");
    assert_eq!(found.ended_by, None);
    let text = report::text(&found);
    assert!(text.contains("; ended early: no frame came back in "), "{text}");
}

#[test]
fn a_search_needs_rates() {
    let text = two_into_one("goals = [\"ndr\"]").replace("gbps = 100", "pps = \"max\"");
    let test = read(&text);
    let error = Session::open(&test)
        .expect("opens")
        .search(&mut Silent)
        .expect_err("no rates");
    assert!(error.contains("give each a rate"), "{error}");
}

#[test]
fn reports_and_comparison() {
    let text = |loss: f64| {
        format!(
            "description = \"a & b\"\nseed = 3\nduration_s = 0.05\ntrials = 3\nsample_s = 0.01\n[device]\nwire = true\n[[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\n\
             pps = 100_000\nframe = {{ udp = {{ bytes = 60 }} }}\n[[impairment]]\nport = 2\nloss = {loss}\ndelay = {{ exponential_us = 20 }}\n"
        )
    };
    let (before, after) = (simulate(&text(0.0)), simulate(&text(0.05)));
    let html = report::html(&after);
    assert!(
        html.contains("a &amp; b") && html.matches("<svg").count() >= 4 && !html.contains("http://")
            || html.contains("www.w3.org")
    );
    let json = serde_json::to_string(&after).expect("JSON");
    let back: forebay_tester::Results = serde_json::from_str(&json).expect("the same form");
    assert_eq!(
        back.trials[0].streams[0].paths[0].lost,
        after.trials[0].streams[0].paths[0].lost
    );
    let differences = report::compare::differences(&before, &after);
    let loss = differences
        .iter()
        .find(|found| found.quantity.name == "loss ratio")
        .expect("compared");
    assert!(loss.is_significant() && loss.between_trials, "{loss:?}");
    let interval = |found: &report::difference::Difference| found.interval.expect("three trials on both sides");
    let (low, high) = interval(loss);
    assert!(low < 0.05 && 0.05 < high, "{loss:?}");
    let latency = differences
        .iter()
        .find(|found| found.quantity.name == "latency 50 % (ns)")
        .expect("compared");
    assert!(interval(latency).0 < interval(latency).1);
    assert!(report::difference::table(&differences).contains("between trials"));
    let same = report::compare::differences(&before, &before);
    assert!(same.iter().all(|found| !found.is_significant()));
}
