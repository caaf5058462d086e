//! Random tests: random entries, and random packets that the program's parser does not reject at once.
//!
//! A packet follows a random path through the parser's graph: where a state selects on a field of the packet, the field
//! gets the value of one of the cases. Other bytes are small numbers more often than not, and so are keys and action
//! data, that entries may be found.

use forebay_bits::{Bits, write_bits};
use forebay_entries::{
    ActionCall, AddEntry, Command, EntryName, KeyMatch, Literal, Located, Pattern, Test, UnnamedPorts,
};
use forebay_ir::{BlockId, Body, Expr, KeySet, MatchKind, Op, Program, Role, SelectCase, SlotId, Table, Terminator};
use num_bigint::BigUint;
use std::collections::HashMap;

/// How much a random test has of each.
#[derive(Clone, Copy, Debug)]
pub struct RandomTest {
    /// Where the random numbers begin: the same seed gives the same test.
    pub seed: u64,
    /// Entries of each table that takes any.
    pub entries: usize,
    /// Packets.
    pub packets: usize,
}

/// Ports that packets arrive by.
const PORTS: u64 = 4;

/// Longest way through a parser.
const MAX_STEPS: usize = 64;

/// Longest payload in bytes.
const MAX_PAYLOAD: u64 = 32;

/// Longest field of variable length in bytes.
const MAX_VARBIT: u64 = 8;

impl RandomTest {
    /// A test for a program, without expected packets: it is run on several executors, whose outputs are compared.
    pub fn build(&self, program: &Program) -> Test {
        let mut random = Random(self.seed.max(1));
        let mut commands = Vec::new();
        for table in &program.tables {
            let takes_any = !table.entries_are_const && table.implementation.is_none() && !table.keys.is_empty();
            let entries = if takes_any { self.entries } else { 0 };
            commands.extend((0..entries).filter_map(|_| entry(program, table, &mut random)));
        }
        commands.extend((0..self.packets).map(|_| Command::Packet {
            port: random.below(PORTS) as u32,
            data: packet(program, &mut random),
        }));
        let located = commands.into_iter().map(|value| Located {
            line: 0,
            column: 0,
            value,
        });
        Test {
            commands: located.collect(),
            unnamed_ports: UnnamedPorts::Noted,
        }
    }
}

fn entry(program: &Program, table: &Table, random: &mut Random) -> Option<Command> {
    let usable: Vec<_> = table.actions.iter().filter(|listed| !listed.default_only).collect();
    let listed = usable.get(random.below(usable.len().max(1) as u64) as usize)?;
    let action = &program.actions[listed.action.index()];
    let args = action
        .params
        .iter()
        .map(|param| (param.name.clone(), random.literal(param.width)));
    let action = ActionCall {
        name: action.name.clone(),
        args: args.collect(),
    };
    let keys = table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
    let matches = keys.map(|key| KeyMatch {
        name: key.name.clone(),
        pattern: pattern(key.match_kind, key.width, random),
    });
    Some(Command::Add(AddEntry {
        entry: EntryName {
            table: table.name.clone(),
            matches: matches.collect(),
            priority: Some(1 + random.below(1000) as u32),
        },
        action,
        handle: None,
    }))
}

fn pattern(kind: MatchKind, width: u32, random: &mut Random) -> Pattern {
    match kind {
        MatchKind::Exact | MatchKind::Optional | MatchKind::Selector => Pattern::Value(random.literal(width)),
        MatchKind::Lpm => Pattern::Prefix(random.literal(width), random.below(u64::from(width) + 1) as u32),
        MatchKind::Ternary => Pattern::Masked(random.literal(width), random.literal(width)),
        MatchKind::Range => {
            let (one, other) = (random.bits(width), random.bits(width));
            let (low, high) = if one.cmp_unsigned(&other).is_le() {
                (one, other)
            } else {
                (other, one)
            };
            Pattern::Range(literal(&low), literal(&high))
        }
    }
}

fn literal(bits: &Bits) -> Literal {
    Literal {
        value: bits.to_biguint(),
        wildcards: BigUint::ZERO,
        written_bits: None,
    }
}

