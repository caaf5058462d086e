//! Rules with arbitrary masks: bit vectors over blocks of rules.
//!
//! A block has room for 512 rules, each with one bit of a cache line. For every four bits of the key it has 16 lines:
//! the rules that agree with each of the 16 values. The rules that match a key are the AND of one line per four bits
//! and of a line with the rules that exist; the search ends when no rule is left. The number of different masks does
//! not matter. Key bits that no rule of the block tests are skipped. If only few words of the lines have rules, only
//! these words are examined. So the cost of a search depends on what the rules constrain.
//!
//! ```text
//! valid   ────────────────────── 512 bits          key  1010 0111 …
//! nibble 0 = 0 … nibble 0 = 15   16 lines     ─►   valid ∧ nibble 0 = 7 ∧ nibble 1 = 10 ∧ …
//! nibble 1 = 0 …
//! ```
//!
//! Ranges are first filtered by the bits that both bounds share, and then compared for the remaining rules.
//!
//! *Publication*: a rule is found when its bit in the valid line is set. That bit is the last word that an insertion
//! stores and the first that a removal stores. The rule's other bits change only while no reader can access them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::epoch::{Domain, Limbo, Pin, Shared};
use crate::layout::Placement;
use crate::memory::Array;
use crate::rules::{Best, Candidate, Rule};
use crate::sync::{AtomicU64, LINE_WORDS, Line, Ordering, zeroed_lines};

/// Rules in a block.
const BLOCK_RULES: usize = LINE_WORDS * u64::BITS as usize;
const NIBBLE: u32 = 4;
const NIBBLES_IN_WORD: usize = (u64::BITS / NIBBLE) as usize;
const NIBBLE_VALUES: u64 = 1 << NIBBLE;

/// If at most this many words of the lines have rules, only these words are examined, one after another.
const FEW_WORDS: usize = 2;

/// The first line of a block: the rules that exist.
const VALID: usize = 0;
/// The second line: the rules with ranges to compare.
const RANGED: usize = 1;
const NIBBLE_LINES: usize = 2;

#[derive(Debug)]
struct Block {
    lines: Array<Line>,
    /// By rule: its [`Candidate`].
    candidates: Box<[AtomicU64]>,
    /// By rule: the bounds of its ranges, for each range field the lower and then the upper one.
    bounds: Box<[AtomicU64]>,
    /// By nibble, in the order of [`BitVectors`], one bit each: whether a rule may test it.
    constrained: Box<[AtomicU64]>,
    /// An upper bound of the rules' priorities.
    highest: AtomicU64,
}

/// The blocks of a table.
#[derive(Debug)]
pub(crate) struct BitVectors {
    blocks: Shared<Box<[Arc<Block>]>>,
    /// The nibbles of the key that belong to a field. Others are not examined.
    nibbles: Box<[usize]>,
    ranges: Box<[Placement]>,
}

impl BitVectors {
    /// No rules, for keys of `key_words` words with these fields, some of which are ranges. Also returns the writer.
    pub(crate) fn new(
        domain: &Arc<Domain>,
        key_words: usize,
        fields: impl Iterator<Item = Placement>,
        ranges: Box<[Placement]>,
    ) -> (BitVectors, BitVectorWriter) {
        let mut used = vec![false; key_words * NIBBLES_IN_WORD];
        for field in fields.filter(|field| field.width > 0) {
            let first = field.word * u64::BITS as usize + field.shift as usize;
            let last = first + field.width as usize - 1;
            used[first / NIBBLE as usize..=last / NIBBLE as usize].fill(true);
        }
        let nibbles = (0..used.len()).filter(|&nibble| used[nibble]).collect();
        let vectors = BitVectors {
            blocks: Shared::new(Box::default()),
            nibbles,
            ranges,
        };
        let writer = BitVectorWriter {
            domain: Arc::clone(domain),
            places: HashMap::new(),
            blocks: Vec::new(),
            bits: Limbo::default(),
            lists: Limbo::default(),
        };
        (vectors, writer)
    }

    /// Offers the matching rules to `best`.
    pub(crate) fn find(&self, key: &[u64], best: &mut Best<'_>, pin: &Pin<'_>) {
        for block in self.blocks.load(pin) {
            if best.is_below(block.highest.load(Ordering::Acquire)) {
                self.find_in(block, key, best);
            }
        }
    }

    fn find_in(&self, block: &Block, key: &[u64], best: &mut Best<'_>) {
        let valid: [u64; LINE_WORDS] = std::array::from_fn(|word| block.line(VALID)[word].load(Ordering::Acquire));
        let used = valid.iter().filter(|rules| **rules != 0).count();
        let words = valid.into_iter().enumerate();
        if used <= FEW_WORDS {
            for (word, rules) in words.filter(|(_, rules)| *rules != 0) {
                let rules = self.agreeing_in_word(block, word, rules, key);
                self.offer(block, word, rules, key, best);
            }
        } else if let Some(agreeing) = self.agreeing(block, valid, key) {
            for (word, rules) in agreeing.into_iter().enumerate() {
                self.offer(block, word, rules, key, best);
            }
        }
    }

