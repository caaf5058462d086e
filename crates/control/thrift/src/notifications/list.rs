//! The samples of a digest: those that wait for a buffer to be full, and those that were sent and not acknowledged.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

/// Samples that are known not to be sent again, of a list. Of more, those sent first are forgotten.
const KNOWN_MAX: usize = 1 << 16;

/// Samples of a buffer, and how long one waits that is not full, as BMv2 begins.
const SIZE: usize = 1;
const TIMEOUT: Duration = Duration::from_secs(1);

/// Samples that are sent together; of one that was sent, those that are acknowledged are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    pub(super) number: u64,
    pub(super) samples: Vec<Vec<u8>>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct LearnList {
    size: usize,
    pub(super) timeout: Duration,
    waiting: Vec<Vec<u8>>,
    waiting_since: Option<Instant>,
    next: u64,
    sent: VecDeque<Buffer>,
    /// The samples that wait or were sent.
    known: HashSet<Vec<u8>>,
}

impl Default for LearnList {
    fn default() -> LearnList {
        LearnList {
            size: SIZE,
            timeout: TIMEOUT,
            waiting: Vec::new(),
            waiting_since: None,
            next: 0,
            sent: VecDeque::new(),
            known: HashSet::new(),
        }
    }
}

impl LearnList {
    /// A sample has come; the buffer that is full with it.
    pub(super) fn add(&mut self, sample: Vec<u8>, now: Instant) -> Option<Buffer> {
        if !self.known.insert(sample.clone()) {
            return None;
        }
        while self.known.len() > KNOWN_MAX {
            let first = self.sent.pop_front()?;
            first.samples.iter().for_each(|sample| _ = self.known.remove(sample));
        }
        self.waiting.push(sample);
        self.waiting_since.get_or_insert(now);
        (self.waiting.len() >= self.size).then(|| self.send())
    }

    /// The buffer that has waited long enough.
    pub(super) fn over(&mut self, now: Instant) -> Option<Buffer> {
        let since = self.waiting_since?;
        let is_over = !self.timeout.is_zero() && now.duration_since(since) >= self.timeout;
        is_over.then(|| self.send())
    }

    /// Another size; the buffer that is full by it.
    pub(super) fn resize(&mut self, samples: usize) -> Option<Buffer> {
        self.size = samples.clamp(1, KNOWN_MAX);
        (self.waiting.len() >= self.size).then(|| self.send())
    }

    /// Forgets all samples, and numbers buffers from 0 on again.
    pub(super) fn reset(&mut self) {
        *self = LearnList {
            size: self.size,
            timeout: self.timeout,
            ..LearnList::default()
        };
    }

    fn send(&mut self) -> Buffer {
        let buffer = Buffer {
            number: self.next,
            samples: std::mem::take(&mut self.waiting),
        };
        self.next += 1;
        self.waiting_since = None;
        self.sent.push_back(buffer.clone());
        buffer
    }

    /// Samples of a buffer may be sent again: these, by their places in it, or all.
    pub(super) fn acknowledge(&mut self, number: u64, places: Option<&[i32]>) {
        let Ok(at) = self.sent.binary_search_by_key(&number, |buffer| buffer.number) else {
            return;
        };
        let samples = &mut self.sent[at].samples;
        let all = 0..samples.len();
        let meant: Vec<usize> = match places {
            None => all.collect(),
            Some(places) => places.iter().filter_map(|place| usize::try_from(*place).ok()).collect(),
        };
        for place in meant {
            // Another buffer may have the same sample since.
            let sample = samples.get_mut(place).map(std::mem::take);
            sample.iter().for_each(|sample| _ = self.known.remove(sample));
        }
        if samples.iter().all(Vec::is_empty) {
            self.sent.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(byte: u8) -> Vec<u8> {
        vec![byte]
    }

    #[test]
    fn what_was_sent_comes_again_once_it_is_acknowledged() {
        let (mut list, now) = (LearnList::default(), Instant::now());
        let first = list.add(sample(1), now).expect("a buffer of one");
        assert_eq!((first.number, first.samples), (0, vec![sample(1)]));
        assert_eq!(list.add(sample(1), now), None);
        assert_eq!(list.add(sample(2), now).map(|buffer| buffer.number), Some(1));
        list.acknowledge(0, None);
        assert_eq!(list.add(sample(1), now).map(|buffer| buffer.number), Some(2));
        list.acknowledge(7, None);
        assert_eq!(list.add(sample(2), now), None);
    }

    #[test]
    fn what_was_sent_comes_again_after_a_reset() {
        let (mut list, now) = (LearnList::default(), Instant::now());
        list.resize(2);
        assert_eq!(list.add(sample(1), now), None);
        assert!(list.add(sample(2), now).is_some());
        assert_eq!(list.add(sample(3), now), None);
        list.reset();
        assert_eq!(list.over(now + TIMEOUT), None, "nothing waits");
        assert_eq!(list.add(sample(1), now), None, "a buffer has two samples as before");
        let buffer = list.add(sample(2), now).expect("both were forgotten");
        assert_eq!((buffer.number, buffer.samples), (0, vec![sample(1), sample(2)]));
    }

    #[test]
    fn a_buffer_goes_when_it_is_full_or_its_time_is_over() {
        let (mut list, now) = (LearnList::default(), Instant::now());
        list.resize(3);
        assert_eq!(list.add(sample(1), now), None);
        assert_eq!(list.over(now + Duration::from_millis(999)), None);
        let over = list.over(now + TIMEOUT).expect("it has waited a second");
        assert_eq!(over.samples, [sample(1)]);
        let later = [2, 3, 4].map(|byte| list.add(sample(byte), now));
        assert_eq!(later[2].as_ref().map(|buffer| buffer.samples.len()), Some(3));
        list.acknowledge(1, Some(&[0, 2]));
        assert_eq!(list.add(sample(3), now), None, "its place is not among those");
        list.timeout = Duration::ZERO;
        assert_eq!(list.add(sample(2), now), None);
        assert_eq!(list.over(now + 100 * TIMEOUT), None, "it waits for ever");
    }

    #[test]
    fn samples_are_acknowledged_one_by_one() {
        let (mut list, now) = (LearnList::default(), Instant::now());
        list.resize(2);
        let buffer = |list: &mut LearnList, bytes: [u8; 2]| {
            let full = bytes.map(|byte| list.add(sample(byte), now));
            full[1].as_ref().map(|buffer| buffer.number)
        };
        assert_eq!(buffer(&mut list, [1, 2]), Some(0));
        list.acknowledge(0, Some(&[0, 0, -1, 7]));
        assert_eq!(buffer(&mut list, [1, 3]), Some(1));
        list.acknowledge(0, Some(&[0]));
        assert_eq!(list.add(sample(1), now), None, "it is in the second buffer");
        list.acknowledge(0, Some(&[1]));
        list.acknowledge(1, None);
        assert!(list.sent.is_empty() && list.known.is_empty());
    }

    #[test]
    fn memory_is_bounded_though_nobody_acknowledges() {
        let (mut list, now) = (LearnList::default(), Instant::now());
        for number in 0..2 * KNOWN_MAX as u32 {
            assert!(list.add(number.to_be_bytes().to_vec(), now).is_some());
        }
        assert!(list.known.len() <= KNOWN_MAX && list.sent.len() <= KNOWN_MAX);
        assert!(list.add(0u32.to_be_bytes().to_vec(), now).is_some(), "it was forgotten");
    }
}
