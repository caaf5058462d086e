//! Register arrays (`register` of v1model, `Register` of PSA).
//!
//! Every element is a value of one width and begins as 0. A write outside the array does nothing
//! (v1model). A read outside it gives 0: v1model leaves the result open, and BMv2's
//! `simple_switch`, built with its assertions, leaves the destination as it was.
//!
//! # Between threads
//!
//! Elements are words that are accessed without order between them. A read or a write of an element
//! of up to 64 bits is one access; that of a wider one is several, of which another thread may see
//! some. What is to be one step for others (a wide element, a read and the write that follows it)
//! is done in an atomic section: see [`crate::section`].

use std::sync::atomic::{AtomicU64, Ordering};

use forebay_bits::Bits;

use crate::storage::{ArrayTooLarge, zeroed_words};

/// An array of values of one width.
#[derive(Debug)]
pub struct RegisterArray {
    width: u32,
    len: usize,
    words_per_element: usize,
    words: Box<[AtomicU64]>,
}

impl RegisterArray {
    /// `len` elements of `width` bits, all zero.
    pub fn new(width: u32, len: usize) -> Result<RegisterArray, ArrayTooLarge> {
        let words_per_element = width.div_ceil(64) as usize;
        Ok(RegisterArray {
            width,
            len,
            words_per_element,
            words: zeroed_words(len, words_per_element)?,
        })
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

    /// The words of all elements, one element behind the other, the least significant word of each first.
    pub fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    /// The element at `index`, or 0 outside the array.
    pub fn read(&self, index: u64) -> Bits {
        let Some(index) = self.checked(index) else {
            return Bits::zero(self.width);
        };
        let words = self.element(index);
        match words {
            [word] => Bits::new(self.width, word.load(Ordering::Relaxed).into()),
            words => {
                let limbs: Vec<u64> = words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
                Bits::from_limbs(self.width, &limbs)
            }
        }
    }

    /// Puts the words of the element at `index`, the least significant first, into `words`, or 0 outside the array.
    ///
    /// # Panics
    ///
    /// When there are not as many as an element has.
    #[inline]
    pub fn read_words(&self, index: u64, words: &mut [u64]) {
        assert_eq!(words.len(), self.words_per_element, "a register holds one width");
        match self.checked(index) {
            Some(index) => {
                for (word, stored) in words.iter_mut().zip(self.element(index)) {
                    *word = stored.load(Ordering::Relaxed);
                }
            }
            None => words.fill(0),
        }
    }

    /// Sets the words of the element at `index`, the least significant first, with zeros above its width; does nothing
    /// outside the array.
    ///
    /// # Panics
    ///
    /// When there are not as many as an element has.
    #[inline]
    pub fn write_words(&self, index: u64, words: &[u64]) {
        assert_eq!(words.len(), self.words_per_element, "a register holds one width");
        if let Some(index) = self.checked(index) {
            for (word, stored) in words.iter().zip(self.element(index)) {
                stored.store(*word, Ordering::Relaxed);
            }
        }
    }

    /// Sets the element at `index`; does nothing outside the array.
    ///
    /// # Panics
    ///
    /// When the value is not as wide as the elements.
    pub fn write(&self, index: u64, value: &Bits) {
        assert_eq!(value.width(), self.width, "a register holds one width");
        let Some(index) = self.checked(index) else {
            return;
        };
        for (word, limb) in self.element(index).iter().zip(value.limbs()) {
            word.store(limb, Ordering::Relaxed);
        }
    }

    /// Sets every element to 0.
    pub fn reset(&self) {
        let zero = Bits::zero(self.width);
        for index in 0..self.len {
            self.write(index as u64, &zero);
        }
    }

    fn checked(&self, index: u64) -> Option<usize> {
        usize::try_from(index).ok().filter(|&i| i < self.len)
    }

    fn element(&self, index: usize) -> &[AtomicU64] {
        let start = index * self.words_per_element;
        &self.words[start..start + self.words_per_element]
    }
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
    fn outside_the_array_reads_are_zero_and_writes_do_nothing() {
        let registers = RegisterArray::new(8, 2).unwrap();
        registers.write(2, &Bits::ones(8));
        registers.write(u64::MAX, &Bits::ones(8));
        assert_eq!(registers.read(2), Bits::zero(8));
        assert_eq!(registers.read(u64::MAX), Bits::zero(8));
        assert!(registers.read(0).is_zero() && registers.read(1).is_zero());
    }

    #[test]
    fn size_is_bounded() {
        assert!(RegisterArray::new(64, 1 << 40).is_err());
        assert!(RegisterArray::new(64, usize::MAX).is_err());
        assert!(RegisterArray::new(0, 1 << 40).is_ok());
    }
}
