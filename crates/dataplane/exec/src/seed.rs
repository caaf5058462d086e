//! Seeds for the random numbers of packets.

/// The generator's initial state for one pass of a packet. It is a function of the switch's seed, the packet, the gress
/// and the pass, so random numbers depend neither on the order in which packets are executed nor on the executor.
///
/// Numbers are drawn by SplitMix64, which mixes its state, so seeds need only be distinct. The constants below have no
/// small multiple in common with SplitMix64's increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// Difference between the seeds of consecutive packets.
    pub const PACKET: u64 = 0xD1B5_4A32_D192_ED03;

    /// Added for egress.
    pub const EGRESS: u64 = 0xA24B_AED4_963E_E407;

    /// Factor of the port, in egress.
    pub const PORT: u64 = 0x9FB2_1C65_1E98_DF25;

    /// Factor of the copy's instance number, in egress.
    pub const INSTANCE: u64 = 0xE703_7ED1_A0B4_28DB;

    /// Factor of the number of a further pass or of a clone.
    const PASS: u64 = 0x8EBC_6AF0_9C88_C6E3;

    /// For ingress of a packet that has just arrived: the switch's seed, and the packet's number.
    pub fn of_packet(switch: u64, packet: u64) -> Seed {
        Seed(switch.wrapping_add(packet.wrapping_mul(Self::PACKET)))
    }

    /// For egress of the packet at this port, or of its copy with this instance number.
    #[must_use]
    pub fn in_egress(self, port: u32, instance: u16) -> Seed {
        let place = u64::from(port).wrapping_mul(Self::PORT);
        let copy = u64::from(instance).wrapping_mul(Self::INSTANCE);
        Seed(self.0.wrapping_add(Self::EGRESS).wrapping_add(place).wrapping_add(copy))
    }

    /// For a further pass or a clone with this number; 0 leaves the seed as it is.
    #[must_use]
    pub fn again(self, number: u64) -> Seed {
        Seed(self.0.wrapping_add(number.wrapping_mul(Self::PASS)))
    }

    /// The state of the generator.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn passes_of_packets_have_seeds_of_their_own() {
        let mut all = BTreeSet::new();
        for packet in 0..50 {
            let seed = Seed::of_packet(7, packet);
            for pass in 0..3 {
                all.insert(seed.again(pass).value());
                for port in 0..4 {
                    for instance in 0..3 {
                        all.insert(seed.again(pass).in_egress(port, instance).value());
                    }
                }
            }
        }
        assert_eq!(all.len(), 50 * 3 * 13);
    }
}
