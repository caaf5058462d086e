//! Operable table size: how many rules a table takes such that each of them really forwards its packet.
//!
//! The search of the paper: begin with a size, and halve it until everything works. A size works when every entry was
//! taken and a packet for each entry came out with what that entry writes. An entry that is taken and does not act is
//! found so.

use crate::evaluation::check_list;
use crate::frames::frame;
use crate::router::{Decision, PORTS, Router, TABLE, entry};
use crate::rules::{Kind, rule};
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_switch::{Config, MemorySwitch};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// Frames that are sent at once.
const PORTION: u32 = 4096;

/// Entries after which time and memory are looked at.
const LOOK: u32 = 4096;

/// Bytes of the frames.
const FRAME_BYTES: usize = 64;

/// What is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSetting {
    /// For each kind the size to begin with.
    pub tables: Vec<TableStart>,
    /// The longest time that adding the entries of a table may take.
    pub seconds_max: f64,
    /// The memory that the process may have then.
    pub memory_gb_max: f64,
}

impl TableSetting {
    /// Whether it can be measured.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_list("tables", &self.tables)?;
        let limits = [("seconds_max", self.seconds_max), ("memory_gb_max", self.memory_gb_max)];
        match limits.into_iter().find(|(_, limit)| limit.is_nan() || *limit <= 0.0) {
            Some((key, limit)) => Err(format!("{key} is {limit}; it is more than 0")),
            None => Ok(()),
        }
    }
}

/// A search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableStart {
    /// The kind of key.
    pub kind: Kind,
    /// The size to begin with.
    pub size: u32,
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TableResult {
    pub kind: Kind,
    /// Sizes that were tried, the last of which works if any does.
    pub tried: Vec<Attempt>,
}

/// A size that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Attempt {
    pub size: u32,
    /// Entries that were taken.
    pub taken: u32,
    /// Entries whose packet came out as it should.
    pub verified: u32,
    /// Entries a second, added one by one.
    pub insertions_per_s: f64,
    /// Packets a second while all entries were verified; each hits an entry that no other packet has hit.
    pub verifications_per_s: f64,
    /// What look-ups read.
    pub table_bytes: u64,
    /// Memory of the process with the table, less that before it.
    pub process_bytes: u64,
    /// Why it does not work.
    pub failure: Option<String>,
}

impl TableResult {
    /// The size that works.
    pub fn operable(&self) -> Option<&Attempt> {
        self.tried.iter().find(|attempt| attempt.failure.is_none())
    }
}

/// Runs the search for one kind. `told` hears of each attempt.
///
/// # Errors
/// When the program cannot be compiled or loaded, in words.
pub fn search(
    start: TableStart,
    setting: &TableSetting,
    told: &mut dyn FnMut(&Attempt),
) -> Result<TableResult, String> {
    let mut result = TableResult {
        kind: start.kind,
        tried: Vec::new(),
    };
    let mut size = start.size.min(start.kind.rules_max());
    while size > 0 {
        let attempt = attempt(start.kind, size, setting)?;
        told(&attempt);
        let works = attempt.failure.is_none();
        result.tried.push(attempt);
        if works {
            break;
        }
        size /= 2;
    }
    Ok(result)
}

/// Fills a table and verifies each entry.
///
/// # Errors
/// When the program cannot be compiled or loaded, in words.
pub fn attempt(kind: Kind, size: u32, setting: &TableSetting) -> Result<Attempt, String> {
    let pipeline = Router::new(Decision::Table(kind), size)?.load()?;
    let before = resident_bytes();
    let began = Instant::now();
    let (taken, mut failure) = fill(&pipeline, kind, size, setting);
    let insertion_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let verified = match failure {
        None => verify(&pipeline, kind, size)?,
        Some(_) => 0,
    };
    let verification_s = began.elapsed().as_secs_f64();
    if failure.is_none() && verified < size {
        failure = Some(format!("{} entries do not forward their packet", size - verified));
    }
    let memory = pipeline.table_memory();
    Ok(Attempt {
        size,
        taken,
        verified,
        insertions_per_s: f64::from(taken) / insertion_s,
        verifications_per_s: f64::from(verified) / verification_s,
        table_bytes: memory.iter().map(|table| table.bytes as u64).sum(),
        process_bytes: resident_bytes().saturating_sub(before),
        failure,
    })
}

