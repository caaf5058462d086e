//! A port that never returns does not keep a switch from ending.

use forebay_daemon::{Daemon, Error, Start};
use forebay_packet::{Burst, Port, PortCounters, PortError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PROGRAM: &str = r#"
    #include <core.p4>
    #include <v1model.p4>
    struct none { }
    parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) { state start { transition accept; } }
    control C(inout none h, inout none m) { apply { } }
    control X(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in none h) { apply { } }
    V1Switch(P(), C(), X(), X(), C(), D()) main;
"#;

/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// As a port whose input is a pipe that brings nothing.
struct Silent(Arc<AtomicBool>);

impl Port for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn receive(&mut self, _burst: &mut Burst, _max: usize, _now_ns: u64) -> Result<usize, PortError> {
        self.0.store(true, Ordering::Relaxed);
        loop {
            std::thread::park();
        }
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        burst.clear();
        Ok(0)
    }

    fn counters(&self) -> PortCounters {
        PortCounters::default()
    }
}

#[test]
fn a_worker_that_waits_for_ever_is_left_behind() {
    let start = Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program");
    let mut daemon = Daemon::new(start.pipeline, Default::default());
    let is_waiting = Arc::new(AtomicBool::new(false));
    daemon.attach(1, Box::new(Silent(Arc::clone(&is_waiting))));
    let running = daemon.start().expect("the system gives threads");
    let begin = Instant::now();
    while !is_waiting.load(Ordering::Relaxed) {
        assert!(begin.elapsed() < PATIENCE, "the port is asked for packets");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(matches!(running.stop(), Err(Error::Stuck)));
    assert!(begin.elapsed() < PATIENCE);
}
