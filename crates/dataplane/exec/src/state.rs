//! The storage of one packet: the values of all slots, in flat memory.
//!
//! Every slot has a fixed position in an array of 64-bit words. So compiled code finds it at a constant offset, and
//! all executors and the architecture share the same memory:
//!
//! ```text
//!           ┌─ slot 0: 9 bits ─┬─ slot 1: 1 bit ─┬────── slot 2: 100 bits ───────┬ ...
//!   words   │ 0…0 vvvvvvvvv    │ 0…0 v           │ least significant │ 0…0 vvv…v │
//!           └──────────────────┴─────────────────┴───────────────────┴───────────┴ ...
//! ```
//!
//! A slot of `w` bits takes `ceil(w / 64)` words, the least significant first. The bits above `w` are always zero:
//! code that writes a word of a slot must keep them zero.

use forebay_bits::Bits;
use forebay_ir::{Program, SlotId};
use std::sync::Arc;

/// The positions of a program's slots.
#[derive(Debug, PartialEq, Eq)]
pub struct StateLayout {
    places: Box<[Place]>,
    words: usize,
}

/// The position of a slot that is read and written, for every packet, as a number of at most 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberPlace {
    first: u32,
    words: u32,
    /// The bits of the first word that belong to the slot.
    mask: u64,
}

/// The words of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    first: u32,
    width: u32,
}

impl NumberPlace {
    /// Index of the first word of the slot, for [`State::is_word_set`].
    pub fn first_word(&self) -> u32 {
        self.first
    }
}

impl StateLayout {
    /// The layout for a program: slots in their order, without gaps.
    pub fn new(program: &Program) -> Self {
        let mut words = 0;
        let places = program.slots.iter().map(|slot| {
            let first = words;
            words += slot.width.div_ceil(64);
            Place {
                first,
                width: slot.width,
            }
        });
        let places = places.collect();
        StateLayout {
            places,
            words: words as usize,
        }
    }

    /// Index of the first word of a slot.
    #[inline]
    pub fn first_word(&self, slot: SlotId) -> usize {
        self.places[slot.index()].first as usize
    }

    /// The position of a slot's number.
    pub fn number_place(&self, slot: SlotId) -> NumberPlace {
        let Place { first, width } = self.places[slot.index()];
        NumberPlace {
            first,
            words: width.div_ceil(64),
            mask: if width < 64 { (1 << width) - 1 } else { u64::MAX },
        }
    }

    /// Number of words of all slots together.
    pub fn words(&self) -> usize {
        self.words
    }
}

/// Values of all slots of a program for one packet.
///
/// Reset and copied for every packet without allocation.
#[derive(Debug, PartialEq, Eq)]
pub struct State {
    layout: Arc<StateLayout>,
    words: Box<[u64]>,
}

impl Clone for State {
    fn clone(&self) -> State {
        State {
            layout: Arc::clone(&self.layout),
            words: self.words.clone(),
        }
    }

    /// Copies into the existing memory, if both are states of the same program.
    #[inline]
    fn clone_from(&mut self, other: &State) {
        if self.is_like(other) {
            self.words.copy_from_slice(&other.words);
        } else {
            *self = other.clone();
        }
    }
}

impl State {
    /// All slots zero (P4_16 §8.25: invalid headers; uninitialised values are zero here).
    pub fn new(program: &Program) -> Self {
        let layout = Arc::new(StateLayout::new(program));
        State {
            words: vec![0; layout.words].into(),
            layout,
        }
    }

    /// The value of a slot.
    #[inline]
    pub fn get(&self, slot: SlotId) -> Bits {
        let Place { first, width } = self.layout.places[slot.index()];
        let first = first as usize;
        match width {
            0 => Bits::zero(0),
            1..=64 => Bits::new(width, self.words[first].into()),
            _ => Bits::from_limbs(width, &self.words[first..first + width.div_ceil(64) as usize]),
        }
    }

