//! Counters, meters, registers, action profiles, digests.

use super::architecture::{ExternKind, SIZES};
use super::catalog::{Catalog, Digest};
use super::instance::{ExternObject, ObjectId};
use super::value::Value;
use super::{Context, annotation, types};
use forebay_check::annotations;
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{
    self, ActionProfile, Counter, CounterSpec, CounterUnit, DirectCounter, DirectMeter, Meter, MeterSpec, MeterType,
    MeterUnit, P4Info, P4NamedType, Preamble, Register, SelectorSizeSemantics, SumOfMembers, SumOfWeights,
};
use forebay_syntax::ast::Annotation;
use num_traits::ToPrimitive;
use std::rc::Rc;

/// Annotations of action selectors that have a field of their own.
const SELECTOR_ANNOTATIONS: &[&str] = &[
    "max_group_size",
    "selector_size_semantics",
    "max_member_weight",
    "weights_disallowed",
];

/// Adds the messages of all extern objects.
pub fn add_all(cx: &mut Context, catalog: &Catalog, info: &mut P4Info) {
    for (id, kind) in &catalog.externs {
        let object = catalog
            .instances
            .extern_object(*id)
            .expect("the catalog has extern objects only");
        match kind {
            ExternKind::Counter(index) => info.counters.push(counter(cx, catalog, *id, &object, *index)),
            ExternKind::Meter(index) => info.meters.push(meter(cx, catalog, *id, &object, *index)),
            ExternKind::Register(index) => info.registers.push(register(cx, catalog, *id, &object, *index)),
            ExternKind::DirectCounter => info.direct_counters.extend(direct_counter(cx, catalog, *id, &object)),
            ExternKind::DirectMeter => info.direct_meters.extend(direct_meter(cx, catalog, *id, &object)),
            ExternKind::ActionProfile => info
                .action_profiles
                .push(action_profile(cx, catalog, *id, &object, false)),
            ExternKind::ActionSelector => info
                .action_profiles
                .push(action_profile(cx, catalog, *id, &object, true)),
            ExternKind::Digest => info.digests.push(declared_digest(cx, catalog, *id, &object)),
        }
    }
}

fn preamble(cx: &Context, catalog: &Catalog, id: ObjectId, but: &[&str]) -> Preamble {
    let object = catalog.instances.get(id);
    let mut preamble = cx.symbols.preamble(catalog.externs[&id].symbol(), &object.name);
    annotation::annotate(&mut preamble, object.annotations, but);
    preamble
}

fn size<T: TryFrom<i64> + Default>(cx: &Context, object: &ExternObject) -> T {
    object
        .arg(SIZES)
        .and_then(|size| size.size(cx.program))
        .unwrap_or_default()
}

/// The name of the enum member for what is counted, in lower case.
fn unit(cx: &Context, object: &ExternObject) -> String {
    match object.arg(&["type"]) {
        Some(Value::Member(id, member)) => {
            let member = cx.program.enums[id.index()].members.get(*member);
            member.map_or_else(String::new, |(name, _)| name.to_lowercase())
        }
        _ => String::new(),
    }
}

fn counter_spec(cx: &Context, object: &ExternObject) -> CounterSpec {
    let unit = match unit(cx, object).as_str() {
        "packets" => CounterUnit::Packets,
        "bytes" => CounterUnit::Bytes,
        "packets_and_bytes" => CounterUnit::Both,
        _ => CounterUnit::Unspecified,
    };
    CounterSpec { unit }
}

fn meter_spec(cx: &Context, catalog: &Catalog, id: ObjectId, object: &ExternObject) -> MeterSpec {
    let unit = match unit(cx, object).as_str() {
        "packets" => MeterUnit::Packets,
        "bytes" => MeterUnit::Bytes,
        _ => MeterUnit::Unspecified,
    };
    let written = catalog.instances.get(id).annotations;
    let meter_type = if annotations::has(written, "single_rate_two_color") {
        MeterType::SingleRateTwoColor
    } else if annotations::has(written, "single_rate_three_color") {
        MeterType::SingleRateThreeColor
    } else {
        MeterType::TwoRateThreeColor
    };
    MeterSpec { unit, meter_type }
}

/// The type of the index, if the architecture lets the program choose it and the program declared it with `type`.
fn index_type(cx: &mut Context, object: &ExternObject, index: Option<usize>) -> Option<P4NamedType> {
    let ty = object.type_args.get(index?)?;
    types::describe(cx, ty);
    types::new_type_reference(cx.program, ty)
}

