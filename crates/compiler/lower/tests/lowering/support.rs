//! Programs for tests: the blocks of v1model around the subject of a test.

use forebay_check::hir;
use forebay_ir::{Block, Body, Op, Program, Role, Statement, Terminator};
use forebay_p4info::model::P4Info;
use forebay_syntax::diagnostic::Diagnostics;
use forebay_syntax::source::{MemorySources, SourceMap};
use forebay_syntax::{ParseOptions, parse_text};

/// The parts that a test provides.
#[derive(Default)]
pub struct Parts<'a> {
    /// Declarations at the top level.
    pub top: &'a str,
    /// Inside of the parser.
    pub parser: &'a str,
    /// Inside of ingress.
    pub ingress: &'a str,
}

/// The whole program.
pub fn source(parts: &Parts) -> String {
    let parser = if parts.parser.is_empty() {
        "state start { transition accept; }"
    } else {
        parts.parser
    };
    format!(
        "#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; }}
struct headers_t {{ h_t h; h_t g; h_t[3] s; }}
struct meta_t {{ bit<8> x; bit<8> y; @field_list(1) bit<16> kept; bit<32> i; }}
{}
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {{ {parser} }}
control V(inout headers_t hdr, inout meta_t m) {{ apply {{ }} }}
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {{ {} }}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {{ apply {{ }} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
",
        parts.top, parts.ingress
    )
}

/// Lowers a program that has no errors.
pub fn lower(parts: &Parts) -> Program {
    let program = checked(parts, forebay_lower::lower).expect("there is a program without errors");
    let problems = forebay_ir::verify::verify(&program);
    assert!(problems.is_empty(), "{problems:?}");
    program
}

/// The P4Info of a program that has no errors.
pub fn p4info(parts: &Parts) -> P4Info {
    checked(parts, forebay_lower::p4info)
}

/// The result for a program that has no errors.
fn checked<T>(parts: &Parts, build: impl Fn(&hir::Program, &SourceMap) -> (T, Diagnostics)) -> T {
    let provider = MemorySources::new();
    let parsed = parse_text("test.p4", source(parts), &ParseOptions::new(&provider));
    let (typed, messages) = forebay_check::check(&parsed.program);
    let render = |messages: &_| forebay_syntax::render::render_all(messages, &parsed.sources);
    let typed = typed.unwrap_or_else(|| panic!("{}", render(&messages)));
    let (built, messages) = build(&typed, &parsed.sources);
    assert!(!messages.has_errors(), "{}", render(&messages));
    built
}

/// Lowers a program with this ingress.
pub fn ingress(text: &str) -> Program {
    lower(&Parts {
        ingress: text,
        ..Parts::default()
    })
}

/// The body of ingress.
pub fn ingress_body(program: &Program) -> &Body {
    program.stage(Role::Ingress).expect("v1model has an ingress")
}

/// The operations of a body in order of its blocks.
pub fn operations(body: &Body) -> Vec<&Op> {
    body.blocks
        .iter()
        .flat_map(|block: &Block| &block.statements)
        .map(|statement: &Statement| &statement.op)
        .collect()
}

/// Names of the slots that a body assigns, in order.
pub fn assigned<'p>(program: &'p Program, body: &Body) -> Vec<&'p str> {
    let targets = operations(body).into_iter().filter_map(|op| match op {
        Op::Assign { slot, .. } => Some(program.slot(*slot).name.as_str()),
        _ => None,
    });
    targets.collect()
}

/// The number of a body's blocks whose terminator is of the wanted kind.
pub fn count_terminators(body: &Body, wanted: impl Fn(&Terminator) -> bool) -> usize {
    body.blocks.iter().filter(|block| wanted(&block.terminator)).count()
}
