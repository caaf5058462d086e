//! Sends malformed traffic through a program, and accounts for every packet.

use crate::contender::{Compiled, Work};
use crate::error::BenchError;
use crate::malformed::{Damage, MixedTraffic, mixed};
use crate::measure::load;
use crate::ports::FramePort;
use crate::workload::Workload;
use forebay_pipeline::{Engine, PassSet};
use std::sync::Arc;
use std::time::Instant;

/// Different frames that the packets are made of, at most.
const FRAMES_MAX: usize = 1_000_000;

/// Polls after the last packet, for packets that go round inside.
const LAST_POLLS: usize = 64;

/// The books of a run with malformed traffic. They balance.
#[derive(Clone, Debug)]
pub struct Account {
    /// The program.
    pub name: String,
    /// Packets that came.
    pub received: u64,
    /// How many of them were damaged, by kind; about, if the last round of the frames is not complete.
    pub damaged: Vec<(Damage, u64)>,
    /// Packets made inside.
    pub copies: u64,
    /// Packets that left.
    pub transmitted: u64,
    /// Packets dropped, by reason.
    pub drops: Vec<(String, u64)>,
    /// How long it took.
    pub seconds: f64,
}

/// Sends `packets` packets through the program of a workload, a `share` of them (between 0 and 1) damaged. Its fast path
/// is compiled without the passes of `without`.
///
/// # Errors
/// When the program cannot be loaded, and when the books do not balance.
pub fn account(
    workload: &dyn Workload,
    engine: Engine,
    without: PassSet,
    packets: u64,
    share: f64,
) -> Result<Account, BenchError> {
    let pipeline = load(workload, engine, without)?;
    let count = FRAMES_MAX.min(packets.try_into().unwrap_or(FRAMES_MAX));
    let MixedTraffic { frames, damaged } = mixed(&workload.frames(), count, share, 1);
    let rounds = packets as f64 / count as f64;
    let frames = Arc::new(frames);
    let ports = workload.ports().into_iter().enumerate().map(|(index, number)| {
        let port = match index {
            0 => FramePort::delivering("in", frames.clone(), packets),
            _ => FramePort::silent("out"),
        };
        (number, Box::new(port) as _)
    });
    let mut work = Compiled::new(pipeline, ports.collect());
    let begin = Instant::now();
    while work.poll(begin.elapsed().as_nanos() as u64) > 0 {}
    for _ in 0..LAST_POLLS {
        work.poll(begin.elapsed().as_nanos() as u64);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let books = work.books();
    let damaged = Damage::ALL.into_iter().zip(damaged);
    let account = Account {
        name: workload.name(),
        received: books.received,
        damaged: damaged
            .map(|(kind, count)| (kind, (count as f64 * rounds) as u64))
            .collect(),
        copies: books.copies,
        transmitted: books.transmitted,
        drops: books.drops,
        seconds,
    };
    account.balanced(packets)
}

impl Account {
    fn balanced(self, packets: u64) -> Result<Account, BenchError> {
        let dropped: u64 = self.drops.iter().map(|(_, count)| count).sum();
        if self.received == packets && self.received + self.copies == self.transmitted + dropped {
            return Ok(self);
        }
        Err(BenchError::Unaccounted(format!(
            "{packets} packets sent to the switch, {} received, {} copies, {} transmitted, {dropped} dropped",
            self.received, self.copies, self.transmitted
        )))
    }
}
