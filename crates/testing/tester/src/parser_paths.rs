//! Traffic from the program's own headers: frames for each way through its parser.
//!
//! The parser's graph is walked from its start. Every `select` and every comparison with a constant fixes bits of the frame; bits that
//! stay free are random. A way counts when the reference executor extracts the same headers from the frame, so what the walk does
//! not understand (value sets, arithmetic on fields) costs ways, but never gives a wrong frame.

use crate::entries::correct_checksums;
use crate::tag::TAG_BYTES;
use forebay_bits::{Bits, write_bits};
use forebay_ir::{
    BinaryOp, BlockId, Body, Expr, HeaderId, KeySet, Op, Program, Role, SelectCase, SlotId, Terminator, UnaryOp,
};
use forebay_packet::{MemoryPort, SplitMix64};
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_switch::{Config, Switch};
use std::collections::HashMap;
use std::sync::Arc;

/// Ways that are followed at most, and blocks of a way.
const WAYS_MAX: usize = 1 << 10;
const BLOCKS_MAX: usize = 1 << 8;

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
    let parser = [Role::Parser, Role::IngressParser]
        .iter()
        .find_map(|role| program.stage(*role));
    let parser = parser.ok_or("the program has no parser")?;
    let mut search = Search {
        program,
        parser,
        random: SplitMix64::new(seed),
        ways: Vec::new(),
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
    match frames.is_empty() {
        true => Err(format!(
            "no frame of {bytes} bytes with a tag at its end passes the parser of the program"
        )),
        false => Ok(frames),
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
    headers: Vec<HeaderId>,
}

struct Search<'a> {
    program: &'a Program,
    parser: &'a Body,
    random: SplitMix64,
    ways: Vec<Way>,
}

impl Search<'_> {
    fn follow(&mut self, mut way: Way, block: BlockId, depth: usize) {
        if depth > BLOCKS_MAX || self.ways.len() >= WAYS_MAX {
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
                for (taken, next) in [(true, then_block), (false, else_block)] {
                    let mut way = way.clone();
                    if way.assume(condition, taken, &mut self.random) {
                        self.follow(way, *next, depth + 1);
                    }
                }
            }
            Terminator::Select { keys, cases, default } => self.select(&way, keys, cases, *default, depth),
            Terminator::Apply { .. } | Terminator::Exit | Terminator::Reject(_) => {}
        }
    }

    fn select(&mut self, way: &Way, keys: &[Expr], cases: &[SelectCase], default: BlockId, depth: usize) {
        let keys: Vec<Option<Vec<usize>>> = keys.iter().map(|key| way.bits_of(key)).collect();
        for case in cases {
            let mut way = way.clone();
            let fits = case
                .keysets
                .iter()
                .zip(&keys)
                .all(|(keyset, key)| way.fix_keyset(key.as_deref(), keyset));
            if fits {
                self.follow(way, case.target, depth + 1);
            }
        }
        for _ in 0..TRIES {
            let mut way = way.clone();
            keys.iter()
                .flatten()
                .flatten()
                .for_each(|bit| way.fill(*bit, &mut self.random));
            let matches = |case: &SelectCase| {
                let mut keysets = case.keysets.iter().zip(&keys);
                keysets.all(|(keyset, key)| way.clone().fix_keyset(key.as_deref(), keyset))
            };
            if !cases.iter().any(matches) {
                return self.follow(way, default, depth + 1);
            }
        }
    }
}

impl Way {
    /// Executes an operation of a parser; whether the way goes on.
    fn execute(&mut self, op: &Op, program: &Program) -> bool {
        match op {
            Op::Extract { header, .. } => {
                for field in &program.headers[header.index()].fields {
                    // A field of varying length is left empty.
                    let width = if field.length.is_some() {
                        0
                    } else {
                        program.slot(field.slot).width as usize
                    };
                    self.slots
                        .insert(field.slot, (self.cursor..self.cursor + width).collect());
                    self.cursor += width;
                }
                self.headers.push(*header);
            }
            Op::Lookahead { slot } => {
                let width = program.slot(*slot).width as usize;
                self.slots.insert(*slot, (self.cursor..self.cursor + width).collect());
            }
            Op::Advance {
                bits: Expr::Const(bits),
            } => self.cursor += bits.to_u64_saturating().min(1 << 20) as usize,
            Op::Advance { .. } => return false,
            Op::Assign { slot, value } => match self.bits_of(value) {
                Some(bits) => drop(self.slots.insert(*slot, bits)),
                None => drop(self.slots.remove(slot)),
            },
            _ => {}
        }
        true
    }

    /// The bits of the frame that an expression consists of, the highest first.
    fn bits_of(&self, expr: &Expr) -> Option<Vec<usize>> {
        match expr {
            Expr::Slot(slot) => self.slots.get(slot).cloned(),
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
    fn fix_keyset(&mut self, key: Option<&[usize]>, keyset: &KeySet) -> bool {
        match (keyset, key) {
            (KeySet::Any, _) => true,
            (KeySet::Exact(value) | KeySet::Range { low: value, .. }, Some(bits)) => {
                self.fix(bits, value, &Bits::ones(value.width()))
            }
            (KeySet::Mask { value, mask }, Some(bits)) => self.fix(bits, value, mask),
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
    fn assume(&mut self, condition: &Expr, outcome: bool, random: &mut SplitMix64) -> bool {
        let (equal, field, constant) = match condition {
            Expr::Unary(UnaryOp::Not, operand) => return self.assume(operand, !outcome, random),
            Expr::Binary(operator @ (BinaryOp::Eq | BinaryOp::Ne), left, right) => match (&**left, &**right) {
                (field, Expr::Const(value)) | (Expr::Const(value), field) => (*operator == BinaryOp::Eq, field, value),
                _ => return true,
            },
            _ => return true,
        };
        let Some(bits) = self.bits_of(field) else { return true };
        let all = Bits::ones(constant.width());
        if equal == outcome {
            return self.fix(&bits, constant, &all);
        }
        for _ in 0..TRIES {
            let mut other = self.clone();
            bits.iter().for_each(|bit| other.fill(*bit, random));
            if !other.clone().fix(&bits, constant, &all) {
                *self = other;
                return true;
            }
        }
        false
    }

    /// A frame that goes this way, with random values where nothing is fixed, and zeros after the headers.
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
