//! Any text as an STF file: a test, or the list of its mistakes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Err(errors) = forebay_entries::parse(&text) {
        assert!(!errors.is_empty());
    }
});
