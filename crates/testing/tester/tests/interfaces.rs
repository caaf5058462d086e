//! Two interfaces that are joined, such as the ends of a veth pair in a network namespace:
//!
//! ```sh
//! ip netns add tester && ip -n tester link add va type veth peer name vb
//! ip -n tester link set va up && ip -n tester link set vb up
//! TESTER_INTERFACES=1@va,2@vb ip netns exec tester cargo test -p forebay-tester --test interfaces -- --ignored --nocapture
//! ```

mod support;

use forebay_tester::{Overrides, Session, Silent, Test, report};
use support::Repository;

fn measured(more: &str, rate: &str) -> forebay_tester::Results {
    let text = format!(
        "description = \"a cable\"\nseed = 5\nduration_s = 2\nwarm_up_s = 0.2\nsample_s = 0\n[device]\nwire = true\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\n{rate}\nframe = {{ udp = {{ bytes = 60 }} }}\n{more}"
    );
    let named = std::env::var("TESTER_INTERFACES").expect("TESTER_INTERFACES names two interfaces that are joined");
    let overrides = Overrides {
        interfaces: named.split(',').map(str::to_string).collect(),
        ..Overrides::default()
    };
    let test = Test::read(&text, &Repository, &overrides).unwrap_or_else(|problems| panic!("{problems:?}"));
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
