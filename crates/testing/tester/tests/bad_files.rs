//! Mistakes in test files: each is told with its line and what would be right, before anything is sent.

mod support;

use forebay_tester::{Overrides, Test};
use support::{Repository, problems};

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
    for (key, value) in [("destination_mac", "\"02:00:00:00:00:02\""), ("vlan", "7")] {
        let right = format!("it goes beside `udp` or `tcp`: frame = {{ udp = {{ bytes = 60 }}, {key} = {value} }}");
        wrong(
            "udp = { bytes = 60 }",
            &format!("udp = {{ bytes = 60, {key} = {value} }}"),
            &format!("11: there is no key `{key}` here; {right}"),
        );
        wrong("pps = 1000", &format!("pps = 1000\n{key} = {value}"), &right);
    }
    let program = "program = \"programs/l3fwd/l3fwd.p4\"";
    let including = format!("{program}\ninclude = [\"programs\"]");
    wrong(program, &including, "4: there are no folders for `include` here");
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

/// Tags have 34 bits for the number of a frame: a day of 198,841 frames a second.
#[test]
fn more_frames_than_tags_have_numbers() {
    let test = |pps: &str| {
        let text = GOOD
            .replace("duration_s = 1", "duration_s = 86_400")
            .replace("pps = 1000", pps);
        Test::read(&text, &Repository, &Overrides::default()).unwrap_or_else(|problems| panic!("{problems:?}"))
    };
    for pps in ["pps = 198_000", "pps = \"max\""] {
        assert!(test(pps).rates_fit().is_ok(), "{pps}");
    }
    let problem = test("pps = 200_000").rates_fit().expect_err("too many");
    let said = "17280000000 frames are due in a trial; a stream has at most 17179869183";
    assert!(problem.message.starts_with(said), "{problem}");
}

/// A search scales rates, and `max` is none.
#[test]
fn rates_that_no_search_changes() {
    let test = |text: &str| {
        Test::read(text, &Repository, &Overrides::default()).unwrap_or_else(|problems| panic!("{problems:?}"))
    };
    assert!(test(GOOD).rates_scale().is_ok());
    let problem = test(&GOOD.replace("pps = 1000", "pps = \"max\""))
        .rates_scale()
        .expect_err("no rate");
    assert!(
        problem
            .to_string()
            .starts_with("7: a search changes the rates of all streams"),
        "{problem}"
    );
}

#[test]
fn frames() {
    wrong(
        "bytes = 60",
        "bytes = 30",
        "11: a frame of 30 bytes; with these headers and the tag of 18 bytes it has 60 to 9214",
    );
    for seed in 0..4 {
        let range = GOOD
            .replace("bytes = 60", "bytes = { from = 58, to = 9000 }")
            .replace("duration_s = 1", &format!("duration_s = 1\nseed = {seed}"));
        let found = problems(&range);
        assert!(
            found.contains("12: a frame of 58 bytes; with these headers"),
            "{seed}: {found}"
        );
    }
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
        "{ udp = { bytes = 60 }, source_mac = \"+2:00:00:00:00:01\" }",
        "11: \"+2:00:00:00:00:01\" is no MAC address",
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
fn metrics_without_a_switch_between_interfaces() {
    let overrides = Overrides {
        metrics: Some("127.0.0.1:9100".to_string()),
        ..Overrides::default()
    };
    let found = Test::read(GOOD, &Repository, &overrides).err().unwrap_or_default();
    let expected =
        "3: --metrics are those of a switch between interfaces, and neither [device] nor --interface names any";
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
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
        "[device]\nmetrics = \"9100\"",
        "4: metrics are those of a switch between interfaces",
    );
    wrong(
        "[device]",
        "[device]\ninterfaces = [\"1@veth0\"]",
        "there is no interface for port 2",
    );
    wrong(
        "[[traffic]]",
        "[[impairment]]\nport = 9\n[[traffic]]",
        "7: no traffic uses port 9",
    );
    // Where the traffic goes is not known without the program.
    let unread = GOOD.replace("programs/l3fwd/l3fwd.p4", "nothing.p4");
    let found = problems(&unread.replace("[[traffic]]", "[[impairment]]\nport = 9\n[[traffic]]"));
    assert!(found.contains("4: ") && !found.contains("no traffic uses"), "{found}");
    wrong(
        "[[traffic]]",
        "[[impairment]]\nport = 2\nloss = 2\n[[traffic]]",
        "8: loss is 2; loss, duplication and reordering are shares from 0 to 1",
    );
    wrong("to = 2", "to = 900", "9: port 900: ports are 0 to 510");
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
        "11: a burst has 1 to 1048576 frames, not 0",
    );
    wrong(
        "pps = 1000",
        "pps = 1000\narrivals = { bursts = 32 }",
        "11: a table with the values of this kind, as in { NAME = { KEY = VALUE } }, is expected here, not 32",
    );
}

