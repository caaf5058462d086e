//! The switch around a program whose packets contain the operations to perform (`operations.ir`).

use forebay_packet::{Burst, MemoryPort, Port, PortCounters, PortError, PortState};
use forebay_pipeline::{CloneSession, DropReason, Engine, NoTrace, Options, Pipeline, Replica, SlowReason};
use forebay_switch::{Config, QueueChange, QueueLimit, QueueReport, Service, Settled, Switch};
use proptest::prelude::*;
use std::num::NonZeroU64;
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
        Bench::with_engine(Engine::Interpreter, config)
    }

    fn with_engine(engine: Engine, config: Config) -> Bench {
        let program = forebay_ir::text::read(include_str!("operations.ir")).expect("a program");
        assert_eq!(forebay_ir::verify::verify(&program), []);
        let options = Options {
            engine,
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

    /// Drops of packets that existed. A refused clone or digest never did.
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

/// Group 1 has three copies, group 2 one copy to a port that does not exist. Session 1 goes to port 2; session 2 is
/// cut to three bytes and goes to two ports.
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
        class_of_service: 0,
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

/// A change of many things at once waits for packets in transit: here it is made on the switch's own thread.
#[test]
fn nobody_waits_for_a_switch_that_stays_pinned_once_nothing_moves() {
    let mut bench = Bench::new(Config::default());
    bench.switch.stay_pinned(true);
    for round in 0..3 {
        bench.send(0, &[0, 1, 7]);
        bench.settle();
        assert_eq!(bench.sent_by(1), [[0, 1, 7]], "round {round}");
        let pipeline = Arc::clone(bench.switch.pipeline());
        let written = pipeline.atomically(|batch| batch.set_multicast_group(1, &[]));
        written.expect("a group");
        // The replaced program and its tables are dropped.
        if round == 1 {
            let next = Pipeline::load(pipeline.program().clone()).expect("it was loaded before");
            drop(pipeline);
            bench.switch.replace_pipeline(Arc::new(next), 0, &mut NoTrace);
        }
    }
}

/// Otherwise the switch would wait for its own pin for ever.
#[test]
fn a_program_may_be_replaced_by_itself_while_packets_move() {
    let mut bench = Bench::new(Config::default());
    bench.switch.stay_pinned(true);
    bench.send(0, &[0, 1, 7]);
    assert!(!bench.switch.poll(0, &mut NoTrace).is_idle());
    let pipeline = Arc::clone(bench.switch.pipeline());
    bench.switch.replace_pipeline(pipeline, 0, &mut NoTrace);
    bench.send(0, &[0, 1, 8]);
    bench.settle();
    assert_eq!(bench.sent_by(1), [[0, 1, 7], [0, 1, 8]]);
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
    assert!(
        ports[0].drops.contains(&("no_such_port".to_string(), 2)),
        "the port of arrival answers for one that is not attached: {:?}",
        ports[0].drops
    );
    assert_eq!(ports[2].drops, [("egress_drop".to_string(), 1)]);
    assert_eq!(bench.switch.counters().in_flight(), 0);
}

/// On the fast path, too.
#[test]
fn a_drop_in_egress_is_listed_at_the_port_of_the_packet() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let mut bench = Bench::with_engine(engine, Config::default());
        for frame in [[8, 2], [8, 1], [0, 1], [8, 2]] {
            bench.send(0, &frame);
        }
        bench.settle();
        let ports = bench.switch.ports();
        for (port, count) in [(1, 1), (2, 2)] {
            let expected = [("egress_drop".to_string(), count)];
            assert_eq!(ports[port].drops, expected, "{engine:?}");
        }
        assert!(ports[0].drops.is_empty(), "{engine:?}");
    }
}

#[test]
fn a_full_queue_drops_its_tail() {
    let config = Config {
        queue_capacity: 4,
        ..Config::default()
    };
    let mut bench = narrow(config, 2);
    for byte in 0..10 {
        bench.send(0, &[0, 1, byte]);
    }
    bench.settle();
    assert_eq!(bench.drops(DropReason::QueueFull), 4);
    assert_eq!(bench.switch.ports()[1].drops, [("queue_full".to_string(), 4)]);
    let sent: Vec<u8> = all_sent(&mut bench).iter().map(|frame| frame[2]).collect();
    assert_eq!(sent, [0, 1, 2, 3, 4, 5], "the last are dropped");
}

