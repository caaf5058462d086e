//! Correct programs that look like mistakes of which there are warnings: nothing is said about them.

use forebay_driver::{Options, compile};
use forebay_syntax::render::render_all;
use forebay_syntax::source::MemorySources;

/// The parts of a program of v1model that a test replaces.
struct Parts<'a> {
    states: &'a str,
    verify: &'a str,
    ingress: &'a str,
    egress: &'a str,
    compute: &'a str,
    deparser: &'a str,
}

impl Default for Parts<'_> {
    fn default() -> Self {
        Parts {
            states: "state start { p.extract(h.a); p.extract(h.b); transition accept; }",
            verify: "",
            ingress: "",
            egress: "",
            compute: "",
            deparser: "p.emit(h.a); p.emit(h.b);",
        }
    }
}

/// What the compiler says about a program.
fn messages(parts: &Parts) -> String {
    let text = format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> x; bit<8> y; bit<16> sum; }}
struct H {{ h_t a; h_t b; }}
struct M {{ }}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{ {} }}
control V(inout H h, inout M m) {{ apply {{ {} }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ s.egress_spec = 1; {} }} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {} }} }}
control C(inout H h, inout M m) {{ apply {{ {} }} }}
control D(packet_out p, in H h) {{ apply {{ {} }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
",
        parts.states, parts.verify, parts.ingress, parts.egress, parts.compute, parts.deparser
    );
    said_about(&text)
}

fn said_about(text: &str) -> String {
    let sources = MemorySources::new().with("main.p4", text);
    let compiled = compile("main.p4", &Options::new(&sources));
    assert!(!compiled.diagnostics.has_errors(), "{text}");
    if compiled.diagnostics.is_empty() {
        return String::new();
    }
    render_all(&compiled.diagnostics, &compiled.sources)
}

#[test]
fn a_deparser_may_choose_between_two_orders() {
    let emitted = |deparser| {
        messages(&Parts {
            deparser,
            ..Parts::default()
        })
    };
    assert!(emitted("p.emit(h.b); p.emit(h.a);").contains("W0812"));
    assert_eq!(
        emitted("if (h.a.x == 1) { p.emit(h.b); p.emit(h.a); } else { p.emit(h.a); p.emit(h.b); }"),
        ""
    );
}

#[test]
fn headers_may_be_exchanged_for_the_next_pass() {
    let said = messages(&Parts {
        deparser: "p.emit(h.b); p.emit(h.a);",
        egress: "if (h.a.x == 1) { recirculate_preserving_field_list(0); }",
        ..Parts::default()
    });
    assert_eq!(said, "");
}

/// A program that emits headers in the opposite order.
fn reversed(headers: usize) -> String {
    let fields: String = (0..headers).rev().map(|number| format!("h_t h{number}; ")).collect();
    let extracted: String = (0..headers).map(|number| format!("p.extract(h.h{number}); ")).collect();
    format!(
        "#include <v1model.p4>
header h_t {{ bit<8> x; }}
struct H {{ {fields} }}
struct M {{ }}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{ state start {{ {extracted} transition accept; }} }}
control V(inout H h, inout M m) {{ apply {{ }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ s.egress_spec = 1; }} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    )
}

#[test]
fn thousands_of_headers_are_not_compared_with_one_another() {
    assert!(said_about(&reversed(100)).contains("W0812"));
    assert_eq!(said_about(&reversed(3000)), "");
}

#[test]
fn a_field_that_is_not_verified_may_change() {
    let changed = |ingress| {
        messages(&Parts {
            verify: "verify_checksum(true, { h.a.x }, h.a.sum, HashAlgorithm.csum16);",
            ingress,
            ..Parts::default()
        })
    };
    assert!(changed("h.a.x = 1;").contains("W0809"));
    assert_eq!(changed("h.a.y = 1;"), "");
}

#[test]
fn a_checksum_that_was_set_to_0_may_be_among_its_data() {
    let ingress = |ingress| {
        messages(&Parts {
            ingress,
            compute: "update_checksum(true, { h.a.x, h.a.y, h.a.sum }, h.a.sum, HashAlgorithm.csum16);",
            ..Parts::default()
        })
    };
    assert!(ingress("").contains("W0814"));
    assert_eq!(ingress("h.a.sum = 0;"), "");
}

#[test]
fn a_header_that_is_known_to_be_never_valid_may_be_used() {
    let used = |ingress| {
        messages(&Parts {
            states: "state start { p.extract(h.a); transition accept; }",
            ingress,
            ..Parts::default()
        })
    };
    assert!(used("h.b.x = 1;").contains("W0710"));
    assert_eq!(used("@noWarn(\"invalid_header\") { h.b.x = 1; }"), "");
}

#[test]
fn the_checksum_of_a_header_that_is_never_valid_is_no_use_of_it() {
    let used = |ingress| {
        messages(&Parts {
            states: "state start { p.extract(h.a); transition accept; }",
            ingress,
            compute: "update_checksum(h.b.isValid() && h.a.x == 1, { h.b.x, h.b.y }, h.b.sum, HashAlgorithm.csum16);",
            ..Parts::default()
        })
    };
    assert_eq!(used(""), "");
    assert!(used("if (h.b.isValid()) { s.egress_spec = 2; }").contains("W0710"));
}
