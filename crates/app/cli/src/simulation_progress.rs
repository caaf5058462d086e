//! How far simulations have come, on the terminal: for those that take longer than two seconds.

use forebay_sim::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Nothing is shown before.
const QUIET: Duration = Duration::from_secs(2);

/// Progress of some simulations, several of them at a time. Nothing is drawn where the standard error is no terminal.
pub struct Simulations {
    bar: ProgressBar,
    started: Instant,
    count: usize,
    done: AtomicUsize,
}

impl Simulations {
    /// For `count` simulations.
    pub fn new(count: usize) -> Simulations {
        let style = ProgressStyle::with_template("{wide_bar} {msg}").expect("a template that can be read");
        Simulations {
            bar: ProgressBar::new(1).with_style(style),
            started: Instant::now(),
            count,
            done: AtomicUsize::new(0),
        }
    }

    /// Follows one of them.
    pub fn one(&self) -> One<'_> {
        One { all: self, runs: 0 }
    }

    /// One of them is done.
    pub fn finish_one(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done == self.count {
            self.bar.finish_and_clear();
        }
    }

    /// Takes the bar away while something else is written.
    pub fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }
}

/// One simulation, or one search, which is several.
pub struct One<'a> {
    all: &'a Simulations,
    runs: usize,
}

impl Progress for One<'_> {
    fn at(&mut self, now: u64, end: u64, events: u64) {
        self.runs += usize::from(now >= end);
        if self.all.started.elapsed() < QUIET {
            return;
        }
        let microseconds = |time: u64| time as f64 / 1e6;
        let time = format!("{:.0} of {:.0} us", microseconds(now), microseconds(end));
        let bar = &self.all.bar;
        let done = self.all.done.load(Ordering::Relaxed);
        if self.all.count > 1 {
            bar.set_length(self.all.count as u64);
            bar.set_position(done as u64);
            bar.set_message(format!("{done} of {} simulations, {time}", self.all.count));
        } else {
            bar.set_length(end);
            bar.set_position(now);
            bar.set_message(format!(
                "run {}, {time}, {:.1} million events",
                self.runs + 1,
                events as f64 / 1e6
            ));
        }
    }
}