/// Of too many streams the first one that is not possible is named.
#[test]
fn too_many_streams() {
    let stream = |number: usize| {
        format!("[[traffic]]\nname = \"{number}\"\nfrom = 1\npps = 1\nframe = {{ udp = {{ bytes = 60 }} }}\n")
    };
    let with = |count: usize| problems(&(GOOD.to_string() + &(0..count).map(stream).collect::<String>()));
    assert_eq!(with(255), "");
    assert!(
        with(256).contains("1288: there are 257 streams; 256 are possible"),
        "{}",
        with(256)
    );
}

/// What could be meant and is not possible.
#[test]
fn values_that_do_nothing_or_too_much() {
    let burst = "pps = 1000\narrivals = { bursts = { frames = 4000000000 } }";
    wrong(
        "pps = 1000",
        burst,
        "11: a burst has 1 to 1048576 frames, not 4000000000",
    );
    wrong(
        "[device]",
        "[device]\nqueue_packets = 0",
        "4: queue_packets is 0; a port in memory holds at least 1",
    );
    wrong("name = \"a\"", "name = \" \"", "7: a stream has a name");
    wrong("name = \"a\"", "name = \"a\\n\"", "7: the name of a stream is one line");
    let flows = "pps = 1000\nflows = { count = 70_000, vary = \"source-port\" }";
    wrong(
        "pps = 1000",
        flows,
        "11: 70000 flows that differ in a port; it has 65536 values",
    );
    let impairment = "[[impairment]]\nport = 2\nreordering = 0.1\nreordering_by = 0\n[[traffic]]";
    wrong("[[traffic]]", impairment, "9: reordering_by is 0");
    let misses = "pps = 1000\nflows = { entries = \"ipv4_lpm\", misses = 0.999999999 }";
    wrong(
        "pps = 1000",
        misses,
        "with 2 entries and a share of misses of 0.999999999, each entry is hit once in 2000000",
    );
    let vary = "pps = 1000\nflows = { entries = \"ipv4_lpm\", vary = \"source\" }";
    wrong(
        "pps = 1000",
        vary,
        "11: flows from entries differ in what the table matches",
    );
    wrong(
        "udp = { bytes = 60 }",
        "hex = { headers = \"ffffffffffff0200000000010800\", bytes = 60 }, vlan = 5",
        "11: source_mac, destination_mac, vlan and priority go with udp and tcp",
    );
    let shape = "pps = \"max\"\nshape = { on_s = 0.1, off_s = 0.4 }";
    wrong("pps = 1000", shape, "11: shape goes with a rate");
    let poisson = "pps = \"max\"\narrivals = \"poisson\"";
    wrong("pps = 1000", poisson, "11: arrivals go with a rate");
    let slow = "10: a rate is at least 0.001 frames a second; pps counts single frames, not millions";
    wrong("pps = 1000", "pps = 1e-6", slow);
    wrong(
        "pps = 1000",
        "gbps = 1e-20",
        "10: a rate is at least 0.001 frames a second",
    );
    let late = "[[impairment]]\nport = 2\ndelay = { constant_us = 1e308 }\n[[traffic]]";
    wrong("[[traffic]]", late, "8: a delay is at most 86400000000 us (a day)");
    wrong(
        "duration_s = 1",
        "duration_s = 1e-12",
        "2: duration_s is 1e-12; it must be more than 0",
    );
    wrong(
        "duration_s = 1",
        "duration_s = 1\nwarm_up_s = 1e308",
        "3: warm_up_s is 1e308; it is 0 to 86400",
    );
    wrong(
        "[device]",
        "[device]\nwire = true",
        "4: [device] has a wire and a program; leave one out",
    );
    wrong(
        "[device]",
        "[device]\ninterfaces = [\"1@lo\"]\nchip = \"tofino\"",
        "5: [device] has interfaces and a chip; leave one out, or write --chip on the command line",
    );
    wrong(
        "program = \"programs/l3fwd/l3fwd.p4\"\nentries = [\"programs/l3fwd/entries.stf\"]",
        "wire = true\nchip = \"tofino\"",
        "4: [device] has a wire and a chip; leave one out",
    );
    wrong(
        "[device]",
        "[device]\ninterfaces = []",
        "4: interfaces is empty; name one for each port",
    );
    wrong(
        "pps = 1000",
        "pps = 1000\narrivals = \"bursts\"",
        "11: a table with the values of this kind, as in { NAME = { KEY = VALUE } }, is expected here",
    );
    let goal = "frame = { udp = { bytes = 60 } }\n[search]\nduration_scale = 2";
    wrong(
        "frame = { udp = { bytes = 60 } }",
        goal,
        "13: duration_scale is 2; it must be more than 0",
    );
    let port = "a whole number from 0 to 65535 is expected here, not 70000";
    wrong("bytes = 60", "bytes = 60, source_port = 70000", port);
}

