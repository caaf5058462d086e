//! Where slots are while a function runs.

use cranelift_codegen::ir;
use cranelift_frontend::Variable;
use forebay_bits::Bits;
use forebay_ir::SlotId;
use std::collections::HashMap;

/// Slots that have a register. Register allocation takes time in proportion to them and to the blocks of a program, and the machine has
/// sixteen registers; with fewer, real programs wait for memory.
const SLOTS_MAX: usize = 256;

/// The registers of slots that have one, or had one on another way through the parser. The other slots are in the state.
#[derive(Default)]
pub(super) struct Registers {
    of_slots: HashMap<SlotId, Variable>,
}

impl Registers {
    /// The register of a slot. A slot that gets none gets none later.
    pub(super) fn of(&mut self, slot: SlotId, declare: impl FnOnce() -> Variable) -> Option<Variable> {
        if self.of_slots.len() >= SLOTS_MAX {
            return self.of_slots.get(&slot).copied();
        }
        Some(*self.of_slots.entry(slot).or_insert_with(declare))
    }
}

/// Where a slot is.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// In the words of the state.
    State,
    /// In a register, as far as there are enough.
    Register(Variable),
    /// In the packet, where nobody changes it before the deparser.
    Packet(Field),
    /// Nowhere: its value is known.
    Constant(Bits),
}

/// A field in the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Where bytes begin that are in the packet.
    pub(super) address: Address,
    /// How many there are.
    pub(super) bytes: u32,
    /// Where in them the field begins.
    pub(super) first_bit: u32,
}

impl Field {
    /// Whether another field begins `bits` behind the beginning of this one, in the same bytes.
    pub(super) fn is_followed_by(&self, bits: u32, other: &Field) -> bool {
        self.address == other.address && self.bytes == other.bytes && self.first_bit + bits == other.first_bit
    }

    /// The same, in bytes of the next header too.
    pub(super) fn is_followed_in_packet_by(&self, bits: u32, other: &Field) -> bool {
        match (self.address, other.address) {
            (Address::InPacket(first), Address::InPacket(second)) => {
                let bit = |bytes, behind| 8 * bytes + u64::from(behind);
                bit(first, self.first_bit + bits) == bit(second, other.first_bit)
            }
            _ => self.is_followed_by(bits, other),
        }
    }

    /// What begins so many bits behind its beginning.
    pub(super) fn moved(self, bits: u32) -> Field {
        Field {
            first_bit: self.first_bit + bits,
            ..self
        }
    }
}

/// Where bytes of the packet begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// At an address.
    Known(ir::Value),
    /// So many bytes behind the packet's start.
    InPacket(u64),
    /// As many bits behind it as a register says, less those behind a whole byte.
    BehindBits(Variable),
}

/// The homes of all slots; with none, all are in the state.
#[derive(Clone, Debug, Default)]
pub(super) struct Homes(Vec<Home>);

impl Homes {
    /// So many slots, all of them in the state.
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
        let mut registers = Registers::default();
        for _ in 0..2 {
            let all = (0..10_000).map(|slot| registers.of(SlotId(slot), || Variable::from_u32(slot)));
            let found: Vec<u32> = all.flatten().map(Variable::as_u32).collect();
            assert!(found.iter().copied().eq(0..SLOTS_MAX as u32));
        }
    }
}
