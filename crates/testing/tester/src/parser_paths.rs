//! Traffic from the program's own headers: frames for each way through its parser.
//!
//! The parser's graph is walked from its start. Every `select` and every comparison with a constant fixes bits of the
//! frame; bits that stay free are random. What does not come from the frame has a value, as positions in header stacks
//! and counters of rounds have, so loops end. A way counts when the reference executor extracts the same headers from
//! the frame, so what the walk does not understand (value sets, arithmetic on fields) costs ways, but never gives a
//! wrong frame.

use crate::entries::correct_checksums;
use crate::frames::TEMPLATE_TAG;
use crate::tag::TAG_BYTES;
use forebay_bits::{Bits, write_bits};
use forebay_ir::{
    BinaryOp, BlockId, Body, Expr, HeaderId, KeySet, Op, Program, Role, SelectCase, SlotId, SlotKind, Terminator,
    UnaryOp,
};
use forebay_packet::{MemoryPort, SplitMix64};
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_switch::{Config, Switch};
use std::collections::HashMap;
use std::sync::Arc;

/// Ways that are followed at most, blocks of a way, and blocks of all ways.
const WAYS_MAX: usize = 1 << 10;
const BLOCKS_MAX: usize = 1 << 8;
const STEPS_MAX: usize = 1 << 14;

/// Random values that are tried: for a default case, and for a whole frame.
const TRIES: usize = 32;

/// Polls in which a frame passes a program.
const POLLS: u32 = 64;

/// Frames of this length: the same number for each path through the program's parser.
///
/// # Errors
/// When the program has no parser that accepts such frames, in words.
pub fn frames(
    pipeline: &Arc<Pipeline>,
    port: u32,
    bytes: usize,
    variants: usize,
    seed: u64,
) -> Result<Vec<Vec<u8>>, String> {
    let program = pipeline.program();
    let parser = [Role::Parser, Role::IngressParser, Role::MainParser]
        .iter()
        .find_map(|role| program.stage(*role));
    let parser = parser.ok_or("the program has no parser")?;
    let mut search = Search {
        program,
        parser,
        bits_max: 8 * bytes,
        random: SplitMix64::new(seed),
        ways: Vec::new(),
        steps: 0,
    };
    search.follow(Way::default(), BlockId(0), 0);
    let Search { ways, mut random, .. } = search;
    let mut bench = Bench::new(pipeline.clone(), port);
    let mut frames = Vec::new();
    for way in ways.iter().filter(|way| way.cursor.div_ceil(8) + TAG_BYTES <= bytes) {
        for _ in 0..variants {
            let mut tried = (0..TRIES).map(|_| way.frame(bytes, &mut random));
            frames.extend(tried.find(|frame| bench.extracts(frame) == way.headers));
        }
    }
    if frames.is_empty() {
        Err(format!(
            "no frame of {bytes} bytes with a tag at its end passes the parser of the program"
        ))
    } else {
        Ok(frames)
    }
}

/// A path through the parser so far.
#[derive(Clone, Default)]
struct Way {
    /// Bits of the frame that are fixed.
    fixed: HashMap<usize, bool>,
    cursor: usize,
    /// The bits of the frame that slots hold, the highest first.
    slots: HashMap<SlotId, Vec<usize>>,
    /// What slots hold that is known without the frame. Those of the program are zero at first.
    values: HashMap<SlotId, Bits>,
    headers: Vec<HeaderId>,
}

struct Search<'a> {
    program: &'a Program,
    parser: &'a Body,
    /// The length of frames.
    bits_max: usize,
    random: SplitMix64,
    ways: Vec<Way>,
    steps: usize,
}

