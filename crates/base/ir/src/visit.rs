//! What operations read and write, and access to the expressions inside them, for passes and executors.

use crate::{DataItem, Expr, KeySet, Op, Program, SlotId, Table, TableId, Terminator};
use std::collections::BTreeSet;

impl Expr {
    /// Calls `visit` with every slot that the expression reads.
    pub fn for_each_slot(&self, visit: &mut impl FnMut(SlotId)) {
        match self {
            Expr::Slot(slot) => visit(*slot),
            Expr::Const(_) | Expr::Param { .. } => {}
            Expr::Unary(_, operand)
            | Expr::Slice { operand, .. }
            | Expr::ZeroExtend(_, operand)
            | Expr::SignExtend(_, operand)
            | Expr::Truncate(_, operand) => operand.for_each_slot(visit),
            Expr::Binary(_, left, right) | Expr::Concat(left, right) => {
                left.for_each_slot(visit);
                right.for_each_slot(visit);
            }
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } => {
                condition.for_each_slot(visit);
                then_value.for_each_slot(visit);
                else_value.for_each_slot(visit);
            }
        }
    }

    /// Calls `visit` with every slot that the expression reads, to be changed.
    pub fn for_each_slot_mut(&mut self, visit: &mut impl FnMut(&mut SlotId)) {
        match self {
            Expr::Slot(slot) => visit(slot),
            _ => self.for_each_operand_mut(&mut |operand| operand.for_each_slot_mut(visit)),
        }
    }

    /// Calls `visit` with every operand of this expression, but not with their operands.
    pub fn for_each_operand_mut(&mut self, visit: &mut impl FnMut(&mut Expr)) {
        match self {
            Expr::Slot(_) | Expr::Const(_) | Expr::Param { .. } => {}
            Expr::Unary(_, operand)
            | Expr::Slice { operand, .. }
            | Expr::ZeroExtend(_, operand)
            | Expr::SignExtend(_, operand)
            | Expr::Truncate(_, operand) => visit(operand),
            Expr::Binary(_, left, right) | Expr::Concat(left, right) => {
                visit(left);
                visit(right);
            }
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } => {
                visit(condition);
                visit(then_value);
                visit(else_value);
            }
        }
    }
}

/// The expressions in an operation, as references of either kind: one list for [`Op::exprs`] and [`Op::exprs_mut`].
macro_rules! op_exprs {
    ($op:expr, $values:ident) => {
        match $op {
            Op::Assign { value, .. } => vec![value],
            Op::Extract { varbit_bits, .. } => $values!(option varbit_bits),
            Op::Advance { bits } => vec![bits],
            Op::Truncate { bytes } => vec![bytes],
            Op::RegisterRead { index, .. } | Op::Count { index, .. } => vec![index],
            Op::ExecuteMeter { index, before, .. } => {
                let mut exprs = $values!(option before);
                exprs.push(index);
                exprs
            }
            Op::RegisterWrite { index, value, .. } => vec![index, value],
            Op::Hash { data, range, .. } => {
                let mut exprs = $values!(data data);
                if let Some((base, max)) = range {
                    exprs.extend([base, max]);
                }
                exprs
            }
            Op::VerifyChecksum { condition, data, checksum, .. } => {
                let mut exprs = $values!(data data);
                exprs.extend([condition, checksum]);
                exprs
            }
            Op::UpdateChecksum { condition, data, .. } => {
                let mut exprs = $values!(data data);
                exprs.push(condition);
                exprs
            }
            Op::Random { low, high, .. } => vec![low, high],
            Op::Digest { data, .. } => $values!(all data),
            Op::Clone { session, field_list, .. } => {
                let mut exprs = $values!(option field_list);
                exprs.push(session);
                exprs
            }
            Op::Resubmit { field_list } | Op::Recirculate { field_list } => $values!(option field_list),
            Op::EnterAtomic { index, .. } => $values!(option index),
            Op::LogMessage { args, .. } => $values!(all args),
            Op::Assert { condition, .. } | Op::Assume { condition, .. } => vec![condition],
            Op::Lookahead { .. } | Op::PacketLength { .. } | Op::Emit { .. } | Op::LeaveAtomic => Vec::new(),
        }
    };
}

