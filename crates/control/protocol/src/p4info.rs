//! Between the P4Info that the compiler makes and that of the protocol: the same messages, by way of their text form.

use crate::json;
use crate::p4::config::v1::{MeterSpec, P4Info};
use crate::text::{self, TextError};
use forebay_p4info::Version;

const NAME: &str = "p4.config.v1.P4Info";

/// The P4Info of the protocol.
///
/// # Panics
/// Never: both have the same fields, as a test makes sure of.
pub fn from_compiler(info: &forebay_p4info::model::P4Info) -> P4Info {
    read(&forebay_p4info::write(info)).expect("both have the same fields")
}

/// Reads the text form, as compilers write it to files.
///
/// # Errors
/// When the text is no P4Info.
pub fn read(text: &str) -> Result<P4Info, TextError> {
    text::read(NAME, text)
}

/// Writes the text form.
pub fn write(info: &P4Info) -> String {
    text::write(NAME, info)
}

/// Writes the JSON form.
pub fn write_json(info: &P4Info) -> String {
    json::write(NAME, info)
}

/// Leaves out what is newer than a version of P4Runtime.
pub fn for_version(mut info: P4Info, version: Version) -> P4Info {
    if version == Version::V1_5 {
        return info;
    }
    if let Some(package) = &mut info.pkg_info {
        package.platform_properties = None;
    }
    for table in &mut info.tables {
        table.initial_default_action = None;
        table.has_initial_entries = false;
    }
    for profile in &mut info.action_profiles {
        profile.selector_size_semantics = None;
        profile.weights_disallowed = false;
    }
    let specs = info.meters.iter_mut().map(|meter| &mut meter.spec);
    let direct = info.direct_meters.iter_mut().map(|meter| &mut meter.spec);
    for spec in specs.chain(direct).flatten() {
        *spec = MeterSpec {
            unit: spec.unit,
            ..MeterSpec::default()
        };
    }
    info
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn as_json() {
        let text = r#"
            pkg_info { name: "a" }
            tables {
                preamble { id: 33554433 name: "t" }
                match_fields { id: 1 name: "f" bitwidth: 9 match_type: EXACT }
                initial_default_action { action_id: 7 arguments { param_id: 1 value: "\x01\xff" } }
                size: 1024
            }
            type_info { new_types { key: "port_t" value { translated_type { sdn_string {} } } } }
        "#;
        let json: Value = serde_json::from_str(&write_json(&read(text).unwrap())).unwrap();
        let table = json!({
            "preamble": {"id": 33554433, "name": "t"},
            "matchFields": [{"id": 1, "name": "f", "bitwidth": 9, "matchType": "EXACT"}],
            "initialDefaultAction": {"actionId": 7, "arguments": [{"paramId": 1, "value": "Af8="}]},
            "size": "1024",
        });
        assert_eq!(json["pkgInfo"], json!({"name": "a"}));
        assert_eq!(json["tables"], json!([table]));
        let types = json!({"newTypes": {"port_t": {"translatedType": {"sdnString": {}}}}});
        assert_eq!(json["typeInfo"], types);
        assert_eq!(json.as_object().unwrap().len(), 3, "what is not there is left out");
    }
}
