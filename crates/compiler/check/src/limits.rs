//! Bounds on what a program can make the checker build.
//!
//! A short program can describe something huge: structs of structs that double at each level, constants that mention a
//! constant twice, strings joined to themselves. Code that walks a type or an expression may assume that it stays
//! within these bounds.

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;

/// How many parts a type may have when all structs and tuples in it are opened.
const MAX_TYPE_PARTS: u64 = 1 << 16;
/// How many expressions may be copied out of constants and default values in all.
const MAX_COPIES: u64 = 1 << 22;
/// The longest string.
pub(crate) const MAX_STRING: usize = 1 << 20;

impl Checker {
    /// The type, or unknown with an error when it has too many parts.
    pub(crate) fn bounded_type(&mut self, ty: Type, span: Span) -> Type {
        if self.type_parts(&ty) <= MAX_TYPE_PARTS {
            return ty;
        }
        self.error(codes::TOO_LARGE, span, "this type has too many parts");
        Type::Unknown
    }

    /// The number of fields and elements of a type, those inside of other fields included.
    pub(crate) fn type_parts(&self, ty: &Type) -> u64 {
        let inside: u64 = ty
            .parts()
            .into_iter()
            .fold(0, |sum, part| sum.saturating_add(self.type_parts(part)));
        match ty {
            Type::Composite(id, _) => {
                let own = self.composite_parts.get(id.index()).copied().unwrap_or(1);
                own.saturating_mul(inside.max(1))
            }
            _ => inside.saturating_add(1),
        }
    }

    /// The parts of a composite that is being declared.
    pub(crate) fn fields_parts(&self, fields: &[Field]) -> u64 {
        fields
            .iter()
            .fold(1, |sum, field| sum.saturating_add(self.type_parts(&field.ty)))
    }

    /// A copy of a constant or default value, or an invalid expression with an error when too much has been copied.
    pub(crate) fn copy_constant(&mut self, value: &Expr, span: Span) -> Expr {
        let allowed = MAX_COPIES.saturating_sub(self.copies);
        let size = node_count(value, allowed);
        self.copies = self.copies.saturating_add(size);
        if size > allowed {
            self.error(codes::TOO_LARGE, span, "the constants of this program are too large");
            return self.invalid(span);
        }
        value.clone()
    }
}

/// The number of expressions in an aggregate, counted up to a little more than `limit`.
fn node_count(value: &Expr, limit: u64) -> u64 {
    let mut count = 1;
    if let ExprKind::Aggregate(elements) = &value.kind {
        for element in elements {
            if count > limit {
                break;
            }
            count += node_count(element, limit - count.min(limit));
        }
    }
    count
}
