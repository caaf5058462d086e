//! The two ends of a TCP connection, without its beginning and its end.
//!
//! The sender is NewReno's (RFC 6582) around a [`Window`]: fast retransmit after three duplicate acknowledgements,
//! partial acknowledgements, time-outs after RFC 6298. The receiver acknowledges each segment and keeps what comes
//! early. Marks of switches come back as RFC 3168 says, with DCTCP those of each segment.

use super::congestion::Window;
use super::entries::Transport;
use forebay_chip::Picos;
use std::collections::BTreeMap;

/// Picoseconds in a second.
const SECOND: f64 = 1e12;

/// The longest time-out: a minute.
const RTO_MAX: Picos = 60_000_000_000_000;

/// Acknowledgements of the same that say that a segment is lost.
const DUPLICATES: u32 = 3;

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) sequence: u64,
    pub(super) bytes: u64,
    /// Tells the receiver that the window has been reduced.
    pub(super) is_reduced: bool,
}

/// What a flow's sender has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) retransmitted: u64,
    pub(super) timeouts: u64,
    pub(super) acknowledged: u64,
    pub(super) marked: u64,
    pub(super) round_trips: u64,
    pub(super) round_trip_sum: f64,
}

/// The end that sends.
#[derive(Debug)]
pub(super) struct Sender {
    transport: Transport,
    segment: u64,
    total: u64,
    /// First byte that is not acknowledged, the next to be sent, and the first that never was.
    una: u64,
    next: u64,
    fresh: u64,
    window: Window,
    duplicates: u32,
    /// Fast recovery: the byte whose acknowledgement ends it, and the segments that have left the network meanwhile.
    recovery: Option<(u64, f64)>,
    /// What was sent before is not to begin another recovery.
    recovered: u64,
    retransmit: bool,
    /// The window of data whose marks are counted: it ends when this byte is acknowledged.
    window_end: u64,
    /// What was sent when the window was last reduced for a mark: until all of it is acknowledged, marks are older.
    reduced: Option<u64>,
    tells_reduced: bool,
    round_trip: Option<(f64, f64)>,
    timed: Option<(u64, Picos)>,
    rto: Picos,
    rto_min: Picos,
    /// Whether nothing has been acknowledged since the last time-out.
    has_timed_out: bool,
    pub(super) deadline: Option<Picos>,
    pub(super) counts: Counts,
    pub(super) completed: Option<Picos>,
}

impl Sender {
    pub(super) fn new(transport: Transport, segment: u32, total: Option<u64>, rto_min: Picos) -> Sender {
        Sender {
            transport,
            segment: segment.into(),
            total: total.unwrap_or(u64::MAX / 2),
            una: 0,
            next: 0,
            fresh: 0,
            window: Window::new(transport),
            duplicates: 0,
            recovery: None,
            recovered: 0,
            retransmit: false,
            window_end: 0,
            reduced: None,
            tells_reduced: false,
            round_trip: None,
            timed: None,
            // RFC 6298 begins with a second, which is an age here.
            rto: 10 * rto_min,
            rto_min,
            has_timed_out: false,
            deadline: None,
            counts: Counts::default(),
            completed: None,
        }
    }

    /// The bytes that are acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Segments that may be under way.
    pub(super) fn window(&self) -> f64 {
        self.window.size
    }

    fn under_way(&self) -> f64 {
        (self.next - self.una) as f64 / self.segment as f64
    }

    /// The next segment that the window allows.
    pub(super) fn segment(&mut self, now: Picos) -> Option<Segment> {
        let sequence = if self.retransmit { self.una } else { self.next };
        let bytes = self.segment.min(self.total - sequence);
        let inflated = self.recovery.map_or(0.0, |(_, left)| left);
        let has_room = self.under_way() + 1.0 <= (self.window.size + inflated).max(1.0);
        if bytes == 0 || !(self.retransmit || has_room) {
            return None;
        }
        if !std::mem::take(&mut self.retransmit) {
            self.next += bytes;
        }
        self.counts.sent += 1;
        let is_new = sequence >= self.fresh;
        if !is_new {
            self.counts.retransmitted += 1;
            // Karn: an acknowledgement of what was sent twice says nothing about time.
            self.timed = None;
        } else if self.timed.is_none() {
            self.timed = Some((sequence + bytes, now));
        }
        self.fresh = self.fresh.max(sequence + bytes);
        self.deadline.get_or_insert(now + self.rto);
        Some(Segment {
            sequence,
            bytes,
            // RFC 3168, section 6.1.2: the first new data after a reduction says so.
            is_reduced: is_new && std::mem::take(&mut self.tells_reduced),
        })
    }

    /// An acknowledgement comes.
    pub(super) fn acknowledge(&mut self, number: u64, echoes_mark: bool, now: Picos) {
        if number > self.fresh {
            return;
        }
        self.counts.acknowledged += 1;
        self.counts.marked += u64::from(echoes_mark);
        let more = number.saturating_sub(self.una);
        self.mark(number, more, echoes_mark);
        if more > 0 {
            self.advance(number, more, now);
        } else if self.next > self.una && number == self.una {
            self.duplicate();
        }
    }

