//! Warnings on request, and warnings as errors.

use forebay_driver::{Options, check, compile};
use forebay_syntax::source::MemorySources;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> a; bit<32> b; }
header odd_t { bit<7> x; }
header v_t { varbit<16> one; varbit<16> two; }
header big_t { bit<2048> x; }
struct pair_t { bit<8> x; bit<8> y; }
struct H { h_t h; v_t v; big_t[3] big; }
struct M { @field_list(1) bit<8> list; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    register<bit<8>>(1) seen;
    state start { seen.write(0, 1); p.extract(h.h); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    register<pair_t>(8) pairs;
    action compute() {
        h.h.a = h.h.a * h.h.b;
        h.h.b = h.h.a / 3 + (h.h.b << h.h.a[4:0]);
        switch (h.h.a) {
            1: { h.h.b = 2; }
            default: { }
        }
    }
    table t {
        key = { h.h.a : range; }
        actions = { compute; NoAction; }
    }
    apply {
        h.h.a = h.h.a * 4;
        t.apply();
        t.apply();
        for (bit<32> i in 0 .. h.h.b) {
            h.h.a = h.h.a + i;
        }
        h.big[h.h.a].x = 1;
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { if (h.h.b == 0) { p.emit(h.h); } p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

fn sources() -> MemorySources {
    MemorySources::new().with("main.p4", PROGRAM)
}

#[test]
fn what_other_targets_refuse_is_listed_on_request() {
    let sources = sources();
    let checked = check("main.p4", &Options::new(&sources));
    assert!(
        checked
            .diagnostics
            .iter()
            .all(|message| !message.code.as_str().starts_with("W085"))
    );
    let checked = checked.with_portability();
    let said: Vec<String> = checked
        .diagnostics
        .iter()
        .map(|message| message.message.clone())
        .collect();
    for (target, what) in [
        ("BMv2", "`switch` in an action"),
        ("BMv2", "a loop whose bounds are known only at run time"),
        ("BMv2", "the table `t` is applied in 2 places"),
        ("BMv2", "several fields of variable length"),
        ("BMv2", "the header `odd_t` has 7 bits, which are not whole bytes"),
        ("BMv2", "the elements of the register `pairs` are structs"),
        ("BMv2", "emits can have"),
        ("BMv2", "division"),
        ("BMv2", "the use of a `register` in a parser"),
        ("BMv2", "a condition in a deparser"),
        ("Tofino", "multiplication"),
        ("Tofino", "division"),
        ("Tofino", "a shift by an amount"),
        ("Tofino", "an index that is known only at run time"),
        ("Tofino", "a range over more than 20 bits"),
        ("Tofino", "the table `t` is applied in 2 places"),
        ("Tofino", "a field of variable length"),
    ] {
        let found = |text: &&String| text.starts_with(&format!("not portable to {target}: ")) && text.contains(what);
        assert!(
            said.iter().any(|text| found(&text)),
            "{target}: {what}\n{}",
            said.join("\n")
        );
    }
    let multiplications = said.iter().filter(|text| text.contains("multiplication"));
    assert_eq!(multiplications.count(), 1, "powers of 2 are shifts");
}

/// Selects, keys of tables and initial values.
#[test]
fn operators_are_found_wherever_an_expression_may_stand() {
    let program = r#"
        #include <core.p4>
        #include <v1model.p4>
        header h_t { bit<32> a; bit<32> b; }
        struct H { h_t h; }
        struct M { bit<32> x; }
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
            bit<32> x = m.x * m.x;
            state start { p.extract(h.h); transition select(h.h.a * x) { 1: accept; } }
        }
        control V(inout H h, inout M m) { apply { } }
        control I(inout H h, inout M m, inout standard_metadata_t s) {
            bit<32> x = h.h.a * h.h.b;
            action set(in bit<32> value) { h.h.a = value; }
            table t { key = { h.h.a * h.h.b: exact @name("product"); } actions = { set(x * x); NoAction; } }
            apply { t.apply(); }
        }
        control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in H h) { apply { p.emit(h.h); } }
        V1Switch(P(), V(), I(), E(), V(), D()) main;
    "#;
    let sources = MemorySources::new().with("main.p4", program);
    let checked = check("main.p4", &Options::new(&sources)).with_portability();
    let said = checked
        .diagnostics
        .iter()
        .filter(|said| said.message.contains("multiplication"));
    assert_eq!(said.count(), 5);
}

/// Constructor parameters, and variables of loops that are unrolled, are constants for every target.
#[test]
fn constants_of_elaboration_are_portable() {
    let program = r#"
        #include <core.p4>
        #include <v1model.p4>
        const bit<8> N = 3;
        header h_t { bit<32> a; }
        struct H { h_t h; h_t[4] stack; }
        struct M { }
        parser Sub(packet_in p, out H h)(bit<32> which) {
            state start { p.extract(h.h); transition select(h.h.a) { which: accept; default: more; } }
            state more { p.extract(h.stack.next); p.extract(h.stack.next); transition accept; }
        }
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
            Sub(7) sub;
            state start { sub.apply(p, h); transition accept; }
        }
        control V(inout H h, inout M m) { apply { } }
        control Shift(inout H h)(bit<8> amount) {
            apply {
                h.h.a = (h.h.a << amount) >> (amount + 1);
                h.stack[amount].a = 1;
                for (bit<8> i in 0 .. amount) { h.stack[i].a = h.h.a << i; }
                for (bit<8> i = 0; i < N; i = i + 1) { h.stack[i].a = 2; }
                for (bit<8> i = 0; N > i; i = i + 1) { h.stack[(bit<2>) i].a = 2; }
            }
        }
        control I(inout H h, inout M m, inout standard_metadata_t s) {
            Shift(3) shift;
            apply { s.egress_spec = 1; shift.apply(h); }
        }
        control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in H h) { apply { p.emit(h); } }
        V1Switch(P(), V(), I(), E(), V(), D()) main;
    "#;
    let said = |program: &str| -> Vec<String> {
        let sources = MemorySources::new().with("main.p4", program);
        let checked = check("main.p4", &Options::new(&sources)).with_portability();
        assert!(checked.typed.is_some());
        let lints = checked.diagnostics.iter().filter(|said| said.code.as_str() > "W085");
        lints.map(|said| said.message.clone()).collect()
    };
    assert_eq!(said(program), Vec::<String>::new());
    let unbounded = said(&program.replace("i in 0 .. amount", "i in 0 .. h.h.a[7:0]"));
    assert_eq!(unbounded.len(), 3, "the loop, an index and a shift: {unbounded:?}");
}

