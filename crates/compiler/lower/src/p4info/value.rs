//! Compile-time values: those of constructor arguments, sizes and action data.
//!
//! The checker has folded everything that does not depend on constructor parameters; here these are known, too.

use super::instance::{ObjectId, Scope};
use forebay_check::fold;
use forebay_check::hir::{EnumId, Expr, ExprKind, Link, Program, Type};
use forebay_syntax::ast::BinaryOp;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::rc::Rc;

/// A value that is known when the program is compiled.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Int(BigInt),
    /// A truth value.
    Bool(bool),
    /// A member of an enum.
    Member(EnumId, usize),
    /// An instance.
    Object(ObjectId),
    /// A struct, tuple, list or array.
    Group(Rc<[Value]>),
    /// Anything else, on which P4Info never depends.
    Other,
}

/// The value of an expression inside a scope.
pub fn evaluate(program: &Program, scope: &Scope, expr: &Expr) -> Value {
    let integer = |expr: &Expr| evaluate(program, scope, expr).integer(program);
    let computed = |result: Option<BigInt>| result.map_or(Value::Other, Value::Int);
    match &expr.kind {
        ExprKind::Int(value) => Value::Int(value.clone()),
        ExprKind::Bool(value) => Value::Bool(*value),
        ExprKind::EnumMember(id, member) => Value::Member(*id, *member),
        ExprKind::Var(var) => scope.value(*var),
        ExprKind::Instance(id) => scope.instance(*id).map_or(Value::Other, Value::Object),
        ExprKind::Cast(operand) => match evaluate(program, scope, operand) {
            Value::Bool(value) if expr.ty == Type::Bool => Value::Bool(value),
            Value::Bool(value) => Value::Int(BigInt::from(u8::from(value))),
            value => computed(
                value
                    .integer(program)
                    .map(|value| fold::cast(&program.underlying(&expr.ty), &value)),
            ),
        },
        ExprKind::Unary(op, operand) => {
            let ty = program.underlying(&expr.ty);
            match evaluate(program, scope, operand) {
                Value::Bool(value) => Value::Bool(!value),
                value => computed(
                    value
                        .integer(program)
                        .and_then(|value| fold::unary(*op, &ty, &value).ok()),
                ),
            }
        }
        ExprKind::Binary(first, links) => links.iter().fold(evaluate(program, scope, first), |left, link| {
            operation(program, left, link, evaluate(program, scope, &link.right))
        }),
        ExprKind::Ternary(condition, left, right) => match evaluate(program, scope, condition) {
            Value::Bool(true) => evaluate(program, scope, left),
            Value::Bool(false) => evaluate(program, scope, right),
            _ => Value::Other,
        },
        ExprKind::Slice(operand, high, low) => computed(integer(operand).map(|value| fold::slice(&value, *high, *low))),
        ExprKind::Aggregate(elements) | ExprKind::Reordered(elements, _) => {
            let values = elements.iter().map(|element| evaluate(program, scope, element));
            Value::Group(values.collect())
        }
        ExprKind::DefaultValue => default_value(program, &expr.ty),
        ExprKind::Field(base, index) | ExprKind::TupleElement(base, index) => {
            part(&evaluate(program, scope, base), *index)
        }
        ExprKind::Index(base, index) => match integer(index).and_then(|index| index.to_usize()) {
            Some(index) => part(&evaluate(program, scope, base), index),
            None => Value::Other,
        },
        _ => Value::Other,
    }
}

/// A field or element of a value.
fn part(whole: &Value, index: usize) -> Value {
    match whole {
        Value::Group(parts) => parts.get(index).cloned().unwrap_or(Value::Other),
        _ => Value::Other,
    }
}

/// The value of `...` for a type.
fn default_value(program: &Program, ty: &Type) -> Value {
    let all = |types: &[Type]| Value::Group(types.iter().map(|ty| default_value(program, ty)).collect());
    match program.underlying(ty) {
        Type::Bool => Value::Bool(false),
        Type::Bit(_) | Type::Signed(_) | Type::Int => Value::Int(BigInt::ZERO),
        Type::Enum(id) => Value::Member(id, 0),
        Type::Composite(id, args) => all(&program.field_types(id, &args)),
        Type::Tuple(types) => all(&types),
        _ => Value::Other,
    }
}

fn operation(program: &Program, left: Value, link: &Link, right: Value) -> Value {
    match (left.integer(program), right.integer(program)) {
        (Some(a), Some(b)) => match fold::compare(link.op, &a, &b) {
            Some(truth) => Value::Bool(truth),
            None => {
                let ty = program.underlying(&link.ty);
                let result = match (link.op, program.underlying(&link.right.ty).width()) {
                    (BinaryOp::Concat, Some(width)) => Some(fold::concat(&ty, &a, &b, width)),
                    _ => fold::binary(link.op, &ty, &a, &b).ok(),
                };
                result.map_or(Value::Other, Value::Int)
            }
        },
        _ => logical(link.op, left, right),
    }
}

/// `&&`, `||` and the comparison of truth values; one operand may determine the result.
fn logical(op: BinaryOp, left: Value, right: Value) -> Value {
    let constant = |value: &Value| match value {
        Value::Bool(value) => Some(*value),
        _ => None,
    };
    let result = match (op, constant(&left), constant(&right)) {
        (BinaryOp::And, Some(false), _) | (BinaryOp::And, _, Some(false)) => Some(false),
        (BinaryOp::Or, Some(true), _) | (BinaryOp::Or, _, Some(true)) => Some(true),
        (BinaryOp::And | BinaryOp::Or, Some(a), Some(b)) => Some(if op == BinaryOp::And { a && b } else { a || b }),
        (BinaryOp::Eq, Some(a), Some(b)) => Some(a == b),
        (BinaryOp::Ne, Some(a), Some(b)) => Some(a != b),
        _ => None,
    };
    result.map_or(Value::Other, Value::Bool)
}

impl Value {
    /// The number that it is, or that it stands for as a member of an enum.
    pub fn integer(&self, program: &Program) -> Option<BigInt> {
        match self {
            Value::Int(value) => Some(value.clone()),
            Value::Member(id, member) => program.enums[id.index()].members.get(*member)?.1.clone(),
            _ => None,
        }
    }

    /// A number of elements, if it fits.
    pub fn size<T: TryFrom<i64>>(&self, program: &Program) -> Option<T> {
        T::try_from(self.integer(program)?.to_i64()?).ok()
    }

    /// The bytes that a control plane sends: the most significant first, as many as the width needs.
    pub fn bytes(&self, program: &Program, width: u32) -> Option<Vec<u8>> {
        let number = match self {
            Value::Bool(value) => BigInt::from(u8::from(*value)),
            value => value.integer(program)?,
        };
        Some(padded(&number, width))
    }
}

/// A number in as many bytes as the width needs, the most significant one first; negative ones in two's complement.
pub fn padded(number: &BigInt, width: u32) -> Vec<u8> {
    let length = width.div_ceil(8) as usize;
    let (_, bytes) = fold::low_bits(number, width).to_bytes_be();
    let significant = if bytes == [0] { &[] } else { bytes.as_slice() };
    let mut padded = vec![0; length.saturating_sub(significant.len())];
    padded.extend_from_slice(significant);
    padded
}
