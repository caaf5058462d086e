//! Internet checksums (RFC 1071) of fields that lie in the packet.
//!
//! The ones' complement sum of 16-bit words is the same as that of longer words with the carries added back in. So fields
//! that follow one another are loaded together, up to 64 bits at a time, and their halves are added up in 64 bits, where
//! nothing overflows.
//!
//! A program that verifies a header's checksum and computes it again behind its controls sums the same fields up twice. On
//! the short way the sum of those that nobody changes in between, the *base*, is kept from the first to the second time.

use super::Translator;
use super::homes::{Field, Home};
use super::value::ActionData;
use crate::route::Route;
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
    Packet(Field),
}

/// Pieces that make a word together, with their bits: at most 64, and whole 16-bit words.
#[derive(Default)]
struct Group<'d> {
    pieces: Vec<(Piece<'d>, u32)>,
    bits: u32,
    /// Whether it has something that controls may change.
    changes: bool,
}

/// The sum of the fields in some data that nobody changes.
pub(super) struct Base<'a> {
    data: &'a [DataItem],
    sum: Variable,
    /// Whether it has been computed for the present packet: 1 or 0.
    known: Variable,
}

/// The parts of a sum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// What nobody changes.
    Base,
    /// The rest.
    Changing,
}

impl<'a> Translator<'_, 'a, '_> {
    /// Finds the data that a packet's checksums are computed of more than once behind the parser.
    pub(super) fn begin_sums(&mut self, route: &Route, leaf: &'a Leaf) {
        let mut seen: Vec<&'a [DataItem]> = Vec::new();
        let mut repeated: Vec<&'a [DataItem]> = Vec::new();
        for body in [route.verify_checksum, route.compute_checksum] {
            for data in checksum_data(&leaf.program, body) {
                match seen.contains(&data) {
                    true if !repeated.contains(&data) => repeated.push(data),
                    true => {}
                    false => seen.push(data),
                }
            }
        }
        self.changing = leaf.written.clone();
        self.changing.extend(route.before_egress.iter().map(|(slot, _)| *slot));
        let zero = self.number(0);
        let bases = repeated.into_iter().map(|data| {
            let [sum, known] = [(); 2].map(|()| self.builder.declare_var(types::I64));
            self.builder.def_var(sum, zero);
            self.builder.def_var(known, zero);
            Base { data, sum, known }
        });
        self.bases = bases.collect();
    }

    /// What is kept of sums, for a packet that is laid aside.
    pub(super) fn sum_variables(&self) -> Vec<Variable> {
        self.bases.iter().flat_map(|base| [base.sum, base.known]).collect()
    }

    /// The checksum of data that consists of fields and other values, without those of a variable length; nothing when it
    /// is not so simple.
    pub(super) fn checksum_of_fields(&mut self, data: &[DataItem], action: Option<&ActionData>) -> Option<ir::Value> {
        let groups = self.groups(data)?;
        let base = match self.bases.iter().find(|base| base.data == data) {
            Some(base) => {
                let (sum, known) = (base.sum, base.known);
                self.base_sum(&groups, sum, known, action)
            }
            None => self.sum(&groups, Part::Base, action),
        };
        let rest = self.sum(&groups, Part::Changing, action);
        let sum = self.builder.ins().iadd(base, rest);
        Some(self.folded_complement(sum))
    }

