//! A parser over the headers that a deparser has emitted, without the frame between them.
//!
//! The parser is followed with a position in the list of emitted headers. Where it extracts a header, the next valid
//! header of the list provides the fields. The packet bails out (`misses` becomes 1) if the parser needs anything
//! else: if it reads bits that are not a whole header of the list, continues into the payload, or rejects.

use super::{Refusal, assign, ends, jumps};
use forebay_ir::{Block, BlockId, Body, Expr, Header, HeaderId, Op, Program, SlotId, Statement, Terminator, build};
use std::collections::BTreeMap;

/// The most blocks that are made.
const BLOCKS_MAX: usize = 4096;

/// The input for reparsing.
pub(super) struct Reparse<'p> {
    pub(super) program: &'p Program,
    pub(super) parser: &'p Body,
    /// The headers that are in the frame if they are valid, in order. Headers that the parser extracts become invalid.
    pub(super) emitted: &'p [HeaderId],
    /// Set to 1 when the packet must bail out.
    pub(super) misses: SlotId,
}

/// The parser's position: before a statement of a block, and before a header of the list.
type Place = (BlockId, usize, usize);

impl Reparse<'_> {
    /// The parser's blocks over the list. The first one is the entry, and the blocks that end the parser return.
    pub(super) fn blocks(&self) -> Result<Vec<Block>, Refusal> {
        let mut making = Making {
            reparse: self,
            blocks: Vec::new(),
            made: BTreeMap::new(),
            tried: BTreeMap::new(),
            pending: Vec::new(),
        };
        making.at((BlockId(0), 0, 0));
        while let Some((id, place)) = making.pending.pop() {
            if making.blocks.len() > BLOCKS_MAX {
                let location = self.parser.blocks[0].location;
                return Err(Refusal::new(
                    location,
                    "begins a parser after the queue that has too many paths",
                ));
            }
            making.make(id, place);
        }
        let made = making.blocks.into_iter();
        Ok(made.map(|made| made.expect("all that is pending is made")).collect())
    }
}

struct Making<'r, 'p> {
    reparse: &'r Reparse<'p>,
    blocks: Vec<Option<Block>>,
    made: BTreeMap<Place, BlockId>,
    /// The blocks that try the headers from a position on for the operation before a statement.
    tried: BTreeMap<Place, BlockId>,
    pending: Vec<(BlockId, Place)>,
}

impl Making<'_, '_> {
    /// The block for a position.
    fn at(&mut self, place: Place) -> BlockId {
        if let Some(known) = self.made.get(&place) {
            return *known;
        }
        let id = self.reserve();
        self.made.insert(place, id);
        self.pending.push((id, place));
        id
    }

    fn reserve(&mut self) -> BlockId {
        let id = BlockId(self.blocks.len() as u32);
        self.blocks.push(None);
        id
    }

    fn set(&mut self, id: BlockId, block: Block) {
        self.blocks[id.index()] = Some(block);
    }

    /// Fills a block with the operations from a position on, until the header list decides how to continue.
    fn make(&mut self, id: BlockId, (of, first, position): Place) {
        let origin = &self.reparse.parser.blocks[of.index()];
        let mut statements = Vec::new();
        for (index, statement) in origin.statements.iter().enumerate().skip(first) {
            match &statement.op {
                Op::Extract { .. } | Op::Lookahead { .. } | Op::Advance { .. } => {
                    let next = self.take(statement, (of, index + 1, position));
                    return self.set(id, jumps(statements, next));
                }
                Op::PacketLength { .. } => {
                    let next = self.miss(statement);
                    return self.set(id, jumps(statements, next));
                }
                _ => statements.push(statement.clone()),
            }
        }
        let mut terminator = origin.terminator.clone();
        for successor in terminator.successors_mut() {
            *successor = self.at((*successor, 0, position));
        }
        if let Terminator::Reject(_) = terminator {
            let end = Statement {
                op: Op::Assign {
                    slot: self.reparse.misses,
                    value: build::boolean(true),
                },
                location: origin.location,
            };
            statements.push(end);
            terminator = Terminator::Return;
        }
        self.set(
            id,
            Block {
                label: origin.label.clone().filter(|_| first == 0),
                statements,
                terminator,
                location: origin.location,
            },
        );
    }

