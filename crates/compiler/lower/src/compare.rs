//! Equality of values of any type (§8.2 to §8.21).

use crate::build;
use crate::value::Value;
use forebay_ir::Expr;

/// `left == right`
pub fn equal(left: &Value, right: &Value) -> Expr {
    match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => build::equal(left.clone(), right.clone()),
        (Value::Integer(left), Value::Integer(right)) => build::boolean(left == right),
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
            let same_fields = components(left, right);
            build::and(same_validity, build::or(build::not(valid.clone()), same_fields))
        }
        _ => components(left, right),
    }
}

/// Whether all components are equal.
fn components(left: &Value, right: &Value) -> Expr {
    let pairs = left.components().iter().zip(right.components());
    all(pairs.map(|(left, right)| equal(left, right)).collect())
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
