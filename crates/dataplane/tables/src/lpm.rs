//! Longest-prefix match on one field of up to 128 bits: a tree bitmap under an array.
//!
//! The first bits of a key index an array of *cells*; the number of these bits depends on the number of prefixes.
//! Below the cells, every *node* covers six bits:
//!
//! ```text
//! cell   longest prefix up to here, node below
//! node   internal: 63 bits, one per prefix of 0 to 5 bits    external: 64 bits, one per child
//!        children in order of their six bits …              records of the prefixes in order of their bits …
//! ```
//!
//! A prefix of length L within a node whose bits are B has the number `1 << L | B`. So the longest matching prefix is
//! the highest bit of `internal` under a mask that the key's six bits select. Prefixes are not pushed down into longer
//! ones: the search remembers the last node that had a match. (After W. Eatherton, G. Varghese and Z. Dittia, "Tree
//! bitmap", 2004; with an array of cells in front as in DIR-24-8 and poptrie.)
//!
//! # Publication
//!
//! A node does not change, except for the words with the addresses of its children and the numbers of its records. To
//! add or remove a prefix, the writer copies one node with the change, adds new nodes below it, and stores the copy's
//! address in its parent. A prefix that ends in the array changes many cells, one after another; a look-up reads one
//! of them. When the array must become larger or smaller, the writer makes a new one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::epoch::{Domain, Limbo, Pin, Shared};
use crate::sync::{AtomicU64, Ordering, prefetch, prefetch_ahead};
use crate::view::FIND_MAX;

/// Bits that a node covers.
const STRIDE: u32 = 6;
const KEY_BITS: u32 = u128::BITS;

/// By six bits of a key: the numbers of the prefixes that match them.
const MATCHING: [u64; 1 << STRIDE] = {
    let mut masks = [0; 1 << STRIDE];
    let mut bits = 0;
    while bits < masks.len() {
        let mut length = 0;
        while length < STRIDE {
            masks[bits] |= 1 << ((1 << length) | (bits >> (STRIDE - length)));
            length += 1;
        }
        bits += 1;
    }
    masks
};

/// A prefix: its bits, left-aligned and followed by zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prefix {
    pub(crate) bits: u128,
    pub(crate) length: u32,
}

impl Prefix {
    /// The prefix of a field of `width` bits.
    pub(crate) fn new(value: u128, width: u32, length: u32) -> Prefix {
        Prefix {
            bits: left_aligned(value, width) & mask(length),
            length,
        }
    }

    pub(crate) fn shortened(self, length: u32) -> Prefix {
        Prefix {
            bits: self.bits & mask(length),
            length,
        }
    }

    /// The rest of the prefix after its first bits.
    fn behind(self, bits: u32) -> Prefix {
        Prefix {
            bits: self.bits.checked_shl(bits).unwrap_or(0),
            length: self.length - bits,
        }
    }

    /// The number of the prefix in a node, if it ends there.
    fn number(self) -> u32 {
        let value = self.bits.checked_shr(KEY_BITS - self.length).unwrap_or(0);
        1 << self.length | value as u32
    }

    /// The index of the child that contains the prefix.
    fn child(self) -> u32 {
        chunk(self.bits)
    }
}

/// A value of `width` bits, left-aligned.
#[inline]
pub(crate) fn left_aligned(value: u128, width: u32) -> u128 {
    value.checked_shl(KEY_BITS - width).unwrap_or(0)
}

fn mask(length: u32) -> u128 {
    u128::MAX.checked_shl(KEY_BITS - length).unwrap_or(0)
}

#[inline]
fn chunk(key: u128) -> u32 {
    (key >> (KEY_BITS - STRIDE)) as u32
}

/// The address of a node in memory: words as described in the module, with two records in a word. 0 stands for no
/// node.
///
/// It is the address of a leaked `Box<[AtomicU64]>`, whose length follows from the first two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node(u64);

