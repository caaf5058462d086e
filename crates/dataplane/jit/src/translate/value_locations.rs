//! The locations of slots while a function runs.

use cranelift_codegen::ir;
use cranelift_frontend::Variable;
use forebay_bits::Bits;
use forebay_ir::SlotId;
use std::collections::HashMap;

/// The most slots that have a register. The machine has only sixteen registers, but with fewer slots here, real programs
/// wait for memory.
pub(crate) const SLOTS_MAX: usize = 256;

/// The registers of slots that have one, or had one on another path through the parser. The other slots are in the
/// state.
pub(super) struct Registers {
    of_slots: HashMap<SlotId, Variable>,
    slots_max: usize,
}

impl Registers {
    /// Registers for at most `slots_max` slots.
    pub(super) fn new(slots_max: usize) -> Self {
        Registers {
            of_slots: HashMap::new(),
            slots_max,
        }
    }

    /// The register of a slot. A slot that gets none now gets none later.
    pub(super) fn of(&mut self, slot: SlotId, declare: impl FnOnce() -> Variable) -> Option<Variable> {
        if self.of_slots.len() >= self.slots_max {
            return self.of_slots.get(&slot).copied();
        }
        Some(*self.of_slots.entry(slot).or_insert_with(declare))
    }
}

/// The location of a slot.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// In the words of the state.
    State,
    /// In a register of Cranelift's, for which the machine may have no room.
    Register(Variable),
    /// In the packet, where it does not change before the deparser.
    Packet(Field),
    /// Nowhere: its value is a constant.
    Constant(Bits),
}

/// A field in the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// The beginning of bytes that are in the packet.
    pub(super) address: Address,
    /// The number of these bytes.
    pub(super) bytes: u32,
    /// The bit at which the field begins, counted from the first of these bytes.
    pub(super) first_bit: u32,
}

impl Field {
    /// Whether another field begins `bits` bits after the beginning of this one, in the same bytes.
    pub(super) fn is_followed_by(&self, bits: u32, other: &Field) -> bool {
        self.address == other.address && self.bytes == other.bytes && self.first_bit + bits == other.first_bit
    }

    /// Whether another field begins `bits` bits after the beginning of this one, also if it is in the next header.
    pub(super) fn is_followed_in_packet_by(&self, bits: u32, other: &Field) -> bool {
        match (self.address, other.address) {
            (Address::InPacket(first), Address::InPacket(second)) => {
                let bit = |bytes, behind| 8 * bytes + u64::from(behind);
                bit(first, self.first_bit + bits) == bit(second, other.first_bit)
            }
            _ => self.is_followed_by(bits, other),
        }
    }

    /// A field that begins `bits` bits after the beginning of this one.
    pub(super) fn moved(self, bits: u32) -> Field {
        Field {
            first_bit: self.first_bit + bits,
            ..self
        }
    }
}

/// The position of bytes of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// At an address.
    Known(ir::Value),
    /// This many bytes after the packet's start.
    InPacket(u64),
    /// After the packet's start by the number of bits that a register holds, rounded down to whole bytes.
    AfterBits(Variable),
}

/// The homes of all slots. If empty, all slots are in the state.
#[derive(Clone, Debug, Default)]
pub(super) struct Homes(Vec<Home>);

impl Homes {
    /// Homes of `slots` slots, all in the state.
    pub(super) fn new(slots: usize) -> Self {
        Homes(vec![Home::State; slots])
    }

    pub(super) fn of(&self, slot: SlotId) -> &Home {
        self.0.get(slot.index()).unwrap_or(&Home::State)
    }

    pub(super) fn set(&mut self, slot: SlotId, home: Home) {
        if let Some(known) = self.0.get_mut(slot.index()) {
            *known = home;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slots_have_registers_and_keep_them() {
        let mut registers = Registers::new(SLOTS_MAX);
        for _ in 0..2 {
            let all = (0..10_000).map(|slot| registers.of(SlotId(slot), || Variable::from_u32(slot)));
            let found: Vec<u32> = all.flatten().map(Variable::as_u32).collect();
            assert!(found.iter().copied().eq(0..SLOTS_MAX as u32));
        }
    }
}
