//! Programs that other programs have written: chains of `else if` and of operators with ten thousand links. No pass may
//! follow such a chain by recursion, and both engines execute it.

use forebay_driver::Options;
use forebay_entries::parse;
use forebay_ir::{passes, verify};
use forebay_pipeline::{Engine, Pipeline};
use forebay_stf::run_both;
use forebay_syntax::source::MemorySources;
use std::fmt::Write;
use std::sync::Arc;

const LINKS: u32 = 10_000;

/// A program whose ingress does this to `hdr.h.a` and `hdr.h.b`, both of 16 bits.
fn program(ingress: &str) -> String {
    format!(
        "#include <v1model.p4>
header h_t {{ bit<16> a; bit<16> b; }}
struct headers_t {{ h_t h; }}
struct meta_t {{}}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {{
    state start {{ packet.extract(hdr.h); transition accept; }}
}}
control V(inout headers_t hdr, inout meta_t meta) {{ apply {{}} }}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {{
    apply {{ standard_metadata.egress_spec = 1; {ingress} }}
}}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {{ apply {{}} }}
control D(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;"
    )
}

/// Sends `a` and expects `b`, in both engines.
fn check(ingress: &str, cases: &[(u16, u16)]) {
    let sources = MemorySources::new().with("chain.p4", &program(ingress));
    let compiled = forebay_driver::compile("chain.p4", &Options::new(&sources));
    let text = compiled.diagnostics.iter().map(|one| one.message.clone());
    let program = compiled
        .program
        .unwrap_or_else(|| panic!("{:?}", text.collect::<Vec<_>>()));
    let mut optimized = program.clone();
    passes::optimize(&mut optimized);
    assert_eq!(verify::verify(&optimized), []);
    let load = |program, engine| {
        let options = forebay_pipeline::Options {
            engine,
            ..Default::default()
        };
        Arc::new(Pipeline::load_with(program, options).expect("a program that can be loaded"))
    };
    let commands = cases.iter().fold(String::new(), |mut text, (a, b)| {
        let _ = writeln!(text, "packet 0 {a:04x} 0000\nexpect 1 {a:04x} {b:04x} $");
        text
    });
    let test = parse(&commands).expect("STF");
    let outcome = run_both(&test, load(program, Engine::Interpreter), load(optimized, Engine::Jit));
    let failures: Vec<String> = outcome.failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures, Vec::<String>::new());
}

#[test]
fn chains_of_else_if_have_any_length() {
    let mut chain = String::from("if (hdr.h.a == 0) { hdr.h.b = 7; }");
    for link in 1..LINKS {
        let value = (link * 3) & 0xffff;
        let _ = write!(chain, "\nelse if (hdr.h.a == {link}) {{ hdr.h.b = {value}; }}");
    }
    chain += "\nelse hdr.h.b = 9;";
    check(&chain, &[(0, 7), (1, 3), (5_000, 15_000), (9_999, 29_997), (10_000, 9)]);
}

#[test]
fn chains_of_operators_have_any_length() {
    let terms: Vec<String> = (0..LINKS).map(|link| format!("+ {link}")).collect();
    let sum = format!("hdr.h.a {}", terms.join(" "));
    let total = (0..LINKS).sum::<u32>() as u16;
    check(&format!("hdr.h.b = {sum};"), &[(0, total), (1, total + 1)]);
}

#[test]
fn chains_of_conditions_have_any_length() {
    let any: Vec<String> = (0..LINKS).map(|link| format!("hdr.h.a == {}", 2 * link)).collect();
    let condition = any.join(" || ");
    check(
        &format!("if ({condition}) {{ hdr.h.b = 1; }}"),
        &[(0, 1), (1, 0), (19_998, 1), (19_999, 0)],
    );
}

/// Each operand has an effect, so that operands are evaluated in turn.
#[test]
fn chains_of_calls_have_any_length() {
    let calls = "next(hdr.h.b) == 0 && ".repeat(2_000);
    let function = "bit<16> next(inout bit<16> value) { value = value + 1; return value >> 10; }";
    let text = program(&format!("if ({calls} true) {{ hdr.h.a = 0xffff; }}"));
    let text = text.replacen("struct meta_t", &format!("{function}\nstruct meta_t"), 1);
    let sources = MemorySources::new().with("calls.p4", &text);
    let compiled = forebay_driver::compile("calls.p4", &Options::new(&sources));
    assert!(compiled.program.is_some());
}