const NO_NODE: Node = Node(0);
const INTERNAL: usize = 0;
const EXTERNAL: usize = 1;
const CHILDREN: usize = 2;

impl Node {
    fn allocate(words: Vec<u64>) -> Node {
        let words: Box<[AtomicU64]> = words.into_iter().map(AtomicU64::new).collect();
        Node(Box::into_raw(words).cast::<AtomicU64>().expose_provenance() as u64)
    }

    /// A word of the node.
    ///
    /// # Safety
    ///
    /// The node has not been freed, and `index` is below its length.
    #[inline]
    unsafe fn word<'a>(self, index: usize) -> &'a AtomicU64 {
        // SAFETY: the address is that of the first word of a leaked box of at least `index + 1` words.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(self.0 as usize).add(index) }
    }

    unsafe fn bitmap(self, which: usize) -> u64 {
        // SAFETY: as the caller promises; every node has both bitmaps.
        unsafe { self.word(which).load(Ordering::Relaxed) }
    }

    unsafe fn length(self) -> usize {
        // SAFETY: as the caller promises.
        let (internal, external) = unsafe { (self.bitmap(INTERNAL), self.bitmap(EXTERNAL)) };
        CHILDREN + external.count_ones() as usize + internal.count_ones().div_ceil(2) as usize
    }

    /// Frees the node, but not its children.
    ///
    /// # Safety
    ///
    /// The node has not been freed, and is not accessed any more.
    unsafe fn free(self) {
        // SAFETY: as the caller promises; the address and length are those of `allocate`.
        unsafe {
            let words = std::ptr::with_exposed_provenance_mut::<AtomicU64>(self.0 as usize);
            let length = self.length();
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(words, length)));
        }
    }

    /// A copy of the node, for the writer to edit.
    ///
    /// # Safety
    ///
    /// The node has not been freed.
    unsafe fn open(self) -> OpenNode {
        // SAFETY: all indices are below the length.
        unsafe {
            let words: Vec<u64> = (0..self.length())
                .map(|index| self.word(index).load(Ordering::Relaxed))
                .collect();
            let children = words[EXTERNAL].count_ones() as usize;
            let records = words[INTERNAL].count_ones() as usize;
            let halves = words[CHILDREN + children..]
                .iter()
                .flat_map(|&word| [word as u32, (word >> 32) as u32]);
            OpenNode {
                internal: words[INTERNAL],
                external: words[EXTERNAL],
                children: words[CHILDREN..][..children].to_vec(),
                records: halves.take(records).collect(),
            }
        }
    }
}

/// A node under construction.
#[derive(Debug, Default)]
struct OpenNode {
    internal: u64,
    external: u64,
    children: Vec<u64>,
    records: Vec<u32>,
}

/// The number of ones in a bitmap below a bit number.
#[inline]
fn rank(bitmap: u64, number: u32) -> usize {
    (bitmap & ((1 << number) - 1)).count_ones() as usize
}

impl OpenNode {
    fn close(self) -> Node {
        let pairs = self.records.chunks(2);
        let records = pairs.map(|pair| u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32);
        let bitmaps = [self.internal, self.external];
        Node::allocate(bitmaps.into_iter().chain(self.children).chain(records).collect())
    }

    fn set_record(&mut self, number: u32, record: u32) {
        let at = rank(self.internal, number);
        if self.internal >> number & 1 == 1 {
            self.records[at] = record;
        } else {
            self.internal |= 1 << number;
            self.records.insert(at, record);
        }
    }

    fn remove_record(&mut self, number: u32) {
        self.internal &= !(1 << number);
        self.records.remove(rank(self.internal, number));
    }

    fn add_child(&mut self, child: u32, node: Node) {
        self.children.insert(rank(self.external, child), node.0);
        self.external |= 1 << child;
    }

    fn remove_child(&mut self, child: u32) {
        self.external &= !(1 << child);
        self.children.remove(rank(self.external, child));
    }

