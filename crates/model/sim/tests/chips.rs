//! What the chips that are known by name carry.

mod programs;

use forebay_sim::{Run, Search, Setup, Silent, find_max};
use programs::Programs;

fn setup(text: &str) -> Setup {
    Setup::new(text, &Programs).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A chip with a program and commands, a stream into port 1, and a search up to the rate of the port.
fn scenario(spec: &str, program: &str, commands: &str, frame: &str, copies: usize) -> String {
    format!(
        r#"
description = "one stream"
duration_us = 40
[[chip]]
name = "switch"
spec = "{spec}"
program = "{program}"
ignore_fit = true
ignore_fit_reason = "what limits is beside the stages"
max_egress_bytes = 0
max_egress_bytes_reason = "what limits is beside the parsers"
commands = """
{commands}"""
[[traffic]]
name = "in"
to = ["switch:1"]
gbps = 100
frame = {frame}
[search]
from_gbps = 10
to_gbps = 100
tolerance_gbps = 1
delivered_per_sent = {copies}
"#
    )
}

fn is_line_rate(text: &str) -> bool {
    find_max(&setup(text), Search { seed: 1 }, &mut Silent).is_some_and(|found| found.at_least)
}

#[test]
fn frames_of_every_length_are_forwarded_at_line_rate() {
    for spec in ["tofino", "tofino-32", "tofino-a0", "tofino2"] {
        for bytes in [60, 61, 64, 76, 77, 88, 128, 256, 1500] {
            let frame = format!("{{ udp = {{ bytes = {bytes} }} }}");
            let text = scenario(spec, "portfwd", "add ports ingress_port:1 forward(port:3)\n", &frame, 1);
            assert!(is_line_rate(&text), "{spec}, {bytes} bytes");
        }
    }
}

#[test]
fn one_stream_is_copied_to_ten_ports_at_line_rate() {
    let node = |port: usize| format!("mc_node_create 0 {}\nmc_node_associate 2 {port}\n", port + 2);
    let commands = format!("mc_mgrp_create 2\n{}", (0..10).map(node).collect::<String>());
    for bytes in [60, 1500] {
        let frame = format!("{{ udp = {{ bytes = {bytes} }} }}");
        let text = scenario("tofino", "l2fwd", &commands, &frame, 10);
        assert!(is_line_rate(&text), "{bytes} bytes");
    }
}

/// The parser of an N-packet that is copied to one port limits it: 32 bytes of payload are two states, four headers and
/// one state of the compiler's own five more.
#[test]
fn copies_to_one_port_wait_for_its_egress_parser() {
    let commands = "\
        add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)\n\
        add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)\n\
        mc_mgrp_create 1002\n\
        mc_node_create 0 2\nmc_node_associate 1002 0\n\
        mc_node_create 1 2\nmc_node_associate 1002 1\n\
        mc_node_create 2 2\nmc_node_associate 1002 2\n\
        mc_node_create 3 2\nmc_node_associate 1002 3\n";
    let frame = "{ n-packet = { payload_bytes = 16, messages = 4 } }";
    let text = scenario("tofino-a0", "iot_disaggregate_tofino", commands, frame, 4);
    let text = text.replace("ignore_fit = true", "defines = [\"N=4\", \"S=22\"]\nignore_fit = true");
    let short_queue = "[[chip.port]]\nnumbers = [2]\nqueues = [{ capacity_bytes = 20_000 }]\n[[traffic]]";
    let text = text
        .replace("[[traffic]]", short_queue)
        .replace("duration_us = 40", "duration_us = 300");
    let found = find_max(&setup(&text), Search { seed: 1 }, &mut Silent).unwrap();
    // 136 bytes on the wire; four copies of nine states at 1.1 GHz.
    let expected = 1.1 * 8.0 * 136.0 / (4.0 * 9.0);
    let max = found.max_gbps.unwrap();
    assert!((max - expected).abs() < 1.0, "{max} {expected}");
}

#[test]
fn a_program_with_more_stages_takes_longer() {
    let latency = |program: &str, commands: &str| {
        let text =
            scenario("tofino", program, commands, "{ udp = { bytes = 200 } }", 1).replace("\ngbps = 100", "\ngbps = 1");
        let results = setup(&text).run(Run { seed: 1, gbps: None }, &mut Silent);
        results.sources[0].latency.min_ns
    };
    let short = latency("portfwd", "add ports ingress_port:1 forward(port:3)\n");
    let routes = "\
        add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)\n\
        add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)\n";
    let long = latency("iot_disaggregate_tofino", routes);
    assert!(long > short + 10.0, "{long} {short}");
}

/// Two messages make an N-packet when they come to the same registers: ports 1 and 17 are of different pipelines.
#[test]
fn registers_belong_to_a_pipeline() {
    let routes = "\
        add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)\n\
        add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)\n\
        add flows hdr.ipv4.src_addr:0x0A010000 hdr.ipv4.dst_addr:0x0A000202 hdr.udp.src_port:10000 aggregate(flow:0)\n";
    let message = "{ message = { payload_bytes = 16 } }";
    let text = scenario("tofino", "iot_aggregate_tofino", routes, message, 1)
        .replace("gbps = 100\nframe", "gbps = 0.01\nframe")
        .replace("ignore_fit = true", "defines = [\"N=2\", \"S=22\"]\nignore_fit = true");
    let waiting = |to: &str, more: &str| {
        let text = text
            .replace("[\"switch:1\"]", to)
            .replace("ignore_fit = true", &format!("{more}ignore_fit = true"))
            .replace("[search]", "[measure]\nmessages = true\n[search]");
        let results = setup(&text).run(Run { seed: 1, gbps: None }, &mut Silent);
        let lifted = results.chips[0]
            .lifted
            .iter()
            .filter(|lifted| lifted.rule.contains("registers"))
            .count();
        let messages = results.messages.expect("they are followed");
        (messages.sent, messages.missing, lifted)
    };
    let (one_pipe, two_pipes) = ("[\"switch:1\", \"switch:3\"]", "[\"switch:1\", \"switch:17\"]");
    assert_eq!(waiting(one_pipe, ""), (2, 0, 0));
    assert_eq!(waiting(two_pipes, ""), (2, 2, 0));
    let shared = "shared_registers = true\nshared_registers_reason = \"to compare\"\n";
    assert_eq!(waiting(two_pipes, shared), (2, 0, 1));
}
