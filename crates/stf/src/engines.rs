//! A test run by two engines, which must do the same.

use crate::outcome::{Failure, FailureKind, Outcome};
use crate::runner::{Departed, run_and_record};
use crate::{Test, hex};
use forebay_pipeline::{NoTrace, Pipeline};
use std::sync::Arc;

/// Runs the test with two freshly loaded pipelines of one program, the reference first. The outcome is that of the
/// reference; what the other does differently (packets, digests, registers, counters, drops) are failures of kind
/// [`FailureKind::Engine`].
pub fn run_both(test: &Test, reference: Arc<Pipeline>, other: Arc<Pipeline>) -> Outcome {
    let (mut outcome, expected) = run_and_record(test, reference.clone(), &mut NoTrace);
    let (others_outcome, found) = run_and_record(test, other.clone(), &mut NoTrace);
    let mut differences = reference.differences(&other);
    differences.extend(differing_packets(&expected.packets, &found.packets));
    if expected.digests != found.digests {
        differences.push(format!("digests are {:?} and {:?}", expected.digests, found.digests));
    }
    if differences.is_empty() && others_outcome != outcome {
        differences.push("commands gave different answers".to_string());
    }
    outcome
        .failures
        .extend(differences.into_iter().map(|difference| Failure {
            line: None,
            kind: FailureKind::Engine,
            message: format!("the engines differ: {difference}"),
        }));
    outcome
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
