//! Bodies: their graphs, operations and terminators.

use super::{Place, Rule, Verifier};
use crate::{
    Block, BlockId, Body, BodyId, BodyKind, DataItem, Expr, HashAlgorithm, HeaderId, KeySet, Op, SlotId, Terminator,
};
use forebay_bits::Bits;

impl Verifier<'_> {
    pub(super) fn bodies(&mut self) {
        for (index, body) in self.program.bodies.iter().enumerate() {
            self.body(BodyId(index as u32), body);
        }
    }

    fn body(&mut self, id: BodyId, body: &Body) {
        self.go_to(id, body, None, None);
        self.require(!body.blocks.is_empty(), Rule::EmptyBody, || "no blocks".to_owned());
        for (index, block) in body.blocks.iter().enumerate() {
            forebay_budget::check();
            self.block(id, body, BlockId(index as u32), block);
        }
        for block in unreachable_blocks(body) {
            self.go_to(id, body, Some(block), None);
            self.report(Rule::UnreachableBlock, "nothing leads here");
        }
    }

    fn go_to(&mut self, id: BodyId, body: &Body, block: Option<BlockId>, statement: Option<usize>) {
        self.place = Place::Code {
            body: id,
            name: body.name.clone(),
            block,
            statement,
        };
    }

    fn block(&mut self, id: BodyId, body: &Body, at: BlockId, block: &Block) {
        for (index, statement) in block.statements.iter().enumerate() {
            self.go_to(id, body, Some(at), Some(index));
            self.location(statement.location);
            self.require(op_allowed(&statement.op, body.kind), Rule::NotAllowedHere, || {
                format!("this operation in a {:?}", body.kind)
            });
            self.op(&statement.op);
        }
        self.go_to(id, body, Some(at), None);
        self.location(block.location);
        self.require(
            terminator_allowed(&block.terminator, body.kind),
            Rule::NotAllowedHere,
            || format!("this end of a block in a {:?}", body.kind),
        );
        self.terminator(&block.terminator);
        for target in block.terminator.successors() {
            self.in_range("block", target.0, body.blocks.len());
        }
    }

    fn terminator(&mut self, terminator: &Terminator) {
        match terminator {
            Terminator::Jump(_) | Terminator::Return | Terminator::Exit => {}
            Terminator::Branch { condition, .. } => self.expr_of_width("a condition", condition, 1),
            Terminator::Select { keys, cases, .. } => {
                let widths: Vec<Option<u32>> = keys.iter().map(|key| self.expr(key)).collect();
                for case in cases {
                    let (given, wanted) = (case.keysets.len(), keys.len());
                    self.require(given == wanted, Rule::SelectArity, || {
                        format!("{given} keysets for {wanted} keys")
                    });
                    for (keyset, width) in case.keysets.iter().zip(&widths) {
                        self.keyset(keyset, *width);
                    }
                }
            }
            Terminator::Apply {
                table, hit, action_run, ..
            } => {
                self.in_range("table", table.0, self.program.tables.len());
                self.optional_slot("hit", *hit, 1);
                self.optional_slot("the action that ran", *action_run, 32);
            }
            Terminator::Reject(error) => self.expr_of_width("an error", error, 32),
        }
    }

    /// A keyset for a key of this width (`None` when the key itself is wrong).
    fn keyset(&mut self, keyset: &KeySet, width: Option<u32>) {
        match keyset {
            KeySet::Any => {}
            KeySet::Exact(value) => self.keyset_constants(&[value], width),
            KeySet::Mask { value, mask } => self.keyset_constants(&[value, mask], width),
            KeySet::Range { low, high } => self.keyset_constants(&[low, high], width),
            KeySet::Equals(value) => self.keyset_exprs(&[value], width),
            KeySet::EqualsMasked { value, mask } => self.keyset_exprs(&[value, mask], width),
            KeySet::ValueSet { set, component } => {
                if !self.in_range("value set", set.0, self.program.value_sets.len()) {
                    return;
                }
                let set = &self.program.value_sets[set.index()];
                let Some(component) = set.components.get(*component as usize) else {
                    return self.report(
                        Rule::ValueSetComponent,
                        format!("{} has no component {component}", set.name),
                    );
                };
                if let Some(width) = width {
                    self.same_width("a value set's component", component.width, width);
                }
            }
        }
    }

    fn keyset_constants(&mut self, values: &[&Bits], width: Option<u32>) {
        for value in values {
            if let Some(width) = width {
                self.same_width("a keyset", value.width(), width);
            }
        }
    }

    fn keyset_exprs(&mut self, values: &[&Expr], width: Option<u32>) {
        for value in values {
            if let (Some(found), Some(width)) = (self.expr(value), width) {
                self.same_width("a keyset", found, width);
            }
        }
    }

    fn op(&mut self, op: &Op) {
        for error in op.parser_errors() {
            let declared = self.program.error(error).is_some();
            self.require(declared, Rule::ErrorNames, || {
                format!("this operation may end with `{error}`, which the program does not declare")
            });
        }
        match op {
            Op::Assign { slot, value } => {
                let expected = self.slot_width(*slot);
                if let (Some(found), Some(expected)) = (self.expr(value), expected) {
                    self.same_width("the value", found, expected);
                }
            }
            Op::Extract { header, varbit_bits } => self.extract(*header, varbit_bits.as_ref()),
            Op::Emit { header } => {
                self.in_range("header", header.0, self.program.headers.len());
            }
            Op::Advance { bits } => self.any_expr(bits),
            Op::Truncate { bytes } => self.any_expr(bytes),
            Op::EnterAtomic { index, .. } => {
                if let Some(index) = index {
                    self.any_expr(index);
                }
            }
            Op::LeaveAtomic => {}
            Op::Lookahead { slot } => self.any_slot(*slot),
            Op::PacketLength { slot } => self.optional_slot("the packet's length", Some(*slot), 32),
            Op::RegisterRead { register, index, slot } => {
                self.any_expr(index);
                let width = self.slot_width(*slot);
                if self.in_range("register", register.0, self.program.registers.len())
                    && let Some(width) = width
                {
                    self.same_width(
                        "the element's target",
                        width,
                        self.program.registers[register.index()].width,
                    );
                }
            }
            Op::RegisterWrite { register, index, value } => {
                self.any_expr(index);
                if self.in_range("register", register.0, self.program.registers.len()) {
                    self.expr_of_width("the element", value, self.program.registers[register.index()].width);
                }
            }
            Op::Count { counter, index } => {
                self.any_expr(index);
                if self.in_range("counter", counter.0, self.program.counters.len()) {
                    let is_array = self.program.counters[counter.index()].size.is_some();
                    self.require(is_array, Rule::DirectObject, || {
                        "a direct counter has no index".to_owned()
                    });
                }
            }
            Op::ExecuteMeter {
                meter,
                index,
                before,
                slot,
            } => {
                self.any_expr(index);
                before.iter().for_each(|before| self.any_expr(before));
                self.any_slot(*slot);
                if self.in_range("meter", meter.0, self.program.meters.len()) {
                    let is_array = self.program.meters[meter.index()].size.is_some();
                    self.require(is_array, Rule::DirectObject, || {
                        "a direct meter has no index".to_owned()
                    });
                }
            }
            Op::Hash {
                algorithm,
                data,
                range,
                slot,
            } => {
                self.algorithm(*algorithm);
                self.data(data);
                for bound in range.iter().flat_map(|(base, max)| [base, max]) {
                    self.any_expr(bound);
                }
                self.any_slot(*slot);
            }
            Op::VerifyChecksum {
                condition,
                data,
                checksum,
                algorithm,
                ..
            } => {
                self.algorithm(*algorithm);
                self.expr_of_width("a condition", condition, 1);
                self.data(data);
                self.any_expr(checksum);
            }
            Op::UpdateChecksum {
                condition,
                data,
                slot,
                algorithm,
                ..
            } => {
                self.algorithm(*algorithm);
                self.expr_of_width("a condition", condition, 1);
                self.data(data);
                self.any_slot(*slot);
            }
            Op::Random { low, high, slot } => {
                if let Some(width) = self.slot_width(*slot) {
                    self.expr_of_width("the low end", low, width);
                    self.expr_of_width("the high end", high, width);
                }
            }
            Op::Digest { digest, data } => self.digest(digest.0, data),
            Op::Clone {
                session, field_list, ..
            } => {
                self.any_expr(session);
                self.field_list(field_list);
            }
            Op::Resubmit { field_list } | Op::Recirculate { field_list } => self.field_list(field_list),
            Op::LogMessage { args, .. } => args.iter().for_each(|arg| self.any_expr(arg)),
            Op::Assert { condition, .. } | Op::Assume { condition, .. } => {
                self.expr_of_width("a condition", condition, 1);
            }
        }
    }

    fn extract(&mut self, header: HeaderId, varbit_bits: Option<&Expr>) {
        if let Some(bits) = varbit_bits {
            self.any_expr(bits);
        }
        if self.in_range("header", header.0, self.program.headers.len()) {
            let has_varbit = self.program.headers[header.index()]
                .fields
                .iter()
                .any(|field| field.length.is_some());
            self.require(has_varbit == varbit_bits.is_some(), Rule::ExtractVarbit, || {
                format!("varbit field: {has_varbit}, its length: {}", varbit_bits.is_some())
            });
        }
    }

    fn digest(&mut self, digest: u32, data: &[Expr]) {
        if !self.in_range("digest", digest, self.program.digests.len()) {
            return;
        }
        let fields = &self.program.digests[digest as usize].fields;
        self.require(data.len() == fields.len(), Rule::DigestArity, || {
            format!("{} values, expected {}", data.len(), fields.len())
        });
        for (value, (name, width)) in data.iter().zip(fields) {
            self.expr_of_width(name, value, *width);
        }
    }

    fn algorithm(&mut self, algorithm: HashAlgorithm) {
        if let HashAlgorithm::Custom(calculation) = algorithm {
            self.in_range("calculation", calculation.0, self.program.calculations.len());
        }
    }

    fn data(&mut self, items: &[DataItem]) {
        for item in items {
            match item {
                DataItem::Value(value) => self.any_expr(value),
                DataItem::Varbit { value, length } => {
                    self.any_slot(*value);
                    self.optional_slot("a varbit's length", Some(*length), 32);
                }
            }
        }
    }

    fn field_list(&mut self, field_list: &Option<Expr>) {
        if let Some(number) = field_list {
            self.expr_of_width("a field list's number", number, 8);
        }
    }

    fn any_expr(&mut self, expr: &Expr) {
        self.expr(expr);
    }

    fn any_slot(&mut self, slot: SlotId) {
        self.slot_width(slot);
    }

    fn optional_slot(&mut self, what: &str, slot: Option<SlotId>, expected: u32) {
        if let Some(width) = slot.and_then(|slot| self.slot_width(slot)) {
            self.same_width(what, width, expected);
        }
    }
}

