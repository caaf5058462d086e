//! Headers, unions and fields that are read and written, including elements that an index selects at run time.

use super::Translator;
use super::number::{constant, describe};
use super::storage::{FieldSlot, Instance};
use crate::error::{Error, Result};
use crate::model::{Named, Operand, VALID};
use forebay_ir::{BinaryOp, Expr, SlotId, build};

/// One of several alternatives. The last one whose guard holds is selected, otherwise the one without a guard.
pub struct Choice<T> {
    /// The condition on which it is selected; `None` for always.
    pub guard: Option<Expr>,
    /// The alternative.
    pub what: T,
}

impl<T> Choice<T> {
    /// The only one.
    pub fn only(what: T) -> Vec<Choice<T>> {
        vec![Choice { guard: None, what }]
    }

    /// Another alternative with the same guard.
    pub fn with<U>(&self, what: U) -> Choice<U> {
        Choice {
            guard: self.guard.clone(),
            what,
        }
    }
}

/// What is known of a field before it is known which of a stack's elements it belongs to.
pub enum Fields {
    /// The validity of a header.
    Valid,
    /// A field.
    Of {
        /// Width in bits.
        width: u32,
        /// Whether it is an `int<W>`.
        signed: bool,
    },
}

/// Which field of a header.
enum Which<'a> {
    Named(&'a str),
    At(u32),
}

impl Which<'_> {
    fn find<'i>(&self, instance: &'i Instance) -> Result<&'i FieldSlot> {
        match self {
            Which::Named(name) => instance.field(name),
            Which::At(index) => instance.fields.get(*index as usize).ok_or_else(|| {
                let (name, count) = (&instance.name, instance.fields.len());
                Error::new(format!("`{name}` has {count} fields, there is no number {index}"))
            }),
        }
    }
}

