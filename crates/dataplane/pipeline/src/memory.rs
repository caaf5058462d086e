//! The memory that a program's state needs, computed before any of it is allocated.
//!
//! All elements of registers, counters and meters count, whether packets use them or not, because that is not known in
//! advance. The system allocates memory on first use, so a sparsely used array takes little memory. Table entries
//! count when they are added.

use crate::error::{LoadError, ObjectKind};
use crate::load::{Options, counter_size, meter_size};
use forebay_ir::{Program, Table};
use forebay_jit::RegisterBanks;
use forebay_tables::{CounterArray, MeterArray};

/// Bytes of each entry: its place in the engine and in the lists of the control plane, with their room to grow.
const ENTRY_BYTES: u64 = 160;
/// Bytes of an entry's date and of what ends with the entry, if it may expire.
const EXPIRY_BYTES: u64 = 112;
/// Bytes of a word of an entry's key, or of its action's data.
const WORD_BYTES: u64 = 24;

/// The most objects that a message names.
const NAMED_MAX: usize = 3;

/// The memory that an object needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The kind of object.
    pub kind: ObjectKind,
    /// P4 name.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// The memory that each object of a program needs initially; tables with the entries of the program. `workers` is the
/// number of threads that count packets.
pub fn demands(program: &Program, workers: u32) -> Vec<Demand> {
    let demand = |kind, name: &String, bytes| Demand {
        kind,
        name: name.clone(),
        bytes,
    };
    let registers = program.registers.iter().zip(RegisterBanks::of(program).bytes(program));
    let registers = registers.map(|(register, bytes)| demand(ObjectKind::Register, &register.name, bytes));
    let counters = program.counters.iter().enumerate().map(|(index, counter)| {
        let bytes = counter_size(program, index).saturating_mul(CounterArray::ELEMENT_BYTES);
        demand(
            ObjectKind::Counter,
            &counter.name,
            bytes.saturating_mul(1 + u64::from(workers)),
        )
    });
    let meters = program.meters.iter().enumerate().map(|(index, meter)| {
        let bytes = meter_size(program, index).saturating_mul(MeterArray::ELEMENT_BYTES);
        demand(ObjectKind::Meter, &meter.name, bytes)
    });
    let tables = program
        .tables
        .iter()
        .zip(entry_bytes(program))
        .map(|(table, entry_bytes)| {
            let bytes = entry_bytes.saturating_mul(table.entries.len() as u64);
            demand(ObjectKind::Table, &table.name, bytes)
        });
    registers.chain(counters).chain(meters).chain(tables).collect()
}

/// The approximate bytes of an entry of each table.
pub(crate) fn entry_bytes(program: &Program) -> Vec<u64> {
    program
        .tables
        .iter()
        .map(|table| bytes_of_entry(program, table))
        .collect()
}

fn bytes_of_entry(program: &Program, table: &Table) -> u64 {
    let words = |bits: u32| u64::from(bits.div_ceil(u64::BITS)).max(1);
    let key: u64 = table.keys.iter().map(|key| words(key.width)).sum();
    let data = table.actions.iter().map(|listed| {
        let params = &program.actions[listed.action.index()].params;
        params.iter().map(|param| words(param.width)).sum::<u64>()
    });
    let expiry = if table.deletes_idle { EXPIRY_BYTES } else { 0 };
    ENTRY_BYTES + expiry + WORD_BYTES * (key + data.max().unwrap_or(0))
}

/// Bytes of the whole state. Refuses a program that needs more than the limit.
///
/// # Errors
/// If the program needs too much memory. The error names the largest objects.
pub(crate) fn check(program: &Program, options: &Options) -> Result<u64, LoadError> {
    let mut demands = demands(program, options.workers);
    let needed = demands
        .iter()
        .fold(0u64, |sum, demand| sum.saturating_add(demand.bytes));
    match options.memory_limit {
        Some(limit) if needed > limit => {
            demands.sort_by_key(|demand| std::cmp::Reverse(demand.bytes));
            demands.truncate(NAMED_MAX);
            Err(LoadError::TooMuchMemory {
                needed,
                limit,
                largest: demands,
            })
        }
        _ => Ok(needed),
    }
}

/// A number of bytes in readable form.
pub(crate) fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if value < 10.0 && unit > 0 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_readable() {
        assert_eq!(readable(0), "0 bytes");
        assert_eq!(readable(999), "999 bytes");
        assert_eq!(readable(1500), "1.5 kB");
        assert_eq!(readable(67_108_864), "67 MB");
        assert_eq!(readable(u64::MAX), "18446744 TB");
    }
}
