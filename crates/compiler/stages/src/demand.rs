//! What a unit takes of the stages that it stands in.

use crate::effects::slots_of;
use crate::machine::{SRAM_ROW_BITS, SRAM_ROWS, Stage, TCAM_ROW_BITS, TCAM_ROWS};
use forebay_ir::{MatchKind, Program, Register, Table};
use serde::Serialize;
use std::ops::{Add, AddAssign};

/// Amounts of what a [`Stage`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// Blocks of SRAM.
    pub sram_blocks: u32,
    /// Blocks of TCAM.
    pub tcam_blocks: u32,
    /// Logical tables.
    pub tables: u32,
    /// Bytes of the crossbar for exact matches.
    pub exact_crossbar_bytes: u32,
    /// Bytes of the crossbar for other matches.
    pub ternary_crossbar_bytes: u32,
    /// Bits of hashes.
    pub hash_bits: u32,
    /// Instruction words.
    pub instructions: u32,
    /// Arithmetic units for registers.
    pub register_alus: u32,
    /// Arithmetic units for counters and meters.
    pub counter_alus: u32,
}

/// A counter or meter with its index in a block of SRAM: two of them in a row.
const COUNTERS_IN_ROW: u64 = 2;
/// Action data up to this stand with the entry.
const IMMEDIATE_BITS: u64 = 32;
/// More blocks than an array takes that is read and written in the same clock: one is written while another is read.
const SPARE_BLOCKS: u32 = 1;
/// Version, validity, next table, in each entry.
const OVERHEAD_BITS: u64 = 8;

impl Demand {
    /// Nothing but a place among the tables, and one action.
    pub(crate) fn of_operations() -> Demand {
        Demand {
            tables: 1,
            instructions: 1,
            ..Demand::default()
        }
    }

    /// A table's.
    pub(crate) fn of_table(program: &Program, table: &Table) -> Demand {
        let data_bits = |action: &forebay_ir::TableAction| {
            let params = &program.actions[action.action.index()].params;
            params.iter().map(|param| u64::from(param.width)).sum::<u64>()
        };
        let data_bits = table.actions.iter().map(data_bits).max().unwrap_or(0);
        let action_bits = u64::from(u64::BITS - (table.actions.len() as u64).leading_zeros());
        let key_bits: u64 = matched(table).map(|key| u64::from(key.width)).sum();
        let is_exact = matched(table).all(|key| key.match_kind == MatchKind::Exact);
        let size = table.size.max(table.entries.len() as u64).max(1);
        let immediate = data_bits.min(if data_bits > IMMEDIATE_BITS { 0 } else { IMMEDIATE_BITS });
        let mut demand = Demand {
            tables: 1,
            instructions: table.actions.len() as u32,
            counter_alus: u32::from(table.direct_counter.is_some()) + u32::from(table.direct_meter.is_some()),
            ..Demand::default()
        };
        let key_bytes = key_bits.div_ceil(8) as u32;
        match (key_bits, is_exact) {
            (0, _) => {}
            (_, true) => {
                demand.sram_blocks += sram(size, key_bits + OVERHEAD_BITS + action_bits + immediate);
                demand.exact_crossbar_bytes = key_bytes;
                demand.hash_bits = size.next_power_of_two().ilog2();
            }
            (_, false) => {
                let wide = key_bits.div_ceil(TCAM_ROW_BITS);
                demand.tcam_blocks = (wide * size.div_ceil(TCAM_ROWS)) as u32;
                demand.ternary_crossbar_bytes = key_bytes;
                demand.sram_blocks += sram(size, OVERHEAD_BITS + action_bits + immediate);
            }
        }
        if data_bits > IMMEDIATE_BITS {
            demand.sram_blocks += sram(size, data_bits);
        }
        if demand.counter_alus > 0 {
            let array = sram(size, SRAM_ROW_BITS / COUNTERS_IN_ROW) + SPARE_BLOCKS;
            demand.sram_blocks += array * demand.counter_alus;
        }
        demand
    }

