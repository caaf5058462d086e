//! Register arrays (`register` of v1model, `Register` of PSA).
//!
//! Every element is a value of one width and begins as 0. A write outside the array does nothing (v1model). A read
//! outside it gives 0: v1model leaves the result open, and BMv2's `simple_switch`, built with its assertions, leaves
//! the destination unchanged.
//!
//! # Between threads
//!
//! Elements are words, and accesses to different words are not ordered. A read or a write of an element of one word is
//! one access, except for compiled code's writes [beside a lock](RegisterArray::is_written_at_once). An access to a
//! wider element is several accesses, of which another thread may see only some. An operation that must be one step
//! for others (on a wide element, or a read and the write that follows it) needs an atomic section: see
//! [`crate::lock_stripes`].
//!
//! An element of up to [`LOCKED_BITS_MAX`] bits leaves the highest bytes of its word to the [`Lock`] of a section.
//!
//! # Banks
//!
//! ```text
//!   │ counts[0] │ owners[0] │ pool[0] │ counts[1] │ owners[1] │ pool[1] │ counts[2] │ ...
//!   └──────────── stride ─────────────┘
//! ```
//!
//! Arrays of one length that packets access with the same index can be made [together](RegisterArray::together).
//! Elements with the same index are then adjacent, so one cache line holds what would otherwise be in several.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_bits::Bits;

use crate::lock_stripes::Lock;
use crate::storage::{ArrayTooLarge, SeparateWords, check_size};

/// Bits of the widest element whose word has room for a lock. At most two stores can write such an element without
/// touching the lock.
pub const LOCKED_BITS_MAX: u32 = 48;

/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// An array of values of one width.
#[derive(Debug)]
pub struct RegisterArray {
    width: u32,
    len: usize,
    words_per_element: usize,
    /// All words of the bank.
    bank: Arc<SeparateWords>,
    first_word: usize,
    stride_words: usize,
}

impl RegisterArray {
    /// `len` elements of `width` bits, all zero.
    ///
    /// # Errors
    ///
    /// If that is too much memory.
    pub fn new(width: u32, len: usize) -> Result<RegisterArray, ArrayTooLarge> {
        let mut arrays = RegisterArray::together(&[width], len)?;
        Ok(arrays.pop().expect("one for each width"))
    }

    /// A bank: an array of `len` elements, all zero, for each of these widths.
    ///
    /// # Errors
    ///
    /// If all together are too much memory.
    pub fn together(widths: &[u32], len: usize) -> Result<Vec<RegisterArray>, ArrayTooLarge> {
        let stride_words = RegisterArray::stride_of(widths);
        check_size(len, stride_words * size_of::<AtomicU64>())?;
        let bank = Arc::new(SeparateWords::zeroed(len * stride_words));
        let arrays = widths.iter().enumerate().map(|(position, &width)| RegisterArray {
            width,
            len,
            words_per_element: words_of(width),
            bank: bank.clone(),
            first_word: RegisterArray::first_word_of(widths, position),
            stride_words,
        });
        Ok(arrays.collect())
    }

    /// The word of a bank with these widths at which an array's first element begins.
    pub fn first_word_of(widths: &[u32], position: usize) -> usize {
        widths[..position].iter().map(|width| words_of(*width)).sum()
    }

    /// Words from one element to the next of the same array, in a bank with these widths. With several widths,
    /// elements with the same index share a cache line if they fit into one.
    pub fn stride_of(widths: &[u32]) -> usize {
        let words: usize = widths.iter().map(|width| words_of(*width)).sum();
        match widths {
            [_, _, ..] if words <= LINE_WORDS => words.next_power_of_two(),
            _ => words,
        }
    }

    /// Bits of one element.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words of all elements of the bank. The first word of element `i` has the index `first_word() + i *
    /// stride_words()`; the least significant word of an element comes first.
    pub fn bank(&self) -> &[AtomicU64] {
        self.bank.words()
    }

    /// The bank's word at which the first element begins.
    pub fn first_word(&self) -> usize {
        self.first_word
    }

