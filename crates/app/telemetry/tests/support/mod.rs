//! A switch that has forwarded some packets.

use forebay_daemon::{Daemon, Running, Start};
use forebay_packet::MemoryPort;
use std::time::{Duration, Instant};

/// Counts all packets, drops those that begin with 1, sends the others to port 2.
const PROGRAM: &str = r#"
    #include <core.p4>
    #include <v1model.p4>
    header byte_t { bit<8> value; }
    struct headers { byte_t byte; }
    struct metadata { }
    parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
        state start { p.extract(h.byte); transition accept; }
    }
    control C(inout headers h, inout metadata m) { apply { } }
    control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
        counter(8, CounterType.packets) seen;
        @element_names("odd", "even") counter(2, CounterType.packets) sorts;
        action deny() { mark_to_drop(s); }
        table filter { key = { h.byte.value: exact; } actions = { deny; NoAction; } const entries = { 1: deny(); } }
        apply { seen.count(3); sorts.count(1); s.egress_spec = 2; filter.apply(); }
    }
    control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in headers h) { apply { p.emit(h.byte); } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
"#;

/// A switch that has received 300 packets, of which it has dropped 100; one of ten was timed.
pub fn busy_switch() -> Running {
    let start = Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program");
    let (first, mut sender) = MemoryPort::pair("first", "sender", 512);
    let (second, receiver) = MemoryPort::pair("second", "receiver", 512);
    let mut daemon = Daemon::new(start.pipeline, Default::default());
    daemon.sample_delays(10);
    daemon.attach(1, Box::new(first));
    daemon.attach(2, Box::new(second));
    let running = daemon.start().expect("threads");
    (0..300u32).for_each(|number| assert!(sender.inject(&[(number % 3) as u8; 60])));
    let end = Instant::now() + Duration::from_secs(20);
    while running.report().counters.transmitted < 200 {
        assert!(Instant::now() < end, "the packets are forwarded");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Both ends stay open: the switch goes on.
    std::mem::forget((sender, receiver));
    running
}
