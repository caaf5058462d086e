//! Compares several fields of the packet with constants in one instruction.
//!
//! ```text
//!   flags & 1 == 0, frag_offset == 0, protocol == 17         bytes 6 to 9 of the header:
//!   | flags, frag_offset | ttl | protocol |                  (word & 3f ff 00 ff) == 00 00 00 11
//!
//!   version == 4, ihl >= 5                                   byte 0 of the header:
//!   | version, ihl |                                         45 <= byte <= 4f
//! ```

use super::Translator;
use super::value_locations::{Field, Home};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Expr, KeySet, Program, SlotId};
use std::collections::BTreeMap;

/// The most bytes that are compared at once: longer constants cannot be immediates.
const TOGETHER_MAX: u32 = 4;

/// The bytes at an address that a comparison requires: which bits, and their values.
struct Wanted {
    address: Field,
    bytes: BTreeMap<u32, (u8, u8)>,
}

/// The most bits of two fields that are compared as one.
const RANGE_BITS_MAX: u32 = 32;

/// The range of numbers that a slot may have.
struct Within {
    slot: SlotId,
    least: u64,
    most: u64,
}

impl Within {
    /// The range that a comparison of a slot with a constant requires. `None` if the expression is not such a
    /// comparison.
    fn of(program: &Program, expr: &Expr) -> Option<Within> {
        let Expr::Binary(operator, left, right) = expr else {
            return None;
        };
        let (slot, constant, slot_is_left) = match (&**left, &**right) {
            (Expr::Slot(slot), Expr::Const(constant)) => (*slot, constant, true),
            (Expr::Const(constant), Expr::Slot(slot)) => (*slot, constant, false),
            _ => return None,
        };
        let width = program.slot(slot).width;
        if width == 0 || width >= RANGE_BITS_MAX {
            return None;
        }
        let (constant, largest) = (constant.to_u128() as u64, (1 << width) - 1);
        let (least, most) = match (operator, slot_is_left) {
            (BinaryOp::Eq, _) => (constant, constant),
            (BinaryOp::Le, true) => (0, constant),
            (BinaryOp::Le, false) => (constant, largest),
            (BinaryOp::Lt, true) => (0, constant.checked_sub(1)?),
            (BinaryOp::Lt, false) => (constant + 1, largest),
            _ => return None,
        };
        (least <= most).then_some(Within { slot, least, most })
    }
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
                    Some(all) => self.builder.ins().band(all, one),
                    None => one,
                });
            }
        }
        all
    }

    /// Whether a field of the packet is a constant and the next field is in a range. `None` if the expression does not
    /// ask for that.
    pub(super) fn range_in_packet(&mut self, expr: &Expr) -> Option<ir::Value> {
        let Expr::Binary(BinaryOp::And, one, other) = expr else {
            return None;
        };
        let one = Within::of(self.program, one)?;
        let other = Within::of(self.program, other)?;
        let [one, other] = [(&one, &other), (&other, &one)].map(|(high, low)| self.as_one_field(high, low));
        let (field, width, least, most) = one.or(other)?;
        let value = self.load_field(&field, width);
        let value = self.low_word(value);
        let above = self.builder.ins().iadd_imm_s(value, -(least as i64));
        let largest = (most - least) as i64;
        Some(
            self.builder
                .ins()
                .icmp_imm_u(IntCC::UnsignedLessThanOrEqual, above, largest),
        )
    }

    /// The two fields as one: the field, its width, and its least and largest number.
    fn as_one_field(&self, high: &Within, low: &Within) -> Option<(Field, u32, u64, u64)> {
        let (Home::Packet(first), Home::Packet(second)) = (self.homes.of(high.slot), self.homes.of(low.slot)) else {
            return None;
        };
        let [high_width, low_width] = [high.slot, low.slot].map(|slot| self.program.slot(slot).width);
        let is_one = high.least == high.most
            && high_width + low_width <= RANGE_BITS_MAX
            && first.is_followed_by(high_width, second);
        let number = |behind: u64| high.least << low_width | behind;
        is_one.then(|| (*first, high_width + low_width, number(low.least), number(low.most)))
    }

    fn window_matches(&mut self, address: ir::Value, wanted: &Wanted, window: Window) -> ir::Value {
        let (mut value, mut mask) = ([0; 8], [0; 8]);
        for (index, byte) in (window.first..window.first + window.bytes).enumerate() {
            if let Some(bits) = wanted.bytes.get(&byte) {
                (mask[index], value[index]) = *bits;
            }
        }
        let kind = match window.bytes {
            1 => types::I8,
            2 => types::I16,
            _ => types::I32,
        };
        let number = |bytes| i64::from_le_bytes(bytes);
        let flags = self.packet_flags();
        let loaded = self.builder.ins().load(kind, flags, address, window.first as i32);
        let masked = match mask.iter().take(window.bytes as usize).all(|byte| *byte == 0xFF) {
            true => loaded,
            false => {
                let mask = self.builder.ins().iconst(kind, number(mask));
                self.builder.ins().band(loaded, mask)
            }
        };
        let value = self.builder.ins().iconst(kind, number(value));
        self.builder.ins().icmp(IntCC::Equal, masked, value)
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
        assert_eq!(windows(&[17, 18, 19], 20), [(16, 4)], "not behind the end");
        assert_eq!(windows(&[0, 2], 3), [(0, 1), (1, 1), (2, 1)]);
    }
}
