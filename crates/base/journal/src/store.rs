//! The folder: what is found in it, and what is written to it.

use crate::error::StateError;
use crate::files::{Files, Identity, Lock, LockMode, write_all};
use crate::inspect::Listing;
use crate::log::{Cut, Log, check_name};
use crate::names::{Kind, LOCK, Name};
use crate::record::{self, Version};
use crate::system::SystemFiles;
use std::hash::{DefaultHasher, Hasher};
use std::iter::once;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a folder may be in use because a process that was killed is still being cleared away.
const CLEARING_TIME: Duration = Duration::from_secs(1);

/// Between two looks at such a folder.
const LOOK: Duration = Duration::from_millis(10);

/// When what was written is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// When a call returns: it survives a power failure.
    Disk,
    /// At any later time: it survives the end of the process. Snapshots are brought to the disk all the same.
    System,
}

/// What was found in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The last snapshot.
    pub snapshot: Vec<u8>,
    /// The batches since then, in order.
    pub batches: Vec<Vec<u8>>,
    /// The end of the log that is left out, since its last batch was never written to its end and never acknowledged.
    pub cut: Option<Cut>,
}

/// A folder that state is kept in. It is locked while this exists.
#[derive(Debug)]
pub struct Store {
    files: Arc<dyn Files>,
    folder: PathBuf,
    sync: Sync,
    /// What batches are written to; none before the first snapshot.
    current: Option<Current>,
    /// Whether something that the caller has is not in the current log, or it is unknown which log is loaded.
    is_behind: bool,
    /// The generation of a snapshot of which it is unknown whether it is there.
    uncertain: Option<u64>,
    lock: Box<dyn Lock>,
}

/// A generation that is complete on the disk.
#[derive(Debug)]
pub(crate) struct Current {
    generation: u64,
    snapshot: Identity,
    snapshot_path: PathBuf,
    print: Option<Print>,
    log: Log,
}

/// Tells snapshots apart: checksum, hash and length.
type Print = (u32, u64, usize);

impl Store {
    /// Opens a folder of the system, which is made if it does not exist. Also returns what is in it, if there is a
    /// snapshot; it is written to new files, so that everything is on the disk. When they cannot be written, the store
    /// takes no batches before a snapshot ([`Store::takes_batches`]).
    ///
    /// A folder that is in use is waited for, a second at most: a process keeps its locks for some hundredths of a
    /// second after it was killed.
    ///
    /// # Errors
    /// When the folder cannot be used, another switch uses it, or a file is damaged or missing.
    pub fn open(folder: &Path, sync: Sync) -> Result<(Store, Option<Recovered>), StateError> {
        let begin = Instant::now();
        loop {
            match Store::open_with(Arc::new(SystemFiles), folder, sync) {
                Err(StateError::InUse(_)) if begin.elapsed() < CLEARING_TIME => thread::sleep(LOOK),
                opened => return opened,
            }
        }
    }

