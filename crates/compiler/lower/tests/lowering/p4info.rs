//! P4Info of small programs. The corpus of p4c is compared by `cargo xtask conformance`.

use crate::support::{self, Parts};
use forebay_p4info::model::{Match, MatchType, P4Info, Representation, Scope};

fn p4info(top: &str, ingress: &str) -> P4Info {
    support::p4info(&Parts {
        top,
        ingress,
        ..Parts::default()
    })
}

#[test]
fn tables_and_actions_are_described() {
    let info = p4info(
        "",
        "action forward(@id(3) bit<9> port, bit<8> x) { sm.egress_spec = port; m.x = x; }
         table t {
            key = { m.i: lpm; m.x: exact @name(\"x\"); }
            actions = { forward; @defaultonly NoAction; }
            const default_action = NoAction;
            size = 64;
         }
         apply { t.apply(); }",
    );
    let table = &info.tables[0];
    assert_eq!(
        (table.preamble.name.as_str(), table.preamble.alias.as_str(), table.size),
        ("I.t", "t", 64)
    );
    assert_eq!(table.match_fields[0].match_kind, Some(Match::MatchType(MatchType::Lpm)));
    assert_eq!(
        (table.match_fields[1].id, table.match_fields[1].name.as_str()),
        (2, "x")
    );
    assert_eq!(table.action_refs[1].scope, Scope::DefaultOnly);
    assert_eq!(table.const_default_action_id, table.action_refs[1].id);
    let forward = info
        .actions
        .iter()
        .find(|action| action.preamble.name == "I.forward")
        .expect("it is listed");
    let numbers: Vec<_> = forward.params.iter().map(|param| (param.id, param.bitwidth)).collect();
    assert_eq!(numbers, [(3, 9), (2, 8)]);
    assert_eq!(info.pkg_info.expect("there is a main").arch, "v1model");
}

#[test]
fn parts_of_constructor_parameters_are_known() {
    let info = p4info(
        "struct sizes_t { bit<32> entries; bit<32> counters; bit<8> data; bool applied; }
         control Sub(inout bit<8> x)(sizes_t sizes, tuple<bit<32>, bit<32>> pair, bit<8> n) {
            counter(sizes.counters, CounterType.packets) hits;
            register<bit<8>>(pair[1]) values;
            register<bit<8>>((bit<32>) (n ++ 8w1)) more;
            action set(bit<8> v) { x = v; }
            table t { key = { x: exact @name(\"x\"); } actions = { set; } size = sizes.entries; default_action = set(sizes.data); }
            table u { key = { x: exact @name(\"x\"); } actions = { NoAction; } }
            apply { t.apply(); if (sizes.applied) { u.apply(); } hits.count(0); values.read(x, 0); more.read(x, 0); }
         }",
        "Sub({ counters = 12, entries = 34, data = 5, ... }, { 6, 7 }, 2) sub;
         apply { sub.apply(m.x); }",
    );
    let [table] = info.tables.as_slice() else {
        panic!("u is never applied")
    };
    assert_eq!((table.preamble.name.as_str(), table.size), ("I.sub.t", 34));
    let default = table.initial_default_action.as_ref().expect("the program has one");
    assert_eq!(default.arguments[0].value.0, [5]);
    assert_eq!(info.counters[0].size, 12);
    let mut sizes: Vec<_> = info.registers.iter().map(|register| register.size).collect();
    sizes.sort();
    assert_eq!(sizes, [7, 513]);
}

#[test]
fn translated_types_have_the_controllers_width() {
    let info = p4info(
        "@p4runtime_translation(\"example/port\", string) type bit<9> port_t;
         @controller_header(\"packet_in\") header packet_in_t { port_t port; bit<7> pad; }",
        "action send(port_t port) { sm.egress_spec = (bit<9>)port; }
         table t { key = { m.x: exact; } actions = { send; NoAction; } }
         apply { t.apply(); }",
    );
    let send = info
        .actions
        .iter()
        .find(|action| action.preamble.name == "I.send")
        .expect("it is listed");
    assert_eq!(send.params[0].bitwidth, 0);
    assert_eq!(
        send.params[0].type_name.as_ref().map(|name| name.name.as_str()),
        Some("port_t")
    );
    let types = info.type_info.expect("there are types");
    assert!(matches!(
        types.new_types["port_t"].representation,
        Some(Representation::TranslatedType(_))
    ));
    assert_eq!(info.controller_packet_metadata[0].preamble.name, "packet_in");
    assert_eq!(info.controller_packet_metadata[0].metadata[1].bitwidth, 7);
}

#[test]
fn digests_have_the_names_that_the_program_sends_them_with() {
    let parts = Parts {
        top: "@name(\"notice\") struct notice_t { bit<8> x; } struct pair_t<T> { T one; T two; }",
        ingress: "action tell() { digest(1, { m.x, m.y }); }
         table t { actions = { tell; } default_action = tell(); }
         apply {
            digest<notice_t>(1, { m.x });
            digest<pair_t<bit<8>>>(1, { m.x, m.y });
            digest(1, { m.x });
            t.apply();
         }",
        ..Parts::default()
    };
    let info = support::p4info(&parts);
    let described: Vec<_> = info
        .digests
        .iter()
        .map(|digest| digest.preamble.name.as_str())
        .collect();
    assert_eq!(described, ["digest_0", "digest_1", "notice", "pair_t_bit8"]);
    let program = support::lower(&parts);
    let digests = program.digests.iter();
    let mut sent: Vec<_> = digests
        .map(|digest| (digest.name.as_str(), digest.fields.len()))
        .collect();
    sent.sort();
    assert_eq!(
        sent,
        [("digest_0", 2), ("digest_1", 1), ("notice", 1), ("pair_t_bit8", 2)]
    );
}

#[test]
fn digests_that_generic_functions_send_are_described_with_the_types_of_each_call() {
    let parts = Parts {
        top: "struct told_t { bit<8> x; } struct of_t<T> { T one; }
         void tell<T>(in T data) { digest(1, data); }
         void wrap<T>(in T one) { of_t<T> data = { one }; tell(data); }",
        ingress: "apply { tell<told_t>({ m.x }); wrap(m.kept); tell(m.x); tell(m.kept); }",
        ..Parts::default()
    };
    let info = support::p4info(&parts);
    let names = info.digests.iter().map(|digest| digest.preamble.name.as_str());
    let expected = ["digest_0", "digest_1", "of_t_bit16", "told_t"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let described = info.type_info.expect("there are structs").structs;
    assert!(described["of_t_bit16"].members[0].type_spec.is_some());
    let program = support::lower(&parts);
    let mut sent: Vec<_> = program.digests.iter().map(|digest| digest.name.as_str()).collect();
    sent.sort();
    assert_eq!(sent, expected);
}

#[test]
fn digests_of_initial_values_and_arguments_in_lists_of_actions_are_described() {
    let top = "struct told_t { bit<8> x; } bit<8> tell(in bit<8> x) { digest<told_t>(1, { x }); return x; }";
    for ingress in [
        "bit<8> told = tell(m.x); apply { m.y = told; }",
        "action set(in bit<8> y) { m.y = y; }
         table t { actions = { set(tell(m.x)); } default_action = set(tell(m.x)); }
         apply { t.apply(); }",
    ] {
        let info = p4info(top, ingress);
        assert_eq!(info.digests.len(), 1);
        assert_eq!(info.digests[0].preamble.name, "told_t");
    }
}

#[test]
fn objects_are_described_with_their_tables() {
    let info = p4info(
        "struct notice_t { bit<8> x; }",
        "register<bit<12>>(8) r;
         direct_counter(CounterType.packets_and_bytes) hits;
         table t { key = { m.x: exact; } actions = { NoAction; } counters = hits; }
         table u {
            key = { m.x: exact; m.y: selector; }
            actions = { NoAction; }
            @name(\"ap\") implementation = action_selector(HashAlgorithm.crc32, 32, 8);
         }
         apply { t.apply(); u.apply(); r.write(0, 1); digest<notice_t>(1, { m.x }); }",
    );
    assert_eq!(info.registers[0].size, 8);
    assert_eq!(info.direct_counters[0].direct_table_id, info.tables[0].preamble.id);
    assert_eq!(
        info.tables[0].direct_resource_ids,
        [info.direct_counters[0].preamble.id]
    );
    let profile = &info.action_profiles[0];
    assert_eq!(
        (profile.preamble.name.as_str(), profile.with_selector, profile.size),
        ("ap", true, 32)
    );
    assert_eq!(profile.table_ids, [info.tables[1].preamble.id]);
    assert_eq!(
        info.tables[1].match_fields.len(),
        1,
        "selector fields are no match fields"
    );
    assert_eq!(info.digests[0].preamble.name, "notice_t");
}

#[test]
fn selectors_say_what_their_groups_may_hold() {
    let limits =
        "@max_group_size(4) @selector_size_semantics(\"sum_of_members\") @max_member_weight(9) @weights_disallowed";
    let info = p4info(
        "",
        &format!(
            "{limits} action_selector(HashAlgorithm.crc32, 32, 8) selector;
             {limits} action_profile(32) profile;
             table t {{ key = {{ m.x: exact; m.y: selector; }} actions = {{ NoAction; }} implementation = selector; }}
             table u {{ key = {{ m.x: exact; }} actions = {{ NoAction; }} implementation = profile; }}
             apply {{ t.apply(); u.apply(); }}"
        ),
    );
    let profiles = |with_selector| {
        info.action_profiles
            .iter()
            .find(move |profile| profile.with_selector == with_selector)
    };
    let (selector, profile) = (profiles(true).unwrap(), profiles(false).unwrap());
    assert_eq!((selector.max_group_size, selector.weights_disallowed), (4, true));
    assert!(selector.selector_size_semantics.is_some());
    assert_eq!((profile.max_group_size, profile.weights_disallowed), (0, false));
    assert!(profile.selector_size_semantics.is_none());
}

#[test]
fn value_sets_have_a_match_field_for_each_component() {
    let info = support::p4info(&Parts {
        top: "struct pair_t { bit<16> first; @match(ternary) bit<8> second; }
            struct inner_t { bit<4> p; @match(ternary) bit<4> q; }
            struct outer_t { inner_t inner; bit<8> last; }
            enum bit<8> kind_t { A = 1, B = 2 }",
        parser: "value_set<bit<16>>(4) tags; value_set<pair_t>(4) pairs;
            value_set<outer_t>(4) nested; value_set<kind_t>(4) kinds;
            state start { p.extract(hdr.h); transition select(m.kept) { tags: next; default: next; } }
            state next { transition select(m.kept, m.x) { pairs: accept; default: third; } }
            state third { transition select(m.x[7:4], m.x[3:0], m.y) { nested: accept; default: fourth; } }
            state fourth { transition select((kind_t) m.x) { kinds: accept; default: accept; } }",
        ..Parts::default()
    });
    let fields = |name: &str| {
        let set = info.value_sets.iter().find(|set| set.preamble.alias == name).unwrap();
        let fields = set
            .match_fields
            .iter()
            .map(|field| (field.id, field.bitwidth, field.match_kind.clone()));
        fields.collect::<Vec<_>>()
    };
    let kind = |kind| Some(Match::MatchType(kind));
    assert_eq!(fields("tags"), [(1, 16, kind(MatchType::Exact))]);
    assert_eq!(
        fields("pairs"),
        [(1, 16, kind(MatchType::Exact)), (2, 8, kind(MatchType::Ternary))]
    );
    assert_eq!(
        fields("nested"),
        [
            (1, 4, kind(MatchType::Exact)),
            (2, 4, kind(MatchType::Ternary)),
            (3, 8, kind(MatchType::Exact))
        ]
    );
    assert_eq!(fields("kinds"), [(1, 8, kind(MatchType::Exact))]);
}

#[test]
fn hidden_objects_are_left_out() {
    let info = p4info(
        "",
        "@hidden table t { key = { m.x: exact; } actions = { NoAction; } } apply { t.apply(); }",
    );
    assert!(info.tables.is_empty());
}

#[test]
fn tables_under_conditions_that_never_hold_are_hidden() {
    let parts = Parts {
        top: "control Sub(inout bit<8> x)(bool is_on) {
            table t { key = { x: exact @name(\"x\"); } actions = { NoAction; } }
            table u { key = { x: exact @name(\"x\"); } actions = { NoAction; } }
            table v { key = { x: exact @name(\"x\"); } actions = { NoAction; } }
            apply {
                if (is_on) { t.apply(); } else if (x == 1) { u.apply(); } else { v.apply(); }
                if (x == 2 || is_on) { x = 3; } else { v.apply(); }
            }
         }",
        ingress: "Sub(true) on; Sub(false) off; apply { on.apply(m.x); off.apply(m.y); }",
        ..Parts::default()
    };
    let info = support::p4info(&parts);
    let described: Vec<_> = info.tables.iter().map(|table| table.preamble.name.clone()).collect();
    assert_eq!(described, ["I.off.u", "I.off.v", "I.on.t"]);
    let program = support::lower(&parts);
    let visible = program.tables.iter().filter(|table| !table.is_hidden);
    let mut visible: Vec<_> = visible.map(|table| table.name.clone()).collect();
    visible.sort();
    assert_eq!(visible, described);
}

/// A program with something of everything, and its P4Info as a file.
#[test]
fn the_text_form_is_as_recorded() {
    let info = support::p4info(&Parts {
        top: include_str!("everything.p4"),
        parser: "value_set<bit<16>>(4) tags;
            state start { p.extract(hdr.h); transition select(m.kept) { tags: tagged; default: accept; } }
            state tagged { transition accept; }",
        ingress: include_str!("everything_ingress.p4"),
    });
    let text = forebay_p4info::write(&info);
    assert_eq!(
        text,
        include_str!("everything.p4info.txtpb"),
        "the P4Info has become:\n{text}"
    );
}
