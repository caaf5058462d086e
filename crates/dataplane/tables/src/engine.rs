//! The choice of an engine, and the interface that all engines have in common.
//!
//! An engine maps the words of a key to the record of the entry that wins.
//!
//! | key | engine |
//! |---|---|
//! | all fields exact | [`ExactMap`] finds the record in its bucket; short ones are also in a [`DenseIndex`] |
//! | one prefix field of up to 32 bits | [`DirectTrie`]: finds the number of a record, or of its content |
//! | one prefix field of up to 128 bits | [`PrefixTree`]: finds the number of a record |
//! | anything else | [`RuleSet`]: finds the number of a record |
//!
//! Readers use an [`Engine`]; the single writer also uses an [`EngineWriter`].

use std::cell::Cell;
use std::sync::Arc;

use crate::arena::{RecordWriter, Records};
use crate::batch_lookup::{OnePlace, Place};
use crate::compact_tbl24::{ContentWriter, ContentsOf};
use crate::direct_lpm::{self, DirectTrie, DirectWriter};
use crate::epoch::{Domain, Pin};
use crate::exact::{ExactMap, ExactWriter, hash_words};
use crate::key::{KeyMatch, KeySpec, MatchKind, prefix_mask};
use crate::layout::{Key, KeyLayout, Placement, RecordLayout};
use crate::lpm::{Prefix, PrefixTree, PrefixWriter, left_aligned};
use crate::packed_exact_index::{self, DenseIndex, DenseWriter};
use crate::rules::{Bounds, Candidate, Rule, RuleSet, RuleWriter};
use crate::search::Location;
use crate::sync::{AtomicU64, prefetch, prefetch_ahead};
use crate::view::FIND_MAX;
use forebay_bits::Bits;

/// The width of the widest field for a [`PrefixTree`].
const PREFIX_WIDTH_MAX: u32 = u128::BITS;

/// The readers' side of an engine.
#[derive(Debug)]
pub(crate) enum Engine {
    /// No field is matched: the table never hits (P4_16 §14.2.1.1).
    Keyless,
    Exact {
        map: ExactMap,
        /// The same entries again, if key and record fit into a word.
        dense: Option<DenseIndex>,
    },
    Direct(Box<Direct>),
    Prefix {
        tree: PrefixTree,
        width: u32,
        records: Records,
    },
    Rules {
        set: RuleSet,
        records: Records,
    },
}

/// The writer's side; each variant belongs to the engine of the same name.
#[derive(Debug)]
pub(crate) enum EngineWriter {
    Keyless,
    Exact(ExactWriter, Option<DenseWriter>),
    Direct(DirectWriter, RecordWriter, ContentWriter),
    Prefix(PrefixWriter, RecordWriter),
    Rules(RuleWriter, RecordWriter, Ranking),
}

/// See [`Engine::Direct`].
#[derive(Debug)]
pub(crate) struct Direct {
    trie: DirectTrie,
    width: u32,
    records: Records,
    /// A record for each content.
    contents: Records,
    /// The word of records that does not belong to their content.
    memo: Option<usize>,
}

impl Direct {
    fn contents_of<'a>(&'a self, known: &'a mut ContentWriter) -> ContentsOf<'a> {
        ContentsOf {
            known,
            contents: &self.contents,
            records: &self.records,
            memo: self.memo,
        }
    }
}

/// The engine that suits a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Keyless,
    Exact,
    Direct(KeySpec),
    Prefix(KeySpec),
    Rules(Ranking),
}

impl Kind {
    /// The engine for these fields. Selectors are not matched.
    pub(crate) fn of(keys: &[KeySpec]) -> Kind {
        let fields = || keys.iter().filter(|field| field.kind != MatchKind::Selector);
        let mut inexact = fields().filter(|field| field.kind != MatchKind::Exact);
        match (fields().count(), inexact.next(), inexact.next()) {
            (0, ..) => Kind::Keyless,
            (_, None, _) => Kind::Exact,
            (1, Some(field), None) if field.kind == MatchKind::Lpm && field.width <= direct_lpm::WIDTH_MAX => {
                Kind::Direct(*field)
            }
            (1, Some(field), None) if field.kind == MatchKind::Lpm && field.width <= PREFIX_WIDTH_MAX => {
                Kind::Prefix(*field)
            }
            (_, Some(field), None) if field.kind == MatchKind::Lpm => Kind::Rules(Ranking::PrefixLength),
            _ => Kind::Rules(Ranking::Priority),
        }
    }
}

/// What decides between matching rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranking {
    Priority,
    /// The length of the only prefix.
    PrefixLength,
}

