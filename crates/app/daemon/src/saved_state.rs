//! The forwarding state in a folder: it is there again after the switch was killed.

use crate::error::Error;
use crate::start::Start;
use forebay_journal::{Recovered, Store, Sync};
use forebay_p4runtime::{Device, Event, Keeper, Now, Settings};
use std::path::Path;
use std::sync::Arc;

/// Receives what there is to tell of the saved state: a damaged end of the log, faults of the disk and their end.
pub type Tell = Box<dyn Fn(&str) + Send + std::marker::Sync>;

impl Start {
    /// Opens the folder. What is found in it takes the place of the program to begin with; what controllers write is
    /// kept in it.
    ///
    /// # Errors
    /// When the folder cannot be used, is damaged, or holds the state of another program.
    pub fn keep_in(self, folder: &Path, sync: Sync, settings: Settings, tell: Tell) -> Result<Start, Error> {
        let opened = Store::open(folder, sync);
        let (store, found) = opened.map_err(|error| Error::State(format!("--save-state: {error}")))?;
        let start = match found {
            Some(found) => restored(folder, &found, settings, self, &tell)?,
            None => self,
        };
        Ok(Start {
            keeper: Some(Box::new(FolderKeeper { store, tell })),
            ..start
        })
    }
}

fn restored(folder: &Path, found: &Recovered, settings: Settings, start: Start, tell: &Tell) -> Result<Start, Error> {
    if let Some(cut) = &found.cut {
        tell(&format!(
            "{}: the last batch was not written to its end and never acknowledged; {} bytes from offset {} on are left out",
            cut.path.display(),
            cut.bytes,
            cut.offset
        ));
    }
    let device = Device::restore(settings, &found.snapshot, &found.batches, Now::default());
    let device = device.map_err(|error| Error::State(format!("{}: {error}", folder.display())))?;
    let pipeline = device.pipeline().map_or(start.pipeline, Arc::clone);
    Ok(Start {
        pipeline,
        restored: Some(device),
        ..start
    })
}

/// Keeps state in a folder.
struct FolderKeeper {
    store: Store,
    tell: Tell,
}

impl Keeper for FolderKeeper {
    fn keep(&mut self, batch: &[u8]) -> Result<(), String> {
        self.store.append(batch).map_err(|error| error.to_string())
    }

    fn keep_all(&mut self, state: &[u8]) -> Result<(), String> {
        self.store.snapshot(state).map_err(|error| error.to_string())
    }

    fn takes_batches(&self) -> bool {
        self.store.takes_batches()
    }

    fn tell(&mut self, event: &Event) {
        (self.tell)(&event.to_string());
    }
}