fn counter(cx: &mut Context, catalog: &Catalog, id: ObjectId, object: &ExternObject, index: Option<usize>) -> Counter {
    Counter {
        preamble: preamble(cx, catalog, id, &[]),
        spec: counter_spec(cx, object),
        size: size(cx, object),
        index_type_name: index_type(cx, object, index),
    }
}

fn meter(cx: &mut Context, catalog: &Catalog, id: ObjectId, object: &ExternObject, index: Option<usize>) -> Meter {
    Meter {
        preamble: preamble(cx, catalog, id, &[]),
        spec: meter_spec(cx, catalog, id, object),
        size: size(cx, object),
        index_type_name: index_type(cx, object, index),
    }
}

fn register(
    cx: &mut Context,
    catalog: &Catalog,
    id: ObjectId,
    object: &ExternObject,
    index: Option<usize>,
) -> Register {
    Register {
        preamble: preamble(cx, catalog, id, &[]),
        type_spec: object.type_args.first().and_then(|ty| types::describe(cx, ty)),
        size: size(cx, object),
        index_type_name: index_type(cx, object, index),
    }
}

/// The table that owns a direct object. Without an owner, the object cannot be reached.
fn owner(cx: &Context, catalog: &Catalog, id: ObjectId) -> Option<u32> {
    let table = catalog
        .tables
        .values()
        .find(|used| used.counter == Some(id) || used.meter == Some(id))?;
    Some(cx.symbols.id(SymbolKind::Table, &table.name))
}

fn direct_counter(cx: &Context, catalog: &Catalog, id: ObjectId, object: &ExternObject) -> Option<DirectCounter> {
    let direct_table_id = owner(cx, catalog, id)?;
    Some(DirectCounter {
        preamble: preamble(cx, catalog, id, &[]),
        spec: counter_spec(cx, object),
        direct_table_id,
    })
}

fn direct_meter(cx: &Context, catalog: &Catalog, id: ObjectId, object: &ExternObject) -> Option<DirectMeter> {
    let direct_table_id = owner(cx, catalog, id)?;
    Some(DirectMeter {
        preamble: preamble(cx, catalog, id, &[]),
        spec: meter_spec(cx, catalog, id, object),
        direct_table_id,
    })
}

fn action_profile(
    cx: &Context,
    catalog: &Catalog,
    id: ObjectId,
    object: &Rc<ExternObject>,
    with_selector: bool,
) -> ActionProfile {
    let annotations = catalog.instances.get(id).annotations;
    let tables = catalog.tables.values().filter(|used| used.implementation == Some(id));
    let (max_group_size, selector_size_semantics) = if with_selector {
        (number(annotations, "max_group_size"), size_semantics(annotations))
    } else {
        (0, None)
    };
    ActionProfile {
        preamble: preamble(cx, catalog, id, SELECTOR_ANNOTATIONS),
        table_ids: tables
            .map(|used| cx.symbols.id(SymbolKind::Table, &used.name))
            .collect(),
        with_selector,
        size: size(cx, object),
        max_group_size,
        selector_size_semantics,
        weights_disallowed: with_selector && annotations::has(annotations, "weights_disallowed"),
    }
}

fn number(written: &[Annotation], name: &str) -> i32 {
    annotations::int_arg(written, name)
        .and_then(|number| number.to_i32())
        .unwrap_or(0)
}

fn size_semantics(written: &[Annotation]) -> Option<SelectorSizeSemantics> {
    match annotations::string_arg(written, "selector_size_semantics")?
        .to_lowercase()
        .as_str()
    {
        "sum_of_weights" => Some(SelectorSizeSemantics::SumOfWeights(SumOfWeights {})),
        "sum_of_members" => {
            let max_member_weight = number(written, "max_member_weight");
            Some(SelectorSizeSemantics::SumOfMembers(SumOfMembers { max_member_weight }))
        }
        _ => None,
    }
}

fn declared_digest(cx: &mut Context, catalog: &Catalog, id: ObjectId, object: &ExternObject) -> model::Digest {
    let type_spec = object.type_args.first().and_then(|ty| types::describe(cx, ty));
    model::Digest {
        preamble: preamble(cx, catalog, id, &[]),
        type_spec,
    }
}

/// The digest that an extern function sends.
pub fn digest(cx: &mut Context, digest: &Digest) -> model::Digest {
    let type_spec = types::describe(cx, &digest.ty);
    model::Digest {
        preamble: cx.symbols.preamble(SymbolKind::Digest, &digest.name),
        type_spec,
    }
}
