//! When a switch with timers ends.

use forebay_daemon::{Daemon, OwnPoll, Running, Start};
use forebay_packet::{MemoryPort, Port, TimerPort};
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_switch::{Activity, SharingConfig, Switch};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sends every packet to a port that is not there.
const PROGRAM: &str = r#"
    #include <core.p4>
    #include <v1model.p4>
    struct headers { }
    struct metadata { }
    parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) { state start { transition accept; } }
    control C(inout headers h, inout metadata m) { apply { } }
    control I(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { s.egress_spec = 9; } }
    control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in headers h) { apply { } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
"#;

/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn timer() -> Box<dyn Port> {
    Box::new(TimerPort::new("timer", 1_000_000, 4))
}

fn start(workers: usize, ports: Vec<Box<dyn Port>>) -> Running {
    let start = Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program");
    let sharing = SharingConfig {
        workers,
        ..SharingConfig::default()
    };
    let mut daemon = Daemon::new(start.pipeline, sharing);
    for (number, port) in (1..).zip(ports) {
        daemon.attach(number, port);
    }
    daemon.start().expect("the system gives threads")
}

fn wait_for_packets(running: &Running, count: u64) {
    let begin = Instant::now();
    while running.report().counters.received < count {
        assert!(begin.elapsed() < PATIENCE, "the timer brings packets");
        assert!(!running.wait(Duration::from_millis(1)), "the switch has ended");
    }
}

#[test]
fn a_switch_whose_only_ports_are_timers_runs_on() {
    for workers in [1, 2] {
        let running = start(workers, vec![timer()]);
        wait_for_packets(&running, 8);
        let stopped = running.stop().expect("no worker fails");
        assert!(stopped.report.counters.received >= 8 + 4, "the last round has come too");
    }
}

/// Polls a switch every other time, as one whose ports deliver by turns does for a port.
#[derive(Default)]
struct EveryOther {
    is_its_turn: bool,
}

impl OwnPoll for EveryOther {
    fn poll(&mut self, switch: &mut Switch, now_ns: u64) -> Activity {
        self.is_its_turn = !self.is_its_turn;
        if self.is_its_turn {
            Activity::default()
        } else {
            switch.poll(now_ns, &mut NoTrace)
        }
    }

    fn replace(&mut self, switch: &mut Switch, pipeline: Arc<Pipeline>, now_ns: u64) {
        switch.replace_pipeline(pipeline, now_ns, &mut NoTrace);
    }
}

#[test]
fn the_last_round_comes_by_polls_of_another_sort_too() {
    let start = Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program");
    let mut daemon = Daemon::new(start.pipeline, SharingConfig::default());
    daemon.attach(1, Box::new(TimerPort::new("timer", 3_600_000_000_000, 4)));
    daemon.poll_by(Box::new(EveryOther::default()));
    let running = daemon.start().expect("the system gives threads");
    let stopped = running.stop().expect("no worker fails");
    assert_eq!(stopped.report.counters.received, 4);
}

#[test]
fn ports_that_never_have_input_do_not_end_it() {
    for workers in [1, 2] {
        let loopback = Box::new(MemoryPort::loopback("loopback", 64));
        let running = start(workers, vec![timer(), loopback]);
        wait_for_packets(&running, 8);
        running.stop().expect("no worker fails");
    }
}

#[test]
fn it_ends_with_the_input_of_its_other_ports() {
    for workers in [1, 2] {
        let (port, mut sender) = MemoryPort::pair("port", "sender", 64);
        let running = start(workers, vec![timer(), Box::new(port)]);
        wait_for_packets(&running, 1);
        sender.inject(&[0xab; 60]);
        drop(sender);
        let begin = Instant::now();
        while !running.wait(Duration::from_millis(10)) {
            assert!(begin.elapsed() < PATIENCE, "the switch ends: {workers} workers");
        }
        running.stop().expect("no worker fails");
    }
}