fn limit(port: Option<u32>, queue: Option<usize>, limit: QueueLimit) -> QueueChange {
    QueueChange { port, queue, limit }
}

#[test]
fn a_queue_that_is_made_smaller_drops_what_comes() {
    let mut bench = narrow(Config::default(), 2);
    bench
        .switch
        .change_queues(limit(Some(1), Some(0), QueueLimit::Packets(3)));
    for byte in 0..10 {
        bench.send(0, &[0, 1, byte]);
    }
    bench.settle();
    assert_eq!(bench.drops(DropReason::QueueFull), 5);
    let capacities: Vec<usize> = bench.switch.queues().iter().map(|queue| queue.capacity).collect();
    assert_eq!(
        capacities.iter().filter(|capacity| **capacity == 3).count(),
        1,
        "{capacities:?}"
    );
}

/// On the fast path too, where packets pass queues without a look at them.
#[test]
fn a_queue_without_a_place_takes_nothing() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let mut bench = Bench::with_engine(engine, Config::default());
        bench.switch.change_queues(limit(Some(1), None, QueueLimit::Packets(0)));
        for port in [1, 2, 1] {
            bench.send(0, &[0, port, 7]);
        }
        bench.settle();
        assert_eq!(bench.drops(DropReason::QueueFull), 2, "{engine:?}");
        assert_eq!((bench.sent_by(1).len(), bench.sent_by(2).len()), (0, 1), "{engine:?}");
    }
}

/// What leaves by port 1 until this time: the second byte of each frame.
fn sent_until(bench: &mut Bench, now_us: u64) -> Vec<u8> {
    while !bench.switch.poll(now_us * 1_000, &mut NoTrace).is_idle() {}
    bench.sent_by(1).iter().map(|frame| frame[1]).collect()
}

/// Ten packets per millisecond: the first leaves at once, and one more after each tenth of a millisecond.
#[test]
fn a_queue_with_a_rate_sends_its_packets_apart() {
    let mut bench = narrow(Config::default(), 100);
    let rate = QueueLimit::PacketsPerSecond(NonZeroU64::new(10_000));
    bench.switch.change_queues(limit(None, None, rate));
    for byte in 0..6 {
        bench.send(0, &[0, 1, byte]);
    }
    let sent = [0, 99, 100, 199, 350, 1_000].map(|now_us| sent_until(&mut bench, now_us).len());
    assert_eq!(sent, [1, 0, 1, 0, 2, 2], "what was due and late leaves together");
    bench.send(0, &[0, 1, 9]);
    bench.send(0, &[0, 1, 9]);
    let sent = [2_000, 2_099, 2_100].map(|now_us| sent_until(&mut bench, now_us).len());
    assert_eq!(sent, [1, 0, 1], "time without packets is not saved");
}

/// Packets that have waited for a slow rate do not leave together when a limit changes.
#[test]
fn a_change_of_limits_frees_no_packets_that_wait() {
    let rate = |packets| limit(None, None, QueueLimit::PacketsPerSecond(NonZeroU64::new(packets)));
    let mut bench = narrow(Config::default(), 100);
    bench.switch.change_queues(rate(1_000));
    for byte in 0..40 {
        bench.send(0, &[0, 1, byte]);
    }
    let sent = [0, 1_000, 2_000].map(|now_us| sent_until(&mut bench, now_us).len());
    assert_eq!(sent, [1, 1, 1]);
    bench
        .switch
        .change_queues(limit(Some(1), Some(0), QueueLimit::Packets(50)));
    bench.switch.change_queues(rate(1_000));
    let sent = [2_500, 3_000].map(|now_us| sent_until(&mut bench, now_us).len());
    assert_eq!(sent, [0, 1], "the rate is as it was");
    bench.switch.change_queues(rate(2_000));
    let sent = [3_100, 3_599, 3_600, 4_100].map(|now_us| sent_until(&mut bench, now_us).len());
    assert_eq!(sent, [1, 0, 1, 1], "another rate begins with a packet");
}