/// An entry as an engine sees it.
pub(crate) struct EngineEntry<'a> {
    pub(crate) id: u64,
    pub(crate) key: &'a [KeyMatch],
    pub(crate) priority: i32,
    pub(crate) record: &'a [u64],
}

impl Engine {
    /// The engine for these fields, which do not contain selectors, with its writer. `learns` says whether packets add
    /// entries.
    pub(crate) fn new(
        domain: &Arc<Domain>,
        fields: &[KeySpec],
        layout: &KeyLayout,
        record_layout: &RecordLayout,
        learns: bool,
    ) -> (Engine, EngineWriter) {
        let record_words = record_layout.words();
        let records = || Records::new(record_words);
        match Kind::of(fields) {
            Kind::Keyless => (Engine::Keyless, EngineWriter::Keyless),
            Kind::Exact => {
                let (map, writer) = ExactMap::new(domain, layout.words(), record_words);
                // Look-ups in a table that learns nearly always need slots, which the dense index does not store.
                let shape = dense_shape(layout, record_layout).filter(|_| !learns);
                let (dense, dense_writer) = shape.map(|shape| DenseIndex::new(domain, shape)).unzip();
                (Engine::Exact { map, dense }, EngineWriter::Exact(writer, dense_writer))
            }
            Kind::Direct(field) => {
                let (trie, writer) = DirectTrie::new(domain);
                let direct = Direct {
                    trie,
                    width: field.width,
                    records: records(),
                    contents: records(),
                    memo: record_layout.memo(),
                };
                let contents = ContentWriter::new(domain);
                let writer = EngineWriter::Direct(writer, RecordWriter::new(domain), contents);
                (Engine::Direct(Box::new(direct)), writer)
            }
            Kind::Prefix(field) => {
                let (tree, writer) = PrefixTree::new(domain, field.width);
                let engine = Engine::Prefix {
                    tree,
                    width: field.width,
                    records: records(),
                };
                (engine, EngineWriter::Prefix(writer, RecordWriter::new(domain)))
            }
            Kind::Rules(ranking) => {
                let is_range =
                    |(field, place): (&KeySpec, Placement)| (field.kind == MatchKind::Range).then_some(place);
                let ranges = fields.iter().zip(layout.matched()).filter_map(is_range).collect();
                let (set, writer) = RuleSet::new(domain, layout, ranges);
                let engine = Engine::Rules {
                    set,
                    // Among otherwise equal entries, the older one wins.
                    records: Records::new(record_words + 1),
                };
                (engine, EngineWriter::Rules(writer, RecordWriter::new(domain), ranking))
            }
        }
    }

    /// The engine's location, for machine code that searches as [`Search`](crate::search::Search) says.
    #[inline]
    pub(crate) fn location(&self, default: *const u64, pin: &Pin<'_>) -> Location {
        match self {
            Engine::Exact { map, .. } => map.location(default, pin),
            Engine::Direct(direct) => direct.trie.location(default, &direct.records, pin),
            Engine::Keyless | Engine::Prefix { .. } | Engine::Rules { .. } => Location::of_default(default),
        }
    }

    /// Prefetches the memory that [`Engine::find`] reads first, and returns a hint for it.
    #[inline]
    pub(crate) fn prefetch(&self, key: &[u64], pin: &Pin<'_>) -> u64 {
        match self {
            Engine::Keyless => 0,
            Engine::Exact { map, .. } => {
                let hash = hash_words(key);
                map.prefetch(hash, pin);
                hash
            }
            Engine::Direct(direct) => {
                direct.trie.prefetch(direct_key(key, direct.width), pin);
                0
            }
            Engine::Prefix { tree, width, .. } => {
                tree.prefetch(prefix_key(key, *width), pin);
                0
            }
            Engine::Rules { set, .. } => {
                set.prefetch(key, pin);
                0
            }
        }
    }

