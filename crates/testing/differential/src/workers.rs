//! A switch with ports in memory and any number of workers, each a thread.

use forebay_packet::{Burst, Port, PortCounters, PortError, Readiness};
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_switch::{Config, SharingConfig, Spread, Switch, share_ports};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// Ports of the switch: 0, 1, ...
pub const PORTS: u32 = 16;

/// Frames by port.
pub type Frames = BTreeMap<u32, Vec<Vec<u8>>>;

/// Delivers frames that were given before, and keeps what it is sent.
struct Script {
    incoming: VecDeque<Vec<u8>>,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Port for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, _now_ns: u64) -> Result<usize, PortError> {
        let count = max.min(burst.room()).min(self.incoming.len());
        for frame in self.incoming.drain(..count) {
            burst.allocate().expect("there is room").set_data(&frame);
        }
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let mut sent = self.sent.lock().expect("no panic");
        sent.extend(burst.iter().map(|packet| packet.data().to_vec()));
        let count = burst.len();
        burst.clear();
        Ok(count)
    }

    fn counters(&self) -> PortCounters {
        PortCounters::default()
    }

    fn readiness(&self) -> Readiness {
        if self.incoming.is_empty() {
            Readiness::Never
        } else {
            Readiness::Now
        }
    }
}

/// Takes frames through the program with `workers` workers, each in a thread of its own, and lists what left each port.
pub fn run(pipeline: &Arc<Pipeline>, frames: &Frames, workers: usize, spread: &Spread) -> Frames {
    let mut sent = Vec::new();
    let ports = (0..PORTS).map(|number| {
        let log = Arc::new(Mutex::new(Vec::new()));
        sent.push((number, Arc::clone(&log)));
        let incoming = frames.get(&number).cloned().unwrap_or_default().into();
        let port: Box<dyn Port> = Box::new(Script { incoming, sent: log });
        (number, port)
    });
    let config = SharingConfig {
        workers,
        spread: spread.clone(),
        ring_capacity: 64,
    };
    let all = share_ports(ports.collect(), pipeline, &config);
    std::thread::scope(|scope| {
        for own in all {
            // Each worker has queues of its own, so several have more room than one: none may be full.
            let config = Config {
                queue_capacity: 1 << 20,
                ..Config::default()
            };
            let mut switch = Switch::new(Arc::clone(pipeline), config);
            own.ports
                .into_iter()
                .for_each(|(number, port)| switch.attach(number, port));
            let status = own.status;
            scope.spawn(move || {
                // Time stands still, and all workers draw the same random numbers.
                loop {
                    if !switch.poll(0, &mut NoTrace).is_idle() || switch.counters().in_flight() > 0 {
                        continue;
                    }
                    if switch.working_ports().all(|port| port.readiness() == Readiness::Never) {
                        status.rest();
                        if status.all_done() {
                            break;
                        }
                    }
                    std::thread::yield_now();
                }
            });
        }
    });
    let taken =
        |(number, log): (u32, Arc<Mutex<Vec<_>>>)| (number, std::mem::take(&mut *log.lock().expect("no panic")));
    sent.into_iter()
        .map(taken)
        .filter(|(_, frames)| !frames.is_empty())
        .collect()
}
