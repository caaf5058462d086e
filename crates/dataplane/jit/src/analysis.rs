//! Analyses of a program before translation.

use forebay_ir::{BinaryOp, BlockId, Body, Expr, Op, Program, SlotId, Statement, Terminator, Walk};
use std::collections::{BTreeMap, BTreeSet};

/// The parser's position at some point of its body, in bits from the packet's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorFact {
    /// Always at this position.
    At(u64),
    /// Always this many bits after a byte boundary.
    Aligned(u32),
    /// Nothing is known.
    Anywhere,
}

impl CursorFact {
    /// Bits after a byte boundary.
    pub(crate) fn bit_in_byte(self) -> Option<u32> {
        match self {
            CursorFact::At(position) => Some((position % 8) as u32),
            CursorFact::Aligned(bit) => Some(bit),
            CursorFact::Anywhere => None,
        }
    }

    fn advanced(self, bits: u64) -> CursorFact {
        match self {
            CursorFact::At(position) => CursorFact::At(position.saturating_add(bits)),
            CursorFact::Aligned(bit) => CursorFact::Aligned(((u64::from(bit) + bits % 8) % 8) as u32),
            CursorFact::Anywhere => CursorFact::Anywhere,
        }
    }

    /// After an unknown number of whole bytes.
    fn advanced_by_bytes(self) -> CursorFact {
        self.bit_in_byte().map_or(CursorFact::Anywhere, CursorFact::Aligned)
    }

    /// What holds for both.
    fn join(self, other: CursorFact) -> CursorFact {
        if self == other {
            return self;
        }
        match (self.bit_in_byte(), other.bit_in_byte()) {
            (Some(a), Some(b)) if a == b => CursorFact::Aligned(a),
            _ => CursorFact::Anywhere,
        }
    }

    /// After a statement.
    pub(crate) fn after(self, program: &Program, op: &Op) -> CursorFact {
        match op {
            Op::Extract { header, varbit_bits } => {
                let (fixed, _) = program.header_bits(&program.headers[header.index()]);
                let fixed = self.advanced(fixed);
                if varbit_bits.is_some() {
                    fixed.advanced_by_bytes()
                } else {
                    fixed
                }
            }
            Op::Advance {
                bits: Expr::Const(bits),
            } => self.advanced(bits.to_u64_saturating()),
            Op::Advance { bits } if low_zeros(bits) >= 3 => self.advanced_by_bytes(),
            Op::Advance { .. } => CursorFact::Anywhere,
            _ => self,
        }
    }
}

/// The wide varbit fields of which only the bits that they have are used, with the slots of their lengths: their values
/// are not part of expressions, except for copies of headers. So the bits above need not be zero.
pub(crate) fn varbits_up_to_length(program: &Program) -> BTreeMap<SlotId, SlotId> {
    let fields = program.headers.iter().flat_map(|header| &header.fields);
    let mut varbits: BTreeMap<SlotId, SlotId> = fields.filter_map(|field| Some((field.slot, field.length?))).collect();
    varbits.retain(|slot, _| program.slot(*slot).width > 128);
    if varbits.is_empty() {
        return varbits;
    }
    let mut wholly_read = BTreeSet::new();
    let mut read = |expr: &Expr| expr.for_each_slot(&mut |slot| _ = wholly_read.insert(slot));
    for block in program.bodies.iter().flat_map(|body| &body.blocks) {
        for statement in &block.statements {
            match &statement.op {
                Op::Assign {
                    slot,
                    value: Expr::Slot(copied),
                } if varbits.contains_key(slot) && varbits.contains_key(copied) => {}
                op => op.exprs().into_iter().for_each(&mut read),
            }
        }
        block.terminator.exprs().into_iter().for_each(&mut read);
    }
    let keys = program.tables.iter().flat_map(|table| &table.keys);
    keys.for_each(|key| read(&key.expr));
    // A copy of one that is wholly read would be wholly read.
    if varbits.keys().any(|slot| wholly_read.contains(slot)) {
        varbits.clear();
    }
    varbits
}

/// Whether every header is a sequence of whole bytes, so that the emitted bits are always whole bytes.
pub(crate) fn emits_whole_bytes(program: &Program) -> bool {
    program.headers.iter().all(|header| {
        let (fixed, varbit_max) = program.header_bits(header);
        varbit_max == 0 && fixed.is_multiple_of(8)
    })
}

/// A lower bound on the number of zero low bits of an expression.
fn low_zeros(expr: &Expr) -> u32 {
    match expr {
        Expr::Const(value) if value.is_zero() => value.width(),
        Expr::Const(value) => (0..value.width()).take_while(|&bit| !value.bit(bit)).count() as u32,
        Expr::ZeroExtend(_, operand) | Expr::SignExtend(_, operand) | Expr::Truncate(_, operand) => low_zeros(operand),
        Expr::Concat(_, low) => low_zeros(low),
        Expr::Binary(BinaryOp::Shl, left, right) => match &**right {
            Expr::Const(amount) => low_zeros(left).saturating_add(amount.to_u64_saturating().min(1 << 16) as u32),
            _ => low_zeros(left),
        },
        Expr::Binary(BinaryOp::Mul, left, right) => low_zeros(left).saturating_add(low_zeros(right)),
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor, left, right) => {
            low_zeros(left).min(low_zeros(right))
        }
        Expr::Binary(BinaryOp::And, left, right) => low_zeros(left).max(low_zeros(right)),
        _ => 0,
    }
}

