//! A program's parser unfolded: selects at fixed bits of the frame, and what each way takes.

use super::cycles::{Costs, Taken, bits_of};
use super::values::{Value, Values};
use forebay_bits::Bits;
use forebay_ir::{BlockId, Body, Expr, HeaderId, KeySet, Op, Program, SelectCase, SlotId, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// The most nodes of a tree. Of a larger one the deepest selects are left out: the way goes on by their defaults.
const NODES_MAX: usize = 4096;

/// The most selects on a way, more than a chip's parser has rows for: there are loops without an end.
const SELECTS_MAX: usize = 128;

/// The most blocks on a way: parsers that consume nothing end too.
const BLOCKS_MAX: usize = 4096;

/// What a packet meets in a parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Time, in [`PARTS`](super::PARTS) of a cycle.
    pub(crate) parts: u32,
    /// Bytes of the headers that were extracted.
    pub(crate) header_bytes: u32,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct ParseTree {
    nodes: Vec<Node>,
    root: u32,
    /// The most bytes of headers on a way up to the end of each header.
    ends_of_headers: BTreeMap<HeaderId, u32>,
}

#[derive(Debug)]
enum Node {
    End(Parsed),
    Select {
        /// What was met so far; the end of a frame that is too short to go on.
        so_far: Parsed,
        keys: Box<[Key]>,
        cases: Box<[Case]>,
        default: u32,
    },
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
enum Key {
    Bits(FrameBits),
    Constant(u64),
    /// The bits of it in a mask.
    InstanceType(u64),
    IngressPort(u64),
}

/// Up to 64 bits of a frame, wherever they begin.
#[derive(Clone, Copy, Debug)]
struct FrameBits {
    /// The bytes in which they are.
    first: usize,
    end: usize,
    /// How many bits of the last byte come after them.
    behind: u32,
    mask: u64,
}

#[derive(Debug)]
struct Case {
    tests: Box<[Test]>,
    target: u32,
}

/// `low <= key & mask <= high`.
#[derive(Clone, Copy, Debug)]
struct Test {
    low: u64,
    high: u64,
    mask: u64,
}

impl ParseTree {
    /// Unfolds a parser that begins with `added_states` states of the chip's own.
    pub(crate) fn new(program: &Program, body: &Body, costs: &Costs, added_states: u32) -> ParseTree {
        let with_selects = |selects_max| {
            let builder = Builder {
                program,
                body,
                costs,
                selects_max,
                nodes: Vec::new(),
                ends_of_headers: BTreeMap::new(),
            };
            builder.build(added_states)
        };
        let has_room = |tree: &ParseTree| tree.nodes.len() < NODES_MAX;
        let whole = with_selects(SELECTS_MAX);
        if has_room(&whole) {
            return whole;
        }
        let (mut fitting, mut too_many) = (0, SELECTS_MAX);
        while too_many - fitting > 1 {
            let middle = fitting + (too_many - fitting) / 2;
            if has_room(&with_selects(middle)) {
                fitting = middle
            } else {
                too_many = middle
            }
        }
        with_selects(fitting)
    }

    /// What a packet meets.
    #[inline]
    pub(crate) fn walk(&self, frame: &[u8], instance_type: u32, ingress_port: u32) -> Parsed {
        let mut node = self.root;
        loop {
            match &self.nodes[node as usize] {
                Node::End(parsed) => return *parsed,
                Node::Select {
                    so_far,
                    keys,
                    cases,
                    default,
                } => {
                    let value = |key: &Key| key.read(frame, instance_type, ingress_port);
                    let found = match &keys[..] {
                        [key] => value(key).map(|value| of_values(cases, &[value])),
                        [first, second] => match (value(first), value(second)) {
                            (Some(first), Some(second)) => Some(of_values(cases, &[first, second])),
                            _ => None,
                        },
                        [first, second, third] => match (value(first), value(second), value(third)) {
                            (Some(first), Some(second), Some(third)) => Some(of_values(cases, &[first, second, third])),
                            _ => None,
                        },
                        keys => of_keys(keys, cases, value),
                    };
                    match found {
                        Some(case) => node = case.map_or(*default, |case| case.target),
                        None => return *so_far,
                    }
                }
            }
        }
    }

    /// The most bytes of headers on a way up to the end of the last of these.
    pub(crate) fn bytes_up_to_last(&self, headers: &BTreeSet<HeaderId>) -> u32 {
        let ends = headers.iter().filter_map(|header| self.ends_of_headers.get(header));
        ends.copied().max().unwrap_or(0)
    }

    /// The ends of all ways.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Parsed> + '_ {
        self.nodes.iter().filter_map(|node| match node {
            Node::End(parsed) => Some(*parsed),
            Node::Select { .. } => None,
        })
    }
}

/// The case for the values of all keys.
#[inline]
fn of_values<'c, const KEYS: usize>(cases: &'c [Case], values: &[u64; KEYS]) -> Option<&'c Case> {
    let holds = |case: &&Case| {
        let tests = case.tests.first_chunk::<KEYS>();
        tests.is_some_and(|tests| tests.iter().zip(values).all(|(test, value)| test.holds(*value)))
    };
    cases.iter().find(holds)
}

