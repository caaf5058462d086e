//! The text form: what is read, what is refused, what comes back.

use forebay_p4info::model::*;
use forebay_p4info::{read, textproto, write};
use proptest::prelude::*;

const SAMPLE: &str = r#"# proto-file: p4/config/v1/p4info.proto
# proto-message: p4.config.v1.P4Info

pkg_info {
  arch: "v1model"
}
tables {
  preamble {
    id: 34728461
    name: "ingress.t"
    alias: "t"
    annotations: "@brief(\"it\'s\")"
    structured_annotations {
      name: "sizes"
      expression_list {
        expressions {
          int64_value: 0
        }
        expressions {
          bool_value: false
        }
      }
    }
  }
  match_fields {
    id: 1
    name: "h.ports.port1"
    match_type: EXACT
    type_name {
      name: "PortId_t"
    }
  }
  match_fields {
    id: 2
    name: "other"
    bitwidth: 8
    other_match_type: "fuzzy"
  }
  action_refs {
    id: 21257015
    annotations: "@defaultonly"
    scope: DEFAULT_ONLY
  }
  initial_default_action {
    action_id: 21257015
    arguments {
      param_id: 1
      value: "\000\001\'a\200"
    }
  }
  size: 1024
}
actions {
  preamble {
    id: 21257015
    name: "NoAction"
    alias: "NoAction"
  }
}
action_profiles {
  preamble {
    id: 285903678
    name: "IngressI.ap"
    alias: "ap"
  }
  with_selector: true
  sum_of_weights {
  }
}
registers {
  preamble {
    id: 369140025
    name: "r"
    alias: "r"
  }
  type_spec {
    bitstring {
      int {
        bitwidth: 16
      }
    }
  }
  size: 10
}
type_info {
  new_types {
    key: "PortId_t"
    value {
      translated_type {
        uri: "p4.org/PortId_t"
        sdn_string {
        }
      }
    }
  }
}
"#;

#[test]
fn what_was_written_is_read_and_written_again() {
    let info = read(SAMPLE).unwrap();
    assert_eq!(write(&info), SAMPLE);
    assert_eq!(read(&write(&info)), Ok(info));
}

#[test]
fn fields_mean_what_they_say() {
    let info = read(SAMPLE).unwrap();
    let table = &info.tables[0];
    assert_eq!(
        table.match_fields[0].match_kind,
        Some(Match::MatchType(MatchType::Exact))
    );
    assert_eq!(
        table.match_fields[1].match_kind,
        Some(Match::OtherMatchType("fuzzy".to_owned()))
    );
    assert_eq!(table.action_refs[0].scope, Scope::DefaultOnly);
    let call = table.initial_default_action.as_ref().unwrap();
    assert_eq!(call.arguments[0].value, Bytes(vec![0, 1, b'\'', b'a', 0x80]));
    assert_eq!(table.preamble.annotations, ["@brief(\"it's\")"]);
}

#[test]
fn every_way_to_write_it_is_read() {
    let text = r#"
        tables: < preamble { id: 0x20, name: 'a' "b" 'c'; alias: "\x41\102\u0043" }
          direct_resource_ids: [1, 012, 0x10] direct_resource_ids: 4
          is_const_table: t # a comment
          match_fields: [{ id: 1 match_type: 3 }, < id: 2 >]
        >
        type_info {}
    "#;
    let info = read(text).unwrap();
    let table = &info.tables[0];
    assert_eq!(
        (
            table.preamble.id,
            table.preamble.name.as_str(),
            table.preamble.alias.as_str()
        ),
        (32, "abc", "ABC")
    );
    assert_eq!(table.direct_resource_ids, [1, 10, 16, 4]);
    assert!(table.is_const_table);
    assert_eq!(table.match_fields[0].match_kind, Some(Match::MatchType(MatchType::Lpm)));
    assert_eq!(table.match_fields[1].id, 2);
    assert_eq!(info.type_info, Some(P4TypeInfo::default()));
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), message);
}

#[test]
fn errors_say_where_and_what() {
    refused("tables {", "1:9: expected `}`");
    refused("tables {\n  color: 1\n}", "2:3: Table has no field `color`");
    refused("tables { size: \"a\" }", "1:10: `size` is a number");
    refused(
        "tables { size: 99999999999999999999 }",
        "1:10: `99999999999999999999` is no integer",
    );
    refused("registers { size: 3000000000 }", "1:13: the number does not fit");
    refused(
        "tables { match_fields { match_type: FUZZY } }",
        "1:25: `match_type` has no such value",
    );
    refused("tables: 5", "1:1: `tables` is a message");
    refused("pkg_info { name: \"\\377\" }", "1:12: the string is not UTF-8");
    refused("pkg_info { name: \"a\n\" }", "1:20: the string does not end");
    refused("}", "1:1: unexpected closing bracket");
    refused("a b", "1:3: expected `:` or `{` after `a`");
    refused(&"a {".repeat(100_000), "1:303: messages are nested deeper than 100");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = read(&text);
    }

    #[test]
    fn text_that_looks_right_is_read_or_refused(text in "([a-z]{1,3}|:|[{}<>\\[\\],;#\"'\\\\]|[0-9a-fx.-]{1,3}| |\n){0,60}") {
        if let Ok(tree) = textproto::parse(&text) {
            let written = textproto::write(&tree);
            prop_assert_eq!(textproto::write(&textproto::parse(&written).unwrap()), written);
        }
    }

    /// Mutilated files are read or refused, and what is read comes back.
    #[test]
    fn mutilated_files_are_read_or_refused(edits in prop::collection::vec((0..1000usize, 0..1000usize), 1..6)) {
        let mut lines: Vec<&str> = SAMPLE.lines().collect();
        for (from, to) in edits {
            let line = lines[from % lines.len()];
            let at = to % lines.len();
            if from % 2 == 0 { lines.insert(at, line); } else { lines.remove(at); }
        }
        if let Ok(info) = read(&lines.join("\n")) {
            prop_assert_eq!(read(&write(&info)), Ok(info));
        }
    }

    #[test]
    fn any_string_comes_back(name: String, value: Vec<u8>) {
        let argument = Argument { param_id: 1, value: Bytes(value) };
        let call = TableActionCall { action_id: 0, arguments: vec![argument] };
        let table = Table {
            preamble: Preamble { name, ..Preamble::default() },
            initial_default_action: Some(call),
            ..Table::default()
        };
        let info = P4Info { tables: vec![table], ..P4Info::default() };
        prop_assert_eq!(read(&write(&info)), Ok(info));
    }
}
