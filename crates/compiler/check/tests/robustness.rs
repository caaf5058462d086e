//! Whatever the program, the checker returns, soon: mutated programs, and programs that describe something huge.

use forebay_syntax::source::MemorySources;
use forebay_syntax::{ParseOptions, parse_text};
use std::time::{Duration, Instant};

const PROGRAM: &str = include_str!("programs/everything.p4");

/// Parses and checks; whether the program is accepted.
fn check(text: &str) -> bool {
    let provider = MemorySources::new();
    let parsed = parse_text("test.p4", text.to_string(), &ParseOptions::new(&provider));
    // The tree of a program with syntax errors is incomplete, and must not confuse the checker either.
    let (program, _) = forebay_check::check(&parsed.program);
    program.is_some() && !parsed.diagnostics.has_errors()
}

/// A small generator of pseudo-random numbers: the mutations are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// Words of the program, each with the white space after it.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut previous = ' ';
    for (index, letter) in text.char_indices() {
        let joined = (letter.is_alphanumeric() || letter == '_') && (previous.is_alphanumeric() || previous == '_');
        if index > start && !joined {
            words.push(&text[start..index]);
            start = index;
        }
        previous = letter;
    }
    words.push(&text[start..]);
    words
}

#[test]
fn the_sample_is_accepted() {
    assert!(check(PROGRAM));
}

#[test]
fn mutated_programs_do_not_panic() {
    let words = words(PROGRAM);
    let mut random = Random(7);
    for _ in 0..600 {
        let mut mutated = words.clone();
        for _ in 0..1 + random.below(4) {
            let place = random.below(mutated.len());
            match random.below(3) {
                0 => drop(mutated.remove(place)),
                1 => mutated[place] = words[random.below(words.len())],
                _ => mutated.insert(place, words[random.below(words.len())]),
            }
        }
        check(&mutated.concat());
    }
}

#[test]
fn huge_types_and_constants_are_refused_quickly() {
    let started = Instant::now();
    let mut structs = String::from("struct S0 { bit<8> a; bit<8> b; }\n");
    let mut tuples = String::from("typedef tuple<bit<8>, bit<8>> T0;\n");
    let mut strings = String::from("const string s0 = \"0123456789\";\n");
    let mut lists = String::from("const tuple<bit<8>, bit<8>> c0 = {1, 2};\ntypedef tuple<bit<8>, bit<8>> U0;\n");
    let mut generics = String::from("struct G0<T> { T a; T b; }\n");
    for level in 1..64 {
        let below = level - 1;
        structs += &format!("struct S{level} {{ S{below} a; S{below} b; }}\n");
        tuples += &format!("typedef tuple<T{below}, T{below}> T{level};\n");
        strings += &format!("const string s{level} = s{below} ++ s{below};\n");
        lists += &format!("typedef tuple<U{below}, U{below}> U{level};\n");
        lists += &format!("const U{level} c{level} = {{c{below}, c{below}}};\n");
        generics += &format!("struct G{level}<T> {{ G{below}<T> a; G{below}<T> b; }}\n");
    }
    for program in [structs, tuples, strings, lists, generics] {
        assert!(!check(&program));
    }
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn deep_nesting_is_refused_without_overflow() {
    for (open, close) in [("(", ")"), ("-", ""), ("~", ""), ("(bit<8>)", "")] {
        let depth = 5000;
        let text = format!("const bit<8> x = {}1{};", open.repeat(depth), close.repeat(depth));
        check(&text);
    }
    let chain = format!("const int x = 1{};", " + 1".repeat(5000));
    assert!(check(&chain));
}
