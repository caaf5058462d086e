//! A device whose answer is known: a wire with delays, loss, duplication and reordering that are injected on purpose.

mod support;

use forebay_tester::impairment::Delay;
use support::{FAULTS, assert_counted_exactly, kolmogorov, run, simulate};

fn wire(more: &str, duration_s: f64, stream: &str) -> String {
    format!(
        "description = \"a wire\"\nseed = 7\nduration_s = {duration_s}\ndrain_s = 1.0\nsample_s = 0\n[device]\nwire = true\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\nframe = {{ udp = {{ bytes = 60 }} }}\n{stream}\n{more}"
    )
}

/// Known distributions of delay are measured as they are: the Kolmogorov-Smirnov distance is below its 0.1 % point,
/// 1.95. The bias in simulated time is none.
#[test]
fn delays_are_measured_as_they_were_injected() {
    let us = 1e3;
    for (text, delay) in [
        ("uniform_us = [5, 25]", Delay::Uniform(5.0 * us, 25.0 * us)),
        ("exponential_us = 20", Delay::Exponential(20.0 * us)),
    ] {
        let found = simulate(&wire(
            &format!("[[impairment]]\nport = 2\ndelay = {{ {text} }}"),
            0.5,
            "pps = 100_000",
        ));
        let path = &found.trials[0].streams[0].paths[0];
        assert_eq!((path.received, path.lost), (50_000, 0));
        let distance = kolmogorov(&path.latency, delay);
        assert!(distance < 1.95, "{text}: {distance}");
        let wrong = kolmogorov(&path.latency, Delay::Exponential(10.0 * us));
        assert!(wrong > 10.0, "another distribution is told apart: {wrong}");
    }
}

#[test]
fn a_constant_delay_is_exact() {
    let found = simulate(&wire(
        "[[impairment]]\nport = 2\ndelay = { constant_us = 50 }",
        0.1,
        "pps = 100_000",
    ));
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!((path.latency.min_ns, path.latency.max_ns), (50_000, 50_000));
    assert_eq!((path.delay_variation.max_ns, path.pdv_ns), (0, Some((0, 0, 0))));
    assert_eq!((path.inter_arrival.min_ns, path.inter_arrival.max_ns), (10_000, 10_000));
}

/// A wire leads where a stream says, also when another one by the same port does not say it.
#[test]
fn streams_without_a_receiver_share_the_wire_of_others() {
    let open = wire("", 0.01, "pps = 10_000").replace("to = 2\n", "");
    let other = "[[traffic]]\nname = \"b\"\nfrom = 1\nto = 2\nframe = { udp = { bytes = 60 } }\npps = 10_000\n";
    let found = simulate(&format!("{open}\n{other}"));
    for stream in &found.trials[0].streams {
        let path = &stream.paths[0];
        assert_eq!(
            (path.received, path.lost, stream.misdirected),
            (100, 0, 0),
            "{}",
            stream.name
        );
    }
}

/// What is held at the end of a trial is lost, and does not come in the next one.
#[test]
fn frames_that_are_held_are_of_their_own_trial() {
    let impairment = "[[impairment]]\nport = 2\nreordering = 0.5\nreordering_by = 5";
    let text = wire(impairment, 0.01, "pps = 100_000").replace("seed = 7", "seed = 7\ntrials = 5");
    let found = simulate(&text);
    let lost: Vec<u64> = found
        .trials
        .iter()
        .map(|trial| trial.streams[0].paths[0].lost)
        .collect();
    assert!(lost.len() == 5 && lost.iter().all(|lost| *lost > 0), "{lost:?}");
    assert_eq!(lost.iter().sum::<u64>(), found.injected.expect("impaired").lost);
    assert!(found.trials.iter().all(|trial| trial.foreign == 0));
}

fn injected(frames: u64, measure: impl Fn(&str) -> forebay_tester::Results) {
    let seconds = frames as f64 / 2e6;
    let found = measure(&wire(FAULTS, seconds, "pps = 2_000_000"));
    let stream = &found.trials[0].streams[0];
    assert_eq!(stream.sent + stream.unsent + stream.refused, frames);
    assert_eq!(found.trials[0].foreign, 0);
    assert_counted_exactly(&found);
}

#[test]
fn what_is_injected_is_counted_exactly() {
    injected(300_000, simulate);
}

/// `cargo test --release -p forebay-tester -- --ignored`: ten million frames, and the machine's clock.
#[test]
#[ignore = "10 million frames"]
fn what_is_injected_is_counted_exactly_over_ten_million_frames() {
    injected(10_000_000, simulate);
    injected(10_000_000, run);
}

