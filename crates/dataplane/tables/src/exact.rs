//! Exact match: a hash table of cache-line buckets, written while it is read.
//!
//! ```text
//! bucket (one or more cache lines)
//! ┌─ header: one word ───────────────────────────────────────┬ entry 0 ──────┬ entry 1 ──────┬ …
//! │ passed by (8 bits) │ tag 6 │ … │ tag 1 │ tag 0 (8 bits)  │ key … value … │ key … value … │
//! └──────────────────────────────────────────────────────────┴───────────────┴───────────────┴ …
//! ```
//!
//! A key's hash determines its home bucket (high bits) and its tag (low bits). An entry whose home is full goes into
//! the next bucket with room, and every bucket that it passed by counts it, so that a search goes exactly as far as it
//! must. Nearly all searches read one bucket; that is one line of memory when an entry has at most two words.
//!
//! # Publication
//!
//! The header is the only word through which readers find entries, and a reader loads it once:
//!
//! * *insert* writes key and value into a free place, then stores the header with the place's tag;
//! * *remove* stores the header without the tag; the place stays untouched until no reader can access it;
//! * *replace* stores a value of one word in place. A longer value goes into a free place of the same bucket, and one
//!   store of the header changes both tags. When the bucket is full, the new entry is first published in a later
//!   bucket of the search, so that a reader that misses the old entry finds the new one.
//!
//! So a reader finds the old entry or the new one, whole, without waiting or retrying.
//!
//! # Growth
//!
//! When the table grows or shrinks, the writer copies the entries to a new array, some buckets with each entry that is
//! added or removed, and publishes the array when it is complete. So no single entry waits for all others. Until then
//! readers use the old array. The writer changes both: the new one has exactly the entries of those buckets of the old
//! one that have been copied. Both arrays are in the order of hashes, so copying is sequential in both.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::epoch::{Domain, Limbo, Pin, Shared};
use crate::memory::Array;
use crate::search::{Location, NEVER, Search};
use crate::sync::{AtomicU64, LINE_WORDS, Line, Ordering, prefetch, words_of, zeroed_lines_to_fill};

/// The tag of a place without an entry.
const FREE: u8 = 0;
/// The tag of a place whose entry was removed, but may still be accessed by readers.
const RETIRED: u8 = 1;
/// The smallest tag of an entry. This bit is set in the tags of all entries.
pub const FIRST_TAG: u8 = 2;
/// The most places in a bucket: each has one byte of the header; the last byte is a count.
const PLACES_MAX: usize = 7;
/// The bits of a header that count the entries that passed by. If the count is 0, a search ends at this bucket.
pub const PASSED_SHIFT: u32 = 56;
/// A count that has reached this value is never decreased, because the true count is unknown.
const PASSED_MAX: u64 = 255;
/// A bucket with fewer places would overflow too often.
const PLACES_MIN: usize = 3;
/// Load limits, in entries per 10 places: above the first a table grows; after growing it has the second.
const LOAD_MAX: usize = 7;
const LOAD_GROWN: usize = 6;
const BUCKETS_MIN: usize = 2;
/// The buckets that are copied to a new array with each entry that is added or removed. A table has at least 3 places
/// in a bucket, so an array that is filled to 70 % is at most 75 % full when it has been copied.
const COPIED_AT_ONCE: usize = 8;

/// The hash of the words of a key, which gives the home and the tag of its entry.
///
/// Each word goes through a multiplication to 128 bits whose halves are folded. That takes as many cycles as a CRC or
/// an AES round, on every machine, and spreads better than a CRC.
#[inline]
pub(crate) fn hash_words(words: &[u64]) -> u64 {
    words.iter().fold(HASH_START, |state, word| {
        let product = u128::from(state ^ word) * u128::from(HASH_FACTOR);
        (product as u64) ^ (product >> 64) as u64
    })
}

