//! Ethernet and IPv4 headers in place.

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;

/// Bytes of an IPv4 header without options.
pub(crate) const IPV4: usize = 20;

/// EtherType of IPv4, as a number of two bytes in the order of the network.
const IPV4_ETHERTYPE: [u8; 2] = [0x08, 0x00];

/// The first bytes of a frame: an Ethernet and an IPv4 header.
pub(crate) type Ipv4Frame = [u8; ETHERNET + IPV4];

/// Destination and source MAC address, as they stand in a frame.
pub(crate) type MacPair = [u8; 12];

/// A MAC address in the low 48 bits.
#[inline(always)]
pub(crate) fn source_mac(ethernet: &[u8; ETHERNET]) -> u64 {
    big_endian_u64(ethernet, 6) >> 16
}

/// A MAC address in the low 48 bits.
#[inline(always)]
pub(crate) fn destination_mac(ethernet: &[u8; ETHERNET]) -> u64 {
    big_endian_u64(ethernet, 0) >> 16
}

#[inline(always)]
fn big_endian_u64(bytes: &[u8; ETHERNET], at: usize) -> u64 {
    u64::from_be_bytes(*bytes[at..].first_chunk().expect("both offsets leave eight bytes"))
}

/// Destination and source address in the order of the frame.
pub(crate) fn mac_pair(destination: u64, source: u64) -> MacPair {
    let mut pair = [0; 12];
    pair[..6].copy_from_slice(&destination.to_be_bytes()[2..]);
    pair[6..].copy_from_slice(&source.to_be_bytes()[2..]);
    pair
}

/// An IPv4 header after an Ethernet header.
pub(crate) trait Ipv4 {
    /// Whether the Ethernet header says that IPv4 follows.
    fn is_ipv4(&self) -> bool;
    /// The byte of version and header length.
    fn version_and_length(&self) -> u8;
    /// Time to live.
    fn time_to_live(&self) -> u8;
    /// Destination address.
    fn destination(&self) -> u32;
    /// The header checksum.
    fn checksum(&self) -> u16;
    /// Whether the checksum is that of the first 20 bytes.
    fn checksum_is_right(&self) -> bool;
    /// One less time to live, with a checksum that was right before and is afterwards.
    fn decrement_time_to_live(&mut self);
    /// Sets the checksum.
    fn set_checksum(&mut self, checksum: u16);
}

impl Ipv4 for Ipv4Frame {
    #[inline(always)]
    fn is_ipv4(&self) -> bool {
        [self[12], self[13]] == IPV4_ETHERTYPE
    }

    #[inline(always)]
    fn version_and_length(&self) -> u8 {
        self[14]
    }

    #[inline(always)]
    fn time_to_live(&self) -> u8 {
        self[22]
    }

    #[inline(always)]
    fn destination(&self) -> u32 {
        u32::from_be_bytes([self[30], self[31], self[32], self[33]])
    }

    #[inline(always)]
    fn checksum(&self) -> u16 {
        u16::from_be_bytes([self[24], self[25]])
    }

    #[inline(always)]
    fn checksum_is_right(&self) -> bool {
        // The sum over a right header, checksum included, is all ones; so it is with the other zero of ones'
        // complement, 0xffff, in place of the checksum 0, which no header has.
        fold(sum_of_ipv4(self)) == 0xffff && self.checksum() != 0xffff
    }

    #[inline(always)]
    fn decrement_time_to_live(&mut self) {
        self[22] = self[22].wrapping_sub(1);
        // RFC 1624 §3: the word with the time to live has become smaller by 0x0100.
        let (sum, carry) = self.checksum().overflowing_add(0x0100);
        let checksum = sum + u16::from(carry);
        self.set_checksum(if checksum == 0xffff { 0 } else { checksum });
    }

    #[inline(always)]
    fn set_checksum(&mut self, checksum: u16) {
        [self[24], self[25]] = checksum.to_be_bytes();
    }
}

/// The ones' complement sum of the 20 bytes of an IPv4 header, as the machine reads words: whether it folds to all ones
/// does not depend on that.
#[inline(always)]
pub(crate) fn sum_of_ipv4(frame: &Ipv4Frame) -> u64 {
    let word = |at: usize| {
        u64::from(u32::from_ne_bytes(
            *frame[at..].first_chunk().expect("at is at most 30"),
        ))
    };
    word(14) + word(18) + word(22) + word(26) + word(30)
}

/// A sum of words folded to 16 bits.
#[inline(always)]
pub(crate) fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_packet::SplitMix64;
    use forebay_packet::checksum::internet_checksum;

    fn random_frame(random: &mut SplitMix64) -> Ipv4Frame {
        let mut frame = [0; 34];
        frame.iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
        frame[14] = 0x45;
        frame[24..26].fill(0);
        let checksum = internet_checksum(&frame[14..]);
        frame.set_checksum(checksum);
        frame
    }

    #[test]
    fn checksums_are_verified_and_updated() {
        let mut random = SplitMix64::new(3);
        for _ in 0..100_000 {
            let mut frame = random_frame(&mut random);
            assert!(frame.checksum_is_right());
            frame[22] |= 2;
            let before = frame;
            frame[24..26].fill(0);
            let right = internet_checksum(&frame[14..]);
            frame.set_checksum(right);
            frame.decrement_time_to_live();
            assert!(frame.checksum_is_right(), "{before:?}");
            let changed = frame.checksum();
            frame[24..26].fill(0);
            assert_eq!(changed, internet_checksum(&frame[14..]));
            frame.set_checksum(changed ^ 0x0200);
            assert!(!frame.checksum_is_right());
        }
    }

    #[test]
    fn the_other_zero_is_no_checksum() {
        let mut random = SplitMix64::new(3);
        let mut zeros = 0;
        for _ in 0..1_000_000 {
            let mut frame = random_frame(&mut random);
            if frame.checksum() == 0 {
                frame.set_checksum(0xffff);
                assert!(!frame.checksum_is_right());
                zeros += 1;
            }
        }
        assert!(zeros > 0);
    }
}
