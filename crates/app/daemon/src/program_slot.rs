//! The program that all workers run, and how it is replaced while they run.

use forebay_pipeline::Pipeline;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a replacement may wait for workers. They look at least every 50 ms, but a program may take a while to
/// empty.
const WAIT: Duration = Duration::from_secs(2);

/// A program for several workers. Workers look at a number; only when it has changed, they take a lock.
#[derive(Debug)]
pub struct ProgramSlot {
    present: Mutex<Arc<Pipeline>>,
    /// Counts replacements.
    version: AtomicU64,
    /// Workers that run the present version.
    arrived: AtomicUsize,
    workers: usize,
}

impl ProgramSlot {
    /// A slot with the first program.
    pub fn new(pipeline: Arc<Pipeline>, workers: usize) -> Arc<ProgramSlot> {
        Arc::new(ProgramSlot {
            present: Mutex::new(pipeline),
            version: AtomicU64::new(0),
            arrived: AtomicUsize::new(workers),
            workers,
        })
    }

    /// The program.
    pub fn present(&self) -> Arc<Pipeline> {
        Arc::clone(&self.present.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets all workers run another program, soon.
    pub fn install(&self, pipeline: Arc<Pipeline>) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        *present = pipeline;
        self.arrived.store(0, Ordering::Release);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Whether another program than the first has been installed.
    pub fn is_replaced(&self) -> bool {
        self.version.load(Ordering::Acquire) > 0
    }

    /// Waits until all workers run the program that was installed, two seconds at most. Returns whether they do.
    pub fn wait(&self) -> bool {
        let since = Instant::now();
        while self.arrived.load(Ordering::Acquire) < self.workers && since.elapsed() < WAIT {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.arrived.load(Ordering::Acquire) >= self.workers
    }

    /// The program, if it is another than that of `version`, which is brought up to date.
    pub fn newer(&self, version: &mut u64) -> Option<Arc<Pipeline>> {
        if self.version.load(Ordering::Acquire) == *version {
            return None;
        }
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        *version = self.version.load(Ordering::Acquire);
        Some(Arc::clone(&present))
    }

    /// A worker runs the program that [`ProgramSlot::newer`] gave it.
    pub fn arrive(&self) {
        self.arrived.fetch_add(1, Ordering::Release);
    }
}
