//! Look-ups for a burst of keys in several tables at once.
//!
//! A look-up in a table that is not in a cache waits for memory. Look-ups in several tables can wait together if their
//! keys are known at the same time: the memory for all look-ups of a packet is prefetched some time before its keys
//! are searched.
//!
//! ```text
//! prefetch    prefetch    prefetch    …                              the keys of some packets, table by table
//!                         find        find        find        …      the same keys a while later
//! ```
//!
//! This is possible for tables in which a look-up makes a single memory access, at an address that the key determines.
//! [`one_place`](crate::TableView::one_place) returns such tables.

use crate::arena::Records;
use crate::compact_tbl24::CompactCells;
use crate::engine::direct_key;
use crate::exact::Buckets;
use crate::layout::Record;
use crate::packed_exact_index::Cells;
use crate::simd::{Generic, Instructions, with_instructions};
use crate::sync::AHEAD;
use crate::view::FIND_MAX;
use std::marker::PhantomData;
use std::ops::Range;

/// The most tables in which keys are looked up at once.
pub const TOGETHER_MAX: usize = 4;

/// A table in which a look-up makes a single memory access, under a pin.
#[derive(Clone, Copy, Debug)]
pub struct OnePlace<'pin>(pub(crate) Place<'pin>);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'pin> {
    /// A cache line of words, each with a key and a record.
    Dense(&'pin Cells),
    /// A bucket.
    Bucket(&'pin Buckets),
    /// A compact cell. Few prefixes are so long that the search continues in another cell.
    Compact {
        cells: &'pin CompactCells,
        width: u32,
        contents: &'pin Records,
    },
}

/// The result of a look-up.
#[derive(Clone, Copy, Debug)]
pub enum Found<'pin> {
    /// No entry.
    Nothing,
    /// An entry whose record is this word, without the slot.
    Word(u64),
    /// An entry with this record. If slots are not needed, the record's slot may be another entry's.
    Record(Record<'pin>),
}

/// A look-up of many keys in a table of [`find_together`].
pub trait LookUp<'pin>: Copy {
    /// The table.
    fn place(&self) -> OnePlace<'pin>;

    /// The words of the key with this index.
    fn key(&self, index: usize) -> &[u64];

    /// Takes the result for the key with this index.
    fn take(&self, index: usize, found: Found<'pin>);
}

/// The number of keys by which [`find_together`] prefetches ahead of its search, for this number of tables. It is a
/// multiple of a small chunk.
pub fn ahead(tables: usize) -> usize {
    (AHEAD / tables.max(1)).next_multiple_of(CHUNK)
}

/// Keys that are prefetched in one table before the next table's turn.
const CHUNK: usize = 4;

/// By key: what is kept between the prefetch of its memory and the search.
type Asked = [u64; FIND_MAX];

/// Prefetches the memory of keys that [`find_together`] will look up. It is useful for the first [`ahead`] keys, if
/// there is other work to do before the look-ups.
pub fn prefetch_together<'pin, L: LookUp<'pin>>(look_ups: &[L], count: usize) {
    for look_up in look_ups {
        prefetch_keys(*look_up, 0..count, &mut [0; FIND_MAX]);
    }
}

/// Looks up the keys 0 to `count - 1` in some tables.
///
/// # Panics
///
/// If there are more than [`TOGETHER_MAX`] tables, or more than [`FIND_MAX`] keys.
#[inline]
pub fn find_together<'pin, L: LookUp<'pin>>(look_ups: &[L], count: usize) {
    assert!(look_ups.len() <= TOGETHER_MAX, "{} look-ups together", look_ups.len());
    assert!(count <= FIND_MAX, "{count} keys are looked up at once");
    if !look_ups.is_empty() {
        with_instructions(Together {
            look_ups,
            count,
            pin: PhantomData,
        });
    }
}

struct Together<'pin, 'a, L> {
    look_ups: &'a [L],
    count: usize,
    pin: PhantomData<&'pin ()>,
}

impl<'pin, L: LookUp<'pin>> Generic for Together<'pin, '_, L> {
    #[inline(always)]
    fn execute<I: Instructions>(self) {
        let count = self.count;
        let mut asked: [Asked; TOGETHER_MAX] = [[0; FIND_MAX]; TOGETHER_MAX];
        let ahead = ahead(self.look_ups.len());
        let chunk = |first: usize| first.min(count)..(first + CHUNK).min(count);
        for present in (0..count + ahead).step_by(CHUNK) {
            for (look_up, asked) in self.look_ups.iter().zip(&mut asked) {
                prefetch_keys(*look_up, chunk(present), asked);
            }
            if let Some(first) = present.checked_sub(ahead) {
                for (look_up, asked) in self.look_ups.iter().zip(&asked) {
                    find::<I, L>(*look_up, chunk(first), asked);
                }
            }
        }
    }
}

#[inline(always)]
fn prefetch_keys<'pin, L: LookUp<'pin>>(look_up: L, keys: Range<usize>, asked: &mut Asked) {
    match look_up.place().0 {
        Place::Dense(cells) => {
            let cells = cells.read();
            keys.for_each(|index| asked[index] = cells.prefetch_key(look_up.key(index)[0]));
        }
        Place::Bucket(buckets) => keys.for_each(|index| asked[index] = buckets.prefetch_key(look_up.key(index))),
        Place::Compact { cells, width, .. } => keys.for_each(|index| {
            let key = direct_key(look_up.key(index), width);
            cells.prefetch_key(key);
            asked[index] = key.into();
        }),
    }
}

#[inline(always)]
fn find<'pin, I: Instructions, L: LookUp<'pin>>(look_up: L, keys: Range<usize>, asked: &Asked) {
    match look_up.place().0 {
        Place::Dense(cells) => {
            let cells = cells.read();
            keys.for_each(|index| {
                let word = cells.find::<I>(look_up.key(index)[0], asked[index]);
                look_up.take(index, word.map_or(Found::Nothing, Found::Word));
            });
        }
        Place::Bucket(buckets) => keys.for_each(|index| {
            let record = buckets.get(look_up.key(index), asked[index]);
            look_up.take(
                index,
                record.map_or(Found::Nothing, |record| Found::Record(Record::new(record))),
            );
        }),
        Place::Compact { cells, contents, .. } => keys.for_each(|index| {
            let content = cells.find(asked[index] as u32);
            let record = content.map(|content| Record::new(contents.row(content)));
            look_up.take(index, record.map_or(Found::Nothing, Found::Record));
        }),
    }
}
