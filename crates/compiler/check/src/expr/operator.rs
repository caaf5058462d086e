//! Operators (§8.5 to §8.10), with constant folding.

use crate::advice::IS_VALID;
use crate::checker::Checker;
use crate::fold::{self, FoldError};
use crate::hir::*;
use crate::limits::MAX_STRING;
use forebay_syntax::ast::{self, BinaryOp, UnaryOp};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

impl Checker {
    /// `op e`
    pub(super) fn check_unary(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        let operand = self.check_typed_value(operand);
        let operand = if op == UnaryOp::Not {
            operand
        } else {
            self.number_of(operand)
        };
        if operand.ty.is_unknown() && !matches!(operand.kind, ExprKind::InvalidHeader | ExprKind::DefaultValue) {
            return self.invalid(span);
        }
        let ty = operand.ty.clone();
        let defined = match op {
            UnaryOp::Not => ty == Type::Bool,
            UnaryOp::Negate | UnaryOp::Plus => ty.is_number(),
            UnaryOp::Complement => ty.width().is_some(),
        };
        if !defined {
            let message = format!("the operator `{}` is not defined on {}", unary_text(op), self.show(&ty));
            let diagnostic = Diagnostic::error(codes::INVALID_OPERANDS, span, message);
            self.report(match (op, &ty) {
                (_, Type::Int) => diagnostic.hint("give the number a width, as in 8w5"),
                (UnaryOp::Not, ty) if ty.is_number() => {
                    diagnostic.hint("compare with a number: ... == 0; the operator `~` inverts the bits")
                }
                (UnaryOp::Complement, Type::Bool) => diagnostic.hint("the operator on bool is `!`"),
                _ => diagnostic,
            });
            return self.invalid(span);
        }
        let kind = match &operand.kind {
            ExprKind::Bool(value) => ExprKind::Bool(!value),
            ExprKind::Int(value) => match fold::unary(op, &ty, value) {
                Ok(value) => ExprKind::Int(value),
                Err(_) => ExprKind::Unary(op, Box::new(operand)),
            },
            _ => ExprKind::Unary(op, Box::new(operand)),
        };
        Expr { kind, ty, span }
    }

    /// `a op b op c`
    pub(super) fn check_binary(&mut self, first: &ast::Expr, links: &[ast::Link], span: Span) -> Expr {
        let mut result = self.check_value(first);
        if matches!(result.ty, Type::ActionRun(_)) {
            // This was reported. The names of actions that it is compared with are no values.
            let ty = Type::Bool;
            return Expr {
                kind: ExprKind::Invalid,
                ty,
                span,
            };
        }
        for (index, link) in links.iter().enumerate() {
            let right = self.check_value(&link.right);
            self.warn_of_zero(link, &result);
            // The whole expression may have parentheses around it.
            let span = if index + 1 == links.len() { span } else { link.span };
            result = self.apply_binary(link.op, result, right, span);
        }
        result
    }

    /// Warns when a number without sign is compared with a literal 0 as if it could be below it.
    fn warn_of_zero(&mut self, link: &ast::Link, left: &Expr) {
        let is_zero = matches!(&link.right.kind, ast::ExprKind::Int(literal) if literal.value.is_zero());
        let result = match link.op {
            BinaryOp::Lt => "false",
            BinaryOp::Ge => "true",
            _ => return,
        };
        if !is_zero || !matches!(left.ty, Type::Bit(_)) {
            return;
        }
        let message = format!("this is always {result}: a {} is never below 0", self.show(&left.ty));
        let hint = "compare what is subtracted, as in `a < b` in place of `a - b < 0`";
        self.report(Diagnostic::warning(codes::ALWAYS_THE_SAME, link.span, message).hint(hint));
    }

