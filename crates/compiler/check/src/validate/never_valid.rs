//! Headers that a program uses though nothing makes them valid: no `extract`, no `setValid()`, no assignment. Fields of
//! such a header have no values, and writing one has no effect. It is what an exercise looks like before its parser is
//! written.
//!
//! A header is told by the struct or union type that it is a member of, and its place there: what makes it valid in one
//! value of the type counts for all of them. Only types are looked at that parsers give as out parameters: other
//! values may come from the architecture. To compute or verify a checksum where the header is valid is no use: programs
//! of one family share it, and not all of them have the header.

use super::flow::names_of;
use crate::annotations;
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast::{BinaryOp, CompositeKind, Direction};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::collections::HashSet;

/// A member of a struct or union: a header, or a stack of headers.
type Member = (CompositeId, usize);

impl Checker {
    /// Warns of such headers, where they are used first; where another warning says that the header is invalid, this one
    /// says nothing.
    pub(super) fn check_never_valid(&mut self) {
        if self.program.main.is_none() {
            return;
        }
        let mut uses = Uses {
            program: &self.program,
            made: HashSet::new(),
            used: Vec::new(),
            muted: 0,
            guarded: Vec::new(),
        };
        uses.everywhere();
        let parsed = uses.given_by_parsers();
        let Uses { made, used, .. } = uses;
        let said = self
            .diagnostics
            .iter()
            .filter(|said| said.code == codes::HEADER_IS_INVALID);
        let said: HashSet<Span> = said.map(|said| said.primary.span).collect();
        let mut told = HashSet::new();
        let never = used.into_iter().filter(|(member, span, _)| {
            let is_never = parsed.contains(member) && !made.contains(member);
            is_never && !said.contains(span) && told.insert(*member)
        });
        let warnings = never.filter_map(|(_, span, header)| warning(&self.program, span, header));
        let warnings: Vec<Diagnostic> = warnings.collect();
        warnings.into_iter().for_each(|warning| self.report(warning));
    }
}

fn warning(program: &Program, span: Span, header: &Expr) -> Option<Diagnostic> {
    let [name, extracted, added] = ["", ".next", "[0]"].map(|element| name(program, header, element));
    let (name, extracted, added) = (name?, extracted?, added?);
    let message = format!("`{name}` is never valid: no parser extracts it, and nothing else makes it valid");
    let hint = format!(
        "extract it in a state of the parser: `PACKET.extract({extracted});`, or add it: `{added}.setValid();`"
    );
    Some(Diagnostic::warning(codes::NEVER_VALID, span, message).hint(hint))
}

/// What a program does with headers.
struct Uses<'a> {
    program: &'a Program,
    /// Headers that something may make valid.
    made: HashSet<Member>,
    /// Headers of which a field is read or written, or which are asked whether they are valid: where, and as which
    /// places.
    used: Vec<(Member, Span, &'a Expr)>,
    /// How many of the blocks and states around have a `@noWarn` of these warnings.
    muted: usize,
    /// The headers that are valid where the calls around do something.
    guarded: Vec<Member>,
}

impl<'a> Uses<'a> {
    fn everywhere(&mut self) {
        let program = self.program;
        for parser in &program.parsers {
            if let Some(body) = &parser.body {
                self.locals(&body.locals);
                body.states.iter().for_each(|state| self.state(state));
            }
        }
        for control in &program.controls {
            if let Some(body) = &control.body {
                self.locals(&body.locals);
                self.block(&body.apply);
            }
        }
        let actions = program.top_actions.iter().map(|id| &program.actions[id.index()]);
        actions.for_each(|action| self.block(&action.body));
        let bodies = program.functions.iter().filter_map(|function| function.body.as_ref());
        bodies.for_each(|body| self.block(body));
    }

    /// The headers in the out parameters of parsers.
    fn given_by_parsers(&self) -> HashSet<Member> {
        let mut members = HashSet::new();
        let parsers = self.program.parsers.iter().filter(|parser| parser.body.is_some());
        let params = parsers.flat_map(|parser| &parser.params);
        for param in params.filter(|param| param.direction == Direction::Out) {
            self.members(&self.program.vars[param.var.index()].ty, &mut members);
        }
        members
    }

