//! The Toeplitz hash of receive-side scaling (RSS).
//!
//! Each bit of the data that is 1 selects the 32 bits of a key that begin at the same position, and all selected words
//! are XORed. The key is the example of the RSS specification, which network cards and DPDK use by default. After its
//! 320 bits, it is repeated.

/// The example key of the specification of RSS.
const KEY: [u8; 40] = [
    0x6D, 0x5A, 0x56, 0xDA, 0x25, 0x5B, 0x0E, 0xC2, 0x41, 0x67, 0x25, 0x3D, 0x43, 0xA3, 0x8F, 0xB0, 0xD0, 0xCA, 0x2B,
    0xCB, 0xAE, 0x7B, 0x30, 0xB4, 0x77, 0xCB, 0x2D, 0xA3, 0x80, 0x30, 0xF2, 0x0C, 0x6A, 0x42, 0xB7, 0x3B, 0xBE, 0xAC,
    0x01, 0xFA,
];

/// The hash of the data.
pub fn toeplitz(data: &[u8]) -> u32 {
    let mut window = u32::from_be_bytes([KEY[0], KEY[1], KEY[2], KEY[3]]);
    let mut hash = 0;
    for (index, byte) in data.iter().enumerate() {
        let next = KEY[(index + 4) % KEY.len()];
        for bit in (0..8).rev() {
            if byte >> bit & 1 == 1 {
                hash ^= window;
            }
            window = window << 1 | u32::from(next >> bit & 1);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_specification() {
        let (source, destination) = ([66, 9, 149, 187], [161, 142, 100, 80]);
        let ports = [2794u16.to_be_bytes(), 1766u16.to_be_bytes()].concat();
        let addresses = [source, destination].concat();
        assert_eq!(toeplitz(&addresses), 0x323E_8FC2);
        assert_eq!(toeplitz(&[addresses, ports].concat()), 0x51CC_C178);
    }

    #[test]
    fn the_key_begins_again_behind_its_end() {
        let mut long = vec![0; 41];
        long[40] = 0x80;
        assert_eq!(toeplitz(&long), toeplitz(&[0x80]));
    }
}
