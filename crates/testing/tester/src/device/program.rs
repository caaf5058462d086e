//! A P4 program in the tester's process, between ports in memory.
//!
//! The tester's thread polls the switch between sending and receiving, so a test needs one processor, and a program's time
//! for a burst is part of the latency of its packets.

use super::{Device, Inside, memory_ports};
use forebay_packet::Port;
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_switch::{Config, Switch};
use std::sync::Arc;

struct ProgramInside(Switch);

/// A switch with this pipeline and these ports.
pub fn program(pipeline: Arc<Pipeline>, numbers: &[u32], queue_packets: usize, start_ns: u64) -> Device {
    let (outside, inside) = memory_ports(numbers, queue_packets);
    let config = Config {
        start_ns,
        ..Config::default()
    };
    let mut switch = Switch::new(pipeline, config);
    for (number, port) in inside {
        switch.attach(number, Box::new(port) as Box<dyn Port>);
    }
    switch.stay_pinned(true);
    Device::new("a program in memory", outside, Some(Box::new(ProgramInside(switch))))
}

impl Inside for ProgramInside {
    #[inline]
    fn work(&mut self, now_ns: u64) {
        self.0.poll(now_ns, &mut NoTrace);
    }

    fn drops(&self) -> Vec<(String, u64)> {
        let mut drops: Vec<(String, u64)> = Vec::new();
        for report in self.0.ports() {
            let of_port = report
                .counters
                .nonzero_drops()
                .map(|(reason, count)| (reason.to_string(), count));
            for (label, count) in report.drops.iter().cloned().chain(of_port) {
                match drops.iter_mut().find(|(own, _)| *own == label) {
                    Some((_, sum)) => *sum += count,
                    None => drops.push((label, count)),
                }
            }
        }
        drops
    }
}
