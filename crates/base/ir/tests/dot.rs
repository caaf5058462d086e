//! Graphs.

mod common;

use common::everything;
use forebay_ir::{BodyId, dot};

fn graph(name: &str) -> String {
    let program = everything();
    let index = program
        .bodies
        .iter()
        .position(|body| body.name == name)
        .expect("the body exists");
    dot::body_graph(&program, BodyId(index as u32))
}

#[test]
fn a_parser_is_a_graph_of_states() {
    let expected = r#"digraph "MyParser" {
  node [fontname="monospace", fontsize=10];
  edge [fontname="monospace", fontsize=9];
  start [shape=point];
  start -> b0;
  b0 [shape=ellipse, label="start\lextract hdr.ethernet\ltmp#14 = lookahead\ladvance(32w0x0)\lselect (hdr.ethernet.etherType, tmp#14)\l"];
  b0 -> b1 [label="(16w0x800, _)"];
  b0 -> b2 [label="(16w0x8000 &&& 16w0xf000, 16w0x1 .. 16w0x9)"];
  b0 -> b2 [label="(in MyParser.tpids component 0, = tmp#14 + 16w0x1)"];
  b0 -> b2 [label="(= tmp#14 &&& 16w0xff, _)"];
  b0 -> b3 [label="default"];
  b1 [shape=ellipse, label="parse_ipv4\lextract hdr.ipv4 varbit 32w0x140\lstandard_metadata.packet_length = packet_length\l"];
  b1 -> return;
  b2 [shape=ellipse, label="parse_mpls\lextract hdr.mpls[0]\l"];
  b2 -> return;
  b3 [shape=ellipse, label="block3"];
  b3 -> reject [label="32w0x1"];
  return [shape=doubleoctagon, label="accept"];
  reject [shape=doubleoctagon, label="reject"];
}
"#;
    assert_eq!(graph("MyParser"), expected);
}

#[test]
fn a_control_shows_tables_and_conditions() {
    let graph = graph("MyIngress");
    assert!(graph.contains(r#"b0 [shape=box, label="hit_0 = 1w0x0"];"#), "{graph}");
    assert!(
        graph.contains(r#"b0_end [shape=diamond, label="hdr.ipv4.$valid$ & (hdr.ipv4.ttl <s 8w0x7f)"];"#),
        "{graph}"
    );
    assert!(graph.contains(r#"b0_end -> b1 [label="true"];"#), "{graph}");
    let table = r#"b1 [shape=box, peripheries=2, label="table MyIngress.ipv4_lpm\lhdr.ipv4.ttl: lpm\lhash_input: selector\l"];"#;
    assert!(graph.contains(table), "{graph}");
    assert!(graph.contains("(9 more)"), "{graph}");
}

#[test]
fn names_cannot_break_out_of_labels() {
    let mut program = everything();
    program.bodies[0].name = "a\"]; evil [label=\"\\".to_owned();
    program.bodies[0].blocks[0].label = Some("line\nbreak \\l \"".to_owned());
    let graph = dot::body_graph(&program, BodyId(0));
    assert!(graph.starts_with(r#"digraph "a\"]; evil [label=\"\\" {"#), "{graph}");
    assert!(graph.contains(r#"label="line break \\l \"\l"#), "{graph}");
}
