//! Internet checksums (RFC 1071) of fields that lie in the packet.
//!
//! The ones' complement sum of 16-bit words equals that of longer words with the carries added back in. So fields that
//! follow one another are loaded together, 32 bits at a time, and added up in 64 bits, where nothing overflows. Up to
//! the order of its two bytes, the sum also does not depend on the byte order of the words (§2 (B) there). So
//! everything is added up as it lies in memory, and only the result is byte-swapped.
//!
//! A program that verifies a header's checksum and computes it again after its controls sums up the same fields twice.
//! On the fast path the sum of the fields that do not change in between, the *base*, is kept from the first to the
//! second time.

use super::Translator;
use super::value::ActionData;
use super::value_locations::{Field, Home};
use crate::route::Route;
use crate::route::flow::Flow;
use crate::route::plan::Leaf;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Variable;
use forebay_ir::{DataItem, Expr, HashAlgorithm, Op, Program, SlotId};
use std::collections::BTreeSet;

/// A piece of data.
#[derive(Clone, Copy)]
enum Piece<'d> {
    Expr(&'d Expr),
    /// Bits in the packet.
    Packet(Field, Contents),
}

/// The contents of a field of the packet. A field that has just been written is not loaded together with others,
/// because the processor would wait until the store is in the cache.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    Original,
    Written,
}

/// Pieces that together make a word of at most 64 bits, in whole 16-bit words.
#[derive(Default)]
struct Group<'d> {
    pieces: Vec<(Piece<'d>, u32)>,
    bits: u32,
    /// Whether it contains something that controls may change.
    changes: bool,
}

impl Group<'_> {
    /// The field of the packet that is the whole group, if there is one.
    fn in_packet(&self) -> Option<Field> {
        let mut pieces = self.pieces.iter();
        let (&Piece::Packet(first, Contents::Original), mut bits) =
            pieces.next().map(|(piece, bits)| (piece, *bits))?
        else {
            return None;
        };
        for (piece, width) in pieces {
            match piece {
                Piece::Packet(field, Contents::Original) if first.is_followed_by(bits, field) => bits += width,
                _ => return None,
            }
        }
        first.first_bit.is_multiple_of(8).then_some(first)
    }
}

/// The size of the vectors by which long runs of bytes are loaded, and the number of vectors from which on this is
/// worthwhile. Loaded as single words, such runs would soon need more registers than there are.
const VECTOR_BYTES: i32 = 16;
const VECTORS_MIN: i32 = 3;

/// The sum of those fields of some data that do not change.
pub(super) struct Base<'a> {
    data: &'a [DataItem],
    sum: Variable,
    /// Whether it has been computed for the current packet: 1 or 0.
    known: Variable,
}

/// The parts of a sum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The fields that do not change.
    Base,
    /// The rest.
    Changing,
}

impl<'a> Translator<'_, 'a, '_> {
    /// Finds the data for which a packet's checksums are computed more than once after the parser.
    pub(super) fn begin_sums(&mut self, route: &Route, leaf: &'a Leaf) {
        let mut seen: Vec<&'a [DataItem]> = Vec::new();
        let mut repeated: Vec<&'a [DataItem]> = Vec::new();
        for body in [route.verify_checksum, route.compute_checksum] {
            for data in checksum_data(&leaf.program, body) {
                if !seen.contains(&data) {
                    seen.push(data);
                } else if !repeated.contains(&data) {
                    repeated.push(data);
                }
            }
        }
        let zero = self.number(0);
        let sums_before = sums_before(&leaf.flow, &repeated);
        let bases = repeated.into_iter().map(|data| {
            let [sum, known] = [zero; 2].map(|zero| self.variable(zero));
            Base { data, sum, known }
        });
        let bases = bases.collect();
        let path = self.path_mut();
        (path.bases, path.sums_before) = (bases, sums_before);
        path.changing = leaf.written.clone();
        path.changing.extend(route.before_egress.iter().map(|(slot, _)| *slot));
    }

    /// The registers of sums, for a packet that is suspended.
    pub(super) fn sum_variables(&self) -> Vec<Variable> {
        self.on_path()
            .bases
            .iter()
            .flat_map(|base| [base.sum, base.known])
            .collect()
    }

