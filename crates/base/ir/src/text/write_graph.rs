//! The architecture's graph as text.

use super::names::{Keyword, plain_or_quoted};
use super::write_body::location;
use super::write_expr::{ExprPrinter, constant};
use crate::pipeline::{
    Clear, DropReason, End, Entry, Finish, GlueBlock, GlueOp, Graph, Mirror, MirrorFrame, Reason, Target,
};
use crate::{BlockId, Expr, SlotId};

/// Prints blocks of one graph.
struct GraphPrinter<'a> {
    exprs: &'a ExprPrinter<'a>,
    graph: &'a Graph,
}

impl ExprPrinter<'_> {
    /// The graph.
    pub(super) fn graph(&self, text: &mut String, graph: &Graph) {
        let printer = GraphPrinter { exprs: self, graph };
        text.push_str("graph {\n");
        for (entry, info) in &graph.entries {
            let preserves = match info.preserved.as_slice() {
                [] => String::new(),
                slots => format!(" preserves {{ {} }}", printer.slots(slots)),
            };
            let block = printer.label(info.block);
            text.push_str(&format!("entry {}{preserves} -> {block}\n", entry_name(*entry)));
        }
        for block in &graph.blocks {
            printer.block(text, block);
        }
        text.push_str("}\n");
    }
}

impl GraphPrinter<'_> {
    fn label(&self, block: BlockId) -> String {
        let label = self
            .graph
            .blocks
            .get(block.index())
            .map(|block| plain_or_quoted(&block.label));
        label.unwrap_or_else(|| format!("!{}", block.0))
    }

    fn expr(&self, expr: &Expr) -> String {
        self.exprs.expr(expr, None)
    }

    fn slots(&self, slots: &[SlotId]) -> String {
        let names: Vec<String> = slots.iter().map(|slot| self.exprs.slot(*slot)).collect();
        names.join(", ")
    }

    fn block(&self, text: &mut String, block: &GlueBlock) {
        text.push_str(&format!("{}:\n", plain_or_quoted(&block.label)));
        for op in &block.ops {
            text.push_str(&format!("  {}\n", self.op(op)));
        }
        text.push_str(&format!("  {}{}\n", self.end(&block.end), location(block.location)));
    }

    fn op(&self, op: &GlueOp) -> String {
        match op {
            GlueOp::Set { slot, value } => format!("{} = {}", self.exprs.slot(*slot), self.expr(value)),
            GlueOp::Take { slot, argument } => format!("{} = ${}", self.exprs.slot(*slot), argument.word()),
            GlueOp::Clear(Clear::Metadata) => "clear metadata".to_owned(),
            GlueOp::Clear(Clear::All) => "clear any".to_owned(),
            GlueOp::Restore => "restore".to_owned(),
            GlueOp::Reframe { truncate: None } => "reframe".to_owned(),
            GlueOp::Reframe { truncate: Some(bytes) } => format!("reframe truncate {}", self.expr(bytes)),
            GlueOp::Mirror(mirror) => self.mirror(mirror),
            GlueOp::Commit => "commit".to_owned(),
        }
    }

    fn mirror(&self, mirror: &Mirror) -> String {
        let Mirror {
            session,
            to,
            frame,
            preserve,
        } = mirror;
        format!(
            "mirror {} {} to {}{}",
            frame.word(),
            self.expr(session),
            entry_name(*to),
            self.preserve(preserve)
        )
    }

    /// ` preserve { from -> to, … }`, or nothing.
    fn preserve(&self, pairs: &[(SlotId, SlotId)]) -> String {
        let pair = |(from, to): &(SlotId, SlotId)| {
            if from == to {
                self.exprs.slot(*from)
            } else {
                format!("{} -> {}", self.exprs.slot(*from), self.exprs.slot(*to))
            }
        };
        match pairs {
            [] => String::new(),
            pairs => format!(
                " preserve {{ {} }}",
                pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
            ),
        }
    }

    fn end(&self, end: &End) -> String {
        match end {
            End::Jump(next) => format!("jump {}", self.label(*next)),
            End::Branch {
                condition,
                then_block,
                else_block,
            } => format!(
                "branch {}, {}, {}",
                self.expr(condition),
                self.label(*then_block),
                self.label(*else_block)
            ),
            End::Select { key, cases, default } => {
                let case = |(value, target): &(_, BlockId)| format!("{} => {} ", constant(value), self.label(*target));
                let cases: String = cases.iter().map(case).collect();
                format!(
                    "select ({}) {{ {cases}default => {} }}",
                    self.expr(key),
                    self.label(*default)
                )
            }
            End::Run { body, next, reject } => {
                let reject = reject.map_or(String::new(), |reject| format!(" reject {}", self.label(reject)));
                let body = self.exprs.names.bodies.symbol(body.0);
                format!("run {body} -> {}{reject}", self.label(*next))
            }
            End::Replicate { target, each, none } => {
                let target = match target {
                    Target::Group(group) => format!("group {}", self.expr(group)),
                    Target::Session => "session".to_owned(),
                };
                let none = none.map_or(String::new(), |none| format!(" none -> {}", self.label(none)));
                format!("replicate {target} to {}{none}", entry_name(*each))
            }
            End::Suspend {
                port,
                class,
                length,
                resume,
                preserve,
            } => format!(
                "suspend port {} class {} length {} to {}{}",
                self.expr(port),
                self.expr(class),
                self.expr(length),
                entry_name(*resume),
                self.preserve(preserve)
            ),
            End::Finish(finish) => self.finish(finish),
        }
    }

    fn finish(&self, finish: &Finish) -> String {
        match finish {
            Finish::Transmit { port } => format!("finish transmit port {}", self.expr(port)),
            Finish::Drop(Reason { error, otherwise }) => {
                let error = error.map_or(String::new(), |slot| format!(" error {}", self.exprs.slot(slot)));
                format!("finish drop {}{error}", otherwise.word())
            }
            Finish::Resubmit(pairs) => format!("finish resubmit{}", self.preserve(pairs)),
            Finish::Recirculate(pairs) => format!("finish recirculate{}", self.preserve(pairs)),
        }
    }
}

fn entry_name(entry: Entry) -> String {
    match entry {
        Entry::Arrival => "arrival".to_owned(),
        Entry::Resubmitted => "resubmitted".to_owned(),
        Entry::Recirculated => "recirculated".to_owned(),
        Entry::CloneIngress => "clone_ingress".to_owned(),
        Entry::CloneEgress => "clone_egress".to_owned(),
        Entry::Replica(number) => format!("replica {number}"),
        Entry::Dequeued(number) => format!("dequeued {number}"),
    }
}

impl Keyword for MirrorFrame {
    const WORDS: &'static [(Self, &'static str)] = &[
        (MirrorFrame::AsReceived, "as_received"),
        (MirrorFrame::AsDeparsed, "as_deparsed"),
        (MirrorFrame::WithState, "with_state"),
    ];
}

impl Keyword for DropReason {
    const WORDS: &'static [(Self, &'static str)] = &[
        (DropReason::Ingress, "ingress_drop"),
        (DropReason::Egress, "egress_drop"),
        (DropReason::NoMember, "no_multicast_member"),
    ];
}
