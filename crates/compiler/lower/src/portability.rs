//! Lints for what other targets of the same program refuse.
//!
//! The list is what p4c's back ends report: for BMv2 (`p4c-bm2-ss`, and what makes simple_switch stop), and for
//! Tofino, whose match-action stages support fewer operations. It examines the typed program as written, whether used
//! or not.

use forebay_check::hir::{
    Block, Call, Callee, CompositeId, Control, Expr, ExprKind, KeySet, Link, Local, Node, Program, State, Statement,
    StatementKind, TableId, Transition, Type, VarId, VarKind, calls, nodes,
};
use forebay_check::size::size_in_bits;
use forebay_syntax::ast::{BinaryOp, CompositeKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics};
use forebay_syntax::source::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Bytes that BMv2 keeps free in front of a packet.
const BMV2_HEADROOM: u64 = 512;

/// Bits of a key that Tofino can match by a range.
const TOFINO_RANGE_BITS: u32 = 20;

/// A target.
#[derive(Clone, Copy)]
enum Target {
    Bmv2,
    Tofino,
}

struct Lints<'a> {
    program: &'a Program,
    /// Where each table is applied.
    applied: BTreeMap<TableId, Vec<Span>>,
    /// Variables of loops with constant bounds: constants once the loops are unrolled.
    unrolled: BTreeSet<VarId>,
    found: Diagnostics,
}

/// Warns about what is not portable.
pub fn lints(program: &Program) -> Diagnostics {
    let mut lints = Lints {
        program,
        applied: BTreeMap::new(),
        unrolled: BTreeSet::new(),
        found: Diagnostics::new(),
    };
    for function in &program.functions {
        lints.nodes(function.body.iter().map(Node::Block));
    }
    for action in &program.actions {
        lints.action(&action.body);
    }
    for body in program.parsers.iter().filter_map(|parser| parser.body.as_ref()) {
        lints.nodes(body.locals.iter().filter_map(Local::value).map(Node::Expr));
        body.states.iter().for_each(|state| lints.parser_state(state));
    }
    for control in &program.controls {
        lints.control(control);
    }
    lints.tables();
    lints.headers();
    lints.header_sizes();
    lints.registers();
    lints.found
}

impl<'a> Lints<'a> {
    fn warn(&mut self, target: Target, span: Span, message: String, hint: &str) {
        let (code, name) = match target {
            Target::Bmv2 => (codes::NOT_ON_BMV2, "BMv2"),
            Target::Tofino => (codes::NOT_ON_TOFINO, "Tofino"),
        };
        let warning = Diagnostic::warning(code, span, format!("not portable to {name}: {message}"));
        self.found.push(warning.hint(hint));
    }

    fn nodes(&mut self, roots: impl IntoIterator<Item = Node<'a>>) {
        for node in nodes(roots) {
            match node {
                Node::Block(_) => {}
                Node::Statement(statement) => self.statement(statement),
                Node::Expr(expr) => self.expr(expr),
            }
        }
    }

    fn action(&mut self, body: &'a Block) {
        self.nodes([Node::Block(body)]);
        for node in nodes([Node::Block(body)]) {
            if let Node::Statement(statement) = node
                && matches!(statement.kind, StatementKind::Switch { .. })
            {
                let hint = "write it as `if` and `else`, or outside of the action";
                self.warn(Target::Bmv2, statement.span, "`switch` in an action".to_string(), hint);
            }
        }
    }

    fn parser_state(&mut self, state: &'a State) {
        self.nodes(state.children());
        self.parser_objects(state);
        if let Transition::Select { cases, .. } = &state.transition {
            let keysets = cases.iter().flat_map(|(keysets, ..)| keysets);
            keysets.for_each(|keyset| self.keyset(keyset));
        }
    }

    /// Objects that BMv2's parser cannot use.
    fn parser_objects(&mut self, state: &'a State) {
        for (call, span) in calls(state.children()) {
            let Callee::Method { extern_type, .. } = &call.callee else {
                continue;
            };
            let name = &self.program.externs[extern_type.index()].name;
            if !["packet_in", "InternetChecksum"].contains(&name.as_str()) {
                let message = format!("the use of a `{name}` in a parser");
                self.warn(Target::Bmv2, span, message, "use it in a control");
            }
        }
    }

    /// Conditions in a control that puts packets together.
    fn deparser(&mut self, apply: &'a Block) {
        for node in nodes([Node::Block(apply)]) {
            if let Node::Statement(statement) = node
                && matches!(
                    statement.kind,
                    StatementKind::If { .. } | StatementKind::Switch { .. } | StatementKind::SwitchAction { .. }
                )
            {
                let message = "a condition in a deparser".to_string();
                let hint = "make headers valid or invalid before; `emit` does nothing with invalid ones";
                self.warn(Target::Bmv2, statement.span, message, hint);
            }
        }
    }