    /// What the window makes of marks.
    fn mark(&mut self, number: u64, more: u64, echoes_mark: bool) {
        self.window.count(more, echoes_mark);
        let is_newer = !self.is_reduced(number) && number > self.recovered;
        if echoes_mark && is_newer && self.recovery.is_none() {
            self.window.limit(self.under_way());
            self.window.react_to_mark();
            self.reduced = Some(self.fresh);
            self.tells_reduced = true;
        }
        if number >= self.window_end {
            self.window.end_window_of_data();
            self.window_end = self.next;
        }
    }

    /// Whether what this acknowledges was sent before the window was last reduced for a mark.
    fn is_reduced(&self, number: u64) -> bool {
        self.reduced.is_some_and(|sent| number <= sent)
    }

    fn advance(&mut self, number: u64, more: u64, now: Picos) {
        self.measure(number, now);
        self.una = number;
        self.next = self.next.max(number);
        self.duplicates = 0;
        self.has_timed_out = false;
        let segments = more as f64 / self.segment as f64;
        match self.recovery {
            Some((end, _)) if number >= end => {
                self.recovery = None;
                self.window.size = self.window.threshold().min(self.under_way().max(1.0) + 1.0);
            }
            Some((end, left)) => {
                // A partial acknowledgement: the next hole begins here.
                self.recovery = Some((end, (left - segments).max(0.0) + 1.0));
                self.retransmit = true;
            }
            None if !self.is_reduced(number) => {
                let round_trip = self.round_trip.map_or(0.0, |(mean, _)| mean);
                self.window.grow(segments, now as f64 / SECOND, round_trip / SECOND);
            }
            None => {}
        }
        self.deadline = (self.next > self.una).then_some(now + self.rto);
        if self.una >= self.total {
            self.completed.get_or_insert(now);
        }
    }

    fn duplicate(&mut self) {
        self.duplicates += 1;
        match &mut self.recovery {
            Some((_, left)) => *left += 1.0,
            None if self.duplicates == DUPLICATES && self.una >= self.recovered => {
                self.window.limit(self.under_way());
                self.window.reduce();
                self.tells_reduced = true;
                self.recovery = Some((self.next, f64::from(DUPLICATES)));
                self.recovered = self.next;
                self.retransmit = true;
            }
            None => {}
        }
    }

    /// The deadline has passed: everything that is not acknowledged is sent again.
    pub(super) fn time_out(&mut self, now: Picos) {
        self.counts.timeouts += 1;
        let under_way = self.under_way();
        // RFC 5681, section 3.1: the threshold stays when what was sent again is lost.
        if std::mem::replace(&mut self.has_timed_out, true) {
            self.window.size = 1.0
        } else {
            self.window.collapse(under_way)
        }
        self.recovery = None;
        self.recovered = self.fresh;
        self.reduced = None;
        self.tells_reduced = true;
        self.duplicates = 0;
        self.retransmit = false;
        self.next = self.una;
        self.timed = None;
        self.rto = (2 * self.rto).min(RTO_MAX);
        self.deadline = Some(now + self.rto);
    }

    /// Mean and variation of round trips, after RFC 6298.
    fn measure(&mut self, number: u64, now: Picos) {
        let Some((_, sent)) = self.timed.filter(|(end, _)| number >= *end) else {
            return;
        };
        self.timed = None;
        let sample = (now - sent) as f64;
        self.counts.round_trips += 1;
        self.counts.round_trip_sum += sample;
        let (mean, variation) = match self.round_trip {
            None => (sample, sample / 2.0),
            Some((mean, variation)) => (
                0.875 * mean + 0.125 * sample,
                0.75 * variation + 0.25 * (mean - sample).abs(),
            ),
        };
        self.round_trip = Some((mean, variation));
        self.rto = ((mean + 4.0 * variation) as Picos).clamp(self.rto_min, RTO_MAX);
    }

    /// Whether each mark comes back by itself.
    pub(super) fn echoes_each_mark(&self) -> bool {
        self.transport == Transport::Dctcp
    }
}

/// The end that receives.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// The first byte that is missing.
    pub(super) expected: u64,
    /// What came early: ends by beginnings.
    early: BTreeMap<u64, u64>,
    echoes_mark: bool,
}

