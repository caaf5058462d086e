//! A program and what another compiler made of it do the same to packets; a wrong compilation is found.

use forebay_differential::{given, twins};
use forebay_ir::Program;
use std::fs;
use std::path::Path;

/// Ethernet frames are counted down in a field, and routed by a table.
const SOURCE: &str = r#"
#include <core.p4>
#include <v1model.p4>
header frame_t { bit<48> to; bit<48> from; bit<16> kind; bit<8> left; }
struct headers_t { frame_t frame; }
struct metadata_t { }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.frame); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action go(bit<9> port) { sm.egress_spec = port; }
    table route { key = { hdr.frame.to: exact; } actions = { go; } default_action = go(2); }
    apply {
        if (hdr.frame.isValid()) { hdr.frame.left = hdr.frame.left |-| 1; }
        route.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.frame); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// The subtraction that does not wrap, as a compiler might write it.
const IN_PARTS: &str = "if (hdr.frame.left != 0) { hdr.frame.left = hdr.frame.left - 1; }";

fn program(folder: &Path, name: &str, text: &str) -> Program {
    let path = folder.join(name);
    fs::write(&path, text).expect("a temporary folder");
    given::read(&path, &[], &[]).expect("a program")
}

#[test]
fn what_another_compiler_made_of_a_program_is_compared_with_it() {
    let folder = std::env::temp_dir().join(format!("forebay-twins-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let source = program(&folder, "p.p4", SOURCE);
    let right = SOURCE.replace("hdr.frame.left = hdr.frame.left |-| 1;", IN_PARTS);
    let right = program(&folder, "p-midend.p4", &right);
    let wrong = program(&folder, "p-frontend.p4", &SOURCE.replace("|-| 1", "|-| 2"));

    let found = twins::of(&folder.join("p.p4"), &folder, &folder);
    assert_eq!(found, [folder.join("p-frontend.p4"), folder.join("p-midend.p4")]);
    let sent = twins::compare(&source, &right, 1).unwrap_or_else(|difference| panic!("{difference}"));
    assert!(sent > 50, "only {sent} packets left");
    let difference = twins::compare(&source, &wrong, 1).err();
    assert!(difference.is_some_and(|text| text.contains("the program and its twin differ")));
    fs::remove_dir_all(&folder).expect("the folder was made here");
}
