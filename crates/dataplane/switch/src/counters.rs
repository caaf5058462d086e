//! What a switch counts in addition to what its ports count.

use crate::port_table::Sent;
use forebay_packet::{PortCounters, PortState};
use forebay_pipeline::DropReason;

/// Drops by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// By [`DropReason::index`].
    counts: Vec<u64>,
    /// Parser errors of earlier programs, by label, because each program numbers its errors differently.
    replaced: Vec<(String, u64)>,
}

impl Drops {
    pub(crate) fn count(&mut self, reason: DropReason, packets: u64) {
        let index = reason.index();
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += packets;
    }

    /// The drops without some packets, which are counted elsewhere.
    pub(crate) fn without(&self, reason: DropReason, packets: u64) -> Drops {
        let mut rest = self.clone();
        if let Some(count) = rest.counts.get_mut(reason.index()) {
            *count = count.saturating_sub(packets);
        }
        rest
    }

    /// The program with these errors has been replaced: its parser errors are kept by name.
    pub(crate) fn program_replaced(&mut self, errors: &[String]) {
        let first_error = DropReason::FIXED.len().min(self.counts.len());
        for (index, count) in self.counts.drain(first_error..).enumerate() {
            let label = DropReason::ParserError(index as u16).label(errors);
            add_by_label(&mut self.replaced, &label, count);
        }
    }

    /// Reasons that occurred, by their labels, for a program with these errors.
    pub(crate) fn labelled(&self, errors: &[String]) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        for (index, count) in self.counts.iter().enumerate() {
            add_by_label(&mut all, &DropReason::from_index(index).label(errors), *count);
        }
        for (label, count) in &self.replaced {
            add_by_label(&mut all, label, *count);
        }
        all
    }
}

/// Adds packets to the count with this label, which is appended if there is none. Does nothing for 0 packets.
pub(crate) fn add_by_label(counts: &mut Vec<(String, u64)>, label: &str, packets: u64) {
    match counts.iter_mut().find(|(own, _)| own == label) {
        Some((_, count)) => *count += packets,
        None if packets > 0 => counts.push((label.to_string(), packets)),
        None => {}
    }
}

/// Accounting counters of a switch, in packets. They always balance: see [`Counters::in_flight`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that ports delivered.
    pub received: u64,
    /// Packets made in the switch: multicast replicas beyond the first, and clones.
    pub copies: u64,
    /// Packets that ports accepted for sending. A packet sent to a loopback port counts as transmitted, and as
    /// received when it comes back.
    pub transmitted: u64,
    /// Packets dropped for any reason.
    pub dropped: u64,
}

impl std::ops::Add for Counters {
    type Output = Counters;

    /// The sum for two workers.
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
    /// Counts what ports did with packets.
    pub(crate) fn count_sent(&mut self, sent: Sent) {
        self.transmitted += sent.accepted;
        self.dropped += sent.refused;
    }

    /// Packets that are in the switch now.
    ///
    /// # Panics
    /// If more packets left than came, which is a bug.
    pub fn in_flight(&self) -> u64 {
        let came = self.received + self.copies;
        came.checked_sub(self.transmitted + self.dropped)
            .expect("no packet leaves twice")
    }
}

/// A port, as reported to users.
#[derive(Clone, Debug, PartialEq)]
pub struct PortReport {
    /// Its P4 number.
    pub number: u32,
    /// Its name: that of an interface or a file.
    pub name: String,
    /// Whether it can carry packets.
    pub state: PortState,
    /// Why it is down, or not back, for people, if it is and that is known.
    pub why_down: Option<String>,
    /// What it has carried, and has dropped itself.
    pub counters: PortCounters,
    /// Drops by the pipeline and the traffic manager, by [`DropReason::label`]: in ingress, and in egress on the fast
    /// path, of packets that arrived at this port; otherwise after ingress, of packets that were to leave by it. Also
    /// packets that the port refused without a reason in `counters`.
    pub drops: Vec<(String, u64)>,
}

impl PortReport {
    /// Adds another worker's report of the same port: see [`crate::share_ports()`].
    pub fn merge(&mut self, other: &PortReport) {
        if self.state == PortState::Up {
            self.state = other.state;
            self.why_down.clone_from(&other.why_down);
        }
        self.counters = self.counters + other.counters;
        for (label, count) in &other.drops {
            add_by_label(&mut self.drops, label, *count);
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
    fn parser_errors_keep_their_names_when_the_program_is_replaced() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let (first, second) = (
            names(&["NoError", "TooShort", "Odd"]),
            names(&["NoError", "Even", "Odd"]),
        );
        let mut drops = Drops::default();
        drops.count(DropReason::IngressDrop, 3);
        drops.count(DropReason::ParserError(1), 4);
        drops.count(DropReason::ParserError(2), 5);
        drops.program_replaced(&first);
        drops.count(DropReason::ParserError(1), 6);
        drops.count(DropReason::ParserError(2), 7);
        let expected = [
            ("ingress_drop", 3),
            ("parser_error.Even", 6),
            ("parser_error.Odd", 12),
            ("parser_error.TooShort", 4),
        ];
        assert_eq!(
            drops.labelled(&second),
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
