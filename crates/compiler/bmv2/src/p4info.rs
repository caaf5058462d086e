//! A P4Info for a program that came without one: ids by p4c's rules, names as the program has them.
//!
//! Of a JSON not everything can be known: see the first page of the crate. Headers of packets between switch and
//! controller are those named `packet_in` and `packet_out`, as programs call them by custom.

use forebay_bits::Bits;
use forebay_ir::{self as ir, MatchKind, Program, Unit};
use forebay_p4info::ids::{SymbolKind, SymbolTable, Symbols};
use forebay_p4info::model::*;

/// The architecture that programs are for.
const ARCHITECTURE: &str = "v1model";

/// Headers of packets to controllers, and from them.
const CONTROLLER_HEADERS: &[&str] = &["packet_in", "packet_out"];

/// A P4Info of a program.
pub fn derive(program: &Program) -> P4Info {
    let symbols = symbols(program);
    let digests = distinct(&program.digests, |digest| &digest.name);
    P4Info {
        pkg_info: Some(PkgInfo {
            arch: ARCHITECTURE.to_owned(),
            ..PkgInfo::default()
        }),
        tables: program
            .tables
            .iter()
            .map(|table| self::table(program, &symbols, table))
            .collect(),
        actions: distinct(&program.actions, |action| &action.name)
            .into_iter()
            .map(|action| self::action(&symbols, action))
            .collect(),
        action_profiles: profiles(program, &symbols),
        counters: counters(program, &symbols),
        direct_counters: direct_counters(program, &symbols),
        meters: meters(program, &symbols),
        direct_meters: direct_meters(program, &symbols),
        controller_packet_metadata: controller_headers(program, &symbols),
        value_sets: program.value_sets.iter().map(|set| value_set(&symbols, set)).collect(),
        registers: program
            .registers
            .iter()
            .map(|array| register(&symbols, array))
            .collect(),
        digests: digests.iter().map(|digest| self::digest(&symbols, digest)).collect(),
        type_info: (!digests.is_empty()).then(|| P4TypeInfo {
            structs: digests
                .iter()
                .map(|digest| (digest.name.clone(), structure(digest)))
                .collect(),
            ..P4TypeInfo::default()
        }),
        ..P4Info::default()
    }
}

/// The first of those with the same name.
fn distinct<T>(all: &[T], name: impl Fn(&T) -> &String) -> Vec<&T> {
    let is_first = |index: usize, item: &T| all[..index].iter().all(|other| name(other) != name(item));
    let first = all.iter().enumerate().filter(|(index, item)| is_first(*index, item));
    first.map(|(_, item)| item).collect()
}

fn symbols(program: &Program) -> Symbols {
    let mut table = SymbolTable::new();
    let mut add = |kind: SymbolKind, name: &str| table.add(kind, name, None);
    program
        .tables
        .iter()
        .for_each(|item| add(SymbolKind::Table, &item.name));
    program
        .actions
        .iter()
        .for_each(|item| add(SymbolKind::Action, &item.name));
    program
        .action_profiles
        .iter()
        .for_each(|item| add(SymbolKind::ActionProfile, &item.name));
    for counter in &program.counters {
        let kind = counter.size.map_or(SymbolKind::DirectCounter, |_| SymbolKind::Counter);
        add(kind, &counter.name);
    }
    for meter in &program.meters {
        let kind = meter.size.map_or(SymbolKind::DirectMeter, |_| SymbolKind::Meter);
        add(kind, &meter.name);
    }
    program
        .registers
        .iter()
        .for_each(|item| add(SymbolKind::Register, &item.name));
    program
        .value_sets
        .iter()
        .for_each(|item| add(SymbolKind::ValueSet, &item.name));
    program
        .digests
        .iter()
        .for_each(|item| add(SymbolKind::Digest, &item.name));
    CONTROLLER_HEADERS
        .iter()
        .for_each(|name| add(SymbolKind::ControllerHeader, name));
    table
        .assign()
        .expect("names without ids of their own can always be numbered")
}

