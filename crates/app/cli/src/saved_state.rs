//! `--save-state DIR`: the forwarding state is there again after the switch was killed.

use crate::output;
use anyhow::{Context, Result, bail};
use forebay_daemon::Start;
use forebay_journal::Sync;
use forebay_p4runtime::Settings;
use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};
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
    /// Keep also the entries that packets have added, with the time-outs, numbers and shares that they have: saved with
    /// what packets have written
    #[arg(long, requires = "save_state")]
    pub save_learned: bool,
    /// When the program has changed since the state was saved, write the state to the new one, as RECONCILE_AND_COMMIT
    /// does: what it has no place for ends the switch. Without it, a program with another P4Info does
    #[arg(long, requires = "save_state")]
    pub save_reconcile: bool,
    /// Leave it to the system when what was saved is on the disk: it survives the end of the switch, not of the machine
    #[arg(long, requires = "save_state")]
    pub save_unsynced: bool,
}

impl SaveOptions {
    /// Opens the folder, if there is one to be used. What is found in it takes the place of the program to begin with.
    /// `user` is the user that the switch becomes later, if any; a new folder is given to that user.
    ///
    /// # Errors
    /// When the folder cannot be used, is damaged, belongs to a third user, or holds the state of another program.
    pub fn open(&self, settings: Settings, start: Start, user: Option<&str>) -> Result<Start> {
        let Some(folder) = &self.save_state else {
            return Ok(start);
        };
        forebay_files::check_folder(folder).context("--save-state")?;
        let owner = user.map(|name| Owner::of(name, folder)).transpose()?;
        let sync = if self.save_unsynced { Sync::System } else { Sync::Disk };
        let start = start.keep_in(folder, sync, settings, Box::new(output::warning))?;
        if let Some(owner) = owner {
            owner.take(folder)?;
        }
        Ok(start)
    }

    /// Gives the user that the switch becomes, if any, what has been saved since [`SaveOptions::open`].
    ///
    /// # Errors
    /// When there is no such user, or the system refuses.
    pub fn give_to(&self, user: Option<&str>) -> Result<()> {
        match (&self.save_state, user) {
            (Some(folder), Some(name)) => Owner::of(name, folder)?.take(folder),
            _ => Ok(()),
        }
    }

    /// Time between snapshots.
    pub fn period(&self) -> Duration {
        Duration::from_secs_f64(self.save_interval.max(0.01))
    }
}

/// Whose a folder is to be.
struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    /// The user of this name, who must own the folder if it is there.
    fn of(name: &str, folder: &Path) -> Result<Owner> {
        let found = forebay_ports::user_ids(name).with_context(|| format!("--user: cannot look for `{name}`"))?;
        let (user, group) = found.with_context(|| format!("--user: there is no user `{name}`"))?;
        if fs::metadata(folder).is_ok_and(|folder| folder.uid() != user) {
            let folder = folder.display();
            bail!(
                "--save-state: {folder} is not of `{name}` (--user), who could not write to it: chown -R {name} {folder}"
            );
        }
        Ok(Owner { user, group })
    }

    /// Gives the folder and the files of state in it to the user.
    fn take(&self, folder: &Path) -> Result<()> {
        let is_ours = |name: &str| name == "lock" || name.starts_with("snapshot-") || name.starts_with("log-");
        let files = fs::read_dir(folder)?.filter_map(Result::ok);
        let files = files.filter(|file| file.file_name().to_str().is_some_and(is_ours));
        let all = files.map(|file| file.path()).chain([folder.to_path_buf()]);
        for path in all {
            lchown(&path, Some(self.user), Some(self.group))
                .with_context(|| format!("--save-state: cannot give {} to the user", path.display()))?;
        }
        Ok(())
    }
}