    /// The sum of what nobody changes, which may be known.
    fn base_sum(
        &mut self,
        groups: &[Group<'_>],
        sum: Variable,
        known: Variable,
        action: Option<&ActionData>,
    ) -> ir::Value {
        let is_known = self.builder.use_var(known);
        let (compute, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_known, next, &[], compute, &[]);
        self.builder.switch_to_block(compute);
        let computed = self.sum(groups, Part::Base, action);
        self.builder.def_var(sum, computed);
        let one = self.number(1);
        self.builder.def_var(known, one);
        self.builder.ins().jump(next, &[]);
        self.builder.switch_to_block(next);
        self.builder.use_var(sum)
    }

    /// The complement of the ones' complement sum of 16-bit words (RFC 1071).
    pub(super) fn internet_checksum(&mut self, words: &[ir::Value]) -> ir::Value {
        let mut sum = self.number(0);
        for &word in words {
            let both = self.halves(word);
            sum = self.builder.ins().iadd(sum, both);
        }
        self.folded_complement(sum)
    }

    /// The sum of the halves of a word.
    fn halves(&mut self, word: ir::Value) -> ir::Value {
        let high = self.shifted_right(word, 32);
        let low = self.masked(32, word);
        self.builder.ins().iadd(high, low)
    }

    /// Adds up the 16-bit words of a sum with all carries; the complement. A number and itself with its halves exchanged
    /// have the sum of the halves, and its carry, in the upper half of their sum.
    fn folded_complement(&mut self, sum: ir::Value) -> ir::Value {
        let amount = self.number(32);
        let exchanged = self.builder.ins().rotl(sum, amount);
        let both = self.builder.ins().iadd(sum, exchanged);
        let folded = self.shifted_right(both, 32);
        let folded = self.builder.ins().ireduce(types::I32, folded);
        let amount = self.builder.ins().iconst(types::I32, 16);
        let exchanged = self.builder.ins().rotl(folded, amount);
        let both = self.builder.ins().iadd(folded, exchanged);
        let complement = self.builder.ins().bnot(both);
        let complement = self.builder.ins().ushr(complement, amount);
        self.builder.ins().uextend(types::I64, complement)
    }

    fn sum(&mut self, groups: &[Group<'_>], part: Part, action: Option<&ActionData>) -> ir::Value {
        let mut sum = None;
        for group in groups.iter().filter(|group| group.changes == (part == Part::Changing)) {
            let word = self.group_word(group, action);
            let word = match group.bits > 32 {
                true => self.halves(word),
                false => word,
            };
            sum = Some(match sum {
                Some(others) => self.builder.ins().iadd(others, word),
                None => word,
            });
        }
        sum.unwrap_or_else(|| self.number(0))
    }

    fn group_word(&mut self, group: &Group<'_>, action: Option<&ActionData>) -> ir::Value {
        let mut joined = None;
        for (piece, width) in &group.pieces {
            let word = match piece {
                Piece::Expr(expr) => {
                    let value = self.value(expr, action);
                    self.low_word(value)
                }
                Piece::Packet(field) => {
                    let address = self.address_of_field(field);
                    self.load_bits(address, field.bytes, field.first_bit, *width)
                }
            };
            joined = Some(match joined {
                Some(before) => {
                    let moved = self.shifted_left(before, *width);
                    self.builder.ins().bor(moved, word)
                }
                None => word,
            });
        }
        joined.expect("groups have pieces")
    }

    /// The data in words; nothing when they do not fit.
    fn groups<'d>(&self, data: &'d [DataItem]) -> Option<Vec<Group<'d>>> {
        let mut groups = Vec::new();
        // Bits that do not end with a 16-bit word yet.
        let mut open: Group<'d> = Group::default();
        for (piece, width, changes) in self.pieces(data)? {
            let mut done = 0;
            while done < width {
                let part = match piece {
                    Piece::Packet(field) => Piece::Packet(field.moved(done)),
                    Piece::Expr(_) => piece,
                };
                let bits = match (piece, open.bits % 16) {
                    (Piece::Expr(_), _) => width,
                    (Piece::Packet(_), 0) => (width - done).min(64),
                    // No more than makes the word complete.
                    (Piece::Packet(_), filled) => (width - done).min(16 - filled),
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

    /// The data with their widths and whether they may be changed; fields that are one behind the other in the packet, and
    /// have not been changed, are taken together.
    fn pieces<'d>(&self, data: &'d [DataItem]) -> Option<Vec<(Piece<'d>, u32, bool)>> {
        let mut pieces: Vec<(Piece<'d>, u32, bool)> = Vec::new();
        for item in data {
            let DataItem::Value(expr) = item else { return None };
            let width = expr.width(self.program);
            if width == 0 || width > 64 {
                return None;
            }
            let changes = self.may_change(expr);
            match (self.field_in_packet(expr), pieces.last_mut()) {
                (Some((field, true)), Some((Piece::Packet(first), bits, others)))
                    if *others == changes && first.is_followed_by(*bits, &field) =>
                {
                    *bits += width;
                }
                (Some((field, _)), _) => pieces.push((Piece::Packet(field), width, changes)),
                (None, _) => pieces.push((Piece::Expr(expr), width, changes)),
            }
        }
        Some(pieces)
    }

    fn may_change(&self, expr: &Expr) -> bool {
        let mut changes = false;
        expr.for_each_slot(&mut |slot| changes |= self.changing.contains(&slot));
        changes
    }

    /// Where in the packet the value is, if it is a field that is there now, and whether it has not been changed.
    fn field_in_packet(&self, expr: &Expr) -> Option<(Field, bool)> {
        let (Expr::Slot(slot), Some(_)) = (expr, self.leaf) else {
            return None;
        };
        if let Some(field) = self.unchanged(*slot) {
            return Some((field, true));
        }
        match self.homes.of(*slot) {
            Home::Packet(field) => Some((*field, false)),
            _ => None,
        }
    }
}

/// Slots that controls may change.
pub(super) type Changing = BTreeSet<SlotId>;

/// What the Internet checksums of a body are computed of.
fn checksum_data(program: &Program, body: forebay_ir::BodyId) -> impl Iterator<Item = &[DataItem]> {
    let blocks = program.bodies[body.index()].blocks.iter();
    let statements = blocks.flat_map(|block| &block.statements);
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
