//! How keys and action data are laid out in words.
//!
//! Engines and machine code work with 64-bit words, not with [`Bits`]. A layout gives each field a [`Placement`].
//! Fields of up to 64 bits share words and never cross a word boundary, so each can be read with one shift and one
//! mask. A wider field has as many words as it needs for itself, the least significant first, so that it can be read
//! without a mask.
//!
//! ```text
//! a key of 32, 32, 8, 16 and 16 bits                 a record with the action data 48 and 9 bits
//!
//! word 0  │ field 1 (32)      │ field 0 (32)      │  │ data 1 (9) │ action │ slot (28) │
//! word 1  │ … │ field 4 (16) │ field 3 (16)  │ 2  │  │ …            │ data 0 (48)      │
//! ```
//!
//! Bits that belong to no field are 0.

use forebay_bits::Bits;

use crate::entry::EntryAction;
use crate::key::{KeySpec, MatchKind};
use crate::sync::{AtomicU64, Ordering};
use crate::table_spec::{Implementation, TableSpec};

/// The position of a field in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The word of the field's least significant bit.
    pub word: usize,
    /// The position of that bit in the word; 0 for fields wider than 64 bits.
    pub shift: u32,
    /// The bits of the field.
    pub width: u32,
}

impl Placement {
    /// Adds a value to words whose bits for the field are 0.
    #[inline]
    pub fn put(&self, words: &mut [u64], value: &Bits) {
        if self.width <= u64::BITS {
            words[self.word] |= value.to_u64() << self.shift;
        } else {
            for (word, limb) in words[self.word..].iter_mut().zip(value.limbs()) {
                *word |= limb;
            }
        }
    }

    /// Does the same with a value that is given as words, the least significant first.
    #[inline]
    pub fn put_words(&self, words: &mut [u64], value: &[u64]) {
        let mut left = self.width;
        for (word, limb) in words[self.word..].iter_mut().zip(value) {
            if left == 0 {
                break;
            }
            let bits = left.min(u64::BITS);
            *word |= (limb & (u64::MAX >> (u64::BITS - bits))) << self.shift;
            left -= bits;
        }
    }

    /// The field's words as numbers, the least significant first, from a function that returns the words.
    #[inline]
    pub fn limbs(&self, word: impl Fn(usize) -> u64) -> impl DoubleEndedIterator<Item = u64> {
        let (first, shift, width) = (self.word, self.shift, self.width);
        (0..width.div_ceil(u64::BITS)).map(move |index| {
            let bits = (width - index * u64::BITS).min(u64::BITS);
            (word(first + index as usize) >> shift) & (u64::MAX >> (u64::BITS - bits))
        })
    }

    /// The value of the field.
    pub fn get(&self, words: &[u64]) -> Bits {
        let limbs: Vec<u64> = self.limbs(|index| words[index]).collect();
        Bits::from_limbs(self.width, &limbs)
    }
}

/// Places fields one after another, each into the first word with room.
#[derive(Debug, Default)]
struct Packer {
    /// Bits taken in each word.
    taken: Vec<u32>,
}

impl Packer {
    fn place(&mut self, width: u32) -> Placement {
        if width > u64::BITS {
            return self.place_wide(width);
        }
        let room = self
            .taken
            .iter()
            .position(|taken| taken + width <= u64::BITS && *taken < u64::BITS);
        let word = room.unwrap_or_else(|| {
            self.taken.push(0);
            self.taken.len() - 1
        });
        let shift = self.taken[word];
        self.taken[word] += width;
        Placement { word, shift, width }
    }

    fn place_wide(&mut self, width: u32) -> Placement {
        let word = self.taken.len();
        self.taken.resize(word + width.div_ceil(u64::BITS) as usize, u64::BITS);
        Placement { word, shift: 0, width }
    }

    fn words(&self) -> usize {
        self.taken.len().max(1)
    }
}

/// The positions of the fields of a table's key.
#[derive(Clone, Debug)]
pub struct KeyLayout {
    places: Box<[Option<Placement>]>,
    words: usize,
}

