//! Cycles of a program's parser states on the chip.
//!
//! A state of the chip takes bytes of the packet into containers: at most four of 8, 16 and 32 bits each. Small fields
//! are put into whatever containers there are. A header of *words*, whose fields all have 32 bits or more, takes
//! containers of 32 bits, as values that actions move must stay in containers of one size; when those of a group are
//! taken, the rest of the words on the packet's way takes smaller ones.

use crate::spec::Parser;
use forebay_ir::{Body, Expr, Header, HeaderId, Op, Program, Role, SlotId, SlotKind};
use std::collections::BTreeSet;

/// Parts of a cycle: states per byte of every kind are whole numbers of it.
pub(crate) const PARTS: u32 = 336;

/// What a chip takes for headers, as the control of one side uses them.
#[derive(Debug)]
pub(crate) struct Costs {
    parser: Parser,
    /// Headers with a field that goes into a register or comes from one.
    registers: BTreeSet<HeaderId>,
}

/// What the parser states on a way have taken so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// Parts of cycles of all states before the present one.
    parts: u32,
    /// Whether the present state does anything, its bytes of small fields, and its parts of cycles for words.
    used: bool,
    small_bytes: u32,
    word_parts: u32,
    /// Bytes of words on the way.
    word_bytes: u32,
}

impl Costs {
    /// The costs of a side of the program.
    pub(crate) fn new(program: &Program, parser: &Parser, side: Role) -> Costs {
        Costs {
            parser: parser.clone(),
            registers: headers_of_registers(program, side),
        }
    }

    fn parts(&self, bytes: u32, bytes_of_state: u32) -> u32 {
        (bytes * PARTS).div_ceil(bytes_of_state.max(1))
    }

    /// The parts of cycles for words, after `before` bytes of words have been taken.
    fn words(&self, before: u32, bytes: u32) -> u32 {
        let wide = self.parser.word_group_bytes.saturating_sub(before).min(bytes);
        self.parts(wide, self.parser.word_state_bytes) + self.parts(bytes - wide, self.parser.late_word_state_bytes)
    }

    /// For words that are on no path of the parser.
    pub(crate) fn more_words(&self, bytes: u32) -> u32 {
        self.parts(bytes, self.parser.word_state_bytes)
    }
}

impl Taken {
    /// The parser begins with states that the chip's compiler adds.
    pub(crate) fn new(added_states: u32) -> Taken {
        Taken {
            parts: added_states * PARTS,
            ..Taken::default()
        }
    }

    /// The present state takes a header.
    pub(crate) fn extract(&mut self, program: &Program, id: HeaderId, costs: &Costs) {
        let header = &program.headers[id.index()];
        let bytes = bytes_of(program, header);
        self.used = true;
        if !is_words(program, header) {
            self.small_bytes += bytes;
        } else if costs.registers.contains(&id) {
            self.word_parts += costs
                .parts(bytes, costs.parser.register_state_bytes)
                .next_multiple_of(PARTS);
        } else {
            self.word_parts += costs.words(self.word_bytes, bytes);
            self.word_bytes += bytes;
        }
    }

    /// The present state looks at the packet, or moves on.
    pub(crate) fn touch(&mut self) {
        self.used = true;
    }

    /// The present state has ended; parts of cycles of all so far.
    pub(crate) fn end_state(&mut self, costs: &Costs) -> u32 {
        let small = costs.parts(self.small_bytes, costs.parser.state_bytes);
        let least = if self.used { PARTS } else { 0 };
        self.parts += least.max(small).max(self.word_parts);
        (self.used, self.small_bytes, self.word_parts) = (false, 0, 0);
        self.parts
    }
}

/// Whole bytes of a header without its varbit field.
pub(crate) fn bytes_of(program: &Program, header: &Header) -> u32 {
    bits_of(program, header) / 8
}

/// Bits of a header without its varbit field.
pub(crate) fn bits_of(program: &Program, header: &Header) -> u32 {
    let fixed = header.fields.iter().filter(|field| field.length.is_none());
    fixed.map(|field| program.slot(field.slot).width).sum()
}

fn is_words(program: &Program, header: &Header) -> bool {
    header
        .fields
        .iter()
        .all(|field| field.length.is_none() && program.slot(field.slot).width >= 32)
}

/// Headers that a side writes into registers or fills from them, through copies too.
fn headers_of_registers(program: &Program, side: Role) -> BTreeSet<HeaderId> {
    let Some(body) = program.stage(side) else {
        return BTreeSet::new();
    };
    let bodies = with_actions(program, body);
    let ops = || bodies.iter().flat_map(|body| body.statements());
    let mut slots: BTreeSet<SlotId> = BTreeSet::new();
    for statement in ops() {
        match &statement.op {
            Op::RegisterWrite {
                value: Expr::Slot(slot),
                ..
            }
            | Op::RegisterRead { slot, .. } => {
                slots.insert(*slot);
            }
            _ => {}
        }
    }
    loop {
        let before = slots.len();
        for statement in ops() {
            if let Op::Assign {
                slot,
                value: Expr::Slot(from),
            } = &statement.op
                && (slots.contains(slot) || slots.contains(from))
            {
                slots.extend([*slot, *from]);
            }
        }
        if slots.len() == before {
            break;
        }
    }
    let header = |slot: &SlotId| match program.slot(*slot).kind {
        SlotKind::Field(header) => Some(header),
        _ => None,
    };
    slots.iter().filter_map(header).collect()
}

/// A control and the actions of its tables.
pub(super) fn with_actions<'p>(program: &'p Program, body: &'p Body) -> Vec<&'p Body> {
    let actions = body.applied_tables().flat_map(|table| program.bodies_of_actions(table));
    let actions = actions.map(|action| &program.bodies[action.index()]);
    [body].into_iter().chain(actions).collect()
}
