//! Splits sets of numbers that a match kind cannot express in one entry: ranges into prefixes or numbers, masks into
//! ranges.

use forebay_bits::Bits;
use forebay_ir::EntryMatch;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};

/// The numbers from `low` to `high`; none when `low` is above `high`.
#[derive(Clone, Debug)]
pub struct Range {
    low: BigUint,
    high: BigUint,
    width: u32,
}

impl Range {
    /// As a match of a range key.
    pub fn as_match(&self) -> EntryMatch {
        EntryMatch::Range {
            low: Bits::from_biguint(self.width, &self.low),
            high: Bits::from_biguint(self.width, &self.high),
        }
    }
}

/// All numbers of `width` bits.
pub fn whole(width: u32) -> Range {
    Range {
        low: BigUint::ZERO,
        high: (BigUint::one() << width) - 1u32,
        width,
    }
}

/// The numbers between two, which are included.
pub fn range((low, high): &(Bits, Bits)) -> Range {
    Range {
        low: low.to_biguint(),
        high: high.to_biguint(),
        width: low.width(),
    }
}

/// The numbers between two, which are included, as ranges of unsigned numbers: two where signed ones cross zero.
pub fn ranges(ends: &(Bits, Bits), signed: bool) -> Vec<Range> {
    let (low, high) = ends;
    let width = low.width();
    let ranges = if !signed || low.is_negative() == high.is_negative() {
        vec![range(ends)]
    } else if high.is_negative() {
        Vec::new()
    } else {
        vec![
            range(&(low.clone(), Bits::ones(width))),
            range(&(Bits::zero(width), high.clone())),
        ]
    };
    ranges.into_iter().filter(|range| range.low <= range.high).collect()
}

/// A range as values with lengths of prefixes, at most two for each bit.
///
/// ```text
///   1 .. 6  =  001/3   010/2   100/2   110/3
/// ```
pub fn prefixes(range: &Range) -> Vec<(Bits, u32)> {
    let mut low = range.low.clone();
    let mut parts = Vec::new();
    while low <= range.high {
        let aligned = low.trailing_zeros().unwrap_or(u64::MAX).min(u64::from(range.width)) as u32;
        let fits = |free: &u32| &low + (BigUint::one() << *free) - 1u32 <= range.high;
        let free = (0..=aligned).rev().find(fits).unwrap_or(0);
        parts.push((Bits::from_biguint(range.width, &low), range.width - free));
        low += BigUint::one() << free;
    }
    parts
}

/// The mask of a prefix.
pub fn leading_ones(width: u32, length: u32) -> Bits {
    let below = (BigUint::one() << (width - length)) - 1u32;
    Bits::from_biguint(width, &((BigUint::one() << width) - 1u32 - below))
}

/// The numbers that have the bits of a value where a mask has ones, as ranges; none when these are more than `most`.
pub fn ranges_of_mask((value, mask): &(Bits, Bits), most: usize) -> Option<Vec<Range>> {
    let width = mask.width();
    let free_below = (0..width).take_while(|bit| !mask.bit(*bit)).count() as u32;
    let free_above: Vec<u32> = (free_below..width).filter(|bit| !mask.bit(*bit)).collect();
    if free_above.len() >= usize::BITS as usize || 1usize << free_above.len() > most {
        return None;
    }
    let fixed = value.and(mask).to_biguint();
    let below = (BigUint::one() << free_below) - 1u32;
    let range = |choice: usize| {
        let chosen = free_above
            .iter()
            .enumerate()
            .filter(|(index, _)| choice >> index & 1 == 1);
        let low = chosen.fold(fixed.clone(), |low, (_, bit)| low + (BigUint::one() << *bit));
        Range {
            high: &low + &below,
            low,
            width,
        }
    };
    Some((0..1usize << free_above.len()).map(range).collect())
}

/// Each number of some ranges as a match of an exact key; none when they are more than `most`.
pub fn numbers(ranges: &[Range], most: usize) -> Option<Vec<EntryMatch>> {
    let mut matches = Vec::new();
    for Range { low, high, width } in ranges {
        if low > high {
            continue;
        }
        let count = (high - low).to_usize().filter(|last| last + matches.len() < most)?;
        let number = |step: usize| EntryMatch::Exact(Bits::from_biguint(*width, &(low + step)));
        matches.extend((0..=count).map(number));
    }
    Some(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four(number: u128) -> Bits {
        Bits::new(4, number)
    }

    fn times(ranges: &[Range], number: u128) -> usize {
        let number = BigUint::from(number);
        ranges
            .iter()
            .filter(|range| (&range.low..=&range.high).contains(&&number))
            .count()
    }

    #[test]
    fn a_range_is_covered_once_by_its_prefixes() {
        for low in 0..16 {
            for high in 0..16 {
                let prefixes = prefixes(&range(&(four(low), four(high))));
                for number in 0..16 {
                    let covers = |(value, length): &&(Bits, u32)| four(number).and(&leading_ones(4, *length)) == *value;
                    let count = prefixes.iter().filter(covers).count();
                    assert_eq!(count, usize::from((low..=high).contains(&number)));
                }
            }
        }
    }

    #[test]
    fn signed_ranges_are_those_of_signed_numbers() {
        let unsigned = |number: i64| four((number & 0xF) as u128);
        for low in -8..8 {
            for high in -8..8 {
                let ranges = ranges(&(unsigned(low), unsigned(high)), true);
                assert!(ranges.iter().all(|range| range.low <= range.high));
                for number in -8..8i64 {
                    let is_in = usize::from((low..=high).contains(&number));
                    assert_eq!(times(&ranges, (number & 0xF) as u128), is_in);
                }
            }
        }
        assert!(ranges(&(four(5), four(3)), false).is_empty());
    }

    #[test]
    fn a_mask_is_covered_once_by_its_ranges_and_numbers() {
        for value in 0..16 {
            for mask in 0..16 {
                let ranges = ranges_of_mask(&(four(value), four(mask)), 16).unwrap();
                let numbers = numbers(&ranges, 16).unwrap();
                for number in 0..16 {
                    let is_in = usize::from(number & mask == value & mask);
                    assert_eq!(times(&ranges, number), is_in);
                    let is_number = |part: &&EntryMatch| **part == EntryMatch::Exact(four(number));
                    assert_eq!(numbers.iter().filter(is_number).count(), is_in);
                }
            }
        }
    }

    #[test]
    fn sets_that_are_too_large_have_no_parts() {
        assert!(ranges_of_mask(&(Bits::zero(16), Bits::new(16, 1)), 1024).is_none());
        assert!(numbers(&[whole(11)], 1024).is_none());
        assert_eq!(numbers(&[whole(10)], 1024).map(|numbers| numbers.len()), Some(1024));
    }
}
