//! Look-ups of a burst in several tables at once.
//!
//! A look-up in a table that is in no cache waits for the memory. Those of several tables whose keys are known at the same time
//! wait together: a while before a key is searched, the memory for all look-ups of its packet is asked for.
//!
//! ```text
//! ask         ask         ask         …                              keys of a packet in all tables
//!                         find        find        find        …      a while later
//! ```
//!
//! That is of use for tables in which a look-up reads one place, whose address says the key: [`TableView::one_place`] gives those.

use crate::dense::Cells;
use crate::engine::direct_key;
use crate::exact::Buckets;
use crate::layout::Record;
use crate::processor::{Generic, Instructions, with_instructions};
use crate::rows::Records;
use crate::short_cells::ShortCells;
use crate::sync::AHEAD;
use crate::view::FIND_MAX;

/// Tables in which keys are looked up at once, at most.
pub const TOGETHER_MAX: usize = 4;

/// A table in which a look-up reads one place of memory, as it is under a pin.
#[derive(Clone, Copy, Debug)]
pub struct OnePlace<'pin>(pub(crate) Place<'pin>);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'pin> {
    /// A line of keys and records in a word each.
    Dense(&'pin Cells),
    /// A bucket.
    Bucket(&'pin Buckets),
    /// A short cell; few prefixes are so long that there is another one behind it.
    Short {
        cells: &'pin ShortCells,
        width: u32,
        contents: &'pin Records,
    },
}

/// What a look-up found.
#[derive(Clone, Copy, Debug)]
pub enum Found<'pin> {
    /// No entry.
    Nothing,
    /// An entry whose record is this word, but for the slot.
    Word(u64),
    /// An entry with this record, or one that is the same but for the slot, if slots are not needed.
    Record(Record<'pin>),
}

impl<'pin> Place<'pin> {
    /// Asks for the memory; what [`Place::find`] wants to know.
    #[inline(always)]
    fn ask(&self, key: &[u64]) -> u64 {
        match self {
            Place::Dense(cells) => cells.ask(key[0]),
            Place::Bucket(buckets) => buckets.ask(key),
            Place::Short { cells, width, .. } => {
                let key = direct_key(key, *width);
                cells.ask(key);
                key.into()
            }
        }
    }

    #[inline(always)]
    fn find<I: Instructions>(&self, key: &[u64], asked: u64) -> Found<'pin> {
        match self {
            Place::Dense(cells) => cells.find::<I>(key[0], asked).map_or(Found::Nothing, Found::Word),
            Place::Bucket(buckets) => match buckets.get(key, asked) {
                Some(record) => Found::Record(Record::new(record)),
                None => Found::Nothing,
            },
            Place::Short { cells, contents, .. } => match cells.find(asked as u32) {
                Some(content) => Found::Record(Record::new(contents.row(content))),
                None => Found::Nothing,
            },
        }
    }
}

/// Looks `count` keys up in each of the tables, of which there are at most [`TOGETHER_MAX`]. `key` gives the words of the key with
/// a number in a table of the list, `found` is told what was found for it.
///
/// # Panics
///
/// When there are more tables, or more than [`FIND_MAX`] keys.
#[inline]
pub fn find_together<'pin, 'k>(
    tables: &[OnePlace<'pin>],
    count: usize,
    key: impl Fn(usize, usize) -> &'k [u64],
    found: impl FnMut(usize, usize, Found<'pin>),
) {
    assert!(count <= FIND_MAX, "{count} keys are looked up at once");
    match *tables {
        [] => {}
        [only] => with_instructions(LookUps {
            tables: [only],
            count,
            key,
            found,
        }),
        [first, second] => with_instructions(LookUps {
            tables: [first, second],
            count,
            key,
            found,
        }),
        [first, second, third] => with_instructions(LookUps {
            tables: [first, second, third],
            count,
            key,
            found,
        }),
        [first, second, third, fourth] => {
            with_instructions(LookUps {
                tables: [first, second, third, fourth],
                count,
                key,
                found,
            });
        }
        _ => panic!("keys are looked up in {} tables at once", tables.len()),
    }
}

/// See [`find_together`].
struct LookUps<'pin, const TABLES: usize, K, F> {
    tables: [OnePlace<'pin>; TABLES],
    count: usize,
    key: K,
    found: F,
}

impl<'pin, 'k, const TABLES: usize, K, F> Generic for LookUps<'pin, TABLES, K, F>
where
    K: Fn(usize, usize) -> &'k [u64],
    F: FnMut(usize, usize, Found<'pin>),
{
    #[inline(always)]
    fn execute<I: Instructions>(mut self) {
        let mut asked = [[0; TABLES]; FIND_MAX];
        let ahead = AHEAD / TABLES;
        for present in 0..self.count + ahead {
            if present < self.count {
                for (table, OnePlace(place)) in self.tables.iter().enumerate() {
                    asked[present][table] = place.ask((self.key)(table, present));
                }
            }
            if let Some(index) = present.checked_sub(ahead) {
                for (table, OnePlace(place)) in self.tables.iter().enumerate() {
                    let entry = place.find::<I>((self.key)(table, index), asked[index][table]);
                    (self.found)(table, index, entry);
                }
            }
        }
    }
}
