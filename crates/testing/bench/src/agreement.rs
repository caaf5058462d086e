//! Checks that a program and its hand-written twin, or two engines, do the same with the same packets.

use crate::contender::{Ports, Work};
use crate::error::BenchError;
use crate::frames::FrameSet;
use crate::ports::{Collector, FramePort};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Polls after the last packet, for packets that go round inside.
const LAST_POLLS: usize = 64;

/// Something between collecting ports.
pub struct Witness {
    name: String,
    work: Box<dyn Work>,
    collector: Collector,
    /// What it sent and the first witness has not sent yet, or the other way round: by port.
    ahead: BTreeMap<u32, VecDeque<Vec<u8>>>,
}

impl Witness {
    /// What `make` makes between ports with these numbers, the first of which delivers the frames once.
    pub fn new(
        name: impl Into<String>,
        numbers: &[u32],
        frames: &Arc<FrameSet>,
        make: impl FnOnce(Ports) -> Box<dyn Work>,
    ) -> Witness {
        let collector = Collector::default();
        let ports = numbers.iter().enumerate().map(|(index, number)| {
            let port = match index {
                0 => FramePort::delivering("in", frames.clone(), frames.len() as u64),
                _ => FramePort::silent("out"),
            };
            (*number, Box::new(port.collecting(*number, &collector)) as _)
        });
        Witness {
            name: name.into(),
            work: make(ports.collect()),
            collector,
            ahead: BTreeMap::new(),
        }
    }

    fn poll(&mut self) -> u64 {
        let received = self.work.poll(0);
        for sent in self.collector.take() {
            self.ahead.entry(sent.port).or_default().push_back(sent.frame);
        }
        received
    }
}

/// Lets the witnesses process all their frames. Each must send the same frames by the same ports, in the same order on
/// each, drop as many for the same reasons, and count the same.
///
/// # Errors
/// When two differ; the text says where.
pub fn agree(mut witnesses: Vec<Witness>) -> Result<(), BenchError> {
    let mut polls_left = LAST_POLLS;
    while polls_left > 0 {
        let received: u64 = witnesses.iter_mut().map(Witness::poll).sum();
        if received == 0 {
            polls_left -= 1;
        }
        compare_sent(&mut witnesses)?;
    }
    let Some((first, others)) = witnesses.split_first() else {
        return Ok(());
    };
    for other in others {
        if other
            .ahead
            .values()
            .chain(first.ahead.values())
            .any(|frames| !frames.is_empty())
        {
            let message = format!("{} and {} do not send as many frames", first.name, other.name);
            return Err(BenchError::Differ(message));
        }
        compare_books(first, other)?;
    }
    Ok(())
}

/// Compares what all have sent and forgets it.
fn compare_sent(witnesses: &mut [Witness]) -> Result<(), BenchError> {
    let ports: Vec<u32> = witnesses
        .iter()
        .flat_map(|witness| witness.ahead.keys().copied())
        .collect();
    for port in ports {
        let lengths = witnesses
            .iter()
            .map(|witness| witness.ahead.get(&port).map_or(0, VecDeque::len));
        for _ in 0..lengths.min().unwrap_or(0) {
            let mut frames = witnesses.iter_mut().filter_map(|witness| {
                let frame = witness.ahead.get_mut(&port)?.pop_front()?;
                Some((&witness.name, frame))
            });
            let Some((first, expected)) = frames.next() else { break };
            if let Some((other, frame)) = frames.find(|(_, frame)| *frame != expected) {
                return Err(BenchError::Differ(format!(
                    "by port {port}\n{first} sends {}\n{other} sends {}",
                    hex(&expected),
                    hex(&frame)
                )));
            }
        }
    }
    Ok(())
}

/// Compares why packets were dropped, and what was counted.
fn compare_books(first: &Witness, other: &Witness) -> Result<(), BenchError> {
    let nonzero = |counts: Vec<(String, u64)>| {
        counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect::<BTreeMap<_, _>>()
    };
    let (expected, found) = (first.work.books(), other.work.books());
    let drops = (nonzero(expected.drops), nonzero(found.drops));
    let counts = (nonzero(expected.counts), nonzero(found.counts));
    for (what, (expected, found)) in [("drops", drops), ("counts", counts)] {
        if expected != found {
            return Err(BenchError::Differ(format!(
                "{} {what} {expected:?}, {} {what} {found:?}",
                first.name, other.name
            )));
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
