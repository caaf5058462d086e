//! A simulated disk in memory that fails on request, for tests.
//!
//! Every operation of [`Files`], [`OpenFile`] and locks has a number. A [`Fault`] says which one fails and how. What
//! was written and what is on the disk are kept apart, so that [`Disk::after`] can say what is there after the process
//! was killed, or after a power failure with any part of what was not synced.
//!
//! The disk is as bad as POSIX permits: names and content are independent, any subset of the names that were changed
//! since the folder was synced may be there, of content that was written since the file was synced all, a part, or
//! zeros.

use crate::files::{Files, Identity, Lock, LockMode, OpenFile};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The disk is full: what needs space fails, a write after half of its bytes. Other operations succeed.
    NoSpace,
    /// Nothing is done, and an error returned.
    Error,
    /// It is done, and an error returned.
    ErrorAfter,
    /// A write takes half of its bytes, without an error.
    ShortWrite,
    /// A sync fails, and what was to be synced never reaches the disk, not even with a later sync.
    SyncLost,
    /// The machine stops before the operation: every one fails from now on.
    StopBefore,
    /// The machine stops within the operation: half of a write is done, all of anything else.
    StopWithin,
}

/// A fault of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The operation, counted from 0.
    pub operation: u64,
    /// How it fails.
    pub failure: Failure,
    /// Whether all that follow fail in the same way, until [`Disk::heal`].
    pub lasts: bool,
}

/// What becomes of content that was written and not synced when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// It is lost.
    Lost,
    /// It is there.
    Kept,
    /// It is there but for the last half of the last write.
    Torn,
    /// The files have their lengths, with zeros in every other sector of what was written.
    Zeros,
    /// The files have their lengths, with zeros in all that was written.
    Blank,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The process is killed: all that was written is there.
    Kill,
    /// The power fails.
    Power {
        /// Which of the changes of names since the last sync are there: a bit for each, the first one
        /// lowest; the highest bit stands for the rest.
        names: u32,
        /// What is there of content.
        content: Content,
    },
}

#[derive(Clone, Debug, Default)]
struct Node {
    bytes: Vec<u8>,
    /// What is on the disk.
    kept: Vec<u8>,
    /// Changes since the last sync.
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Truncate(length) => bytes.resize(*length, 0),
            Change::Write(at, written) => {
                let end = at + written.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at..end].copy_from_slice(written);
            }
        }
    }
}

/// A change of names: each of these names this file from now on, or none.
type Naming = Vec<(PathBuf, Option<usize>)>;

#[derive(Clone, Debug, Default)]
struct State {
    nodes: Vec<Node>,
    names: BTreeMap<PathBuf, usize>,
    /// What is on the disk.
    kept_names: BTreeMap<PathBuf, usize>,
    /// Changes since the last sync.
    pending: Vec<Naming>,
    folders: BTreeSet<PathBuf>,
    /// Locks that are held: the file, and whether alone.
    locks: Vec<(usize, bool)>,
    operations: u64,
    fault: Option<Fault>,
    later: Option<Fault>,
    has_failed: bool,
    is_stopped: bool,
}

/// See the [module](self). Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Mutex<State>>);

/// What an operation needs, for a disk that is full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Space,
    Nothing,
}

/// How far an operation goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    Whole,
    Half,
    /// Half of it without an error.
    Short,
    WholeThenError,
    Not,
    /// A sync that loses what it should bring to the disk.
    Lost,
}

