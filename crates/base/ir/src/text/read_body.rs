//! Reads bodies: blocks, operations, terminators, expressions.

use super::cursor::Read;
use super::lexer::Token;
use super::read_program::Reader;
use super::write_expr::binary_op;
use crate::verify::MAX_EXPRESSION_DEPTH;
use crate::{
    ActionId, Block, BlockId, Body, BodyId, CalculationId, CounterId, DataItem, DigestId, Expr, HashAlgorithm, KeySet,
    MeterId, Op, RegisterId, SelectCase, SlotId, Statement, TableId, Terminator, UnaryOp, ValueSetId,
};

/// The action whose body is being read: what `$name` refers to.
type Owner = Option<ActionId>;

/// An expression, and its depth.
struct Nested {
    expr: Expr,
    depth: usize,
}

impl Reader {
    /// Reads a body; `body` has been read.
    pub(super) fn body(&mut self, id: BodyId, owner: Owner) -> Read<Body> {
        let name = self.cursor.declared_name(id.index())?;
        let kind = self.cursor.keyword()?;
        self.cursor.expect("{")?;
        let mut blocks = Vec::new();
        while !self.cursor.accept("}") {
            if self.cursor.block()? != BlockId(blocks.len() as u32) {
                return self.cursor.error(format!("this is block{}", blocks.len()));
            }
            blocks.push(self.block(owner)?);
        }
        Ok(Body { name, kind, blocks })
    }

    fn block(&mut self, owner: Owner) -> Read<Block> {
        let label = if self.cursor.accept_word("state") {
            Some(self.cursor.name()?)
        } else {
            None
        };
        self.cursor.expect(":")?;
        let mut statements = Vec::new();
        loop {
            if let Some(terminator) = self.terminator(owner)? {
                return Ok(Block {
                    label,
                    statements,
                    terminator,
                    location: self.cursor.location()?,
                });
            }
            let op = self.op(owner)?;
            statements.push(Statement {
                op,
                location: self.cursor.location()?,
            });
        }
    }

    /// Reads a terminator, if there is one.
    fn terminator(&mut self, owner: Owner) -> Read<Option<Terminator>> {
        let Some(word) = self.cursor.peek_word().map(str::to_owned) else {
            return Ok(None);
        };
        let read: fn(&mut Self, Owner) -> Read<Terminator> = match word.as_str() {
            "jump" => |reader, _| Ok(Terminator::Jump(reader.cursor.block()?)),
            "branch" => Self::branch,
            "select" => Self::select,
            "apply" => Self::apply,
            "return" => |_, _| Ok(Terminator::Return),
            "exit" => |_, _| Ok(Terminator::Exit),
            "reject" => |reader, owner| Ok(Terminator::Reject(reader.expr(owner)?)),
            _ => return Ok(None),
        };
        self.cursor.advance();
        read(self, owner).map(Some)
    }

    fn branch(&mut self, owner: Owner) -> Read<Terminator> {
        let condition = self.expr(owner)?;
        self.cursor.expect(",")?;
        let then_block = self.cursor.block()?;
        self.cursor.expect(",")?;
        let else_block = self.cursor.block()?;
        Ok(Terminator::Branch {
            condition,
            then_block,
            else_block,
        })
    }

    fn select(&mut self, owner: Owner) -> Read<Terminator> {
        self.cursor.expect("(")?;
        let keys = self.exprs_until_closed(owner)?;
        self.cursor.expect("{")?;
        let mut cases = Vec::new();
        while !self.cursor.accept_word("default") {
            self.cursor.expect("(")?;
            let mut keysets = Vec::new();
            while !self.cursor.accept(")") {
                if !keysets.is_empty() {
                    self.cursor.expect(",")?;
                }
                keysets.push(self.keyset(owner)?);
            }
            self.cursor.expect("=>")?;
            cases.push(SelectCase {
                keysets,
                target: self.cursor.block()?,
            });
        }
        self.cursor.expect("=>")?;
        let default = self.cursor.block()?;
        self.cursor.expect("}")?;
        Ok(Terminator::Select { keys, cases, default })
    }

