//! Two interfaces that are joined, such as the ends of a veth pair in a network namespace:
//!
//! ```sh
//! ip netns add tester && ip -n tester link add va type veth peer name vb
//! ip -n tester link set va up && ip -n tester link set vb up
//! TESTER_INTERFACES=1@va,2@vb ip netns exec tester cargo test -p forebay-tester --test interfaces -- --ignored --nocapture
//! ```

mod support;

use forebay_tester::impairment::Delay;
use forebay_tester::{Overrides, Session, Silent, Test, report};
use std::process::Command;
use std::time::Duration;
use support::{FAULTS, Repository, assert_counted_exactly, kolmogorov};

fn text(more: &str, rate: &str) -> String {
    format!(
        "description = \"a cable\"\nseed = 5\nduration_s = 2\ndrain_s = 2\ndisturbance_us = 1e6\nwarm_up_s = 0.2\nsample_s = 0\n[device]\nwire = true\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\n{rate}\nframe = {{ udp = {{ bytes = 60 }} }}\n{more}"
    )
}

/// The test of a text between the interfaces.
fn read(text: &str) -> Test {
    let named = std::env::var("TESTER_INTERFACES").expect("TESTER_INTERFACES names two interfaces that are joined");
    read_at(text, &named)
}

fn read_at(text: &str, named: &str) -> Test {
    let overrides = Overrides {
        interfaces: named.split(',').map(str::to_string).collect(),
        ..Overrides::default()
    };
    Test::read(text, &Repository, &overrides).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn measured(more: &str, rate: &str) -> forebay_tester::Results {
    run(&text(more, rate))
}

fn run(text: &str) -> forebay_tester::Results {
    let test = read(text);
    let mut session = Session::open(&test).unwrap_or_else(|error| panic!("{error}"));
    let results = session.run(&mut Silent).unwrap_or_else(|error| panic!("{error}"));
    println!("{}", report::text(&results));
    results
}

#[test]
#[ignore = "interfaces named by TESTER_INTERFACES"]
fn nothing_is_lost_on_a_cable() {
    let found = measured("", "pps = 20_000");
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!((path.lost, path.duplicated, path.reordering.reordered), (0, 0, 0));
}

#[test]
#[ignore = "interfaces named by TESTER_INTERFACES"]
fn a_known_delay_is_found_on_a_cable() {
    let found = measured(
        "[[impairment]]\nport = 2\ndelay = { constant_us = 1000 }",
        "pps = 5_000",
    );
    let path = &found.trials[0].streams[0].paths[0];
    assert!(path.latency_all.min_ns >= 1_000_000, "{}", path.latency_all.min_ns);
    assert_eq!(path.lost, 0);
}

/// Before any traffic, and with what to do.
#[test]
#[ignore = "interfaces named by TESTER_INTERFACES, with an MTU of less than 8,986"]
fn frames_that_an_interface_does_not_take_are_refused() {
    let test = read(&text("", "pps = 1000").replace("bytes = 60", "bytes = [60, 9000]"));
    let mut session = Session::open(&test).unwrap_or_else(|error| panic!("{error}"));
    let refused = |said: Result<forebay_tester::Results, String>| {
        let error = said.expect_err("too long");
        assert!(error.starts_with("a: frames of 9000 bytes are too long"), "{error}");
        assert!(error.contains(" mtu 8986`"), "{error}");
    };
    refused(session.run(&mut Silent));
    refused(session.search(&mut Silent));
    let told = test.lengths_fit(&test.streams).expect_err("too long");
    assert!(told.to_string().starts_with("11: a: frames of 9000 bytes"), "{told}");
    let sizes = read(&text("[search]\nframe_bytes = [60, 9000]", "pps = 1000"));
    let told = sizes.rfc2544_lengths_fit().expect_err("too long");
    assert!(told.to_string().starts_with("11: a: frames of 9000 bytes"), "{told}");
}

/// The table of a bridge has the length of its frames, so it is refused where it is read.
#[test]
#[ignore = "run by `frames_beyond_the_mtu_are_refused`"]
fn a_bridge_gets_no_frames_that_an_interface_does_not_take() {
    let bridge = "description = \"a bridge\"\nduration_s = 1\n[device]\ninterfaces = [\"1@va\", \"2@vb\", \"3@lo\"]\n[rfc2889]\n\
                  learning_port = 1\ntest_port = 2\nmonitoring_port = 3\naddresses_max = 10\nlearning_pps = 1000\npps_max = 1000\n";
    let read = |text: &str| Test::read(text, &Repository, &Overrides::default());
    assert!(read(bridge).is_ok());
    let problems = read(&format!("{bridge}frame_bytes = 1600\n")).err().expect("too long");
    let told = problems[0].to_string();
    assert!(
        told.starts_with("12: frames of 1600 bytes are too long for the interface va"),
        "{told}"
    );
}

/// As root: what an interface does not take is refused before any traffic, with its line.
#[test]
fn frames_beyond_the_mtu_are_refused() {
    let Some(namespace) = Namespace::new("mtu") else { return };
    assert!(namespace.ip("link set vb up"));
    assert!(namespace.runs("frames_that_an_interface_does_not_take_are_refused"));
    assert!(namespace.runs("a_bridge_gets_no_frames_that_an_interface_does_not_take"));
}

/// As many frames as the interface takes: what is refused is no loss.
#[test]
#[ignore = "interfaces named by TESTER_INTERFACES"]
fn as_fast_as_possible() {
    let found = measured("", "pps = \"max\"");
    let stream = &found.trials[0].streams[0];
    println!(
        "{:.0} sent and {:.0} received a second",
        stream.sent_pps, stream.paths[0].received_pps
    );
    assert!(stream.sent > 0);
}

/// Ten million frames over the cable: what is done to them on purpose is counted exactly, as in memory. Frames that are due
/// in a pause of the machine may remain unsent, so it is repeated until as many were sent.
#[test]
#[ignore = "interfaces named by TESTER_INTERFACES; 10 million frames"]
fn what_is_injected_is_counted_exactly_on_a_cable() {
    let text = text(FAULTS, "pps = 200_000")
        .replace("duration_s = 2\n", "duration_s = 10\n")
        .replace("warm_up_s = 0.2", "warm_up_s = 0");
    let mut sent = 0;
    while sent < 10_000_000 {
        let found = run(&text);
        assert_counted_exactly(&found);
        sent += found.trials[0].streams[0].sent;
    }
    println!("{sent} frames");
}

/// Random delays are found with their distributions. They are long beside the pauses of a machine with other work,
/// during which nothing is sent or received; all frames count, from their real sending times. The distance from the own
/// distribution is mostly below 1.95, the 0.1 % point.
#[test]
#[ignore = "interfaces named by TESTER_INTERFACES"]
fn known_distributions_of_delay_are_found_on_a_cable() {
    const US: f64 = 1e3;
    let own = measured("", "pps = 2_000").trials[0].streams[0].paths[0]
        .device_latency
        .p50_ns;
    for (text, delay, other) in [
        (
            "uniform_us = [20000, 120000]",
            Delay::Uniform(20_000.0 * US, 120_000.0 * US),
            Delay::Exponential(70_000.0 * US),
        ),
        (
            "exponential_us = 80000",
            Delay::Exponential(80_000.0 * US),
            Delay::Uniform(0.0, 160_000.0 * US),
        ),
    ] {
        let found = measured(
            &format!("[[impairment]]\nport = 2\ndelay = {{ {text} }}"),
            "pps = 2_000",
        );
        let latency = &found.trials[0].streams[0].paths[0].device_latency;
        let (right, wrong) = (kolmogorov(latency, delay), kolmogorov(latency, other));
        println!(
            "{text}: {right:.2} from its own distribution, {wrong:.2} from another; median without delay {own} ns"
        );
        assert!(right < wrong / 2.0, "{text}: {right} {wrong}");
    }
}

/// Interfaces va, which is up, and vb in a network namespace, which ends with this.
struct Namespace(String);

impl Namespace {
    /// None without root, of which it says so.
    fn new(name: &str) -> Option<Namespace> {
        let name = format!("forebay-tester-{name}-{}", std::process::id());
        let added = Command::new("ip").args(["netns", "add", &name]).status();
        if !added.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: this test needs root to make network namespaces");
            return None;
        }
        let namespace = Namespace(name);
        assert!(namespace.ip("link add va type veth peer name vb") && namespace.ip("link set va up"));
        Some(namespace)
    }

    fn ip(&self, arguments: &str) -> bool {
        let words = ["-n", &self.0].into_iter().chain(arguments.split_whitespace());
        Command::new("ip")
            .args(words)
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Runs an ignored test of this file there.
    fn runs(&self, test: &str) -> bool {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.0])
            .arg(std::env::current_exe().expect("this test"));
        command
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("TESTER_INTERFACES", "1@va,2@vb");
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// As root: what an interface of the tester does not receive is no loss of the device, and may be taken for one.
#[test]
fn frames_that_are_too_long_to_come_back_are_doubted() {
    let Some(namespace) = Namespace::new("back") else {
        return;
    };
    for words in [
        "link add vc type veth peer name vd",
        "link set vd mtu 1000",
        "link add between type bridge",
        "link set vb master between",
        "link set vc master between",
        "link set vb up",
        "link set vc up",
        "link set vd up",
        "link set between up",
    ] {
        if !namespace.ip(words) {
            eprintln!("SKIPPED: this test needs bridges of the kernel");
            return;
        }
    }
    assert!(namespace.runs("doubted_as_too_long_to_come_back"));
}

#[test]
#[ignore = "run by `frames_that_are_too_long_to_come_back_are_doubted`"]
fn doubted_as_too_long_to_come_back() {
    let text = text("", "pps = 1000").replace("bytes = 60", "bytes = [60, 1400]");
    let test = read_at(&text, "1@packet:va,2@packet:vd");
    let mut session = Session::open(&test).unwrap_or_else(|error| panic!("{error}"));
    let found = session.run(&mut Silent).unwrap_or_else(|error| panic!("{error}"));
    let trial = &found.trials[0];
    let doubt = "a: frames of 1400 bytes are too long for the interface vd, whose MTU is 1000";
    assert!(trial.lost() > 0, "{}", report::text(&found));
    assert!(
        trial.doubts.iter().any(|told| told.starts_with(doubt)),
        "{:?}",
        trial.doubts
    );
}

/// As root: a tester whose peer is down ends before any traffic, and names the interface.
#[test]
fn an_interface_without_a_link_is_named() {
    let Some(namespace) = Namespace::new("named") else {
        return;
    };
    assert!(namespace.runs("refused_without_a_link"));
    assert!(namespace.ip("link set vb up"));
    assert!(namespace.runs("opened_with_a_link"));
}

/// As root: a link that is not there at once, as of a card that starts again when its program is loaded, is waited for.
#[test]
fn a_link_that_comes_up_is_waited_for() {
    let Some(namespace) = Namespace::new("up") else { return };
    assert!(namespace.runs("waits_for_a_link"));
}

#[test]
#[ignore = "run by `a_link_that_comes_up_is_waited_for`"]
fn waits_for_a_link() {
    for kind in ["xdp", "packet"] {
        let ip = |words: &[&str]| {
            Command::new("ip")
                .args(words)
                .status()
                .is_ok_and(|status| status.success())
        };
        assert!(ip(&["link", "set", "vb", "down"]));
        let up = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(800));
            ip(&["link", "set", "vb", "up"])
        });
        let test = read_at(&text("", "pps = 1"), &format!("1@{kind}:va,2@{kind}:vb"));
        assert_eq!(Session::open(&test).err(), None, "{kind}");
        assert!(up.join().expect("no panic"));
    }
}

