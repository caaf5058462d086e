//! The machine of a measurement, and how quiet it was.

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
            date: today(),
            load_before: load(),
            load_after: 0.0,
        }
    }

    /// What it is, when it measured, and how quiet it was.
    pub fn words(&self) -> String {
        let processors = if self.processors == 1 {
            "processor"
        } else {
            "processors"
        };
        let date = if self.date.is_empty() {
            String::new()
        } else {
            format!("{}, ", self.date)
        };
        format!(
            "{} {processors} {}, Linux {}, {date}load average {} before and {} after",
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

    /// A report says on which day it was measured, unless its record is of a version that did not keep it.
    #[test]
    fn a_record_says_when_it_was_measured() {
        let now = Machine::now();
        assert_eq!(now.date.len(), "2026-11-30".len());
        assert!(
            now.words().contains(&format!(", {}, load average ", now.date)),
            "{}",
            now.words()
        );
        let json = serde_json::to_value(&now).expect("JSON");
        assert_eq!(json["date"], now.date.as_str());
        let mut before = json;
        before.as_object_mut().expect("an object").remove("date");
        let before: Machine = serde_json::from_value(before).expect("a record without a date");
        assert!(
            before.words().contains(&format!("Linux {}, load average ", now.kernel)),
            "{}",
            before.words()
        );
    }
}
