//! Canonical keys as words, for tables with millions of entries: with few exceptions, the keys need no allocation of
//! their own.
//!
//! If all fields are exact, their bits are packed without gaps. Otherwise each field has words of its own:
//!
//! | kind of the field | words |
//! |---|---|
//! | exact | value |
//! | lpm | value, length of the prefix |
//! | ternary | value, mask |
//! | range | lower bound, upper bound |
//! | optional | 1 and the value, or 0 |
//!
//! Within a table, keys are equal if and only if their words are equal.

use forebay_bits::Bits;
use smallvec::SmallVec;

use crate::key::{KeyMatch, KeySpec, MatchKind};

/// See the [module](self).
pub(crate) type PackedKey = SmallVec<[u64; 2]>;

/// The words of a canonical key.
pub(crate) fn pack(key: &[KeyMatch]) -> PackedKey {
    if key.iter().all(|field| matches!(field, KeyMatch::Exact(_))) {
        let mut bits = BitWriter::default();
        for field in key {
            if let KeyMatch::Exact(value) = field {
                bits.put(value);
            }
        }
        return bits.words;
    }
    let mut words = PackedKey::with_capacity(key.iter().map(words_of).sum());
    for field in key {
        match field {
            KeyMatch::Exact(value) => put(&mut words, value),
            KeyMatch::Lpm { value, prefix_len } => {
                put(&mut words, value);
                words.push((*prefix_len).into());
            }
            KeyMatch::Ternary {
                value: first,
                mask: second,
            }
            | KeyMatch::Range { lo: first, hi: second } => {
                put(&mut words, first);
                put(&mut words, second);
            }
            KeyMatch::Optional(value) => {
                words.push(value.is_some().into());
                if let Some(value) = value {
                    put(&mut words, value);
                }
            }
            KeyMatch::DontCare => unreachable!("a canonical key has the conditions of its fields' kinds"),
        }
    }
    words
}

/// The words of a key with these values, whose fields are all exact.
pub(crate) fn pack_exact(values: &[Bits]) -> PackedKey {
    let mut bits = BitWriter::default();
    values.iter().for_each(|value| bits.put(value));
    bits.words
}

/// Appends values without gaps.
#[derive(Default)]
struct BitWriter {
    words: PackedKey,
    /// Bits in use in the last word; 0 when it is full, or there is none.
    used: u32,
}

impl BitWriter {
    fn put(&mut self, value: &Bits) {
        let mut left = value.width();
        for limb in value.limbs() {
            let bits = left.min(u64::BITS);
            self.put_word(limb, bits);
            left -= bits;
        }
    }

    /// Appends the low bits of a word, whose other bits must be 0.
    fn put_word(&mut self, word: u64, bits: u32) {
        if bits == 0 {
            return;
        }
        let room = (u64::BITS - self.used) % u64::BITS;
        if let (1.., Some(last)) = (room, self.words.last_mut()) {
            *last |= word << self.used;
        }
        if bits > room {
            self.words.push(if room == 0 { word } else { word >> room });
        }
        self.used = (self.used + bits) % u64::BITS;
    }
}

/// Reads values that a [`BitWriter`] has written.
struct BitReader<'a> {
    words: &'a [u64],
    at: usize,
}

impl BitReader<'_> {
    fn take(&mut self, width: u32) -> Bits {
        let mut left = width;
        let mut limbs = SmallVec::<[u64; 2]>::new();
        while left > 0 {
            let bits = left.min(u64::BITS);
            limbs.push(self.take_word(bits));
            left -= bits;
        }
        Bits::from_limbs(width, &limbs)
    }

    fn take_word(&mut self, bits: u32) -> u64 {
        let (index, shift) = (self.at / 64, (self.at % 64) as u32);
        self.at += bits as usize;
        let low = self.words[index] >> shift;
        let high = if shift + bits > u64::BITS {
            self.words[index + 1] << (u64::BITS - shift)
        } else {
            0
        };
        (low | high) & (u64::MAX >> (u64::BITS - bits))
    }
}

fn put(words: &mut PackedKey, value: &Bits) {
    match limbs(value) {
        1 => words.push(value.to_u64()),
        _ => words.extend(value.limbs()),
    }
}

