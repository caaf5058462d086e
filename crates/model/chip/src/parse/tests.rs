//! Cycles of small parsers, by hand.

use super::cycles::{Costs, PARTS};
use super::{EgressStates, ParseTree, Parsed, ParserNeeds};
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

/// What a register or a random number decides is not known: the way that takes longest counts.
#[test]
fn what_is_computed_while_parsing_is_not_known() {
    let text = PROGRAM
        .replace(
            "slot hdr.words.$valid",
            "slot meta.x: bit<8> metadata\nslot hdr.words.$valid",
        )
        .replace(
            "  select (hdr.small.b)",
            "  meta.x = random(8w0x1, 8w0x1)\n  select (meta.x)",
        );
    let program = forebay_ir::text::read(&text).expect("a program");
    let spec = ChipSpec::known("tofino").unwrap();
    let costs = Costs::new(&program, &spec.parser, Role::Ingress);
    let tree = ParseTree::new(&program, program.stage(Role::Parser).unwrap(), &costs, 1);
    assert_eq!(tree.walk(&[0; 80], 0, 0).header_bytes, 2 + 76);
}

/// A part of the port number decides, not all of it: port 9 goes the way of port 1.
#[test]
fn bits_of_a_port_are_known() {
    for (key, one) in [("sm.ingress_port[2:0]", "3w0x1"), ("sm.ingress_port & 9w0x7", "9w0x1")] {
        let text = PROGRAM
            .replace(
                "slot hdr.words.$valid",
                "slot sm.ingress_port: bit<9> intrinsic\nslot hdr.words.$valid",
            )
            .replace(
                "stage parser = P",
                "intrinsic ingress_port = sm.ingress_port\nstage parser = P",
            )
            .replace("(hdr.small.b)", &format!("({key})"))
            .replace("8w0x1", one);
        let program = forebay_ir::text::read(&text).expect("a program");
        let spec = ChipSpec::known("tofino").unwrap();
        let costs = Costs::new(&program, &spec.parser, Role::Ingress);
        let tree = ParseTree::new(&program, program.stage(Role::Parser).unwrap(), &costs, 1);
        let header_bytes = |port| tree.walk(&[0; 80], 0, port).header_bytes;
        assert_eq!([1, 3, 9].map(header_bytes), [2 + 76, 2, 2 + 76], "{key}");
    }
}

/// States after a field whose length a packet decides take their time, too; of a loop there one round counts.
#[test]
fn a_way_does_not_end_where_a_length_is_not_known() {
    let with_varbit = PROGRAM
        .replace(
            "slot hdr.words.$valid",
            "slot hdr.small.o: bit<320> field hdr.small\nslot hdr.small.o.$length: bit<32> varbit_length hdr.small\n\
             slot hdr.words.$valid",
        )
        .replace(
            "  field b = hdr.small.b\n",
            "  field b = hdr.small.b\n  field o = hdr.small.o length hdr.small.o.$length\n",
        )
        .replace("extract hdr.small", "extract hdr.small varbit zext(32, hdr.small.a)");
    let with_loop = with_varbit.replace("  jump block2\n", "  jump block1\n");
    let spec = ChipSpec::known("tofino").unwrap();
    for text in [with_varbit, with_loop] {
        let program = forebay_ir::text::read(&text).expect("a program");
        let costs = Costs::new(&program, &spec.parser, Role::Ingress);
        let tree = ParseTree::new(&program, program.stage(Role::Parser).unwrap(), &costs, 1);
        let walk = |frame: &[u8]| tree.walk(frame, 0, 0);
        assert_eq!((walk(&[0; 80]).parts, walk(&[0; 80]).header_bytes), (2 * PARTS, 2));
        assert_eq!((walk(&[1; 80]).parts, walk(&[1; 80]).header_bytes), (7 * PARTS, 78));
    }
}

/// A loop with more ways than a tree may have nodes leaves the ways beside and after it their time.
#[test]
fn a_loop_does_not_end_other_ways() {
    let again = "    (8w0x2) => block3\n    (8w0x3) => block3\n    (8w0x1) => block1\n";
    let select = format!("  select (hdr.small.b) {{\n{again}    default => block2\n  }}\n");
    let text = PROGRAM.replace("    (8w0x1) => block1\n", again).replace(
        "  return\n",
        &format!("  return\nblock3 state again:\n  extract hdr.small\n{select}"),
    );
    let program = forebay_ir::text::read(&text).expect("a program");
    let spec = ChipSpec::known("tofino").unwrap();
    let costs = Costs::new(&program, &spec.parser, Role::Ingress);
    let tree = ParseTree::new(&program, program.stage(Role::Parser).unwrap(), &costs, 1);
    let mut frame = [1u8; 128];
    let mut walk = |rounds: usize| {
        frame[..2 * rounds].fill(2);
        let parsed = tree.walk(&frame, 0, 0);
        (parsed.parts / PARTS, parsed.header_bytes)
    };
    assert_eq!(walk(0), (7, 78));
    assert_eq!(walk(1), (8, 80));
    assert_eq!(walk(9), (16, 96));
    assert_eq!(
        walk(10),
        (12, 22),
        "a tree of ten selects has 4,093 nodes: after them there are the defaults"
    );
}

/// No length of headers takes a state more than a byte less does, on any chip: there are no cliffs.
#[test]
fn a_byte_more_of_headers_takes_less_than_a_state_more() {
    let program = program();
    for name in ChipSpec::known_names() {
        let spec = ChipSpec::known(name).unwrap();
        let costs = Costs::new(&program, &spec.parser, Role::Egress);
        let tree = ParseTree::new(&program, program.stage(Role::Parser).unwrap(), &costs, 1);
        let egress = EgressStates::new(&tree, costs);
        for bytes in 2..400 {
            let (less, more) = (egress.parts(bytes), egress.parts(bytes + 1));
            assert!(
                less.abs_diff(more) <= PARTS,
                "{name}: {bytes} bytes take {less}, a byte more {more}"
            );
        }
    }
}

#[test]
fn a_program_needs_rows_and_bytes_of_parsers() {
    let spec = ChipSpec::known("tofino").unwrap();
    let needs = ParserNeeds::of(&spec, &program());
    assert_eq!(
        needs.tcam_rows,
        2 + 1 + 1,
        "a case and the default, and two states without a select"
    );
    assert_eq!(needs.egress_bytes, 0, "there is no egress");
    let reading = PROGRAM.replace("stage parser = P\n", "stage parser = P\nstage egress = E\n")
        + "body E control {\nblock0:\n  hdr.words.data = 608w0x0\n  return\n}\n";
    let program = forebay_ir::text::read(&reading).expect("a program");
    assert_eq!(ParserNeeds::of(&spec, &program).egress_bytes, 78);
}