/// The hash of no words.
pub const HASH_START: u64 = 0x9E37_79B9_7F4A_7C15;
/// The factor of the hash: the hash XOR the next word is multiplied by it to 128 bits, and the halves are XORed.
pub const HASH_FACTOR: u64 = 0xA076_1D64_78BD_642F;

/// How machine code searches a map.
pub(crate) fn search(key_words: usize, value_words: usize) -> Search {
    let shape = Shape::new(key_words, value_words);
    Search::Exact {
        key_words,
        entry_words: shape.entry_words,
        bucket_words: shape.bucket_lines * LINE_WORDS,
        places_mask: shape.places_mask(),
    }
}

/// Sizes that are the same for all buckets of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    key_words: usize,
    entry_words: usize,
    places: usize,
    bucket_lines: usize,
}

impl Shape {
    fn new(key_words: usize, value_words: usize) -> Shape {
        let entry_words = key_words + value_words;
        let bucket_lines = (1 + PLACES_MIN * entry_words).div_ceil(LINE_WORDS);
        let places = (bucket_lines * LINE_WORDS - 1) / entry_words;
        Shape {
            key_words,
            entry_words,
            places: places.min(PLACES_MAX),
            bucket_lines,
        }
    }

    /// Buckets for this many entries, with room to grow.
    fn buckets_for(&self, entries: usize) -> usize {
        (entries * 10).div_ceil(LOAD_GROWN * self.places).max(BUCKETS_MIN)
    }

    /// The highest bit of each place's byte of a header.
    fn places_mask(&self) -> u64 {
        0x0080_8080_8080_8080 & ((1 << (8 * self.places)) - 1)
    }
}

/// An array of buckets.
#[derive(Debug)]
pub(crate) struct Buckets {
    shape: Shape,
    count: usize,
    places_mask: u64,
    lines: Array<Line>,
    /// Tells which memos are valid: see [`crate::search`].
    version: AtomicU64,
}

/// The position of an entry.
#[derive(Clone, Copy, Debug)]
struct Place {
    bucket: usize,
    place: usize,
}

/// A header, loaded once.
#[derive(Clone, Copy)]
struct Header(u64);

impl Header {
    fn tag(self, place: usize) -> u8 {
        (self.0 >> (8 * place)) as u8
    }

    fn with_tag(self, place: usize, tag: u8) -> Header {
        Header(self.0 & !(0xFF << (8 * place)) | u64::from(tag) << (8 * place))
    }

    fn passed(self) -> u64 {
        self.0 >> PASSED_SHIFT
    }

    fn with_passed(self, passed: u64) -> Header {
        Header(self.0 & !(0xFF << PASSED_SHIFT) | passed << PASSED_SHIFT)
    }

    /// The high bits of the bytes that may be `tag`: all that are, and rarely that of a byte above one of them.
    #[inline]
    fn candidates(self, tag: u8) -> u64 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        let difference = self.0 ^ (ONES * u64::from(tag));
        difference.wrapping_sub(ONES) & !difference & (ONES << 7)
    }
}

#[inline]
fn tag_of(hash: u64) -> u8 {
    hash as u8 | FIRST_TAG
}

