//! From the entries of a test file to impairments.

use crate::impairment::{Delay, Impairment};
use crate::setup::Reader;
use crate::test_file::{DelayEntry, ImpairmentEntry, TestFile};

/// The impairments of a file, by the numbers of their ports.
pub(crate) fn impairments(file: &TestFile, ports: &[u32], reader: &mut Reader<'_>) -> Vec<(u32, Impairment)> {
    let mut all: Vec<(u32, Impairment)> = Vec::new();
    for entry in &file.impairment {
        let (port, span) = (*entry.port.get_ref(), entry.port.span());
        if !ports.contains(&port) {
            reader.wrong(span, format!("no traffic uses port {port}"));
        } else if all.iter().any(|(own, _)| *own == port) {
            reader.wrong(span, format!("port {port} has two impairments; write one"));
        } else {
            match impairment(entry) {
                Ok(impairment) => all.push((port, impairment)),
                Err(message) => reader.wrong(span, message),
            }
        }
    }
    all
}

fn impairment(entry: &ImpairmentEntry) -> Result<Impairment, String> {
    let shares = [entry.loss, entry.duplication, entry.reordering];
    if !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
        return Err("loss, duplication and reordering are shares from 0 to 1".to_string());
    }
    if entry.reordering > 0.0 && entry.reordering_by == 0 {
        return Err(
            "reordering_by is 0; a frame that is reordered is held until at least 1 other has passed".to_string(),
        );
    }
    Ok(Impairment {
        loss: entry.loss,
        duplication: entry.duplication,
        reordering: entry.reordering,
        reordering_by: entry.reordering_by,
        delay: entry.delay.as_ref().map_or(Ok(Delay::None), delay)?,
    })
}

fn delay(entry: &DelayEntry) -> Result<Delay, String> {
    const US: f64 = 1e3;
    let delay = match (entry.constant_us, entry.uniform_us, entry.exponential_us) {
        (Some(us), None, None) if us >= 0.0 => Delay::Constant(us * US),
        (None, Some((from, to)), None) if 0.0 <= from && from < to => Delay::Uniform(from * US, to * US),
        (None, None, Some(us)) if us > 0.0 => Delay::Exponential(us * US),
        _ => {
            let forms =
                "a delay is exactly one of { constant_us = 50 }, { uniform_us = [10, 20] } and { exponential_us = 50 }";
            return Err(forms.to_string());
        }
    };
    Ok(delay)
}