/// A packet that a random path through the parser accepts, unless the program verifies what chance does not give.
fn packet(program: &Program, random: &mut Random) -> Vec<u8> {
    let mut walk = Walk {
        program,
        data: Vec::new(),
        bits: 0,
        fields: HashMap::new(),
    };
    let parsers = [Role::Parser, Role::IngressParser, Role::MainParser];
    if let Some(parser) = parsers.into_iter().find_map(|role| program.stage(role)) {
        let mut block = Some(BlockId(0));
        for _ in 0..MAX_STEPS {
            let Some(here) = block else { break };
            block = walk.step(parser, here, random);
        }
    }
    let payload = random.below(MAX_PAYLOAD);
    walk.data.extend((0..payload).map(|_| random.byte()));
    walk.data
}

/// A path through a parser, and the packet so far.
struct Walk<'a> {
    program: &'a Program,
    data: Vec<u8>,
    /// How many bits of the packet are taken.
    bits: usize,
    /// Where in the packet fields are that were extracted.
    fields: HashMap<SlotId, usize>,
}

impl Walk<'_> {
    fn step(&mut self, parser: &Body, block: BlockId, random: &mut Random) -> Option<BlockId> {
        let block = &parser.blocks[block.index()];
        for statement in &block.statements {
            self.operation(&statement.op, random);
        }
        match &block.terminator {
            Terminator::Jump(next) => Some(*next),
            Terminator::Branch {
                then_block, else_block, ..
            } => Some(if random.below(8) == 0 { *else_block } else { *then_block }),
            Terminator::Select { keys, cases, default } => Some(self.select(keys, cases, *default, random)),
            Terminator::Apply { .. } | Terminator::Return | Terminator::Exit | Terminator::Reject(_) => None,
        }
    }

    fn operation(&mut self, op: &Op, random: &mut Random) {
        match op {
            Op::Extract { header, .. } => {
                let program = self.program;
                for field in &program.headers[header.index()].fields {
                    self.fields.insert(field.slot, self.bits);
                    let width = match field.length {
                        Some(_) => random.below(MAX_VARBIT) as usize * 8,
                        None => program.slot(field.slot).width as usize,
                    };
                    self.take(width, random);
                }
            }
            // What is looked at is taken by what follows: it must be there already to be given a value.
            Op::Lookahead { slot } => {
                self.fields.insert(*slot, self.bits);
                self.reserve(self.bits + self.program.slot(*slot).width as usize, random);
            }
            Op::Assign {
                slot,
                value: Expr::Slot(from),
            } => {
                if let Some(place) = self.fields.get(from).copied() {
                    self.fields.insert(*slot, place);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, bits: usize, random: &mut Random) {
        self.bits += bits;
        self.reserve(self.bits, random);
    }

    fn reserve(&mut self, bits: usize, random: &mut Random) {
        while self.data.len() * 8 < bits {
            self.data.push(random.byte());
        }
    }

    /// Goes one of the ways, and makes the packet such that the program goes there too.
    fn select(&mut self, keys: &[Expr], cases: &[SelectCase], default: BlockId, random: &mut Random) -> BlockId {
        let Some(case) = cases.get(random.below(cases.len() as u64 + 1) as usize) else {
            return default;
        };
        for (key, keyset) in keys.iter().zip(&case.keysets) {
            let value = match keyset {
                KeySet::Exact(value) | KeySet::Mask { value, .. } | KeySet::Range { low: value, .. } => value,
                _ => continue,
            };
            let place = match key {
                Expr::Slot(slot) => self.fields.get(slot),
                _ => None,
            };
            if let Some(place) = place.filter(|place| **place + value.width() as usize <= self.data.len() * 8) {
                write_bits(&mut self.data, *place, value);
            }
        }
        case.target
    }
}

/// A small generator (xorshift), the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound.max(1)
    }

    /// Small numbers and numbers at the end of the range are more frequent.
    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => self.below(8) as u8,
            1 => 255 - self.below(3) as u8,
            _ => self.below(256) as u8,
        }
    }

    fn bits(&mut self, width: u32) -> Bits {
        let bytes: Vec<u8> = (0..width.div_ceil(8)).map(|_| self.byte()).collect();
        match self.below(2) {
            0 => Bits::new(width, u128::from(self.below(8))),
            _ => Bits::from_bytes_be(width, &bytes),
        }
    }

    fn literal(&mut self, width: u32) -> Literal {
        literal(&self.bits(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_repeat_with_their_seed() {
        let draw = |seed| {
            (0..8)
                .map({
                    let mut random = Random(seed);
                    move |_| random.byte()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