    /// The demand of a register array whose index is computed from `index_bits` bits, with arithmetic units of
    /// `alu_bits` bits.
    pub(crate) fn of_register(register: &Register, index_bits: u32, alu_bits: u32) -> Demand {
        let alus = register.width.div_ceil(alu_bits).max(1);
        let elements = register.size.max(1);
        let width = register.width.clamp(8, alu_bits).next_power_of_two();
        Demand {
            tables: 1,
            instructions: 1,
            register_alus: alus,
            sram_blocks: alus * (sram(elements, width.into()) + SPARE_BLOCKS),
            exact_crossbar_bytes: index_bits.div_ceil(8),
            hash_bits: elements.next_power_of_two().ilog2(),
            ..Demand::default()
        }
    }

    /// The demand of an array of counters or meters.
    pub(crate) fn of_counters(size: u64) -> Demand {
        Demand {
            tables: 1,
            instructions: 1,
            counter_alus: 1,
            sram_blocks: sram(size.max(1), SRAM_ROW_BITS / COUNTERS_IN_ROW) + SPARE_BLOCKS,
            ..Demand::default()
        }
    }

    /// Whether a stage has as much.
    pub(crate) fn fits(&self, stage: &Stage) -> bool {
        self.lacking(stage).is_none()
    }

    /// What a stage has too little of.
    pub(crate) fn lacking(&self, stage: &Stage) -> Option<&'static str> {
        self.rows(stage)
            .into_iter()
            .find(|(_, taken, available)| taken > available)
            .map(|(name, ..)| name)
    }

    /// By kind: its name, what is taken, what a stage has.
    pub fn rows(&self, stage: &Stage) -> [(&'static str, u32, u32); 9] {
        [
            ("SRAM blocks", self.sram_blocks, stage.sram_blocks),
            ("TCAM blocks", self.tcam_blocks, stage.tcam_blocks),
            ("logical tables", self.tables, stage.tables),
            (
                "exact crossbar bytes",
                self.exact_crossbar_bytes,
                stage.exact_crossbar_bytes,
            ),
            (
                "ternary crossbar bytes",
                self.ternary_crossbar_bytes,
                stage.ternary_crossbar_bytes,
            ),
            ("hash bits", self.hash_bits, stage.hash_bits),
            ("VLIW instructions", self.instructions, stage.instructions),
            ("register ALUs", self.register_alus, stage.register_alus),
            ("counter ALUs", self.counter_alus, stage.counter_alus),
        ]
    }
}

/// Fields of a key that are matched.
pub(crate) fn matched(table: &Table) -> impl Iterator<Item = &forebay_ir::TableKey> {
    let keys = table.keys.iter();
    keys.filter(|key| key.match_kind != MatchKind::Selector)
}

/// The slots in a table's key.
pub(crate) fn key_slots(table: &Table) -> crate::effects::Slots {
    table.keys.iter().flat_map(|key| slots_of(&key.expr)).collect()
}

/// The blocks for `entries` entries of `bits` bits each. A row holds as many entries as fit; an entry that is longer
/// takes several rows.
fn sram(entries: u64, bits: u64) -> u32 {
    let bits = bits.max(1);
    let rows = match SRAM_ROW_BITS / bits {
        0 => entries * bits.div_ceil(SRAM_ROW_BITS),
        in_row => entries.div_ceil(in_row),
    };
    rows.div_ceil(SRAM_ROWS) as u32
}

impl Add for Demand {
    type Output = Demand;

    fn add(self, other: Demand) -> Demand {
        Demand {
            sram_blocks: self.sram_blocks + other.sram_blocks,
            tcam_blocks: self.tcam_blocks + other.tcam_blocks,
            tables: self.tables + other.tables,
            exact_crossbar_bytes: self.exact_crossbar_bytes + other.exact_crossbar_bytes,
            ternary_crossbar_bytes: self.ternary_crossbar_bytes + other.ternary_crossbar_bytes,
            hash_bits: self.hash_bits + other.hash_bits,
            instructions: self.instructions + other.instructions,
            register_alus: self.register_alus + other.register_alus,
            counter_alus: self.counter_alus + other.counter_alus,
        }
    }
}

impl AddAssign for Demand {
    fn add_assign(&mut self, other: Demand) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_packed_into_rows() {
        // Two entries of 64 bits in a row of 128; one of 130 bits takes two rows.
        assert_eq!(sram(2048, 64), 1);
        assert_eq!(sram(2049, 64), 2);
        assert_eq!(sram(1024, 130), 2);
    }
}