    /// The same with other files, without waiting.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(
        files: Arc<dyn Files>,
        folder: &Path,
        sync: Sync,
    ) -> Result<(Store, Option<Recovered>), StateError> {
        files.make_folder(folder).map_err(StateError::io("make", folder))?;
        let lock = lock(&*files, folder)?;
        let listing = Listing::read(&*files, folder)?;
        let mut store = Store {
            files,
            folder: folder.to_path_buf(),
            sync,
            current: None,
            is_behind: false,
            uncertain: None,
            lock,
        };
        let Some(number) = listing.numbers().last().copied() else {
            return Ok((store, None));
        };
        let recovered = listing.generation(&*store.files, number)?.recovered()?;
        store.begin_anew(number + 1, &recovered);
        Ok((store, Some(recovered)))
    }

    /// Writes what was found to new files, because it is unknown whether the old ones are on the disk: their writer may
    /// have died before they were synced, or `fsync` may have failed. When that fails, the store takes no batches
    /// before a snapshot.
    fn begin_anew(&mut self, generation: u64, found: &Recovered) {
        let place = Place::new(&*self.files, &self.folder, generation);
        match commit(&place, &[&found.snapshot[..]], &found.batches) {
            Ok(current) => {
                self.current = Some(current);
                self.remove_others(generation);
            }
            // Not tried again with the same number: that log may contain batches that are not in this snapshot.
            Err(_) => self.is_behind = true,
        }
    }

    /// Keeps a batch of changes.
    ///
    /// # Errors
    /// When it cannot be kept, or the files have lost their names meanwhile. Whether the batch is there after a restart
    /// is unknown then, and the store takes no other before a snapshot.
    pub fn append(&mut self, batch: &[u8]) -> Result<(), StateError> {
        let Some(current) = self.current.as_mut().filter(|_| !self.is_behind) else {
            return Err(StateError::Behind(self.folder.clone()));
        };
        let appended = current.log.append(batch, self.sync);
        let appended = appended.and_then(|()| current.check_names(&*self.files));
        self.is_behind = appended.is_err();
        appended
    }

    /// Whether a batch can follow what is kept: there is a snapshot, and nothing has failed since.
    pub fn takes_batches(&self) -> bool {
        self.current.is_some() && !self.is_behind
    }

    /// Keeps all of the state anew, in place of what is there. Does nothing when it is what is there already.
    ///
    /// # Errors
    /// When it cannot be kept. What is loaded after a restart is what was there before, or this state.
    pub fn snapshot(&mut self, state: &[u8]) -> Result<(), StateError> {
        self.snapshot_with(state, &[])
    }

    /// The same with some more bytes after the state, by which alone it is no other state.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn snapshot_with(&mut self, state: &[u8], more: &[u8]) -> Result<(), StateError> {
        let print = print_of(state);
        if self.has(print) {
            return Ok(());
        }
        self.hold_folder()?;
        let generation = self.next_generation()?;
        let mut place = Place::new(&*self.files, &self.folder, generation);
        place.may_exist = self.uncertain == Some(generation);
        match commit(&place, &[state, more], &[]) {
            Ok(current) => {
                current
                    .check_names(&*self.files)
                    .inspect_err(|_| self.is_behind = true)?;
                let print = Some(print);
                self.current = Some(Current { print, ..current });
                (self.is_behind, self.uncertain) = (false, None);
                self.remove_others(generation);
                Ok(())
            }
            Err(failure) => {
                if failure.is_uncertain {
                    (self.is_behind, self.uncertain) = (true, Some(generation));
                }
                Err(failure.error)
            }
        }
    }

    /// Whether this state is what is loaded now.
    fn has(&self, print: Print) -> bool {
        let current = self.current.as_ref().filter(|_| !self.is_behind);
        current.is_some_and(|current| {
            current.print == Some(print) && current.log.is_empty() && current.check_names(&*self.files).is_ok()
        })
    }

    /// Makes a folder that was removed again, and locks it.
    fn hold_folder(&mut self) -> Result<(), StateError> {
        let (files, folder) = (&*self.files, &self.folder);
        files.make_folder(folder).map_err(StateError::io("make", folder))?;
        let path = folder.join(LOCK);
        let identity = self.lock.identity().map_err(StateError::io("look at", &path))?;
        match check_name(files, &path, identity) {
            Err(StateError::Gone(_)) => {
                self.lock = lock(files, folder)?;
                Ok(())
            }
            other => other,
        }
    }

    /// The number of the next generation: higher than all that are there. One that has failed is tried again, so that
    /// files do not become more with every attempt.
    fn next_generation(&self) -> Result<u64, StateError> {
        let numbers = Listing::read(&*self.files, &self.folder)?.numbers().into_iter();
        let numbers = numbers.filter(|number| Some(*number) != self.uncertain);
        let present = self.current.as_ref().map(|current| current.generation);
        Ok(numbers.chain(present).max().unwrap_or(0) + 1)
    }

    /// Removes what is older than a generation, and what was never finished. What cannot be removed does no harm, and
    /// is removed later.
    fn remove_others(&self, generation: u64) {
        let Ok(listing) = Listing::read(&*self.files, &self.folder) else {
            return;
        };
        let is_old = |name: &&Name| name.generation < generation || name.is_temporary;
        for name in listing.ours.iter().filter(is_old) {
            let _ = self.files.remove(&name.path(&self.folder));
        }
    }
}

