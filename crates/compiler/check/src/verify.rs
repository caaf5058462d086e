//! The invariants of a typed program, for tests: what lowering relies on.
//!
//! * No [`ExprKind::Invalid`] and no expression of unknown type is left.
//! * Both sides of an assignment have the same type, as have the operands of arithmetic, bitwise and comparison
//!   operators.
//! * Conditions are bool; literals are in the range of their types.
//! * A call has one argument for each parameter and one type argument for each type parameter; arguments have the
//!   parameters' types.
//! * An aggregate has one element for each field or element of its type, of that type.
//! * Each case of a select and each entry of a table has one keyset for each key.

use crate::fold;
use crate::hir::*;
use crate::types::Substitution;
use forebay_syntax::ast::BinaryOp;
use forebay_syntax::source::Span;

/// A broken invariant: where, and what.
pub type Violation = (Span, String);

/// Every broken invariant of a program.
pub fn verify(program: &Program) -> Vec<Violation> {
    let mut verifier = Verifier {
        program,
        violations: Vec::new(),
    };
    verifier.program();
    verifier.violations
}

struct Verifier<'a> {
    program: &'a Program,
    violations: Vec<Violation>,
}

impl Verifier<'_> {
    fn fail(&mut self, span: Span, message: String) {
        self.violations.push((span, message));
    }

    fn expect(&mut self, fine: bool, span: Span, message: impl Fn(&Program) -> String) {
        if !fine {
            let message = message(self.program);
            self.fail(span, message);
        }
    }

    fn same(&mut self, left: &Type, right: &Type, span: Span, what: &str) {
        let open = |ty: &Type| ty.any(&Type::is_unknown);
        let fine = left == right || open(left) || open(right);
        self.expect(fine, span, |program| {
            format!("{what}: {} and {}", program.display(left), program.display(right))
        });
    }

    fn program(&mut self) {
        let program = self.program;
        let functions = program.functions.iter().filter_map(|function| function.body.as_ref());
        self.nodes(functions.map(Node::Block));
        self.nodes(program.actions.iter().map(|action| Node::Block(&action.body)));
        for parser in program.parsers.iter().filter_map(|parser| parser.body.as_ref()) {
            self.locals(&parser.locals);
            parser.states.iter().for_each(|state| self.state(state));
        }
        for control in program.controls.iter().filter_map(|control| control.body.as_ref()) {
            self.locals(&control.locals);
            self.nodes([Node::Block(&control.apply)]);
        }
        program.tables.iter().for_each(|table| self.table(table));
        self.exprs(program.value_sets.iter().map(|set| &set.size));
        self.exprs(program.instances.iter().flat_map(|instance| &instance.args).flatten());
    }

    /// Every statement and expression in a tree.
    fn nodes<'b>(&mut self, roots: impl IntoIterator<Item = Node<'b>>) {
        for node in nodes(roots) {
            match node {
                Node::Block(_) => {}
                Node::Statement(statement) => self.statement(statement),
                Node::Expr(expr) => self.expr(expr),
            }
        }
    }

    fn exprs<'b>(&mut self, exprs: impl IntoIterator<Item = &'b Expr>) {
        self.nodes(exprs.into_iter().map(Node::Expr));
    }

    fn locals(&mut self, locals: &[Local]) {
        self.exprs(locals.iter().filter_map(Local::value));
        for local in locals {
            if let Local::Var(var, Some(value)) = local {
                self.initial(*var, value);
            }
        }
    }

    fn initial(&mut self, var: VarId, value: &Expr) {
        let ty = &self.program.vars[var.index()].ty;
        self.same(ty, &value.ty, value.span, "initial value");
    }

    fn state(&mut self, state: &State) {
        self.nodes(state.children());
        if let Transition::Select { keys, cases, .. } = &state.transition {
            for (keysets, _, span) in cases {
                let count = keysets.len();
                self.expect(count == keys.len(), *span, |_| {
                    format!("{count} keysets for {} keys", keys.len())
                });
                for (keyset, key) in keysets.iter().zip(keys) {
                    self.keyset(keyset, &key.ty);
                }
            }
        }
    }

    fn keyset(&mut self, keyset: &KeySet, key: &Type) {
        match keyset {
            KeySet::Any | KeySet::ValueSet(_) => {}
            KeySet::Value(value) => {
                let number = self.program.representation(key);
                let ty = if value.ty == number { &number } else { key };
                self.same(ty, &value.ty, value.span, "keyset");
            }
            KeySet::Mask(left, right) | KeySet::Range(left, right) => {
                let number = self.program.representation(key);
                for end in [left, right] {
                    self.same(&number, &end.ty, end.span, "end of a set");
                }
            }
        }
    }

    fn table(&mut self, table: &Table) {
        self.exprs(table.operands().chain(&table.size));
        for entry in &table.entries {
            let values = entry.keysets.iter().flat_map(KeySet::operands);
            self.exprs(values.chain(&entry.args).chain(&entry.priority));
            let count = entry.keysets.len();
            self.expect(count == table.keys.len(), entry.span, |_| {
                format!("{count} keysets in an entry")
            });
            for (keyset, key) in entry.keysets.iter().zip(&table.keys) {
                self.keyset(keyset, &key.expr.ty);
            }
        }
        let actions = table.default_action.iter().chain(&table.empty_group_action);
        self.exprs(actions.flat_map(|action| &action.args));
        self.exprs(table.properties.iter().map(|property| &property.value));
    }

    fn condition(&mut self, condition: &Expr) {
        self.same(&Type::Bool, &condition.ty, condition.span, "condition");
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { target, value, .. } => {
                self.same(&target.ty, &value.ty, statement.span, "assignment");
            }
            StatementKind::If { branches, .. } => branches.iter().for_each(|branch| self.condition(&branch.condition)),
            StatementKind::Switch { expr, cases } => {
                for label in cases.iter().flat_map(|(labels, _)| labels).flatten() {
                    self.same(&expr.ty, &label.ty, label.span, "label");
                }
            }
            StatementKind::For { condition, .. } => self.condition(condition),
            StatementKind::ForRange {
                variable, low, high, ..
            } => {
                self.initial(*variable, low);
                self.initial(*variable, high);
            }
            StatementKind::Var(var, Some(value)) => self.initial(*var, value),
            _ => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        self.expect(!expr.ty.is_unknown(), expr.span, |_| "unknown type".to_string());
        match &expr.kind {
            ExprKind::Int(value) => {
                let number = self.program.underlying(&expr.ty);
                let fine = number.is_number() && fold::fits(&number, value);
                self.expect(fine, expr.span, |program| {
                    format!("{value} as {}", program.display(&expr.ty))
                });
            }
            ExprKind::Invalid => self.fail(expr.span, "invalid expression".to_string()),
            ExprKind::Field(base, index) => {
                if let Type::Composite(id, args) = &base.ty {
                    let ty = self.program.field_type(*id, args, *index);
                    self.same(&ty, &expr.ty, expr.span, "field");
                }
            }
            ExprKind::Unary(_, operand) => self.same(&expr.ty, &operand.ty, expr.span, "operand"),
            ExprKind::Binary(first, links) => {
                let mut left = &first.ty;
                for link in links {
                    if !matches!(link.op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Concat) {
                        self.same(left, &link.right.ty, link.span, "operands");
                    }
                    left = &link.ty;
                }
                self.same(left, &expr.ty, expr.span, "operators");
            }
            ExprKind::Ternary(condition, left, right) => {
                self.condition(condition);
                self.same(&expr.ty, &left.ty, left.span, "value of ?:");
                self.same(&expr.ty, &right.ty, right.span, "value of ?:");
            }
            ExprKind::Aggregate(elements) | ExprKind::Reordered(elements, _) => self.aggregate(elements, expr),
            ExprKind::Call(call) => self.call(call, expr.span),
            _ => {}
        }
    }

    fn aggregate(&mut self, elements: &[Expr], expr: &Expr) {
        let types = match &expr.ty {
            Type::Composite(id, args) => self.program.field_types(*id, args),
            Type::Tuple(types) => types.to_vec(),
            Type::Stack(element, size) => vec![(**element).clone(); *size as usize],
            Type::List(element) => vec![(**element).clone(); elements.len()],
            _ => return self.fail(expr.span, "aggregate without type".to_string()),
        };
        let count = elements.len();
        self.expect(count == types.len(), expr.span, |_| {
            format!("{count} elements for {}", types.len())
        });
        for (element, ty) in elements.iter().zip(&types) {
            self.same(ty, &element.ty, element.span, "element");
        }
    }

    fn call(&mut self, call: &Call, span: Span) {
        let program = self.program;
        let outer = Substitution::default();
        let (type_params, params, outer) = match &call.callee {
            Callee::Function(id) => {
                let function = &program.functions[id.index()];
                (&function.type_params[..], &function.params[..], outer)
            }
            Callee::Action(id) => (&[][..], &program.actions[id.index()].params[..], outer),
            Callee::Method {
                receiver,
                extern_type,
                method,
            } => {
                let item = &program.externs[extern_type.index()];
                let args = match &receiver.ty {
                    Type::Extern(_, args) => args.as_slice(),
                    _ => &[],
                };
                let method = &item.methods[*method];
                let outer = Substitution::new(&item.type_params, args);
                (&method.type_params[..], &method.params[..], outer)
            }
            _ => return,
        };
        let (given, wanted) = (call.args.len(), params.len());
        self.expect(given == wanted, span, |_| {
            format!("{given} arguments for {wanted} parameters")
        });
        let (given, wanted) = (call.type_args.len(), type_params.len());
        self.expect(given == wanted, span, |_| {
            format!("{given} type arguments for {wanted}")
        });
        let inner = Substitution::new(type_params, &call.type_args);
        for (arg, param) in call.args.iter().zip(params) {
            if let Argument::Value(value) = arg {
                let ty = inner.apply(&outer.apply(&program.vars[param.var.index()].ty));
                self.same(&ty, &value.ty, value.span, "argument");
            }
        }
    }
}