impl Translator<'_> {
    /// What is known of a field.
    pub(super) fn fields(&self, operand: &Operand) -> Result<Fields> {
        let (instance, which) = match operand {
            Operand::Field(header, name) => (self.representative(header)?, Which::Named(name)),
            Operand::FieldAt(header, index) => (self.representative(header)?, Which::At(*index)),
            Operand::StackField(stack, name) => {
                let elements = &self.storage.stack(stack)?.elements;
                (first(elements, stack)?, Which::Named(name.as_str()))
            }
            Operand::UnionStackField(stack, member, name) => {
                let union = first(&self.storage.union_stack(stack)?.elements, stack)?;
                (self.storage.unions[union].member(member)?, Which::Named(name.as_str()))
            }
            other => return Err(Error::new(format!("a field is needed here, not {}", describe(other)))),
        };
        if matches!(which, Which::Named(VALID)) {
            return Ok(Fields::Valid);
        }
        let field = which.find(&self.storage.instances[instance])?;
        Ok(Fields::Of {
            width: field.width,
            signed: field.signed,
        })
    }

    /// A header of the type that an operand has.
    fn representative(&self, operand: &Operand) -> Result<usize> {
        match operand {
            Operand::Named(Named::Header, name) => self.storage.instance(name),
            Operand::Element(stack, _) => match &**stack {
                Operand::Named(Named::Stack, name) => first(&self.storage.stack(name)?.elements, name),
                other => Err(Error::new(format!(
                    "a header stack is needed here, not {}",
                    describe(other)
                ))),
            },
            Operand::MemberAt(union, index) => {
                let union = match &**union {
                    Operand::Named(Named::Union, name) => self.storage.union(name)?,
                    Operand::Element(stack, _) => match &**stack {
                        Operand::Named(Named::UnionStack, name) => {
                            first(&self.storage.union_stack(name)?.elements, name)?
                        }
                        other => return Err(not_a_union(other)),
                    },
                    other => return Err(not_a_union(other)),
                };
                self.member_at(union, *index)
            }
            other => Err(Error::new(format!("a header is needed here, not {}", describe(other)))),
        }
    }

    fn member_at(&self, union: usize, index: u32) -> Result<usize> {
        let members = &self.storage.unions[union].members;
        members.get(index as usize).copied().ok_or_else(|| {
            let count = members.len();
            Error::new(format!(
                "the header union has {count} members, there is no number {index}"
            ))
        })
    }

    /// The headers that an operand may mean.
    pub(super) fn headers(&mut self, operand: &Operand) -> Result<Vec<Choice<usize>>> {
        match operand {
            Operand::Element(stack, index) => {
                let elements = match &**stack {
                    Operand::Named(Named::Stack, name) => self.storage.stack(name)?.elements.clone(),
                    other => {
                        return Err(Error::new(format!(
                            "a header stack is needed here, not {}",
                            describe(other)
                        )));
                    }
                };
                self.elements(&elements, index)
            }
            Operand::MemberAt(union, index) => {
                let unions = self.unions(union)?;
                let members = unions
                    .iter()
                    .map(|choice| Ok(choice.with(self.member_at(choice.what, *index)?)));
                members.collect()
            }
            other => Ok(Choice::only(self.representative(other)?)),
        }
    }

    /// The unions that an operand may mean.
    pub(super) fn unions(&mut self, operand: &Operand) -> Result<Vec<Choice<usize>>> {
        match operand {
            Operand::Named(Named::Union, name) => Ok(Choice::only(self.storage.union(name)?)),
            Operand::Element(stack, index) => match &**stack {
                Operand::Named(Named::UnionStack, name) => {
                    let elements = self.storage.union_stack(name)?.elements.clone();
                    self.elements(&elements, index)
                }
                other => Err(not_a_union(other)),
            },
            other => Err(not_a_union(other)),
        }
    }

    fn elements(&mut self, elements: &[usize], index: &Operand) -> Result<Vec<Choice<usize>>> {
        if let Some(index) = constant(index) {
            let element = elements.get(index as usize).copied();
            let count = elements.len();
            let element =
                element.ok_or_else(|| Error::new(format!("the stack has {count} elements, there is no [{index}]")))?;
            return Ok(Choice::only(element));
        }
        let index = self.exact(index)?.expr;
        let index = self.save(index);
        Ok(self.chosen_by(elements, &index, 0))
    }

    /// The element whose number plus `offset` is the value of an expression.
    pub(super) fn chosen_by(&self, elements: &[usize], index: &Expr, offset: u128) -> Vec<Choice<usize>> {
        let width = index.width(&self.program);
        let numbered = elements.iter().zip(offset..);
        let reachable = numbered.filter(|(_, number)| width >= 128 || *number < 1 << width);
        let choices = reachable.map(|(element, number)| Choice {
            guard: Some(build::equal(index.clone(), build::constant(width, number))),
            what: *element,
        });
        choices.collect()
    }

    /// The fields that an operand may mean. The validity of a header is no such field.
    pub(super) fn field_slots(&mut self, operand: &Operand) -> Result<Vec<Choice<FieldSlot>>> {
        let (headers, which) = match operand {
            Operand::Field(header, name) => (self.headers(header)?, Which::Named(name.as_str())),
            Operand::FieldAt(header, index) => (self.headers(header)?, Which::At(*index)),
            Operand::StackField(stack, name) => (self.last(stack)?, Which::Named(name.as_str())),
            Operand::UnionStackField(stack, member, name) => {
                let unions = self.last_union(stack)?;
                let members = unions.iter().map(|choice| {
                    let member = self.storage.unions[choice.what].member(member)?;
                    Ok(choice.with(member))
                });
                (members.collect::<Result<_>>()?, Which::Named(name.as_str()))
            }
            other => return Err(Error::new(format!("a field is needed here, not {}", describe(other)))),
        };
        let fields = headers.iter().map(|choice| {
            let field = which.find(&self.storage.instances[choice.what])?;
            Ok(choice.with(field.clone()))
        });
        fields.collect()
    }

    /// The last element of a stack of headers.
    fn last(&mut self, stack: &str) -> Result<Vec<Choice<usize>>> {
        let stack = self.storage.stack(stack)?.clone();
        self.require_not_empty(stack.next);
        Ok(self.chosen_by(&stack.elements, &Expr::Slot(stack.next), 1))
    }

    fn last_union(&mut self, stack: &str) -> Result<Vec<Choice<usize>>> {
        let stack = self.storage.union_stack(stack)?.clone();
        self.require_not_empty(stack.next);
        Ok(self.chosen_by(&stack.elements, &Expr::Slot(stack.next), 1))
    }

    fn require_not_empty(&mut self, next: SlotId) {
        let some = build::binary(BinaryOp::Ne, Expr::Slot(next), build::constant(32, 0));
        self.require(some, "StackOutOfBounds");
    }

    /// Whether a header is valid; a struct always is.
    pub(super) fn is_valid(&self, instance: usize) -> Expr {
        match self.storage.instances[instance].header {
            Some((_, valid)) => Expr::Slot(valid),
            None => build::boolean(true),
        }
    }

    /// Writes a value to the selected slot.
    pub(super) fn write(&mut self, slots: &[Choice<SlotId>], value: Expr) {
        let value = match slots.len() {
            0 | 1 => value,
            _ => self.save(value),
        };
        for choice in slots {
            let new = match &choice.guard {
                Some(guard) => build::mux(guard.clone(), value.clone(), Expr::Slot(choice.what)),
                None => value.clone(),
            };
            self.body.assign(choice.what, new);
        }
    }

    /// Lets an operation put its result of `width` bits where an operand says: straight there if it is one slot.
    pub(super) fn receive(
        &mut self,
        target: &Operand,
        width: Option<u32>,
        op: impl FnOnce(SlotId) -> forebay_ir::Op,
    ) -> Result<()> {
        let slots = self.field_slots(target)?;
        let field_width = slots.first().map_or(1, |choice| choice.what.width);
        if let [Choice { guard: None, what }] = slots.as_slice()
            && width.is_none_or(|width| width == field_width)
        {
            self.body.emit(op(what.slot));
            return Ok(());
        }
        let width = width.unwrap_or(field_width);
        let slot = self.temporary(width);
        self.body.emit(op(slot));
        let slots: Vec<Choice<SlotId>> = slots.iter().map(|choice| choice.with(choice.what.slot)).collect();
        self.write(&slots, build::resize(Expr::Slot(slot), width, field_width, false));
        Ok(())
    }
}

/// An expression for the value of the selected alternative.
pub fn select(choices: Vec<Choice<Expr>>) -> Option<Expr> {
    let mut choices = choices.into_iter().rev();
    let last = choices.next()?.what;
    Some(choices.fold(last, |rest, choice| match choice.guard {
        Some(guard) => build::mux(guard, choice.what, rest),
        None => choice.what,
    }))
}

fn first(elements: &[usize], stack: &str) -> Result<usize> {
    let first = elements.first().copied();
    first.ok_or_else(|| Error::new(format!("the stack `{stack}` has no elements")))
}

fn not_a_union(operand: &Operand) -> Error {
    Error::new(format!("a header union is needed here, not {}", describe(operand)))
}
