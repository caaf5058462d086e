//! Programs for tests.
#![allow(dead_code, reason = "each test file uses some of it")]

use forebay_ir::{Program, text};

/// A valid program with one of everything.
pub fn everything() -> Program {
    text::read(include_str!("../everything.ir.txt")).expect("the sample program is well-formed")
}

/// A small generator of choices from a seed.
pub struct Choices(u64);

impl Choices {
    pub fn new(seed: u64) -> Self {
        Choices(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub fn bits(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        (self.bits() % u64::from(limit)) as u32
    }

    pub fn flag(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize].clone()
    }

    pub fn many<T>(&mut self, limit: u32, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(limit + 1)).map(|_| make(self)).collect()
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.flag() { Some(make(self)) } else { None }
    }
}
