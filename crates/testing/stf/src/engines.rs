//! A test run in two ways, which must do the same.

use crate::outcome::{Failure, FailureKind, Outcome};
use crate::runner::{Departed, Record, run_and_record, run_on_chip_and_record};
use forebay_chip::ChipSpec;
use forebay_entries::{Test, hex};
use forebay_ir::{DigestId, Program};
use forebay_pipeline::{DropReason, NoTrace, Pipeline};
use std::sync::Arc;

/// What the software switch counts with the program's drops, and a chip with its own losses.
const COUNTED_BY_SWITCH: [DropReason; 2] = [DropReason::QueueFull, DropReason::NoSuchPort];

/// Runs the test with two freshly loaded pipelines of one program, the reference first. The outcome is that of the
/// reference; what the other does differently (packets, digests, registers, counters, drops) are failures of kind
/// [`FailureKind::Engine`].
pub fn run_both(test: &Test, reference: Arc<Pipeline>, other: Arc<Pipeline>) -> Outcome {
    let expected = run_and_record(test, reference.clone(), &mut NoTrace);
    let found = run_and_record(test, other.clone(), &mut NoTrace);
    compared("the engines differ", reference.differences(&other), expected, found)
}

/// Runs the test with two programs that should do the same to packets, each freshly loaded: one compiled in two ways,
/// say. The outcome is that of the reference; packets and digests of the other that differ are failures of kind
/// [`FailureKind::Engine`]. What else the programs hold may have other names and another order.
pub fn run_programs(test: &Test, reference: Arc<Pipeline>, other: Arc<Pipeline>) -> Outcome {
    let mut expected = run_and_record(test, reference.clone(), &mut NoTrace);
    let mut found = run_and_record(test, other.clone(), &mut NoTrace);
    for (record, program) in [(&mut expected.1, &reference), (&mut found.1, &other)] {
        number_digests(record, program.program(), reference.program());
    }
    compared("the programs differ", Vec::new(), expected, found)
}

/// Gives digests of a program the numbers that those of the same name have in the reference.
fn number_digests(record: &mut Record, program: &Program, reference: &Program) {
    for message in &mut record.digests {
        let name = &program.digests[message.digest.index()].name;
        if let Some(place) = reference.digests.iter().position(|known| known.name == *name) {
            message.digest = DigestId(place as u32);
        }
    }
}

/// Runs the test in the software switch and in a chip, each with a freshly loaded pipeline of one program. The outcome
/// is that of the switch, with what the chip does differently as in [`run_both`]. Programs that look at times and
/// queues may rightly do so, unless the chip takes no time inside.
pub fn run_switch_and_chip(test: &Test, switch: Arc<Pipeline>, chip: Arc<Pipeline>, spec: ChipSpec) -> Outcome {
    let expected = run_and_record(test, switch.clone(), &mut NoTrace);
    let found = run_on_chip_and_record(test, chip.clone(), spec);
    let differences = switch.differences_beside(&chip, &COUNTED_BY_SWITCH);
    compared("switch and chip differ", differences, expected, found)
}

fn compared(who: &str, mut differences: Vec<String>, expected: (Outcome, Record), found: (Outcome, Record)) -> Outcome {
    let (mut outcome, mut expected) = expected;
    let (others_outcome, mut found) = found;
    for record in [&mut expected, &mut found] {
        // Which port is served first is not laid down; within a port the order is.
        record.packets.sort_by_key(|packet| packet.port);
    }
    differences.extend(differing_packets(&expected.packets, &found.packets));
    if expected.digests != found.digests {
        differences.push(format!("digests are {:?} and {:?}", expected.digests, found.digests));
    }
    if differences.is_empty() && in_order(&others_outcome) != in_order(&outcome) {
        differences.push(differing_answers(&outcome, &others_outcome));
    }
    outcome
        .failures
        .extend(differences.into_iter().map(|difference| Failure {
            line: None,
            kind: FailureKind::Engine,
            message: format!("{who}: {difference}"),
        }));
    outcome
}

/// The outcome with its notes in an order that does not say who counted a drop.
fn in_order(outcome: &Outcome) -> Outcome {
    let mut outcome = outcome.clone();
    outcome
        .notes
        .sort_by(|one, other| (one.line, &one.message).cmp(&(other.line, &other.message)));
    outcome
}

/// The first answer to a command that only one of both gave.
fn differing_answers(expected: &Outcome, found: &Outcome) -> String {
    let alone = |one: &Outcome, other: &Outcome| {
        let mut failures = one.failures.iter().filter(|failure| !other.failures.contains(failure));
        failures.next().map(|failure| failure.message.clone())
    };
    match (alone(expected, found), alone(found, expected)) {
        (Some(message), None) => format!("only the first says: {message}"),
        (None, Some(message)) => format!("only the second says: {message}"),
        (Some(first), Some(second)) => format!("the first says: {first}\n  the second says: {second}"),
        (None, None) => "commands gave different answers".to_string(),
    }
}

/// The first packet that is not the same.
fn differing_packets(expected: &[Departed], found: &[Departed]) -> Option<String> {
    let count = expected.len().max(found.len());
    let index = (0..count).find(|&index| expected.get(index) != found.get(index))?;
    let show = |packet: Option<&Departed>| match packet {
        Some(packet) => format!("on port {}: {}", packet.port, hex(&packet.data)),
        None => "missing".to_string(),
    };
    let (expected, found) = (show(expected.get(index)), show(found.get(index)));
    Some(format!("packet {index} that left is\n  {expected}\n  {found}"))
}