    /// An operator on two checked operands.
    pub(crate) fn apply_binary(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        if is_failed(&left) || is_failed(&right) {
            return Expr {
                kind: ExprKind::Invalid,
                ty: unknown_result(op),
                span,
            };
        }
        match op {
            BinaryOp::And | BinaryOp::Or => self.logical(op, left, right, span),
            BinaryOp::Eq | BinaryOp::Ne => self.equality(op, left, right, span),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => self.ordering(op, left, right, span),
            BinaryOp::Concat => self.concatenation(left, right, span),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, left, right, span),
            BinaryOp::Div | BinaryOp::Mod => self.division(op, left, right, span),
            _ => self.arithmetic(op, left, right, span),
        }
    }

    fn undefined(&mut self, op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Expr {
        let message = format!(
            "the operator `{}` is not defined on {} and {}",
            binary_text(op),
            self.show(&left.ty),
            self.show(&right.ty)
        );
        let diagnostic = Diagnostic::error(codes::INVALID_OPERANDS, span, message);
        let hint = self.operator_hint(op, &left.ty, &right.ty).map(str::to_string);
        self.report(match hint.or_else(|| self.new_type_hint(&left.ty, &right.ty)) {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        });
        Expr {
            kind: ExprKind::Invalid,
            ty: unknown_result(op),
            span,
        }
    }

    fn logical(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        if left.ty != Type::Bool || right.ty != Type::Bool {
            return self.undefined(op, &left, &right, span);
        }
        let kind = match (&left.kind, &right.kind) {
            (ExprKind::Bool(left), ExprKind::Bool(right)) => ExprKind::Bool(if op == BinaryOp::And {
                *left && *right
            } else {
                *left || *right
            }),
            (ExprKind::Bool(value), _) if *value == (op == BinaryOp::Or) => ExprKind::Bool(*value),
            (ExprKind::Bool(_), _) => return Expr { span, ..right },
            _ => return Expr::binary(op, left, right, Type::Bool, span),
        };
        Expr {
            kind,
            ty: Type::Bool,
            span,
        }
    }

    /// Gives two numbers the same type: `int` takes the type of the other operand. Reports and returns none if that
    /// fails.
    fn same_number(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Option<(Expr, Expr)> {
        let left = self.number_of(left);
        let right = self.number_of(right);
        if !left.ty.is_number() || !right.ty.is_number() {
            self.undefined(op, &left, &right, span);
            return None;
        }
        let ty = if left.ty == Type::Int {
            right.ty.clone()
        } else {
            left.ty.clone()
        };
        if left.ty != Type::Int && right.ty != Type::Int && left.ty != right.ty {
            let message = format!(
                "the operands of `{}` must have the same type, but these are {} and {}",
                binary_text(op),
                self.show(&left.ty),
                self.show(&right.ty)
            );
            let hint = match self
                .two_casts(&left.ty, &right.ty)
                .filter(|_| !self.cast_allowed(&left.ty, &right.ty))
            {
                Some(casts) => format!("cast one of them, as in {casts} ..."),
                None => format!("cast one of them, as in ({}) ...", self.show(&left.ty)),
            };
            self.report(Diagnostic::error(codes::WIDTH_MISMATCH, span, message).hint(hint));
            return None;
        }
        Some((self.coerce(left, &ty), self.coerce(right, &ty)))
    }

    fn arithmetic(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let Some((left, right)) = self.same_number(op, left, right, span) else {
            return self.invalid(span);
        };
        let saturating = matches!(op, BinaryOp::SatAdd | BinaryOp::SatSub);
        if saturating && left.ty == Type::Int {
            return self.undefined(op, &left, &right, span);
        }
        self.fold_or_build(op, left, right, span)
    }

    fn fold_or_build(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let ty = left.ty.clone();
        if let (ExprKind::Int(left), ExprKind::Int(right)) = (&left.kind, &right.kind) {
            return match fold::binary(op, &ty, left, right) {
                Ok(value) => Expr {
                    kind: ExprKind::Int(value),
                    ty,
                    span,
                },
                Err(error) => self.fold_error(error, ty, span),
            };
        }
        Expr::binary(op, left, right, ty, span)
    }

    fn fold_error(&mut self, error: FoldError, ty: Type, span: Span) -> Expr {
        let (code, message) = match error {
            FoldError::DivisionByZero => (codes::DIVISION_BY_ZERO, "this divides by zero"),
            FoldError::NegativeDivision => (
                codes::INVALID_DIVISION,
                "`/` and `%` are not defined on negative numbers",
            ),
            FoldError::NegativeShift => (codes::INVALID_SHIFT, "a shift by a negative amount is not defined"),
            FoldError::TooLarge => (
                codes::OUT_OF_RANGE,
                "the value of this constant expression is too large",
            ),
            FoldError::NotDefined => (codes::INVALID_OPERANDS, "the operator is not defined on these values"),
        };
        self.error(code, span, message);
        Expr {
            kind: ExprKind::Invalid,
            ty,
            span,
        }
    }

    /// `/` and `%` (§8.6): p4c takes them on `bit<W>` at run time, too, where a division by zero gives 0.
    fn division(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let is_negative = |expr: &Expr| matches!(&expr.kind, ExprKind::Int(value) if value.is_negative());
        let signed = |expr: &Expr| matches!(expr.ty, Type::Signed(_));
        if [&left, &right]
            .into_iter()
            .any(|expr| is_negative(expr) && !signed(expr))
        {
            return self.fold_error(FoldError::NegativeDivision, Type::Unknown, span);
        }
        let Some((left, right)) = self.same_number(op, left, right, span) else {
            return self.invalid(span);
        };
        if matches!(left.ty, Type::Signed(_)) {
            let message = format!("`{}` is not defined on signed values", binary_text(op));
            self.error(codes::INVALID_DIVISION, span, message);
            return Expr {
                kind: ExprKind::Invalid,
                ty: left.ty,
                span,
            };
        }
        if matches!(&right.kind, ExprKind::Int(value) if value.is_zero()) {
            return self.fold_error(FoldError::DivisionByZero, left.ty, span);
        }
        self.fold_or_build(op, left, right, span)
    }

    fn shift(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let left = self.number_of(left);
        let right = self.number_of(right);
        if !left.ty.is_number() || !right.ty.is_number() {
            return self.undefined(op, &left, &right, span);
        }
        if let ExprKind::Int(amount) = &right.kind {
            if amount.is_negative() {
                return self.fold_error(FoldError::NegativeShift, left.ty, span);
            }
            if let Some(width) = left.ty.width()
                && *amount >= BigInt::from(width)
            {
                let message = format!("a {} shifted by {amount} loses all its bits", self.show(&left.ty));
                self.report(Diagnostic::warning(codes::SHIFT_TOO_FAR, span, message));
            }
        } else if matches!(right.ty, Type::Signed(_)) {
            self.error(
                codes::INVALID_SHIFT,
                right.span,
                "the amount of a shift must be an unsigned number",
            );
            return Expr {
                kind: ExprKind::Invalid,
                ty: left.ty,
                span,
            };
        }
        let amount_known = matches!(right.kind, ExprKind::Int(_)) || self.is_constant(&right);
        if !amount_known && left.ty == Type::Int {
            let message = "a number without width can only be shifted by a compile-time constant";
            let diagnostic = Diagnostic::error(codes::INVALID_SHIFT, span, message);
            self.report(diagnostic.hint("give the left operand a width, as in 8w1 << amount"));
            return self.invalid(span);
        }
        if !amount_known && right.ty == Type::Int {
            self.error(
                codes::INVALID_SHIFT,
                right.span,
                "the amount of a shift must be a bit<W> or a constant",
            );
            return self.invalid(span);
        }
        self.fold_or_build(op, left, right, span)
    }

    fn concatenation(&mut self, left: Expr, right: Expr, span: Span) -> Expr {
        if let (ExprKind::String(left), ExprKind::String(right)) = (&left.kind, &right.kind) {
            if left.len() + right.len() > MAX_STRING {
                self.error(codes::TOO_LARGE, span, "this string is too long");
                return self.invalid(span);
            }
            return Expr {
                kind: ExprKind::String(format!("{left}{right}")),
                ty: Type::String,
                span,
            };
        }
        if left.ty == Type::String && right.ty == Type::String {
            return Expr::binary(BinaryOp::Concat, left, right, Type::String, span);
        }
        let left = self.number_of(left);
        let right = self.number_of(right);
        let (Some(left_width), Some(right_width)) = (left.ty.width(), right.ty.width()) else {
            if left.ty == Type::Int || right.ty == Type::Int {
                let place = if left.ty == Type::Int { left.span } else { right.span };
                let message = "the operands of `++` need a width";
                self.report(Diagnostic::error(codes::UNKNOWN_WIDTH, place, message).hint("write a width, as in 8w5"));
                return self.invalid(span);
            }
            return self.undefined(BinaryOp::Concat, &left, &right, span);
        };
        let width = left_width.saturating_add(right_width);
        if width > crate::resolve::MAX_WIDTH {
            let message = format!(
                "the concatenation has {width} bits, more than the {} allowed",
                crate::resolve::MAX_WIDTH
            );
            self.error(codes::INVALID_WIDTH, span, message);
            return self.invalid(span);
        }
        let ty = if matches!(left.ty, Type::Signed(_)) {
            Type::Signed(width)
        } else {
            Type::Bit(width)
        };
        if let (ExprKind::Int(left), ExprKind::Int(right)) = (&left.kind, &right.kind) {
            let value = fold::concat(&ty, left, right, right_width);
            return Expr {
                kind: ExprKind::Int(value),
                ty,
                span,
            };
        }
        Expr::binary(BinaryOp::Concat, left, right, ty, span)
    }

    fn ordering(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let kind = match self.same_number(op, left, right, span) {
            None => ExprKind::Invalid,
            Some((left, right)) => match constant_order(op, &left, &right) {
                Some(value) => ExprKind::Bool(value),
                None => return Expr::binary(op, left, right, Type::Bool, span),
            },
        };
        let ty = Type::Bool;
        Expr { kind, ty, span }
    }

    fn equality(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let kind = match self.comparable(left, right, span) {
            None => ExprKind::Invalid,
            Some((left, right)) => match constant_equal(&left, &right) {
                Some(equal) => ExprKind::Bool(equal == (op == BinaryOp::Eq)),
                None => return Expr::binary(op, left, right, Type::Bool, span),
            },
        };
        let ty = Type::Bool;
        Expr { kind, ty, span }
    }

    /// Gives two values that are compared with `==` the same type.
    pub(crate) fn comparable(&mut self, left: Expr, right: Expr, span: Span) -> Option<(Expr, Expr)> {
        let (left, right) = if left.ty == right.ty {
            (left, right)
        } else {
            (self.number_of(left), self.number_of(right))
        };
        let untyped = |expr: &Expr| expr.ty.is_unknown() || matches!(expr.ty, Type::Record(_));
        if untyped(&left) && untyped(&right) {
            self.not_comparable(&left, &right, span);
            return None;
        }
        let left_is_literal = matches!(
            left.kind,
            ExprKind::Aggregate(_) | ExprKind::InvalidHeader | ExprKind::DefaultValue
        );
        let fit = |checker: &Checker, wanted: &Expr, given: &Expr| {
            given.ty.is_unknown() || checker.converts(&wanted.ty, &given.ty)
        };
        let wanted = if !left_is_literal && left.ty != Type::Int && fit(self, &left, &right) {
            left.ty.clone()
        } else if fit(self, &right, &left) {
            right.ty.clone()
        } else if fit(self, &left, &right) {
            left.ty.clone()
        } else {
            self.not_comparable(&left, &right, span);
            return None;
        };
        if !self.has_equality(&wanted) {
            self.not_comparable(&left, &right, span);
            return None;
        }
        let left = self.coerce(left, &wanted);
        let right = self.coerce(right, &wanted);
        let failed = matches!(left.kind, ExprKind::Invalid) || matches!(right.kind, ExprKind::Invalid);
        (!failed).then_some((left, right))
    }

    fn not_comparable(&mut self, left: &Expr, right: &Expr, span: Span) {
        let message = format!(
            "values of type {} and {} cannot be compared",
            self.show(&left.ty),
            self.show(&right.ty)
        );
        let diagnostic = Diagnostic::error(codes::NOT_COMPARABLE, span, message);
        let casts = left.ty.is_number() && right.ty.is_number();
        let one = |test: &dyn Fn(&Type) -> bool| test(&left.ty) || test(&right.ty);
        let one_number = !casts && one(&Type::is_number);
        let hint = match (&left.ty, &right.ty) {
            (Type::Record(_), Type::Record(_)) => Some("give one of them a type by a cast: (S) { ... }".to_string()),
            _ if one_number && (compares(left) || compares(right)) => {
                Some("this compares the result of a comparison; conditions are combined with `&&` and `||`".to_string())
            }
            _ if one_number && one(&|ty| *ty == Type::Bool) => {
                Some("a bool is a condition as it is; its values are `true` and `false`".to_string())
            }
            _ if one_number && one(&|ty| self.program.is_header(ty)) => Some(IS_VALID.to_string()),
            (left, right) => self.conversion_hint(left, right).filter(|_| casts),
        };
        self.report(match hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        });
    }

    /// Whether values of the type can be compared with `==`.
    fn has_equality(&self, ty: &Type) -> bool {
        match ty {
            Type::Void
            | Type::Var(_)
            | Type::Extern(..)
            | Type::Parser(..)
            | Type::Control(..)
            | Type::Package(..)
            | Type::Table(_)
            | Type::ApplyResult(_)
            | Type::ActionRun(_)
            | Type::ValueSet(_)
            | Type::Record(_)
            | Type::Set(_) => false,
            Type::Stack(element, _) => self.has_equality(element),
            _ => true,
        }
    }

    /// `c ? a : b`
    pub(super) fn check_ternary(
        &mut self,
        condition: &ast::Expr,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Expr {
        let condition = self.check_condition(condition);
        let left = self.check_value(left);
        let right = self.check_value(right);
        if matches!(left.kind, ExprKind::Invalid) || matches!(right.kind, ExprKind::Invalid) {
            return self.invalid(span);
        }
        if left.ty == Type::Int && right.ty == Type::Int && !self.is_constant(&condition) {
            let message = "at least one of the two values needs a width";
            self.report(Diagnostic::error(codes::UNKNOWN_WIDTH, span, message).hint("write a width, as in 8w5"));
            return self.invalid(span);
        }
        let ty = if left.ty == Type::Int || left.ty.is_unknown() || matches!(left.kind, ExprKind::Aggregate(_)) {
            right.ty.clone()
        } else {
            left.ty.clone()
        };
        if !self.converts(&ty, &left.ty) || !self.converts(&ty, &right.ty) {
            let message = format!(
                "the two values have different types, {} and {}",
                self.show(&left.ty),
                self.show(&right.ty)
            );
            let diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, span, message);
            self.report(match self.conversion_hint(&left.ty, &right.ty) {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            });
            return self.invalid(span);
        }
        let left = self.coerce(left, &ty);
        let right = self.coerce(right, &ty);
        match condition.kind {
            ExprKind::Bool(true) => Expr { span, ..left },
            ExprKind::Bool(false) => Expr { span, ..right },
            _ => Expr {
                kind: ExprKind::Ternary(Box::new(condition), Box::new(left), Box::new(right)),
                ty,
                span,
            },
        }
    }
}

