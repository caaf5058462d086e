//! Moves fields between frame and state two at a time.
//!
//! ```text
//! frame   │ a 1 │ a 0 │ b 3 │ b 2 │ b 1 │ b 0 │ …       fields of whole bytes, the most significant byte first
//!                  │ shuffled
//! state   │ a 0 │ a 1 │ 0 … 0 │ b 0 │ b 1 │ b 2 │ b 3 │ 0 … 0 │     a word each, the least significant first
//! ```
//!
//! A vector has 16 bytes. Fields that are within 16 bytes of the frame are loaded once, and two words of the state are
//! stored at once; emitting works in the same way in the other direction. This serves only general code
//! ([`crate::graph`]), whose slots are in the state, and needs a machine with byte shuffles.

use super::Translator;
use super::access::within_bounds;
use super::value_locations::Home;
use crate::analysis::emits_whole_bytes;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::{HeaderId, SlotId};

/// Bytes of a vector.
const VECTOR: u32 = 16;

/// In a mask: the result's byte is zero.
const ZERO: u8 = 0x80;

/// For each byte of a shuffled vector, the index of its source byte.
type Mask = [u8; VECTOR as usize];

/// A field of whole bytes, and the word of its slot.
#[derive(Clone, Copy, Debug)]
struct ByteField {
    /// Its first byte, relative to a fixed position in the frame.
    first: u32,
    bytes: u32,
    word: usize,
}

impl ByteField {
    fn end(&self) -> u32 {
        self.first + self.bytes
    }
}

/// Whether the machine can shuffle the bytes of a vector in one instruction.
pub(crate) fn machine_shuffles() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("ssse3");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

impl Translator<'_, '_, '_> {
    /// Reads two fields at once if possible, and returns whether it was. Each field comes with its first bit, relative
    /// to an address at which `bytes` bytes may be loaded. `window` holds the last vector that was loaded, and its
    /// first byte.
    pub(super) fn read_pair(
        &mut self,
        (address, bytes): (ir::Value, u32),
        fields: [(SlotId, u32); 2],
        window: &mut Option<(u32, ir::Value)>,
    ) -> bool {
        let Some([first, second]) = self.pair(fields) else {
            return false;
        };
        if bytes < VECTOR || second.end() - first.first > VECTOR {
            return false;
        }
        let (begin, loaded) = match *window {
            Some((begin, loaded)) if begin <= first.first && second.end() <= begin + VECTOR => (begin, loaded),
            _ => {
                let begin = first.first.min(bytes - VECTOR);
                let flags = within_bounds();
                let loaded = (self.builder.ins()).load(types::I8X16, flags, address, begin as i32);
                *window = Some((begin, loaded));
                (begin, loaded)
            }
        };
        let mut mask = [ZERO; VECTOR as usize];
        for (field, lane) in [(first, 0), (second, 8)] {
            for byte in 0..field.bytes {
                mask[lane + byte as usize] = (field.end() - 1 - byte - begin) as u8;
            }
        }
        let words = self.shuffled(loaded, mask);
        self.store(words, self.state, 8 * first.word as i32);
        true
    }

    /// The fields, if they consist of whole bytes and their slots are adjacent in the state.
    fn pair(&self, fields: [(SlotId, u32); 2]) -> Option<[ByteField; 2]> {
        let [(first, first_bit), (second, second_bit)] = fields;
        let (first, second) = (self.byte_field(first, first_bit)?, self.byte_field(second, second_bit)?);
        (second.word == first.word + 1).then_some([first, second])
    }

    fn byte_field(&self, slot: SlotId, first_bit: u32) -> Option<ByteField> {
        let width = self.program.slot(slot).width;
        let is_whole = (1..=64).contains(&width) && width.is_multiple_of(8) && first_bit.is_multiple_of(8);
        let is_in_state = matches!(self.homes.of(slot), Home::State);
        (!self.is_fast_path() && self.environment.shuffles && is_whole && is_in_state).then(|| ByteField {
            first: first_bit / 8,
            bytes: width / 8,
            word: self.environment.layout.first_word(slot),
        })
    }

    /// The vectors of which an emitted header consists; the bytes of each come from some words of the state.
    fn vectors_of(&self, id: HeaderId) -> Option<(u32, Vec<Vector>)> {
        // Otherwise the output may end within a byte, and is not extended before data is appended.
        if self.is_fast_path() || !emits_whole_bytes(self.program) {
            return None;
        }
        let header = &self.program.headers[id.index()];
        let (mut fields, mut bit) = (Vec::new(), 0);
        for field in &header.fields {
            if field.length.is_some() {
                return None;
            }
            fields.push(self.byte_field(field.slot, bit)?);
            bit += self.program.slot(field.slot).width;
        }
        let bytes = bit / 8;
        let last = bytes.checked_sub(VECTOR)?;
        let firsts = (0..last).step_by(VECTOR as usize).chain([last]);
        let words = self.environment.layout.words();
        let vectors = firsts.map(|first| Vector::of(&fields, first, words));
        Some((bytes, vectors.collect()))
    }

    /// Emits a valid header by vectors, if possible, and returns whether it was.
    pub(super) fn emit_vectors(&mut self, id: HeaderId) -> bool {
        let Some((bytes, vectors)) = self.vectors_of(id) else {
            return false;
        };
        let place = self.place_in_output(bytes);
        for Vector { first, parts } in vectors {
            let mut all = None;
            for (word, mask) in parts {
                let flags = within_bounds();
                let words = (self.builder.ins()).load(types::I8X16, flags, self.state, 8 * word as i32);
                let part = self.shuffled(words, mask);
                all = Some(match all {
                    Some(others) => self.builder.ins().bor(others, part),
                    None => part,
                });
            }
            self.store(all.expect("a vector has bytes"), place, first as i32);
        }
        true
    }

    fn shuffled(&mut self, vector: ir::Value, mask: Mask) -> ir::Value {
        let mask = self.builder.func.dfg.constants.insert(mask.to_vec().into());
        let mask = self.builder.ins().vconst(types::I8X16, mask);
        self.builder.ins().x86_pshufb(vector, mask)
    }
}

/// Bytes of a header that are put together in one vector.
struct Vector {
    /// The index of the first byte.
    first: u32,
    /// Pairs of adjacent words of the state: the first word, and the destinations of their bytes.
    parts: Vec<(usize, Mask)>,
}

impl Vector {
    /// The vector that begins at byte `first` of adjacent fields, in a state of `words` words.
    fn of(fields: &[ByteField], first: u32, words: usize) -> Vector {
        let mut parts: Vec<(usize, Mask)> = Vec::new();
        let inside = (fields.iter()).filter(|field| field.first < first + VECTOR && first < field.end());
        for field in inside {
            let is_with_last = parts
                .last()
                .is_some_and(|(word, _)| (*word..word + 2).contains(&field.word));
            if !is_with_last {
                parts.push((field.word.min(words - 2), [ZERO; VECTOR as usize]));
            }
            let (word, mask) = parts.last_mut().expect("there is one");
            let lane = 8 * (field.word - *word) as u32;
            for byte in field.first.max(first)..field.end().min(first + VECTOR) {
                mask[(byte - first) as usize] = (lane + field.end() - 1 - byte) as u8;
            }
        }
        Vector { first, parts }
    }
}
