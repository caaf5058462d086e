//! What a switch keeps in a folder, so that it is there again after `kill -9`.
//!
//! ```text
//!   DIR/snapshot-00000007   all of the state, as it was when the snapshot was made
//!   DIR/log-00000007        every batch of changes since then, one record each
//!   DIR/lock                held by the switch that uses the folder
//! ```
//!
//! The crate knows nothing of what it keeps: snapshots and batches are bytes.
//!
//! # What is guaranteed
//!
//! * When [`Store::append`] has returned, the batch is there after the process is killed; with [`Sync::Disk`] also after
//!   a power failure.
//! * A batch is there as a whole or not at all.
//! * A log whose last record is incomplete, since the process or the machine died while it was written, is cut off behind
//!   the last complete one, which [`Recovered::cut`] says. Nobody was told that such a batch was kept.
//! * Any other damage is an error that names the file and the offset. Nothing is loaded then.
//!
//! # How
//!
//! A new snapshot is written to a temporary file, brought to the disk and renamed, after its empty log is there; only
//! then the old ones go. So there is one complete snapshot with its log at every moment. Every record has a checksum of
//! its length and one of its content (`record`), so that a length that is damaged is not taken for the end of the file.

mod error;
mod record;
mod store;

pub use error::StateError;
pub use store::{Cut, Recovered, Store, Sync};
