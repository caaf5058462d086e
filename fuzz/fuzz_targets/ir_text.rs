//! Any text as a program in the IR's text form: what can be read is printed and read back the same, whether or not it
//! satisfies the verifier, and what does can be loaded.

#![no_main]

use forebay_ir::{text, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(program) = text::read(&String::from_utf8_lossy(data)) else { return };
    if verify::verify(&program).is_empty() {
        let again = text::read(&text::write(&program)).expect("what was written can be read");
        assert_eq!(again, program);
        let _ = forebay_pipeline::Pipeline::load(program);
    }
});
