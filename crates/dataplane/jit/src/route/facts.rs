//! What is certain about slots at a position of a control.

use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Expr, Program, SlotId, UnaryOp, passes};
use std::collections::{BTreeMap, BTreeSet};

/// Wider slots are not tracked.
const WIDTH_MAX: u32 = 64;

/// Values that a slot is known not to have. What further tests say about it is not kept: facts are copied for each
/// block, and a chain of tests may have thousands.
const NOT_MAX: usize = 64;

/// Values that slots certainly have, and values that they certainly do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Facts {
    is: BTreeMap<SlotId, u64>,
    is_not: BTreeSet<(SlotId, u64)>,
}

impl Facts {
    /// Records that these slots have these values.
    pub(super) fn extend(&mut self, known: &BTreeMap<SlotId, Bits>) {
        for (slot, value) in known {
            self.becomes(*slot, Some(value));
        }
    }

    /// The value of a slot.
    pub(crate) fn value(&self, slot: SlotId) -> Option<u64> {
        self.is.get(&slot).copied()
    }

    /// Records that a slot gets a value. Without a value, nothing is known about the slot afterwards.
    pub(super) fn becomes(&mut self, slot: SlotId, value: Option<&Bits>) {
        self.forget(slot);
        if let Some(value) = value.filter(|value| value.width() <= WIDTH_MAX) {
            self.is.insert(slot, value.to_u64());
        }
    }

    /// Records that a slot gets the value of another slot: what is known about the latter holds for the former.
    pub(super) fn copy(&mut self, to: SlotId, from: SlotId) {
        if to == from {
            return;
        }
        self.forget(to);
        if let Some(value) = self.value(from) {
            self.is.insert(to, value);
        }
        let not = self.is_not.iter().filter(|(slot, _)| *slot == from);
        let not: Vec<(SlotId, u64)> = not.map(|(_, value)| (to, *value)).collect();
        self.is_not.extend(not);
    }

    /// Discards what is known about a slot.
    pub(super) fn forget(&mut self, slot: SlotId) {
        self.is.remove(&slot);
        self.is_not.retain(|(of, _)| *of != slot);
    }

    /// Keeps only what is known about some slots.
    pub(super) fn retain(&mut self, keep: impl Fn(SlotId) -> bool) {
        self.is.retain(|slot, _| keep(*slot));
        self.is_not.retain(|(slot, _)| keep(*slot));
    }

    /// What is certain both in `self` and in `other`.
    pub(super) fn common(&self, other: &Facts) -> Facts {
        let is = self.is.iter().filter(|(slot, value)| other.is.get(slot) == Some(value));
        let is_not = self.is_not.iter().filter(|(slot, value)| other.excludes(*slot, *value));
        let is_not_there = other.is_not.iter().filter(|(slot, value)| self.excludes(*slot, *value));
        Facts {
            is: is.map(|(slot, value)| (*slot, *value)).collect(),
            is_not: is_not.chain(is_not_there).copied().collect(),
        }
    }

    /// Whether a slot certainly does not have this value.
    fn excludes(&self, slot: SlotId, value: u64) -> bool {
        self.is_not.contains(&(slot, value)) || self.value(slot).is_some_and(|known| known != value)
    }

    /// Records what follows from a condition being true or false.
    pub(super) fn learn(&mut self, condition: &Expr, holds: bool) {
        match condition {
            Expr::Slot(slot) => self.becomes(*slot, Some(&Bits::from_bool(holds))),
            Expr::Unary(UnaryOp::Not, operand) => self.learn(operand, !holds),
            Expr::Binary(BinaryOp::Eq, left, right) => self.learn_equality(left, right, holds),
            Expr::Binary(BinaryOp::Ne, left, right) => self.learn_equality(left, right, !holds),
            Expr::Binary(BinaryOp::And, left, right) if holds => {
                self.learn(left, true);
                self.learn(right, true);
            }
            Expr::Binary(BinaryOp::Or, left, right) if !holds => {
                self.learn(left, false);
                self.learn(right, false);
            }
            _ => {}
        }
    }

    /// Records what follows from two values being equal or unequal.
    pub(super) fn learn_equality(&mut self, left: &Expr, right: &Expr, holds: bool) {
        let (Expr::Slot(slot), Expr::Const(value)) = (left, right) else {
            return;
        };
        if holds {
            self.becomes(*slot, Some(value));
        } else if value.width() == 1 {
            self.becomes(*slot, Some(&Bits::from_bool(value.is_zero())));
        } else if value.width() <= WIDTH_MAX && self.is_not.range((*slot, 0)..=(*slot, u64::MAX)).count() < NOT_MAX {
            self.is_not.insert((*slot, value.to_u64()));
        }
    }