/// The number of words of a condition.
fn words_of(field: &KeyMatch) -> usize {
    match field {
        KeyMatch::Exact(value) => limbs(value),
        KeyMatch::Lpm { value, .. } => limbs(value) + 1,
        KeyMatch::Ternary { value, .. } | KeyMatch::Range { lo: value, .. } => 2 * limbs(value),
        KeyMatch::Optional(value) => 1 + value.as_ref().map_or(0, limbs),
        KeyMatch::DontCare => 0,
    }
}

fn limbs(value: &Bits) -> usize {
    value.limbs().len()
}

/// The key with these words, of a table with key fields `keys`.
pub(crate) fn unpack(words: &[u64], keys: &[KeySpec]) -> Vec<KeyMatch> {
    let fields = keys.iter().filter(|key| key.kind != MatchKind::Selector);
    if fields.clone().all(|field| field.kind == MatchKind::Exact) {
        let mut bits = BitReader { words, at: 0 };
        return fields.map(|field| KeyMatch::Exact(bits.take(field.width))).collect();
    }
    let mut rest = words;
    fields.map(|field| unpack_field(&mut rest, *field)).collect()
}

fn unpack_field(rest: &mut &[u64], field: KeySpec) -> KeyMatch {
    let mut take = |count: usize| {
        let (taken, behind) = rest.split_at(count);
        *rest = behind;
        taken
    };
    let count = field.width.div_ceil(u64::BITS) as usize;
    let mut value = || Bits::from_limbs(field.width, take(count));
    match field.kind {
        MatchKind::Exact => KeyMatch::Exact(value()),
        MatchKind::Lpm => KeyMatch::Lpm {
            value: value(),
            prefix_len: take(1)[0] as u32,
        },
        MatchKind::Ternary => KeyMatch::Ternary {
            value: value(),
            mask: value(),
        },
        MatchKind::Range => KeyMatch::Range {
            lo: value(),
            hi: value(),
        },
        MatchKind::Optional => match take(1)[0] {
            0 => KeyMatch::Optional(None),
            _ => KeyMatch::Optional(Some(Bits::from_limbs(field.width, take(count)))),
        },
        MatchKind::Selector => unreachable!("selectors are not matched"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back() {
        for width in [0, 1, 48, 64, 65, 128, 200] {
            let (some, ones) = (Bits::new(width, 0x1234_5678_9ABC), Bits::ones(width));
            let fields = [
                (MatchKind::Exact, KeyMatch::Exact(some.clone())),
                (MatchKind::Selector, KeyMatch::DontCare),
                (
                    MatchKind::Lpm,
                    KeyMatch::Lpm {
                        value: some.clone(),
                        prefix_len: width / 2,
                    },
                ),
                (
                    MatchKind::Ternary,
                    KeyMatch::Ternary {
                        value: some.clone(),
                        mask: ones.clone(),
                    },
                ),
                (
                    MatchKind::Range,
                    KeyMatch::Range {
                        lo: some.clone(),
                        hi: ones,
                    },
                ),
                (MatchKind::Optional, KeyMatch::Optional(None)),
                (MatchKind::Optional, KeyMatch::Optional(Some(some))),
            ];
            let specs: Vec<KeySpec> = fields.iter().map(|(kind, _)| KeySpec { width, kind: *kind }).collect();
            let matched = fields.iter().filter(|(kind, _)| *kind != MatchKind::Selector);
            let key: Vec<KeyMatch> = matched.map(|(_, condition)| condition.clone()).collect();
            assert_eq!(unpack(&pack(&key), &specs), key, "{width} bits");
        }
    }

    #[test]
    fn exact_keys_have_no_gaps() {
        let widths = [8, 32, 0, 32, 8, 16, 16, 128, 3, 64, 200, 1];
        let values = widths.map(|width| Bits::ones(width).sub(&Bits::new(width, 2)));
        let specs = widths.map(|width| KeySpec {
            width,
            kind: MatchKind::Exact,
        });
        for count in 0..=widths.len() {
            let key: Vec<KeyMatch> = values[..count].iter().cloned().map(KeyMatch::Exact).collect();
            let words = pack(&key);
            assert_eq!(words, pack_exact(&values[..count]));
            assert_eq!(words.len() as u32, widths[..count].iter().sum::<u32>().div_ceil(64));
            assert_eq!(unpack(&words, &specs[..count]), key);
        }
    }
}
