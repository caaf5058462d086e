//! What the state machine needs of the data plane.

use crate::session::Session;
use crate::wire::{OuterHeader, Refusal, Usage};

/// The data plane that sessions are carried out by.
pub trait UserPlane {
    /// Packets meet the rules of `after` in place of those of `before`; none is a session that does not exist. URRs
    /// that are new count from zero.
    ///
    /// # Errors
    /// When it cannot be done. Packets meet `before` then.
    fn change(&mut self, before: Option<&Session>, after: Option<&Session>) -> Result<(), Refusal>;

    /// What the counters of URRs are, which are named by their numbers; in the same order.
    ///
    /// # Errors
    /// If the data plane cannot be read.
    fn counters(&mut self, urrs: &[u32]) -> Result<Vec<Usage>, String>;

    /// Sends end markers into tunnels that packets have left.
    fn send_end_markers(&mut self, tunnels: &[OuterHeader]);

    /// Forgets the packets that are kept for a session.
    fn drop_buffered(&mut self, session: &Session);
}
