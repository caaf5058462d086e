//! Reading annotations (§20).
//!
//! Annotations reach lowering and P4Info as written, but for strings that are put together with `++`. The functions here answer the questions that are asked of
//! them: is there a `@hidden`, what is the `@name`, what are the values of a structured annotation.

use forebay_syntax::ast::{
    Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, BinaryOp, Expr, ExprKind, UnaryOp,
};
use num_bigint::BigInt;

/// A value in an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
    String(String),
    /// An integer.
    Int(BigInt),
    /// A truth value.
    Bool(bool),
}

/// Annotations whose body the language defines as one string.
pub(crate) const OF_ONE_STRING: [&str; 3] = ["name", "deprecated", "noWarn"];

/// The annotation with one string in place of those that `++` joins, where the language defines what the body means.
pub(crate) fn with_joined_strings(annotation: &Annotation) -> Annotation {
    let mut joined = annotation.clone();
    match &mut joined.body {
        AnnotationBody::Unstructured(tokens) if OF_ONE_STRING.contains(&annotation.name.name.as_str()) => {
            join_tokens(tokens);
        }
        AnnotationBody::ExpressionList(expressions) => expressions.iter_mut().for_each(join_expression),
        AnnotationBody::KeyValueList(pairs) => pairs.iter_mut().for_each(|(_, value)| join_expression(value)),
        AnnotationBody::Empty | AnnotationBody::Unstructured(_) => {}
    }
    joined
}

fn join_tokens(tokens: &mut Vec<AnnotationToken>) {
    let strings = tokens.iter().filter(|token| token.kind == AnnotationTokenKind::String);
    let text: String = strings.map(|token| token.text.as_str()).collect();
    tokens.truncate(1);
    if let Some(first) = tokens.first_mut() {
        first.text = text;
    }
}

fn join_expression(expression: &mut Expr) {
    let is_joined = matches!(
        expression.kind,
        ExprKind::Binary {
            op: BinaryOp::Concat,
            ..
        }
    );
    if let (true, Some(Value::String(text))) = (is_joined, literal(expression)) {
        expression.kind = ExprKind::String(text);
    }
}

/// The first annotation of this name.
pub fn find<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|annotation| annotation.name.name == name)
}

/// Whether there is an annotation of this name.
pub fn has(annotations: &[Annotation], name: &str) -> bool {
    find(annotations, name).is_some()
}

/// The control-plane name given by `@name("...")`.
pub fn name(annotations: &[Annotation]) -> Option<&str> {
    string_arg(annotations, "name")
}

/// The single string of an annotation: `@foo("text")` or `@foo["text"]`.
pub fn string_arg<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a str> {
    match &find(annotations, name)?.body {
        AnnotationBody::Unstructured(tokens) => {
            let token = tokens.first()?;
            (token.kind == AnnotationTokenKind::String).then_some(token.text.as_str())
        }
        AnnotationBody::ExpressionList(expressions) => match &expressions.first()?.kind {
            ExprKind::String(text) => Some(text),
            _ => None,
        },
        AnnotationBody::Empty | AnnotationBody::KeyValueList(_) => None,
    }
}

/// The values of an annotation's body in order, for `@foo(1, "a")` and `@foo[1, "a"]`; what is no literal is left out.
pub fn values(annotation: &Annotation) -> Vec<Value> {
    match &annotation.body {
        AnnotationBody::Empty => Vec::new(),
        AnnotationBody::Unstructured(tokens) => tokens
            .iter()
            .filter_map(|token| token_value(token.kind, &token.text))
            .collect(),
        AnnotationBody::ExpressionList(expressions) => expressions.iter().filter_map(literal).collect(),
        AnnotationBody::KeyValueList(pairs) => pairs.iter().filter_map(|(_, value)| literal(value)).collect(),
    }
}

/// The pairs of `@foo[key = value, ...]`; empty for other bodies.
pub fn key_values(annotation: &Annotation) -> Vec<(&str, Value)> {
    match &annotation.body {
        AnnotationBody::KeyValueList(pairs) => pairs
            .iter()
            .filter_map(|(key, value)| Some((key.name.as_str(), literal(value)?)))
            .collect(),
        _ => Vec::new(),
    }
}

/// The first integer of an annotation: `@priority(3)`, `@id(0x1000)`.
pub fn int_arg(annotations: &[Annotation], name: &str) -> Option<BigInt> {
    values(find(annotations, name)?)
        .into_iter()
        .find_map(|value| match value {
            Value::Int(value) => Some(value),
            _ => None,
        })
}

fn token_value(kind: AnnotationTokenKind, text: &str) -> Option<Value> {
    match kind {
        AnnotationTokenKind::String => Some(Value::String(text.to_string())),
        AnnotationTokenKind::Integer => parse_integer(text).map(Value::Int),
        AnnotationTokenKind::Identifier => match text {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        AnnotationTokenKind::Punctuation => None,
    }
}

/// Reads an integer token: an optional width, a base prefix, digits with underscores.
fn parse_integer(text: &str) -> Option<BigInt> {
    let text: String = text
        .chars()
        .filter(|letter| *letter != '_')
        .collect::<String>()
        .to_lowercase();
    let digits = match text.find(['w', 's']) {
        Some(sign) => &text[sign + 1..],
        None => text.as_str(),
    };
    let (digits, base) = match digits.get(..2) {
        Some("0x") => (&digits[2..], 16),
        Some("0b") => (&digits[2..], 2),
        Some("0o") => (&digits[2..], 8),
        Some("0d") => (&digits[2..], 10),
        _ => (digits, 10),
    };
    BigInt::parse_bytes(digits.as_bytes(), base)
}

fn literal(expression: &Expr) -> Option<Value> {
    match &expression.kind {
        ExprKind::Int(literal) => Some(Value::Int(literal.value.clone())),
        ExprKind::String(text) => Some(Value::String(text.clone())),
        ExprKind::Bool(value) => Some(Value::Bool(*value)),
        ExprKind::Unary {
            op: UnaryOp::Negate,
            operand,
        } => match literal(operand)? {
            Value::Int(value) => Some(Value::Int(-value)),
            _ => None,
        },
        ExprKind::Binary { op, left, right } => binary(*op, literal(left)?, literal(right)?),
        _ => None,
    }
}

/// The operators that make sense of values in annotations.
fn binary(op: BinaryOp, left: Value, right: Value) -> Option<Value> {
    match (op, left, right) {
        (BinaryOp::Eq, left, right) => Some(Value::Bool(left == right)),
        (BinaryOp::Ne, left, right) => Some(Value::Bool(left != right)),
        (BinaryOp::And, Value::Bool(left), Value::Bool(right)) => Some(Value::Bool(left && right)),
        (BinaryOp::Or, Value::Bool(left), Value::Bool(right)) => Some(Value::Bool(left || right)),
        (BinaryOp::Add, Value::Int(left), Value::Int(right)) => Some(Value::Int(left + right)),
        (BinaryOp::Sub, Value::Int(left), Value::Int(right)) => Some(Value::Int(left - right)),
        (BinaryOp::Concat, Value::String(left), Value::String(right)) => Some(Value::String(left + &right)),
        (BinaryOp::Mul, Value::Int(left), Value::Int(right)) => Some(Value::Int(left * right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_base_are_read() {
        for (text, value) in [("12", 12), ("0x1F", 31), ("8w0b101", 5), ("4s7", 7), ("1_000", 1000)] {
            assert_eq!(parse_integer(text), Some(BigInt::from(value)), "{text}");
        }
        assert_eq!(parse_integer("x"), None);
    }
}
