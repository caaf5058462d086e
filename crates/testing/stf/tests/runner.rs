//! Tests run against a program whose packets say what shall happen to them (see `operations.ir` of the switch).

use forebay_entries::{UnnamedPorts, parse};
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_stf::{FailureKind, Outcome, run};
use std::sync::Arc;

fn pipeline() -> Arc<Pipeline> {
    let program =
        forebay_ir::text::read(include_str!("../../../dataplane/switch/tests/operations.ir")).expect("a program");
    Arc::new(Pipeline::load(program).expect("a pipeline"))
}

fn outcome(test: &str) -> Outcome {
    let test = parse(test).expect("a test");
    run(&test, pipeline(), &mut NoTrace)
}

fn assert_passes(test: &str) -> Outcome {
    let outcome = outcome(test);
    assert_eq!(outcome.failures, []);
    outcome
}

fn failures(test: &str) -> Vec<(Option<u32>, FailureKind)> {
    outcome(test)
        .failures
        .iter()
        .map(|failure| (failure.line, failure.kind))
        .collect()
}

#[test]
fn forwarding() {
    let outcome = assert_passes("packet 0 00 03 aa bb\nexpect 3 00 03 ** b* $\npacket 0 00 02 01\nexpect 2");
    assert_eq!((outcome.packets_in, outcome.packets_out), (2, 2));
}

#[test]
fn expectations_may_stand_before_the_packet() {
    assert_passes("expect 3 0003\npacket 0 0003");
}

#[test]
fn replication() {
    assert_passes(
        "mc_mgrp_create 1\nmc_node_create 5 3 2\nmc_node_create 6 4\nmc_node_associate 1 0\nmc_node_associate 1 1\n\
         packet 0 0201aa\nexpect 2 0201aa$\nexpect 3 0201aa$\nexpect 4 0201aa$\n\
         mirroring_add 7 2\npacket 0 0307bb\nexpect 1 0307bb$\nexpect 2 0307bb$\n\
         mirroring_add 7 2 2\npacket 0 0307bb\nexpect 1 0307bb$\nexpect 2 0307$\n\
         mirroring_add_mc 8 1\nmc_node_update 1 6\npacket 0 0308\nexpect 1 0308\nexpect 2 0308\nexpect 3 0308\nexpect 6 0308",
    );
}

#[test]
fn entries_counters_and_registers() {
    let outcome = assert_passes(
        "add choose 10 hdr.h.argument:0x0* forward(port:3) = low\nadd choose 20 argument:0x05 discard()\n\
         packet 0 0704\nexpect 3 0704\npacket 0 0705\npacket 0 07ff\n\
         check_counter chosen($low) packets == 1\ncheck_counter operations(7) packets == 3\n\
         check_counter operations(7) bytes == 6\nregister_read last 0\nregister_write last 0 9\nregister_read last 0\n\
         remove low\npacket 0 0704\nremove all\nsetdefault choose forward(port:2)\npacket 0 0799\nexpect 2 0799",
    );
    let notes: Vec<&str> = outcome
        .notes
        .iter()
        .filter(|note| note.line.is_some())
        .map(|n| n.message.as_str())
        .collect();
    assert_eq!(notes, ["Ingress.last[0] = 255", "Ingress.last[0] = 9"]);
}

#[test]
fn fields_that_differ_are_named() {
    let message = |test: &str| {
        let failures = outcome(test).failures;
        assert_eq!(failures.len(), 1, "{test}");
        failures[0].message.clone()
    };
    let both = message("packet 0 0003aa\nexpect 3 1204aa");
    assert!(
        both.ends_with(
            "       hdr.h.operation: expected 0x12 (18), received 0\n       hdr.h.argument: expected 4, received 3\n"
        ),
        "{both}"
    );
    let digit = message("packet 0 0003aa\nexpect 3 00*4aa");
    assert!(digit.ends_with("       hdr.h.argument differs\n"), "{digit}");
    assert!(
        !message("packet 0 0003aa\nexpect 3 0003ab").contains("hdr."),
        "payload has no fields"
    );
}

