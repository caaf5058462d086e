//! Reading annotations (§20).
//!
//! The checker has put the value of each expression in its place: an argument of a known annotation
//! ([`forebay_syntax::known`]) and a value in square brackets is a literal. The functions here answer the questions
//! that are asked of annotations: is there a `@hidden`, what is the `@name`, what are the values. The tokens of a body
//! stay as they are written, since P4Info repeats them.

use forebay_syntax::ast::{Annotation, AnnotationArgument, AnnotationBody, Expr, ExprKind};
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

/// The single string of a known annotation: `@foo("text")` or `@foo["text"]`.
pub fn string_arg<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a str> {
    let annotation = find(annotations, name)?;
    let first = match (annotation.arguments.first(), &annotation.body) {
        (Some(AnnotationArgument::Value(value)), _) => value,
        (None, AnnotationBody::ExpressionList(expressions)) => expressions.first()?,
        _ => return None,
    };
    match &first.kind {
        ExprKind::String(text) => Some(text),
        _ => None,
    }
}

/// The values of an annotation in order: those of a known one, or those in square brackets.
pub fn values(annotation: &Annotation) -> Vec<Value> {
    let arguments = annotation.arguments.iter().filter_map(|argument| match argument {
        AnnotationArgument::Value(value) | AnnotationArgument::Keyed(_, value) => literal(value),
        AnnotationArgument::Type(_) => None,
    });
    match &annotation.body {
        AnnotationBody::Empty | AnnotationBody::Unstructured(_) => arguments.collect(),
        AnnotationBody::ExpressionList(expressions) => expressions.iter().filter_map(literal).collect(),
        AnnotationBody::KeyValueList(pairs) => pairs.iter().filter_map(|(_, value)| literal(value)).collect(),
    }
}

/// The pairs of `@foo[key = value, ...]`, or of a known annotation with pairs in parentheses; empty for other bodies.
pub fn key_values(annotation: &Annotation) -> Vec<(&str, Value)> {
    let arguments = annotation.arguments.iter().filter_map(|argument| match argument {
        AnnotationArgument::Keyed(key, value) => Some((key.name.as_str(), literal(value)?)),
        AnnotationArgument::Value(_) | AnnotationArgument::Type(_) => None,
    });
    match &annotation.body {
        AnnotationBody::KeyValueList(pairs) => pairs
            .iter()
            .filter_map(|(key, value)| Some((key.name.as_str(), literal(value)?)))
            .collect(),
        _ => arguments.collect(),
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

fn literal(expression: &Expr) -> Option<Value> {
    match &expression.kind {
        ExprKind::Int(literal) => Some(Value::Int(literal.value.clone())),
        ExprKind::String(text) => Some(Value::String(text.clone())),
        ExprKind::Bool(value) => Some(Value::Bool(*value)),
        _ => None,
    }
}
