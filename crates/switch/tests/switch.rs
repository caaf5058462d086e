//! The switch around a program whose packets say what shall happen to them (`operations.ir`).

use forebay_packet::{MemoryPort, PortState};
use forebay_pipeline::{CloneSession, DropReason, NoTrace, Options, Pipeline, Replica};
use forebay_switch::{Config, Settled, Switch};
use proptest::prelude::*;
use std::sync::Arc;

/// Ports of the switch under test: 0 to 3.
const PORTS: u32 = 4;

/// A switch with four ports, two multicast groups and two clone sessions, and the other ends of its ports.
struct Bench {
    switch: Switch,
    far_ends: Vec<MemoryPort>,
}

impl Bench {
    fn new(config: Config) -> Bench {
        let program = forebay_ir::text::read(include_str!("operations.ir")).expect("a program");
        assert_eq!(forebay_ir::verify::verify(&program), []);
        let options = Options {
            resubmit_limit: 3,
            recirculate_limit: 5,
            ..Options::default()
        };
        let pipeline = Arc::new(Pipeline::load_with(program, options).expect("a pipeline"));
        configure_replication(&pipeline);
        let mut switch = Switch::new(pipeline, config);
        let far_ends = (0..PORTS).map(|number| {
            let (near, far) = MemoryPort::pair(&format!("port{number}"), "outside", 4096);
            switch.attach(number, Box::new(near));
            far
        });
        let far_ends = far_ends.collect();
        Bench { switch, far_ends }
    }

    fn send(&mut self, port: usize, frame: &[u8]) {
        assert!(self.far_ends[port].inject(frame));
    }

    fn settle(&mut self) {
        assert_eq!(self.switch.settle(0, 1000, &mut NoTrace), Settled::Idle);
    }

    fn sent_by(&mut self, port: usize) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.far_ends[port].extract()).collect()
    }

    /// Drops of packets that existed; a clone or a digest that was refused never did.
    fn dropped_packets(&self) -> u64 {
        let never_made = [
            DropReason::NoCloneSession,
            DropReason::CloneLimit,
            DropReason::DigestLimit,
        ];
        let drops = self.switch.pipeline().drops().nonzero();
        drops
            .iter()
            .filter(|(reason, _)| !never_made.contains(reason))
            .map(|(_, count)| count)
            .sum()
    }

    fn drops(&self, reason: DropReason) -> u64 {
        self.switch.pipeline().drops().get(reason)
    }
}

/// Group 1 has three copies, group 2 one to a port that does not exist; session 1 goes to port 2, session 2 is cut to
/// three bytes and goes to two ports.
fn configure_replication(pipeline: &Pipeline) {
    let replica = |egress_port, instance| Replica { egress_port, instance };
    pipeline
        .set_multicast_group(1, &[replica(0, 0), replica(2, 1), replica(3, 2)])
        .expect("a group");
    pipeline.set_multicast_group(2, &[replica(77, 0)]).expect("a group");
    pipeline
        .set_clone_session(1, CloneSession::to_port(2))
        .expect("a session");
    let cut = CloneSession {
        replicas: vec![replica(0, 0), replica(3, 0)],
        packet_length_bytes: Some(3),
    };
    pipeline.set_clone_session(2, cut).expect("a session");
}

#[test]
fn a_packet_goes_where_it_wants() {
    let mut bench = Bench::new(Config::default());
    bench.send(0, &[0, 3, 9, 9]);
    bench.settle();
    assert_eq!(bench.sent_by(3), [[0, 3, 9, 9]]);
    let ports = bench.switch.ports();
    assert_eq!(
        (ports[0].counters.received_packets, ports[0].counters.received_bytes),
        (1, 4)
    );
    assert_eq!((ports[3].counters.sent_packets, ports[3].counters.sent_bytes), (1, 4));
    assert_eq!((ports[3].number, ports[3].state), (3, PortState::Up));
}

#[test]
fn copies_of_a_multicast_group() {
    let mut bench = Bench::new(Config::default());
    bench.send(1, &[2, 1, 7]);
    bench.settle();
    for port in [0, 2, 3] {
        assert_eq!(bench.sent_by(port), [[2, 1, 7]], "port {port}");
    }
    assert_eq!(bench.switch.counters().copies, 2);
}

#[test]
fn clones_from_ingress_and_egress() {
    let mut bench = Bench::new(Config::default());
    bench.send(0, &[3, 1, 7, 8]);
    bench.send(0, &[4, 2, 7, 8]);
    bench.settle();
    assert_eq!(bench.sent_by(1), [[3, 1, 7, 8], [4, 2, 7, 8]]);
    assert_eq!(bench.sent_by(2), [[3, 1, 7, 8]]);
    assert_eq!(bench.sent_by(0), [[4, 2, 7]], "cut to three bytes");
    assert_eq!(bench.sent_by(3), [[4, 2, 7]]);
}

