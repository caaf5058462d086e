//! Implicit conversions (§8.12.2, §8.13 to §8.15, §8.28): fitting an expression to the type that is wanted.
//!
//! `int` becomes `bit<W>` or `int<W>`, an enum with representation its underlying type, a list or structure-valued
//! expression the struct, header, tuple, stack or list that it initialises. Aggregates are fitted element by element,
//! so the result is in order of declaration and all its parts have their final types.

use crate::call::{are_given, count_text};
use crate::checker::Checker;
use crate::fold;
use crate::hir::*;
use crate::unify::{Inference, Mode};
use forebay_syntax::ast::Direction;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::{One, Zero};

impl Checker {
    /// The expression with the wanted type; reports a mismatch.
    pub(crate) fn coerce(&mut self, expr: Expr, wanted: &Type) -> Expr {
        if wanted.is_unknown() || matches!(expr.kind, ExprKind::Invalid) {
            return expr;
        }
        match &expr.kind {
            ExprKind::InvalidHeader if expr.ty.is_unknown() => self.coerce_invalid_header(expr, wanted),
            ExprKind::DefaultValue if expr.ty.is_unknown() => self.coerce_default(expr, wanted),
            ExprKind::Aggregate(_) if expr.ty != *wanted => self.coerce_aggregate(expr, wanted),
            ExprKind::Ternary(..) if expr.ty != *wanted && is_aggregate_type(&expr.ty) => {
                self.coerce_ternary(expr, wanted)
            }
            _ if expr.ty == *wanted || expr.ty.is_unknown() => expr,
            _ if self.converts(wanted, &expr.ty) => {
                if is_aggregate_type(&expr.ty) && !is_aggregate_type(wanted) {
                    return self.mismatch(expr, wanted);
                }
                if !expr.ty.is_number() && !matches!(expr.ty, Type::Enum(_)) {
                    return expr;
                }
                self.convert(expr, wanted)
            }
            _ => self.mismatch(expr, wanted),
        }
    }

    fn coerce_ternary(&mut self, expr: Expr, wanted: &Type) -> Expr {
        let ExprKind::Ternary(condition, left, right) = expr.kind else {
            return expr;
        };
        let left = self.coerce(*left, wanted);
        let right = self.coerce(*right, wanted);
        let kind = ExprKind::Ternary(condition, Box::new(left), Box::new(right));
        Expr {
            kind,
            ty: wanted.clone(),
            span: expr.span,
        }
    }

    /// Whether a value of type `actual` can stand where `wanted` is wanted.
    pub(crate) fn converts(&self, wanted: &Type, actual: &Type) -> bool {
        Inference::default().unify(&self.program, wanted, actual, Mode::Convertible)
    }

    /// Whether two types are the same, unknown parts aside.
    pub(crate) fn same_type(&self, left: &Type, right: &Type) -> bool {
        Inference::default().unify(&self.program, left, right, Mode::Exact)
    }