    /// The checksum of data without varbit fields. `None` when the data does not form suitable groups.
    pub(super) fn checksum_of_fields(&mut self, data: &[DataItem], action: Option<&ActionData>) -> Option<ir::Value> {
        let groups = self.groups(data)?;
        let mut bases = self.path().into_iter().flat_map(|path| &path.bases);
        let base = match bases.position(|base| base.data == data) {
            Some(index) => self.base_sum(&groups, index, action),
            None => self.sum(&groups, Part::Base, action),
        };
        let rest = self.sum(&groups, Part::Changing, action);
        let sum = self.ins().iadd(base, rest);
        let in_memory = self.folded_complement(sum);
        let checksum = self.ins().bswap(in_memory);
        Some(self.ins().uextend(types::I64, checksum))
    }

    /// The sum of the fields that do not change, which may be known.
    fn base_sum(&mut self, groups: &[Group<'_>], index: usize, action: Option<&ActionData>) -> ir::Value {
        let path = self.on_path();
        let (sum, known) = (path.bases[index].sum, path.bases[index].known);
        if path.sums_known.contains(&index) {
            return self.builder.use_var(sum);
        }
        let is_known = self.builder.use_var(known);
        let [compute, next] = self.blocks();
        self.ins().brif(is_known, next, &[], compute, &[]);
        self.enter(compute);
        let computed = self.sum(groups, Part::Base, action);
        self.builder.def_var(sum, computed);
        let one = self.number(1);
        self.builder.def_var(known, one);
        self.ins().jump(next, &[]);
        self.enter(next);
        self.builder.use_var(sum)
    }

    /// The complement of the ones' complement sum of 16-bit words (RFC 1071).
    pub(super) fn internet_checksum(&mut self, words: &[ir::Value]) -> ir::Value {
        let mut sum = self.number(0);
        for &word in words {
            let both = self.halves(word);
            sum = self.ins().iadd(sum, both);
        }
        let checksum = self.folded_complement(sum);
        self.ins().uextend(types::I64, checksum)
    }

    /// The sum of the halves of a word.
    fn halves(&mut self, word: ir::Value) -> ir::Value {
        let high = self.shifted_right(word, 32);
        let low = self.masked(32, word);
        self.ins().iadd(high, low)
    }

    /// Adds up the 16-bit words of a sum with all carries, and returns the complement in 16 bits. The sum of a number
    /// and the same number with its halves exchanged has, in its upper half, the sum of the halves and its carry.
    fn folded_complement(&mut self, sum: ir::Value) -> ir::Value {
        let amount = self.number(32);
        let exchanged = self.ins().rotl(sum, amount);
        let both = self.ins().iadd(sum, exchanged);
        let folded = self.shifted_right(both, 32);
        let folded = self.ins().ireduce(types::I32, folded);
        let amount = self.ins().iconst(types::I32, 16);
        let exchanged = self.ins().rotl(folded, amount);
        let both = self.ins().iadd(folded, exchanged);
        let complement = self.ins().bnot(both);
        let complement = self.ins().ushr(complement, amount);
        self.ins().ireduce(types::I16, complement)
    }

    fn sum(&mut self, groups: &[Group<'_>], part: Part, action: Option<&ActionData>) -> ir::Value {
        let mut summands = Vec::new();
        // Adjacent fields that have been found and are not loaded yet, with their bits.
        let mut run: Option<(Field, u32)> = None;
        for group in groups.iter().filter(|group| group.changes == (part == Part::Changing)) {
            match (group.in_packet(), &mut run) {
                (Some(field), Some((first, bits))) if first.is_followed_in_packet_by(*bits, &field) => {
                    *bits += group.bits;
                }
                (Some(field), _) => {
                    let before = run.replace((field, group.bits));
                    self.load_summands(before, &mut summands);
                }
                (None, _) => {
                    self.load_summands(run.take(), &mut summands);
                    let summand = self.group_in_memory(group, action);
                    summands.push(summand);
                }
            }
        }
        self.load_summands(run, &mut summands);
        let sum = summands.into_iter().reduce(|one, other| self.ins().iadd(one, other));
        sum.unwrap_or_else(|| self.number(0))
    }

    /// Loads whole bytes of the packet in memory order.
    fn load_summands(&mut self, run: Option<(Field, u32)>, summands: &mut Vec<ir::Value>) {
        let Some((field, bits)) = run else { return };
        let address = self.address_of_field(&field);
        let (mut at, end) = ((field.first_bit / 8) as i32, ((field.first_bit + bits) / 8) as i32);
        let vectors = (end - at) / VECTOR_BYTES;
        if vectors >= VECTORS_MIN {
            summands.push(self.sum_of_vectors(address, at, vectors));
            at += vectors * VECTOR_BYTES;
        }
        while at < end {
            let (summand, bytes) = match end - at {
                2 => (self.load_from_packet(types::I16, address, at), 2),
                _ => (self.load_from_packet(types::I32, address, at), 4),
            };
            summands.push(summand);
            at += bytes;
        }
    }

    /// The sum of the 32-bit words in vectors of the packet. Each vector is added as two lanes of 64 bits.
    fn sum_of_vectors(&mut self, address: ir::Value, at: i32, vectors: i32) -> ir::Value {
        let flags = self.packet_flags();
        let low_words = [u64::from(u32::MAX); 2].map(u64::to_le_bytes).concat();
        let constant = self.builder.func.dfg.constants.insert(low_words.into());
        let low_words = self.ins().vconst(types::I64X2, constant);
        let half = self.number(32);
        let sums: Vec<ir::Value> = (0..vectors)
            .map(|vector| {
                let offset = at + vector * VECTOR_BYTES;
                let words = self.ins().load(types::I64X2, flags, address, offset);
                let low = self.ins().band(words, low_words);
                let high = self.ins().ushr(words, half);
                self.ins().iadd(low, high)
            })
            .collect();
        let sums = sums.into_iter().reduce(|one, other| self.ins().iadd(one, other));
        let sums = sums.expect("there are vectors");
        let [low, high] = [0, 1].map(|lane| self.ins().extractlane(sums, lane));
        self.ins().iadd(low, high)
    }

    /// A group in memory order; if it is longer than half a word, the sum of its halves.
    fn group_in_memory(&mut self, group: &Group<'_>, action: Option<&ActionData>) -> ir::Value {
        let mut words = Vec::new();
        for (piece, width) in &group.pieces {
            let word = match piece {
                Piece::Expr(expr) => {
                    let value = self.value(expr, action);
                    self.low_word(value)
                }
                Piece::Packet(field, _) => {
                    let address = self.address_of_field(field);
                    self.load_bits(address, field.bytes, field.first_bit, *width)
                }
            };
            words.push((word, *width));
        }
        if let [(first, 8), (second, 8)] = words[..] {
            let second = self.shifted_left(second, 8);
            return self.ins().bor(first, second);
        }
        let join = |(before, bits): (ir::Value, u32), (word, width): (ir::Value, u32)| {
            let moved = self.shifted_left(before, width);
            (self.ins().bor(moved, word), bits + width)
        };
        let (word, bits) = words.into_iter().reduce(join).expect("groups have pieces");
        let kind = match bits {
            16 => types::I16,
            32 => types::I32,
            _ => {
                let word = self.shifted_left(word, 64 - bits);
                let word = self.ins().bswap(word);
                return self.halves(word);
            }
        };
        let word = self.ins().ireduce(kind, word);
        let word = self.ins().bswap(word);
        self.ins().uextend(types::I64, word)
    }

    /// The data as groups; `None` when it does not fit into groups.
    fn groups<'d>(&self, data: &'d [DataItem]) -> Option<Vec<Group<'d>>> {
        let mut groups = Vec::new();
        // Pieces that do not yet end on a 16-bit boundary.
        let mut open: Group<'d> = Group::default();
        for (piece, width, changes) in self.pieces(data)? {
            let mut done = 0;
            while done < width {
                let part = match piece {
                    Piece::Packet(field, contents) => Piece::Packet(field.moved(done), contents),
                    Piece::Expr(_) => piece,
                };
                let bits = match (piece, open.bits % 16) {
                    (Piece::Expr(_), _) => width,
                    (Piece::Packet(..), 0) => (width - done).min(64),
                    // At most the bits that complete the word.
                    (Piece::Packet(..), filled) => (width - done).min(16 - filled),
                };
                open.pieces.push((part, bits));
                open.bits += bits;
                open.changes |= changes;
                done += bits;
                if open.bits > 64 {
                    return None;
                }
                if open.bits.is_multiple_of(16) {
                    groups.push(std::mem::take(&mut open));
                }
            }
        }
        (open.bits == 0).then_some(groups)
    }

