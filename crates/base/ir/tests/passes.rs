//! Passes: what each one does, and that none changes the meaning of a program.

mod common;
#[path = "common/control.rs"]
mod control;

use common::{Choices, everything};
use forebay_ir::verify::verify;
use forebay_ir::{Program, passes, text};
use proptest::prelude::*;

/// A program with one control.
fn program(statements: &str) -> Program {
    let declarations = "program v1model
        slot a: bit<8> metadata
        slot b: bit<8> metadata
        slot x: bit<8> local
        slot y: bit<8> local
        slot c: bit<1> metadata
        body B control {";
    text::read(&format!("{declarations} {statements} }}")).unwrap_or_else(|error| panic!("{error}: {statements}"))
}

#[track_caller]
fn check(pass: impl Fn(&mut Program) -> bool, before: &str, after: &str) {
    let mut changed = program(before);
    let expected = program(after);
    assert_eq!(
        pass(&mut changed),
        before != after,
        "reports whether it changed something"
    );
    let shown = text::write(&changed);
    assert!(changed == expected, "{shown}");
}

#[test]
fn unreachable_blocks_are_removed() {
    check(
        passes::remove_unreachable_blocks,
        "block0: a = b jump block2  block1: jump block1  block2: branch c, block3, block0  block3: return",
        "block0: a = b jump block1  block1: branch c, block2, block0  block2: return",
    );
}

#[test]
fn jumps_are_threaded() {
    check(
        passes::thread_jumps,
        "block0: branch c, block1, block2  block1: jump block2  block2: jump block3  block3: a = b return",
        "block0: jump block3  block1: jump block3  block2: jump block3  block3: a = b return",
    );
}

#[test]
fn jump_threading_keeps_labelled_states_and_endless_loops() {
    let kept =
        "block0: branch c, block1, block2  block1 state s: jump block2  block2: jump block3  block3: jump block2";
    check(passes::thread_jumps, kept, kept);
}

#[test]
fn a_jump_to_an_empty_end_is_that_end() {
    check(
        passes::thread_jumps,
        "block0: branch c, block1, block2  block1: a = b jump block3  block2: b = a jump block3  block3: exit",
        "block0: branch c, block1, block2  block1: a = b exit  block2: b = a exit  block3: exit",
    );
}

#[test]
fn a_body_is_tidied_and_its_parser_states_stay() {
    check(
        |program| {
            passes::tidy(&mut program.bodies[0]);
            true
        },
        "block0: jump block2  block1: return  block2 state start: jump block3  block3: jump block4
         block4 state next: jump block5  block5: a = b jump block2",
        "block0 state start: jump block1  block1 state next: a = b jump block0",
    );
}

#[test]
fn straight_lines_become_one_block() {
    check(
        passes::merge_blocks,
        "block0: a = b jump block1  block1: b = a jump block2  block2: branch c, block3, block3  block3: return",
        "block0: a = b b = a branch c, block1, block1  block1: return",
    );
}

#[test]
fn constants_are_folded() {
    let cases = [
        ("8w0x3 + 8w0xff", "8w0x2"),
        ("8w0x3 / 8w0x0", "8w0x0"),
        ("(a + 8w0x0) | 8w0x0", "a"),
        ("a & 8w0xff", "a"),
        ("a * 8w0x0", "8w0x0"),
        ("~(~a)", "a"),
        ("a[7:0]", "a"),
        ("zext(8, a[3:0])[2:1] ++ a[5:0]", "zext(8, a[3:0])[2:1] ++ a[5:0]"),
        ("a[6:1][4:2] ++ a[4:0]", "a[5:3] ++ a[4:0]"),
        ("(a == a) ? b : a", "b"),
        ("c ? a : a", "a"),
        ("(~(a < b)) ? a : b", "(b <= a) ? a : b"),
        ("((a == b) == 1w0x0) ? a : b", "(a != b) ? a : b"),
        ("8w0x1 + a", "a + 8w0x1"),
        ("8w0x1 - a", "8w0x1 - a"),
        ("trunc(8, zext(16, 8w0x7))", "8w0x7"),
    ];
    for (before, after) in cases {
        let block = |expr: &str| format!("block0: y = {expr} return");
        check(passes::fold_constants, &block(before), &block(after));
    }
}

#[test]
fn known_outcomes_become_jumps() {
    let rest = "block1: return block2: exit";
    let cases = [
        ("branch 1w0x1, block1, block2", "jump block1"),
        ("branch ~c, block1, block2", "branch c, block2, block1"),
        (
            "select (8w0x5) { (8w0x4) => block1 (8w0x5) => block2 default => block1 }",
            "jump block2",
        ),
        (
            "select (a, 8w0x5) { (8w0x4, 8w0x4) => block1 (8w0x1, 8w0x4 .. 8w0x6) => block2 (_, _) => block2 default => block1 }",
            "select (a, 8w0x5) { (8w0x1, 8w0x4 .. 8w0x6) => block2 default => block2 }",
        ),
        (
            "select (8w0x15) { (8w0x5 &&& 8w0xf) => block2 default => block1 }",
            "jump block2",
        ),
    ];
    for (before, after) in cases {
        check(
            passes::fold_constants,
            &format!("block0: {before} {rest}"),
            &format!("block0: {after} {rest}"),
        );
    }
}

#[test]
fn copies_are_propagated_until_written() {
    check(
        passes::propagate_copies,
        "block0: x = a  b = x + x  a = 8w0x1  b = x  y = a  branch y == a, block1, block1 block1: b = y return",
        "block0: x = a  b = a + a  a = 8w0x1  b = x  y = 8w0x1  branch 8w0x1 == 8w0x1, block1, block1 block1: b = y return",
    );
}

#[test]
fn dead_stores_are_removed() {
    check(
        passes::remove_dead_stores,
        "block0: x = a  x = b  y = x  branch c, block1, block2  block1: a = y return  block2: y = b  return",
        "block0: x = b  y = x  branch c, block1, block2  block1: a = y return  block2: return",
    );
}

#[test]
fn stores_that_are_overwritten_at_once_are_removed() {
    check(
        passes::remove_dead_stores,
        "block0: a = x  b = x  a = b  return",
        "block0: b = x  a = b  return",
    );
    let read_in_between = "block0: a = x  b = a  a = x  return";
    check(passes::remove_dead_stores, read_in_between, read_in_between);
}

#[test]
fn what_is_live_at_the_entry_is_live_at_the_end() {
    let kept = "block0: a = x  x = b  return";
    check(passes::remove_dead_stores, kept, kept);
}

#[test]
fn slots_of_several_bodies_are_live_while_one_reads_them() {
    let two = |rest: &str| {
        program("block0: x = a return").bodies.len();
        format!("block0: x = a  y = a  return }} body C control {{ block0: {rest} return")
    };
    check(
        passes::remove_dead_stores,
        &two("b = x  y = b"),
        &two("b = x").replace("y = a  ", ""),
    );
}

#[test]
fn the_sample_program_stays_valid() {
    let mut program = everything();
    passes::optimize(&mut program);
    assert_eq!(verify(&program), []);
    let mut again = program.clone();
    passes::optimize(&mut again);
    assert_eq!(again, program, "nothing is left to do");
}

type Pass = fn(&mut Program) -> bool;

const PASSES: &[Pass] = &[
    |program| {
        passes::optimize(program);
        true
    },
    passes::remove_unreachable_blocks,
    passes::thread_jumps,
    passes::merge_blocks,
    passes::fold_constants,
    passes::propagate_copies,
    passes::remove_dead_stores,
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// Each pass preserves what a control does to metadata, and keeps the program valid, except for blocks that only
    /// the removal of unreachable blocks removes.
    #[test]
    fn passes_preserve_meaning(seed: u64) {
        let choices = &mut Choices::new(seed);
        let original = control::program(choices);
        let inputs: Vec<u64> = (0..8).map(|_| choices.bits()).collect();
        for (number, pass) in PASSES.iter().enumerate() {
            let mut program = original.clone();
            pass(&mut program);
            for input in &inputs {
                let (before, after) = (control::run(&original, *input), control::run(&program, *input));
                let shown = || format!("pass {number}\n{}\n{}", text::write(&original), text::write(&program));
                prop_assert!(before == after, "{}", shown());
            }
            passes::remove_unreachable_blocks(&mut program);
            let wrong = verify(&program).into_iter().find(|error| error.rule != forebay_ir::verify::Rule::StageMissing);
            prop_assert_eq!(wrong, None);
        }
    }
}
