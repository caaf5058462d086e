//! What a switch counts beyond what its ports count themselves.

use forebay_packet::{PortCounters, PortState};
use forebay_pipeline::DropReason;

/// Drops by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops(Vec<u64>);

impl Drops {
    pub(crate) fn count(&mut self, reason: DropReason, packets: u64) {
        let index = reason.index();
        if index >= self.0.len() {
            self.0.resize(index + 1, 0);
        }
        self.0[index] += packets;
    }

    /// Reasons that occurred, by their labels, for a program with these errors.
    pub(crate) fn labelled(&self, errors: &[String]) -> Vec<(String, u64)> {
        let counts = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counts
            .map(|(index, count)| (DropReason::from_index(index).label(errors), *count))
            .collect()
    }
}

/// The books of a switch, in packets. They always balance: see [`Counters::in_flight`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that ports delivered.
    pub received: u64,
    /// Packets that came into being inside: multicast replicas beyond the first, and clones.
    pub copies: u64,
    /// Packets that ports accepted for sending. What goes to a loopback port is transmitted, and received
    /// when it comes back.
    pub transmitted: u64,
    /// Packets dropped for any reason.
    pub dropped: u64,
}

impl std::ops::Add for Counters {
    type Output = Counters;

    /// The books of two workers together.
    fn add(self, other: Counters) -> Counters {
        Counters {
            received: self.received + other.received,
            copies: self.copies + other.copies,
            transmitted: self.transmitted + other.transmitted,
            dropped: self.dropped + other.dropped,
        }
    }
}

impl Counters {
    /// Packets that are inside the switch now.
    ///
    /// # Panics
    /// When more packets left than came: a mistake of ours.
    pub fn in_flight(&self) -> u64 {
        let came = self.received + self.copies;
        came.checked_sub(self.transmitted + self.dropped)
            .expect("no packet leaves twice")
    }
}

/// A port as a user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortReport {
    /// Its P4 number.
    pub number: u32,
    /// Its name: of an interface or a file.
    pub name: String,
    /// Whether it can carry packets.
    pub state: PortState,
    /// What it carried and dropped itself.
    pub counters: PortCounters,
    /// What the pipeline and the traffic manager dropped: in ingress of the packets that came by this port, behind it of
    /// those that were to leave by it. By [`DropReason::label`].
    pub drops: Vec<(String, u64)>,
}

impl PortReport {
    /// Adds what another worker says of the same port: see [`crate::lanes()`].
    pub fn merge(&mut self, other: &PortReport) {
        if self.state == PortState::Up {
            self.state = other.state;
        }
        self.counters.received_packets += other.counters.received_packets;
        self.counters.received_bytes += other.counters.received_bytes;
        self.counters.sent_packets += other.counters.sent_packets;
        self.counters.sent_bytes += other.counters.sent_bytes;
        for (reason, count) in other.counters.nonzero_drops() {
            self.counters.count_drops(reason, count);
        }
        for (label, count) in &other.drops {
            match self.drops.iter_mut().find(|(own, _)| own == label) {
                Some((_, own)) => *own += count,
                None => self.drops.push((label.clone(), *count)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_listed_by_reason() {
        let mut drops = Drops::default();
        drops.count(DropReason::QueueFull, 2);
        drops.count(DropReason::IngressDrop, 1);
        drops.count(DropReason::ParserError(1), 4);
        let errors = ["NoError".to_string(), "PacketTooShort".to_string()];
        let expected = [
            ("ingress_drop", 1),
            ("queue_full", 2),
            ("parser_error.PacketTooShort", 4),
        ];
        assert_eq!(
            drops.labelled(&errors),
            expected.map(|(label, count)| (label.to_string(), count))
        );
    }

    #[test]
    fn the_books_balance() {
        let counters = Counters {
            received: 5,
            copies: 2,
            transmitted: 4,
            dropped: 1,
        };
        assert_eq!(counters.in_flight(), 2);
    }
}
