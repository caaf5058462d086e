//! Elements of stacks, arrays and tuples (§8.13, §8.19), and slices of bits (§8.7).

use crate::checker::Checker;
use crate::fold;
use crate::hir::*;
use crate::resolve::MAX_WIDTH;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

impl Checker {
    /// `e[i]`
    pub(super) fn check_index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let base = self.check_expr(base);
        let index = self.check_typed_value(index);
        let index = self.number_of(index);
        match base.ty.clone() {
            Type::Unknown => self.invalid(span),
            Type::Stack(element, size) => self.stack_element(base, index, &element, size, span),
            Type::Tuple(types) => self.tuple_element(base, index, &types, span),
            other => {
                let message = format!(
                    "only stacks, arrays and tuples can be indexed, not {}",
                    self.show(&other)
                );
                let diagnostic = Diagnostic::error(codes::INVALID_INDEX, span, message);
                self.report(match self.instead_of_index(&other, &index) {
                    Some(hint) => diagnostic.hint(hint),
                    None => diagnostic,
                });
                self.invalid(span)
            }
        }
    }

    /// What to write in place of an index on a value that has no elements.
    fn instead_of_index(&self, ty: &Type, index: &Expr) -> Option<String> {
        match (ty, &index.kind) {
            (Type::Extern(id, _), _) => {
                let methods = &self.program.externs[id.index()].methods;
                let calls = methods
                    .iter()
                    .map(|method| format!("`.{}{}`", method.name, self.params_text(&method.params)));
                Some(format!(
                    "call one of its methods: {}",
                    calls.collect::<Vec<_>>().join(", ")
                ))
            }
            (_, ExprKind::Int(bit)) if ty.width().is_some() => Some(format!("one bit is a slice: `[{bit}:{bit}]`")),
            _ if ty.width().is_some() => Some("shift the bit to the lowest place: `(VALUE >> INDEX)[0:0]`".to_string()),
            _ => None,
        }
    }

    fn stack_element(&mut self, base: Expr, index: Expr, element: &Type, size: u32, span: Span) -> Expr {
        if !index.ty.is_number() && !index.ty.is_unknown() {
            let message = format!("an index must be a number, not {}", self.show(&index.ty));
            self.error(codes::INVALID_INDEX, index.span, message);
        }
        if let ExprKind::Int(value) = &index.kind {
            let in_range = value.to_u32().is_some_and(|value| value < size);
            if !in_range {
                let message = format!("the index {value} is outside of the stack, which has {size} elements");
                self.error(codes::INVALID_INDEX, index.span, message);
            } else if let (ExprKind::Aggregate(elements), Some(position)) = (&base.kind, value.to_usize())
                && self.is_constant(&base)
                && let Some(value) = elements.get(position)
            {
                return Expr { span, ..value.clone() };
            }
        }
        let kind = ExprKind::Index(Box::new(base), Box::new(index));
        Expr {
            kind,
            ty: element.clone(),
            span,
        }
    }

    fn tuple_element(&mut self, base: Expr, index: Expr, types: &[Type], span: Span) -> Expr {
        let ExprKind::Int(value) = &index.kind else {
            if !matches!(index.kind, ExprKind::Invalid) {
                self.error(
                    codes::INVALID_INDEX,
                    index.span,
                    "the index of a tuple must be a compile-time constant",
                );
            }
            return self.invalid(span);
        };
        let Some(position) = value.to_usize().filter(|position| *position < types.len()) else {
            let message = format!(
                "the index {value} is outside of the tuple, which has {} elements",
                types.len()
            );
            self.error(codes::INVALID_INDEX, index.span, message);
            return self.invalid(span);
        };
        if let ExprKind::Aggregate(elements) = &base.kind
            && self.is_constant(&base)
            && let Some(element) = elements.get(position)
        {
            return Expr {
                span,
                ..element.clone()
            };
        }
        Expr {
            kind: ExprKind::TupleElement(Box::new(base), position),
            ty: types[position].clone(),
            span,
        }
    }

    /// `e[hi:lo]`
    pub(super) fn check_slice(&mut self, base: &ast::Expr, hi: &ast::Expr, lo: &ast::Expr, span: Span) -> Expr {
        let base = self.check_typed_value(base);
        let base = self.number_of(base);
        let high = self.constant_int(hi);
        let low = self.constant_int(lo);
        let (Some(high), Some(low)) = (high, low) else {
            return self.invalid(span);
        };
        let Some(base) = self.widened(base, (&high).max(&low), hi.span) else {
            return self.invalid(span);
        };
        let Some(width) = self.sliceable_width(&base, span) else {
            return self.invalid(span);
        };
        let high = self.bit_index(&high, width, hi.span);
        let low = self.bit_index(&low, width, lo.span);
        let (Some(high), Some(low)) = (high, low) else {
            return self.invalid(span);
        };
        if low > high {
            let message =
                format!("a slice is written [hi:lo], but here the low end {low} is above the high end {high}");
            self.error_with_hint(codes::INVALID_SLICE, span, message, format!("write [{low}:{high}]"));
            return self.invalid(span);
        }
        self.make_slice(base, high, low, span)
    }

    /// An `int` with as many bits as a slice up to the last one needs (§8.9); other values as they are.
    fn widened(&mut self, base: Expr, last: &BigInt, place: Span) -> Option<Expr> {
        if base.ty != Type::Int || last.is_negative() {
            return Some(base);
        }
        let Some(width) = last
            .to_u32()
            .map(|last| last.saturating_add(1))
            .filter(|width| *width <= MAX_WIDTH)
        else {
            let message = format!("the bit index {last} is too large: values have at most {MAX_WIDTH} bits");
            self.error(codes::INVALID_SLICE, place, message);
            return None;
        };
        let ty = Type::Bit(width);
        let kind = match base.kind {
            ExprKind::Int(value) => ExprKind::Int(fold::wrap(&ty, value)),
            kind => ExprKind::Cast(Box::new(Expr { kind, ..base })),
        };
        Some(Expr {
            kind,
            ty,
            span: base.span,
        })
    }

    fn make_slice(&mut self, base: Expr, high: u32, low: u32, span: Span) -> Expr {
        let ty = Type::Bit(high - low + 1);
        let kind = match &base.kind {
            ExprKind::Int(value) => ExprKind::Int(fold::slice(value, high, low)),
            _ => ExprKind::Slice(Box::new(base), high, low),
        };
        Expr { kind, ty, span }
    }

    fn sliceable_width(&mut self, base: &Expr, span: Span) -> Option<u32> {
        if base.ty.is_unknown() {
            return None;
        }
        let width = base.ty.width();
        if width.is_none() {
            let message = format!(
                "only bit<W> and int<W> values can be sliced, not {}",
                self.show(&base.ty)
            );
            self.error(codes::INVALID_SLICE, span, message);
        }
        width
    }

    fn bit_index(&mut self, value: &BigInt, width: u32, span: Span) -> Option<u32> {
        let index = value.to_u32().filter(|index| *index < width);
        if index.is_none() {
            let message = if value.is_negative() {
                format!("the bit index {value} is negative")
            } else {
                format!("the bit index {value} is outside of the value, which has {width} bits")
            };
            let diagnostic = Diagnostic::error(codes::INVALID_SLICE, span, message);
            self.report(diagnostic.note(format!(
                "bit 0 is the rightmost, bit {} the leftmost",
                width.saturating_sub(1)
            )));
        }
        index
    }

    /// `e[lo +: width]`
    pub(super) fn check_plus_slice(&mut self, base: &ast::Expr, lo: &ast::Expr, width: &ast::Expr, span: Span) -> Expr {
        let base = self.check_typed_value(base);
        let base = self.number_of(base);
        let low = self.check_typed_value(lo);
        let low = self.number_of(low);
        let count = self.constant_int(width);
        let Some(total) = self.sliceable_width(&base, span) else {
            return self.invalid(span);
        };
        let Some(count) = count else { return self.invalid(span) };
        let Some(count) = count.to_u32().filter(|count| *count <= total) else {
            let message = format!("the width {count} of the slice is not between 0 and the {total} bits of the value");
            self.error(codes::INVALID_SLICE, width.span, message);
            return self.invalid(span);
        };
        if let ExprKind::Int(value) = &low.kind {
            let value = value.clone();
            let Some(start) = self.bit_index(&value, total, lo.span) else {
                return self.invalid(span);
            };
            if count > 0 && start + count <= total {
                return self.make_slice(base, start + count - 1, start, span);
            }
        }
        if !matches!(low.ty, Type::Bit(_) | Type::Int | Type::Unknown) {
            let message = format!("the low end of a slice must be a bit<W>, not {}", self.show(&low.ty));
            self.error(codes::INVALID_SLICE, lo.span, message);
        }
        Expr {
            kind: ExprKind::PlusSlice(Box::new(base), Box::new(low), count),
            ty: Type::Bit(count),
            span,
        }
    }
}
