//! Bodies as graphs in Graphviz's language.
//!
//! * A parser state is an ellipse with its name and operations; edges carry the select values, the final states are
//!   `accept` and `reject`.
//! * In a control, operations are a box, a table is a box of double lines with its name and key, a condition is a
//!   diamond with the expression; edges carry `true` and `false`.
//!
//! `dot -Tsvg` draws the result. Every name is escaped: no P4 name can break out of its label.

use crate::text::ExprPrinter;
use crate::{Block, Body, BodyId, BodyKind, Program, SelectCase, Table, TableId, Terminator};

/// The most operations of a block that are shown; the others are counted.
const MAX_OPERATIONS_SHOWN: usize = 12;

/// The graph of one body.
///
/// # Panics
///
/// If there is no such body, or a block it refers to is missing: verify the program first.
pub fn body_graph(program: &Program, id: BodyId) -> String {
    let body = &program.bodies[id.index()];
    let mut graph = Graph {
        program,
        printer: ExprPrinter::new(program),
        id,
        body,
        text: String::new(),
    };
    graph.draw();
    graph.text
}

struct Graph<'a> {
    program: &'a Program,
    printer: ExprPrinter<'a>,
    id: BodyId,
    body: &'a Body,
    text: String,
}

impl Graph<'_> {
    fn draw(&mut self) {
        self.text = format!("digraph {} {{\n", quoted(&self.body.name));
        self.line("node [fontname=\"monospace\", fontsize=10];");
        self.line("edge [fontname=\"monospace\", fontsize=9];");
        self.line("start [shape=point];");
        self.edge("start", &node(0), "");
        for (index, block) in self.body.blocks.iter().enumerate() {
            if self.body.kind == BodyKind::Parser {
                self.parser_block(index, block);
            } else {
                self.control_block(index, block);
            }
        }
        self.ends();
        self.text.push_str("}\n");
    }

    fn parser_block(&mut self, index: usize, block: &Block) {
        let mut lines = vec![block.label.clone().unwrap_or_else(|| format!("block{index}"))];
        lines.extend(self.operations(block));
        if let Terminator::Branch { condition, .. } = &block.terminator {
            lines.push(format!("{} ?", self.printer.expr(condition, Some(self.id))));
        }
        if let Terminator::Select { keys, .. } = &block.terminator {
            let keys: Vec<String> = keys.iter().map(|key| self.printer.expr(key, Some(self.id))).collect();
            lines.push(format!("select ({})", keys.join(", ")));
        }
        self.node(&node(index), "ellipse", &lines);
        self.edges(&node(index), &block.terminator);
    }

    /// A box for the operations, if there are any, then a node for a table or a condition.
    fn control_block(&mut self, index: usize, block: &Block) {
        let decision = match &block.terminator {
            Terminator::Apply { table, .. } => Some(("box, peripheries=2", self.table_lines(*table))),
            Terminator::Branch { condition, .. } => {
                Some(("diamond", vec![self.printer.expr(condition, Some(self.id))]))
            }
            Terminator::Select { keys, .. } => Some((
                "diamond",
                keys.iter().map(|key| self.printer.expr(key, Some(self.id))).collect(),
            )),
            _ => None,
        };
        let operations = self.operations(block);
        let last = match (&decision, operations.is_empty()) {
            (Some(_), false) => format!("{}_end", node(index)),
            _ => node(index),
        };
        if decision.is_none() || !operations.is_empty() {
            self.node(&node(index), "box", &operations);
        }
        if let Some((shape, lines)) = decision {
            if last != node(index) {
                self.edge(&node(index), &last, "");
            }
            self.node(&last, shape, &lines);
        }
        self.edges(&last, &block.terminator);
    }

    fn table_lines(&self, id: TableId) -> Vec<String> {
        let table: &Table = &self.program.tables[id.index()];
        let keys = table
            .keys
            .iter()
            .map(|key| format!("{}: {:?}", key.name, key.match_kind).to_lowercase());
        std::iter::once(format!("table {}", table.name)).chain(keys).collect()
    }

    fn operations(&self, block: &Block) -> Vec<String> {
        let shown = block.statements.iter().take(MAX_OPERATIONS_SHOWN);
        let mut lines: Vec<String> = shown.map(|statement| self.printer.op(&statement.op, self.id)).collect();
        if block.statements.len() > MAX_OPERATIONS_SHOWN {
            lines.push(format!("({} more)", block.statements.len() - MAX_OPERATIONS_SHOWN));
        }
        lines
    }

    fn edges(&mut self, from: &str, terminator: &Terminator) {
        match terminator {
            Terminator::Jump(next) | Terminator::Apply { next, .. } => self.edge(from, &node(next.index()), ""),
            Terminator::Branch {
                then_block, else_block, ..
            } => {
                self.edge(from, &node(then_block.index()), "true");
                self.edge(from, &node(else_block.index()), "false");
            }
            Terminator::Select { cases, default, .. } => {
                for case in cases {
                    let label = self.case_label(case);
                    self.edge(from, &node(case.target.index()), &label);
                }
                self.edge(from, &node(default.index()), "default");
            }
            Terminator::Return => self.edge(from, "return", ""),
            Terminator::Exit => self.edge(from, "exit", ""),
            Terminator::Reject(error) => {
                let label = self.printer.expr(error, Some(self.id));
                self.edge(from, "reject", &label);
            }
        }
    }

    /// `0x800`, or `(0x800, _)` for several keys.
    fn case_label(&self, case: &SelectCase) -> String {
        match case.keysets.as_slice() {
            [keyset] => self.printer.keyset(keyset, Some(self.id)),
            _ => self.printer.case(case, Some(self.id)),
        }
    }

    /// Adds the final nodes that the body uses.
    fn ends(&mut self) {
        let has = |wanted: fn(&Terminator) -> bool| self.body.blocks.iter().any(|block| wanted(&block.terminator));
        let returns = has(|terminator| matches!(terminator, Terminator::Return));
        let exits = has(|terminator| matches!(terminator, Terminator::Exit));
        let rejects = has(|terminator| matches!(terminator, Terminator::Reject(_)));
        let accept = if self.body.kind == BodyKind::Parser {
            "accept"
        } else {
            "end"
        };
        for (present, name, label) in [
            (returns, "return", accept),
            (exits, "exit", "exit"),
            (rejects, "reject", "reject"),
        ] {
            if present {
                self.node(name, "doubleoctagon", &[label.to_owned()]);
            }
        }
    }

    fn node(&mut self, name: &str, shape: &str, lines: &[String]) {
        self.line(&format!("{name} [shape={shape}, label={}];", label(lines)));
    }

    fn edge(&mut self, from: &str, to: &str, text: &str) {
        let label = if text.is_empty() {
            String::new()
        } else {
            format!(" [label={}]", quoted(text))
        };
        self.line(&format!("{from} -> {to}{label};"));
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(&format!("  {text}\n"));
    }
}

fn node(block: usize) -> String {
    format!("b{block}")
}

/// A label of several lines, aligned to the left when there is more than one.
fn label(lines: &[String]) -> String {
    match lines {
        [line] => quoted(line),
        _ => {
            let lines: String = lines.iter().map(|line| format!("{}\\l", escaped(line))).collect();
            format!("\"{lines}\"")
        }
    }
}

/// A string of the DOT language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Escapes quotes and backslashes, and replaces what would break the line or change the label's meaning.
fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            c if c.is_control() => result.push(' '),
            c => result.push(c),
        }
    }
    result
}
