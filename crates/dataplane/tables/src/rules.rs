//! Rules with priorities, and prefixes beside exact fields: a hash table per popular mask, and bit vectors for the
//! other masks.
//!
//! Rules with the same mask differ only in their values, so one exact-match table finds them all (tuple-space search).
//! That is fast as long as there are few masks. Rules with a rare mask are in [bit vectors](crate::bit_vector), whose
//! cost does not depend on the number of masks. The entries of a table decide: a rule begins in the bit vectors, and a
//! mask that gathers [`POPULAR`] rules gets a hash table of its own.
//!
//! If a mask cannot express a rule's ranges, the rule's mask covers the bits that both bounds share, and its bounds
//! are stored beside it in the hash table. Two ranges of one field with the same mask and value overlap, since both
//! contain the middle of the keys with that value. So ranges that do not overlap never have the same mask and value.
//! Of those that overlap, the first is in the hash table, and the others stay in the bit vectors.
//!
//! A search visits the hash tables in order of their highest priority, and ends when no remaining table can have a
//! better rule than the one found. Among rules of equal priority the oldest wins. In a table with one prefix field and
//! some exact fields, the prefix length is the priority.
//!
//! *Publication*: the list of hash tables is replaced as a whole; within a hash table, and within the bit vectors, a
//! rule appears and disappears with one store. While a mask moves, its rules are found in both, until all readers use
//! the new list. When a rule hides another one with the same mask and value but lower priority, it replaces that rule
//! in one store.

use std::collections::HashMap;
use std::sync::Arc;

use crate::arena::{Records, id_of};
use crate::bit_vector::{BitVectorWriter, BitVectors};
use crate::epoch::{Domain, Limbo, Pin, Shared};
use crate::exact::{ExactMap, ExactWriter, hash_words};
use crate::layout::{Key, KeyLayout, Placement};
use crate::sync::{AtomicU64, Ordering};

/// The number of rules from which on a mask has a hash table of its own.
const POPULAR: usize = 64;

/// A rule's priority in the high half, and the number of its record in the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate(pub(crate) u64);

impl Candidate {
    pub(crate) fn new(priority: u32, record: u32) -> Candidate {
        Candidate(u64::from(priority) << 32 | u64::from(record))
    }

    pub(crate) fn priority(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn record(self) -> u32 {
        self.0 as u32
    }
}

/// The bounds of one field, in as many words as the field has.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) low: Box<[u64]>,
    pub(crate) high: Box<[u64]>,
}

/// An entry, as this engine sees it.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: u64,
    pub(crate) candidate: Candidate,
    /// Zero wherever the mask is zero.
    pub(crate) value: Key,
    /// In range fields, the bits that both bounds share.
    pub(crate) mask: Key,
    /// The bounds of all range fields; empty when value and mask suffice.
    pub(crate) ranges: Box<[Bounds]>,
}

impl Rule {
    /// Whether value and mask suffice.
    pub(crate) fn is_masked(&self) -> bool {
        self.ranges.is_empty()
    }

    /// For each range field, the lower and then the upper bound.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = u64> {
        let bounds = self.ranges.iter().flat_map(|range| range.low.iter().chain(&range.high));
        bounds.copied()
    }

    /// The shape, which identifies the hash table of a mask.
    fn shape(&self) -> Shape {
        Shape {
            mask: self.mask.clone(),
            is_ranged: !self.is_masked(),
        }
    }

    /// The value stored in a hash table.
    fn record(&self) -> Vec<u64> {
        std::iter::once(self.candidate.0).chain(self.bounds()).collect()
    }
}

/// The best rule that a search has found.
pub(crate) struct Best<'a> {
    found: Option<Candidate>,
    records: &'a Records,
}

impl Best<'_> {
    /// Takes a rule if it is better.
    #[inline]
    pub(crate) fn offer(&mut self, new: Candidate) {
        let better = match self.found {
            None => true,
            Some(found) if found.priority() != new.priority() => found.priority() < new.priority(),
            Some(found) => self.age(new) < self.age(found),
        };
        if better {
            self.found = Some(new);
        }
    }

    /// Whether a rule of this priority might be better.
    #[inline]
    pub(crate) fn is_below(&self, priority: u64) -> bool {
        self.found.is_none_or(|found| u64::from(found.priority()) <= priority)
    }

    fn age(&self, candidate: Candidate) -> u64 {
        id_of(self.records.row(candidate.record()))
    }
}

