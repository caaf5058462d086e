//! What core.p4's externs ask of their arguments beyond their types (§13.7, §13.8, §16.1, §19): extract, lookahead,
//! emit, verify and static_assert.

use super::arguments::BoundCall;
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast::CompositeKind;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

impl Checker {
    /// verify belongs to parsers; static_assert is evaluated at once.
    pub(super) fn check_core_function(&mut self, name: &str, args: &[Argument], span: Span) {
        match name {
            "verify" if self.context.parser.is_none() => {
                self.error(codes::CALL_NOT_ALLOWED, span, "verify can only be called in parsers");
            }
            "static_assert" => self.check_static_assert(args, span),
            _ => {}
        }
    }

    fn check_static_assert(&mut self, args: &[Argument], span: Span) {
        let Some(Argument::Value(condition)) = args.first() else {
            return;
        };
        match condition.kind {
            ExprKind::Bool(true) | ExprKind::Invalid => {}
            ExprKind::Bool(false) => {
                let text = match args.get(1) {
                    Some(Argument::Value(Expr {
                        kind: ExprKind::String(text),
                        ..
                    })) => format!(": {text}"),
                    _ => String::new(),
                };
                self.error(
                    codes::STATIC_ASSERT_FAILED,
                    span,
                    format!("static assertion failed{text}"),
                );
            }
            _ => self.error(
                codes::NOT_CONSTANT,
                span,
                "the condition of static_assert must be a compile-time constant",
            ),
        }
    }

    /// The methods of packet_in and packet_out.
    pub(super) fn check_core_method(&mut self, extern_name: &str, method: &str, call: &BoundCall, span: Span) {
        match (extern_name, method) {
            ("packet_in", "extract") => self.check_extract(call, span),
            ("packet_in", "lookahead") => {
                if let Some(ty) = call.type_args.first() {
                    self.check_lookahead(&ty.clone(), span);
                }
            }
            ("packet_out", "emit") => {
                if let Some(ty) = call.type_args.first()
                    && !self.can_be_emitted(ty)
                {
                    let message = format!(
                        "a value of type {} cannot be emitted: only headers, and stacks, unions and structs of them, can",
                        self.show(ty)
                    );
                    let diagnostic = Diagnostic::error(codes::INVALID_PACKET_ARGUMENT, span, message);
                    self.report(self.as_declared(diagnostic, ty));
                }
            }
            _ => {}
        }
    }

    fn check_extract(&mut self, call: &BoundCall, span: Span) {
        let Some(ty) = call.type_args.first() else { return };
        if ty.is_unknown() || matches!(ty, Type::Var(_)) {
            return;
        }
        if !self.program.is_header(ty) {
            let message = format!("only headers can be extracted, not a value of type {}", self.show(ty));
            let diagnostic = Diagnostic::error(codes::INVALID_PACKET_ARGUMENT, span, message);
            let diagnostic = self.as_declared(diagnostic, ty);
            self.report(self.of_an_element(diagnostic, ty, "STACK.next"));
            return;
        }
        if self.varbit_count(ty) > 1 {
            let message = format!(
                "the header {} has several varbit fields, so it cannot be extracted",
                self.show(ty)
            );
            self.error(codes::INVALID_PACKET_ARGUMENT, span, message);
            return;
        }
        if self.has_unknown(ty) {
            return;
        }
        let has_varbit = self.has_varbit_or_union(ty);
        if call.args.len() == 1 && has_varbit {
            let message = "a header with a varbit field needs a second argument: the number of bits of that field";
            self.error(codes::INVALID_PACKET_ARGUMENT, span, message);
        } else if call.args.len() == 2 && !has_varbit {
            let message = "the header has no varbit field, so extract takes no second argument";
            self.error(codes::INVALID_PACKET_ARGUMENT, span, message);
        }
    }

    fn check_lookahead(&mut self, ty: &Type, span: Span) {
        if self.has_unknown(ty) {
            return;
        }
        let data = crate::size::size_in_bits(&self.program, ty).is_some() || ty.any(&|ty| matches!(ty, Type::Var(_)));
        if !data || self.has_varbit_or_union(ty) {
            let message = format!("lookahead needs a type of fixed size, which {} is not", self.show(ty));
            self.error(codes::INVALID_PACKET_ARGUMENT, span, message);
        }
    }

    /// Whether the size of values of this type varies.
    pub(crate) fn has_varbit_or_union(&self, ty: &Type) -> bool {
        match ty {
            Type::Varbit(_) => true,
            Type::Composite(id, args) => {
                self.program.composites[id.index()].kind == CompositeKind::HeaderUnion
                    || self
                        .program
                        .field_types(*id, args)
                        .iter()
                        .any(|ty| self.has_varbit_or_union(ty))
            }
            _ => ty.parts().into_iter().any(|part| self.has_varbit_or_union(part)),
        }
    }

    /// Whether the type of a part was reported.
    fn has_unknown(&self, ty: &Type) -> bool {
        match ty {
            Type::Composite(id, args) => {
                let types = self.program.field_types(*id, args);
                types.iter().any(|ty| self.has_unknown(ty))
            }
            _ => ty.is_unknown() || ty.parts().into_iter().any(|part| self.has_unknown(part)),
        }
    }

    fn varbit_count(&self, ty: &Type) -> usize {
        match ty {
            Type::Composite(id, args) => {
                let types = self.program.field_types(*id, args);
                types.iter().filter(|ty| matches!(ty, Type::Varbit(_))).count()
            }
            _ => 0,
        }
    }

    fn can_be_emitted(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown | Type::Var(_) => true,
            Type::Composite(id, args) => match self.program.composites[id.index()].kind {
                CompositeKind::Header | CompositeKind::HeaderUnion => true,
                CompositeKind::Struct => self
                    .program
                    .field_types(*id, args)
                    .iter()
                    .all(|ty| self.can_be_emitted(ty)),
            },
            Type::Stack(element, _) => self.can_be_emitted(element),
            Type::Tuple(types) => types.iter().all(|ty| self.can_be_emitted(ty)),
            _ => false,
        }
    }
}
