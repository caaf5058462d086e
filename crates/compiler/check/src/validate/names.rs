//! Control-plane names (§18.3): two tables must not share one, nor two actions that the control plane cannot take for
//! one.
//!
//! The name of an object is its `@name`, or the declared one, after the name of its control and a dot. A `@name` that
//! begins with a dot stands by itself. NoAction is left out: programs made by compilers have one in each control. So is
//! what is `@hidden`. Keys of a table that share a name, or a table and an action, earn a warning.

use crate::annotations;
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast::Direction;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::collections::HashMap;

impl Checker {
    /// Reports objects whose @name annotations give them the same name.
    pub(crate) fn check_control_plane_names(&mut self) {
        let is_visible = |annotations: &Annotations| !annotations::has(annotations, "hidden");
        let named = self.program.actions.iter().zip(0..);
        let named = named
            .filter(|(action, _)| is_visible(&action.annotations))
            .map(|(action, index)| {
                let name = self.control_plane_name(&action.name, &action.annotations, action.control);
                (name, ActionId(index))
            });
        let named: Vec<(String, ActionId)> = named.filter(|(name, _)| name != "NoAction").collect();
        let places = named
            .iter()
            .map(|(name, id)| (name.clone(), self.program.actions[id.index()].span));
        let actions: Vec<(String, Span)> = places.collect();
        let tables = self.program.tables.iter();
        let tables = tables.filter(|table| is_visible(&table.annotations)).map(|table| {
            (
                self.control_plane_name(&table.name, &table.annotations, Some(table.control)),
                table.span,
            )
        });
        let tables: Vec<(String, Span)> = tables.collect();
        self.report_actions_of_one_name(&named);
        self.report_tables_of_one_name(&tables);
        self.warn_of_tables_and_actions(&tables, &actions);
        self.warn_of_keys();
    }

    /// Clients of P4Runtime have tables and actions apart, so a name for both is no more than confusing.
    fn warn_of_tables_and_actions(&mut self, tables: &[(String, Span)], actions: &[(String, Span)]) {
        for (name, span) in tables {
            let Some((_, action)) = actions.iter().find(|(other, _)| other == name) else {
                continue;
            };
            if !self.is_duplicate(*span) && !self.is_duplicate(*action) {
                let message = "a table and an action have the same control-plane name";
                let warning = Diagnostic::warning(codes::SHARED_NAME, *span, message);
                self.report(
                    warning
                        .secondary(*action, "the action")
                        .hint("change one of the @name annotations"),
                );
            }
        }
    }

    /// Two keys of one table that are called the same. What a selector hashes is no key to the control plane.
    fn warn_of_keys(&mut self) {
        let mut warnings = Vec::new();
        for table in &self.program.tables {
            let mut seen: HashMap<&str, Span> = HashMap::new();
            for key in table.keys.iter().filter(|key| key.match_kind != "selector") {
                let name = annotations::name(&key.annotations).unwrap_or(&key.source_text);
                if let Some(earlier) = seen.insert(name, key.span) {
                    let message = format!("two keys of the table are called `{name}`: only their ids tell them apart");
                    let warning = Diagnostic::warning(codes::SHARED_NAME, key.span, message);
                    let warning = warning.secondary(earlier, "the other key");
                    warnings.push(warning.hint("give one of them another name: @name(\"...\") after the match kind"));
                }
            }
        }
        warnings.into_iter().for_each(|warning| self.report(warning));
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

    fn report_tables_of_one_name(&mut self, tables: &[(String, Span)]) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for (name, span) in tables {
            if let Some(earlier) = seen.insert(name, *span)
                && !self.is_duplicate(*span)
            {
                let message = "two tables have the same control-plane name";
                let diagnostic = Diagnostic::error(codes::CONTROL_PLANE_NAME, *span, message);
                self.report(
                    diagnostic
                        .secondary(earlier, "the other one")
                        .hint("change one of the @name annotations"),
                );
            }
        }
    }

    /// Actions that the control plane can take for one earn a warning, one for each name. Translators make them: an
    /// action of P4_14 becomes one in each control that uses it, all with `@name(".nop")`.
    fn report_actions_of_one_name(&mut self, actions: &[(String, ActionId)]) {
        let mut seen: HashMap<&str, Vec<ActionId>> = HashMap::new();
        for (name, id) in actions {
            let earlier = seen.entry(name).or_default();
            let place = self.program.actions[id.index()].span;
            if !earlier.is_empty() && !self.is_duplicate(place) {
                let apart = earlier.iter().find(|other| !self.can_be_one(**other, *id));
                let diagnostic = match apart {
                    Some(other) => Some(self.actions_of_one_name(*other, place)),
                    None if earlier.len() == 1 => Some(self.actions_that_are_one(earlier[0], place)),
                    None => None,
                };
                diagnostic.into_iter().for_each(|diagnostic| self.report(diagnostic));
            }
            earlier.push(*id);
        }
    }

    fn actions_of_one_name(&self, other: ActionId, place: Span) -> Diagnostic {
        let message = "two actions have the same control-plane name";
        Diagnostic::error(codes::CONTROL_PLANE_NAME, place, message)
            .secondary(self.program.actions[other.index()].span, "the other one")
            .hint("change one of the @name annotations")
    }

    fn actions_that_are_one(&self, other: ActionId, place: Span) -> Diagnostic {
        let message = "two actions have the same control-plane name: controllers take them for one";
        Diagnostic::warning(codes::SHARED_NAME, place, message)
            .secondary(self.program.actions[other.index()].span, "the other one")
            .hint("p4c refuses this when it writes a P4Info: change one of the @name annotations")
    }

    /// Whether two actions can be one to the control plane: they take the same data, and no table has both.
    fn can_be_one(&self, one: ActionId, other: ActionId) -> bool {
        let has = |table: &Table, id: ActionId| table.actions.iter().any(|listed| listed.action == id);
        let mut tables = self.program.tables.iter();
        !tables.any(|table| has(table, one) && has(table, other))
            && self.data_of_action(one) == self.data_of_action(other)
    }

    /// The names and types of an action's parameters whose values the control plane gives.
    fn data_of_action(&self, id: ActionId) -> Vec<(&str, &Type)> {
        let params = self.program.actions[id.index()].params.iter();
        let data = params.filter(|param| param.direction == Direction::None);
        data.map(|param| {
            let var = &self.program.vars[param.var.index()];
            (annotations::name(&var.annotations).unwrap_or(&var.name), &var.ty)
        })
        .collect()
    }
}
