//! The folder: what is found in it, and what is written to it.

use crate::error::StateError;
use crate::record::{self, Found, HEADER, Kind};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// When what was written is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// When a call returns: it survives a power failure.
    Disk,
    /// When the system likes: it survives the end of the process. Snapshots are brought to the disk all the same.
    System,
}

/// The end of a log that was cut off, since its last record was never written to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The log.
    pub path: PathBuf,
    /// Where it ends now.
    pub offset: u64,
    /// Bytes that were cut off.
    pub bytes: u64,
}

/// What was found in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The last snapshot.
    pub snapshot: Vec<u8>,
    /// The batches since then, in order.
    pub batches: Vec<Vec<u8>>,
    /// Whether a batch was lost that nobody was told of.
    pub cut: Option<Cut>,
}

/// A folder that state is kept in. It is locked while this exists.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    sync: Sync,
    /// Of the present snapshot and its log; 0 before the first.
    generation: u64,
    log: Option<Log>,
    /// Checksum and length of the present snapshot.
    present: Option<(u32, usize)>,
    _lock: File,
}

/// The log that is written to.
#[derive(Debug)]
struct Log {
    file: File,
    path: PathBuf,
    /// Bytes of complete records and the header.
    length: u64,
    records: u32,
    /// Whether its end is not known to be complete.
    is_broken: bool,
}

impl Store {
    /// Opens a folder, which is made if it does not exist. Also returns what is in it, if there is a snapshot.
    ///
    /// # Errors
    /// When the folder cannot be used, another switch uses it, or a file is damaged.
    pub fn open(folder: &Path, sync: Sync) -> Result<(Store, Option<Recovered>), StateError> {
        fs::create_dir_all(folder).map_err(StateError::io("make", folder))?;
        let mut store = Store {
            folder: folder.to_path_buf(),
            sync,
            generation: 0,
            log: None,
            present: None,
            _lock: lock(folder)?,
        };
        let Some(generation) = newest(folder)? else {
            return Ok((store, None));
        };
        let snapshot = read_snapshot(&store.path(Kind::Snapshot, generation), generation)?;
        let (log, batches, cut) = open_log(&store.path(Kind::Log, generation), generation)?;
        store.generation = generation;
        store.present = Some((crc32fast::hash(&snapshot), snapshot.len()));
        store.log = Some(log);
        store.remove_others()?;
        let recovered = Recovered { snapshot, batches, cut };
        Ok((store, Some(recovered)))
    }

    /// Keeps a batch of changes.
    ///
    /// # Errors
    /// When it cannot be written. The log ends before it then; if not even that can be made sure, every call fails until
    /// there is a new snapshot.
    pub fn append(&mut self, batch: &[u8]) -> Result<(), StateError> {
        let sync = self.sync;
        let log = self
            .log
            .as_mut()
            .ok_or_else(|| StateError::damaged(&self.folder, 0, "there is no snapshot yet that a log could follow"))?;
        log.append(batch, sync)
    }

    /// Keeps all of the state anew, in place of what is there. Does nothing when it is what is there already.
    ///
    /// # Errors
    /// When it cannot be written; what was there stays.
    pub fn snapshot(&mut self, state: &[u8]) -> Result<(), StateError> {
        let print = Some((crc32fast::hash(state), state.len()));
        if self.present == print && self.log.as_ref().is_some_and(|log| log.records == 0 && !log.is_broken) {
            return Ok(());
        }
        let generation = self.generation + 1;
        let log_path = self.path(Kind::Log, generation);
        write_whole(&log_path, &record::header(Kind::Log, generation))?;
        let mut bytes = record::header(Kind::Snapshot, generation);
        bytes.extend(record::record(0, state));
        let path = self.path(Kind::Snapshot, generation);
        let temporary = path.with_extension("tmp");
        write_whole(&temporary, &bytes)?;
        fs::rename(&temporary, &path).map_err(StateError::io("rename", &temporary))?;
        self.sync_folder()?;
        let (log, ..) = open_log(&log_path, generation)?;
        self.log = Some(log);
        self.generation = generation;
        self.present = print;
        self.remove_others()
    }

    fn path(&self, kind: Kind, generation: u64) -> PathBuf {
        let name = match kind {
            Kind::Snapshot => "snapshot",
            Kind::Log => "log",
        };
        self.folder.join(format!("{name}-{generation:08}"))
    }

    fn sync_folder(&self) -> Result<(), StateError> {
        let folder = File::open(&self.folder).and_then(|folder| folder.sync_all());
        folder.map_err(StateError::io("bring to the disk", &self.folder))
    }