    /// The lines with which the key is compared: those of the nibbles that a rule of the block may test.
    #[inline]
    fn lines<'b>(&self, block: &'b Block, key: &[u64]) -> impl Iterator<Item = &'b [AtomicU64; LINE_WORDS]> {
        // The bits of a rule were set here before it became valid.
        let words = block.constrained.iter().enumerate();
        let indices = words.flat_map(|(word, bits)| Ones(bits.load(Ordering::Relaxed)).map(move |bit| 64 * word + bit));
        indices.map(move |index| block.line(line_of(index, nibble_of(key, self.nibbles[index]))))
    }

    /// The rules of `left` that agree with the key in all bits that they test; `None` when there are none.
    fn agreeing(&self, block: &Block, mut left: [u64; LINE_WORDS], key: &[u64]) -> Option<[u64; LINE_WORDS]> {
        for line in self.lines(block, key) {
            let mut any = 0;
            for (left, agreeing) in left.iter_mut().zip(line) {
                *left &= agreeing.load(Ordering::Relaxed);
                any |= *left;
            }
            if any == 0 {
                return None;
            }
        }
        Some(left)
    }

    /// The rules of `left`, all in one word of the lines, that agree with the key.
    fn agreeing_in_word(&self, block: &Block, word: usize, mut left: u64, key: &[u64]) -> u64 {
        for line in self.lines(block, key) {
            left &= line[word].load(Ordering::Relaxed);
            if left == 0 {
                break;
            }
        }
        left
    }

    /// Offers to `best` those of these rules, which are in one word of the lines, whose ranges contain the key.
    #[inline]
    fn offer(&self, block: &Block, word: usize, rules: u64, key: &[u64], best: &mut Best<'_>) {
        if rules == 0 {
            return;
        }
        let ranged = block.line(RANGED)[word].load(Ordering::Relaxed);
        for bit in Ones(rules) {
            let rule = 64 * word + bit;
            if ranged >> bit & 1 == 0 || self.in_ranges(block, rule, key) {
                best.offer(Candidate(block.candidates[rule].load(Ordering::Acquire)));
            }
        }
    }

    fn in_ranges(&self, block: &Block, rule: usize, key: &[u64]) -> bool {
        self.is_within(&block.bounds[rule * self.bound_words()..], key)
    }

    /// Whether the ranges with these bounds contain the key. Each range field has its lower and then its upper bound.
    pub(crate) fn is_within(&self, mut bounds: &[AtomicU64], key: &[u64]) -> bool {
        self.ranges.iter().all(|range| {
            let words = limbs(range);
            let (low, rest) = bounds.split_at(words);
            let high = &rest[..words];
            bounds = &rest[words..];
            let loaded = |bound: &AtomicU64| bound.load(Ordering::Relaxed);
            let value = || range.limbs(|word| key[word]).rev();
            !value().lt(low.iter().rev().map(loaded)) && !value().gt(high.iter().rev().map(loaded))
        })
    }

    /// The words of one rule's bounds.
    pub(crate) fn bound_words(&self) -> usize {
        self.ranges.iter().map(|range| 2 * limbs(range)).sum()
    }

    fn new_block(&self) -> Block {
        let words = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        Block {
            lines: zeroed_lines(NIBBLE_LINES + self.nibbles.len() * NIBBLE_VALUES as usize),
            candidates: words(BLOCK_RULES),
            bounds: words(BLOCK_RULES * self.bound_words()),
            constrained: words(self.nibbles.len().div_ceil(64)),
            highest: AtomicU64::new(0),
        }
    }

    /// Writes a rule whose bit is not valid, and then makes it valid.
    fn put(&self, block: &Block, rule: usize, new: &Rule) {
        let set = |line: usize, value: bool| block.set(line, rule, value);
        for (index, &nibble) in self.nibbles.iter().enumerate() {
            for value in 0..NIBBLE_VALUES {
                set(line_of(index, value as usize), agrees(new, nibble, value));
            }
            if looks_at(new, nibble) {
                block.constrained[index / 64].fetch_or(1 << (index % 64), Ordering::Relaxed);
            }
        }
        let mut bounds = block.bounds[rule * self.bound_words()..].iter();
        for bound in new.bounds() {
            bounds
                .next()
                .expect("room for all bounds")
                .store(bound, Ordering::Relaxed);
        }
        block.candidates[rule].store(new.candidate.0, Ordering::Relaxed);
        set(RANGED, !new.is_masked());
        let highest = block
            .highest
            .load(Ordering::Relaxed)
            .max(new.candidate.priority().into());
        block.highest.store(highest, Ordering::Release);
        set(VALID, true);
    }
}

impl Block {
    #[inline]
    fn line(&self, index: usize) -> &[AtomicU64; LINE_WORDS] {
        &self.lines[index].0
    }

