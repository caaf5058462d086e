//! Types during elaboration: type variables are replaced, and widths are known.

use crate::context::Context;
use forebay_check::hir::{CompositeId, Type};
use forebay_syntax::ast::CompositeKind;
use std::rc::Rc;

/// The width of `error` values and of enums without representation.
pub const NAME_WIDTH: u32 = 32;

/// The type with its type variables replaced by their current meanings.
pub fn resolve(cx: &Context, ty: &Type) -> Type {
    substitute(ty, &|var| cx.environment.type_var(var).cloned())
}

/// The number of types of which the type is made once its type variables are replaced.
pub fn resolved_size(cx: &Context, ty: &Type) -> usize {
    match ty {
        Type::Var(var) => cx.environment.type_var(*var).map_or(1, Type::tree_size),
        _ => ty
            .parts()
            .into_iter()
            .fold(1, |sum: usize, part| sum.saturating_add(resolved_size(cx, part))),
    }
}

fn substitute(ty: &Type, meaning: &dyn Fn(forebay_check::hir::TypeVarId) -> Option<Type>) -> Type {
    let list = |types: &Rc<Vec<Type>>| {
        if types.is_empty() {
            types.clone()
        } else {
            Rc::new(types.iter().map(|ty| substitute(ty, meaning)).collect())
        }
    };
    match ty {
        Type::Var(var) => meaning(*var).unwrap_or(Type::Unknown),
        Type::Composite(id, args) => Type::Composite(*id, list(args)),
        Type::Stack(element, size) => Type::Stack(Rc::new(substitute(element, meaning)), *size),
        Type::Tuple(elements) => Type::Tuple(list(elements)),
        Type::List(element) => Type::List(Rc::new(substitute(element, meaning))),
        Type::Set(element) => Type::Set(Rc::new(substitute(element, meaning))),
        Type::Record(fields) => Type::Record(Rc::new(
            fields
                .iter()
                .map(|(name, ty)| (name.clone(), substitute(ty, meaning)))
                .collect(),
        )),
        Type::Extern(id, args) => Type::Extern(*id, list(args)),
        Type::Parser(id, args) => Type::Parser(*id, list(args)),
        Type::Control(id, args) => Type::Control(*id, list(args)),
        Type::Package(id, args) => Type::Package(*id, list(args)),
        other => other.clone(),
    }
}

/// A scalar type: its width in bits and whether it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Bits.
    pub width: u32,
    /// `int<W>`
    pub signed: bool,
}

/// Width and sign of a type that is stored in one slot; `None` for all others.
pub fn scalar(cx: &Context, ty: &Type) -> Option<Scalar> {
    let unsigned = |width| Some(Scalar { width, signed: false });
    match ty {
        Type::Bool => unsigned(1),
        Type::Bit(width) => unsigned(*width),
        Type::Signed(width) => Some(Scalar {
            width: *width,
            signed: true,
        }),
        Type::Error | Type::MatchKind => unsigned(NAME_WIDTH),
        Type::Enum(id) => match &cx.hir.enums[id.index()].representation {
            Some(representation) => scalar(cx, representation),
            None => unsigned(NAME_WIDTH),
        },
        Type::NewType(id) => scalar(cx, &cx.hir.new_types[id.index()].ty),
        Type::Var(var) => scalar(cx, cx.environment.type_var(*var)?),
        _ => None,
    }
}

/// Whether a type is `int<W>`, or a new type or enum over it.
pub fn is_signed(cx: &Context, ty: &Type) -> bool {
    scalar(cx, ty).is_some_and(|scalar| scalar.signed)
}

/// Names and types of a composite's fields, with its type parameters replaced by `args`.
pub fn fields(cx: &Context, id: CompositeId, args: &[Type]) -> Vec<(String, Type)> {
    let composite = &cx.hir.composites[id.index()];
    let meaning = |var| {
        let position = composite.type_params.iter().position(|param| *param == var)?;
        args.get(position).cloned()
    };
    let substituted = |ty| {
        if args.is_empty() {
            Type::clone(ty)
        } else {
            substitute(ty, &meaning)
        }
    };
    composite
        .fields
        .iter()
        .map(|field| (field.name.clone(), substituted(&field.ty)))
        .collect()
}

/// The number of scalars in a value of a resolved type.
pub fn leaf_count(cx: &Context, ty: &Type) -> u64 {
    let sum = |count: u64, ty: &Type| count.saturating_add(leaf_count(cx, ty));
    match ty {
        Type::Composite(id, args) => fields(cx, *id, args).iter().fold(1, |count, (_, ty)| sum(count, ty)),
        Type::Stack(element, size) => leaf_count(cx, element).saturating_mul(u64::from(*size)),
        Type::Tuple(elements) => elements.iter().fold(1, sum),
        Type::Record(fields) => fields.iter().fold(1, |count, (_, ty)| sum(count, ty)),
        _ => 1,
    }
}

/// The kind of composite that a resolved type is.
pub fn composite_kind(cx: &Context, ty: &Type) -> Option<CompositeKind> {
    match ty {
        Type::Composite(id, _) => Some(cx.hir.composites[id.index()].kind),
        _ => None,
    }
}

/// Whether `T[n]` is a header stack, not an array.
pub fn is_stack_element(cx: &Context, ty: &Type) -> bool {
    matches!(
        composite_kind(cx, ty),
        Some(CompositeKind::Header | CompositeKind::HeaderUnion)
    )
}