    /// Words from one element to the next.
    pub fn stride_words(&self) -> usize {
        self.stride_words
    }

    /// The element at `index`, or 0 outside the array.
    pub fn read(&self, index: u64) -> Bits {
        let Some(index) = self.checked(index) else {
            return Bits::zero(self.width);
        };
        let words = self.element(index);
        match words {
            [word] => Bits::new(self.width, (word.load(Ordering::Relaxed) & self.value_mask()).into()),
            words => {
                let limbs: Vec<u64> = words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
                Bits::from_limbs(self.width, &limbs)
            }
        }
    }

    /// Copies the words of the element at `index`, the least significant first, to `words`; sets them to 0 outside the
    /// array.
    ///
    /// # Panics
    ///
    /// If `words` does not have as many words as an element.
    #[inline]
    pub fn read_words(&self, index: u64, words: &mut [u64]) {
        assert_eq!(words.len(), self.words_per_element, "a register holds one width");
        match self.checked(index) {
            Some(index) => {
                for (word, stored) in words.iter_mut().zip(self.element(index)) {
                    *word = stored.load(Ordering::Relaxed);
                }
                if let [word] = words {
                    *word &= self.value_mask();
                }
            }
            None => words.fill(0),
        }
    }

    /// Sets the words of the element at `index`, the least significant first. The bits above its width must be 0. Does
    /// nothing outside the array.
    ///
    /// # Panics
    ///
    /// If `words` does not have as many words as an element.
    #[inline]
    pub fn write_words(&self, index: u64, words: &[u64]) {
        assert_eq!(words.len(), self.words_per_element, "a register holds one width");
        if let Some(index) = self.checked(index) {
            self.write_element(index, words.iter().copied());
        }
    }

    /// Sets the element at `index`; does nothing outside the array.
    ///
    /// # Panics
    ///
    /// If the value is not as wide as the elements.
    pub fn write(&self, index: u64, value: &Bits) {
        assert_eq!(value.width(), self.width, "a register holds one width");
        if let Some(index) = self.checked(index) {
            self.write_element(index, value.limbs());
        }
    }

    /// Sets every element to 0.
    pub fn reset(&self) {
        let zero = Bits::zero(self.width);
        for index in 0..self.len {
            self.write(index as u64, &zero);
        }
    }

    /// Whether the elements of an array of this width have locks.
    pub fn have_locks(width: u32) -> bool {
        (1..=LOCKED_BITS_MAX).contains(&width)
    }

    /// Whether each write of an element is one access, so that a section is not needed for just reading it. For
    /// elements of more than 32 bits with a lock in the same word, compiled code writes four bytes and then two.
    pub fn is_written_at_once(&self) -> bool {
        self.width <= u32::BITS || self.words_per_element == 1 && !RegisterArray::have_locks(self.width)
    }

    /// The lock of the element at `index`; `None` outside the array.
    ///
    /// # Panics
    ///
    /// If the elements [have no locks](RegisterArray::have_locks).
    #[inline]
    pub fn lock(&self, index: u64) -> Option<Lock<'_>> {
        assert!(RegisterArray::have_locks(self.width), "elements have locks");
        let index = self.checked(index)?;
        Some(Lock::in_word(&self.element(index)[0]))
    }

    #[inline]
    fn write_element(&self, index: usize, limbs: impl Iterator<Item = u64>) {
        let words = self.element(index);
        // The bits above a value of one word are its lock, or 0.
        let above = match words {
            [word] => word.load(Ordering::Relaxed) & !self.value_mask(),
            _ => 0,
        };
        for (word, limb) in words.iter().zip(limbs) {
            word.store(limb | above, Ordering::Relaxed);
        }
    }

    /// The bits of an element's only word that belong to its value.
    fn value_mask(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.width)
    }

    fn checked(&self, index: u64) -> Option<usize> {
        usize::try_from(index).ok().filter(|&i| i < self.len)
    }

    fn element(&self, index: usize) -> &[AtomicU64] {
        let start = self.first_word + index * self.stride_words;
        &self.bank()[start..start + self.words_per_element]
    }
}

