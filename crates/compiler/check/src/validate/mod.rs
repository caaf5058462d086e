//! Properties of whole declarations, checked when their parts are.

mod flow;
mod names;
mod never_valid;
mod returns;
mod states;
mod unused;
mod written;

pub(crate) use returns::always_returns;
pub(crate) use unused::Uses;

use crate::checker::Checker;
use crate::hir::{Control, Program, Type};

impl Checker {
    /// Checks what can only be seen of the whole program. What an erroneous statement would have written is not known.
    pub(crate) fn validate(&mut self) {
        self.check_control_plane_names();
        if !self.diagnostics.has_errors() {
            self.check_out_params();
            self.check_flow();
            self.check_never_valid();
            self.check_states();
            self.check_uses();
        }
    }
}

/// The structures of metadata that the deparsers of PSA get.
const TOLD_TO_DEPARSERS: [&str; 2] = ["psa_ingress_output_metadata_t", "psa_egress_output_metadata_t"];

/// Whether a control is a deparser of PSA. Its out parameters are the metadata of clones, resubmitted and other
/// packets; each may be assigned only for the packets that take it along, so most paths leave it unset.
fn is_psa_deparser(program: &Program, control: &Control) -> bool {
    let params = control.params.iter();
    let types: Vec<&Type> = params.map(|param| &program.vars[param.var.index()].ty).collect();
    let writes_packet = types
        .iter()
        .any(|ty| matches!(ty, Type::Extern(id, _) if program.externs[id.index()].name == "packet_out"));
    let is_told = types.iter().any(|ty| match ty {
        Type::Composite(id, _) => TOLD_TO_DEPARSERS.contains(&program.composites[id.index()].name.as_str()),
        _ => false,
    });
    writes_packet && is_told
}
