//! Table properties (§14.2.1.6): those with a value that the language does not define.
//!
//! A property with a name that no architecture has is correct P4 and has no effect, so it is kept with a warning. A
//! misspelt name whose value makes sense for the right name only is an error about the name, not about the value.

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::Code;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::{Diagnostic, closest_name};
use forebay_syntax::known::{Place, TABLE_PROPERTIES};
use forebay_syntax::source::Span;

impl Checker {
    /// `name = value;`
    pub(super) fn check_additional_property(
        &mut self,
        property: &ast::TableProperty,
        value: &ast::Expr,
    ) -> TableProperty {
        let is_known = TABLE_PROPERTIES.contains(&property.name.name.as_str());
        let before = (!is_known).then(|| self.diagnostics.clone());
        let checked = self.check_typed_value(value);
        let takes_direct_object = DIRECT_OBJECTS.contains(&property.name.name.as_str());
        let checked = if takes_direct_object {
            only_element(checked)
        } else {
            checked
        };
        if let Some(before) = before {
            let is_wrong = self.diagnostics.error_count() > before.error_count();
            if is_wrong && likely_property(&property.name.name).is_some() {
                self.diagnostics = before;
                self.report(unknown_property(
                    &property.name,
                    Diagnostic::error,
                    codes::INVALID_PROPERTY,
                ));
            } else {
                self.report(unknown_property(
                    &property.name,
                    Diagnostic::warning,
                    codes::UNKNOWN_PROPERTY,
                ));
            }
        }
        self.kept_property(property, checked)
    }

    /// The property with its checked value.
    pub(super) fn kept_property(&mut self, property: &ast::TableProperty, value: Expr) -> TableProperty {
        TableProperty {
            name: property.name.name.clone(),
            value,
            is_const: property.is_const,
            annotations: self.annotations(Place::Property, &property.annotations),
            span: property.span,
        }
    }
}

/// The properties that take a direct counter or meter.
const DIRECT_OBJECTS: [&str; 6] = [
    "counters",
    "meters",
    "psa_direct_counter",
    "psa_direct_meter",
    "pna_direct_counter",
    "pna_direct_meter",
];

/// The element of a list that has one: programs for p4c's eBPF back end write `psa_direct_counter = { hits }`. Any other
/// value stays as it is.
fn only_element(value: Expr) -> Expr {
    match value {
        Expr {
            kind: ExprKind::Aggregate(mut elements),
            ..
        } if elements.len() == 1 => elements.remove(0),
        value => value,
    }
}

/// The known property that a name is probably meant to be.
fn likely_property(name: &str) -> Option<&'static str> {
    closest_name(name, TABLE_PROPERTIES.iter().copied())
}

type NewDiagnostic = fn(Code, Span, String) -> Diagnostic;

fn unknown_property(name: &ast::Ident, new: NewDiagnostic, code: Code) -> Diagnostic {
    let message = format!("no architecture has a table property `{}`", name.name);
    let diagnostic = new(code, name.span, message);
    match likely_property(&name.name) {
        Some(likely) => diagnostic.hint(format!("did you mean `{likely}`?")),
        None => diagnostic.note("it has no effect"),
    }
}