/// What the rules of one hash table have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shape {
    mask: Key,
    /// Whether the rules have bounds in addition to the mask.
    is_ranged: bool,
}

/// A mask and the rules that have it.
#[derive(Debug)]
struct Tuple {
    shape: Shape,
    /// Maps values to the words of [`Rule::record`].
    rules: ExactMap,
}

#[derive(Clone, Debug)]
struct ListedTuple {
    /// An upper bound of the rules' priorities.
    highest: u32,
    tuple: Arc<Tuple>,
}

/// Finds the record of the rule that wins for a key.
#[derive(Debug)]
pub(crate) struct RuleSet {
    /// Highest priority first.
    tuples: Shared<Vec<ListedTuple>>,
    vectors: BitVectors,
}

impl RuleSet {
    /// No rules, and the writer. `ranges` are the placements of the range fields.
    pub(crate) fn new(domain: &Arc<Domain>, layout: &KeyLayout, ranges: Box<[Placement]>) -> (RuleSet, RuleWriter) {
        let (vectors, vector_writer) = BitVectors::new(domain, layout.words(), layout.matched(), ranges);
        let set = RuleSet {
            tuples: Shared::new(Vec::new()),
            vectors,
        };
        let writer = RuleWriter {
            domain: Arc::clone(domain),
            masks: HashMap::new(),
            vectors: vector_writer,
            lists: Limbo::default(),
            moved: Limbo::default(),
            tuples: Limbo::default(),
        };
        (set, writer)
    }

    /// The record of the rule that wins for a key.
    pub(crate) fn find(&self, key: &[u64], records: &Records, pin: &Pin<'_>) -> Option<u32> {
        let mut best = Best { found: None, records };
        for ListedTuple { highest, tuple } in self.tuples.load(pin) {
            if !best.is_below((*highest).into()) {
                break;
            }
            if let Some(found) = tuple.find(key, &self.vectors, pin) {
                best.offer(found);
            }
        }
        self.vectors.find(key, &mut best, pin);
        best.found.map(Candidate::record)
    }

    /// Prefetches the memory of the first hash tables.
    pub(crate) fn prefetch(&self, key: &[u64], pin: &Pin<'_>) {
        for listed in self.tuples.load(pin).iter().take(2) {
            let hash = hash_words(&masked(key, &listed.tuple.shape.mask));
            listed.tuple.rules.prefetch(hash, pin);
        }
    }
}

impl Tuple {
    fn find(&self, key: &[u64], vectors: &BitVectors, pin: &Pin<'_>) -> Option<Candidate> {
        let record = match (key, self.shape.mask.as_slice()) {
            ([key], [mask]) => self.find_masked(&[key & mask], pin),
            ([low, high], [mask, high_mask]) => self.find_masked(&[low & mask, high & high_mask], pin),
            _ => self.find_masked(&masked(key, &self.shape.mask), pin),
        }?;
        let (candidate, bounds) = record.split_first()?;
        let matches = !self.shape.is_ranged || vectors.is_within(bounds, key);
        matches.then(|| Candidate(candidate.load(Ordering::Acquire)))
    }

    fn find_masked<'a>(&'a self, key: &[u64], pin: &'a Pin<'_>) -> Option<&'a [AtomicU64]> {
        self.rules.find(key, hash_words(key), pin)
    }
}

fn masked(key: &[u64], mask: &[u64]) -> Key {
    key.iter().zip(mask).map(|(word, mask)| word & mask).collect()
}

/// All rules with one mask.
#[derive(Debug, Default)]
struct Mask {
    /// By value: rules without ranges best first, rules with ranges oldest first. The first rule of each value is in
    /// the hash table.
    rules: HashMap<Key, Vec<Rule>>,
    count: usize,
    own: Option<OwnTable>,
}

/// The hash table of a popular mask.
#[derive(Debug)]
struct OwnTable {
    highest: u32,
    tuple: Arc<Tuple>,
    writer: ExactWriter,
}

