//! How values are printed: `8w0x1f` as P4 writes a literal, or bare hexadecimal digits.

use std::fmt;

use crate::{Bits, Repr};

/// `8w0x1f`: the width and the value of an unsigned P4 literal.
impl fmt::Display for Bits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}w{self:#x}", self.width())
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The value without leading zeros; the usual flags `#` and `08` work.
impl fmt::LowerHex for Bits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Inline { value, .. } => fmt::LowerHex::fmt(value, formatter),
            Repr::Wide { .. } => fmt::LowerHex::fmt(&self.to_biguint(), formatter),
        }
    }
}
