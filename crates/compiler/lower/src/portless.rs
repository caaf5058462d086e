//! Programs that choose no port. In v1model their packets leave by port 0, which is what `egress_spec` is at first; in
//! PSA and PNA they are dropped, which is what ingress and the main control begin with.
//!
//! A program that drops in this control itself is left out, since it may drop everything; so is one that chooses a port
//! only for some packets, and one for PSA whose ingress clones: its packets leave as clones, by the ports of a session.

use crate::architecture;
use crate::lost::operations;
use forebay_bits::Bits;
use forebay_check::hir;
use forebay_ir::{Architecture, Expr, Op, Program, Role, SlotId};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;

/// What becomes of a packet after ingress, in PNA after the main control.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It leaves by a port or for a group. In PNA also: it goes round again, or a copy of it leaves.
    Sent,
    Dropped,
}

/// A warning for a program of which no packet is given a port.
pub fn warning(program: &hir::Program, lowered: &Program) -> Option<Diagnostic> {
    let fate: fn(&Program, &Op) -> Option<Fate> = match lowered.architecture {
        Architecture::V1Model => of_v1model,
        Architecture::Psa => of_psa,
        Architecture::Pna => of_pna,
    };
    let role = match lowered.architecture {
        Architecture::V1Model | Architecture::Psa => Role::Ingress,
        Architecture::Pna => Role::MainControl,
    };
    let chooses = &lowered.bodies[lowered.stages.get(&role)?.index()];
    let mut all = lowered.bodies.iter().flat_map(operations);
    if all.any(|op| fate(lowered, op) == Some(Fate::Sent))
        || operations(chooses).any(|op| fate(lowered, op) == Some(Fate::Dropped))
    {
        return None;
    }
    let mut all = lowered.bodies.iter().flat_map(operations);
    let may_drop = all.any(|op| fate(lowered, op) == Some(Fate::Dropped));
    let (message, hint) = match (lowered.architecture, may_drop) {
        (Architecture::Psa, _) => (
            "no packet is given a port: every packet is dropped, as ingress of PSA does unless it is told otherwise",
            "choose a port in ingress: `send_to_port(ostd, PORT);`",
        ),
        (Architecture::Pna, _) => (
            "no packet is given a port: every packet is dropped, as PNA does unless the main control calls `send_to_port`",
            "choose a port in the main control: `send_to_port(PORT);`",
        ),
        (_, true) => (
            "nothing writes `egress_spec` or `mcast_grp`: every packet that is not dropped leaves by port 0",
            V1MODEL_HINT,
        ),
        (_, false) => (
            "nothing writes `egress_spec` or `mcast_grp`: every packet leaves by port 0",
            V1MODEL_HINT,
        ),
    };
    let (_, main) = architecture::main_package(program)?;
    let span = program.instances[main.index()].span;
    Some(Diagnostic::warning(codes::NO_PORT_CHOSEN, span, message).hint(hint))
}

const V1MODEL_HINT: &str = "choose a port in ingress: `standard_metadata.egress_spec = PORT;`";

/// What an operation makes of a packet in v1model. `mark_to_drop` assigns the drop port, which has a one in each bit, and
/// no group.
fn of_v1model(program: &Program, op: &Op) -> Option<Fate> {
    let (slot, constant) = written(op)?;
    let is = |name: &str| program.intrinsic.get(name) == Some(&slot);
    if is("egress_spec") {
        let drops = constant.is_some_and(|port| port.not().is_zero());
        return Some(if drops { Fate::Dropped } else { Fate::Sent });
    }
    let is_of_no_group = constant.is_some_and(Bits::is_zero);
    (is("mcast_grp") && !is_of_no_group).then_some(Fate::Sent)
}

/// What an operation makes of a packet in PSA: with `drop` it is dropped, whatever else ingress has decided, except that
/// its clone leaves.
fn of_psa(program: &Program, op: &Op) -> Option<Fate> {
    let (slot, constant) = written(op)?;
    let is = |name: &str| program.intrinsic.get(name) == Some(&slot);
    let is_false = constant.is_some_and(Bits::is_zero);
    if is("psa_ingress_output_metadata.drop") {
        let drops = constant.is_some() && !is_false;
        return Some(if drops { Fate::Dropped } else { Fate::Sent });
    }
    (is("psa_ingress_output_metadata.clone") && !is_false).then_some(Fate::Sent)
}

/// What an operation makes of a packet in PNA: the functions of the architecture write what they ask for into slots.
fn of_pna(program: &Program, op: &Op) -> Option<Fate> {
    let (slot, constant) = written(op)?;
    let (name, _) = program.intrinsic.iter().find(|(_, own)| **own == slot)?;
    match name.as_str() {
        "pna.fate" if constant.is_some_and(Bits::is_zero) => Some(Fate::Dropped),
        "pna.fate" => Some(Fate::Sent),
        name if name.starts_with("pna.mirror_") => Some(Fate::Sent),
        _ => None,
    }
}

/// The slot that an operation writes, and the constant that it writes there, if it is one.
fn written(op: &Op) -> Option<(SlotId, Option<&Bits>)> {
    match op {
        Op::Assign {
            slot,
            value: Expr::Const(value),
        } => Some((*slot, Some(value))),
        op => Some((op.target()?, None)),
    }
}
