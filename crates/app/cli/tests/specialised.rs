//! `forebay build --emit specialised`: what is compiled for each path through the parser.
//! `BLESS=1 cargo test --test specialised` updates the expected text.

mod support;

use std::path::Path;
use support::{folder, forebay};

#[test]
fn each_path_through_the_parser_has_its_own_controls() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specialised");
    let output = folder();
    let program = own.join("router.p4");
    let ran = forebay(&[
        "build",
        &program.to_string_lossy(),
        "--emit",
        "specialised",
        "-o",
        &output.path().to_string_lossy(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(output.path().join("specialised.txt")).expect("it was written");
    let golden = own.join("router.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &text).expect("the expected text can be written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(text, expected, "see the top of this file");
}