#[test]
fn rates_are_limited_in_frames_and_in_bits() {
    wrong("pps = 1000", "pps = 1e10", "10: a rate is at most 10^9 frames a second");
    wrong(
        "pps = 1000",
        "gbps = 700",
        "10: a rate is at most 10^9 frames a second; these are 1.042e9",
    );
    wrong(
        "pps = 1000",
        "gbps = 20_000",
        "10: 20000 Gbps; a rate is at most 10000 Gbps",
    );
    assert_eq!(
        problems(
            &GOOD
                .replace("pps = 1000", "gbps = 670")
                .replace("bytes = 60", "bytes = 1514")
        ),
        ""
    );
}

#[test]
fn numbers_of_searches() {
    let search = |keys: &str| format!("frame = {{ udp = {{ bytes = 60 }} }}\n[search]\n{keys}");
    let frame = "frame = { udp = { bytes = 60 } }";
    for (keys, expected) in [
        ("time_limit_s = -1", "13: time_limit_s is -1; it must be more than 0"),
        (
            "max_pps = nan",
            "13: max_pps is NaN; it must be more than 0 (at least 0.001), and at most 10^9",
        ),
        (
            "min_pps = 10\nmax_pps = 5",
            "13: min_pps is 10; it must be less than max_pps, which is 5",
        ),
        (
            "min_pps = 2000",
            "13: min_pps is 2000; it must be less than the sum of the rates of all streams, which is 1000",
        ),
        (
            "frame_bytes = [60, 10]",
            "13: a: a frame of 10 bytes; with these headers and the tag of 18 bytes it has 60 to",
        ),
    ] {
        wrong(frame, &search(keys), expected);
    }
}

#[test]
fn interfaces_and_entries_have_their_lines() {
    let interfaces = "[device]\ninterfaces = [\"1@nosuch0\",\n\"2@nosuch1\"]";
    wrong("[device]", interfaces, "4: there is no interface `nosuch0` here");
    wrong("[device]", interfaces, "5: there is no interface `nosuch1` here");
    let commands = "[device]\ncommands = \"add nothing x:1 y()\"";
    wrong(
        "[device]",
        commands,
        "4: commands, line 1: the entries do not suit programs/l3fwd/l3fwd.p4",
    );
}

#[test]
fn widths_that_no_search_reaches() {
    for width in ["0", "1e-300", "1"] {
        let text = format!("{GOOD}[search]\ngoals = [{{ name = \"a\", width = {width} }}]\nmax_pps = 1000\n");
        let said = problems(&text);
        assert!(said.contains("width is at least 0.000001"), "{said}");
    }
}

/// Results of goals are told apart by their names, those of RFC 2544 by the lengths of the frames.
#[test]
fn a_goal_is_searched_once() {
    let search = |goals: &str| format!("{GOOD}[search]\ngoals = {goals}\nmax_pps = 1000\n");
    for goals in ["[\"ndr\", \"ndr\"]", "[\"csit\", \"ndr\"]"] {
        let said = problems(&search(goals));
        assert!(
            said.contains("13: the goal \"ndr\" is there already; leave one out"),
            "{said}"
        );
    }
    assert_eq!(problems(&search("[\"ndr\", \"pdr\"]")), "");
    let said = problems(&search("[{ name = \" \" }]"));
    assert!(
        said.contains("13: a goal has a name, by which results call it"),
        "{said}"
    );
    let said = problems(&search("[{ name = \"a\\tb\" }]"));
    assert!(said.contains("13: the name of a goal is one line"), "{said}");
    let sizes = problems(&format!("{GOOD}[search]\nframe_bytes = [60, 128, 60]\n"));
    assert!(
        sizes.contains("13: frame_bytes has 60 already; leave one out"),
        "{sizes}"
    );
}