    fn keyset(&mut self, owner: Owner) -> Read<KeySet> {
        if self.cursor.accept_word("_") {
            return Ok(KeySet::Any);
        }
        if self.cursor.accept_word("in") {
            let set = ValueSetId(self.cursor.reference(&self.names.value_sets)?);
            self.cursor.expect_word("component")?;
            return Ok(KeySet::ValueSet {
                set,
                component: self.cursor.number32()?,
            });
        }
        if self.cursor.accept("=") {
            let value = self.expr(owner)?;
            if self.cursor.accept("&&&") {
                return Ok(KeySet::EqualsMasked {
                    value,
                    mask: self.expr(owner)?,
                });
            }
            return Ok(KeySet::Equals(value));
        }
        let value = self.cursor.constant()?;
        if self.cursor.accept("&&&") {
            return Ok(KeySet::Mask {
                value,
                mask: self.cursor.constant()?,
            });
        }
        if self.cursor.accept("..") {
            return Ok(KeySet::Range {
                low: value,
                high: self.cursor.constant()?,
            });
        }
        Ok(KeySet::Exact(value))
    }

    fn apply(&mut self, _: Owner) -> Read<Terminator> {
        let table = TableId(self.cursor.reference(&self.names.tables)?);
        let hit = if self.cursor.accept_word("hit") {
            Some(self.slot_reference()?)
        } else {
            None
        };
        let action_run = if self.cursor.accept_word("run") {
            Some(self.slot_reference()?)
        } else {
            None
        };
        self.cursor.expect("->")?;
        Ok(Terminator::Apply {
            table,
            hit,
            action_run,
            next: self.cursor.block()?,
        })
    }

    fn op(&mut self, owner: Owner) -> Read<Op> {
        let word = self.cursor.peek_word().map(str::to_owned).unwrap_or_default();
        let read: fn(&mut Self, Owner) -> Read<Op> = match word.as_str() {
            "extract" => Self::extract,
            "emit" => |reader, _| {
                Ok(Op::Emit {
                    header: reader.header_reference()?,
                })
            },
            "advance" => |reader, owner| {
                Ok(Op::Advance {
                    bits: reader.only_argument(owner)?,
                })
            },
            "register_write" => Self::register_write,
            "count" => Self::count,
            "verify_checksum" => Self::verify_checksum,
            "digest" => Self::digest_op,
            "clone" => Self::clone_op,
            "resubmit" => |reader, owner| {
                Ok(Op::Resubmit {
                    field_list: reader.optional_argument(owner)?,
                })
            },
            "recirculate" => |reader, owner| {
                Ok(Op::Recirculate {
                    field_list: reader.optional_argument(owner)?,
                })
            },
            "truncate" => |reader, owner| {
                Ok(Op::Truncate {
                    bytes: reader.only_argument(owner)?,
                })
            },
            "enter_atomic" => Self::enter_atomic,
            "leave_atomic" => |_, _| Ok(Op::LeaveAtomic),
            "log" => Self::log_message,
            "assert" => |reader, owner| {
                let (condition, text) = reader.condition_and_text(owner)?;
                Ok(Op::Assert { condition, text })
            },
            "assume" => |reader, owner| {
                let (condition, text) = reader.condition_and_text(owner)?;
                Ok(Op::Assume { condition, text })
            },
            _ => return self.assignment(owner),
        };
        self.cursor.advance();
        read(self, owner)
    }

    /// `slot = …`, where the following tokens determine the operation.
    fn assignment(&mut self, owner: Owner) -> Read<Op> {
        let slot = self.slot_reference()?;
        self.cursor.expect("=")?;
        let word = self.cursor.peek_word().map(str::to_owned).unwrap_or_default();
        let read: fn(&mut Self, SlotId, Owner) -> Read<Op> = match word.as_str() {
            "lookahead" => |_, slot, _| Ok(Op::Lookahead { slot }),
            "packet_length" => |_, slot, _| Ok(Op::PacketLength { slot }),
            "register_read" => Self::register_read,
            "execute_meter" => Self::execute_meter,
            "hash" => Self::hash,
            "update_checksum" => Self::update_checksum,
            "random" => Self::random,
            _ => {
                return Ok(Op::Assign {
                    slot,
                    value: self.expr(owner)?,
                });
            }
        };
        self.cursor.advance();
        read(self, slot, owner)
    }

