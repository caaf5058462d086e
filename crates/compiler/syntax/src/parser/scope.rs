//! Which names are types at a point of the program.

use crate::token::Symbol;
use std::collections::HashMap;

/// Nested scopes of names, each a type or a value.
pub(super) struct Scopes {
    levels: Vec<HashMap<Symbol, bool>>,
}

impl Default for Scopes {
    fn default() -> Scopes {
        Scopes {
            levels: vec![HashMap::new()],
        }
    }
}

impl Scopes {
    pub(super) fn push(&mut self) {
        self.levels.push(HashMap::new());
    }

    pub(super) fn pop(&mut self) {
        if self.levels.len() > 1 {
            self.levels.pop();
        }
    }

    /// Declares a type in the innermost scope.
    pub(super) fn declare_type(&mut self, name: Symbol) {
        self.declare(name, true);
    }

    /// Declares a value in the innermost scope.
    pub(super) fn declare_value(&mut self, name: Symbol) {
        self.declare(name, false);
    }

    fn declare(&mut self, name: Symbol, is_type: bool) {
        if let Some(level) = self.levels.last_mut() {
            level.insert(name, is_type);
        }
    }

    /// Declares a type for the whole program: one that was missing, so that it is reported only once.
    pub(super) fn declare_missing_type(&mut self, name: Symbol) {
        self.levels[0].insert(name, true);
    }

    pub(super) fn is_type(&self, name: Symbol) -> bool {
        self.levels
            .iter()
            .rev()
            .find_map(|level| level.get(&name))
            .copied()
            .unwrap_or(false)
    }

    /// Whether the name is declared, but not as a type.
    pub(super) fn is_value(&self, name: Symbol) -> bool {
        let declared = self.levels.iter().rev().find_map(|level| level.get(&name));
        declared == Some(&false)
    }

    /// Whether the name is a type at top level, where `.name` looks.
    pub(super) fn is_global_type(&self, name: Symbol) -> bool {
        self.levels[0].get(&name).copied().unwrap_or(false)
    }

    /// The names of all types in scope.
    pub(super) fn types(&self) -> impl Iterator<Item = Symbol> {
        self.levels
            .iter()
            .flatten()
            .filter(|(_, is_type)| **is_type)
            .map(|(name, _)| *name)
    }
}