impl KeyLayout {
    /// The layout of keys with these fields.
    pub fn new(keys: &[KeySpec]) -> KeyLayout {
        let mut packer = Packer::default();
        let places = keys
            .iter()
            .map(|key| (key.kind != MatchKind::Selector).then(|| packer.place(key.width)))
            .collect();
        KeyLayout {
            places,
            words: packer.words(),
        }
    }

    /// The layout of matched fields, followed by the fields that select a group's member.
    pub fn with_selectors(keys: &[KeySpec]) -> KeyLayout {
        let KeyLayout { mut places, words } = KeyLayout::new(keys);
        let mut packer = Packer {
            taken: vec![u64::BITS; words],
        };
        for (place, key) in places.iter_mut().zip(keys) {
            place.get_or_insert_with(|| packer.place(key.width));
        }
        KeyLayout {
            places,
            words: packer.words(),
        }
    }

    /// Words of a key; at least 1.
    pub fn words(&self) -> usize {
        self.words
    }

    /// By field of [`TableSpec::keys`]: its placement, or `None` for a selector, which is not matched.
    pub fn places(&self) -> &[Option<Placement>] {
        &self.places
    }

    /// The placements of the matched fields.
    pub(crate) fn matched(&self) -> impl Iterator<Item = Placement> {
        self.places.iter().copied().flatten()
    }

    /// The words of a key with one value per field, selectors included.
    pub fn pack(&self, key: &[Bits]) -> Key {
        let mut words = Key::from_elem(0, self.words);
        for (place, value) in self.places.iter().zip(key) {
            if let Some(place) = place {
                place.put(&mut words, value);
            }
        }
        words
    }
}

/// Bits of an entry's slot.
pub const SLOT_BITS: u32 = 28;

/// The slot in a default action's record, which belongs to no entry. The slots of entries are smaller, so one bit
/// distinguishes them.
pub const NO_SLOT: u32 = 1 << (SLOT_BITS - 1);

/// The words of a key. The keys of nearly all programs fit inline.
pub type Key = smallvec::SmallVec<[u64; 4]>;

/// The words of a record. Those of nearly all programs fit inline.
pub(crate) type RecordWords = smallvec::SmallVec<[u64; 6]>;

/// The position of an entry's action in a record.
///
/// The first word of a record has the entry's slot in its low [`SLOT_BITS`] bits. Then follow the action's index in
/// [`TableSpec::actions`] and its data. In tables with an action profile or selector there is instead a bit, which is
/// 0 for a member and 1 for a group, and the number of the member or group.
#[derive(Clone, Debug)]
pub struct RecordLayout {
    action: Placement,
    data: Box<[Box<[Placement]>]>,
    words: usize,
    memo: Option<usize>,
}

impl RecordLayout {
    pub(crate) fn new(spec: &TableSpec) -> RecordLayout {
        match spec.implementation {
            Implementation::Direct => {
                let widths = spec.actions.iter().map(|action| action.parameter_widths.as_slice());
                RecordLayout::of_actions(&widths.collect::<Vec<_>>(), spec.memo)
            }
            Implementation::Profile | Implementation::Selector => RecordLayout::of_actions(&[&[32], &[32]], false),
        }
    }

    /// The layout of records of a table without action profile. `variants` are the parameter widths of its actions, in
    /// the order of [`TableSpec::actions`]; `memo` says whether there is a [memo](TableSpec::memo).
    pub fn of_actions(variants: &[&[u32]], memo: bool) -> RecordLayout {
        let action_width = usize::BITS - variants.len().saturating_sub(1).leading_zeros();
        let action = Placement {
            word: 0,
            shift: SLOT_BITS,
            width: action_width.max(1),
        };
        let mut words = 1;
        let data = variants
            .iter()
            .map(|widths| {
                let mut packer = Packer {
                    taken: vec![action.shift + action.width],
                };
                let places = widths.iter().map(|&width| packer.place(width)).collect();
                words = words.max(packer.words());
                places
            })
            .collect();
        let memo = memo.then_some(words);
        RecordLayout {
            action,
            data,
            words: words + usize::from(memo.is_some()),
            memo,
        }
    }