/// Queue 7 waits for its rate, so queue 0 sends in between.
#[test]
fn others_go_while_an_urgent_queue_waits_for_its_rate() {
    let mut bench = narrow(Config::default(), 100);
    let rate = QueueLimit::PacketsPerSecond(NonZeroU64::new(1_000));
    bench.switch.change_queues(limit(Some(1), Some(7), rate));
    for priority in [7, 7, 0, 0, 7] {
        bench.send(0, &[9, priority, 0]);
    }
    let sent = [0, 999, 2_000].map(|now_us| sent_until(&mut bench, now_us));
    assert_eq!(sent, [vec![7, 0, 0], vec![], vec![7, 7]]);
}

#[test]
fn packets_that_find_an_empty_queue_do_not_wait_for_more_urgent_ones() {
    let mut bench = Bench::new(Config::default());
    for priority in [0, 3, 7, 3] {
        bench.send(0, &[9, priority]);
    }
    bench.settle();
    let sent: Vec<u8> = bench.sent_by(1).iter().map(|frame| frame[1]).collect();
    assert_eq!(sent, [0, 3, 7, 3]);
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

/// A port that accepts nothing, and gives a reason for every second burst.
struct Refusing {
    says_why: bool,
    counters: PortCounters,
}

impl Port for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    fn receive(&mut self, _burst: &mut Burst, _max: usize, _now_ns: u64) -> Result<usize, PortError> {
        Ok(0)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        self.says_why = !self.says_why;
        if !self.says_why {
            let refused = burst.len() as u64;
            self.counters.count_drops(forebay_packet::DropReason::LinkDown, refused);
        }
        burst.clear();
        Ok(0)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}

#[test]
fn what_a_port_refuses_is_a_counted_drop() {
    let mut bench = Bench::new(Config::default());
    let refusing = Refusing {
        says_why: false,
        counters: PortCounters::default(),
    };
    bench.switch.attach(1, Box::new(refusing));
    for packets in [5, 2] {
        (0..packets).for_each(|_| bench.send(0, &[0, 1]));
        bench.settle();
    }
    assert_eq!(bench.drops(DropReason::PortError), 7);
    assert_eq!(bench.switch.counters().dropped, 7);
    let report = &bench.switch.ports()[1];
    assert_eq!(report.counters.total_drops(), 2);
    assert_eq!(
        report.drops,
        [("port_error".to_string(), 5)],
        "each packet is listed once"
    );
}

/// A bench whose port 1 has room for `room` packets at a time.
fn narrow(config: Config, room: usize) -> Bench {
    let mut bench = Bench::new(config);
    let (near, far) = MemoryPort::pair("narrow", "outside", room);
    bench.switch.attach(1, Box::new(near));
    bench.far_ends[1] = far;
    bench
}

#[test]
fn packets_wait_for_room_in_bounded_queues() {
    let config = Config {
        queue_capacity: 3,
        ..Config::default()
    };
    let mut bench = narrow(config, 2);
    for byte in 0..7 {
        bench.send(0, &[9, 2, byte]);
    }
    bench.settle();
    let queue = |bench: &Bench| bench.switch.queues()[8 + 2];
    let expected = QueueReport {
        port: 1,
        queue: 2,
        depth: 3,
        capacity: 3,
        packets_per_second: None,
        enqueued: 5,
        dropped: 2,
    };
    assert_eq!(queue(&bench), expected);
    assert_eq!(bench.drops(DropReason::QueueFull), 2);
    assert_eq!(bench.switch.counters().in_flight(), 3);
    assert_eq!(bench.sent_by(1), [[9, 2, 0], [9, 2, 1]], "these did not wait");
    bench.settle();
    assert_eq!(bench.sent_by(1), [[9, 2, 2], [9, 2, 3]]);
    bench.settle();
    assert_eq!(bench.sent_by(1), [[9, 2, 4]]);
    assert_eq!(queue(&bench).depth, 0);
}

/// Port 1 never has room for a burst of every port.
#[test]
fn ports_with_room_for_one_burst_keep_no_packet_off_the_fast_path() {
    let mut bench = Bench::with_engine(Engine::Jit, Config::default());
    let (near, far) = MemoryPort::pair("narrow", "outside", 100);
    bench.switch.attach(1, Box::new(near));
    bench.far_ends[1] = far;
    (0..90).for_each(|number| bench.send(0, &[0, 1, number]));
    let mut sent = Vec::new();
    while !bench.switch.poll(0, &mut NoTrace).is_idle() {
        sent.extend(bench.sent_by(1).iter().map(|frame| frame[2]));
    }
    assert_eq!(sent, (0..90).collect::<Vec<u8>>());
    let paths = bench.switch.paths();
    let queued = paths.slow().find(|(reason, _)| *reason == SlowReason::Queued);
    assert_eq!(queued, Some((SlowReason::Queued, 0)));
}

/// What port 1 of a narrow bench sends until nothing is left.
fn all_sent(bench: &mut Bench) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        bench.settle();
        let sent = bench.sent_by(1);
        if sent.is_empty() {
            return all;
        }
        all.extend(sent);
    }
}

