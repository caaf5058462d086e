//! The fast path: values that are concatenations of fields of the packet.
//!
//! ```text
//!   flow = src_addr ++ dst_addr ++ src_port ++ dst_port ++ tos
//!
//!   in the packet:   | .. | src_addr | dst_addr | src_port | dst_port | ..      two runs, and tos: three loads
//! ```

use super::Translator;
use super::value::Value;
use super::value_locations::Field;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{Expr, Op, SlotId};

/// Wider values are not put together in registers.
const WIDTH_MAX: u32 = 128;

impl Translator<'_, '_, '_> {
    /// A concatenation of unchanged fields. `None` if loading adjacent fields together gains nothing.
    pub(super) fn composed_in_packet(&mut self, expr: &Expr) -> Option<Value> {
        let slots = self.composition(expr)?;
        let runs = self.runs(&slots).filter(|runs| runs.len() < slots.len())?;
        let width: u32 = runs.iter().map(|(_, bits)| bits).sum();
        if width > WIDTH_MAX {
            return None;
        }
        let mut limbs = [None; WIDTH_MAX.div_ceil(u64::BITS) as usize];
        let mut behind = width;
        for (field, bits) in runs {
            let address = self.address_of_field(&field);
            let mut done = 0;
            while done < bits {
                let part = (bits - done).min(u64::BITS);
                let word = self.load_bits(address, field.bytes, field.first_bit + done, part);
                done += part;
                behind -= part;
                self.put(&mut limbs, word, part, behind);
            }
        }
        let zero = self.number(0);
        let words = limbs.map(|limb| limb.unwrap_or(zero)).to_vec();
        Some(self.value_of_words(width, words))
    }

    /// Adds a part of `bits` bits, which is followed by `behind` bits.
    fn put(&mut self, limbs: &mut [Option<ir::Value>], part: ir::Value, bits: u32, behind: u32) {
        let (limb, shift) = ((behind / u64::BITS) as usize, behind % u64::BITS);
        let low = self.shifted_left(part, shift);
        let high = (shift + bits > u64::BITS).then(|| self.shifted_right(part, u64::BITS - shift));
        for (limb, word) in limbs[limb..].iter_mut().zip([Some(low), high]) {
            *limb = match (*limb, word) {
                (Some(others), Some(word)) => Some(self.ins().bor(others, word)),
                (others, word) => others.or(word),
            };
        }
    }

    /// The fields of which a value is the concatenation, if it is one.
    pub(super) fn composition(&self, expr: &Expr) -> Option<Vec<SlotId>> {
        match expr {
            Expr::Slot(slot) => Some(self.compositions.get(slot).cloned().unwrap_or_else(|| vec![*slot])),
            Expr::Concat(high, low) => {
                let mut slots = self.composition(high)?;
                slots.extend(self.composition(low)?);
                Some(slots)
            }
            _ => None,
        }
    }

    /// Records of which fields a slot is the concatenation, until the slot is written again or the block ends.
    pub(super) fn note_composition(&mut self, op: &Op) {
        if self.path().is_none() {
            return;
        }
        let composed = match op {
            Op::Assign { slot, value } => self.composition(value).map(|slots| (*slot, slots)),
            _ => None,
        };
        for slot in op.slots_written(self.program) {
            self.compositions.remove(&slot);
        }
        let composed = composed.filter(|(_, slots)| slots.iter().all(|slot| self.unchanged(*slot).is_some()));
        self.compositions.extend(composed);
    }

    /// The runs of adjacent fields in the packet, each with its first field and its bits. `None` if some fields have
    /// been changed.
    pub(super) fn runs(&self, slots: &[SlotId]) -> Option<Vec<(Field, u32)>> {
        let mut runs: Vec<(Field, u32)> = Vec::new();
        for slot in slots {
            let (field, width) = (self.unchanged(*slot)?, self.program.slot(*slot).width);
            match runs.last_mut() {
                Some((first, bits)) if first.is_followed_by(*bits, &field) => *bits += width,
                _ => runs.push((field, width)),
            }
        }
        Some(runs)
    }
}