/// The case for the values of keys, if the frame has all of these.
#[inline(never)]
fn of_keys<'c>(keys: &[Key], cases: &'c [Case], value: impl Fn(&Key) -> Option<u64>) -> Option<Option<&'c Case>> {
    if keys.iter().any(|key| value(key).is_none()) {
        return None;
    }
    let holds = |(test, key): (&Test, &Key)| value(key).is_some_and(|value| test.holds(value));
    Some(cases.iter().find(|case| case.tests.iter().zip(keys).all(holds)))
}

#[cfg(test)]
impl ParseTree {
    /// One state for every packet.
    pub(crate) fn of_one_state() -> ParseTree {
        let parsed = Parsed {
            parts: super::PARTS,
            header_bytes: 0,
        };
        ParseTree {
            nodes: vec![Node::End(parsed)],
            root: 0,
            ends_of_headers: BTreeMap::new(),
        }
    }
}

impl Key {
    /// Its value; none when the frame ends before it.
    #[inline]
    fn read(self, frame: &[u8], instance_type: u32, ingress_port: u32) -> Option<u64> {
        match self {
            Key::Bits(bits) => bits.read(frame),
            Key::Constant(value) => Some(value),
            Key::InstanceType(mask) => Some(u64::from(instance_type) & mask),
            Key::IngressPort(mask) => Some(u64::from(ingress_port) & mask),
        }
    }
}

impl Test {
    #[inline]
    fn holds(self, value: u64) -> bool {
        (self.low..=self.high).contains(&(value & self.mask))
    }
}

impl FrameBits {
    /// The bits of a field that `mask` selects, which counts from the last bit.
    fn new(bit: u32, width: u32, mask: u64) -> FrameBits {
        let (bit, width) = (bit as usize, width as usize);
        let end = (bit + width).div_ceil(8);
        FrameBits {
            first: bit / 8,
            end,
            behind: (8 * end - (bit + width)) as u32,
            mask: mask & (u64::MAX >> (64 - width)),
        }
    }

    /// The value of the bits; none when the frame ends before them.
    #[inline]
    fn read(self, frame: &[u8]) -> Option<u64> {
        // Nearly always there are eight bytes up to their end.
        let word = self.end.checked_sub(8).and_then(|start| frame.get(start..self.end));
        match word.and_then(|word| word.try_into().ok()) {
            Some(word) if self.end - self.first <= 8 => Some(u64::from_be_bytes(word) >> self.behind & self.mask),
            _ => self.read_bytes(frame),
        }
    }

    #[inline(never)]
    fn read_bytes(self, frame: &[u8]) -> Option<u64> {
        let bytes = frame.get(self.first..self.end)?;
        let value = bytes.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
        Some((value >> self.behind) as u64 & self.mask)
    }
}

/// A path through the parser, as far as it has been followed.
#[derive(Clone)]
struct Way {
    values: Values,
    taken: Taken,
    /// Where in the frame; none after something whose length the packet decides.
    bit: Option<u32>,
    header_bits: u32,
    blocks: usize,
    selects: usize,
    /// Blocks since `bit` is not known or the last select: of a loop without a known end one round counts.
    met: BTreeSet<BlockId>,
}

