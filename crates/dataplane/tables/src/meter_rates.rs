//! The rates with which meters are configured.

use std::fmt;

/// Tokens per second. P4Runtime has whole numbers; BMv2's Thrift interface and STF have fractions too.
///
/// A fraction is ignored where it makes no difference: in a rate above 9 · 10¹², or with a burst above 1.8 · 10¹³.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenRate {
    /// Whole tokens.
    pub per_second: u64,
    /// Millionths of a token, less than 1,000,000.
    pub millionths: u32,
}

impl TokenRate {
    /// The rate to the nearest millionth of a token. Negative numbers become 0.
    pub fn nearest(per_second: f64) -> TokenRate {
        let whole = per_second.trunc();
        let millionths = ((per_second - whole) * MILLIONTHS as f64).round().max(0.0) as u64;
        TokenRate {
            per_second: (whole as u64).saturating_add(millionths / MILLIONTHS),
            millionths: (millionths % MILLIONTHS) as u32,
        }
    }
}

impl fmt::Display for TokenRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.per_second)?;
        match self.millionths {
            0 => Ok(()),
            _ => formatter.write_str(format!(".{:06}", self.millionths).trim_end_matches('0')),
        }
    }
}

impl From<u64> for TokenRate {
    fn from(per_second: u64) -> TokenRate {
        TokenRate {
            per_second,
            millionths: 0,
        }
    }
}

/// Millionths in a token.
pub(crate) const MILLIONTHS: u64 = 1_000_000;

/// The rates of one element, in packets or bytes (P4Runtime `MeterConfig`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig {
    /// Committed information rate.
    pub committed_rate: TokenRate,
    /// Size of the committed bucket.
    pub committed_burst: u64,
    /// Peak information rate.
    pub peak_rate: TokenRate,
    /// Size of the peak bucket.
    pub peak_burst: u64,
}
