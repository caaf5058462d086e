//! The P4Info of a program that came without one: ids, names and tables are those of the source's P4Info.

use forebay_bmv2::{Known, derive_p4info, read};
use forebay_driver::{Options, compile};
use forebay_p4info::model::{P4Info, Preamble, Table};
use forebay_syntax::source::MemorySources;
use std::collections::BTreeSet;

/// A program of `tests/bmv2`, in JSON and in P4.
struct Pair {
    name: &'static str,
    json: &'static str,
    source: &'static str,
}

macro_rules! pair {
    ($name:literal) => {
        Pair {
            name: $name,
            json: include_str!(concat!("../../../../tests/bmv2/", $name, ".json")),
            source: include_str!(concat!("../../../../tests/bmv2/", $name, ".p4")),
        }
    };
}

const PAIRS: [Pair; 4] = [pair!("routing"), pair!("tables"), pair!("traffic"), pair!("variable")];

const FRAME: &str = include_str!("../../../../tests/bmv2/frame.p4");

/// The P4Info that is derived from the JSON, and that of the source.
fn derived_and_compiled(pair: &Pair) -> (P4Info, P4Info) {
    let program = read(pair.json, &Known::default()).unwrap_or_else(|error| panic!("{}: {error}", pair.name));
    let sources = MemorySources::new()
        .with("frame.p4", FRAME)
        .with("program.p4", pair.source);
    let compiled = compile("program.p4", &Options::new(&sources));
    let compiled = compiled.p4info.expect("a program without errors");
    (derive_p4info(&program), compiled)
}

/// Ids and names of a P4Info's objects.
fn objects(info: &P4Info) -> Vec<(u32, String)> {
    let mut preambles: Vec<&Preamble> = Vec::new();
    preambles.extend(info.tables.iter().map(|table| &table.preamble));
    preambles.extend(info.actions.iter().map(|action| &action.preamble));
    preambles.extend(info.action_profiles.iter().map(|profile| &profile.preamble));
    preambles.extend(info.counters.iter().map(|counter| &counter.preamble));
    preambles.extend(info.direct_counters.iter().map(|counter| &counter.preamble));
    preambles.extend(info.meters.iter().map(|meter| &meter.preamble));
    preambles.extend(info.direct_meters.iter().map(|meter| &meter.preamble));
    preambles.extend(info.registers.iter().map(|register| &register.preamble));
    preambles.extend(info.value_sets.iter().map(|set| &set.preamble));
    let mut objects: Vec<_> = preambles
        .into_iter()
        .map(|preamble| (preamble.id, preamble.name.clone()))
        .collect();
    objects.sort();
    objects
}

#[test]
fn objects_are_those_of_the_source() {
    for pair in &PAIRS {
        let (derived, compiled) = derived_and_compiled(pair);
        assert_eq!(objects(&derived), objects(&compiled), "{}", pair.name);
    }
}

/// What entries of a table must fit: its name, its size, its match fields.
fn shape(table: &Table) -> (String, i64, Vec<(u32, String, i32)>) {
    let fields = table.match_fields.iter();
    let fields = fields.map(|field| (field.id, field.name.clone(), field.bitwidth));
    (table.preamble.name.clone(), table.size, fields.collect())
}

#[test]
fn tables_are_those_of_the_source() {
    for pair in &PAIRS {
        let (derived, compiled) = derived_and_compiled(pair);
        let shapes = |info: &P4Info| info.tables.iter().map(shape).collect::<BTreeSet<_>>();
        assert_eq!(shapes(&derived), shapes(&compiled), "{}", pair.name);
    }
}

/// A table with `@hidden` is in no P4Info. Its entries may have prefixes, of which the longest wins.
#[test]
fn a_table_that_the_p4info_leaves_out_may_match_prefixes() {
    let mut json: serde_json::Value = serde_json::from_str(PAIRS[0].json).expect("JSON");
    json["counter_arrays"] = serde_json::json!([]);
    let table = &mut json["pipelines"][0]["tables"][0];
    table["with_counters"] = false.into();
    table["default_entry"]["action_const"] = true.into();
    table["entries"] = serde_json::json!([{
        "match_key": [{"match_type": "lpm", "key": "0x0a000000", "prefix_length": 8}],
        "action_entry": {"action_id": 0, "action_data": []},
        "priority": 1,
    }]);
    let known = Known {
        is_given: true,
        ..Known::default()
    };
    let program = read(&json.to_string(), &known).unwrap_or_else(|error| panic!("{error}"));
    let tables: Vec<_> = program
        .tables
        .iter()
        .map(|table| (table.name.as_str(), table.is_hidden))
        .collect();
    assert_eq!(tables, [("RoutingIngress.ipv4_lpm", true)]);
}

/// Controllers of BMv2 know them by the numbers of the JSON, whatever action is translated first.
#[test]
fn digests_have_the_order_of_the_lists() {
    let mut json: serde_json::Value = serde_json::from_str(PAIRS[0].json).expect("JSON");
    let list = |id, name: &str, field: &str| {
        let element = serde_json::json!({"type": "field", "value": ["ipv4", field]});
        serde_json::json!({"id": id, "name": name, "elements": [element]})
    };
    json["learn_lists"] = serde_json::json!([list(1, "first_t", "ttl"), list(2, "second_t", "srcAddr")]);
    for (action, list) in [(0_usize, "0x1"), (1, "0x2")] {
        let number = |value: &str| serde_json::json!({"type": "hexstr", "value": value});
        let parameters = [number("0x7"), number(list)];
        let primitive = serde_json::json!({"op": "generate_digest", "parameters": parameters});
        let primitives = json["actions"][action]["primitives"].as_array_mut();
        primitives.expect("a list").push(primitive);
    }
    assert_eq!(
        json["pipelines"][0]["tables"][0]["action_ids"][0], 1,
        "the second is first"
    );
    let program = read(&json.to_string(), &Known::default()).unwrap_or_else(|error| panic!("{error}"));
    let digests: Vec<_> = program
        .digests
        .iter()
        .map(|digest| (digest.name.as_str(), digest.receiver, digest.fields[0].1))
        .collect();
    assert_eq!(digests, [("first_t", 7, 8), ("second_t", 7, 32)]);
}
