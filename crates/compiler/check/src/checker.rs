//! The checker's state: the program built so far, the scopes, the messages, and where in the program we are.

use crate::advice::declared_name;
use crate::hir::*;
use crate::scope::{Entity, Scopes};
use crate::validate::Uses;
use forebay_syntax::ast;
use forebay_syntax::codes::Code;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics};
use forebay_syntax::known::Place;
use forebay_syntax::library::included_architecture;
use forebay_syntax::source::Span;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// How deep expressions and types may be nested.
pub(crate) const NESTING_LIMIT: u32 = 200;

/// The state of a run.
pub(crate) struct Checker {
    /// What has been checked so far.
    pub(crate) program: Program,
    /// What there is to say.
    pub(crate) diagnostics: Diagnostics,
    /// The names that are visible.
    pub(crate) scopes: Scopes,
    /// Where we are.
    pub(crate) context: Context,
    /// Parsers, controls and packages of the same name: constructors may be overloaded.
    pub(crate) overloads: HashMap<String, Vec<Type>>,
    /// For each composite, how many parts it has ([`crate::limits`]).
    pub(crate) composite_parts: Vec<u64>,
    /// How many expressions have been copied out of constants.
    pub(crate) copies: u64,
    /// How deep the present expression or type is nested.
    pub(crate) depth: u32,
    /// Names that are declared further down, at the top level and in the parser or control around.
    pub(crate) upcoming: Vec<Upcoming>,
    /// The declarations that something uses.
    pub(crate) uses: Uses,
    /// How many tables and actions of the present control have the name of another one.
    pub(crate) duplicates: usize,
    /// Names that these may be meant to have: used, and not declared.
    pub(crate) renamed: HashSet<String>,
    /// Types with fields that could not be parsed, which was reported.
    pub(crate) incomplete: HashSet<String>,
    no_annotations: Annotations,
}

/// Where in the program the checker is: what surrounds the present place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// Inside this parser.
    pub(crate) parser: Option<ParserId>,
    /// Inside this control.
    pub(crate) control: Option<ControlId>,
    /// Inside a parser state.
    pub(crate) in_state: bool,
    /// Inside an action.
    pub(crate) in_action: bool,
    /// Inside a control's apply block.
    pub(crate) in_apply: bool,
    /// Inside a function or method with this result.
    pub(crate) result: Option<Type>,
    /// Inside the table of this name.
    pub(crate) table: Option<String>,
    /// Inside a keyset of a `select`.
    pub(crate) in_keyset: bool,
    /// How many loops are around.
    pub(crate) loops: u32,
    /// Inside a `switch`.
    pub(crate) in_switch: bool,
    /// The last call that is a statement by itself: nothing asks for its value.
    pub(crate) statement_call: Option<Span>,
    /// The type of `this`.
    pub(crate) this: Option<Type>,
    /// Names of declarations that are not complete: mentioning them is recursion.
    pub(crate) defining: Vec<String>,
}

/// A declaration further down.
pub(crate) struct Upcoming {
    name: String,
    span: Span,
    is_table: bool,
}

impl Checker {
    /// Nothing checked, nothing declared.
    pub(crate) fn new() -> Checker {
        Checker {
            program: Program::default(),
            diagnostics: Diagnostics::new(),
            scopes: Scopes::new(),
            context: Context::default(),
            overloads: HashMap::new(),
            composite_parts: Vec::new(),
            copies: 0,
            depth: 0,
            upcoming: Vec::new(),
            uses: Uses::default(),
            duplicates: 0,
            renamed: HashSet::new(),
            incomplete: HashSet::new(),
            no_annotations: Rc::new(Vec::new()),
        }
    }

    /// Reports an error without further details.
    pub(crate) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    /// Reports an error and what to do about it.
    pub(crate) fn error_with_hint(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.diagnostics.push(Diagnostic::error(code, span, message).hint(hint));
    }

    /// Reports a message.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The type as P4 text.
    pub(crate) fn show(&self, ty: &Type) -> String {
        self.program.display(ty)
    }

    /// Annotations of a declaration with their values computed, shared.
    pub(crate) fn annotations(&mut self, place: Place, annotations: &[ast::Annotation]) -> Annotations {
        if annotations.is_empty() {
            return self.no_annotations.clone();
        }
        Rc::new(self.evaluated_annotations(place, annotations))
    }