impl Buckets {
    fn new(shape: Shape, count: usize, version: u64) -> Buckets {
        Buckets {
            shape,
            count,
            places_mask: shape.places_mask(),
            lines: zeroed_lines_to_fill(count * shape.bucket_lines),
            version: AtomicU64::new(version),
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.count as u128) >> 64) as usize
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        if bucket + 1 == self.count { 0 } else { bucket + 1 }
    }

    #[inline(always)]
    fn bucket(&self, bucket: usize) -> &[AtomicU64] {
        let lines = self.shape.bucket_lines;
        debug_assert!(bucket < self.count);
        // SAFETY: `lines` has as many lines for each bucket, and every bucket number is below `count`: `home` returns
        // such a number, and `next` wraps around to 0.
        words_of(unsafe { self.lines.get_unchecked(bucket * lines..(bucket + 1) * lines) })
    }

    #[inline]
    fn header(&self, bucket: usize) -> Header {
        Header(self.bucket(bucket)[0].load(Ordering::Acquire))
    }

    fn publish(&self, bucket: usize, header: Header) {
        self.bucket(bucket)[0].store(header.0, Ordering::Release);
    }

    #[inline]
    fn entry(&self, at: Place) -> &[AtomicU64] {
        let words = self.shape.entry_words;
        &self.bucket(at.bucket)[1 + at.place * words..][..words]
    }

    #[inline]
    fn value(&self, at: Place) -> &[AtomicU64] {
        &self.entry(at)[self.shape.key_words..]
    }

    #[inline]
    fn find(&self, key: &[u64], hash: u64) -> Option<Place> {
        match *key {
            [only] => self.search(hash, |entry| load(&entry[0]) == only),
            [low, high] => self.search(hash, |entry| (load(&entry[0]) ^ low) | (load(&entry[1]) ^ high) == 0),
            _ => self.search(hash, |entry| {
                key.iter().zip(entry).all(|(word, stored)| load(stored) == *word)
            }),
        }
    }

    #[inline(always)]
    fn search(&self, hash: u64, matches: impl Fn(&[AtomicU64]) -> bool) -> Option<Place> {
        let tag = tag_of(hash);
        let mut bucket = self.home(hash);
        for _ in 0..self.count {
            let words = self.bucket(bucket);
            let header = Header(words[0].load(Ordering::Acquire));
            let mut candidates = header.candidates(tag) & self.places_mask;
            while candidates != 0 {
                let place = candidates.trailing_zeros() as usize / 8;
                // SAFETY: the mask has bits only for the places of a bucket, and a bucket has room for their entries.
                let entry = unsafe {
                    let first = 1 + place * self.shape.entry_words;
                    words.get_unchecked(first..first + self.shape.entry_words)
                };
                if matches(entry) {
                    return Some(Place { bucket, place });
                }
                candidates &= candidates - 1;
            }
            if header.passed() == 0 {
                return None;
            }
            bucket = self.next(bucket);
        }
        None
    }

    /// Prefetches the lines that may contain a key, and returns the key's hash.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, key: &[u64]) -> u64 {
        let hash = hash_words(key);
        self.prefetch(hash);
        hash
    }

    #[inline(always)]
    fn prefetch(&self, hash: u64) {
        let bucket = self.bucket(self.home(hash));
        prefetch(&bucket[0]);
        if let Some(word) = bucket.get(LINE_WORDS) {
            prefetch(word);
        }
    }

    /// The value of a key, whose hash is `hash`.
    #[inline(always)]
    pub(crate) fn get(&self, key: &[u64], hash: u64) -> Option<&[AtomicU64]> {
        Some(self.value(self.find(key, hash)?))
    }

    /// The first free place from `bucket` on.
    fn free_place(&self, mut bucket: usize) -> Option<Place> {
        for _ in 0..self.count {
            if let Some(place) = self.free_place_in(bucket) {
                return Some(place);
            }
            bucket = self.next(bucket);
        }
        None
    }

    fn free_place_in(&self, bucket: usize) -> Option<Place> {
        let header = self.header(bucket);
        let place = (0..self.shape.places).find(|&place| header.tag(place) == FREE)?;
        Some(Place { bucket, place })
    }

    /// Fills a free place, and publishes it.
    fn put(&self, at: Place, key: &[u64], value: &[u64], hash: u64) {
        self.fill(at, key, value);
        self.publish(at.bucket, self.header(at.bucket).with_tag(at.place, tag_of(hash)));
    }

    fn fill(&self, at: Place, key: &[u64], value: &[u64]) {
        for (stored, word) in self.entry(at).iter().zip(key.iter().chain(value)) {
            stored.store(*word, Ordering::Relaxed);
        }
    }

    /// Changes the counts of the buckets from `first` up to but not including `end`.
    fn count_passing(&self, first: usize, end: usize, change: impl Fn(u64) -> u64) {
        let mut bucket = first;
        while bucket != end {
            let header = self.header(bucket);
            if header.passed() < PASSED_MAX {
                self.publish(bucket, header.with_passed(change(header.passed())));
            }
            bucket = self.next(bucket);
        }
    }

    fn set_tag(&self, at: Place, tag: u8) {
        self.publish(at.bucket, self.header(at.bucket).with_tag(at.place, tag));
    }

    /// Adds an entry, and returns its place. There must be a free one.
    fn insert(&self, key: &[u64], value: &[u64], hash: u64) -> Place {
        let home = self.home(hash);
        let at = self.free_place(home).expect("the load is bounded");
        self.count_passing(home, at.bucket, |passed| passed + 1);
        self.put(at, key, value, hash);
        at
    }

    /// Takes an existing key out of the search; its place gets this tag. Returns the place.
    fn remove(&self, key: &[u64], tag: u8) -> Place {
        let hash = hash_words(key);
        let at = self.find(key, hash).expect("a key to be removed is there");
        self.set_tag(at, tag);
        self.count_passing(self.home(hash), at.bucket, |passed| passed - 1);
        at
    }

    /// The places of the entries in some buckets.
    fn places(&self, buckets: Range<usize>) -> impl Iterator<Item = Place> {
        let all = buckets.flat_map(|bucket| (0..self.shape.places).map(move |place| Place { bucket, place }));
        all.filter(|at| self.header(at.bucket).tag(at.place) >= FIRST_TAG)
    }

    /// The places of all buckets.
    fn capacity(&self) -> usize {
        self.count * self.shape.places
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }
}

