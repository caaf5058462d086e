//! Inlining: when parameters are copied, and what `return` and `exit` do.

use crate::support::{Parts, assigned, count_terminators, ingress, ingress_body, lower, operations};
use forebay_ir::{Expr, Op, Terminator};

#[test]
fn a_sub_control_shares_the_storage_of_its_arguments() {
    let top = "control Inner(inout headers_t h, inout bit<8> x) { apply { h.h.a = x; } }";
    let program = lower(&Parts {
        top,
        ingress: "Inner() c; apply { c.apply(hdr, m.x); }",
        ..Parts::default()
    });
    assert_eq!(assigned(&program, ingress_body(&program)), ["hdr.h.a"]);
}

#[test]
fn overlapping_arguments_are_copied() {
    let top = "control Inner(inout bit<8> x, inout bit<8> y) { apply { x = 1; y = 2; } }";
    let program = lower(&Parts {
        top,
        ingress: "Inner() c; apply { c.apply(m.x, m.x); }",
        ..Parts::default()
    });
    let body = ingress_body(&program);
    let names = assigned(&program, body);
    assert_eq!(names, ["I.c.x", "I.c.y", "I.c.x", "I.c.y", "m.x", "m.x"]);
}

#[test]
fn a_control_applied_twice_has_storage_of_its_own() {
    let top = "control Inner(inout bit<8> x) {
        table t { key = { x: exact; } actions = { NoAction; } }
        apply { t.apply(); x = x + 1; }
    }";
    let ingress = "Inner() c; apply { c.apply(m.x); c.apply(m.y); }";
    let program = lower(&Parts {
        top,
        ingress,
        ..Parts::default()
    });
    assert_eq!(program.tables.len(), 1);
    let Expr::Slot(key) = program.tables[0].keys[0].expr else {
        panic!("the key is a variable")
    };
    assert_eq!(program.slot(key).name, "I.c.x");
}

#[test]
fn exit_in_an_action_of_a_copied_control_copies_out_first() {
    let top = "control Inner(inout bit<8> x) {
        action leave() { x = 5; exit; }
        table t { key = { x: exact; } actions = { leave; } const default_action = leave; }
        apply { t.apply(); x = 6; }
    }";
    let ingress = "Inner() c; apply { c.apply(m.x); c.apply(m.y); m.y = 9; }";
    let program = lower(&Parts {
        top,
        ingress,
        ..Parts::default()
    });
    let action = program
        .actions
        .iter()
        .find(|action| action.name == "I.c.leave")
        .expect("the table lists it");
    let action = &program.bodies[action.body.index()];
    assert_eq!(count_terminators(action, |end| matches!(end, Terminator::Exit)), 0);
    let body = ingress_body(&program);
    assert_eq!(count_terminators(body, |end| matches!(end, Terminator::Exit)), 2);
    let exits = body
        .blocks
        .iter()
        .filter(|block| matches!(block.terminator, Terminator::Exit));
    assert!(
        exits.into_iter().all(|block| !block.statements.is_empty()),
        "the argument is copied back before"
    );
}

#[test]
fn exit_in_an_action_of_a_block_is_plain() {
    let program = ingress(
        "action leave() { exit; }
         table t { key = { m.x: exact; } actions = { leave; NoAction; } }
         apply { t.apply(); m.y = 1; }",
    );
    let action = program
        .actions
        .iter()
        .find(|action| action.name == "I.leave")
        .expect("the table lists it");
    let body = &program.bodies[action.body.index()];
    assert!(matches!(body.blocks[0].terminator, Terminator::Exit));
}

#[test]
fn a_function_may_return_from_anywhere() {
    let top = "bit<8> pick(in bit<8> x) { if (x == 0) { return 7; } return x; }";
    let program = lower(&Parts {
        top,
        ingress: "apply { m.y = pick(m.x); }",
        ..Parts::default()
    });
    let body = ingress_body(&program);
    assert_eq!(assigned(&program, body).last(), Some(&"m.y"));
    assert_eq!(count_terminators(body, |end| matches!(end, Terminator::Return)), 1);
}

#[test]
fn earlier_operands_are_saved_from_later_calls() {
    let top = "bit<8> bump(inout bit<8> x) { x = x + 1; return x; }";
    let program = lower(&Parts {
        top,
        ingress: "apply { m.y = m.x - bump(m.x); }",
        ..Parts::default()
    });
    let names = assigned(&program, ingress_body(&program));
    assert!(names[0].contains("$tmp"), "{names:?}");
    assert_eq!(names[1], "m.x");
}

#[test]
fn bound_arguments_give_an_action_an_instance_for_each_table() {
    let program = ingress(
        "action set(inout bit<8> v, bit<8> data) { v = data; }
         table t { key = { m.i: exact; } actions = { set(m.x); } default_action = set(m.x, 1); }
         table u { key = { m.i: exact; } actions = { set(m.y); } default_action = set(m.y, 2); }
         apply { t.apply(); u.apply(); }",
    );
    let instances: Vec<_> = program.actions.iter().filter(|action| action.name == "I.set").collect();
    assert_eq!(instances.len(), 2);
    assert!(
        instances
            .iter()
            .all(|action| action.params.len() == 1 && action.params[0].name == "data")
    );
    assert_eq!(program.tables[1].default_action.args[0].to_u64(), 2);
}

#[test]
fn swapping_fields_saves_them_first() {
    let program = ingress("apply { hdr.h = { hdr.h.b, hdr.h.a }; }");
    let body = ingress_body(&program);
    let saved = operations(body)
        .iter()
        .filter(|op| matches!(op, Op::Assign { .. }))
        .count();
    assert!(saved >= 4, "two fields are saved, then written");
}

/// Of nested sections, the outer one remains; a sub-control may be one as a whole.
#[test]
fn blocks_marked_atomic_are_sections() {
    let top = "@atomic control Inner(inout bit<8> x) { apply { @atomic { x = 1; } x = 2; } }";
    let ingress = "Inner() c; apply { c.apply(m.x); @atomic { m.y = 1; c.apply(m.x); } m.y = 2; }";
    let program = lower(&Parts {
        top,
        ingress,
        ..Parts::default()
    });
    let words: Vec<&str> = operations(ingress_body(&program))
        .into_iter()
        .filter_map(|op| match op {
            Op::EnterAtomic { lock: 0, index: None } => Some("enter"),
            Op::LeaveAtomic => Some("leave"),
            Op::Assign {
                value: Expr::Const(_), ..
            } => Some("assign"),
            _ => None,
        })
        .collect();
    let expected = "enter assign assign leave enter assign assign assign leave assign";
    assert_eq!(words.join(" "), expected);
}
