//! The text form: round trips, messages, robustness.

#[path = "common/anything.rs"]
mod anything;
mod common;

use common::{Choices, everything};
use forebay_ir::{text, verify};
use proptest::prelude::*;

#[test]
fn the_sample_program_is_written_as_it_was_read() {
    let program = everything();
    let written = text::write(&program);
    let without_layout = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sample = include_str!("everything.ir.txt");
    assert_eq!(without_layout(&written), without_layout(sample));
    assert_eq!(text::read(&written), Ok(program));
}

#[test]
fn a_body_reads_like_this() {
    let written = text::write(&everything());
    let body = &written[written.find("body MyParser").unwrap()..written.find("body MyVerify").unwrap()];
    assert_eq!(
        body.trim_end(),
        "body MyParser parser {
block0 state start:
  extract hdr.ethernet @0:10
  tmp#14 = lookahead
  advance(32w0x0)
  select (hdr.ethernet.etherType, tmp#14) {
    (16w0x800, _) => block1
    (16w0x8000 &&& 16w0xf000, 16w0x1 .. 16w0x9) => block2
    (in MyParser.tpids component 0, = tmp#14 + 16w0x1) => block2
    (= tmp#14 &&& 16w0xff, _) => block2
    default => block3
  } @0:12
block1 state parse_ipv4:
  extract hdr.ipv4 varbit 32w0x140
  standard_metadata.packet_length = packet_length
  return
block2 state parse_mpls:
  extract hdr.mpls[0]
  return
block3:
  reject 32w0x1
}"
    );
}

fn error(text: &str) -> String {
    text::read(text).expect_err("the text is wrong").to_string()
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(error(""), "1:1: expected `program`, found the end");
    assert_eq!(
        error("program v1model\nslot a bit<8>"),
        "2:8: expected `:`, found `bit`"
    );
    assert_eq!(
        error("program v1model\nslot a: bit<8> field h"),
        "2:22: nothing is named `h`"
    );
    assert_eq!(error("program v1model\n  ;"), "2:3: unexpected character ';'");
    assert_eq!(error("program v1model file \"a"), "1:24: the string does not end");
    assert_eq!(
        error("program v1model slot a: bit<1> local slot a: bit<1> local intrinsic x = a"),
        "1:73: several are named `a`: add `#` and its index"
    );
    assert_eq!(
        error("program v1model register r: bit<1> size 1 initial 1w0x2"),
        "1:56: 0x2 does not fit in 1 bits"
    );
    assert_eq!(
        error("program v1model register r: bit<1> size 1 initial 99999w0x2")
            .split(": ")
            .count(),
        2
    );
    assert_eq!(
        error("program v1model body b control {\nblock1: return }"),
        "2:7: this is block0"
    );
}

#[test]
fn nesting_has_a_limit() {
    for (open, close) in [("(", ")"), ("~", ""), ("zext(8, ", ")"), ("(1w0x1 + ", ")")] {
        let nested = |depth: usize| {
            format!(
                "program v1model body b control {{ block0: reject {}8w0x0{} }}",
                open.repeat(depth),
                close.repeat(depth)
            )
        };
        assert!(text::read(&nested(100)).is_ok(), "{open}");
        assert!(error(&nested(100_000)).contains("deeper than"), "{open}");
    }
    let sliced = format!(
        "program v1model body b control {{ block0: reject 8w0x0{} }}",
        "[0:0]".repeat(100_000)
    );
    assert!(error(&sliced).contains("deeper than"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Reading the text of any program returns the same program.
    #[test]
    fn programs_survive_the_round_trip(seed: u64) {
        let program = anything::program(&mut Choices::new(seed));
        let written = text::write(&program);
        let read = text::read(&written).map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        prop_assert_eq!(read, program);
    }

    /// The verifier accepts any program.
    #[test]
    fn the_verifier_takes_anything(seed: u64) {
        verify::verify(&anything::program(&mut Choices::new(seed)));
    }

    /// Any text results in a program or an error.
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = text::read(&text);
        let _ = text::read(&format!("program v1model {text}"));
    }

    /// A mutilated program results in an error, or in a program that can be written and verified.
    #[test]
    fn mutilated_programs_are_read_or_refused(seed: u64, edits in 1..6) {
        let choices = &mut Choices::new(seed);
        let mut pieces: Vec<&str> = include_str!("everything.ir.txt").split_inclusive([' ', '\n', '(', ')', ',']).collect();
        for _ in 0..edits {
            let at = choices.below(pieces.len() as u32) as usize;
            let from = choices.below(pieces.len() as u32) as usize;
            match choices.below(3) {
                0 => { pieces.remove(at); }
                1 => pieces[at] = pieces[from],
                _ => pieces.insert(at, pieces[from]),
            }
        }
        if let Ok(program) = text::read(&pieces.concat()) {
            prop_assert_eq!(text::read(&text::write(&program)), Ok(program.clone()));
            verify::verify(&program);
        }
    }
}