    /// The record of the entry that wins. `hint` is what [`Engine::prefetch`] returned for the key.
    #[inline]
    pub(crate) fn find<'a>(&'a self, key: &[u64], hint: u64, pin: &'a Pin<'_>) -> Option<&'a [AtomicU64]> {
        match self {
            Engine::Keyless => None,
            Engine::Exact { map, .. } => map.find(key, hint, pin),
            Engine::Direct(direct) => {
                let number = direct.trie.find(direct_key(key, direct.width), pin)?;
                Some(direct.records.row(number))
            }
            Engine::Prefix { tree, width, records } => {
                let number = tree.find(prefix_key(key, *width), pin)?;
                Some(records.row(number))
            }
            Engine::Rules { set, records } => {
                let number = set.find(key, records, pin)?;
                Some(records.row(number))
            }
        }
    }

    /// The records of several keys, at most [`FIND_MAX`].
    #[inline]
    pub(crate) fn find_all<'a, 'k>(
        &'a self,
        count: usize,
        key: impl Fn(usize) -> &'k [u64],
        mut found: impl FnMut(usize, Option<&'a [AtomicU64]>),
        pin: &'a Pin<'_>,
    ) {
        match self {
            Engine::Keyless => (0..count).for_each(|index| found(index, None)),
            Engine::Exact { map, .. } => {
                let buckets = map.buckets(pin);
                let hashes = [const { Cell::new(0) }; FIND_MAX];
                let fetch = |index: usize| hashes[index].set(buckets.prefetch_key(key(index)));
                prefetch_ahead(count, fetch, |index| {
                    found(index, buckets.get(key(index), hashes[index].get()))
                });
            }
            Engine::Direct(direct) => {
                let mut numbers = [None; FIND_MAX];
                let key = |index| direct_key(key(index), direct.width);
                let found_one = |index, number| numbers[index] = number;
                direct.trie.find_all(count, key, found_one, pin);
                give_records(&direct.records, &numbers[..count], found);
            }
            Engine::Prefix { tree, width, records } => {
                let mut numbers = [None; FIND_MAX];
                let key = |index| prefix_key(key(index), *width);
                tree.find_all(count, key, |index, number| numbers[index] = number, pin);
                give_records(records, &numbers[..count], found);
            }
            Engine::Rules { .. } => {
                let fetch = |index: usize| {
                    self.prefetch(key(index), pin);
                };
                prefetch_ahead(count, fetch, |index| found(index, self.find(key(index), 0, pin)));
            }
        }
    }

    /// See [`TableView::one_place`](crate::TableView::one_place).
    #[inline]
    pub(crate) fn one_place<'a>(&'a self, needs_slots: bool, pin: &'a Pin<'_>) -> Option<OnePlace<'a>> {
        let place = match self {
            Engine::Exact { map, dense } => match dense {
                Some(dense) if !needs_slots && dense.is_current() => Place::Dense(dense.cells(pin)),
                _ => Place::Bucket(map.buckets(pin)),
            },
            Engine::Direct(direct) if !needs_slots => Place::Compact {
                cells: direct.trie.compact_cells(pin)?,
                width: direct.width,
                contents: &direct.contents,
            },
            _ => return None,
        };
        Some(OnePlace(place))
    }

    /// A hint for [`Engine::find`] without a prefetch.
    #[inline]
    pub(crate) fn hint(&self, key: &[u64]) -> u64 {
        match self {
            Engine::Exact { .. } => hash_words(key),
            _ => 0,
        }
    }
}

/// The shape of an index for keys and records that together fit into a word; `None` when they do not.
fn dense_shape(keys: &KeyLayout, records: &RecordLayout) -> Option<packed_exact_index::Shape> {
    let key_bits = keys.matched().map(|place| place.shift + place.width).max()?;
    let record_bits = records.bits_after_slot()?;
    if keys.words() > 1 {
        return None;
    }
    packed_exact_index::Shape::new(key_bits, record_bits)
}

/// Passes the records with these numbers to `found`.
#[inline]
fn give_records<'a>(
    records: &'a Records,
    numbers: &[Option<u32>],
    mut found: impl FnMut(usize, Option<&'a [AtomicU64]>),
) {
    let fetch = |index: usize| {
        if let Some(number) = numbers[index] {
            prefetch(&records.row(number)[0]);
        }
    };
    prefetch_ahead(numbers.len(), fetch, |index| {
        found(index, numbers[index].map(|number| records.row(number)));
    });
}

/// A key of up to 32 bits, left-aligned.
#[inline(always)]
pub(crate) fn direct_key(key: &[u64], width: u32) -> u32 {
    (key[0] << (u32::BITS - width)) as u32
}

#[inline]
fn prefix_key(key: &[u64], width: u32) -> u128 {
    let high = key.get(1).copied().unwrap_or(0);
    left_aligned(u128::from(key[0]) | u128::from(high) << 64, width)
}

impl EngineWriter {
    /// Whether entries need priorities to be distinguished.
    pub(crate) fn has_priorities(&self) -> bool {
        matches!(self, EngineWriter::Rules(_, _, Ranking::Priority))
    }

