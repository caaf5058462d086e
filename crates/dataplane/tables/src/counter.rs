//! Counter arrays (`counter` and `direct_counter` of v1model, `Counter` and `DirectCounter` of PSA).
//!
//! An element counts packets, bytes, or both. A direct counter is the same array, indexed by
//! [`Entry::slot`](crate::Entry::slot) and as long as its table; the element of a new entry is
//! [`CounterArray::write`]-n to zero. Counting outside the array does nothing (v1model); counters
//! wrap at 2^64.
//!
//! # Between threads
//!
//! Every worker counts in a *shard* of its own, an array of the same length. So workers share no cache lines and need
//! no atomic additions. The value of an element is the sum over the shards and a base. The control plane writes only
//! to the base:
//!
//! ```text
//! base      1000    0   12        written by the control plane, and by threads without a shard
//! shard 0     17    3    0        written by one worker
//! shard 1      4    0    0        written by another
//! value     1021    3   12        wraps at 2^64
//! ```
//!
//! No count is lost. A reader may see a packet that is being counted partly: its packet, its bytes, or neither. The
//! memory of a shard is allocated by the system on first use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::storage::{ArrayTooLarge, SeparateWords, zeroed_words};

/// The most shards of an array. Further workers share the base.
pub const SHARDS: usize = 64;

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
    base: Box<[AtomicU64]>,
    /// Packets and bytes of each element in each shard, side by side.
    shards: Box<[OnceLock<SeparateWords>]>,
}

impl CounterArray {
    /// Bytes of an element, in the base and in each shard.
    pub const ELEMENT_BYTES: u64 = 16;

    /// `len` counters, all zero.
    ///
    /// # Errors
    /// When the array would take more memory than an array may.
    pub fn new(kind: CounterKind, len: usize) -> Result<CounterArray, ArrayTooLarge> {
        Ok(CounterArray {
            kind,
            base: zeroed_words(len, 2)?,
            shards: (0..SHARDS).map(|_| OnceLock::new()).collect(),
        })
    }

    /// What the counters count.
    pub fn kind(&self) -> CounterKind {
        self.kind
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.base.len() / 2
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty()
    }

    /// Makes a shard before its thread counts in it. Until then, that thread's counts go to the base.
    pub fn make_shard(&self, shard: usize) {
        if let Some(place) = self.shards.get(shard) {
            place.get_or_init(|| SeparateWords::zeroed(self.base.len()));
        }
    }

    /// The words of a shard that was [made](CounterArray::make_shard): packets and bytes of each element, side by
    /// side. The thread that counts in the shard may change them instead of calling [`CounterArray::count`].
    pub fn shard_words(&self, shard: usize) -> Option<&[AtomicU64]> {
        self.shards.get(shard)?.get().map(SeparateWords::words)
    }

    /// Counts one packet of `packet_bytes` bytes in a shard. No other thread may count in the shard at the same time.
    #[inline]
    pub fn count(&self, shard: usize, index: u64, packet_bytes: u64) {
        self.count_many(shard, index, 1, packet_bytes);
    }

    /// Counts several packets, which have `bytes` bytes together.
    #[inline]
    pub fn count_many(&self, shard: usize, index: u64, packets: u64, bytes: u64) {
        let own = self.shards.get(shard).and_then(OnceLock::get);
        match own.and_then(|shard| element(shard.words(), index)) {
            Some(words) => self.add(words, packets, bytes, |word, amount| {
                word.store(word.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
            }),
            None => {
                if let Some(words) = element(&self.base, index) {
                    self.add(words, packets, bytes, |word, amount| {
                        word.fetch_add(amount, Ordering::Relaxed);
                    });
                }
            }
        }
    }

    #[inline]
    fn add(&self, words: &[AtomicU64; 2], packets: u64, bytes: u64, add: impl Fn(&AtomicU64, u64)) {
        if self.kind != CounterKind::Bytes {
            add(&words[0], packets);
        }
        if self.kind != CounterKind::Packets {
            add(&words[1], bytes);
        }
    }

    /// The value at `index`; zero outside the array.
    pub fn read(&self, index: u64) -> CounterValue {
        let shards = self.shards.iter().filter_map(OnceLock::get);
        let arrays = std::iter::once(&self.base[..]).chain(shards.map(SeparateWords::words));
        arrays
            .filter_map(|words| element(words, index))
            .fold(CounterValue::default(), |sum, [packets, bytes]| CounterValue {
                packets: sum.packets.wrapping_add(packets.load(Ordering::Relaxed)),
                bytes: sum.bytes.wrapping_add(bytes.load(Ordering::Relaxed)),
            })
    }

    /// Sets the value at `index`, as far as the array counts it; does nothing outside the array.
    pub fn write(&self, index: u64, value: CounterValue) {
        let present = self.read(index);
        if let Some(words) = element(&self.base, index) {
            let packets = value.packets.wrapping_sub(present.packets);
            let bytes = value.bytes.wrapping_sub(present.bytes);
            self.add(words, packets, bytes, |word, amount| {
                word.fetch_add(amount, Ordering::Relaxed);
            });
        }
    }

    /// Sets every element to zero.
    pub fn reset(&self) {
        (0..self.len() as u64).for_each(|index| self.write(index, CounterValue::default()));
    }
}

#[inline]
fn element(words: &[AtomicU64], index: u64) -> Option<&[AtomicU64; 2]> {
    let first = usize::try_from(index).ok()?.checked_mul(2)?;
    words.get(first..)?.first_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(kind: CounterKind) -> CounterValue {
        let counters = CounterArray::new(kind, 4).unwrap();
        counters.count(0, 3, 100);
        counters.make_shard(5);
        counters.count(5, 3, 60);
        counters.count(5, 4, 1);
        counters.count(0, u64::MAX, 1);
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
    fn what_is_not_counted_is_not_written() {
        let counters = CounterArray::new(CounterKind::Packets, 1).unwrap();
        counters.write(0, CounterValue { packets: 3, bytes: 50 });
        counters.count(0, 0, 64);
        assert_eq!(counters.read(0), CounterValue { packets: 4, bytes: 0 });
    }

    #[test]
    fn a_write_counts_for_all_shards() {
        let counters = CounterArray::new(CounterKind::PacketsAndBytes, 1).unwrap();
        counters.make_shard(0);
        for shard in [0, 1, SHARDS] {
            counters.count(shard, 0, 10);
        }
        assert_eq!(counters.read(0), CounterValue { packets: 3, bytes: 30 });
        counters.write(0, CounterValue { packets: 1, bytes: 5 });
        counters.count(0, 0, 10);
        assert_eq!(counters.read(0), CounterValue { packets: 2, bytes: 15 });
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let counters = CounterArray::new(CounterKind::PacketsAndBytes, 1).unwrap();
        std::thread::scope(|scope| {
            for shard in [0, 1, SHARDS, SHARDS + 1] {
                counters.make_shard(shard);
                let counters = &counters;
                scope.spawn(move || (0..1000).for_each(|_| counters.count(shard, 0, 64)));
            }
        });
        assert_eq!(counters.read(0).packets, 4000);
        assert_eq!(counters.read(0).bytes, 4000 * 64);
    }
}