impl Way {
    /// The next bits of the frame go into a slot.
    fn set_frame(&mut self, slot: SlotId, width: u32) {
        match self.bit {
            Some(bit) => self.values.set_frame(slot, bit, width),
            None => self.values.set(slot, Value::Unknown),
        }
    }

    /// The parser moves on by this many bits, which may not be known.
    fn move_on(&mut self, bits: Option<u32>) {
        self.bit = self.bit.zip(bits).map(|(bit, more)| bit.saturating_add(more));
    }
}

struct Builder<'p> {
    program: &'p Program,
    body: &'p Body,
    costs: &'p Costs,
    /// The most selects on a way.
    selects_max: usize,
    nodes: Vec<Node>,
    ends_of_headers: BTreeMap<HeaderId, u32>,
}

impl Builder<'_> {
    fn build(mut self, added_states: u32) -> ParseTree {
        let way = Way {
            values: Values::new(self.program),
            taken: Taken::new(added_states),
            bit: Some(0),
            header_bits: 0,
            blocks: 0,
            selects: 0,
            met: BTreeSet::new(),
        };
        let root = self.unfold(BlockId(0), way);
        ParseTree {
            nodes: self.nodes,
            root,
            ends_of_headers: self.ends_of_headers,
        }
    }

    /// The node at which a way goes on in a block.
    fn unfold(&mut self, mut block: BlockId, mut way: Way) -> u32 {
        loop {
            let body = self.body;
            let present = &body.blocks[block.index()];
            way.blocks += 1;
            let has_all_selects = way.selects == self.selects_max;
            let is_again = (way.bit.is_none() || has_all_selects) && !way.met.insert(block);
            if is_again || way.blocks > BLOCKS_MAX || self.nodes.len() >= NODES_MAX {
                return self.end(way);
            }
            if present.label.is_some() {
                way.taken.end_state(self.costs);
            }
            for statement in &present.statements {
                self.follow(&statement.op, &mut way);
            }
            block = match &present.terminator {
                Terminator::Jump(next) => *next,
                Terminator::Branch {
                    condition,
                    then_block,
                    else_block,
                } => match way.values.of(condition) {
                    Value::Constant(truth) if truth.is_zero() => *else_block,
                    Value::Constant(_) => *then_block,
                    _ if self.rejects(*then_block) => *else_block,
                    _ if self.rejects(*else_block) => *then_block,
                    _ if has_all_selects => *else_block,
                    _ => {
                        way.selects += 1;
                        return self.longest(&[*then_block, *else_block], &way);
                    }
                },
                Terminator::Select { default, .. } if has_all_selects => {
                    way.taken.touch();
                    *default
                }
                Terminator::Select { keys, cases, default } => return self.select(keys, cases, *default, way),
                Terminator::Return | Terminator::Exit | Terminator::Reject(_) | Terminator::Apply { .. } => {
                    return self.end(way);
                }
            };
        }
    }

    /// Follows an operation.
    fn follow(&mut self, op: &Op, way: &mut Way) {
        match op {
            Op::Extract { header, .. } => self.extract(*header, way),
            Op::Advance { bits } => {
                way.taken.touch();
                let bits = match way.values.of(bits) {
                    Value::Constant(bits) => Some(bits.to_u64_saturating() as u32),
                    _ => None,
                };
                way.move_on(bits);
            }
            Op::Lookahead { slot } => {
                way.taken.touch();
                way.set_frame(*slot, self.program.slot(*slot).width);
            }
            Op::Assign { slot, value } => {
                let value = way.values.of(value);
                way.values.set(*slot, value);
            }
            _ => {
                // Lengths, hashes, registers, random numbers.
                if let Some(slot) = op.target() {
                    way.values.set(slot, Value::Unknown);
                }
            }
        }
    }

    fn extract(&mut self, id: HeaderId, way: &mut Way) {
        let header = &self.program.headers[id.index()];
        way.taken.extract(self.program, id, self.costs);
        for field in &header.fields {
            let width = self.program.slot(field.slot).width;
            match field.length {
                None => {
                    way.set_frame(field.slot, width);
                    way.move_on(Some(width));
                }
                Some(length) => {
                    way.values.set(field.slot, Value::Unknown);
                    way.values.set(length, Value::Unknown);
                    way.move_on(None);
                }
            }
        }
        way.values.set(header.valid, Value::Constant(Bits::from_bool(true)));
        way.header_bits += bits_of(self.program, header);
        let end = self.ends_of_headers.entry(id).or_default();
        *end = (*end).max(way.header_bits / 8);
    }

    /// Whether a block only ends the parser with an error.
    fn rejects(&self, block: BlockId) -> bool {
        matches!(self.body.blocks[block.index()].terminator, Terminator::Reject(_))
    }

    fn select(&mut self, keys: &[Expr], cases: &[SelectCase], default: BlockId, mut way: Way) -> u32 {
        way.taken.touch();
        way.selects += 1;
        let known: Option<Vec<Key>> = keys.iter().map(|key| key_of(way.values.of(key))).collect();
        let tests: Option<Vec<Vec<Test>>> = cases.iter().map(tests_of).collect();
        let (Some(keys), Some(tests)) = (known, tests) else {
            let targets: Vec<BlockId> = cases.iter().map(|case| case.target).chain([default]).collect();
            return self.longest(&targets, &way);
        };
        let so_far = self.parsed(&way);
        let mut targets = Vec::new();
        for (case, tests) in cases.iter().zip(tests) {
            let target = self.unfold(case.target, way.clone());
            targets.push(Case {
                tests: tests.into(),
                target,
            });
        }
        let default = self.unfold(default, way);
        self.add(Node::Select {
            so_far,
            keys: keys.into(),
            cases: targets.into(),
            default,
        })
    }

    /// The continuation that takes longest, of those among which nothing known decides.
    fn longest(&mut self, blocks: &[BlockId], way: &Way) -> u32 {
        let nodes: Vec<u32> = blocks.iter().map(|block| self.unfold(*block, way.clone())).collect();
        let longest = nodes.into_iter().max_by_key(|node| self.most_parts(*node));
        longest.unwrap_or_else(|| self.end(way.clone()))
    }

    fn most_parts(&self, node: u32) -> u32 {
        match &self.nodes[node as usize] {
            Node::End(parsed) => parsed.parts,
            Node::Select { cases, default, .. } => {
                let targets = cases.iter().map(|case| case.target).chain([*default]);
                targets.map(|target| self.most_parts(target)).max().unwrap_or(0)
            }
        }
    }

    fn end(&mut self, way: Way) -> u32 {
        let parsed = self.parsed(&way);
        self.add(Node::End(parsed))
    }

    fn parsed(&self, way: &Way) -> Parsed {
        Parsed {
            parts: way.taken.clone().end_state(self.costs),
            header_bytes: way.header_bits / 8,
        }
    }

    fn add(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }
}