    /// The headers in the values of a type that is not a header itself.
    fn members(&self, ty: &Type, into: &mut HashSet<Member>) {
        match ty {
            Type::Composite(id, args) if !is_header(self.program, ty) => {
                for (index, ty) in self.program.field_types(*id, args).iter().enumerate() {
                    if is_header(self.program, ty) {
                        into.insert((*id, index));
                    }
                    self.members(ty, into);
                }
            }
            Type::Stack(element, _) => self.members(element, into),
            Type::Tuple(elements) => elements.iter().for_each(|element| self.members(element, into)),
            _ => {}
        }
    }

    /// The header that an expression is, or an element of whose stack it is.
    fn member(&self, expr: &Expr) -> Option<Member> {
        match &expr.kind {
            ExprKind::Field(base, index) => match &base.ty {
                Type::Composite(id, _) if is_header(self.program, &expr.ty) => Some((*id, *index)),
                _ => None,
            },
            ExprKind::Index(base, _) | ExprKind::StackNext(base) | ExprKind::StackLast(base) => self.member(base),
            _ => None,
        }
    }

    /// A place may get valid headers.
    fn make(&mut self, place: &Expr) {
        if let Some(member) = self.member(place) {
            self.made.insert(member);
        }
        self.make_all(&place.ty);
    }

    /// All headers in values of a type may be valid.
    fn make_all(&mut self, ty: &Type) {
        let mut made = std::mem::take(&mut self.made);
        self.members(ty, &mut made);
        self.made = made;
    }

    /// A header is used.
    fn note(&mut self, header: &'a Expr, span: Span) {
        let has_name = name(self.program, header, "").is_some();
        if let Some(member) = self.member(header)
            && has_name
            && self.muted == 0
            && !self.guarded.contains(&member)
        {
            self.used.push((member, span, header));
        }
    }

    fn locals(&mut self, locals: &'a [Local]) {
        let program = self.program;
        for local in locals {
            match local {
                Local::Var(_, value) => value.iter().for_each(|value| self.expr(value)),
                Local::Action(id) => self.block(&program.actions[id.index()].body),
                Local::Table(id) => self.table(&program.tables[id.index()]),
                Local::Instance(_) | Local::ValueSet(_) => {}
            }
        }
    }

    fn table(&mut self, table: &'a Table) {
        let program = self.program;
        table.keys.iter().for_each(|key| self.expr(&key.expr));
        for listed in &table.actions {
            let params = &program.actions[listed.action.index()].params;
            for (param, arg) in params.iter().zip(&listed.args) {
                self.argument(param, arg, true);
            }
        }
    }

    fn state(&mut self, state: &'a State) {
        self.annotated(&state.annotations, &state.statements);
        for operand in state.transition.operands() {
            self.expr(operand);
        }
    }

    fn block(&mut self, block: &'a Block) {
        self.annotated(&block.annotations, &block.statements);
    }

    /// The statements of what has such annotations.
    fn annotated(&mut self, annotations: &Annotations, statements: &'a [Statement]) {
        let is_muted = annotations.iter().any(|annotation| {
            let text = annotations::string_arg(std::slice::from_ref(annotation), "noWarn");
            text.is_some_and(|text| names_of(codes::NEVER_VALID).contains(&text))
        });
        self.muted += usize::from(is_muted);
        self.statements(statements);
        self.muted -= usize::from(is_muted);
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'a Statement) {
        if let StatementKind::Assign { target, value, .. } = &statement.kind
            && !matches!(value.kind, ExprKind::InvalidHeader)
        {
            self.make(target);
        }
        statement.children().into_iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: Node<'a>) {
        match node {
            Node::Block(block) => self.block(block),
            Node::Statement(statement) => self.statement(statement),
            Node::Expr(expr) => self.expr(expr),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Call(call) => return self.call(call, expr),
            ExprKind::Field(base, _) => self.note(base, expr.span),
            ExprKind::Aggregate(_) | ExprKind::Reordered(..) => self.make_all(&expr.ty),
            _ => {}
        }
        expr.operands().into_iter().for_each(|operand| self.expr(operand));
    }