impl Disk {
    /// An empty disk with this fault.
    pub fn new(fault: Option<Fault>) -> Disk {
        let disk = Disk::default();
        disk.state().fault = fault;
        disk
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Whether the fault has made an operation fail.
    pub fn has_failed(&self) -> bool {
        self.state().has_failed
    }

    /// Whether the machine has stopped.
    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// Ends the fault. A machine that has stopped does not come back.
    pub fn heal(&self) {
        let mut state = self.state();
        (state.fault, state.later) = (None, None);
    }

    /// Lets an operation fail that comes after the first fault.
    pub fn fail_later(&self, fault: Fault) {
        self.state().later = Some(fault);
    }

    /// Changes of names that are not on the disk yet.
    pub fn unsynced_names(&self) -> u32 {
        self.state().pending.len() as u32
    }

    /// The disk as it is found after an end, without a fault.
    pub fn after(&self, end: End) -> Disk {
        let state = self.state();
        let mut found = State {
            nodes: state.nodes.clone(),
            names: state.names.clone(),
            folders: state.folders.clone(),
            ..State::default()
        };
        if let End::Power { names, content } = end {
            found.names.clone_from(&state.kept_names);
            for (number, naming) in state.pending.iter().enumerate() {
                if names >> number.min(31) & 1 == 1 {
                    rename_all(&mut found.names, naming);
                }
            }
            for node in &mut found.nodes {
                node.bytes = surviving(node, content);
            }
        }
        for node in &mut found.nodes {
            node.kept.clone_from(&node.bytes);
            node.pending.clear();
        }
        found.kept_names.clone_from(&found.names);
        Disk(Arc::new(Mutex::new(found)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does an operation, as far as the fault permits; `action` gets the part of it that is done, where it has parts.
    fn operate<R>(
        &self,
        needs: Needs,
        is_sync: bool,
        action: impl FnOnce(&mut State, Course) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut state = self.state();
        let (course, error) = state.next(needs, is_sync);
        match course {
            Course::Not => Err(error.unwrap_or_else(|| ErrorKind::Other.into())),
            _ => {
                let done = action(&mut state, course);
                match error {
                    Some(error) => done.and(Err(error)),
                    None => done,
                }
            }
        }
    }

    fn file(&self, node: usize) -> Box<dyn OpenFile> {
        Box::new(MemoryFile {
            disk: self.clone(),
            node,
        })
    }
}

impl State {
    /// What the fault makes of the next operation.
    fn next(&mut self, needs: Needs, is_sync: bool) -> (Course, Option<io::Error>) {
        let number = self.operations;
        self.operations += 1;
        let stopped = || Some(io::Error::other("the machine has stopped"));
        if self.is_stopped {
            return (Course::Not, stopped());
        }
        let hits = |fault: &Fault| number == fault.operation || fault.lasts && number > fault.operation;
        let Some(fault) = self.fault.filter(hits).or(self.later.filter(hits)) else {
            return (Course::Whole, None);
        };
        let broken = || Some(io::Error::from_raw_os_error(5));
        let (course, error) = match fault.failure {
            Failure::NoSpace if needs == Needs::Space => (Course::Half, Some(ErrorKind::StorageFull.into())),
            Failure::Error => (Course::Not, broken()),
            Failure::ErrorAfter => (Course::WholeThenError, broken()),
            Failure::ShortWrite if needs == Needs::Space => (Course::Short, None),
            Failure::SyncLost if is_sync => (Course::Lost, broken()),
            Failure::StopBefore => (Course::Not, stopped()),
            Failure::StopWithin => (Course::Half, stopped()),
            Failure::NoSpace | Failure::ShortWrite | Failure::SyncLost => return (Course::Whole, None),
        };
        self.has_failed = true;
        self.is_stopped = matches!(fault.failure, Failure::StopBefore | Failure::StopWithin);
        (course, error)
    }

    fn node(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn name(&mut self, naming: Naming) {
        rename_all(&mut self.names, &naming);
        self.pending.push(naming);
    }

    fn new_file(&mut self, path: &Path) -> io::Result<usize> {
        if !path.parent().is_some_and(|folder| self.folders.contains(folder)) {
            return Err(ErrorKind::NotFound.into());
        }
        self.nodes.push(Node::default());
        let node = self.nodes.len() - 1;
        self.name(vec![(path.to_path_buf(), Some(node))]);
        Ok(node)
    }

    fn change(&mut self, node: usize, change: Change) {
        let node = &mut self.nodes[node];
        change.apply(&mut node.bytes);
        node.pending.push(change);
    }
}

fn rename_all(names: &mut BTreeMap<PathBuf, usize>, naming: &Naming) {
    for (path, node) in naming {
        match node {
            Some(node) => names.insert(path.clone(), *node),
            None => names.remove(path),
        };
    }
}

/// What is on the disk of a file after a power failure.
fn surviving(node: &Node, content: Content) -> Vec<u8> {
    let mut bytes = node.kept.clone();
    let apply = |bytes: &mut Vec<u8>, changes: &[Change]| changes.iter().for_each(|change| change.apply(bytes));
    match content {
        Content::Lost => {}
        Content::Kept => apply(&mut bytes, &node.pending),
        Content::Torn => {
            if let Some((last, before)) = node.pending.split_last() {
                apply(&mut bytes, before);
                if let Change::Write(at, written) = last {
                    Change::Write(*at, written[..written.len() / 2].to_vec()).apply(&mut bytes);
                }
            }
        }
        Content::Zeros | Content::Blank => {
            for change in &node.pending {
                let mut change = change.clone();
                if let Change::Write(at, written) = &mut change {
                    let is_lost = |index: usize| content == Content::Blank || (*at + index) / 512 % 2 == 1;
                    let lost = written.iter_mut().enumerate().filter(|(index, _)| is_lost(*index));
                    lost.for_each(|(_, byte)| *byte = 0);
                }
                change.apply(&mut bytes);
            }
        }
    }
    bytes
}

impl Files for Disk {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        self.operate(Needs::Nothing, false, |state, _| {
            state.folders.insert(folder.to_path_buf());
            Ok(())
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.operate(Needs::Nothing, false, |state, _| {
            if !state.folders.contains(folder) {
                return Err(ErrorKind::NotFound.into());
            }
            let names = state.names.keys().filter(|path| path.parent() == Some(folder));
            let names = names.filter_map(|path| path.file_name());
            Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
        })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.operate(Needs::Nothing, false, |state, _| {
            let node = state.node(path)?;
            Ok(state.nodes[node].bytes.clone())
        })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let made = self.operate(Needs::Space, false, |state, course| match state.node(path) {
            Ok(node) => {
                state.change(node, Change::Truncate(0));
                Ok(node)
            }
            Err(_) if course == Course::Half && !state.is_stopped => Ok(usize::MAX),
            Err(_) => state.new_file(path),
        });
        made.map(|node| self.file(node))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate(Needs::Nothing, false, |state, _| {
            let node = state.node(from)?;
            state.name(vec![(from.to_path_buf(), None), (to.to_path_buf(), Some(node))]);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.operate(Needs::Nothing, false, |state, _| {
            state.node(path)?;
            state.name(vec![(path.to_path_buf(), None)]);
            Ok(())
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.operate(Needs::Nothing, true, |state, course| {
            if !state.folders.contains(folder) {
                return Err(ErrorKind::NotFound.into());
            }
            let pending = std::mem::take(&mut state.pending);
            if course != Course::Lost {
                pending
                    .iter()
                    .for_each(|naming| rename_all(&mut state.kept_names, naming));
            }
            Ok(())
        })
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        self.operate(Needs::Nothing, false, |state, _| state.node(path).map(identity_of))
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn Lock>>> {
        let is_alone = mode == LockMode::Alone;
        let locked = self.operate(Needs::Nothing, false, |state, _| {
            let node = match state.node(path) {
                Err(_) if is_alone => state.new_file(path)?,
                found => found?,
            };
            let excludes = |held: &&(usize, bool)| held.0 == node && (held.1 || is_alone);
            if state.locks.iter().any(|held| excludes(&held)) {
                return Ok(None);
            }
            Ok(Some(node))
        });
        let lock = |node| -> Box<dyn Lock> {
            self.state().locks.push((node, is_alone));
            Box::new(MemoryLock {
                disk: self.clone(),
                node,
                is_alone,
            })
        };
        Ok(locked?.map(lock))
    }
}

fn identity_of(node: usize) -> Identity {
    Identity {
        device: 1,
        inode: node as u64,
    }
}

#[derive(Debug)]
struct MemoryFile {
    disk: Disk,
    node: usize,
}

impl OpenFile for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.operate(Needs::Space, false, |state, course| {
            let count = match course {
                Course::Half | Course::Short => bytes.len().div_ceil(2),
                _ => bytes.len(),
            };
            let at = state.nodes[self.node].bytes.len();
            state.change(self.node, Change::Write(at, bytes[..count].to_vec()));
            Ok(count)
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.operate(Needs::Nothing, true, |state, course| {
            let node = &mut state.nodes[self.node];
            let pending = std::mem::take(&mut node.pending);
            if course != Course::Lost {
                pending.iter().for_each(|change| change.apply(&mut node.kept));
            }
            Ok(())
        })
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.disk.operate(Needs::Nothing, false, |state, _| {
            state.change(self.node, Change::Truncate(length as usize));
            Ok(())
        })
    }

    fn identity(&self) -> io::Result<Identity> {
        self.disk
            .operate(Needs::Nothing, false, |_, _| Ok(identity_of(self.node)))
    }
}

#[derive(Debug)]
struct MemoryLock {
    disk: Disk,
    node: usize,
    is_alone: bool,
}

impl Lock for MemoryLock {
    fn identity(&self) -> io::Result<Identity> {
        self.disk
            .operate(Needs::Nothing, false, |_, _| Ok(identity_of(self.node)))
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        let held = state.locks.iter().position(|held| *held == (self.node, self.is_alone));
        if let Some(held) = held {
            state.locks.remove(held);
        }
    }
}
