//! Source ports for flows that do not meet in the aggregating switch.
//!
//! The switch keeps a flow's batch in the slot that a CRC-32 of its addresses, ports and type of service names. Two
//! flows in one slot disturb nothing, but some of their messages then go alone, and which ones depends on timing. A
//! demonstration wants every message aggregated, so it takes ports whose slots differ.

use crate::topology::{DEVICES, SERVER, SERVER_PORT};
use std::collections::HashSet;

/// Slots of the aggregating switch: `FLOWS` of the program.
const SLOTS: u32 = 4096;

/// The first port that is considered.
const FIRST_PORT: u16 = 20_480;

/// The first of `flows` consecutive source ports whose slots are different.
///
/// # Panics
/// When there are none, which does not happen for up to [`crate::settings::MAX_FLOWS`] flows.
pub fn first_source_port(flows: u32) -> u16 {
    (FIRST_PORT..=u16::MAX - flows as u16)
        .step_by(64)
        .find(|&first| are_apart(first, flows))
        .expect("CRC-32 spreads consecutive ports")
}

fn are_apart(first: u16, flows: u32) -> bool {
    let mut slots = HashSet::new();
    (0..flows as u16).all(|flow| slots.insert(slot(first + flow)))
}

/// The slot of the flow from this source port.
fn slot(source_port: u16) -> u32 {
    let mut flow = Vec::with_capacity(13);
    flow.extend(DEVICES.octets());
    flow.extend(SERVER.octets());
    flow.extend(source_port.to_be_bytes());
    flow.extend(SERVER_PORT.to_be_bytes());
    flow.push(0); // type of service
    crc32(&flow) % SLOTS
}

/// CRC-32 of IEEE 802.3, as v1model's `HashAlgorithm.crc32`.
fn crc32(bytes: &[u8]) -> u32 {
    let register = bytes.iter().fold(u32::MAX, |register, byte| {
        (0..8).fold(register ^ u32::from(*byte), |register, _| {
            (register >> 1) ^ if register & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    });
    !register
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::MAX_FLOWS;

    #[test]
    fn the_crc_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn slots_differ() {
        for flows in [1, 10, 64, 100, 1000, MAX_FLOWS] {
            let first = first_source_port(flows);
            let slots: HashSet<u32> = (0..flows as u16).map(|flow| slot(first + flow)).collect();
            assert_eq!(slots.len(), flows as usize);
        }
    }
}
