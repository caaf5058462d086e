//! The operations on files that a store needs.

use std::fmt::Debug;
use std::io;
use std::path::Path;

/// Says which file it is: a name and an open file with the same identity are the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The number of the file on it.
    pub inode: u64,
}

/// Which other locks a file may have at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// None: the lock of a writer.
    Alone,
    /// Shared ones: the lock of a reader.
    Shared,
}

/// A lock that is held as long as this exists.
pub trait Lock: Debug + Send + std::marker::Sync {
    /// Which file is locked.
    ///
    /// # Errors
    /// When the system does not say.
    fn identity(&self) -> io::Result<Identity>;
}

/// A file that is open for writing after its end.
pub trait OpenFile: Debug + Send + std::marker::Sync {
    /// Writes a beginning of the bytes; returns how many.
    ///
    /// # Errors
    /// When nothing can be written, or something was written and then no more.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Brings content and length to the disk.
    ///
    /// # Errors
    /// When it may not be there; it is unknown what is.
    fn sync(&mut self) -> io::Result<()>;

    /// Lets the file end here.
    ///
    /// # Errors
    /// When it may have its old length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Which file it is.
    ///
    /// # Errors
    /// When the system does not say.
    fn identity(&self) -> io::Result<Identity>;
}

/// The operations. Each is that of POSIX with its guarantees, and no more: a new name is on the disk only after
/// [`Files::sync_folder`], content only after [`OpenFile::sync`]. What fails may have happened.
pub trait Files: Debug + Send + std::marker::Sync {
    /// Makes a folder and those above it, for the owner alone; a folder that exists is left as it is.
    ///
    /// # Errors
    /// When there is no such folder afterwards.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;

    /// Names of files in a folder, in no order.
    ///
    /// # Errors
    /// When it cannot be read.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// All of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// An empty file for the owner alone; one that exists is emptied.
    ///
    /// # Errors
    /// When it cannot be made.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Gives a file another name, in place of a file that has it.
    ///
    /// # Errors
    /// When it may have its old name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// When it may still be there.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Brings the names in a folder to the disk.
    ///
    /// # Errors
    /// When they may not be there.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Which file has a name.
    ///
    /// # Errors
    /// `NotFound` when none has, others when the system does not say.
    fn identity(&self, path: &Path) -> io::Result<Identity>;

    /// Locks a file; none when another lock is held that excludes this one. For [`LockMode::Alone`] the file is made if
    /// it does not exist.
    ///
    /// # Errors
    /// When it cannot be opened or locked.
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn Lock>>>;
}

/// Writes all of the bytes.
pub(crate) fn write_all(file: &mut dyn OpenFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
