//! Where slots are while a function runs.

use cranelift_codegen::ir;
use cranelift_frontend::Variable;
use forebay_bits::Bits;
use forebay_ir::SlotId;

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