    fn is_deparser(&self, control: &Control) -> bool {
        control
            .params
            .iter()
            .any(|param| match &self.program.vars[param.var.index()].ty {
                Type::Extern(id, _) => self.program.externs[id.index()].name == "packet_out",
                _ => false,
            })
    }

    /// Whether a value is a constant when the program has been elaborated and its loops are unrolled.
    fn is_known(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Bool(_) => true,
            ExprKind::Var(id) => {
                matches!(self.program.vars[id.index()].kind, VarKind::Constructor) || self.unrolled.contains(id)
            }
            ExprKind::Unary(_, operand) | ExprKind::Cast(operand) | ExprKind::Slice(operand, ..) => {
                self.is_known(operand)
            }
            ExprKind::Binary(first, links) => {
                self.is_known(first) && links.iter().all(|link| self.is_known(&link.right))
            }
            _ => false,
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let has_bounds = match &statement.kind {
            StatementKind::ForRange {
                variable, low, high, ..
            } => {
                let has_bounds = self.is_known(low) && self.is_known(high);
                self.unrolled.extend(has_bounds.then_some(*variable));
                has_bounds
            }
            StatementKind::For { condition, .. } => self.is_bounded(condition),
            _ => true,
        };
        if !has_bounds {
            let message = "a loop whose bounds are known only at run time".to_string();
            self.warn(
                Target::Bmv2,
                statement.span,
                message,
                "give it constant bounds, so that it can be unrolled",
            );
        }
    }