/// As root: frames that cannot be sent are no loss, so a link that is lost in the middle of a trial is told by itself.
#[test]
fn a_link_that_is_lost_is_told() {
    let Some(namespace) = Namespace::new("lost") else {
        return;
    };
    assert!(namespace.ip("link set vb up"));
    assert!(namespace.runs("told_of_a_link_that_is_lost"));
}

#[test]
#[ignore = "run by `a_link_that_is_lost_is_told`"]
fn told_of_a_link_that_is_lost() {
    let cut = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(1200));
        Command::new("ip").args(["link", "set", "vb", "down"]).status()
    });
    let found = measured("", "pps = 1000");
    let trial = &found.trials[0];
    assert!(cut.join().expect("no panic").is_ok_and(|status| status.success()));
    assert!(
        !trial.lost_links.is_empty() && !trial.is_perfect(),
        "{:?}",
        trial.doubts
    );
    assert!(trial.doubts[0].starts_with("no link at port"), "{:?}", trial.doubts);
}

#[test]
#[ignore = "run by `an_interface_without_a_link_is_named`"]
fn refused_without_a_link() {
    let error = Session::open(&read(&text("", "pps = 1"))).err().expect("refused");
    assert!(
        error.starts_with("interface va (port 1) has no link: it is down, or what it is connected with is"),
        "{error}"
    );
}

#[test]
#[ignore = "run by `an_interface_without_a_link_is_named`"]
fn opened_with_a_link() {
    assert!(Session::open(&read(&text("", "pps = 1"))).is_ok());
}