    /// Whether all fields are exact.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, EngineWriter::Exact(..))
    }

    /// Whether another entry may move all entries, or go into a second index.
    pub(crate) fn insertion_moves(&self, engine: &Engine) -> bool {
        match (self, engine) {
            (EngineWriter::Exact(writer, None), Engine::Exact { map, .. }) => writer.insertion_moves(map),
            _ => true,
        }
    }

    /// Adds an entry with a key of these words to an engine for exact fields.
    pub(crate) fn insert_exact(&mut self, engine: &Engine, key: &[u64], record: &[u64]) {
        if let (EngineWriter::Exact(writer, dense_writer), Engine::Exact { map, dense }) = (self, engine) {
            insert_exactly((writer, dense_writer.as_mut()), (map, dense.as_ref()), key, record);
        }
    }

    /// Adds an entry, and returns the number of its record, if it has one.
    pub(crate) fn insert(&mut self, engine: &Engine, layout: &KeyLayout, entry: EngineEntry<'_>) -> u32 {
        match (self, engine) {
            (EngineWriter::Exact(writer, dense_writer), Engine::Exact { map, dense }) => {
                let key = exact_key(layout, entry.key);
                insert_exactly(
                    (writer, dense_writer.as_mut()),
                    (map, dense.as_ref()),
                    &key,
                    entry.record,
                );
                0
            }
            (EngineWriter::Direct(writer, rows, known), Engine::Direct(direct)) => {
                let number = rows.add(&direct.records, entry.id, entry.record);
                let contents = &mut direct.contents_of(known);
                writer.insert(&direct.trie, prefix(entry.key, direct.width), number, contents);
                number
            }
            (EngineWriter::Prefix(writer, rows), Engine::Prefix { tree, width, records }) => {
                let number = rows.add(records, entry.id, entry.record);
                writer.insert(tree, prefix(entry.key, *width), number);
                number
            }
            (EngineWriter::Rules(writer, rows, ranking), Engine::Rules { set, records }) => {
                let number = rows.add(records, entry.id, entry.record);
                writer.insert(set, rule(layout, &entry, *ranking, number));
                number
            }
            _ => 0,
        }
    }

    /// Gives an entry, whose record has the number `old`, another record, and returns the number of that.
    pub(crate) fn replace(&mut self, engine: &Engine, layout: &KeyLayout, entry: EngineEntry<'_>, old: u32) -> u32 {
        match (self, engine) {
            (EngineWriter::Exact(writer, dense_writer), Engine::Exact { map, dense }) => {
                let key = exact_key(layout, entry.key);
                let _change = dense.as_ref().map(DenseIndex::begin_change);
                writer.replace(map, &key, entry.record);
                if let Some((writer, index)) = dense_writer.as_mut().zip(dense.as_ref()) {
                    writer.set(index, key[0], entry.record[0]);
                }
                0
            }
            (EngineWriter::Direct(writer, rows, known), Engine::Direct(direct)) => {
                let number = rows.add(&direct.records, entry.id, entry.record);
                let contents = &mut direct.contents_of(known);
                writer.replace(&direct.trie, prefix(entry.key, direct.width), number, contents);
                rows.remove(old);
                number
            }
            (EngineWriter::Prefix(writer, rows), Engine::Prefix { tree, width, records }) => {
                let number = rows.add(records, entry.id, entry.record);
                writer.replace(tree, prefix(entry.key, *width), number);
                rows.remove(old);
                number
            }
            (EngineWriter::Rules(writer, rows, ranking), Engine::Rules { records, .. }) => {
                let number = rows.add(records, entry.id, entry.record);
                writer.replace(&rule(layout, &entry, *ranking, number));
                rows.remove(old);
                number
            }
            _ => 0,
        }
    }

    /// Removes an entry whose record has the number `number`.
    pub(crate) fn remove(&mut self, engine: &Engine, layout: &KeyLayout, entry: EngineEntry<'_>, number: u32) {
        match (self, engine) {
            (EngineWriter::Exact(writer, dense_writer), Engine::Exact { map, dense }) => {
                let key = exact_key(layout, entry.key);
                let _change = dense.as_ref().map(DenseIndex::begin_change);
                writer.remove(map, &key);
                if let Some((writer, index)) = dense_writer.as_mut().zip(dense.as_ref()) {
                    writer.remove(index, key[0]);
                }
            }
            (EngineWriter::Direct(writer, rows, known), Engine::Direct(direct)) => {
                let contents = &mut direct.contents_of(known);
                writer.remove(&direct.trie, prefix(entry.key, direct.width), contents);
                rows.remove(number);
            }
            (EngineWriter::Prefix(writer, rows), Engine::Prefix { tree, width, .. }) => {
                writer.remove(tree, prefix(entry.key, *width));
                rows.remove(number);
            }
            (EngineWriter::Rules(writer, rows, ranking), Engine::Rules { set, .. }) => {
                writer.remove(set, &rule(layout, &entry, *ranking, number));
                rows.remove(number);
            }
            _ => {}
        }
    }

    /// Bytes that look-ups read: buckets, nodes, bit vectors and records.
    pub(crate) fn memory_bytes(&self, engine: &Engine, pin: &Pin<'_>) -> usize {
        match (self, engine) {
            (EngineWriter::Exact(..), Engine::Exact { map, dense }) => {
                map.memory_bytes(pin) + dense.as_ref().map_or(0, |dense| dense.memory_bytes(pin))
            }
            (EngineWriter::Direct(writer, ..), Engine::Direct(direct)) => {
                writer.memory_bytes(&direct.trie) + direct.records.memory_bytes() + direct.contents.memory_bytes()
            }
            (EngineWriter::Prefix(writer, _), Engine::Prefix { tree, records, .. }) => {
                writer.memory_bytes(tree) + records.memory_bytes()
            }
            (EngineWriter::Rules(writer, ..), Engine::Rules { records, .. }) => {
                writer.memory_bytes(pin) + records.memory_bytes()
            }
            _ => 0,
        }
    }
}