    /// The data with widths, and whether it may change. Fields that are adjacent in the packet and unchanged are
    /// joined.
    fn pieces<'d>(&self, data: &'d [DataItem]) -> Option<Vec<(Piece<'d>, u32, bool)>> {
        let mut pieces: Vec<(Piece<'d>, u32, bool)> = Vec::new();
        for item in data {
            let DataItem::Value(expr) = item else { return None };
            let width = expr.width(self.program);
            let field = self.field_in_packet(expr);
            // Wider values are loaded from the packet in parts, or not supported.
            if width == 0 || (width > 64 && field.is_none()) {
                return None;
            }
            let changes = self.may_change(expr);
            match (field, pieces.last_mut()) {
                (Some((field, Contents::Original)), Some((Piece::Packet(first, Contents::Original), bits, others)))
                    if *others == changes && first.is_followed_by(*bits, &field) =>
                {
                    *bits += width;
                }
                (Some((field, contents)), _) => pieces.push((Piece::Packet(field, contents), width, changes)),
                (None, _) => pieces.push((Piece::Expr(expr), width, changes)),
            }
        }
        Some(pieces)
    }

    fn may_change(&self, expr: &Expr) -> bool {
        let mut changes = false;
        let Some(path) = self.path() else { return changes };
        expr.for_each_slot(&mut |slot| changes |= path.changing.contains(&slot));
        changes
    }

    /// The field of the packet that currently holds the value, if there is one.
    fn field_in_packet(&self, expr: &Expr) -> Option<(Field, Contents)> {
        let (Expr::Slot(slot), Some(_)) = (expr, self.path()) else {
            return None;
        };
        if let Some(field) = self.unchanged(*slot) {
            return Some((field, Contents::Original));
        }
        match self.homes.of(*slot) {
            Home::Packet(field) => Some((*field, Contents::Written)),
            _ => None,
        }
    }
}

