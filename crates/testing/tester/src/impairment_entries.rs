//! From the entries of a test file to impairments.

use crate::impairment::{Delay, Impairment};
use crate::numbers::SECONDS_MAX;
use crate::setup::Reader;
use crate::test_file::{DelayEntry, ImpairmentEntry, TestFile};
use forebay_sim::{Pair, number};

/// The impairments of a file, by the numbers of their ports. `ports` are those of the traffic; they are not known while the
/// program is not.
pub(crate) fn impairments(file: &TestFile, ports: Option<&[u32]>, reader: &mut Reader<'_>) -> Vec<(u32, Impairment)> {
    let mut all: Vec<(u32, Impairment)> = Vec::new();
    for entry in &file.impairment {
        let (port, span) = (*entry.port.get_ref(), entry.port.span());
        if ports.is_some_and(|ports| !ports.contains(&port)) {
            reader.wrong(span, format!("no traffic uses port {port}"));
        } else if all.iter().any(|(own, _)| *own == port) {
            reader.wrong(span, format!("port {port} has two impairments; write one"));
        } else {
            match impairment(entry) {
                Ok(impairment) => all.push((port, impairment)),
                Err((key, message)) => reader.wrong_key(span, key, message),
            }
        }
    }
    all
}

/// The impairment of an entry, or which key is wrong, and why.
fn impairment(entry: &ImpairmentEntry) -> Result<Impairment, (&'static str, String)> {
    let shares = [
        ("loss", entry.loss),
        ("duplication", entry.duplication),
        ("reordering", entry.reordering),
    ];
    if let Some((key, share)) = shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
        let message = format!(
            "{key} is {}; loss, duplication and reordering are shares from 0 to 1",
            number(share)
        );
        return Err((key, message));
    }
    if entry.reordering > 0.0 && entry.reordering_by == 0 {
        let message = "reordering_by is 0; a frame that is reordered is held until at least 1 other has passed";
        return Err(("reordering_by", message.to_string()));
    }
    let delay = entry.delay.as_ref().map_or(Ok(Delay::None), delay);
    Ok(Impairment {
        loss: entry.loss,
        duplication: entry.duplication,
        reordering: entry.reordering,
        reordering_by: entry.reordering_by,
        delay: delay.map_err(|message| ("delay", message))?,
    })
}

fn delay(entry: &DelayEntry) -> Result<Delay, String> {
    const US: f64 = 1e3;
    const US_MAX: f64 = SECONDS_MAX * 1e6;
    let values = [
        entry.constant_us,
        entry.exponential_us,
        entry.uniform_us.map(|Pair(_, to)| to),
    ];
    if values.into_iter().flatten().any(|us| us > US_MAX) {
        return Err(format!("a delay is at most {US_MAX} us (a day)"));
    }
    let delay = match (entry.constant_us, entry.uniform_us, entry.exponential_us) {
        (Some(us), None, None) if us >= 0.0 => Delay::Constant(us * US),
        (None, Some(Pair(from, to)), None) if 0.0 <= from && from < to => Delay::Uniform(from * US, to * US),
        (None, None, Some(us)) if us > 0.0 => Delay::Exponential(us * US),
        _ => {
            let forms =
                "a delay is exactly one of { constant_us = 50 }, { uniform_us = [10, 20] } and { exponential_us = 50 }";
            return Err(forms.to_string());
        }
    };
    Ok(delay)
}
