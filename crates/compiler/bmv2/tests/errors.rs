//! Messages about a JSON that cannot be executed: the place of the mistake, and what would be right.

use forebay_bmv2::{Known, is_json, read};

const PROGRAM: &str = include_str!("../../../../tests/bmv2/routing.json");

const TABLES: &str = include_str!("../../../../tests/bmv2/tables.json");

/// The message when a piece of the program is another.
fn message(from: &str, to: &str) -> String {
    assert!(PROGRAM.contains(from), "the program has {from}");
    let changed = PROGRAM.replacen(from, to, 1);
    let error = read(&changed, &Known::default()).expect_err("the program makes no sense any more");
    error.to_string()
}

#[test]
fn json_is_told_from_source() {
    assert!(is_json(PROGRAM));
    assert!(is_json("\n  {"));
    assert!(!is_json("#include <core.p4>"));
}

#[test]
fn messages_say_where() {
    let cases = [
        (
            "[2, 23]",
            "[3, 0]",
            "__meta__.version: version 3.0 of the format is not known, expected 2.x",
        ),
        (
            "\"init_state\": \"start\"",
            "\"init_state\": \"begin\"",
            "parsers[0]: there is no parser state `begin`; there is `",
        ),
        (
            "\"extract\"",
            "\"extrakt\"",
            "parsers[0].parse_states[0].parser_ops[0].op: the parser operation `extrakt` is not known; there is `extract`",
        ),
        (
            "\"mark_to_drop\"",
            "\"mark_to_fall\"",
            "actions[0].primitives[0]: the primitive `mark_to_fall` is not known; there is `assign`",
        ),
        (
            "\"csum16\"",
            "\"md5\"",
            "calculations[0]: the hash algorithm `md5` is not known; there is `crc16`",
        ),
        (
            "\"lpm\"",
            "\"longest\"",
            "pipelines[0].tables[0].key[0].match_type: the match type `longest` is not known; there is `exact`",
        ),
        (
            "\"header_type\": \"ipv4_t\"",
            "\"header_type\": \"ipv6_t\"",
            "headers[3]: there is no header type `ipv6_t`; there is `scalars_0`",
        ),
        (
            "[\"ipv4\", \"ttl\"]",
            "[\"ipv4\", \"hops\"]",
            "calculations[0]: `ipv4` has no field `hops`; there is `version`",
        ),
        (
            "\"0x080000\"",
            "\"0x08zz00\"",
            "parsers[0].parse_states[0].transitions[0].value: `0x08zz00` is no number in hexadecimal, expected one like `0x0a`",
        ),
        (
            "\"init_table\": \"node_2\"",
            "\"init_table\": \"node_3\"",
            "pipelines[0]: there is no table or condition `node_3`; there is `",
        ),
        (
            "\"type\": \"simple\"",
            "\"type\": \"double\"",
            "pipelines[0].tables[0].type: this type of table is not known",
        ),
        (
            "\"op\": \"and\"",
            "\"op\": \"nand\"",
            "pipelines[0].conditionals[0].expression.value.op: the operator `nand` is not known",
        ),
    ];
    for (from, to, expected) in cases {
        let message = message(from, to);
        assert!(message.starts_with(expected), "{from} -> {to}: {message}");
    }
}

#[test]
fn other_json_is_refused() {
    let refused = |text: &str| read(text, &Known::default()).expect_err("no program").to_string();
    assert!(refused("{").starts_with("this is no JSON: EOF"));
    assert!(refused("{}").starts_with("this is JSON, but no program"));
    assert!(
        refused("{\"header_types\": 3, \"pipelines\": []}")
            .starts_with("header_types: here is a number, expected an array")
    );
    assert!(refused("{\"header_types\": [], \"pipelines\": []}").starts_with("parsers: there is no parser"));
}

/// A program for psa_switch or pna_nic is not executed without its second parser or its control.
#[test]
fn programs_for_other_architectures_are_refused() {
    let refused = message("\"name\": \"ingress\"", "\"name\": \"main_control\"");
    assert!(
        refused.starts_with("pipelines[0].name: the control `main_control` is not `ingress` or `egress`"),
        "{refused}"
    );
    let whole: serde_json::Value = serde_json::from_str(PROGRAM).expect("JSON");
    for key in ["parsers", "deparsers"] {
        let mut two = whole.clone();
        let second = two[key][0].clone();
        two[key].as_array_mut().expect("an array").push(second);
        let refused = read(&two.to_string(), &Known::default())
            .expect_err("two of them")
            .to_string();
        assert!(
            refused.starts_with(&format!("{key}: there is more than one")),
            "{refused}"
        );
        assert!(refused.contains("for PSA and PNA take the P4 source"), "{refused}");
    }
}

/// An index would choose between headers whose fields differ.
#[test]
fn the_elements_of_a_stack_are_of_one_type() {
    let stack = include_str!("../../../../tests/bmv2/stack.json");
    let mut program: serde_json::Value = serde_json::from_str(stack).expect("JSON");
    let element = program["header_stacks"][0]["header_ids"][0].clone();
    let headers = program["headers"].as_array_mut().expect("an array");
    let header = headers.iter_mut().find(|header| header["id"] == element);
    header.expect("the first element")["header_type"] = "control_t".into();
    let refused = read(&program.to_string(), &Known::default()).expect_err("another type");
    assert_eq!(
        refused.to_string(),
        "header_stacks[0]: the elements of this stack are of different types"
    );

    let unions = include_str!("../../../../tests/bmv2/unions.json");
    let mut program: serde_json::Value = serde_json::from_str(unions).expect("JSON");
    let members = &mut program["header_unions"][1]["header_ids"];
    members.as_array_mut().expect("an array").reverse();
    let refused = read(&program.to_string(), &Known::default()).expect_err("another type");
    assert_eq!(
        refused.to_string(),
        "header_union_stacks[0]: the elements of this stack are of different types"
    );
}

