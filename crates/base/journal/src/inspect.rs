//! What is in a folder, and whether it can be loaded.

use crate::error::StateError;
use crate::files::{Files, LockMode};
use crate::log::Cut;
use crate::names::{Kind, LOCK, Name};
use crate::record::{self, Found, HEADER, Version};
use crate::store::Recovered;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How the content of a file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// There is no such file.
    Missing,
    /// With its last record.
    Whole,
    /// With a record that was never written to its end and never acknowledged; the next start cuts it off.
    Unfinished {
        /// Where it begins, in bytes.
        offset: u64,
    },
    /// With damage.
    Damaged {
        /// Where it is found, in bytes.
        offset: u64,
        /// What is wrong.
        problem: String,
        /// Whole records after the damage, as far as they can be recognised: they are lost with it.
        records_after: u64,
    },
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// Where it is or should be.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The version of its format; none when the header cannot be read.
    pub version: Option<u32>,
    /// How its content ends.
    pub tail: Tail,
}

/// A snapshot with its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number; the highest is the one that is loaded.
    pub number: u64,
    /// The file of the snapshot.
    pub snapshot: FileReport,
    /// The file of the log.
    pub log: FileReport,
    /// The snapshot; none when it is missing or damaged itself. It is also there when something follows it.
    pub state: Option<Vec<u8>>,
    /// The batches of the log in front of its end or of damage.
    pub batches: Vec<Vec<u8>>,
}

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The folder.
    pub folder: PathBuf,
    /// The highest number first.
    pub generations: Vec<Generation>,
    /// Names of files that were never finished; the next snapshot removes them.
    pub unfinished: Vec<String>,
    /// Names of files that are not the store's; they are left alone.
    pub foreign: Vec<String>,
}

/// Reads a folder, while no switch uses it; changes nothing.
///
/// # Errors
/// When it cannot be read, or a switch that runs uses it.
pub fn inspect(files: &dyn Files, folder: &Path) -> Result<Inspection, StateError> {
    let path = folder.join(LOCK);
    let _lock = match files.lock(&path, LockMode::Shared) {
        Ok(None) => return Err(StateError::InUse(folder.to_path_buf())),
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(StateError::io("lock", &path)(error)),
    };
    inspect_locked(files, folder)
}

/// The same for a folder that is locked already.
pub(crate) fn inspect_locked(files: &dyn Files, folder: &Path) -> Result<Inspection, StateError> {
    let listing = Listing::read(files, folder)?;
    let numbers = listing.numbers();
    let generations = numbers.iter().rev().map(|number| listing.generation(files, *number));
    let unfinished = listing.ours.iter().filter(|name| name.is_temporary);
    Ok(Inspection {
        folder: folder.to_path_buf(),
        generations: generations.collect::<Result<_, _>>()?,
        unfinished: unfinished.map(|name| name.text()).collect(),
        foreign: listing.foreign,
    })
}

/// The names in a folder.
#[derive(Debug)]
pub(crate) struct Listing {
    folder: PathBuf,
    pub(crate) ours: Vec<Name>,
    foreign: Vec<String>,
}

impl Listing {
    pub(crate) fn read(files: &dyn Files, folder: &Path) -> Result<Listing, StateError> {
        let mut names = files.list(folder).map_err(StateError::io("read", folder))?;
        names.sort();
        let ours = names.iter().filter_map(|name| Name::parse(name)).collect();
        names.retain(|name| Name::parse(name).is_none() && name != LOCK);
        Ok(Listing {
            folder: folder.to_path_buf(),
            ours,
            foreign: names,
        })
    }

    /// Generations of which there is a finished file, in order.
    pub(crate) fn numbers(&self) -> BTreeSet<u64> {
        let finished = self.ours.iter().filter(|name| !name.is_temporary);
        finished.map(|name| name.generation).collect()
    }

    /// Reads a generation. If the log is missing, the temporary log, which has not been renamed yet, takes its place.
    pub(crate) fn generation(&self, files: &dyn Files, number: u64) -> Result<Generation, StateError> {
        let snapshot = Name::new(Kind::Snapshot, number);
        let mut log = Name::new(Kind::Log, number);
        if !self.ours.contains(&log) && self.ours.contains(&log.temporary()) && self.ours.contains(&snapshot) {
            log = log.temporary();
        }
        let (snapshot, states) = self.file(files, snapshot)?;
        let (mut log_report, batches) = self.file(files, log)?;
        if log.is_temporary && log_report.version.is_none() {
            // It was made anew when the process died, and nothing was in it yet.
            log_report.tail = Tail::Unfinished { offset: 0 };
        }
        Ok(Generation {
            number,
            snapshot,
            log: log_report,
            state: states.into_iter().next(),
            batches,
        })
    }