    /// Makes the blocks that try the headers from a position on for an operation that reads, and returns the first of
    /// them. Each leads to the position after its header.
    fn take(&mut self, statement: &Statement, (of, behind, position): Place) -> BlockId {
        if let Some(known) = self.tried.get(&(of, behind, position)) {
            return *known;
        }
        let Some(header) = self.reparse.emitted.get(position) else {
            return self.miss(statement);
        };
        let id = self.reserve();
        self.tried.insert((of, behind, position), id);
        let with = self.take_this(statement, *header, (of, behind, position));
        let without = self.take(statement, (of, behind, position + 1));
        let valid = self.reparse.program.headers[header.index()].valid;
        let branch = Terminator::Branch {
            condition: Expr::Slot(valid),
            then_block: with,
            else_block: without,
        };
        self.set(id, Block::new(Vec::new(), branch));
        id
    }

    /// Makes an operation read a header that is valid.
    fn take_this(&mut self, statement: &Statement, from: HeaderId, (of, behind, position): Place) -> BlockId {
        let program = self.reparse.program;
        let source = &program.headers[from.index()];
        let read = match &statement.op {
            Op::Extract {
                header,
                varbit_bits: None,
            } => extracted(program, source, &program.headers[header.index()]),
            Op::Lookahead { slot } => {
                first_bits(program, source, program.slot(*slot).width).map(|value| vec![assign(*slot, value)])
            }
            Op::Advance {
                bits: Expr::Const(bits),
            } => (bits.to_u64_saturating() == width(program, source).unwrap_or(u64::MAX)).then(Vec::new),
            _ => None,
        };
        let Some(mut statements) = read else {
            return self.miss(statement);
        };
        let mut position = position;
        if !matches!(statement.op, Op::Lookahead { .. }) {
            statements.push(assign(source.valid, build::boolean(false)));
            position += 1;
        }
        for made in &mut statements {
            made.location = statement.location;
        }
        let (id, next) = (self.reserve(), self.at((of, behind, position)));
        self.set(id, jumps(statements, next));
        id
    }

    /// Makes the packet bail out.
    fn miss(&mut self, statement: &Statement) -> BlockId {
        let id = self.reserve();
        let misses = Statement {
            op: Op::Assign {
                slot: self.reparse.misses,
                value: build::boolean(true),
            },
            location: statement.location,
        };
        self.set(id, ends(vec![misses]));
        id
    }
}

/// Bits of a header whose fields all have fixed widths.
fn width(program: &Program, header: &Header) -> Option<u64> {
    let fields = header.fields.iter();
    fields
        .map(|field| match field.length {
            None => Some(u64::from(program.slot(field.slot).width)),
            Some(_) => None,
        })
        .sum()
}

/// Assigns the bits of one header to another, if both have the same number of bits.
fn extracted(program: &Program, from: &Header, to: &Header) -> Option<Vec<Statement>> {
    if width(program, from)? != width(program, to)? {
        return None;
    }
    let mut statements = Vec::new();
    let mut first = 0;
    for field in &to.fields {
        let width = program.slot(field.slot).width;
        statements.push(assign(field.slot, bits(program, from, first, width)?));
        first += u64::from(width);
    }
    statements.push(assign(to.valid, build::boolean(true)));
    Some(statements)
}

/// The first `count` bits of a header, if it has that many.
fn first_bits(program: &Program, from: &Header, count: u32) -> Option<Expr> {
    (width(program, from)? >= count.into()).then(|| bits(program, from, 0, count))?
}

/// `count` bits of a header from bit `first` on, as slices of its fields.
fn bits(program: &Program, header: &Header, first: u64, count: u32) -> Option<Expr> {
    let (mut at, mut value) = (0, None);
    let end = first + u64::from(count);
    for field in &header.fields {
        let width = u64::from(program.slot(field.slot).width);
        let (from, to) = (first.max(at), end.min(at + width));
        if from < to {
            // Bit 0 of a value is the last bit on the wire.
            let (high, low) = (at + width - 1 - from, at + width - to);
            let slice = build::slice(Expr::Slot(field.slot), width as u32, high as u32, low as u32);
            value = Some(match value {
                None => slice,
                Some(before) => build::concat(before, slice),
            });
        }
        at += width;
    }
    value
}
