//! The log that is written to.

use crate::error::StateError;
use crate::files::{Files, Identity, OpenFile, write_all};
use crate::names::{Kind, Name};
use crate::record::{self, HEADER, Version};
use crate::store::Sync;
use std::path::{Path, PathBuf};

/// The end of a log that is left out, since its last record was never written to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The log.
    pub path: PathBuf,
    /// Where its last complete record ends.
    pub offset: u64,
    /// Bytes after that.
    pub bytes: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Log {
    file: Box<dyn OpenFile>,
    path: PathBuf,
    /// Where it is until it is finished.
    temporary: PathBuf,
    identity: Identity,
    /// Bytes of complete records and the header.
    length: u64,
    records: u64,
}

impl Log {
    /// A new log under its temporary name, on the disk.
    pub(crate) fn create(
        files: &dyn Files,
        folder: &Path,
        generation: u64,
        batches: &[Vec<u8>],
    ) -> Result<Log, StateError> {
        let name = Name::new(Kind::Log, generation);
        let temporary = name.temporary().path(folder);
        let failed = StateError::io("write", &temporary);
        let mut file = files.create(&temporary).map_err(&failed)?;
        let mut bytes = record::header(Kind::Log, generation);
        for (number, batch) in (0..).zip(batches) {
            bytes.extend(record::record(Version::NEWEST, number, batch).ok_or_else(|| too_long(&temporary, batch))?);
        }
        write_all(&mut *file, &bytes).map_err(&failed)?;
        file.sync().map_err(&failed)?;
        Ok(Log {
            identity: file.identity().map_err(&failed)?,
            file,
            path: name.path(folder),
            temporary,
            length: bytes.len() as u64,
            records: batches.len() as u64,
        })
    }

    /// Gives it its name.
    pub(crate) fn finish(&self, files: &dyn Files) -> Result<(), StateError> {
        let renamed = files.rename(&self.temporary, &self.path);
        renamed.map_err(StateError::io("rename", &self.temporary))
    }

    /// Writes a batch. After an error the file must not be used any more: all complete records are there, but the bytes
    /// after them are unknown. They are read as an unfinished record.
    pub(crate) fn append(&mut self, batch: &[u8], sync: Sync) -> Result<(), StateError> {
        let bytes = record::record(Version::NEWEST, self.records, batch).ok_or_else(|| too_long(&self.path, batch))?;
        let written = write_all(&mut *self.file, &bytes).and_then(|()| match sync {
            Sync::Disk => self.file.sync(),
            Sync::System => Ok(()),
        });
        if let Err(error) = written {
            // A full disk has room again for a snapshot; if it fails, the end is cut off when the log is read.
            let _ = self.file.truncate(self.length);
            return Err(StateError::io("write", &self.path)(error));
        }
        self.length += bytes.len() as u64;
        self.records += 1;
        Ok(())
    }

    /// Whether the file still has its name.
    pub(crate) fn check_name(&self, files: &dyn Files) -> Result<(), StateError> {
        check_name(files, &self.path, self.identity)
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == HEADER as u64
    }
}

/// Whether a file still has its name.
pub(crate) fn check_name(files: &dyn Files, path: &Path, identity: Identity) -> Result<(), StateError> {
    match files.identity(path) {
        Ok(found) if found == identity => Ok(()),
        Ok(_) => Err(StateError::Gone(path.to_path_buf())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(StateError::Gone(path.to_path_buf())),
        Err(error) => Err(StateError::io("look at", path)(error)),
    }
}

fn too_long(path: &Path, content: &[u8]) -> StateError {
    StateError::TooLong {
        path: path.to_path_buf(),
        bytes: content.len() as u64,
    }
}
