//! L-values: what can be assigned to, passed as `out`, or extracted into.
//!
//! An index that is not constant makes a place one of several choices. Guards determine the choice; at most one guard
//! holds. Reading such a place selects among the elements; writing it assigns every element its old or the new value.

use crate::build;
use crate::context::Context;
use crate::environment::Binding;
use crate::expression;
use crate::graph;
use crate::limits;
use crate::operator;
use crate::stack;
use crate::storage::Storage;
use crate::types::{self, Scalar};
use crate::value::{self, Value};
use forebay_check::hir::{self, ExprKind, Type};
use forebay_ir::{BinaryOp, Expr, SlotId};
use forebay_syntax::codes::lower as codes;
use num_traits::ToPrimitive;

/// An l-value.
#[derive(Clone, Debug)]
pub struct Place {
    /// The alternatives.
    pub choices: Vec<Choice>,
    /// The bits of a scalar, if it is not all of them.
    pub part: Option<Part>,
}

/// One of the storages that a place may be.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The condition under which it is this one; `None` if it always is.
    pub guard: Option<Expr>,
    /// The storage.
    pub storage: Storage,
    /// For a member of a header union: the validity bits of the other members.
    pub siblings: Vec<SlotId>,
}

/// A slice.
#[derive(Clone, Debug)]
pub enum Part {
    /// Bits `hi` to `lo`.
    Fixed {
        /// Highest.
        hi: u32,
        /// Lowest.
        lo: u32,
    },
    /// `width` bits from `low` up.
    Moving {
        /// Lowest.
        low: Expr,
        /// The number of bits.
        width: u32,
    },
}

impl Place {
    /// The whole of a storage.
    pub fn whole(storage: Storage) -> Place {
        Place {
            choices: vec![Choice {
                guard: None,
                storage,
                siblings: Vec::new(),
            }],
            part: None,
        }
    }

    /// The storage, if the place is a single whole storage and assigning to it changes nothing else.
    pub fn as_storage(&self) -> Option<&Storage> {
        match (self.choices.as_slice(), &self.part) {
            (
                [
                    Choice {
                        guard: None,
                        storage,
                        siblings,
                    },
                ],
                None,
            ) if siblings.is_empty() => Some(storage),
            _ => None,
        }
    }

    /// All slots that an assignment may change.
    pub fn slots(&self) -> Vec<SlotId> {
        let each = |choice: &Choice| {
            choice
                .storage
                .slots()
                .into_iter()
                .chain(choice.siblings.clone())
                .collect::<Vec<_>>()
        };
        self.choices.iter().flat_map(each).collect()
    }

    /// The place of a component: a field, a union's member, an element with a constant index.
    pub fn component(&self, index: usize) -> Place {
        let choices = self.choices.iter().filter_map(|choice| {
            let storage = choice.storage.components().get(index)?.clone();
            let siblings = match &choice.storage {
                Storage::Union(members) => siblings(members, index),
                _ => Vec::new(),
            };
            Some(Choice {
                guard: choice.guard.clone(),
                storage,
                siblings,
            })
        });
        Place {
            choices: choices.collect(),
            part: None,
        }
    }

    /// The place of the element whose index is `index`, an expression that is cheap to repeat.
    pub fn element(&self, index: &Expr, index_type: Scalar) -> Place {
        let mut choices = Vec::new();
        for choice in &self.choices {
            for (number, element) in choice.storage.components().iter().enumerate() {
                if !is_value_of(number, index_type) {
                    break;
                }
                let here = build::equal(index.clone(), build::constant(index_type.width, number as u128));
                let guard = match &choice.guard {
                    Some(outer) => build::and(outer.clone(), here),
                    None => here,
                };
                if build::as_bool(&guard) != Some(false) {
                    choices.push(Choice {
                        guard: Some(guard),
                        storage: element.clone(),
                        siblings: Vec::new(),
                    });
                }
            }
        }
        Place { choices, part: None }
    }
}

