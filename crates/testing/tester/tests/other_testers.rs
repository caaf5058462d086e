//! What users of other testers have reported, each a test.
//!
//! | reported | test |
//! |---|---|
//! | TRex #1212: a burst at the beginning of a trial, counters read while traffic runs | `known_answers::no_burst_at_the_beginning`, `known_answers::frames_under_way_at_the_end_are_waited_for` |
//! | TRex #354: no exact minimum | `known_answers::a_constant_delay_is_exact` |
//! | TRex #201: latency only of IP frames; #731, #736: other frames taken for the tester's | `known_answers::frames_of_any_protocol_are_measured`, `frames_that_look_like_the_testers_are_foreign` |
//! | TRex #143: 1,000 frames a second leave every 10 ms | `a_thousand_frames_a_second_are_a_millisecond_apart` |
//! | TRex #530: latency costs rate | every frame has its latency: `examples/rate.rs` |
//! | CSIT-1781: frames that were not sent counted as lost | `what_was_not_sent_is_not_lost` |
//! | CSIT-1855: NDR all over the place | `mlrsearch`, `searches::ndr_of_two_ports_into_one_is_the_rate_of_the_one` |
//! | P4TG #15: half the rate on three of six ports | `six_ports_have_their_full_rates` |
//! | P4TG #4: one port for both directions | `known_answers::the_same_port_for_both_directions` |
//! | P4TG: Poisson with batches above the rate; several streams into one port counted twice | `known_answers::poisson_arrivals_have_the_mean_rate`, `known_answers::several_streams_into_one_port` |
//! | P4TG: latencies outside of the histogram's range | `no_latency_is_outside_of_the_histogram` |
//! | pktgen-dpdk #285: captures replayed wrongly | `a_capture_is_replayed_in_its_order` |

mod support;

use forebay_packet::pcap::{TimestampUnit, Writer};
use forebay_sim::Library;
use forebay_tester::{Overrides, Session, Silent, Test};
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

/// Frames of another trial, and frames whose end is a tag with a wrong sum or an impossible time, are no frames of this trial.
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
