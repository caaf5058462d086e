//! Hosts around a chip: properties of their transports from the literature.

mod programs;

use forebay_sim::{Results, Run, Setup, Silent, results_text};
use programs::Programs;
use std::collections::BTreeSet;

fn run(text: &str) -> Results {
    let setup = Setup::new(text, &Programs).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
    setup.run(Run { seed: 1, gbps: None }, &mut Silent)
}

/// Two hosts send to a third one through a chip; all lines have the same rate.
fn bottleneck(duration_us: u32, delay_ns: u32, queue_bytes: u32, chip: &str, flows: &str) -> String {
    let host = |name: &str, port: u32, loss: f64| {
        format!(
            "[[host]]\nname = \"{name}\"\nat = \"switch:{port}\"\naddress = \"10.0.0.{port}\"\ngbps = 10\ndelay_ns = {delay_ns}\nloss = {loss}\n"
        )
    };
    let hosts: String = [("a", 1, 0.0), ("b", 2, 0.0), ("sink", 3, 0.0)]
        .map(|(name, port, loss)| host(name, port, loss))
        .concat();
    format!(
        r#"
description = "a bottleneck"
duration_us = {duration_us}
warm_up_us = {warm_up_us}
[[chip]]
name = "switch"
spec = "tofino"
program = "red"
commands = """
add routes hdr.ipv4.dst_addr:0x0A000001/32 forward(port:1, priority:0)
add routes hdr.ipv4.dst_addr:0x0A000002/32 forward(port:2, priority:0)
add routes hdr.ipv4.dst_addr:0x0A000003/32 forward(port:3, priority:0)
MARKS
"""
{chip}
[[chip.port]]
numbers = [1, 2, 3]
gbps = 10
queues = [{{ capacity_bytes = {queue_bytes} }}]
{hosts}
{flows}
[measure]
queues = ["switch:3"]
sample_us = 10
"#,
        warm_up_us = duration_us / 4
    )
}

fn flow(name: &str, transport: &str, more: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"{name}\"\nto = \"sink\"\ntransport = \"{transport}\"\n{more}\n")
}

fn goodput(results: &Results) -> f64 {
    results.flows.iter().map(|flow| flow.goodput_gbps).sum()
}

/// Of 1,538 bytes on the wire 1,460 are data.
const LIMIT_GBPS: f64 = 10.0 * 1460.0 / 1538.0;

#[test]
fn one_connection_fills_the_line() {
    for transport in ["newreno", "cubic"] {
        let text = bottleneck(20_000, 2_000, 200_000, "", &flow("a", transport, ""));
        let results = run(&text.replace("MARKS", ""));
        assert!(
            goodput(&results) > 0.95 * LIMIT_GBPS,
            "{transport}: {:?}",
            results.flows
        );
        assert!(goodput(&results) <= 1.001 * LIMIT_GBPS);
    }
}

#[test]
fn a_line_is_no_faster_than_its_port_and_without_a_rate_as_fast() {
    let text = |transport| {
        let text = bottleneck(2_000, 2_000, 100_000, "", &flow("a", transport, ""));
        text.replace("MARKS", "")
    };
    let results = run(&text("newreno").replace("gbps = 10\ndelay_ns", "gbps = 40\ndelay_ns"));
    assert!(goodput(&results) <= 1.001 * LIMIT_GBPS, "{:?}", results.flows);
    let results = run(&text("roce").replace("gbps = 10\ndelay_ns", "delay_ns"));
    let frames = 2e-3 * 10e9 / (8.0 * 1_106.0);
    assert!(
        (0.95 * frames..=frames + 1.0).contains(&(results.flows[0].sent as f64)),
        "{:?}",
        results.flows
    );
}

#[test]
fn a_link_loses_other_frames_with_another_seed() {
    let chip = |name: &str| {
        format!(
            "[[chip]]\nname = \"{name}\"\nspec = \"tofino\"\nprogram = \"portfwd\"\ncommands = \"add ports ingress_port:1 forward(port:2)\"\n"
        )
    };
    let text = format!(
        r#"
description = "a link"
duration_us = 60
{}{}
[[link]]
from = "a:2"
to = "b:1"
loss = 0.3
[[traffic]]
name = "in"
to = ["a:1"]
gbps = 40
arrivals = "constant"
frame = {{ udp = {{ bytes = 256 }} }}
"#,
        chip("a"),
        chip("b")
    );
    let setup = Setup::new(&text, &Programs).unwrap_or_else(|problems| panic!("{problems:?}"));
    let lost: BTreeSet<u64> = (1..=4)
        .map(|seed| setup.run(Run { seed, gbps: None }, &mut Silent).lost())
        .collect();
    assert!(lost.len() > 1, "{lost:?}");
}

