//! Packets of which several frames must come out: how many are lost as a whole, and how many in part.

use crate::results::PartsResults;

/// Counts the frames of each packet.
pub(crate) struct Parts {
    expected: u8,
    /// Frames that have come out, by sequence number modulo the length; a power of two.
    frames: Vec<u8>,
    results: PartsResults,
}

impl Parts {
    /// For packets with `expected` frames each, of which the last `remembered` are followed.
    pub(crate) fn new(expected: u8, remembered: usize) -> Parts {
        Parts {
            expected,
            frames: vec![expected; remembered],
            results: PartsResults {
                frames_per_packet: expected.into(),
                ..PartsResults::default()
            },
        }
    }

    /// A packet is sent: one that was sent long ago is settled.
    #[inline]
    pub(crate) fn sent(&mut self, sequence: u64) {
        let place = sequence as usize & (self.frames.len() - 1);
        let before = std::mem::replace(&mut self.frames[place], 0);
        self.results.settle(before, self.expected);
    }

    /// A frame of a packet that is remembered comes out.
    #[inline]
    pub(crate) fn delivered(&mut self, sequence: u64) {
        let place = sequence as usize & (self.frames.len() - 1);
        self.frames[place] = self.frames[place].saturating_add(1);
    }

    /// What became of all packets.
    pub(crate) fn results(&self) -> PartsResults {
        let mut results = self.results.clone();
        self.frames
            .iter()
            .for_each(|frames| results.settle(*frames, self.expected));
        results
    }
}

impl PartsResults {
    fn settle(&mut self, frames: u8, expected: u8) {
        match frames {
            0 => self.lost_whole += 1,
            frames if frames < expected => self.lost_in_part += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_whole_or_in_part_or_not_there() {
        let mut parts = Parts::new(3, 4);
        for sequence in 0..6 {
            parts.sent(sequence);
            (0..sequence % 4).for_each(|_| parts.delivered(sequence));
        }
        let results = parts.results();
        assert_eq!(
            (results.lost_whole, results.lost_in_part),
            (2, 3),
            "0 and 4; 1, 2 and 5"
        );
    }
}
