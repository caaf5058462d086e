//! Structured annotations (§20.2): their values are constants, and each stands once.

use crate::checker::Checker;
use crate::hir::Type;
use forebay_syntax::ast::{Annotation, AnnotationBody, Expr};
use forebay_syntax::codes::check as codes;

impl Checker {
    /// Checks the annotations of one declaration.
    pub(crate) fn check_annotations(&mut self, annotations: &[Annotation]) {
        for (index, annotation) in annotations.iter().enumerate() {
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
            self.error(codes::INVALID_ANNOTATION, value.span, "a value in an annotation must be a compile-time constant");
        } else if !matches!(checked.ty, Type::Int | Type::String | Type::Bool | Type::Unknown)
            || matches!(checked.kind, crate::hir::ExprKind::InvalidHeader)
        {
            let message = "a value in an annotation must have type int, string or bool";
            self.error(codes::INVALID_ANNOTATION, value.span, message);
        }
    }
}

fn is_structured(annotation: &Annotation) -> bool {
    matches!(annotation.body, AnnotationBody::ExpressionList(_) | AnnotationBody::KeyValueList(_))
}
