//! The addresses of the arrays of stateful objects, for generated code.
//!
//! On the fast path generated code reads and writes registers and counters itself. The number and size of an array's
//! elements, and which registers form a [bank](RegisterBanks), come from the program; the addresses come from
//! [`Arrays`], whose shapes are compared with the program's declarations when they are made.

use crate::register_groups::RegisterBanks;
use forebay_ir::{CounterId, Program, RegisterId, Table, TableId};
use forebay_tables::RegisterArray;
use std::sync::atomic::AtomicU64;

/// The addresses of the words of a program's registers and counters.
#[derive(Clone, Debug, Default)]
pub struct Arrays {
    /// By bank of registers.
    registers: Box<[u64]>,
    /// By [`CounterId`]; 0 where the runtime counts. Direct counters have an element for each slot of their tables.
    counters: Box<[u64]>,
    /// By [`TableId`]: a time for each slot; 0 for tables whose entries cannot be idle.
    hit_times: Box<[u64]>,
    shape: ArraysShape,
}

/// How many registers and counters a program has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArraysShape(u64);

impl ArraysShape {
    pub(crate) fn of(program: &Program) -> ArraysShape {
        ArraysShape((program.registers.len() as u64) << 32 | program.counters.len() as u64)
    }
}

/// Words of an element of a counter array: packets and bytes.
pub(crate) const COUNTER_WORDS: u64 = 2;

impl Arrays {
    /// The addresses of the arrays that the functions return: the array of a register, made together with those of its
    /// bank; the words of a counter in which no other thread counts at the same time, if there are any.
    ///
    /// # Safety
    ///
    /// The words stay where they are as long as packets take a [`crate::FastPath`] with these arrays.
    ///
    /// # Panics
    ///
    /// When an array does not have as many words as the program declares, or registers do not lie as [`RegisterBanks`]
    /// says.
    pub unsafe fn new<'a>(
        program: &Program,
        register: impl Fn(RegisterId) -> &'a RegisterArray,
        counter: impl Fn(CounterId) -> Option<&'a [AtomicU64]>,
        hit_times: impl Fn(TableId) -> Option<&'a [AtomicU64]>,
    ) -> Arrays {
        let banks = RegisterBanks::of(program);
        let registers = banks.iter().map(|bank| {
            let first = register(bank[0]);
            for id in bank {
                let (array, place) = (register(*id), banks.place(*id));
                let lies = (array.bank().as_ptr(), array.first_word(), array.stride_words());
                let should_lie = (first.bank().as_ptr(), place.first_word, place.stride_words);
                assert_eq!(lies, should_lie, "registers lie in their banks");
                let declared = &program.registers[id.index()];
                let shape = (array.width(), array.len() as u64);
                assert_eq!(shape, (declared.width, declared.size), "an array is as it was declared");
            }
            first.bank().as_ptr().expose_provenance() as u64
        });
        let counters = program.counters.iter().zip(0..).map(|(declared, id)| {
            let id = CounterId(id);
            let size = declared.size.unwrap_or_else(|| direct_size(program, id));
            counter(id).map_or(0, |array| address(array, size * COUNTER_WORDS))
        });
        let hit_times = program.tables.iter().zip(0..).map(|(declared, id)| {
            let times = hit_times(TableId(id));
            assert_eq!(
                times.is_some(),
                declared.supports_timeout,
                "times of hits are kept as declared"
            );
            times.map_or(0, |times| times.as_ptr().expose_provenance() as u64)
        });
        Arrays {
            registers: registers.collect(),
            counters: counters.collect(),
            hit_times: hit_times.collect(),
            shape: ArraysShape::of(program),
        }
    }

    pub(crate) fn registers(&self) -> *const u64 {
        self.registers.as_ptr()
    }

    pub(crate) fn counters(&self) -> *const u64 {
        self.counters.as_ptr()
    }

    pub(crate) fn hit_times(&self) -> *const u64 {
        self.hit_times.as_ptr()
    }

    /// Whether the arrays have the shape of a program.
    #[inline]
    pub(crate) fn are_of(&self, shape: ArraysShape) -> bool {
        self.shape == shape
    }
}

/// Elements of the direct counter of tables: one for each entry, and one for the default entry.
pub(crate) fn direct_size(program: &Program, counter: CounterId) -> u64 {
    let tables = program.tables.iter();
    let tables = tables.filter(|table| table.direct_counter == Some(counter));
    tables.map(|table| default_slot(table) + 1).max().unwrap_or(0)
}

/// The element of a table's direct objects that belongs to its default entry.
pub fn default_slot(table: &Table) -> u64 {
    // A table may have more constant entries than its declared size.
    table.size.max(table.entries.len() as u64)
}

fn address(array: &[AtomicU64], words: u64) -> u64 {
    assert_eq!(array.len() as u64, words, "an array is as long as it was declared");
    array.as_ptr().expose_provenance() as u64
}
