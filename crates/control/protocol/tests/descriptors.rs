//! Our `.proto` files say of every message, field, enumeration and call what the protocol's own package says.
//!
//! Fields of our own begin with `forebay_` and have numbers from 1,000 on, far from those of the protocol.
//!
//! `record_descriptors.py` has written what `p4runtime` 1.6.0 on PyPI says to `p4runtime_descriptors.json`, and what
//! finsy 0.30 says of gNMI to `gnmi_descriptors.json`.

use prost_reflect::{Cardinality, DescriptorPool, EnumDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

const PACKAGES: &[&str] = &["p4.v1", "p4.config.v1", "google.rpc", "gnmi"];

fn is_ours(package: &str) -> bool {
    PACKAGES.contains(&package)
}

fn field_type(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => message.full_name().to_string(),
        Kind::Enum(enumeration) => enumeration.full_name().to_string(),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

fn message(message: &MessageDescriptor) -> Value {
    let (own, fields): (Vec<_>, Vec<_>) = message.fields().partition(|field| field.name().starts_with("forebay_"));
    assert!(own.iter().all(|field| field.number() >= 1_000), "{own:?}");
    let fields = fields.into_iter().map(|field| {
        let oneof = field.containing_oneof().map(|oneof| oneof.name().to_string());
        let description = json!({
            "number": field.number(),
            "type": field_type(&field.kind()),
            "repeated": field.cardinality() == Cardinality::Repeated,
            "oneof": oneof,
        });
        (field.name().to_string(), description)
    });
    Value::Object(fields.collect())
}

fn enumeration(enumeration: &EnumDescriptor) -> Value {
    let values = enumeration.values();
    Value::Object(
        values
            .map(|value| (value.name().to_string(), json!(value.number())))
            .collect(),
    )
}

#[test]
fn as_the_packages_of_the_protocol_say() {
    let pool = DescriptorPool::decode(forebay_protocol::DESCRIPTORS).unwrap();
    let mut ours = Map::new();
    for described in pool.all_messages().filter(|message| is_ours(message.package_name())) {
        ours.insert(described.full_name().to_string(), message(&described));
    }
    for described in pool.all_enums().filter(|described| is_ours(described.package_name())) {
        ours.insert(described.full_name().to_string(), enumeration(&described));
    }
    for service in pool.services() {
        let methods = service.methods().map(|method| {
            let (input, output) = (method.input(), method.output());
            let description = json!([
                input.full_name(),
                method.is_client_streaming(),
                output.full_name(),
                method.is_server_streaming()
            ]);
            (method.name().to_string(), description)
        });
        ours.insert(service.full_name().to_string(), Value::Object(methods.collect()));
    }
    let read = |text| serde_json::from_str::<Map<String, Value>>(text).unwrap();
    let mut theirs = read(include_str!("p4runtime_descriptors.json"));
    theirs.extend(read(include_str!("gnmi_descriptors.json")));
    for (name, described) in &theirs {
        assert_eq!(ours.get(name), Some(described), "{name}");
    }
    let unknown: Vec<&String> = ours.keys().filter(|name| !theirs.contains_key(*name)).collect();
    assert!(unknown.is_empty(), "the protocol does not know {unknown:?}");
}