#[test]
fn strict_makes_warnings_errors() {
    let text = PROGRAM
        .replace("@field_list(1)", "@field_lists(1)")
        .replace(" varbit<16> two;", "");
    let sources = MemorySources::new().with("main.p4", &text);
    let options = Options::new(&sources);
    assert!(compile("main.p4", &options).program.is_some());
    let strict = compile("main.p4", &options).strict();
    assert!(strict.program.is_none() && strict.p4info.is_none());
    assert!(strict.diagnostics.has_errors());
    let checked = check("main.p4", &options);
    assert!(checked.typed.is_some() && checked.diagnostics.iter().len() > 0);
    assert!(checked.strict().typed.is_none());
}

#[test]
fn a_program_that_lacks_only_its_last_line_is_told_so() {
    let all_but_main = PROGRAM.replace("V1Switch(P(), V(), I(), E(), V(), D()) main;", "");
    let library = "#include <core.p4>\ncontrol C(inout bit<8> x) { apply { x = 1; } }";
    let sources = MemorySources::new()
        .with("all.p4", &all_but_main)
        .with("library.p4", library);
    let says_so = |path: &str| {
        let checked = check(path, &Options::new(&sources));
        assert!(checked.typed.is_some(), "{path}");
        checked
            .diagnostics
            .iter()
            .any(|message| message.code.as_str() == "E0803")
    };
    assert!(says_so("all.p4"));
    assert!(!says_so("library.p4"));
}

