//! What users of other testers have reported, each a test.
//!
//! | reported | test |
//! |---|---|
//! | TRex #1212: a burst at the beginning of a trial, counters read while traffic runs | `known_answers::no_burst_at_the_beginning`, `known_answers::frames_under_way_at_the_end_are_waited_for` |
//! | TRex #354: no exact minimum | `known_answers::a_constant_delay_is_exact` |
//! | TRex #201: latency only of IP frames; #731, #736: other frames taken for the tester's | `known_answers::frames_of_any_protocol_are_measured`, `frames_that_look_like_the_testers_are_foreign` |
//! | TRex #143: 1,000 frames a second leave every 10 ms | `a_thousand_frames_a_second_are_a_millisecond_apart` |
//! | TRex #530: latency costs rate | `latency_of_every_frame_is_measured_at_line_rate`; what it costs in processor time: `examples/rate.rs` |
//! | CSIT-1781: frames that were not sent counted as lost | `what_was_not_sent_is_not_lost` |
//! | CSIT-1855: NDR all over the place | `mlrsearch`, `searches::ndr_of_two_ports_into_one_is_the_rate_of_the_one` |
//! | P4TG #15: half the rate on three of six ports | `six_ports_have_their_full_rates` |
//! | P4TG #4: one port for both directions | `known_answers::the_same_port_for_both_directions` |
//! | P4TG: Poisson with batches above the rate; several streams into one port counted twice | `known_answers::poisson_arrivals_have_the_mean_rate`, `known_answers::several_streams_into_one_port` |
//! | P4TG: latencies outside of the histogram's range | `no_latency_is_outside_of_the_histogram` |
//! | P4TG: time series that degrade with the run's length | `a_time_series_covers_a_long_trial` |
//! | P4TG: percentiles that are wrong in special cases | `percentiles_of_special_cases_are_right` |
//! | P4TG: schemas of the API broken by three releases | `results_of_earlier_versions_are_read`, `every_field_of_the_results_is_described`; of the service `requests::the_description_lists_what_is_served` |
//! | TRex #1143: without hardware support there are no histograms | `every_device_has_the_histogram_of_all_frames` |
//! | TRex #712: nothing says what software adds to latency | `the_tester_says_what_it_adds` |
//! | TRex #971, #216: no example of RFC 2544 | `documentation::the_example_of_rfc_2544_runs` |
//! | MoonGen #91: latency under overload is that of a full queue | `latency_under_overload_is_doubted`, `chip::trials_that_are_too_short_for_the_buffer_are_doubted` |
//! | pktgen-dpdk #285: captures replayed wrongly | `a_capture_is_replayed_in_its_order` |

mod support;

use forebay_packet::pcap::{TimestampUnit, Writer};
use forebay_sim::Library;
use forebay_tester::search::LimitedBy;
use forebay_tester::{Overrides, Session, Silent, Test, report};
use support::{Repository, simulate};

fn wire(more: &str) -> String {
    format!("description = \"a wire\"\nseed = 3\nduration_s = 0.1\nsample_s = 0.01\n[device]\nwire = true\n{more}")
}

fn stream(number: u32, rest: &str) -> String {
    let (from, to) = (2 * number + 1, 2 * number + 2);
    format!("[[traffic]]\nname = \"s{number}\"\nfrom = {from}\nto = {to}\n{rest}\n")
}

const UDP: &str = "frame = { udp = { bytes = 60 } }";

#[test]
fn a_thousand_frames_a_second_are_a_millisecond_apart() {
    let found = simulate(&wire(&stream(0, &format!("pps = 1000\n{UDP}"))));
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!(
        (path.inter_arrival.min_ns, path.inter_arrival.max_ns),
        (1_000_000, 1_000_000)
    );
    assert_eq!(found.trials[0].streams[0].lateness.max_ns, 0);
}

#[test]
fn six_ports_have_their_full_rates() {
    let streams: String = (0..6)
        .map(|number| stream(number, &format!("pps = 50_000\n{UDP}")))
        .collect();
    let found = simulate(&wire(&streams));
    for stream in &found.trials[0].streams {
        assert_eq!(
            (stream.sent, stream.paths[0].received),
            (5_000, 5_000),
            "{}",
            stream.name
        );
        // The last sample may hold what comes at the end.
        assert!(
            stream.samples[..9].iter().all(|sample| *sample == (500, 500)),
            "{:?}",
            stream.samples
        );
    }
}

