//! Splits deparsers into the list of headers that they emit, and everything else that they do.

use super::Refusal;
use forebay_ir::{Block, Body, HeaderId, Op, Program, SlotId, Terminator};
use std::collections::BTreeSet;

/// What a deparser does.
pub(super) struct Deparsed {
    /// The headers that it emits if they are valid, in order.
    pub(super) emitted: Vec<HeaderId>,
    /// Everything else that the deparser does.
    pub(super) blocks: Vec<Block>,
}

impl Deparsed {
    /// A deparser that emits the same headers on all its paths, and does not change them afterwards.
    pub(super) fn of(program: &Program, body: &Body) -> Result<Deparsed, Refusal> {
        let order = order(body)?;
        let mut emitted = Vec::new();
        let mut final_slots: BTreeSet<SlotId> = BTreeSet::new();
        let mut blocks = body.blocks.clone();
        for index in order {
            let block = &mut blocks[index];
            for statement in &block.statements {
                if let Op::Emit { header } = statement.op {
                    if !is_on_all_paths(body, index) {
                        return Err(Refusal::new(statement.location, "emits headers on a condition"));
                    }
                    if emitted.contains(&header) {
                        return Err(Refusal::new(statement.location, "emits a header twice"));
                    }
                    emitted.push(header);
                    final_slots.extend(program.headers[header.index()].slots());
                    continue;
                }
                if statement
                    .op
                    .slots_written(program)
                    .iter()
                    .any(|slot| final_slots.contains(slot))
                {
                    return Err(Refusal::new(
                        statement.location,
                        "changes a header that is emitted already",
                    ));
                }
            }
            block
                .statements
                .retain(|statement| !matches!(statement.op, Op::Emit { .. }));
        }
        Ok(Deparsed { emitted, blocks })
    }
}

/// The blocks in topological order.
fn order(body: &Body) -> Result<Vec<usize>, Refusal> {
    let mut finished = Vec::new();
    let mut seen = vec![false; body.blocks.len()];
    let mut open = vec![false; body.blocks.len()];
    let mut path = vec![(0, body.blocks[0].terminator.successors())];
    (seen[0], open[0]) = (true, true);
    while let Some((index, successors)) = path.last_mut() {
        match successors.pop() {
            Some(next) if open[next.index()] => {
                let location = body.blocks[next.index()].location;
                return Err(Refusal::new(location, "is in a loop of a deparser"));
            }
            Some(next) if !seen[next.index()] => {
                (seen[next.index()], open[next.index()]) = (true, true);
                path.push((next.index(), body.blocks[next.index()].terminator.successors()));
            }
            Some(_) => {}
            None => {
                open[*index] = false;
                finished.push(*index);
                path.pop();
            }
        }
    }
    finished.reverse();
    Ok(finished)
}

/// Whether every path through a body without loops reaches a block.
fn is_on_all_paths(body: &Body, wanted: usize) -> bool {
    let mut seen = vec![false; body.blocks.len()];
    let mut pending = vec![0];
    while let Some(index) = pending.pop() {
        if index == wanted || std::mem::replace(&mut seen[index], true) {
            continue;
        }
        let terminator = &body.blocks[index].terminator;
        if matches!(terminator, Terminator::Return | Terminator::Exit) {
            return false;
        }
        pending.extend(terminator.successors().iter().map(|next| next.index()));
    }
    true
}
