//! What became of every message: the receiver's side of an experiment.

use std::fmt;

use crate::message::{AGGREGATE_TYPE, MessageFault, MessageFormat, MessageId};
use crate::sequence::{Arrival, DEFAULT_WINDOW, SequenceTracker};

/// What a received UDP payload was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A correct message, and how it came.
    Message(MessageId, Arrival),
    /// An N-packet of this many messages, each of which was counted by itself.
    Aggregate(usize),
    /// An N-packet, where only messages are expected.
    UnexpectedAggregate,
    /// A correct message of a flow that does not exist.
    UnknownFlow(MessageId),
    /// Not a message, or one that was changed on the way.
    Changed(MessageFault),
}

/// Checks every message byte for byte and counts per flow.
#[derive(Debug, Clone)]
pub struct Checker {
    format: MessageFormat,
    accepts_aggregates: bool,
    /// One for each flow, made when its first message comes.
    flows: Vec<Option<SequenceTracker>>,
    counts: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    aggregates: u64,
    duplicated: u64,
    reordered: u64,
    extent_max: u64,
    too_late: u64,
    changed: u64,
    unexpected: u64,
}

impl Checker {
    /// A checker for the flows 0 to `flows` − 1 that takes single messages only: the server of an
    /// experiment with disaggregation.
    pub fn new(format: MessageFormat, flows: u32) -> Checker {
        Checker {
            format,
            accepts_aggregates: false,
            flows: vec![None; flows as usize],
            counts: Counts::default(),
        }
    }

    /// The same, but N-packets are split and their messages counted: a server behind the
    /// aggregating switch alone.
    #[must_use]
    pub fn accepting_aggregates(mut self) -> Checker {
        self.accepts_aggregates = true;
        self
    }

    /// Checks what a UDP socket received, or the UDP payload of a frame.
    pub fn receive(&mut self, datagram: &[u8]) -> Verdict {
        let payloads = match self.format.split(datagram) {
            Ok(payloads) => payloads,
            Err(fault) => return self.changed(fault),
        };
        if datagram[0] != AGGREGATE_TYPE {
            return payloads.fold(Verdict::Aggregate(0), |_, payload| self.receive_payload(payload));
        }
        if !self.accepts_aggregates {
            self.counts.unexpected += 1;
            return Verdict::UnexpectedAggregate;
        }
        self.counts.aggregates += 1;
        let count = payloads.len();
        for payload in payloads {
            self.receive_payload(payload);
        }
        Verdict::Aggregate(count)
    }

    /// Checks one message's payload, without its flag header.
    fn receive_payload(&mut self, payload: &[u8]) -> Verdict {
        let id = match self.format.read_payload(payload) {
            Ok(id) => id,
            Err(fault) => return self.changed(fault),
        };
        let Some(flow) = self.flows.get_mut(id.flow as usize) else {
            self.counts.unexpected += 1;
            return Verdict::UnknownFlow(id);
        };
        let tracker = flow.get_or_insert_with(|| SequenceTracker::new(DEFAULT_WINDOW));
        let arrival = tracker.arrive(id.sequence);
        match arrival {
            Arrival::InOrder => {}
            Arrival::Reordered { extent } => {
                self.counts.reordered += 1;
                self.counts.extent_max = self.counts.extent_max.max(extent);
            }
            Arrival::Duplicate => self.counts.duplicated += 1,
            Arrival::TooLate => self.counts.too_late += 1,
        }
        Verdict::Message(id, arrival)
    }

    fn changed(&mut self, fault: MessageFault) -> Verdict {
        self.counts.changed += 1;
        Verdict::Changed(fault)
    }

    /// How many different correct messages have come: cheap, to wait for the end of a run.
    pub fn delivered(&self) -> u64 {
        self.flows.iter().flatten().map(SequenceTracker::delivered).sum()
    }

    /// The state of one flow, once a message of it has come.
    pub fn flow(&self, flow: u32) -> Option<&SequenceTracker> {
        self.flows.get(flow as usize)?.as_ref()
    }

    /// Sums up, given how many messages each flow has sent (flows not named have sent none).
    pub fn report(&self, sent: &[u32]) -> Report {
        let lost = |(flow, sent): (usize, &u32)| {
            let delivered = self.flow(flow as u32).map_or(0, SequenceTracker::delivered);
            u64::from(*sent).saturating_sub(delivered)
        };
        Report {
            sent: sent.iter().copied().map(u64::from).sum(),
            delivered: self.delivered(),
            lost: sent.iter().enumerate().map(lost).sum(),
            duplicated: self.counts.duplicated,
            reordered: self.counts.reordered,
            reordering_extent_max: self.counts.extent_max,
            too_late: self.counts.too_late,
            changed: self.counts.changed,
            unexpected: self.counts.unexpected,
            aggregates: self.counts.aggregates,
        }
    }
}

