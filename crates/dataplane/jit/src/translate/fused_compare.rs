//! Compares several fields of the packet with constants in one instruction.
//!
//! ```text
//!   flags & 1 == 0, frag_offset == 0, protocol == 17         bytes 6 to 9 of the header:
//!   | flags, frag_offset | ttl | protocol |                  (word & 3f ff 00 ff) == 00 00 00 11
//! ```

use super::value_locations::{Field, Home};
use super::{Translator, int_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Expr, KeySet};
use std::collections::BTreeMap;

/// The most bytes that are compared at once: longer constants cannot be immediates.
const TOGETHER_MAX: u32 = 4;

/// The bytes at an address that a comparison requires: which bits, and their values.
struct Wanted {
    address: Field,
    bytes: BTreeMap<u32, (u8, u8)>,
}

/// Bytes that are loaded at once.
#[derive(Debug, PartialEq, Eq)]
struct Window {
    first: u32,
    bytes: u32,
}

impl Translator<'_, '_, '_> {
    /// Whether keys in the packet match constants. `None` if some keys are not in the packet, or if there is no gain.
    pub(super) fn case_in_packet(&mut self, keys: &[Expr], keysets: &[KeySet]) -> Option<ir::Value> {
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut compared = 0;
        for (key, keyset) in keys.iter().zip(keysets) {
            let (value, mask) = match keyset {
                KeySet::Any => continue,
                KeySet::Exact(value) => (value.clone(), Bits::ones(value.width())),
                KeySet::Mask { value, mask } => (value.and(mask), mask.clone()),
                _ => return None,
            };
            let (field, key_mask) = self.masked_field(key)?;
            // The key never has these bits, so it does not match.
            if value.and(&key_mask) != value {
                return None;
            }
            want(&mut wanted, &field, &value, &mask.and(&key_mask))?;
            compared += 1;
        }
        let windows: Vec<(Wanted, Vec<Window>)> = wanted
            .into_iter()
            .map(|wanted| {
                let windows = windows(wanted.bytes.keys().copied(), wanted.address.bytes);
                (wanted, windows)
            })
            .collect();
        if windows.iter().map(|(_, windows)| windows.len()).sum::<usize>() >= compared {
            return None;
        }
        let mut all = None;
        for (wanted, windows) in windows {
            let address = self.address_of_field(&wanted.address);
            for window in windows {
                let one = self.window_matches(address, &wanted, window);
                all = Some(match all {
                    Some(all) => self.ins().band(all, one),
                    None => one,
                });
            }
        }
        all
    }

    fn window_matches(&mut self, address: ir::Value, wanted: &Wanted, window: Window) -> ir::Value {
        let (mut value, mut mask) = ([0; 8], [0; 8]);
        for (index, byte) in (window.first..window.first + window.bytes).enumerate() {
            if let Some(bits) = wanted.bytes.get(&byte) {
                (mask[index], value[index]) = *bits;
            }
        }
        let kind = int_of(window.bytes);
        let number = |bytes| i64::from_le_bytes(bytes);
        let flags = self.packet_flags();
        let loaded = self.ins().load(kind, flags, address, window.first as i32);
        let masked = if mask.iter().take(window.bytes as usize).all(|byte| *byte == 0xFF) {
            loaded
        } else {
            let mask = self.ins().iconst(kind, number(mask));
            self.ins().band(loaded, mask)
        };
        let value = self.ins().iconst(kind, number(value));
        self.ins().icmp(IntCC::Equal, masked, value)
    }

    /// The field of the packet that a key reads, and the bits of it that are not masked out.
    fn masked_field(&self, key: &Expr) -> Option<(Field, Bits)> {
        match key {
            Expr::Slot(slot) => match self.homes.of(*slot) {
                Home::Packet(field) => Some((*field, Bits::ones(self.program.slot(*slot).width))),
                _ => None,
            },
            Expr::Binary(BinaryOp::And, operand, constant) => {
                let Expr::Const(mask) = &**constant else { return None };
                let (field, others) = self.masked_field(operand)?;
                Some((field, mask.and(&others)))
            }
            _ => None,
        }
    }
}

/// Requires bits of a field to have a value. `None` if they are already required to have another one.
fn want(wanted: &mut Vec<Wanted>, field: &Field, value: &Bits, mask: &Bits) -> Option<()> {
    let behind = |one: &Wanted| one.address.address == field.address && one.address.bytes == field.bytes;
    let index = wanted.iter().position(behind).unwrap_or(wanted.len());
    if index == wanted.len() {
        wanted.push(Wanted {
            address: *field,
            bytes: BTreeMap::new(),
        });
    }
    let bytes = &mut wanted[index].bytes;
    let width = value.width();
    for bit in (0..width).filter(|bit| mask.bit(width - 1 - bit)) {
        let place = field.first_bit + bit;
        let bit_mask = 0x80 >> (place % 8);
        let bit_value = if value.bit(width - 1 - bit) { bit_mask } else { 0 };
        let (mask, value) = bytes.entry(place / 8).or_default();
        if *mask & bit_mask != 0 && *value & bit_mask != bit_value {
            return None;
        }
        *mask |= bit_mask;
        *value |= bit_value;
    }
    Some(())
}

/// The windows by which these bytes, in order, can be loaded; `count` bytes are there.
fn windows(bytes: impl Iterator<Item = u32>, count: u32) -> Vec<Window> {
    let mut bytes = bytes.peekable();
    let mut windows = Vec::new();
    while let Some(first) = bytes.next() {
        let mut last = first;
        while let Some(byte) = bytes.next_if(|byte| byte - first < TOGETHER_MAX) {
            last = byte;
        }
        let size = (last - first + 1).next_power_of_two();
        match count.checked_sub(size) {
            Some(latest) => windows.push(Window {
                first: first.min(latest),
                bytes: size,
            }),
            None => windows.extend((first..=last).map(|first| Window { first, bytes: 1 })),
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_near_each_other_are_loaded_together() {
        let windows = |bytes: &[u32], count| {
            let windows = windows(bytes.iter().copied(), count);
            windows
                .iter()
                .map(|window| (window.first, window.bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(windows(&[0, 6, 7, 9], 20), [(0, 1), (6, 4)]);
        assert_eq!(windows(&[2, 3, 4, 5, 6], 20), [(2, 4), (6, 1)]);
        assert_eq!(windows(&[17, 18, 19], 20), [(16, 4)], "not after the end");
        assert_eq!(windows(&[0, 2], 3), [(0, 1), (1, 1), (2, 1)]);
    }
}
