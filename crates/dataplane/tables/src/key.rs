//! Keys: the match kind of a field, and the condition of an entry on it.
//!
//! A [`KeyMatch`] comes from a control plane or from the entries in a program, in any form. [`KeyMatch::canonical`]
//! converts it to the single form for its field's kind. Then equivalent keys are equal, and engines handle only these
//! forms.

use std::fmt;

use forebay_bits::Bits;

/// How a table compares one key field (P4_16 §14.2.1.1, and `v1model`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// The whole value.
    Exact,
    /// A prefix; among the entries that match, the longest prefix wins.
    Lpm,
    /// The bits under a mask.
    Ternary,
    /// Between two bounds, both inclusive.
    Range,
    /// The whole value, or anything.
    Optional,
    /// Not compared: input to the hash that selects a member of a group.
    Selector,
}

impl MatchKind {
    /// Its name in P4.
    pub fn name(self) -> &'static str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Lpm => "lpm",
            MatchKind::Ternary => "ternary",
            MatchKind::Range => "range",
            MatchKind::Optional => "optional",
            MatchKind::Selector => "selector",
        }
    }
}

impl fmt::Display for MatchKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// One key field of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// Bits of the field.
    pub width: u32,
    /// How it is compared.
    pub kind: MatchKind,
}

/// The condition of an entry on one key field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyMatch {
    /// The field equals the value.
    Exact(Bits),
    /// The first `prefix_len` bits of the field equal those of the value.
    Lpm {
        /// The prefix, left-aligned in the width of the field.
        value: Bits,
        /// The number of bits that count, from the most significant on; 0 matches anything.
        prefix_len: u32,
    },
    /// The field equals the value wherever the mask has a one.
    Ternary {
        /// The value.
        value: Bits,
        /// The bits that count.
        mask: Bits,
    },
    /// `lo <= field <= hi`, unsigned.
    Range {
        /// The lower bound, inclusive.
        lo: Bits,
        /// The upper bound, inclusive.
        hi: Bits,
    },
    /// The field equals the value; without a value, anything matches.
    Optional(Option<Bits>),
    /// Anything: stands for the widest condition of any kind but exact.
    DontCare,
}

/// Why a key does not fit its table. Fields are numbered from 0, without selectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The entry has too few or too many fields.
    FieldCount {
        /// Fields of the table's key that are matched.
        expected: usize,
        /// Fields of the entry.
        found: usize,
    },
    /// A value, mask or bound is not as wide as its field.
    Width {
        /// The field.
        field: usize,
        /// Its width.
        expected: u32,
        /// The value's width.
        found: u32,
    },
    /// A prefix is longer than its field.
    PrefixTooLong {
        /// The field.
        field: usize,
        /// The width of the field.
        width: u32,
        /// The length of the prefix.
        prefix_len: u32,
    },
    /// The lower bound of a range is above its upper bound.
    EmptyRange {
        /// The field.
        field: usize,
    },
    /// The kind of the field cannot express the condition.
    Kind {
        /// The field.
        field: usize,
        /// The kind of the field.
        kind: MatchKind,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::FieldCount { expected, found } => {
                write!(formatter, "the table matches {expected} fields, the key has {found}")
            }
            KeyError::Width { field, expected, found } => write!(
                formatter,
                "field {field} is {expected} bits wide, the key gives {found}"
            ),
            KeyError::PrefixTooLong {
                field,
                width,
                prefix_len,
            } => write!(
                formatter,
                "field {field} is {width} bits wide, the prefix has {prefix_len}"
            ),
            KeyError::EmptyRange { field } => write!(
                formatter,
                "field {field}: the range's lower bound is above its upper bound"
            ),
            KeyError::Kind { field, kind } => write!(
                formatter,
                "field {field} has the match kind {kind}, which cannot express this key"
            ),
        }
    }
}

impl std::error::Error for KeyError {}

impl KeyMatch {
    /// The canonical form of this condition for field number `field` of the given kind. Prefixes and ternary values
    /// have zeros where nothing is compared. An exact value or a don't-care becomes the equivalent prefix, mask, range
    /// or option.
    ///
    /// # Errors
    /// When a value has not the width of the field, a prefix is longer than it, a range is empty, or the condition
    /// cannot be said by the field's kind.
    pub fn canonical(self, field: usize, spec: KeySpec) -> Result<KeyMatch, KeyError> {
        self.check_widths(field, spec.width)?;
        let width = spec.width;
        let wrong_kind = KeyError::Kind { field, kind: spec.kind };
        match spec.kind {
            MatchKind::Exact => self.single_value(width).map(KeyMatch::Exact).ok_or(wrong_kind),
            MatchKind::Lpm => {
                let (value, mask) = self.value_and_mask(width).ok_or(wrong_kind.clone())?;
                let prefix_len = prefix_length(&mask).ok_or(wrong_kind)?;
                Ok(KeyMatch::Lpm { value, prefix_len })
            }
            MatchKind::Ternary => {
                let (value, mask) = self.value_and_mask(width).ok_or(wrong_kind)?;
                Ok(KeyMatch::Ternary { value, mask })
            }
            MatchKind::Range => {
                let (lo, hi) = self.bounds(width).ok_or(wrong_kind)?;
                if lo.cmp_unsigned(&hi).is_gt() {
                    return Err(KeyError::EmptyRange { field });
                }
                Ok(KeyMatch::Range { lo, hi })
            }
            MatchKind::Optional if self.is_dont_care(width) => Ok(KeyMatch::Optional(None)),
            MatchKind::Optional => self
                .single_value(width)
                .map(|value| KeyMatch::Optional(Some(value)))
                .ok_or(wrong_kind),
            MatchKind::Selector => Err(wrong_kind),
        }
    }

