//! What a chip has: see the files in `machines/`.

use serde::Deserialize;
use std::fmt;

/// A chip with match-action stages.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub description: String,
    /// Match-action stages, which ingress and egress share.
    pub stages: usize,
    /// What each of them has.
    pub stage: Stage,
    /// Packet header vector.
    pub fields: Fields,
}

/// What a stage has.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Blocks of SRAM, of [`SRAM_ROWS`] rows of [`SRAM_ROW_BITS`].
    pub sram_blocks: u32,
    /// Blocks of TCAM, of [`TCAM_ROWS`] rows of [`TCAM_ROW_BITS`].
    pub tcam_blocks: u32,
    /// Logical tables.
    pub tables: u32,
    /// Bytes of keys for exact matches, register indices and hashes.
    pub exact_crossbar_bytes: u32,
    /// Bytes of keys for all other matches.
    pub ternary_crossbar_bytes: u32,
    /// Bits of hashes.
    pub hash_bits: u32,
    /// Instruction words, one for each action.
    pub instructions: u32,
    /// Arithmetic units for registers.
    pub register_alus: u32,
    /// Bits that each of them takes from the packet at once; it gives back as many or more.
    pub register_alu_bits: u32,
    /// Arithmetic units for counters and meters.
    pub counter_alus: u32,
}

/// Packet header vector.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    /// Bytes in all containers.
    pub bytes: u32,
    /// The number of these bytes that can be filled in practice.
    pub usable_bytes: u32,
}

/// Rows of a block of SRAM.
pub const SRAM_ROWS: u64 = 1024;
/// Bits of a row of SRAM.
pub const SRAM_ROW_BITS: u64 = 128;
/// Rows of a block of TCAM.
pub const TCAM_ROWS: u64 = 512;
/// Bits of a row of TCAM.
pub const TCAM_ROW_BITS: u64 = 44;

/// Machines that come with this crate: name and text.
const KNOWN: [(&str, &str); 2] = [
    ("tofino", include_str!("../machines/tofino.toml")),
    ("tofino2", include_str!("../machines/tofino2.toml")),
];

/// Why there is no machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineError {
    /// None has this name.
    Unknown(String),
    /// The text is not a machine's.
    Invalid(String),
}

impl fmt::Display for MachineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineError::Unknown(name) => {
                let known: Vec<&str> = Machine::names().collect();
                write!(formatter, "there is no chip `{name}`; known: {}", known.join(", "))
            }
            MachineError::Invalid(reason) => write!(formatter, "the chip is not described correctly: {reason}"),
        }
    }
}

impl std::error::Error for MachineError {}

impl Machine {
    /// The names of the machines that come with this crate.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }

    /// A machine that comes with this crate.
    ///
    /// # Errors
    /// When none has this name.
    pub fn named(name: &str) -> Result<Machine, MachineError> {
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        let (_, text) = known.ok_or_else(|| MachineError::Unknown(name.to_string()))?;
        Machine::parse(text)
    }

    /// Reads a description.
    ///
    /// # Errors
    /// When it is not one, with the place.
    pub fn parse(text: &str) -> Result<Machine, MachineError> {
        toml::from_str(text).map_err(|error| MachineError::Invalid(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_machines_can_be_read() {
        for name in Machine::names() {
            assert_eq!(Machine::named(name).expect("it is known").name, name);
        }
    }

    #[test]
    fn an_unknown_name_is_told_which_there_are() {
        let error = Machine::named("tofino9").expect_err("there is none");
        assert_eq!(error.to_string(), "there is no chip `tofino9`; known: tofino, tofino2");
    }
}
