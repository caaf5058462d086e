//! Whether a P4Info contradicts itself or the program in ids, match kinds, sizes and implementations (P4Runtime §14).
//! Names, numbers of fields and widths are looked at where schemas are made of them.

use super::differs;
use super::tables::{id, name};
use crate::status::Error;
use forebay_ir::{MatchKind, Program};
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::config::v1::p4_data_type_spec::TypeSpec;
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::p4_new_type_translation::SdnType;
use forebay_protocol::p4::config::v1::{
    ControllerPacketMetadata, MatchField, P4DataTypeSpec, P4Info, P4TypeInfo, Preamble, Table,
};
use std::collections::{BTreeMap, BTreeSet};

/// How deep types may be nested; programs need a few levels.
const DEPTH_MAX: u32 = 64;

/// Types and numbers of which a value consists; programs need a few hundred.
const PARTS_MAX: u64 = 1 << 16;

/// Bits of a number.
const WIDTH_MAX: i32 = 1 << 20;

/// Bits of a header between switch and controller: those of a packet.
const HEADER_BITS_MAX: i64 = 65_535 * 8;

/// Refuses a P4Info that cannot be that of the program.
///
/// # Errors
/// `INVALID_ARGUMENT`, with the object that differs.
pub(super) fn check(info: &P4Info, program: &Program) -> Result<(), Error> {
    check_ids(info)?;
    check_names("registers", info.registers.iter().map(|register| &register.preamble))?;
    check_names("digests", info.digests.iter().map(|digest| &digest.preamble))?;
    info.controller_packet_metadata.iter().try_for_each(check_header)?;
    check_types(info)?;
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

/// A header is part of a packet.
fn check_header(header: &ControllerPacketMetadata) -> Result<(), Error> {
    let widths = header.metadata.iter().map(|field| i64::from(field.bitwidth));
    if widths.clone().all(|width| width >= 0) && widths.sum::<i64>() <= HEADER_BITS_MAX {
        Ok(())
    } else {
        Err(differs(format!(
            "`{}` has widths that no header has",
            name(&header.preamble)
        )))
    }
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

/// No two of a kind have one name: each would be gone through with all of its type.
fn check_names<'a>(kind: &str, preambles: impl Iterator<Item = &'a Option<Preamble>>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for preamble in preambles {
        if !seen.insert(name(preamble)) {
            return Err(differs(format!("there are two {kind} `{}`", name(preamble))));
        }
    }
    Ok(())
}

/// A type that may hold others, by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder<'a> {
    Struct(&'a str),
    New(&'a str),
}

/// What a type or a value holds.
#[derive(Default)]
struct Held<'a> {
    holders: Vec<Holder<'a>>,
    numbers: u64,
}

/// How large a type is.
#[derive(Clone, Copy, Default)]
struct Size {
    depth: u32,
    parts: u64,
}

/// Numbers have a sensible width, no type holds itself, and values are not too large: they are gone through part by
/// part.
fn check_types(info: &P4Info) -> Result<(), Error> {
    let none = P4TypeInfo::default();
    let types = info.type_info.as_ref().unwrap_or(&none);
    for (name, spec) in &types.new_types {
        if let Some(Representation::TranslatedType(translation)) = &spec.representation
            && let Some(SdnType::SdnBitwidth(width)) = &translation.sdn_type
            && !(0..=WIDTH_MAX).contains(width)
        {
            return Err(differs(format!("type `{name}` has {width} bits")));
        }
    }
    let structs = types.structs.keys().map(|name| Holder::Struct(name));
    let new_types = types.new_types.keys().map(|name| Holder::New(name));
    let mut known = BTreeMap::new();
    for holder in structs.chain(new_types) {
        measure(types, holder, DEPTH_MAX, &mut known)?;
    }
    let registers = info.registers.iter().map(|of| (&of.preamble, &of.type_spec));
    let digests = info.digests.iter().map(|of| (&of.preamble, &of.type_spec));
    for (preamble, spec) in registers.chain(digests) {
        let mut held = Held::default();
        spec.iter().for_each(|spec| add_held(types, spec, &mut held));
        if measure_held(types, &held, DEPTH_MAX, &mut known)?.parts > PARTS_MAX {
            return Err(differs(format!(
                "the type of `{}` has more than {PARTS_MAX} parts",
                name(preamble)
            )));
        }
    }
    Ok(())
}

/// How large a type is; an error when that is too large, or it is nested more than `limit` times.
fn measure<'a>(
    types: &'a P4TypeInfo,
    holder: Holder<'a>,
    limit: u32,
    known: &mut BTreeMap<Holder<'a>, Size>,
) -> Result<Size, Error> {
    let (Holder::Struct(name) | Holder::New(name)) = holder;
    let mut size = known.get(&holder).copied().unwrap_or_default();
    if size.depth == 0 && limit > 0 {
        size = measure_held(types, &held_by(types, holder), limit - 1, known)?;
        size.depth += 1;
        known.insert(holder, size);
    }
    if !(1..=limit).contains(&size.depth) {
        return Err(differs(format!(
            "type `{name}` holds itself, or is nested more than {DEPTH_MAX} times"
        )));
    }
    if size.parts <= PARTS_MAX {
        Ok(size)
    } else {
        Err(differs(format!("type `{name}` has more than {PARTS_MAX} parts")))
    }
}

fn measure_held<'a>(
    types: &'a P4TypeInfo,
    held: &Held<'a>,
    limit: u32,
    known: &mut BTreeMap<Holder<'a>, Size>,
) -> Result<Size, Error> {
    let mut size = Size {
        depth: 0,
        parts: 1 + held.numbers,
    };
    for holder in &held.holders {
        let of_holder = measure(types, *holder, limit, known)?;
        size.depth = size.depth.max(of_holder.depth);
        size.parts += of_holder.parts;
    }
    Ok(size)
}

fn held_by<'a>(types: &'a P4TypeInfo, holder: Holder<'a>) -> Held<'a> {
    let mut held = Held::default();
    match holder {
        Holder::Struct(name) => {
            let members = types.structs.get(name).into_iter().flat_map(|spec| &spec.members);
            let specs = members.filter_map(|member| member.type_spec.as_ref());
            specs.for_each(|spec| add_held(types, spec, &mut held));
        }
        Holder::New(name) => {
            let representation = types.new_types.get(name).and_then(|spec| spec.representation.as_ref());
            if let Some(Representation::OriginalType(spec)) = representation {
                add_held(types, spec, &mut held);
            }
        }
    }
    held
}

fn add_held<'a>(types: &P4TypeInfo, spec: &'a P4DataTypeSpec, held: &mut Held<'a>) {
    match &spec.type_spec {
        Some(TypeSpec::Struct(name)) => held.holders.push(Holder::Struct(&name.name)),
        Some(TypeSpec::NewType(name)) => held.holders.push(Holder::New(&name.name)),
        Some(TypeSpec::Tuple(tuple)) => tuple.members.iter().for_each(|member| add_held(types, member, held)),
        Some(TypeSpec::Header(name)) => {
            held.numbers += types.headers.get(&name.name).map_or(0, |spec| spec.members.len()) as u64;
        }
        _ => held.numbers += 1,
    }
}

fn check_table(info: &P4Info, program: &Program, table: &Table) -> Result<(), Error> {
    let of = name(&table.preamble);
    let mut seen = BTreeSet::new();
    for field in &table.match_fields {
        if !seen.insert(field.id) {
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
    if profile.is_some_and(|profile| Some(&name(&profile.preamble)) == implementation) {
        Ok(())
    } else {
        Err(differs(format!("table `{of}` has another implementation")))
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