/// Sends packets of these priorities and lengths to port 1, two of which need not wait. Then lets the others leave two
/// by two, and returns the priorities in the order in which the packets left.
fn order_of_leaving(config: Config, packets: impl Iterator<Item = (u8, usize)>) -> Vec<u8> {
    let mut bench = narrow(config, 2);
    for (priority, length) in packets {
        let mut frame = vec![0; length];
        frame[..2].copy_from_slice(&[9, priority]);
        bench.send(0, &frame);
    }
    all_sent(&mut bench).iter().map(|frame| frame[1]).collect()
}

#[test]
fn strict_queues_are_served_by_priority() {
    let packets = [0, 1, 2, 7, 7, 2, 1, 0, 7].map(|priority| (priority, 60));
    let order = order_of_leaving(Config::default(), packets.into_iter());
    assert_eq!(order, [0, 1, 7, 7, 7, 2, 2, 1, 0]);
}

#[test]
fn fewer_queues_share_the_last() {
    let config = Config {
        queues: 2,
        ..Config::default()
    };
    let packets = [0, 1, 2, 7, 0].map(|priority| (priority, 60));
    assert_eq!(order_of_leaving(config, packets.into_iter()), [0, 1, 2, 7, 0]);
}

/// The packet takes the room that its clone would have had.
#[test]
fn a_clone_from_egress_waits_when_its_packet_fills_the_port() {
    let mut bench = narrow(Config::default(), 1);
    let session = CloneSession::to_port(1);
    bench
        .switch
        .pipeline()
        .set_clone_session(1, session)
        .expect("a session");
    bench.send(0, &[4, 1, 1]);
    bench.settle();
    assert_eq!(bench.drops(DropReason::PortError), 0);
    assert_eq!(bench.switch.counters().in_flight(), 1);
    assert_eq!(all_sent(&mut bench).len(), 2);
}

/// Queue 1 has three times the weight of queue 0, and packets a third as long; queue 2 is strict.
#[test]
fn weights_share_a_port_by_bytes() {
    let mut config = Config {
        queues: 3,
        ..Config::default()
    };
    config.queue_service[..2].copy_from_slice(&[Service::Weight(1), Service::Weight(3)]);
    let packets = (0..300).flat_map(|_| [(0, 1500), (1, 500)]).chain([(2, 60)]);
    let order = order_of_leaving(config, packets);
    // Two packets left before the strict one arrived.
    assert_eq!(order.iter().position(|&priority| priority == 2), Some(2));
    assert_eq!(order.len(), 601);
    // As long as both queues wait: of four times 1500 bytes, queue 0 sends one packet and queue 1 nine.
    let both = &order[3..332];
    let first = both.iter().filter(|&&priority| priority == 0).count();
    assert!((31..=35).contains(&first), "{first} of 329");
    // No queue waits long for its turn.
    let longest = both.split(|&priority| priority == 0).map(<[u8]>::len).max();
    assert!(longest <= Some(10), "{longest:?}");
}

proptest! {
    /// Whatever arrives, every packet is sent, dropped for a reason, or still inside, and the same packets give the
    /// same result again.
    #[test]
    fn nothing_is_lost_without_a_name(
        frames in proptest::collection::vec((0..PORTS as usize, proptest::collection::vec(0u8..12, 0..6)), 0..100),
        queue_capacity in 1usize..20,
        loop_capacity in 1usize..20,
        polls in 1u32..20,
    ) {
        let config = Config { queue_capacity, loop_capacity, burst: 8, ..Config::default() };
        let mut results = Vec::new();
        for _ in 0..2 {
            let mut bench = Bench::new(config);
            for (port, frame) in &frames {
                bench.send(*port, frame);
            }
            bench.switch.settle(0, polls, &mut NoTrace);
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
