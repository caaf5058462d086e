//! The machine of a measurement, and how quiet it was.

use serde::{Deserialize, Serialize};

/// Where and when something was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Machine {
    pub processor: String,
    pub processors: usize,
    pub kernel: String,
    /// Processes that wanted a processor, on average over the minute before the measurement and before its end.
    pub load_before: f64,
    pub load_after: f64,
}

impl Machine {
    /// This one, before a measurement.
    pub fn now() -> Machine {
        Machine {
            processor: first("/proc/cpuinfo", "model name").unwrap_or_default(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_string(),
            load_before: load(),
            load_after: 0.0,
        }
    }

    /// What it is, and how quiet it was.
    pub fn words(&self) -> String {
        let processors = if self.processors == 1 {
            "processor"
        } else {
            "processors"
        };
        format!(
            "{} {processors} {}, Linux {}, load average {} before and {} after",
            self.processors, self.processor, self.kernel, self.load_before, self.load_after
        )
    }

    /// The same after it.
    pub fn finish(&mut self) {
        self.load_after = load();
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn first(path: &str, key: &str) -> Option<String> {
    let text = read(path);
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

fn load() -> f64 {
    let text = read("/proc/loadavg");
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0)
}
