//! Structured annotations (§20.2): their values are constants, and each stands once.

use crate::annotations;
use crate::checker::Checker;
use crate::hir::Type;
use forebay_syntax::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, Expr};
use forebay_syntax::codes::check as codes;

impl Checker {
    /// Checks the annotations of one declaration.
    pub(crate) fn check_annotations(&mut self, annotations: &[Annotation]) {
        for (index, annotation) in annotations.iter().enumerate() {
            self.check_known_annotation(annotation);
            match &annotation.body {
                AnnotationBody::Empty | AnnotationBody::Unstructured(_) => {}
                AnnotationBody::ExpressionList(expressions) => {
                    for expression in expressions {
                        self.check_annotation_value(expression);
                    }
                }
                AnnotationBody::KeyValueList(pairs) => {
                    self.check_distinct(pairs.iter().map(|(key, _)| key));
                    for (_, value) in pairs {
                        self.check_annotation_value(value);
                    }
                }
            }
            self.check_repetition(annotation, &annotations[..index]);
        }
        self.check_package_keys("pkginfo", annotations);
        self.check_package_keys("platform_property", annotations);
    }

    /// A program may be described by several annotations of a name, but each key stands once (P4Runtime §6.2).
    fn check_package_keys(&mut self, name: &str, annotations: &[Annotation]) {
        let mut seen: Vec<&str> = Vec::new();
        for annotation in annotations.iter().filter(|annotation| annotation.name.name == name) {
            let AnnotationBody::Unstructured(tokens) = &annotation.body else {
                continue;
            };
            let keys = tokens.split(|token| token.text == ",").filter_map(|pair| pair.first());
            for key in keys {
                if seen.contains(&key.text.as_str()) {
                    let message = format!("@{name} says `{}` twice", key.text);
                    self.error(codes::DUPLICATE_ANNOTATION, key.span, message);
                }
                seen.push(&key.text);
            }
        }
    }

    /// Annotations whose body the language defines: a single string.
    fn check_known_annotation(&mut self, annotation: &Annotation) {
        let name = annotation.name.name.as_str();
        if name == "pkginfo" && matches!(annotation.body, AnnotationBody::Empty) {
            self.error(
                codes::INVALID_ANNOTATION,
                annotation.span,
                "@pkginfo takes a list of keys and values",
            );
        }
        if let ("match", AnnotationBody::Unstructured(tokens)) = (name, &annotation.body)
            && !matches!(tokens.as_slice(), [only] if self.program.match_kinds.contains(&only.text))
        {
            self.error(codes::INVALID_ANNOTATION, annotation.span, "@match takes a match kind");
        }
        if let ("p4runtime_translation", AnnotationBody::Unstructured(tokens)) = (name, &annotation.body)
            && !is_translation(tokens)
        {
            let message = "@p4runtime_translation takes a URI string, and bit<W>, a width or `string`";
            self.error(codes::INVALID_ANNOTATION, annotation.span, message);
        }
        if !annotations::OF_ONE_STRING.contains(&name) {
            return;
        }
        let is_string = match &annotation.body {
            AnnotationBody::Unstructured(tokens) => {
                tokens
                    .iter()
                    .step_by(2)
                    .all(|token| token.kind == AnnotationTokenKind::String)
                    && tokens.iter().skip(1).step_by(2).all(|token| token.text == "++")
                    && !tokens.is_empty()
            }
            AnnotationBody::ExpressionList(expressions) => expressions.len() == 1,
            AnnotationBody::Empty | AnnotationBody::KeyValueList(_) => false,
        };
        if !is_string {
            self.error(
                codes::INVALID_ANNOTATION,
                annotation.span,
                format!("@{name} takes one string"),
            );
        }
    }

    fn check_repetition(&mut self, annotation: &Annotation, earlier: &[Annotation]) {
        let again = earlier.iter().find(|other| other.name.name == annotation.name.name);
        if let Some(other) = again
            && (is_structured(other) || is_structured(annotation))
        {
            let message = format!("the annotation @{} is given twice", annotation.name.name);
            self.error(codes::DUPLICATE_ANNOTATION, annotation.span, message);
        }
    }

    fn check_annotation_value(&mut self, value: &Expr) {
        let checked = self.check_value(value);
        if !self.is_constant(&checked) {
            self.error(
                codes::INVALID_ANNOTATION,
                value.span,
                "a value in an annotation must be a compile-time constant",
            );
        } else if !matches!(checked.ty, Type::Int | Type::String | Type::Bool | Type::Unknown)
            || matches!(checked.kind, crate::hir::ExprKind::InvalidHeader)
        {
            let message = "a value in an annotation must have type int, string or bool";
            self.error(codes::INVALID_ANNOTATION, value.span, message);
        }
    }
}

fn is_structured(annotation: &Annotation) -> bool {
    matches!(
        annotation.body,
        AnnotationBody::ExpressionList(_) | AnnotationBody::KeyValueList(_)
    )
}

/// Whether the tokens are `"uri", bit<W>`, `"uri", W` or `"uri", string`.
fn is_translation(tokens: &[AnnotationToken]) -> bool {
    let is_integer = |token: &AnnotationToken| token.kind == AnnotationTokenKind::Integer;
    match tokens {
        [uri, comma, rest @ ..] if uri.kind == AnnotationTokenKind::String && comma.text == "," => match rest {
            [only] => is_integer(only) || only.text == "string",
            [bit, open, width, close] => {
                bit.text == "bit" && open.text == "<" && is_integer(width) && close.text == ">"
            }
            _ => false,
        },
        _ => false,
    }
}
