//! Arguments of calls (§6.8, §8.22): which argument belongs to which parameter, inference of type arguments,
//! directions.

use super::{CallSite, are_given, count_text};
use crate::checker::Checker;
use crate::hir::*;
use crate::types::Substitution;
use crate::unify::{Inference, Mode};
use forebay_syntax::ast::{self, Direction};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

/// Something with parameters that is called or constructed.
pub(crate) struct Callable {
    /// Its name for messages.
    pub(crate) what: String,
    /// Type parameters to infer.
    pub(crate) type_params: Vec<TypeVarId>,
    /// Parameters.
    pub(crate) params: Vec<Param>,
    /// Result.
    pub(crate) result: Type,
    /// Type parameters that are known: those of the extern, control or parser around.
    pub(crate) outer: Substitution,
    /// What arguments without direction must be.
    pub(crate) strictness: Strictness,
    /// Whether some type arguments are `_`, so that what is not found stays open.
    pub(crate) wildcards: bool,
}

/// The requirements on arguments for parameters without direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// A call: compile-time values.
    Call,
    /// A direct call of an action: any value.
    Action,
    /// A constructor: compile-time values, objects among them.
    Constructor,
}

/// Why arguments do not fit parameters.
struct Misfit {
    /// The argument that is wrong; none when it is the call as a whole.
    place: Option<Span>,
    /// What is wrong.
    message: String,
    /// The name that no parameter has.
    unknown_name: Option<String>,
    /// Whether arguments are missing, and the one for the result may be among them.
    lacks_result: bool,
}

impl Misfit {
    fn of_call(message: String) -> Misfit {
        Misfit {
            place: None,
            message,
            unknown_name: None,
            lacks_result: false,
        }
    }
}

/// A call with everything found out.
pub(crate) struct BoundCall {
    /// One for each parameter.
    pub(crate) args: Vec<Argument>,
    /// See [`Call::written`].
    pub(crate) written: Vec<usize>,
    /// One for each type parameter.
    pub(crate) type_args: Vec<Type>,
    /// The result's type.
    pub(crate) result: Type,
}

/// The order in which arguments are written, given the index of each parameter's argument; parameters without one come
/// last. Empty when it is the order of the parameters.
fn written_order(assigned: &[Option<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..assigned.len()).collect();
    order.sort_by_key(|param| assigned[*param].unwrap_or(usize::MAX));
    if order.is_sorted() { Vec::new() } else { order }
}

/// Whether an argument is written as a variable, a field of one or a part of it.
fn may_be_written(value: &ast::Expr) -> bool {
    match &value.kind {
        ast::ExprKind::Name(_) | ast::ExprKind::DontCare => true,
        ast::ExprKind::Member { base, .. }
        | ast::ExprKind::Index { base, .. }
        | ast::ExprKind::Slice { base, .. }
        | ast::ExprKind::PlusSlice { base, .. } => may_be_written(base),
        _ => false,
    }
}

impl BoundCall {
    /// The call as an expression.
    pub(crate) fn call(self, callee: Callee, span: Span) -> Expr {
        let call = Call {
            callee,
            type_args: self.type_args,
            args: self.args,
            written: self.written,
        };
        Expr {
            kind: ExprKind::Call(Box::new(call)),
            ty: self.result,
            span,
        }
    }
}

impl Checker {
    /// Whether a call with these arguments could be meant for these parameters.
    pub(crate) fn fits(&self, params: &[Param], args: &[ast::Arg]) -> bool {
        self.assign_arguments(params, args, Span::NONE).is_ok()
    }

    /// Reports why a call does not fit; true if it fits.
    pub(crate) fn report_misfit(&mut self, what: &str, params: &[Param], args: &[ast::Arg], span: Span) -> bool {
        let Err(misfit) = self.assign_arguments(params, args, span) else {
            return true;
        };
        self.report_wrong_arguments(what, params, misfit, span);
        false
    }

