//! What is known about slots on a path through the parser.

use forebay_bits::Bits;
use forebay_ir::SlotId;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Values that slots certainly have.
///
/// A program may have many thousands of slots, and a plan many paths. So all paths share the values before the parser,
/// and each path holds only the differences.
#[derive(Clone)]
pub(super) struct Known {
    before: Rc<BTreeMap<SlotId, Bits>>,
    /// Slots whose value has changed since: the new value, or `None` when it is unknown.
    since: BTreeMap<SlotId, Option<Bits>>,
}

impl Known {
    /// The values known before the parser.
    pub(super) fn new(before: BTreeMap<SlotId, Bits>) -> Known {
        Known {
            before: Rc::new(before),
            since: BTreeMap::new(),
        }
    }

    /// The value of a slot.
    pub(super) fn get(&self, slot: SlotId) -> Option<&Bits> {
        match self.since.get(&slot) {
            Some(value) => value.as_ref(),
            None => self.before.get(&slot),
        }
    }

    /// Sets the value of a slot; `None` when it is unknown.
    pub(super) fn set(&mut self, slot: SlotId, value: Option<Bits>) {
        if self.before.get(&slot) == value.as_ref() {
            self.since.remove(&slot);
        } else {
            self.since.insert(slot, value);
        }
    }

    /// All known values.
    pub(super) fn values(&self) -> BTreeMap<SlotId, Bits> {
        let mut values = (*self.before).clone();
        for (slot, value) in &self.since {
            match value {
                Some(value) => values.insert(*slot, value.clone()),
                None => values.remove(slot),
            };
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: SlotId = SlotId(0);
    const COUNT: SlotId = SlotId(1);

    #[test]
    fn a_path_holds_what_differs() {
        let zero = Bits::zero(8);
        let mut known = Known::new([(FLAG, Bits::zero(1))].into());
        known.set(COUNT, Some(zero.clone()));
        known.set(FLAG, None);
        assert_eq!((known.get(COUNT), known.get(FLAG)), (Some(&zero), None));
        assert_eq!(known.values(), [(COUNT, zero)].into());
        known.set(FLAG, Some(Bits::zero(1)));
        known.set(COUNT, None);
        assert!(known.since.is_empty());
        assert_eq!(known.get(FLAG), Some(&Bits::zero(1)));
    }
}
