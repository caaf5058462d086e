//! Ports in memory: two ends joined by bounded queues.
//!
//! ```text
//!   MemoryPort a ── queue a→b ──► MemoryPort b
//!                ◄── queue b→a ──
//! ```
//!
//! The ends may live in different threads; a queue is locked once a burst, not once a packet.
//! Buffers are exchanged with the queue, so each side keeps as many as it had.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Burst, DropReason, Packet, Pool, Port, PortCounters, PortError, Readiness};

/// One direction: packets in order, and buffers to exchange them against.
#[derive(Debug)]
struct Queue {
    packets: VecDeque<Packet>,
    spares: Pool,
    limit: usize,
}

/// A queue shared by its two ends.
type SharedQueue = Arc<Mutex<Queue>>;

fn new_queue(limit: usize) -> SharedQueue {
    let limit = limit.max(1);
    Arc::new(Mutex::new(Queue {
        packets: VecDeque::with_capacity(limit),
        spares: Pool::new(limit),
        limit,
    }))
}

/// Runs `action` on the queue. A panic in another thread leaves a queue usable: every change to
/// it is a single push or pop.
fn with_queue<T>(queue: &SharedQueue, action: impl FnOnce(&mut Queue) -> T) -> T {
    action(&mut queue.lock().unwrap_or_else(PoisonError::into_inner))
}

/// One end of a link in memory.
#[derive(Debug)]
pub struct MemoryPort {
    name: String,
    incoming: SharedQueue,
    outgoing: SharedQueue,
    counters: PortCounters,
}

impl MemoryPort {
    /// Two ends joined by a queue of `limit` packets (at least one) in each direction.
    pub fn pair(first: &str, second: &str, limit: usize) -> (MemoryPort, MemoryPort) {
        let (forward, backward) = (new_queue(limit), new_queue(limit));
        (
            MemoryPort::over(first, backward.clone(), forward.clone()),
            MemoryPort::over(second, forward, backward),
        )
    }

    /// A port that gets back what it sends, through a queue of `limit` packets.
    pub fn loopback(name: &str, limit: usize) -> MemoryPort {
        let queue = new_queue(limit);
        MemoryPort::over(name, queue.clone(), queue)
    }

    fn over(name: &str, incoming: SharedQueue, outgoing: SharedQueue) -> MemoryPort {
        MemoryPort {
            name: name.to_owned(),
            incoming,
            outgoing,
            counters: PortCounters::default(),
        }
    }

    /// Sends one frame from this end; false when the queue is full (and the drop is counted).
    /// Allocates: for tests and set-up.
    pub fn inject(&mut self, frame: &[u8]) -> bool {
        let mut packet = Packet::from_bytes(frame);
        self.enqueue(std::slice::from_mut(&mut packet)) == 1
    }

    /// Takes one frame that arrived at this end. Allocates: for tests.
    pub fn extract(&mut self) -> Option<Vec<u8>> {
        let frame = with_queue(&self.incoming, |queue| {
            let packet = queue.packets.pop_front()?;
            let frame = packet.data().to_vec();
            queue.spares.give(packet);
            Some(frame)
        })?;
        self.counters.count_received(frame.len());
        Some(frame)
    }

    /// How many packets wait at this end.
    pub fn waiting(&self) -> usize {
        with_queue(&self.incoming, |queue| queue.packets.len())
    }

    /// Puts `packets` into the outgoing queue as far as they fit; counts all of them.
    fn enqueue(&mut self, packets: &mut [Packet]) -> usize {
        let counters = &mut self.counters;
        with_queue(&self.outgoing, |queue| {
            let accepted = packets.len().min(queue.limit - queue.packets.len());
            for packet in &mut packets[..accepted] {
                counters.count_sent(packet.len());
                let spare = queue.spares.take();
                queue.packets.push_back(std::mem::replace(packet, spare));
            }
            let refused = (packets.len() - accepted) as u64;
            counters.count_drops(DropReason::QueueFull, refused);
            accepted
        })
    }
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let counters = &mut self.counters;
        Ok(with_queue(&self.incoming, |queue| {
            let count = max.min(burst.room()).min(queue.packets.len());
            for mut packet in queue.packets.drain(..count) {
                counters.count_received(packet.len());
                packet.timestamp_ns = now_ns;
                packet.original_length = packet.len() as u32;
                let accepted = burst.push_exchange(&mut packet);
                debug_assert!(accepted, "the count was bounded by the burst's room");
                queue.spares.give(packet);
            }
            count
        }))
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let accepted = self.enqueue(burst.as_mut_slice());
        burst.clear();
        Ok(accepted)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    /// Nothing will come to an empty loopback before something is sent, nor to a port whose other
    /// end is gone.
    fn readiness(&self) -> Readiness {
        // In this order: the other end may send its last packets and go between two looks.
        let alone = Arc::ptr_eq(&self.incoming, &self.outgoing) || Arc::strong_count(&self.incoming) == 1;
        match self.waiting() {
            0 if alone => Readiness::Never,
            0 => Readiness::Unknown,
            _ => Readiness::Now,
        }
    }

