//! Declarations that nothing uses: a table that is never applied, an action in no list, a control without an instance.
//!
//! What is inside an unused parser or control is not checked. A file that is included may declare parsers, controls,
//! actions and instances for several programs, so at the top level only the program's own file counts.

use crate::annotations;
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::{FileId, Span};
use std::collections::HashSet;

/// The program's own file: the one that was read first.
const OWN_FILE: FileId = FileId(0);

/// The declarations whose names were looked up.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    tables: HashSet<TableId>,
    actions: HashSet<ActionId>,
    instances: HashSet<InstanceId>,
    parsers: HashSet<ParserId>,
    controls: HashSet<ControlId>,
    value_sets: HashSet<ValueSetId>,
}

impl Uses {
    /// Takes note of a use.
    pub(crate) fn note(&mut self, entity: &Entity) {
        match entity {
            Entity::Table(id) => self.tables.insert(*id),
            Entity::Action(id) => self.actions.insert(*id),
            Entity::Instance(id) => self.instances.insert(*id),
            Entity::Parser(id) => self.parsers.insert(*id),
            Entity::Control(id) => self.controls.insert(*id),
            Entity::ValueSet(id) => self.value_sets.insert(*id),
            _ => false,
        };
    }
}

impl Checker {
    /// Warns of declarations that nothing uses.
    pub(crate) fn check_uses(&mut self) {
        let uses = std::mem::take(&mut self.uses);
        let mut found = Found {
            program: &self.program,
            uses: &uses,
            warnings: Vec::new(),
        };
        if self.program.main.is_some() {
            found.top_level();
            found.top_instances();
        }
        found.bodies();
        let warnings = found.warnings;
        warnings.into_iter().for_each(|warning| self.report(warning));
        self.uses = uses;
    }
}

struct Found<'a> {
    program: &'a Program,
    uses: &'a Uses,
    warnings: Vec<Diagnostic>,
}

impl Found<'_> {
    fn top_level(&mut self) {
        let program = self.program;
        for (index, parser) in program.parsers.iter().enumerate() {
            let is_used = parser.body.is_none() || self.uses.parsers.contains(&ParserId(index as u32));
            if !is_used && parser.span.file == OWN_FILE {
                let message = format!("the parser `{}` has no instance", parser.name);
                self.warn(parser.span, &parser.annotations, message, None);
            }
        }
        for (index, control) in program.controls.iter().enumerate() {
            let is_used = control.body.is_none() || self.uses.controls.contains(&ControlId(index as u32));
            if !is_used && control.span.file == OWN_FILE {
                let message = format!("the control `{}` has no instance", control.name);
                self.warn(control.span, &control.annotations, message, None);
            }
        }
        let actions = program.top_actions.iter();
        let own = actions.filter(|id| program.actions[id.index()].span.file == OWN_FILE);
        own.for_each(|id| self.action(*id));
    }

    fn top_instances(&mut self) {
        let program = self.program;
        let instances = program.top_instances.iter().filter(|id| Some(**id) != program.main);
        let own = instances.filter(|id| program.instances[id.index()].span.file == OWN_FILE);
        own.for_each(|id| self.instance(*id));
    }

    /// What stands in parsers and controls that have instances. In a program without `main` all may have some.
    fn bodies(&mut self) {
        let program = self.program;
        let all = program.main.is_none();
        for (index, parser) in program.parsers.iter().enumerate() {
            if all || self.uses.parsers.contains(&ParserId(index as u32)) {
                let locals = parser.body.iter().flat_map(|body| &body.locals);
                locals.for_each(|local| self.local(local));
            }
        }
        for (index, control) in program.controls.iter().enumerate() {
            if all || self.uses.controls.contains(&ControlId(index as u32)) {
                let locals = control.body.iter().flat_map(|body| &body.locals);
                locals.for_each(|local| self.local(local));
            }
        }
    }

    fn local(&mut self, local: &Local) {
        match local {
            Local::Table(id) => self.table(*id),
            Local::Action(id) => self.action(*id),
            Local::Instance(id) => self.instance(*id),
            Local::ValueSet(id) => self.value_set(*id),
            Local::Var(..) => {}
        }
    }

    fn table(&mut self, id: TableId) {
        let table = &self.program.tables[id.index()];
        if !self.uses.tables.contains(&id) {
            let message = format!("the table `{}` is never applied, so it is left out", table.name);
            let hint = format!("apply it in the apply block: `{}.apply();`", table.name);
            self.warn(table.span, &table.annotations, message, Some(hint));
        }
    }

    fn action(&mut self, id: ActionId) {
        let action = &self.program.actions[id.index()];
        if !self.uses.actions.contains(&id) {
            let message = format!("the action `{}` is in no table and never called", action.name);
            self.warn(action.span, &action.annotations, message, None);
        }
    }

    fn value_set(&mut self, id: ValueSetId) {
        let set = &self.program.value_sets[id.index()];
        if !self.uses.value_sets.contains(&id) {
            let message = format!("the value set `{}` is in no select", set.name);
            self.warn(set.span, &set.annotations, message, None);
        }
    }

    fn instance(&mut self, id: InstanceId) {
        let instance = &self.program.instances[id.index()];
        if self.uses.instances.contains(&id) || instance.is_direct {
            return;
        }
        let message = match &instance.ty {
            Type::Parser(..) | Type::Control(..) => format!("`{}` is never applied", instance.name),
            Type::Extern(id, _) => {
                let extern_name = &self.program.externs[id.index()].name;
                format!("nothing uses the {extern_name} `{}`", instance.name)
            }
            Type::Package(..) => format!("nothing uses the package `{}`: only `main` is executed", instance.name),
            _ => return,
        };
        self.warn(instance.span, &instance.annotations, message, None);
    }

    fn warn(&mut self, span: Span, annotations: &Annotations, message: String, hint: Option<String>) {
        let mut each = annotations.iter().map(std::slice::from_ref);
        if each.any(|annotation| annotations::string_arg(annotation, "noWarn") == Some("unused")) {
            return;
        }
        let warning = Diagnostic::warning(codes::UNUSED, span, message);
        self.warnings.push(match hint {
            Some(hint) => warning.hint(hint),
            None => warning,
        });
    }
}
