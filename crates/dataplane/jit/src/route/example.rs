//! Small programs and their routes, for tests.

use super::{Cloning, DropWhen, PassSet, Route};
use forebay_ir::{Architecture, BodyId, Program, Slot, SlotId, SlotKind};

/// A route through the bodies `P` (parser), `I` (ingress), `D` (deparser) and `E` (all others). Packets leave by the
/// port in the slot `port`.
pub(super) fn route(program: &Program, port: &str) -> Route {
    let body = |name: &str| {
        let index = program.bodies.iter().position(|body| body.name == name);
        BodyId(index.expect("it is there") as u32)
    };
    let dropped = DropWhen {
        slot: slot(program, port),
        value: 511,
    };
    Route {
        parser: body("P"),
        verify_checksum: body("E"),
        ingress: body("I"),
        egress: body("E"),
        compute_checksum: body("E"),
        deparser: body("D"),
        checksum_error: None,
        parser_error: None,
        egress_spec: slot(program, port),
        ingress_drop: dropped,
        egress_drop: dropped,
        requests: Vec::new(),
        sends_back: None,
        misses: None,
        counted_length: None,
        before_parser: Vec::new(),
        before_egress: Vec::new(),
        replication: None,
        fixed: Vec::new(),
        cloning: Cloning::default(),
        leaving: None,
        without: PassSet::NONE,
    }
}

/// A program with these local slots, by name and width.
pub(super) fn slots(slots: &[(&str, u32)]) -> Program {
    let mut program = Program::new(Architecture::V1Model);
    program.slots.extend(slots.iter().map(|(name, width)| Slot {
        name: name.to_string(),
        width: *width,
        signed: false,
        kind: SlotKind::Local,
    }));
    program
}

/// The slot with a name.
pub(super) fn slot(program: &Program, name: &str) -> SlotId {
    let index = program.slots.iter().position(|slot| slot.name == name);
    SlotId(index.expect("it is there") as u32)
}
