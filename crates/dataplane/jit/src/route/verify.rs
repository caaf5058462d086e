//! What holds for every [`Flow`], before and after each pass. Debug builds check it after each pass.
//!
//! * A block names blocks of the flow only, and no path through it comes back to a block.
//! * Every path passes [`Verified`](Joint::Verified), [`Decide`](Joint::Decide), [`Left`](Joint::Left) and
//!   [`Deparse`](Joint::Deparse) in this order, or ends early, at `Decide` or `Left`, where the packet is certain to be
//!   dropped. All paths to a block have passed the same.
//! * Copies are made after `Decide`: [`Replicate`](Joint::Replicate) follows nothing else. The blocks between it and
//!   the end of the path, and no others, name it in [`FlowBlock::copies`], except in a flow that has not been threaded.
//! * A block with a joint ends in a jump, or in a return where the path ends. Other blocks never end the path.
//! * A block that applies a table, and no other, has a successor after an action that exits.
//! * Operations, terminators and expressions are those of the program: [`forebay_ir::verify`](mod@forebay_ir::verify)
//!   accepts them as a body.

use super::flow::{Flow, FlowBlock, Joint};
use forebay_ir::verify::{Place, Rule};
use forebay_ir::{BlockId, Body, BodyId, BodyKind, Program, Terminator};

/// What a path has passed before a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Before {
    /// The last joint's number in the order of joints; `None` at the start.
    passed: Option<usize>,
    /// The block that makes copies, in a copy's path.
    copies: Option<BlockId>,
}

/// The order of the joints of a packet that is not copied.
const ORDER: [fn(Joint) -> bool; 4] = [
    |joint| joint == Joint::Verified,
    |joint| matches!(joint, Joint::Decide { .. }),
    |joint| joint == Joint::Left,
    |joint| joint == Joint::Deparse,
];
const DECIDE: usize = 1;
const LEFT: usize = 2;
const DEPARSE: usize = 3;

/// In debug builds, panics when the flow that a pass has made breaks a rule for blocks and joints.
pub(super) fn after(pass: &str, flow: &Flow, is_threaded: bool) {
    if cfg!(debug_assertions)
        && let Err(fault) = check(flow, is_threaded)
    {
        panic!("{pass}: {fault}");
    }
}

/// In debug builds, panics when the flow that the last pass has made breaks a rule for operations, terminators and
/// expressions.
pub(super) fn code_after(pass: &str, program: &Program, flow: &Flow) {
    if cfg!(debug_assertions)
        && let Err(error) = check_code(program, flow)
    {
        panic!("{pass}: {error}");
    }
}

/// The first violation of the rules for blocks and joints.
fn check(flow: &Flow, is_threaded: bool) -> Result<(), String> {
    names_exist(flow)?;
    let walk = flow.walk();
    if let Some(head) = walk.loops.first() {
        return Err(format!("block {}: a path leads back to it", head.0));
    }
    let mut before: Vec<Option<Before>> = vec![None; flow.blocks.len()];
    before[0] = Some(Before {
        passed: None,
        copies: None,
    });
    for id in walk.order {
        let block = flow.block(id);
        let here = before[id.index()].expect("blocks come after their predecessors");
        let fault = |text: String| Err(format!("block {}: {text}", id.0));
        if is_threaded && block.copies != here.copies {
            return fault(format!("is for copies of {:?}, not of {:?}", block.copies, here.copies));
        }
        let behind = match behind(id, block, here) {
            Ok(behind) => behind,
            Err(text) => return fault(text),
        };
        ends_as_it_should(block, behind).or_else(|text| fault(text.to_owned()))?;
        for next in block.successors() {
            let is_copy = matches!(block.joint, Some(Joint::Decide { replicate }) if replicate == Some(next));
            let is_replicate = flow.block(next).joint == Some(Joint::Replicate);
            if is_copy != is_replicate {
                return fault(format!("block {} makes copies, or is named as if it did", next.0));
            }
            let arrives = before[next.index()].get_or_insert(behind);
            if *arrives != behind && is_threaded {
                return fault(format!("block {} is reached after {arrives:?} and {behind:?}", next.0));
            }
        }
    }
    Ok(())
}

fn names_exist(flow: &Flow) -> Result<(), String> {
    for (block, number) in flow.blocks.iter().zip(0..) {
        if let Some(missing) = block
            .successors()
            .into_iter()
            .find(|next| next.index() >= flow.blocks.len())
        {
            return Err(format!("block {number}: there is no block {}", missing.0));
        }
    }
    Ok(())
}

/// What a path has passed after a block.
fn behind(id: BlockId, block: &FlowBlock, before: Before) -> Result<Before, String> {
    let Some(joint) = block.joint else { return Ok(before) };
    if joint == Joint::Replicate {
        let is_decided = before.passed == Some(DECIDE) && before.copies.is_none();
        let copies = Some(id);
        return if is_decided {
            Ok(Before { copies, ..before })
        } else {
            Err(format!("makes copies after {before:?}"))
        };
    }
    let next = before.passed.map_or(0, |passed| passed + 1);
    match ORDER.get(next) {
        Some(is_next) if is_next(joint) => Ok(Before {
            passed: Some(next),
            ..before
        }),
        _ => Err(format!("{joint:?} after {before:?}")),
    }
}

/// Whether the block ends in a jump, a return or a table as its joint requires; `behind` is what a path has passed
/// then.
fn ends_as_it_should(block: &FlowBlock, behind: Before) -> Result<(), &'static str> {
    let returns = matches!(block.block.terminator, Terminator::Return);
    match (block.joint, behind.passed) {
        (Some(_), Some(DEPARSE)) if !returns => Err("goes on after the deparser"),
        (Some(Joint::Replicate), _) if returns => Err("makes copies that end at once"),
        (Some(_), Some(DECIDE | LEFT | DEPARSE)) if returns => Ok(()),
        (Some(_), _) if !matches!(block.block.terminator, Terminator::Jump(_)) => Err("has a joint, and branches"),
        (None, _)
            if matches!(
                block.block.terminator,
                Terminator::Return | Terminator::Exit | Terminator::Reject(_)
            ) =>
        {
            Err("ends the path without a joint")
        }
        _ if block.exit.is_some() != matches!(block.block.terminator, Terminator::Apply { .. }) => {
            Err("has a successor after an action that exits, and no table, or the other way round")
        }
        _ => Ok(()),
    }
}

/// The first violation of the rules for operations, terminators and expressions.
fn check_code(program: &Program, flow: &Flow) -> Result<(), String> {
    let body = Body {
        name: "flow".to_owned(),
        kind: BodyKind::Control,
        blocks: flow.blocks.iter().map(|block| block.block.clone()).collect(),
    };
    let mut program = program.clone();
    let own = BodyId(program.bodies.len() as u32);
    program.bodies.push(body);
    // Bodies of several kinds are in a flow, and exits and copies have edges of their own.
    let matters = |rule| !matches!(rule, Rule::NotAllowedHere | Rule::UnreachableBlock);
    let is_own = |place: &Place| matches!(place, Place::Code { body, .. } if *body == own);
    let mut errors = forebay_ir::verify::verify(&program).into_iter();
    match errors.find(|error| is_own(&error.place) && matters(error.rule)) {
        None => Ok(()),
        Some(error) => Err(error.to_string()),
    }
}