/// Whether a number is one of a type's values: a signed index that is negative is out of range (§8.18).
pub fn is_value_of(number: usize, Scalar { width, signed }: Scalar) -> bool {
    let bits = width - u32::from(signed);
    bits >= 64 || number as u64 >> bits == 0
}

fn siblings(members: &[Storage], index: usize) -> Vec<SlotId> {
    let others = members.iter().enumerate().filter(|(other, _)| *other != index);
    others
        .flat_map(|(_, member)| match member {
            Storage::Header { valid, .. } => Some(*valid),
            _ => None,
        })
        .collect()
}

/// Whether an expression denotes storage: a variable that is stored, or a part of one.
pub fn is_stored(cx: &Context, expr: &hir::Expr) -> bool {
    let binding = expr.variable().and_then(|var| cx.environment.var(var));
    matches!(binding, Some(Binding::Storage(_)))
}

/// The place that an expression denotes. Indices are evaluated, and saved if a later assignment could change them.
pub fn place(cx: &mut Context, expr: &hir::Expr) -> Place {
    match &expr.kind {
        ExprKind::Var(var) => match cx.environment.var(*var) {
            Some(Binding::Storage(storage)) => Place::whole(storage.clone()),
            _ => Place::whole(Storage::Nothing),
        },
        ExprKind::Field(base, index) | ExprKind::TupleElement(base, index) => place(cx, base).component(*index),
        ExprKind::Index(base, index) => element(cx, base, index),
        ExprKind::StackNext(base) => {
            let base = place(cx, base);
            stack::next(cx, &base)
        }
        ExprKind::StackLast(base) => {
            let base = place(cx, base);
            stack::last(cx, &base)
        }
        ExprKind::Slice(base, hi, lo) => {
            let base = place(cx, base);
            let part = match base.part {
                Some(Part::Fixed { lo: inner, .. }) => Part::Fixed {
                    hi: hi + inner,
                    lo: lo + inner,
                },
                Some(Part::Moving { low, .. }) => Part::Moving {
                    low: operator::add_wide(cx, low, build::constant(32, u128::from(*lo))),
                    width: hi - lo + 1,
                },
                None => Part::Fixed { hi: *hi, lo: *lo },
            };
            Place {
                choices: base.choices,
                part: Some(part),
            }
        }
        ExprKind::PlusSlice(base, low, width) => {
            let base = place(cx, base);
            let low = expression::scalar(cx, low);
            let low = graph::save_expr(cx, low);
            let low = match base.part {
                Some(Part::Fixed { lo, .. }) => operator::add_wide(cx, low, build::constant(32, u128::from(lo))),
                Some(Part::Moving { low: inner, .. }) => operator::add_wide(cx, low, inner),
                None => low,
            };
            Place {
                choices: base.choices,
                part: Some(Part::Moving { low, width: *width }),
            }
        }
        _ => Place::whole(Storage::Nothing),
    }
}

fn element(cx: &mut Context, base: &hir::Expr, index: &hir::Expr) -> Place {
    let base = place(cx, base);
    let signed = types::scalar(cx, &index.ty).is_some_and(|scalar| scalar.signed);
    match expression::expression(cx, index) {
        Value::Integer(number) => base.component(number.to_usize().unwrap_or(usize::MAX)),
        Value::Scalar(Expr::Const(bits)) => {
            let number = bits.to_u64_saturating() as usize;
            let ty = Scalar {
                width: bits.width(),
                signed,
            };
            base.component(if is_value_of(number, ty) { number } else { usize::MAX })
        }
        Value::Scalar(number) => {
            let number = graph::save_expr(cx, number);
            let width = number.width(&cx.program);
            let place = base.element(&number, Scalar { width, signed });
            if place.choices.len() > limits::MAX_CHOICES {
                let message = format!("this index chooses among more than {} elements", limits::MAX_CHOICES);
                cx.abort(codes::TOO_MANY_ALTERNATIVES, index.span, message);
            }
            place
        }
        _ => Place::whole(Storage::Nothing),
    }
}