    fn is_empty(&self) -> bool {
        self.internal == 0 && self.external == 0
    }
}

/// New nodes for one prefix.
fn chain(prefix: Prefix, record: u32) -> Node {
    let mut node = OpenNode::default();
    if prefix.length < STRIDE {
        node.set_record(prefix.number(), record);
    } else {
        node.add_child(prefix.child(), chain(prefix.behind(STRIDE), record));
    }
    node.close()
}

/// The array, and all nodes below it.
#[derive(Debug)]
struct Tree {
    /// Bits that index the array.
    root_bits: u32,
    cells: Box<[Cell]>,
}

/// What is known after the first bits of a key.
#[derive(Debug, Default)]
struct Cell {
    node: AtomicU64,
    /// The low half is the record of the longest prefix of at most the array's bits, plus 1. The high half is the
    /// length of that prefix, which only the writer reads.
    record: AtomicU64,
}

/// Finds the record of the longest prefix of a key.
#[derive(Debug)]
pub(crate) struct PrefixTree {
    tree: Shared<Tree>,
}

impl Tree {
    fn new(root_bits: u32) -> Tree {
        Tree {
            root_bits,
            cells: (0..1usize << root_bits).map(|_| Cell::default()).collect(),
        }
    }

    #[inline]
    fn index(&self, key: u128) -> usize {
        key.checked_shr(KEY_BITS - self.root_bits).unwrap_or(0) as usize
    }

    fn find(&self, key: u128) -> Option<u32> {
        let cell = &self.cells[self.index(key)];
        let short = cell.record.load(Ordering::Acquire) as u32;
        let mut best = None;
        let mut node = Node(cell.node.load(Ordering::Acquire));
        let mut rest = key << self.root_bits;
        while node != NO_NODE {
            // SAFETY: the caller has a pin or is the writer, so reachable nodes are not freed; words are read only
            // where the bitmaps say that they are.
            unsafe {
                let bits = chunk(rest);
                let internal = node.bitmap(INTERNAL);
                let external = node.bitmap(EXTERNAL);
                let matching = internal & MATCHING[bits as usize];
                if matching != 0 {
                    let number = u64::BITS - 1 - matching.leading_zeros();
                    let at = rank(internal, number);
                    best = Some((node.word(CHILDREN + external.count_ones() as usize + at / 2), at % 2));
                }
                if external >> bits & 1 == 0 {
                    break;
                }
                node = Node(node.word(CHILDREN + rank(external, bits)).load(Ordering::Acquire));
                rest <<= STRIDE;
            }
        }
        match best {
            Some((word, half)) => Some((word.load(Ordering::Acquire) >> (32 * half)) as u32),
            None => short.checked_sub(1),
        }
    }

    /// Frees all nodes.
    ///
    /// # Safety
    ///
    /// The nodes are not accessed any more.
    unsafe fn free_nodes(&self) {
        let mut nodes: Vec<Node> = self.roots().collect();
        while let Some(node) = nodes.pop() {
            // SAFETY: each node has one parent, and is freed after the addresses of its children were read.
            unsafe {
                nodes.extend(node.open().children.into_iter().map(Node));
                node.free();
            }
        }
    }

    fn roots(&self) -> impl Iterator<Item = Node> {
        let roots = self.cells.iter().map(|cell| Node(cell.node.load(Ordering::Acquire)));
        roots.filter(|&node| node != NO_NODE)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // SAFETY: a tree that is dropped is not accessed any more.
        unsafe { self.free_nodes() };
    }
}

impl PrefixTree {
    /// An empty tree for fields of `width` bits, and its writer.
    pub(crate) fn new(domain: &Arc<Domain>, width: u32) -> (PrefixTree, PrefixWriter) {
        let tree = PrefixTree {
            tree: Shared::new(Tree::new(0)),
        };
        let writer = PrefixWriter {
            domain: Arc::clone(domain),
            width,
            records: HashMap::new(),
            node_bytes: 0,
            nodes: Limbo::default(),
            trees: Limbo::default(),
        };
        (tree, writer)
    }

