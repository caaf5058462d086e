//! Packets for UEs that are idle.

use std::collections::{HashMap, VecDeque};

/// Packets that are kept for a session, unless a BAR says how many.
const PACKETS_MAX: usize = 64;
/// Bytes that are kept for all sessions.
const BYTES_MAX: usize = 64 << 20;

/// A packet and the port by which it came.
pub(crate) type Kept = (u32, Vec<u8>);

/// Packets by session. When there are too many of a session, its oldest go; when there are too many of all, no more come in.
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
        if self.bytes + packet.1.len() > BYTES_MAX {
            self.dropped += 1;
            return;
        }
        self.bytes += packet.1.len();
        let kept = self.by_session.entry(session).or_default();
        kept.push_back(packet);
        let packets_max = packets_max.map_or(PACKETS_MAX, usize::from).max(1);
        while kept.len() > packets_max {
            if let Some((_, frame)) = kept.pop_front() {
                self.bytes -= frame.len();
                self.dropped += 1;
            }
        }
    }

    /// Takes the packets of a session out, in the order in which they came.
    pub(crate) fn take(&mut self, session: u64) -> VecDeque<Kept> {
        let taken = self.by_session.remove(&session).unwrap_or_default();
        self.bytes -= taken.iter().map(|(_, frame)| frame.len()).sum::<usize>();
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
            buffer.keep(7, (2, vec![byte]), Some(2));
        }
        assert_eq!((buffer.len(), buffer.dropped), (2, 1));
        let frames: Vec<u8> = buffer.take(7).iter().map(|(_, frame)| frame[0]).collect();
        assert_eq!(frames, [1, 2]);
        assert_eq!((buffer.len(), buffer.bytes), (0, 0));
    }
}
