//! What a function between two interfaces carries, for each frame size: the measurement of `forebay vnf measure`.
//!
//! The traffic is a test file of the tester (docs/tester.md) with one stream, in which `${BYTES}` and `${PPS}` stand
//! for frame size and rate. For each size: a search for the highest load that passes, which further trials confirm;
//! then latency at a very low load, and at nine tenths of the highest.

use crate::files;
use anyhow::{Result, anyhow};
use forebay_files::Folder;
use forebay_tester::results::Results;
use forebay_tester::search::{Confirmed, LimitedBy};
use forebay_tester::{Overrides, Progress, Session, Test};
use serde_json::{Value, json};
use std::path::Path;

/// Frames a second of a very low load.
const IDLE_PPS: f64 = 200.0;

/// The highest rate that is tested, in frames per second.
const HIGHEST_PPS: f64 = 10e6;

/// The share of the highest rate at which latency under load is measured.
const LOAD: f64 = 0.9;

/// Trials in which the rate that a search has found must hold. One of them may be disturbed by another process.
const CONFIRMATIONS: u32 = 3;

/// Measured at a frame size.
pub struct Size {
    /// Bytes of a frame, without check sequence.
    pub bytes: u32,
    /// The rate that passes, in frames a second; none when no rate does, or the tester was too busy to tell.
    pub pps: Option<f64>,
    /// Trials whose sender was late though it can send as much, and trials of this kind.
    pub late_trials: (usize, usize),
    /// What keeps it from being higher.
    pub limited_by: LimitedBy,
    /// Whether the rate held when it was offered again, and how many did not.
    pub confirmed: Confirmed,
    /// One-way latency at a very low load: median and 99th percentile, in nanoseconds; `None` when no frame has one.
    pub idle_ns: Option<(f64, f64)>,
    /// The same at nine tenths of the rate that passes.
    pub loaded_ns: Option<(f64, f64)>,
}

impl Size {
    /// The rate in bits of the frames, in Mbit/s.
    pub fn mbps(&self) -> Option<f64> {
        self.pps.map(|pps| pps * f64::from(self.bytes) * 8.0 / 1e6)
    }

    /// For other programs.
    pub fn json(&self) -> Value {
        let latency = |latency: Option<(f64, f64)>| latency.map(|(p50, p99)| json!({ "p50_ns": p50, "p99_ns": p99 }));
        json!({
            "bytes": self.bytes,
            "pps": self.pps,
            "mbps": self.mbps(),
            "limited_by": self.limited_by,
            "late_trials": self.late_trials.0,
            "trials": self.late_trials.1,
            "confirmed": self.confirmed,
            "idle": latency(self.idle_ns),
            "loaded": latency(self.loaded_ns),
        })
    }
}

/// A test file with places for frame size and rate.
pub struct Template<'a> {
    path: &'a Path,
    text: String,
    interfaces: Vec<String>,
}

impl<'a> Template<'a> {
    /// Reads the file; `interfaces` are the tester's, as it takes them.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &'a Path, interfaces: Vec<String>) -> Result<Template<'a>> {
        let text = files::text(path, "test file")?;
        Ok(Template { path, text, interfaces })
    }

    /// Measures at a frame size.
    ///
    /// # Errors
    /// What is wrong with the file, or with the interfaces.
    pub fn measure(&self, bytes: u32, progress: &mut dyn Progress) -> Result<Size> {
        let found = self.results(bytes, HIGHEST_PPS, true, progress)?;
        let found = found
            .searches
            .first()
            .ok_or_else(|| anyhow!("{}: nothing is searched", self.path.display()))?;
        let pps = found.lower_bound_pps.filter(|_| !found.is_of_a_busy_machine());
        let idle_ns = latency(&self.results(bytes, IDLE_PPS, false, progress)?);
        let loaded = pps.map(|pps| self.results(bytes, LOAD * pps, false, progress));
        let loaded_ns = loaded.transpose()?.and_then(|results| latency(&results));
        Ok(Size {
            bytes,
            pps,
            late_trials: found.late_trials(),
            limited_by: found.limited_by,
            confirmed: found.confirmed.unwrap_or_default(),
            idle_ns,
            loaded_ns,
        })
    }

    fn results(&self, bytes: u32, pps: f64, search: bool, progress: &mut dyn Progress) -> Result<Results> {
        let in_file = |error: String| anyhow!("{}: {error}", self.path.display());
        let test = self.test(bytes, pps)?;
        let mut session = Session::open(&test).map_err(in_file)?;
        let results = if search {
            session.search_and_confirm(CONFIRMATIONS, progress)
        } else {
            session.run(progress)
        };
        results.and_then(whole).map_err(in_file)
    }

    fn test(&self, bytes: u32, pps: f64) -> Result<Test> {
        let library = Folder::new(self.path.parent().unwrap_or(Path::new("")));
        let overrides = Overrides {
            interfaces: self.interfaces.clone(),
            ..Overrides::default()
        };
        Test::read(&filled(&self.text, bytes, pps), &library, &overrides).map_err(|problems| {
            let lines = problems
                .iter()
                .map(|problem| format!("{}:{problem}", self.path.display()));
            anyhow!("{}", lines.collect::<Vec<_>>().join("\n"))
        })
    }
}