/// Does this for terminators.
macro_rules! terminator_exprs {
    ($terminator:expr, $values:ident) => {
        match $terminator {
            Terminator::Branch { condition, .. } => vec![condition],
            Terminator::Reject(error) => vec![error],
            Terminator::Select { keys, cases, .. } => {
                let mut exprs = $values!(all keys);
                for keyset in $values!(keysets cases) {
                    match keyset {
                        KeySet::Equals(value) => exprs.push(value),
                        KeySet::EqualsMasked { value, mask } => exprs.extend([value, mask]),
                        KeySet::Any
                        | KeySet::Exact(_)
                        | KeySet::Mask { .. }
                        | KeySet::Range { .. }
                        | KeySet::ValueSet { .. } => {}
                    }
                }
                exprs
            }
            Terminator::Jump(_) | Terminator::Apply { .. } | Terminator::Return | Terminator::Exit => Vec::new(),
        }
    };
}

macro_rules! shared {
    (option $value:expr) => {
        $value.iter().collect::<Vec<_>>()
    };
    (all $values:expr) => {
        $values.iter().collect::<Vec<_>>()
    };
    (data $items:expr) => {
        $items
            .iter()
            .filter_map(|item| {
                if let DataItem::Value(value) = item {
                    Some(value)
                } else {
                    None
                }
            })
            .collect::<Vec<_>>()
    };
    (keysets $cases:expr) => {
        $cases.iter().flat_map(|case| &case.keysets)
    };
}

macro_rules! unique {
    (option $value:expr) => {
        $value.iter_mut().collect::<Vec<_>>()
    };
    (all $values:expr) => {
        $values.iter_mut().collect::<Vec<_>>()
    };
    (data $items:expr) => {
        $items
            .iter_mut()
            .filter_map(|item| {
                if let DataItem::Value(value) = item {
                    Some(value)
                } else {
                    None
                }
            })
            .collect::<Vec<_>>()
    };
    (keysets $cases:expr) => {
        $cases.iter_mut().flat_map(|case| &mut case.keysets)
    };
}

/// The slot that an operation writes, as a reference of either kind.
macro_rules! op_target {
    ($op:expr) => {
        match $op {
            Op::Assign { slot, .. }
            | Op::Lookahead { slot }
            | Op::PacketLength { slot }
            | Op::RegisterRead { slot, .. }
            | Op::ExecuteMeter { slot, .. }
            | Op::Hash { slot, .. }
            | Op::UpdateChecksum { slot, .. }
            | Op::Random { slot, .. } => Some(slot),
            Op::Extract { .. }
            | Op::Advance { .. }
            | Op::Emit { .. }
            | Op::RegisterWrite { .. }
            | Op::Count { .. }
            | Op::VerifyChecksum { .. }
            | Op::Digest { .. }
            | Op::Clone { .. }
            | Op::Resubmit { .. }
            | Op::Recirculate { .. }
            | Op::Truncate { .. }
            | Op::EnterAtomic { .. }
            | Op::LeaveAtomic
            | Op::LogMessage { .. }
            | Op::Assert { .. }
            | Op::Assume { .. } => None,
        }
    };
}

impl Op {
    /// The expressions that the operation evaluates.
    pub fn exprs(&self) -> Vec<&Expr> {
        op_exprs!(self, shared)
    }

    /// The expressions that the operation evaluates, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        op_exprs!(self, unique)
    }

    /// Calls `visit` with every slot that the operation reads, in expressions and as varbit data. The fields of a
    /// header that is emitted do not count.
    pub fn for_each_slot_read(&self, visit: &mut impl FnMut(SlotId)) {
        for expr in self.exprs() {
            expr.for_each_slot(visit);
        }
        for item in self.data() {
            if let DataItem::Varbit { value, length } = item {
                visit(*value);
                visit(*length);
            }
        }
    }

    /// The errors of the core library with which the operation may end a parser.
    pub fn parser_errors(&self) -> &'static [&'static str] {
        match self {
            Op::Extract {
                varbit_bits: Some(_), ..
            } => &["PacketTooShort", "HeaderTooShort", "ParserInvalidArgument"],
            Op::Extract { .. } | Op::Lookahead { .. } | Op::Advance { .. } => &["PacketTooShort"],
            _ => &[],
        }
    }

    /// The data of which the operation computes a hash or a checksum.
    pub fn data(&self) -> &[DataItem] {
        match self {
            Op::Hash { data, .. } | Op::VerifyChecksum { data, .. } | Op::UpdateChecksum { data, .. } => data,
            _ => &[],
        }
    }

    /// The slot that the operation writes. [`Op::Extract`] writes those of a header instead.
    pub fn target(&self) -> Option<SlotId> {
        op_target!(self).copied()
    }

    /// Calls `visit` with every slot that the operation names, to be changed.
    pub fn for_each_slot_mut(&mut self, visit: &mut impl FnMut(&mut SlotId)) {
        for expr in self.exprs_mut() {
            expr.for_each_slot_mut(visit);
        }
        if let Op::Hash { data, .. } | Op::VerifyChecksum { data, .. } | Op::UpdateChecksum { data, .. } = self {
            for item in data {
                if let DataItem::Varbit { value, length } = item {
                    visit(value);
                    visit(length);
                }
            }
        }
        if let Some(target) = op_target!(self) {
            visit(target);
        }
    }

    /// The target, if the operation always writes it. A checksum has a condition, an index may be out of range, and
    /// random bounds may be reversed: the slot then keeps its value.
    pub fn certain_target(&self) -> Option<SlotId> {
        match self {
            Op::Random { .. } | Op::ExecuteMeter { .. } | Op::UpdateChecksum { .. } => None,
            _ => self.target(),
        }
    }

    /// Whether the operation only writes its target, so that it can be removed if the target is not read.
    pub fn only_writes(&self) -> bool {
        matches!(
            self,
            Op::Assign { .. } | Op::PacketLength { .. } | Op::RegisterRead { .. } | Op::Hash { .. }
        )
    }

    /// Every slot that the operation writes.
    pub fn slots_written(&self, program: &Program) -> Vec<SlotId> {
        match self {
            Op::Extract { header, .. } => program.headers[header.index()].slots().collect(),
            _ => self.target().into_iter().collect(),
        }
    }
}