    fn file(&self, files: &dyn Files, name: Name) -> Result<(FileReport, Vec<Vec<u8>>), StateError> {
        let path = name.path(&self.folder);
        if !self.ours.contains(&name) {
            let report = FileReport {
                path,
                bytes: 0,
                version: None,
                tail: Tail::Missing,
            };
            return Ok((report, Vec::new()));
        }
        let bytes = files.read(&path).map_err(StateError::io("read", &path))?;
        Ok(contents(path, &bytes, name))
    }
}

/// What is in a file, and its records.
fn contents(path: PathBuf, bytes: &[u8], name: Name) -> (FileReport, Vec<Vec<u8>>) {
    let (version, tail, records) = match record::check_header(&path, bytes, name.kind, name.generation) {
        Ok(version) => {
            let (tail, records) = match name.kind {
                Kind::Snapshot => snapshot(version, bytes),
                Kind::Log => log(version, bytes),
            };
            (Some(version.number()), tail, records)
        }
        Err(StateError::Damaged { offset, problem, .. }) => (None, damaged(offset, &problem, 0), Vec::new()),
        Err(other) => (None, damaged(0, &other.to_string(), 0), Vec::new()),
    };
    let report = FileReport {
        path,
        bytes: bytes.len() as u64,
        version,
        tail,
    };
    (report, records)
}

fn damaged(offset: u64, problem: &str, records_after: u64) -> Tail {
    Tail::Damaged {
        offset,
        problem: problem.to_string(),
        records_after,
    }
}

fn snapshot(version: Version, bytes: &[u8]) -> (Tail, Vec<Vec<u8>>) {
    match record::find(version, bytes, HEADER, 0) {
        Found::Record(state, end) if end == bytes.len() => (Tail::Whole, vec![state.to_vec()]),
        // A repair can restore it.
        Found::Record(state, end) => (
            damaged(end as u64, "something follows the snapshot", 0),
            vec![state.to_vec()],
        ),
        Found::End | Found::Torn => {
            let end = bytes.len() as u64;
            (damaged(end, "the snapshot is not complete", 0), Vec::new())
        }
        Found::Damaged(offset, problem) => (damaged(offset as u64, problem, 0), Vec::new()),
    }
}

fn log(version: Version, bytes: &[u8]) -> (Tail, Vec<Vec<u8>>) {
    let mut batches = Vec::new();
    let mut offset = HEADER;
    loop {
        let number = batches.len() as u64;
        match record::find(version, bytes, offset, number) {
            Found::Record(batch, end) => {
                batches.push(batch.to_vec());
                offset = end;
            }
            Found::End => return (Tail::Whole, batches),
            Found::Torn => return (Tail::Unfinished { offset: offset as u64 }, batches),
            Found::Damaged(offset, problem) => {
                let behind = record::records_after(version, bytes, offset, number);
                return (damaged(offset as u64, problem, behind), batches);
            }
        }
    }
}

impl FileReport {
    /// Whether it can be loaded.
    pub fn is_sound(&self) -> bool {
        matches!(self.tail, Tail::Whole | Tail::Unfinished { .. })
    }

    /// Why it cannot be loaded, if so; `beside` is the file that belongs to it.
    fn check(&self, beside: &FileReport) -> Result<(), StateError> {
        match &self.tail {
            Tail::Whole | Tail::Unfinished { .. } => Ok(()),
            Tail::Missing => Err(StateError::Missing {
                path: self.path.clone(),
                beside: name_of(&beside.path),
            }),
            Tail::Damaged { offset, problem, .. } => {
                Err(StateError::damaged(&self.path, *offset as usize, problem.clone()))
            }
        }
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

impl Generation {
    /// Why it cannot be loaded as a whole.
    ///
    /// # Errors
    /// The damage that is found first.
    pub fn check(&self) -> Result<(), StateError> {
        self.snapshot.check(&self.log)?;
        self.log.check(&self.snapshot)
    }

    /// What is loaded.
    ///
    /// # Errors
    /// As [`Generation::check`].
    pub(crate) fn recovered(&self) -> Result<Recovered, StateError> {
        self.check()?;
        let cut = match self.log.tail {
            Tail::Unfinished { offset } if self.log.version.is_some() => Some(Cut {
                path: self.log.path.clone(),
                offset,
                bytes: self.log.bytes - offset,
            }),
            _ => None,
        };
        Ok(Recovered {
            snapshot: self.state.clone().unwrap_or_default(),
            batches: self.batches.clone(),
            cut,
        })
    }
}

impl Inspection {
    /// The generation that is loaded; none in a folder without state.
    pub fn newest(&self) -> Option<&Generation> {
        self.generations.first()
    }

    /// The generation from which a repair restores what can be: the newest with a snapshot.
    pub fn best(&self) -> Option<&Generation> {
        self.generations.iter().find(|generation| generation.state.is_some())
    }
}
