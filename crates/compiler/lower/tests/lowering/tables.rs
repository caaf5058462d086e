//! Tables and their entries.

use crate::support::ingress;
use forebay_ir::{EntryMatch, MatchKind};

fn priorities(properties: &str) -> Vec<i64> {
    let program = ingress(&format!(
        "action a() {{ }}
         table t {{ key = {{ m.x: ternary; }} actions = {{ a; NoAction; }} {properties} }}
         apply {{ t.apply(); }}"
    ));
    program.tables[0].entries.iter().map(|entry| entry.priority).collect()
}

#[test]
fn the_first_entry_wins_unless_priorities_say_otherwise() {
    assert_eq!(priorities("const entries = { 1: a(); 2: a(); _: a(); }"), [3, 2, 1]);
    assert_eq!(
        priorities("priority_delta = 10; entries = { 1: a(); 2: a(); }"),
        [11, 1]
    );
}

#[test]
fn written_priorities_count_as_the_table_says() {
    assert_eq!(
        priorities("entries = { priority = 7: 1: a(); 2: a(); priority = 9: 3: a(); }"),
        [7, 6, 9]
    );
    let reversed = "largest_priority_wins = false; entries = { priority = 10: 1: a(); priority = 20: 2: a(); }";
    assert_eq!(priorities(reversed), [11, 1]);
}

#[test]
fn entries_say_what_their_match_kind_needs() {
    let program = ingress(
        "table t {
            key = { m.x: exact; m.i: lpm; m.y: range; m.kept: optional; }
            actions = { NoAction; }
            const entries = {
                (1, 0x0A000000 &&& 0xFF000000, 3..5, _): NoAction();
                (2, 7, 9, 4): NoAction();
            }
         }
         apply { t.apply(); }",
    );
    let table = &program.tables[0];
    let kinds: Vec<_> = table.keys.iter().map(|key| key.match_kind).collect();
    assert_eq!(
        kinds,
        [MatchKind::Exact, MatchKind::Lpm, MatchKind::Range, MatchKind::Optional]
    );
    assert!(matches!(
        table.entries[0].matches[1],
        EntryMatch::Lpm { prefix_length: 8, .. }
    ));
    assert!(matches!(table.entries[0].matches[3], EntryMatch::Optional(None)));
    assert!(matches!(
        table.entries[1].matches[1],
        EntryMatch::Lpm { prefix_length: 32, .. }
    ));
    assert!(table.entries_are_const && table.entries[0].is_const);
}

#[test]
fn an_entry_with_the_key_and_priority_of_an_earlier_one_is_left_out() {
    for (kind, properties) in [
        ("lpm", "const entries = { 1: a(); 1 &&& 0xFF: NoAction(); }"),
        (
            "exact",
            "const entries = { 1 .. 2: a(); 2: NoAction(); 1: NoAction(); }",
        ),
        (
            "ternary",
            "entries = { priority = 1: 1: a(); priority = 1: 1: NoAction(); }",
        ),
    ] {
        let program = ingress(&format!(
            "action a() {{ }}
             table t {{ key = {{ m.x: {kind}; }} actions = {{ a; NoAction; }} {properties} }}
             apply {{ t.apply(); }}"
        ));
        let entries = &program.tables[0].entries;
        assert!(entries.iter().all(|entry| entry.action.action == 0), "{kind}");
        assert_eq!(entries.len(), if kind == "exact" { 2 } else { 1 }, "{kind}");
    }
}

#[test]
fn a_size_of_zero_is_no_size() {
    for (property, expected) in [("size = 0;", 1024), ("size = 7;", 7), ("", 1024)] {
        let program = ingress(&format!(
            "table t {{ key = {{ m.x: exact; }} actions = {{ NoAction; }} {property} }} apply {{ t.apply(); }}"
        ));
        assert_eq!(program.tables[0].size, expected, "{property}");
    }
}

#[test]
fn a_table_without_default_action_gets_no_action() {
    let program = ingress(
        "action a() { m.x = 1; }
         table t { key = { m.x: exact; } actions = { a; } }
         apply { t.apply(); }",
    );
    let table = &program.tables[0];
    assert_eq!(table.size, 1024);
    assert_eq!(table.default_action.action, 1);
    assert!(table.actions[1].default_only);
    assert_eq!(program.actions[table.actions[1].action.index()].name, "NoAction");
}

#[test]
fn direct_objects_and_profiles_belong_to_the_table() {
    let program = ingress(
        "direct_counter(CounterType.packets) hits;
         direct_meter<bit<2>>(MeterType.bytes) rate;
         action a() { bit<2> color; rate.read(color); m.x = (bit<8>)color; }
         table t { key = { m.x: exact; } actions = { a; } counters = hits; meters = rate; }
         table u {
            key = { m.x: exact; m.y: selector; }
            actions = { NoAction; }
            implementation = action_selector(HashAlgorithm.crc16, 64, 10);
         }
         apply { t.apply(); u.apply(); }",
    );
    assert!(program.tables[0].direct_counter.is_some());
    assert!(
        program.tables[0]
            .direct_meter
            .is_some_and(|direct| direct.slot.is_some())
    );
    assert!(program.tables[1].implementation.is_some());
    assert_eq!(program.action_profiles[0].selector.map(|(_, width)| width), Some(10));
}