#[test]
fn the_same_seed_gives_the_same_results() {
    let text = wire(
        "[[impairment]]\nport = 2\nloss = 0.01\ndelay = { exponential_us = 20 }",
        0.05,
        "mbps = 100\narrivals = \"poisson\"",
    );
    let first = simulate(&text);
    assert_eq!(first, simulate(&text));
    assert_ne!(first, simulate(&text.replace("seed = 7", "seed = 8")));
}

/// Frames that are in the air when the trial ends are no loss, and counters are read after them.
#[test]
fn frames_under_way_at_the_end_are_waited_for() {
    let found = simulate(&wire(
        "[[impairment]]\nport = 2\ndelay = { constant_us = 90_000 }",
        0.05,
        "pps = 10_000",
    ));
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!((path.received, path.lost), (500, 0));
}

/// A trial must not begin with a burst: the first frames are as far apart as the others.
#[test]
fn no_burst_at_the_beginning() {
    let found = simulate(&wire("", 0.01, "pps = 1_000_000"));
    let stream = &found.trials[0].streams[0];
    assert_eq!(
        (stream.lateness.max_ns, stream.paths[0].inter_arrival.min_ns),
        (0, 1000)
    );
}

/// A slow device that pushes back cannot hide its latency: frames that wait to be sent count from their intended time.
#[test]
fn waiting_before_sending_is_latency() {
    let text = wire("", 0.01, "pps = 1_000_000").replace("wire = true", "wire = true\nqueue_packets = 1");
    let found = simulate(&text.replace("seed = 7", "seed = 7\nburst = 32").replace(
        "pps = 1_000_000",
        "pps = 1_000_000\narrivals = { bursts = { frames = 16 } }",
    ));
    let stream = &found.trials[0].streams[0];
    assert_eq!(stream.paths[0].lost, 0);
    assert!(
        stream.lateness.max_ns >= 15,
        "one frame at a time: {}",
        stream.lateness.max_ns
    );
    assert_eq!(stream.lateness.max_ns, stream.paths[0].latency.max_ns);
    assert_eq!(stream.paths[0].device_latency.max_ns, 0);
}

/// Several streams into one port, each with numbers of its own: nothing is counted twice.
#[test]
fn several_streams_into_one_port() {
    let second = "[[traffic]]\nname = \"b\"\nfrom = 1\nto = 2\npps = 30_000\nframe = { tcp = { bytes = 300 } }\nflows = { count = 10 }";
    let found = simulate(&wire(second, 0.1, "pps = 10_000"));
    let received: Vec<u64> = found.trials[0]
        .streams
        .iter()
        .map(|stream| stream.paths[0].received)
        .collect();
    assert_eq!(received, [1_000, 3_000]);
}

/// Reordering between flows only is none within flows.
#[test]
fn flows_are_told_apart() {
    let text = wire(
        "[[impairment]]\nport = 2\nreordering = 0.01\nreordering_by = 3",
        0.1,
        "pps = 100_000\nflows = { count = 100 }",
    );
    let found = simulate(&text);
    let reordering = &found.trials[0].streams[0].paths[0].reordering;
    assert!(reordering.reordered > 50, "{reordering:?}");
    assert_eq!(reordering.reordered_in_flow, 0);
}

#[test]
fn frames_at_the_wrong_port_are_misdirected() {
    let text = wire("", 0.01, "pps = 10_000").replace("to = 2", "to = 1")
        + "[[traffic]]\nname = \"c\"\nfrom = 1\nto = 3\npps = 1000\nframe = { udp = { bytes = 60 } }";
    let found = simulate(&text);
    let stream = &found.trials[0].streams[1];
    assert_eq!((stream.misdirected, stream.paths[0].lost), (10, 10));
    assert!(!found.trials[0].is_perfect());
}

/// Poisson arrivals that are sent in bursts have the rate of the file: other generators sent more.
#[test]
fn poisson_arrivals_have_the_mean_rate() {
    for burst in [1, 32] {
        let text = wire("", 0.5, "pps = 200_000\narrivals = \"poisson\"")
            .replace("seed = 7", &format!("seed = 7\nburst = {burst}"));
        let found = simulate(&text);
        let stream = &found.trials[0].streams[0];
        let expected = stream.intended_pps.expect("a rate");
        assert!(
            (stream.sent_pps / expected - 1.0).abs() < 0.01,
            "{} of {expected}",
            stream.sent_pps
        );
        let distance = kolmogorov(&stream.paths[0].inter_arrival, Delay::Exponential(5_000.0));
        assert!(distance < 1.95, "{distance}");
    }
}