#[inline]
fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// From keys of a fixed number of words to values of a fixed number of words.
#[derive(Debug)]
pub(crate) struct ExactMap {
    buckets: Shared<Buckets>,
}

impl ExactMap {
    /// An empty map and its writer. Keys and values have at least one word.
    pub(crate) fn new(domain: &Arc<Domain>, key_words: usize, value_words: usize) -> (ExactMap, ExactWriter) {
        let shape = Shape::new(key_words, value_words);
        let buckets = Shared::new(Buckets::new(shape, BUCKETS_MIN, domain.next_version()));
        let writer = ExactWriter {
            domain: Arc::clone(domain),
            live: 0,
            places: Limbo::default(),
            arrays: Limbo::default(),
            next: None,
        };
        (ExactMap { buckets }, writer)
    }

    /// Prefetches the lines that may contain the key with this hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64, pin: &Pin<'_>) {
        self.buckets(pin).prefetch(hash);
    }

    /// The value of a key, whose hash is `hash`.
    #[inline]
    pub(crate) fn find<'a>(&'a self, key: &[u64], hash: u64, pin: &'a Pin<'_>) -> Option<&'a [AtomicU64]> {
        self.buckets(pin).get(key, hash)
    }

    /// The current array.
    #[inline]
    pub(crate) fn buckets<'pin>(&'pin self, pin: &'pin Pin<'_>) -> &'pin Buckets {
        self.buckets.load(pin)
    }

    /// The map's location, with this default.
    #[inline]
    pub(crate) fn location(&self, default: *const u64, pin: &Pin<'_>) -> Location {
        let buckets = self.buckets(pin);
        Location {
            array: buckets.lines.as_ptr().cast(),
            size: buckets.count as u64,
            bytes: buckets.memory_bytes(),
            version: buckets.version.load(Ordering::Acquire),
            ..Location::of_default(default)
        }
    }

    /// The size of the current array in bytes.
    pub(crate) fn memory_bytes(&self, pin: &Pin<'_>) -> usize {
        self.buckets(pin).memory_bytes()
    }
}

