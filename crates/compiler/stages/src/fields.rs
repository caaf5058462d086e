//! Header fields and metadata in the packet header vector.

use crate::units::Unit;
use forebay_ir::{Header, Program, SlotId, SlotKind};
use std::collections::BTreeSet;

/// Bytes of the fields that a control's units touch: of a header of which one field is touched, all, since the deparser
/// puts it together from there; of metadata, what is touched.
pub(crate) fn bytes(program: &Program, units: &[Unit]) -> u32 {
    let touched: BTreeSet<SlotId> = units
        .iter()
        .flat_map(|unit| unit.matches.iter().chain(&unit.reads).chain(&unit.writes).copied())
        .collect();
    let is_touched = |header: &&Header| header.fields.iter().any(|field| touched.contains(&field.slot));
    let headers = program.headers.iter().filter(is_touched);
    let header_bits = headers.map(|header| header.fields.iter().map(|field| bits(program, field.slot)).sum::<u32>());
    let metadata = touched.iter().filter(|slot| {
        !matches!(
            program.slot(**slot).kind,
            SlotKind::Field(_) | SlotKind::Valid(_) | SlotKind::VarbitLength(_)
        )
    });
    let header_bytes: u32 = header_bits.map(|bits| bits.div_ceil(8)).sum();
    let metadata_bytes: u32 = metadata.map(|slot| bits(program, *slot).div_ceil(8)).sum();
    header_bytes + metadata_bytes
}

fn bits(program: &Program, slot: SlotId) -> u32 {
    program.slot(slot).width
}
