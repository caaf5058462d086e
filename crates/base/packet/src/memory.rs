//! Ports in memory: two ends joined by bounded queues.
//!
//! ```text
//!   MemoryPort a ── queue a→b ──► MemoryPort b
//!                ◄── queue b→a ──
//! ```
//!
//! The ends may live in different threads; a queue is locked once a burst, not once a packet.
//! Buffers are swapped with those of the queue, so each side keeps as many as it had.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Burst, DropReason, Packet, Port, PortCounters, PortError, Readiness};

/// One direction: a ring of buffers, some of which are packets that wait.
///
/// ```text
///   places: | spare .... | packets, in order .... | spare .... |      at most `limit` places
///           0            first                    first + waiting
/// ```
///
/// Packets are swapped with the places, so no buffer is made or moved once the ring has as many places as packets have
/// ever waited. An empty ring begins at 0 again: with few packets waiting the same few buffers serve all, and stay in
/// the cache.
#[derive(Debug)]
struct Queue {
    places: Vec<Packet>,
    first: usize,
    waiting: usize,
    limit: usize,
}

impl Queue {
    fn new(limit: usize) -> Queue {
        Queue {
            places: Vec::new(),
            first: 0,
            waiting: 0,
            limit: limit.max(1),
        }
    }

    fn room(&self) -> usize {
        self.limit - self.waiting
    }

    /// Moves the first packets in, as many as there is room for, in exchange for spares. Returns their number.
    fn give(&mut self, packets: &mut [Packet]) -> usize {
        let accepted = packets.len().min(self.room());
        let mut rest = &mut packets[..accepted];
        while !rest.is_empty() {
            let mut at = self.first + self.waiting;
            if at >= self.limit {
                at -= self.limit;
            }
            let count = rest.len().min(self.limit - at);
            while self.places.len() < at + count {
                self.places.push(Packet::new());
            }
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            self.places[at..at + count].swap_with_slice(now);
            self.waiting += count;
            rest = later;
        }
        accepted
    }

    /// The first packets, at most `max`, as far as they lie next to each other.
    fn front(&mut self, max: usize) -> &mut [Packet] {
        let count = max.min(self.waiting).min(self.limit - self.first);
        &mut self.places[self.first..self.first + count]
    }

    /// The first packets have been taken, or swapped for spares.
    fn advance(&mut self, count: usize) {
        self.waiting -= count;
        self.first += count;
        if self.waiting == 0 || self.first == self.limit {
            self.first = 0;
        }
    }
}

/// A queue shared by its two ends.
type SharedQueue = Arc<Mutex<Queue>>;

/// Runs `action` on the queue. A panic in another thread leaves a queue usable: a packet belongs to it once it is
/// counted.
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
        let queue = || Arc::new(Mutex::new(Queue::new(limit)));
        let (forward, backward) = (queue(), queue());
        (
            MemoryPort::over(first, backward.clone(), forward.clone()),
            MemoryPort::over(second, forward, backward),
        )
    }

    /// A port that gets back what it sends, through a queue of `limit` packets.
    pub fn loopback(name: &str, limit: usize) -> MemoryPort {
        let queue = Arc::new(Mutex::new(Queue::new(limit)));
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
            let frame = queue.front(1).first()?.data().to_vec();
            queue.advance(1);
            Some(frame)
        })?;
        self.counters.count_received(frame.len());
        Some(frame)
    }

    /// How many packets wait at this end.
    pub fn waiting(&self) -> usize {
        with_queue(&self.incoming, |queue| queue.waiting)
    }

    /// Puts `packets` into the outgoing queue as far as they fit; counts all of them.
    fn enqueue(&mut self, packets: &mut [Packet]) -> usize {
        let accepted = with_queue(&self.outgoing, |queue| {
            let room = packets.len().min(queue.room());
            packets[..room]
                .iter()
                .for_each(|packet| self.counters.count_sent(packet.len()));
            queue.give(packets)
        });
        let refused = (packets.len() - accepted) as u64;
        self.counters.count_drops(DropReason::QueueFull, refused);
        accepted
    }
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let counters = &mut self.counters;
        Ok(with_queue(&self.incoming, |queue| {
            let wanted = max.min(burst.room()).min(queue.waiting);
            let mut count = 0;
            while count < wanted {
                let received = burst.exchange_all(queue.front(wanted - count));
                for packet in received.iter_mut() {
                    counters.count_received(packet.len());
                    packet.timestamp_ns = now_ns;
                    packet.original_length = packet.len() as u32;
                }
                let moved = received.len();
                queue.advance(moved);
                count += moved;
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
        with_queue(&self.outgoing, |queue| queue.room())
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

    /// Rounds of three in and two out go round a ring of five places, which never becomes empty.
    #[test]
    fn packets_stay_in_order_where_the_ring_begins_again() {
        let (mut left, mut right) = MemoryPort::pair("left", "right", 5);
        let (mut sending, mut receiving) = (Burst::new(3), Burst::new(2));
        let (mut sent, mut expected) = (0u8, 0u8);
        for _ in 0..40 {
            for _ in 0..3.min(left.room()) {
                sending.allocate().expect("the burst was sent").set_data(&[sent]);
                sent += 1;
            }
            left.send(&mut sending, 0).expect("memory ports do not fail");
            right.receive(&mut receiving, 2, 0).expect("memory ports do not fail");
            for packet in receiving.iter() {
                assert_eq!(packet.data(), [expected]);
                expected += 1;
            }
            receiving.clear();
            assert!(right.waiting() > 0);
        }
        assert_eq!(
            (
                left.counters().sent_packets,
                left.counters().drops(DropReason::QueueFull)
            ),
            (u64::from(sent), 0)
        );
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
                + with_queue(&left.outgoing, |queue| queue.places.len() as u64);
            assert!(round < 2 || now == created, "round {round} allocated");
            created = now;
        }
    }
}