/// The writer's side of an [`ExactMap`]. All methods take the map that was made with it.
#[derive(Debug)]
pub(crate) struct ExactWriter {
    domain: Arc<Domain>,
    live: usize,
    /// Places in the current array.
    places: Limbo<Place>,
    arrays: Limbo<Box<Buckets>>,
    next: Option<Next>,
}

/// An array that will replace the current one, with the entries of the first `copied` buckets of that.
#[derive(Debug)]
struct Next {
    buckets: Buckets,
    copied: usize,
}

impl Next {
    fn has(&self, at: Place) -> bool {
        at.bucket < self.copied
    }

    /// Copies the entries of the next buckets of the current array, at most this number of buckets.
    fn copy(&mut self, current: &Buckets, buckets: usize) {
        let end = current.count.min(self.copied.saturating_add(buckets));
        let mut entry = SmallVec::<[u64; 16]>::new();
        for at in current.places(self.copied..end) {
            entry.clear();
            entry.extend(current.entry(at).iter().map(load));
            let (key, value) = entry.split_at(current.shape.key_words);
            self.buckets.insert(key, value, hash_words(key));
        }
        self.copied = end;
    }

    fn store(&self, key: &[u64], value: &[u64]) {
        let at = self.buckets.find(key, hash_words(key)).expect("it has been copied");
        self.buckets.fill(at, key, value);
    }
}

impl ExactWriter {
    /// Adds a new key.
    pub(crate) fn insert(&mut self, map: &ExactMap, key: &[u64], value: &[u64]) {
        self.make_room(map);
        let hash = hash_words(key);
        let at = self.present(map).insert(key, value, hash);
        if let Some(next) = self.next.as_ref().filter(|next| next.has(at)) {
            next.buckets.insert(key, value, hash);
        }
        self.live += 1;
    }

    /// Changes the value of an existing key.
    pub(crate) fn replace(&mut self, map: &ExactMap, key: &[u64], value: &[u64]) {
        if let ([word], Some(at)) = (value, self.present(map).find(key, hash_words(key))) {
            self.present(map).value(at)[0].store(*word, Ordering::Release);
            if let Some(next) = self.next.as_ref().filter(|next| next.has(at)) {
                next.store(key, value);
            }
            return;
        }
        self.make_room(map);
        let hash = hash_words(key);
        let buckets = self.present(map);
        let old = buckets.find(key, hash).expect("a key to be replaced is there");
        // A search from there could wrap around to before the home. A rebuilt table has room.
        let free = buckets.free_place_in(old.bucket);
        let Some(new) = free.or_else(|| later_place(buckets, old.bucket, buckets.home(hash))) else {
            self.rebuild(map);
            return self.replace(map, key, value);
        };
        buckets.version.store(NEVER, Ordering::Relaxed);
        if new.bucket == old.bucket {
            buckets.fill(new, key, value);
            let header = buckets.header(old.bucket);
            let changed = header.with_tag(new.place, tag_of(hash)).with_tag(old.place, RETIRED);
            buckets.publish(old.bucket, changed);
        } else {
            buckets.count_passing(old.bucket, new.bucket, |passed| passed + 1);
            buckets.put(new, key, value, hash);
            buckets.set_tag(old, RETIRED);
        }
        if let Some(next) = &self.next {
            match (next.has(old), next.has(new)) {
                (true, true) => next.store(key, value),
                (true, false) => drop(next.buckets.remove(key, FREE)),
                (false, true) => drop(next.buckets.insert(key, value, hash)),
                (false, false) => {}
            }
        }
        self.retire(buckets, old);
    }

    /// Retires a place that readers can no longer find.
    fn retire(&mut self, buckets: &Buckets, place: Place) {
        self.places.retire(&self.domain, place);
        buckets.version.store(self.domain.next_version(), Ordering::Release);
    }

