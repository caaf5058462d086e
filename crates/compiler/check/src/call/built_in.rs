//! Methods of the language itself: isValid, setValid, setInvalid (§8.18), push_front, pop_front (§8.20), sizes (§9).

use crate::checker::Checker;
use crate::expr::member::APPLY_RESULTS;
use crate::hir::*;
use crate::resolve::MAX_WIDTH;
use crate::size::size_in_bits;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// The methods that tell the size of a value or type.
pub(super) const SIZE_METHODS: [&str; 4] = ["minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"];

/// The methods of every header, sizes aside.
const HEADER_METHODS: [&str; 3] = ["isValid", "setValid", "setInvalid"];

/// What a stack may be shifted by at most.
const MAX_SHIFT: u32 = MAX_WIDTH * 32;

impl Checker {
    /// A method call on a value that is neither extern, table, control nor parser.
    pub(super) fn check_built_in_call(
        &mut self,
        receiver: Expr,
        member: &ast::Ident,
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        if let Some(result) = self.check_size_call(&receiver.ty.clone(), member, args, span) {
            return result;
        }
        let is_header = self.program.is_header(&receiver.ty);
        let is_union = self.program.is_union(&receiver.ty);
        match member.name.as_str() {
            "isValid" if is_header || is_union => {
                self.no_arguments(member, args);
                match receiver.kind {
                    ExprKind::InvalidHeader => Expr {
                        kind: ExprKind::Bool(false),
                        ty: Type::Bool,
                        span,
                    },
                    ExprKind::Aggregate(_) if self.is_constant(&receiver) => Expr {
                        kind: ExprKind::Bool(true),
                        ty: Type::Bool,
                        span,
                    },
                    _ => built_in(Callee::IsValid(Box::new(receiver)), Type::Bool, span),
                }
            }
            "setValid" if is_header => {
                self.no_arguments(member, args);
                self.require_lvalue(&receiver, "the header");
                built_in(Callee::SetValid(Box::new(receiver)), Type::Void, span)
            }
            "setInvalid" if is_header => {
                self.no_arguments(member, args);
                self.require_lvalue(&receiver, "the header");
                built_in(Callee::SetInvalid(Box::new(receiver)), Type::Void, span)
            }
            "push_front" | "pop_front" if matches!(receiver.ty, Type::Stack(..)) => {
                self.check_stack_shift(receiver, member, args, span)
            }
            name => {
                let message = format!("a value of type {} has no method `{name}`", self.show(&receiver.ty));
                let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, member.span, message);
                self.report(match name {
                    "setValid" | "setInvalid" if is_union => {
                        diagnostic.hint("set a member of the union valid or invalid")
                    }
                    "isValid" | "setValid" | "setInvalid" => {
                        let diagnostic = diagnostic.hint("only headers are valid or invalid");
                        let diagnostic = self.as_declared(diagnostic, &receiver.ty);
                        self.of_an_element(diagnostic, &receiver.ty, &format!("[0].{name}()"))
                    }
                    "push_front" | "pop_front" => diagnostic.hint("only header stacks have it"),
                    "apply" => diagnostic.hint("tables, parsers and controls are applied"),
                    _ if matches!(receiver.ty, Type::ApplyResult(_)) && APPLY_RESULTS.contains(&name) => {
                        diagnostic.hint(format!("write `.{name}` without parentheses"))
                    }
                    _ if matches!(receiver.ty, Type::Table(_)) && APPLY_RESULTS.contains(&name) => {
                        diagnostic.hint(format!("apply the table: `.apply().{name}`"))
                    }
                    _ if matches!(receiver.ty, Type::Table(_)) => diagnostic.hint("a table is applied: `.apply()`"),
                    _ if is_header => diagnostic.did_you_mean(name, HEADER_METHODS).options(HEADER_METHODS),
                    _ => diagnostic,
                });
                self.invalid(span)
            }
        }
    }

    fn no_arguments(&mut self, member: &ast::Ident, args: &[ast::Arg]) {
        if let Some(first) = args.first() {
            self.error(
                codes::WRONG_ARGUMENTS,
                first.span,
                format!("`{}` takes no arguments", member.name),
            );
        }
    }

    fn check_stack_shift(&mut self, stack: Expr, member: &ast::Ident, args: &[ast::Arg], span: Span) -> Expr {
        if self.context.parser.is_some() {
            let message = format!("`{}` cannot be used in a parser", member.name);
            self.error(codes::STACK_OPERATION, member.span, message);
        }
        if let Type::Stack(element, _) = &stack.ty
            && !self.program.is_header(element)
            && !self.program.is_union(element)
        {
            let message = format!("`{}` exists only on header stacks", member.name);
            self.error(codes::STACK_OPERATION, member.span, message);
        }
        self.require_lvalue(&stack, "the stack");
        let [arg] = args else {
            let message = format!("`{}` takes one argument, the number of elements", member.name);
            self.error(codes::WRONG_ARGUMENTS, span, message);
            return self.invalid(span);
        };
        let Some(count) = self.shift_count(&arg.value) else {
            return self.invalid(span);
        };
        let callee = match member.name.as_str() {
            "push_front" => Callee::PushFront(Box::new(stack), Box::new(count)),
            _ => Callee::PopFront(Box::new(stack), Box::new(count)),
        };
        built_in(callee, Type::Void, span)
    }

    /// The number of elements by which a stack is shifted, known at elaboration at the latest.
    fn shift_count(&mut self, value: &ast::Expr) -> Option<Expr> {
        let count = self.check_typed_value(value);
        let count = self.number_of(count);
        match &count.kind {
            ExprKind::Invalid => None,
            ExprKind::Int(number) if number.to_u32().is_none_or(|number| number > MAX_SHIFT) => {
                let message = format!("a stack cannot be shifted by {number} elements");
                self.error(codes::OUT_OF_RANGE, value.span, message);
                None
            }
            _ if !count.ty.is_number() => {
                let message = format!(
                    "a stack is shifted by a number, not by a value of type {}",
                    self.show(&count.ty)
                );
                self.error(codes::TYPE_MISMATCH, value.span, message);
                None
            }
            _ => self.require_constant(&count, "this number").then_some(count),
        }
    }

    /// `minSizeInBits()` and its siblings on a value or type; none if the method is another one.
    pub(super) fn check_size_call(
        &mut self,
        ty: &Type,
        member: &ast::Ident,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<Expr> {
        if !SIZE_METHODS.contains(&member.name.as_str()) {
            return None;
        }
        self.no_arguments(member, args);
        let Some(size) = size_in_bits(&self.program, ty) else {
            if !ty.any(&|ty| matches!(ty, Type::Unknown)) {
                let message = if ty.any(&|ty| matches!(ty, Type::Var(_))) {
                    format!(
                        "the size of {} is not known here: it hangs on a type parameter",
                        self.show(ty)
                    )
                } else {
                    format!("values of type {} have no size in bits", self.show(ty))
                };
                self.error(codes::NOT_CONSTANT, span, message);
            }
            return Some(Expr {
                kind: ExprKind::Invalid,
                ty: Type::Int,
                span,
            });
        };
        let bits = if member.name.starts_with("max") {
            size.max
        } else {
            size.min
        };
        let value = if member.name.ends_with("Bytes") {
            bits.div_ceil(8)
        } else {
            bits
        };
        Some(Expr {
            kind: ExprKind::Int(BigInt::from(value)),
            ty: Type::Int,
            span,
        })
    }
}

fn built_in(callee: Callee, ty: Type, span: Span) -> Expr {
    let call = Call {
        callee,
        type_args: Vec::new(),
        args: Vec::new(),
        written: Vec::new(),
    };
    Expr {
        kind: ExprKind::Call(Box::new(call)),
        ty,
        span,
    }
}
