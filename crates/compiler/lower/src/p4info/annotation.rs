//! Annotations in P4Info: most as text, structured ones as values; `@brief` and `@description` separately.

use forebay_check::annotations::{self, Value};
use forebay_p4info::model::{
    AnnotationBody, Documentation, Expression, ExpressionList, KeyValuePair, KeyValuePairList, Literal, Preamble,
    StructuredAnnotation,
};
use forebay_syntax::ast::{self, Annotation, AnnotationToken, AnnotationTokenKind};
use num_traits::ToPrimitive;

/// Annotations that have a field of their own in P4Info.
const OWN_FIELD: &[&str] = &["name", "id", "brief", "description"];

/// Text and structured annotations, without the text annotations named in `but`.
pub fn written(annotations: &[Annotation], but: &[&str]) -> (Vec<String>, Vec<StructuredAnnotation>) {
    let (mut texts, mut structured) = (Vec::new(), Vec::new());
    for annotation in annotations {
        let name = annotation.name.name.as_str();
        match &annotation.body {
            ast::AnnotationBody::ExpressionList(_) | ast::AnnotationBody::KeyValueList(_) => {
                structured.push(structure(annotation));
            }
            _ if OWN_FIELD.contains(&name) || but.contains(&name) => {}
            ast::AnnotationBody::Unstructured(tokens) if !tokens.is_empty() => {
                texts.push(format!("@{name}({})", text(tokens)));
            }
            ast::AnnotationBody::Empty | ast::AnnotationBody::Unstructured(_) => texts.push(format!("@{name}")),
        }
    }
    (texts, structured)
}

/// Sets the fields of a preamble that come from annotations.
pub fn annotate(preamble: &mut Preamble, annotations: &[Annotation], but: &[&str]) {
    (preamble.annotations, preamble.structured_annotations) = written(annotations, but);
    preamble.doc = documentation(annotations);
}

/// `@brief` and `@description`.
pub fn documentation(annotations: &[Annotation]) -> Option<Documentation> {
    let text = |name| annotations::string_arg(annotations, name);
    let (brief, description) = (text("brief"), text("description"));
    (brief.is_some() || description.is_some()).then(|| Documentation {
        brief: brief.unwrap_or_default().to_string(),
        description: description.unwrap_or_default().to_string(),
    })
}

/// Tokens, separated by blanks.
fn text(tokens: &[AnnotationToken]) -> String {
    let texts: Vec<String> = tokens
        .iter()
        .map(|token| match token.kind {
            AnnotationTokenKind::String => format!("\"{}\"", token.text.replace('\\', "\\\\").replace('"', "\\\"")),
            _ => token.text.clone(),
        })
        .collect();
    texts.join(" ")
}

fn structure(annotation: &Annotation) -> StructuredAnnotation {
    let body = match &annotation.body {
        ast::AnnotationBody::KeyValueList(_) => {
            let pairs = annotations::key_values(annotation).into_iter();
            let pairs = pairs.map(|(key, value)| KeyValuePair {
                key: key.to_string(),
                value: Some(literal(value)),
            });
            Some(AnnotationBody::KeyValuePairList(KeyValuePairList {
                kv_pairs: pairs.collect(),
            }))
        }
        _ => {
            let values: Vec<Expression> = annotations::values(annotation).into_iter().map(literal).collect();
            (!values.is_empty()).then_some(AnnotationBody::ExpressionList(ExpressionList { expressions: values }))
        }
    };
    StructuredAnnotation {
        name: annotation.name.name.clone(),
        body,
        ..StructuredAnnotation::default()
    }
}

/// A value. Numbers beyond 64 bits are written as strings.
fn literal(value: Value) -> Expression {
    let value = match value {
        Value::String(text) => Literal::String(text),
        Value::Bool(value) => Literal::Bool(value),
        Value::Int(number) => number
            .to_i64()
            .map_or_else(|| Literal::String(number.to_string()), Literal::Int64),
    };
    Expression { value: Some(value) }
}