/// What became of the messages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Messages sent.
    pub sent: u64,
    /// Different messages that came unchanged.
    pub delivered: u64,
    /// Messages that never came unchanged.
    pub lost: u64,
    /// Messages that came again.
    pub duplicated: u64,
    /// Messages that came after a later one of their flow (RFC 4737 §3.3).
    pub reordered: u64,
    /// The largest reordering extent, in packets of the flow (RFC 4737 §4.2).
    pub reordering_extent_max: u64,
    /// Messages so late that they may be duplicates; counted as delivered.
    pub too_late: u64,
    /// Datagrams or payloads that are not what was sent.
    pub changed: u64,
    /// Correct messages of flows that do not exist, and N-packets where none are expected.
    pub unexpected: u64,
    /// N-packets that were split.
    pub aggregates: u64,
}

impl Report {
    /// Whether every message came once, unchanged, in order.
    pub fn is_perfect(&self) -> bool {
        let faults = self.lost + self.duplicated + self.reordered + self.too_late + self.changed + self.unexpected;
        faults == 0 && self.delivered == self.sent
    }

    /// Reordered messages over delivered ones (RFC 4737 §4.1), 0 when none came.
    pub fn reordered_ratio(&self) -> f64 {
        if self.delivered == 0 {
            0.0
        } else {
            self.reordered as f64 / self.delivered as f64
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} of {} messages delivered, {} lost, {} duplicated, {} changed, {} reordered",
            self.delivered, self.sent, self.lost, self.duplicated, self.changed, self.reordered
        )?;
        for (count, what) in [
            (self.reordering_extent_max, "largest extent"),
            (self.too_late, "too late to tell"),
            (self.unexpected, "unexpected"),
            (self.aggregates, "N-packets split"),
        ] {
            if count > 0 {
                write!(formatter, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MessageSource;
    use proptest::prelude::*;

    fn format() -> MessageFormat {
        MessageFormat::new(16).expect("the published length")
    }

    /// The datagrams of `count` messages of `flows` flows, and the numbers sent.
    fn datagrams(flows: u32, count: usize) -> (Vec<Vec<u8>>, Vec<u32>) {
        let mut source = MessageSource::new(format(), flows);
        let made = (0..count)
            .map(|_| {
                let mut datagram = Vec::new();
                source.next_udp_payload(&mut datagram);
                datagram
            })
            .collect();
        (made, source.sent().to_vec())
    }

    #[test]
    fn every_fate_is_told() {
        let (mut datagrams, sent) = datagrams(2, 10);
        datagrams[3][20] ^= 1; // changed: also lost
        let repeated = datagrams[4].clone();
        datagrams[5] = repeated; // message 5 lost, message 4 twice
        datagrams.swap(6, 8); // messages 3 and 4 of flow 0
        let mut checker = Checker::new(format(), 2);
        for datagram in &datagrams {
            checker.receive(datagram);
        }
        let report = checker.report(&sent);
        assert_eq!(
            report.to_string(),
            "8 of 10 messages delivered, 2 lost, 1 duplicated, 1 changed, 1 reordered, \
             1 largest extent"
        );
        assert!(!report.is_perfect());
        assert_eq!(report.reordered_ratio(), 0.125);
    }

    #[test]
    fn aggregates_are_split_when_expected() {
        let ids: Vec<_> = (0..4).map(|flow| MessageId { flow, sequence: 0 }).collect();
        let mut datagram = Vec::new();
        format().write_aggregate(&ids, &mut datagram);
        let mut checker = Checker::new(format(), 4);
        assert_eq!(checker.receive(&datagram), Verdict::UnexpectedAggregate);
        assert_eq!(checker.report(&[1; 4]).lost, 4);
        let mut checker = Checker::new(format(), 4).accepting_aggregates();
        assert_eq!(checker.receive(&datagram), Verdict::Aggregate(4));
        assert!(checker.report(&[1; 4]).is_perfect());
    }

    #[test]
    fn strangers_are_not_counted_as_delivered() {
        let mut checker = Checker::new(format(), 1);
        let mut datagram = Vec::new();
        let stranger = MessageId { flow: 7, sequence: 0 };
        format().write_message(stranger, &mut datagram);
        assert_eq!(checker.receive(&datagram), Verdict::UnknownFlow(stranger));
        assert_eq!(checker.receive(b"hello"), Verdict::Changed(MessageFault::Length));
        let report = checker.report(&[0]);
        assert_eq!((report.delivered, report.unexpected, report.changed), (0, 1, 1));
    }

    proptest! {
        #[test]
        fn sent_is_delivered_plus_lost(
            flows in 1..5u32,
            kept in proptest::collection::vec(any::<bool>(), 0..200),
        ) {
            let (datagrams, sent) = datagrams(flows, kept.len());
            let mut checker = Checker::new(format(), flows);
            for (datagram, kept) in datagrams.iter().zip(&kept) {
                if *kept {
                    checker.receive(datagram);
                }
            }
            let report = checker.report(&sent);
            prop_assert_eq!(report.sent, report.delivered + report.lost);
            prop_assert_eq!(report.delivered, kept.iter().filter(|kept| **kept).count() as u64);
            prop_assert_eq!(report.reordered + report.duplicated + report.changed, 0);
        }

        #[test]
        fn no_datagram_panics(datagram in proptest::collection::vec(any::<u8>(), 0..100)) {
            Checker::new(format(), 3).accepting_aggregates().receive(&datagram);
        }
    }
}
