//! Reports in Parquet files: a folder of files, each with the reports of some seconds, a row for each hop.
//!
//! ```text
//!   reports-20261125T171003.412000Z.parquet        complete; the time is that of its first report
//!   reports-20261125T171103.877000Z.parquet.part   being written, or left behind by a collector that was killed
//! ```
//!
//! A file is written in one go from memory, under another name; it gets its own once it is on the disk. So every
//! `.parquet` file is complete, whenever the process or the machine stops. What was in memory then is lost, and counted
//! by the next collector as missing: each file has the next sequence number of every node in its metadata.

mod file;
mod rows;
mod schema;

pub(crate) use file::begins_before;
pub use file::{Files, StoreError, read, sequences_of};
pub use rows::Stored;

use crate::analysis::Sequences;
use crate::report::Report;
use rows::Rows;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// When a file is written, and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Rows after which a file is written.
    pub rows: usize,
    /// Time after which a file is written, in nanoseconds.
    pub time_ns: u64,
    /// Bytes of all files; when there are more, the oldest files are deleted. None for no limit.
    pub bytes_max: Option<u64>,
}

impl Default for Rotation {
    fn default() -> Rotation {
        Rotation {
            rows: 200_000,
            time_ns: 60_000_000_000,
            bytes_max: None,
        }
    }
}

/// Rows that wait while files cannot be written, as a multiple of [`Rotation::rows`].
const WAITING_MAX: usize = 4;

/// Time between two attempts to write a file, in nanoseconds.
const RETRY_NS: u64 = 5_000_000_000;

/// What became of reports in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Files written.
    pub files: u64,
    /// Reports in them.
    pub reports: u64,
    /// Reports for which there was no room while files could not be written, or that could not be written at the end.
    pub lost_reports: u64,
    /// Attempts to write a file that failed.
    pub failures: u64,
    /// Files deleted to make room for others.
    pub deleted_files: u64,
    /// Why the last attempt failed; none when it did not.
    pub problem: Option<String>,
}

/// The reports of a file.
#[derive(Default)]
struct Batch {
    rows: Rows,
    /// When the first of them came.
    began_ns: u64,
    sequences: Sequences,
}

/// A file that is being written: its reports, and what became of it.
type Writing = JoinHandle<(Batch, Result<Option<StoreError>, StoreError>)>;

/// A folder that reports are written to, by a thread of its own: receiving does not wait for a disk.
pub struct Store {
    files: Arc<Files>,
    rotation: Rotation,
    /// What gathers for the next file.
    rows: Rows,
    began_ns: u64,
    writing: Option<Writing>,
    /// What could not be written.
    failed: Option<Batch>,
    retry_ns: u64,
    counts: StoreCounts,
}

impl Store {
    /// Opens a folder, which is made if it does not exist. Files that were not completed are deleted.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path, rotation: Rotation) -> Result<Store, StoreError> {
        Ok(Store {
            files: Arc::new(Files::make(folder)?),
            rotation,
            rows: Rows::default(),
            began_ns: 0,
            writing: None,
            failed: None,
            retry_ns: 0,
            counts: StoreCounts::default(),
        })
    }

    /// The next sequence numbers of nodes when the newest file was written that can be read; none without files. Why
    /// newer ones cannot be read is returned too.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn sequences(&self) -> Result<(Sequences, Vec<StoreError>), StoreError> {
        let mut unread = Vec::new();
        for path in self.files.list()?.iter().rev() {
            match sequences_of(path) {
                Ok(sequences) => return Ok((sequences, unread)),
                Err(error) => unread.push(error),
            }
        }
        Ok((Sequences::default(), unread))
    }

    /// Takes a report that came at a time, in nanoseconds since the Unix epoch.
    pub fn add(&mut self, report: &Report, received_ns: u64) {
        if self.rows.len() >= WAITING_MAX * self.rotation.rows {
            self.counts.lost_reports += 1;
            return;
        }
        if self.rows.len() == 0 {
            self.began_ns = received_ns;
        }
        self.rows.add(report, received_ns);
    }

    /// Whether as many rows wait as a file has.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= self.rotation.rows
    }

    /// Begins to write a file if it is time to, and looks what became of the last one.
    pub fn time_passes(&mut self, now_ns: u64, sequences: &Sequences) {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.wait(now_ns);
        }
        if self.writing.is_some() {
            return;
        }
        if self.failed.is_some() {
            if now_ns >= self.retry_ns {
                self.begin();
            }
        } else if self.is_full() || now_ns >= self.began_ns.saturating_add(self.rotation.time_ns) {
            self.gather(sequences);
            self.begin();
        }
    }

    /// Writes everything, and waits for it. What cannot be written then is lost.
    pub fn finish(&mut self, now_ns: u64, sequences: &Sequences) {
        self.wait(now_ns);
        self.begin();
        self.wait(now_ns);
        if self.failed.is_none() {
            self.gather(sequences);
            self.begin();
            self.wait(now_ns);
        }
        self.counts.lost_reports += self.waiting();
        (self.rows, self.failed) = (Rows::default(), None);
    }

    /// Makes a batch of what waits.
    fn gather(&mut self, sequences: &Sequences) {
        if self.rows.len() > 0 {
            self.failed = Some(Batch {
                rows: std::mem::take(&mut self.rows),
                began_ns: self.began_ns,
                sequences: sequences.clone(),
            });
        }
    }

    /// Begins to write the batch that has failed, or is new.
    fn begin(&mut self) {
        let Some(batch) = self.failed.take() else { return };
        let files = Arc::clone(&self.files);
        self.writing = Some(std::thread::spawn(move || {
            let written = files.write(&batch.rows, batch.began_ns, &batch.sequences);
            (batch, written)
        }));
    }

    /// Waits until the file that is being written is complete.
    pub fn wait(&mut self, now_ns: u64) {
        let Some(writing) = self.writing.take() else { return };
        let (batch, written) = writing.join().unwrap_or_else(|_| {
            let panicked = StoreError::new(self.files.folder(), "the thread that writes has panicked");
            (Batch::default(), Err(panicked))
        });
        match written {
            Ok(problem) => {
                self.counts.files += 1;
                self.counts.reports += batch.rows.reports();
                self.counts.problem = problem.map(|problem| problem.to_string());
                self.make_room();
            }
            Err(error) => {
                self.counts.failures += 1;
                self.counts.problem = Some(error.to_string());
                self.retry_ns = now_ns + RETRY_NS;
                self.failed = Some(batch);
            }
        }
    }

    fn make_room(&mut self) {
        let Some(bytes_max) = self.rotation.bytes_max else {
            return;
        };
        match self.files.delete_oldest(bytes_max) {
            Ok(deleted) => self.counts.deleted_files += deleted,
            Err(error) => self.counts.problem = Some(error.to_string()),
        }
    }

    /// What became of reports.
    pub fn counts(&self) -> &StoreCounts {
        &self.counts
    }

    /// Reports that wait for a file, but for those of one that is being written.
    pub fn waiting(&self) -> u64 {
        let failed = self.failed.as_ref().map_or(0, |batch| batch.rows.reports());
        self.rows.reports() + failed
    }
}

/// The files of a folder that were completed, the oldest first.
///
/// # Errors
/// When the folder cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    Files::of(folder).list()
}
