//! Registers that are interleaved in memory: those of one size that a body accesses with the same index.
//!
//! A program that keeps several values for a flow has a register for each of them. In one bank, the values of one flow
//! are in one or a few cache lines, and generated code computes one address: see [`RegisterArray::together`].

use forebay_ir::{Expr, Op, Program, RegisterId, SlotId};
use forebay_tables::RegisterArray;
use std::collections::BTreeMap;

/// Maximum distance between elements in a bank of several registers, in words.
const STRIDE_WORDS_MAX: usize = 64;

/// Maximum size of a bank of several registers, in words.
const BANK_WORDS_MAX: u64 = 1 << 27;

/// The banks of a program's registers.
#[derive(Clone, Debug, Default)]
pub struct RegisterBanks {
    banks: Vec<Vec<RegisterId>>,
    /// By [`RegisterId`].
    places: Vec<RegisterPlace>,
}

/// The location of a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisterPlace {
    pub(crate) bank: usize,
    /// The word of its first element, within the bank.
    pub(crate) first_word: usize,
    /// Words from one element to the next.
    pub(crate) stride_words: usize,
}

impl RegisterBanks {
    /// The banks of a program. Every register is in one bank, alone or with others.
    pub fn of(program: &Program) -> RegisterBanks {
        let indices = first_indices(program);
        let mut banks = RegisterBanks::default();
        // Banks that have room for more registers, by what their registers have in common.
        let mut open: BTreeMap<_, usize> = BTreeMap::new();
        for (id, declared) in (0..).map(RegisterId).zip(&program.registers) {
            let common = indices.get(&id).map(|(body, slot)| (*body, *slot, declared.size));
            let known = common.and_then(|common| open.get(&common).copied());
            let bank = known.filter(|bank| has_room(program, &banks.banks[*bank], id));
            match bank {
                Some(bank) => banks.banks[bank].push(id),
                None => {
                    open.extend(common.map(|common| (common, banks.banks.len())));
                    banks.banks.push(vec![id]);
                }
            }
        }
        let mut places: Vec<(RegisterId, RegisterPlace)> = (0..)
            .zip(&banks.banks)
            .flat_map(|(number, bank)| places(program, number, bank))
            .collect();
        places.sort_by_key(|(id, _)| *id);
        banks.places = places.into_iter().map(|(_, place)| place).collect();
        banks
    }

    /// The arrays of the registers, all zero, by [`RegisterId`].
    ///
    /// # Errors
    ///
    /// The first register of a bank that is too large.
    pub fn arrays(&self, program: &Program) -> Result<Vec<RegisterArray>, RegisterId> {
        let mut arrays = Vec::new();
        for bank in self.iter() {
            let size = usize::try_from(program.registers[bank[0].index()].size).ok();
            let made = size.and_then(|size| RegisterArray::together(&widths(program, bank), size).ok());
            arrays.extend(bank.iter().zip(made.ok_or(bank[0])?));
        }
        arrays.sort_by_key(|(id, _)| **id);
        Ok(arrays.into_iter().map(|(_, array)| array).collect())
    }

    /// Bytes that each register takes, by [`RegisterId`]. The registers of a bank share the bytes of its gaps equally.
    pub fn bytes(&self, program: &Program) -> Vec<u64> {
        let mut bytes = vec![0; program.registers.len()];
        for bank in self.iter() {
            let stride = RegisterArray::stride_of(&widths(program, bank)) as u64 * 8;
            for register in bank {
                let all = program.registers[register.index()].size.saturating_mul(stride);
                bytes[register.index()] = all.div_ceil(bank.len() as u64);
            }
        }
        bytes
    }

    /// The registers of each bank, in memory order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[RegisterId]> {
        self.banks.iter().map(Vec::as_slice)
    }

    pub(crate) fn place(&self, register: RegisterId) -> RegisterPlace {
        self.places[register.index()]
    }
}

/// By register: the first body that accesses it with a slot as the index, and that slot.
fn first_indices(program: &Program) -> BTreeMap<RegisterId, (usize, SlotId)> {
    let mut indices = BTreeMap::new();
    for (number, body) in program.bodies.iter().enumerate() {
        for statement in body.statements() {
            if let Op::RegisterRead { register, index, .. } | Op::RegisterWrite { register, index, .. } = &statement.op
                && let Expr::Slot(slot) = index
            {
                indices.entry(*register).or_insert((number, *slot));
            }
        }
    }
    indices
}

/// Whether a bank has room for another register.
fn has_room(program: &Program, bank: &[RegisterId], other: RegisterId) -> bool {
    let stride = RegisterArray::stride_of(&widths(program, bank.iter().chain([&other])));
    let size = program.registers[other.index()].size;
    stride <= STRIDE_WORDS_MAX && size.saturating_mul(stride as u64) <= BANK_WORDS_MAX
}

fn places(program: &Program, number: usize, bank: &[RegisterId]) -> impl Iterator<Item = (RegisterId, RegisterPlace)> {
    let widths = widths(program, bank);
    bank.iter().enumerate().map(move |(position, id)| {
        let place = RegisterPlace {
            bank: number,
            first_word: RegisterArray::first_word_of(&widths, position),
            stride_words: RegisterArray::stride_of(&widths),
        };
        (*id, place)
    })
}

/// The widths of registers in bits.
fn widths<'a>(program: &Program, registers: impl IntoIterator<Item = &'a RegisterId>) -> Vec<u32> {
    let width = |id: &RegisterId| program.registers[id.index()].width;
    registers.into_iter().map(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_that_are_accessed_alike_lie_together() {
        let register = |name: &str, width: u32, size: u64| {
            format!("register {name}: bit<{width}> size {size} initial {width}w0x0\n")
        };
        let text = format!(
            "program v1model\nslot i: bit<32> local\nslot j: bit<32> local\nslot a: bit<8> local\nslot w: bit<2048> local\n{}{}{}{}{}{}{}\
             body B control {{\nblock0:\n  a = register_read(counts, i)\n  a = register_read(other, j)\n\
             \x20 a = register_read(shorter, i)\n  w = register_read(wide, i)\n  w = register_read(wider, i)\n\
             \x20 register_write(owner, i, a)\n  return\n}}\n",
            register("counts", 8, 100),
            register("other", 8, 100),
            register("shorter", 8, 99),
            register("never", 8, 100),
            register("wide", 2048, 100),
            register("owner", 8, 100),
            register("wider", 2048, 100),
        );
        let program = forebay_ir::text::read(&text).expect("it is a program");
        let banks = RegisterBanks::of(&program);
        let name = |id: &RegisterId| program.registers[id.index()].name.as_str();
        let names: Vec<Vec<&str>> = banks.iter().map(|bank| bank.iter().map(name).collect()).collect();
        assert_eq!(
            names,
            [
                &["counts", "wide", "owner"][..],
                &["other"],
                &["shorter"],
                &["never"],
                &["wider"]
            ]
        );
        let owner = banks.place(RegisterId(5));
        assert_eq!((owner.bank, owner.first_word, owner.stride_words), (0, 33, 34));
    }
}
