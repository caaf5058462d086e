//! Messages about wrong scenarios.

use crate::{Programs, SCENARIO, problem};
use forebay_sim::{Setup, expand};

/// Each case: a part of the scenario, its replacement, and the message.
fn assert_said(cases: &[(&str, &str, &str)]) {
    let mut differ = Vec::new();
    for (from, to, expected) in cases {
        let said = problem(from, to);
        if !said.contains(expected) {
            differ.push(format!("{to}: {said:?} instead of {expected:?}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn mistakes_have_their_lines_and_say_what_would_be_right() {
    assert_said(&[
        (
            "duration_us = 200",
            "duration = 200",
            "3: there is no key `duration` here; did you mean `duration_us`?",
        ),
        ("duration_us = 200", "duration_us = -1", "3: duration_us is -1"),
        (
            "\"tofino\"",
            "\"tofino9\"",
            "7: there is no chip \"tofino9\"; did you mean tofino?",
        ),
        ("\"portfwd\"", "\"nothing\"", "8: cannot compile"),
        (
            "forward(port:3)",
            "forwards(port:3)",
            "the program refuses the command in line 1",
        ),
        (
            "numbers = [3]",
            "numbers = [64]",
            "15: tofino has no port 64; its ports are 0 to 63",
        ),
        ("numbers = [3]", "numbers = [3, 3]", "15: port 3 is configured twice"),
        (
            "quantum_bytes = 1500",
            "quantum_bytes = 0",
            "16: a queue with a weight of 0, or a quantum of 0 bytes, would never be served",
        ),
        (
            "quantum_bytes",
            "wait",
            "16: there is no key `wait` here; there are: weight, quantum_bytes, capacity_bytes",
        ),
        (
            "quantum_bytes = 1500",
            "quantum_bytes = 1500, weight = 10",
            "16: a queue has a weight or a quantum_bytes, not both",
        ),
        (
            "program = \"portfwd\"",
            "program = \"portfwd\"\nalike = 0",
            "9: alike is 0; it is 1 to 511",
        ),
        ("\"switch:2\"]", "\"switch:64\"]", "20: chip switch has no port 64"),
        (
            "\"switch:2\"]",
            "\"other:1\"]",
            "20: there is no chip \"other\"; there are: switch",
        ),
        (
            "\"switch:2\"]",
            "\"switch\"]",
            "20: \"switch\" is no port; write chip:port, as in \"switch:1\"",
        ),
        ("gbps = 40", "gbps = -40", "21: a rate is 0, or 0.000001 to 10000 Gbps"),
        (
            "gbps = 40",
            "gbps = abc",
            "21: this is neither a number, nor true or false, nor a text in quotes: `gbps = abc`",
        ),
        (
            "gbps = 40",
            "gbps = false1",
            "21: this is neither a number, nor true or false, nor a text in quotes",
        ),
        (
            "gbps = 40",
            "gbps = \"fast\"",
            "21: a number is expected here, not the text \"fast\"",
        ),
        (
            "gbps = 40",
            "gbps = 250",
            "21: 250 Gbps do not fit into switch:1: a port of tofino takes 100 Gbps",
        ),
        (
            "gbps = 40",
            "gbps = 40\nsteps = [[10, 120]]",
            "21: 120 Gbps do not fit into switch:1",
        ),
        (
            "gbps = 40",
            "gbps = 60\nframe = { udp = { bytes = 64 } }\n[[traffic]]\nname = \"more\"\nto = [\"switch:1\"]\ngbps = 50",
            "26: 110 Gbps of 2 streams do not fit into switch:1: a port of tofino takes 100 Gbps",
        ),
        (
            "to_gbps = 90",
            "to_gbps = 120",
            "31: to_gbps: a rate of 120 Gbps is too much: the ports take up to 100 Gbps of the first stream",
        ),
        (
            "gbps = 40",
            "gbps = 0\nsteps = [[100, 40]]",
            "32: to_gbps: the first [[traffic]] begins with a rate of 0, to which no other rate has a ratio",
        ),
        (
            "{ udp = { bytes = \"imix\", flows = 10 } }",
            "{ pcap = 5 }",
            "23: a table, as in { file = \"frames.pcap\" }, is expected here, not 5",
        ),
        (
            "{ udp = { bytes = \"imix\", flows = 10 } }",
            "5",
            "23: a frame, as in { udp = { bytes = 64 } }, is expected here, not 5",
        ),
        (
            "{ udp = { bytes = \"imix\", flows = 10 } }",
            "{ tcp = { bytes = 64 } }",
            "23: there is no key `tcp` here; there are: udp, message, n-packet, pcap",
        ),
        (
            "\"imix\"",
            "true",
            "23: a number of bytes, a list of them, { from = 60, to = 1514 }, or \"imix\" is expected here, not true",
        ),
        (
            "\"poisson\"",
            "\"normal\"",
            "22: \"normal\" is none of: jittered, constant, poisson, bursts",
        ),
        (
            "[measure]",
            "[measure]\nmessages = true",
            "26: no stream carries messages to follow",
        ),
        ("\"imix\"", "\"big\"", "23: there is no mix of lengths \"big\""),
        ("\"imix\"", "20", "23: a UDP frame has 42 to 9000 bytes, not 20"),
        (
            "tolerance_gbps = 1",
            "tolerance_gbps = 0",
            "32: tolerance_gbps is more than 0 and at most to_gbps",
        ),
        (
            "[measure]",
            "[[timer]]\nport = \"switch:5\"\ninterval_ns = 0\npackets = 1\n[measure]",
            "27: interval_ns is 0; it is 1 to 60000000000",
        ),
        (
            "[measure]",
            "[[fault]]\nport = \"switch:5\"\nloss = 2\n[measure]",
            "27: loss is 2; it is 0 to 1",
        ),
        (
            "[measure]",
            "[[fault]]\nport = \"switch:5\"\ndelay = 0.5\ndelay_ns = inf\n[measure]",
            "28: delay_ns is inf; it is 0 to 1000000000",
        ),
        (
            "[[traffic]]",
            "[[host]]\nname = \"h\"\nat = \"switch:4\"\naddress = \"10.0.0.1\"\ndelay_ns = 1e18\n[[traffic]]",
            "22: delay_ns is 1e18; it is 0 to 1000000000",
        ),
        (
            "[[traffic]]",
            "[[link]]\nfrom = \"switch:3\"\nto = \"switch:4\"\ngbps = 1e-300\n[[traffic]]",
            "21: gbps is 1e-300; it is 0.001 to 10000, or 0 for the rate of the port",
        ),
        (
            "gbps = 40",
            "gbps = 1e-12",
            "21: a rate is 0, or 0.000001 to 10000 Gbps",
        ),
        (
            "tolerance_gbps = 1",
            "tolerance_gbps = 1\nmissing_share = 1.5",
            "33: missing_share is 1.5; it is a share, less than 1",
        ),
        (
            "tolerance_gbps = 1",
            "tolerance_gbps = 1\nmissing_frames = -1",
            "33: missing_frames is -1; it is 0 to 1000000000",
        ),
        (
            "delivered_per_sent = 1",
            "missing_frames = 1",
            "33: missing_frames needs delivered_per_sent",
        ),
        (
            "delivered_per_sent = 1",
            "missing_share = 0.1",
            "33: missing_share needs delivered_per_sent",
        ),
        (
            "sample_us = 10",
            "reordering_distances = [1, 0]",
            "26: reordering_distances is 0; it is 1 to 65536",
        ),
        (
            "sample_us = 10",
            "reordering_distances = [1_000_000_000]",
            "26: reordering_distances is 1000000000; it is 1 to 65536",
        ),
        (
            "sample_us = 10",
            "frames_per_packet = 0",
            "26: frames_per_packet is 0; it is 1 to 255",
        ),
        (
            "numbers = [3]",
            "numbers = [3]\ngbps = 500",
            "16: gbps is 500; a port of tofino has 100 Gbps at most",
        ),
        (
            "[[traffic]]",
            "[[host]]\nname = \"h\"\nat = \"switch:4\"\naddress = \"10.0.0.1\"\ngbps = 400\n[[traffic]]",
            "22: gbps is 400; a port of tofino has 100 Gbps at most",
        ),
        (
            "quantum_bytes = 1500",
            "weight = 1024",
            "16: a queue has the weight 1024; on tofino it is 1 to 1023",
        ),
        (
            "[[traffic]]",
            "[[link]]\nfrom = \"switch:3\"\nto = \"switch:4\"\n[[link]]\nfrom = \"switch:3\"\nto = \"switch:5\"\n[[traffic]]",
            "22: switch:3 has a link already; a port has one wire",
        ),
        (
            "[[traffic]]",
            "[[host]]\nname = \"h\"\nat = \"switch:3\"\naddress = \"10.0.0.1\"\n[[link]]\nfrom = \"switch:3\"\nto = \"switch:5\"\n[[traffic]]",
            "23: switch:3 has a host already; a port has one wire",
        ),
        (
            "numbers = [3]",
            "numbers = [3]\nloopback = true\n[[link]]\nfrom = \"switch:3\"\nto = \"switch:4\"\n[[chip.port]]\nnumbers = [5]",
            "18: switch:3 is a loopback port already; a port has one wire",
        ),
        (
            "numbers = [3]",
            "numbers = [3]\nloopback = true\n[[host]]\nname = \"h\"\nat = \"switch:3\"\naddress = \"10.0.0.1\"\n[[chip.port]]\nnumbers = [5]",
            "19: switch:3 is a loopback port already; a port has one wire",
        ),
        (
            "program = \"portfwd\"",
            "program = \"portfwd\"\nmax_egress_bytes = 200\nmax_egress_bytes_reason = \" \"",
            "10: max_egress_bytes_reason is empty; it stands in the results",
        ),
        (
            "[measure]",
            "[[fault]]\nport = \"switch:5\"\n[measure]",
            "26: the fault does nothing: give it loss, duplication or delay",
        ),
        (
            "[measure]",
            "[[fault]]\nport = \"switch:5\"\ndelay = 0.5\n[measure]",
            "27: delay does nothing without delay_ns",
        ),
        (
            "delivered_per_sent = 1",
            "delivered_per_sent = nan",
            "33: delivered_per_sent is NaN; it is more than 0",
        ),
        (
            "tolerance_gbps = 1",
            "tolerance_gbps = 1\nseeds = 0",
            "33: seeds is 0; it is 1 to 1000",
        ),
        (
            "duration_us = 200",
            "duration_us = 200\ndrain_us = 1e12",
            "4: drain_us is 1000000000000; it is 0 to 60000000",
        ),
        (
            "numbers = [3]",
            "numbers = [3]\ngbps = nan",
            "16: gbps is NaN; it is 0.001 to 10000, or 0 for the rate of the port",
        ),
        ("numbers = [3]", "numbers = [3]\ngbps = -5", "16: gbps is "),
        ("numbers = [3]", "numbers = [3]\ngbps = 1e-9", "16: gbps is "),
        (
            "to = [\"switch:1\", \"switch:2\"]",
            "to = []",
            "20: `to` is empty; traffic goes to at least one port",
        ),
        ("name = \"in\"", "name = \" \"", "19: a stream has a name"),
        ("numbers = [3]", "numbers = []", "15: numbers is empty"),
        (
            "gbps = 40",
            "gbps = 40\nstop_us = nan",
            "22: stop_us is NaN; it is 0 to 60000000",
        ),
        (
            "duration_us = 200",
            "duration_us = 200\nwarm_up_us = 300",
            "4: warm_up_us is 300; it must be less than the duration of 200",
        ),
        (
            "sample_us = 10",
            "sample_us = -1",
            "26: sample_us is -1; it is 0 to 60000000",
        ),
        (
            "\"poisson\"",
            "\"bursts\"",
            "22: a table with the values of this kind, as in { NAME = { KEY = VALUE } }, is expected here",
        ),
        (
            "\"poisson\"",
            "5",
            "22: a name in quotes, or a table with one, is expected here",
        ),
        (
            "[measure]",
            "[[fault]]\nport = \"switch:3\"\nloss = 0.5\n[measure]",
            "26: frames leave the network at switch:3, so the fault would do nothing",
        ),
        (
            "gbps = 40",
            "gbps = 40\nstart_us = 100\nstop_us = 50",
            "23: stop_us is 50; it must be more than start_us, which is 100",
        ),
        (
            "[[traffic]]",
            "[[link]]\nfrom = \"switch:3\"\nto = \"switch:3\"\n[[traffic]]",
            "20: a link leads from switch:3 to another port",
        ),
        (
            "[[traffic]]",
            "[[host]]\nname = \"h\"\nat = \"switch:1\"\naddress = \"10.0.0.1\"\n[[traffic]]",
            "24: the wire of switch:1 is that of a host",
        ),
    ]);
}

const HOSTS: &str = "[[host]]\nname = \"a\"\nat = \"switch:4\"\naddress = \"10.0.0.1\"\n\
    [[host]]\nname = \"b\"\nat = \"switch:5\"\naddress = \"10.0.0.2\"\n";

#[test]
fn what_is_there_twice_is_said() {
    let traffic = "[[traffic]]\nname = \"in\"\nto = [\"switch:5\"]\ngbps = 1\nframe = { udp = { bytes = 64 } }\n";
    let link = |from: u16, to: u16| format!("[[link]]\nfrom = \"switch:{from}\"\nto = \"switch:{to}\"\n");
    let to_one_port = format!("{}{}[measure]", link(3, 7), link(8, 7));
    let to_host = format!("{HOSTS}{}[measure]", link(3, 4));
    assert_said(&[
        (
            "[measure]",
            &format!("{traffic}[measure]"),
            "26: there are two [[traffic]] \"in\"; results would not tell them apart",
        ),
        (
            "[\"switch:1\", \"switch:2\"]",
            "[\"switch:1\", \"switch:1\"]",
            "20: \"switch:1\" is there twice in `to`",
        ),
        (
            "[measure]",
            &to_one_port,
            "30: switch:7 is at the end of a link already; a port has one wire",
        ),
        (
            "[measure]",
            &to_host,
            "35: switch:4 has a host already; a port has one wire",
        ),
        (
            "queues = [\"switch:3\"]",
            "queues = [\"switch:3\", \"switch:3\"]",
            "27: \"switch:3\" is there twice in queues",
        ),
        (
            "sample_us = 10",
            "reordering_distances = [5, 5]",
            "26: 5 is there twice in reordering_distances",
        ),
        (
            "spec = \"tofino\"",
            "spec = \"tofino\"\ndefines = [\"N=1\", \"N=2\"]",
            "8: the macro N is defined twice",
        ),
        (
            "spec = \"tofino\"",
            "spec = \"tofino\"\nentries = [\"a\", \"a\"]",
            "8: the file \"a\" is there twice",
        ),
        (
            "[[traffic]]",
            "[chip.pfc]\nqueues = [1, 1]\npause_above_bytes = 9\nresume_below_bytes = 1\nheadroom_bytes = 1\n[[traffic]]",
            "19: queue 1 of [chip.pfc] is there twice",
        ),
        (
            "gbps = 40",
            "gbps = 40\nsteps = [[5, 10], [5, 20]]",
            "22: two steps are at 5 us; the first of them does nothing",
        ),
    ]);
}

/// Where two values are wanted, a third would be passed over.
#[test]
fn a_list_of_two_has_no_third() {
    let fault = |bytes: &str| format!("[[fault]]\nport = \"switch:5\"\nbytes = {bytes}\nloss = 0.5\n[measure]");
    let third = "a list of two values is expected here, not 3 of them";
    assert_said(&[
        (
            "gbps = 40",
            "gbps = 40\nsteps = [[5, 10], [6, 20, 30]]",
            &format!("22: {third}"),
        ),
        ("[measure]", &fault("[64, 128, 1514]"), &format!("27: {third}")),
        (
            "[measure]",
            &fault("[64]"),
            "27: a list of two values is expected here, not one",
        ),
        (
            "[measure]",
            &fault("64"),
            "27: a list of two values is expected here, not 64",
        ),
    ]);
}

#[test]
fn what_would_do_nothing_is_said() {
    let late_flow = format!(
        "{HOSTS}[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"cubic\"\nstart_us = 200\n[measure]"
    );
    let unreached = "[[chip]]\nname = \"other\"\nspec = \"tofino\"\nprogram = \"portfwd\"\n[measure]";
    assert_said(&[
        (
            "gbps = 40",
            "gbps = 40\nstart_us = 200",
            "22: start_us is 200; nothing is sent from then on",
        ),
        (
            "[measure]",
            &late_flow,
            "38: start_us is 200; nothing is sent from then on",
        ),
        (
            "[measure]",
            "[[timer]]\nport = \"switch:5\"\ninterval_ns = 200_000\npackets = 1\nlast_round = false\n[measure]",
            "27: interval_ns is 200000; the timer sends nothing within duration_us",
        ),
        (
            "sample_us = 10",
            "sample_us = 300",
            "26: sample_us is 300; no sample is taken within duration_us",
        ),
        (
            "tolerance_gbps = 1",
            "tolerance_gbps = 1\nwithin = 0.1",
            "33: within does nothing without confidence",
        ),
        (
            "tolerance_gbps = 1",
            "tolerance_gbps = 1\nlengths_max = 2",
            "33: lengths_max does nothing without confidence",
        ),
        (
            "spec = \"tofino\"",
            "spec = \"tofino\"\nignore_fit_reason = \"x\"",
            "8: ignore_fit_reason does nothing without",
        ),
        (
            "add ports ingress_port:2 forward(port:3)",
            "packet 1 0000",
            "9: line 2 of commands is about a packet; packets come by [[traffic]]",
        ),
        (
            "queues = [{ quantum_bytes = 1500, capacity_bytes = 50_000 }]",
            "queues = []",
            "16: queues is empty",
        ),
        (
            "[measure]",
            "[[fault]]\nport = \"switch:3\"\nbytes = [70_000, 80_000]\nloss = 1\n[measure]",
            "27: bytes begins at 70000; no frame has more than 65535 bytes",
        ),
        ("[measure]", unreached, "26: nothing comes to chip \"other\""),
        (
            "numbers = [3]",
            "numbers = [1]\nloopback = true",
            "21: the wire of switch:1 leads from the port back to it",
        ),
        (
            "[measure]",
            "[[link]]\nfrom = \"switch:3\"\nto = \"switch:1\"\n[measure]",
            "20: the wire of switch:1 is that of a link",
        ),
        (
            "[measure]",
            "[[link]]\nfrom = \"switch:3\"\nto = \"switch:4\"\ngbps = 400\n[measure]",
            "28: gbps is 400; a port of tofino has 100 Gbps at most",
        ),
        (
            "name = \"switch\"",
            "name = \"sw:itch\"",
            "6: the name \"sw:itch\" has a colon",
        ),
    ]);
}

#[test]
fn a_frame_that_goes_round_for_ever_is_refused() {
    let more = "add ports ingress_port:2 forward(port:3)\nadd ports ingress_port:5 forward(port:3)";
    let text = SCENARIO.replace("add ports ingress_port:2 forward(port:3)", more);
    let text = text.replace(
        "[measure]",
        "[[link]]\nfrom = \"switch:3\"\nto = \"switch:5\"\n[measure]",
    );
    let said = match Setup::new(&text, &Programs) {
        Ok(_) => panic!("it goes round"),
        Err(problems) => problems[0].to_string(),
    };
    assert!(said.starts_with("21: a frame of \"in\" goes round for ever"), "{said}");
}

#[test]
fn values_of_parameters_are_said_where_something_is_wrong() {
    let text = SCENARIO.replace("gbps = 40", "gbps = ${LOAD}") + "[parameters]\nLOAD = 40\n";
    let said = |value: &str| {
        let case = &expand(&text, &[("LOAD".to_string(), value.to_string())]).unwrap()[0];
        match Setup::of_case(case, &Programs, None) {
            Ok(_) => panic!("{value} should be wrong"),
            Err(problems) => problems[0].to_string(),
        }
    };
    let of_text = "21: this is neither a number, nor true or false, nor a text in quotes: `gbps = fast` (LOAD is fast)";
    assert_eq!(said("fast"), of_text);
    assert!(said("250").ends_with("(LOAD is 250)"), "{}", said("250"));
}