    /// Removes an existing key.
    pub(crate) fn remove(&mut self, map: &ExactMap, key: &[u64]) {
        let buckets = self.present(map);
        buckets.version.store(NEVER, Ordering::Relaxed);
        let at = buckets.remove(key, RETIRED);
        if let Some(next) = self.next.as_ref().filter(|next| next.has(at)) {
            next.buckets.remove(key, FREE);
        }
        self.retire(buckets, at);
        self.live -= 1;
        let spacious = buckets.count > 4 * buckets.shape.buckets_for(self.live).max(BUCKETS_MIN);
        if spacious || self.next.is_some() {
            self.go_on(map);
        }
        self.collect(map);
    }

    fn present<'a>(&self, map: &'a ExactMap) -> &'a Buckets {
        // SAFETY: this is the map's writer, and `finish` does not use the old array after replacing it.
        unsafe { map.buckets.load_as_writer() }
    }

    /// Makes sure that one more entry fits.
    fn make_room(&mut self, map: &ExactMap) {
        self.collect(map);
        if self.is_littered(map) {
            self.rebuild(map);
        } else if self.is_crowded(map) || self.next.is_some() {
            self.go_on(map);
        }
    }

    /// Whether there should be a larger array.
    fn is_crowded(&self, map: &ExactMap) -> bool {
        self.live * 10 >= self.present(map).capacity() * LOAD_MAX
    }

    /// Whether an entry cannot be sure to find a place, since there are entries and retired places nearly everywhere.
    fn is_littered(&self, map: &ExactMap) -> bool {
        (self.live + self.places.len()) * 20 >= self.present(map).capacity() * 17
    }

    /// Whether another entry would publish a new array, unless readers release retired places first.
    pub(crate) fn insertion_moves(&self, map: &ExactMap) -> bool {
        let rest = self.present(map).count - self.next.as_ref().map_or(0, |next| next.copied);
        let copies = self.next.is_some() || self.is_crowded(map);
        self.is_littered(map) || copies && rest <= COPIED_AT_ONCE
    }

    /// Copies some more entries to the next array, and publishes it when it has all.
    fn go_on(&mut self, map: &ExactMap) {
        self.copy(map, COPIED_AT_ONCE);
    }

    /// Moves all entries to a new array at once.
    fn rebuild(&mut self, map: &ExactMap) {
        self.copy(map, usize::MAX);
    }

    /// Copies the entries of this number of buckets to the next array, and publishes that array when it is complete.
    fn copy(&mut self, map: &ExactMap, buckets: usize) {
        let current = self.present(map);
        let mut next = self.next.take().unwrap_or_else(|| {
            let count = current.shape.buckets_for((self.live + self.live / 2).max(1));
            Next {
                buckets: Buckets::new(current.shape, count, NEVER),
                copied: 0,
            }
        });
        next.copy(current, buckets);
        if next.copied < current.count {
            self.next = Some(next);
            return;
        }
        next.buckets
            .version
            .store(self.domain.next_version(), Ordering::Relaxed);
        let retired = map.buckets.replace(next.buckets);
        self.places.clear();
        self.arrays.retire(&self.domain, retired);
        self.collect(map);
    }

    fn collect(&mut self, map: &ExactMap) {
        self.arrays.collect(&self.domain, drop);
        let buckets = self.present(map);
        self.places.collect(&self.domain, |at| buckets.set_tag(at, FREE));
    }
}

/// The first free place after `bucket` and before the search wraps around to `home`.
fn later_place(buckets: &Buckets, bucket: usize, home: usize) -> Option<Place> {
    let mut bucket = buckets.next(bucket);
    while bucket != home {
        if let Some(place) = buckets.free_place_in(bucket) {
            return Some(place);
        }
        bucket = buckets.next(bucket);
    }
    None
}

#[cfg(all(test, loom))]
mod publication;
#[cfg(all(test, not(loom)))]
mod tests;
