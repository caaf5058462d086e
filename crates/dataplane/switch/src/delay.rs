//! Processing delays of sampled packets: of every N packets that leave by a port, one is timed.
//!
//! ```text
//!   a port delivers a burst ─► pipeline ─► (queue) ─► pipeline ─► ports are flushed
//!   ▲ the clock is read,                                        ▲ and read again
//!     if a sample is due
//! ```
//!
//! A delay begins when a port has delivered the packet's burst, and ends when the ports have sent what they were
//! given. For packets of the slow path it begins with the poll that brings them to ingress. If they leave their queue
//! in a later poll, the beginning is known to a microsecond, like their timestamps. For a packet that goes round
//! again, the delay starts again. Dropped packets are not timed.
//!
//! When no sample is due, a burst costs a comparison and a subtraction. The sampled packets are the N-th, the 2N-th, …
//! that leave, so all burst sizes and all paths are represented.

use forebay_histogram::Histogram;

/// Reads the clock that gives the times passed to [`crate::Switch::poll`], in nanoseconds.
pub type DelayClock = Box<dyn Fn() -> u64 + Send>;

/// The most different beginnings that wait for the end of a poll; further packets are counted with the last one.
const WAITING_MAX: usize = 64;

/// See the [module](self).
pub(crate) struct Delays {
    /// One of this many packets is timed.
    every: u64,
    /// The number of packets up to and including the next one that is timed.
    until_next: u64,
    /// Packets of the current burst that were given to ports.
    handed_over: u64,
    clock: Option<DelayClock>,
    /// The beginnings of delays that end with this poll, each with its number of packets.
    waiting: Vec<(u64, u64)>,
    delays: Histogram,
}

impl Default for Delays {
    /// Times no packets.
    fn default() -> Delays {
        Delays {
            every: u64::MAX,
            until_next: u64::MAX,
            handed_over: 0,
            clock: None,
            waiting: Vec::new(),
            delays: Histogram::default(),
        }
    }
}

impl Delays {
    /// Times one of `every` packets; 0 counts as 1.
    pub(crate) fn new(every: u64, clock: DelayClock) -> Delays {
        Delays {
            every: every.max(1),
            until_next: every.max(1),
            clock: Some(clock),
            waiting: Vec::with_capacity(WAITING_MAX),
            ..Delays::default()
        }
    }

    /// The delays so far; `None` when nothing is timed.
    pub(crate) fn delays(&self) -> Option<&Histogram> {
        self.clock.as_ref().map(|_| &self.delays)
    }

    /// The time, if one of `packets` that have just arrived may be timed.
    #[inline]
    pub(crate) fn arrival(&self, packets: u64) -> Option<u64> {
        if self.until_next > packets {
            return None;
        }
        self.clock.as_ref().map(|clock| clock())
    }

    /// Counts packets of the current burst that were given to a port.
    #[inline]
    pub(crate) fn hand_over(&mut self, packets: u64) {
        self.handed_over += packets;
    }

    /// Ends the current burst, which began at this time: all of its packets that leave have been given to ports.
    #[inline]
    pub(crate) fn burst_ends(&mut self, began_ns: Option<u64>) {
        let packets = std::mem::take(&mut self.handed_over);
        self.leave(began_ns, packets);
    }

    #[inline]
    fn leave(&mut self, began_ns: Option<u64>, packets: u64) {
        if self.until_next > packets {
            self.until_next -= packets;
        } else {
            self.sample(began_ns, packets);
        }
    }

    /// Counts a packet of the slow path that leaves.
    #[inline]
    pub(crate) fn leaves(&mut self, began_ns: u64) {
        self.leave(Some(began_ns), 1);
    }

    #[cold]
    fn sample(&mut self, began_ns: Option<u64>, packets: u64) {
        let Some(began_ns) = began_ns else {
            // More packets left than arrived, because of copies: the next packet is timed.
            self.until_next = 1;
            return;
        };
        let behind = packets - self.until_next;
        let samples = 1 + behind / self.every;
        self.until_next = self.every - behind % self.every;
        let is_full = self.waiting.len() == WAITING_MAX;
        match self.waiting.last_mut().filter(|last| is_full || last.0 == began_ns) {
            Some(last) => last.1 += samples,
            None => self.waiting.push((began_ns, samples)),
        }
    }

    /// Ends a poll: the ports have sent what they were given.
    #[inline]
    pub(crate) fn poll_ends(&mut self) {
        if !self.waiting.is_empty() {
            self.record();
        }
    }

    #[cold]
    fn record(&mut self) {
        let now_ns = self.clock.as_ref().map_or(0, |clock| clock());
        for (began_ns, samples) in self.waiting.drain(..) {
            self.delays.record_many(now_ns.saturating_sub(began_ns), samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn timed(every: u64) -> (Delays, Arc<AtomicU64>) {
        let time = Arc::new(AtomicU64::new(100));
        let clock = Arc::clone(&time);
        (
            Delays::new(every, Box::new(move || clock.load(Ordering::Relaxed))),
            time,
        )
    }

    /// A burst that arrives and leaves within 50 ns.
    fn burst(delays: &mut Delays, time: &AtomicU64, packets: u64) {
        let began_ns = delays.arrival(packets);
        time.fetch_add(50, Ordering::Relaxed);
        delays.hand_over(packets);
        delays.burst_ends(began_ns);
        delays.poll_ends();
    }

    #[test]
    fn one_of_so_many_is_timed_whatever_the_bursts() {
        for (every, bursts) in [(1, 7), (10, 64), (64, 64), (1000, 32), (3, 1)] {
            let (mut delays, time) = timed(every);
            (0..3_000).for_each(|_| burst(&mut delays, &time, bursts));
            let histogram = delays.delays().expect("they are timed");
            assert_eq!(
                histogram.count(),
                3_000 * bursts / every,
                "1 in {every}, bursts of {bursts}"
            );
            assert_eq!((histogram.min(), histogram.max()), (50, 50));
        }
    }

    #[test]
    fn packets_of_the_slow_path_begin_where_they_say() {
        let (mut delays, time) = timed(2);
        for began_ns in [10, 20, 30, 40] {
            delays.leaves(began_ns);
        }
        time.store(1_000, Ordering::Relaxed);
        delays.poll_ends();
        let histogram = delays.delays().expect("they are timed");
        assert_eq!((histogram.count(), histogram.min(), histogram.max()), (2, 960, 980));
    }

    #[test]
    fn copies_that_nothing_has_timed_make_the_next_packet_due() {
        let (mut delays, time) = timed(100);
        delays.hand_over(250);
        delays.burst_ends(None);
        delays.poll_ends();
        assert_eq!(delays.delays().map(Histogram::count), Some(0));
        burst(&mut delays, &time, 1);
        assert_eq!(delays.delays().map(Histogram::count), Some(1));
    }

    #[test]
    fn more_beginnings_than_there_is_room_for_are_counted_all_the_same() {
        let (mut delays, _) = timed(1);
        (0..200).for_each(|began_ns| delays.leaves(began_ns));
        assert_eq!(delays.waiting.len(), WAITING_MAX);
        delays.poll_ends();
        assert_eq!(delays.delays().map(Histogram::count), Some(200));
    }

    #[test]
    fn nothing_is_timed_without_a_clock() {
        let mut delays = Delays::default();
        assert_eq!(delays.arrival(u64::MAX - 1), None);
        delays.hand_over(1 << 40);
        delays.burst_ends(None);
        delays.poll_ends();
        assert!(delays.delays().is_none());
    }
}