    fn report_wrong_arguments(&mut self, what: &str, params: &[Param], misfit: Misfit, span: Span) {
        let place = misfit.place.unwrap_or(span);
        let mut diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, place, format!("{what}: {}", misfit.message));
        if let Some(name) = &misfit.unknown_name {
            diagnostic = diagnostic.did_you_mean(name, params.iter().map(|param| self.param_name(param)));
        }
        let mut results = params.iter().filter(|param| param.direction == Direction::Out);
        if let Some(result) = results.next().filter(|_| misfit.lacks_result) {
            let name = self.param_name(result);
            diagnostic = diagnostic.hint(format!(
                "the result is stored in the argument for `{name}`: give a variable"
            ));
        }
        let text = self.params_text(params);
        self.report(match params {
            [] => diagnostic.note("there are no parameters"),
            _ => diagnostic.note(format!("the parameters are {text}")),
        });
    }

    /// For each parameter the index of its argument, or what is wrong.
    fn assign_arguments(&self, params: &[Param], args: &[ast::Arg], span: Span) -> Result<Vec<Option<usize>>, Misfit> {
        let mut assigned = vec![None; params.len()];
        let named = args.iter().filter(|arg| arg.name.is_some()).count();
        if named != 0 && named != args.len() {
            return Err(Misfit::of_call(
                "either all arguments or none must be named".to_string(),
            ));
        }
        for (index, arg) in args.iter().enumerate() {
            let position = match &arg.name {
                None => index,
                Some(name) => match params.iter().position(|param| self.param_name(param) == name.name) {
                    Some(position) => position,
                    None => {
                        return Err(Misfit {
                            place: Some(name.span),
                            message: format!("there is no parameter `{}`", name.name),
                            unknown_name: Some(name.name.clone()),
                            lacks_result: false,
                        });
                    }
                },
            };
            match assigned.get_mut(position) {
                None => {
                    let takes = count_text(params.len(), "argument");
                    let message = format!("it takes {takes}, but {}", are_given(args.len()));
                    return Err(Misfit {
                        place: Some(arg.span),
                        ..Misfit::of_call(message)
                    });
                }
                Some(slot @ None) => *slot = Some(index),
                Some(Some(_)) => {
                    let message = format!("the argument `{}` is given twice", self.param_name(&params[position]));
                    return Err(Misfit {
                        place: Some(arg.span),
                        ..Misfit::of_call(message)
                    });
                }
            }
        }
        match self.missing_arguments(params, args, &assigned, span) {
            Some(misfit) => Err(misfit),
            None => Ok(assigned),
        }
    }

    /// What is said of parameters that need an argument and have none.
    fn missing_arguments(
        &self,
        params: &[Param],
        args: &[ast::Arg],
        assigned: &[Option<usize>],
        span: Span,
    ) -> Option<Misfit> {
        let missing: Vec<&str> = params
            .iter()
            .zip(assigned)
            .filter(|(param, arg)| arg.is_none() && !param.optional && param.default.is_none())
            .map(|(param, _)| self.param_name(param))
            .collect();
        if missing.is_empty() {
            return None;
        }
        let message = format!("no argument is given for `{}`", missing.join("`, `"));
        let result = params.iter().position(|param| param.direction == Direction::Out);
        let given = result.and_then(|result| assigned[result]);
        let is_given = given.is_some_and(|index| may_be_written(&args[index].value));
        Some(Misfit {
            lacks_result: self.context.statement_call != Some(span) || !is_given,
            ..Misfit::of_call(message)
        })
    }

    /// Checks the arguments of a call, infers type arguments and converts the arguments.
    pub(crate) fn bind_call(&mut self, callable: &Callable, site: CallSite) -> Option<BoundCall> {
        let mut inference = Inference::new(&callable.type_params);
        if !self.bind_explicit(&mut inference, callable, site.type_args, site.span) {
            return None;
        }
        self.bind_with(inference, callable, site.args, site.span)
    }

    fn bind_explicit(
        &mut self,
        inference: &mut Inference,
        callable: &Callable,
        explicit: &[ast::Type],
        span: Span,
    ) -> bool {
        if explicit.is_empty() {
            return true;
        }
        let types: Vec<Type> = explicit.iter().map(|ty| self.resolve_type_arg(ty)).collect();
        if types.len() != callable.type_params.len() {
            let takes = count_text(callable.type_params.len(), "type argument");
            let message = format!("{} takes {takes}, but {}", callable.what, are_given(types.len()));
            self.error(codes::TYPE_ARGUMENTS, span, message);
            return false;
        }
        for ((var, ty), written) in callable.type_params.iter().zip(types).zip(explicit) {
            if !ty.is_unknown() {
                inference.found.bind(*var, ty);
            } else if !matches!(written.kind, ast::TypeKind::DontCare) {
                // What it names was reported.
                return false;
            }
        }
        true
    }

    /// As [`Checker::bind_call`], with some type arguments known already.
    pub(crate) fn bind_with(
        &mut self,
        mut inference: Inference,
        callable: &Callable,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<BoundCall> {
        let assigned = match self.assign_arguments(&callable.params, args, span) {
            Ok(assigned) => assigned,
            Err(misfit) => {
                self.report_wrong_arguments(&callable.what, &callable.params, misfit, span);
                return None;
            }
        };
        let mut values: Vec<Option<Expr>> = Vec::new();
        for index in &assigned {
            values.push(index.and_then(|index| self.check_argument(&args[index])));
        }
        let wanted: Vec<Type> = callable
            .params
            .iter()
            .map(|param| callable.outer.apply(self.param_type(param)))
            .collect();
        self.infer(&mut inference, callable, &wanted, &values)?;
        self.infer_from_defaults(&mut inference, callable, &wanted, &assigned);
        let is_broken = |value: &Expr| matches!(value.kind, ExprKind::Invalid) && value.ty.is_unknown();
        if !callable.type_params.is_empty() && values.iter().flatten().any(is_broken) {
            return None;
        }
        let type_args = self.solved(&inference, callable, &assigned, &values, span)?;
        let found = Substitution::new(&callable.type_params, &type_args);
        let mut bound = Vec::new();
        for (position, param) in callable.params.iter().enumerate() {
            let ty = found.apply(&wanted[position]);
            let given = assigned[position].map(|index| args[index].span);
            bound.push(self.convert_argument(callable, param, &ty, values[position].take(), given));
        }
        let result = found.apply(&callable.outer.apply(&callable.result));
        Some(BoundCall {
            args: bound,
            written: written_order(&assigned),
            type_args,
            result,
        })
    }

    /// The value of an argument; none for `_`.
    fn check_argument(&mut self, arg: &ast::Arg) -> Option<Expr> {
        if matches!(arg.value.kind, ast::ExprKind::DontCare) {
            return None;
        }
        Some(self.check_value(&arg.value))
    }

    /// Unifies parameters with arguments, numbers without width last.
    fn infer(
        &mut self,
        inference: &mut Inference,
        callable: &Callable,
        wanted: &[Type],
        values: &[Option<Expr>],
    ) -> Option<()> {
        let mut fine = true;
        for widthless in [false, true] {
            for (position, value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                if (value.ty == Type::Int) != widthless {
                    continue;
                }
                fine &= self.infer_one(inference, callable, wanted, values, (position, value));
            }
        }
        fine.then_some(())
    }

    /// What arguments leave open is determined by the default values that stand in for those that are not given.
    fn infer_from_defaults(
        &self,
        inference: &mut Inference,
        callable: &Callable,
        wanted: &[Type],
        assigned: &[Option<usize>],
    ) {
        for (position, param) in callable.params.iter().enumerate() {
            if let (None, Some(default)) = (assigned[position], &param.default) {
                inference.unify(&self.program, &wanted[position], &default.ty, Mode::Convertible);
            }
        }
    }

    fn infer_one(
        &mut self,
        inference: &mut Inference,
        callable: &Callable,
        all_wanted: &[Type],
        values: &[Option<Expr>],
        (position, value): (usize, &Expr),
    ) -> bool {
        let (wanted, param) = (&all_wanted[position], &callable.params[position]);
        let mode = match param.direction {
            Direction::Out | Direction::InOut => Mode::Exact,
            Direction::In | Direction::None => Mode::Convertible,
        };
        if matches!(value.kind, ExprKind::Aggregate(_)) && !wanted.any(&|ty| matches!(ty, Type::Var(_))) {
            return true;
        }
        let ty = without_dots(value);
        if inference.unify(&self.program, wanted, &ty, mode) {
            return true;
        }
        let name = self.param_name(param);
        if mode == Mode::Exact && !self.is_lvalue(value) {
            let what = format!("the argument for `{name}`");
            return self.require_lvalue(value, &what);
        }
        let wanted = inference.found.apply(wanted);
        let message = format!(
            "the parameter `{name}` has type {}, but the argument has type {}",
            self.show(&wanted),
            self.show(&value.ty)
        );
        let mut diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, value.span, message);
        if let Some(note) = self.compare_blocks(&wanted, &value.ty) {
            if self.is_written_in_vain(self.params_of_block(&value.ty)) {
                return false;
            }
            diagnostic = diagnostic.note(note);
            if let Some(other) = self.exchanged(inference, all_wanted, values, position) {
                diagnostic = self.with_order(diagnostic, callable, value, other);
            }
        }
        if mode == Mode::Exact {
            diagnostic = diagnostic.note("there are no conversions for `out` and `inout` parameters");
        } else if let Some(hint) = self.conversion_hint(&wanted, &value.ty) {
            diagnostic = diagnostic.hint(hint);
        }
        self.report(diagnostic);
        false
    }

    /// The argument that fits at this position and not at its own: blocks of a package are in another order.
    fn exchanged<'v>(
        &self,
        inference: &Inference,
        wanted: &[Type],
        values: &'v [Option<Expr>],
        position: usize,
    ) -> Option<&'v Expr> {
        let fits = |at: usize, value: &Expr| {
            let mut trial = inference.clone();
            trial.unify(&self.program, &wanted[at], &value.ty, Mode::Convertible)
        };
        let mut others = values.iter().enumerate().filter(|(at, _)| *at != position);
        others.find_map(|(at, value)| {
            let value = value.as_ref()?;
            (fits(position, value) && !fits(at, value)).then_some(value)
        })
    }

    /// Adds the order of the arguments to a message about a block in the place of another one, which need not be
    /// reported too.
    fn with_order(&self, diagnostic: Diagnostic, callable: &Callable, value: &Expr, other: &Expr) -> Diagnostic {
        let names: Vec<&str> = callable.params.iter().map(|param| self.param_name(param)).collect();
        let mut places = [value.span.start, other.span.start];
        places.sort_unstable();
        let hint = format!(
            "`{}` fits here: the order is {}",
            self.show(&other.ty),
            names.join(", ")
        );
        diagnostic.hint(hint).cause(format!("exchanged {places:?}"))
    }

    /// The parameters of a parser or control.
    fn params_of_block(&self, ty: &Type) -> &[Param] {
        match ty {
            Type::Parser(id, _) => &self.program.parsers[id.index()].params,
            Type::Control(id, _) => &self.program.controls[id.index()].params,
            _ => &[],
        }
    }

    /// For two parsers or controls that do not fit, what their parameters are.
    fn compare_blocks(&self, wanted: &Type, given: &Type) -> Option<String> {
        let params = |ty: &Type| match ty {
            Type::Parser(..) => Some(("parser", self.params_of_block(ty))),
            Type::Control(..) => Some(("control", self.params_of_block(ty))),
            _ => None,
        };
        let ((wanted_kind, wanted), (given_kind, given)) = (params(wanted)?, params(given)?);
        if wanted_kind != given_kind {
            return Some(format!("a {wanted_kind} is needed, but this is a {given_kind}"));
        }
        Some(format!(
            "the parameters must be {}, but are {}",
            self.params_text(wanted),
            self.params_text(given)
        ))
    }

    /// The type arguments found, or a message about the one that was not.
    fn solved(
        &mut self,
        inference: &Inference,
        callable: &Callable,
        assigned: &[Option<usize>],
        values: &[Option<Expr>],
        span: Span,
    ) -> Option<Vec<Type>> {
        let mut types = Vec::new();
        for var in &callable.type_params {
            let ty = inference.found.apply(&Type::Var(*var));
            let unsolved = ty.any(&|ty| matches!(ty, Type::Var(id) if callable.type_params.contains(id)));
            if unsolved {
                if self.are_erroneous(values) {
                    return None;
                }
                if !callable.wildcards && !self.only_in_absent(callable, *var, assigned) {
                    let name = &self.program.type_vars[var.index()].name;
                    let message = format!("the type parameter {name} of {} cannot be inferred", callable.what);
                    let diagnostic = Diagnostic::error(codes::CANNOT_INFER, span, message);
                    self.report(diagnostic.hint("give the type arguments explicitly, in angle brackets"));
                    return None;
                }
                types.push(Type::Unknown);
                continue;
            }
            if ty.any(&|ty| *ty == Type::Int) && self.are_erroneous(values) {
                return None;
            }
            let place = self.without_width(callable, *var, values).unwrap_or(span);
            if !self.check_inferred(&ty, callable, *var, place) {
                return None;
            }
            types.push(ty);
        }
        Some(types)
    }

    /// Whether the type of an argument was reported, or that of a parameter of a parser or control among the arguments.
    fn are_erroneous(&self, values: &[Option<Expr>]) -> bool {
        if !self.diagnostics.has_errors() {
            return false;
        }
        let params = |ty: &Type| match ty {
            Type::Parser(id, _) => self.program.parsers[id.index()].params.clone(),
            Type::Control(id, _) => self.program.controls[id.index()].params.clone(),
            _ => Vec::new(),
        };
        values.iter().flatten().any(|value| {
            let mut params = params(&value.ty).into_iter();
            value.ty.any(&Type::is_unknown) || params.any(|param| self.param_type(&param).any(&Type::is_unknown))
        })
    }

    /// The number without a width among the arguments from which a type parameter is inferred.
    fn without_width(&self, callable: &Callable, var: TypeVarId, values: &[Option<Expr>]) -> Option<Span> {
        let mentions = |param: &Param| self.param_type(param).any(&|ty| *ty == Type::Var(var));
        let pairs = callable.params.iter().zip(values).filter(|(param, _)| mentions(param));
        pairs.filter_map(|(_, value)| value.as_ref()).find_map(widthless_part)
    }

    /// Whether a type parameter occurs only in optional parameters that got no argument.
    fn only_in_absent(&self, callable: &Callable, var: TypeVarId, assigned: &[Option<usize>]) -> bool {
        let mentions = |ty: &Type| ty.any(&|ty| *ty == Type::Var(var));
        let mut mentioned = false;
        for (param, arg) in callable.params.iter().zip(assigned) {
            if mentions(self.param_type(param)) {
                if arg.is_some() || !param.optional {
                    return false;
                }
                mentioned = true;
            }
        }
        mentioned || callable.strictness == Strictness::Constructor && callable.params.is_empty()
    }

    /// A type found for a type parameter must be one that values can have here.
    fn check_inferred(&mut self, ty: &Type, callable: &Callable, var: TypeVarId, span: Span) -> bool {
        if *ty == Type::String
            && callable
                .params
                .iter()
                .any(|param| param.direction != Direction::None && *self.param_type(param) == Type::Var(var))
        {
            let message = format!("{} cannot take a string: its parameter has a direction", callable.what);
            self.error(codes::INVALID_PARAMETER, span, message);
            return false;
        }
        let runtime =
            callable.params.iter().any(|param| {
                param.direction != Direction::None && self.param_type(param).any(&|ty| *ty == Type::Var(var))
            }) || callable.result.any(&|ty| *ty == Type::Var(var));
        if runtime && ty.any(&|ty| *ty == Type::Int) {
            let message = format!("this argument of {} has no width", callable.what);
            let diagnostic = Diagnostic::error(codes::UNKNOWN_WIDTH, span, message);
            self.report(diagnostic.hint("give it a width, as in 8w5 or (bit<8>) 5"));
            return false;
        }
        let not_data = ty.any(&|ty| {
            matches!(
                ty,
                Type::Table(_)
                    | Type::ApplyResult(_)
                    | Type::ActionRun(_)
                    | Type::Record(_)
                    | Type::Set(_)
                    | Type::ValueSet(_)
            )
        }) || matches!(ty, Type::Parser(..) | Type::Control(..) | Type::Package(..))
            && callable.strictness != Strictness::Constructor;
        if not_data {
            let message = format!(
                "{} cannot be called with a value of type {}",
                callable.what,
                self.show(ty)
            );
            self.error(codes::CANNOT_INFER, span, message);
        }
        !not_data
    }

    fn convert_argument(
        &mut self,
        callable: &Callable,
        param: &Param,
        ty: &Type,
        value: Option<Expr>,
        given: Option<Span>,
    ) -> Argument {
        let Some(value) = value else {
            return match (given, &param.default) {
                (Some(span), _) => self.discard(param, ty, span),
                (None, Some(default)) => Argument::Value(self.copy_constant(default, default.span)),
                (None, None) => Argument::Absent,
            };
        };
        let name = self.param_name(param).to_string();
        if ty.is_unknown() && matches!(self.param_type(param), Type::Var(_)) && !self.diagnostics.has_errors() {
            self.report_open_type(callable, param, &value);
        }
        match param.direction {
            Direction::Out | Direction::InOut => {
                self.require_lvalue(&value, &format!("the argument for `{name}`"));
                Argument::Value(self.exact(value, ty))
            }
            Direction::In => Argument::Value(self.coerce(value, ty)),
            Direction::None => {
                let value = self.coerce(value, ty);
                let is_wrong = callable.strictness != Strictness::Action
                    && !self.require_constant(&value, &format!("the argument for `{name}`"));
                Argument::Value(if is_wrong { self.invalid(value.span) } else { value })
            }
        }
    }

    /// Reports an argument for a parameter whose type is nowhere: mostly the object is declared with `_` for it.
    fn report_open_type(&mut self, callable: &Callable, param: &Param, value: &Expr) {
        let name = self.param_name(param);
        let message = format!("the type of the argument for `{name}` cannot be inferred");
        let mut diagnostic = Diagnostic::error(codes::CANNOT_INFER, value.span, message);
        if let Type::Var(var) = self.param_type(param)
            && callable.outer.get(*var).is_some()
        {
            let name = &self.program.type_vars[var.index()].name;
            let wanted = match &value.ty {
                Type::Int => "a type, as bit<32>,".to_string(),
                ty => self.show(ty),
            };
            diagnostic = diagnostic.hint(format!(
                "the object is declared with `_` for {name}: write {wanted} there"
            ));
        }
        self.report(diagnostic);
    }

    /// An argument for an `out` or `inout` parameter: there are no conversions.
    fn exact(&mut self, value: Expr, ty: &Type) -> Expr {
        if !matches!(value.kind, ExprKind::Invalid) && !self.same_type(ty, &value.ty) {
            let message = format!(
                "an out or inout argument must have exactly the type {}, but this has type {}",
                self.show(ty),
                self.show(&value.ty)
            );
            self.error(codes::TYPE_MISMATCH, value.span, message);
        }
        value
    }

    /// `_` as an argument: only `out` results can be thrown away.
    fn discard(&mut self, param: &Param, ty: &Type, span: Span) -> Argument {
        if param.optional {
            return Argument::Absent;
        }
        if param.direction != Direction::Out {
            let message = format!(
                "`_` can only stand for an out parameter, and `{}` is none",
                self.param_name(param)
            );
            self.error(codes::WRONG_ARGUMENTS, span, message);
        } else if ty.is_unknown() {
            let message = format!(
                "the type of the argument for `{}` cannot be inferred",
                self.param_name(param)
            );
            self.error(codes::CANNOT_INFER, span, message);
        }
        Argument::Discard
    }
}

/// The type of an argument; a list that ends in `...` counts as unknown, since the parameter decides its length.
fn without_dots(value: &Expr) -> Type {
    match &value.kind {
        ExprKind::Aggregate(elements) if elements.last().is_some_and(crate::coerce::is_dots) => Type::Unknown,
        _ => value.ty.clone(),
    }
}

/// The number without a width in a value, which may be a list.
fn widthless_part(value: &Expr) -> Option<Span> {
    match &value.kind {
        ExprKind::Aggregate(elements) | ExprKind::Reordered(elements, _) => elements.iter().find_map(widthless_part),
        _ => (value.ty == Type::Int).then_some(value.span),
    }
}