#[test]
fn what_was_not_sent_is_not_lost() {
    // More than any tester sends.
    let text = wire(&stream(0, &format!("pps = 200_000_000\n{UDP}"))).replace("duration_s = 0.1", "duration_s = 0.02");
    let found = support::run(&text);
    let stream = &found.trials[0].streams[0];
    assert!(stream.unsent + stream.refused > 0);
    assert_eq!(stream.paths[0].lost, 0);
    assert!(
        !found.trials[0].doubts.is_empty(),
        "a trial that did not send in time is doubted"
    );
}

#[test]
fn no_latency_is_outside_of_the_histogram() {
    let delay = "[[impairment]]\nport = 2\ndelay = { constant_us = 3_000_000 }\n";
    let text = wire(&format!("{}{delay}", stream(0, &format!("pps = 1000\n{UDP}"))));
    let found = simulate(&text.replace("sample_s = 0.01", "sample_s = 0.01\ndrain_s = 10"));
    let latency = &found.trials[0].streams[0].paths[0].latency;
    assert_eq!(
        (latency.count, latency.min_ns, latency.max_ns),
        (100, 3_000_000_000, 3_000_000_000)
    );
    assert_eq!(latency.histogram.iter().map(|(_, _, count)| count).sum::<u64>(), 100);
}

/// Frames of another trial, and frames whose end is a tag with a wrong sum or an impossible time, are no frames of this
/// trial.
#[test]
fn frames_that_look_like_the_testers_are_foreign() {
    use forebay_tester::tag::Tag;
    let tag = Tag {
        trial: 1,
        stream: 0,
        number: 7,
        intended_ns: 1_000,
        lateness_ns: 5,
    };
    let mut frame = vec![0; 60];
    tag.write(&mut frame);
    assert_eq!(Tag::find(&frame, |_| true).map(|(_, found)| found.number), Some(7));
    assert!(Tag::find(&frame, |tag| tag.trial == 2).is_none(), "another trial");
    assert!(
        Tag::find(&frame, |tag| tag.intended_ns + 5 < 1_000).is_none(),
        "a time that has not come"
    );
    let changed = (frame.len() - 18..frame.len()).filter(|at| {
        let mut other = frame.clone();
        other[*at] ^= 0x10;
        Tag::find(&other, |_| true).is_none()
    });
    assert_eq!(changed.count(), 18, "each changed byte of the tag is noticed");
}

/// A library with a capture file.
struct WithCapture(Vec<u8>);

impl Library for WithCapture {
    fn program(&self, path: &str, defines: &[String]) -> Result<forebay_ir::Program, String> {
        Repository.program(path, defines)
    }

    fn text(&self, path: &str) -> Result<String, String> {
        Repository.text(path)
    }

