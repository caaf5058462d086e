//! Any text as a P4 program: the front end reports its mistakes, or returns IR that satisfies the verifier.

#![no_main]

use forebay_driver::{Options, compile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data).into_owned();
    let provider = move |path: &str| (path == "main.p4").then(|| text.clone());
    let compiled = compile("main.p4", &Options::new(&provider));
    assert_eq!(compiled.program.is_none(), compiled.diagnostics.has_errors());
    let _ = forebay_syntax::render::render_all(&compiled.diagnostics, &compiled.sources);
    if let Some(program) = &compiled.program {
        assert_eq!(forebay_ir::verify::verify(program), Vec::new());
    }
});
