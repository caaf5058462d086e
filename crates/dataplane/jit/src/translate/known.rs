//! What is known about words when code is generated: from the instructions that compute them, and from the widths of
//! slots.
//!
//! Masks that change nothing are left out. Words loaded in big-endian order are tested for equality in memory order.

use super::Translator;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, InstructionData, Opcode, types};

/// How many instructions back the search goes.
const DEPTH_MAX: u32 = 4;

/// Widths of words that their instructions do not imply; 0 for all 64 bits.
pub(super) type Widths = SecondaryMap<ir::Value, u8>;

/// A word that was loaded in big-endian order.
struct Swapped {
    /// The word in memory order, in a type of its size.
    raw: ir::Value,
    kind: ir::Type,
}

impl Translator<'_, '_, '_> {
    /// Records that the word has zeros above this many bits.
    pub(super) fn note_width(&mut self, word: ir::Value, bits: u32) {
        if bits < 64 {
            let known = &mut self.widths[word];
            let bits = bits.max(1) as u8;
            *known = if *known == 0 { bits } else { bits.min(*known) };
        }
    }

    /// The number of bits above which the word is certain to have zeros.
    pub(super) fn significant_bits(&self, word: ir::Value) -> u32 {
        self.significant(word, DEPTH_MAX, true)
    }

    /// The number of bits above which the word has zeros, from its instructions only.
    pub(super) fn computed_bits(&self, word: ir::Value) -> u32 {
        self.significant(word, DEPTH_MAX, false)
    }

    fn significant(&self, word: ir::Value, depth: u32, believes_notes: bool) -> u32 {
        let noted = match self.widths[word] {
            bits @ 1.. if believes_notes => bits.into(),
            _ => 64,
        };
        let dfg = &self.builder.func.dfg;
        let kind = dfg.value_type(word);
        if !kind.is_int() || kind.bits() > 64 {
            return 64;
        }
        let by_instruction = match dfg.value_def(word).inst() {
            Some(instruction) if depth > 0 => self.significant_of(instruction, depth - 1, believes_notes),
            _ => 64,
        };
        by_instruction.min(noted).min(kind.bits())
    }

    fn significant_of(&self, instruction: ir::Inst, depth: u32, believes_notes: bool) -> u32 {
        let of = |word| self.significant(word, depth, believes_notes);
        match self.builder.func.dfg.insts[instruction] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => 64 - (imm.bits() as u64).leading_zeros(),
            InstructionData::Load {
                opcode: Opcode::Uload8, ..
            } => 8,
            InstructionData::Load {
                opcode: Opcode::Uload16,
                ..
            } => 16,
            InstructionData::Load {
                opcode: Opcode::Uload32,
                ..
            } => 32,
            InstructionData::IntCompare { .. } => 1,
            InstructionData::Unary {
                opcode: Opcode::Uextend,
                arg,
            } => of(arg),
            InstructionData::Binary { opcode, args } => {
                let (left, right) = (args[0], args[1]);
                match opcode {
                    Opcode::Band => of(left).min(of(right)),
                    Opcode::Iadd => match (of(left), of(right)) {
                        (0, bits) | (bits, 0) => bits,
                        (left, right) => left.max(right).saturating_add(1).min(64),
                    },
                    Opcode::Bor | Opcode::Bxor => of(left).max(of(right)),
                    Opcode::Ushr => {
                        let amount = self.constant_of(right).unwrap_or(0);
                        of(left).saturating_sub(amount.min(64) as u32)
                    }
                    Opcode::Ishl => match self.constant_of(right) {
                        Some(amount @ 0..64) => of(left) + amount as u32,
                        _ => 64,
                    },
                    _ => 64,
                }
            }
            _ => 64,
        }
    }

    /// The value of a word that is constant.
    pub(super) fn constant_of(&self, word: ir::Value) -> Option<u64> {
        let dfg = &self.builder.func.dfg;
        match dfg.insts[dfg.value_def(word).inst()?] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits() as u64),
            _ => None,
        }
    }

    /// The load in memory order from which a word comes, if it is only swapped and extended.
    fn swapped(&self, word: ir::Value) -> Option<Swapped> {
        let dfg = &self.builder.func.dfg;
        let unary = |value: ir::Value, wanted: Opcode| match dfg.insts[dfg.value_def(value).inst()?] {
            InstructionData::Unary { opcode, arg } if opcode == wanted => Some(arg),
            _ => None,
        };
        let inner = unary(word, Opcode::Uextend).unwrap_or(word);
        let raw = unary(inner, Opcode::Bswap)?;
        Some(Swapped {
            raw,
            kind: dfg.value_type(raw),
        })
    }

    /// Whether two words are equal, or, with the other condition code, unequal.
    pub(super) fn words_equal(&mut self, code: IntCC, left: ir::Value, right: ir::Value) -> ir::Value {
        match (self.swapped(left), self.swapped(right)) {
            (Some(left), Some(right)) if left.kind == right.kind => {
                return self.ins().icmp(code, left.raw, right.raw);
            }
            (Some(word), None) => {
                if let Some(number) = self.constant_of(right).and_then(|number| in_memory(number, word.kind)) {
                    let number = self.ins().iconst(word.kind, number);
                    return self.ins().icmp(code, word.raw, number);
                }
            }
            (None, Some(_)) if self.constant_of(left).is_some() => return self.words_equal(code, right, left),
            _ => {}
        }
        self.ins().icmp(code, left, right)
    }
}

/// A number with its bytes swapped, as an immediate; `None` when it does not fit.
fn in_memory(number: u64, kind: ir::Type) -> Option<i64> {
    Some(match kind {
        types::I16 => u16::try_from(number).ok()?.swap_bytes().into(),
        types::I32 => u32::try_from(number).ok()?.swap_bytes().into(),
        _ => number.swap_bytes() as i64,
    })
}