    /// The record of the longest prefix of a key, which is left-aligned.
    #[inline]
    pub(crate) fn find(&self, key: u128, pin: &Pin<'_>) -> Option<u32> {
        self.tree.load(pin).find(key)
    }

    /// The records of several keys, at most [`FIND_MAX`].
    #[inline]
    pub(crate) fn find_all(
        &self,
        count: usize,
        key: impl Fn(usize) -> u128,
        mut found: impl FnMut(usize, Option<u32>),
        pin: &Pin<'_>,
    ) {
        let tree = self.tree.load(pin);
        let mut cells = [0; FIND_MAX];
        for (index, cell) in cells[..count].iter_mut().enumerate() {
            *cell = tree.index(key(index));
        }
        let fetch = |index: usize| prefetch(&tree.cells[cells[index]]);
        prefetch_ahead(count, fetch, |index| {
            let node = tree.cells[cells[index]].node.load(Ordering::Acquire) as usize;
            if node != 0 {
                // SAFETY: reachable nodes are not freed while the pin lives.
                prefetch(unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(node) });
            }
        });
        for index in 0..count {
            found(index, tree.find(key(index)));
        }
    }

    #[inline]
    pub(crate) fn prefetch(&self, key: u128, pin: &Pin<'_>) {
        let tree = self.tree.load(pin);
        prefetch(&tree.cells[tree.index(key)]);
    }
}

/// The writer's side of a [`PrefixTree`]. All methods take the tree that was made with it.
#[derive(Debug)]
pub(crate) struct PrefixWriter {
    domain: Arc<Domain>,
    width: u32,
    records: HashMap<Prefix, u32>,
    /// Bytes of all nodes that readers can find.
    node_bytes: usize,
    nodes: Limbo<Node>,
    trees: Limbo<Box<Tree>>,
}

impl PrefixWriter {
    /// Adds a new prefix.
    pub(crate) fn insert(&mut self, tree: &PrefixTree, prefix: Prefix, record: u32) {
        self.collect();
        self.records.insert(prefix, record);
        if self.wanted_root_bits() > self.present(tree).root_bits {
            self.rebuild(tree);
        } else {
            self.put(self.present(tree), prefix, record);
        }
    }

    /// Gives an existing prefix another record, and returns the number of the old one.
    pub(crate) fn replace(&mut self, tree: &PrefixTree, prefix: Prefix, record: u32) -> u32 {
        self.collect();
        self.put(self.present(tree), prefix, record);
        self.records
            .insert(prefix, record)
            .expect("a prefix to be replaced is there")
    }

    /// Removes an existing prefix, and returns its record's number.
    pub(crate) fn remove(&mut self, tree: &PrefixTree, prefix: Prefix) -> u32 {
        self.collect();
        let record = self.records.remove(&prefix).expect("a prefix to be removed is there");
        let present = self.present(tree);
        if prefix.length <= present.root_bits {
            self.remove_from_cells(present, prefix);
        } else {
            let cell = &present.cells[present.index(prefix.bits)];
            self.remove_from_node(&cell.node, prefix.behind(present.root_bits));
        }
        if self.records.len() * 8 < entries_for(present.root_bits) {
            self.rebuild(tree);
        }
        record
    }

    pub(crate) fn memory_bytes(&self, tree: &PrefixTree) -> usize {
        size_of_val(&*self.present(tree).cells) + self.node_bytes
    }

