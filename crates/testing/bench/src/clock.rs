//! The clocks of a measurement: the cycle counter of the processor, and the time that a thread has run.

use std::time::{Duration, Instant};

/// The processor's time stamp counter, calibrated against the system's clock.
///
/// It counts at a constant rate near the processor's nominal frequency, whatever the core's frequency is at the moment;
/// cycles here are those.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CycleCounter {
    /// Counts per nanosecond; none where there is no such counter.
    per_ns: Option<f64>,
}

impl CycleCounter {
    /// Compares counter and clock for 20 ms.
    pub fn calibrated() -> CycleCounter {
        let (start, begin) = (Instant::now(), stamp());
        while start.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let (end, elapsed) = (stamp(), start.elapsed());
        let counted = begin.zip(end).map(|(begin, end)| end.wrapping_sub(begin) as f64);
        CycleCounter {
            per_ns: counted.map(|counted| counted / elapsed.as_nanos() as f64),
        }
    }

    /// Frequency in GHz; none where there is no such counter.
    pub fn ghz(&self) -> Option<f64> {
        self.per_ns
    }

    /// The number of cycles in `ns` nanoseconds.
    pub fn cycles(&self, ns: f64) -> Option<f64> {
        self.per_ns.map(|per_ns| ns * per_ns)
    }
}

#[cfg(target_arch = "x86_64")]
fn stamp() -> Option<u64> {
    // SAFETY: reads a counter.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn stamp() -> Option<u64> {
    None
}

/// How long the calling thread has run on a processor. Unlike the time on the wall it does not go on while the system
/// lets other threads run.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "every thread has this clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_runs_at_a_frequency_that_processors_have() {
        if let Some(ghz) = CycleCounter::calibrated().ghz() {
            assert!((0.1..20.0).contains(&ghz), "{ghz} GHz");
        }
    }
}
