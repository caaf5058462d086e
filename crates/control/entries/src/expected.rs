//! What an `expect` accepts, and how a difference is shown.
//!
//! The rules are those of p4c's `compare_pkt`: nibbles are compared in order, `*` accepts any, a packet that is shorter
//! than the pattern differs, one that is longer differs only when the pattern ends with `$`.

use std::fmt::Write;

/// Bytes on a line of a [`diff`](ExpectedPacket::diff).
const BYTES_PER_LINE: usize = 16;

/// The pattern of an `expect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedPacket {
    /// Four bits each; `None` accepts any.
    pub nibbles: Vec<Option<u8>>,
    /// Whether the packet must end where the pattern ends (`$`).
    pub exact_length: bool,
}

impl ExpectedPacket {
    /// Whether the packet is accepted.
    pub fn accepts(&self, packet: &[u8]) -> bool {
        let length = packet.len() * 2;
        let length_fits = length == self.nibbles.len() || (length > self.nibbles.len() && !self.exact_length);
        length_fits && (0..self.nibbles.len()).all(|index| self.nibble_fits(packet, index))
    }

    /// Expected and received bytes below each other with `^` under every nibble that differs, for a packet that is not
    /// [accepted](Self::accepts). Lines that agree in the middle of a long packet are left out.
    pub fn diff(&self, packet: &[u8]) -> String {
        let mut text = self.summary(packet);
        let bytes = self.nibbles.len().div_ceil(2).max(packet.len());
        let mut skipped = 0;
        for start in (0..bytes).step_by(BYTES_PER_LINE) {
            let end = (start + BYTES_PER_LINE).min(bytes);
            if (start * 2..end * 2).all(|index| !self.differs(packet, index)) {
                skipped += end - start;
                continue;
            }
            if skipped > 0 {
                let _ = writeln!(text, "       ({skipped} bytes agree)");
                skipped = 0;
            }
            self.diff_line(&mut text, packet, start, end);
        }
        if skipped > 0 {
            let _ = writeln!(text, "       ({skipped} bytes agree)");
        }
        text
    }

    fn summary(&self, packet: &[u8]) -> String {
        let expected = self.nibbles.len().div_ceil(2);
        let bound = if self.exact_length { "exactly" } else { "at least" };
        let wrong = (0..self.nibbles.len().min(packet.len() * 2))
            .filter(|&index| !self.nibble_fits(packet, index))
            .count();
        let length = if packet.len() < expected || (self.exact_length && packet.len() > expected) {
            format!("expected {bound} {expected} bytes, received {}", packet.len())
        } else {
            format!("{} bytes", packet.len())
        };
        if wrong == 0 {
            return format!("{length}\n");
        }
        format!("{length}; differing hexadecimal digits: {wrong}\n")
    }

    fn diff_line(&self, text: &mut String, packet: &[u8], start: usize, end: usize) {
        let expected = spaced(start, end, |index| match self.nibbles.get(index) {
            Some(Some(nibble)) => hex_digit(*nibble),
            Some(None) => '*',
            None if index == self.nibbles.len() && self.exact_length => '$',
            None => ' ',
        });
        let received = spaced(start, end, |index| nibble(packet, index).map_or(' ', hex_digit));
        let marks = spaced(start, end, |index| if self.differs(packet, index) { '^' } else { ' ' });
        let shown = |digits: &str| match digits.trim_end() {
            "" => "nothing more".to_string(),
            digits => digits.to_string(),
        };
        let _ = writeln!(text, "{start:5}: expected {}", shown(&expected));
        let _ = writeln!(text, "       received {}", shown(&received));
        if start < packet.len() && start < self.nibbles.len().div_ceil(2) {
            let _ = writeln!(text, "                {}", marks.trim_end());
        }
    }

    fn nibble_fits(&self, packet: &[u8], index: usize) -> bool {
        match self.nibbles[index] {
            None => nibble(packet, index).is_some(),
            Some(expected) => nibble(packet, index) == Some(expected),
        }
    }

    fn differs(&self, packet: &[u8], index: usize) -> bool {
        if index < self.nibbles.len() {
            return !self.nibble_fits(packet, index);
        }
        self.exact_length && index < packet.len() * 2
    }
}

/// The pattern as an STF file writes it.
impl std::fmt::Display for ExpectedPacket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for nibble in &self.nibbles {
            f.write_char(nibble.map_or('*', hex_digit))?;
        }
        if self.exact_length { f.write_char('$') } else { Ok(()) }
    }
}

/// The bytes as pairs of hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn nibble(packet: &[u8], index: usize) -> Option<u8> {
    packet
        .get(index / 2)
        .map(|byte| if index.is_multiple_of(2) { byte >> 4 } else { byte & 0xf })
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).expect("a nibble is less than 16")
}

fn spaced(start: usize, end: usize, digit: impl Fn(usize) -> char) -> String {
    let mut text = String::new();
    for byte in start..end {
        text.push(digit(byte * 2));
        text.push(digit(byte * 2 + 1));
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(text: &str) -> ExpectedPacket {
        let (digits, exact_length) = match text.strip_suffix('$') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        ExpectedPacket {
            nibbles: digits.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect(),
            exact_length,
        }
    }

    #[test]
    fn rules_of_compare_pkt() {
        assert!(expected("0102").accepts(&[1, 2]));
        assert!(
            expected("0102").accepts(&[1, 2, 3]),
            "more data is accepted without `$`"
        );
        assert!(!expected("0102$").accepts(&[1, 2, 3]));
        assert!(!expected("010203").accepts(&[1, 2]), "less data is not");
        assert!(expected("0***").accepts(&[1, 2]));
        assert!(!expected("0***").accepts(&[0x10, 2]));
        assert!(!expected("****").accepts(&[1]), "a wildcard wants a nibble");
        assert!(expected("012").accepts(&[1, 0x2f]), "half a byte");
        assert!(expected("").accepts(&[]));
    }

    #[test]
    fn a_diff_marks_the_nibbles() {
        let diff = expected("01020304$").diff(&[1, 2, 0x13, 4, 5]);
        assert_eq!(
            diff,
            "expected exactly 4 bytes, received 5; differing hexadecimal digits: 1\n    \
             0: expected 01 02 03 04 $\n       \
             received 01 02 13 04 05\n                      \
             ^     ^^\n"
        );
    }

    #[test]
    fn a_diff_says_where_a_packet_ends() {
        let diff = expected(&"01".repeat(18)).diff(&[]);
        assert_eq!(
            diff,
            "expected at least 18 bytes, received 0\n    \
             0: expected 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01\n       \
             received nothing more\n   \
             16: expected 01 01\n       \
             received nothing more\n"
        );
        let diff = expected("01$").diff(&[1; 17]);
        assert!(
            diff.ends_with("   16: expected nothing more\n       received 01\n"),
            "{diff}"
        );
    }

    #[test]
    fn a_diff_of_a_long_packet_is_short() {
        let mut packet = vec![0; 1500];
        let pattern = expected(&"00".repeat(1500));
        packet[1000] = 0xff;
        let diff = pattern.diff(&packet);
        assert_eq!(diff.lines().count(), 6, "{diff}");
    }
}