/// The writer's side of a [`RuleSet`]. All methods take the set that was made with it.
#[derive(Debug)]
pub(crate) struct RuleWriter {
    domain: Arc<Domain>,
    /// All rules.
    masks: HashMap<Shape, Mask>,
    vectors: BitVectorWriter,
    #[expect(
        clippy::box_collection,
        reason = "readers hold the address of the box, which must not move"
    )]
    lists: Limbo<Box<Vec<ListedTuple>>>,
    /// Ids of rules that moved into hash tables. Readers with the old list of hash tables still find them in the bit
    /// vectors.
    moved: Limbo<u64>,
    /// Hash tables with their writers, which may have memory in limbo.
    tuples: Limbo<OwnTable>,
}

impl RuleWriter {
    /// Adds a rule.
    pub(crate) fn insert(&mut self, set: &RuleSet, rule: Rule) {
        self.collect(set);
        let shape = rule.shape();
        let mask = self.masks.entry(shape.clone()).or_default();
        mask.count += 1;
        let same = mask.rules.entry(rule.value.clone()).or_default();
        let order = |rule: &Rule| (std::cmp::Reverse(rule.candidate.priority()), rule.id);
        let at = if shape.is_ranged {
            same.len()
        } else {
            same.partition_point(|present| order(present) < order(&rule))
        };
        same.insert(at, rule.clone());
        let popular = mask.count >= POPULAR;
        let Some(own) = &mut mask.own else {
            self.vectors.insert(&set.vectors, &rule);
            if popular {
                self.promote(set, &shape);
            }
            return;
        };
        if rule.candidate.priority() > own.highest {
            own.highest = rule.candidate.priority();
            self.publish_tuples(set);
        }
        if at > 0 {
            // Without ranges, the first rule hides it.
            if shape.is_ranged {
                self.vectors.insert(&set.vectors, &rule);
            }
            return;
        }
        if let Some(mask) = self.masks.get_mut(&shape) {
            mask.publish_first(&rule.value, true);
        }
    }

    /// Gives an existing rule another record.
    pub(crate) fn replace(&mut self, rule: &Rule) {
        if self.vectors.contains(rule.id) {
            self.vectors.replace(rule.id, rule.candidate);
        }
        let mask = self.masks.get_mut(&rule.shape());
        let mask = mask.expect("a rule to be replaced is there");
        let same = mask.rules.get_mut(&rule.value).expect("a rule to be replaced is there");
        let at = same.iter().position(|present| present.id == rule.id);
        let at = at.expect("a rule to be replaced is there");
        same[at].candidate = rule.candidate;
        if at == 0 {
            mask.publish_first(&rule.value, false);
        }
    }

    /// Removes an existing rule.
    pub(crate) fn remove(&mut self, set: &RuleSet, rule: &Rule) {
        self.collect(set);
        let shape = rule.shape();
        let mask = self.masks.get_mut(&shape).expect("a rule to be removed is there");
        if let Some(followed_by) = mask.remove(rule)
            && self.vectors.contains(followed_by)
        {
            self.moved.retire(&self.domain, followed_by);
        }
        let is_empty = mask.count == 0;
        if self.vectors.contains(rule.id) {
            self.vectors.remove(&set.vectors, rule.id);
        }
        if is_empty
            && let Some(mask) = self.masks.remove(&shape)
            && let Some(own) = mask.own
        {
            self.publish_tuples(set);
            self.tuples.retire(&self.domain, own);
        }
    }

    pub(crate) fn memory_bytes(&self, pin: &Pin<'_>) -> usize {
        let own = self.masks.values().filter_map(|mask| mask.own.as_ref());
        let tuples: usize = own.map(|own| own.tuple.rules.memory_bytes(pin)).sum();
        tuples + self.vectors.memory_bytes()
    }

    /// Moves a mask from the bit vectors into a hash table.
    fn promote(&mut self, set: &RuleSet, shape: &Shape) {
        let Some(mask) = self.masks.get_mut(shape) else { return };
        let bound_words = if shape.is_ranged { set.vectors.bound_words() } else { 0 };
        let (rules, mut writer) = ExactMap::new(&self.domain, shape.mask.len(), 1 + bound_words);
        for (value, same) in &mask.rules {
            writer.insert(&rules, value, &same[0].record());
        }
        // With ranges, later rules stay in the bit vectors; without ranges, the first rule hides them.
        let moving = |same: &Vec<Rule>| if shape.is_ranged { 1 } else { same.len() };
        let moved = mask.rules.values().flat_map(|same| &same[..moving(same)]);
        let ids: Vec<u64> = moved.map(|rule| rule.id).collect();
        let all = mask.rules.values().flatten();
        let highest = all.map(|rule| rule.candidate.priority()).max().unwrap_or(0);
        let tuple = Arc::new(Tuple {
            shape: shape.clone(),
            rules,
        });
        mask.own = Some(OwnTable { highest, tuple, writer });
        self.publish_tuples(set);
        for id in ids {
            self.moved.retire(&self.domain, id);
        }
        self.collect(set);
    }