fn table(program: &Program, symbols: &Symbols, table: &ir::Table) -> Table {
    let default = default_action(program, symbols, table);
    let counter = table.direct_counter.map(|counter| {
        let name = &program.counters[counter.index()].name;
        symbols.id(SymbolKind::DirectCounter, name)
    });
    let meter = table.direct_meter.map(|direct| {
        let name = &program.meters[direct.meter.index()].name;
        symbols.id(SymbolKind::DirectMeter, name)
    });
    let implementation = table.implementation.map(|profile| {
        let name = &program.action_profiles[profile.index()].name;
        symbols.id(SymbolKind::ActionProfile, name)
    });
    let matched = table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
    Table {
        preamble: symbols.preamble(SymbolKind::Table, &table.name),
        match_fields: matched
            .zip(1..)
            .map(|(key, id)| match_field(id, &key.name, key.width, key.match_kind))
            .collect(),
        action_refs: table
            .actions
            .iter()
            .map(|listed| action_ref(program, symbols, listed))
            .collect(),
        const_default_action_id: if table.default_is_const { default.action_id } else { 0 },
        initial_default_action: Some(default),
        implementation_id: implementation.unwrap_or(0),
        direct_resource_ids: counter.into_iter().chain(meter).collect(),
        size: table.size as i64,
        idle_timeout_behavior: if table.supports_timeout {
            IdleTimeoutBehavior::NotifyControl
        } else {
            IdleTimeoutBehavior::NoTimeout
        },
        is_const_table: table.entries_are_const,
        has_initial_entries: !table.entries.is_empty(),
        ..Table::default()
    }
}

fn match_field(id: u32, name: &str, width: u32, kind: MatchKind) -> MatchField {
    let match_type = match kind {
        MatchKind::Exact | MatchKind::Selector => MatchType::Exact,
        MatchKind::Lpm => MatchType::Lpm,
        MatchKind::Ternary => MatchType::Ternary,
        MatchKind::Range => MatchType::Range,
        MatchKind::Optional => MatchType::Optional,
    };
    MatchField {
        id,
        name: name.to_owned(),
        bitwidth: width as i32,
        match_kind: Some(Match::MatchType(match_type)),
        ..MatchField::default()
    }
}

fn action_ref(program: &Program, symbols: &Symbols, listed: &ir::TableAction) -> ActionRef {
    let name = &program.actions[listed.action.index()].name;
    let (scope, annotations) = match (listed.table_only, listed.default_only) {
        (true, _) => (Scope::TableOnly, vec!["@tableonly".to_owned()]),
        (_, true) => (Scope::DefaultOnly, vec!["@defaultonly".to_owned()]),
        _ => (Scope::TableAndDefault, Vec::new()),
    };
    ActionRef {
        id: symbols.id(SymbolKind::Action, name),
        annotations,
        scope,
        ..ActionRef::default()
    }
}

fn default_action(program: &Program, symbols: &Symbols, table: &ir::Table) -> TableActionCall {
    let listed = &table.actions[table.default_action.action as usize];
    let arguments = table
        .default_action
        .args
        .iter()
        .zip(1..)
        .map(|(value, param_id)| Argument {
            param_id,
            value: Bytes(shortest(value)),
        });
    TableActionCall {
        action_id: symbols.id(SymbolKind::Action, &program.actions[listed.action.index()].name),
        arguments: arguments.collect(),
    }
}

/// Without leading zeros, as P4Runtime writes numbers.
fn shortest(value: &Bits) -> Vec<u8> {
    let bytes = value.to_bytes_be();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes[zeros.min(bytes.len().saturating_sub(1))..].to_vec()
}

fn action(symbols: &Symbols, action: &ir::Action) -> Action {
    let params = action.params.iter().zip(1..).map(|(param, id)| Param {
        id,
        name: param.name.clone(),
        bitwidth: param.width as i32,
        ..Param::default()
    });
    Action {
        preamble: symbols.preamble(SymbolKind::Action, &action.name),
        params: params.collect(),
    }
}

fn profiles(program: &Program, symbols: &Symbols) -> Vec<ActionProfile> {
    let profiles = program.action_profiles.iter().enumerate().map(|(index, profile)| {
        let users = program
            .tables
            .iter()
            .filter(|table| table.implementation.is_some_and(|id| id.index() == index));
        ActionProfile {
            preamble: symbols.preamble(SymbolKind::ActionProfile, &profile.name),
            table_ids: users.map(|table| symbols.id(SymbolKind::Table, &table.name)).collect(),
            with_selector: profile.selector.is_some(),
            size: profile.size as i64,
            ..ActionProfile::default()
        }
    });
    profiles.collect()
}

fn counter_spec(unit: Unit) -> CounterSpec {
    CounterSpec {
        unit: match unit {
            Unit::Packets => CounterUnit::Packets,
            Unit::Bytes => CounterUnit::Bytes,
            Unit::PacketsAndBytes => CounterUnit::Both,
        },
    }
}

