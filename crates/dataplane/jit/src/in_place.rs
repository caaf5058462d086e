//! Headers that stay where they are in the frame: extracted, never changed, and emitted in the same place.
//!
//! ```text
//! frame      │ ethernet │ ipv4 │ shim │ payload          nobody writes to ethernet and ipv4
//! emitted    │ ethernet │ ipv4 │ payload                 their bytes are where they are to be
//! ```
//!
//! The functions for the sides of the traffic manager ([`crate::gress`]) do not emit them byte by byte, and of their fields
//! they extract only those that somebody reads.

use crate::analysis::{CursorFact, cursor_facts, header_bits};
use crate::gress::Gresses;
use forebay_ir::{BodyId, HeaderId, IndexSet, Op, Program, SlotId};
use std::collections::{BTreeMap, BTreeSet};

/// A field that is only in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftField {
    /// The validity of its header.
    pub valid: SlotId,
    /// The field.
    pub slot: SlotId,
    /// Where it begins in the frame, in bits.
    pub first_bit: usize,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct InPlace {
    /// Where headers begin in the frame, in bits.
    starts: BTreeMap<HeaderId, u64>,
    /// By slot: fields of these headers that nobody reads.
    left: BTreeMap<SlotId, LeftField>,
}

impl InPlace {
    pub(crate) fn of(program: &Program, gresses: &Gresses) -> InPlace {
        let extracted = Extracted::of(program, gresses.ingress.parser);
        let written = slots_written(program);
        let is_unchanged = |header: HeaderId| {
            let mut slots = program.headers[header.index()].slots();
            slots.all(|slot| !written.contains(slot.index()))
        };
        let mut starts = BTreeMap::new();
        let mut before: Option<HeaderId> = None;
        let mut position = 0;
        for header in emitted_first(program, gresses.egress.deparser) {
            let (bits, varbit_max) = header_bits(program, &program.headers[header.index()]);
            let is_behind = before.is_none_or(|before| extracted.always_behind(header, before));
            let rests = extracted.start(header) == Some(position) && is_behind && is_unchanged(header);
            if !rests || bits == 0 || !bits.is_multiple_of(8) || varbit_max > 0 {
                break;
            }
            starts.insert(header, position);
            position += bits;
            before = Some(header);
        }
        InPlace {
            left: left_fields(program, &starts),
            starts,
        }
    }

    /// Where a header that rests begins in the frame, in bytes.
    pub(crate) fn first_byte(&self, header: HeaderId) -> Option<u64> {
        self.starts.get(&header).map(|bits| bits / 8)
    }

    /// Whether a field need not be extracted.
    pub(crate) fn is_left(&self, slot: SlotId) -> bool {
        self.left.contains_key(&slot)
    }

    pub(crate) fn into_left(self) -> Vec<LeftField> {
        self.left.into_values().collect()
    }
}

/// The headers that a deparser emits before it does anything else, each emitted once.
fn emitted_first(program: &Program, deparser: BodyId) -> Vec<HeaderId> {
    let body = &program.bodies[deparser.index()];
    let emitted = |op: &Op| match op {
        Op::Emit { header } => Some(*header),
        _ => None,
    };
    let blocks = &body.blocks;
    if blocks
        .iter()
        .any(|block| block.terminator.successors().iter().any(|next| next.index() == 0))
    {
        return Vec::new();
    }
    let all = blocks.iter().flat_map(|block| &block.statements);
    let all: Vec<HeaderId> = all.filter_map(|statement| emitted(&statement.op)).collect();
    let is_repeated = |header: &HeaderId| all.iter().filter(|other| *other == header).count() > 1;
    let first = blocks[0]
        .statements
        .iter()
        .map_while(|statement| emitted(&statement.op));
    first.take_while(|header| !is_repeated(header)).collect()
}

/// Slots that something else than an extraction writes.
fn slots_written(program: &Program) -> IndexSet {
    let mut written = IndexSet::new(program.slots.len());
    let blocks = program.bodies.iter().flat_map(|body| &body.blocks);
    for block in blocks {
        let targets = block.statements.iter().filter_map(|statement| statement.op.target());
        targets.for_each(|slot| written.insert(slot.index()));
        if let forebay_ir::Terminator::Apply { hit, action_run, .. } = &block.terminator {
            hit.iter()
                .chain(action_run)
                .for_each(|slot| written.insert(slot.index()));
        }
    }
    let meters = program
        .tables
        .iter()
        .filter_map(|table| table.direct_meter.as_ref()?.slot);
    meters.for_each(|slot| written.insert(slot.index()));
    program.intrinsic.values().for_each(|slot| written.insert(slot.index()));
    written
}

fn left_fields(program: &Program, starts: &BTreeMap<HeaderId, u64>) -> BTreeMap<SlotId, LeftField> {
    let read = program.slots_read();
    let mut left = BTreeMap::new();
    for (id, start) in starts {
        let header = &program.headers[id.index()];
        let mut first_bit = *start as usize;
        for field in &header.fields {
            if !read.contains(&field.slot) {
                let own = LeftField {
                    valid: header.valid,
                    slot: field.slot,
                    first_bit,
                };
                left.insert(field.slot, own);
            }
            first_bit += program.slot(field.slot).width as usize;
        }
    }
    left
}

/// What a parser extracts.
struct Extracted {
    /// By header, for each place where it is extracted: where the parser stands, and what it has certainly extracted before.
    places: BTreeMap<HeaderId, Vec<(CursorFact, BTreeSet<HeaderId>)>>,
}

