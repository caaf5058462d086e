//! Whether GTP-U peers are there: echo requests and their answers (TS 29.281 §7.2.1).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// Requests without an answer that make a path be down.
const UNANSWERED_MAX: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    unanswered: u32,
    is_down: bool,
}

/// The peers of all tunnels.
#[derive(Debug)]
pub(crate) struct Paths {
    period: Duration,
    next: Duration,
    sequence: u16,
    peers: BTreeMap<IpAddr, Path>,
}

impl Paths {
    /// Sends echo requests to peers once every period; never if it is zero.
    pub(crate) fn new(period: Duration) -> Paths {
        Paths {
            period,
            next: Duration::ZERO,
            sequence: 0,
            peers: BTreeMap::new(),
        }
    }

    /// Whether it is time to ask.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        !self.period.is_zero() && now >= self.next
    }

    /// Peers that get an echo request now, each with a sequence number; and those that are found to be down.
    pub(crate) fn ask(&mut self, now: Duration, peers: &BTreeSet<IpAddr>) -> (Vec<(IpAddr, u16)>, Vec<IpAddr>) {
        self.next = now + self.period;
        self.peers.retain(|peer, _| peers.contains(peer));
        let (mut asked, mut down) = (Vec::new(), Vec::new());
        for peer in peers {
            let path = self.peers.entry(*peer).or_default();
            if path.unanswered >= UNANSWERED_MAX && !path.is_down {
                path.is_down = true;
                down.push(*peer);
            }
            path.unanswered = path.unanswered.saturating_add(1);
            self.sequence = self.sequence.wrapping_add(1);
            asked.push((*peer, self.sequence));
        }
        (asked, down)
    }

    /// A peer has answered. Returns whether it was down.
    pub(crate) fn answered(&mut self, peer: IpAddr) -> bool {
        let Some(path) = self.peers.get_mut(&peer) else {
            return false;
        };
        path.unanswered = 0;
        std::mem::take(&mut path.is_down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_requests_without_an_answer_are_a_path_that_is_down() {
        let peer: IpAddr = "192.0.2.1".parse().expect("an address");
        let peers = BTreeSet::from([peer]);
        let mut paths = Paths::new(Duration::from_secs(60));
        for minute in 0..3 {
            let (asked, down) = paths.ask(Duration::from_secs(60 * minute), &peers);
            assert_eq!((asked.len(), down.len()), (1, 0));
        }
        assert_eq!(paths.ask(Duration::from_secs(180), &peers).1, [peer]);
        assert!(paths.ask(Duration::from_secs(240), &peers).1.is_empty());
        assert!(paths.answered(peer));
        assert!(!paths.answered(peer));
    }
}
