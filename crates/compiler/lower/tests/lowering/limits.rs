//! Programs that would grow without bound are refused, quickly and by name.

use crate::support::{Parts, ingress, ingress_body, operations, source};
use forebay_ir::Op;
use forebay_syntax::codes::{Code, lower as codes};
use forebay_syntax::source::MemorySources;
use forebay_syntax::{ParseOptions, parse_text};
use std::fmt::Write;

fn first_error(parts: &Parts) -> Code {
    let provider = MemorySources::new();
    let parsed = parse_text("test.p4", source(parts), &ParseOptions::new(&provider));
    let typed = forebay_check::check(&parsed.program).0.expect("the program is correct");
    let (lowered, messages) = forebay_lower::lower(&typed, &parsed.sources);
    assert!(lowered.is_none());
    messages
        .iter()
        .find(|message| message.severity == forebay_syntax::diagnostic::Severity::Error)
        .expect("one")
        .code
}

fn chain(first: &str, link: impl Fn(usize) -> String, length: usize) -> String {
    (1..length).fold(first.to_string(), |mut text, index| {
        writeln!(text, "{}", link(index)).expect("a string can be written to");
        text
    })
}

#[test]
fn calls_that_double_stop() {
    let link = |i: usize| format!("bit<8> f{i}(in bit<8> x) {{ return f{0}(x) + f{0}(x); }}", i - 1);
    let top = chain("bit<8> f0(in bit<8> x) { return x; }\n", link, 60);
    let code = first_error(&Parts {
        top: &top,
        ingress: "apply { m.x = f59(m.x); }",
        ..Parts::default()
    });
    assert!(
        [codes::TOO_MANY_SLOTS, codes::PROGRAM_TOO_LARGE].contains(&code),
        "{code}"
    );
}

#[test]
fn instances_that_double_stop() {
    let link = |i: usize| {
        format!(
            "control C{i}() {{ C{0}() a; C{0}() b; apply {{ a.apply(); b.apply(); }} }}",
            i - 1
        )
    };
    let top = chain("control C0() { apply { } }\n", link, 40);
    let code = first_error(&Parts {
        top: &top,
        ingress: "C39() c; apply { c.apply(); }",
        ..Parts::default()
    });
    assert_eq!(code, codes::TOO_MANY_INSTANCES);
}

#[test]
fn types_that_double_stop() {
    let link = |i: usize| {
        format!(
            "control C{i}<T>() {{ C{0}<tuple<T, T>>() a; apply {{ a.apply(); }} }}",
            i - 1
        )
    };
    let controls = chain("control C0<T>() { apply { T x; } }\n", link, 60);
    let link = |i: usize| format!("void f{i}<T>() {{ f{0}<tuple<T, T>>(); }}", i - 1);
    let functions = chain("void f0<T>() { T x; }\n", link, 60);
    for (top, ingress) in [
        (controls, "C59<bit<8>>() c; apply { c.apply(); }"),
        (functions, "apply { f59<bit<8>>(); }"),
    ] {
        let parts = Parts {
            top: &top,
            ingress,
            ..Parts::default()
        };
        assert_eq!(first_error(&parts), codes::PROGRAM_TOO_LARGE);
        let provider = MemorySources::new();
        let parsed = parse_text("test.p4", source(&parts), &ParseOptions::new(&provider));
        let typed = forebay_check::check(&parsed.program).0.expect("the program is correct");
        let (_, messages) = forebay_lower::p4info(&typed, &parsed.sources);
        assert!(messages.iter().any(|message| message.code == codes::PROGRAM_TOO_LARGE));
    }
}

#[test]
fn deep_calls_stop_before_the_stack_does() {
    let link = |i: usize| format!("control C{i}() {{ C{}() a; apply {{ a.apply(); }} }}", i - 1);
    let top = chain("control C0() { apply { } }\n", link, 3000);
    let code = first_error(&Parts {
        top: &top,
        ingress: "C2999() c; apply { c.apply(); }",
        ..Parts::default()
    });
    assert_eq!(code, codes::INLINING_TOO_DEEP);
}

#[test]
fn an_element_of_a_long_list_takes_no_more_comparisons_than_elements() {
    let elements: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    let program = ingress(&format!(
        "const bit<8>[200] values = {{ {} }}; bit<8>[200] stored;
        apply {{ stored[3] = hdr.h.b; m.x = values[hdr.h.a]; m.x = stored[hdr.h.a]; }}",
        elements.join(", ")
    ));
    let ops = operations(ingress_body(&program)).into_iter();
    let reads = ops.filter_map(|op| match op {
        Op::Assign { slot, value } if program.slot(*slot).name == "m.x" => {
            let mut reads = 0;
            value.for_each_slot(&mut |_| reads += 1);
            Some(reads)
        }
        _ => None,
    });
    // In the variable, each element is read, too.
    assert_eq!(reads.collect::<Vec<usize>>(), [199, 199 + 200]);
}

#[test]
fn large_arrays_stop() {
    let ingress = "bit<8>[60000] a; bit<8>[60000] b; bit<8>[60000] c; bit<8>[60000] d;
        apply { m.x = a[0] + b[0] + c[0] + d[0]; }";
    assert_eq!(
        first_error(&Parts {
            ingress,
            ..Parts::default()
        }),
        codes::TOO_MANY_SLOTS
    );
    let ingress = "bit<8>[5000] a; apply { m.x = a[m.i]; }";
    assert_eq!(
        first_error(&Parts {
            ingress,
            ..Parts::default()
        }),
        codes::TOO_MANY_ALTERNATIVES
    );
}

#[test]
fn default_values_of_huge_types_stop() {
    let top = "bit<8> f(in bit<8>[60000][60000] x) { return x[1][2]; }";
    let ingress = "apply { m.x = f(...); }";
    let code = first_error(&Parts {
        top,
        ingress,
        ..Parts::default()
    });
    assert_eq!(code, codes::TOO_MANY_SLOTS);
}
