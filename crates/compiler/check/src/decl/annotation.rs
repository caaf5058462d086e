//! Annotations (§20): the values in them are computed, and those that have a meaning are checked against the register.

use crate::annotations::Value;
use crate::checker::Checker;
use crate::hir::{ExprKind, Type};
use forebay_syntax::ast::{
    self, Annotation, AnnotationArgument, AnnotationBody, AnnotationToken, AnnotationTokenKind, IntLiteral,
};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::{self, Body, Known, Pair, Place};
use forebay_syntax::source::Span;

impl Checker {
    /// Checks the annotations of one declaration, and puts the values of their expressions in their places.
    pub(crate) fn evaluated_annotations(&mut self, place: Place, annotations: &[Annotation]) -> Vec<Annotation> {
        let mut evaluated = Vec::new();
        for (index, annotation) in annotations.iter().enumerate() {
            let mut annotation = annotation.clone();
            self.evaluate_structured(&mut annotation);
            let has_effect = match known::find(&annotation.name.name) {
                Some(known) if !known.belongs_on(place) => self.warn_misplaced(known, place, &annotation),
                Some(known) => self.check_known(known, &mut annotation),
                None => self.warn_misspelt(&annotation),
            };
            self.check_repetition(&annotation, &annotations[..index]);
            if has_effect {
                evaluated.push(annotation);
            }
        }
        self.check_package_keys("pkginfo", annotations);
        self.check_package_keys("platform_property", annotations);
        evaluated
    }

    /// Compilers ignore an annotation at a place where it means nothing, and programs that have one are in use. It has
    /// no effect.
    fn warn_misplaced(&mut self, known: &Known, place: Place, annotation: &Annotation) -> bool {
        let places: Vec<String> = known.places.iter().map(Place::to_string).collect();
        let message = format!("@{} has no effect on {place}", known.name);
        let warning = Diagnostic::warning(codes::MISPLACED_ANNOTATION, annotation.span, message);
        self.report(warning.hint(format!("it belongs on {}", places.join(", "))));
        false
    }

    /// Other annotations may have a meaning for other tools.
    fn warn_misspelt(&mut self, annotation: &Annotation) -> bool {
        let name = &annotation.name.name;
        if let Some(meant) = known::probably_meant(name) {
            let message = format!("the annotation @{name} is not known, and has no effect");
            let warning = Diagnostic::warning(codes::UNKNOWN_ANNOTATION, annotation.name.span, message);
            self.report(warning.hint(format!("did you mean `@{meant}`?")));
        }
        true
    }

