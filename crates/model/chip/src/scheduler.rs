//! Which queue of a port is next.
//!
//! First those of [`Service::Strict`], the most urgent first. When they are empty the others share the port by bytes:
//! deficit weighted round robin (Shreedhar and Varghese, IEEE/ACM Transactions on Networking 4(3), 1996). A queue whose
//! turn begins gets its quantum and sends as many of its packets as the quantum, and what was left of the one before,
//! pays for; an empty queue keeps nothing.

/// The most queues of a port: one for each priority of v1model, which has three bits.
pub(crate) const QUEUES_MAX: usize = 8;

/// How a queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Before all queues with a quantum, and before strict ones of smaller number.
    #[default]
    Strict,
    /// Bytes per turn, at least 1.
    Quantum(u32),
}

/// A queue, as the scheduler sees it.
pub(crate) trait Backlog {
    /// A bit for each queue that has a packet, the lowest for queue 0.
    fn busy(&self) -> u32;
    /// Bytes of the first packet of a queue; none when it is empty.
    fn first_bytes(&self, queue: usize) -> Option<u32>;
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    service: Service,
    deficit_bytes: u64,
}

/// The turns of a port's queues.
#[derive(Debug)]
pub(crate) struct Scheduler {
    shares: [Share; QUEUES_MAX],
    /// The number of queues.
    count: usize,
    /// A bit for each strict queue.
    strict: u32,
    turn: usize,
}

impl Scheduler {
    /// The scheduler of at most [`QUEUES_MAX`] queues.
    pub(crate) fn new(services: impl Iterator<Item = Service>) -> Scheduler {
        let mut scheduler = Scheduler {
            shares: [Share::default(); QUEUES_MAX],
            count: 0,
            strict: 0,
            turn: 0,
        };
        for (share, service) in scheduler.shares.iter_mut().zip(services) {
            share.service = service;
            scheduler.strict |= u32::from(service == Service::Strict) << scheduler.count;
            scheduler.count += 1;
        }
        scheduler
    }

    /// The queue whose first packet goes next; none when all are empty.
    #[inline]
    pub(crate) fn next(&mut self, backlog: &impl Backlog) -> Option<usize> {
        let most_urgent = (backlog.busy() & self.strict).checked_ilog2();
        most_urgent.map_or_else(|| self.next_by_turns(backlog), |queue| Some(queue as usize))
    }

    #[inline]
    fn next_by_turns(&mut self, backlog: &impl Backlog) -> Option<usize> {
        if backlog.busy() == 0 {
            return None;
        }
        // This terminates: in every round, a queue that has a packet gets credit for at least one more byte.
        loop {
            let share = &mut self.shares[self.turn % QUEUES_MAX];
            match backlog.first_bytes(self.turn).map(u64::from) {
                Some(bytes) if bytes <= share.deficit_bytes => {
                    share.deficit_bytes -= bytes;
                    return Some(self.turn);
                }
                Some(_) => {}
                None => share.deficit_bytes = 0,
            }
            self.begin_next_turn(backlog);
        }
    }

    fn begin_next_turn(&mut self, backlog: &impl Backlog) {
        self.turn += 1;
        if self.turn == self.count {
            self.turn = 0;
        }
        let share = &mut self.shares[self.turn % QUEUES_MAX];
        if let (Service::Quantum(bytes), Some(_)) = (share.service, backlog.first_bytes(self.turn)) {
            share.deficit_bytes += u64::from(bytes.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three queues that never run empty: by queue, the size of all its packets.
    struct Endless([Option<u32>; 3]);

    impl Backlog for Endless {
        fn busy(&self) -> u32 {
            let busy = (0..3).filter(|queue| self.0[*queue].is_some());
            busy.map(|queue| 1 << queue).sum()
        }
        fn first_bytes(&self, queue: usize) -> Option<u32> {
            self.0[queue]
        }
    }

    #[test]
    fn bytes_are_shared_by_quanta() {
        let services = [Service::Quantum(2280), Service::Quantum(1500), Service::Quantum(1)];
        let mut scheduler = Scheduler::new(services.into_iter());
        let backlog = Endless([Some(114), Some(1500), None]);
        let mut packets = [0u32; 3];
        for _ in 0..21_000 {
            packets[scheduler.next(&backlog).unwrap()] += 1;
        }
        assert_eq!(packets, [20_000, 1_000, 0], "twenty headers for a payload");
    }

    #[test]
    fn strict_queues_go_first_the_larger_number_before_the_smaller() {
        let services = [Service::Quantum(1), Service::Strict, Service::Strict];
        let mut scheduler = Scheduler::new(services.into_iter());
        assert_eq!(scheduler.next(&Endless([Some(9), Some(9), Some(9)])), Some(2));
        assert_eq!(scheduler.next(&Endless([Some(9), Some(9), None])), Some(1));
        assert_eq!(scheduler.next(&Endless([Some(9), None, None])), Some(0));
        assert_eq!(scheduler.next(&Endless([None, None, None])), None);
    }
}
