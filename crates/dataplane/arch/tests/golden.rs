//! The graphs of small programs, as text. `BLESS=1 cargo test -p forebay-arch` updates them.

use forebay_driver::{Options, compile};
use forebay_ir::{Program, text, verify};
use forebay_syntax::source::MemorySources;
use std::path::Path;

fn compiled(path: &Path) -> Program {
    let source = std::fs::read_to_string(path).expect("the sample can be read");
    let sources = MemorySources::new().with("sample.p4", &source);
    let compiled = compile("sample.p4", &Options::new(&sources));
    compiled.program.expect("the sample compiles")
}

/// The lines of the graph.
fn graph(written: &str) -> &str {
    &written[written.find("\ngraph {").expect("a graph is written") + 1..]
}

#[track_caller]
fn has_graph(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut program = compiled(&folder.join(format!("{name}.p4")));
    forebay_arch::attach(&mut program).expect("the program is complete");
    assert_eq!(verify::verify(&program), []);
    let written = text::write(&program);
    assert_eq!(
        text::read(&written).as_ref(),
        Ok(&program),
        "it is read as it was written"
    );
    assert!(forebay_arch::has_own_graph(&program));
    let mut changed = program.clone();
    let blocks = changed.graph.iter_mut().flat_map(|graph| &mut graph.blocks);
    let block = blocks.into_iter().find(|block| !block.ops.is_empty());
    block.expect("a block does something").ops.pop();
    assert!(!forebay_arch::has_own_graph(&changed), "it does less");
    let golden = folder.join(format!("{name}.graph.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, graph(&written)).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(graph(&written), expected, "see the top of this file");
}

#[test]
fn v1model_with_clone_digest_multicast_and_recirculation() {
    has_graph("learning_switch");
}

#[test]
fn v1model_with_queues_resubmission_truncation_and_checksums() {
    has_graph("queueing_switch");
}

#[test]
fn psa_with_clone_and_resubmission() {
    has_graph("portable_switch");
}

#[test]
fn pna_with_mirror_and_recirculation() {
    has_graph("portable_nic");
}

#[test]
fn a_program_that_lacks_a_block_is_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut program = compiled(&folder.join("portable_switch.p4"));
    program.stages.remove(&forebay_ir::Role::EgressParser);
    let error = forebay_arch::attach(&mut program).unwrap_err();
    assert_eq!(error.to_string(), "the program has no block EgressParser");
}

#[test]
fn a_program_whose_metadata_has_other_types_is_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut program = compiled(&folder.join("portable_nic.p4"));
    let field = program.intrinsic["pna_main_input_metadata.recirculated"];
    program.slots[field.index()].width = 0;
    let error = forebay_arch::attach(&mut program).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program's metadata has other types than the architecture's: glue block prepared: the value has 1 bits, \
         expected 0 (WidthMismatch)"
    );
}
