//! Action profiles, counters, meters, registers, value sets and digests.

use super::tables::{field_schema, id, name};
use super::value::Translations;
use super::{Field, differs};
use crate::data;
use crate::status::Error;
use forebay_ir::{Program, Unit};
use forebay_protocol::p4::config::v1::action_profile::SelectorSizeSemantics;
use forebay_protocol::p4::config::v1::meter_spec::Type as MeterType;
use forebay_protocol::p4::config::v1::{P4DataTypeSpec, P4Info, P4TypeInfo};
use std::collections::BTreeMap;

/// An action profile or selector.
#[derive(Debug)]
pub(crate) struct ProfileSchema {
    pub(crate) name: String,
    pub(crate) has_selector: bool,
    /// Largest group; 0 when the program does not say.
    pub(crate) max_group_size: i32,
    /// Largest weight of a member when sizes count members, 0 for any; none when sizes count weights.
    pub(crate) max_member_weight: Option<i32>,
    pub(crate) weights_disallowed: bool,
    /// Ids of the tables that use it.
    pub(crate) tables: Vec<u32>,
}

/// A counter array.
#[derive(Debug)]
pub(crate) struct CounterSchema {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) unit: Unit,
}

/// A meter array.
#[derive(Debug)]
pub(crate) struct MeterSchema {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) kind: MeterType,
}

/// A register array.
#[derive(Debug)]
pub(crate) struct RegisterSchema {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) width: u32,
    pub(crate) spec: P4DataTypeSpec,
}

/// A parser value set.
#[derive(Debug)]
pub(crate) struct ValueSetSchema {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) fields: Vec<Field>,
}

/// A kind of digest.
#[derive(Debug)]
pub(crate) struct DigestSchema {
    pub(crate) name: String,
    pub(crate) spec: P4DataTypeSpec,
}

pub(super) fn profiles(info: &P4Info, program: &Program) -> Result<BTreeMap<u32, ProfileSchema>, Error> {
    let profiles = info.action_profiles.iter().filter_map(|profile| {
        let name = name(&profile.preamble);
        program.action_profiles.iter().find(|known| known.name == name)?;
        let schema = ProfileSchema {
            name,
            has_selector: profile.with_selector,
            max_group_size: profile.max_group_size,
            max_member_weight: match &profile.selector_size_semantics {
                Some(SelectorSizeSemantics::SumOfMembers(sizes)) => Some(sizes.max_member_weight),
                _ => None,
            },
            weights_disallowed: profile.weights_disallowed,
            tables: profile.table_ids.clone(),
        };
        Some((id(&profile.preamble), schema))
    });
    Ok(profiles.collect())
}

pub(super) fn counters(info: &P4Info, program: &Program) -> Result<BTreeMap<u32, CounterSchema>, Error> {
    let counters = info.counters.iter().filter_map(|counter| {
        let name = name(&counter.preamble);
        let known = program.counters.iter().find(|known| known.name == name)?;
        let schema = known.size.map(|size| CounterSchema {
            name: name.clone(),
            size,
            unit: known.unit,
        });
        let schema = schema.ok_or_else(|| differs(format!("`{name}` is a direct counter")));
        Some(schema.map(|schema| (id(&counter.preamble), schema)))
    });
    counters.collect()
}

pub(super) fn meters(info: &P4Info, program: &Program) -> Result<BTreeMap<u32, MeterSchema>, Error> {
    let meters = info.meters.iter().filter_map(|meter| {
        let name = name(&meter.preamble);
        let known = program.meters.iter().find(|known| known.name == name)?;
        let schema = known.size.map(|size| MeterSchema {
            name: name.clone(),
            size,
            kind: meter.spec.unwrap_or_default().r#type(),
        });
        let schema = schema.ok_or_else(|| differs(format!("`{name}` is a direct meter")));
        Some(schema.map(|schema| (id(&meter.preamble), schema)))
    });
    meters.collect()
}

pub(super) fn registers(info: &P4Info, program: &Program) -> Result<BTreeMap<u32, RegisterSchema>, Error> {
    let none = P4TypeInfo::default();
    let types = info.type_info.as_ref().unwrap_or(&none);
    let registers = info.registers.iter().filter_map(|register| {
        let name = name(&register.preamble);
        let known = program.registers.iter().find(|known| known.name == name)?;
        let schema = RegisterSchema {
            name,
            size: known.size,
            width: known.width,
            spec: register.type_spec.clone().unwrap_or_default(),
        };
        Some(check_register(types, &schema).map(|()| (id(&register.preamble), schema)))
    });
    registers.collect()
}

/// An element has the bits of its type.
fn check_register(types: &P4TypeInfo, register: &RegisterSchema) -> Result<(), Error> {
    let widths = data::widths(types, &register.spec).unwrap_or_else(|| vec![None]);
    let says: u64 = widths.iter().flatten().map(|width| u64::from(*width)).sum();
    let has = u64::from(register.width);
    let is_whole = !widths.contains(&None);
    if says > has || (is_whole && says < has) {
        Err(differs(format!(
            "an element of register `{}` has {has} bits, not {says}",
            register.name
        )))
    } else {
        Ok(())
    }
}

pub(super) fn value_sets(
    info: &P4Info,
    program: &Program,
    translations: &Translations,
) -> Result<BTreeMap<u32, ValueSetSchema>, Error> {
    let sets = info.value_sets.iter().filter_map(|set| {
        let name = name(&set.preamble);
        let known = program.value_sets.iter().find(|known| known.name == name)?;
        if known.components.len() != set.r#match.len() {
            return Some(Err(differs(format!("value set `{name}` has other components"))));
        }
        let fields = set.r#match.iter().zip(&known.components);
        let fields = fields.map(|(field, component)| field_schema(&name, field, component.width, translations));
        let schema = fields.collect::<Result<Vec<_>, Error>>().map(|fields| ValueSetSchema {
            name: name.clone(),
            size: known.size,
            fields,
        });
        Some(schema.map(|schema| (id(&set.preamble), schema)))
    });
    sets.collect()
}

pub(super) fn digests(info: &P4Info, program: &Program) -> Result<BTreeMap<u32, DigestSchema>, Error> {
    let none = P4TypeInfo::default();
    let types = info.type_info.as_ref().unwrap_or(&none);
    let digests = info.digests.iter().filter_map(|digest| {
        let name = name(&digest.preamble);
        let known = program.digests.iter().find(|known| known.name == name)?;
        let schema = DigestSchema {
            name,
            spec: digest.type_spec.clone().unwrap_or_default(),
        };
        Some(check_digest(types, &schema, &known.fields).map(|()| (id(&digest.preamble), schema)))
    });
    digests.collect()
}

/// A message has the numbers of its type.
fn check_digest(types: &P4TypeInfo, digest: &DigestSchema, fields: &[(String, u32)]) -> Result<(), Error> {
    let Some(widths) = data::widths(types, &digest.spec) else {
        return Ok(());
    };
    if widths.len() != fields.len() {
        let (has, says) = (fields.len(), widths.len());
        return Err(differs(format!(
            "digest `{}` has {has} fields, not {says}",
            digest.name
        )));
    }
    for ((name, has), says) in fields.iter().zip(widths) {
        if let Some(says) = says.filter(|says| says != has) {
            return Err(differs(format!(
                "digest `{}`: `{name}` has {has} bits, not {says}",
                digest.name
            )));
        }
    }
    Ok(())
}
