//! Maps whose copies share what has not been changed since.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of shards. A copy costs as many reference counts, and a change of a copy one shard.
const SHARDS: usize = 256;

/// Spreads numbers with a pattern, for example multiples of 256, over all shards.
const SPREAD: u32 = 0x9E37_79B9;

/// Values by number.
#[derive(Clone, Debug)]
pub(crate) struct Shards<V> {
    shards: Box<[Arc<BTreeMap<u32, V>>]>,
    len: usize,
}

impl<V: Clone> Shards<V> {
    pub(crate) fn new() -> Shards<V> {
        let empty = Arc::new(BTreeMap::new());
        Shards {
            shards: vec![empty; SHARDS].into(),
            len: 0,
        }
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.get(number).is_some()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&V> {
        self.shards[shard_of(number)].get(&number)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut V> {
        let shard = &mut self.shards[shard_of(number)];
        if !shard.contains_key(&number) {
            return None;
        }
        Arc::make_mut(shard).get_mut(&number)
    }

    /// Adds a value, or replaces that with the same number.
    pub(crate) fn insert(&mut self, number: u32, value: V) {
        let former = Arc::make_mut(&mut self.shards[shard_of(number)]).insert(number, value);
        self.len += usize::from(former.is_none());
    }

    pub(crate) fn remove(&mut self, number: u32) {
        if self.contains(number) {
            Arc::make_mut(&mut self.shards[shard_of(number)]).remove(&number);
            self.len -= 1;
        }
    }

    /// All values, in order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &V)> {
        let all = self.shards.iter().flat_map(|shard| shard.iter());
        let mut all: Vec<(u32, &V)> = all.map(|(number, value)| (*number, value)).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter()
    }
}

#[inline]
fn shard_of(number: u32) -> usize {
    (number.wrapping_mul(SPREAD) >> (u32::BITS - SHARDS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_come_in_order_of_their_numbers() {
        let mut map = Shards::new();
        for number in [7, 1 << 31, 3, 5, 3] {
            map.insert(number, number / 2);
        }
        map.remove(5);
        map.remove(6);
        *map.get_mut(7).expect("it was added") += 10;
        let all: Vec<(u32, u32)> = map.iter().map(|(number, value)| (number, *value)).collect();
        assert_eq!(all, [(3, 1), (7, 13), (1 << 31, 1 << 30)]);
        assert_eq!((map.len(), map.contains(5), map.get(6)), (3, false, None));
    }

    #[test]
    fn a_change_of_a_copy_copies_one_shard() {
        let mut original = Shards::new();
        (0..10_000).for_each(|number| original.insert(number * 256, 0));
        let mut copy = original.clone();
        let copied = |copy: &Shards<u32>| {
            let pairs = copy.shards.iter().zip(&original.shards);
            pairs.filter(|(own, other)| !Arc::ptr_eq(own, other)).count()
        };
        assert!(copy.get_mut(1).is_none());
        copy.remove(1);
        assert_eq!(copied(&copy), 0, "nothing is changed");
        copy.insert(256, 1);
        assert_eq!(copied(&copy), 1);
        assert_eq!((original.get(256), copy.get(256)), (Some(&0), Some(&1)));
        let largest = original.shards.iter().map(|shard| shard.len()).max();
        assert!(largest < Some(4 * 10_000 / SHARDS), "{largest:?}");
    }
}