/// What is meant to be included gives one message when it is taken for a program, and misspelt names give theirs.
#[test]
fn a_part_of_a_program_gives_one_message() {
    let control = r#"
        control C(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t s) {
            action drop() { mark_to_drop(s); }
            table t { key = { hdr.ipv4.dst_addr: lpm; } actions = { drop; } }
            apply { t.apply(); }
        }"#;
    let states = "state a { transition accept; } state b { transition accept; } state c { transition accept; }";
    let entries = "0x00: set(1); 0x01: set(2); 0x02: set(3);";
    let whole = format!("{control} V1Switch(C()) main;");
    let misspelt = "header aa_t { bit<8> a; } struct H { aa_r a; aa_s b; aa_p c; }";
    let sources = MemorySources::new()
        .with("control.p4", control)
        .with("states.p4", states)
        .with("entries.p4", entries)
        .with("whole.p4", &whole)
        .with("misspelt.p4", misspelt);
    let said = |path: &str| -> Vec<String> {
        let checked = check(path, &Options::new(&sources));
        assert!(checked.typed.is_none() && checked.diagnostics.has_errors(), "{path}");
        (checked.diagnostics.iter().map(|message| message.message.clone())).collect()
    };
    let beginning = "this is a part of a program: it has no `main`, and";
    assert_eq!(
        said("control.p4"),
        [format!(
            "{beginning} does not declare `headers_t`, `meta_t`, `standard_metadata_t`, `lpm`"
        )]
    );
    for path in ["states.p4", "entries.p4"] {
        assert_eq!(
            said(path),
            [format!("{beginning} what stands here is not inside a declaration")]
        );
    }
    for path in ["whole.p4", "misspelt.p4"] {
        let messages = said(path);
        assert!(messages.len() >= 3, "{path}: {messages:?}");
        assert!(!messages.iter().any(|message| message.starts_with(beginning)), "{path}");
    }
}

/// Every packet of such a program leaves by port 0.
#[test]
fn a_program_that_chooses_no_port_is_told_so() {
    let program = |actions: &str, apply: &str| {
        format!(
            r#"
            #include <core.p4>
            #include <v1model.p4>
            header h_t {{ bit<32> a; }}
            struct H {{ h_t h; }}
            struct M {{ }}
            parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
                state start {{ p.extract(h.h); transition accept; }}
            }}
            control V(inout H h, inout M m) {{ apply {{ }} }}
            control I(inout H h, inout M m, inout standard_metadata_t s) {{
                {actions}
                table t {{ key = {{ h.h.a: exact; }} actions = {{ act; NoAction; }} }}
                apply {{ t.apply(); {apply} }}
            }}
            control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
            control D(packet_out p, in H h) {{ apply {{ p.emit(h.h); }} }}
            V1Switch(P(), V(), I(), E(), V(), D()) main;"#
        )
    };
    let said = |actions: &str, apply: &str| {
        let sources = MemorySources::new().with("main.p4", &program(actions, apply));
        let checked = check("main.p4", &Options::new(&sources));
        assert!(checked.typed.is_some(), "{actions} {apply}");
        let mut messages = checked.diagnostics.iter();
        let warning = messages.find(|message| message.code.as_str() == "W0815");
        warning.map(|warning| warning.message.clone())
    };
    let message = |packets: &str| {
        Some(format!(
            "nothing writes `egress_spec` or `mcast_grp`: {packets} leaves by port 0"
        ))
    };
    assert_eq!(said("action act() { h.h.a = 1; }", ""), message("every packet"));
    assert_eq!(
        said("action act() { mark_to_drop(s); }", ""),
        message("every packet that is not dropped")
    );
    for (actions, apply) in [
        ("action act(bit<9> port) { s.egress_spec = port; }", ""),
        ("action act() { s.mcast_grp = 1; }", ""),
        ("action act() { h.h.a = 1; }", "s.egress_spec = 0;"),
        ("action act() { h.h.a = 1; }", "mark_to_drop(s);"),
    ] {
        assert_eq!(said(actions, apply), None, "{actions} {apply}");
    }
}

