//! The addresses of large arrays' elements in a [flow cache](crate::flows) slot: those that the flow's last packet
//! used.
//!
//! The addresses are hints: the elements are prefetched before the flow's next packet is executed. A packet that needs
//! another element has to wait for it, without any other effect.

use crate::arrays::{COUNTER_WORDS, default_slot, direct_size};
use crate::register_groups::RegisterBanks;
use forebay_ir::{CounterId, MeterId, Program, Table, TableId};
use forebay_tables::MeterArray;
use std::collections::BTreeMap;

/// The most words for addresses of elements in a slot.
const ELEMENT_WORDS_MAX: usize = 16;

/// Arrays of at most this size are assumed to be in near caches.
const NEAR_BYTES: u64 = 64 << 10;

/// An array that packets access by the entry that they hit or by an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArrayId {
    /// The registers of a bank.
    Bank(usize),
    /// A counter, indirect or direct.
    Counter(CounterId),
    /// The times at which a table's entries were hit.
    HitTimes(TableId),
    /// A meter, indirect or direct: the cache lines of an element, see [`forebay_tables::MeterArray::lines`].
    Meter(MeterId),
}

impl ArrayId {
    /// The arrays of a program, direct ones included, that are too large for near caches, as far as a slot has room for
    /// their elements.
    pub(crate) fn far(program: &Program, banks: &RegisterBanks) -> Vec<ArrayId> {
        let registers = (0..).zip(banks.iter()).map(|(number, bank)| {
            let place = banks.place(bank[0]);
            let size = program.registers[bank[0].index()].size;
            (
                ArrayId::Bank(number),
                size.saturating_mul(8 * place.stride_words as u64),
            )
        });
        let counters = (0..).zip(&program.counters).map(|(number, declared)| {
            let id = CounterId(number);
            let size = declared.size.unwrap_or_else(|| direct_size(program, id));
            (ArrayId::Counter(id), size.saturating_mul(8 * COUNTER_WORDS))
        });
        let hit_times = (0..).zip(&program.tables).filter(|(_, table)| table.supports_timeout);
        let hit_times = hit_times.map(|(number, table)| (ArrayId::HitTimes(TableId(number)), 8 * table.size));
        let meters = (0..).zip(&program.meters).map(|(number, declared)| {
            let id = MeterId(number);
            let size = declared.size.unwrap_or_else(|| direct_meter_size(program, id));
            (ArrayId::Meter(id), size.saturating_mul(MeterArray::ELEMENT_BYTES))
        });
        let all = registers.chain(hit_times).chain(meters).chain(counters);
        let far = all.filter(|(_, bytes)| *bytes > NEAR_BYTES).map(|(array, _)| array);
        let mut room = ELEMENT_WORDS_MAX;
        let has_room = |array: &ArrayId| {
            let is_enough = array.words() <= room;
            room -= if is_enough { array.words() } else { 0 };
            is_enough
        };
        far.filter(has_room).collect()
    }

    /// The number of words for addresses of an element in a slot.
    pub(crate) fn words(self) -> usize {
        if matches!(self, ArrayId::Meter(_)) { 2 } else { 1 }
    }
}

/// The number of elements of a direct meter.
fn direct_meter_size(program: &Program, meter: MeterId) -> u64 {
    let is_its = |table: &&Table| table.direct_meter.is_some_and(|direct| direct.meter == meter);
    let tables = program.tables.iter().filter(is_its);
    tables.map(|table| default_slot(table) + 1).max().unwrap_or(0)
}

/// By array: its first word in a slot. The arrays follow each other from `first` on.
pub(crate) fn element_words(arrays: &[ArrayId], first: usize) -> BTreeMap<ArrayId, usize> {
    let mut next = first;
    let place = |array: &ArrayId| {
        let word = next;
        next += array.words();
        (*array, word)
    };
    arrays.iter().map(place).collect()
}
