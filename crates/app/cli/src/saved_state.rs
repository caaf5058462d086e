//! `--save-state DIR`: the forwarding state is there again after the switch was killed.

use crate::output;
use anyhow::Result;
use forebay_daemon::Start;
use forebay_journal::Sync;
use forebay_p4runtime::Settings;
use std::path::PathBuf;
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
    /// Keep also the entries that packets have added, with the time-outs, numbers and shares that they have: saved with what packets have written
    #[arg(long, requires = "save_state")]
    pub save_learned: bool,
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
        let sync = if self.save_unsynced { Sync::System } else { Sync::Disk };
        Ok(start.keep_in(folder, sync, settings, Box::new(output::warning))?)
    }

    /// Time between snapshots.
    pub fn period(&self) -> Duration {
        Duration::from_secs_f64(self.save_interval.max(0.01))
    }
}