/// The parser's position at the beginning of each block, when the body begins at the packet's start.
pub(crate) fn cursor_facts(program: &Program, body: &Body) -> Vec<CursorFact> {
    let mut facts = vec![None; body.blocks.len()];
    facts[0] = Some(CursorFact::At(0));
    let mut pending = vec![BlockId(0)];
    while let Some(id) = pending.pop() {
        let block = &body.blocks[id.index()];
        let before = facts[id.index()].expect("a block is pending after its fact is known");
        let after = block
            .statements
            .iter()
            .fold(before, |fact, statement| fact.after(program, &statement.op));
        for next in block.terminator.successors() {
            let known = &mut facts[next.index()];
            let joined = known.map_or(after, |known| known.join(after));
            if *known != Some(joined) {
                *known = Some(joined);
                pending.push(next);
            }
        }
    }
    facts
        .into_iter()
        .map(|fact| fact.unwrap_or(CursorFact::Anywhere))
        .collect()
}

/// The most steps that a body can take, actions of its tables included; `None` when it has a loop.
pub(crate) fn longest_path(program: &Program, body: &Body) -> Option<u64> {
    let walk = Walk::over_body(body);
    if !walk.loops.is_empty() {
        return None;
    }
    let mut longest = vec![0u64; body.blocks.len()];
    for id in walk.order.into_iter().rev() {
        let block = &body.blocks[id.index()];
        let own = block.statements.len() as u64 + 1 + longest_action(program, &block.terminator)?;
        let successors = block.terminator.successors();
        let rest = successors.iter().map(|next| longest[next.index()]).max().unwrap_or(0);
        longest[id.index()] = own.saturating_add(rest);
    }
    Some(longest[0])
}

fn longest_action(program: &Program, terminator: &Terminator) -> Option<u64> {
    let Terminator::Apply { table, .. } = terminator else {
        return Some(0);
    };
    program
        .actions_of(*table)
        .map(|action| longest_path(program, action))
        .try_fold(0, |longest, path| Some(longest.max(path?)))
}

/// Whether the program truncates packets.
pub(crate) fn truncates(program: &Program) -> bool {
    let mut statements = program.statements();
    statements.any(|statement| matches!(statement.op, Op::Truncate { .. }))
}

/// What holds before each block, found from what holds before others: beginning with `sets`, each is improved, the last
/// block's first, until nothing changes.
pub(crate) fn solve<T: PartialEq>(mut sets: Vec<T>, before: impl Fn(usize, &[T]) -> T) -> Vec<T> {
    loop {
        let mut changed = false;
        for index in (0..sets.len()).rev() {
            let improved = before(index, &sets);
            changed |= improved != sets[index];
            sets[index] = improved;
        }
        if !changed {
            return sets;
        }
    }
}

/// A rough measure of a body's code size: statements and terminators.
pub(crate) fn size(body: &Body) -> usize {
    body.blocks.iter().map(|block| block.statements.len() + 1).sum()
}

/// Whether a statement may have effects that outlive a dropped packet, or may end the body.
pub(crate) fn has_outside_effect(statement: &Statement) -> bool {
    matches!(
        statement.op,
        Op::Extract { .. }
            | Op::Advance { .. }
            | Op::Lookahead { .. }
            | Op::RegisterWrite { .. }
            | Op::Count { .. }
            | Op::ExecuteMeter { .. }
            | Op::Assert { .. }
            | Op::Assume { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_bits::Bits;

    #[test]
    fn facts_join_to_what_is_common() {
        use CursorFact::*;
        assert_eq!(At(112).join(At(112)), At(112));
        assert_eq!(At(112).join(At(144)), Aligned(0));
        assert_eq!(At(112).join(At(4)), Anywhere);
        assert_eq!(Aligned(4).join(At(12)), Aligned(4));
        assert_eq!(Anywhere.join(At(0)), Anywhere);
    }

    #[test]
    fn lengths_in_bytes_keep_the_alignment() {
        let ihl = || Box::new(Expr::Param { index: 0, width: 4 });
        let number = |value| Box::new(Expr::Const(Bits::new(32, value)));
        let wide = Box::new(Expr::ZeroExtend(32, ihl()));
        let words = Expr::Binary(BinaryOp::Mul, wide.clone(), number(32));
        let options = Expr::Binary(BinaryOp::Sub, Box::new(words), number(160));
        assert_eq!(low_zeros(&options), 5);
        assert_eq!(low_zeros(&Expr::Binary(BinaryOp::Shl, wide.clone(), number(3))), 3);
        assert_eq!(low_zeros(&wide), 0);
    }
}
