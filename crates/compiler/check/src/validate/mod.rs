//! Properties of whole declarations, checked when their parts are.

mod flow;
mod names;
mod returns;
mod states;
mod written;

pub(crate) use returns::always_returns;

use crate::checker::Checker;

impl Checker {
    /// Checks what can only be seen of the whole program. What an erroneous statement would have written is not known.
    pub(crate) fn validate(&mut self) {
        self.check_control_plane_names();
        if !self.diagnostics.has_errors() {
            self.check_out_params();
            self.check_flow();
            self.check_endless_states();
        }
    }
}