/// Adds entries one by one; how many were taken, and why no more.
fn fill(pipeline: &Pipeline, kind: Kind, size: u32, setting: &TableSetting) -> (u32, Option<String>) {
    let began = Instant::now();
    for index in 0..size {
        if let Err(error) = pipeline.insert_entry(TABLE, &entry(kind, index, version(index))) {
            return (index, Some(format!("entry {} is refused: {error}", index + 1)));
        }
        if index % LOOK == 0
            && let Some(limit) = limit(began, setting)
        {
            return (index + 1, Some(limit));
        }
    }
    (size, None)
}

fn limit(began: Instant, setting: &TableSetting) -> Option<String> {
    if began.elapsed().as_secs_f64() > setting.seconds_max {
        return Some(format!("not filled within {} s", setting.seconds_max));
    }
    let gigabytes = resident_bytes() as f64 / 1e9;
    (gigabytes > setting.memory_gb_max).then(|| format!("more than {} GB of memory", setting.memory_gb_max))
}

/// What the packet of an entry brings back.
fn version(index: u32) -> u64 {
    u64::from(index) + 1
}

/// Sends a packet for each entry; how many came out with what their entry writes.
fn verify(pipeline: &Arc<Pipeline>, kind: Kind, size: u32) -> Result<u32, String> {
    let mut switch = MemorySwitch::new(pipeline.clone(), Config::default(), PORTS);
    let mut verified = 0;
    for first in (0..size).step_by(PORTION as usize) {
        let indices = first..size.min(first.saturating_add(PORTION));
        let frames: Vec<Vec<u8>> = indices
            .clone()
            .map(|index| frame(rule(kind, index).address, FRAME_BYTES))
            .collect();
        let arriving = frames.iter().map(|frame| (PORTS[0], frame.as_slice()));
        let left = switch
            .send(arriving, 0, &mut NoTrace)
            .map_err(|_| "packets go round without end".to_string())?;
        verified += (0..left.len()).filter(|at| is_own(&left, *at, first)).count() as u32;
    }
    Ok(verified)
}

fn is_own(left: &forebay_switch::Frames, at: usize, first: u32) -> bool {
    let Ok(origin) = u32::try_from(left.origins[at]) else {
        return false;
    };
    left.ports[at] == PORTS[1] && crate::updates::version_of(left.frame(at)) == Some(version(first + origin))
}

/// Memory of the process, as the system counts it; 0 where it does not say.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: TableSetting = TableSetting {
        tables: Vec::new(),
        seconds_max: 60.0,
        memory_gb_max: 8.0,
    };

    #[test]
    fn every_entry_of_every_kind_forwards_its_packet() {
        for kind in [Kind::Exact, Kind::Lpm, Kind::Ternary, Kind::Range] {
            let attempt = attempt(kind, 5_000, &SETTING).expect("a program");
            assert_eq!(
                (attempt.taken, attempt.verified),
                (5_000, 5_000),
                "{kind:?}: {attempt:?}"
            );
        }
    }

    #[test]
    fn a_table_that_is_filled_too_slowly_is_halved() {
        let setting = TableSetting {
            seconds_max: 0.0,
            ..SETTING
        };
        let start = TableStart {
            kind: Kind::Exact,
            size: 8,
        };
        let found = search(start, &setting, &mut |_| ()).expect("a program");
        assert_eq!(
            found.tried.iter().map(|attempt| attempt.size).collect::<Vec<_>>(),
            [8, 4, 2, 1]
        );
        assert_eq!(found.operable(), None);
    }
}