    fn mismatch(&mut self, expr: Expr, wanted: &Type) -> Expr {
        let message = format!(
            "expected a value of type {}, found {}",
            self.show(wanted),
            self.show(&expr.ty)
        );
        let mut diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, expr.span, message);
        if let Some(hint) = dotted_address_hint(&expr) {
            diagnostic = diagnostic.hint(hint);
        } else if let Some(hint) = self.conversion_hint(wanted, &expr.ty) {
            diagnostic = diagnostic.hint(hint);
        }
        self.report(diagnostic);
        self.invalid(expr.span)
    }

    fn coerce_default(&mut self, expr: Expr, wanted: &Type) -> Expr {
        if wanted.is_object() || matches!(wanted, Type::List(_) | Type::Void | Type::Var(_)) {
            let message = format!("the type {} has no default value", self.show(wanted));
            self.error(codes::TYPE_MISMATCH, expr.span, message);
        }
        Expr {
            ty: wanted.clone(),
            ..expr
        }
    }

    fn coerce_invalid_header(&mut self, expr: Expr, wanted: &Type) -> Expr {
        if self.program.is_header(wanted) || self.program.is_union(wanted) {
            return Expr {
                ty: wanted.clone(),
                ..expr
            };
        }
        let message = format!(
            "`{{#}}` is an invalid header, but a value of type {} is wanted",
            self.show(wanted)
        );
        self.error(codes::TYPE_MISMATCH, expr.span, message);
        self.invalid(expr.span)
    }

    fn coerce_aggregate(&mut self, expr: Expr, wanted: &Type) -> Expr {
        let Expr {
            kind: ExprKind::Aggregate(elements),
            ty,
            span,
        } = expr
        else {
            return expr;
        };
        if let Type::Record(fields) = &ty {
            let names: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
            return self.coerce_record(names, elements, wanted, &ty, span);
        }
        let types = match (wanted, &ty) {
            (Type::Composite(id, args), Type::Tuple(_)) if !self.program.is_union(wanted) => {
                self.program.field_types(*id, args)
            }
            (Type::Tuple(types), Type::Tuple(_)) => types.to_vec(),
            (Type::Stack(element, size), Type::Tuple(_)) => vec![(**element).clone(); *size as usize],
            (Type::List(element), Type::Tuple(_)) => vec![(**element).clone(); elements.len()],
            _ if self.same_type(wanted, &ty) => {
                return Expr {
                    kind: ExprKind::Aggregate(elements),
                    ty,
                    span,
                };
            }
            _ => {
                return self.mismatch(
                    Expr {
                        kind: ExprKind::Aggregate(elements),
                        ty,
                        span,
                    },
                    wanted,
                );
            }
        };
        let Some(elements) = self.fill_defaults(elements, types.len(), wanted, span) else {
            return self.invalid(span);
        };
        let elements = elements
            .into_iter()
            .zip(&types)
            .map(|(element, ty)| self.coerce(element, ty))
            .collect();
        Expr {
            kind: ExprKind::Aggregate(elements),
            ty: wanted.clone(),
            span,
        }
    }

    /// Replaces a `...` at the end by default values, and checks the number of elements.
    fn fill_defaults(&mut self, mut elements: Vec<Expr>, count: usize, wanted: &Type, span: Span) -> Option<Vec<Expr>> {
        let given = elements.len();
        if let Some(last) = elements.last()
            && is_dots(last)
            && given <= count + 1
        {
            let dots = elements.pop()?;
            while elements.len() < count {
                elements.push(dots.clone());
            }
        }
        if elements.len() == count {
            return Some(elements);
        }
        let parts = if matches!(wanted, Type::Composite(..)) {
            "field"
        } else {
            "element"
        };
        let message = format!(
            "{} has {}, but {}",
            self.show(wanted),
            count_text(count, parts),
            are_given(given)
        );
        let diagnostic = Diagnostic::error(codes::WRONG_SHAPE, span, message);
        self.report(if given < count {
            diagnostic.hint("end the list with `...` to fill in default values")
        } else {
            diagnostic
        });
        None
    }

    fn coerce_record(&mut self, names: Vec<String>, elements: Vec<Expr>, wanted: &Type, ty: &Type, span: Span) -> Expr {
        let Type::Composite(id, args) = wanted else {
            let record = Expr {
                kind: ExprKind::Aggregate(elements),
                ty: ty.clone(),
                span,
            };
            return if self.same_type(wanted, ty) {
                record
            } else {
                self.mismatch(record, wanted)
            };
        };
        let types = self.program.field_types(*id, args);
        let fields: Vec<String> = self.program.composites[id.index()]
            .fields
            .iter()
            .map(|field| field.name.clone())
            .collect();
        let mut values: Vec<Option<Expr>> = vec![None; fields.len()];
        let mut written = Vec::new();
        let mut has_dots = false;
        for (name, element) in names.iter().zip(elements) {
            if name == "..." {
                has_dots = true;
                continue;
            }
            let Some(index) = fields.iter().position(|field| field == name) else {
                self.report_unknown_field(name, element.span, wanted, &fields);
                return self.invalid(span);
            };
            written.push(index);
            values[index] = Some(self.coerce(element, &types[index]));
        }
        let is_missing = |index: &usize| values[*index].is_none();
        let absent: Vec<usize> = (0..values.len()).filter(is_missing).collect();
        if !absent.is_empty() && !has_dots {
            let names: Vec<&str> = absent.iter().map(|index| fields[*index].as_str()).collect();
            self.report_missing_fields(&names, wanted, span);
            return self.invalid(span);
        }
        let default = |ty: &Type| Expr {
            kind: ExprKind::DefaultValue,
            ty: ty.clone(),
            span,
        };
        written.extend(absent);
        let elements: Vec<Expr> = values
            .into_iter()
            .zip(&types)
            .map(|(value, ty)| value.unwrap_or_else(|| default(ty)))
            .collect();
        let is_in_order = written.is_sorted() || elements.iter().all(|element| self.is_constant(element));
        Expr {
            kind: if is_in_order {
                ExprKind::Aggregate(elements)
            } else {
                ExprKind::Reordered(elements, written)
            },
            ty: wanted.clone(),
            span,
        }
    }

    fn report_missing_fields(&mut self, names: &[&str], composite: &Type, span: Span) {
        let message = format!(
            "no value is given for `{}` of {}",
            names.join("`, `"),
            self.show(composite)
        );
        let diagnostic = Diagnostic::error(codes::WRONG_SHAPE, span, message);
        self.report(diagnostic.hint("end with `...` to fill in default values"));
    }

    fn report_unknown_field(&mut self, name: &str, span: Span, composite: &Type, fields: &[String]) {
        let message = format!("{} has no field `{name}`", self.show(composite));
        let diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, span, message)
            .did_you_mean(name, fields.iter().map(String::as_str))
            .options(fields.to_vec());
        self.report(diagnostic);
    }

    /// An enum with representation as its underlying number; anything else itself.
    pub(crate) fn number_of(&mut self, expr: Expr) -> Expr {
        let ty = self.program.representation(&expr.ty);
        if ty == expr.ty { expr } else { self.convert(expr, &ty) }
    }

    /// Converts without checking whether that is allowed; literals are folded, with a warning when bits are lost.
    pub(crate) fn convert(&mut self, expr: Expr, to: &Type) -> Expr {
        if let Some(value) = self.constant_number(&expr) {
            let number = self.program.underlying(to);
            if number == Type::Bool {
                return Expr {
                    kind: ExprKind::Bool(!value.is_zero()),
                    ty: to.clone(),
                    span: expr.span,
                };
            }
            if number.is_number() {
                if expr.ty == Type::Int && !fold::fits(&number, &value) {
                    self.warn_truncated(expr.span, &value, to);
                }
                return Expr {
                    kind: ExprKind::Int(fold::cast(&number, &value)),
                    ty: to.clone(),
                    span: expr.span,
                };
            }
        }
        if let ExprKind::Bool(value) = expr.kind {
            let number = self.program.underlying(to);
            let kind = if number.is_number() {
                ExprKind::Int(if value { BigInt::one() } else { BigInt::zero() })
            } else {
                ExprKind::Bool(value)
            };
            return Expr {
                kind,
                ty: to.clone(),
                span: expr.span,
            };
        }
        let span = expr.span;
        Expr {
            kind: ExprKind::Cast(Box::new(expr)),
            ty: to.clone(),
            span,
        }
    }

    /// Warns of a number that is cut to its type.
    pub(crate) fn warn_truncated(&mut self, span: Span, value: &BigInt, to: &Type) {
        let left = fold::cast(&self.program.underlying(to), value);
        let to = self.show(to);
        let message = format!("{value} does not fit {to}; its upper bits are cut off, which leaves {left}");
        self.report(Diagnostic::warning(codes::VALUE_TRUNCATED, span, message));
    }

    /// The number that a literal stands for, a member of an enum with representation included.
    pub(crate) fn constant_number(&self, expr: &Expr) -> Option<BigInt> {
        match &expr.kind {
            ExprKind::Int(value) => Some(value.clone()),
            ExprKind::EnumMember(id, index) => self.program.enums[id.index()]
                .members
                .get(*index)
                .and_then(|(_, value)| value.clone()),
            _ => None,
        }
    }

    /// Whether the value is known at compile time, at the latest at elaboration.
    pub(crate) fn is_constant(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Var(id) => matches!(
                self.program.vars[id.index()].kind,
                VarKind::Constructor | VarKind::Param(Direction::None)
            ),
            ExprKind::Call(call) => self.is_constant_call(call),
            ExprKind::Table(_)
            | ExprKind::ValueSet(_)
            | ExprKind::StackNext(_)
            | ExprKind::StackLast(_)
            | ExprKind::StackLastIndex(_)
            | ExprKind::TableHit(_)
            | ExprKind::TableMiss(_)
            | ExprKind::Reordered(..) => false,
            ExprKind::Construct(_) => true,
            _ => expr.operands().into_iter().all(|operand| self.is_constant(operand)),
        }
    }

    /// Calls of `static_assert`, `@pure` functions and functions that make extern instances, with constant arguments.
    fn is_constant_call(&self, call: &Call) -> bool {
        let Callee::Function(id) = &call.callee else {
            return false;
        };
        let function = &self.program.functions[id.index()];
        let foldable = function.name == "static_assert"
            || crate::annotations::has(&function.annotations, "pure")
            || matches!(function.result, Type::Extern(..));
        foldable && function.body.is_none() && call.values().all(|value| self.is_constant(value))
    }

    /// Requires a compile-time value.
    pub(crate) fn require_constant(&mut self, expr: &Expr, what: &str) -> bool {
        let constant = self.is_constant(expr);
        if !constant {
            self.not_constant(expr, what);
        }
        constant
    }

    /// Reports a value that is known only at run time.
    pub(crate) fn not_constant(&mut self, expr: &Expr, what: &str) {
        let message = format!("{what} must be a compile-time constant");
        let diagnostic = Diagnostic::error(codes::NOT_CONSTANT, expr.span, message);
        self.report(match self.why_not_constant(expr) {
            Some(reason) => diagnostic.note(reason),
            None => diagnostic,
        });
    }

    /// Whether the expression can be written.
    pub(crate) fn is_lvalue(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Var(id) => matches!(
                self.program.vars[id.index()].kind,
                VarKind::Local | VarKind::Param(Direction::Out | Direction::InOut)
            ),
            ExprKind::Invalid => true,
            ExprKind::StackLast(_) => false,
            _ => expr.base().is_some_and(|base| self.is_lvalue(base)),
        }
    }

    /// Requires something that can be written.
    pub(crate) fn require_lvalue(&mut self, expr: &Expr, what: &str) -> bool {
        if self.is_lvalue(expr) {
            return true;
        }
        let diagnostic = not_assignable(expr.span, what, self.why_read_only(expr));
        self.report(match in_parameter(&self.program, expr) {
            Some((id, var)) => diagnostic
                .secondary(var.span, "declared here")
                .hint("declare it `inout` to change it for the caller, or change a copy in a variable")
                .cause(read_only(id)),
            None => diagnostic,
        });
        false
    }

    /// Whether it was reported that one of these parameters is written, though it is an `in` parameter.
    pub(crate) fn is_written_in_vain(&self, params: &[Param]) -> bool {
        params.iter().any(|param| self.diagnostics.knows(&read_only(param.var)))
    }
}

