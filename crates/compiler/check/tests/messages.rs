//! For every message of the checker a small program that earns it, and no other error.

use forebay_syntax::codes::check::TABLE;
use forebay_syntax::diagnostic::{Diagnostic, Severity};
use forebay_syntax::source::MemorySources;
use forebay_syntax::{ParseOptions, parse_text};
use std::collections::BTreeSet;

/// The checker's messages about a program.
fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let provider = MemorySources::new();
    let parsed = parse_text("test.p4", text.to_string(), &ParseOptions::new(&provider));
    if parsed.diagnostics.has_errors() {
        return parsed.diagnostics.iter().cloned().collect();
    }
    let (_, diagnostics) = forebay_check::check(&parsed.program);
    diagnostics.iter().cloned().collect()
}

/// Codes and programs. `$` stands for the includes, `control(..)` is written out.
const SAMPLES: &[(&str, &str)] = &[
    ("E0201", "const bit<8> a = b;"),
    ("E0202", "struct S { bit<8> a; bit<8> a; }"),
    ("E0202", "const bit<8> a = 1; const bit<8> a = 1;"),
    ("E0204", "$ control c() { apply { bit<8> x = NoAction; } }"),
    (
        "E0205",
        "struct S { bit<8> a; } control c(in S s) { apply { bit<8> x = s.b; } }",
    ),
    ("E0206", "enum E { A } const E e = E.B;"),
    ("E0207", "void f(in bit<8> x) { f(x); }"),
    (
        "E0208",
        "$ control c(in bit<8> x) { table t { key = { x: prefix; } actions = {} } apply {} }",
    ),
    ("E0210", "control c() { apply { this.f(); } }"),
    ("E0211", "@a[1] @a[2] const bit<8> x = 1;"),
    ("E0212", "@name(4) const bit<8> x = 1; "),
    ("E0213", "control c(in bit<8> x) { apply { bit<8> x = 1; } }"),
    ("W0204", "control c() { action a() { } apply { } }"),
    ("W0201", "control c() { bit<8> x = 1; apply { bit<8> x = 2; } }"),
    ("W0703", "control c(out bit<8> y) { apply { bit<8> x; y = x; } }"),
    (
        "W0704",
        "header H { bit<8> f; } control c(out bit<8> y) { H h; apply { y = h.f; } }",
    ),
    (
        "W0705",
        "parser p(in bit<8> x) { state start { transition select(x) { 1: again; _: accept; } }
         state again { transition again; } }",
    ),
    (
        "W0706",
        "@deprecated(\"Use g.\") extern void f(); control c() { apply { f(); } }",
    ),
    (
        "W0707",
        "control c(in bool b, out bit<8> y) { apply { if (b) { y = 1; } } }",
    ),
    ("W0708", "parser p() { state start { } }"),
    (
        "W0709",
        "parser p() { state start { transition accept; } state other { transition accept; } }",
    ),
    (
        "W0710",
        "header H { bit<8> f; } struct S { H h; }
         parser p(out S s) { state start { transition accept; } } control c(inout S s) { apply { s.h.f = 1; } }
         parser P(out S s); control C(inout S s); package top(P p, C c); top(p(), c()) main;",
    ),
    ("W0203", "@field_list(1) typedef bit<8> t;"),
    ("W0202", "struct S { @field_lists(1) bit<8> x; }"),
    ("E0301", "const bit<8> a = true;"),
    ("E0302", "const bool a = 1 && true;"),
    ("E0303", "const bit<8> a = 8w1 + 9w1;"),
    ("E0304", "const bit<8> a = (bit<8>) 9s1;"),
    ("E0305", "const bool a = 1 == true;"),
    ("E0306", "control c(in bit<1> x) { apply { if (x) {} } }"),
    ("E0307", "header H { int a; }"),
    ("E0308", "const bit<(-1)> a = 1;"),
    ("E0309", "struct S<T> { T a; } const S<bit<1>, bit<2>> s = { 1 };"),
    ("E0310", "extern T f<T>(); control c() { apply { f(); } }"),
    ("E0311", "struct S { bit<8> a; bit<8> b; } const S s = { 1 };"),
    ("E0312", "const tuple<bit<8>> t = { 1 }; const bit<8> a = t[1];"),
    ("E0313", "const bit<8> a = 8w3[8:1];"),
    ("E0314", "control c() { int x; apply {} }"),
    ("E0315", "enum bool E { A = true }"),
    ("E0316", "struct S {} type S T;"),
    (
        "E0317",
        "extern E { E(); } const bit<8> a = 1; control c(in tuple<E> x) { apply {} }",
    ),
    ("E0318", "const bit<16> a = 1 ++ 8w1;"),
    (
        "E0319",
        "control c(in bit<8> x) { apply { bit<8> y = (bit<8>) (1 << x); } }",
    ),
    ("E0320", "control c(in bit<8> x) { apply { x = 1; } }"),
    ("E0321", "void f() {} control c() { apply { bit<8> x = f(); } }"),
    ("E0401", "control c(in bit<8> x) { const bit<8> y = x; apply {} }"),
    ("E0402", "const int a = 1 / 0;"),
    (
        "E0403",
        "control c(in int<8> x, in int<8> y) { apply { int<8> z = x / y; } }",
    ),
    ("E0404", "const int a = 1 << 100000;"),
    ("E0405", "$ const bool a = static_assert(1 > 2, \"no\");"),
    ("W0401", "const bit<4> a = 16;"),
    ("W0402", "const bit<4> a = 4w1 << 4;"),
    ("W0403", "control c(in bit<8> x) { apply { if (x < 0) {} } }"),
    (
        "W0501",
        "control c() { action a() {} @name(\"a\") table t { actions = { a; } default_action = a; } apply { t.apply(); } }",
    ),
    ("E0501", "extern E { E(); } control c(in E e) { apply {} }"),
    ("E0502", "extern E {} E() e;"),
    ("E0503", "control C(); control d() { C() c; apply {} }"),
    ("E0504", "control C() { apply {} } C() c;"),
    ("E0505", "extern E { E(); abstract void f(); } E() e;"),
    ("E0506", "extern E { E(); } E() main;"),
    ("E0507", "bit<8> f(in bool b) { if (b) { return 1; } }"),
    ("E0508", "void f() { return 1; }"),
    ("E0509", "extern E { void E(); }"),
    (
        "E0510",
        "$ control c() { @name(\".x\") action a() {} @name(\".x\") action b(bit<8> v) {} apply {} }",
    ),
    ("E0511", "extern void f(out bit<8> x = 1);"),
    ("E0512", "extern E { E(); void f(in bit<8> x); void f(in bit<9> x); }"),
    (
        "E0601",
        "$ control c(in bit<8> x) { table t { key = { x: exact; } } apply {} }",
    ),
    (
        "E0602",
        "$ control c() { table t { actions = {} size = 1; size = 2; } apply {} }",
    ),
    (
        "E0603",
        "$ header H {} control c(in H h) { table t { key = { h: exact; } actions = {} } apply {} }",
    ),
    (
        "E0604",
        "$ control c() { action a(in bit<8> x) {} table t { actions = { a; } } apply {} }",
    ),
    (
        "E0605",
        "$ control c() { action a() {} table t { actions = {} default_action = a; } apply {} }",
    ),
    (
        "E0606",
        "$ control c() { table t { actions = { NoAction; } entries = { 1: NoAction(); } } apply {} }",
    ),
    ("E0607", "control c() { table t { actions = {} } apply {} }"),
    (
        "E0608",
        "$ control c(in bit<8> x) { table t { key = { x: exact; } actions = { NoAction; }
         entries = { priority = 1: 1: NoAction(); } } apply {} }",
    ),
    (
        "E0608",
        "$ control c(in bit<8> x) { table t { key = { x: ternary; } actions = { NoAction; }
         entries = { priority = (-1): 1: NoAction(); } } apply {} }",
    ),
    (
        "E0608",
        "$ control c(in bit<8> x) { table t { key = { x: ternary; } actions = { NoAction; } priority_delta = 0;
         entries = { priority = 1: 1: NoAction(); } } apply {} }",
    ),
    (
        "E0608",
        "$ control c(in bit<8> x) { table t { key = { x: ternary; } actions = { NoAction; } largest_priority_wins = 1;
         entries = { priority = 1: 1: NoAction(); } } apply {} }",
    ),
    (
        "W0602",
        "$ control c(in bit<8> x) { table t { key = { x: ternary; } actions = { NoAction; }
         entries = { priority = 5: 1: NoAction(); priority = 5: 2: NoAction(); } } apply {} }",
    ),
    (
        "W0602",
        "$ control c(in bit<8> x) { table t { key = { x: ternary; } actions = { NoAction; } largest_priority_wins = false;
         entries = { priority = 5: 1: NoAction(); priority = 4: 2: NoAction(); } } apply {} }",
    ),
    (
        "W0603",
        "$ control c(in bit<8> x) { table t { szie = 3; actions = { NoAction; } } apply {} }",
    ),
    (
        "W0604",
        "$ control c(in bit<8> x, in bit<8> y) { table t { key = { x: ternary; y: exact; } actions = { NoAction; }
         const entries = { (2 &&& 6, 1): NoAction(); (3 &&& 6, 1): NoAction(); } } apply {} }",
    ),
    (
        "E0609",
        "control c(in bit<8> x) { apply { switch (x) { 1: {} 1: {} } } }",
    ),
    (
        "E0610",
        "$ control c() { table t { actions = {} size = true; } apply {} }",
    ),
    (
        "W0601",
        "$ control c() { table t { key = { 8w1: exact; } actions = {} } apply {} }",
    ),
    ("E0701", "parser p() { state begin { transition accept; } }"),
    ("E0702", "parser p() { state start { transition next; } }"),
    (
        "E0703",
        "parser p() { state start { transition accept; } state accept { transition reject; } }",
    ),
    (
        "E0704",
        "struct S {} parser p(in S s) { state start { transition select(s) { _: accept; } } }",
    ),
    (
        "E0705",
        "parser p(in bit<8> x) { state start { transition select(x, x) { (1, 2, 3): accept; } } }",
    ),
    (
        "E0706",
        "extern void f(in bit<8> x); control c() { apply { f(1, 2); } }",
    ),
    (
        "E0707",
        "extern void f(); extern void f(in bit<8> x); control c() { apply { f(1, 2); } }",
    ),
    (
        "E0708",
        "extern void f(in bit<8> x); extern void f(in bit<9> y); control c() { apply { f(1); } }",
    ),
    ("E0709", "const bit<8> a = 1; control c() { apply { a(); } }"),
    ("E0710", "$ control c() { apply { verify(true, error.NoError); } }"),
    (
        "E0710",
        "$ header H { bit<8> f; } control c(inout H[2] s) {
         action a(in bool v) { } table t { actions = { NoAction; } }
         apply { a(s[t.apply().hit ? 8w1 : 0].isValid()); } }",
    ),
    ("E0711", "control c() { apply { break; } }"),
    (
        "E0712",
        "$ parser p(packet_in b, out bit<8> x) { state start { b.extract(x); transition accept; } }",
    ),
    (
        "E0713",
        "header H {} control c(inout H[2] s) { apply { H h = s.next; } }",
    ),
    ("E0714", "parser p() { state start { transition start; } }"),
    (
        "W0701",
        "parser p(in bit<8> x) { state start { transition select(x) { _: accept; 1: reject; } } }",
    ),
    ("W0702", "control c(out bit<8> x) { apply {} }"),
    ("E0951", TOO_LARGE),
];

