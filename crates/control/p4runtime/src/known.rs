//! What a P4Info says of a program that its JSON does not.

use forebay_bmv2::{Known, KnownField, KnownTable};
use forebay_ir::{MatchKind, Unit};
use forebay_protocol::p4::config::v1::counter_spec;
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::config::v1::{CounterSpec, MatchField, P4Info, Preamble};

/// What a P4Info says of a program that was compiled for BMv2.
pub fn known(info: &P4Info) -> Known {
    let tables = info.tables.iter().map(|table| {
        let known = KnownTable {
            fields: table.match_fields.iter().map(field).collect(),
            entries_are_const: table.is_const_table || !table.has_initial_entries,
        };
        (name(&table.preamble), known)
    });
    let arrays = info.counters.iter().map(|counter| (&counter.preamble, counter.spec));
    let direct = info
        .direct_counters
        .iter()
        .map(|counter| (&counter.preamble, counter.spec));
    let value_sets = info.value_sets.iter();
    Known {
        is_given: *info != P4Info::default(),
        tables: tables.collect(),
        counters: arrays
            .chain(direct)
            .map(|(preamble, spec)| (name(preamble), unit(spec.unwrap_or_default())))
            .collect(),
        value_sets: value_sets
            .map(|set| (name(&set.preamble), set.r#match.iter().map(field).collect()))
            .collect(),
    }
}

fn name(preamble: &Option<Preamble>) -> String {
    preamble
        .as_ref()
        .map_or_else(String::new, |preamble| preamble.name.clone())
}

fn field(field: &MatchField) -> KnownField {
    let kind = match &field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(*kind).unwrap_or_default(),
        _ => MatchType::Unspecified,
    };
    KnownField {
        name: field.name.clone(),
        match_kind: match kind {
            MatchType::Lpm => MatchKind::Lpm,
            MatchType::Ternary => MatchKind::Ternary,
            MatchType::Range => MatchKind::Range,
            MatchType::Optional => MatchKind::Optional,
            MatchType::Exact | MatchType::Unspecified => MatchKind::Exact,
        },
    }
}

fn unit(spec: CounterSpec) -> Unit {
    match spec.unit() {
        counter_spec::Unit::Bytes => Unit::Bytes,
        counter_spec::Unit::Packets => Unit::Packets,
        counter_spec::Unit::Both | counter_spec::Unit::Unspecified => Unit::PacketsAndBytes,
    }
}
