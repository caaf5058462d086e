//! Conversions (§8.12).

use crate::build;
use crate::context::Context;
use crate::expression;
use crate::limits;
use crate::types;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_check::hir::Type;
use forebay_ir::Expr;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;

/// `value`, of type `from`, as a value of type `to`.
pub fn cast(cx: &mut Context, value: Value, from: &Type, to: &Type, span: Span) -> Value {
    let from = types::resolve(cx, from);
    let to = types::resolve(cx, to);
    if from == to {
        return value;
    }
    match value {
        Value::Scalar(expr) => match types::scalar(cx, &to) {
            Some(target) => {
                let width = expr.width(&cx.program);
                let signed = from == Type::Int || types::is_signed(cx, &from);
                Value::Scalar(build::resize(expr, width, target.width, signed))
            }
            None => as_integer(cx, expr, &from, span),
        },
        Value::Integer(number) => match types::scalar(cx, &to) {
            Some(target) => Value::Scalar(Expr::Const(Bits::from_bigint(target.width, &number))),
            None => Value::Integer(number),
        },
        Value::Group(values) => group(cx, values, &from, &to, span),
        Value::Header { .. } if types::composite_kind(cx, &to).is_none() => {
            let values = value.components().to_vec();
            group(cx, values, &from, &to, span)
        }
        other => other,
    }
}

/// A value as an `int`. One that is known only at run time is in two's complement.
fn as_integer(cx: &mut Context, expr: Expr, from: &Type, span: Span) -> Value {
    let signed = types::is_signed(cx, from);
    match expr {
        Expr::Const(bits) if signed => Value::Integer(bits.to_signed_bigint()),
        Expr::Const(bits) => Value::Integer(bits.to_biguint().into()),
        other => {
            let width = other.width(&cx.program);
            let with_sign = width + u32::from(!signed);
            if with_sign > limits::MAX_WIDTH {
                let message = format!("this value is wider than {} bits", limits::MAX_WIDTH);
                cx.abort(codes::UNSUPPORTED_TYPE, span, message);
            }
            Value::Scalar(build::resize(other, width, with_sign, signed))
        }
    }
}

/// A tuple or record as a value of another type with components: by name if both have names, otherwise by position.
fn group(cx: &mut Context, values: Vec<Value>, from: &Type, to: &Type, span: Span) -> Value {
    let sources = component_types(cx, from);
    let targets = component_types(cx, to);
    if targets.is_empty() {
        return Value::Group(values);
    }
    let by_name = matches!(from, Type::Record(_));
    let mut converted = Vec::new();
    for (index, (name, target)) in targets.iter().enumerate() {
        let position = if by_name {
            sources.iter().position(|(source, _)| source == name)
        } else {
            Some(index)
        };
        let source =
            position.and_then(|position| Some((values.get(position)?.clone(), sources.get(position)?.1.clone())));
        converted.push(match source {
            Some((value, source)) => cast(cx, value, &source, target, span),
            None => crate::value::zero(cx, target),
        });
    }
    expression::shaped(cx, converted, to)
}

/// Names (empty for unnamed components) and types of the components of a resolved type.
fn component_types(cx: &Context, ty: &Type) -> Vec<(String, Type)> {
    let unnamed = |ty: &Type| (String::new(), ty.clone());
    match ty {
        Type::Composite(id, args) => types::fields(cx, *id, args),
        Type::Record(fields) => fields.to_vec(),
        Type::Tuple(elements) => elements.iter().map(unnamed).collect(),
        Type::Stack(element, size) => (0..*size).map(|_| unnamed(element)).collect(),
        _ => Vec::new(),
    }
}