impl Receiver {
    /// A segment comes; the number to acknowledge, and whether to echo a mark.
    pub(super) fn receive(&mut self, segment: Segment, is_marked: bool, echoes_each: bool) -> (u64, bool) {
        let end = segment.sequence + segment.bytes;
        let known = self.early.entry(segment.sequence).or_insert(end);
        *known = (*known).max(end);
        while let Some(first) = self.early.first_entry().filter(|first| *first.key() <= self.expected) {
            self.expected = self.expected.max(first.remove());
        }
        // RFC 3168: until the sender says that it has reduced its window.
        let latched = self.echoes_mark && !segment.is_reduced;
        self.echoes_mark = is_marked || latched;
        (self.expected, if echoes_each { is_marked } else { self.echoes_mark })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1_000;

    fn sender(transport: Transport) -> Sender {
        Sender::new(transport, SEGMENT as u32, None, 1_000_000_000)
    }

    fn burst(sender: &mut Sender, now: Picos) -> Vec<Segment> {
        std::iter::from_fn(|| sender.segment(now)).collect()
    }

    #[test]
    fn a_lost_segment_is_sent_again_after_three_duplicates() {
        let (mut sender, mut receiver) = (sender(Transport::NewReno), Receiver::default());
        let first = burst(&mut sender, 0);
        assert_eq!(first.len(), 10);
        for segment in first.iter().filter(|segment| segment.sequence != 2 * SEGMENT) {
            let (number, _) = receiver.receive(*segment, false, false);
            sender.acknowledge(number, false, 1_000_000);
        }
        let again = sender.segment(1_000_000).expect("the one that was lost");
        assert_eq!(again.sequence, 2 * SEGMENT);
        assert_eq!(
            (sender.counts.retransmitted, sender.window()),
            (1, 4.5),
            "half of 8 under way, and of one for which there was room"
        );
        let (number, _) = receiver.receive(again, false, false);
        assert_eq!(number, 10 * SEGMENT);
        sender.acknowledge(number, false, 2_000_000);
        assert!(sender.recovery.is_none() || sender.fresh > number);
    }

    #[test]
    fn a_time_out_begins_again_with_one_segment() {
        let mut sender = sender(Transport::Cubic);
        burst(&mut sender, 0);
        let deadline = sender.deadline.expect("something is under way");
        sender.time_out(deadline);
        let again = burst(&mut sender, deadline);
        assert_eq!((again.len(), again[0].sequence), (1, 0));
        assert!(sender.deadline.is_some_and(|next| next > deadline));
        sender.time_out(2 * deadline);
        assert_eq!((sender.window(), sender.window.threshold()), (1.0, 7.0), "0.7 of 10");
    }

    #[test]
    fn a_mark_comes_back_until_the_window_is_reduced() {
        let mut receiver = Receiver::default();
        let segment = |number: u64, is_reduced| Segment {
            sequence: number * SEGMENT,
            bytes: SEGMENT,
            is_reduced,
        };
        let echoes = [
            receiver.receive(segment(0, false), true, false).1,
            receiver.receive(segment(1, false), false, false).1,
            receiver.receive(segment(2, true), false, false).1,
        ];
        assert_eq!(echoes, [true, true, false]);
        assert!(!receiver.receive(segment(3, false), false, true).1);
        assert!(receiver.receive(segment(4, false), true, true).1);
    }

    #[test]
    fn marks_that_come_back_until_the_reduction_is_known_do_not_reduce_again() {
        let (mut sender, mut receiver) = (sender(Transport::NewReno), Receiver::default());
        let mut sent = burst(&mut sender, 0);
        for round in 1..=2 {
            for segment in std::mem::take(&mut sent) {
                let is_marked = segment.sequence == 5 * SEGMENT;
                let (number, echoes) = receiver.receive(segment, is_marked, false);
                sender.acknowledge(number, echoes, round * 1_000_000);
                sent.extend(burst(&mut sender, round * 1_000_000));
            }
        }
        let tell: Vec<u64> = sent
            .iter()
            .filter(|segment| segment.is_reduced)
            .map(|segment| segment.sequence)
            .collect();
        assert_eq!((tell, sender.window()), (vec![20 * SEGMENT], 7.5), "half of 15, once");
    }

    #[test]
    fn a_loss_is_a_reduction_for_marks_too() {
        let mut sender = sender(Transport::NewReno);
        burst(&mut sender, 0);
        sender.acknowledge(SEGMENT, false, 1_000_000);
        (0..3).for_each(|_| sender.acknowledge(SEGMENT, false, 1_000_000));
        let again = sender.segment(1_000_000).expect("the one that was lost");
        assert_eq!((again.sequence, again.is_reduced), (SEGMENT, false), "it is not new");
        let window = sender.window();
        sender.acknowledge(10 * SEGMENT, true, 2_000_000);
        assert!(sender.window() <= window);
        let next = sender.segment(2_000_000).expect("new data");
        assert_eq!((next.sequence, next.is_reduced), (10 * SEGMENT, true));
        assert!(sender.reduced.is_none());
    }

    #[test]
    fn a_window_is_reduced_once_for_the_marks_of_a_window() {
        let mut sender = sender(Transport::NewReno);
        burst(&mut sender, 0);
        for number in 1..=5 {
            sender.acknowledge(number * SEGMENT, number > 1, 1_000_000);
        }
        assert!((5.0..6.0).contains(&sender.window()), "{}", sender.window());
    }
}
