//! Parsers: states, selects, stacks.

use crate::support::{Parts, count_terminators, lower, operations};
use forebay_ir::{KeySet, Op, Role, Terminator};

fn parser(top: &str, text: &str) -> forebay_ir::Program {
    lower(&Parts {
        top,
        parser: text,
        ingress: "apply { }",
    })
}

#[test]
fn states_are_labelled_blocks() {
    let program = parser(
        "",
        "state start { p.extract(hdr.h); transition next; } state next { transition accept; }",
    );
    let body = program.stage(Role::Parser).expect("v1model has a parser");
    let labels: Vec<_> = body.blocks.iter().filter_map(|block| block.label.as_deref()).collect();
    assert_eq!(labels, ["start", "next"]);
}

#[test]
fn the_initial_value_of_a_parsers_variable_has_the_line_of_its_declaration() {
    let program = parser(
        "",
        "
         bit<8> n = 3;
         state start { p.extract(hdr.h); m.x = n; transition accept; }",
    );
    let body = program.stage(Role::Parser).expect("v1model has a parser");
    let lines: Vec<u32> = body
        .blocks
        .iter()
        .flat_map(|block| &block.statements)
        .map(|statement| statement.location.line)
        .collect();
    assert_eq!(lines, [7, 8, 8]);
    assert_eq!(
        body.blocks[0].location.line, 7,
        "that of the transition to the start state"
    );
}

#[test]
fn sub_parsers_are_inlined_with_their_names() {
    let top = "parser Sub(packet_in p, out h_t h) { state start { p.extract(h); transition accept; } }";
    let program = parser(
        top,
        "Sub() sub; state start { sub.apply(p, hdr.h); transition accept; }",
    );
    let body = program.stage(Role::Parser).expect("v1model has a parser");
    let labels: Vec<_> = body.blocks.iter().filter_map(|block| block.label.as_deref()).collect();
    assert_eq!(labels, ["start", "sub.start"]);
    let extracted = operations(body).into_iter().find_map(|op| match op {
        Op::Extract { header, .. } => Some(program.headers[header.index()].name.as_str()),
        _ => None,
    });
    assert_eq!(extracted, Some("hdr.h"));
}

#[test]
fn extracting_into_next_chooses_among_the_elements_and_checks_bounds() {
    let program = parser("", "state start { p.extract(hdr.s.next); transition accept; }");
    let body = program.stage(Role::Parser).expect("v1model has a parser");
    let extractions = operations(body)
        .iter()
        .filter(|op| matches!(op, Op::Extract { .. }))
        .count();
    assert_eq!(extractions, 3);
    assert_eq!(count_terminators(body, |end| matches!(end, Terminator::Reject(_))), 1);
}

#[test]
fn signed_ranges_across_zero_become_two_cases() {
    let program = parser(
        "",
        "state start { int<8> v = (int<8>)p.lookahead<bit<8>>();
           transition select(v) { -2..3: accept; default: reject; } }",
    );
    let body = program.stage(Role::Parser).expect("v1model has a parser");
    let cases = body.blocks.iter().find_map(|block| match &block.terminator {
        Terminator::Select { cases, .. } => Some(cases),
        _ => None,
    });
    let ranges: Vec<_> = cases
        .expect("there is a select")
        .iter()
        .map(|case| match &case.keysets[0] {
            KeySet::Range { low, high } => (low.to_u64(), high.to_u64()),
            other => panic!("{other:?} is no range"),
        })
        .collect();
    assert_eq!(ranges, [(0xFE, 0xFF), (0, 3)]);
}

#[test]
fn a_select_without_default_rejects_with_no_match() {
    let program = parser("", "state start { transition select(m.x) { 1: accept; } }");
    let no_match = program.error("NoMatch").expect("core.p4 declares it");
    let body = program.stage(Role::Parser).expect("v1model has a parser");
    let rejects = count_terminators(body, |end| match end {
        Terminator::Reject(forebay_ir::Expr::Const(error)) => error.to_u64() == u64::from(no_match),
        _ => false,
    });
    assert_eq!(rejects, 1);
}