fn key_of(value: Value) -> Option<Key> {
    match value {
        Value::Constant(bits) => bits.try_to_u64().map(Key::Constant),
        Value::Frame { bit, width, mask } => Some(Key::Bits(FrameBits::new(bit, width, mask))),
        Value::InstanceType { mask } => Some(Key::InstanceType(mask)),
        Value::IngressPort { mask } => Some(Key::IngressPort(mask)),
        Value::Unknown => None,
    }
}

fn tests_of(case: &SelectCase) -> Option<Vec<Test>> {
    case.keysets.iter().map(test_of).collect()
}

/// The test of a set of values; none when it is known only at run time.
fn test_of(keyset: &KeySet) -> Option<Test> {
    let everything = u64::MAX;
    Some(match keyset {
        KeySet::Any => Test {
            low: 0,
            high: everything,
            mask: everything,
        },
        KeySet::Exact(value) => Test {
            low: value.try_to_u64()?,
            high: value.try_to_u64()?,
            mask: everything,
        },
        KeySet::Mask { value, mask } => {
            let mask = mask.try_to_u64()?;
            let value = value.try_to_u64()? & mask;
            Test {
                low: value,
                high: value,
                mask,
            }
        }
        KeySet::Range { low, high } => Test {
            low: low.try_to_u64()?,
            high: high.try_to_u64()?,
            mask: everything,
        },
        KeySet::Equals(_) | KeySet::EqualsMasked { .. } | KeySet::ValueSet { .. } => return None,
    })
}
