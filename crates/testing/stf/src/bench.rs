//! The test bench: a port of a switch whose other side is the test.

use forebay_packet::{Burst, Port, PortCounters, PortError, Readiness};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Packets on their way into the switch and out of it.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Port and bytes.
    incoming: VecDeque<(u32, Vec<u8>)>,
    pub(crate) outgoing: Vec<Sent>,
}

/// A packet that left the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) port: u32,
    /// Which of the packets received it was made from, from 0.
    pub(crate) tag: u64,
    pub(crate) data: Vec<u8>,
}

/// All ports' lines. A test has one thread; the lock is there because ports must be `Send`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bench(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    /// The number of packets on their way in: hundreds of ports read it in each poll, and lock only for a packet.
    waiting: AtomicUsize,
}

impl Bench {
    pub(crate) fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a packet to a port of the switch.
    pub(crate) fn send(&self, port: u32, data: &[u8]) {
        self.lines().incoming.push_back((port, data.to_vec()));
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn port(&self, number: u32) -> BenchPort {
        BenchPort {
            number,
            name: format!("port {number}"),
            bench: self.clone(),
            counters: PortCounters::default(),
        }
    }
}

/// A port whose other side is the test.
pub(crate) struct BenchPort {
    number: u32,
    name: String,
    bench: Bench,
    counters: PortCounters,
}

impl Port for BenchPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let waiting = &self.bench.0.waiting;
        if waiting.load(Ordering::Relaxed) == 0 {
            return Ok(0);
        }
        let mut lines = self.bench.lines();
        let mut received = 0;
        while received < max && lines.incoming.front().is_some_and(|(port, _)| *port == self.number) {
            let Some(packet) = burst.allocate() else { break };
            let Some((_, data)) = lines.incoming.pop_front() else {
                break;
            };
            waiting.fetch_sub(1, Ordering::Relaxed);
            packet.set_data(&data);
            packet.timestamp_ns = now_ns;
            self.counters.count_received(data.len());
            received += 1;
        }
        Ok(received)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let mut lines = self.bench.lines();
        for packet in burst.iter() {
            self.counters.count_sent(packet.len());
            lines.outgoing.push(Sent {
                port: self.number,
                tag: packet.id,
                data: packet.data().to_vec(),
            });
        }
        let sent = burst.len();
        burst.clear();
        Ok(sent)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn readiness(&self) -> Readiness {
        Readiness::Now
    }

    fn reads_ids(&self) -> bool {
        true
    }
}
