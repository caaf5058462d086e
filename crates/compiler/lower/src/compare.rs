//! Equality of values of any type (§8.2 to §8.21).

use crate::build;
use crate::context::Context;
use crate::operator;
use crate::value::Value;
use forebay_ir::Expr;

/// `left == right`
pub fn equal(cx: &Context, left: &Value, right: &Value) -> Expr {
    match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => build::equal(left.clone(), right.clone()),
        (Value::Integer(left), Value::Integer(right)) => build::boolean(left == right),
        // Two parts of type `int`, of which one is known only at run time.
        (Value::Scalar(_), Value::Integer(_)) | (Value::Integer(_), Value::Scalar(_)) => {
            match operator::of_one_width(cx, left.clone(), right.clone()) {
                (Value::Scalar(left), Value::Scalar(right)) => build::equal(left, right),
                _ => build::boolean(false),
            }
        }
        (Value::Text(left), Value::Text(right)) => build::boolean(left == right),
        (
            Value::Varbit { value, length },
            Value::Varbit {
                value: other,
                length: other_length,
            },
        ) => build::and(
            build::equal(length.clone(), other_length.clone()),
            build::equal(value.clone(), other.clone()),
        ),
        (Value::Header { valid, .. }, Value::Header { valid: other, .. }) => {
            let same_validity = build::equal(valid.clone(), other.clone());
            let same_fields = components(cx, left, right);
            build::and(same_validity, build::or(build::not(valid.clone()), same_fields))
        }
        _ => components(cx, left, right),
    }
}

/// Whether all components are equal.
fn components(cx: &Context, left: &Value, right: &Value) -> Expr {
    let pairs = left.components().iter().zip(right.components());
    all(pairs.map(|(left, right)| equal(cx, left, right)).collect())
}

/// A conjunction as a balanced tree.
fn all(mut conditions: Vec<Expr>) -> Expr {
    match conditions.len() {
        0 => build::boolean(true),
        1 => conditions.remove(0),
        count => {
            let right = conditions.split_off(count / 2);
            build::and(all(conditions), all(right))
        }
    }
}
