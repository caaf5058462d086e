//! The program in the form of p4c's JSON for BMv2, as far as clients of the interface read it: names, keys, widths.
//!
//! Clients ask for it before anything else, to know what they may write. Of a program that p4c has compiled they get
//! p4c's own.

use crate::key::match_type;
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::tables::TableType;
use forebay_protocol::p4::config::v1::match_field::MatchType;
use forebay_protocol::p4::config::v1::meter_spec::Unit;
use forebay_protocol::p4::config::v1::{MatchField, MeterSpec, Table};
use forebay_shell::catalog::Named;
use md5::{Digest, Md5};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

impl<S: Switch> Runtime<S> {
    /// The JSON.
    pub fn program_json(&self) -> Vec<u8> {
        let program = self.switch.program().unwrap_or_default();
        let blob = program.p4_device_config;
        match serde_json::from_slice::<Value>(&blob) {
            Ok(value) if value.get("pipelines").is_some() => blob,
            _ => self.described().to_string().into_bytes(),
        }
    }

    /// By which clients see whether they have the same program.
    pub fn program_md5(&self) -> Vec<u8> {
        Md5::digest(self.program_json()).to_vec()
    }

    fn described(&self) -> Value {
        let info = &self.catalog.info;
        let (header_types, headers) = headers(&info.tables);
        let actions = (0..).zip(&info.actions).map(|(id, action): (u32, _)| {
            let parameters = action.params.iter();
            let data = parameters.map(|field| json!({"name": field.name, "bitwidth": field.bitwidth}));
            json!({"name": action.name(), "id": id, "runtime_data": data.collect::<Vec<_>>(), "primitives": []})
        });
        let profiles = (0..).zip(&info.action_profiles).map(|(id, profile): (u32, _)| {
            let mut described = json!({"name": profile.name(), "id": id, "max_size": profile.size});
            if profile.with_selector {
                described["selector"] = json!({"algo": "crc16", "input": []});
            }
            described
        });
        let tables = (0..)
            .zip(&info.tables)
            .map(|(id, table)| self.described_table(id, table));
        let pipeline = json!({
            "name": "ingress",
            "id": 0,
            "init_table": null,
            "tables": tables.collect::<Vec<_>>(),
            "action_profiles": profiles.collect::<Vec<_>>(),
            "conditionals": [],
        });
        let registers = (0..).zip(&info.registers).map(|(id, register): (u32, _)| {
            let width = crate::arrays::width(register).map_or(0, |width| width.bits);
            json!({"name": register.name(), "id": id, "size": register.size, "bitwidth": width})
        });
        let sets = (0..).zip(&info.value_sets).map(|(id, set): (u32, _)| {
            let width: i32 = set.r#match.iter().map(|field| field.bitwidth).sum();
            json!({"name": set.name(), "id": id, "compressed_bitwidth": width, "max_size": set.size})
        });
        let digests = self.switch.digests();
        let lists = (1..)
            .zip(&digests)
            .map(|(id, name): (u32, _)| json!({"name": name, "id": id, "elements": []}));
        let calculations = self.switch.calculations();
        let calculations = (0..).zip(&calculations).map(|(id, calculation): (u32, _)| {
            json!({"name": calculation.name, "id": id, "algo": calculation.crc.name(), "input": []})
        });
        json!({
            "program": info.pkg_info.as_ref().map_or("", |package| &package.name),
            "__meta__": {"version": [2, 24], "compiler": "forebay"},
            "header_types": header_types,
            "headers": headers,
            "header_stacks": [],
            "parsers": [],
            "parse_vsets": sets.collect::<Vec<_>>(),
            "deparsers": [],
            "actions": actions.collect::<Vec<_>>(),
            "pipelines": [pipeline],
            "meter_arrays": self.described_meters(),
            "counter_arrays": self.described_counters(),
            "register_arrays": registers.collect::<Vec<_>>(),
            "calculations": calculations.collect::<Vec<_>>(),
            "checksums": [],
            "learn_lists": lists.collect::<Vec<_>>(),
            "field_lists": [],
            "errors": [],
            "enums": [],
        })
    }