    /// Declares a name, with an error when the innermost scope has it already.
    pub(crate) fn define(&mut self, name: &ast::Ident, entity: Entity) {
        if name.name == "main" && self.scopes.depth() == 1 && !matches!(entity, Entity::Instance(_) | Entity::Broken) {
            self.error(
                codes::INVALID_MAIN,
                name.span,
                "`main` must be an instance of a package",
            );
        }
        if name.name == "_" {
            self.error(
                codes::INVALID_NAME,
                name.span,
                "`_` cannot be the name of a declaration",
            );
            return;
        }
        if let Some(earlier) = self.scopes.find_here(&name.name) {
            let place = earlier.span;
            self.duplicates += usize::from(matches!(entity, Entity::Table(_) | Entity::Action(_)));
            self.duplicate(&name.name, name.span, place);
            return;
        }
        if self.scopes.depth() > 2
            && let Some(earlier) = self.scopes.find_around(&name.name)
            && matches!(earlier.entity, Entity::Var(_) | Entity::Constant(_))
        {
            let place = earlier.span;
            let hides_param = matches!(&earlier.entity, Entity::Var(id)
                if matches!(self.program.vars[id.index()].kind, VarKind::Param(_)));
            if hides_param && (self.context.in_apply || self.context.in_action || self.context.in_state) {
                let message = format!("`{}` hides the parameter of this name", name.name);
                let diagnostic = Diagnostic::error(codes::HIDDEN_PARAMETER, name.span, message);
                self.report(diagnostic.secondary(place, "the parameter").hint("choose another name"));
            }
            let message = format!("`{}` hides another declaration", name.name);
            self.report(
                Diagnostic::warning(codes::SHADOWED_NAME, name.span, message)
                    .secondary(place, "the one that is hidden"),
            );
        }
        self.scopes.insert(&name.name, entity, name.span);
    }

    /// Declares a parser, control or package: several of one kind may share a name, when their constructors differ.
    pub(crate) fn define_constructible(&mut self, name: &ast::Ident, entity: Entity) {
        let as_type = |entity: &Entity| match entity {
            Entity::Parser(id) => Some(Type::Parser(*id, Rc::new(Vec::new()))),
            Entity::Control(id) => Some(Type::Control(*id, Rc::new(Vec::new()))),
            Entity::Package(id) => Some(Type::Package(*id, Rc::new(Vec::new()))),
            _ => None,
        };
        let Some(ty) = as_type(&entity) else { return };
        let earlier = self
            .scopes
            .find_here(&name.name)
            .and_then(|entry| as_type(&entry.entity));
        let same_kind = earlier.is_some_and(|earlier| std::mem::discriminant(&earlier) == std::mem::discriminant(&ty));
        if same_kind && !self.clashes(&name.name, &ty) {
            self.scopes.insert(&name.name, entity, name.span);
        } else {
            self.define(name, entity);
        }
        self.overloads.entry(name.name.clone()).or_default().push(ty);
    }

    fn clashes(&self, name: &str, ty: &Type) -> bool {
        let params = self.constructor_params(ty);
        let others = self.overloads.get(name).into_iter().flatten();
        others
            .map(|other| self.constructor_params(other))
            .any(|other| self.same_names(other, params))
    }

    /// The constructor parameters of a parser, control or package.
    pub(crate) fn constructor_params(&self, ty: &Type) -> &[Param] {
        match ty {
            Type::Parser(id, _) => &self.program.parsers[id.index()].constructor_params,
            Type::Control(id, _) => &self.program.controls[id.index()].constructor_params,
            Type::Package(id, _) => &self.program.packages[id.index()].params,
            _ => &[],
        }
    }

    /// Reports that a name is declared twice.
    pub(crate) fn duplicate(&mut self, name: &str, span: Span, earlier: Span) {
        let message = format!("`{name}` is declared twice");
        self.report(
            Diagnostic::error(codes::DUPLICATE_DECLARATION, span, message).secondary(earlier, "first declared here"),
        );
    }

    /// Whether a name that is not declared may be the right one of a declaration that has the name of another: of a
    /// table that was copied and not renamed, its use tells only what its declaration tells already.
    fn may_be_the_duplicate(&mut self, name: &str) -> bool {
        if self.renamed.contains(name) {
            return true;
        }
        let is_one = self.duplicates > self.renamed.len() && self.context.control.is_some();
        if is_one {
            self.renamed.insert(name.to_string());
        }
        is_one
    }