impl Search<'_> {
    fn follow(&mut self, mut way: Way, block: BlockId, depth: usize) {
        self.steps += 1;
        let is_too_long = depth > BLOCKS_MAX || way.cursor > self.bits_max;
        if is_too_long || self.ways.len() >= WAYS_MAX || self.steps > STEPS_MAX {
            return;
        }
        let parser = self.parser;
        let block = &parser.blocks[block.index()];
        if !block
            .statements
            .iter()
            .all(|statement| way.execute(&statement.op, self.program))
        {
            return;
        }
        match &block.terminator {
            Terminator::Return => self.ways.push(way),
            Terminator::Jump(next) => self.follow(way, *next, depth + 1),
            Terminator::Branch {
                condition,
                then_block,
                else_block,
            } => {
                let known = way.value(condition, self.program).map(|value| !value.is_zero());
                for (taken, next) in [(true, then_block), (false, else_block)] {
                    let mut way = way.clone();
                    let is_possible = match known {
                        Some(outcome) => outcome == taken,
                        None => way.assume(condition, taken, self.program, &mut self.random),
                    };
                    if is_possible {
                        self.follow(way, *next, depth + 1);
                    }
                }
            }
            Terminator::Select { keys, cases, default } => self.select(&way, keys, cases, *default, depth),
            Terminator::Apply { .. } | Terminator::Exit | Terminator::Reject(_) => {}
        }
    }

    fn select(&mut self, way: &Way, keys: &[Expr], cases: &[SelectCase], default: BlockId, depth: usize) {
        let key = |key| match way.value(key, self.program) {
            Some(value) => Key::Value(value),
            None => way.bits_of(key).map_or(Key::Unknown, Key::Frame),
        };
        let keys: Vec<Key> = keys.iter().map(key).collect();
        for case in cases {
            let mut way = way.clone();
            let fits = case
                .keysets
                .iter()
                .zip(&keys)
                .all(|(keyset, key)| way.fix_keyset(key, keyset));
            if fits {
                self.follow(way, case.target, depth + 1);
            }
        }
        for _ in 0..TRIES {
            let mut way = way.clone();
            for key in &keys {
                if let Key::Frame(bits) = key {
                    bits.iter().for_each(|bit| way.fill(*bit, &mut self.random));
                }
            }
            let matches = |case: &SelectCase| {
                let mut keysets = case.keysets.iter().zip(&keys);
                keysets.all(|(keyset, key)| way.clone().fix_keyset(key, keyset))
            };
            if !cases.iter().any(matches) {
                return self.follow(way, default, depth + 1);
            }
        }
    }
}

/// The key of a `select`.
enum Key {
    Value(Bits),
    /// These bits of the frame, the highest first.
    Frame(Vec<usize>),
    Unknown,
}

impl Way {
    /// Executes an operation of a parser; whether the way goes on.
    fn execute(&mut self, op: &Op, program: &Program) -> bool {
        match op {
            Op::Extract { header, .. } => {
                let declared = &program.headers[header.index()];
                self.values.insert(declared.valid, Bits::from_bool(true));
                for field in &declared.fields {
                    // A field of varying length is left empty.
                    let width = if field.length.is_some() {
                        0
                    } else {
                        program.slot(field.slot).width as usize
                    };
                    self.values.remove(&field.slot);
                    self.slots
                        .insert(field.slot, (self.cursor..self.cursor + width).collect());
                    self.cursor += width;
                }
                self.headers.push(*header);
            }
            Op::Lookahead { slot } => {
                let width = program.slot(*slot).width as usize;
                self.values.remove(slot);
                self.slots.insert(*slot, (self.cursor..self.cursor + width).collect());
            }
            Op::Advance { bits } => match self.value(bits, program) {
                Some(bits) => self.cursor += bits.to_u64_saturating().min(1 << 20) as usize,
                None => return false,
            },
            Op::Assign { slot, value } => {
                let (known, bits) = (self.value(value, program), self.bits_of(value));
                self.slots.remove(slot);
                self.values.remove(slot);
                match (known, bits) {
                    (Some(known), _) => drop(self.values.insert(*slot, known)),
                    // No bits of the frame: nothing is known of it.
                    (None, bits) => drop(self.slots.insert(*slot, bits.unwrap_or_default())),
                }
            }
            _ => {}
        }
        true
    }

