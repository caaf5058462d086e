//! Annotations in P4Info: unstructured ones as text, structured ones as values; `@brief` and `@description` are
//! documentation, `@name` and `@id` are what they say.

use forebay_check::annotations::{self, Value};
use forebay_p4info::model::{
    AnnotationBody as Body, Documentation, Expression, ExpressionList, KeyValuePair, KeyValuePairList, Literal,
    Preamble, StructuredAnnotation,
};
use forebay_syntax::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind};
use num_traits::ToPrimitive;

/// Annotations that are represented by other fields.
const REPRESENTED: &[&str] = &["name", "id", "brief", "description"];

/// Unstructured annotations as text, without those named in `except`.
pub fn texts(written: &[Annotation], except: &[&str]) -> Vec<String> {
    let kept = written.iter().filter(|annotation| {
        let name = annotation.name.name.as_str();
        !REPRESENTED.contains(&name) && !except.contains(&name)
    });
    kept.filter_map(text).collect()
}

fn text(annotation: &Annotation) -> Option<String> {
    let name = &annotation.name.name;
    match &annotation.body {
        AnnotationBody::Empty => Some(format!("@{name}")),
        AnnotationBody::Unstructured(tokens) => {
            let tokens: Vec<String> = tokens.iter().map(token).collect();
            Some(format!("@{name}({})", tokens.join(" ")))
        }
        AnnotationBody::ExpressionList(_) | AnnotationBody::KeyValueList(_) => None,
    }
}

fn token(token: &AnnotationToken) -> String {
    match token.kind {
        AnnotationTokenKind::String => format!("\"{}\"", token.text),
        _ => token.text.clone(),
    }
}

/// Structured annotations.
pub fn structured(written: &[Annotation]) -> Vec<StructuredAnnotation> {
    written.iter().filter_map(structured_one).collect()
}

fn structured_one(annotation: &Annotation) -> Option<StructuredAnnotation> {
    let body = match &annotation.body {
        AnnotationBody::Empty | AnnotationBody::Unstructured(_) => return None,
        AnnotationBody::ExpressionList(_) => {
            let expressions = annotations::values(annotation).into_iter().map(expression).collect();
            Body::ExpressionList(ExpressionList { expressions })
        }
        AnnotationBody::KeyValueList(_) => {
            let pairs = annotations::key_values(annotation).into_iter();
            let pair = |(key, value): (&str, Value)| KeyValuePair {
                key: key.to_string(),
                value: Some(expression(value)),
            };
            Body::KeyValuePairList(KeyValuePairList {
                kv_pairs: pairs.map(pair).collect(),
            })
        }
    };
    Some(StructuredAnnotation {
        name: annotation.name.name.clone(),
        body: Some(body),
        ..Default::default()
    })
}

fn expression(value: Value) -> Expression {
    let literal = match value {
        Value::String(text) => Literal::String(text),
        Value::Int(number) => Literal::Int64(number.to_i64().unwrap_or(i64::MAX)),
        Value::Bool(value) => Literal::Bool(value),
    };
    Expression { value: Some(literal) }
}

/// `@brief` and `@description`.
pub fn documentation(written: &[Annotation]) -> Option<Documentation> {
    let brief = annotations::string_arg(written, "brief");
    let description = annotations::string_arg(written, "description");
    if brief.is_none() && description.is_none() {
        return None;
    }
    let owned = |text: Option<&str>| text.unwrap_or_default().to_string();
    Some(Documentation {
        brief: owned(brief),
        description: owned(description),
    })
}

/// Fills the annotations of a preamble in, without those named in `except`.
pub fn annotate(mut preamble: Preamble, written: &[Annotation], except: &[&str]) -> Preamble {
    preamble.annotations = texts(written, except);
    preamble.structured_annotations = structured(written);
    preamble.doc = documentation(written);
    preamble
}

/// The number of `@id`.
pub fn id(written: &[Annotation]) -> Option<u32> {
    annotations::int_arg(written, "id").and_then(|number| number.to_u32())
}

/// Whether the control plane is not to see it.
pub fn is_hidden(written: &[Annotation]) -> bool {
    annotations::has(written, "hidden")
}