impl Extracted {
    fn of(program: &Program, parser: BodyId) -> Extracted {
        let body = &program.bodies[parser.index()];
        let extracted = |op: &Op| match op {
            Op::Extract { header, .. } => Some(*header),
            _ => None,
        };
        let before = certainly_before(body, extracted);
        let mut places: BTreeMap<HeaderId, Vec<_>> = BTreeMap::new();
        for ((block, fact), before) in body.blocks.iter().zip(cursor_facts(program, body)).zip(before) {
            let (mut cursor, mut before) = (fact, before);
            for statement in &block.statements {
                if let Some(header) = extracted(&statement.op) {
                    places.entry(header).or_default().push((cursor, before.clone()));
                    before.insert(header);
                }
                cursor = cursor.after(program, &statement.op);
            }
        }
        Extracted { places }
    }

    /// Where a header always begins, in bits: then no way extracts it twice, unless it is empty.
    fn start(&self, header: HeaderId) -> Option<u64> {
        let places = self.places.get(&header)?;
        let CursorFact::At(start) = places.first()?.0 else {
            return None;
        };
        places
            .iter()
            .all(|(cursor, _)| *cursor == CursorFact::At(start))
            .then_some(start)
    }

    /// Whether a header is never extracted without another one before it.
    fn always_behind(&self, header: HeaderId, other: HeaderId) -> bool {
        let places = self.places.get(&header);
        places.is_some_and(|places| places.iter().all(|(_, before)| before.contains(&other)))
    }
}

/// By block: what was extracted on all ways to it.
fn certainly_before(body: &forebay_ir::Body, extracted: impl Fn(&Op) -> Option<HeaderId>) -> Vec<BTreeSet<HeaderId>> {
    let mut before: Vec<Option<BTreeSet<HeaderId>>> = vec![None; body.blocks.len()];
    before[0] = Some(BTreeSet::new());
    let mut pending = vec![0];
    while let Some(index) = pending.pop() {
        let block = &body.blocks[index];
        let mut after = before[index]
            .clone()
            .expect("a block is pending after its set is known");
        after.extend(block.statements.iter().filter_map(|statement| extracted(&statement.op)));
        for next in block.terminator.successors() {
            let known = &mut before[next.index()];
            let joined = match known {
                Some(known) => known.intersection(&after).copied().collect(),
                None => after.clone(),
            };
            if known.as_ref() != Some(&joined) {
                *known = Some(joined);
                pending.push(next.index());
            }
        }
    }
    before.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gress::{EgressHalf, IngressHalf};

    /// Three headers, one behind the other, of which the ingress control and the deparser do what is said.
    fn in_place(ingress: &str, deparser: &str) -> Vec<usize> {
        let header = |name: &str| {
            format!(
                "header {name} {name}_t {{\n  valid {name}.$valid\n  field kind = {name}.kind\n  field other = {name}.other\n}}\n"
            )
        };
        let slots = |name: &str| {
            format!(
                "slot {name}.$valid: bit<1> valid {name}\nslot {name}.kind: bit<8> field {name}\nslot {name}.other: bit<24> field {name}\n"
            )
        };
        let names = ["a", "b", "c"];
        let text = format!(
            "program v1model\n{}{}\
             body P parser {{\nblock0 state start:\n  extract a\n  select (a.kind) {{\n    (8w0x1) => block1\n    default => block2\n  }}\n\
             block1 state more:\n  extract b\n  jump block2\nblock2:\n  extract c\n  return\n}}\n\
             body I control {{\nblock0:\n{ingress}  return\n}}\nbody E control {{\nblock0:\n  return\n}}\n\
             body D deparser {{\nblock0:\n{deparser}  return\n}}\n",
            names.map(slots).concat(),
            names.map(header).concat(),
        );
        let program = forebay_ir::text::read(&text).expect("it is a program");
        let gresses = Gresses {
            ingress: IngressHalf {
                parser: BodyId(0),
                verify_checksum: None,
                ingress: BodyId(1),
                before_parser: Vec::new(),
                parser_error: None,
                timeout: None,
                checksum_error: None,
            },
            egress: EgressHalf {
                egress: BodyId(2),
                compute_checksum: None,
                deparser: BodyId(3),
                before_egress: Vec::new(),
                drop: (SlotId(0), 511),
            },
        };
        let in_place = InPlace::of(&program, &gresses);
        let starts = in_place.starts.keys().map(|header| header.index()).collect();
        assert!(
            in_place
                .left
                .values()
                .all(|field| !program.slot(field.slot).name.ends_with("a.kind")),
            "the parser reads it"
        );
        starts
    }

    #[test]
    fn headers_rest_that_are_emitted_where_they_were_extracted() {
        // Where c begins depends on b.
        assert_eq!(in_place("", "  emit a\n  emit b\n  emit c\n"), [0, 1]);
    }

    #[test]
    fn what_is_changed_moved_or_repeated_does_not_rest_nor_what_is_behind_it() {
        assert_eq!(in_place("  a.other = 24w0x1\n", "  emit a\n  emit b\n"), [0; 0]);
        assert_eq!(in_place("  b.$valid = 1w0x0\n", "  emit a\n  emit b\n"), [0]);
        assert_eq!(in_place("", "  emit b\n  emit a\n"), [0; 0]);
        assert_eq!(in_place("", "  emit a\n  emit b\n  emit a\n"), [0; 0]);
    }
}