    /// Reports duplicates among names and returns whether there are any.
    pub(crate) fn check_distinct<'a>(&mut self, names: impl IntoIterator<Item = &'a ast::Ident>) -> bool {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        let mut found = false;
        for name in names {
            if let Some(earlier) = seen.insert(&name.name, name.span) {
                self.duplicate(&name.name, name.span, earlier);
                found = true;
            }
        }
        found
    }

    /// Runs `work` one level deeper, or reports that the program is nested too deeply and returns none.
    pub(crate) fn nested<T>(&mut self, span: Span, work: impl FnOnce(&mut Checker) -> T) -> Option<T> {
        forebay_budget::check();
        if self.depth >= NESTING_LIMIT {
            self.error(codes::TOO_DEEP, span, "the program is nested too deeply here");
            return None;
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        Some(result)
    }

    /// Runs `work` in a scope of its own.
    pub(crate) fn scoped<T>(&mut self, work: impl FnOnce(&mut Checker) -> T) -> T {
        self.scopes.push();
        let result = work(self);
        self.scopes.pop();
        result
    }

    /// Runs `work` with a changed context, and restores it.
    pub(crate) fn within<T>(&mut self, change: impl FnOnce(&mut Context), work: impl FnOnce(&mut Checker) -> T) -> T {
        let saved = self.context.clone();
        change(&mut self.context);
        let result = work(self);
        self.context = saved;
        result
    }

    /// An expression that stands where an error was reported.
    pub(crate) fn invalid(&self, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Invalid,
            ty: Type::Unknown,
            span,
        }
    }

    /// Takes note of the names in a list of declarations while `work` checks them one after the other.
    pub(crate) fn with_upcoming<T>(
        &mut self,
        declarations: &[ast::Declaration],
        work: impl FnOnce(&mut Checker) -> T,
    ) -> T {
        let before = self.upcoming.len();
        let later = declarations.iter().filter_map(|declaration| {
            let name = declared_name(declaration)?;
            Some(Upcoming {
                name: name.name.clone(),
                span: name.span,
                is_table: matches!(declaration.kind, ast::DeclarationKind::Table(_)),
            })
        });
        self.upcoming.extend(later);
        let result = work(self);
        self.upcoming.truncate(before);
        result
    }

    /// Adds a variable.
    pub(crate) fn add_var(&mut self, name: &ast::Ident, ty: Type, kind: VarKind, annotations: Annotations) -> VarId {
        let id = VarId(self.program.vars.len() as u32);
        self.program.vars.push(Var {
            name: name.name.clone(),
            ty,
            kind,
            annotations,
            span: name.span,
        });
        id
    }

    /// The name of a parameter.
    pub(crate) fn param_name(&self, param: &Param) -> &str {
        &self.program.vars[param.var.index()].name
    }

    /// The declared type of a parameter.
    pub(crate) fn param_type(&self, param: &Param) -> &Type {
        &self.program.vars[param.var.index()].ty
    }

    /// Reports a name that is not declared.
    pub(crate) fn unknown_name(&mut self, name: &ast::Ident, what: &str, test: impl Fn(&Entity) -> bool) {
        if self.context.defining.contains(&name.name) {
            let message = format!("`{}` refers to itself; P4 has no recursion", name.name);
            self.error(codes::RECURSION, name.span, message);
            return;
        }
        // Comparing with all names takes its time.
        if self.may_be_the_duplicate(&name.name) || self.diagnostics.knows_absent(&name.name) {
            return;
        }
        let message = format!("no {what} named `{}` is declared here", name.name);
        let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, name.span, message);
        if self.diagnostics.is_full() {
            return self.report(diagnostic.absent(&name.name));
        }
        let visible = self.scopes.visible(test);
        let packages = &self.program.packages;
        let architecture = included_architecture(|package| packages.iter().any(|declared| declared.name == package));
        let diagnostic = diagnostic
            .did_you_mean(&name.name, visible.iter().map(String::as_str))
            .absent_here(&name.name, architecture);
        let later = self.upcoming.iter().rev().find(|later| later.name == name.name);
        let diagnostic = match later {
            Some(later) if later.is_table && self.context.in_action => diagnostic
                .secondary(later.span, "the table of this name")
                .hint("an action cannot apply a table: apply it in the apply block"),
            Some(later) => {
                let text = "it is declared here, but P4 names are declared before they are used";
                diagnostic.declared_later(later.span, text)
            }
            None if what != "type"
                && let Some(hint) = self.whereabouts(&name.name) =>
            {
                diagnostic.hint(hint)
            }
            None if diagnostic.hint.is_none() && may_be_a_macro(&name.name) => {
                let hint = "if this is a macro that the program's Makefile defines, define it: -D";
                diagnostic.hint(format!("{hint} {}=VALUE", name.name))
            }
            None => diagnostic,
        };
        self.report(diagnostic);
    }
}

/// Whether a name is written as macros are: in capital letters.
fn may_be_a_macro(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() > 1 && name.bytes().all(is_part)
}