    fn extract(&mut self, owner: Owner) -> Read<Op> {
        let header = self.header_reference()?;
        let varbit_bits = if self.cursor.accept_word("varbit") {
            Some(self.expr(owner)?)
        } else {
            None
        };
        Ok(Op::Extract { header, varbit_bits })
    }

    fn register_read(&mut self, slot: SlotId, owner: Owner) -> Read<Op> {
        self.cursor.expect("(")?;
        let register = RegisterId(self.cursor.reference(&self.names.registers)?);
        let index = self.last_argument(owner)?;
        Ok(Op::RegisterRead { register, index, slot })
    }

    fn register_write(&mut self, owner: Owner) -> Read<Op> {
        self.cursor.expect("(")?;
        let register = RegisterId(self.cursor.reference(&self.names.registers)?);
        self.cursor.expect(",")?;
        let index = self.expr(owner)?;
        let value = self.last_argument(owner)?;
        Ok(Op::RegisterWrite { register, index, value })
    }

    fn enter_atomic(&mut self, owner: Owner) -> Read<Op> {
        self.cursor.expect("(")?;
        let lock = self.cursor.number32()?;
        let index = if self.cursor.accept(",") {
            Some(self.expr(owner)?)
        } else {
            None
        };
        self.cursor.expect(")")?;
        Ok(Op::EnterAtomic { lock, index })
    }

    fn count(&mut self, owner: Owner) -> Read<Op> {
        self.cursor.expect("(")?;
        let counter = CounterId(self.cursor.reference(&self.names.counters)?);
        Ok(Op::Count {
            counter,
            index: self.last_argument(owner)?,
        })
    }

    fn execute_meter(&mut self, slot: SlotId, owner: Owner) -> Read<Op> {
        self.cursor.expect("(")?;
        let meter = MeterId(self.cursor.reference(&self.names.meters)?);
        let index = self.last_argument(owner)?;
        let before = if self.cursor.accept_word("before") {
            Some(self.only_argument(owner)?)
        } else {
            None
        };
        Ok(Op::ExecuteMeter {
            meter,
            index,
            before,
            slot,
        })
    }

    pub(super) fn algorithm(&mut self) -> Read<HashAlgorithm> {
        if self.cursor.accept_word("custom") {
            let calculation = CalculationId(self.cursor.reference(&self.names.calculations)?);
            return Ok(HashAlgorithm::Custom(calculation));
        }
        self.cursor.keyword()
    }

    fn hash(&mut self, slot: SlotId, owner: Owner) -> Read<Op> {
        let algorithm = self.algorithm()?;
        let data = self.data(owner)?;
        let mut range = None;
        if self.cursor.accept_word("range") {
            self.cursor.expect("(")?;
            let base = self.expr(owner)?;
            range = Some((base, self.last_argument(owner)?));
        }
        Ok(Op::Hash {
            algorithm,
            data,
            range,
            slot,
        })
    }

    fn verify_checksum(&mut self, owner: Owner) -> Read<Op> {
        let algorithm = self.algorithm()?;
        let data = self.data(owner)?;
        self.cursor.expect("==")?;
        let checksum = self.only_argument(owner)?;
        let (condition, payload) = self.checksum_condition(owner)?;
        Ok(Op::VerifyChecksum {
            condition,
            data,
            checksum,
            algorithm,
            payload,
        })
    }

    fn update_checksum(&mut self, slot: SlotId, owner: Owner) -> Read<Op> {
        let algorithm = self.algorithm()?;
        let data = self.data(owner)?;
        let (condition, payload) = self.checksum_condition(owner)?;
        Ok(Op::UpdateChecksum {
            condition,
            data,
            slot,
            algorithm,
            payload,
        })
    }

    fn checksum_condition(&mut self, owner: Owner) -> Read<(Expr, bool)> {
        self.cursor.expect_word("if")?;
        let condition = self.only_argument(owner)?;
        Ok((condition, self.cursor.accept_word("payload")))
    }

    fn random(&mut self, slot: SlotId, owner: Owner) -> Read<Op> {
        self.cursor.expect("(")?;
        let low = self.expr(owner)?;
        Ok(Op::Random {
            low,
            high: self.last_argument(owner)?,
            slot,
        })
    }

