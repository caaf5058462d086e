//! Queues between ingress and egress: for every port eight, one for each value of `standard_metadata.priority`.
//!
//! The larger the priority, the more urgent the queue (strict priority, as in BMv2's simple_switch). A queue that is
//! full refuses the packet: tail drop.

use forebay_pipeline::{EgressArguments, EgressPacket, QueuedPacket};
use std::collections::{BTreeMap, VecDeque};

/// Queues of a port: `standard_metadata.priority` has three bits.
const PRIORITIES: usize = 8;

/// A packet and what the traffic manager will tell egress of its wait.
struct Waiting {
    packet: QueuedPacket,
    enqueued_us: u64,
    /// Packets before it when it came.
    depth: u32,
}

/// All queues of a switch.
pub(crate) struct TrafficManager {
    ports: BTreeMap<u32, [VecDeque<Waiting>; PRIORITIES]>,
    capacity: usize,
    len: usize,
}

impl TrafficManager {
    /// Queues of `capacity` packets each.
    pub(crate) fn new(capacity: usize) -> TrafficManager {
        TrafficManager {
            ports: BTreeMap::new(),
            capacity,
            len: 0,
        }
    }

    /// Packets in all queues.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends the packet to its port's queue of its priority, or gives it back when that is full.
    pub(crate) fn enqueue(&mut self, packet: QueuedPacket, now_us: u64) -> Result<(), QueuedPacket> {
        let queues = self.ports.entry(packet.egress_port).or_default();
        let queue = &mut queues[usize::from(packet.priority).min(PRIORITIES - 1)];
        if queue.len() >= self.capacity {
            return Err(packet);
        }
        let depth = queue.len() as u32;
        queue.push_back(Waiting {
            packet,
            enqueued_us: now_us,
            depth,
        });
        self.len += 1;
        Ok(())
    }

    /// Moves up to `max` packets to the end of `burst`: port by port, the most urgent first.
    pub(crate) fn dequeue(&mut self, burst: &mut Vec<EgressPacket>, max: usize, now_us: u64) {
        let mut room = max.min(self.len);
        self.len -= room;
        for queue in self.ports.values_mut().flat_map(|queues| queues.iter_mut().rev()) {
            while room > 0 {
                let Some(waiting) = queue.pop_front() else {
                    break;
                };
                burst.push(waiting.into_egress(queue.len() as u32, now_us));
                room -= 1;
            }
        }
    }
}

impl Waiting {
    fn into_egress(self, depth_behind: u32, now_us: u64) -> EgressPacket {
        let arguments = EgressArguments {
            timestamp_us: now_us,
            enq_timestamp_us: self.enqueued_us,
            enq_qdepth: self.depth,
            deq_qdepth: depth_behind,
            random_seed: 0,
        };
        EgressPacket {
            packet: self.packet,
            arguments,
        }
    }
}
