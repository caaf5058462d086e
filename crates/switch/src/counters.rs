//! What a switch counts beyond what its ports count themselves.

use forebay_packet::{PortCounters, PortState};
use forebay_pipeline::DropReason;

/// Drops by reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drops(Vec<u64>);

impl Default for Drops {
    fn default() -> Drops {
        Drops(vec![0; DropReason::ALL.len()])
    }
}

impl Drops {
    pub(crate) fn count(&mut self, reason: DropReason, packets: u64) {
        self.0[reason as usize] += packets;
    }

    pub(crate) fn nonzero(&self) -> Vec<(DropReason, u64)> {
        DropReason::ALL
            .iter()
            .map(|&reason| (reason, self.0[reason as usize]))
            .filter(|&(_, count)| count > 0)
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
    /// those that were to leave by it.
    pub drops: Vec<(DropReason, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_listed_by_reason() {
        let mut drops = Drops::default();
        drops.count(DropReason::QueueFull, 2);
        drops.count(DropReason::IngressDrop, 1);
        assert_eq!(
            drops.nonzero(),
            [(DropReason::IngressDrop, 1), (DropReason::QueueFull, 2)]
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
