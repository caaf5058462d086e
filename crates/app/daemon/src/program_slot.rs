//! The program that all workers run, and how it is replaced while they run.

use forebay_pipeline::Pipeline;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a replacement may wait for workers. They look at least every 50 ms, but a program may take a while to
/// empty.
const WAIT: Duration = Duration::from_secs(2);

/// A program for several workers. Workers look at a number; only when it has changed, they take a lock.
#[derive(Debug)]
pub struct ProgramSlot {
    present: Mutex<Present>,
    /// Counts replacements; written under the lock.
    version: AtomicU64,
    workers: usize,
    /// A worker takes over no more programs, and the others soon do not.
    has_ended: AtomicBool,
}

#[derive(Debug)]
struct Present {
    pipeline: Arc<Pipeline>,
    /// Workers that run it.
    arrived: usize,
}

impl ProgramSlot {
    /// A slot with the first program.
    pub fn new(pipeline: Arc<Pipeline>, workers: usize) -> Arc<ProgramSlot> {
        Arc::new(ProgramSlot {
            present: Mutex::new(Present {
                pipeline,
                arrived: workers,
            }),
            version: AtomicU64::new(0),
            workers,
            has_ended: AtomicBool::new(false),
        })
    }

    /// The program.
    pub fn present(&self) -> Arc<Pipeline> {
        Arc::clone(&self.lock().pipeline)
    }

    /// Lets all workers run another program, soon.
    pub fn install(&self, pipeline: Arc<Pipeline>) {
        let mut present = self.lock();
        *present = Present { pipeline, arrived: 0 };
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Whether another program than the first has been installed.
    pub fn is_replaced(&self) -> bool {
        self.version.load(Ordering::Acquire) > 0
    }

    /// Says that a worker has ended, so that nothing waits for it.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Waits until all workers run the program that was installed last, two seconds at most, and not at all when one has
    /// ended. Returns whether they do.
    pub fn wait(&self) -> bool {
        let since = Instant::now();
        let has_ended = || self.has_ended.load(Ordering::Relaxed);
        while !self.have_all_arrived() && !has_ended() && since.elapsed() < WAIT {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.have_all_arrived()
    }

    fn have_all_arrived(&self) -> bool {
        self.lock().arrived >= self.workers
    }

    /// The program, if it is another than that of `version`, which is brought up to date.
    pub fn newer(&self, version: &mut u64) -> Option<Arc<Pipeline>> {
        if self.version.load(Ordering::Acquire) == *version {
            return None;
        }
        let present = self.lock();
        *version = self.version.load(Ordering::Acquire);
        Some(Arc::clone(&present.pipeline))
    }

    /// A worker runs the program of this version, which [`ProgramSlot::newer`] gave it. Another one may have been
    /// installed meanwhile.
    pub fn arrive(&self, version: u64) {
        let mut present = self.lock();
        if self.version.load(Ordering::Acquire) == version {
            present.arrived += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Start;
    use crate::start::tests::PROGRAM;

    fn program() -> Arc<Pipeline> {
        let read = Start::read(PROGRAM.as_bytes(), Default::default());
        read.expect("a correct program").pipeline
    }

    #[test]
    fn a_worker_that_runs_a_former_program_has_not_arrived() {
        let slot = ProgramSlot::new(program(), 1);
        let mut version = 0;
        slot.install(program());
        assert!(slot.newer(&mut version).is_some());
        slot.install(program());
        slot.arrive(version);
        assert!(!slot.have_all_arrived());
        assert!(slot.newer(&mut version).is_some());
        slot.arrive(version);
        assert!(slot.wait());
    }

    #[test]
    fn a_worker_that_has_ended_is_not_waited_for() {
        let slot = ProgramSlot::new(program(), 1);
        slot.end();
        slot.install(program());
        let begin = Instant::now();
        assert!(!slot.wait());
        assert!(begin.elapsed() < WAIT / 2);
    }
}
