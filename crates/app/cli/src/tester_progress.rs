//! How far a test is, on the terminal.

use forebay_tester::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The bar is drawn once in this time: more often, drawing would disturb what is measured.
const INTERVAL: Duration = Duration::from_millis(250);

/// Steps of the bar in a trial.
const STEPS: f64 = 1000.0;

/// Progress of trials. Nothing is drawn where the standard error is no terminal.
pub struct TestProgress {
    bar: ProgressBar,
    drawn: Instant,
    stop: Arc<AtomicBool>,
    trial: u32,
    before: f64,
}

impl TestProgress {
    /// Trials go on until `stop` is set.
    pub fn new(stop: &Arc<AtomicBool>) -> TestProgress {
        let style = ProgressStyle::with_template("{wide_bar} {msg}").expect("a template that can be read");
        TestProgress {
            bar: ProgressBar::new(STEPS as u64).with_style(style),
            drawn: Instant::now(),
            stop: stop.clone(),
            trial: 1,
            before: 0.0,
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for TestProgress {
    fn at(&mut self, share: f64, sent: u64, received: u64) -> bool {
        if share < self.before {
            self.trial += 1;
        }
        self.before = share;
        if self.drawn.elapsed() >= INTERVAL {
            self.drawn = Instant::now();
            self.bar.set_position((share * STEPS) as u64);
            self.bar
                .set_message(format!("trial {}: {sent} sent, {received} received", self.trial));
        }
        !self.stop.load(Ordering::Relaxed)
    }
}