    /// Sets or clears a rule's bit in a line. Only the writer changes words.
    fn set(&self, line: usize, rule: usize, value: bool) {
        let word = &self.lines[line].0[rule / 64];
        let bit = 1 << (rule % 64);
        let present = word.load(Ordering::Relaxed);
        let changed = if value { present | bit } else { present & !bit };
        if changed != present {
            word.store(changed, Ordering::Release);
        }
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.lines) + size_of_val(&*self.candidates) + size_of_val(&*self.bounds)
    }
}

fn limbs(range: &Placement) -> usize {
    range.width.div_ceil(u64::BITS) as usize
}

/// Whether a key with `value` in a nibble can match the rule.
fn agrees(rule: &Rule, nibble: usize, value: u64) -> bool {
    let (word, shift) = place_of(nibble);
    (value << shift ^ rule.value[word]) & rule.mask[word] & (0xF << shift) == 0
}

/// Whether the rule's mask has bits of a nibble.
fn looks_at(rule: &Rule, nibble: usize) -> bool {
    let (word, shift) = place_of(nibble);
    rule.mask[word] >> shift & 0xF != 0
}

/// The word of a nibble, and the nibble's position in that word.
#[inline]
fn place_of(nibble: usize) -> (usize, usize) {
    (nibble / NIBBLES_IN_WORD, nibble % NIBBLES_IN_WORD * NIBBLE as usize)
}

/// The positions of the ones in a word, from the lowest on.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (place < u64::BITS).then_some(place as usize)
    }
}

fn line_of(index: usize, value: usize) -> usize {
    NIBBLE_LINES + index * NIBBLE_VALUES as usize + value
}

#[inline]
fn nibble_of(key: &[u64], nibble: usize) -> usize {
    let (word, shift) = place_of(nibble);
    (key[word] >> shift) as usize & 0xF
}

/// A block with the writer's bookkeeping.
#[derive(Debug)]
struct WrittenBlock {
    block: Arc<Block>,
    /// Bits that can be used. Those in limbo are neither free nor valid.
    free: Vec<u16>,
    live: usize,
}

/// The writer's side of [`BitVectors`]. All methods take the vectors that were made with it.
#[derive(Debug)]
pub(crate) struct BitVectorWriter {
    domain: Arc<Domain>,
    /// By the entry's id: block and bit.
    places: HashMap<u64, (usize, u16)>,
    blocks: Vec<WrittenBlock>,
    bits: Limbo<(usize, u16)>,
    lists: Limbo<Box<Box<[Arc<Block>]>>>,
}

impl BitVectorWriter {
    pub(crate) fn insert(&mut self, vectors: &BitVectors, rule: &Rule) {
        self.collect();
        let roomy = self.blocks.iter().position(|block| !block.free.is_empty());
        let index = roomy.unwrap_or_else(|| {
            self.blocks.push(WrittenBlock {
                block: Arc::new(vectors.new_block()),
                free: (0..BLOCK_RULES as u16).rev().collect(),
                live: 0,
            });
            self.publish_blocks(vectors);
            self.blocks.len() - 1
        });
        let block = &mut self.blocks[index];
        let bit = block.free.pop().expect("a block with room");
        block.live += 1;
        vectors.put(&block.block, bit.into(), rule);
        self.places.insert(rule.id, (index, bit));
    }

    /// Gives an existing rule another record.
    pub(crate) fn replace(&mut self, id: u64, candidate: Candidate) {
        let (block, bit) = self.places[&id];
        self.blocks[block].block.candidates[usize::from(bit)].store(candidate.0, Ordering::Release);
    }

    /// Removes an existing rule.
    pub(crate) fn remove(&mut self, vectors: &BitVectors, id: u64) {
        let (index, bit) = self.places.remove(&id).expect("a rule to be removed is there");
        let block = &mut self.blocks[index];
        block.block.set(VALID, bit.into(), false);
        block.live -= 1;
        self.bits.retire(&self.domain, (index, bit));
        self.collect();
        let present = self.blocks.len();
        // An empty block is removed when all its bits have left the limbo.
        while self.blocks.last().is_some_and(|block| block.free.len() == BLOCK_RULES) {
            self.blocks.pop();
        }
        if self.blocks.len() < present {
            self.publish_blocks(vectors);
        }
    }

    pub(crate) fn contains(&self, id: u64) -> bool {
        self.places.contains_key(&id)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.block.memory_bytes()).sum()
    }

    fn publish_blocks(&mut self, vectors: &BitVectors) {
        let list = self.blocks.iter().map(|block| Arc::clone(&block.block)).collect();
        let old = vectors.blocks.replace(list);
        self.lists.retire(&self.domain, old);
        self.collect();
    }

    fn collect(&mut self) {
        self.lists.collect(&self.domain, drop);
        let blocks = &mut self.blocks;
        self.bits.collect(&self.domain, |(index, bit)| {
            let block = &mut blocks[index];
            block.free.push(bit);
            if block.live == 0 {
                block.block.highest.store(0, Ordering::Relaxed);
            }
            if block.free.len() == BLOCK_RULES {
                // No reader holds a rule of the block.
                let constrained = block.block.constrained.iter();
                constrained.for_each(|word| word.store(0, Ordering::Relaxed));
            }
        });
    }
}
