//! Headers of a v1model program that the deparser emits in another order than that in which the parser extracts them:
//! what leaves is no packet that its receiver could read.
//!
//! Two headers are compared when one follows the other on each path of the parser that has both, and likewise in the
//! deparser. A header whose validity the program sets or copies is left out: it may stand where no packet that arrives
//! has it. So are programs that recirculate, which may exchange headers for their own next pass.

use crate::context::Context;
use crate::lost;
use forebay_ir::{Architecture, Body, HeaderId, Op, Role};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

/// Parsers and deparsers with more blocks are not looked at: the time grows with their square.
const BLOCKS_MAX: usize = 2000;

/// Programs with more headers, or elements of stacks, are not looked at, for the same reason.
const HEADERS_MAX: usize = 1000;

/// The headers that some path extracts, or emits, after each header.
type Later = BTreeMap<HeaderId, BTreeSet<HeaderId>>;

/// Warns of the first header that is emitted too early; others follow from it.
pub fn check(cx: &mut Context) {
    let stages = &cx.program.stages;
    let (Some(parser), Some(deparser)) = (stages.get(&Role::Parser), stages.get(&Role::Deparser)) else {
        return;
    };
    let [parser, deparser] = [parser, deparser].map(|stage| &cx.program.bodies[stage.index()]);
    let is_too_large = parser.blocks.len().max(deparser.blocks.len()) > BLOCKS_MAX
        || cx.extracted.len().max(cx.emitted.len()) > HEADERS_MAX;
    if cx.program.architecture != Architecture::V1Model || is_too_large || lost::recirculates(cx) {
        return;
    }
    if let Some((early, late, span)) = exchanged(cx, &later(parser, extracted), deparser) {
        let name = |header: HeaderId| &cx.program.headers[header.index()].name;
        let (early, late) = (name(early), name(late));
        let message = format!("`{early}` is emitted before `{late}`, but comes after it in packets that arrive");
        let hint = "emit headers in the order of the packet; `emit` of a struct takes them in the order of its fields";
        let warning = Diagnostic::warning(codes::EMITTED_TOO_EARLY, span, message).hint(hint);
        cx.diagnostics.push(warning);
    }
}

/// The first header that is emitted before one that it follows, that one, and where it is emitted.
fn exchanged(cx: &Context, extracted: &Later, deparser: &Body) -> Option<(HeaderId, HeaderId, Span)> {
    let moved = lost::moved(cx);
    let stays = |header: &HeaderId| !moved.contains(&cx.program.headers[header.index()].valid);
    let list: Vec<&(HeaderId, Span)> = cx.emitted.iter().filter(|(header, _)| stays(header)).collect();
    let order = LazyCell::new(|| later(deparser, emitted));
    list.iter().enumerate().find_map(|(index, (early, span))| {
        let after = &list[index + 1..];
        let late = after
            .iter()
            .find(|(late, _)| always_follows(extracted, *early, *late) && always_follows(&order, *late, *early))?;
        Some((*early, late.0, *span))
    })
}

/// Whether a header comes after another one on some path, and before it on none.
fn always_follows(later: &Later, header: HeaderId, other: HeaderId) -> bool {
    let follows = |one: HeaderId, other: HeaderId| later.get(&other).is_some_and(|later| later.contains(&one));
    follows(header, other) && !follows(other, header)
}

fn extracted(op: &Op) -> Option<HeaderId> {
    match op {
        Op::Extract { header, .. } => Some(*header),
        _ => None,
    }
}

fn emitted(op: &Op) -> Option<HeaderId> {
    match op {
        Op::Emit { header } => Some(*header),
        _ => None,
    }
}

/// What comes after each header that a body handles by such operations.
fn later(body: &Body, handled: fn(&Op) -> Option<HeaderId>) -> Later {
    let successors: Vec<Vec<usize>> = body
        .blocks
        .iter()
        .map(|block| {
            let mut terminator = block.terminator.clone();
            let targets = terminator.successors_mut();
            targets.into_iter().map(|target| target.index()).collect()
        })
        .collect();
    let found: Vec<Vec<HeaderId>> = body
        .blocks
        .iter()
        .map(|block| {
            let headers = block.statements.iter().filter_map(|statement| handled(&statement.op));
            headers.collect()
        })
        .collect();
    let mut later = Later::new();
    for (block, headers) in found.iter().enumerate().filter(|(_, headers)| !headers.is_empty()) {
        let reached = reachable(&successors, block);
        let beyond: BTreeSet<HeaderId> = reached.iter().flat_map(|block| &found[*block]).copied().collect();
        for (index, header) in headers.iter().enumerate() {
            let after = later.entry(*header).or_default();
            after.extend(&headers[index + 1..]);
            after.extend(&beyond);
        }
    }
    later
}

/// The blocks to which execution can come from one of them.
fn reachable(successors: &[Vec<usize>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut pending = successors[from].clone();
    while let Some(block) = pending.pop() {
        if reached.insert(block) {
            pending.extend(&successors[block]);
        }
    }
    reached
}
