//! The meanings of source names at the point that is being lowered; see the [crate documentation](crate).

use crate::object::ObjectId;
use crate::storage::Storage;
use crate::value::Value;
use forebay_check::hir::{self, InstanceId, TypeVarId, VarId};
use forebay_ir as ir;
use std::collections::HashMap;

/// The meaning of a variable.
#[derive(Clone, Debug)]
pub enum Binding {
    /// It is stored.
    Storage(Storage),
    /// It is known, or is a pure expression whose value does not change while the variable lives.
    Value(Value),
}

/// Meanings by id.
pub struct Environment {
    vars: Vec<Option<Binding>>,
    types: Vec<Option<hir::Type>>,
    instances: Vec<Option<ObjectId>>,
    value_sets: HashMap<hir::ValueSetId, ir::ValueSetId>,
}

impl Environment {
    /// Nothing is bound.
    pub fn new(program: &hir::Program) -> Environment {
        Environment {
            vars: vec![None; program.vars.len()],
            types: vec![None; program.type_vars.len()],
            instances: vec![None; program.instances.len()],
            value_sets: HashMap::new(),
        }
    }

    /// The meaning of a variable, if its declaration was lowered.
    pub fn var(&self, var: VarId) -> Option<&Binding> {
        self.vars[var.index()].as_ref()
    }

    /// Gives a variable its meaning.
    pub fn bind(&mut self, var: VarId, binding: Binding) {
        self.vars[var.index()] = Some(binding);
    }

    /// The type that a type variable stands for.
    pub fn type_var(&self, var: TypeVarId) -> Option<&hir::Type> {
        self.types[var.index()].as_ref()
    }

    /// Gives a type variable its meaning.
    pub fn bind_type(&mut self, var: TypeVarId, ty: hir::Type) {
        self.types[var.index()] = Some(ty);
    }

    /// The object of an instance declaration.
    pub fn instance(&self, instance: InstanceId) -> Option<ObjectId> {
        self.instances[instance.index()]
    }

    /// Gives an instance declaration its meaning.
    pub fn bind_instance(&mut self, instance: InstanceId, object: ObjectId) {
        self.instances[instance.index()] = Some(object);
    }

    /// The value set of a declaration in the parser that is being lowered.
    pub fn value_set(&self, set: hir::ValueSetId) -> Option<ir::ValueSetId> {
        self.value_sets.get(&set).copied()
    }

    /// Gives a value set declaration its meaning.
    pub fn bind_value_set(&mut self, set: hir::ValueSetId, lowered: ir::ValueSetId) {
        self.value_sets.insert(set, lowered);
    }
}