    fn described_table(&self, id: u32, table: &Table) -> Value {
        let keys = table.match_fields.iter().map(|field| {
            let (header, name) = target(&self.catalog.info.tables, field);
            json!({
                "match_type": match_name(match_type(field)),
                "name": field.name,
                "target": [header, name],
                "mask": null,
            })
        });
        let actions = self.catalog.actions_of(table);
        let names: Vec<&str> = actions.iter().map(|action| action.name()).collect();
        let mut profiles = self.catalog.info.action_profiles.iter();
        let profile = profiles.find(|profile| profile.id() == table.implementation_id);
        let kind = match self.table_type(table) {
            TableType::Simple => "simple",
            TableType::Indirect => "indirect",
            TableType::IndirectWithSelector => "indirect_ws",
        };
        let counts = self.catalog.info.direct_counters.iter();
        let mut described = json!({
            "name": table.name(),
            "id": id,
            "key": keys.collect::<Vec<_>>(),
            "match_type": strongest(table),
            "type": kind,
            "max_size": table.size,
            "with_counters": counts.clone().any(|counter| counter.direct_table_id == table.id()),
            "support_timeout": table.idle_timeout_behavior != 0,
            "direct_meters": null,
            "actions": names,
        });
        if let Some(profile) = profile {
            described["action_profile"] = json!(profile.name());
        }
        described
    }

    fn described_counters(&self) -> Vec<Value> {
        let info = &self.catalog.info;
        let arrays = info
            .counters
            .iter()
            .map(|counter| json!({"name": counter.name(), "is_direct": false, "size": counter.size}));
        let direct = info.direct_counters.iter().map(|counter| {
            let table = self.catalog.table_by_id(counter.direct_table_id);
            json!({"name": counter.name(), "is_direct": true, "binding": table.map_or("", Named::name)})
        });
        numbered(arrays.chain(direct))
    }

    fn described_meters(&self) -> Vec<Value> {
        let info = &self.catalog.info;
        let arrays = info.meters.iter().map(|meter| {
            let unit = unit(meter.spec.as_ref());
            json!({"name": meter.name(), "is_direct": false, "size": meter.size, "type": unit, "rate_count": 2})
        });
        let direct = info.direct_meters.iter().map(|meter| {
            let table = self.catalog.table_by_id(meter.direct_table_id);
            let binding = table.map_or("", Named::name);
            let unit = unit(meter.spec.as_ref());
            json!({"name": meter.name(), "is_direct": true, "binding": binding, "type": unit, "rate_count": 2})
        });
        numbered(arrays.chain(direct))
    }
}

fn numbered(described: impl Iterator<Item = Value>) -> Vec<Value> {
    let with_id = |(id, mut value): (u32, Value)| {
        value["id"] = json!(id);
        value
    };
    (0..).zip(described).map(with_id).collect()
}

fn unit(spec: Option<&MeterSpec>) -> &'static str {
    match spec.map(MeterSpec::unit) {
        Some(Unit::Packets) => "packets",
        _ => "bytes",
    }
}

/// A key field as a header and its field.
fn place(field: &MatchField) -> (&str, &str) {
    field.name.rsplit_once('.').unwrap_or(("scalars", &field.name))
}

/// The same, with a header for each width where fields of several tables have one name and different widths.
fn target<'a>(tables: &[Table], field: &'a MatchField) -> (String, &'a str) {
    let (header, name) = place(field);
    let is_other = |other: &MatchField| place(other) == (header, name) && other.bitwidth != field.bitwidth;
    if tables.iter().flat_map(|table| &table.match_fields).any(is_other) {
        (format!("{header}_{}", field.bitwidth), name)
    } else {
        (header.to_string(), name)
    }
}