#[test]
fn a_flow_with_an_end_comes_as_a_whole_and_once() {
    for transport in ["newreno", "cubic", "dctcp", "roce"] {
        let text = bottleneck(100_000, 2_000, 15_000, "", &flow("a", transport, "bytes = 2_000_000"))
            .replace("loss = 0\n", "loss = 0.01\n");
        let results = run(&text.replace("MARKS", ""));
        let flow = &results.flows[0];
        assert!(flow.retransmitted > 0, "{flow:?}");
        assert!(flow.completed_us.is_some(), "{flow:?}");
        assert_eq!(flow.delivered_bytes, 2_000_000, "{flow:?}");
    }
}

/// Alizadeh et al., DCTCP, SIGCOMM 2010, section 3.3: with N flows the longest queue is K + N packets, its amplitude is
/// sqrt(2 N (C RTT + K)) / 2.
#[test]
fn the_queue_of_dctcp_stays_near_its_threshold() {
    let flows = flow("a", "dctcp", "") + &flow("b", "dctcp", "");
    let text = bottleneck(40_000, 20_000, 1_000_000, "", &flows);
    let marks = "add thresholds standard_metadata.egress_port:3 mark_from(least:65, span:0)";
    let results = run(&text.replace("MARKS", marks));
    assert!(goodput(&results) > 0.97 * LIMIT_GBPS, "{:?}", results.flows);
    assert!(
        results.fairness().is_some_and(|fairness| fairness > 0.95),
        "{:?}",
        results.flows
    );
    assert_eq!(results.lost(), 0);
    let queue = &results.chips[0].queues[0];
    // 85 us of round trip without a queue hold 69 segments at 10 Gbps.
    let amplitude = (2.0 * 2.0 * (69.0 + 65.0f64)).sqrt() / 2.0;
    let settled = &queue.samples_bytes[queue.samples_bytes.len() / 4..];
    let packets = |bytes: u64| bytes as f64 / 1514.0;
    let longest = packets(*settled.iter().max().unwrap());
    let mean = queue.mean_bytes / 1514.0;
    assert!((60.0..75.0).contains(&longest), "{longest}");
    assert!(
        (67.0 - 2.0 * amplitude..67.0).contains(&mean),
        "{mean}, amplitude {amplitude}"
    );
}

/// Mathis et al., CCR 27(3), 1997: sqrt(3 / (2 p)) segments are under way, when each is acknowledged and p are lost.
#[test]
fn the_window_of_newreno_follows_from_the_share_that_is_lost() {
    let share = 0.002;
    let text = bottleneck(400_000, 20_000, 1_000_000, "", &flow("a", "newreno", ""));
    let text = text.replacen("loss = 0\n", &format!("loss = {share}\n"), 1);
    let results = run(&text.replace("MARKS", ""));
    let flow = &results.flows[0];
    let segments = flow.goodput_gbps / 8.0 * 1e3 * flow.round_trip_mean_us.unwrap() / 1460.0;
    let expected = (1.5f64 / share).sqrt();
    assert!(
        (segments / expected - 1.0).abs() < 0.25,
        "{segments} {expected} {flow:?}"
    );
}

/// Pauses stop the senders before anything is lost; without them packets are lost and sent again.
#[test]
fn flow_control_loses_nothing() {
    let flows = flow("a", "roce", "") + &flow("b", "roce", "");
    let pfc =
        "[chip.pfc]\nqueues = [0]\npause_above_bytes = 40_000\nresume_below_bytes = 20_000\nheadroom_bytes = 20_000";
    let with = run(&bottleneck(5_000, 1_000, 100_000, pfc, &flows).replace("MARKS", ""));
    let without = run(&bottleneck(5_000, 1_000, 100_000, "", &flows).replace("MARKS", ""));
    let again = |results: &Results| results.flows.iter().map(|flow| flow.retransmitted).sum::<u64>();
    assert_eq!((with.lost(), again(&with)), (0, 0), "{:?}", with.chips[0].lost);
    assert!(with.chips[0].ports.iter().any(|port| port.pauses_sent > 0));
    assert!(with.fairness().is_some_and(|fairness| fairness > 0.99));
    assert!(goodput(&with) > 0.98 * 10.0 * 1024.0 / 1110.0, "{:?}", with.flows);
    assert!(without.lost() > 0 && again(&without) > 0, "{:?}", without.chips[0].lost);
}