/// The message about something that cannot be written, with the reason if there is one.
pub(crate) fn not_assignable(span: Span, what: &str, reason: Option<String>) -> Diagnostic {
    let message = match reason {
        Some(reason) => format!("{what} must be an l-value, but {reason}, which is read-only"),
        None => format!("{what} must be an l-value"),
    };
    let hint = "l-values are variables, `out` and `inout` parameters, and parts of these";
    Diagnostic::error(codes::NOT_ASSIGNABLE, span, message).hint(hint)
}

/// The cause of messages about one `in` parameter that is written.
fn read_only(param: VarId) -> String {
    format!("parameter {} is read-only", param.0)
}

/// The `in` parameter of which an expression is a part.
fn in_parameter<'a>(program: &'a Program, expr: &Expr) -> Option<(VarId, &'a Var)> {
    match &expr.kind {
        ExprKind::Var(id) => {
            let var = &program.vars[id.index()];
            (var.kind == VarKind::Param(Direction::In)).then_some((*id, var))
        }
        ExprKind::StackLast(_) => None,
        _ => in_parameter(program, expr.base()?),
    }
}

/// For a string that is an address: the address as a number.
fn dotted_address_hint(expr: &Expr) -> Option<String> {
    let ExprKind::String(text) = &expr.kind else {
        return None;
    };
    let address: std::net::Ipv4Addr = text.parse().ok()?;
    Some(format!("write it as a number: {:#010x}", address.to_bits()))
}

/// Whether it is the `...` at the end of a list or structure.
pub(crate) fn is_dots(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::DefaultValue) && expr.ty.is_unknown()
}

fn is_aggregate_type(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(_) | Type::Record(_))
}