/// Sums that have been computed, by index of their bases.
pub(super) type SumsKnown = BTreeSet<usize>;

/// By block of a flow: the sums that are certain to have been computed at its beginning.
fn sums_before(flow: &Flow, repeated: &[&[DataItem]]) -> Vec<SumsKnown> {
    let mut before: Vec<Option<SumsKnown>> = vec![None; flow.blocks.len()];
    // Blocks are in topological order; only the next copy of a packet goes back.
    for (index, block) in flow.blocks.iter().enumerate() {
        let mut known = before[index].clone().unwrap_or_default();
        let certain = block
            .block
            .statements
            .iter()
            .filter_map(|statement| match &statement.op {
                Op::VerifyChecksum { condition, data, .. } | Op::UpdateChecksum { condition, data, .. } => {
                    let always = matches!(condition, Expr::Const(value) if !value.is_zero());
                    always.then_some(data)
                }
                _ => None,
            });
        for data in certain {
            known.extend(repeated.iter().position(|sum| *sum == &data[..]));
        }
        for successor in block.successors() {
            let others = &mut before[successor.index()];
            *others = Some(match others.take() {
                Some(others) => others.intersection(&known).copied().collect(),
                None => known.clone(),
            });
        }
    }
    before.into_iter().map(Option::unwrap_or_default).collect()
}

/// Slots that controls may change.
pub(super) type Changing = BTreeSet<SlotId>;

/// The data of a body's Internet checksums.
fn checksum_data(program: &Program, body: forebay_ir::BodyId) -> impl Iterator<Item = &[DataItem]> {
    let statements = program.bodies[body.index()].statements();
    statements.filter_map(|statement| match &statement.op {
        Op::VerifyChecksum {
            data,
            algorithm: HashAlgorithm::Csum16,
            payload: false,
            ..
        }
        | Op::UpdateChecksum {
            data,
            algorithm: HashAlgorithm::Csum16,
            payload: false,
            ..
        } => Some(&data[..]),
        _ => None,
    })
}
