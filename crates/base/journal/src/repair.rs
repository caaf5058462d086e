//! Restoring what can be loaded from a folder that is damaged.

use crate::error::StateError;
use crate::files::{Files, Lock, write_all};
use crate::inspect::{Generation, Inspection, inspect_locked};
use crate::names::Name;
use crate::store::{Place, commit, lock};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder that is to be repaired. It is locked while this exists; nothing is changed before [`Repair::restore`].
#[derive(Debug)]
pub struct Repair {
    files: Arc<dyn Files>,
    inspection: Inspection,
    _lock: Box<dyn Lock>,
}

impl Repair {
    /// Looks at a folder.
    ///
    /// # Errors
    /// When it cannot be read, or a switch that runs uses it.
    pub fn new(files: Arc<dyn Files>, folder: &Path) -> Result<Repair, StateError> {
        // Locking makes a file, and only in a folder that is there.
        files.list(folder).map_err(StateError::io("read", folder))?;
        let lock = lock(&*files, folder)?;
        let inspection = inspect_locked(&*files, folder)?;
        Ok(Repair {
            files,
            inspection,
            _lock: lock,
        })
    }

    /// What is in the folder.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// Makes the snapshot of a generation with the first `batches` batches of its log what is loaded from now on.
    /// Copies of all files go to a folder inside first, which is returned.
    ///
    /// # Errors
    /// When the generation has no snapshot that can be read, or something cannot be written; the files are as they were
    /// then, or the repair is complete.
    pub fn restore(self, generation: &Generation, batches: usize) -> Result<PathBuf, StateError> {
        let folder = &self.inspection.folder;
        let state = generation.state.as_deref();
        let state = state.ok_or_else(|| StateError::Lost(folder.clone()))?;
        let backup = self.backup()?;
        let newest = self.inspection.newest().map_or(0, |newest| newest.number);
        let batches = &generation.batches[..batches.min(generation.batches.len())];
        let place = Place::new(&*self.files, folder, newest + 1);
        commit(&place, &[state], batches).map_err(|failure| failure.error)?;
        for name in self.names()? {
            if name.generation <= newest || name.is_temporary {
                // Older files do no harm; the next snapshot removes them.
                let _ = self.files.remove(&name.path(folder));
            }
        }
        Ok(backup)
    }

    fn names(&self) -> Result<Vec<Name>, StateError> {
        let folder = &self.inspection.folder;
        let names = self.files.list(folder).map_err(StateError::io("read", folder))?;
        Ok(names.iter().filter_map(|name| Name::parse(name)).collect())
    }

    /// Copies all files of the store.
    fn backup(&self) -> Result<PathBuf, StateError> {
        let folder = &self.inspection.folder;
        let taken = &self.inspection.foreign;
        let free = (1..)
            .map(|number| format!("damaged-{number}"))
            .find(|name| !taken.contains(name));
        let backup = folder.join(free.unwrap_or_default());
        self.files
            .make_folder(&backup)
            .map_err(StateError::io("make", &backup))?;
        for name in self.names()? {
            let path = name.path(folder);
            let bytes = self.files.read(&path).map_err(StateError::io("read", &path))?;
            let copy = name.path(&backup);
            let copied = self.files.create(&copy).and_then(|mut file| {
                write_all(&mut *file, &bytes)?;
                file.sync()
            });
            copied.map_err(StateError::io("write", &copy))?;
        }
        let synced = self.files.sync_folder(&backup);
        synced.map_err(StateError::io("bring to the disk", &backup))?;
        Ok(backup)
    }
}