fn meter_spec(unit: Unit) -> MeterSpec {
    MeterSpec {
        unit: match unit {
            Unit::Packets => MeterUnit::Packets,
            Unit::Bytes | Unit::PacketsAndBytes => MeterUnit::Bytes,
        },
        ..MeterSpec::default()
    }
}

fn counters(program: &Program, symbols: &Symbols) -> Vec<Counter> {
    let arrays = program.counters.iter().filter_map(|counter| {
        Some(Counter {
            preamble: symbols.preamble(SymbolKind::Counter, counter.size.map(|_| &counter.name)?),
            spec: counter_spec(counter.unit),
            size: counter.size? as i64,
            ..Counter::default()
        })
    });
    arrays.collect()
}

fn direct_counters(program: &Program, symbols: &Symbols) -> Vec<DirectCounter> {
    let attached = program.tables.iter().filter_map(|table| {
        let counter = &program.counters[table.direct_counter?.index()];
        Some(DirectCounter {
            preamble: symbols.preamble(SymbolKind::DirectCounter, &counter.name),
            spec: counter_spec(counter.unit),
            direct_table_id: symbols.id(SymbolKind::Table, &table.name),
        })
    });
    attached.collect()
}

fn meters(program: &Program, symbols: &Symbols) -> Vec<Meter> {
    let arrays = program.meters.iter().filter_map(|meter| {
        Some(Meter {
            preamble: symbols.preamble(SymbolKind::Meter, meter.size.map(|_| &meter.name)?),
            spec: meter_spec(meter.unit),
            size: meter.size? as i64,
            ..Meter::default()
        })
    });
    arrays.collect()
}

fn direct_meters(program: &Program, symbols: &Symbols) -> Vec<DirectMeter> {
    let attached = program.tables.iter().filter_map(|table| {
        let meter = &program.meters[table.direct_meter?.meter.index()];
        Some(DirectMeter {
            preamble: symbols.preamble(SymbolKind::DirectMeter, &meter.name),
            spec: meter_spec(meter.unit),
            direct_table_id: symbols.id(SymbolKind::Table, &table.name),
        })
    });
    attached.collect()
}

fn controller_headers(program: &Program, symbols: &Symbols) -> Vec<ControllerPacketMetadata> {
    let named = CONTROLLER_HEADERS.iter().filter_map(|name| {
        let header = program.headers.iter().find(|header| header.name == *name)?;
        let fields = header.fields.iter().zip(1..).map(|(field, id)| Metadata {
            id,
            name: field.name.clone(),
            bitwidth: program.slot(field.slot).width as i32,
            ..Metadata::default()
        });
        Some(ControllerPacketMetadata {
            preamble: symbols.preamble(SymbolKind::ControllerHeader, name),
            metadata: fields.collect(),
        })
    });
    named.collect()
}

fn value_set(symbols: &Symbols, set: &ir::ValueSet) -> ValueSet {
    let fields = set.components.iter().zip(1..);
    ValueSet {
        preamble: symbols.preamble(SymbolKind::ValueSet, &set.name),
        match_fields: fields
            .map(|(field, id)| match_field(id, &field.name, field.width, field.match_kind))
            .collect(),
        size: set.size.min(i32::MAX as u64) as i32,
    }
}

fn register(symbols: &Symbols, array: &ir::Register) -> Register {
    Register {
        preamble: symbols.preamble(SymbolKind::Register, &array.name),
        type_spec: Some(bits(array.width)),
        size: array.size.min(i32::MAX as u64) as i32,
        ..Register::default()
    }
}

fn bits(width: u32) -> P4DataTypeSpec {
    let bit = P4BitTypeSpec { bitwidth: width as i32 };
    P4DataTypeSpec {
        type_spec: Some(DataType::Bitstring(P4BitstringLikeTypeSpec {
            type_spec: Some(Bitstring::Bit(bit)),
            ..P4BitstringLikeTypeSpec::default()
        })),
    }
}

fn digest(symbols: &Symbols, digest: &ir::Digest) -> Digest {
    let name = digest.name.clone();
    Digest {
        preamble: symbols.preamble(SymbolKind::Digest, &digest.name),
        type_spec: Some(P4DataTypeSpec {
            type_spec: Some(DataType::Struct(P4NamedType { name })),
        }),
    }
}

/// The struct that a digest sends.
fn structure(digest: &ir::Digest) -> P4StructTypeSpec {
    let members = digest.fields.iter().map(|(name, width)| StructMember {
        name: name.clone(),
        type_spec: Some(bits(*width)),
    });
    P4StructTypeSpec {
        members: members.collect(),
        ..P4StructTypeSpec::default()
    }
}
