//! Actions in tables (§14.2.1.2, §14.2.1.3): the action list, the default action, and the actions of entries.
//!
//! The list binds the directional parameters. The default action and entries repeat these arguments as written and add
//! values for the action data.

use crate::call::{are_given, count_text};
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use crate::text::expr_text;
use forebay_syntax::ast::{self, Direction};
use forebay_syntax::codes::Code;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;
use forebay_syntax::source::Span;

impl Checker {
    /// `actions = {..}`
    pub(super) fn check_action_list(&mut self, listed: &[ast::ActionRef], table: &mut Table) {
        for reference in listed {
            let Some(action) = self.find_action(&reference.name) else {
                continue;
            };
            let name = &self.program.actions[action.index()].name;
            let shared = table
                .actions
                .iter()
                .find(|earlier| earlier.action != action && self.program.actions[earlier.action.index()].name == *name);
            if let Some(earlier) = shared {
                let message = format!("two different actions of the table are called `{name}`");
                let diagnostic = Diagnostic::error(codes::DUPLICATE_DECLARATION, reference.span, message);
                self.report(
                    diagnostic
                        .secondary(earlier.span, "the other one")
                        .hint("rename one of them"),
                );
            }
            if let Some(earlier) = table.actions.iter().find(|earlier| earlier.action == action) {
                let message = format!("the action `{}` is listed twice", reference.name.ident.name);
                let diagnostic = Diagnostic::error(codes::DUPLICATE_DECLARATION, reference.span, message);
                self.report(diagnostic.secondary(earlier.span, "first listed here"));
                continue;
            }
            let (args, written) = self.bind_directional(action, reference);
            let annotations = self.annotations(Place::ActionReference, &reference.annotations);
            table.actions.push(TableAction {
                action,
                args,
                written,
                annotations,
                span: reference.span,
            });
        }
    }

    fn find_action(&mut self, name: &ast::Name) -> Option<ActionId> {
        match self.lookup(name) {
            Some(Entity::Action(id)) => Some(id),
            Some(Entity::Broken) => None,
            Some(other) => {
                let message = format!("`{}` is {}, not an action", name.ident.name, other.describe());
                self.error(codes::INVALID_ACTION_LIST, name.ident.span, message);
                None
            }
            None => {
                self.unknown_name(&name.ident, "action", |entity| matches!(entity, Entity::Action(_)));
                None
            }
        }
    }

    /// The arguments in the action list: one for each directional parameter; and in what order they are written,
    /// defaults first.
    fn bind_directional(&mut self, action: ActionId, reference: &ast::ActionRef) -> (Vec<Expr>, Vec<usize>) {
        let params = self.program.actions[action.index()].params.clone();
        let args = reference.args.as_deref().unwrap_or(&[]);
        let mut bound = Vec::new();
        let mut places = Vec::new();
        let mut unbound = Vec::new();
        for arg in args {
            self.check_list_argument(&params, arg);
        }
        for (index, param) in params.iter().enumerate() {
            if param.direction == Direction::None {
                continue;
            }
            let name = self.param_name(param).to_string();
            match argument_for(args, index, &name) {
                Some(arg) => {
                    let place = args.iter().position(|other| std::ptr::eq(other, arg));
                    places.push((place, bound.len()));
                    bound.push(self.check_directional(param, arg));
                }
                None => match &param.default {
                    Some(default) => {
                        places.push((None, bound.len()));
                        bound.push(self.copy_constant(default, reference.span));
                    }
                    None => unbound.push(name),
                },
            }
        }
        self.report_unbound(&unbound, reference);
        let directional = params.iter().filter(|param| param.direction != Direction::None).count();
        if args.len() > directional && args.iter().all(|arg| arg.name.is_none()) {
            let message = "only directional parameters are bound here: action data is set by the control plane";
            self.error(codes::INVALID_ACTION_LIST, reference.span, message);
        }
        places.sort();
        (bound, places.into_iter().map(|(_, index)| index).collect())
    }

    fn report_unbound(&mut self, names: &[String], reference: &ast::ActionRef) {
        let what = match names {
            [] => return,
            [one] => format!("the parameter `{one}`"),
            several => format!("the parameters `{}`", several.join("`, `")),
        };
        let message = format!("{what} must be bound in the list of actions");
        let hint = format!(
            "give values here, as in `{}(...)`; data that the control plane gives are parameters without direction",
            reference.name.ident.name
        );
        self.error_with_hint(codes::INVALID_ACTION_LIST, reference.span, message, hint);
    }