impl Current {
    /// Whether the files still have their names.
    fn check_names(&self, files: &dyn Files) -> Result<(), StateError> {
        self.log.check_name(files)?;
        check_name(files, &self.snapshot_path, self.snapshot)
    }
}

/// Why a generation could not be made.
pub(crate) struct Failure {
    pub(crate) error: StateError,
    /// Whether it may be there all the same.
    pub(crate) is_uncertain: bool,
}

/// Where a generation is made.
pub(crate) struct Place<'a> {
    files: &'a dyn Files,
    folder: &'a Path,
    generation: u64,
    /// Whether an earlier attempt may have made it.
    may_exist: bool,
}

impl<'a> Place<'a> {
    pub(crate) fn new(files: &'a dyn Files, folder: &'a Path, generation: u64) -> Place<'a> {
        Place {
            files,
            folder,
            generation,
            may_exist: false,
        }
    }

    fn temporary(&self, kind: Kind) -> PathBuf {
        Name::new(kind, self.generation).temporary().path(self.folder)
    }

    fn sync(&self) -> Result<(), StateError> {
        let synced = self.files.sync_folder(self.folder);
        synced.map_err(StateError::io("bring to the disk", self.folder))
    }

    /// Removes what was not finished: it may take the space that the next attempt needs. The log of an earlier attempt
    /// stays, since it may belong to a snapshot that is there.
    fn clean(&self) {
        let _ = self.files.remove(&self.temporary(Kind::Snapshot));
        if !self.may_exist {
            let _ = self.files.remove(&self.temporary(Kind::Log));
        }
    }
}

/// Makes a generation that is loaded from then on, of a state in parts.
pub(crate) fn commit(place: &Place<'_>, state: &[&[u8]], batches: &[Vec<u8>]) -> Result<Current, Failure> {
    let prepared = prepare(place, state, batches);
    let (log, snapshot) = prepared.inspect_err(|_| place.clean()).map_err(|error| Failure {
        error,
        is_uncertain: place.may_exist,
    })?;
    let from = place.temporary(Kind::Snapshot);
    let path = Name::new(Kind::Snapshot, place.generation).path(place.folder);
    let renamed = place
        .files
        .rename(&from, &path)
        .map_err(StateError::io("rename", &from));
    let finished = renamed
        .and_then(|()| place.sync())
        .and_then(|()| log.finish(place.files))
        .and_then(|()| place.sync());
    finished.map_err(|error| Failure {
        error,
        is_uncertain: true,
    })?;
    Ok(Current {
        generation: place.generation,
        snapshot,
        snapshot_path: path,
        print: None,
        log,
    })
}

/// Both files under their temporary names, on the disk.
fn prepare(place: &Place<'_>, state: &[&[u8]], batches: &[Vec<u8>]) -> Result<(Log, Identity), StateError> {
    let log = Log::create(place.files, place.folder, place.generation, batches)?;
    let path = place.temporary(Kind::Snapshot);
    let bytes: u64 = state.iter().map(|part| part.len() as u64).sum();
    let head = record::head(Version::NEWEST, 0, bytes).ok_or_else(|| StateError::TooLong {
        path: path.clone(),
        bytes,
    })?;
    let failed = StateError::io("write", &path);
    let mut file = place.files.create(&path).map_err(&failed)?;
    let header = [record::header(Kind::Snapshot, place.generation), head].concat();
    let tail = record::tail_of(state);
    for part in once(&header[..]).chain(state.iter().copied()).chain(once(&tail[..])) {
        write_all(&mut *file, part).map_err(&failed)?;
    }
    file.sync().map_err(&failed)?;
    let identity = file.identity().map_err(&failed)?;
    place.sync()?;
    Ok((log, identity))
}

pub(crate) fn lock(files: &dyn Files, folder: &Path) -> Result<Box<dyn Lock>, StateError> {
    let path = folder.join(LOCK);
    let locked = files.lock(&path, LockMode::Alone);
    let locked = locked.map_err(StateError::io("lock", &path))?;
    locked.ok_or_else(|| StateError::InUse(folder.to_path_buf()))
}

fn print_of(state: &[u8]) -> Print {
    let mut hasher = DefaultHasher::new();
    hasher.write(state);
    (crc32fast::hash(state), hasher.finish(), state.len())
}