/// A chip pauses another one: what would be lost at the second one waits in the first.
#[test]
fn a_chip_pauses_the_one_before() {
    let pfc =
        "[chip.pfc]\nqueues = [0]\npause_above_bytes = 30_000\nresume_below_bytes = 15_000\nheadroom_bytes = 30_000\n";
    let chip = |name: &str, to: u32| {
        format!(
            "[[chip]]\nname = \"{name}\"\nspec = \"tofino\"\nprogram = \"portfwd\"\ncommands = \"add ports ingress_port:1 forward(port:{to})\"\nPFC\n"
        )
    };
    let text = format!(
        "description = \"two chips\"\nduration_us = 200\ndrain_us = 100000\n{}{}[[chip.port]]\nnumbers = [2]\ngbps = 50\nqueues = [{{ capacity_bytes = 60_000 }}]\n\
         [[link]]\nfrom = \"first:2\"\nto = \"second:1\"\ndelay_ns = 500\n\
         [[traffic]]\nname = \"in\"\nto = [\"first:1\"]\ngbps = 80\nframe = {{ udp = {{ bytes = 1000 }} }}\n",
        chip("first", 2),
        chip("second", 2)
    );
    let lost = |pfc: &str| {
        let results = run(&text.replace("PFC", pfc));
        assert_eq!(results.sent(), results.delivered() + results.lost());
        results.lost()
    };
    assert!(lost("") > 0);
    assert_eq!(lost(pfc), 0, "700 kilobytes wait in the first chip");
}

#[test]
fn the_samples_of_a_flow_make_up_what_came() {
    let results = run(&bottleneck(1_005, 2_000, 100_000, "", &flow("a", "roce", "")).replace("MARKS", ""));
    let flow = &results.flows[0];
    assert_eq!(flow.samples_gbps.len(), 101);
    let sum: f64 = flow.samples_gbps[..100].iter().sum();
    let bits = 10e3 * sum + 5e3 * flow.samples_gbps[100];
    assert!((bits / 8.0 - flow.delivered_bytes as f64).abs() < 1.0, "{flow:?}");
}

#[test]
fn the_same_seed_gives_the_same_flows() {
    let flows = flow("a", "cubic", "") + &flow("b", "dctcp", "");
    let text = bottleneck(5_000, 5_000, 50_000, "", &flows)
        .replace(
            "MARKS",
            "add thresholds standard_metadata.egress_port:3 mark_from(least:10, span:20)",
        )
        .replace("loss = 0\n", "loss = 0.001\n");
    assert_eq!(run(&text), run(&text));
}

#[test]
fn mistakes_are_named() {
    let text = bottleneck(100, 100, 50_000, "", &flow("a", "cubic", "")).replace("MARKS", "");
    for (from, to, expected) in [
        (
            "to = \"sink\"",
            "to = \"sinc\"",
            "there is no host \"sinc\"; did you mean sink?",
        ),
        ("to = \"sink\"", "to = \"a\"", "a flow is between two hosts"),
        ("switch:2", "switch:1", "a port has one host"),
        ("transport = \"cubic\"", "transport = \"reno\"", "newreno"),
        ("10.0.0.2", "10.0.0.1", "two hosts have the address 10.0.0.1"),
        (
            "transport = \"cubic\"",
            "transport = \"cubic\"\nbytes = 0",
            "bytes is 0; a flow has at least a byte",
        ),
        (
            "at = \"switch:1\"",
            "at = \"switch:1\"\nmac = \"2:0\"",
            "is no MAC address",
        ),
        (
            "at = \"switch:1\"",
            "at = \"switch:1\"\nmac = \"+2:0:0:0:0:1\"",
            "is no MAC address",
        ),
    ] {
        let Err(problems) = Setup::new(&text.replace(from, to), &Programs) else {
            panic!("{to} should be wrong");
        };
        let said = problems[0].to_string();
        assert!(said.contains(expected), "{to}: {said}");
    }
}

