//! The storage of one packet: the values of all slots.

use forebay_bits::Bits;
use forebay_ir::{Program, SlotId};

/// Values of all slots of a program for one packet.
///
/// Reset and copied for every packet without allocation, as long as no slot is wider than [`Bits`] keeps inline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    slots: Vec<Bits>,
}

impl State {
    /// All slots zero (P4_16 §8.25: invalid headers; uninitialised values are zero here).
    pub fn new(program: &Program) -> Self {
        State {
            slots: program.slots.iter().map(|slot| Bits::zero(slot.width)).collect(),
        }
    }

    /// The value of a slot.
    #[inline]
    pub fn get(&self, slot: SlotId) -> &Bits {
        &self.slots[slot.index()]
    }

    /// Changes a slot; `value` has the slot's width.
    #[inline]
    pub fn set(&mut self, slot: SlotId, value: Bits) {
        let place = &mut self.slots[slot.index()];
        debug_assert_eq!(
            place.width(),
            value.width(),
            "slot {} and its value differ in width",
            slot.0
        );
        *place = value;
    }

    /// Changes a slot to a number, of which the bits that fit count.
    #[inline]
    pub fn set_number(&mut self, slot: SlotId, value: u128) {
        let place = &mut self.slots[slot.index()];
        *place = Bits::new(place.width(), value);
    }

    /// Whether a slot is other than zero: the validity of a header, a condition.
    #[inline]
    pub fn is_set(&self, slot: SlotId) -> bool {
        !self.slots[slot.index()].is_zero()
    }

    /// Becomes equal to `other`, a state of the same program, in its own memory.
    pub fn copy_from(&mut self, other: &State) {
        self.slots.clone_from_slice(&other.slots);
    }
}