/// Whether an expression is the result of a comparison.
fn compares(expr: &Expr) -> bool {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    match &expr.kind {
        ExprKind::Binary(_, links) => links
            .last()
            .is_some_and(|link| matches!(link.op, Eq | Ne | Lt | Gt | Le | Ge)),
        _ => false,
    }
}

/// Whether an error was reported about the operand, or about the declaration of what it names.
fn is_failed(operand: &Expr) -> bool {
    let has_no_type = matches!(operand.kind, ExprKind::InvalidHeader | ExprKind::DefaultValue);
    matches!(operand.kind, ExprKind::Invalid) || operand.ty.is_unknown() && !has_no_type
}

/// Whether the order holds between two constants.
fn constant_order(op: BinaryOp, left: &Expr, right: &Expr) -> Option<bool> {
    match (&left.kind, &right.kind) {
        (ExprKind::Int(left), ExprKind::Int(right)) => fold::compare(op, left, right),
        _ => None,
    }
}

/// Whether two constants of one type are equal, if both are literals.
pub(crate) fn constant_equal(left: &Expr, right: &Expr) -> Option<bool> {
    match (&left.kind, &right.kind) {
        (ExprKind::Int(left), ExprKind::Int(right)) => Some(left == right),
        (ExprKind::Bool(left), ExprKind::Bool(right)) => Some(left == right),
        (ExprKind::String(left), ExprKind::String(right)) => Some(left == right),
        (ExprKind::Error(left), ExprKind::Error(right)) => Some(left == right),
        (ExprKind::MatchKind(left), ExprKind::MatchKind(right)) => Some(left == right),
        (ExprKind::EnumMember(left_id, left), ExprKind::EnumMember(right_id, right)) if left_id == right_id => {
            Some(left == right)
        }
        (ExprKind::Aggregate(left), ExprKind::Aggregate(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .try_fold(true, |equal, (left, right)| Some(equal & constant_equal(left, right)?)),
        _ => None,
    }
}

fn unknown_result(op: BinaryOp) -> Type {
    match op {
        BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge => Type::Bool,
        _ => Type::Unknown,
    }
}

/// The operator as written.
pub(crate) fn binary_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::SatAdd => "|+|",
        BinaryOp::SatSub => "|-|",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Le => "<=",
        BinaryOp::Ge => ">=",
        BinaryOp::Lt => "<",
        BinaryOp::Gt => ">",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::BitOr => "|",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
        BinaryOp::Concat => "++",
    }
}

/// The operator as written.
pub(crate) fn unary_text(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Negate => "-",
        UnaryOp::Plus => "+",
        UnaryOp::Not => "!",
        UnaryOp::Complement => "~",
    }
}
