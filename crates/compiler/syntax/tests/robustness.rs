//! Whatever the text, the front end answers: it does not panic, hang, or run out of stack.

use forebay_syntax::source::MemorySources;
use forebay_syntax::{ParseOptions, parse_text, render};
use proptest::prelude::*;

const PROGRAM: &str = r#"
#include <core.p4>
#define WIDTH(n) bit<n>
#if defined(A) && A > 1
typedef WIDTH(8) T;
#else
typedef WIDTH(16) T;
#endif
@name("h") header H { T a; varbit<(8 * 4)> v; }
struct S { H[4] stack; tuple<bit, list<bool>> t; }
extern E<X> { E(X size); abstract X f(in X x); }
parser p(packet_in b, out S s) {
    value_set<T>(4) vs;
    state start {
        b.extract<H>(s.stack.next, 32w8);
        transition select(s.stack[0].a, 1) { (1 &&& 2, 3 .. 4): start; (vs, _): reject; default: accept; }
    }
}
control c(inout S s)(bit<8> n = 1) {
    action a(bit<8> x) { s.stack[x].a[3:0] = x[0 +: 4] >> 1; }
    table t {
        key = { s.stack[0].a : exact @name("k"); }
        actions = { a; NoAction; }
        const entries = { priority = 1: 5 : a(1); }
        default_action = NoAction();
    }
    apply {
        for (bit<8> i in 1 .. 4) { if (t.apply().hit) exit; else s = { stack = {#}, ... }; }
        switch (t.apply().action_run) { a: { return; } default: {} }
    }
}
"#;

const PIECES: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    ".",
    "=",
    "@",
    "#",
    "##",
    "\n",
    "\\\n",
    "\"",
    "/*",
    "*/",
    "//",
    "#if",
    "#endif",
    "#else\n",
    "#define X X Y\n",
    "#define Y(a) a##X #a\n",
    "Y(",
    "X",
    "#include <core.p4>\n",
    "_",
    "...",
    "..",
    "&&&",
    "{#}",
    "+:",
    "8w0xff",
    "0b",
    "control",
    "table",
    "if (",
    "else",
    "for (",
    "state",
    "select(",
    "const ",
    "bit<",
    "tuple<",
    "extern ",
    "T",
    "name",
    "\u{201c}",
    "\u{0}",
    "\u{1f600}",
    "@pragma ",
    "transition ",
    "default",
    "-",
];

/// Parses a text, in both forms of output, on a stack of the size that test threads and workers have.
fn digest(text: &str) {
    let provider = MemorySources::new();
    let parsed = parse_text("fuzz.p4", text.to_string(), &ParseOptions::new(&provider));
    let _ = render::render_all_in_colour(&parsed.diagnostics, &parsed.sources);
    let _ = render::to_json(&parsed.diagnostics, &parsed.sources).to_string();
}

#[test]
fn the_program_itself_is_read() {
    let provider = MemorySources::new();
    let parsed = parse_text("ok.p4", PROGRAM.to_string(), &ParseOptions::new(&provider));
    assert!(
        parsed.diagnostics.is_empty(),
        "{}",
        render::render_all(&parsed.diagnostics, &parsed.sources)
    );
}

#[test]
fn every_prefix_and_suffix_is_survived() {
    for (index, _) in PROGRAM.char_indices() {
        digest(&PROGRAM[..index]);
        digest(&PROGRAM[index..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        digest(&text);
    }

    #[test]
    fn any_tokens_are_survived(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..80)) {
        digest(&pieces.join(" "));
        digest(&pieces.concat());
    }

    #[test]
    fn mutated_programs_are_survived(
        changes in prop::collection::vec((0..PROGRAM.len(), 0..12_usize, prop::sample::select(PIECES)), 1..6)
    ) {
        let mut text = PROGRAM.as_bytes().to_vec();
        for (at, length, piece) in changes {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.bytes());
        }
        digest(&String::from_utf8_lossy(&text));
    }
}