fn words_of(width: u32) -> usize {
    width.div_ceil(u64::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_values_at_every_width() {
        for width in [0, 1, 9, 63, 64, 65, 128, 129, 500] {
            let registers = RegisterArray::new(width, 70).unwrap();
            registers.write(3, &Bits::ones(width));
            registers.write(69, &Bits::new(width, 0x1234));
            assert_eq!(registers.read(3), Bits::ones(width));
            assert_eq!(registers.read(69), Bits::new(width, 0x1234));
            assert!(registers.read(2).is_zero() && registers.read(4).is_zero());
            let mut words = vec![0; width.div_ceil(64) as usize];
            registers.read_words(3, &mut words);
            registers.write_words(5, &words);
            assert_eq!(registers.read(5), Bits::ones(width));
            registers.read_words(70, &mut words);
            assert!(words.iter().all(|word| *word == 0));
            registers.reset();
            assert!(registers.read(3).is_zero());
        }
    }

    #[test]
    fn a_lock_and_its_element_are_apart() {
        for width in [1, 8, 33, 48] {
            assert!(RegisterArray::have_locks(width));
            let registers = RegisterArray::new(width, 2).unwrap();
            let lock = registers.lock(1).expect("there is such an element");
            lock.acquire();
            assert!(registers.read(1).is_zero());
            registers.write(1, &Bits::ones(width));
            let mut words = [0];
            registers.read_words(1, &mut words);
            assert_eq!(Bits::new(width, words[0].into()), Bits::ones(width));
            registers.write_words(1, &words);
            let is_taken = || registers.bank()[1].load(Ordering::Relaxed) >> (8 * Lock::BYTE) == 1;
            assert!(is_taken());
            lock.release();
            assert!(!is_taken());
            assert_eq!(registers.read(1), Bits::ones(width));
            assert!(registers.lock(2).is_none());
        }
        let at_once = |width| RegisterArray::new(width, 1).unwrap().is_written_at_once();
        assert_eq!(
            [0, 32, 33, 48, 49, 64, 65].map(at_once),
            [true, true, false, false, true, true, false]
        );
        assert!([0, 49, 64, 65].iter().all(|width| !RegisterArray::have_locks(*width)));
    }

    #[test]
    fn outside_the_array_reads_are_zero_and_writes_do_nothing() {
        let registers = RegisterArray::new(8, 2).unwrap();
        registers.write(2, &Bits::ones(8));
        registers.write(u64::MAX, &Bits::ones(8));
        assert_eq!(registers.read(2), Bits::zero(8));
        assert_eq!(registers.read(u64::MAX), Bits::zero(8));
        assert!(registers.read(0).is_zero() && registers.read(1).is_zero());
    }

    #[test]
    fn arrays_of_a_bank_are_apart() {
        for widths in [&[8, 104, 128, 0][..], &[9; 12], &[64], &[65, 1]] {
            let arrays = RegisterArray::together(widths, 5).unwrap();
            let value = |array: usize, index: u64| Bits::new(widths[array], (10 * array as u64 + index).into());
            let all = || (0..arrays.len()).flat_map(|array| (0..5).map(move |index| (array, index)));
            all().for_each(|(array, index)| arrays[array].write(index, &value(array, index)));
            for (array, index) in all() {
                assert_eq!(arrays[array].read(index), value(array, index));
            }
            arrays[0].reset();
            assert!(all().all(|(array, index)| arrays[array].read(index) == value(array, index) || array == 0));
        }
        assert_eq!(
            RegisterArray::stride_of(&[8, 104]),
            4,
            "elements do not lie across lines"
        );
        assert_eq!(RegisterArray::stride_of(&[8, 104, 600]), 13);
        assert_eq!(RegisterArray::stride_of(&[130]), 3, "one alone wastes nothing");
    }

    #[test]
    fn size_is_bounded() {
        assert!(RegisterArray::new(64, 1 << 40).is_err());
        assert!(RegisterArray::new(64, usize::MAX).is_err());
        assert!(RegisterArray::new(0, 1 << 40).is_ok());
    }
}