    fn digest_op(&mut self, owner: Owner) -> Read<Op> {
        self.cursor.expect("(")?;
        let digest = DigestId(self.cursor.reference(&self.names.digests)?);
        let mut data = Vec::new();
        while !self.cursor.accept(")") {
            self.cursor.expect(",")?;
            data.push(self.expr(owner)?);
        }
        Ok(Op::Digest { digest, data })
    }

    fn clone_op(&mut self, owner: Owner) -> Read<Op> {
        let kind = self.cursor.keyword()?;
        self.cursor.expect("(")?;
        let session = self.expr(owner)?;
        let field_list = if self.cursor.accept(",") {
            Some(self.expr(owner)?)
        } else {
            None
        };
        self.cursor.expect(")")?;
        Ok(Op::Clone {
            kind,
            session,
            field_list,
        })
    }

    fn log_message(&mut self, owner: Owner) -> Read<Op> {
        let format = self.cursor.string()?;
        self.cursor.expect("(")?;
        Ok(Op::LogMessage {
            format,
            args: self.exprs_until_closed(owner)?,
        })
    }

    fn condition_and_text(&mut self, owner: Owner) -> Read<(Expr, String)> {
        self.cursor.expect("(")?;
        let condition = self.expr(owner)?;
        self.cursor.expect(",")?;
        let text = self.cursor.string()?;
        self.cursor.expect(")")?;
        Ok((condition, text))
    }

    fn data(&mut self, owner: Owner) -> Read<Vec<DataItem>> {
        self.cursor.expect("{")?;
        let mut items = Vec::new();
        while !self.cursor.accept("}") {
            if !items.is_empty() {
                self.cursor.expect(",")?;
            }
            items.push(self.data_item(owner)?);
        }
        Ok(items)
    }

    fn data_item(&mut self, owner: Owner) -> Read<DataItem> {
        if !self.cursor.accept_word("varbit") {
            return Ok(DataItem::Value(self.expr(owner)?));
        }
        let value = self.slot_reference()?;
        self.cursor.expect_word("length")?;
        Ok(DataItem::Varbit {
            value,
            length: self.slot_reference()?,
        })
    }

    fn exprs_until_closed(&mut self, owner: Owner) -> Read<Vec<Expr>> {
        let mut exprs = Vec::new();
        while !self.cursor.accept(")") {
            if !exprs.is_empty() {
                self.cursor.expect(",")?;
            }
            exprs.push(self.expr(owner)?);
        }
        Ok(exprs)
    }

    /// `(expr)`
    fn only_argument(&mut self, owner: Owner) -> Read<Expr> {
        self.cursor.expect("(")?;
        let expr = self.expr(owner)?;
        self.cursor.expect(")")?;
        Ok(expr)
    }

    /// `(expr)` or `()`
    fn optional_argument(&mut self, owner: Owner) -> Read<Option<Expr>> {
        self.cursor.expect("(")?;
        if self.cursor.accept(")") {
            return Ok(None);
        }
        let expr = self.expr(owner)?;
        self.cursor.expect(")")?;
        Ok(Some(expr))
    }

    /// `, expr)`
    fn last_argument(&mut self, owner: Owner) -> Read<Expr> {
        self.cursor.expect(",")?;
        let expr = self.expr(owner)?;
        self.cursor.expect(")")?;
        Ok(expr)
    }

    /// An expression.
    pub(super) fn expr(&mut self, owner: Owner) -> Read<Expr> {
        Ok(self.operation(owner, 1)?.expr)
    }

    /// An operand, or an operator with two or three operands. `level` is the number of expressions around this one.
    fn operation(&mut self, owner: Owner, level: usize) -> Read<Nested> {
        let first = self.operand(owner, level)?;
        if self.cursor.accept("++") {
            let second = self.operand(owner, level)?;
            let depth = first.depth.max(second.depth);
            return self.nest(Expr::Concat(Box::new(first.expr), Box::new(second.expr)), depth);
        }
        if self.cursor.accept("?") {
            let then_value = self.operand(owner, level)?;
            self.cursor.expect(":")?;
            let else_value = self.operand(owner, level)?;
            let depth = first.depth.max(then_value.depth).max(else_value.depth);
            let condition = Box::new(first.expr);
            let (then_value, else_value) = (Box::new(then_value.expr), Box::new(else_value.expr));
            return self.nest(
                Expr::Mux {
                    condition,
                    then_value,
                    else_value,
                },
                depth,
            );
        }
        let Token::Mark(mark) = *self.cursor.peek() else {
            return Ok(first);
        };
        let Some(op) = binary_op(mark) else {
            return Ok(first);
        };
        self.cursor.advance();
        let second = self.operand(owner, level)?;
        let depth = first.depth.max(second.depth);
        self.nest(Expr::Binary(op, Box::new(first.expr), Box::new(second.expr)), depth)
    }

