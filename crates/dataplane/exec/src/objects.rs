//! The interface to the objects that outlive a packet.
//!
//! The interpreter does not depend on match engines or locks: it calls this interface, which the pipeline implements
//! with the tables of `forebay-tables`. All methods take `&self`, because many packets share the objects. An object
//! that packets change (register, counter, meter) synchronises internally.

use forebay_bits::Bits;
use forebay_ir::{CounterId, HashAlgorithm, MeterId, RegisterId, TableId, ValueSetId};

/// What is known about the packet that uses an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFacts {
    /// The length in bytes as received, which counters and meters count.
    pub length_bytes: u32,
    /// Time of the pass, in microseconds.
    pub timestamp_us: u64,
}

/// The result of a table lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup<'a> {
    /// The entry that matched, by the number under which its table knows it; `None` for a miss.
    pub hit: Option<u64>,
    /// Index into [`forebay_ir::Table::actions`] of the action to run, and its data. `None` when no action runs: the
    /// entry names an empty group of an action selector, and the table has no action for empty groups.
    pub action: Option<(u32, &'a [Bits])>,
    /// The colour of the direct meter, when the table has one and an entry matched.
    pub color: Option<u8>,
}

/// Tables and stateful objects of a loaded program.
pub trait Objects {
    /// Looks a key up, which has one value for each of [`forebay_ir::Table::keys`], selectors included. Counts and
    /// meters the hit.
    fn lookup(&self, table: TableId, key: &[Bits], packet: PacketFacts) -> Lookup<'_>;

    /// Whether a value set has an element that matches all components.
    fn value_set_contains(&self, set: ValueSetId, components: &[Bits]) -> bool;

    /// An element of a register array; 0 outside the array.
    fn read_register(&self, register: RegisterId, index: u64) -> Bits;

    /// Sets an element of a register array; does nothing outside the array.
    fn write_register(&self, register: RegisterId, index: u64, value: &Bits);

    /// Does the same as [`Objects::read_register`] for executors that need only the words of the value. `words` has as
    /// many words as the register's width needs, the least significant first.
    fn read_register_words(&self, register: RegisterId, index: u64, words: &mut [u64]) {
        let value = self.read_register(register, index);
        for (word, limb) in words.iter_mut().zip(value.limbs()) {
            *word = limb;
        }
    }

    /// Does the same as [`Objects::write_register`], with the words of a value of the register's width.
    fn write_register_words(&self, register: RegisterId, index: u64, width: u32, words: &[u64]) {
        self.write_register(register, index, &Bits::from_limbs(width, words));
    }

    /// Begins an atomic section: waits until no other packet is in a section with the same lock and index. Ends the
    /// previous section.
    fn enter_atomic(&self, lock: u32, index: u64);

    /// Ends the atomic section, if there is one.
    fn leave_atomic(&self);

    /// Counts the packet; does nothing outside the array.
    fn count(&self, counter: CounterId, index: u64, packet: PacketFacts);

    /// Meters the packet, whose colour was `before`: 0 green, 1 yellow, 2 red. Returns the new colour, or
    /// [`forebay_ir::UNMETERED`]; `None` outside the array.
    fn execute_meter(&self, meter: MeterId, index: u64, before: u8, packet: PacketFacts) -> Option<u8>;

    /// The hash of bytes.
    fn hash(&self, algorithm: HashAlgorithm, data: &[u8]) -> u64;
}
