//! Headers that the deparser puts together in front of those that stay.
//!
//! Fields that lie side by side in the packet are copied as they are, in pieces of the sizes in which
//! [`Translator::store_bytes`] writes them: a load that spans several stores waits until these have reached the cache.
//! Fields with values elsewhere, and those that are no whole bytes, are packed.

use super::pack::Packed;
use super::value_locations::{Field, Home};
use super::{Translator, within_bounds};
use cranelift_codegen::ir::{self, InstBuilder, Type};
use forebay_ir::{HeaderId, SlotId};

/// Headers of whole bytes that have been loaded and are to be stored: parts of whole bytes, one after another.
pub(super) struct Composed(Vec<Part>);

enum Part {
    /// Bytes in the order of the packet.
    Copied(Vec<Piece>),
    Packed(Packed),
}

/// A value of 1, 2, 4 or 8 bytes.
struct Piece {
    bytes: u32,
    value: ir::Value,
}

/// Adjacent fields in the packet.
struct Run {
    first: Field,
    /// The bits up to the end of each field, and whether the field was changed.
    fields: Vec<(u32, bool)>,
}

impl Composed {
    /// The number of bytes.
    pub(super) fn bytes(&self) -> u32 {
        self.0.iter().map(Part::bytes).sum()
    }
}

impl Part {
    fn bytes(&self) -> u32 {
        match self {
            Part::Copied(pieces) => pieces.iter().map(|piece| piece.bytes).sum(),
            Part::Packed(packed) => packed.bits / 8,
        }
    }
}

impl Run {
    /// How many fields, from the first on, are whole bytes together.
    fn whole_bytes(&self) -> Option<usize> {
        let last = self.fields.iter().rposition(|(end, _)| end.is_multiple_of(8));
        last.map(|last| last + 1)
    }

    /// The sizes in bytes of the pieces of its first fields.
    fn pieces(&self, fields: usize) -> Vec<u32> {
        let mut sizes = Vec::new();
        let mut begin = 0;
        for (index, (end, is_changed)) in self.fields[..fields].iter().enumerate() {
            let next = self.fields[..fields].get(index + 1);
            if next.is_some_and(|(_, other)| other == is_changed) || !end.is_multiple_of(8) {
                continue;
            }
            while begin < end / 8 {
                let size = 1 << (end / 8 - begin).ilog2().min(3);
                sizes.push(size);
                begin += size;
            }
        }
        sizes
    }
}

impl Translator<'_, '_, '_> {
    /// Loads headers, which are whole bytes together.
    pub(super) fn compose(&mut self, headers: &[HeaderId]) -> Composed {
        let program = self.program;
        let fields = headers.iter().flat_map(|id| &program.headers[id.index()].fields);
        let slots: Vec<SlotId> = fields.map(|field| field.slot).collect();
        let mut parts = Vec::new();
        // Fields that are not copied: the first of them, and the bits up to the present one.
        let (mut packed_from, mut packed_bits) = (0, 0);
        let mut at = 0;
        while at < slots.len() {
            let run = self.run_in_packet(&slots[at..]).filter(|_| packed_bits % 8 == 0);
            let Some((run, count)) = run.and_then(|run| run.whole_bytes().map(|count| (run, count))) else {
                packed_bits += program.slot(slots[at]).width;
                at += 1;
                continue;
            };
            if packed_bits > 0 {
                let packed = self.pack_slots(slots[packed_from..at].iter().copied());
                parts.push(Part::Packed(packed));
            }
            parts.push(Part::Copied(self.load_pieces(&run, count)));
            at += count;
            (packed_from, packed_bits) = (at, 0);
        }
        if packed_bits > 0 {
            let packed = self.pack_slots(slots[packed_from..].iter().copied());
            parts.push(Part::Packed(packed));
        }
        Composed(parts)
    }

    /// Stores headers.
    pub(super) fn store_composed(&mut self, target: ir::Value, composed: &Composed) {
        let mut at = 0;
        for part in &composed.0 {
            match part {
                Part::Copied(pieces) => {
                    let mut place = at;
                    for piece in pieces {
                        let ins = self.builder.ins();
                        ins.store(within_bounds(), piece.value, target, place as i32);
                        place += piece.bytes;
                    }
                }
                Part::Packed(packed) => {
                    let place = self.address(target, at as i32);
                    self.store_words(place, &packed.words, packed.bits / 8);
                }
            }
            at += part.bytes();
        }
    }

    /// The fields of these slots, from the first on, that lie side by side in the packet, if the first begins a byte.
    fn run_in_packet(&self, slots: &[SlotId]) -> Option<Run> {
        let first = self.place_in_packet(*slots.first()?)?;
        if !first.first_bit.is_multiple_of(8) {
            return None;
        }
        let mut run = Run {
            first,
            fields: Vec::new(),
        };
        let mut end = 0;
        for slot in slots {
            match self.place_in_packet(*slot) {
                Some(field) if first.is_followed_by(end, &field) => {}
                _ => break,
            }
            end += self.program.slot(*slot).width;
            run.fields.push((end, self.unchanged(*slot).is_none()));
        }
        Some(run)
    }

    /// Where the packet has a slot's value, if it has.
    fn place_in_packet(&self, slot: SlotId) -> Option<Field> {
        self.unchanged(slot).or(match self.homes.of(slot) {
            Home::Packet(field) => Some(*field),
            _ => None,
        })
    }

    fn load_pieces(&mut self, run: &Run, fields: usize) -> Vec<Piece> {
        let address = self.address_of_field(&run.first);
        let mut at = (run.first.first_bit / 8) as i32;
        let flags = self.packet_flags();
        let pieces = run.pieces(fields).into_iter().map(|bytes| {
            let kind = Type::int(8 * bytes as u16).expect("a power of two");
            let value = self.builder.ins().load(kind, flags, address, at);
            at += bytes as i32;
            Piece { bytes, value }
        });
        pieces.collect()
    }
}
