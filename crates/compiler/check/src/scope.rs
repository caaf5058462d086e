//! Scopes: which declaration a name denotes (§6.9).
//!
//! P4 has one name space. A scope holds the names declared in it so far; looking a name up starts in the innermost
//! scope. Functions of one name form one entry, since they may be overloaded.

use crate::hir::*;
use forebay_syntax::source::Span;
use std::collections::HashMap;
use std::rc::Rc;

/// What a name denotes.
#[derive(Clone, Debug)]
pub(crate) enum Entity {
    /// A type parameter.
    TypeVar(TypeVarId),
    /// A `typedef`.
    Typedef(Type),
    /// A struct, header or header union.
    Composite(CompositeId),
    /// An enum.
    Enum(EnumId),
    /// A `type`.
    NewType(NewTypeId),
    /// An extern object type.
    Extern(ExternId),
    /// A parser or parser type.
    Parser(ParserId),
    /// A control or control type.
    Control(ControlId),
    /// A package.
    Package(PackageId),
    /// A constant with its value.
    Constant(Rc<Expr>),
    /// A variable or parameter.
    Var(VarId),
    /// Functions of one name.
    Functions(Vec<FunctionId>),
    /// An action.
    Action(ActionId),
    /// An instance.
    Instance(InstanceId),
    /// A table.
    Table(TableId),
    /// A value set.
    ValueSet(ValueSetId),
    /// A declaration in which an error was reported: using it reports nothing more.
    Broken,
}

impl Entity {
    /// The parser, control or package of a type without type arguments.
    pub(crate) fn of_constructible(ty: &Type) -> Option<Entity> {
        match ty {
            Type::Parser(id, _) => Some(Entity::Parser(*id)),
            Type::Control(id, _) => Some(Entity::Control(*id)),
            Type::Package(id, _) => Some(Entity::Package(*id)),
            _ => None,
        }
    }

    /// Whether it names a type.
    pub(crate) fn is_type(&self) -> bool {
        matches!(
            self,
            Entity::TypeVar(_)
                | Entity::Typedef(_)
                | Entity::Composite(_)
                | Entity::Enum(_)
                | Entity::NewType(_)
                | Entity::Extern(_)
                | Entity::Parser(_)
                | Entity::Control(_)
                | Entity::Package(_)
        )
    }

    /// Whether its name may stand where a value does.
    pub(crate) fn is_value(&self) -> bool {
        matches!(
            self,
            Entity::Constant(_) | Entity::Var(_) | Entity::Instance(_) | Entity::Table(_) | Entity::ValueSet(_)
        )
    }

    /// What it is, for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Entity::TypeVar(_) => "a type parameter",
            Entity::Typedef(_) | Entity::NewType(_) => "a type",
            Entity::Composite(_) => "a struct or header type",
            Entity::Enum(_) => "an enum",
            Entity::Extern(_) => "an extern type",
            Entity::Parser(_) => "a parser",
            Entity::Control(_) => "a control",
            Entity::Package(_) => "a package",
            Entity::Constant(_) => "a constant",
            Entity::Var(_) => "a variable",
            Entity::Functions(_) => "a function",
            Entity::Action(_) => "an action",
            Entity::Instance(_) => "an instance",
            Entity::Table(_) => "a table",
            Entity::ValueSet(_) => "a value set",
            Entity::Broken => "a declaration",
        }
    }
}

/// A declared name.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What it denotes.
    pub(crate) entity: Entity,
    /// Where it was declared.
    pub(crate) span: Span,
}

/// The stack of scopes; the first is the top level.
#[derive(Debug)]
pub(crate) struct Scopes {
    stack: Vec<HashMap<String, Option<Entry>>>,
}

impl Scopes {
    /// Only the top level.
    pub(crate) fn new() -> Scopes {
        Scopes {
            stack: vec![HashMap::new()],
        }
    }

    /// Opens a scope.
    pub(crate) fn push(&mut self) {
        self.stack.push(HashMap::new());
    }

    /// Closes the innermost scope.
    pub(crate) fn pop(&mut self) {
        debug_assert!(self.stack.len() > 1, "the top level is never closed");
        self.stack.pop();
    }

    /// The number of scopes around the present place.
    pub(crate) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Looks a name up, from the innermost scope outwards.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.stack
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .and_then(Option::as_ref)
    }

    /// Looks a name up at the top level (`.name`).
    pub(crate) fn find_top(&self, name: &str) -> Option<&Entry> {
        self.stack[0].get(name).and_then(Option::as_ref)
    }

    /// Looks a name up in the innermost scope only.
    pub(crate) fn find_here(&self, name: &str) -> Option<&Entry> {
        self.stack
            .last()
            .and_then(|scope| scope.get(name))
            .and_then(Option::as_ref)
    }

    /// Looks a name up in the scopes around the innermost one, without the top level.
    pub(crate) fn find_around(&self, name: &str) -> Option<&Entry> {
        let inner = self.stack.len() - 1;
        self.stack
            .get(1..inner)?
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .and_then(Option::as_ref)
    }

    /// Declares a name in the innermost scope, in place of an earlier entry.
    pub(crate) fn insert(&mut self, name: &str, entity: Entity, span: Span) {
        if let Some(scope) = self.stack.last_mut() {
            scope.insert(name.to_string(), Some(Entry { entity, span }));
        }
    }

    /// Makes a name invisible in the innermost scope, for the declaration that is about to define it.
    pub(crate) fn hide(&mut self, name: &str) {
        if let Some(scope) = self.stack.last_mut() {
            scope.insert(name.to_string(), None);
        }
    }

    /// The variables and parameters that are visible, with their names.
    pub(crate) fn visible_vars(&self) -> Vec<(&str, VarId)> {
        let names = self.stack.iter().flat_map(|scope| scope.keys());
        let vars = names.filter_map(|name| match self.find(name)?.entity {
            Entity::Var(id) => Some((name.as_str(), id)),
            _ => None,
        });
        vars.collect()
    }

    /// The names that are visible and pass a test, for "did you mean".
    pub(crate) fn visible(&self, test: impl Fn(&Entity) -> bool) -> Vec<String> {
        let entries = self.stack.iter().flat_map(|scope| scope.iter());
        let entries = entries.filter_map(|(name, entry)| Some((name, entry.as_ref()?)));
        let mut names: Vec<String> = entries
            .filter(|(_, entry)| test(&entry.entity))
            .map(|(name, _)| name.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    }
}
