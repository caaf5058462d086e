//! What the analysis knows at one place.

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Set(Vec<u64>);

impl Set {
    pub(super) fn contains(&self, number: usize) -> bool {
        self.0
            .get(number / 64)
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(super) fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(super) fn remove(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    fn union(mut self, other: &Set) -> Set {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
        self
    }

    fn intersection(mut self, other: &Set) -> Set {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
        self
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Set) -> bool {
        let length = self.0.len().max(other.0.len());
        let word = |set: &Set, index: usize| set.0.get(index).copied().unwrap_or(0);
        (0..length).all(|index| word(self, index) == word(other, index))
    }
}

/// Numbers of [locations](super::place::Locations).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// Values that may be unset.
    pub(super) unset: Set,
    /// Headers that are invalid.
    pub(super) invalid: Set,
}

impl State {
    /// What holds where two paths meet; none is a path on which execution does not come.
    pub(super) fn joined(one: Option<State>, other: Option<State>) -> Option<State> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return one.or(other),
        };
        Some(State {
            unset: one.unset.union(&other.unset),
            invalid: one.invalid.intersection(&other.invalid),
        })
    }

    /// What holds here when it is known that execution came by a path after which `after` held. Since then values may
    /// have been set, but none has become unset.
    pub(super) fn narrowed(here: Option<State>, after: Option<State>) -> Option<State> {
        let (here, after) = (here?, after?);
        Some(State {
            unset: here.unset.intersection(&after.unset),
            invalid: here.invalid,
        })
    }
}

/// What holds after a table was applied, by what it did; none for what it cannot do.
#[derive(Clone, Debug, Default)]
pub(super) struct Applied {
    /// After each of its actions, in their order.
    actions: Vec<Option<State>>,
    /// After none of them: for a `switch`, the action after the last one, `NoAction`.
    nothing: Option<State>,
    /// After a hit.
    pub(super) hit: Option<State>,
    /// After a miss.
    pub(super) miss: Option<State>,
}

impl Applied {
    /// The next of the table's actions leads to this; it may run on a hit, and on a miss.
    pub(super) fn ran(&mut self, after: Option<State>, on_hit: bool, on_miss: bool) {
        if on_hit {
            self.hit = State::joined(self.hit.take(), after.clone());
        }
        if on_miss {
            self.miss = State::joined(self.miss.take(), after.clone());
        }
        self.actions.push(after);
    }

    /// The table may also miss without an action.
    pub(super) fn ran_nothing(&mut self, after: Option<State>) {
        self.miss = State::joined(self.miss.take(), after.clone());
        self.nothing = after;
    }

    /// What holds after the action with this index.
    pub(super) fn after(&self, action: usize) -> Option<State> {
        self.actions.get(action).unwrap_or(&self.nothing).clone()
    }

    /// What holds after any action that is not among these, or after none.
    pub(super) fn after_any_but(&self, those: &[usize]) -> Option<State> {
        let all = 0..=self.actions.len();
        let others = all.filter(|index| !those.contains(index));
        others.fold(None, |held, index| State::joined(held, self.after(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet() {
        let mut one = State::default();
        one.unset.insert(3);
        one.invalid.insert(70);
        let mut other = State::default();
        other.invalid.insert(70);
        other.invalid.insert(1);
        let both = State::joined(Some(one.clone()), Some(other)).unwrap();
        assert!(both.unset.contains(3) && both.invalid.contains(70) && !both.invalid.contains(1));
        assert_eq!(State::joined(None, Some(one.clone())), Some(one.clone()));
        one.unset.remove(3);
        one.invalid.remove(70);
        assert_eq!(one, State::default());
    }
}