/// Latency does not need an Ethernet or IP header at the front of a frame.
#[test]
fn frames_of_any_protocol_are_measured() {
    let text = wire("", 0.01, "pps = 10_000").replace(
        "udp = { bytes = 60 }",
        "hex = { headers = \"ff 00 12\", bytes = [32, 100] }",
    );
    let found = simulate(&text);
    assert_eq!(found.trials[0].streams[0].paths[0].received, 100);
}

/// A port may send and receive a stream.
#[test]
fn the_same_port_for_both_directions() {
    let found = simulate(&wire("", 0.01, "pps = 10_000").replace("to = 2", "to = 1"));
    assert_eq!(found.trials[0].streams[0].paths[0].received, 100);
}

/// Rates are kept in the unit in which they are written, for frames of any length.
#[test]
fn rates_in_bits_and_in_frames() {
    let imix = |rate: &str| simulate(&wire("", 0.1, rate).replace("bytes = 60", "bytes = \"imix\""));
    let bits = &imix("gbps = 1").trials[0].streams[0];
    assert!((bits.sent_gbps - 1.0).abs() < 0.01, "{}", bits.sent_gbps);
    let frames = &imix("pps = 100_000").trials[0].streams[0];
    assert_eq!(frames.sent, 10_000);
    assert_eq!(
        frames.paths[0].inter_arrival.min_ns,
        frames.paths[0].inter_arrival.max_ns
    );
}

#[test]
fn on_and_off_keeps_the_rate_while_it_is_on() {
    let found = simulate(&wire("", 0.1, "pps = 100_000\nshape = { on_s = 0.002, off_s = 0.008 }"));
    let stream = &found.trials[0].streams[0];
    assert!((stream.sent as i64 - 2_000).abs() <= 10, "{}", stream.sent);
    let arrivals = &stream.paths[0].inter_arrival;
    assert!((9_990..=10_001).contains(&arrivals.min_ns), "{}", arrivals.min_ns);
    assert!(arrivals.max_ns >= 8_000_000);
}

/// Messages of the published experiment have no room for a tag; they are followed by their own numbers.
#[test]
fn iot_messages_are_followed() {
    let text = wire(
        "[[impairment]]\nport = 2\nloss = 0.1\ndelay = { constant_us = 7 }",
        0.1,
        "pps = 10_000",
    );
    let found = simulate(&text.replace("udp = { bytes = 60 }", "message = { payload_bytes = 16, devices = 3 }"));
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!(path.lost, found.injected.expect("impaired").lost);
    assert_eq!(
        (path.latency.min_ns, path.latency.max_ns, found.trials[0].foreign),
        (7_000, 7_000, 0)
    );
}

/// Each stream has devices of its own.
#[test]
fn messages_of_several_streams_are_told_apart() {
    for bytes in [16, 20] {
        let second = format!(
            "[[traffic]]\nname = \"b\"\nfrom = 2\nto = 1\npps = 5_000\nframe = {{ message = {{ payload_bytes = {bytes}, devices = 3 }} }}"
        );
        let text = wire(&second, 0.1, "pps = 10_000");
        let found = simulate(&text.replace("udp = { bytes = 60 }", "message = { payload_bytes = 16, devices = 3 }"));
        let trial = &found.trials[0];
        let of = |at: usize| (trial.streams[at].paths[0].received, trial.streams[at].misdirected);
        assert_eq!(
            (of(0), of(1), trial.lost(), trial.foreign),
            ((1_000, 0), (500, 0), 0, 0)
        );
    }
}

/// The same on the machine's clock: 0.1 % of the frames may be that late.
/// `cargo test --release -p forebay-tester -- --ignored`, on a machine that does nothing else; the bias is what the
/// self test says. `benches/tester_known_answers.py` records it, for several distributions.
#[test]
#[ignore = "a quiet machine"]
fn delays_are_measured_on_the_machines_clock() {
    let found = run(&wire(
        "[[impairment]]\nport = 2\ndelay = { exponential_us = 500 }",
        4.0,
        "pps = 2_500",
    ));
    let path = &found.trials[0].streams[0].paths[0];
    let distance = kolmogorov(&path.latency_all, Delay::Exponential(500_000.0));
    let own = found.self_test.expect("a self test");
    println!(
        "distance {distance:.2}, floor {} ns, bias {} ns",
        own.floor_ns, own.bias_ns
    );
    assert!(distance < 1.95, "{distance}, {:?}", found.trials[0].doubts);
}