fn insert_exactly(
    (writer, dense_writer): (&mut ExactWriter, Option<&mut DenseWriter>),
    (map, dense): (&ExactMap, Option<&DenseIndex>),
    key: &[u64],
    record: &[u64],
) {
    let _change = dense.map(DenseIndex::begin_change);
    writer.insert(map, key, record);
    if let Some((writer, index)) = dense_writer.zip(dense) {
        writer.set(index, key[0], record[0]);
    }
}

/// The words of a canonical key whose fields are all exact.
pub(crate) fn exact_key(layout: &KeyLayout, key: &[KeyMatch]) -> Key {
    let mut words = Key::from_elem(0, layout.words());
    for (place, field) in layout.matched().zip(key) {
        match field {
            KeyMatch::Exact(value) => place.put(&mut words, value),
            other => unreachable!("canonical exact key holds {other:?}"),
        }
    }
    words
}

fn prefix(key: &[KeyMatch], width: u32) -> Prefix {
    match key {
        [KeyMatch::Lpm { value, prefix_len }] => Prefix::new(value.to_u128(), width, *prefix_len),
        other => unreachable!("canonical prefix key holds {other:?}"),
    }
}

fn rule(layout: &KeyLayout, entry: &EngineEntry<'_>, ranking: Ranking, record: u32) -> Rule {
    let mut value_words = Key::from_elem(0, layout.words());
    let mut mask_words = value_words.clone();
    let mut ranges = Vec::new();
    let mut is_masked = true;
    let mut prefix_length = 0;
    for (place, field) in layout.matched().zip(entry.key) {
        let (value, mask) = match field {
            KeyMatch::Exact(value) | KeyMatch::Optional(Some(value)) => (value.clone(), Bits::ones(place.width)),
            KeyMatch::Lpm { value, prefix_len } => {
                prefix_length = *prefix_len;
                (value.clone(), prefix_mask(place.width, *prefix_len))
            }
            KeyMatch::Ternary { value, mask } => (value.clone(), mask.clone()),
            KeyMatch::Range { lo, hi } => {
                let mask = prefix_mask(place.width, shared_bits(lo, hi));
                // The mask suffices when the bits after the shared ones range from all zeros to all ones.
                is_masked &= *lo == lo.and(&mask) && *hi == hi.or(&mask.not());
                ranges.push(Bounds {
                    low: lo.limbs().collect(),
                    high: hi.limbs().collect(),
                });
                (lo.and(&mask), mask)
            }
            KeyMatch::Optional(None) | KeyMatch::DontCare => continue,
        };
        place.put(&mut value_words, &value);
        place.put(&mut mask_words, &mask);
    }
    let priority = match ranking {
        // Maps signed to unsigned numbers in the same order.
        Ranking::Priority => entry.priority as u32 ^ 1 << 31,
        Ranking::PrefixLength => prefix_length,
    };
    Rule {
        id: entry.id,
        candidate: Candidate::new(priority, record),
        value: value_words,
        mask: mask_words,
        ranges: if is_masked { Box::default() } else { ranges.into() },
    }
}

/// The number of equal bits, from the most significant on.
fn shared_bits(a: &Bits, b: &Bits) -> u32 {
    let different: Vec<u64> = a.xor(b).limbs().collect();
    let highest = different.iter().rposition(|&limb| limb != 0);
    highest.map_or(a.width(), |limb| {
        let bits = limb as u32 * u64::BITS + (u64::BITS - different[limb].leading_zeros());
        a.width() - bits
    })
}
