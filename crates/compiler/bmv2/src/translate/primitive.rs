//! Primitives: what actions, parser states and deparsers do.

use super::Translator;
use super::number::is_truth;
use super::place::{Choice, Fields};
use crate::error::{At, Error, Result};
use crate::model::{BinaryOp, Operand, Primitive};
use forebay_bits::Bits;
use forebay_ir::{BlockId, CloneKind, Expr, Op, SlotId, Terminator, build};
use std::collections::BTreeMap;

/// Primitives that jump to another by its number.
const JUMPS: &[&str] = &["_jump", "_jump_if_zero"];

impl Translator<'_> {
    /// The primitives of an action, in order but for jumps.
    pub(super) fn primitives(&mut self, primitives: &[Primitive]) -> Result<()> {
        let targets = self.jump_targets(primitives)?;
        for (index, primitive) in primitives.iter().enumerate() {
            forebay_budget::check();
            if let Some(block) = targets.get(&index) {
                self.body.jump(*block);
                self.body.start(*block);
            }
            if JUMPS.contains(&primitive.op.as_str()) {
                self.jump(primitive, index, &targets).at(&primitive.at)?
            } else {
                self.primitive(primitive).at(&primitive.at)?
            }
        }
        if let Some(end) = targets.get(&primitives.len()) {
            self.body.jump(*end);
            self.body.start(*end);
        }
        Ok(())
    }

    /// A block for each primitive that is jumped to, and for each that follows a jump.
    fn jump_targets(&mut self, primitives: &[Primitive]) -> Result<BTreeMap<usize, BlockId>> {
        let mut targets = BTreeMap::new();
        for (index, primitive) in primitives.iter().enumerate() {
            if JUMPS.contains(&primitive.op.as_str()) {
                let target = self.jump_target(primitive).at(&primitive.at)?;
                if target > primitives.len() {
                    let message = format!("there is no primitive number {target} to jump to");
                    return Err(Error::new(message).or_at(&primitive.at));
                }
                for place in [target, index + 1] {
                    targets.entry(place).or_insert_with(|| self.body.block(None));
                }
            }
        }
        Ok(targets)
    }

    fn jump_target(&self, primitive: &Primitive) -> Result<usize> {
        let offset = primitive.parameters.last();
        let offset = offset.ok_or_else(|| Error::new("a jump needs the number of a primitive"))?;
        Ok(self.constant(offset)? as usize)
    }

    fn jump(&mut self, primitive: &Primitive, index: usize, targets: &BTreeMap<usize, BlockId>) -> Result<()> {
        self.locate(&primitive.source);
        let target = targets[&self.jump_target(primitive)?];
        match primitive.parameters.as_slice() {
            [_] => self.body.jump(target),
            [condition, _] => {
                let condition = self.truth(condition)?;
                self.body.branch(condition, targets[&(index + 1)], target);
            }
            _ => return Err(arity(primitive)),
        }
        Ok(())
    }

    /// One primitive that is no jump.
    pub(super) fn primitive(&mut self, primitive: &Primitive) -> Result<()> {
        self.locate(&primitive.source);
        use Operand::Text;
        match (primitive.op.as_str(), primitive.parameters.as_slice()) {
            ("no_op", _) => Ok(()),
            ("assign" | "modify_field", [target, value]) => self.assign(target, value),
            ("modify_field", [target, value, mask]) => self.assign_masked(target, value, mask),
            ("assign_VL", [target, value]) => self.assign_varbit(target, value),
            ("assign_header" | "copy_header", [target, source]) => self.copy_header(target, source),
            ("assign_union", [target, source]) => self.copy_union(target, source),
            ("assign_header_stack" | "assign_union_stack", [target, source]) => self.copy_stack(target, source),
            ("add_header" | "add_header_fast", [header]) => self.validity(header, true),
            ("remove_header", [header]) => self.validity(header, false),
            ("push", [stack, count]) => self.shift_stack(stack, count, true),
            ("pop", [stack, count]) => self.shift_stack(stack, count, false),
            ("mark_to_drop" | "drop", [] | [_]) => {
                self.mark_to_drop();
                Ok(())
            }
            ("exit", []) => {
                self.body.terminate(Terminator::Exit);
                Ok(())
            }
            ("truncate", [bytes]) => {
                let bytes = self.exact(bytes)?.expr;
                self.body.emit(Op::Truncate { bytes });
                Ok(())
            }
            ("clone_ingress_pkt_to_egress", [session, rest @ ..]) => {
                self.clone_packet(CloneKind::IngressToEgress, session, rest)
            }
            ("clone_egress_pkt_to_egress", [session, rest @ ..]) => {
                self.clone_packet(CloneKind::EgressToEgress, session, rest)
            }
            ("resubmit", lists) => {
                let field_list = self.field_list(lists)?;
                self.body.emit(Op::Resubmit { field_list });
                Ok(())
            }
            ("recirculate", lists) => {
                let field_list = self.field_list(lists)?;
                self.body.emit(Op::Recirculate { field_list });
                Ok(())
            }
            ("log_msg", [Text(format)]) => self.log(format, &[]),
            ("log_msg", [Text(format), Operand::Vector(values)]) => self.log(format, values),
            ("assert", [condition]) => self.assertion(primitive, condition, false),
            ("assume", [condition]) => self.assertion(primitive, condition, true),
            (name, parameters) => match arithmetic(name) {
                Some(op) => self.arithmetic(op, primitive, parameters),
                None => self.stateful(primitive),
            },
        }
    }

    /// `target = value`
    pub(super) fn assign(&mut self, target: &Operand, value: &Operand) -> Result<()> {
        if let (Operand::Field(header, _), Fields::Valid) = (target, self.fields(target)?) {
            return self.assign_validity(header, value);
        }
        let fields = self.field_slots(target)?;
        let width = fields.first().map_or(1, |field| field.what.width);
        let value = if is_truth(value) {
            build::resize(self.truth(value)?, 1, width, false)
        } else {
            self.low(value, width)?
        };
        let slots: Vec<Choice<SlotId>> = fields.iter().map(|field| field.with(field.what.slot)).collect();
        self.write(&slots, value);
        Ok(())
    }

    /// A header becomes valid or not.
    fn assign_validity(&mut self, header: &Operand, value: &Operand) -> Result<()> {
        let valid = self.truth(value)?;
        for choice in self.headers(header)? {
            self.write_validity(&choice, valid.clone());
        }
        Ok(())
    }

    /// Only the bits that the mask has change.
    fn assign_masked(&mut self, target: &Operand, value: &Operand, mask: &Operand) -> Result<()> {
        let kept = Operand::Unary(crate::model::UnaryOp::Invert, Box::new(mask.clone()));
        let both =
            |op, left: &Operand, right: &Operand| Operand::Binary(op, Box::new(left.clone()), Box::new(right.clone()));
        let old = both(BinaryOp::BitAnd, target, &kept);
        let new = both(BinaryOp::BitAnd, value, mask);
        self.assign(target, &both(BinaryOp::BitOr, &old, &new))
    }

    /// `target = value`, for fields of variable length.
    fn assign_varbit(&mut self, target: &Operand, value: &Operand) -> Result<()> {
        let (targets, sources) = (self.field_slots(target)?, self.field_slots(value)?);
        let ([target], [source]) = (targets.as_slice(), sources.as_slice()) else {
            return Err(Error::new(
                "fields of variable length that an index chooses cannot be assigned",
            ));
        };
        let (Some(length), Some(source_length)) = (target.what.length, source.what.length) else {
            return Err(Error::new("`assign_VL` is for fields of variable length"));
        };
        let value = build::resize(
            Expr::Slot(source.what.slot),
            source.what.width,
            target.what.width,
            false,
        );
        self.body.assign(target.what.slot, value);
        self.body.assign(length, Expr::Slot(source_length));
        Ok(())
    }

    fn validity(&mut self, header: &Operand, valid: bool) -> Result<()> {
        let headers = self.headers(header)?;
        self.set_validity(&headers, valid);
        Ok(())
    }

    /// The drop port, and no multicast group.
    fn mark_to_drop(&mut self) {
        for (field, is_all_ones) in [("egress_spec", true), ("mcast_grp", false)] {
            if let Some(slot) = self.program.intrinsic.get(field).copied() {
                let width = self.program.slot(slot).width;
                let value = if is_all_ones {
                    Bits::ones(width)
                } else {
                    Bits::zero(width)
                };
                self.body.assign(slot, Expr::Const(value));
            }
        }
    }

    fn clone_packet(&mut self, kind: CloneKind, session: &Operand, lists: &[Operand]) -> Result<()> {
        let session = self.exact(session)?.expr;
        let field_list = self.field_list(lists)?;
        self.body.emit(Op::Clone {
            kind,
            session,
            field_list,
        });
        Ok(())
    }

    /// The field list that a primitive names; none where there is no such list, as with number 0.
    fn field_list(&mut self, lists: &[Operand]) -> Result<Option<Expr>> {
        let Some(list) = lists.first() else { return Ok(None) };
        let number = self.constant(list)?;
        let is_known = self.program.field_lists.contains_key(&number);
        Ok(is_known.then(|| build::constant(8, u128::from(number))))
    }

    fn log(&mut self, format: &str, values: &[Operand]) -> Result<()> {
        let args = values.iter().map(|value| {
            if is_truth(value) {
                self.truth(value)
            } else {
                Ok(self.exact(value)?.expr)
            }
        });
        let args = args.collect::<Result<_>>()?;
        let format = format.to_owned();
        self.body.emit(Op::LogMessage { format, args });
        Ok(())
    }

    fn assertion(&mut self, primitive: &Primitive, condition: &Operand, is_assumption: bool) -> Result<()> {
        let condition = self.truth(condition)?;
        let text = primitive.source.fragment.clone();
        self.body.emit(if is_assumption {
            Op::Assume { condition, text }
        } else {
            Op::Assert { condition, text }
        });
        Ok(())
    }

    /// Arithmetic of P4_14: `add_to_field(target, value)`, `add(target, left, right)`.
    fn arithmetic(&mut self, op: BinaryOp, primitive: &Primitive, parameters: &[Operand]) -> Result<()> {
        let (target, left, right) = match parameters {
            [target, right] => (target, target, right),
            [target, left, right] => (target, left, right),
            _ => return Err(arity(primitive)),
        };
        let value = Operand::Binary(op, Box::new(left.clone()), Box::new(right.clone()));
        self.assign(target, &value)
    }
}

/// The operator of a primitive of P4_14.
fn arithmetic(name: &str) -> Option<BinaryOp> {
    Some(match name {
        "add_to_field" | "add" => BinaryOp::Add,
        "subtract_from_field" | "subtract" => BinaryOp::Subtract,
        "bit_and" => BinaryOp::BitAnd,
        "bit_or" => BinaryOp::BitOr,
        "bit_xor" => BinaryOp::BitXor,
        "shift_left" => BinaryOp::ShiftLeft,
        "shift_right" => BinaryOp::ShiftRight,
        _ => return None,
    })
}

/// The error of a primitive with other arguments than it takes.
pub fn arity(primitive: &Primitive) -> Error {
    let count = primitive.parameters.len();
    Error::new(format!("`{}` does not take these {count} arguments", primitive.op))
}