/// Ingress of PSA drops every packet unless it is told otherwise.
#[test]
fn a_psa_program_that_sends_nothing_is_told_so() {
    let program = |apply: &str| {
        format!(
            r#"
            #include <core.p4>
            #include <psa.p4>
            header h_t {{ bit<8> a; }}
            struct H {{ h_t h; }}
            struct M {{ }}
            struct none_t {{ }}
            parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in none_t r, in none_t c) {{
                state start {{ p.extract(h.h); transition accept; }}
            }}
            control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t ostd) {{
                action drop() {{ ingress_drop(ostd); }}
                table t {{ key = {{ h.h.a: exact; }} actions = {{ drop; NoAction; }} }}
                apply {{ t.apply(); {apply} }}
            }}
            control ID(packet_out p, out none_t c, out none_t r, out none_t n, inout H h, in M m, in psa_ingress_output_metadata_t i) {{
                apply {{ p.emit(h); }}
            }}
            parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in none_t n, in none_t c, in none_t d) {{
                state start {{ p.extract(h.h); transition accept; }}
            }}
            control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{ apply {{ }} }}
            control ED(packet_out p, out none_t c, out none_t r, inout H h, in M m, in psa_egress_output_metadata_t o,
                       in psa_egress_deparser_input_metadata_t d) {{
                apply {{ p.emit(h); }}
            }}
            IngressPipeline(IP(), I(), ID()) ip;
            EgressPipeline(EP(), E(), ED()) ep;
            PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;"#
        )
    };
    let said = |apply: &str| {
        let sources = MemorySources::new().with("main.p4", &program(apply));
        let checked = check("main.p4", &Options::new(&sources));
        assert!(checked.typed.is_some(), "{apply}");
        checked
            .diagnostics
            .iter()
            .any(|message| message.code.as_str() == "W0815")
    };
    for apply in ["", "ostd.clone = false;"] {
        assert!(said(apply), "{apply}");
    }
    for apply in [
        "send_to_port(ostd, (PortId_t) 1);",
        "multicast(ostd, (MulticastGroup_t) 1);",
        "ostd.drop = h.h.a == 1;",
        "ingress_drop(ostd);",
        "ostd.clone = true; ostd.clone_session_id = (CloneSessionId_t) 1;",
    ] {
        assert!(!said(apply), "{apply}");
    }
}

/// A packet of PNA is dropped unless the main control sends it somewhere.
#[test]
fn a_pna_program_that_sends_nothing_is_told_so() {
    let said = |action: &str, apply: &str| {
        let program = format!(
            r#"
            #include <core.p4>
            #include <pna.p4>
            header h_t {{ bit<8> a; }}
            struct H {{ h_t h; }}
            struct M {{ }}
            parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
                state start {{ p.extract(h.h); transition accept; }}
            }}
            control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {{ apply {{ }} }}
            control Main(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
                action act() {{ {action} }}
                table t {{ key = {{ h.h.a: exact; }} actions = {{ act; NoAction; }} }}
                apply {{ t.apply(); {apply} }}
            }}
            control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ p.emit(h); }} }}
            PNA_NIC(P(), Pre(), Main(), D()) main;"#
        );
        let sources = MemorySources::new().with("main.p4", &program);
        let checked = check("main.p4", &Options::new(&sources));
        assert!(checked.typed.is_some(), "{action} {apply}");
        let mut messages = checked.diagnostics.iter();
        messages.any(|message| message.code.as_str() == "W0815")
    };
    assert!(said("h.h.a = 1;", ""));
    assert!(said("drop_packet();", "h.h.a = 1;"));
    for (action, apply) in [
        ("send_to_port((PortId_t) 1);", ""),
        ("h.h.a = 1;", "recirculate();"),
        (
            "h.h.a = 1;",
            "mirror_packet((MirrorSlotId_t) 0, (MirrorSessionId_t) 1);",
        ),
        ("h.h.a = 1;", "drop_packet();"),
    ] {
        assert!(!said(action, apply), "{action} {apply}");
    }
}
