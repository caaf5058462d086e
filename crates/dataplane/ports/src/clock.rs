//! The clock of real ports.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the Unix epoch that never go back: the wall clock when it was started, plus
/// the monotonic time since. Later corrections of the wall clock are not followed.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    started_ns: u64,
}

impl Clock {
    /// Starts a clock.
    pub fn start() -> Clock {
        Clock::start_at_least(0)
    }

    /// Starts a clock whose time is not before this one, also where the wall clock is.
    pub fn start_at_least(now_ns: u64) -> Clock {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock {
            started: Instant::now(),
            started_ns: saturating_ns(since_epoch.as_nanos()).max(now_ns),
        }
    }

    /// The time now, in nanoseconds since the Unix epoch.
    pub fn now_ns(&self) -> u64 {
        self.started_ns
            .saturating_add(saturating_ns(self.started.elapsed().as_nanos()))
    }
}

fn saturating_ns(nanoseconds: u128) -> u64 {
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_is_behind_does_not_count() {
        let later = Clock::start().now_ns() + 3_600_000_000_000;
        assert!(Clock::start_at_least(later).now_ns() >= later);
    }

    #[test]
    fn time_is_after_2020_and_never_goes_back() {
        let clock = Clock::start();
        let mut last = 1_577_836_800_000_000_000;
        for _ in 0..1000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }
}
