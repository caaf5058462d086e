//! What an executor asks of the objects that outlive a packet.
//!
//! The interpreter knows no match engine and no lock: it calls this interface, which the pipeline implements over the
//! tables of `forebay-tables`. All methods take `&self`: the objects are shared by many packets, and an object that a
//! packet changes (register, counter, meter) synchronises inside.

use forebay_bits::Bits;
use forebay_ir::{CounterId, HashAlgorithm, MeterId, RegisterId, TableId, ValueSetId};

/// What is known of the packet that uses an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFacts {
    /// Its length in bytes as it was received: what counters and meters count.
    pub length_bytes: u32,
    /// Time of the pass, in microseconds.
    pub timestamp_us: u64,
}

/// The result of a table lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup<'a> {
    /// Whether an entry matched.
    pub hit: bool,
    /// Index into [`forebay_ir::Table::actions`] of the action to run with its data. `None` when the entry names an
    /// empty group of an action selector, and the table has no action for these: no action runs.
    pub action: Option<(u32, &'a [Bits])>,
    /// Colour of the direct meter, when the table has one and an entry matched.
    pub color: Option<u8>,
}

/// Tables and stateful objects of a loaded program.
pub trait Objects {
    /// Looks a key up (one value for each of [`forebay_ir::Table::keys`], selectors included), counts and meters the
    /// hit.
    fn lookup(&self, table: TableId, key: &[Bits], packet: PacketFacts) -> Lookup<'_>;

    /// Whether a value set has an element that matches all components.
    fn value_set_contains(&self, set: ValueSetId, components: &[Bits]) -> bool;

    /// An element of a register array; 0 outside the array.
    fn read_register(&self, register: RegisterId, index: u64) -> Bits;

    /// Changes an element of a register array; nothing outside the array.
    fn write_register(&self, register: RegisterId, index: u64, value: &Bits);

    /// The same as [`Objects::read_register`], for executors that have no use for a value: its words, the least significant
    /// first, as many as the register's width has.
    fn read_register_words(&self, register: RegisterId, index: u64, words: &mut [u64]) {
        let value = self.read_register(register, index);
        for (word, limb) in words.iter_mut().zip(value.limbs()) {
            *word = limb;
        }
    }

    /// The same as [`Objects::write_register`], with the words of a value of the register's width.
    fn write_register_words(&self, register: RegisterId, index: u64, width: u32, words: &[u64]) {
        self.write_register(register, index, &Bits::from_limbs(width, words));
    }

    /// Begins an atomic section: waits until no other packet is in one of the same lock and index. Ends the one before.
    fn enter_atomic(&self, lock: u32, index: u64);

    /// Ends the atomic section, if there is one.
    fn leave_atomic(&self);

    /// Counts the packet; nothing outside the array.
    fn count(&self, counter: CounterId, index: u64, packet: PacketFacts);

    /// Meters the packet, which has the colour `before`: 0 green, 1 yellow, 2 red, or [`forebay_ir::UNMETERED`]; `None` outside the array.
    fn execute_meter(&self, meter: MeterId, index: u64, before: u8, packet: PacketFacts) -> Option<u8>;

    /// The hash of bytes.
    fn hash(&self, algorithm: HashAlgorithm, data: &[u8]) -> u64;
}
