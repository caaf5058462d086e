//! What a switch keeps in a folder, so that it is there again after `kill -9`.
//!
//! ```text
//!   DIR/snapshot-00000007   all of the state, as it was when the snapshot was made
//!   DIR/log-00000007        every batch of changes since then, one record each
//!   DIR/lock                held by the switch that uses the folder
//! ```
//!
//! To this crate, snapshots and batches are bytes. Files are readable and writable only by their owner (0600). A file
//! with any other name in the folder is left alone.
//!
//! # What is guaranteed
//!
//! * When [`Store::append`] has returned, the batch is there after the process is killed; with [`Sync::Disk`] also
//!   after a power failure. It also checks that the files still have their names, because they may have been removed.
//! * A batch is there as a whole or not at all.
//! * When a batch cannot be written, the store is *behind* its caller: it refuses every later batch until
//!   [`Store::snapshot`] has succeeded. So no batch follows a gap.
//! * The last record of a log may be incomplete, since the process or the machine died while it was written. It is left
//!   out, which [`Recovered::cut`] says; it was never acknowledged.
//! * Any other damage, and a file that is missing, is an error that names the file. Nothing is loaded then; [`Repair`]
//!   restores what can be.
//!
//! # How
//!
//! Snapshot and empty log are written to temporary files and brought to the disk; then the snapshot is renamed, then
//! the log, and the folder is brought to the disk in front of each step. Once the snapshot is renamed, it is the one
//! that is loaded, with the temporary log if the log has not been renamed yet. Old files are removed last. If a step
//! fails, the previous files remain. If it is unknown whether the step took effect, there are two generations with the
//! same state, and nothing is acknowledged before another attempt has succeeded. A file of which `fsync` has failed is
//! not used again: the kernel may have dropped what was to be written, and a second `fsync` would not say so. For the
//! same reason [`Store::open`] writes what it has read to new files.
//!
//! Every record has a checksum of its length and one of its content (`record`), so a damaged length is not mistaken for
//! the end of the file.
//!
//! All operations on files go through [`Files`]: the system's ([`SystemFiles`]), or a simulated disk in memory that
//! fails on request ([`memory`]). `tests/faults.rs` makes every operation of a session fail in every way.

#![forbid(unsafe_code)]

mod error;
mod files;
mod inspect;
mod log;
pub mod memory;
mod names;
mod record;
mod repair;
mod store;
mod system;

pub use error::StateError;
pub use files::{Files, Identity, Lock, LockMode, OpenFile};
pub use inspect::{FileReport, Generation, Inspection, Tail, inspect};
pub use log::Cut;
pub use repair::Repair;
pub use store::{Recovered, Store, Sync};
pub use system::SystemFiles;
