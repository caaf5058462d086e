//! Numbers as STF writes them, with `*` for digits that do not matter.

use num_bigint::BigUint;

/// Longest literal in digits: more than any field of a header can hold.
pub const MAX_DIGITS: usize = 4096;

/// A number, some digits of which may be wildcards.
///
/// How many digits are *written* matters: the reference runner compares a ternary field only in the bits that the
/// literal's digits cover, so `0x5` and `0x05` are different patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The value; wildcard digits are 0.
    pub value: BigUint,
    /// Bits of wildcard digits are 1.
    pub wildcards: BigUint,
    /// Bits that the digits cover; `None` for a decimal.
    pub written_bits: Option<u32>,
}

impl Literal {
    /// Reads `0x` with hexadecimal digits or `*`, `0b` with binary digits or `*`, or decimal digits.
    ///
    /// # Errors
    /// In words, what is wrong with the text.
    pub fn parse(text: &str) -> Result<Literal, String> {
        if text.len() > MAX_DIGITS {
            return Err(format!(
                "a number of {} characters is longer than {MAX_DIGITS}",
                text.len()
            ));
        }
        let lower = text.to_ascii_lowercase();
        if let Some(digits) = lower.strip_prefix("0x") {
            return Literal::parse_digits(digits, 4).ok_or_else(|| format!("`{text}` is no hexadecimal number"));
        }
        if let Some(digits) = lower.strip_prefix("0b") {
            return Literal::parse_digits(digits, 1).ok_or_else(|| format!("`{text}` is no binary number"));
        }
        if text.contains('*') {
            return Err(format!(
                "`{text}`: a `*` may stand only in a hexadecimal or binary number"
            ));
        }
        let value = text
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| BigUint::parse_bytes(text.as_bytes(), 10))
            .flatten();
        match value {
            Some(value) => Ok(Literal {
                value,
                wildcards: BigUint::ZERO,
                written_bits: None,
            }),
            None => Err(format!("`{text}` is no number")),
        }
    }

    fn parse_digits(digits: &str, bits_per_digit: u32) -> Option<Literal> {
        let radix = 1 << bits_per_digit;
        let every_digit = if bits_per_digit == 4 { "f" } else { "1" };
        let value = digits.replace('*', "0");
        let wildcards: String = digits
            .chars()
            .map(|c| if c == '*' { every_digit } else { "0" })
            .collect();
        if !value.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        Some(Literal {
            value: BigUint::parse_bytes(value.as_bytes(), radix)?,
            wildcards: BigUint::parse_bytes(wildcards.as_bytes(), radix)?,
            written_bits: Some(digits.len() as u32 * bits_per_digit),
        })
    }

    /// Whether a digit is a wildcard.
    pub fn has_wildcards(&self) -> bool {
        self.wildcards != BigUint::ZERO
    }

    /// Whether every digit is a wildcard.
    pub fn is_all_wildcards(&self) -> bool {
        self.written_bits
            .is_some_and(|written| self.wildcards.count_ones() == u64::from(written))
    }

    /// The value when it has no wildcards and fits.
    pub fn to_u64(&self) -> Option<u64> {
        if self.has_wildcards() {
            None
        } else {
            u64::try_from(&self.value).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radixes() {
        assert_eq!(Literal::parse("17").unwrap().to_u64(), Some(17));
        assert_eq!(Literal::parse("0x1F").unwrap().to_u64(), Some(31));
        assert_eq!(Literal::parse("0b101").unwrap().written_bits, Some(3));
    }

    #[test]
    fn wildcards() {
        let literal = Literal::parse("0x0202****").unwrap();
        assert_eq!(literal.value, BigUint::from(0x0202_0000u32));
        assert_eq!(literal.wildcards, BigUint::from(0xffffu32));
        assert_eq!(literal.to_u64(), None);
    }

    #[test]
    fn mistakes() {
        for text in ["", "0x", "0b", "0b2", "0xg", "1*", "0x-1", "+1", "0x_1"] {
            assert!(Literal::parse(text).is_err(), "{text}");
        }
        assert!(Literal::parse(&"9".repeat(MAX_DIGITS + 1)).is_err());
    }
}