    /// Removes snapshots and logs of other generations, and files that were never finished.
    fn remove_others(&self) -> Result<(), StateError> {
        let own = [Kind::Snapshot, Kind::Log].map(|kind| self.path(kind, self.generation));
        for (path, name) in names(&self.folder)? {
            let is_ours = name.starts_with("snapshot-") || name.starts_with("log-");
            if is_ours && !own.contains(&path) {
                fs::remove_file(&path).map_err(StateError::io("remove", &path))?;
            }
        }
        Ok(())
    }
}

impl Log {
    fn append(&mut self, batch: &[u8], sync: Sync) -> Result<(), StateError> {
        if self.is_broken {
            return Err(StateError::damaged(
                &self.path,
                self.length as usize,
                "an earlier write failed, so that nothing can follow before the next snapshot",
            ));
        }
        let bytes = record::record(self.records, batch);
        let written = self.file.write_all(&bytes).and_then(|()| match sync {
            Sync::Disk => self.file.sync_data(),
            Sync::System => Ok(()),
        });
        if let Err(error) = written {
            let end = self
                .file
                .set_len(self.length)
                .and_then(|()| self.file.seek(SeekFrom::End(0)));
            self.is_broken = end.is_err();
            return Err(StateError::io("write", &self.path)(error));
        }
        self.length += bytes.len() as u64;
        self.records += 1;
        Ok(())
    }
}

/// A log, its batches, and what was cut off.
type OpenedLog = (Log, Vec<Vec<u8>>, Option<Cut>);

fn lock(folder: &Path) -> Result<File, StateError> {
    let path = folder.join("lock");
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = opened.map_err(StateError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StateError::InUse(folder.to_path_buf())),
        Err(fs::TryLockError::Error(error)) => Err(StateError::io("lock", &path)(error)),
    }
}

/// Files of a folder with their names.
fn names(folder: &Path) -> Result<Vec<(PathBuf, String)>, StateError> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let entries = entries.map_err(StateError::io("read", folder))?;
    let named = entries.into_iter().map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (entry.path(), name)
    });
    Ok(named.collect())
}

/// The generation of the newest snapshot.
fn newest(folder: &Path) -> Result<Option<u64>, StateError> {
    let names = names(folder)?.into_iter();
    let generations = names.filter_map(|(_, name)| name.strip_prefix("snapshot-")?.parse().ok());
    Ok(generations.max())
}

fn read_snapshot(path: &Path, generation: u64) -> Result<Vec<u8>, StateError> {
    let bytes = fs::read(path).map_err(StateError::io("read", path))?;
    record::check_header(path, &bytes, Kind::Snapshot, generation)?;
    match record::find(&bytes, HEADER, 0) {
        Found::Record(state, end) if end == bytes.len() => Ok(state.to_vec()),
        Found::Record(_, end) => Err(StateError::damaged(path, end, "something follows the snapshot")),
        Found::End | Found::Torn => Err(StateError::damaged(path, bytes.len(), "the snapshot is not complete")),
        Found::Damaged(offset, problem) => Err(StateError::damaged(path, offset, problem)),
    }
}

/// A log with its batches; an end that was never finished is cut off.
fn open_log(path: &Path, generation: u64) -> Result<OpenedLog, StateError> {
    let bytes = fs::read(path).map_err(StateError::io("read", path))?;
    record::check_header(path, &bytes, Kind::Log, generation)?;
    let mut batches = Vec::new();
    let mut offset = HEADER;
    let is_torn = loop {
        match record::find(&bytes, offset, batches.len() as u32) {
            Found::Record(batch, end) => {
                batches.push(batch.to_vec());
                offset = end;
            }
            Found::End => break false,
            Found::Torn => break true,
            Found::Damaged(offset, problem) => return Err(StateError::damaged(path, offset, problem)),
        }
    };
    let opened = OpenOptions::new().write(true).open(path);
    let mut file = opened.map_err(StateError::io("open", path))?;
    if is_torn {
        let cut = file.set_len(offset as u64).and_then(|()| file.sync_all());
        cut.map_err(StateError::io("cut off the end of", path))?;
    }
    file.seek(SeekFrom::End(0)).map_err(StateError::io("open", path))?;
    let log = Log {
        file,
        path: path.to_path_buf(),
        length: offset as u64,
        records: batches.len() as u32,
        is_broken: false,
    };
    let cut = is_torn.then(|| Cut {
        path: path.to_path_buf(),
        offset: offset as u64,
        bytes: (bytes.len() - offset) as u64,
    });
    Ok((log, batches, cut))
}

/// Writes a file and brings it to the disk.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(StateError::io("write", path))
}
