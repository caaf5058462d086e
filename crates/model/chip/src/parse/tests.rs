//! Cycles of small parsers, by hand.

use super::cycles::{Costs, PARTS};
use super::{EgressStates, ParseTree, Parsed};
use crate::spec::ChipSpec;
use forebay_ir::{Program, Role};

/// A parser of one select: a header of small fields, then words if its last byte is 1.
const PROGRAM: &str = "\
program v1model
slot hdr.small.$valid: bit<1> valid hdr.small
slot hdr.small.a: bit<8> field hdr.small
slot hdr.small.b: bit<8> field hdr.small
slot hdr.words.$valid: bit<1> valid hdr.words
slot hdr.words.data: bit<608> field hdr.words
header hdr.small small_t {
  valid hdr.small.$valid
  field a = hdr.small.a
  field b = hdr.small.b
}
header hdr.words words_t {
  valid hdr.words.$valid
  field data = hdr.words.data
}
stage parser = P
body P parser {
block0 state start:
  extract hdr.small
  select (hdr.small.b) {
    (8w0x1) => block1
    default => block2
  }
block1 state words:
  extract hdr.words
  jump block2
block2 state accept:
  return
}
";

fn program() -> Program {
    forebay_ir::text::read(PROGRAM).expect("a program")
}

#[test]
fn a_way_takes_the_states_of_its_headers() {
    let program = program();
    let spec = ChipSpec::known("tofino").unwrap();
    let costs = Costs::new(&program, &spec.parser, Role::Ingress);
    let tree = ParseTree::new(&program, program.stage(Role::Parser).unwrap(), &costs, 1);
    let walk = |frame: &[u8]| tree.walk(frame, 0, 0);
    let parsed = |states: u32, header_bytes| Parsed {
        parts: states * PARTS,
        header_bytes,
    };
    assert_eq!(
        walk(&[0; 80]),
        parsed(2, 2),
        "one of the compiler's own, one for the select"
    );
    assert_eq!(
        walk(&[1; 80]),
        parsed(2 + 4 + 1, 2 + 76),
        "64 bytes of words, then 12 of late ones"
    );
    assert_eq!(walk(&[1]), parsed(2, 2), "too short for its key");
    let egress = EgressStates::new(&tree, costs);
    assert_eq!(egress.parts(2), 2 * PARTS);
    assert_eq!(egress.parts(78), 7 * PARTS);
    assert_eq!(egress.parts(78 + 32), 9 * PARTS, "headers of no way");
}