    fn call(&mut self, call: &'a Call, expr: &'a Expr) {
        let program = self.program;
        for operand in call.callee.operands() {
            self.expr(operand);
        }
        match &call.callee {
            Callee::Function(id) => {
                let function = &program.functions[id.index()];
                let is_followed = function.body.is_some() && function.type_params.is_empty();
                let outside = self.guarded.len();
                if function.body.is_none() && function.name.contains("_checksum") {
                    self.guard(&call.args);
                }
                self.arguments(&function.params, &call.args, is_followed);
                self.guarded.truncate(outside);
                self.make_all(&expr.ty);
            }
            Callee::Action(id) => self.arguments(&program.actions[id.index()].params, &call.args, true),
            Callee::Method {
                extern_type, method, ..
            } => {
                let declared = &program.externs[extern_type.index()].methods[*method];
                self.arguments(&declared.params, &call.args, false);
                self.make_all(&expr.ty);
            }
            Callee::Apply(receiver) => match &receiver.ty {
                Type::Parser(id, args) => {
                    let params = &program.parsers[id.index()].params;
                    self.arguments(params, &call.args, args.is_empty());
                }
                Type::Control(id, args) => {
                    let params = &program.controls[id.index()].params;
                    self.arguments(params, &call.args, args.is_empty());
                }
                _ => {}
            },
            Callee::IsValid(header) => self.note(header, expr.span),
            Callee::SetValid(header) | Callee::PushFront(header, _) => self.make(header),
            Callee::SetInvalid(_) | Callee::PopFront(..) | Callee::TableApply(_) => {}
        }
    }

    /// The first argument of a checksum is the condition on which it is computed.
    fn guard(&mut self, args: &[Argument]) {
        if let Some(Argument::Value(condition)) = args.first() {
            self.assume(condition);
        }
    }

    /// Notes the headers that are valid where a condition holds.
    fn assume(&mut self, condition: &Expr) {
        match &condition.kind {
            ExprKind::Call(call) => {
                if let Callee::IsValid(header) = &call.callee {
                    let member = self.member(header);
                    self.guarded.extend(member);
                }
            }
            ExprKind::Binary(first, links) if links.iter().all(|link| link.op == BinaryOp::And) => {
                operands(first, links).for_each(|operand| self.assume(operand));
            }
            _ => {}
        }
    }

    fn arguments(&mut self, params: &[Param], args: &'a [Argument], is_followed: bool) {
        for (param, arg) in params.iter().zip(args) {
            if let Argument::Value(value) = arg {
                self.argument(param, value, is_followed);
            }
        }
    }

    /// An argument. What becomes of the headers in a struct is seen in the body that gets it, if that is followed.
    fn argument(&mut self, param: &Param, value: &'a Expr, is_followed: bool) {
        if matches!(param.direction, Direction::Out | Direction::InOut) {
            match self.member(value) {
                Some(member) => {
                    self.made.insert(member);
                }
                None if !is_followed => self.make_all(&value.ty),
                None => {}
            }
        }
        self.expr(value);
    }
}

/// Whether values of a type are headers, or stacks of headers.
fn is_header(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Composite(id, _) => program.composites[id.index()].kind == CompositeKind::Header,
        Type::Stack(element, _) => is_header(program, element),
        _ => false,
    }
}

/// A place as it is written, but for this in place of the index of an element; none for other expressions.
fn name(program: &Program, place: &Expr, element: &str) -> Option<String> {
    match &place.kind {
        ExprKind::Var(var) => Some(program.vars[var.index()].name.clone()),
        ExprKind::Field(base, index) => {
            let Type::Composite(id, _) = &base.ty else { return None };
            let field = &program.composites[id.index()].fields[*index].name;
            Some(format!("{}.{field}", name(program, base, element)?))
        }
        ExprKind::Index(base, _) | ExprKind::StackNext(base) | ExprKind::StackLast(base) => {
            Some(name(program, base, element)? + element)
        }
        _ => None,
    }
}
