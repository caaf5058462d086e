//! Limits of queues, changed while a switch runs.

use forebay_pipeline::DROP_PORT;
use forebay_switch::{QueueChange, QueueLimit};
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most packets of a queue.
pub const QUEUE_DEPTH_MAX: usize = 1 << 20;

/// What all workers are to do with their queues. Workers look at a number; only when it has changed, they take a lock.
#[derive(Debug)]
pub struct QueueControl {
    /// In order, each with its number from 1 on, without those that later ones make void. So there are at most two for
    /// each queue of each port that was named.
    changes: Mutex<Vec<(u64, QueueChange)>>,
    /// Counts changes.
    version: AtomicU64,
    /// The number of queues of a port.
    queues: usize,
    workers: NonZeroU64,
}

/// Why queues cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// There is no such port.
    Port(u32),
    /// A port has fewer queues.
    Queue {
        /// The queue.
        queue: usize,
        /// How many a port has.
        queues: usize,
    },
    /// That is more packets than a queue can hold.
    Depth(usize),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueError::Port(port) => write!(f, "there is no port {port}; programs know ports 0 to {}", DROP_PORT - 1),
            QueueError::Queue { queue, queues } => {
                write!(
                    f,
                    "there is no queue {queue}; the priorities of a port's queues are 0 to {}",
                    queues - 1
                )
            }
            QueueError::Depth(packets) => {
                write!(f, "a queue holds at most {QUEUE_DEPTH_MAX} packets, not {packets}")
            }
        }
    }
}

impl std::error::Error for QueueError {}

impl QueueControl {
    /// `queues` is the number of queues of a port, `workers` the number of workers; 0 counts as 1.
    pub fn new(queues: usize, workers: usize) -> Arc<QueueControl> {
        Arc::new(QueueControl {
            changes: Mutex::default(),
            version: AtomicU64::new(0),
            queues: queues.max(1),
            workers: NonZeroU64::new(workers as u64).unwrap_or(NonZeroU64::MIN),
        })
    }

    /// Lets all workers change their queues, soon. Each has queues of its own for a port, so each gets an equal share
    /// of a rate; a depth holds for the queue of each.
    ///
    /// # Errors
    /// When there are no such queues, or they cannot be so long.
    pub fn set(&self, change: QueueChange) -> Result<(), QueueError> {
        if let Some(port) = change.port.filter(|port| *port >= DROP_PORT) {
            return Err(QueueError::Port(port));
        }
        let queues = self.queues;
        if let Some(queue) = change.queue.filter(|queue| *queue >= queues) {
            return Err(QueueError::Queue { queue, queues });
        }
        if let QueueLimit::Packets(packets) = change.limit
            && packets > QUEUE_DEPTH_MAX
        {
            return Err(QueueError::Depth(packets));
        }
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.retain(|(_, earlier)| !covers(change, *earlier));
        let number = self.version.load(Ordering::Relaxed) + 1;
        let change = QueueChange {
            limit: match change.limit {
                QueueLimit::PacketsPerSecond(Some(rate)) => QueueLimit::PacketsPerSecond(Some(self.share(rate))),
                other => other,
            },
            ..change
        };
        changes.push((number, change));
        self.version.store(number, Ordering::Release);
        Ok(())
    }

    fn share(&self, rate: NonZeroU64) -> NonZeroU64 {
        NonZeroU64::new(rate.get().div_ceil(self.workers.get())).unwrap_or(NonZeroU64::MIN)
    }

    /// The changes after those of `version`, if there are any; `version` is brought up to date.
    pub(crate) fn newer(&self, version: &mut u64) -> Option<Vec<QueueChange>> {
        if self.version.load(Ordering::Acquire) == *version {
            return None;
        }
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = std::mem::replace(version, self.version.load(Ordering::Acquire));
        let newer = changes.iter().filter(|(number, _)| *number > known);
        Some(newer.map(|(_, change)| *change).collect())
    }
}

/// Whether nothing is left of an earlier change after a later one.
fn covers(later: QueueChange, earlier: QueueChange) -> bool {
    let is_rate = |change: QueueChange| matches!(change.limit, QueueLimit::PacketsPerSecond(_));
    is_rate(later) == is_rate(earlier)
        && (later.port.is_none() || later.port == earlier.port)
        && (later.queue.is_none() || later.queue == earlier.queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(port: Option<u32>, queue: Option<usize>, packets: usize) -> QueueChange {
        QueueChange {
            port,
            queue,
            limit: QueueLimit::Packets(packets),
        }
    }

    fn rate(packets: u64) -> QueueChange {
        QueueChange {
            port: None,
            queue: None,
            limit: QueueLimit::PacketsPerSecond(NonZeroU64::new(packets)),
        }
    }

    #[test]
    fn later_changes_make_earlier_ones_void() {
        let control = QueueControl::new(8, 1);
        let (first, second, all) = (depth(Some(2), None, 6), depth(Some(1), None, 7), depth(None, None, 8));
        for change in [depth(Some(1), Some(0), 5), first, rate(100), second] {
            assert_eq!(control.set(change), Ok(()));
        }
        let mut version = 0;
        assert_eq!(control.newer(&mut version), Some(vec![first, rate(100), second]));
        assert_eq!(control.newer(&mut version), None);
        assert_eq!(control.set(all), Ok(()));
        assert_eq!(control.newer(&mut version), Some(vec![all]), "the others are known");
        assert_eq!(control.newer(&mut 0), Some(vec![rate(100), all]));
    }

    #[test]
    fn workers_share_a_rate() {
        let control = QueueControl::new(8, 4);
        assert_eq!(control.set(rate(10)), Ok(()));
        assert_eq!(control.newer(&mut 0), Some(vec![rate(3)]));
        assert_eq!(control.set(rate(0)), Ok(()));
        assert_eq!(control.newer(&mut 0), Some(vec![rate(0)]), "none");
    }

    #[test]
    fn queues_that_there_are_not() {
        let control = QueueControl::new(3, 1);
        for (change, said) in [
            (
                depth(Some(511), None, 1),
                "there is no port 511; programs know ports 0 to 510",
            ),
            (
                depth(None, Some(3), 1),
                "there is no queue 3; the priorities of a port's queues are 0 to 2",
            ),
            (
                depth(None, None, 1 << 21),
                "a queue holds at most 1048576 packets, not 2097152",
            ),
        ] {
            assert_eq!(control.set(change).expect_err("refused").to_string(), said);
        }
        assert_eq!(control.newer(&mut 0), None);
    }
}