    /// A program may be described by several annotations of a name, but each key stands once (P4Runtime §6.2).
    fn check_package_keys(&mut self, name: &str, annotations: &[Annotation]) {
        let mut seen: Vec<&str> = Vec::new();
        let named = annotations.iter().filter(|annotation| annotation.name.name == name);
        for argument in named.flat_map(|annotation| &annotation.arguments) {
            if let AnnotationArgument::Keyed(key, _) = argument {
                if seen.contains(&key.name.as_str()) {
                    let message = format!("@{name} says `{}` twice", key.name);
                    self.error(codes::DUPLICATE_ANNOTATION, key.span, message);
                }
                seen.push(&key.name);
            }
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

    // ---- Values

    /// Computes the values in square brackets (§20.2): of type int, string or bool.
    fn evaluate_structured(&mut self, annotation: &mut Annotation) {
        match &mut annotation.body {
            AnnotationBody::Empty | AnnotationBody::Unstructured(_) => {}
            AnnotationBody::ExpressionList(expressions) => {
                expressions.iter_mut().for_each(|value| self.evaluate_listed(value));
            }
            AnnotationBody::KeyValueList(pairs) => {
                self.check_distinct(pairs.iter().map(|(key, _)| key));
                pairs.iter_mut().for_each(|(_, value)| self.evaluate_listed(value));
            }
        }
    }

    fn evaluate_listed(&mut self, value: &mut ast::Expr) {
        let Some((ty, found)) = self.annotation_value(value) else {
            return;
        };
        if !matches!(ty, Type::Int | Type::String | Type::Bool) {
            let message = "a value in an annotation must have type int, string or bool";
            return self.error(codes::INVALID_ANNOTATION, value.span, message);
        }
        value.kind = literal(found);
    }

    /// The value of an expression and its type; none when there is none, which is reported.
    fn annotation_value(&mut self, value: &ast::Expr) -> Option<(Type, Value)> {
        let checked = self.check_value(value);
        let ty = checked.ty.clone();
        if ty == Type::Unknown || matches!(checked.kind, ExprKind::Invalid) {
            return None;
        }
        if !self.is_constant(&checked) {
            let message = "a value in an annotation must be a compile-time constant";
            let hint = "write a literal, the name of a `const` or of an enum's member, or an expression of these";
            self.error_with_hint(codes::INVALID_ANNOTATION, value.span, message, hint);
            return None;
        }
        let found = match checked.kind {
            ExprKind::String(text) => Value::String(text),
            ExprKind::Bool(truth) => Value::Bool(truth),
            _ => match self.number_of(checked).kind {
                ExprKind::Int(number) => Value::Int(number),
                _ => {
                    let message = "a value in an annotation must have type int, string or bool";
                    self.error(codes::INVALID_ANNOTATION, value.span, message);
                    return None;
                }
            },
        };
        Some((ty, found))
    }

    // ---- Known annotations

    fn check_known(&mut self, known: &Known, annotation: &mut Annotation) -> bool {
        if let AnnotationBody::ExpressionList(expressions) = &annotation.body {
            annotation.arguments = expressions.iter().cloned().map(AnnotationArgument::Value).collect();
        }
        if let AnnotationBody::KeyValueList(pairs) = &annotation.body {
            let keyed = |(key, value): &(ast::Ident, ast::Expr)| AnnotationArgument::Keyed(key.clone(), value.clone());
            annotation.arguments = pairs.iter().map(keyed).collect();
        }
        let is_good = match known.body {
            Body::Nothing => self.check_nothing(annotation),
            Body::Text => self.check_text(annotation),
            Body::Texts => self.check_texts(annotation),
            Body::Number(low, high) => self.check_numbers(annotation, low, high, false),
            Body::Numbers(low, high) => self.check_numbers(annotation, low, high, true),
            Body::Pairs(keys) => self.check_pairs(annotation, keys),
            Body::Translation => self.check_translation(annotation),
            Body::MatchKind => self.check_kind_of_match(annotation),
            Body::Constraint | Body::Free => true,
        };
        if !is_good {
            annotation.arguments.clear();
        }
        true
    }

    fn invalid_annotation(&mut self, span: Span, message: String) -> bool {
        self.error(codes::INVALID_ANNOTATION, span, message);
        false
    }

    fn check_nothing(&mut self, annotation: &Annotation) -> bool {
        let is_empty = match &annotation.body {
            AnnotationBody::Empty => true,
            AnnotationBody::Unstructured(tokens) => tokens.is_empty(),
            AnnotationBody::ExpressionList(expressions) => expressions.is_empty(),
            AnnotationBody::KeyValueList(pairs) => pairs.is_empty(),
        };
        is_empty || self.invalid_annotation(annotation.span, format!("@{} takes no values", annotation.name.name))
    }

    fn check_text(&mut self, annotation: &mut Annotation) -> bool {
        let name = annotation.name.name.clone();
        let [AnnotationArgument::Value(value)] = annotation.arguments.as_mut_slice() else {
            return self.is_malformed(annotation)
                || self.invalid_annotation(annotation.span, format!("@{name} takes one string"));
        };
        let text = match self.annotation_value(value) {
            Some((_, Value::String(text))) => text,
            Some(_) => return self.invalid_annotation(value.span, format!("@{name} takes one string")),
            None => return false,
        };
        value.kind = ast::ExprKind::String(text.clone());
        if let AnnotationBody::Unstructured(tokens) = &mut annotation.body {
            *tokens = vec![AnnotationToken {
                kind: AnnotationTokenKind::String,
                text: text.clone(),
                span: value.span,
            }];
        }
        let is_known = name != "selector_size_semantics" || SIZE_SEMANTICS.contains(&text.to_lowercase().as_str());
        is_known
            || self.invalid_annotation(
                annotation.span,
                format!("@{name} takes \"{}\" or \"{}\"", SIZE_SEMANTICS[0], SIZE_SEMANTICS[1]),
            )
    }

    /// Strings, no two alike and none empty. The tokens become the values, with commas between them.
    fn check_texts(&mut self, annotation: &mut Annotation) -> bool {
        let name = annotation.name.name.clone();
        if self.is_malformed(annotation) {
            return false;
        }
        if annotation.arguments.is_empty() {
            return self.invalid_annotation(annotation.span, format!("@{name} takes strings"));
        }
        let mut texts: Vec<(String, Span)> = Vec::new();
        for argument in &mut annotation.arguments {
            let AnnotationArgument::Value(value) = argument else {
                return self.invalid_annotation(annotation.span, format!("@{name} takes no keys"));
            };
            let text = match self.annotation_value(value) {
                Some((_, Value::String(text))) => text,
                Some(_) => return self.invalid_annotation(value.span, format!("@{name} takes strings")),
                None => return false,
            };
            if text.is_empty() {
                return self.invalid_annotation(value.span, format!("@{name}: a name has at least one letter"));
            }
            if texts.iter().any(|(other, _)| *other == text) {
                return self.invalid_annotation(value.span, format!("@{name} has \"{text}\" twice"));
            }
            value.kind = ast::ExprKind::String(text.clone());
            texts.push((text, value.span));
        }
        if let AnnotationBody::Unstructured(tokens) = &mut annotation.body {
            *tokens = listed(&texts);
        }
        true
    }

    /// Whether the parser has reported the body: it stands there, and has no values.
    fn is_malformed(&self, annotation: &Annotation) -> bool {
        let is_written = matches!(&annotation.body, AnnotationBody::Unstructured(tokens) if !tokens.is_empty());
        is_written && annotation.arguments.is_empty()
    }

    fn check_numbers(&mut self, annotation: &mut Annotation, low: i64, high: i64, several: bool) -> bool {
        let name = annotation.name.name.clone();
        let count = annotation.arguments.len();
        if self.is_malformed(annotation) {
            return false;
        }
        if count == 0 && several && !matches!(annotation.body, AnnotationBody::Empty) {
            return true;
        }
        if count == 0 || count > 1 && !several {
            let what = if several { "numbers" } else { "one number" };
            return self.invalid_annotation(annotation.span, format!("@{name} takes {what}"));
        }
        let mut is_good = true;
        for argument in &mut annotation.arguments {
            let AnnotationArgument::Value(value) = argument else {
                return self.invalid_annotation(annotation.span, format!("@{name} takes no keys"));
            };
            is_good &= self.check_number(&name, value, low, high);
        }
        is_good
    }

    /// Replaces an expression by its value, a number between bounds.
    fn check_number(&mut self, name: &str, value: &mut ast::Expr, low: i64, high: i64) -> bool {
        match self.annotation_value(value) {
            Some((_, Value::Int(number))) if number >= low.into() && number <= high.into() => {
                value.kind = literal(Value::Int(number));
                true
            }
            Some((_, Value::Int(number))) => {
                let message = format!("@{name} takes numbers from {low} to {high}, and this is {number}");
                self.invalid_annotation(value.span, message)
            }
            Some(_) => self.invalid_annotation(value.span, format!("@{name} takes a number")),
            None => false,
        }
    }

    fn check_pairs(&mut self, annotation: &mut Annotation, keys: &[(&str, Pair)]) -> bool {
        let name = annotation.name.name.clone();
        if annotation.arguments.is_empty() {
            return self.is_malformed(annotation)
                || self.invalid_annotation(annotation.span, format!("@{name} takes a list of keys and values"));
        }
        let mut is_good = true;
        for argument in &mut annotation.arguments {
            let AnnotationArgument::Keyed(key, value) = argument else {
                return self.invalid_annotation(annotation.span, format!("@{name} takes a list of keys and values"));
            };
            match keys.iter().find(|(known, _)| *known == key.name) {
                Some((_, Pair::Number)) => is_good &= self.check_number(&name, value, 0, i64::from(i32::MAX)),
                Some((_, Pair::Text)) => match self.annotation_value(value) {
                    Some((_, Value::String(text))) => value.kind = literal(Value::String(text)),
                    Some(_) => {
                        is_good &=
                            self.invalid_annotation(value.span, format!("`{}` of @{name} is a string", key.name));
                    }
                    None => is_good = false,
                },
                None => {
                    let message = format!("@{name} has no key `{}`, which has no effect", key.name);
                    let warning = Diagnostic::warning(codes::UNKNOWN_ANNOTATION, key.span, message);
                    let names = keys.iter().map(|(name, _)| *name);
                    self.report(
                        warning
                            .options(names.clone().map(|name| format!("`{name}`")))
                            .did_you_mean(&key.name, names),
                    );
                }
            }
        }
        is_good
    }

    /// `"uri", bit<W>`, `"uri", W` or `"uri", string`: the width takes the place of the type.
    fn check_translation(&mut self, annotation: &mut Annotation) -> bool {
        if self.is_malformed(annotation) {
            return false;
        }
        let message = "@p4runtime_translation takes a URI string, and bit<W>, a width or `string`".to_string();
        let [AnnotationArgument::Value(uri), to] = annotation.arguments.as_mut_slice() else {
            return self.invalid_annotation(annotation.span, message);
        };
        let uri = match self.annotation_value(uri) {
            Some((_, Value::String(text))) => ast::Expr {
                kind: ast::ExprKind::String(text),
                span: uri.span,
            },
            Some(_) => return self.invalid_annotation(annotation.span, message),
            None => return false,
        };
        let width = match to {
            AnnotationArgument::Type(ty) => match self.resolve_type(ty) {
                Type::String => None,
                Type::Bit(width) => Some(ast::Expr {
                    kind: literal(Value::Int(width.into())),
                    span: ty.span,
                }),
                Type::Unknown => return false,
                _ => return self.invalid_annotation(annotation.span, message),
            },
            AnnotationArgument::Value(value) => {
                if !self.check_number("p4runtime_translation", value, 1, i64::from(crate::resolve::MAX_WIDTH)) {
                    return false;
                }
                Some(value.clone())
            }
            AnnotationArgument::Keyed(..) => return self.invalid_annotation(annotation.span, message),
        };
        let uri = AnnotationArgument::Value(uri);
        let width = width.map(AnnotationArgument::Value);
        annotation.arguments = std::iter::once(uri).chain(width).collect();
        true
    }

    fn check_kind_of_match(&mut self, annotation: &Annotation) -> bool {
        let is_kind = matches!(&annotation.body, AnnotationBody::Unstructured(tokens)
            if matches!(tokens.as_slice(), [only] if self.program.match_kinds.contains(&only.text)));
        is_kind || self.invalid_annotation(annotation.span, "@match takes a match kind".to_string())
    }
}

/// What `@selector_size_semantics` can say.
const SIZE_SEMANTICS: [&str; 2] = ["sum_of_weights", "sum_of_members"];

fn literal(value: Value) -> ast::ExprKind {
    match value {
        Value::String(text) => ast::ExprKind::String(text),
        Value::Bool(truth) => ast::ExprKind::Bool(truth),
        Value::Int(value) => ast::ExprKind::Int(IntLiteral { value, width: None }),
    }
}

fn is_structured(annotation: &Annotation) -> bool {
    matches!(
        annotation.body,
        AnnotationBody::ExpressionList(_) | AnnotationBody::KeyValueList(_)
    )
}

/// Strings with commas between them.
fn listed(texts: &[(String, Span)]) -> Vec<AnnotationToken> {
    let token = |kind, text: &str, span: Span| AnnotationToken {
        kind,
        text: text.to_string(),
        span,
    };
    let tokens = texts.iter().flat_map(|(text, span)| {
        let comma = token(AnnotationTokenKind::Punctuation, ",", *span);
        [comma, token(AnnotationTokenKind::String, text, *span)]
    });
    tokens.skip(1).collect()
}
