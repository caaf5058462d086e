//! Packets for UEs that are idle.

use std::collections::{HashMap, VecDeque};

/// Packets that are kept for a session, unless a BAR says how many.
const PACKETS_MAX: usize = 64;
/// Bytes that are kept for all sessions.
const BYTES_MAX: usize = 64 << 20;

/// A packet that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The PDR that found it.
    pub(crate) pdr: u16,
    /// The port by which it came.
    pub(crate) port: u32,
    pub(crate) frame: Vec<u8>,
}

/// Packets by session. When there are too many of a session, its oldest go; when there are too many of all, no more
/// come in.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    by_session: HashMap<u64, VecDeque<Kept>>,
    bytes: usize,
    /// Packets that have been lost since there were too many.
    pub(crate) dropped: u64,
}

impl Buffer {
    /// Keeps a packet.
    pub(crate) fn keep(&mut self, session: u64, packet: Kept, packets_max: Option<u8>) {
        if self.bytes + packet.frame.len() > BYTES_MAX {
            self.dropped += 1;
            return;
        }
        self.bytes += packet.frame.len();
        let kept = self.by_session.entry(session).or_default();
        kept.push_back(packet);
        let packets_max = packets_max.map_or(PACKETS_MAX, usize::from).max(1);
        while kept.len() > packets_max {
            if let Some(oldest) = kept.pop_front() {
                self.bytes -= oldest.frame.len();
                self.dropped += 1;
            }
        }
    }

    /// Takes the packets of a session out, in the order in which they came.
    pub(crate) fn take(&mut self, session: u64) -> Vec<Kept> {
        self.take_of(session, |_| true)
    }

    /// Takes the packets out that some PDRs of a session found, in the order in which they came.
    pub(crate) fn take_of(&mut self, session: u64, is_wanted: impl Fn(u16) -> bool) -> Vec<Kept> {
        let kept = self.by_session.remove(&session).unwrap_or_default();
        let (taken, rest): (Vec<Kept>, Vec<Kept>) = kept.into_iter().partition(|packet| is_wanted(packet.pdr));
        if !rest.is_empty() {
            self.by_session.insert(session, rest.into());
        }
        self.bytes -= taken.iter().map(|packet| packet.frame.len()).sum::<usize>();
        taken
    }

    /// Packets of all sessions.
    pub(crate) fn len(&self) -> usize {
        self.by_session.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first() {
        let mut buffer = Buffer::default();
        for byte in 0..3 {
            buffer.keep(7, packet(1, byte), Some(2));
        }
        assert_eq!((buffer.len(), buffer.dropped), (2, 1));
        assert_eq!(buffer.take(7), [packet(1, 1), packet(1, 2)]);
        assert_eq!((buffer.len(), buffer.bytes), (0, 0));
    }

    fn packet(pdr: u16, byte: u8) -> Kept {
        Kept {
            pdr,
            port: 2,
            frame: vec![byte],
        }
    }

    #[test]
    fn packets_of_other_pdrs_stay() {
        let mut buffer = Buffer::default();
        for (pdr, byte) in [(1, 0), (2, 1), (1, 2)] {
            buffer.keep(7, packet(pdr, byte), None);
        }
        assert_eq!(buffer.take_of(7, |pdr| pdr == 1), [packet(1, 0), packet(1, 2)]);
        assert_eq!((buffer.len(), buffer.bytes), (1, 1));
        assert_eq!(buffer.take(7), [packet(2, 1)]);
    }
}