impl Program {
    /// Slots that a body, a table's key or a field list reads. Emitting a header does not count.
    pub fn slots_read(&self) -> BTreeSet<SlotId> {
        let mut read: BTreeSet<SlotId> = self.field_lists.values().flatten().copied().collect();
        let mut see = |slot| {
            read.insert(slot);
        };
        for block in self.bodies.iter().flat_map(|body| &body.blocks) {
            for statement in &block.statements {
                statement.op.for_each_slot_read(&mut see);
            }
            for expr in block.terminator.exprs() {
                expr.for_each_slot(&mut see);
            }
        }
        for key in self.tables.iter().flat_map(|table| &table.keys) {
            key.expr.for_each_slot(&mut see);
        }
        read
    }
}

impl crate::Header {
    /// All slots of the header: validity, fields, varbit length.
    pub fn slots(&self) -> impl Iterator<Item = SlotId> + '_ {
        let fields = self
            .fields
            .iter()
            .flat_map(|field| [Some(field.slot), field.length])
            .flatten();
        std::iter::once(self.valid).chain(fields)
    }
}

impl Terminator {
    /// The expressions that the terminator evaluates. A table's key belongs to the table.
    pub fn exprs(&self) -> Vec<&Expr> {
        terminator_exprs!(self, shared)
    }

    /// The expressions that the terminator evaluates, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        terminator_exprs!(self, unique)
    }

    /// Calls `visit` with every slot that the terminator reads, those in the key of a table included.
    pub fn for_each_slot_read(&self, program: &Program, visit: &mut impl FnMut(SlotId)) {
        for expr in self.exprs() {
            expr.for_each_slot(visit);
        }
        if let Some(table) = self.applied_table() {
            for key in &program.tables[table.index()].keys {
                key.expr.for_each_slot(visit);
            }
        }
    }

    /// The table that it applies, if it applies one.
    pub fn applied_table(&self) -> Option<TableId> {
        match self {
            Terminator::Apply { table, .. } => Some(*table),
            _ => None,
        }
    }

    /// The slots for the results of a look-up: whether it hit, and which action ran.
    pub fn results(&self) -> impl Iterator<Item = SlotId> + use<> {
        let results = match self {
            Terminator::Apply { hit, action_run, .. } => [*hit, *action_run],
            _ => [None; 2],
        };
        results.into_iter().flatten()
    }

    /// The slots for the [results](Terminator::results) of a look-up, and for the colour of the table's direct meter, which
    /// is not always written. What actions write is not among them.
    pub fn slots_written(&self, program: &Program) -> impl Iterator<Item = SlotId> + use<> {
        let table = self.applied_table().map(|table| &program.tables[table.index()]);
        self.results().chain(table.and_then(Table::color_slot))
    }

    /// The references to blocks, to be changed.
    pub fn successors_mut(&mut self) -> Vec<&mut crate::BlockId> {
        match self {
            Terminator::Jump(next) | Terminator::Apply { next, .. } => vec![next],
            Terminator::Branch {
                then_block, else_block, ..
            } => vec![then_block, else_block],
            Terminator::Select { cases, default, .. } => cases
                .iter_mut()
                .map(|case| &mut case.target)
                .chain(std::iter::once(default))
                .collect(),
            Terminator::Return | Terminator::Exit | Terminator::Reject(_) => Vec::new(),
        }
    }
}
