//! Mistakes in test files: each is told with its line and what would be right, before anything is sent.

mod support;

use support::problems;

const GOOD: &str = r#"description = "x"
duration_s = 1
[device]
program = "programs/l3fwd/l3fwd.p4"
entries = ["programs/l3fwd/entries.stf"]
[[traffic]]
name = "a"
from = 1
to = 2
pps = 1000
frame = { udp = { bytes = 60 } }
"#;

#[track_caller]
fn wrong(from: &str, to: &str, expected: &str) {
    assert!(GOOD.contains(from), "{from}");
    let found = problems(&GOOD.replace(from, to));
    assert!(found.contains(expected), "{to}\n expected {expected}\n found {found}");
}

#[test]
fn the_file_is_right_as_it_is() {
    assert_eq!(problems(GOOD), "");
}

#[test]
fn keys_and_types() {
    wrong(
        "duration_s = 1",
        "duration = 1",
        "2: there is no key `duration` here; did you mean `duration_s`?",
    );
    wrong(
        "pps = 1000",
        "pps = \"fast\"",
        "10: a rate is a number, or \"max\", not \"fast\"",
    );
    wrong("description = \"x\"\n", "", "the key `description` is missing");
    wrong("duration_s = 1", "duration_s = ", "2: ");
}

#[test]
fn numbers() {
    wrong(
        "duration_s = 1",
        "duration_s = 0",
        "2: duration_s is 0; it must be more than 0",
    );
    wrong(
        "duration_s = 1",
        "duration_s = 1\nburst = 0",
        "3: burst is 0; it is 1 to 256",
    );
    wrong("pps = 1000", "pps = -1", "10: a rate is more than 0");
    wrong("pps = 1000", "pps = 1000\ngbps = 1", "7: a stream has exactly one rate");
    wrong("pps = 1000", "", "7: a stream has exactly one rate: pps, mbps or gbps");
}

#[test]
fn frames() {
    wrong(
        "bytes = 60",
        "bytes = 30",
        "11: a frame of 30 bytes; with these headers and the tag of 18 bytes it has 60 to 9214",
    );
    wrong(
        "bytes = 60",
        "bytes = \"imax\"",
        "11: there is no mix of lengths \"imax\"",
    );
    wrong(
        "{ udp = { bytes = 60 } }",
        "{ }",
        "11: a frame is exactly one of udp, tcp, message, pcap, hex and parser",
    );
    wrong(
        "bytes = 60",
        "bytes = 60, source = \"10.0.0.300\"",
        "11: \"10.0.0.300\" is no IPv4 or IPv6 address",
    );
    wrong(
        "bytes = 60",
        "bytes = 100, source = \"::1\"",
        "both IPv4 addresses, or both IPv6",
    );
    wrong(
        "{ udp = { bytes = 60 } }",
        "{ udp = { bytes = 60 }, source_mac = \"x\" }",
        "11: \"x\" is no MAC address",
    );
    wrong(
        "{ udp = { bytes = 60 } }",
        "{ pcap = \"none.pcap\" }",
        "11: cannot read none.pcap",
    );
    wrong(
        "{ udp = { bytes = 60 } }",
        "{ message = { payload_bytes = 3 } }",
        "11: a message payload has 12 to",
    );
}

#[test]
fn devices() {
    wrong(
        "program = \"programs/l3fwd/l3fwd.p4\"",
        "program = \"nothing.p4\"",
        "4: ",
    );
    wrong(
        "entries.stf",
        "nothing.stf",
        "5: cannot read programs/l3fwd/nothing.stf",
    );
    wrong("program = \"programs/l3fwd/l3fwd.p4\"\n", "", "3: nothing is measured");
    wrong(
        "[device]",
        "[device]\nchip = \"tofino9\"",
        "there is no chip \"tofino9\"",
    );
    wrong("[device]", "[device]\ninterfaces = [\"veth0\"]", "4: this is no port");
    wrong(
        "[device]",
        "[device]\ninterfaces = [\"1@veth0\"]",
        "4: there is no interface for port 2",
    );
    wrong(
        "[[traffic]]",
        "[[impairment]]\nport = 9\n[[traffic]]",
        "7: no traffic uses port 9",
    );
    wrong(
        "[[traffic]]",
        "[[impairment]]\nport = 2\nloss = 2\n[[traffic]]",
        "7: loss, duplication and reordering are shares",
    );
    wrong("to = 2", "to = 900", "port 900: ports are 0 to 510");
}

#[test]
fn shapes_and_flows() {
    wrong(
        "pps = 1000",
        "pps = 1000\nshape = { on_s = 1 }",
        "11: a shape is exactly one of",
    );
    wrong("pps = 1000", "pps = 1000\nflows = { count = 0 }", "there are 0 flows");
    wrong(
        "pps = 1000",
        "pps = 1000\nflows = { count = 10, vary = \"colour\" }",
        "11: \"colour\" is none of: source, destination",
    );
    wrong(
        "pps = 1000",
        "pps = 1000\narrivals = { bursts = { frames = 0 } }",
        "7: a burst has at least 1 frame",
    );
}
