//! Liveness of the slots of a graph. It tells which slots have to be 0 at entries, and which values go with a packet that
//! leaves specialised code for a block of the graph.
//!
//! Liveness is propagated backwards through glue and bodies ([`crate::body_liveness`]).

use crate::analysis::solve;
use crate::body_liveness::{LiveAtEnds, live_before, read};
use forebay_ir::pipeline::{Argument, End, Entry, Finish, GlueOp, Graph, MirrorFrame, Target};
use forebay_ir::{BlockId, BodyId, BodyKind, IndexSet, Program};

/// The live slots of a graph.
#[derive(Debug)]
pub(crate) struct LiveSlots {
    /// By block: the slots that are live at its beginning.
    before: Vec<IndexSet>,
}

impl LiveSlots {
    pub(crate) fn of(program: &Program, graph: &Graph) -> LiveSlots {
        let nothing = vec![IndexSet::new(program.slots.len()); graph.blocks.len()];
        // A clone of a clone enters where its origin entered, so one round may not be enough.
        let before = solve(nothing, |id, before| {
            let finder = Finder { program, graph, before };
            let block = &graph.blocks[id];
            let mut live = finder.before_end(&block.end);
            block.ops.iter().rev().for_each(|op| finder.before_op(op, &mut live));
            live
        });
        LiveSlots { before }
    }

    /// The slots that are live at the beginning of a block.
    pub(crate) fn before(&self, block: BlockId) -> &IndexSet {
        &self.before[block.index()]
    }
}

struct Finder<'a> {
    program: &'a Program,
    graph: &'a Graph,
    /// The result so far, by block.
    before: &'a [IndexSet],
}

impl Finder<'_> {
    fn none(&self) -> IndexSet {
        IndexSet::new(self.program.slots.len())
    }

    fn before(&self, id: BlockId) -> &IndexSet {
        &self.before[id.index()]
    }

    fn before_entry(&self, entry: Entry) -> IndexSet {
        match self.graph.entries.get(&entry) {
            Some(info) => self.before(info.block).clone(),
            None => self.none(),
        }
    }

    fn before_op(&self, op: &GlueOp, live: &mut IndexSet) {
        match op {
            GlueOp::Set { slot, value } => {
                if live.contains(slot.index()) {
                    live.remove(slot.index());
                    read(value, live);
                }
            }
            GlueOp::Take { slot, argument } => {
                let was_live = live.contains(slot.index());
                live.remove(slot.index());
                if was_live && *argument == Argument::HeaderBytes {
                    self.read_header_lengths(live);
                }
            }
            GlueOp::Clear(clear) => {
                for (index, slot) in self.program.slots.iter().enumerate() {
                    if clear.concerns(&slot.kind) {
                        live.remove(index);
                    }
                }
            }
            GlueOp::Commit | GlueOp::Restore => {}
            GlueOp::Reframe { truncate } => truncate.iter().for_each(|limit| read(limit, live)),
            GlueOp::Mirror(mirror) => {
                read(&mirror.session, live);
                live.insert_slots(mirror.preserve.iter().map(|(from, _)| from));
                if mirror.frame == MirrorFrame::WithState {
                    live.extend(&self.before_entry(mirror.to));
                }
            }
        }
    }

    fn read_header_lengths(&self, live: &mut IndexSet) {
        for header in &self.program.headers {
            live.insert_slots([header.valid]);
            live.insert_slots(header.fields.iter().filter_map(|field| field.length));
        }
    }

    fn before_end(&self, end: &End) -> IndexSet {
        let mut live = self.none();
        match end {
            End::Jump(next) => live = self.before(*next).clone(),
            End::Branch {
                condition,
                then_block,
                else_block,
            } => {
                live = self.before(*then_block).clone();
                live.extend(self.before(*else_block));
                read(condition, &mut live);
            }
            End::Select { key, cases, default } => {
                live = self.before(*default).clone();
                for (_, target) in cases {
                    live.extend(self.before(*target));
                }
                read(key, &mut live);
            }
            End::Run { body, next, reject } => {
                let behind = self.before(*next);
                let rejected = reject.map_or(behind, |reject| self.before(reject));
                live = self.before_body(*body, behind, rejected);
            }
            End::Replicate { target, each, none } => {
                live = self.before_entry(*each);
                if let Some(none) = none {
                    live.extend(self.before(*none));
                }
                if let Target::Group(group) = target {
                    read(group, &mut live);
                }
            }
            End::Suspend {
                port,
                class,
                length,
                resume,
                preserve,
            } => {
                live = self.before_entry(*resume);
                [port, class, length].into_iter().for_each(|expr| read(expr, &mut live));
                live.insert_slots(preserve.iter().map(|(from, _)| from));
            }
            End::Finish(Finish::Transmit { port }) => read(port, &mut live),
            End::Finish(Finish::Drop(reason)) => live.insert_slots(reason.error),
            End::Finish(Finish::Resubmit(pairs) | Finish::Recirculate(pairs)) => {
                live.insert_slots(pairs.iter().map(|(from, _)| from));
            }
        }
        live
    }

    /// The slots that are live before a body, from those that are live after it.
    fn before_body(&self, body: BodyId, behind: &IndexSet, rejected: &IndexSet) -> IndexSet {
        let body = &self.program.bodies[body.index()];
        let ends = LiveAtEnds {
            returned: behind,
            exited: behind,
            rejected: (body.kind == BodyKind::Parser).then_some(rejected),
        };
        live_before(self.program, body, &ends)
    }
}