fn filled(text: &str, bytes: u32, pps: f64) -> String {
    text.replace("${BYTES}", &bytes.to_string())
        .replace("${PPS}", &format!("{pps:.1}"))
}

/// Results of trials and searches that have all run to their end: frames of a trial that was stopped say too little, and
/// so do the bounds of a search.
fn whole(results: Results) -> Result<Results, String> {
    let void = results.trials.iter().find_map(|trial| trial.why_void("test"));
    match results.ended_by.clone().or(void) {
        Some(why) => Err(why),
        None => Ok(results),
    }
}

/// The one-way latency of the stream's first path: median and 99th percentile, in nanoseconds. `None` when no frame has
/// a latency: none came, or the machine paused during each of them.
fn latency(results: &Results) -> Option<(f64, f64)> {
    let latency = &results.trials.first()?.streams.first()?.paths.first()?.latency;
    (latency.count > 0).then_some((latency.p50_ns as f64, latency.p99_ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stopped;

    impl Progress for Stopped {
        fn at(&mut self, _share: f64, _sent: u64, _received: u64) -> bool {
            false
        }
    }

    #[test]
    fn a_trial_that_was_stopped_measures_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wire.toml");
        let text = "description = \"a wire\"\nduration_s = 0.2\n[device]\nwire = true\n[[traffic]]\nname = \"up\"\nfrom = 1\n\
                    to = 2\npps = ${PPS}\nframe = { udp = { bytes = ${BYTES} } }\n";
        std::fs::write(&path, text).expect("a file");
        let template = Template::read(&path, Vec::new()).expect("a test");
        let stopped = template.results(64, 1e3, false, &mut Stopped);
        let error = stopped.expect_err("it was stopped").to_string();
        assert!(error.ends_with("wire.toml: the test was stopped"), "{error}");
    }

    #[test]
    fn a_search_that_was_stopped_measures_nothing() {
        let found = json!({ "format": "", "description": "", "device": "", "seed": 0, "self_test": null, "trials": [],
                            "searches": [], "rfc2544": [], "injected": null });
        let found: Results = serde_json::from_value(found).expect("results");
        let stopped = Results {
            ended_by: Some("the search was stopped".to_string()),
            ..found.clone()
        };
        assert!(whole(found).is_ok());
        let error = whole(stopped).expect_err("it was stopped");
        assert_eq!(error, "the search was stopped");
    }

    #[test]
    fn places_are_filled() {
        assert_eq!(
            filled("bytes = ${BYTES}, pps = ${PPS}", 64, 1e3),
            "bytes = 64, pps = 1000.0"
        );
    }

    #[test]
    fn bits_are_those_of_frames() {
        let size = Size {
            bytes: 1448,
            pps: Some(70_000.0),
            late_trials: (0, 9),
            limited_by: LimitedBy::Device,
            confirmed: Confirmed::default(),
            idle_ns: None,
            loaded_ns: None,
        };
        assert_eq!(size.mbps().map(f64::round), Some(811.0));
    }
}