/// The current value of a place of the given type. An index out of range reads the last element, because any value is
/// allowed (§8.19).
pub fn read(cx: &mut Context, place: &Place, ty: &Type) -> Value {
    let Some((last, others)) = place.choices.split_last() else {
        let ty = crate::types::resolve(cx, ty);
        return value::zero(cx, &ty);
    };
    let candidates = others
        .iter()
        .map(|choice| (choice.guard.clone(), choice.storage.read()))
        .collect();
    let whole = select(candidates, last.storage.read());
    cx.operations += whole.components().len() + place.choices.len() - 1;
    match (&place.part, whole) {
        (None, whole) => whole,
        (Some(part), Value::Scalar(whole)) => Value::Scalar(read_part(cx, part, whole)),
        (Some(_), other) => other,
    }
}

/// More alternatives than this are not chained but form a tree, so that expressions stay shallow.
const LONGEST_CHAIN: usize = 16;

/// The first candidate whose guard holds, or `otherwise`.
pub fn select(mut candidates: Vec<(Option<Expr>, Value)>, otherwise: Value) -> Value {
    if candidates.len() > LONGEST_CHAIN {
        if let Some((index, width)) = common_index(&candidates) {
            let mut elements: Vec<Value> = candidates.into_iter().map(|(_, value)| value).collect();
            elements.push(otherwise);
            return select_by_index(&index, width, 0, elements);
        }
        let right = candidates.split_off(candidates.len() / 2);
        let guards = candidates
            .iter()
            .map(|(guard, _)| guard.clone().unwrap_or(build::boolean(true)));
        let in_left = any(guards.collect());
        let Some((_, last)) = candidates.pop() else {
            return otherwise;
        };
        return value::mux(&in_left, select(candidates, last), select(right, otherwise));
    }
    candidates
        .into_iter()
        .rev()
        .fold(otherwise, |rest, (guard, candidate)| match guard {
            Some(guard) => value::mux(&guard, candidate, rest),
            None => candidate,
        })
}

/// The index and its width, if the guards compare one index with 0, 1, 2 and so on.
fn common_index(candidates: &[(Option<Expr>, Value)]) -> Option<(Expr, u32)> {
    let parts = |guard: &Option<Expr>| match guard {
        Some(Expr::Binary(BinaryOp::Eq, index, number)) => match &**number {
            Expr::Const(number) => Some(((**index).clone(), number.clone())),
            _ => None,
        },
        _ => None,
    };
    let (index, number) = parts(&candidates.first()?.0)?;
    let mut guards = candidates.iter().map(|(guard, _)| parts(guard)).enumerate();
    guards
        .all(|(place, guard)| {
            guard.is_some_and(|(of, number)| of == index && number.to_u64_saturating() == place as u64)
        })
        .then(|| (index, number.width()))
}

/// The element with an index that is known to be `first` or more; the last one if there is none. Each comparison
/// halves the elements, so that there are no more comparisons than elements.
fn select_by_index(index: &Expr, width: u32, first: usize, mut elements: Vec<Value>) -> Value {
    if elements.len() < 2 {
        return elements.pop().unwrap_or(Value::Void);
    }
    let right = elements.split_off(elements.len() / 2);
    let middle = first + elements.len();
    let in_left = build::binary(BinaryOp::Lt, index.clone(), build::constant(width, middle as u128));
    let left = select_by_index(index, width, first, elements);
    value::mux(&in_left, left, select_by_index(index, width, middle, right))
}

/// A disjunction as a balanced tree.
fn any(mut conditions: Vec<Expr>) -> Expr {
    match conditions.len() {
        0 => build::boolean(false),
        1 => conditions.remove(0),
        count => {
            let right = conditions.split_off(count / 2);
            build::or(any(conditions), any(right))
        }
    }
}

fn read_part(cx: &Context, part: &Part, whole: Expr) -> Expr {
    let whole_width = whole.width(&cx.program);
    match part {
        Part::Fixed { hi, lo } => build::slice(whole, whole_width, *hi, *lo),
        Part::Moving { low, width } => {
            let moved = build::binary(BinaryOp::Shr, whole, low.clone());
            build::resize(moved, whole_width, *width, false)
        }
    }
}