    fn present<'a>(&self, tree: &'a PrefixTree) -> &'a Tree {
        // SAFETY: this is the tree's writer, and `rebuild` does not use the old tree after replacing it.
        unsafe { tree.tree.load_as_writer() }
    }

    /// The number of the array's index bits that suits the number of prefixes.
    fn wanted_root_bits(&self) -> u32 {
        let steps = [0, 8, 12, 16, 20];
        let mut suitable = steps.into_iter().rev();
        let wanted = suitable.find(|&bits| self.records.len() >= entries_for(bits));
        wanted.unwrap_or(0).min(self.width)
    }

    fn rebuild(&mut self, tree: &PrefixTree) {
        let new = Tree::new(self.wanted_root_bits());
        self.node_bytes = 0;
        let prefixes: Vec<(Prefix, u32)> = self.records.iter().map(|(prefix, record)| (*prefix, *record)).collect();
        for (prefix, record) in prefixes {
            self.put(&new, prefix, record);
        }
        let old = tree.tree.replace(new);
        self.trees.retire(&self.domain, old);
        self.collect();
    }

    /// Adds a prefix, or changes its record.
    fn put(&mut self, tree: &Tree, prefix: Prefix, record: u32) {
        let cell = tree.index(prefix.bits);
        if prefix.length > tree.root_bits {
            return self.put_into_node(&tree.cells[cell].node, prefix.behind(tree.root_bits), record);
        }
        let published = u64::from(record + 1) | u64::from(prefix.length) << 32;
        for cell in &tree.cells[cell..][..1 << (tree.root_bits - prefix.length)] {
            let present = cell.record.load(Ordering::Relaxed);
            if present == 0 || present >> 32 <= prefix.length.into() {
                cell.record.store(published, Ordering::Release);
            }
        }
    }

    /// Gives the cells of a prefix to the next shorter prefix, which is the same for all of them.
    fn remove_from_cells(&mut self, tree: &Tree, prefix: Prefix) {
        let shorter = (0..prefix.length).rev().map(|length| prefix.shortened(length));
        let next = shorter
            .filter_map(|shorter| Some((shorter, *self.records.get(&shorter)?)))
            .map(|(shorter, record)| u64::from(record + 1) | u64::from(shorter.length) << 32)
            .next();
        for cell in &tree.cells[tree.index(prefix.bits)..][..1 << (tree.root_bits - prefix.length)] {
            if cell.record.load(Ordering::Relaxed) >> 32 == prefix.length.into() {
                cell.record.store(next.unwrap_or(0), Ordering::Release);
            }
        }
    }

    fn put_into_node(&mut self, place: &AtomicU64, prefix: Prefix, record: u32) {
        let node = Node(place.load(Ordering::Relaxed));
        if node == NO_NODE {
            return self.publish(place, NO_NODE, chain(prefix, record));
        }
        // SAFETY: the writer frees no reachable node.
        let (mut open, external) = unsafe { (node.open(), node.bitmap(EXTERNAL)) };
        if prefix.length < STRIDE {
            open.set_record(prefix.number(), record);
        } else if external >> prefix.child() & 1 == 1 {
            // SAFETY: as above; the bitmap says that the child is there.
            let child = unsafe { node.word(CHILDREN + rank(external, prefix.child())) };
            return self.put_into_node(child, prefix.behind(STRIDE), record);
        } else {
            let below = chain(prefix.behind(STRIDE), record);
            self.node_bytes += bytes_of_chain(below);
            open.add_child(prefix.child(), below);
        }
        self.exchange(place, node, open.close());
    }

    /// Removes a prefix below a node. Returns whether the node is gone.
    fn remove_from_node(&mut self, place: &AtomicU64, prefix: Prefix) -> bool {
        let node = Node(place.load(Ordering::Relaxed));
        // SAFETY: the writer frees no reachable node.
        let (mut open, external) = unsafe { (node.open(), node.bitmap(EXTERNAL)) };
        if prefix.length < STRIDE {
            open.remove_record(prefix.number());
        } else {
            // SAFETY: as above; the prefix exists, so the child does.
            let child = unsafe { node.word(CHILDREN + rank(external, prefix.child())) };
            if !self.remove_from_node(child, prefix.behind(STRIDE)) {
                return false;
            }
            open.remove_child(prefix.child());
        }
        let gone = open.is_empty();
        let changed = if gone { NO_NODE } else { open.close() };
        self.exchange(place, node, changed);
        gone
    }

    /// Publishes new nodes where there were none.
    fn publish(&mut self, place: &AtomicU64, old: Node, new: Node) {
        debug_assert_eq!(old, NO_NODE);
        self.node_bytes += bytes_of_chain(new);
        place.store(new.0, Ordering::Release);
    }

    /// Publishes a node in place of one that has the same children except for the change.
    fn exchange(&mut self, place: &AtomicU64, old: Node, new: Node) {
        self.node_bytes = self.node_bytes + bytes_of(new) - bytes_of(old);
        place.store(new.0, Ordering::Release);
        self.nodes.retire(&self.domain, old);
    }

    fn collect(&mut self) {
        // SAFETY: no reader can hold these nodes, and each was retired once.
        self.nodes.collect(&self.domain, |node| unsafe { node.free() });
        self.trees.collect(&self.domain, drop);
    }
}

