//! Values as strings of bits: fields in order, with the first one in the highest bits, as on the wire.

use crate::build;
use crate::context::Context;
use crate::expression;
use crate::types;
use crate::value::Value;
use forebay_check::hir::Type;
use forebay_ir::Expr;

/// Bits of a value of a type; `None` for types without a fixed width.
pub fn bit_width(cx: &Context, ty: &Type) -> Option<u64> {
    if let Some(scalar) = types::scalar(cx, ty) {
        return Some(u64::from(scalar.width));
    }
    match ty {
        Type::Composite(id, args) => types::fields(cx, *id, args)
            .iter()
            .map(|(_, ty)| bit_width(cx, ty))
            .sum::<Option<u64>>(),
        Type::Tuple(elements) => elements.iter().map(|ty| bit_width(cx, ty)).sum(),
        Type::Stack(element, size) => Some(bit_width(cx, element)?.saturating_mul(u64::from(*size))),
        _ => None,
    }
}

/// The value of a type of fixed width from the bits of `whole`, which is `width` bits wide.
pub fn from_bits(cx: &Context, ty: &Type, whole: &Expr, width: u32) -> Value {
    let mut rest = width;
    cut(cx, ty, whole, width, &mut rest)
}

/// Cuts a value from the bits of `whole` below `rest`.
fn cut(cx: &Context, ty: &Type, whole: &Expr, width: u32, rest: &mut u32) -> Value {
    if let Some(scalar) = types::scalar(cx, ty) {
        if scalar.width == 0 {
            return Value::Scalar(build::constant(0, 0));
        }
        let hi = *rest - 1;
        *rest -= scalar.width;
        return Value::Scalar(build::slice(whole.clone(), width, hi, *rest));
    }
    let components: Vec<Type> = match ty {
        Type::Composite(id, args) => types::fields(cx, *id, args).into_iter().map(|(_, ty)| ty).collect(),
        Type::Tuple(elements) => elements.to_vec(),
        Type::Stack(element, size) => vec![Type::clone(element); *size as usize],
        _ => Vec::new(),
    };
    let values = components.iter().map(|ty| cut(cx, ty, whole, width, rest)).collect();
    expression::shaped(cx, values, ty)
}

/// The bits of a value.
pub fn to_bits(value: &Value) -> Expr {
    value
        .scalars()
        .into_iter()
        .reduce(build::concat)
        .unwrap_or(build::constant(0, 0))
}
