//! Copies and comparisons of whole headers, unions and stacks.

use super::Translator;
use super::number::{constant, describe};
use super::place::{Choice, select};
use super::storage::Stack;
use crate::error::{Error, Result};
use crate::model::{Named, Operand};
use forebay_ir::{BinaryOp, Expr, SlotId, build};

/// What a header holds: whether it is valid, and all slots of its fields.
struct Contents {
    valid: Expr,
    values: Vec<Expr>,
}

impl Translator<'_> {
    /// Slots of a header's fields, lengths included.
    fn slots_of(&self, instance: usize) -> Vec<SlotId> {
        let fields = self.storage.instances[instance].fields.iter();
        fields
            .flat_map(|field| std::iter::once(field.slot).chain(field.length))
            .collect()
    }

    fn contents(&self, headers: &[Choice<usize>]) -> Result<Contents> {
        let empty = || Error::new("the stack has no elements");
        let valid = headers.iter().map(|choice| choice.with(self.is_valid(choice.what)));
        let first = headers.first().ok_or_else(empty)?;
        let count = self.slots_of(first.what).len();
        let values = (0..count).map(|index| {
            let values = headers
                .iter()
                .map(|choice| choice.with(Expr::Slot(self.slots_of(choice.what)[index])));
            select(values.collect()).ok_or_else(empty)
        });
        Ok(Contents {
            valid: select(valid.collect()).ok_or_else(empty)?,
            values: values.collect::<Result<_>>()?,
        })
    }

    /// Makes a header valid or not, and the other members of its union invalid.
    pub(super) fn set_validity(&mut self, headers: &[Choice<usize>], valid: bool) {
        for choice in headers {
            if valid {
                self.clear_unless_valid(choice);
            }
            self.write_validity(choice, build::boolean(valid));
            self.invalidate_siblings(choice);
        }
    }

    /// The fields of a header that becomes valid are zero.
    fn clear_unless_valid(&mut self, choice: &Choice<usize>) {
        let becomes_valid = build::not(self.is_valid(choice.what));
        let condition = match &choice.guard {
            Some(guard) => build::and(guard.clone(), becomes_valid),
            None => becomes_valid,
        };
        for slot in self.slots_of(choice.what) {
            let width = self.program.slot(slot).width;
            let cleared = build::mux(condition.clone(), build::constant(width, 0), Expr::Slot(slot));
            self.body.assign(slot, cleared);
        }
    }

    /// A struct is always valid, whatever is written.
    pub(super) fn write_validity(&mut self, choice: &Choice<usize>, valid: Expr) {
        if let Some((_, slot)) = self.storage.instances[choice.what].header {
            self.write(&[choice.with(slot)], valid);
        }
    }

    /// Makes the other members of a header's union invalid.
    pub(super) fn invalidate_siblings(&mut self, choice: &Choice<usize>) {
        for sibling in self.storage.instances[choice.what].siblings.clone() {
            self.write_validity(&choice.with(sibling), build::boolean(false));
        }
    }

    /// `target = source`, for headers and structs.
    pub(super) fn copy_header(&mut self, target: &Operand, source: &Operand) -> Result<()> {
        let source = self.headers(source)?;
        let target = self.headers(target)?;
        self.copy(&target, &source)?;
        target.iter().for_each(|choice| self.invalidate_siblings(choice));
        Ok(())
    }

    /// Copies what a header holds; all of it is read before anything is written.
    fn copy(&mut self, target: &[Choice<usize>], source: &[Choice<usize>]) -> Result<()> {
        let mut contents = self.contents(source)?;
        if source.len() > 1 || target.len() > 1 {
            contents.valid = self.save(contents.valid);
            contents.values = contents.values.into_iter().map(|value| self.save(value)).collect();
        }
        for choice in target {
            let slots = self.slots_of(choice.what);
            if slots.len() != contents.values.len() {
                return Err(Error::new("a header can only be assigned to one of the same type"));
            }
            for (slot, value) in slots.into_iter().zip(&contents.values) {
                self.write(&[choice.with(slot)], value.clone());
            }
            self.write_validity(choice, contents.valid.clone());
        }
        Ok(())
    }

    /// `target = source`, for unions.
    pub(super) fn copy_union(&mut self, target: &Operand, source: &Operand) -> Result<()> {
        let (target, source) = (self.unions(target)?, self.unions(source)?);
        let members = |this: &Self, unions: &[Choice<usize>], index: usize| -> Vec<Choice<usize>> {
            let members = unions
                .iter()
                .map(|choice| choice.with(this.storage.unions[choice.what].members[index]));
            members.collect()
        };
        let count = |this: &Self, unions: &[Choice<usize>]| {
            let counts = unions
                .iter()
                .map(|choice| this.storage.unions[choice.what].members.len());
            counts.min().unwrap_or(0)
        };
        for index in 0..count(self, &target).min(count(self, &source)) {
            let (target, source) = (members(self, &target, index), members(self, &source, index));
            self.copy(&target, &source)?;
        }
        Ok(())
    }

    /// `target = source`, for stacks.
    pub(super) fn copy_stack(&mut self, target: &Operand, source: &Operand) -> Result<()> {
        let (target, source) = (self.flat_stack(target)?, self.flat_stack(source)?);
        for (target, source) in target.elements.iter().flatten().zip(source.elements.iter().flatten()) {
            self.copy(&Choice::only(*target), &Choice::only(*source))?;
        }
        self.body.assign(target.next, Expr::Slot(source.next));
        Ok(())
    }

    /// `push_front(count)` and `pop_front(count)`.
    pub(super) fn shift_stack(&mut self, stack: &Operand, count: &Operand, is_push: bool) -> Result<()> {
        let Some(count) = constant(count) else {
            return Err(Error::new("a stack is shifted by a constant only"));
        };
        let FlatStack { elements, next } = self.flat_stack(stack)?;
        let size = elements.len();
        let count = (count as usize).min(size);
        let order: Vec<usize> = if is_push {
            (0..size).rev().collect()
        } else {
            (0..size).collect()
        };
        for index in order {
            let from = if is_push {
                index.checked_sub(count)
            } else {
                Some(index + count).filter(|from| *from < size)
            };
            for (member, target) in elements[index].iter().enumerate() {
                match from {
                    Some(from) => self.copy(&Choice::only(*target), &Choice::only(elements[from][member]))?,
                    None => self.write_validity(
                        &Choice {
                            guard: None,
                            what: *target,
                        },
                        build::boolean(false),
                    ),
                }
            }
        }
        self.move_next(next, size, count, is_push);
        Ok(())
    }

    fn move_next(&mut self, next: SlotId, size: usize, count: usize, is_push: bool) {
        let constant = |value: usize| build::constant(32, value as u128);
        let moved = if is_push {
            let grown = build::binary(BinaryOp::SatAddUnsigned, Expr::Slot(next), constant(count));
            let too_large = build::binary(BinaryOp::Lt, constant(size), grown.clone());
            build::mux(too_large, constant(size), grown)
        } else {
            build::binary(BinaryOp::SatSubUnsigned, Expr::Slot(next), constant(count))
        };
        self.body.assign(next, moved);
    }

    /// A stack of headers, or of unions, whose elements have several members.
    fn flat_stack(&self, operand: &Operand) -> Result<FlatStack> {
        match operand {
            Operand::Named(Named::Stack, name) => {
                let Stack { elements, next } = self.storage.stack(name)?;
                Ok(FlatStack {
                    elements: elements.iter().map(|element| vec![*element]).collect(),
                    next: *next,
                })
            }
            Operand::Named(Named::UnionStack, name) => {
                let Stack { elements, next } = self.storage.union_stack(name)?;
                let members = elements.iter().map(|union| self.storage.unions[*union].members.clone());
                Ok(FlatStack {
                    elements: members.collect(),
                    next: *next,
                })
            }
            other => Err(Error::new(format!("a stack is needed here, not {}", describe(other)))),
        }
    }

    /// Whether two headers are both invalid, or both valid with the same fields.
    pub(super) fn equal_headers(&mut self, left: &Operand, right: &Operand) -> Result<Expr> {
        let (left, right) = (self.headers(left)?, self.headers(right)?);
        let (left, right) = (self.contents(&left)?, self.contents(&right)?);
        equal_contents(left, right)
    }

    /// Whether two unions have the same member valid, with the same fields, or none.
    pub(super) fn equal_unions(&mut self, left: &Operand, right: &Operand) -> Result<Expr> {
        let (left, right) = (self.unions(left)?, self.unions(right)?);
        let ([left], [right]) = (left.as_slice(), right.as_slice()) else {
            return Err(Error::new("header unions that an index chooses cannot be compared"));
        };
        let members = |union: usize| self.storage.unions[union].members.clone();
        let pairs = members(left.what).into_iter().zip(members(right.what));
        pairs.into_iter().try_fold(build::boolean(true), |all, (left, right)| {
            let (left, right) = (
                self.contents(&Choice::only(left))?,
                self.contents(&Choice::only(right))?,
            );
            Ok(build::and(all, equal_contents(left, right)?))
        })
    }
}

/// A stack, with the members of its elements.
struct FlatStack {
    elements: Vec<Vec<usize>>,
    next: SlotId,
}

fn equal_contents(left: Contents, right: Contents) -> Result<Expr> {
    if left.values.len() != right.values.len() {
        return Err(Error::new("only headers of the same type can be compared"));
    }
    let same_validity = build::equal(left.valid.clone(), right.valid);
    let pairs = left.values.into_iter().zip(right.values);
    let same_fields = pairs.fold(build::boolean(true), |all, (left, right)| {
        build::and(all, build::equal(left, right))
    });
    Ok(build::and(
        same_validity,
        build::or(build::not(left.valid), same_fields),
    ))
}