/// Whichever part is removed, the reader reports it and does not panic.
#[test]
fn nothing_that_is_missing_is_fatal() {
    let whole: serde_json::Value = serde_json::from_str(PROGRAM).expect("JSON");
    let mut paths = Vec::new();
    collect(&whole, String::new(), &mut paths);
    assert!(paths.len() > 500, "{}", paths.len());
    for path in paths {
        let mut changed = whole.clone();
        let (parent, last) = path.rsplit_once('/').expect("a path");
        match changed.pointer_mut(parent).expect("a place") {
            serde_json::Value::Object(map) => drop(map.remove(last)),
            serde_json::Value::Array(items) => drop(items.remove(last.parse().expect("a number"))),
            _ => continue,
        }
        let _ = read(&changed.to_string(), &Known::default());
        *changed.pointer_mut(parent).expect("a place") = serde_json::Value::from(-1);
        let _ = read(&changed.to_string(), &Known::default());
    }
}

fn collect(value: &serde_json::Value, path: String, paths: &mut Vec<String>) {
    let children: Vec<(String, &serde_json::Value)> = match value {
        serde_json::Value::Object(map) => map.iter().map(|(name, child)| (name.clone(), child)).collect(),
        serde_json::Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, child)| (index.to_string(), child))
            .collect(),
        _ => return,
    };
    for (name, child) in children {
        let path = format!("{path}/{name}");
        collect(child, path.clone(), paths);
        paths.push(path);
    }
}

/// The distance of two priorities fits in what priorities are computed in.
#[test]
fn priorities_have_32_bits() {
    let entry = |value: u8, priority: u64| {
        let key = format!(r#"{{"match_type": "ternary", "key": "0x0{value}", "mask": "0xff"}}"#);
        let action = r#"{"action_id": 4, "action_data": []}"#;
        format!(r#"{{"match_key": [{key}], "action_entry": {action}, "priority": {priority}}}"#)
    };
    let mut program: serde_json::Value = serde_json::from_str(TABLES).expect("JSON");
    let mut with = |largest: u64| {
        let entries = format!("[{}, {}]", entry(1, 0), entry(2, largest));
        program["pipelines"][0]["tables"][1]["entries"] = serde_json::from_str(&entries).expect("JSON");
        read(&program.to_string(), &Known::default())
    };
    let refused = with(u64::MAX >> 1).expect_err("a priority of 63 bits").to_string();
    assert!(
        refused.starts_with("pipelines[0].tables[1].entries[1].priority: 9223372036854775807 is too large"),
        "{refused}"
    );
    assert!(with(5).is_ok());
}

#[test]
fn direct_counters_of_one_name_have_the_names_of_their_tables() {
    let counter =
        r#"{"name": "RoutingIngress.routed", "id": 0, "is_direct": true, "binding": "RoutingIngress.ipv4_lpm"}"#;
    assert!(PROGRAM.contains(counter));
    let named = counter.replace("RoutingIngress.routed", "counter");
    let other = named.replace("RoutingIngress.ipv4_lpm", "tbl_drop");
    let program = PROGRAM.replace(counter, &format!("{named}, {other}"));
    let program = read(&program, &Known::default()).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = program.counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(names, ["counter", "tbl_drop"]);
}

#[test]
fn errors_of_the_core_library_that_are_not_listed_come_last() {
    let fewer = PROGRAM.replacen("[\"PacketTooShort\", 1],", "", 1).replacen(
        "[\"ParserInvalidArgument\", 6]",
        "[\"Mine\", 6]",
        1,
    );
    assert_ne!(fewer, PROGRAM);
    let program = read(&fewer, &Known::default()).expect("a program");
    assert_eq!(program.errors[..2], ["NoError", "unnamed_1"]);
    assert_eq!(program.errors[6..], ["Mine", "PacketTooShort", "ParserInvalidArgument"]);
}

/// An operator takes two levels.
#[test]
fn long_chains_of_operators_are_read() {
    let program = |operators: usize| {
        let value = r#"{"type": "runtime_data", "value": 0}"#;
        assert!(PROGRAM.contains(value));
        let link = |left: String, number: usize| {
            let right = format!(r#"{{"type": "hexstr", "value": "{number:#x}"}}"#);
            format!(r#"{{"type": "expression", "value": {{"op": "^", "left": {left}, "right": {right}}}}}"#)
        };
        let chain = (1..=operators).fold(value.to_owned(), link);
        read(&PROGRAM.replacen(value, &chain, 1), &Known::default())
    };
    for operators in [1, 60, 200] {
        program(operators).unwrap_or_else(|error| panic!("{operators}: {error}"));
    }
    let error = program(300).expect_err("too many").to_string();
    assert_eq!(
        error,
        "objects and lists are nested more than 500 deep, which is not supported"
    );
}

#[test]
fn nothing_follows_a_program() {
    let error = read(&format!("{PROGRAM} {{}}"), &Known::default()).expect_err("two objects");
    assert_eq!(error.to_string(), "this is no JSON: more follows after its end");
}
