//! Requests for clones by metadata of PSA and PNA, as operations that specialised code notes.

use super::clones;
use super::v1model::tell_clones;
use forebay_ir::{CloneKind, Expr, HeaderId, Location, Op, Program, SlotId, Statement, build};
use forebay_jit::route::Route;

/// The operation for a request.
pub(super) fn clone(program: &Program, kind: CloneKind, session: SlotId, list: Option<u32>) -> Op {
    Op::Clone {
        kind,
        session: build::resize(Expr::Slot(session), program.slot(session).width, 32, false),
        field_list: list.map(|list| build::constant(8, list.into())),
    }
}

/// Lets a route note clones that keep these slots, if there are clones.
pub(super) fn note(program: &mut Program, route: &mut Route, kept: Vec<SlotId>) {
    if route.clones(program) != [false; 2] {
        route.cloning.kept = Some(kept);
        route.cloning.from_egress = true;
        tell_clones(program, route);
    }
}

/// The first statement that may give a slot a value other than 0.
pub(super) fn place_of_request(program: &Program, slot: SlotId) -> Option<Location> {
    let asks = |statement: &&Statement| match &statement.op {
        Op::Assign {
            value: Expr::Const(value),
            ..
        } if value.is_zero() => false,
        op => op.slots_written(program).contains(&slot),
    };
    let mut statements = program.statements();
    statements.find(asks).map(|statement| statement.location)
}

/// Whether a frame that begins with these headers, before what the program's first parser has left, consists of whole
/// bytes.
pub(super) fn is_whole(program: &Program, emitted: &[HeaderId], route: &Route) -> bool {
    let header_is_whole = |id: &HeaderId| clones::is_whole(program, &program.headers[id.index()]);
    let mut parsing = program.bodies[route.parser.index()].statements();
    let mut all = emitted.iter();
    all.all(header_is_whole)
        && parsing.all(|statement| match &statement.op {
            Op::Extract { header, .. } => header_is_whole(header),
            Op::Advance {
                bits: Expr::Const(bits),
            } => bits.to_u64_saturating().is_multiple_of(8),
            Op::Advance { .. } => false,
            _ => true,
        })
}