    /// The low 64 bits of a slot.
    #[inline]
    pub fn get_u64(&self, slot: SlotId) -> u64 {
        let Place { first, width } = self.layout.places[slot.index()];
        if width == 0 { 0 } else { self.words[first as usize] }
    }

    /// Sets a slot; `value` must have the slot's width.
    #[inline]
    pub fn set(&mut self, slot: SlotId, value: Bits) {
        let Place { first, width } = self.layout.places[slot.index()];
        assert_eq!(width, value.width(), "slot {} and its value differ in width", slot.0);
        for (word, limb) in self.words[first as usize..].iter_mut().zip(value.limbs()) {
            *word = limb;
        }
    }

    /// Sets a slot to the low bits of a number, as many as it has.
    #[inline]
    pub fn set_number(&mut self, slot: SlotId, value: u128) {
        let Place { first, width } = self.layout.places[slot.index()];
        match width {
            1..=64 => self.words[first as usize] = value as u64 & (u64::MAX >> (64 - width)),
            _ => self.set(slot, Bits::new(width, value)),
        }
    }

    /// Sets a slot to the low bits of a number, as many as it has.
    #[inline]
    pub fn write_number(&mut self, place: NumberPlace, value: u64) {
        if place.words == 1 {
            self.words[place.first as usize] = value & place.mask;
        } else if let Some((first, above)) =
            self.words[place.first as usize..][..place.words as usize].split_first_mut()
        {
            *first = value;
            above.fill(0);
        }
    }

    /// Whether a slot of at most 64 bits, whose word has this index, is not zero.
    #[inline]
    pub fn is_word_set(&self, word: u32) -> bool {
        self.words[word as usize] != 0
    }

    /// The low 64 bits of a slot.
    #[inline]
    pub fn number(&self, place: NumberPlace) -> u64 {
        if place.words == 0 {
            0
        } else {
            self.words[place.first as usize]
        }
    }

    /// Whether a slot is not zero, for example the validity of a header, or a condition.
    #[inline]
    pub fn is_set(&self, slot: SlotId) -> bool {
        let Place { first, width } = self.layout.places[slot.index()];
        match width {
            0 => false,
            1..=64 => self.words[first as usize] != 0,
            _ => {
                let words = width.div_ceil(64) as usize;
                self.words[first as usize..][..words].iter().any(|&word| word != 0)
            }
        }
    }

    /// Whether both are states of the same program.
    #[inline]
    pub fn is_like(&self, other: &State) -> bool {
        Arc::ptr_eq(&self.layout, &other.layout)
    }

    /// The positions of all slots.
    pub fn layout(&self) -> &StateLayout {
        &self.layout
    }

    /// The words of all slots, for compiled code. The code must keep the bits above a slot's width zero.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_ir::{Architecture, Slot, SlotKind};

    #[test]
    fn slots_of_all_widths_keep_their_values() {
        let mut program = Program::new(Architecture::V1Model);
        let widths = [1, 64, 0, 65, 128, 129, 9];
        program.slots = widths
            .map(|width| Slot {
                name: format!("slot of {width}"),
                width,
                signed: false,
                kind: SlotKind::Metadata,
            })
            .to_vec();
        let mut state = State::new(&program);
        assert_eq!(state.layout().words(), 1 + 1 + 2 + 2 + 3 + 1);
        let slots = || (0..).map(SlotId).zip(widths);
        slots().for_each(|(slot, width)| state.set(slot, Bits::ones(width)));
        for (slot, width) in slots() {
            assert_eq!(state.get(slot), Bits::ones(width));
            assert_eq!(state.get_u64(slot), Bits::ones(width).to_u64());
            assert_eq!(state.is_set(slot), width > 0);
            let place = state.layout().number_place(slot);
            assert_eq!(state.number(place), Bits::ones(width).to_u64());
            state.write_number(place, 5);
            assert_eq!(state.get(slot), Bits::new(width, 5), "nothing is left of the old value");
            state.set_number(slot, 0);
            assert!(!state.is_set(slot));
        }
    }
}