    /// Whether it is the canonical condition of an exact field.
    pub(crate) fn is_exactly(&self, spec: KeySpec) -> bool {
        matches!(self, KeyMatch::Exact(value) if spec.kind == MatchKind::Exact && value.width() == spec.width)
    }

    /// Whether a field with this value meets the condition.
    pub fn matches(&self, field: &Bits) -> bool {
        match self {
            KeyMatch::Exact(value) => field == value,
            KeyMatch::Lpm { value, prefix_len } => {
                let mask = prefix_mask(field.width(), *prefix_len);
                field.and(&mask) == value.and(&mask)
            }
            KeyMatch::Ternary { value, mask } => field.and(mask) == value.and(mask),
            KeyMatch::Range { lo, hi } => field.cmp_unsigned(lo).is_ge() && field.cmp_unsigned(hi).is_le(),
            KeyMatch::Optional(value) => value.as_ref().is_none_or(|value| field == value),
            KeyMatch::DontCare => true,
        }
    }

    fn check_widths(&self, field: usize, expected: u32) -> Result<(), KeyError> {
        let values: [Option<&Bits>; 2] = match self {
            KeyMatch::Exact(value) => [Some(value), None],
            KeyMatch::Lpm { value, prefix_len } => {
                if *prefix_len > expected {
                    return Err(KeyError::PrefixTooLong {
                        field,
                        width: expected,
                        prefix_len: *prefix_len,
                    });
                }
                [Some(value), None]
            }
            KeyMatch::Ternary { value, mask } => [Some(value), Some(mask)],
            KeyMatch::Range { lo, hi } => [Some(lo), Some(hi)],
            KeyMatch::Optional(value) => [value.as_ref(), None],
            KeyMatch::DontCare => [None, None],
        };
        match values.into_iter().flatten().find(|v| v.width() != expected) {
            Some(value) => Err(KeyError::Width {
                field,
                expected,
                found: value.width(),
            }),
            None => Ok(()),
        }
    }

    /// The equivalent value and mask, if there are any.
    fn value_and_mask(self, width: u32) -> Option<(Bits, Bits)> {
        let (value, mask) = match self {
            KeyMatch::Exact(value) | KeyMatch::Optional(Some(value)) => (value, Bits::ones(width)),
            KeyMatch::Lpm { value, prefix_len } => (value, prefix_mask(width, prefix_len)),
            KeyMatch::Ternary { value, mask } => (value, mask),
            KeyMatch::Range { lo, hi } if lo == hi => (lo, Bits::ones(width)),
            KeyMatch::Range { ref lo, ref hi } if is_full_range(lo, hi) => (Bits::zero(width), Bits::zero(width)),
            KeyMatch::Range { .. } => return None,
            KeyMatch::Optional(None) | KeyMatch::DontCare => (Bits::zero(width), Bits::zero(width)),
        };
        Some((value.and(&mask), mask))
    }

    /// The equivalent bounds, if there are any.
    fn bounds(self, width: u32) -> Option<(Bits, Bits)> {
        if let KeyMatch::Range { lo, hi } = self {
            return Some((lo, hi));
        }
        let (value, mask) = self.value_and_mask(width)?;
        // A prefix is a range: all its free bits from zeros to ones.
        prefix_length(&mask)?;
        let hi = value.or(&mask.not());
        Some((value, hi))
    }

    /// The only value that meets the condition, if there is only one.
    fn single_value(self, width: u32) -> Option<Bits> {
        let (value, mask) = self.value_and_mask(width)?;
        (mask == Bits::ones(width)).then_some(value)
    }

    fn is_dont_care(&self, width: u32) -> bool {
        match self {
            KeyMatch::Exact(_) | KeyMatch::Optional(Some(_)) => false,
            KeyMatch::Lpm { prefix_len, .. } => *prefix_len == 0,
            KeyMatch::Ternary { mask, .. } => width > 0 && mask.is_zero(),
            KeyMatch::Range { lo, hi } => width > 0 && is_full_range(lo, hi),
            KeyMatch::Optional(None) | KeyMatch::DontCare => true,
        }
    }
}

/// The mask with the first `prefix_len` of `width` bits set.
pub(crate) fn prefix_mask(width: u32, prefix_len: u32) -> Bits {
    Bits::ones(width).shl(u64::from(width - prefix_len))
}

/// The length of the prefix that `mask` selects, or `None` when its ones are not all leading.
fn prefix_length(mask: &Bits) -> Option<u32> {
    let ones = mask.limbs().map(u64::count_ones).sum();
    (*mask == prefix_mask(mask.width(), ones)).then_some(ones)
}

fn is_full_range(lo: &Bits, hi: &Bits) -> bool {
    lo.is_zero() && hi.not().is_zero()
}
