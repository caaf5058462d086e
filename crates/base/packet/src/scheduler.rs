//! Which queue of a port is next.
//!
//! Strict queues come first, the most urgent first. When none of them may send, the others share the port by bytes:
//! deficit weighted round robin (Shreedhar and Varghese, IEEE/ACM Transactions on Networking 4(3), 1996). A queue whose
//! turn begins gets its quantum and sends as many of its packets as the quantum, and what was left of the one before,
//! pays for; an empty queue keeps nothing.
//!
//! The scheduler has no packets. Its user has them, and tells it of them by [`Backlog`].

/// The most queues of a port: one for each priority of v1model, which has three bits.
pub const QUEUES_MAX: usize = 8;

/// The first packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// It has this number of bytes, and may be sent now.
    Ready(u32),
    /// It may not be sent yet. The queue keeps its credit, and gets no more until then.
    Held,
    /// There is none, and the queue loses its credit.
    Missing,
}

/// A port's queues, as the scheduler sees them.
pub trait Backlog {
    /// A bit for each queue with [`First::Ready`], the lowest for queue 0.
    fn ready(&self) -> u32;
    /// The first packet of a queue.
    fn first(&self, queue: usize) -> First;
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Bytes per turn; 0 for a strict queue.
    quantum_bytes: u64,
    deficit_bytes: u64,
}

/// The turns of a port's queues.
#[derive(Debug)]
pub struct Scheduler {
    shares: [Share; QUEUES_MAX],
    /// The number of queues.
    count: usize,
    /// A bit for each strict queue.
    strict: u32,
    turn: usize,
}

impl Scheduler {
    /// The scheduler of at most [`QUEUES_MAX`] queues: for each its bytes per turn, at least 1; `None` for a strict
    /// queue.
    pub fn new(quanta: impl Iterator<Item = Option<u64>>) -> Scheduler {
        let mut scheduler = Scheduler {
            shares: [Share::default(); QUEUES_MAX],
            count: 0,
            strict: 0,
            turn: 0,
        };
        for (share, quantum) in scheduler.shares.iter_mut().zip(quanta) {
            share.quantum_bytes = quantum.map_or(0, |bytes| bytes.max(1));
            scheduler.strict |= u32::from(quantum.is_none()) << scheduler.count;
            scheduler.count += 1;
        }
        scheduler
    }

    /// The queue whose first packet goes next, which the caller must take; `None` when no queue may send.
    #[inline]
    pub fn next(&mut self, backlog: &impl Backlog) -> Option<usize> {
        let ready = backlog.ready();
        match (ready & self.strict).checked_ilog2() {
            Some(most_urgent) => Some(most_urgent as usize),
            None => (ready != 0).then(|| self.next_by_turns(backlog)),
        }
    }

    /// The queue of those with a quantum, of which one is ready.
    #[inline]
    fn next_by_turns(&mut self, backlog: &impl Backlog) -> usize {
        // This terminates: in every round, a queue that is ready gets credit for at least one more byte.
        loop {
            let share = &mut self.shares[self.turn % QUEUES_MAX];
            match backlog.first(self.turn) {
                First::Ready(bytes) if u64::from(bytes) <= share.deficit_bytes => {
                    share.deficit_bytes -= u64::from(bytes);
                    return self.turn;
                }
                First::Ready(_) | First::Held => {}
                First::Missing => share.deficit_bytes = 0,
            }
            self.begin_next_turn(backlog);
        }
    }

    #[inline]
    fn begin_next_turn(&mut self, backlog: &impl Backlog) {
        self.turn += 1;
        if self.turn == self.count {
            self.turn = 0;
        }
        if let First::Ready(_) = backlog.first(self.turn) {
            let share = &mut self.shares[self.turn % QUEUES_MAX];
            share.deficit_bytes += share.quantum_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three queues that never run empty: by queue, all its packets.
    struct Endless([First; 3]);

    impl Backlog for Endless {
        fn ready(&self) -> u32 {
            let ready = (0..3).filter(|queue| matches!(self.0[*queue], First::Ready(_)));
            ready.map(|queue| 1 << queue).sum()
        }
        fn first(&self, queue: usize) -> First {
            self.0[queue]
        }
    }

    #[test]
    fn bytes_are_shared_by_quanta() {
        let mut scheduler = Scheduler::new([Some(2280), Some(1500), Some(1)].into_iter());
        let backlog = Endless([First::Ready(114), First::Ready(1500), First::Missing]);
        let mut packets = [0u32; 3];
        for _ in 0..21_000 {
            packets[scheduler.next(&backlog).unwrap()] += 1;
        }
        assert_eq!(packets, [20_000, 1_000, 0], "twenty headers for a payload");
    }

    #[test]
    fn strict_queues_go_first_the_larger_number_before_the_smaller() {
        let mut scheduler = Scheduler::new([Some(1), None, None].into_iter());
        let [nine, held, missing] = [First::Ready(9), First::Held, First::Missing];
        assert_eq!(scheduler.next(&Endless([nine, nine, nine])), Some(2));
        assert_eq!(scheduler.next(&Endless([nine, nine, held])), Some(1));
        assert_eq!(scheduler.next(&Endless([nine, missing, held])), Some(0));
        assert_eq!(scheduler.next(&Endless([held, missing, held])), None);
        assert_eq!(scheduler.next(&Endless([missing; 3])), None);
    }

    /// The first queue has 900 bytes of credit left when it may not send for a round.
    fn packets_after_a_pause(pause: First) -> usize {
        let mut scheduler = Scheduler::new([Some(1000), Some(100), Some(100)].into_iter());
        let [small, none] = [First::Ready(100), First::Missing];
        assert_eq!(scheduler.next(&Endless([small, none, none])), Some(0));
        assert_eq!(scheduler.next(&Endless([pause, small, none])), Some(1));
        let next = std::iter::repeat_with(|| scheduler.next(&Endless([small, small, none])));
        next.take_while(|queue| *queue == Some(0)).count()
    }

    #[test]
    fn a_queue_that_is_held_keeps_its_credit_and_an_empty_one_does_not() {
        assert_eq!(packets_after_a_pause(First::Held), 19, "what was left, and a turn");
        assert_eq!(packets_after_a_pause(First::Missing), 10, "a turn");
    }
}
