//! The digests that packets have sent on the fast path, until the caller takes them.

use forebay_ir::DigestId;

/// Messages. Each value is stored as words, the least significant first. The memory is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct NotedDigests {
    noted: Vec<Noted>,
    words: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Noted {
    /// The index of its packet in the burst.
    place: usize,
    digest: DigestId,
    /// The index after its last word.
    end: usize,
}

impl NotedDigests {
    pub(crate) fn len(&self) -> usize {
        self.noted.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    pub(crate) fn note(&mut self, place: usize, digest: DigestId, values: &[u64]) {
        self.words.extend_from_slice(values);
        let end = self.words.len();
        self.noted.push(Noted { place, digest, end });
    }

    /// Removes the messages of the last packet, whose index this is, except for the first `kept` of all.
    pub(crate) fn take_back(&mut self, place: usize, kept: usize) {
        let of_last = |noted: &&Noted| noted.place == place;
        let taken_back = self.noted[kept..].iter().rev().take_while(of_last).count();
        self.noted.truncate(self.noted.len() - taken_back);
        self.words.truncate(self.noted.last().map_or(0, |noted| noted.end));
    }

    /// Passes all messages on, in their order.
    pub(crate) fn take(&mut self, mut each: impl FnMut(DigestId, &[u64])) {
        let mut first = 0;
        for noted in self.noted.drain(..) {
            each(noted.digest, &self.words[first..noted.end]);
            first = noted.end;
        }
        self.words.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_last_packet_are_taken_back() {
        let mut noted = NotedDigests::default();
        noted.note(0, DigestId(1), &[1, 2]);
        noted.note(4, DigestId(2), &[3]);
        noted.note(4, DigestId(3), &[]);
        noted.take_back(3, 1);
        assert_eq!(noted.len(), 3);
        noted.take_back(4, 1);
        noted.note(5, DigestId(4), &[4]);
        let mut taken = Vec::new();
        noted.take(|digest, words| taken.push((digest.0, words.to_vec())));
        assert_eq!(taken, [(1, vec![1, 2]), (4, vec![4])]);
        assert!(noted.is_empty());
    }
}
