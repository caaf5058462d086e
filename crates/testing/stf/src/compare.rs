//! Packets that left a port against what the test expects of it.
//!
//! As in the reference runner the n-th packet of a port belongs to the port's n-th `expect`. When there are more or
//! fewer packets than expectations the test has failed anyway, and the pairs are chosen so that as many as possible
//! agree: then the message names the packet that is missing rather than all that follow it.

use crate::outcome::{Failure, FailureKind};
use forebay_entries::{ExpectedPacket, hex};

/// Largest product of expectations and packets for which pairs are sought.
const MAX_PAIRINGS: usize = 4_000_000;

/// Bytes of a packet in a message about one that was not expected.
const MAX_SHOWN_BYTES: usize = 128;

/// An `expect`.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) line: u32,
    /// `None` accepts any packet.
    pub(crate) packet: Option<ExpectedPacket>,
}

/// A packet that left the switch.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// Line of the packet that it was made from.
    pub(crate) line: Option<u32>,
    pub(crate) data: Vec<u8>,
}

/// What is wrong with the outputs of a port. `fields` has a line for each field in which a packet differs.
pub(crate) fn compare(
    port: u32,
    expected: &[Expectation],
    outputs: &[Output],
    fields: &mut dyn FnMut(&ExpectedPacket, &[u8]) -> String,
) -> Vec<Failure> {
    let pairs = pair_up(expected, outputs);
    let mut failures: Vec<Failure> = Vec::new();
    for &(wanted, output) in &pairs {
        failures.extend(match (wanted.map(|i| &expected[i]), output.map(|i| &outputs[i])) {
            (Some(wanted), Some(output)) => different(port, wanted, output, fields),
            (Some(wanted), None) => Some(missing(port, wanted)),
            (None, Some(output)) => Some(unexpected(port, output)),
            (None, None) => None,
        });
    }
    failures
}

fn accepts(wanted: &Expectation, output: &Output) -> bool {
    wanted.packet.as_ref().is_none_or(|packet| packet.accepts(&output.data))
}

type Pair = (Option<usize>, Option<usize>);

fn pair_up(expected: &[Expectation], outputs: &[Output]) -> Vec<Pair> {
    let common = expected.len().min(outputs.len());
    if expected.len() == outputs.len() || expected.len() * outputs.len() > MAX_PAIRINGS {
        let mut pairs: Vec<Pair> = (0..common).map(|index| (Some(index), Some(index))).collect();
        pairs.extend((common..expected.len()).map(|index| (Some(index), None)));
        pairs.extend((common..outputs.len()).map(|index| (None, Some(index))));
        return pairs;
    }
    longest_agreement(expected, outputs)
}

/// The longest common subsequence, by dynamic programming.
fn longest_agreement(expected: &[Expectation], outputs: &[Output]) -> Vec<Pair> {
    let columns = outputs.len() + 1;
    // Cell (i, j): the most pairs among expectations from i on and outputs from j on.
    let mut most = vec![0u32; (expected.len() + 1) * columns];
    for i in (0..expected.len()).rev() {
        for j in (0..outputs.len()).rev() {
            let skip = most[(i + 1) * columns + j].max(most[i * columns + j + 1]);
            let pair = most[(i + 1) * columns + j + 1] + 1;
            most[i * columns + j] = if accepts(&expected[i], &outputs[j]) {
                pair.max(skip)
            } else {
                skip
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < expected.len() && j < outputs.len() {
        if accepts(&expected[i], &outputs[j]) && most[i * columns + j] == most[(i + 1) * columns + j + 1] + 1 {
            pairs.push((Some(i), Some(j)));
            i += 1;
            j += 1;
        } else if most[(i + 1) * columns + j] >= most[i * columns + j + 1] {
            pairs.push((Some(i), None));
            i += 1;
        } else {
            pairs.push((None, Some(j)));
            j += 1;
        }
    }
    pairs.extend((i..expected.len()).map(|index| (Some(index), None)));
    pairs.extend((j..outputs.len()).map(|index| (None, Some(index))));
    pairs
}

fn different(
    port: u32,
    wanted: &Expectation,
    output: &Output,
    fields: &mut dyn FnMut(&ExpectedPacket, &[u8]) -> String,
) -> Option<Failure> {
    let packet = wanted.packet.as_ref().filter(|packet| !packet.accepts(&output.data))?;
    let message = format!(
        "the packet from port {port}{} differs: {}{}",
        because(output),
        packet.diff(&output.data),
        fields(packet, &output.data)
    );
    Some(Failure {
        line: Some(wanted.line),
        kind: FailureKind::Different,
        message,
    })
}

fn missing(port: u32, wanted: &Expectation) -> Failure {
    let message = format!("port {port} has not sent this packet");
    Failure {
        line: Some(wanted.line),
        kind: FailureKind::Missing,
        message,
    }
}

/// A packet that nothing in the test awaits.
pub(crate) fn unexpected(port: u32, output: &Output) -> Failure {
    let shown = &output.data[..output.data.len().min(MAX_SHOWN_BYTES)];
    let rest = if shown.len() < output.data.len() { "..." } else { "" };
    let message = format!(
        "port {port} has sent a packet that is not expected, {} bytes: {}{rest}",
        output.data.len(),
        hex(shown)
    );
    Failure {
        line: output.line,
        kind: FailureKind::Unexpected,
        message,
    }
}

fn because(output: &Output) -> String {
    output
        .line
        .map_or(String::new(), |line| format!(" (because of line {line})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation(line: u32, byte: u8) -> Expectation {
        let nibbles = vec![Some(byte >> 4), Some(byte & 0xf)];
        Expectation {
            line,
            packet: Some(ExpectedPacket {
                nibbles,
                exact_length: true,
            }),
        }
    }

    fn output(byte: u8) -> Output {
        Output {
            line: Some(100),
            data: vec![byte],
        }
    }

    fn kinds(expected: &[u8], outputs: &[u8]) -> Vec<(Option<u32>, FailureKind)> {
        let expected: Vec<_> = expected
            .iter()
            .enumerate()
            .map(|(i, &byte)| expectation(i as u32 + 1, byte))
            .collect();
        let outputs: Vec<_> = outputs.iter().map(|&byte| output(byte)).collect();
        compare(3, &expected, &outputs, &mut |_, _| String::new())
            .into_iter()
            .map(|failure| (failure.line, failure.kind))
            .collect()
    }

    #[test]
    fn agreement() {
        assert_eq!(kinds(&[1, 2, 3], &[1, 2, 3]), []);
    }

    #[test]
    fn the_order_matters() {
        assert_eq!(
            kinds(&[1, 2], &[2, 1]),
            [(Some(1), FailureKind::Different), (Some(2), FailureKind::Different)]
        );
    }

    #[test]
    fn the_missing_one_is_named() {
        assert_eq!(kinds(&[1, 2, 3], &[1, 3]), [(Some(2), FailureKind::Missing)]);
        assert_eq!(kinds(&[1], &[]), [(Some(1), FailureKind::Missing)]);
    }

    #[test]
    fn the_unexpected_one_is_named() {
        assert_eq!(kinds(&[1, 3], &[1, 2, 3]), [(Some(100), FailureKind::Unexpected)]);
    }

    #[test]
    fn any_packet() {
        let any = Expectation { line: 1, packet: None };
        assert!(compare(0, &[any], &[output(9)], &mut |_, _| String::new()).is_empty());
    }
}
