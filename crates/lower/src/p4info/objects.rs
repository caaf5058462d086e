//! Extern objects, value sets and digests.

use super::{Builder, actions, annotations, tables, types};
use crate::context::Instance;
use forebay_check::annotations as written;
use forebay_check::hir;
use forebay_ir::{self as ir, Unit};
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{
    ActionProfile, Counter, CounterSpec, CounterUnit, Digest, DirectCounter, DirectMeter, Match, MatchField, MatchType,
    Meter, MeterSpec, MeterUnit, Preamble, Register, SelectorSizeSemantics, SumOfMembers, SumOfWeights, ValueSet,
};
use num_traits::ToPrimitive;
use std::collections::HashSet;

/// Annotations that an action profile's own fields represent.
const PROFILE_ANNOTATIONS: &[&str] = &["max_group_size", "selector_size_semantics", "max_member_weight"];

fn preamble(builder: &Builder, kind: SymbolKind, name: &str, origin: &Instance) -> Preamble {
    annotations::annotate(builder.symbols.preamble(kind, name), &origin.annotations, &[])
}

/// Action profiles and selectors.
pub fn action_profiles(builder: &mut Builder) -> Vec<ActionProfile> {
    let program = &builder.cx.program;
    let pairs = program
        .action_profiles
        .iter()
        .zip(&builder.cx.origins.action_profiles)
        .enumerate();
    pairs
        .map(|(index, (profile, origin))| describe_profile(builder, index, profile, origin))
        .collect()
}

fn describe_profile(builder: &Builder, index: usize, profile: &ir::ActionProfile, origin: &Instance) -> ActionProfile {
    let name = builder.symbols.preamble(SymbolKind::ActionProfile, &profile.name);
    let users = builder
        .cx
        .program
        .tables
        .iter()
        .filter(|table| table.implementation == Some(ir::ActionProfileId(index as u32)));
    let with_selector = profile.selector.is_some();
    let number = |name| {
        written::int_arg(&origin.annotations, name)
            .and_then(|number| number.to_i32())
            .unwrap_or(0)
    };
    ActionProfile {
        preamble: annotations::annotate(name, &origin.annotations, PROFILE_ANNOTATIONS),
        table_ids: users
            .map(|table| builder.symbols.id(SymbolKind::Table, &table.name))
            .collect(),
        with_selector,
        size: profile.size as i64,
        max_group_size: if with_selector { number("max_group_size") } else { 0 },
        selector_size_semantics: size_semantics(origin, number("max_member_weight")).filter(|_| with_selector),
        ..ActionProfile::default()
    }
}

fn size_semantics(origin: &Instance, max_member_weight: i32) -> Option<SelectorSizeSemantics> {
    let text = written::string_arg(&origin.annotations, "selector_size_semantics")?;
    match text.to_lowercase().as_str() {
        "sum_of_weights" => Some(SelectorSizeSemantics::SumOfWeights(SumOfWeights {})),
        "sum_of_members" => Some(SelectorSizeSemantics::SumOfMembers(SumOfMembers { max_member_weight })),
        _ => None,
    }
}

fn counter_spec(unit: Unit) -> CounterSpec {
    let unit = match unit {
        Unit::Packets => CounterUnit::Packets,
        Unit::Bytes => CounterUnit::Bytes,
        Unit::PacketsAndBytes => CounterUnit::Both,
    };
    CounterSpec { unit }
}

/// Counter arrays.
pub fn counters(builder: &mut Builder) -> Vec<Counter> {
    let pairs = builder.cx.program.counters.iter().zip(&builder.cx.origins.counters);
    let arrays = pairs.filter_map(|(counter, origin)| {
        let size = counter.size? as i64;
        let preamble = preamble(builder, SymbolKind::Counter, &counter.name, origin);
        Some(Counter {
            preamble,
            spec: counter_spec(counter.unit),
            size,
            ..Counter::default()
        })
    });
    arrays.collect()
}

/// Direct counters that a table has.
pub fn direct_counters(builder: &mut Builder) -> Vec<DirectCounter> {
    let tables = builder.cx.program.tables.iter();
    let described = tables.filter_map(|table| {
        let index = table.direct_counter?.index();
        let counter = &builder.cx.program.counters[index];
        Some(DirectCounter {
            preamble: preamble(
                builder,
                SymbolKind::DirectCounter,
                &counter.name,
                &builder.cx.origins.counters[index],
            ),
            spec: counter_spec(counter.unit),
            direct_table_id: builder.symbols.id(SymbolKind::Table, &table.name),
        })
    });
    described.collect()
}

fn meter_spec(unit: Unit) -> MeterSpec {
    let unit = match unit {
        Unit::Bytes => MeterUnit::Bytes,
        Unit::Packets | Unit::PacketsAndBytes => MeterUnit::Packets,
    };
    MeterSpec {
        unit,
        ..MeterSpec::default()
    }
}

