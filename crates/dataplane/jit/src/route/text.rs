//! The fast path as text, for people: `forebay build --emit specialised`.
//!
//! ```text
//! node 0:
//!   extract hdr.ethernet
//!   select (hdr.ethernet.ether_type) {
//!     (0x800w16) => node 2
//!     default => node 1
//!   }
//! …
//! path 1, after ethernet, ipv4: in place
//!   0 (ingress):
//!     apply ingress.routes -> 1; after an exit 1
//!   1 (ingress):
//!     decide; then 2
//! ```
//!
//! Nodes are those of the parser's tree ([`super::plan`]), each path has the blocks of its [`Flow`] after all passes.

use super::flow::{Flow, Joint, Stage};
use super::plan::{Leaf, Next, Node, NodeId, Plan};
use super::{Order, Route};
use crate::analysis::CursorFact;
use forebay_ir::text::ExprPrinter;
use forebay_ir::{BlockId, Program, SelectCase, Terminator};
use std::fmt::Write;

impl Route {
    /// The specialised code of a program as text: the parser's tree, and for each path through it what follows. `None`
    /// when the program [has no fast path](Route::is_blocked).
    pub fn text(&self, program: &Program, step_limit: u64) -> Option<String> {
        if self.is_blocked(program, step_limit) {
            return None;
        }
        let plan = Plan::new(program, self, Order::Cached, step_limit, &[], &mut |_| ());
        let printer = Printer {
            route: self,
            plan: &plan,
            names: ExprPrinter::new(program),
            text: String::new(),
        };
        Some(printer.print())
    }
}

struct Printer<'a> {
    route: &'a Route,
    plan: &'a Plan,
    names: ExprPrinter<'a>,
    text: String,
}

impl Printer<'_> {
    fn print(mut self) -> String {
        let (paths, left_out) = (self.plan.leaves.len(), self.plan.left_out.len());
        self.line(
            0,
            &format!(
                "# {paths} paths through the parser; {left_out} more, also of packets that are rejected or end early, are compiled \
                 when packets take them"
            ),
        );
        for (index, node) in self.plan.nodes.iter().enumerate() {
            self.line(0, &format!("\nnode {index}:"));
            self.node(node);
        }
        for (index, leaf) in self.plan.leaves.iter().enumerate() {
            let heading = self.heading(leaf);
            self.line(0, &format!("\npath {index}{heading}"));
            let names = ExprPrinter::new(&leaf.program);
            self.flow(&leaf.flow, &names);
        }
        self.text
    }

    /// Appends lines, indented by `level` levels.
    fn line(&mut self, level: usize, text: &str) {
        for line in text.split('\n') {
            writeln!(self.text, "{:indent$}{line}", "", indent = 2 * level).expect("memory");
        }
    }

    fn node(&mut self, node: &Node) {
        let parser = self.route.parser;
        for planned in &node.statements {
            let position = match planned.cursor {
                CursorFact::At(bit) => format!(" # at bit {bit}"),
                CursorFact::Aligned(_) | CursorFact::Anywhere => String::new(),
            };
            let op = self.names.op(&planned.op, parser);
            self.line(1, &format!("{op}{position}"));
        }
        let next = self.next(&node.next);
        self.line(1, &next);
    }

    fn next(&self, next: &Next) -> String {
        let here = Some(self.route.parser);
        match next {
            Next::Branch {
                condition,
                then_node,
                else_node,
            } => {
                let condition = self.names.expr(condition, here);
                format!("branch {condition}, {}, {}", node(*then_node), node(*else_node))
            }
            Next::Select { keys, cases, default } => {
                let keys: Vec<String> = keys.iter().map(|key| self.names.expr(key, here)).collect();
                let mut text = format!("select ({}) {{\n", keys.join(", "));
                for (keysets, target) in cases {
                    let case = SelectCase {
                        keysets: keysets.clone(),
                        target: BlockId(0),
                    };
                    writeln!(text, "  {} => {}", self.names.case(&case, here), node(*target)).expect("memory");
                }
                text + &format!("  default => {}\n}}", node(*default))
            }
            Next::HasBits {
                end,
                then_node,
                else_node,
            } => format!("has {end} bits, {}, {}", node(*then_node), node(*else_node)),
            Next::Leaf(path) => format!("path {path}"),
            Next::BailOut(reason) => format!("general code: {}", reason.words()),
            Next::LeftOut(reason, _) => format!("general code, until compiled: {}", reason.words()),
        }
    }

    /// What is known of a path's packets.
    fn heading(&self, leaf: &Leaf) -> String {
        let names = |headers: &[forebay_ir::HeaderId]| {
            let names: Vec<String> = headers.iter().map(|header| self.names.header(*header)).collect();
            names.join(", ")
        };
        let mut text = match names(&leaf.extracted) {
            none if none.is_empty() => ": no header".to_owned(),
            headers => format!(": {headers}"),
        };
        if leaf.in_place {
            text += "; fields are changed in the packet";
        }
        match &leaf.emitted {
            Some(emitted) => text += &format!("; emits {}", names(emitted)),
            None => text += "; the deparser has conditions",
        }
        text
    }

    fn flow(&mut self, flow: &Flow, names: &ExprPrinter<'_>) {
        let stages = flow.stages();
        for (id, block) in flow.blocks.iter().enumerate() {
            let stage = match stages[id] {
                Stage::Verification => "checksums",
                Stage::Ingress => "ingress",
                Stage::Egress if block.copies.is_some() => "egress of a copy",
                Stage::Egress => "egress",
            };
            self.line(1, &format!("block {id} ({stage}):"));
            for statement in &block.block.statements {
                self.line(2, &names.op(&statement.op, self.route.ingress));
            }
            if let Some(joint) = block.joint {
                self.line(2, &self.joint(joint, names));
            }
            let terminator = names.terminator(&block.block.terminator, self.route.ingress);
            let exit = block
                .exit
                .map_or(String::new(), |exit| format!(", after an exit block{}", exit.0));
            let ends = matches!(block.block.terminator, Terminator::Return);
            if !ends {
                self.line(2, &format!("{terminator}{exit}"));
            }
        }
    }

    /// What the architecture does where a block ends.
    fn joint(&self, joint: Joint, names: &ExprPrinter<'_>) -> String {
        let route = self.route;
        match joint {
            Joint::Verified => "checksums are verified".to_owned(),
            Joint::Decide { replicate } => {
                let dropped = format!(
                    "drop if {} = {}",
                    names.slot(route.ingress_drop.slot),
                    route.ingress_drop.value
                );
                let copies = replicate.map_or(String::new(), |block| format!("; copies of a group: block{}", block.0));
                format!("{dropped}{copies}; the port is {}", names.slot(route.egress_spec))
            }
            Joint::Replicate => "for each member of the group".to_owned(),
            Joint::Left => format!(
                "drop if {} = {}",
                names.slot(route.egress_drop.slot),
                route.egress_drop.value
            ),
            Joint::Deparse => "deparse, and send".to_owned(),
        }
    }
}

fn node(id: NodeId) -> String {
    format!("node {}", id.0)
}