    /// The value of an expression that does not depend on the frame, nor on what the architecture tells of the packet.
    fn value(&self, expr: &Expr, program: &Program) -> Option<Bits> {
        let value = |operand: &Expr| self.value(operand, program);
        Some(match expr {
            Expr::Const(value) => value.clone(),
            Expr::Slot(slot) if self.slots.contains_key(slot) => return None,
            Expr::Slot(slot) => match (self.values.get(slot), program.slot(*slot)) {
                (Some(value), _) => value.clone(),
                (None, slot) if matches!(slot.kind, SlotKind::Intrinsic | SlotKind::Request) => return None,
                (None, slot) => Bits::zero(slot.width),
            },
            Expr::Param { .. } => return None,
            Expr::Unary(op, operand) => op.apply(&value(operand)?),
            Expr::Binary(op, left, right) => op.apply(&value(left)?, &value(right)?),
            Expr::Slice { operand, hi, lo } => value(operand)?.slice(*hi, *lo),
            Expr::Concat(high, low) => Bits::concat(&value(high)?, &value(low)?),
            Expr::ZeroExtend(width, operand) => value(operand)?.zext(*width),
            Expr::SignExtend(width, operand) => value(operand)?.sext(*width),
            Expr::Truncate(width, operand) => value(operand)?.truncate(*width),
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } => {
                if value(condition)?.is_zero() {
                    value(else_value)?
                } else {
                    value(then_value)?
                }
            }
        })
    }

    /// The bits of the frame that an expression consists of, the highest first.
    fn bits_of(&self, expr: &Expr) -> Option<Vec<usize>> {
        match expr {
            Expr::Slot(slot) => self.slots.get(slot).filter(|bits| !bits.is_empty()).cloned(),
            Expr::Slice { operand, hi, lo } => {
                let bits = self.bits_of(operand)?;
                let width = bits.len();
                Some(bits[width - 1 - *hi as usize..width - *lo as usize].to_vec())
            }
            Expr::Concat(high, low) => Some([self.bits_of(high)?, self.bits_of(low)?].concat()),
            Expr::Truncate(width, operand) => {
                let bits = self.bits_of(operand)?;
                Some(bits[bits.len() - *width as usize..].to_vec())
            }
            _ => None,
        }
    }

    /// Fixes bits as a keyset wants them; whether that is possible. Keysets that are not constant are not followed.
    fn fix_keyset(&mut self, key: &Key, keyset: &KeySet) -> bool {
        match (keyset, key) {
            (KeySet::Any, _) => true,
            (KeySet::Exact(value), Key::Value(key)) => key == value,
            (KeySet::Mask { value, mask }, Key::Value(key)) => key.and(mask) == value.and(mask),
            (KeySet::Range { low, high }, Key::Value(key)) => {
                let key = key.to_biguint();
                low.to_biguint() <= key && key <= high.to_biguint()
            }
            (KeySet::Exact(value) | KeySet::Range { low: value, .. }, Key::Frame(bits)) => {
                self.fix(bits, value, &Bits::ones(value.width()))
            }
            (KeySet::Mask { value, mask }, Key::Frame(bits)) => self.fix(bits, value, mask),
            _ => false,
        }
    }

    fn fix(&mut self, bits: &[usize], value: &Bits, mask: &Bits) -> bool {
        let width = value.width();
        bits.len() == width as usize
            && bits.iter().zip((0..width).rev()).all(|(at, index)| {
                !mask.bit(index) || *self.fixed.entry(*at).or_insert(value.bit(index)) == value.bit(index)
            })
    }

    fn fill(&mut self, bit: usize, random: &mut SplitMix64) {
        self.fixed.entry(bit).or_insert_with(|| random.next_u64() & 1 == 1);
    }

    /// Fixes bits so that a comparison with a constant has this outcome; other conditions fix nothing.
    fn assume(&mut self, condition: &Expr, outcome: bool, program: &Program, random: &mut SplitMix64) -> bool {
        let (equal, field, constant) = match condition {
            Expr::Unary(UnaryOp::Not, operand) => return self.assume(operand, !outcome, program, random),
            Expr::Binary(operator @ (BinaryOp::Eq | BinaryOp::Ne), left, right) => {
                let (field, value) = match (self.value(left, program), self.value(right, program)) {
                    (None, Some(value)) => (left, value),
                    (Some(value), None) => (right, value),
                    _ => return true,
                };
                (*operator == BinaryOp::Eq, field, value)
            }
            _ => return true,
        };
        let Some(bits) = self.bits_of(field) else { return true };
        let all = Bits::ones(constant.width());
        if equal == outcome {
            return self.fix(&bits, &constant, &all);
        }
        for _ in 0..TRIES {
            let mut other = self.clone();
            bits.iter().for_each(|bit| other.fill(*bit, random));
            if !other.clone().fix(&bits, &constant, &all) {
                *self = other;
                return true;
            }
        }
        false
    }

    /// A frame that goes this way, with random values where nothing is fixed, and zeros between the headers and the
    /// place of the tag. Checksums are right with any tag.
    fn frame(&self, bytes: usize, random: &mut SplitMix64) -> Vec<u8> {
        let mut frame = vec![0; bytes];
        for bit in 0..self.cursor {
            let value = self
                .fixed
                .get(&bit)
                .copied()
                .unwrap_or_else(|| random.next_u64() & 1 == 1);
            write_bits(&mut frame, bit, &Bits::from_bool(value));
        }
        TEMPLATE_TAG.write(&mut frame);
        correct_checksums(&mut frame);
        frame
    }
}

/// A switch that tells which headers it extracts.
struct Bench {
    switch: Switch,
    outside: MemoryPort,
}

struct Headers(Vec<HeaderId>, bool);

impl Tracer for Headers {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Extract { header, .. } if !self.1 => self.0.push(header),
            // What comes after the first parser is another pass.
            Event::Enter { kind, .. } if kind != forebay_ir::BodyKind::Parser => self.1 = true,
            _ => {}
        }
    }
}

impl Bench {
    fn new(pipeline: Arc<Pipeline>, port: u32) -> Bench {
        let (outside, inside) = MemoryPort::pair("outside", "inside", 256);
        let mut switch = Switch::new(pipeline, Config::default());
        switch.attach(port, Box::new(inside));
        Bench { switch, outside }
    }

    fn extracts(&mut self, frame: &[u8]) -> Vec<HeaderId> {
        let mut headers = Headers(Vec::new(), false);
        self.outside.inject(frame);
        let _ = self.switch.settle(0, POLLS, &mut headers);
        while self.outside.extract().is_some() {}
        headers.0
    }
}
