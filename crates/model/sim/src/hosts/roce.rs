//! The two ends of a reliable connection as RoCE has them: packets at a rate, all from the first one that is missing on
//! again when one is. Nothing but pause frames slows the sender down.

use super::tcp::Counts;
use forebay_chip::{Pacer, Picos};

/// The receiver acknowledges one of this many packets.
const ACKNOWLEDGE_EVERY: u64 = 16;

/// Packets that may be under way: half of the sequence numbers, of 24 bits, is the limit of the standard.
const UNDER_WAY_MAX: u64 = 1 << 15;

/// The end that sends.
#[derive(Debug)]
pub(super) struct Sender {
    total: u64,
    una: u64,
    next: u64,
    fresh: u64,
    pacer: Pacer,
    /// When the rate allows the next packet.
    pub(super) due: Picos,
    rto: Picos,
    pub(super) deadline: Option<Picos>,
    pub(super) counts: Counts,
    pub(super) completed: Option<Picos>,
}

impl Sender {
    /// A sender of `total` packets, at a rate on the wire.
    pub(super) fn new(total: Option<u64>, bits_per_second: u64, start: Picos, rto: Picos) -> Sender {
        Sender {
            total: total.unwrap_or(u64::MAX / 2),
            una: 0,
            next: 0,
            fresh: 0,
            pacer: Pacer::new(bits_per_second),
            due: start,
            rto,
            deadline: None,
            counts: Counts::default(),
            completed: None,
        }
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.una
    }

    /// The number of the next packet, which takes `bits` bits on the wire, if there is one and the rate allows it.
    pub(super) fn packet(&mut self, bits: u64, now: Picos) -> Option<u64> {
        if now < self.due || self.next >= self.total || self.next - self.una >= UNDER_WAY_MAX {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.due = self.due.max(now) + self.pacer.take(bits);
        self.counts.sent += 1;
        self.counts.retransmitted += u64::from(number < self.fresh);
        self.fresh = self.fresh.max(self.next);
        if self.awaits() {
            self.deadline.get_or_insert(now + self.rto);
        }
        Some(number)
    }

    /// Whether something is under way that the receiver acknowledges even if nothing follows.
    fn awaits(&self) -> bool {
        let asked = if self.next == self.total {
            self.next
        } else {
            self.next - self.next % ACKNOWLEDGE_EVERY
        };
        asked > self.una
    }

    /// All before this number have come; with a negative acknowledgement this one has not.
    pub(super) fn acknowledge(&mut self, number: u64, is_negative: bool, now: Picos) {
        if number > self.fresh || number < self.una {
            return;
        }
        self.counts.acknowledged += 1;
        self.una = number;
        self.next = self.next.max(number);
        if is_negative {
            self.next = number;
        }
        self.deadline = self.awaits().then_some(now + self.rto);
        if self.una >= self.total {
            self.completed.get_or_insert(now);
        }
    }

    /// The deadline has passed: all from the first packet on that is not acknowledged goes again.
    pub(super) fn time_out(&mut self) {
        self.counts.timeouts += 1;
        self.next = self.una;
        self.deadline = None;
    }
}

/// The end that receives.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) expected: u64,
    has_complained: bool,
}

impl Receiver {
    /// A packet comes; what to say, if anything: the number that is expected, and whether this one was not.
    pub(super) fn receive(&mut self, number: u64, total: u64) -> Option<(u64, bool)> {
        if number == self.expected {
            self.expected += 1;
            self.has_complained = false;
            let says = self.expected.is_multiple_of(ACKNOWLEDGE_EVERY) || self.expected == total;
            return says.then_some((self.expected, false));
        }
        if number < self.expected {
            return Some((self.expected, false));
        }
        (!std::mem::replace(&mut self.has_complained, true)).then_some((self.expected, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_from_the_missing_one_on_comes_again() {
        let mut sender = Sender::new(Some(40), 0, 0, 1_000_000);
        let mut receiver = Receiver::default();
        let mut lose = true;
        let mut now = 0;
        while sender.completed.is_none() && now < 1_000 {
            now += 1;
            let Some(number) = sender.packet(8, now) else { continue };
            if number == 5 && std::mem::take(&mut lose) {
                continue;
            }
            if let Some((expected, is_negative)) = receiver.receive(number, 40) {
                sender.acknowledge(expected, is_negative, now);
            }
        }
        assert_eq!((receiver.expected, sender.acknowledged()), (40, 40));
        assert_eq!((sender.counts.retransmitted, sender.counts.timeouts), (2, 0), "5 and 6");
    }

    /// At 0.1 Gbps sixteen packets of 1,000 bytes take 1.28 ms: longer than the time-out.
    #[test]
    fn a_slow_sender_does_not_time_out_before_the_receiver_is_to_acknowledge() {
        let mut sender = Sender::new(Some(40), 100_000_000, 0, 1_000_000_000);
        let mut receiver = Receiver::default();
        while sender.completed.is_none() {
            let now = sender.due;
            assert!(sender.deadline.is_none_or(|deadline| now < deadline), "{sender:?}");
            let number = sender.packet(8_000, now).expect("it is due");
            if let Some((expected, is_negative)) = receiver.receive(number, 40) {
                sender.acknowledge(expected, is_negative, now);
            }
        }
        assert_eq!((sender.counts.sent, sender.counts.retransmitted), (40, 0));
    }

    #[test]
    fn a_lost_acknowledgement_ends_in_a_time_out() {
        let mut sender = Sender::new(Some(20), 0, 0, 1_000_000);
        (0..20).for_each(|now| assert_eq!(sender.packet(8, now), Some(now)));
        assert_eq!(sender.deadline, Some(1_000_015), "the sixteenth is to be acknowledged");
        sender.acknowledge(16, false, 30);
        assert_eq!(sender.deadline, Some(1_000_030), "and the last one");
        sender.time_out();
        assert_eq!((sender.packet(8, 2_000_000), sender.deadline), (Some(16), None));
    }
}