    fn check_list_argument(&mut self, params: &[Param], arg: &ast::Arg) {
        let Some(name) = &arg.name else { return };
        match params.iter().find(|param| self.param_name(param) == name.name) {
            Some(param) if param.direction != Direction::None => {}
            Some(_) => {
                let message = format!("`{}` is action data, which the control plane sets", name.name);
                self.error(codes::INVALID_ACTION_LIST, arg.span, message);
            }
            None => {
                let message = format!("the action has no parameter `{}`", name.name);
                self.error(codes::WRONG_ARGUMENTS, arg.span, message);
            }
        }
    }

    fn check_directional(&mut self, param: &Param, arg: &ast::Arg) -> Expr {
        let ty = self.param_type(param).clone();
        let value = self.check_value(&arg.value);
        self.check_no_apply(&value);
        if param.direction == Direction::In {
            return self.coerce(value, &ty);
        }
        self.require_lvalue(&value, "the argument");
        if !self.same_type(&ty, &value.ty) {
            let message = format!(
                "expected an argument of type {}, found {}",
                self.show(&ty),
                self.show(&value.ty)
            );
            self.error(codes::TYPE_MISMATCH, arg.span, message);
        }
        value
    }

    /// `default_action = a(..);`
    pub(super) fn check_default_action(
        &mut self,
        value: &ast::Expr,
        property: &ast::TableProperty,
        listed: &[ast::ActionRef],
        table: &Table,
    ) -> Option<DefaultAction> {
        let default = self.check_property_action(value, property, listed, table)?;
        let action = &table.actions[default.action];
        if crate::annotations::has(&action.annotations, "tableonly") {
            let name = &self.program.actions[action.action.index()].name;
            let message = format!("the action `{name}` is marked @tableonly, so it cannot be the default");
            self.error(codes::INVALID_DEFAULT_ACTION, value.span, message);
        }
        Some(default)
    }

    /// A property that is an action of the table with values for its action data.
    pub(super) fn check_property_action(
        &mut self,
        value: &ast::Expr,
        property: &ast::TableProperty,
        listed: &[ast::ActionRef],
        table: &Table,
    ) -> Option<DefaultAction> {
        let (name, args) = match &value.kind {
            ast::ExprKind::Name(name) => (name, None),
            ast::ExprKind::Call {
                callee,
                type_args,
                args,
            } => match &callee.kind {
                ast::ExprKind::Name(name) => {
                    if let Some(first) = type_args.first() {
                        self.error(codes::TYPE_ARGUMENTS, first.span, "actions have no type parameters");
                    }
                    (name, Some(args.as_slice()))
                }
                _ => return self.not_an_action(property, value.span),
            },
            _ => return self.not_an_action(property, value.span),
        };
        let used = ActionUse {
            name,
            args,
            span: value.span,
            code: codes::INVALID_DEFAULT_ACTION,
        };
        let (action, args) = self.check_action_use(&used, listed, table)?;
        Some(DefaultAction {
            action,
            args,
            is_const: property.is_const,
            span: value.span,
        })
    }

    fn not_an_action(&mut self, property: &ast::TableProperty, span: Span) -> Option<DefaultAction> {
        let what = match property.name.name.as_str() {
            "default_action" => "the default action",
            _ => "the action of empty groups",
        };
        let message = format!("{what} must be an action of the table");
        self.error(codes::INVALID_DEFAULT_ACTION, span, message);
        None
    }

    /// An action of the list with values for its action data: the index in the list, and the values.
    pub(super) fn check_action_use(
        &mut self,
        used: &ActionUse,
        listed: &[ast::ActionRef],
        table: &Table,
    ) -> Option<(usize, Vec<Expr>)> {
        let action = self.find_action(used.name)?;
        let Some(index) = table.actions.iter().position(|entry| entry.action == action) else {
            if table.actions.len() < listed.len() {
                // It may be the one that was not found in the list, which was reported.
                return None;
            }
            let names: Vec<String> = listed
                .iter()
                .map(|reference| reference.name.ident.name.clone())
                .collect();
            let message = format!(
                "the action `{}` is not in the list of actions of the table",
                used.name.ident.name
            );
            let diagnostic = Diagnostic::error(used.code, used.span, message)
                .did_you_mean(&used.name.ident.name, names.iter().map(String::as_str))
                .options(names.clone());
            self.report(diagnostic);
            return None;
        };
        let reference = listed
            .iter()
            .find(|reference| reference.span == table.actions[index].span)?;
        let params = self.program.actions[action.index()].params.clone();
        let args = used.args.unwrap_or(&[]);
        if !self.check_use_shape(used, &params, args) {
            return None;
        }
        let mut values = Vec::new();
        for (position, param) in params.iter().enumerate() {
            let name = self.param_name(param).to_string();
            let arg = argument_for(args, position, &name);
            if param.direction != Direction::None {
                if param.default.is_some() || argument_for(listed_args(reference), position, &name).is_some() {
                    self.check_same_argument(used, reference, position, &name, arg);
                }
                continue;
            }
            values.push(self.action_data(used, param, &name, arg)?);
        }
        Some((index, values))
    }