#[test]
fn what_fails_is_placed() {
    assert_eq!(
        failures("packet 0 0003aa\nexpect 3 0003ab"),
        [(Some(2), FailureKind::Different)]
    );
    assert_eq!(
        failures("packet 0 0003aa\nexpect 3 0003$"),
        [(Some(2), FailureKind::Different)]
    );
    assert_eq!(
        failures("packet 0 0100\nexpect 3 0003"),
        [(Some(2), FailureKind::Missing)]
    );
    assert_eq!(
        failures("expect 3 0003\npacket 0 0003\npacket 0 0003"),
        [(Some(3), FailureKind::Unexpected)]
    );
    assert_eq!(failures("packet 0 0000"), [(Some(1), FailureKind::Unexpected)]);
    assert_eq!(
        failures("check_counter operations(0) packets > 0"),
        [(Some(1), FailureKind::Counter)]
    );
}

#[test]
fn ports_that_are_not_named() {
    let unexpected = [(Some(1), FailureKind::Unexpected)];
    assert_eq!(failures("packet 0 0003"), unexpected);
    assert_passes("packet 0 0003\nexpect 3 0003\nno_packet");
    let lenient = |text| {
        let mut test = parse(text).expect("a test");
        test.unnamed_ports = UnnamedPorts::Noted;
        run(&test, pipeline(), &mut NoTrace)
    };
    let noted = lenient("packet 0 0003");
    assert!(noted.passed());
    assert_eq!(
        noted.notes[0].message,
        "port 3, which the test does not name, has sent packets: 1"
    );
    assert_eq!(lenient("packet 0 0003\nno_packet").failures[0].line, Some(1));
}

#[test]
fn commands_that_do_not_suit_the_program() {
    for (command, message) in [
        (
            "add nope k:1 a()",
            "there is no table `nope`; there is `Ingress.choose` (a table that is never applied is left out)",
        ),
        (
            "add choose k:1 discard()",
            "table `Ingress.choose`: there is no key field `k`; there is `hdr.h.argument`",
        ),
        (
            "add choose h.argument:0x1ff discard()",
            "table `Ingress.choose`, key field `hdr.h.argument`: the value needs 9 bits, there are 8",
        ),
        (
            "add choose nope()",
            "table `Ingress.choose`: there is no action `nope`; there is `Ingress.forward`, `Ingress.discard`",
        ),
        (
            "add choose forward()",
            "action `Ingress.forward`: there is no argument for `port`",
        ),
        (
            "add choose forward(x:1)",
            "action `Ingress.forward`: it has no parameter `x`; its parameters are (port)",
        ),
        (
            "add choose h.argument:1 hdr.h.argument:2 discard()",
            "table `Ingress.choose`: key field `hdr.h.argument` is given twice",
        ),
        (
            "add choose h.argument:1 forward(port:1, port:2)",
            "action `Ingress.forward`: argument `port` is given twice",
        ),
        ("check_counter chosen($x)", "no `add` has made an entry `= x`"),
        (
            "check_counter chosen(0)",
            "`Ingress.chosen` is a direct counter: `check_counter Ingress.chosen(HANDLE)` is about the entry that `add ... = HANDLE` has made",
        ),
        (
            "register_write last 0 0x100",
            "register `Ingress.last`: the value needs 9 bits, there are 8",
        ),
        ("mc_node_associate 1 0", "there is no multicast node 0"),
        ("mirroring_get 3", "there is no clone session 3"),
        ("packet 511 00", "there is no port 511; ports are 0 to 510"),
    ] {
        let outcome = outcome(command);
        assert!(outcome.is_invalid(), "{command}");
        assert_eq!(outcome.failures[0].message, message);
    }
}

#[test]
fn a_test_gives_the_same_result_again() {
    let test = "packet 0 0003aa\nexpect 3 0003ab\npacket 0 0202\npacket 0 0400\npacket 0 05\npacket 0 0600";
    assert_eq!(outcome(test), outcome(test));
}
