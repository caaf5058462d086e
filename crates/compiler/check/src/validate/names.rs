//! Control-plane names (§18.3): two actions or two tables must not share one.
//!
//! The name of an object is its `@name`, or the declared one, after the name of its control and a dot. A `@name` that
//! begins with a dot stands by itself. NoAction is left out: programs made by compilers have one in each control.

use crate::annotations;
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::collections::HashMap;

impl Checker {
    /// Reports objects whose @name annotations give them the same name.
    pub(crate) fn check_control_plane_names(&mut self) {
        let actions = self.program.actions.iter().map(|action| {
            (
                self.control_plane_name(&action.name, &action.annotations, action.control),
                action.span,
            )
        });
        let actions: Vec<(String, Span)> = actions.filter(|(name, _)| name != "NoAction").collect();
        let tables = self.program.tables.iter().map(|table| {
            (
                self.control_plane_name(&table.name, &table.annotations, Some(table.control)),
                table.span,
            )
        });
        let tables: Vec<(String, Span)> = tables.collect();
        self.report_shared_names("actions", &actions);
        self.report_shared_names("tables", &tables);
    }

    fn control_plane_name(&self, name: &str, annotations: &Annotations, control: Option<ControlId>) -> String {
        let name = annotations::name(annotations).unwrap_or(name);
        match (name.strip_prefix('.'), control) {
            (Some(absolute), _) => absolute.to_string(),
            (None, Some(control)) => format!("{}#{}.{name}", self.program.controls[control.index()].name, control.0),
            (None, None) => name.to_string(),
        }
    }

    /// Whether the declaration at a place was reported: another one of its scope has its name.
    fn is_duplicate(&self, span: Span) -> bool {
        let mut said = self.diagnostics.iter();
        said.any(|message| message.code == codes::DUPLICATE_DECLARATION && message.primary.span == span)
    }

    fn report_shared_names(&mut self, what: &str, names: &[(String, Span)]) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for (name, span) in names {
            if let Some(earlier) = seen.insert(name, *span)
                && !self.is_duplicate(*span)
            {
                let message = format!("two {what} have the same control-plane name");
                let diagnostic = Diagnostic::error(codes::CONTROL_PLANE_NAME, *span, message);
                self.report(
                    diagnostic
                        .secondary(earlier, "the other one")
                        .hint("change one of the @name annotations"),
                );
            }
        }
    }
}