/// The message about a scenario with two hosts and a flow in which a text is replaced.
fn problems(from: &str, to: &str) -> Vec<String> {
    let text = bottleneck(100, 0, 15_000, "", &flow("a", "newreno", "bytes = 1000")).replace("MARKS", "");
    assert!(text.contains(from), "{from}");
    match Setup::new(&text.replacen(from, to, 1), &Programs) {
        Ok(_) => panic!("{to} should be wrong"),
        Err(problems) => problems.iter().map(|problem| problem.message.clone()).collect(),
    }
}

#[test]
fn hosts_and_flows_that_make_no_sense_are_refused() {
    let second = "[[flow]]\nname = \"a\"\nfrom = \"b\"\nto = \"sink\"\ntransport = \"roce\"\n[measure]";
    for (from, to, expected) in [
        (
            "10.0.0.1\"",
            "0.0.0.0\"",
            "0.0.0.0 is the unspecified address, not the address of a host",
        ),
        ("10.0.0.1\"", "224.0.0.1\"", "224.0.0.1 is a multicast address, not"),
        (
            "10.0.0.1\"",
            "255.255.255.255\"",
            "255.255.255.255 is the broadcast address, not",
        ),
        (
            "10.0.0.1\"",
            "10.0.0.1\"\nmac = \"ff:ff:ff:ff:ff:ff\"",
            "ff:ff:ff:ff:ff:ff is a group address, not",
        ),
        (
            "10.0.0.1\"",
            "10.0.0.1\"\nmac = \"02:00:00:00:00:01:zz\"",
            "\"02:00:00:00:00:01:zz\" is no MAC address",
        ),
        (
            "bytes = 1000",
            "gbps = 5",
            "gbps is the rate of a roce sender; a newreno sender sends",
        ),
        ("[measure]", second, "there are two flows \"a\""),
        (
            "to = \"sink\"",
            "to = \"sinks\"",
            "there is no host \"sinks\"; did you mean sink?",
        ),
        (
            "at = \"switch:1\"",
            "at = \"switch:1000\"",
            "chip switch has no port 1000",
        ),
    ] {
        let said = problems(from, to);
        assert!(said.len() == 1 && said[0].contains(expected), "{to}: {said:?}");
    }
}

#[test]
fn what_was_not_measured_is_not_shown_as_zero() {
    let text = bottleneck(1_000, 0, 150_000, "", &flow("a", "roce", "bytes = 100_000"));
    let results = run(&text.replace("MARKS", ""));
    assert!(results.flows[0].completed_us.is_some());
    assert_eq!(
        (results.flows[0].round_trip_mean_us, results.flows[0].window_mean),
        (None, None)
    );
    let text = results_text(&results);
    let row = text.lines().find(|line| line.contains(" roce ")).expect("a row");
    assert_eq!(row.split_whitespace().nth(8), Some("–"), "{row}");
}

/// Ten megabits a second into a queue that takes less: each frame that a host sends is recorded where it comes and
/// where it ends.
#[test]
fn frames_of_hosts_are_recorded_one_by_one() {
    let text = bottleneck(
        5_000,
        2_000,
        8_000,
        "",
        &(flow("a", "newreno", "") + &flow("b", "newreno", "")),
    );
    let setup = Setup::new(&text.replace("MARKS", ""), &Programs).unwrap_or_else(|problems| panic!("{problems:?}"));
    let run = Run { seed: 1, gbps: None };
    let (results, recording, departures) = setup.run_recorded(run, true, &mut Silent);
    let chip = &results.chips[0];
    assert!(chip.lost.values().sum::<u64>() > 0, "{chip:?}");
    assert_eq!(departures.len() as u64, chip.transmitted);
    for name in ["a", "b", "sink"] {
        let own: Vec<_> = departures
            .iter()
            .filter(|left| left.source.as_deref() == Some(name))
            .collect();
        assert!(!own.is_empty() && own.is_sorted_by_key(|left| left.sequence), "{name}");
        assert!(
            own.windows(2).all(|pair| pair[0].sequence < pair[1].sequence),
            "{name}: a number twice"
        );
        assert!(
            own.iter()
                .all(|left| left.arrived_ps.is_some_and(|arrived| arrived < left.departed_ps))
        );
    }
    let packets = forebay_packet::pcap::read_all(&recording.pcapng().expect("memory")).expect("a capture");
    assert_eq!(recording.left_out(), 0);
    assert_eq!(packets.len() as u64, chip.received + chip.transmitted, "in and out");
    let timeline = recording.timeline(&results);
    assert!(
        !timeline.contains("packet ffffffffffffffff"),
        "frames of hosts have numbers"
    );
}
