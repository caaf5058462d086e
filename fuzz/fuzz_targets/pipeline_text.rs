//! Any text as a program with the graph of its architecture: what can be read and satisfies the verifier is printed and
//! read back the same, and interpreter and machine code do the same to packets.

#![no_main]

use forebay_entries::Test;
use forebay_ir::{Program, text, verify};
use forebay_pipeline::{Engine, LoadError, Options, Pipeline};
use forebay_stf::FailureKind;
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

/// Bytes that the state of a program may need.
const MEMORY_LIMIT: u64 = 64 << 20;

/// Packets that parsers of Ethernet, of IPv4, and of less than a header see.
static PACKETS: LazyLock<Test> = LazyLock::new(|| {
    let zeros = "00".repeat(64);
    let text = format!(
        "packet 0 {zeros}\n\
         packet 1 ffffffffffff02000000000108004500001c0000000040115ec30a0001010a0707070001000200080000\n\
         packet 2 02\n"
    );
    forebay_entries::parse(&text).expect("that is a test")
});

fuzz_target!(|data: &[u8]| {
    let Ok(program) = text::read(&String::from_utf8_lossy(data)) else { return };
    if program.graph.is_none() || !verify::verify(&program).is_empty() {
        return;
    }
    let again = text::read(&text::write(&program)).expect("what was written can be read");
    assert_eq!(again, program);
    let (Ok(reference), Ok(compiled)) = (load(program.clone(), Engine::Interpreter), load(program, Engine::Jit)) else {
        return;
    };
    let outcome = forebay_stf::run_both(&PACKETS, reference, compiled);
    for failure in outcome.failures {
        assert!(failure.kind != FailureKind::Engine, "{failure}");
    }
});

fn load(program: Program, engine: Engine) -> Result<Arc<Pipeline>, LoadError> {
    let options = Options {
        engine,
        step_limit: 10_000,
        memory_limit: Some(MEMORY_LIMIT),
        ..Options::default()
    };
    Pipeline::load_with(program, options).map(Arc::new)
}