    fn room(&self) -> usize {
        with_queue(&self.outgoing, |queue| queue.limit - queue.packets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cross_in_order_in_both_directions() {
        let (mut left, mut right) = MemoryPort::pair("left", "right", 8);
        assert!(left.inject(b"one") && left.inject(b"two") && right.inject(b"back"));
        assert_eq!(right.extract().as_deref(), Some(&b"one"[..]));
        assert_eq!(right.extract().as_deref(), Some(&b"two"[..]));
        assert_eq!(right.extract(), None);
        assert_eq!(left.extract().as_deref(), Some(&b"back"[..]));
    }

    #[test]
    fn a_full_queue_is_a_counted_drop() {
        let (mut left, right) = MemoryPort::pair("left", "right", 2);
        let mut burst = Burst::new(8);
        for byte in 0..5 {
            burst.allocate().expect("there is room").set_data(&[byte; 60]);
        }
        assert_eq!(left.send(&mut burst, 0), Ok(2));
        assert!(burst.is_empty());
        assert_eq!(left.counters().drops(DropReason::QueueFull), 3);
        assert_eq!(left.counters().sent_bytes, 120);
        assert_eq!(right.waiting(), 2);
    }

    #[test]
    fn receiving_is_bounded_by_max_and_by_the_burst() {
        let (mut left, mut right) = MemoryPort::pair("left", "right", 8);
        for _ in 0..6 {
            left.inject(b"frame");
        }
        let mut burst = Burst::new(4);
        assert_eq!(right.receive(&mut burst, 3, 5), Ok(3));
        assert_eq!(right.receive(&mut burst, 3, 5), Ok(1));
        assert_eq!(burst.as_slice()[0].timestamp_ns, 5);
        assert_eq!(right.readiness(), Readiness::Now);
    }

    #[test]
    fn a_loopback_returns_what_it_sends() {
        let mut port = MemoryPort::loopback("loop", 4);
        port.inject(b"again");
        assert_eq!(port.readiness(), Readiness::Now);
        assert_eq!(port.extract().as_deref(), Some(&b"again"[..]));
        assert_eq!(port.readiness(), Readiness::Never);
    }

    #[test]
    fn a_port_left_alone_says_that_nothing_will_come() {
        let (mut left, mut right) = MemoryPort::pair("left", "right", 4);
        left.inject(b"last");
        assert_eq!(left.readiness(), Readiness::Unknown);
        drop(left);
        assert_eq!(right.readiness(), Readiness::Now);
        right.extract();
        assert_eq!(right.readiness(), Readiness::Never);
    }

    #[test]
    fn one_way_traffic_allocates_only_at_the_start() {
        let (mut left, mut right) = MemoryPort::pair("left", "right", 16);
        let (mut sending, mut receiving) = (Burst::new(8), Burst::new(8));
        let mut created = 0;
        for round in 0..50 {
            for _ in 0..8 {
                sending.allocate().expect("the burst was sent").set_data(b"x");
            }
            left.send(&mut sending, 0).expect("memory ports do not fail");
            right.receive(&mut receiving, 8, 0).expect("memory ports do not fail");
            receiving.clear();
            let now = sending.buffers_created()
                + receiving.buffers_created()
                + with_queue(&left.outgoing, |queue| queue.spares.created());
            assert!(round < 2 || now == created, "round {round} allocated");
            created = now;
        }
    }
}
