//! The files of the system.

use crate::files::{Files, Identity, Lock, LockMode, OpenFile};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The files of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFiles;

/// Files are for their owner alone: they hold programs.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

impl Files for SystemFiles {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
        if let Some(above) = above {
            self.make_folder(above)?;
        }
        DirBuilder::new().mode(FOLDER_MODE).create(folder)?;
        self.sync_folder(above.unwrap_or(Path::new(".")))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(FILE_MODE);
        Ok(Box::new(options.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        Ok(identity_of(&fs::metadata(path)?))
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn Lock>>> {
        let mut options = OpenOptions::new();
        let (file, locked) = match mode {
            LockMode::Alone => {
                let options = options.write(true).create(true).truncate(false).mode(FILE_MODE);
                let file = options.open(path)?;
                let locked = file.try_lock();
                (file, locked)
            }
            LockMode::Shared => {
                let file = options.read(true).open(path)?;
                let locked = file.try_lock_shared();
                (file, locked)
            }
        };
        match locked {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn identity_of(metadata: &Metadata) -> Identity {
    Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

impl Lock for File {
    fn identity(&self) -> io::Result<Identity> {
        Ok(identity_of(&self.metadata()?))
    }
}

impl OpenFile for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(identity_of(&self.metadata()?))
    }
}