impl Drop for PrefixWriter {
    fn drop(&mut self) {
        // The table has waited for its readers: see `Table`.
        self.collect();
    }
}

/// The number of prefixes from which on an array with this many index bits is worth its memory.
fn entries_for(root_bits: u32) -> usize {
    match root_bits {
        0 => 0,
        bits => 1 << bits.saturating_sub(4),
    }
}

fn bytes_of(node: Node) -> usize {
    if node == NO_NODE {
        return 0;
    }
    // SAFETY: the writer calls this only with nodes that it has just made or not yet retired.
    unsafe { node.length() * size_of::<AtomicU64>() }
}

/// Bytes of new nodes, each of which has at most one child.
fn bytes_of_chain(mut node: Node) -> usize {
    let mut bytes = 0;
    while node != NO_NODE {
        bytes += bytes_of(node);
        // SAFETY: as in `bytes_of`.
        let children = unsafe { node.open().children };
        node = children.first().map_or(NO_NODE, |&child| Node(child));
    }
    bytes
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Random prefixes of a few lengths, against a scan.
    #[test]
    fn finds_the_longest_prefix() {
        for (width, entries) in [(4, 30), (32, 600), (33, 5000), (128, 5000)] {
            let domain = Domain::new();
            let (tree, mut writer) = PrefixTree::new(&domain, width);
            let mut reader = domain.reader();
            let mut state = 1u64;
            let mut random = || {
                state = crate::exact::hash_words(&[state]);
                state
            };
            let mut prefixes: Vec<(Prefix, u32)> = Vec::new();
            for record in 0..entries {
                let value =
                    u128::from(random() % 4096) << (width.max(12) - 12).min(width - 1) | u128::from(random() % 3);
                let prefix = Prefix::new(value, width, random() as u32 % (width + 1));
                match prefixes.iter().position(|(known, _)| *known == prefix) {
                    None => {
                        writer.insert(&tree, prefix, record);
                        prefixes.push((prefix, record));
                    }
                    Some(at) if random() % 2 == 0 => {
                        assert_eq!(writer.replace(&tree, prefix, record), prefixes[at].1);
                        prefixes[at].1 = record;
                    }
                    Some(at) => {
                        assert_eq!(writer.remove(&tree, prefix), prefixes[at].1);
                        prefixes.swap_remove(at);
                    }
                }
                let key = prefix.bits | u128::from(random() % 2) << (KEY_BITS - width);
                let matching = prefixes
                    .iter()
                    .filter(|(known, _)| key & mask(known.length) == known.bits);
                let longest = matching
                    .max_by_key(|(known, _)| known.length)
                    .map(|(_, record)| *record);
                assert_eq!(tree.find(key, &reader.pin()), longest);
            }
            for (prefix, record) in prefixes {
                assert_eq!(writer.remove(&tree, prefix), record);
            }
            assert_eq!(writer.node_bytes, 0);
            assert_eq!(writer.memory_bytes(&tree), size_of::<Cell>());
        }
    }
}