/// Meter arrays.
pub fn meters(builder: &mut Builder) -> Vec<Meter> {
    let pairs = builder.cx.program.meters.iter().zip(&builder.cx.origins.meters);
    let arrays = pairs.filter_map(|(meter, origin)| {
        let size = meter.size? as i64;
        let preamble = preamble(builder, SymbolKind::Meter, &meter.name, origin);
        Some(Meter {
            preamble,
            spec: meter_spec(meter.unit),
            size,
            ..Meter::default()
        })
    });
    arrays.collect()
}

/// Direct meters that a table has.
pub fn direct_meters(builder: &mut Builder) -> Vec<DirectMeter> {
    let tables = builder.cx.program.tables.iter();
    let described = tables.filter_map(|table| {
        let index = table.direct_meter?.meter.index();
        let meter = &builder.cx.program.meters[index];
        Some(DirectMeter {
            preamble: preamble(
                builder,
                SymbolKind::DirectMeter,
                &meter.name,
                &builder.cx.origins.meters[index],
            ),
            spec: meter_spec(meter.unit),
            direct_table_id: builder.symbols.id(SymbolKind::Table, &table.name),
        })
    });
    described.collect()
}

/// Registers.
pub fn registers(builder: &mut Builder) -> Vec<Register> {
    let mut registers = Vec::new();
    for index in 0..builder.cx.program.registers.len() {
        let element = builder.cx.origins.registers[index]
            .type_args
            .first()
            .cloned()
            .unwrap_or(hir::Type::Unknown);
        let type_spec = types::specification(builder, &element);
        let register = &builder.cx.program.registers[index];
        registers.push(Register {
            preamble: preamble(
                builder,
                SymbolKind::Register,
                &register.name,
                &builder.cx.origins.registers[index],
            ),
            type_spec,
            size: i32::try_from(register.size).unwrap_or(i32::MAX),
            ..Register::default()
        });
    }
    registers
}

/// Digests: one for each type of data.
pub fn digests(builder: &mut Builder) -> Vec<Digest> {
    let mut described = HashSet::new();
    let mut digests = Vec::new();
    for index in 0..builder.cx.program.digests.len() {
        let name = builder.cx.program.digests[index].name.clone();
        if !described.insert(name.clone()) {
            continue;
        }
        let data = builder.cx.origins.digests[index].clone();
        let type_spec = types::specification(builder, &data);
        digests.push(Digest {
            preamble: builder.symbols.preamble(SymbolKind::Digest, &name),
            type_spec,
        });
    }
    digests
}

/// Value sets of parsers.
pub fn value_sets(builder: &mut Builder) -> Vec<ValueSet> {
    let hir = builder.cx.hir;
    let mut sets = Vec::new();
    for index in 0..builder.cx.program.value_sets.len() {
        let set = builder.cx.program.value_sets[index].clone();
        let (origin, element) = builder.cx.origins.value_sets[index].clone();
        let origin = &hir.value_sets[origin.index()];
        let name = builder.symbols.preamble(SymbolKind::ValueSet, &set.name);
        let match_fields = match &element {
            hir::Type::Enum(id) if hir.enums[id.index()].representation.is_some() => {
                enum_components(builder, &hir.enums[id.index()], &element)
            }
            _ => components(builder, &set, &element, origin),
        };
        sets.push(ValueSet {
            preamble: annotations::annotate(name, &origin.annotations, &[]),
            match_fields,
            size: i32::try_from(set.size).unwrap_or(i32::MAX),
        });
    }
    sets
}

fn components(
    builder: &mut Builder,
    set: &ir::ValueSet,
    element: &hir::Type,
    origin: &hir::ValueSet,
) -> Vec<MatchField> {
    let hir = builder.cx.hir;
    let fields: &[hir::Field] = match element {
        hir::Type::Composite(id, _) => &hir.composites[id.index()].fields,
        _ => &[],
    };
    let user: Vec<_> = match fields.is_empty() {
        true => vec![None; set.components.len()],
        false => fields.iter().map(|field| annotations::id(&field.annotations)).collect(),
    };
    let ids = actions::numbers(builder, &user, origin.span);
    let pairs = set.components.iter().zip(ids).enumerate();
    let field = |(index, (component, id)): (usize, (&ir::ValueSetComponent, u32))| {
        let written = fields.get(index).map_or(&[][..], |field| &field.annotations);
        MatchField {
            id,
            name: component.name.clone(),
            bitwidth: component.width as i32,
            annotations: annotations::texts(written, &["match"]),
            structured_annotations: annotations::structured(written),
            doc: annotations::documentation(written),
            match_kind: tables::match_type(component.match_kind).map(Match::MatchType),
            ..MatchField::default()
        }
    };
    pairs.map(field).collect()
}

/// p4c describes a value set of an enum as one field for each member; controllers know it so.
fn enum_components(builder: &Builder, declaration: &hir::Enum, element: &hir::Type) -> Vec<MatchField> {
    let bitwidth = types::width(builder.cx, element);
    let members = declaration.members.iter().zip(1..);
    let field = |((name, _), id): (&(String, _), u32)| MatchField {
        id,
        name: name.clone(),
        bitwidth,
        match_kind: Some(Match::MatchType(MatchType::Exact)),
        ..MatchField::default()
    };
    members.map(field).collect()
}
