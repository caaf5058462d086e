//! Entries in order of insertion, which is the order of their ids.

use crate::entry::EntryId;
use crate::layout::NO_SLOT;

/// Up to this many gaps are never closed.
const GAPS_MAX: usize = 64;

/// The slots of the entries. A deleted entry leaves a gap; when there are more gaps than entries, the gaps are closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Ascending.
    ids: Vec<u64>,
    /// By position in `ids`; [`NO_SLOT`] for a gap.
    slots: Vec<u32>,
    gaps: usize,
}

impl Order {
    /// Adds an entry, whose id must be above all others.
    pub(crate) fn push(&mut self, id: EntryId, slot: u32) {
        self.ids.push(id.0);
        self.slots.push(slot);
    }

    /// The slot of an entry.
    pub(crate) fn slot(&self, id: EntryId) -> Option<u32> {
        let slot = self.slots[self.ids.binary_search(&id.0).ok()?];
        (slot != NO_SLOT).then_some(slot)
    }

    /// Removes an entry, and returns its slot.
    pub(crate) fn remove(&mut self, id: EntryId) -> Option<u32> {
        let at = self.ids.binary_search(&id.0).ok()?;
        let slot = std::mem::replace(&mut self.slots[at], NO_SLOT);
        if slot == NO_SLOT {
            return None;
        }
        self.gaps += 1;
        if self.gaps > GAPS_MAX && self.gaps > self.len() {
            self.close_gaps();
        }
        Some(slot)
    }

    fn close_gaps(&mut self) {
        let slots = &self.slots;
        let mut at = 0;
        self.ids.retain(|_| {
            at += 1;
            slots[at - 1] != NO_SLOT
        });
        self.slots.retain(|slot| *slot != NO_SLOT);
        self.gaps = 0;
    }

    /// The slots of the entries whose ids are above this one; of all without one.
    pub(crate) fn slots_after(&self, id: Option<EntryId>) -> impl Iterator<Item = u32> {
        let first = id.map_or(0, |id| self.ids.partition_point(|known| *known <= id.0));
        self.slots[first..].iter().copied().filter(|slot| *slot != NO_SLOT)
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.ids.len() - self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_closed() {
        let mut order = Order::default();
        (0..1000).for_each(|number| order.push(EntryId(number * 3), number as u32));
        assert_eq!(order.remove(EntryId(1)), None);
        for number in (0..1000).filter(|number| number % 10 != 0) {
            assert_eq!(order.remove(EntryId(number * 3)), Some(number as u32));
            assert_eq!(order.remove(EntryId(number * 3)), None);
        }
        assert!(order.ids.len() < 300 && order.len() == 100);
        assert!(order.slots_after(None).eq((0..1000).step_by(10)));
        assert!(order.slots_after(Some(EntryId(2900))).eq((970..1000).step_by(10)));
        assert_eq!((order.slot(EntryId(30)), order.slot(EntryId(33))), (Some(10), None));
        order.push(EntryId(5000), 7);
        assert_eq!(order.slots_after(Some(EntryId(2970))).collect::<Vec<_>>(), [7]);
        assert_eq!(order.slots_after(Some(EntryId(5000))).next(), None);
    }
}