    /// An expression simplified by what is known.
    pub(super) fn simplified(&self, expr: &Expr, program: &Program) -> Expr {
        let mut expr = expr.clone();
        self.simplify(&mut expr, program);
        expr
    }

    fn simplify(&self, expr: &mut Expr, program: &Program) {
        if let Expr::Slot(slot) = expr {
            if let Some(value) = self.value(*slot) {
                *expr = Expr::Const(Bits::new(program.slot(*slot).width, value.into()));
            }
            return;
        }
        expr.for_each_operand_mut(&mut |operand| self.simplify(operand, program));
        while let Some(simpler) = self.outcome(expr).or_else(|| passes::simplify(expr, program)) {
            *expr = simpler;
        }
    }

    /// The outcome of a comparison, if the facts exclude that the operands are equal.
    fn outcome(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::Binary(BinaryOp::Eq, left, right) if self.differ(left, right) => Some(truth(false)),
            Expr::Binary(BinaryOp::Ne, left, right) if self.differ(left, right) => Some(truth(true)),
            _ => None,
        }
    }

    fn differ(&self, left: &Expr, right: &Expr) -> bool {
        match (left, right) {
            (Expr::Slot(slot), Expr::Const(value)) if value.width() <= WIDTH_MAX => {
                self.is_not.contains(&(*slot, value.to_u64()))
            }
            _ => false,
        }
    }
}

fn truth(holds: bool) -> Expr {
    Expr::Const(Bits::from_bool(holds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::example;

    const COUNT: SlotId = SlotId(0);
    const FLAG: SlotId = SlotId(1);

    fn program() -> Program {
        example::slots(&[("count", 8), ("flag", 1)])
    }

    fn count_is(value: u128) -> Expr {
        let value = Expr::Const(Bits::new(8, value));
        Expr::Binary(BinaryOp::Eq, Box::new(Expr::Slot(COUNT)), Box::new(value))
    }

    #[test]
    fn a_test_decides_later_ones() {
        let (program, mut facts) = (program(), Facts::default());
        facts.learn(&count_is(3), false);
        assert_eq!(facts.simplified(&count_is(3), &program), truth(false));
        assert_eq!(facts.simplified(&count_is(4), &program), count_is(4));
        facts.learn(&count_is(4), true);
        assert_eq!(facts.simplified(&count_is(4), &program), truth(true));
        assert_eq!(facts.simplified(&count_is(8), &program), truth(false));
        facts.forget(COUNT);
        assert_eq!(facts, Facts::default());
    }

    #[test]
    fn of_many_tests_the_first_are_known() {
        let (program, mut facts) = (program(), Facts::default());
        (0..200).for_each(|value| facts.learn(&count_is(value), false));
        assert_eq!(facts.is_not.len(), NOT_MAX);
        assert_eq!(facts.simplified(&count_is(0), &program), truth(false));
        assert_eq!(facts.simplified(&count_is(199), &program), count_is(199));
    }

    #[test]
    fn what_is_certain_on_both_paths() {
        let (mut one, mut other) = (Facts::default(), Facts::default());
        one.learn(&count_is(3), true);
        one.learn(&Expr::Slot(FLAG), true);
        other.learn(&count_is(4), false);
        other.learn(&count_is(3), false);
        other.learn(&Expr::Slot(FLAG), true);
        let common = one.common(&other);
        assert_eq!(common, other.common(&one));
        assert_eq!((common.value(FLAG), common.value(COUNT)), (Some(1), None));
        assert_eq!(common.simplified(&count_is(4), &program()), truth(false));
        assert_eq!(common.simplified(&count_is(3), &program()), count_is(3));
    }

    #[test]
    fn half_of_a_condition_may_be_enough() {
        let (program, mut facts) = (program(), Facts::default());
        facts.learn(&Expr::Slot(FLAG), true);
        let flag = || Box::new(Expr::Slot(FLAG));
        let either = Expr::Binary(BinaryOp::Or, flag(), Box::new(count_is(1)));
        let both = Expr::Binary(BinaryOp::And, flag(), Box::new(count_is(1)));
        assert_eq!(facts.simplified(&either, &program), truth(true));
        assert_eq!(facts.simplified(&both, &program), count_is(1));
        facts.learn(&both, true);
        assert_eq!(facts.value(COUNT), Some(1));
    }
}
