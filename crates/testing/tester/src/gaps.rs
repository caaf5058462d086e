//! The numbers of a stream's frames that have been passed over: until they come, they are missing.

use std::collections::VecDeque;

/// Gaps that are remembered, the last ones.
const GAPS_MAX: usize = 1 << 12;

/// Numbers one after another that are missing, and when the frame after them should have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    first: u64,
    end: u64,
    until_ns: u64,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    next: u64,
    missing: u64,
    last: VecDeque<Gap>,
}

impl Gaps {
    /// Notes that a frame came for the first time, with the time at which it should have been sent.
    #[inline]
    pub fn arrive(&mut self, number: u64, intended_ns: u64) {
        if number < self.next {
            return self.fill(number);
        }
        if number > self.next {
            self.pass_over(number, intended_ns);
        }
        self.next = number + 1;
    }

    #[cold]
    fn pass_over(&mut self, number: u64, until_ns: u64) {
        if self.last.len() == GAPS_MAX {
            self.last.pop_front();
        }
        self.missing += number - self.next;
        self.last.push_back(Gap {
            first: self.next,
            end: number,
            until_ns,
        });
    }

    /// Takes a number that came late out of its gap.
    #[cold]
    fn fill(&mut self, number: u64) {
        self.missing = self.missing.saturating_sub(1);
        let at = self.last.partition_point(|gap| gap.end <= number);
        let Some(gap) = self.last.get_mut(at).filter(|gap| gap.first <= number) else {
            return;
        };
        let after = Gap {
            first: number + 1,
            ..*gap
        };
        gap.end = number;
        if gap.first == gap.end {
            self.last.remove(at);
        }
        if after.first < after.end {
            let at = self.last.partition_point(|gap| gap.end <= number);
            self.last.insert(at, after);
        }
    }

    /// Numbers before this one are not asked for: none of them was noted.
    pub fn forget_before(&mut self, number: u64) {
        self.missing -= number.min(self.next).min(self.missing);
        self.last.retain_mut(|gap| {
            gap.first = gap.first.max(number);
            gap.first < gap.end
        });
    }

    /// Numbers below the largest that came that have not come.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// When the first frame should have been sent that came after the last missing one; none when none is missing.
    pub fn last_until_ns(&self) -> Option<u64> {
        self.last.back().map(|gap| gap.until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u64]) -> (u64, Option<u64>) {
        let mut gaps = Gaps::default();
        numbers.iter().for_each(|number| gaps.arrive(*number, 10 * number));
        (gaps.missing(), gaps.last_until_ns())
    }

    #[test]
    fn the_last_gap_is_that_of_numbers_that_never_came() {
        assert_eq!(after(&[0, 1, 2]), (0, None));
        assert_eq!(after(&[0, 3, 4]), (2, Some(30)));
        assert_eq!(after(&[1, 2, 5, 6]), (3, Some(50)));
        assert_eq!(after(&[1, 2, 5, 4, 6]), (2, Some(50)), "3 is still missing");
        assert_eq!(after(&[1, 2, 5, 4, 3, 6]), (1, Some(10)), "all but 0 came");
        assert_eq!(after(&[0, 5, 2]), (3, Some(50)));
        assert_eq!(after(&[0, 5, 2, 4, 3, 1]), (0, None));
    }

    #[test]
    fn what_was_not_asked_for_is_not_missing() {
        let mut gaps = Gaps::default();
        [7, 8, 10].iter().for_each(|number| gaps.arrive(*number, 10 * number));
        gaps.forget_before(6);
        assert_eq!((gaps.missing(), gaps.last_until_ns()), (2, Some(100)));
        gaps.forget_before(10);
        assert_eq!(gaps.last_until_ns(), None);
    }
}
