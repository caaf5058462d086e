//! Whether a P4Info contradicts itself or the program in ids, match kinds, sizes and implementations (P4Runtime §14).
//! Names, numbers of fields and widths are looked at where schemas are made of them.

use super::differs;
use super::tables::{id, name};
use crate::status::Error;
use forebay_ir::{MatchKind, Program};
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::config::v1::{MatchField, P4Info, Preamble, Table};
use std::collections::BTreeMap;

/// Refuses a P4Info that cannot be that of the program.
///
/// # Errors
/// `INVALID_ARGUMENT`, with the object that differs.
pub(super) fn check(info: &P4Info, program: &Program) -> Result<(), Error> {
    check_ids(info)?;
    info.tables
        .iter()
        .try_for_each(|table| check_table(info, program, table))?;
    let sizes = (info.tables.iter().map(|table| (&table.preamble, table.size)))
        .chain(
            info.action_profiles
                .iter()
                .map(|profile| (&profile.preamble, profile.size)),
        )
        .chain(info.counters.iter().map(|counter| (&counter.preamble, counter.size)))
        .chain(info.meters.iter().map(|meter| (&meter.preamble, meter.size)))
        .chain(
            info.registers
                .iter()
                .map(|register| (&register.preamble, register.size.into())),
        );
    for (preamble, size) in sizes {
        if size < 0 {
            return Err(differs(format!("the size of `{}` is {size}", name(preamble))));
        }
    }
    Ok(())
}

/// Every object has an id, and no other has the same.
fn check_ids(info: &P4Info) -> Result<(), Error> {
    let objects = (info.tables.iter().map(|object| &object.preamble))
        .chain(info.actions.iter().map(|object| &object.preamble))
        .chain(info.action_profiles.iter().map(|object| &object.preamble))
        .chain(info.counters.iter().map(|object| &object.preamble))
        .chain(info.direct_counters.iter().map(|object| &object.preamble))
        .chain(info.meters.iter().map(|object| &object.preamble))
        .chain(info.direct_meters.iter().map(|object| &object.preamble))
        .chain(info.registers.iter().map(|object| &object.preamble))
        .chain(info.value_sets.iter().map(|object| &object.preamble))
        .chain(info.digests.iter().map(|object| &object.preamble));
    let mut seen: BTreeMap<u32, &Option<Preamble>> = BTreeMap::new();
    for preamble in objects {
        match id(preamble) {
            0 => return Err(differs(format!("`{}` has no id", name(preamble)))),
            number => {
                if let Some(other) = seen.insert(number, preamble) {
                    let (first, second) = (name(other), name(preamble));
                    return Err(differs(format!("`{first}` and `{second}` have the id {number:#010x}")));
                }
            }
        }
    }
    Ok(())
}

fn check_table(info: &P4Info, program: &Program, table: &Table) -> Result<(), Error> {
    let of = name(&table.preamble);
    for (index, field) in table.match_fields.iter().enumerate() {
        if table.match_fields[..index].iter().any(|earlier| earlier.id == field.id) {
            return Err(differs(format!(
                "table `{of}` has two match fields with id {}",
                field.id
            )));
        }
    }
    let Some(declared) = program.tables.iter().find(|known| known.name == of) else {
        return Ok(());
    };
    let keys = declared.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
    for (field, key) in table.match_fields.iter().zip(keys) {
        if !is_kind(field, key.match_kind) {
            return Err(differs(format!("table `{of}`: `{}` is matched otherwise", field.name)));
        }
    }
    if table.implementation_id == 0 {
        return Ok(());
    }
    let mut profiles = info.action_profiles.iter();
    let profile = profiles.find(|profile| id(&profile.preamble) == table.implementation_id);
    let implementation = declared.implementation;
    let implementation = implementation.map(|profile| &program.action_profiles[profile.index()].name);
    match profile.is_some_and(|profile| Some(&name(&profile.preamble)) == implementation) {
        true => Ok(()),
        false => Err(differs(format!("table `{of}` has another implementation"))),
    }
}

fn is_kind(field: &MatchField, kind: MatchKind) -> bool {
    let Some(Match::MatchType(given)) = field.r#match else {
        return true;
    };
    let expected = match kind {
        MatchKind::Exact => MatchType::Exact,
        MatchKind::Lpm => MatchType::Lpm,
        MatchKind::Ternary => MatchType::Ternary,
        MatchKind::Range => MatchType::Range,
        MatchKind::Optional => MatchType::Optional,
        _ => return true,
    };
    given == expected as i32
}
