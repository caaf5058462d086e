//! A P4 program in the tester's process, between ports in memory, or a chain of several.
//!
//! The tester's thread polls the switch between sending and receiving, so a test needs one processor, and a program's
//! time for a burst is part of the latency of its packets.

use super::{Device, Inside, NumberedPorts, memory_ports};
use forebay_packet::{MemoryPort, Port};
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_switch::{Config, Switch};
use std::sync::Arc;

/// Switches that are polled in turns.
struct Switches(Vec<Switch>);

/// A switch with this pipeline and these ports.
pub fn program(pipeline: Arc<Pipeline>, numbers: &[u32], queue_packets: usize, start_ns: u64) -> Device {
    let (outside, inside) = memory_ports(numbers, queue_packets);
    let switch = switch(pipeline, inside, start_ns);
    Device::new("a program in memory", outside, Some(Box::new(Switches(vec![switch]))))
}

/// A chain of switches: port 2 of each leads to port 1 of the next. The device's ports are port 1 of the first and port
/// 2 of the last.
pub fn chain(pipelines: Vec<Arc<Pipeline>>, queue_packets: usize, start_ns: u64) -> Device {
    let (tester_in, mut arriving) = MemoryPort::pair("port 1", "device 1", queue_packets);
    let mut switches = Vec::new();
    for pipeline in pipelines {
        let (leaving, next) = MemoryPort::pair("leaving", "arriving", queue_packets);
        let arriving = std::mem::replace(&mut arriving, next);
        switches.push(switch(pipeline, vec![(1, arriving), (2, leaving)], start_ns));
    }
    let outside: NumberedPorts = vec![
        (1, Box::new(tester_in) as Box<dyn Port>),
        (2, Box::new(arriving) as Box<dyn Port>),
    ];
    Device::new(
        "a chain of programs in memory",
        outside,
        Some(Box::new(Switches(switches))),
    )
}

fn switch(pipeline: Arc<Pipeline>, ports: Vec<(u32, MemoryPort)>, start_ns: u64) -> Switch {
    let config = Config {
        start_ns,
        ..Config::default()
    };
    let mut switch = Switch::new(pipeline, config);
    for (number, port) in ports {
        switch.attach(number, Box::new(port) as Box<dyn Port>);
    }
    switch.stay_pinned(true);
    switch
}

impl Inside for Switches {
    #[inline]
    fn work(&mut self, now_ns: u64) {
        for switch in &mut self.0 {
            switch.poll(now_ns, &mut NoTrace);
        }
    }

    fn drops(&self) -> Vec<(String, u64)> {
        let mut drops: Vec<(String, u64)> = Vec::new();
        for report in self.0.iter().flat_map(Switch::ports) {
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