    fn publish_tuples(&mut self, set: &RuleSet) {
        let own = self.masks.values().filter_map(|mask| mask.own.as_ref());
        let mut list: Vec<ListedTuple> = own
            .map(|own| ListedTuple {
                highest: own.highest,
                tuple: Arc::clone(&own.tuple),
            })
            .collect();
        list.sort_by_key(|listed| std::cmp::Reverse(listed.highest));
        let old = set.tuples.replace(list);
        self.lists.retire(&self.domain, old);
        self.collect(set);
    }

    fn collect(&mut self, set: &RuleSet) {
        self.lists.collect(&self.domain, drop);
        self.tuples.collect(&self.domain, drop);
        let vectors = &mut self.vectors;
        self.moved.collect(&self.domain, |id| {
            if vectors.contains(id) {
                vectors.remove(&set.vectors, id);
            }
        });
    }
}

impl Mask {
    /// Removes a rule. Returns the id of the next rule of the same value, if the hash table has that rule now.
    fn remove(&mut self, rule: &Rule) -> Option<u64> {
        let same = self.rules.get_mut(&rule.value).expect("a rule to be removed is there");
        let at = same.iter().position(|present| present.id == rule.id);
        let at = at.expect("a rule to be removed is there");
        same.remove(at);
        self.count -= 1;
        let first = same.first().map(|rule| rule.id);
        match first {
            None => {
                self.rules.remove(&rule.value);
                if let Some(own) = &mut self.own {
                    own.writer.remove(&own.tuple.rules, &rule.value);
                }
                None
            }
            Some(first) if at == 0 && self.own.is_some() => {
                self.publish_first(&rule.value, false);
                Some(first)
            }
            Some(_) => None,
        }
    }

    /// Puts the first rule of a value into the hash table. `added` says whether the value is new there.
    fn publish_first(&mut self, value: &Key, added: bool) {
        let same = &self.rules[value];
        let first = same[0].record();
        let Some(own) = &mut self.own else { return };
        if added && same.len() == 1 {
            own.writer.insert(&own.tuple.rules, value, &first);
        } else {
            own.writer.replace(&own.tuple.rules, value, &first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpec, MatchKind};

    const WIDTH: u32 = 32;

    /// A rule for the keys from `low` to `high`.
    fn rule(id: u64, low: u64, high: u64) -> Rule {
        let differing = u64::BITS - (low ^ high).leading_zeros();
        let shared = u64::from(u32::MAX) & (u64::MAX << differing);
        let bounds = Bounds {
            low: Box::new([low]),
            high: Box::new([high]),
        };
        Rule {
            id,
            candidate: Candidate::new(1, id as u32),
            value: Key::from_slice(&[low & shared]),
            mask: Key::from_slice(&[shared]),
            ranges: Box::new([bounds]),
        }
    }

    #[test]
    fn of_ranges_that_do_not_overlap_few_are_in_the_bit_vectors() {
        let domain = Domain::new();
        let key = KeySpec {
            width: WIDTH,
            kind: MatchKind::Range,
        };
        let layout = KeyLayout::new(&[key]);
        let (set, mut writer) = RuleSet::new(&domain, &layout, layout.matched().collect());
        let count = 10_000;
        for id in 0..count {
            // Each range begins and ends at another bit.
            let low = id * 1_000 + id % 7;
            writer.insert(&set, rule(id, low, low + 900 + id % 13));
        }
        let rare = (0..count).filter(|id| writer.vectors.contains(*id)).count();
        // At most POPULAR - 1 rules of each of 33 masks.
        assert!(rare < 33 * POPULAR, "{rare} of {count} rules");
    }
}
