//! The architecture's graph: its references, its widths, and what may follow what on every path of a packet.

use super::{Place, Rule, Verifier};
use crate::pipeline::{Argument, End, Entry, Finish, GlueBlock, GlueOp, Graph, Mirror, MirrorFrame, Reason, Target};
use crate::{BlockId, Body, BodyId, BodyKind, Op, SlotId, SlotKind, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// What is known about a packet on a path through the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    /// It has left a queue.
    dequeued: bool,
    /// A parser has read from the frame.
    parsed: bool,
    /// A deparser has emitted, and no reframe has followed.
    deparsed: bool,
    /// A reframe has made a new frame on this side of the queue.
    reframed: bool,
    /// It is a copy, on this side of the queue.
    replica: bool,
    /// It is made by a mirror, on this side of the queue.
    mirrored: bool,
    /// Bodies may have sent digests that are not yet committed.
    uncommitted: bool,
}

impl Verifier<'_> {
    pub(super) fn graph(&mut self) {
        let Some(graph) = &self.program.graph else { return };
        let before = self.errors.len();
        self.labels(graph);
        for (entry, info) in &graph.entries {
            self.place = Place::Declaration("entry", format!("{entry:?}"));
            self.glue_block_id(graph, info.block);
            for slot in &info.preserved {
                self.slot_width(*slot);
            }
        }
        for block in &graph.blocks {
            self.place = Place::Declaration("glue block", block.label.clone());
            self.glue_block(graph, block);
        }
        self.requests_of_bodies();
        // Paths are followed only through references that exist.
        if self.errors.len() == before && self.has_no_cycle(graph) {
            self.ways(graph);
        }
    }

    fn labels(&mut self, graph: &Graph) {
        let distinct: BTreeSet<&String> = graph.blocks.iter().map(|block| &block.label).collect();
        self.require(distinct.len() == graph.blocks.len(), Rule::DuplicateName, || {
            "two glue blocks have one label".to_owned()
        });
    }

    fn glue_block_id(&mut self, graph: &Graph, block: BlockId) {
        self.in_range("glue block", block.0, graph.blocks.len());
    }

    fn glue_block(&mut self, graph: &Graph, block: &GlueBlock) {
        self.location(block.location);
        for op in &block.ops {
            self.glue_op(graph, op);
        }
        for target in block.end.successors() {
            self.glue_block_id(graph, target);
        }
        if let Some((entry, pairs)) = block.end.entries() {
            self.enters(graph, entry, pairs);
        }
        self.glue_end(&block.end);
    }

    fn glue_op(&mut self, graph: &Graph, op: &GlueOp) {
        match op {
            GlueOp::Set { slot, value } => {
                if let Some(width) = self.slot_width(*slot) {
                    self.expr_of_width("the value", value, width);
                }
            }
            GlueOp::Take { slot, .. } => drop(self.slot_width(*slot)),
            GlueOp::Reframe { truncate } => {
                if let Some(bytes) = truncate {
                    self.expr_of_width("a limit", bytes, 33);
                }
            }
            GlueOp::Mirror(Mirror {
                session, to, preserve, ..
            }) => {
                self.expr_of_width("a session", session, 32);
                let is_clone = matches!(to, Entry::CloneIngress | Entry::CloneEgress);
                self.require(is_clone, Rule::GraphEntry, || {
                    format!("a mirrored packet enters at {to:?}")
                });
                self.enters(graph, *to, preserve);
            }
            GlueOp::Clear(_) | GlueOp::Restore | GlueOp::Commit => {}
        }
    }

    /// Checks an entry at which packets continue with these values.
    fn enters(&mut self, graph: &Graph, entry: Entry, pairs: &[(SlotId, SlotId)]) {
        let info = graph.entries.get(&entry);
        self.require(info.is_some(), Rule::GraphEntry, || {
            format!("there is no entry {entry:?}")
        });
        for (from, to) in pairs {
            if let (Some(from), Some(to)) = (self.slot_width(*from), self.slot_width(*to)) {
                self.same_width("a preserved value", from, to);
            }
            let is_kept = info.is_none_or(|info| info.preserved.contains(to));
            self.require(is_kept, Rule::GraphPreserved, || {
                format!("{entry:?} does not preserve slot {}", to.0)
            });
        }
    }

    fn glue_end(&mut self, end: &End) {
        match end {
            End::Jump(_) => {}
            End::Branch { condition, .. } => self.expr_of_width("a condition", condition, 1),
            End::Select { key, cases, .. } => {
                let width = self.expr(key);
                for (value, _) in cases {
                    self.same_width("a case", value.width(), width.unwrap_or(value.width()));
                }
            }
            End::Run { body, reject, .. } => {
                if self.in_range("body", body.0, self.program.bodies.len()) {
                    let kind = self.program.bodies[body.index()].kind;
                    let fits = kind != BodyKind::Action && (kind == BodyKind::Parser) == reject.is_some();
                    self.require(fits, Rule::GraphRun, || {
                        format!("a {kind:?} runs, with `reject` or without")
                    });
                }
            }
            End::Replicate { target, each, .. } => {
                self.require(matches!(each, Entry::Replica(_)), Rule::GraphEntry, || {
                    format!("a copy enters at {each:?}")
                });
                if let Target::Group(group) = target {
                    self.expr(group);
                }
            }
            End::Suspend {
                port,
                class,
                length,
                resume,
                ..
            } => {
                self.require(matches!(resume, Entry::Dequeued(_)), Rule::GraphEntry, || {
                    format!("a packet leaves a queue for {resume:?}")
                });
                self.expr(port);
                self.expr(class);
                self.expr_of_width("a length", length, 32);
            }
            End::Finish(Finish::Transmit { port }) => drop(self.expr(port)),
            End::Finish(Finish::Drop(Reason { error, .. })) => {
                if let Some(slot) = error {
                    self.slot_width(*slot);
                }
            }
            End::Finish(Finish::Resubmit(_) | Finish::Recirculate(_)) => {}
        }
    }

    /// Checks that bodies name no slot of the graph.
    fn requests_of_bodies(&mut self) {
        let program = self.program;
        let is_request = |slot: SlotId| {
            let slot = program.slots.get(slot.index());
            slot.is_some_and(|slot| slot.kind == SlotKind::Request)
        };
        for body in &program.bodies {
            let mut named = false;
            for block in &body.blocks {
                for statement in &block.statements {
                    statement.op.for_each_slot_read(&mut |slot| named |= is_request(slot));
                    named |= statement.op.target().is_some_and(is_request);
                }
                for expr in block.terminator.exprs() {
                    expr.for_each_slot(&mut |slot| named |= is_request(slot));
                }
            }
            self.place = Place::Declaration("body", body.name.clone());
            self.require(!named, Rule::GraphRequest, || "it names a slot of the graph".to_owned());
        }
    }

    fn has_no_cycle(&mut self, graph: &Graph) -> bool {
        // 1 while the block's successors are followed, 2 afterwards.
        let mut marks = vec![0u8; graph.blocks.len()];
        let mut pending: Vec<(BlockId, bool)> = (0..graph.blocks.len() as u32).map(|id| (BlockId(id), false)).collect();
        while let Some((id, is_done)) = pending.pop() {
            let mark = &mut marks[id.index()];
            if is_done {
                *mark = 2;
                continue;
            }
            if *mark != 0 {
                continue;
            }
            *mark = 1;
            pending.push((id, true));
            for next in graph.block(id).end.successors() {
                if marks[next.index()] == 1 {
                    self.place = Place::Declaration("glue block", graph.block(next).label.clone());
                    self.report(Rule::GraphCycle, "a way leads from it back to it");
                    return false;
                }
                pending.push((next, false));
            }
        }
        true
    }

    /// Follows all paths from the entries at which packets arrive from outside.
    fn ways(&mut self, graph: &Graph) {
        let mut seen = BTreeSet::new();
        let outside = [Entry::Arrival, Entry::Resubmitted, Entry::Recirculated];
        let mut pending: Vec<(BlockId, Way)> = outside
            .iter()
            .filter_map(|entry| graph.entries.get(entry))
            .map(|info| (info.block, Way::default()))
            .collect();
        let mut sends = BTreeMap::new();
        while let Some((id, way)) = pending.pop() {
            if !seen.insert((id, way)) {
                continue;
            }
            let block = graph.block(id);
            self.place = Place::Declaration("glue block", block.label.clone());
            let mut way = way;
            for op in &block.ops {
                self.pass_op(graph, op, &mut way, &mut pending);
            }
            self.pass_end(graph, &block.end, way, &mut sends, &mut pending);
        }
    }

    fn pass_op(&mut self, graph: &Graph, op: &GlueOp, way: &mut Way, pending: &mut Vec<(BlockId, Way)>) {
        match op {
            GlueOp::Take { argument, .. } => {
                let exists = match argument {
                    Argument::ReplicaPort | Argument::ReplicaInstance => way.replica,
                    Argument::Session | Argument::SessionClass | Argument::SessionLimit => way.mirrored,
                    Argument::EgressPort
                    | Argument::Class
                    | Argument::EnqueueTimeUs
                    | Argument::EnqueueDepth
                    | Argument::DequeueDepth => way.dequeued,
                    _ => true,
                };
                self.require(exists, Rule::GraphArgument, || format!("there is no {argument:?} here"));
            }
            GlueOp::Reframe { .. } => {
                way.parsed = false;
                way.deparsed = false;
                way.reframed = true;
            }
            GlueOp::Mirror(mirror) => {
                let fits = match mirror.frame {
                    MirrorFrame::AsReceived | MirrorFrame::WithState => !way.reframed,
                    MirrorFrame::AsDeparsed => way.reframed,
                };
                self.require(fits, Rule::GraphFrame, || {
                    format!("there is no frame {:?} here", mirror.frame)
                });
                let mirrored = Way {
                    mirrored: true,
                    parsed: way.parsed && mirror.frame == MirrorFrame::WithState,
                    ..Way::default()
                };
                let block = graph.entries.get(&mirror.to).map(|info| info.block);
                pending.extend(block.map(|block| (block, mirrored)));
            }
            GlueOp::Commit => way.uncommitted = false,
            GlueOp::Set { .. } | GlueOp::Clear(_) | GlueOp::Restore => {}
        }
    }

    fn pass_end(
        &mut self,
        graph: &Graph,
        end: &End,
        mut way: Way,
        sends: &mut BTreeMap<BodyId, bool>,
        pending: &mut Vec<(BlockId, Way)>,
    ) {
        if let End::Run { body, .. } = end {
            self.pass_body(*body, &mut way);
            way.uncommitted |= *sends
                .entry(*body)
                .or_insert_with(|| sends_digests(self.program, &self.program.bodies[body.index()]));
        }
        let leaves = end.successors().is_empty() || matches!(end, End::Replicate { .. });
        self.require(!(leaves && way.uncommitted), Rule::GraphCommit, || {
            "digests are not committed".to_owned()
        });
        let next = match end {
            End::Replicate { .. } => {
                self.require(!way.replica, Rule::GraphReplica, || "copies of copies".to_owned());
                let replica = Way { replica: true, ..way };
                Some((end, replica))
            }
            End::Suspend { .. } => {
                self.require(!way.deparsed, Rule::GraphFrame, || {
                    "what the deparser emitted is lost in the queue".to_owned()
                });
                let dequeued = Way {
                    dequeued: true,
                    parsed: way.parsed,
                    ..Way::default()
                };
                Some((end, dequeued))
            }
            End::Finish(Finish::Transmit { .. }) => {
                self.require(way.dequeued, Rule::GraphFrame, || {
                    "a packet leaves without a queue".to_owned()
                });
                None
            }
            End::Finish(Finish::Resubmit(_)) => {
                let fits = !way.dequeued && !way.reframed;
                self.require(fits, Rule::GraphFrame, || "there is no frame as received".to_owned());
                None
            }
            _ => None,
        };
        let entered = next.and_then(|(end, way)| Some((graph.entries.get(&end.entries()?.0)?.block, way)));
        pending.extend(entered);
        pending.extend(end.successors().into_iter().map(|block| (block, way)));
    }

    fn pass_body(&mut self, body: BodyId, way: &mut Way) {
        match self.program.bodies[body.index()].kind {
            BodyKind::Parser => {
                self.require(!way.parsed, Rule::GraphRun, || {
                    "a parser runs where another one has read the frame".to_owned()
                });
                way.parsed = true;
            }
            BodyKind::Deparser => {
                self.require(!way.deparsed, Rule::GraphRun, || {
                    "a deparser runs before the frame is made of what another one emitted".to_owned()
                });
                way.deparsed = true;
            }
            BodyKind::Control | BodyKind::Action => {}
        }
    }
}

/// Whether a body, or an action of one of its tables, sends digests.
fn sends_digests(program: &crate::Program, body: &Body) -> bool {
    body.blocks.iter().any(|block| {
        let here = block
            .statements
            .iter()
            .any(|statement| matches!(statement.op, Op::Digest { .. }));
        here || match &block.terminator {
            Terminator::Apply { table, .. } => {
                let actions = program
                    .tables
                    .get(table.index())
                    .map_or(&[][..], |table| &table.actions);
                actions.iter().any(|listed| {
                    let action = program.actions.get(listed.action.index());
                    let body = action.and_then(|action| program.bodies.get(action.body.index()));
                    // Actions do not apply tables.
                    body.is_some_and(|body| {
                        let mut statements = body.statements();
                        statements.any(|statement| matches!(statement.op, Op::Digest { .. }))
                    })
                })
            }
            _ => false,
        }
    })
}