    /// Whether a loop with this condition compares with a constant, as with `i < 4`; then `i` is one in each round.
    fn is_bounded(&mut self, condition: &Expr) -> bool {
        let ExprKind::Binary(first, links) = &condition.kind else {
            return false;
        };
        let last = &links[links.len() - 1].right;
        let compared = match &links[..] {
            [_] if self.is_known(last) => Some(&**first),
            [_] if self.is_known(first) => Some(last),
            _ => None,
        };
        if let Some(ExprKind::Var(variable)) = compared.map(|compared| &compared.kind) {
            self.unrolled.insert(*variable);
        }
        compared.is_some() || self.is_known(last)
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(call) => {
                if let Callee::TableApply(table) = &call.callee
                    && let ExprKind::Table(id) = table.kind
                {
                    self.applied.entry(id).or_default().push(expr.span);
                }
            }
            ExprKind::Binary(first, links) => {
                let mut left = Some(&**first);
                for link in links {
                    if let Some((what, hint)) = self.unlike_tofino(left.take(), link) {
                        // p4c replaces powers of 2 by shifts and masks, and computes constants.
                        if matches!(link.op, BinaryOp::Div | BinaryOp::Mod) {
                            self.warn(Target::Bmv2, link.span, what.to_string(), hint);
                        }
                        self.warn(Target::Tofino, link.span, what.to_string(), hint);
                    }
                }
            }
            ExprKind::Index(base, index) if !self.is_known(index) => {
                if matches!(base.ty, Type::Stack(..)) {
                    let message = "an index that is known only at run time".to_string();
                    self.warn(Target::Tofino, expr.span, message, "use constants as indices");
                }
            }
            _ => {}
        }
    }

    fn keyset(&mut self, keyset: &KeySet) {
        let value = match keyset {
            KeySet::Value(value) | KeySet::Mask(value, _) => value,
            _ => return,
        };
        if matches!(value.kind, ExprKind::Var(_) | ExprKind::Field(..)) && !self.is_known(value) {
            let message = "a case of a `select` that is known only at run time".to_string();
            self.warn(
                Target::Bmv2,
                value.span,
                message,
                "write a constant, or use a value set",
            );
        }
    }

    fn control(&mut self, control: &'a Control) {
        let Some(body) = &control.body else { return };
        self.nodes(body.locals.iter().filter_map(Local::value).map(Node::Expr));
        self.nodes([Node::Block(&body.apply)]);
        if self.is_deparser(control) {
            self.deparser(&body.apply);
        }
        let calls = calls([Node::Block(&body.apply)]);
        let emitted: u64 = calls.map(|(call, _)| self.emitted_bits(call)).sum();
        if emitted > 8 * BMV2_HEADROOM {
            let bytes = emitted.div_ceil(8);
            let message = format!("the headers that `{}` emits can have {bytes} bytes", control.name);
            let hint = "simple_switch stops when headers have more than 512 bytes more than those that were extracted";
            self.warn(Target::Bmv2, control.span, message, hint);
        }
    }

    /// The most bits that a call of `emit` adds to the packet.
    fn emitted_bits(&self, call: &Call) -> u64 {
        let Callee::Method {
            extern_type, method, ..
        } = &call.callee
        else {
            return 0;
        };
        let declared = &self.program.externs[extern_type.index()];
        if declared.name != "packet_out" || declared.methods[*method].name != "emit" {
            return 0;
        }
        let sizes = call.values().filter_map(|value| size_in_bits(self.program, &value.ty));
        sizes.map(|size| size.max).sum()
    }

    fn tables(&mut self) {
        let program = self.program;
        self.nodes(program.tables.iter().flat_map(|table| table.operands().map(Node::Expr)));
        for (id, places) in std::mem::take(&mut self.applied) {
            let table = &self.program.tables[id.index()];
            if let [_, second, ..] = places[..] {
                let message = format!("the table `{}` is applied in {} places", table.name, places.len());
                let hint = "apply it in one place: a table has one successor for each of its actions";
                self.warn(Target::Bmv2, second, message.clone(), hint);
                self.warn(
                    Target::Tofino,
                    second,
                    message,
                    "apply it in one place, or declare it twice",
                );
            }
        }
        for table in &self.program.tables {
            for key in table.keys.iter().filter(|key| key.match_kind == "range") {
                let width = self.program.underlying(&key.expr.ty).width();
                if width.is_some_and(|width| width > TOFINO_RANGE_BITS) {
                    let message = format!("a range over more than {TOFINO_RANGE_BITS} bits");
                    self.warn(Target::Tofino, key.span, message, "split the key, or match it ternary");
                }
            }
        }
    }

    /// Warns of headers whose fields do not fill whole bytes. A generic one has no size of its own.
    fn header_sizes(&mut self) {
        let program = self.program;
        for (index, header) in program.composites.iter().enumerate() {
            if header.kind != CompositeKind::Header || !header.type_params.is_empty() {
                continue;
            }
            let ty = Type::Composite(CompositeId(index as u32), Rc::new(Vec::new()));
            let bits = size_in_bits(program, &ty).map_or(0, |size| size.max);
            if !bits.is_multiple_of(8) {
                let message = format!(
                    "the header `{}` has {bits} bits, which are not whole bytes",
                    header.name
                );
                let missing = 8 - bits % 8;
                let hint = format!("add what is missing to the next byte: `bit<{missing}> unused;`");
                self.warn(Target::Bmv2, header.span, message.clone(), &hint);
                self.warn(Target::Tofino, header.span, message, &hint);
            }
        }
    }

    fn headers(&mut self) {
        let headers = self
            .program
            .composites
            .iter()
            .filter(|header| header.kind == CompositeKind::Header);
        for header in headers {
            let varbits = header.fields.iter().filter(|field| matches!(field.ty, Type::Varbit(_)));
            let varbits: Vec<Span> = varbits.map(|field| field.span).collect();
            if let Some(first) = varbits.first() {
                let message = format!("the header `{}` has a field of variable length", header.name);
                self.warn(
                    Target::Tofino,
                    *first,
                    message,
                    "extract what varies as a stack of small headers",
                );
            }
            if let Some(second) = varbits.get(1) {
                let message = format!("the header `{}` has several fields of variable length", header.name);
                self.warn(Target::Bmv2, *second, message, "split the header");
            }
        }
    }

    fn registers(&mut self) {
        for instance in &self.program.instances {
            let Type::Extern(id, args) = &instance.ty else { continue };
            let is_register = self.program.externs[id.index()].name == "register";
            if is_register && matches!(args.first(), Some(Type::Composite(..))) {
                let message = format!("the elements of the register `{}` are structs", instance.name);
                self.warn(
                    Target::Bmv2,
                    instance.span,
                    message,
                    "declare a register for each field",
                );
            }
        }
    }

    /// Why Tofino cannot compute an operator with these operands, and what to do; `left` is `None` if it is a result.
    fn unlike_tofino(&self, left: Option<&Expr>, link: &Link) -> Option<(&'static str, &'static str)> {
        let power = |expr: &Expr| match &expr.kind {
            ExprKind::Int(value) => value.magnitude().count_ones() <= 1,
            _ => false,
        };
        match link.op {
            BinaryOp::Mul if !left.is_some_and(power) && !power(&link.right) => {
                Some(("multiplication", "multiply by powers of 2"))
            }
            BinaryOp::Div | BinaryOp::Mod if !power(&link.right) => Some(("division", "divide by powers of 2")),
            BinaryOp::Shl | BinaryOp::Shr if !self.is_known(&link.right) => Some((
                "a shift by an amount that is known only at run time",
                "shift by constants",
            )),
            _ => None,
        }
    }
}
