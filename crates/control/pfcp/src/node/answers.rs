//! Answers that may have to be repeated: a request that arrives twice is executed once (§6.4).

use crate::wire::{Header, MessageType};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::time::Duration;

/// Answers that are kept.
const ANSWERS_MAX: usize = 16_384;
/// Bytes of all answers that are kept.
const BYTES_MAX: usize = 16 << 20;
/// How long a peer may repeat its request.
const KEPT: Duration = Duration::from_secs(60);

/// A request. One with other contents is another one, whatever its number: peers that restart begin their numbers anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    from: SocketAddr,
    sequence: u32,
    message: MessageType,
    contents: u64,
}

impl Key {
    /// The request with this header, of which these are all elements.
    pub(super) fn new(from: SocketAddr, header: &Header, elements: &[u8]) -> Key {
        let mut hasher = DefaultHasher::new();
        (header.seid, elements).hash(&mut hasher);
        Key {
            from,
            sequence: header.sequence,
            message: header.message,
            contents: hasher.finish(),
        }
    }
}

/// The last answers, the oldest of which go first.
#[derive(Debug, Default)]
pub(super) struct Answers {
    kept: HashMap<Key, Vec<u8>>,
    order: VecDeque<(Duration, Key)>,
    bytes: usize,
}

impl Answers {
    /// The answer to a request that has been done.
    pub(super) fn find(&self, key: &Key) -> Option<&Vec<u8>> {
        self.kept.get(key)
    }

    /// Keeps an answer.
    pub(super) fn keep(&mut self, now: Duration, key: Key, answer: Vec<u8>) {
        self.expire(now);
        self.bytes += answer.len();
        self.order.push_back((now, key));
        if let Some(replaced) = self.kept.insert(key, answer) {
            self.bytes -= replaced.len();
        }
        while self.order.len() > ANSWERS_MAX || self.bytes > BYTES_MAX {
            self.drop_oldest();
        }
    }

    /// Forgets answers that are too old to be requested again.
    pub(super) fn expire(&mut self, now: Duration) {
        while self
            .order
            .front()
            .is_some_and(|(kept, _)| now.saturating_sub(*kept) > KEPT)
        {
            self.drop_oldest();
        }
    }

    /// A peer that has restarted begins its sequence numbers anew.
    pub(super) fn forget(&mut self, peer: std::net::IpAddr) {
        self.order.retain(|(_, key)| key.from.ip() != peer);
        self.kept.retain(|key, _| key.from.ip() != peer);
        self.bytes = self.kept.values().map(Vec::len).sum();
    }

    fn drop_oldest(&mut self) {
        let Some((_, key)) = self.order.pop_front() else { return };
        if let Some(answer) = self.kept.remove(&key) {
            self.bytes -= answer.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_place_of_another_counts_once() {
        let header = Header {
            message: MessageType::SessionDeletionRequest,
            seid: Some(1),
            sequence: 1,
        };
        let key = Key::new(SocketAddr::from(([192, 0, 2, 2], 8805)), &header, &[]);
        let mut answers = Answers::default();
        for _ in 0..3 {
            answers.keep(Duration::ZERO, key, vec![0; 40]);
        }
        assert_eq!(answers.bytes, 40);
        answers.expire(KEPT + Duration::from_secs(1));
        assert_eq!((answers.bytes, answers.order.len(), answers.kept.len()), (0, 0, 0));
    }
}
