//! Numbers for what is tracked: the values and headers in variables, structs taken apart.

use super::Flow;
use super::state::State;
use crate::hir::*;
use forebay_syntax::ast::CompositeKind;
use std::collections::HashMap;

/// Parts of a variable that are told apart; one with more is a single value.
const PARTS_MAX: usize = 128;

/// Elements of a stack or array that are told apart.
const ELEMENTS_MAX: u32 = 16;

/// A part of a variable.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The fields and elements on the way to it.
    pub(super) path: Vec<usize>,
    /// Its number.
    pub(super) number: usize,
    /// Whether it is a header; else it is a value.
    pub(super) is_header: bool,
}

/// The numbers that were given.
#[derive(Debug, Default)]
pub(super) struct Locations {
    parts: HashMap<VarId, Vec<Part>>,
    count: usize,
}

/// Where an expression stands in a variable.
pub(super) struct Place {
    pub(super) var: VarId,
    /// Fields of structs, members of unions, elements of stacks and arrays.
    pub(super) path: Vec<usize>,
    /// Whether it is a part of what the path leads to: a field of a header, a slice, an element with a computed index.
    pub(super) is_inside: bool,
    /// Whether it is a field of a header.
    pub(super) of_header: bool,
}

impl Flow<'_> {
    /// The variable that an expression is a part of; none for other expressions.
    pub(super) fn place(&self, expr: &Expr) -> Option<Place> {
        let inside = |base: &Expr| {
            let place = self.place(base)?;
            Some(Place {
                is_inside: true,
                ..place
            })
        };
        match &expr.kind {
            ExprKind::Var(var) => Some(Place {
                var: *var,
                path: Vec::new(),
                is_inside: false,
                of_header: false,
            }),
            ExprKind::Field(base, index) => {
                let mut place = self.place(base)?;
                match self.composite(&base.ty) {
                    Some(CompositeKind::Struct | CompositeKind::HeaderUnion) if !place.is_inside => {
                        place.path.push(*index);
                    }
                    Some(CompositeKind::Header) if !place.is_inside => {
                        place.is_inside = true;
                        place.of_header = true;
                    }
                    _ => place.is_inside = true,
                }
                Some(place)
            }
            ExprKind::Index(base, index) => {
                let mut place = self.place(base)?;
                match element(&base.ty, index).filter(|_| !place.is_inside) {
                    Some(index) => place.path.push(index),
                    None => place.is_inside = true,
                }
                Some(place)
            }
            ExprKind::TupleElement(base, _)
            | ExprKind::StackNext(base)
            | ExprKind::StackLast(base)
            | ExprKind::Slice(base, _, _)
            | ExprKind::PlusSlice(base, _, _) => inside(base),
            _ => None,
        }
    }

    fn composite(&self, ty: &Type) -> Option<CompositeKind> {
        match ty {
            Type::Composite(id, _) => Some(self.program.composites[id.index()].kind),
            _ => None,
        }
    }

    /// The parts of a variable below a path.
    pub(super) fn parts(&mut self, var: VarId, path: &[usize]) -> Vec<Part> {
        if !self.locations.parts.contains_key(&var) {
            let mut parts = Vec::new();
            let ty = &self.program.vars[var.index()].ty;
            self.take_apart(ty, Vec::new(), &mut parts);
            if parts.len() > PARTS_MAX {
                parts.clear();
            }
            for part in &mut parts {
                part.number = self.locations.count;
                self.locations.count += 1;
            }
            self.locations.parts.insert(var, parts);
        }
        let parts = &self.locations.parts[&var];
        parts
            .iter()
            .filter(|part| part.path.starts_with(path))
            .cloned()
            .collect()
    }

    fn take_apart(&self, ty: &Type, path: Vec<usize>, parts: &mut Vec<Part>) {
        if parts.len() > PARTS_MAX {
            return;
        }
        let mut part = |is_header| {
            parts.push(Part {
                path: path.clone(),
                number: 0,
                is_header,
            });
        };
        match ty {
            Type::Composite(id, args) => match self.program.composites[id.index()].kind {
                CompositeKind::Header => part(true),
                CompositeKind::Struct | CompositeKind::HeaderUnion => {
                    for (index, ty) in self.program.field_types(*id, args).iter().enumerate() {
                        let inner = path.iter().copied().chain([index]).collect();
                        self.take_apart(ty, inner, parts);
                    }
                }
            },
            Type::Stack(element, size) if *size <= ELEMENTS_MAX => {
                for index in 0..*size as usize {
                    let inner = path.iter().copied().chain([index]).collect();
                    self.take_apart(element, inner, parts);
                }
            }
            Type::Bit(_) | Type::Signed(_) | Type::Bool | Type::Error | Type::Enum(_) | Type::NewType(_) => part(false),
            _ => {}
        }
    }

    /// Changes what holds.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut State)) {
        if let Some(state) = &mut self.state {
            change(state);
        }
    }

    /// A variable begins to exist without a value: values are unset, headers invalid.
    pub(super) fn unset(&mut self, var: VarId) {
        for part in self.parts(var, &[]) {
            self.change(|state| {
                if part.is_header {
                    state.invalid.insert(part.number)
                } else {
                    state.unset.insert(part.number)
                }
            });
        }
    }

    /// What is below a path has values, and headers of which nothing is known.
    pub(super) fn set(&mut self, var: VarId, path: &[usize]) {
        for part in self.parts(var, path) {
            self.change(|state| {
                if part.is_header {
                    state.invalid.remove(part.number)
                } else {
                    state.unset.remove(part.number)
                }
            });
        }
    }

    /// Whether there are values below a path, all of which may be unset.
    pub(super) fn is_unset(&mut self, var: VarId, path: &[usize]) -> bool {
        let parts = self.parts(var, path);
        let mut values = parts.iter().filter(|part| !part.is_header).peekable();
        let Some(state) = &self.state else { return false };
        values.peek().is_some() && values.all(|part| state.unset.contains(part.number))
    }

    /// The number of the header at a place; none when it is no header that is tracked.
    pub(super) fn header(&mut self, place: &Place) -> Option<usize> {
        let parts = self.parts(place.var, &place.path);
        match parts.as_slice() {
            [only] if only.is_header && only.path == place.path => Some(only.number),
            _ => None,
        }
    }
}

/// The number of an element that is told apart from the others.
fn element(ty: &Type, index: &Expr) -> Option<usize> {
    let Type::Stack(_, size) = ty else { return None };
    let ExprKind::Int(number) = &index.kind else {
        return None;
    };
    let index = u32::try_from(number).ok()?;
    (index < *size && *size <= ELEMENTS_MAX).then_some(index as usize)
}