    fn check_use_shape(&mut self, used: &ActionUse, params: &[Param], args: &[ast::Arg]) -> bool {
        let named = args.iter().filter(|arg| arg.name.is_some()).count();
        let message = if named != 0 && named != args.len() {
            "either all arguments or none must be named".to_string()
        } else if args.len() > params.len() {
            let takes = count_text(params.len(), "argument");
            format!(
                "the action `{}` takes {takes}, but {}",
                used.name.ident.name,
                are_given(args.len())
            )
        } else if let Some(name) = args
            .iter()
            .filter_map(|arg| arg.name.as_ref())
            .find(|name| params.iter().all(|param| self.param_name(param) != name.name))
        {
            format!("the action has no parameter `{}`", name.name)
        } else {
            let names = args.iter().filter_map(|arg| arg.name.as_ref());
            return !self.check_distinct(names);
        };
        self.error(used.code, used.span, message);
        false
    }

    /// A directional argument must be the one in the action list.
    fn check_same_argument(
        &mut self,
        used: &ActionUse,
        reference: &ast::ActionRef,
        position: usize,
        name: &str,
        arg: Option<&ast::Arg>,
    ) {
        let listed = argument_for(listed_args(reference), position, name);
        let same = match (listed, arg) {
            (Some(listed), Some(arg)) => same_text(&listed.value, &arg.value),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !same {
            let message = format!("the argument for `{name}` must be the same as in the list of actions");
            self.error(used.code, arg.map_or(used.span, |arg| arg.span), message);
        }
    }

    fn action_data(&mut self, used: &ActionUse, param: &Param, name: &str, arg: Option<&ast::Arg>) -> Option<Expr> {
        let Some(arg) = arg else {
            if let Some(default) = &param.default {
                return Some(self.copy_constant(default, used.span));
            }
            let action = &used.name.ident.name;
            let message = format!("no value is given for the parameter `{name}` of the action `{action}`");
            let hint = format!("write the action data in parentheses: `{action}(...)`");
            self.error_with_hint(used.code, used.span, message, hint);
            return None;
        };
        let ty = self.param_type(param).clone();
        let value = self.check_as(&arg.value, &ty);
        self.require_constant(&value, "action data in the program");
        Some(value)
    }
}

/// An action mentioned in a default action or entry.
pub(super) struct ActionUse<'a> {
    /// Its name.
    pub(super) name: &'a ast::Name,
    /// Its arguments, if any are written.
    pub(super) args: Option<&'a [ast::Arg]>,
    /// The whole of it.
    pub(super) span: Span,
    /// The code of errors about it.
    pub(super) code: Code,
}

/// Whether two expressions are written alike; the fields of a structure may stand in another order.
fn same_text(left: &ast::Expr, right: &ast::Expr) -> bool {
    let fields = |expr: &ast::Expr| match &expr.kind {
        ast::ExprKind::Struct { fields, .. } => {
            let mut texts: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{} = {}", name.name, expr_text(value)))
                .collect();
            texts.sort();
            Some(texts)
        }
        _ => None,
    };
    match (fields(left), fields(right)) {
        (Some(left), Some(right)) => left == right,
        _ => expr_text(left) == expr_text(right),
    }
}

/// The arguments in the list of actions.
fn listed_args(reference: &ast::ActionRef) -> &[ast::Arg] {
    reference.args.as_deref().unwrap_or(&[])
}

/// The argument for a parameter, by name or position.
fn argument_for<'a>(args: &'a [ast::Arg], position: usize, name: &str) -> Option<&'a ast::Arg> {
    if args.iter().any(|arg| arg.name.is_some()) {
        return args
            .iter()
            .find(|arg| arg.name.as_ref().is_some_and(|ident| ident.name == name));
    }
    args.get(position)
}
