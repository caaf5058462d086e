//! The Internet checksum: ones' complement sums of 16-bit words (RFC 1071), computed at once or
//! word by word (`InternetChecksum` of PSA, RFC 1624).

/// The Internet checksum of `data`, in network order; an odd last byte is followed by a zero.
///
/// A receiver that sums data together with its checksum gets 0.
///
/// ```
/// let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
/// assert_eq!(forebay_tables::checksum::internet_checksum(&data), !0xddf2);
/// ```
pub fn internet_checksum(data: &[u8]) -> u16 {
    let mut checksum = InternetChecksum::new();
    checksum.add(data);
    checksum.get()
}

/// A checksum that data can be added to and removed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InternetChecksum {
    sum: u16,
}

impl InternetChecksum {
    /// The checksum of nothing.
    pub fn new() -> InternetChecksum {
        InternetChecksum::default()
    }

    /// Adds data, which begins on a 16-bit boundary; an odd last byte is followed by a zero.
    pub fn add(&mut self, data: &[u8]) {
        self.sum = add_words(self.sum, sum_of_words(data));
    }

    /// Removes data that was added before.
    pub fn subtract(&mut self, data: &[u8]) {
        self.sum = add_words(self.sum, !sum_of_words(data));
    }

    /// The checksum, as a header carries it: the complement of the sum.
    pub fn get(&self) -> u16 {
        !self.sum
    }

    /// The sum itself, for programs that keep it between packets.
    pub fn state(&self) -> u16 {
        self.sum
    }

    /// Continues from an earlier [`InternetChecksum::state`].
    pub fn set_state(&mut self, sum: u16) {
        self.sum = sum;
    }
}

fn sum_of_words(data: &[u8]) -> u16 {
    let (words, tail) = data.as_chunks::<2>();
    let whole: u64 = words.iter().map(|&word| u64::from(u16::from_be_bytes(word))).sum();
    let last = tail.first().map_or(0, |&byte| u64::from(byte) << 8);
    fold(whole + last)
}

/// Adds the carries back in until 16 bits are left.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    sum as u16
}

fn add_words(a: u16, b: u16) -> u16 {
    fold(u64::from(a) + u64::from(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_of_ipv4() {
        let mut header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00,
            0xc7,
        ];
        assert_eq!(internet_checksum(&header), 0xb861);
        header[10..12].copy_from_slice(&0xb861u16.to_be_bytes());
        assert_eq!(internet_checksum(&header), 0);
    }

    #[test]
    fn odd_lengths_and_nothing() {
        assert_eq!(internet_checksum(&[]), 0xFFFF);
        assert_eq!(internet_checksum(&[0x12]), !0x1200);
        assert_eq!(internet_checksum(&[0x12, 0x34, 0x56]), !(0x1234 + 0x5600));
    }

    #[test]
    fn replacing_a_word_is_computing_anew() {
        let mut checksum = InternetChecksum::new();
        checksum.add(&[0x12, 0x34, 0xAB, 0xCD]);
        checksum.subtract(&[0xAB, 0xCD]);
        checksum.add(&[0xFF, 0x01]);
        assert_eq!(checksum.get(), internet_checksum(&[0x12, 0x34, 0xFF, 0x01]));
        let mut resumed = InternetChecksum::new();
        resumed.set_state(checksum.state());
        assert_eq!(resumed, checksum);
    }
}