#[test]
fn every_drop_has_a_name_and_a_port() {
    let mut bench = Bench::new(Config::default());
    for frame in [[1, 0], [8, 2], [0, 77], [2, 2], [2, 9], [3, 9], [5, 0], [6, 0]] {
        bench.send(0, &frame);
    }
    bench.settle();
    for (reason, count) in [
        (DropReason::IngressDrop, 1),
        (DropReason::EgressDrop, 1),
        (DropReason::NoSuchPort, 2),
        (DropReason::NoMulticastMember, 1),
        (DropReason::NoCloneSession, 1),
        (DropReason::ResubmitLimit, 1),
        (DropReason::RecirculateLimit, 1),
    ] {
        assert_eq!(bench.drops(reason), count, "{reason}");
    }
    let ports = bench.switch.ports();
    assert!(
        ports[0].drops.contains(&("ingress_drop".to_string(), 1)),
        "{:?}",
        ports[0].drops
    );
    assert_eq!(ports[2].drops, [("egress_drop".to_string(), 1)]);
    assert_eq!(bench.switch.counters().in_flight(), 0);
}

#[test]
fn a_full_queue_drops_its_tail() {
    let mut bench = Bench::new(Config {
        queue_capacity: 4,
        ..Config::default()
    });
    for byte in 0..10 {
        bench.send(0, &[0, 1, byte]);
    }
    bench.settle();
    let sent: Vec<u8> = bench.sent_by(1).iter().map(|frame| frame[2]).collect();
    assert_eq!(sent, [0, 1, 2, 3], "the last are dropped");
    assert_eq!(bench.drops(DropReason::QueueFull), 6);
    assert_eq!(bench.switch.ports()[1].drops, [("queue_full".to_string(), 6)]);
}

#[test]
fn the_more_urgent_leave_first() {
    let mut bench = Bench::new(Config::default());
    for priority in [0, 3, 7, 3] {
        bench.send(0, &[9, priority]);
    }
    bench.settle();
    let sent: Vec<u8> = bench.sent_by(1).iter().map(|frame| frame[1]).collect();
    assert_eq!(sent, [7, 3, 3, 0]);
}

#[test]
fn a_loopback_port_gives_back() {
    let mut bench = Bench::new(Config::default());
    bench.switch.attach(9, Box::new(MemoryPort::loopback("loop", 8)));
    bench.send(0, &[0, 9]);
    assert_eq!(
        bench.switch.settle(0, 50, &mut NoTrace),
        Settled::Busy,
        "it goes round for ever"
    );
    assert!(bench.switch.counters().received > 10);
}

#[test]
fn a_port_that_cannot_take_more_is_a_counted_drop() {
    let mut bench = Bench::new(Config::default());
    let (near, _far) = MemoryPort::pair("small", "outside", 2);
    bench.switch.attach(1, Box::new(near));
    for _ in 0..5 {
        bench.send(0, &[0, 1]);
    }
    bench.settle();
    assert_eq!(bench.drops(DropReason::PortError), 3);
    assert_eq!(bench.switch.counters().transmitted, 2);
    assert_eq!(bench.switch.counters().dropped, 3);
}

proptest! {
    /// Whatever comes, every packet is sent, dropped for a reason, or still inside, and the same packets give the same
    /// result again.
    #[test]
    fn nothing_is_lost_without_a_name(
        frames in proptest::collection::vec((0..PORTS as usize, proptest::collection::vec(0u8..12, 0..6)), 0..100),
        queue_capacity in 1usize..20,
        loop_capacity in 1usize..20,
        breaths in 1u32..20,
    ) {
        let config = Config { queue_capacity, loop_capacity, burst: 8, ..Config::default() };
        let mut results = Vec::new();
        for _ in 0..2 {
            let mut bench = Bench::new(config);
            for (port, frame) in &frames {
                bench.send(*port, frame);
            }
            bench.switch.settle(0, breaths, &mut NoTrace);
            let early = bench.switch.counters();
            prop_assert!(early.in_flight() <= frames.len() as u64 * 3);
            bench.settle();
            let end = bench.switch.counters();
            let dropped = bench.dropped_packets();
            prop_assert_eq!(end.in_flight(), 0);
            prop_assert_eq!(end.received, frames.len() as u64);
            prop_assert_eq!(end.dropped, dropped);
            let sent: Vec<_> = (0..PORTS as usize).map(|port| bench.sent_by(port)).collect();
            prop_assert_eq!(end.transmitted, sent.iter().map(|frames| frames.len() as u64).sum::<u64>());
            results.push((end, sent));
        }
        prop_assert_eq!(&results[0], &results[1]);
    }
}