    /// Writes a record: its slot, the index of its action, and the action's data.
    pub fn compose(&self, words: &mut [u64], slot: u32, action: usize, data: &[Bits]) {
        words.fill(0);
        words[0] = slot.into();
        self.put(words, action, data);
    }

    /// The word of the memo, see [`TableSpec::memo`].
    pub fn memo(&self) -> Option<usize> {
        self.memo
    }

    /// Words of a record; at least 1.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Words of a record that do not change while it exists; at least 1. They come first.
    pub fn words_without_memo(&self) -> usize {
        self.memo.unwrap_or(self.words)
    }

    /// The number of bits in use above the slot, if the record has a single word.
    pub(crate) fn bits_after_slot(&self) -> Option<u32> {
        let places = self.data.iter().flatten().chain([&self.action]);
        let end = places.map(|place| place.shift + place.width).max()?;
        (self.words == 1).then_some(end - SLOT_BITS)
    }

    /// Whether some bit of the first word is 0 in all records.
    pub fn first_word_has_room(&self) -> bool {
        let places = self.data.iter().flatten().chain([&self.action]);
        let in_first = places.filter(|place| place.word == 0);
        in_first.map(|place| place.shift + place.width).max() < Some(u64::BITS)
    }

    /// The number of actions.
    pub fn actions(&self) -> usize {
        self.data.len()
    }

    /// The placement of the action's index.
    pub fn action(&self) -> Placement {
        self.action
    }

    /// The action's index in a record.
    #[inline]
    pub fn action_of(&self, record: Record<'_>) -> usize {
        (record.word(self.action.word) >> self.action.shift) as usize & ((1 << self.action.width) - 1)
    }

    /// The placements of an action's data, by parameter.
    pub fn data(&self, action: usize) -> &[Placement] {
        &self.data[action]
    }

    /// The words of a record. The action must have been checked against the table.
    pub(crate) fn encode(&self, spec: &TableSpec, action: &EntryAction, slot: u32) -> RecordWords {
        let mut words = RecordWords::from_elem(0, self.words);
        words[0] = slot.into();
        let number = |number: u32| [Bits::new(32, number.into())];
        match action {
            EntryAction::Call(call) => {
                let index = spec.actions.iter().position(|action| action.id == call.action);
                self.put(&mut words, index.unwrap_or(0), &call.args);
            }
            EntryAction::Member(member) => self.put(&mut words, 0, &number(member.0)),
            EntryAction::Group(group) => self.put(&mut words, 1, &number(group.0)),
        }
        words
    }

    fn put(&self, words: &mut [u64], variant: usize, values: &[Bits]) {
        words[0] |= (variant as u64) << self.action.shift;
        for (place, value) in self.data[variant].iter().zip(values) {
            place.put(words, value);
        }
    }
}

/// The action of an entry, as machine code reads it: see [`RecordLayout`]. It does not change while its pin lives,
/// except that a record of one word may be replaced atomically by another.
#[derive(Clone, Copy, Debug)]
pub struct Record<'pin> {
    words: &'pin [AtomicU64],
}

impl<'pin> Record<'pin> {
    pub(crate) fn new(words: &'pin [AtomicU64]) -> Record<'pin> {
        Record { words }
    }

    /// A word of the record.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    /// The slot of the entry, see [`Entry::slot`](crate::Entry::slot).
    #[inline]
    pub fn slot(&self) -> u32 {
        self.word(0) as u32 & ((1 << SLOT_BITS) - 1)
    }

    /// A pointer to the first word, for machine code. It is valid while the pin lives, for as many words as
    /// [`RecordLayout::words`] says.
    #[inline]
    pub fn as_ptr(&self) -> *const u64 {
        self.words.as_ptr().cast()
    }
}
