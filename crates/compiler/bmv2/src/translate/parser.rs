//! Parsers and deparsers.

use super::Translator;
use super::place::Choice;
use super::storage::Stack;
use crate::error::{At, Error, Result, options};
use crate::model::{ExtractTarget, ParseState, ParserOp, ParserOpKind};
use forebay_ir::{BinaryOp, BlockId, Body, BodyKind, Expr, HeaderId, Op, Terminator, build};
use std::collections::HashMap;

/// The block of each state, and that which accepts.
pub struct States {
    blocks: HashMap<String, BlockId>,
    /// Accepts.
    pub accept: BlockId,
}

impl States {
    /// The block that a transition goes to; without a name it accepts.
    pub fn block(&self, name: Option<&str>) -> Result<BlockId> {
        let Some(name) = name else { return Ok(self.accept) };
        self.blocks.get(name).copied().ok_or_else(|| {
            let known = options(self.blocks.keys().map(String::as_str));
            Error::new(format!("there is no parser state `{name}`; {known}"))
        })
    }
}

impl Translator<'_> {
    pub(super) fn parser(&mut self) -> Result<Body> {
        let Some(parser) = self.json.parsers.first() else {
            return Err(Error::new("there is no parser").or_at("parsers"));
        };
        self.build(&parser.name, BodyKind::Parser, |this| {
            let accept = this.body.block(None);
            let blocks = parser
                .states
                .iter()
                .map(|state| (state.name.clone(), this.body.block(Some(state.name.clone()))));
            let states = States {
                blocks: blocks.collect(),
                accept,
            };
            let first = states.block(Some(&parser.init_state)).at(&parser.at)?;
            this.body.jump(first);
            for state in &parser.states {
                this.state(state, &states).at(&state.at)?;
            }
            this.body.start(accept);
            Ok(())
        })
    }

    fn state(&mut self, state: &ParseState, states: &States) -> Result<()> {
        let block = states.block(Some(&state.name))?;
        self.body.start(block);
        for op in &state.ops {
            self.parser_op(op).at(&op.at)?;
        }
        self.transitions(state, states)
    }

    fn parser_op(&mut self, op: &ParserOp) -> Result<()> {
        self.locate(&op.source);
        match &op.kind {
            ParserOpKind::Extract(target, length) => {
                let length = match length {
                    Some(length) => Some(self.exact(length)?.expr),
                    None => None,
                };
                self.extract(target, length)
            }
            ParserOpKind::Set(target, value) => self.assign(target, value),
            ParserOpKind::Verify(condition, error) => {
                let condition = self.truth(condition)?;
                let error = self.low(error, 32)?;
                let first = build::constant(32, u128::from(self.first_error));
                self.verify(condition, build::binary(BinaryOp::Sub, error, first));
                Ok(())
            }
            ParserOpKind::Advance(bits) => {
                let bits = self.exact(bits)?.expr;
                self.body.emit(Op::Advance { bits });
                Ok(())
            }
            ParserOpKind::Primitive(primitive) => self.primitive(primitive),
        }
    }

    fn verify(&mut self, condition: Expr, error: Expr) {
        let good = self.body.block(None);
        let bad = self.body.block(None);
        self.body.branch(condition, good, bad);
        self.body.start(bad);
        self.body.terminate(Terminator::Reject(error));
        self.body.start(good);
    }

    fn extract(&mut self, target: &ExtractTarget, length: Option<Expr>) -> Result<()> {
        match target {
            ExtractTarget::Header(name) => {
                let instance = self.storage.instance(name)?;
                self.extract_into(
                    &Choice {
                        guard: None,
                        what: instance,
                    },
                    length,
                )
            }
            ExtractTarget::Stack(name) => {
                let stack = self.storage.stack(name)?.clone();
                self.extract_next(&stack, &stack.elements, length)
            }
            ExtractTarget::UnionStack(name, member) => {
                let stack = self.storage.union_stack(name)?.clone();
                let members = stack
                    .elements
                    .iter()
                    .map(|union| self.storage.unions[*union].member(member));
                let members: Vec<usize> = members.collect::<Result<_>>()?;
                self.extract_next(&stack, &members, length)
            }
        }
    }

    /// Extracts into whichever of the headers is next in the stack.
    fn extract_next(&mut self, stack: &Stack, headers: &[usize], length: Option<Expr>) -> Result<()> {
        let next = self.save(Expr::Slot(stack.next));
        let size = build::constant(32, headers.len() as u128);
        self.require(build::binary(BinaryOp::Lt, next.clone(), size), "StackOutOfBounds");
        let after = self.body.block(None);
        for choice in self.chosen_by(headers, &next, 0) {
            let (here, other) = (self.body.block(None), self.body.block(None));
            self.body
                .branch(choice.guard.clone().unwrap_or(build::boolean(true)), here, other);
            self.body.start(here);
            self.extract_into(
                &Choice {
                    guard: None,
                    what: choice.what,
                },
                length.clone(),
            )?;
            self.body.jump(after);
            self.body.start(other);
        }
        self.body.jump(after);
        self.body.start(after);
        let grown = build::binary(BinaryOp::Add, Expr::Slot(stack.next), build::constant(32, 1));
        self.body.assign(stack.next, grown);
        Ok(())
    }

    fn extract_into(&mut self, choice: &Choice<usize>, varbit_bits: Option<Expr>) -> Result<()> {
        let header = self.header_of(choice.what)?;
        let fields = &self.storage.instances[choice.what].fields;
        let has_varbit = fields.iter().any(|field| field.length.is_some());
        if has_varbit != varbit_bits.is_some() {
            let name = &self.storage.instances[choice.what].name;
            return Err(Error::new(if has_varbit {
                format!("`{name}` has a field of variable length: use `extract_VL`")
            } else {
                format!("`{name}` has no field of variable length: use `extract`")
            }));
        }
        self.body.emit(Op::Extract { header, varbit_bits });
        self.invalidate_siblings(choice);
        Ok(())
    }

    fn header_of(&self, instance: usize) -> Result<HeaderId> {
        let instance = &self.storage.instances[instance];
        let header = instance.header.map(|(header, _)| header);
        header.ok_or_else(|| Error::new(format!("`{}` is metadata, and no header", instance.name)))
    }

    pub(super) fn deparser(&mut self) -> Result<Body> {
        let Some(deparser) = self.json.deparsers.first() else {
            return Err(Error::new("there is no deparser").or_at("deparsers"));
        };
        self.build(&deparser.name, BodyKind::Deparser, |this| {
            this.primitives(&deparser.primitives)?;
            for name in &deparser.order {
                let header = this
                    .storage
                    .instance(name)
                    .and_then(|instance| this.header_of(instance));
                let header = header.at(&deparser.at)?;
                this.body.emit(Op::Emit { header });
            }
            Ok(())
        })
    }
}