fn op_allowed(op: &Op, kind: BodyKind) -> bool {
    match op {
        Op::Extract { .. } | Op::Advance { .. } | Op::Lookahead { .. } | Op::PacketLength { .. } => {
            kind == BodyKind::Parser
        }
        Op::Emit { .. } => kind == BodyKind::Deparser,
        Op::Clone { .. } | Op::Resubmit { .. } | Op::Recirculate { .. } | Op::Truncate { .. } => {
            matches!(kind, BodyKind::Control | BodyKind::Action)
        }
        Op::Digest { .. } => kind != BodyKind::Parser,
        Op::VerifyChecksum { .. } | Op::UpdateChecksum { .. } => kind != BodyKind::Parser,
        Op::Assign { .. }
        | Op::RegisterRead { .. }
        | Op::RegisterWrite { .. }
        | Op::Count { .. }
        | Op::ExecuteMeter { .. }
        | Op::Hash { .. }
        | Op::Random { .. }
        | Op::EnterAtomic { .. }
        | Op::LeaveAtomic
        | Op::LogMessage { .. }
        | Op::Assert { .. }
        | Op::Assume { .. } => true,
    }
}

fn terminator_allowed(terminator: &Terminator, kind: BodyKind) -> bool {
    match terminator {
        Terminator::Jump(_) | Terminator::Branch { .. } | Terminator::Return => true,
        Terminator::Select { cases, .. } => {
            let mut keysets = cases.iter().flat_map(|case| &case.keysets);
            kind == BodyKind::Parser || !keysets.any(|keyset| matches!(keyset, KeySet::ValueSet { .. }))
        }
        Terminator::Apply { .. } => kind == BodyKind::Control,
        Terminator::Exit => kind != BodyKind::Parser,
        Terminator::Reject(_) => kind == BodyKind::Parser,
    }
}

/// Blocks that no path from the entry reaches.
fn unreachable_blocks(body: &Body) -> Vec<BlockId> {
    let reached = body.reachable_blocks();
    (0..body.blocks.len() as u32)
        .map(BlockId)
        .filter(|block| !reached[block.index()])
        .collect()
}
