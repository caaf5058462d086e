//! Damages frames: cuts them off, or makes a length or a checksum wrong.

use crate::frames::FrameSet;
use forebay_packet::SplitMix64;
use forebay_packet::checksum::internet_checksum;
use std::fmt;

const IPV4: usize = 14;
const UDP: usize = 34;

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It ends too early.
    Truncated,
    /// A length in its IPv4 or UDP header is not that of the frame.
    LyingLength,
    /// A checksum does not fit what it covers.
    WrongChecksum,
}

impl Damage {
    /// Every kind.
    pub const ALL: [Damage; 3] = [Damage::Truncated, Damage::LyingLength, Damage::WrongChecksum];
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Damage::Truncated => "truncated",
            Damage::LyingLength => "lying length",
            Damage::WrongChecksum => "wrong checksum",
        })
    }
}

/// Traffic of which a part is malformed.
#[derive(Clone, Debug)]
pub struct MixedTraffic {
    /// The frames.
    pub frames: FrameSet,
    /// How many were damaged, for each of [`Damage::ALL`].
    pub damaged: [u64; Damage::ALL.len()],
}

/// `count` frames made of `frames` (UDP over IPv4 without options), which are repeated; a `share` of them, between 0
/// and 1, is damaged at random.
pub fn mixed(frames: &FrameSet, count: usize, share: f64, seed: u64) -> MixedTraffic {
    let mut random = SplitMix64::new(seed);
    let mut mixed = MixedTraffic {
        frames: FrameSet::default(),
        damaged: [0; Damage::ALL.len()],
    };
    for index in 0..count {
        let mut frame = frames.frame(index % frames.len()).to_vec();
        if random.chance(share) {
            let kind = (random.next_u64() % Damage::ALL.len() as u64) as usize;
            mixed.damaged[kind] += 1;
            damage(&mut frame, Damage::ALL[kind], &mut random);
        }
        mixed.frames.push(frames.flow(index % frames.len()), &frame);
    }
    mixed
}

/// Damages a frame. It does not become longer.
pub fn damage(frame: &mut Vec<u8>, kind: Damage, random: &mut SplitMix64) {
    if frame.is_empty() {
        return;
    }
    if kind == Damage::Truncated || frame.len() < UDP + 8 {
        return frame.truncate((random.next_u64() % frame.len() as u64) as usize);
    }
    let number = random.next_u64();
    let value = (number >> 16) as u16;
    match kind {
        Damage::LyingLength => lie(frame, number % 3, value),
        _ => spoil_checksum(frame, number % 3, value),
    }
}

/// Changes the total length, the header length or the length of UDP; the header checksum is right afterwards.
fn lie(frame: &mut [u8], which: u64, value: u16) {
    match which {
        0 => frame[IPV4 + 2..IPV4 + 4].copy_from_slice(&value.to_be_bytes()),
        1 => frame[IPV4] = (frame[IPV4] & 0xf0) | (value & 0x0f) as u8,
        _ => frame[UDP + 4..UDP + 6].copy_from_slice(&value.to_be_bytes()),
    }
    frame[IPV4 + 10..IPV4 + 12].fill(0);
    let checksum = internet_checksum(&frame[IPV4..UDP]);
    frame[IPV4 + 10..IPV4 + 12].copy_from_slice(&checksum.to_be_bytes());
}

/// Changes the header checksum, the checksum of UDP, or the last byte.
fn spoil_checksum(frame: &mut [u8], which: u64, value: u16) {
    let change = value | 1;
    let last = frame.len() - 1;
    match which {
        0 => frame[IPV4 + 11] ^= change as u8,
        1 => frame[UDP + 7] ^= change as u8,
        _ => frame[last] ^= change as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_traffic::{FrameSpec, inspect};

    #[test]
    fn every_kind_of_damage_is_seen_by_an_inspector() {
        let spec = FrameSpec::udp_ipv4(([10, 0, 0, 1].into(), 1), ([10, 0, 0, 2].into(), 2));
        let good = spec.build(&[1; 22]);
        let mut random = SplitMix64::new(9);
        for kind in Damage::ALL {
            let faulty = (0..1000).filter(|_| {
                let mut frame = good.clone();
                damage(&mut frame, kind, &mut random);
                assert!(frame.len() <= good.len());
                inspect(&frame).is_err()
            });
            // By chance a lie may be the truth.
            assert!(faulty.count() > 900, "{kind}");
        }
    }

    #[test]
    fn the_share_is_about_right() {
        let frames = FrameSet::of([&[0; 64][..]]);
        let mixed = mixed(&frames, 20_000, 0.01, 1);
        assert_eq!(mixed.frames.len(), 20_000);
        assert!((100..400).contains(&mixed.damaged.iter().sum::<u64>()));
    }
}
