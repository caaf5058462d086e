//! Counter arrays (`counter` and `direct_counter` of v1model, `Counter` and `DirectCounter` of PSA).
//!
//! An element counts packets, bytes, or both. A direct counter is the same array, indexed by
//! [`Entry::slot`](crate::Entry::slot) and as long as its table; the element of a new entry is
//! [`CounterArray::write`]-n to zero. Counting outside the array does nothing (v1model); counters
//! wrap at 2^64.
//!
//! # Between threads
//!
//! Counting is two atomic additions without ordering: nothing is lost, but the packets and bytes
//! that a reader sees may differ by packets that are being counted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::storage::{ArrayTooLarge, zeroed_words};

/// What the elements of an array count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    /// Packets alone.
    Packets,
    /// Bytes alone.
    Bytes,
    /// Both.
    PacketsAndBytes,
}

/// The value of one element; what its array does not count stays 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValue {
    /// Packets counted.
    pub packets: u64,
    /// Bytes counted.
    pub bytes: u64,
}

/// An array of counters of one kind.
#[derive(Debug)]
pub struct CounterArray {
    kind: CounterKind,
    /// Packets and bytes of each element, side by side.
    words: Box<[AtomicU64]>,
}

impl CounterArray {
    /// `len` counters, all zero.
    pub fn new(kind: CounterKind, len: usize) -> Result<CounterArray, ArrayTooLarge> {
        let words = zeroed_words(len, 2)?;
        Ok(CounterArray { kind, words })
    }

    /// What the counters count.
    pub fn kind(&self) -> CounterKind {
        self.kind
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.words.len() / 2
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Counts one packet of `packet_bytes` bytes.
    pub fn count(&self, index: u64, packet_bytes: u64) {
        let Some([packets, bytes]) = self.element(index) else {
            return;
        };
        if self.kind != CounterKind::Bytes {
            packets.fetch_add(1, Ordering::Relaxed);
        }
        if self.kind != CounterKind::Packets {
            bytes.fetch_add(packet_bytes, Ordering::Relaxed);
        }
    }

    /// The value at `index`; zero outside the array.
    pub fn read(&self, index: u64) -> CounterValue {
        self.element(index)
            .map(|[packets, bytes]| CounterValue {
                packets: packets.load(Ordering::Relaxed),
                bytes: bytes.load(Ordering::Relaxed),
            })
            .unwrap_or_default()
    }

    /// Sets the value at `index`; does nothing outside the array.
    pub fn write(&self, index: u64, value: CounterValue) {
        if let Some([packets, bytes]) = self.element(index) {
            packets.store(value.packets, Ordering::Relaxed);
            bytes.store(value.bytes, Ordering::Relaxed);
        }
    }

    /// Sets every element to zero.
    pub fn reset(&self) {
        for word in &self.words {
            word.store(0, Ordering::Relaxed);
        }
    }

    fn element(&self, index: u64) -> Option<&[AtomicU64; 2]> {
        let index = usize::try_from(index).ok().filter(|&i| i < self.len())?;
        self.words[2 * index..].first_chunk()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(kind: CounterKind) -> CounterValue {
        let counters = CounterArray::new(kind, 4).unwrap();
        counters.count(3, 100);
        counters.count(3, 60);
        counters.count(4, 1);
        counters.count(u64::MAX, 1);
        assert_eq!(counters.read(2), CounterValue::default());
        assert_eq!(counters.read(4), CounterValue::default());
        counters.read(3)
    }

    #[test]
    fn each_kind_counts_its_own() {
        let value = |packets, bytes| CounterValue { packets, bytes };
        assert_eq!(counted(CounterKind::Packets), value(2, 0));
        assert_eq!(counted(CounterKind::Bytes), value(0, 160));
        assert_eq!(counted(CounterKind::PacketsAndBytes), value(2, 160));
    }

    #[test]
    fn writes_and_resets() {
        let counters = CounterArray::new(CounterKind::PacketsAndBytes, 2).unwrap();
        let value = CounterValue { packets: 7, bytes: 700 };
        counters.write(1, value);
        counters.write(2, value);
        assert_eq!(counters.read(1), value);
        counters.reset();
        assert_eq!(counters.read(1), CounterValue::default());
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let counters = CounterArray::new(CounterKind::PacketsAndBytes, 1).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| counters.count(0, 64)));
            }
        });
        assert_eq!(counters.read(0).packets, 4000);
        assert_eq!(counters.read(0).bytes, 4000 * 64);
    }
}
