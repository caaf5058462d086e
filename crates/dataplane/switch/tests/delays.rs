//! Delays of sampled packets, with a clock that the test moves.

use forebay_packet::{Burst, MemoryPort, Port, PortCounters, PortError};
use forebay_pipeline::{FastPath, NoTrace, Options, Pipeline};
use forebay_switch::{Config, Switch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A port that takes a fixed time to send a burst, and has as much room as the test sets.
struct SlowPort {
    clock: Arc<AtomicU64>,
    send_ns: u64,
    room: Arc<AtomicUsize>,
    counters: PortCounters,
}

impl Port for SlowPort {
    fn name(&self) -> &str {
        "slow"
    }

    fn receive(&mut self, _burst: &mut Burst, _max: usize, _now_ns: u64) -> Result<usize, PortError> {
        Ok(0)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        self.clock.fetch_add(self.send_ns, Ordering::Relaxed);
        let sent = burst.len();
        burst.iter().for_each(|packet| self.counters.count_sent(packet.len()));
        burst.clear();
        Ok(sent)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn room(&self) -> usize {
        self.room.load(Ordering::Relaxed)
    }
}

struct Bench {
    switch: Switch,
    clock: Arc<AtomicU64>,
    room: Arc<AtomicUsize>,
    outside: MemoryPort,
}

const START_NS: u64 = 5_000_000;

/// A switch that times one of `every` packets, from port 0 to port 1, which takes 700 ns to send.
fn bench(every: u64, fast_path: FastPath) -> Bench {
    let program = forebay_ir::text::read(include_str!("operations.ir")).expect("a program");
    let options = Options {
        fast_path,
        ..Options::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(program, options).expect("a pipeline"));
    let config = Config {
        start_ns: START_NS,
        ..Config::default()
    };
    let mut switch = Switch::new(pipeline, config);
    let (near, outside) = MemoryPort::pair("near", "outside", 4096);
    let clock = Arc::new(AtomicU64::new(START_NS + 1_000_000));
    let room = Arc::new(AtomicUsize::new(1 << 20));
    switch.attach(0, Box::new(near));
    switch.attach(
        1,
        Box::new(SlowPort {
            clock: Arc::clone(&clock),
            send_ns: 700,
            room: Arc::clone(&room),
            counters: PortCounters::default(),
        }),
    );
    let reader = Arc::clone(&clock);
    switch.sample_delays(every, Box::new(move || reader.load(Ordering::Relaxed)));
    Bench {
        switch,
        clock,
        room,
        outside,
    }
}

impl Bench {
    fn send(&mut self, packets: usize) {
        (0..packets).for_each(|_| assert!(self.outside.inject(&[0, 1, 7])));
    }

    fn poll(&mut self) {
        let now_ns = self.clock.load(Ordering::Relaxed);
        self.switch.poll(now_ns, &mut NoTrace);
    }

    /// The number of delays, the shortest and the longest.
    fn delays(&self) -> (u64, u64, u64) {
        let delays = self.switch.delays().expect("packets are timed");
        (delays.count(), delays.min(), delays.max())
    }
}

#[test]
fn a_delay_lasts_until_the_port_has_sent() {
    for fast_path in [FastPath::Never, FastPath::BeforePackets] {
        let mut bench = bench(10, fast_path);
        bench.send(100);
        (0..8).for_each(|_| bench.poll());
        let (count, shortest, longest) = bench.delays();
        assert_eq!(count, 10, "{fast_path:?}");
        // For packets of the slow path, the delay begins with the poll.
        assert!(
            shortest >= 700 && longest <= 1_400,
            "{fast_path:?}: {shortest} to {longest}"
        );
    }
}

#[test]
fn the_time_in_a_queue_is_part_of_a_delay() {
    let mut bench = bench(1, FastPath::Never);
    bench.room.store(0, Ordering::Relaxed);
    bench.send(3);
    bench.poll();
    assert_eq!(bench.delays().0, 0, "they wait");
    bench.clock.fetch_add(40_000, Ordering::Relaxed);
    bench.room.store(10, Ordering::Relaxed);
    bench.poll();
    assert_eq!(bench.delays(), (3, 40_700, 40_700));
}

#[test]
fn what_is_dropped_has_no_delay() {
    let mut bench = bench(1, FastPath::Never);
    assert!(bench.outside.inject(&[0, 99, 7]), "a port that does not exist");
    bench.poll();
    assert_eq!(bench.delays().0, 0);
    assert_eq!(bench.switch.counters().dropped, 1);
}
