//! Parsers, value sets, deparsers.

use super::{Operand, Primitive, Source};
use crate::cursor::Cursor;
use crate::error::Result;
use num_bigint::BigInt;

/// A parser.
#[derive(Debug)]
pub struct Parser {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Name of the first state.
    pub init_state: String,
    /// States.
    pub states: Vec<ParseState>,
}

/// A state of a parser.
#[derive(Debug)]
pub struct ParseState {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// What it does, in order.
    pub ops: Vec<ParserOp>,
    /// What the next state depends on.
    pub key: Vec<Operand>,
    /// To the next states, in order.
    pub transitions: Vec<Transition>,
}

/// An operation of a state.
#[derive(Debug)]
pub struct ParserOp {
    /// Where it stands.
    pub at: String,
    /// Place in the P4 source.
    pub source: Source,
    /// What it is.
    pub kind: ParserOpKind,
}

/// What an operation of a state is.
#[derive(Debug)]
pub enum ParserOpKind {
    /// Into a header; its operand says which.
    Extract(ExtractTarget, Option<Operand>),
    /// A field and what it is set to.
    Set(Operand, Operand),
    /// A condition, and the error when it does not hold.
    Verify(Operand, Operand),
    /// Skip this many bits.
    Advance(Operand),
    /// A primitive of actions.
    Primitive(Primitive),
}

/// Where an extraction goes.
#[derive(Debug)]
pub enum ExtractTarget {
    /// A header.
    Header(String),
    /// The next element of a stack.
    Stack(String),
    /// A member of the next element of a stack of unions.
    UnionStack(String, String),
}

/// A transition.
#[derive(Debug)]
pub struct Transition {
    /// Where it stands.
    pub at: String,
    /// When it is taken.
    pub when: TransitionWhen,
    /// Name of the next state; none to accept.
    pub next: Option<String>,
}

/// When a transition is taken.
#[derive(Debug)]
pub enum TransitionWhen {
    /// When no other is.
    Default,
    /// When the key, all its fields padded to bytes, has a value in the bits of a mask.
    Value(BigInt, Option<BigInt>),
    /// When the key is in a value set.
    ValueSet(String),
}

impl Parser {
    pub(super) fn read(cursor: &Cursor) -> Result<Parser> {
        Ok(Parser {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            init_state: cursor.field("init_state")?.text()?,
            states: cursor.list("parse_states", ParseState::read)?,
        })
    }
}

impl ParseState {
    fn read(cursor: &Cursor) -> Result<ParseState> {
        Ok(ParseState {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            ops: cursor.list("parser_ops", ParserOp::read)?,
            key: Operand::read_all(cursor, "transition_key")?,
            transitions: cursor.list("transitions", Transition::read)?,
        })
    }
}

impl ParserOp {
    fn read(cursor: &Cursor) -> Result<ParserOp> {
        Ok(ParserOp {
            at: cursor.path().to_owned(),
            source: Source::read(cursor),
            kind: ParserOpKind::read(cursor)?,
        })
    }
}

impl ParserOpKind {
    fn read(cursor: &Cursor) -> Result<ParserOpKind> {
        let op = cursor.field("op")?;
        let parameters = cursor.field("parameters")?;
        let some = |count: usize| parameters.tuple(count);
        Ok(match op.text()?.as_str() {
            "extract" => ParserOpKind::Extract(ExtractTarget::read(&some(1)?[0])?, None),
            "extract_VL" => {
                let pair = some(2)?;
                ParserOpKind::Extract(ExtractTarget::read(&pair[0])?, Some(Operand::read(&pair[1])?))
            }
            "set" => {
                let pair = some(2)?;
                ParserOpKind::Set(Operand::read(&pair[0])?, Operand::read(&pair[1])?)
            }
            "verify" => {
                let pair = some(2)?;
                ParserOpKind::Verify(Operand::read(&pair[0])?, Operand::read(&pair[1])?)
            }
            "shift" => ParserOpKind::Advance(Operand::Number(BigInt::from(some(1)?[0].number()?) * 8)),
            "advance" => ParserOpKind::Advance(Operand::read(&some(1)?[0])?),
            "primitive" => ParserOpKind::Primitive(Primitive::read(&some(1)?[0])?),
            other => {
                let known = "`extract`, `extract_VL`, `set`, `verify`, `shift`, `advance`, `primitive`";
                return Err(op.error(format!("the parser operation `{other}` is not known; there is {known}")));
            }
        })
    }
}

impl ExtractTarget {
    fn read(cursor: &Cursor) -> Result<ExtractTarget> {
        let kind = cursor.field("type")?;
        let value = cursor.field("value")?;
        Ok(match kind.text()?.as_str() {
            "regular" => ExtractTarget::Header(value.text()?),
            "stack" => ExtractTarget::Stack(value.text()?),
            "union_stack" => {
                let (stack, member) = value.names()?;
                ExtractTarget::UnionStack(stack, member)
            }
            other => {
                let known = "`regular`, `stack`, `union_stack`";
                return Err(kind.error(format!("nothing can be extracted into a `{other}`; there is {known}")));
            }
        })
    }
}

impl Transition {
    fn read(cursor: &Cursor) -> Result<Transition> {
        let kind = cursor.optional("type").map(|kind| kind.text()).transpose()?;
        let value = cursor.optional("value");
        let is_default = |text: &str| text == "default";
        let by_value = value.as_ref().and_then(|value| value.text().ok());
        let when = match kind.as_deref().unwrap_or("hexstr") {
            "default" => TransitionWhen::Default,
            "hexstr" if by_value.as_deref().is_some_and(is_default) => TransitionWhen::Default,
            "hexstr" => {
                let mask = cursor.optional("mask").map(|mask| mask.hexadecimal()).transpose()?;
                TransitionWhen::Value(cursor.field("value")?.hexadecimal()?, mask)
            }
            "parse_vset" if cursor.optional("mask").is_some() => {
                return Err(cursor.error("a mask over a value set is not supported; p4c writes null"));
            }
            "parse_vset" => TransitionWhen::ValueSet(cursor.field("value")?.text()?),
            other => {
                let known = "`default`, `hexstr`, `parse_vset`";
                return Err(cursor.error(format!("the transition type `{other}` is not known; there is {known}")));
            }
        };
        Ok(Transition {
            at: cursor.path().to_owned(),
            when,
            next: cursor.optional("next_state").map(|next| next.text()).transpose()?,
        })
    }
}

/// A value set.
#[derive(Debug)]
pub struct ValueSet {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Bits of an element, all components together.
    pub width: u32,
    /// Number of elements.
    pub size: u64,
}

/// The size of value sets without one.
const VALUE_SET_SIZE: u64 = 1024;

impl ValueSet {
    pub(super) fn read(cursor: &Cursor) -> Result<ValueSet> {
        let size = cursor.optional("max_size").map(|size| size.number()).transpose()?;
        Ok(ValueSet {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            width: cursor.field("compressed_bitwidth")?.small()?,
            size: size.unwrap_or(VALUE_SET_SIZE),
        })
    }
}

/// A deparser.
#[derive(Debug)]
pub struct Deparser {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Headers in the order in which they are sent.
    pub order: Vec<String>,
    /// What it does before.
    pub primitives: Vec<Primitive>,
}

impl Deparser {
    pub(super) fn read(cursor: &Cursor) -> Result<Deparser> {
        Ok(Deparser {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            order: cursor.list("order", Cursor::text)?,
            primitives: cursor.list("primitives", Primitive::read)?,
        })
    }
}
