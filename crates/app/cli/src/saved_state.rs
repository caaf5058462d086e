//! `--save-state DIR`: the forwarding state is there again after the switch was killed.

use crate::control_plane::Start;
use crate::output;
use anyhow::{Context, Result, anyhow};
use forebay_journal::{Recovered, Store, Sync};
use forebay_p4runtime::{Device, Event, Keeper, Now, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Options of the saved state.
#[derive(clap::Args, Clone, Debug)]
pub struct SaveOptions {
    /// Keep the program and the forwarding state in this folder, and begin with what is in it
    #[arg(long, value_name = "DIR", requires = "grpc")]
    pub save_state: Option<PathBuf>,
    /// How often what packets have written is saved; what controllers write is saved at once
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = crate::numbers::seconds)]
    pub save_interval: f64,
    /// Leave it to the system when what was saved is on the disk: it survives the end of the switch, not of the machine
    #[arg(long, requires = "save_state")]
    pub save_unsynced: bool,
}

impl SaveOptions {
    /// Opens the folder, if there is one to be used. What is found in it takes the place of the program to begin with.
    ///
    /// # Errors
    /// When the folder cannot be used, is damaged, or holds the state of another program.
    pub fn open(&self, settings: Settings, start: Start) -> Result<Start> {
        let Some(folder) = &self.save_state else {
            return Ok(start);
        };
        let sync = match self.save_unsynced {
            true => Sync::System,
            false => Sync::Disk,
        };
        let (store, found) = Store::open(folder, sync).map_err(|error| anyhow!("--save-state: {error}"))?;
        let start = match found {
            Some(found) => restored(folder, found, settings, start)?,
            None => start,
        };
        Ok(Start {
            keeper: Some(Box::new(FolderKeeper(store))),
            ..start
        })
    }

    /// Time between snapshots.
    pub fn period(&self) -> Duration {
        Duration::from_secs_f64(self.save_interval.max(0.01))
    }
}

fn restored(folder: &Path, found: Recovered, settings: Settings, start: Start) -> Result<Start> {
    if let Some(cut) = &found.cut {
        output::warning(&format!(
            "{}: the last batch was not written to its end and never acknowledged; {} bytes from offset {} on are left out",
            cut.path.display(),
            cut.bytes,
            cut.offset
        ));
    }
    let device = Device::restore(settings, &found.snapshot, &found.batches, Now::default());
    let device = device
        .map_err(|error| anyhow!("{error}"))
        .with_context(|| folder.display().to_string())?;
    let pipeline = device.pipeline().map_or(start.pipeline, Arc::clone);
    Ok(Start {
        pipeline,
        restored: Some(device),
        ..start
    })
}

/// Keeps state in a folder.
struct FolderKeeper(Store);

impl Keeper for FolderKeeper {
    fn keep(&mut self, batch: &[u8]) -> Result<(), String> {
        self.0.append(batch).map_err(|error| error.to_string())
    }

    fn keep_all(&mut self, state: &[u8]) -> Result<(), String> {
        self.0.snapshot(state).map_err(|error| error.to_string())
    }

    fn takes_batches(&self) -> bool {
        self.0.takes_batches()
    }

    fn tell(&mut self, event: &Event) {
        output::warning(&event.to_string());
    }
}
