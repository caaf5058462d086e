//! The forwarding state in a folder: it is there again after the switch was killed.

use crate::error::Error;
use crate::start::Start;
use forebay_journal::{Recovered, Store, Sync};
use forebay_p4runtime::{Device, Event, Keeper, Now, Settings};
use forebay_ports::Clock;
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
            keeper: Some(FolderKeeper {
                store,
                tell,
                clock: None,
            }),
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
    if device.is_carried_over() {
        tell(&format!(
            "{}: the program has changed since this state was saved; the state was written to the new one",
            folder.display()
        ));
    }
    let pipeline = device.pipeline().map_or(start.pipeline, Arc::clone);
    Ok(Start {
        pipeline,
        restored: Some(device),
        ..start
    })
}

/// Keeps state in a folder.
pub(crate) struct FolderKeeper {
    store: Store,
    tell: Tell,
    /// The clock of packets, and its time when they began.
    pub(crate) clock: Option<(Clock, u64)>,
}

impl Keeper for FolderKeeper {
    fn keep(&mut self, batch: &[u8]) -> Result<(), String> {
        self.store.append(batch).map_err(|error| error.to_string())
    }

    fn keep_all(&mut self, state: &[u8]) -> Result<(), String> {
        // Registers were read before: no time in them is later.
        let now_ns = self
            .clock
            .map_or(0, |(clock, start_ns)| clock.now_ns().saturating_sub(start_ns));
        let kept = self.store.snapshot_with(state, &forebay_p4runtime::clock(now_ns));
        kept.map_err(|error| error.to_string())
    }

    fn takes_batches(&self) -> bool {
        self.store.takes_batches()
    }

    fn tell(&mut self, event: &Event) {
        (self.tell)(&event.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::tests::PROGRAM;
    use std::fs;

    fn kept_in(folder: &Path) -> Start {
        let start = Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program");
        let kept = start.keep_in(folder, Sync::System, Settings::default(), Box::new(|_| {}));
        kept.expect("a folder that can be used")
    }

    #[test]
    fn the_time_of_packets_goes_on_from_what_was_kept() {
        const RAN_NS: u64 = 5_000_000_000;
        let folder = std::env::temp_dir().join(format!("forebay-time-of-packets-{}", std::process::id()));
        let mut first = kept_in(&folder);
        assert_eq!(first.clock_ns(), 0);
        let clock = Clock::start();
        let keeper = first.keeper.as_mut().expect("it was just made");
        keeper.clock = Some((clock, clock.now_ns() - RAN_NS));
        drop(first.device(Settings::default()).expect("the state can be kept"));
        drop(first);
        let again = kept_in(&folder).clock_ns();
        fs::remove_dir_all(&folder).expect("the folder is there");
        assert!((RAN_NS..2 * RAN_NS).contains(&again), "{again}");
    }
}
