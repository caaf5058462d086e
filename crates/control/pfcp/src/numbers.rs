//! Numbers that are given and given back.

use std::collections::VecDeque;

/// Numbers from 1 on. What is given back comes round again last.
#[derive(Debug)]
pub(crate) struct Numbers {
    next: u32,
    max: u32,
    free: VecDeque<u32>,
}

impl Numbers {
    pub(crate) fn new(max: u32) -> Numbers {
        Numbers {
            next: 1,
            max,
            free: VecDeque::new(),
        }
    }

    pub(crate) fn take(&mut self) -> Option<u32> {
        if self.next <= self.max {
            self.next += 1;
            return Some(self.next - 1);
        }
        self.free.pop_front()
    }

    pub(crate) fn give_back(&mut self, number: u32) {
        self.free.push_back(number);
    }

    /// What is in use after a restart.
    pub(crate) fn set_used(&mut self, mut used: Vec<u32>) {
        used.sort_unstable();
        self.next = used.last().map_or(1, |last| last + 1);
        self.free = (1..self.next)
            .filter(|number| used.binary_search(number).is_err())
            .collect();
    }
}
