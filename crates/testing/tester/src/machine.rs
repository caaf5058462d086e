//! What measured, on which machine, when, and how quiet that was.

use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// Where and when something was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Machine {
    pub processor: String,
    pub processors: usize,
    pub kernel: String,
    /// The day on which the measurement began (UTC), such as `2026-11-30`. Empty in records of versions that did not keep it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// The version of Forebay that measured, such as `0.1.0 (3599cb5 2026-11-24)`. Empty in records of versions that did
    /// not keep it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub forebay: String,
    /// Processes that wanted a processor, on average over the minute before the measurement and before its end.
    pub load_before: f64,
    pub load_after: f64,
}

impl Machine {
    /// This one, before a measurement. A caller that knows the commit of its build puts it into `forebay`.
    pub fn now() -> Machine {
        Machine {
            processor: first("/proc/cpuinfo", "model name").unwrap_or_default(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_string(),
            date: today(),
            forebay: env!("CARGO_PKG_VERSION").to_string(),
            load_before: load(),
            load_after: 0.0,
        }
    }

    /// Whether two measurements can be compared as far as machines go: by processor and kernel.
    pub fn is_like(&self, other: &Machine) -> bool {
        let kind = |machine: &Machine| (machine.processor.clone(), machine.processors, machine.kernel.clone());
        kind(self) == kind(other)
    }

    /// What it is, when it measured, and how quiet it was.
    pub fn words(&self) -> String {
        let processors = if self.processors == 1 {
            "processor"
        } else {
            "processors"
        };
        let known = |before: &str, what: &str| match what {
            "" => String::new(),
            what => format!("{before}{what}, "),
        };
        let (date, forebay) = (known("", &self.date), known("Forebay ", &self.forebay));
        format!(
            "{} {processors} {}, Linux {}, {date}{forebay}load average {} before and {} after",
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

/// Today's date (UTC).
fn today() -> String {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    date(since.as_secs() / (24 * 60 * 60))
}

/// The date of a day, counted from 1 January 1970.
fn date(mut day: u64) -> String {
    let mut year = 1970;
    while day >= days_of_year(year) {
        day -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while day >= days_of_month(year, month) {
        day -= days_of_month(year, month);
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", day + 1)
}

fn days_of_year(year: u64) -> u64 {
    (1..=12).map(|month| days_of_month(year, month)).sum()
}

fn days_of_month(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (day, expected) in [
            (0, "1970-01-01"),
            (19_782, "2024-02-29"),
            (20_787, "2026-11-30"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(day), expected);
        }
    }

    #[test]
    fn machines_are_told_apart_by_processor_and_kernel() {
        let one = Machine::now();
        let later = Machine {
            load_before: one.load_before + 1.0,
            date: String::new(),
            ..one.clone()
        };
        let other = Machine {
            processor: "another".to_string(),
            ..one.clone()
        };
        assert!(one.is_like(&later) && !one.is_like(&other));
    }

    /// A report says when and with what it was measured, unless its record is of a version that did not keep it.
    #[test]
    fn a_record_says_when_it_was_measured() {
        let now = Machine::now();
        assert_eq!(now.date.len(), "2026-11-30".len());
        assert!(
            now.words()
                .contains(&format!(", {}, Forebay {}, load average ", now.date, now.forebay)),
            "{}",
            now.words()
        );
        let json = serde_json::to_value(&now).expect("JSON");
        assert_eq!(json["date"], now.date.as_str());
        let mut before = json;
        for key in ["date", "forebay"] {
            before.as_object_mut().expect("an object").remove(key).expect("kept");
        }
        let before: Machine = serde_json::from_value(before).expect("a record without a date");
        assert!(
            before.words().contains(&format!("Linux {}, load average ", now.kernel)),
            "{}",
            before.words()
        );
    }
}
