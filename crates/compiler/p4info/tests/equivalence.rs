//! What counts as a difference between two P4Infos.

use forebay_p4info::{equivalent, read};

const PROGRAM: &str = r#"
    pkg_info { arch: "v1model" }
    tables {
      preamble { id: 1 name: "c.t" alias: "t" annotations: "@a" annotations: "@b" }
      match_fields { id: 1 name: "x" bitwidth: 8 match_type: EXACT }
      match_fields { id: 2 name: "y" bitwidth: 9 match_type: LPM }
      action_refs { id: 7 }
      action_refs { id: 8 scope: DEFAULT_ONLY }
      direct_resource_ids: [5, 6]
      size: 1024
    }
    tables { preamble { id: 2 name: "c.u" alias: "u" } size: 16 }
    actions { preamble { id: 7 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } }
    digests {
      preamble { id: 9 name: "d" }
      type_spec { struct { name: "d_t" } }
    }
    type_info {
      structs {
        key: "d_t"
        value {
          members { name: "m" type_spec { bitstring { bit { bitwidth: 48 } } } }
          members { name: "n" type_spec { bool { } } }
        }
      }
    }
"#;

#[track_caller]
fn differences(from: &str, to: &str, expected: &[&str]) {
    assert!(PROGRAM.contains(from), "{from}");
    let found = read(&PROGRAM.replace(from, to)).unwrap();
    let differences = equivalent(&found, &read(PROGRAM).unwrap());
    let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_program_is_equivalent_to_itself() {
    differences("", "", &[]);
}

#[test]
fn order_of_what_has_a_name_or_number_does_not_count() {
    differences(
        "annotations: \"@a\" annotations: \"@b\"",
        "annotations: \"@b\" annotations: \"@a\"",
        &[],
    );
    differences("[5, 6]", "[6, 5]", &[]);
    differences(
        "action_refs { id: 7 }\n      action_refs { id: 8 scope: DEFAULT_ONLY }",
        "action_refs { id: 8 scope: DEFAULT_ONLY } action_refs { id: 7 }",
        &[],
    );
    let mut swapped = read(PROGRAM).unwrap();
    swapped.tables.reverse();
    swapped.tables[1].match_fields.reverse();
    assert_eq!(equivalent(&swapped, &read(PROGRAM).unwrap()), []);
}

#[test]
fn what_has_no_meaning_does_not_count() {
    differences("annotations: \"@noWarn(\\\"unused\\\")\"", "", &[]);
    differences(
        "name: \"c.t\" alias",
        "name: \"c.t\" annotation_locations { line: 3 } alias",
        &[],
    );
    let bare = "actions { preamble { id: 1 } }";
    let empty_type_info = format!("{bare} type_info {{ }}");
    assert_eq!(equivalent(&read(bare).unwrap(), &read(&empty_type_info).unwrap()), []);
}

#[test]
fn every_difference_has_its_name() {
    differences("size: 1024", "size: 512", &["tables[c.t].size: 512, expected 1024"]);
    differences("size: 1024", "", &["tables[c.t].size: missing 1024"]);
    differences(
        "bitwidth: 9 match_type: LPM",
        "bitwidth: 9 match_type: TERNARY",
        &["tables[c.t].match_fields[2].match_type: TERNARY, expected LPM"],
    );
    differences(
        "[5, 6]",
        "[5, 4]",
        &[
            "tables[c.t].direct_resource_ids[4]: unexpected 4",
            "tables[c.t].direct_resource_ids[6]: missing 6",
        ],
    );
    differences(
        "annotations: \"@b\"",
        "",
        &["tables[c.t].preamble.annotations[\"@b\"]: missing \"@b\""],
    );
    differences(
        "id: 7 name",
        "id: 77 name",
        &["actions[NoAction].preamble.id: 77, expected 7"],
    );
    differences(
        "bool { }",
        "bitstring { bit { bitwidth: 1 } }",
        &[
            "type_info.structs[d_t].value.members[1].type_spec.bitstring: unexpected {bit: {bitwidth: 1}}",
            "type_info.structs[d_t].value.members[1].type_spec.bool: missing {}",
        ],
    );
    differences(
        "struct { name: \"d_t\" }",
        "header { name: \"d_t\" }",
        &[
            "digests[d].type_spec.header: unexpected {name: \"d_t\"}",
            "digests[d].type_spec.struct: missing {name: \"d_t\"}",
        ],
    );
    differences(
        "tables { preamble { id: 2 name: \"c.u\" alias: \"u\" } size: 16 }",
        "",
        &["tables[c.u]: missing {preamble: {id: 2 name: \"c.u\" alias: \"u\"} size: 16}"],
    );
    differences(
        "members { name: \"m\"",
        "members { name: \"q\"",
        &["type_info.structs[d_t].value.members[0].name: \"q\", expected \"m\""],
    );
}