    /// An expression around others, the deepest of which has `depth` levels.
    fn nest(&self, expr: Expr, depth: usize) -> Read<Nested> {
        if depth >= MAX_EXPRESSION_DEPTH {
            return self
                .cursor
                .error(format!("the expression is deeper than {MAX_EXPRESSION_DEPTH} levels"));
        }
        Ok(Nested { expr, depth: depth + 1 })
    }

    fn operand(&mut self, owner: Owner, level: usize) -> Read<Nested> {
        if level > MAX_EXPRESSION_DEPTH {
            return self
                .cursor
                .error(format!("the expression is deeper than {MAX_EXPRESSION_DEPTH} levels"));
        }
        let unary = if self.cursor.accept("~") {
            UnaryOp::Not
        } else if self.cursor.accept("-") {
            UnaryOp::Negate
        } else {
            return self.sliced(owner, level);
        };
        let operand = self.operand(owner, level + 1)?;
        self.nest(Expr::Unary(unary, Box::new(operand.expr)), operand.depth)
    }

    fn sliced(&mut self, owner: Owner, level: usize) -> Read<Nested> {
        let mut operand = self.atom(owner, level)?;
        while self.cursor.accept("[") {
            let hi = self.cursor.number32()?;
            self.cursor.expect(":")?;
            let lo = self.cursor.number32()?;
            self.cursor.expect("]")?;
            operand = self.nest(
                Expr::Slice {
                    operand: Box::new(operand.expr),
                    hi,
                    lo,
                },
                operand.depth,
            )?;
        }
        Ok(operand)
    }

    fn atom(&mut self, owner: Owner, level: usize) -> Read<Nested> {
        if self.cursor.accept("(") {
            let inner = self.operation(owner, level + 1)?;
            self.cursor.expect(")")?;
            return Ok(inner);
        }
        if self.cursor.accept("$") {
            return Ok(Nested {
                expr: self.param(owner)?,
                depth: 1,
            });
        }
        if let Token::Constant(_) = self.cursor.peek() {
            return Ok(Nested {
                expr: Expr::Const(self.cursor.constant()?),
                depth: 1,
            });
        }
        let resize: fn(u32, Box<Expr>) -> Expr = match self.cursor.peek_word() {
            Some("zext") => Expr::ZeroExtend,
            Some("sext") => Expr::SignExtend,
            Some("trunc") => Expr::Truncate,
            _ => {
                return Ok(Nested {
                    expr: Expr::Slot(self.slot_reference()?),
                    depth: 1,
                });
            }
        };
        self.cursor.advance();
        self.cursor.expect("(")?;
        let width = self.cursor.number32()?;
        self.cursor.expect(",")?;
        let operand = self.operation(owner, level + 1)?;
        self.cursor.expect(")")?;
        self.nest(resize(width, Box::new(operand.expr)), operand.depth)
    }

    /// `$port` or `$0:9`; `$` has been read.
    fn param(&mut self, owner: Owner) -> Read<Expr> {
        if let Token::Number(_) = self.cursor.peek() {
            let index = self.cursor.number32()?;
            self.cursor.expect(":")?;
            return Ok(Expr::Param {
                index,
                width: self.cursor.number32()?,
            });
        }
        let name = self.cursor.name()?;
        let params = owner
            .map(|action| self.program.actions[action.index()].params.as_slice())
            .unwrap_or_default();
        match params.iter().position(|param| param.name == name) {
            Some(index) => Ok(Expr::Param {
                index: index as u32,
                width: params[index].width,
            }),
            None => self.cursor.error(format!("no parameter is named `{name}`")),
        }
    }
}