/// A table of which there may be several, and one of which there is one, written as the other.
#[test]
fn headers_of_tables() {
    wrong(
        "[[traffic]]",
        "[traffic]",
        "6: write [[traffic]]: a file may have several of these tables",
    );
    let impairment = "[impairment]\nport = 2\n[[traffic]]";
    wrong(
        "[[traffic]]",
        impairment,
        "6: write [[impairment]]: a file may have several",
    );
    wrong("[device]", "[[device]]", "3: write [device]: a file has one such table");
    let search = "[[search]]\nmax_pps = 5\n[[traffic]]";
    wrong("[[traffic]]", search, "6: write [search]: a file has one such table");
}

/// Where two numbers are wanted, a third would be passed over.
#[test]
fn lists_of_two() {
    for shape in ["ramp = [[0, 1], [1, 2, 3]]", "steps = [[0, 1, 3]]"] {
        let shape = format!("pps = 1000\nshape = {{ {shape} }}");
        wrong(
            "pps = 1000",
            &shape,
            "11: a list of two values is expected here, not 3 of them",
        );
    }
    let delay = |values: &str| format!("[[impairment]]\nport = 2\ndelay = {{ uniform_us = {values} }}\n[[traffic]]");
    let one = "8: a list of two values is expected here, not one";
    wrong("[[traffic]]", &delay("[10]"), one);
    wrong("[[traffic]]", &delay("[10, 20, 30, 40]"), "not 4 of them");
    wrong(
        "[[traffic]]",
        &delay("10"),
        "8: a list of two values is expected here, not 10",
    );
}

#[test]
fn an_exponent_is_of_zipf_alone() {
    wrong(
        "pps = 1000",
        "pps = 1000\nflows = { count = 10, exponent = 1.5 }",
        "11: exponent goes with order = \"zipf\"",
    );
    let flows = "pps = 1000\nflows = { count = 10, order = \"zipf\" }";
    assert_eq!(problems(&GOOD.replace("pps = 1000", flows)), "");
}

/// A mistake of the command line is no mistake of a line of the file.
#[test]
fn mistakes_of_the_command_line_have_no_line() {
    let read = |text: &str, overrides: &Overrides| match Test::read(text, &Repository, overrides) {
        Ok(_) => String::new(),
        Err(problems) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    };
    let text = GOOD.replace("[device]", "[device]\ninterfaces = [\"1@lo\", \"2@lo\"]");
    for interface in ["2@nosuchif", "nosuchif"] {
        let overrides = Overrides {
            interfaces: vec!["1@lo".to_string(), interface.to_string()],
            ..Overrides::default()
        };
        let said = read(&text, &overrides);
        assert!(said.starts_with(&format!(" --interface {interface}: ")), "{said}");
    }
    let wire = "description = \"x\"\nduration_s = 1\n[device]\nwire = true\n[[traffic]]\nname = \"a\"\nfrom = 1\npps = 1\n\
                frame = { udp = { bytes = 60 } }\n";
    let overrides = Overrides {
        chip: Some("tofino".to_string()),
        ..Overrides::default()
    };
    let said = read(wire, &overrides);
    assert!(
        said.contains("3: --chip runs the program of the file on a chip, and [device] has none"),
        "{said}"
    );
}

/// What comes back from a switch between interfaces is compared with what its program sends, and entries are those of a
/// program.
#[test]
fn what_needs_a_program_is_told_without_one() {
    let program = "program = \"programs/l3fwd/l3fwd.p4\"\nentries = [\"programs/l3fwd/entries.stf\"]";
    let bare = "interfaces = [\"1@lo\", \"2@lo\"]\ncheck = true";
    wrong(program, bare, "5: check compares with what a program sends");
    let program = "program = \"programs/l3fwd/l3fwd.p4\"\n";
    wrong(
        program,
        "wire = true\n",
        "5: entries are those of a program, and [device] has none",
    );
}
