//! A port that makes its packets itself: one each interval, as the packet generator of a switch chip does.
//!
//! A program may hold state that only another packet can release: a batch that is not full, a flow that has ended.
//! Timer packets have numbers from 0 on, so that a program can examine one element of its registers with each of them;
//! `programs/common/timer.p4` is their format in P4:
//!
//! ```text
//!   Ethernet: addresses 0, EtherType 0x88b5 | kind 1 | 0 | round 2 | number 4 | 0 ...      60 bytes
//! ```
//!
//! When a switch stops, a *last round* ([`Port::begin_last_round`]) brings all numbers once more, so that what is kept
//! can go.

use crate::{Burst, DropReason, Port, PortCounters, PortError, Readiness};

/// Bytes of a timer packet: the shortest frame.
pub const TIMER_FRAME_BYTES: usize = 60;

/// EtherType "local experimental 1" (IEEE 802).
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

/// What a timer packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TimerKind {
    /// It came when it was due.
    Periodic = 0,
    /// The switch stops.
    LastRound = 1,
}

/// A timer packet.
pub fn timer_frame(kind: TimerKind, round: u16, number: u32) -> [u8; TIMER_FRAME_BYTES] {
    let mut frame = [0; TIMER_FRAME_BYTES];
    frame[12..14].copy_from_slice(&ETHERTYPE);
    frame[14] = kind as u8;
    frame[16..18].copy_from_slice(&round.to_be_bytes());
    frame[18..22].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Counts through the numbers, round after round.
#[derive(Debug, Clone)]
pub struct TimerNumbers {
    packets: u32,
    number: u32,
    round: u16,
}

impl TimerNumbers {
    /// Numbers 0 to `packets` − 1; at least one.
    pub fn new(packets: u32) -> TimerNumbers {
        TimerNumbers {
            packets: packets.max(1),
            number: 0,
            round: 0,
        }
    }

    /// The next packet.
    pub fn next_frame(&mut self, kind: TimerKind) -> [u8; TIMER_FRAME_BYTES] {
        let frame = timer_frame(kind, self.round, self.number);
        self.number += 1;
        if self.number == self.packets {
            self.number = 0;
            self.round = self.round.wrapping_add(1);
        }
        frame
    }
}

/// See the [module](self). What is sent to it is dropped.
#[derive(Debug)]
pub struct TimerPort {
    name: String,
    interval_ns: u64,
    numbers: TimerNumbers,
    /// When the next packet is due; set by the first call.
    due_ns: Option<u64>,
    /// In the last round: packets that are still to come.
    last_round: Option<u32>,
    counters: PortCounters,
}

impl TimerPort {
    /// A packet each `interval_ns`, at least 1, with numbers from 0 to `packets` − 1 again and again.
    pub fn new(name: &str, interval_ns: u64, packets: u32) -> TimerPort {
        TimerPort {
            name: name.to_owned(),
            interval_ns: interval_ns.max(1),
            numbers: TimerNumbers::new(packets),
            due_ns: None,
            last_round: None,
            counters: PortCounters::default(),
        }
    }

    /// Packets that are due. One that is called too seldom makes up for a round, no more.
    fn due(&mut self, now_ns: u64) -> u64 {
        let due_ns = *self.due_ns.get_or_insert(now_ns + self.interval_ns);
        let due = (now_ns + self.interval_ns).saturating_sub(due_ns) / self.interval_ns;
        let round = u64::from(self.numbers.packets);
        if due > round {
            self.due_ns = Some(now_ns.saturating_sub((round - 1) * self.interval_ns));
        }
        due.min(round)
    }
}

impl Port for TimerPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let (kind, wanted) = match self.last_round {
            Some(left) => (TimerKind::LastRound, u64::from(left)),
            None => (TimerKind::Periodic, self.due(now_ns)),
        };
        let count = wanted.min(max.min(burst.room()) as u64) as u32;
        for _ in 0..count {
            let Some(packet) = burst.allocate() else { break };
            packet.set_data(&self.numbers.next_frame(kind));
            packet.timestamp_ns = now_ns;
            self.counters.count_received(TIMER_FRAME_BYTES);
        }
        match (&mut self.last_round, &mut self.due_ns) {
            (Some(left), _) => *left -= count,
            (None, Some(due_ns)) => *due_ns += u64::from(count) * self.interval_ns,
            (None, None) => {}
        }
        Ok(count as usize)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        self.counters.count_drops(DropReason::SendRefused, burst.len() as u64);
        burst.clear();
        Ok(0)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn readiness(&self) -> Readiness {
        match (self.last_round, self.due_ns) {
            (Some(0), _) => Readiness::Never,
            (Some(_), _) | (None, None) => Readiness::Now,
            (None, Some(due_ns)) => Readiness::At(due_ns),
        }
    }

    fn is_timer(&self) -> bool {
        true
    }

    fn begin_last_round(&mut self) -> bool {
        self.numbers.number = 0;
        self.last_round = Some(self.numbers.packets);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(port: &mut TimerPort, now_ns: u64) -> Vec<(u8, u8)> {
        let mut burst = Burst::new(8);
        port.receive(&mut burst, 8, now_ns).expect("a timer does not fail");
        let frames = burst.iter().map(|packet| packet.data());
        frames.map(|frame| (frame[14], frame[21])).collect()
    }

    #[test]
    fn packets_come_when_they_are_due() {
        let mut port = TimerPort::new("timer", 100, 3);
        assert_eq!(numbers(&mut port, 1_000), []);
        assert_eq!(port.readiness(), Readiness::At(1_100));
        assert_eq!(numbers(&mut port, 1_099), []);
        assert_eq!(numbers(&mut port, 1_150), [(0, 0)]);
        assert_eq!(numbers(&mut port, 1_300), [(0, 1), (0, 2)]);
        assert_eq!(numbers(&mut port, 1_400), [(0, 0)]);
    }

    #[test]
    fn what_is_late_is_made_up_for_by_a_round_at_most() {
        let mut port = TimerPort::new("timer", 100, 3);
        numbers(&mut port, 0);
        assert_eq!(numbers(&mut port, 100_000).len(), 3);
        assert_eq!(numbers(&mut port, 100_000).len(), 0);
        assert_eq!(numbers(&mut port, 100_100).len(), 1);
    }

    #[test]
    fn the_last_round_has_all_numbers_once() {
        let mut port = TimerPort::new("timer", 100, 10);
        numbers(&mut port, 0);
        numbers(&mut port, 300);
        assert!(port.begin_last_round());
        assert_eq!(port.readiness(), Readiness::Now);
        let mut all = numbers(&mut port, 300);
        all.extend(numbers(&mut port, 300));
        assert_eq!(all, (0..10).map(|number| (1, number)).collect::<Vec<_>>());
        assert_eq!(
            (numbers(&mut port, 9_000), port.readiness()),
            (vec![], Readiness::Never)
        );
    }
}