/// Header types and headers that have all the fields of keys.
fn headers(tables: &[Table]) -> (Vec<Value>, Vec<Value>) {
    let mut widths: Vec<(String, Map<String, Value>)> = Vec::new();
    for field in tables.iter().flat_map(|table| &table.match_fields) {
        let (header, name) = target(tables, field);
        let place = match widths.iter().position(|(known, _)| *known == header) {
            Some(place) => place,
            None => {
                widths.push((header, Map::new()));
                widths.len() - 1
            }
        };
        widths[place].1.insert(name.to_string(), json!(field.bitwidth));
    }
    let types = (0..).zip(&widths).map(|(id, (header, fields)): (u32, _)| {
        let fields: Vec<Value> = fields.iter().map(|(name, width)| json!([name, width, false])).collect();
        json!({"name": format!("{header}_t"), "id": id, "fields": fields})
    });
    let headers = (0..).zip(&widths).map(|(id, (header, _)): (u32, _)| {
        json!({"name": header, "id": id, "header_type": format!("{header}_t"), "metadata": false, "pi_omit": true})
    });
    (types.collect(), headers.collect())
}

pub(crate) fn match_name(kind: MatchType) -> &'static str {
    match kind {
        MatchType::Lpm => "lpm",
        MatchType::Ternary | MatchType::Optional => "ternary",
        MatchType::Range => "range",
        _ => "exact",
    }
}

/// The kind of a table is that of its most general field.
pub(crate) fn strongest(table: &Table) -> &'static str {
    let has = |wanted: &str| {
        table
            .match_fields
            .iter()
            .any(|field| match_name(match_type(field)) == wanted)
    };
    let mut kinds = ["range", "ternary", "lpm"].into_iter();
    kinds.find(|kind| has(kind)).unwrap_or("exact")
}

/// The numbers that the objects of a list have in a program's JSON, by name: `tables`, `counter_arrays`.
pub(crate) fn numbers(json: &[u8], list: &str) -> HashMap<String, i32> {
    let program: Value = serde_json::from_slice(json).unwrap_or_default();
    let listed = |value: &Value| value[list].as_array().cloned().unwrap_or_default();
    let pipelines = program["pipelines"].as_array().cloned().unwrap_or_default();
    let objects = pipelines.iter().flat_map(listed).chain(listed(&program));
    let mut numbers = HashMap::new();
    for object in objects {
        let number = object["id"].as_i64().and_then(|number| i32::try_from(number).ok());
        if let (Some(name), Some(number)) = (object["name"].as_str(), number) {
            numbers.entry(name.to_string()).or_insert(number);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_name_keep_their_widths() {
        let table = |width| Table {
            match_fields: vec![MatchField {
                name: "port".to_string(),
                bitwidth: width,
                ..MatchField::default()
            }],
            ..Table::default()
        };
        let tables = [table(9), table(32)];
        let names: Vec<(String, &str)> = tables
            .iter()
            .map(|known| target(&tables, &known.match_fields[0]))
            .collect();
        assert_eq!(
            names,
            [("scalars_9".to_string(), "port"), ("scalars_32".to_string(), "port")]
        );
        let (types, _) = headers(&tables);
        let fields: Vec<&Value> = types.iter().map(|described| &described["fields"][0]).collect();
        assert_eq!(fields, [&json!(["port", 9, false]), &json!(["port", 32, false])]);
        assert_eq!(target(&tables[..1], &tables[0].match_fields[0]).0, "scalars");
    }

    #[test]
    fn objects_have_the_numbers_of_the_json() {
        let json = br#"{"pipelines": [{"tables": [{"name": "a", "id": 4}]}, {"tables": [{"name": "b", "id": 0}, {}]}],
            "learn_lists": [{"name": "l", "id": 2}]}"#;
        let found = numbers(json, "tables");
        assert_eq!((found.len(), found["a"], found["b"]), (2, 4, 0));
        assert_eq!(numbers(json, "learn_lists")["l"], 2);
        assert!(numbers(b"", "tables").is_empty());
    }
}