/// What the parser sees first: only trees that were made otherwise can earn these.
const PARSER_FIRST: [&str; 3] = ["E0203", "E0209", "E0950"];

/// Marks the sample that is generated.
const TOO_LARGE: &str = "(too large)";

fn program(sample: &str) -> String {
    match sample {
        TOO_LARGE => {
            let levels = (1..20).map(|level| format!("struct S{level} {{ S{0} a; S{0} b; }}\n", level - 1));
            format!("struct S0 {{ bit<8> a; bit<8> b; }}\n{}", levels.collect::<String>())
        }
        _ => sample.replace('$', "#include <core.p4>\n"),
    }
}

#[test]
fn each_sample_earns_its_message() {
    let mut failures = String::new();
    for (code, sample) in SAMPLES {
        let text = program(sample);
        let said = diagnostics(&text);
        let errors = said.iter().filter(|item| item.severity == Severity::Error);
        let right = said.iter().any(|item| item.code.as_str() == *code);
        if !right || errors.clone().any(|item| item.code.as_str() != *code) {
            let messages: Vec<String> = said
                .iter()
                .map(|item| format!("{} {}", item.code, item.message))
                .collect();
            failures += &format!("\n{code} for {text}\n  {}", messages.join("\n  "));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn each_message_has_a_sample() {
    let sampled: BTreeSet<&str> = SAMPLES.iter().map(|(code, _)| *code).chain(PARSER_FIRST).collect();
    let known: BTreeSet<&str> = TABLE.iter().map(|info| info.code.as_str()).collect();
    assert_eq!(sampled, known);
}

#[test]
fn messages_name_what_was_meant() {
    let said = diagnostics("struct S { bit<8> source; } control c(in S s) { apply { bit<8> x = s.sorce; } }");
    assert_eq!(said[0].hint.as_deref(), Some("did you mean `source`?"));
    assert_eq!(said[0].options, ["source"]);
}

#[test]
fn one_mistake_is_reported_once() {
    let said = diagnostics("control c() { apply { bit<8> x = nothing + 1; bit<8> y = x; if (nothing2 == y) {} } }");
    let errors: Vec<&str> = said.iter().map(|item| item.code.as_str()).collect();
    assert_eq!(errors, ["E0201", "E0201"]);
}

#[test]
fn no_warn_mutes_a_warning() {
    let read = |annotation: &str| {
        let text = format!("control c(out bit<8> y) {{ bit<8> x; apply {{ {annotation} {{ y = x; }} }} }}");
        diagnostics(&text)
            .iter()
            .map(|item| item.code.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(read(""), ["W0703"]);
    assert_eq!(read("@noWarn(\"invalid-header\")"), ["W0703"]);
    assert!(read("@noWarn(\"uninitialized-use\")").is_empty());
}

#[test]
fn deparsers_of_psa_may_leave_metadata_unset() {
    let codes = |packet: &str| {
        let text = format!(
            "#include <core.p4>
             struct psa_ingress_output_metadata_t {{ bool clone; }}
             struct meta_t {{ bit<8> mark; }}
             control c({packet}out meta_t clone_i2e_meta, out meta_t normal_meta, in psa_ingress_output_metadata_t istd) {{
             apply {{ if (istd.clone) {{ clone_i2e_meta.mark = 1; }} }} }}"
        );
        let mut codes: Vec<_> = diagnostics(&text).iter().map(|item| item.code.as_str()).collect();
        codes.sort_unstable();
        codes
    };
    assert!(codes("packet_out packet, ").is_empty());
    assert!(codes("").contains(&"W0702"));
    assert!(codes("").contains(&"W0707"));
}

#[test]
fn values_are_followed_through_branches_loops_and_actions() {
    let codes = |body: &str| {
        let text = format!(
            "header H {{ bit<8> f; }} control c(in bit<8> a, out bit<8> y) {{
             bit<8> x; H h; @noWarn(\"unused\") action set() {{ x = 1; }} {body} }}"
        );
        diagnostics(&text)
            .iter()
            .map(|item| item.code.as_str())
            .collect::<Vec<_>>()
    };
    assert!(codes("apply { if (a == 1) { x = 1; } else { x = 2; } y = x; }").is_empty());
    assert!(codes("apply { set(); y = x; }").is_empty());
    assert!(codes("apply { if (a == 1) { y = 0; return; } x = 1; y = x; }").is_empty());
    assert!(codes("apply { if (a == 1) { y = 0; exit; } else { x = 1; } y = x; }").is_empty());
    assert!(codes("apply { h.setValid(); h.f = 1; y = h.f; }").is_empty());
    assert!(codes("apply { h = { a }; y = h.f; }").is_empty());
    assert_eq!(
        codes("apply { y = 0; for (bit<8> i in 0 .. a) { y = x; x = 1; } }"),
        ["W0703"]
    );
    assert_eq!(
        codes("apply { y = 0; for (bit<8> i in 0 .. a) { x = 1; } y = x; }"),
        ["W0703"]
    );
    assert_eq!(
        codes("apply { h.setValid(); h.f = 1; h.setInvalid(); y = h.f; }"),
        ["W0704"]
    );
}

/// Loops, indices, receivers and selects: calls in them write, and they read variables.
#[test]
fn calls_and_variables_are_found_wherever_an_expression_may_stand() {
    let codes = |body: &str| {
        let text = format!(
            "#include <core.p4>
             header H {{ bit<8> f; }} bit<8> f(out bit<8> y) {{ y = 1; return 1; }}
             tuple<bit<8>, bit<8>> pair(out bit<8> y) {{ y = 1; return {{ 1, 2 }}; }}
             {body}"
        );
        let mut codes: Vec<_> = diagnostics(&text).iter().map(|item| item.code.as_str()).collect();
        codes.sort_unstable();
        codes
    };
    let control = |apply: &str| {
        codes(&format!(
            "control c(inout H[4] s, out bit<8> y) {{ apply {{ {apply} }} }}"
        ))
    };
    let parser = |states: &str| codes(&format!("parser p(in bit<8> a, out bit<8> y) {{ bit<8> x; {states} }}"));
    let nothing: [&str; 0] = [];
    assert_eq!(control("for (bit<8> i in f(y) .. 5) { }"), nothing);
    assert_eq!(control("for (bit<8> i in pair(y)) { }"), nothing);
    assert_eq!(control("if (s[f(y)].isValid()) { }"), nothing);
    assert_eq!(control("s[f(y)].setValid();"), nothing);
    assert_eq!(control("y = 0; bit<2> i; if (s[i].isValid()) { }"), ["W0703"]);
    assert_eq!(control("y = 0; bit<2> i; s[i].setInvalid();"), ["W0703"]);
    let written = "state start { transition select(f(y)) { 1: accept; _: reject; } }";
    assert_eq!(parser(written), nothing);
    let read = "state start { y = 0; transition select(a) { x: accept; _: reject; } }";
    assert_eq!(parser(read), ["W0703"]);
}

#[test]
fn reasons_are_found_in_every_part_of_an_expression() {
    let message = |statements: &str| {
        let text = format!(
            "#include <core.p4>
             header H {{ bit<8> f; }}
             parser p(in H[4] a, inout H[4] b) {{ state start {{ {statements} transition accept; }} }}"
        );
        let found = diagnostics(&text);
        let notes = found.iter().flat_map(|item| item.notes.iter().chain([&item.message]));
        notes.cloned().collect::<Vec<_>>().join("; ")
    };
    let slice = message("b[0].f = b[0].f[b.lastIndex:0];");
    assert!(slice.contains("`b` is a parameter"), "{slice}");
    let next = message("a.next.f = 1;");
    assert!(next.contains("but `a` is an `in` parameter"), "{next}");
    let last = message("a.last.f = 1;");
    assert!(last.contains("it is `last` of a stack"), "{last}");
}

#[test]
fn packages_of_one_name_are_told_apart_by_arguments_and_type_arguments() {
    let declarations = "control C<H>(inout H h); package P<A>(C<A> a); package P<A, B>(C<A> a, C<B> b); \
                        control c(inout bit<8> x) { apply {} }";
    for (instance, expected) in [
        ("P(c()) main;", None),
        ("P(c(), c()) main;", None),
        ("P(b = c(), a = c()) main;", None),
        ("P<bit<8>>(c()) main;", None),
        ("P<bit<8>, bit<8>>(c(), c()) main;", None),
        ("P() main;", Some("no constructor of `P` takes 0 arguments")),
        (
            "P<bit<8>>(c(), c()) main;",
            Some("constructor of `P`: it takes 1 argument, but 2 are given"),
        ),
        (
            "P<bit<8>, bit<8>, bit<8>>(c()) main;",
            Some("`P` has 2 type parameters, but 3 type arguments are given"),
        ),
    ] {
        let found = diagnostics(&format!("{declarations} {instance}"));
        let messages: Vec<&str> = found.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        assert_eq!(messages, expected.into_iter().collect::<Vec<_>>(), "{instance}");
    }
}

#[test]
fn what_a_table_did_is_taken_into_account() {
    let codes = |default: &str, body: &str| {
        let text = format!(
            "#include <core.p4>
             control c(in bit<8> a, out bit<8> y) {{
             bit<8> x; action set(bit<8> value) {{ x = value; }} action other() {{ y = 0; }}
             table t {{ key = {{ a: exact; }} actions = {{ set; {default} other; }} default_action = other; }}
             apply {{ y = 0; {body} }} }}"
        );
        diagnostics(&text)
            .iter()
            .map(|item| item.code.as_str())
            .collect::<Vec<_>>()
    };
    let on_hit = "if (t.apply().hit) { y = x; }";
    assert!(codes("@defaultonly", on_hit).is_empty());
    assert_eq!(codes("", on_hit), ["W0703"]);
    assert!(codes("@defaultonly", "if (t.apply().miss) { return; } y = x;").is_empty());
    assert!(codes("@defaultonly", "if (t.apply().hit && x == 1) { y = 1; }").is_empty());
    assert_eq!(
        codes("@defaultonly", "if (t.apply().miss || a == 1) { y = x; }"),
        ["W0703"]
    );
    assert!(codes("", "switch (t.apply().action_run) { set: { y = x; } }").is_empty());
    assert!(codes("", "switch (t.apply().action_run) { other: { return; } } y = x;").is_empty());
    assert!(
        codes(
            "",
            "switch (t.apply().action_run) { other: { x = 1; } default: { } } y = x;"
        )
        .is_empty()
    );
    assert_eq!(
        codes("", "switch (t.apply().action_run) { set: { } default: { } } y = x;"),
        ["W0703"]
    );
    assert_eq!(codes("", "t.apply(); y = x;"), ["W0703"]);
}

/// Without a default action NoAction runs on a miss, whether the table lists it or not.
#[test]
fn no_action_is_taken_into_account_where_there_is_no_default() {
    let codes = |listed: &str, cases: &str| {
        let text = format!(
            "#include <core.p4>
             control c(in bit<8> a, out bit<8> y) {{
             bit<8> x; action set(bit<8> value) {{ x = value; }}
             table t {{ key = {{ a: exact; }} actions = {{ set; {listed} }} }}
             apply {{ y = 0; switch (t.apply().action_run) {{ {cases} }} y = x; }} }}"
        );
        let found = diagnostics(&text);
        let codes = found.iter().map(|item| item.code.as_str());
        codes.collect::<Vec<_>>()
    };
    let nothing: [&str; 0] = [];
    for listed in ["", "NoAction;", "@defaultonly NoAction;"] {
        assert_eq!(codes(listed, "NoAction: { return; }"), nothing, "{listed}");
        assert_eq!(codes(listed, "NoAction: { x = 1; } set: { }"), nothing, "{listed}");
        assert_eq!(codes(listed, "set: { } NoAction: { y = 1; }"), ["W0703"], "{listed}");
        assert_eq!(codes(listed, "set: { x = 1; }"), ["W0703"], "{listed}");
    }
}

#[test]
fn no_action_that_stands_in_is_taken_into_account() {
    let codes = |body: &str| {
        let text = format!(
            "#include <core.p4>
             control c(in bit<8> a, out bit<8> y) {{
             bit<8> x; action set(bit<8> value) {{ x = value; }}
             table t {{ key = {{ a: exact; }} actions = {{ set; }} }}
             apply {{ y = 0; switch (t.apply().action_run) {{ {body} }} }} }}"
        );
        let found = diagnostics(&text);
        let codes = found.iter().map(|item| item.code.as_str());
        codes.collect::<Vec<_>>()
    };
    let nothing: [&str; 0] = [];
    assert_eq!(codes("set: { y = x; } NoAction: { y = 1; }"), nothing);
    assert_eq!(codes("NoAction: { y = 1; } default: { y = x; }"), nothing);
    assert_eq!(codes("set: { y = x; } NoAction: { y = x; }"), ["W0703"]);
    assert_eq!(codes("set: { y = 1; } default: { y = x; }"), ["W0703"]);
}

#[test]
fn a_header_that_anything_makes_valid_may_be_used() {
    let codes = |state: &str, apply: &str| {
        let text = format!(
            "#include <core.p4>
             header H {{ bit<8> f; }} header_union U {{ H a; H b; }} struct S {{ H h; H[2] stack; U u; H other; }}
             void fill(out S s) {{ s.other.setValid(); }}
             void fill_header(inout H h) {{ h.setValid(); }}
             parser p(packet_in packet, out S s) {{ state start {{ {state} transition accept; }} }}
             control c(inout S s) {{ apply {{ {apply} }} }}
             parser P(packet_in packet, out S s); control C(inout S s); package top(P p, C c); top(p(), c()) main;"
        );
        let found = diagnostics(&text);
        let codes = found.iter().map(|item| item.code.as_str());
        codes.collect::<Vec<_>>()
    };
    let nothing: [&str; 0] = [];
    let uses = "if (s.h.isValid()) { s.h.f = s.h.f + 1; }";
    assert_eq!(codes("", uses), ["W0710"]);
    assert_eq!(codes("packet.extract(s.h);", uses), nothing);
    assert_eq!(codes("s.h = packet.lookahead<H>();", uses), nothing);
    assert_eq!(codes("", &format!("s.h.setValid(); s.h.f = 0; {uses}")), nothing);
    assert_eq!(codes("", &format!("s.h.setInvalid(); {uses}")), ["W0710"]);
    assert_eq!(codes("fill_header(s.h);", uses), nothing);
    assert_eq!(codes("fill(s);", "s.other.f = 1;"), nothing);
    assert_eq!(codes("fill(s);", uses), ["W0710"]);
    assert_eq!(codes("packet.extract(s.stack.next);", "s.stack[1].f = 1;"), nothing);
    assert_eq!(codes("", "s.stack[1].f = 1;"), ["W0710"]);
    assert_eq!(codes("packet.extract(s.u.a);", "s.u.a.f = 1;"), nothing);
    assert_eq!(codes("packet.extract(s.u.a);", "s.u.b.f = 1;"), ["W0710"]);
    assert_eq!(codes("", "s.stack[s.h.f].setValid();"), ["W0710"]);
    assert_eq!(codes("", "s.stack[s.h.f].setInvalid();"), ["W0710"]);
}