    fn bytes(&self, _path: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}

#[test]
fn a_capture_is_replayed_in_its_order() {
    let mut writer = Writer::new(Vec::new(), TimestampUnit::Nanoseconds).expect("memory");
    let frames: Vec<Vec<u8>> = (0..7u8)
        .map(|index| vec![index; 60 + 10 * usize::from(index)])
        .collect();
    for frame in &frames {
        writer.write(0, frame, frame.len()).expect("memory");
    }
    let library = WithCapture(std::mem::take(writer.output_mut()));
    let text = wire(&stream(0, "pps = 7000\nframe = { pcap = \"seven.pcap\" }"));
    let test = Test::read(&text, &library, &Overrides::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    let kept = test.streams[0].frames.templates();
    let heads = |frames: &[Vec<u8>]| {
        frames
            .iter()
            .map(|frame| frame[..frame.len() - 18].to_vec())
            .collect::<Vec<_>>()
    };
    assert_eq!(heads(kept), heads(&frames));
    let mut session = Session::open(&test).expect("a wire").in_simulated_time();
    let found = session.run(&mut Silent).expect("results");
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!((path.received, path.lost, path.reordering.reordered), (700, 0, 0));
}

/// Samples are farther apart in a long trial; none of it is left out.
#[test]
fn a_time_series_covers_a_long_trial() {
    let text = wire(&stream(0, &format!("pps = 1\n{UDP}"))).replace("duration_s = 0.1", "duration_s = 5000");
    let found = simulate(&text);
    let (trial, stream) = (&found.trials[0], &found.trials[0].streams[0]);
    assert!(
        trial.sample_s > 0.01 && stream.samples.len() <= 100_000,
        "{}",
        trial.sample_s
    );
    let sums = stream.samples.iter().fold((0u64, 0u64), |sums, (sent, received)| {
        (sums.0 + u64::from(*sent), sums.1 + u64::from(*received))
    });
    assert_eq!(sums, (5_000, 5_000));
    let last = stream.samples.iter().rposition(|sample| sample.0 > 0).expect("frames");
    assert!(
        (last as f64 * trial.sample_s - 4_999.0).abs() < 1.0,
        "the last frame is where it was sent"
    );
}

/// One frame, and distributions whose quantiles are known.
#[test]
fn percentiles_of_special_cases_are_right() {
    let latency = |pps: u32, delay: &str| {
        let traffic = stream(0, &format!("pps = {pps}\n{UDP}"));
        let found = simulate(&wire(&format!("{traffic}[[impairment]]\nport = 2\ndelay = {delay}\n")));
        found.trials[0].streams[0].paths[0].latency.clone()
    };
    for (pps, count) in [(10, 1), (20, 2), (100_000, 10_000)] {
        let found = latency(pps, "{ constant_us = 50 }");
        let all = [
            found.min_ns,
            found.p50_ns,
            found.p90_ns,
            found.p99_ns,
            found.p99_9_ns,
            found.p99_99_ns,
            found.max_ns,
        ];
        assert_eq!((found.count, all), (count, [50_000; 7]));
    }
    let near = |found: u64, expected: f64| (found as f64 / expected - 1.0).abs() < 0.03;
    let found = latency(1_000_000, "{ uniform_us = [10, 20] }");
    assert!(
        near(found.p50_ns, 15e3) && near(found.p90_ns, 19e3) && near(found.p99_9_ns, 19.99e3),
        "{found:?}"
    );
    let found = latency(1_000_000, "{ exponential_us = 50 }");
    let quantile = |share: f64| -50e3 * (1.0 - share).ln();
    assert!(
        near(found.p50_ns, quantile(0.5)) && near(found.p99_ns, quantile(0.99)),
        "{found:?}"
    );
    assert!(found.p99_9_ns <= found.p99_99_ns && found.p99_99_ns <= found.max_ns);
}

/// What a version without the newer fields has written.
#[test]
fn results_of_earlier_versions_are_read() {
    let found = simulate(&wire(&stream(0, &format!("pps = 1000\n{UDP}"))));
    let mut json = serde_json::to_value(&found).expect("JSON");
    let without = |value: &mut serde_json::Value, keys: &[&str]| {
        let object = value.as_object_mut().expect("an object");
        keys.iter().for_each(|key| {
            object.remove(*key);
        });
    };
    without(&mut json, &["rfc2889", "chip"]);
    without(&mut json["trials"][0], &["processor_s", "warm_up_s", "held", "backlog"]);
    without(&mut json["trials"][0]["streams"][0], &["late_ns", "lateness_growth_ns"]);
    without(
        &mut json["trials"][0]["streams"][0]["paths"][0],
        &["last_loss_ns", "lost_at_end"],
    );
    let read: forebay_tester::Results = serde_json::from_value(json).expect("the form of version 1");
    assert_eq!(read.trials[0].streams[0].paths, found.trials[0].streams[0].paths);
    assert!(report::text(&read).contains("received 100 of 100"));
    assert!(report::html(&read).contains("<svg"));
}

/// The keys of all objects within a value.
fn keys(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(object) => object.iter().for_each(|(key, value)| {
            found.push(key.clone());
            keys(value, found);
        }),
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

/// A script that reads results finds each field in the document.
#[test]
fn every_field_of_the_results_is_described() {
    let page = include_str!("../../../../docs/tester.md");
    let from = page.find("## Results as JSON").expect("the section");
    let section = &page[from..from + page[from..].find("## As a service").expect("the next one")];
    let checked = "description = \"l3fwd\"\nduration_s = 0.01\n[device]\nprogram = \"programs/l3fwd/l3fwd.p4\"\n\
                   entries = [\"programs/l3fwd/entries.stf\"]\ncheck = true\n[[traffic]]\nname = \"a\"\nfrom = 1\npps = 1000\n\
                   frame = { udp = { bytes = 60, destination = \"10.0.2.0\" } }\n[search]\ngoals = [\"ndr\"]\nduration_scale = 0.001\n\
                   frame_bytes = [60]\n";
    let test = support::read(checked);
    let session = || Session::open(&test).expect("opens");
    let mut all = Vec::new();
    for found in [
        session().run(&mut Silent),
        session().search(&mut Silent),
        session().rfc2544(&mut Silent),
    ] {
        keys(&serde_json::to_value(found.expect("results")).expect("JSON"), &mut all);
    }
    let bridge = forebay_tester::search::rfc2889::BridgeResults {
        caching_capacity: 1,
        capacity_is_at_least: false,
        capacity_limited_by: LimitedBy::Device,
        learning_rate_per_s: 1.0,
        learning_rate_is_at_least: false,
        learning_rate_limited_by: LimitedBy::Device,
        broadcast_pps: None,
        broadcast_limited_by: LimitedBy::Device,
        broadcast_search: None,
        attempts: Vec::new(),
        ended_by: None,
    };
    keys(&serde_json::to_value(bridge).expect("JSON"), &mut all);
    all.sort_unstable();
    all.dedup();
    all.retain(|key| !section.contains(&format!("`{key}`")));
    assert!(all.is_empty(), "docs/tester.md says nothing of {all:?}");
}

/// No hardware is asked for: each frame's latency is in the histogram, whatever the device.
#[test]
fn every_device_has_the_histogram_of_all_frames() {
    let program = "program = \"programs/l3fwd/l3fwd.p4\"\nentries = [\"programs/l3fwd/entries.stf\"]";
    for device in [
        "wire = true".to_string(),
        format!("{program}\nengine = \"jit\""),
        format!("{program}\nengine = \"interp\""),
        format!("{program}\nchip = \"v1model-ideal\""),
    ] {
        let text = format!(
            "description = \"x\"\nduration_s = 0.05\n[device]\n{device}\n[[traffic]]\nname = \"a\"\nfrom = 1\nto = 3\npps = 20_000\n\
             frame = {{ udp = {{ bytes = 60, destination = \"10.0.2.0\" }} }}\n"
        );
        let found = support::run(&text);
        let path = &found.trials[0].streams[0].paths[0];
        let counted: u64 = path.latency_all.histogram.iter().map(|(_, _, count)| count).sum();
        assert!(
            path.received > 0 && counted == path.received,
            "{device}: {counted} of {}",
            path.received
        );
    }
}

/// Latency has no streams of its own: at line rate, too, every frame that comes back is in the histogram.
#[test]
fn latency_of_every_frame_is_measured_at_line_rate() {
    let text = "description = \"x\"\nduration_s = 0.0005\nsample_s = 0\n[device]\nchip = \"tofino\"\n\
                program = \"programs/portfwd/portfwd.p4\"\ncommands = \"add ports ingress_port:1 forward(port:3)\"\n\
                [[traffic]]\nname = \"a\"\nfrom = 1\nto = 3\npps = \"max\"\nframe = { udp = { bytes = 256 } }\n";
    let found = simulate(text);
    let stream = &found.trials[0].streams[0];
    let path = &stream.paths[0];
    let line_pps = 100e9 / (8.0 * 280.0);
    assert!((stream.sent_pps / line_pps - 1.0).abs() < 0.001, "{}", stream.sent_pps);
    assert_eq!((path.received, path.lost, stream.unsent), (stream.sent, 0, 0));
    assert_eq!(path.latency.count, path.received);
}

/// On the machine's clock the error of software is measured before each test, and reported.
#[test]
fn the_tester_says_what_it_adds() {
    let found = support::run(&wire(&stream(0, &format!("pps = 10_000\n{UDP}"))));
    let own = found.self_test.as_ref().expect("a self test");
    assert!(
        own.floor_ns > 0 && own.floor_ns <= own.bias_ns && own.bias_ns <= own.p99_ns,
        "{own:?}"
    );
    let text = report::text(&found);
    assert!(
        text.contains("self test against a wire") && text.contains("the tester adds that much"),
        "{text}"
    );
    // At a frame every ten seconds a self test has no frame: no error is reported as 0 ns.
    let rare = support::run(
        &wire(&stream(0, &format!("pps = 0.1\n{UDP}")))
            .replace("duration_s = 0.1", "duration_s = 0.01\nwarm_up_s = 0.01"),
    );
    let text = report::text(&rare);
    assert!(
        text.contains("self test against a wire: too short for a frame"),
        "{text}"
    );
}

/// What a sender at more than the device's rate measures is a queue, and the trial says that it is none of the device's
/// figures.
#[test]
fn latency_under_overload_is_doubted() {
    let text = wire(&stream(0, &format!("pps = 200_000_000\n{UDP}"))).replace("duration_s = 0.1", "duration_s = 0.02");
    let found = support::run(&text);
    let doubts = &found.trials[0].doubts;
    assert!(
        doubts.iter().any(|doubt| doubt.contains("the load was not reached")),
        "{doubts:?}"
    );
}
