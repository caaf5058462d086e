//! The bus of the packet replication engine.
//!
//! Of the copies that a multicast group makes, the first goes to the traffic manager as any packet does. The others come
//! one after another over a bus of limited rate, and a limited number of them can wait for it. (The published throughput
//! of N copies to one port falls as 100/(N - 1) Gbps: Wang et al. 2019, Table 4.)

use crate::pacer::{Pacer, Picos};
use crate::spec::ChipSpec;
use forebay_pipeline::QueuedPacket;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct ReplicationBus {
    /// The first is on the bus.
    waiting: VecDeque<QueuedPacket>,
    waiting_max: usize,
    bits: Pacer,
    busy: Picos,
}

impl ReplicationBus {
    pub(crate) fn new(spec: &ChipSpec) -> ReplicationBus {
        ReplicationBus {
            waiting: VecDeque::new(),
            waiting_max: spec.replication.buffer_packets as usize,
            bits: Pacer::new(spec.replication.bits_per_second),
            busy: 0,
        }
    }

    /// Lets a copy wait, or gives it back when too many do. Says whether it has the bus at once: then [`Self::begin`] is next.
    pub(crate) fn offer(&mut self, copy: QueuedPacket) -> Result<bool, QueuedPacket> {
        if self.waiting.len() > self.waiting_max {
            return Err(copy);
        }
        self.waiting.push_back(copy);
        Ok(self.waiting.len() == 1)
    }

    /// How long the first copy takes; none when none waits.
    pub(crate) fn begin(&mut self, spec: &ChipSpec) -> Option<Picos> {
        let copy = self.waiting.front()?;
        let duration = self.bits.take(8 * spec.wire_bytes(copy.length()));
        self.busy += duration;
        Some(duration)
    }

    /// The copy that was on the bus.
    pub(crate) fn finish(&mut self) -> QueuedPacket {
        self.waiting.pop_front().expect("a copy was on the bus")
    }

    pub(crate) fn busy(&self) -> Picos {
        self.busy
    }

    pub(crate) fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }
}
