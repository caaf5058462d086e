//! "Type value objects": the operands of primitives and expressions.

use crate::cursor::Cursor;
use crate::error::Result;
use num_bigint::BigInt;

/// The field that every header has besides those of its type: whether it is valid.
pub const VALID: &str = "$valid$";

/// An operand, or an expression over operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A constant, of no particular width.
    Number(BigInt),
    /// A truth value.
    Bool(bool),
    /// A string.
    Text(String),
    /// Action data, by the number of the parameter.
    Parameter(u32),
    /// A field of a header: the header is a name or, with an index that is not constant, an expression.
    Field(Box<Operand>, String),
    /// A field of the last element of a stack.
    StackField(String, String),
    /// A field of a member of the last element of a stack of unions.
    UnionStackField(String, String, String),
    /// Bits of the packet that are not parsed yet: how many to skip, how many to read.
    Lookahead(u32, u32),
    /// An element of a register array.
    Register(String, Box<Operand>),
    /// Something by its name.
    Named(Named, String),
    /// A list of operands.
    Vector(Vec<Operand>),
    /// One operand.
    Unary(UnaryOp, Box<Operand>),
    /// Two operands.
    Binary(BinaryOp, Box<Operand>, Box<Operand>),
    /// `condition ? then : otherwise`
    Choice(Box<Operand>, Box<Operand>, Box<Operand>),
    /// An element of a stack, of headers or of unions.
    Element(Box<Operand>, Box<Operand>),
    /// A field of a header by its number.
    FieldAt(Box<Operand>, u32),
    /// A member of a union by its number.
    MemberAt(Box<Operand>, u32),
}

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A header.
    Header,
    /// A stack of headers.
    Stack,
    /// A union.
    Union,
    /// A stack of unions.
    UnionStack,
    /// A calculation.
    Calculation,
    /// A meter array.
    Meter,
    /// A counter array.
    Counter,
    /// A register array.
    Register,
    /// An extern object.
    Extern,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `not`
    Not,
    /// `~`
    Invert,
    /// `-`
    Negate,
    /// `d2b`: whether a number is not zero.
    DataToBool,
    /// `b2d`
    BoolToData,
    /// `valid`
    Valid,
    /// `valid_union`
    ValidUnion,
    /// `last_stack_index`
    LastIndex,
    /// `size_stack`
    Size,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `and`
    And,
    /// `or`
    Or,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `two_comp_mod`: the lowest bits, as many as the right operand says, as a signed number.
    TwosComplement,
    /// `sat_cast`: the nearest signed number of a given width.
    SaturateSigned,
    /// `usat_cast`: the nearest unsigned number of a given width.
    SaturateUnsigned,
}

impl Operand {
    /// Reads an operand.
    pub fn read(cursor: &Cursor) -> Result<Operand> {
        let kind = cursor.field("type")?;
        let value = cursor.field("value")?;
        Ok(match kind.text()?.as_str() {
            "hexstr" => Operand::Number(value.hexadecimal()?),
            "bool" => Operand::Bool(value.flag()?),
            "string" => Operand::Text(value.text()?),
            "runtime_data" | "local" => Operand::Parameter(value.small()?),
            "field" => field(&value)?,
            "stack_field" => {
                let (stack, field) = value.names()?;
                Operand::StackField(stack, field)
            }
            "union_stack_field" => {
                let names = value.tuple(3)?;
                Operand::UnionStackField(names[0].text()?, names[1].text()?, names[2].text()?)
            }
            "lookahead" => {
                let range = value.tuple(2)?;
                Operand::Lookahead(range[0].small()?, range[1].small()?)
            }
            "register" => {
                let pair = value.tuple(2)?;
                Operand::Register(pair[0].text()?, Box::new(Operand::read(&pair[1])?))
            }
            "expression" => {
                if value.has("op") {
                    expression(&value)?
                } else {
                    Operand::read(&value)?
                }
            }
            // p4c writes an empty object for the parameters of a `log_msg` without any.
            "parameters_vector" if value.is_empty_object() => Operand::Vector(Vec::new()),
            "parameters_vector" | "field_list" => {
                Operand::Vector(value.items()?.iter().map(Operand::read).collect::<Result<_>>()?)
            }
            other => match Named::from_type(other) {
                Some(named) => Operand::Named(named, value.text()?),
                None => return Err(kind.error(format!("the type `{other}` of an operand is not known"))),
            },
        })
    }

    /// A field, which the format writes as a pair without saying so.
    pub(super) fn field_of(cursor: &Cursor) -> Result<Operand> {
        field(cursor)
    }

    /// Whether a header is valid.
    pub(super) fn header_valid(header: &str) -> Operand {
        let header = Operand::Named(Named::Header, header.to_owned());
        Operand::Field(Box::new(header), VALID.to_owned())
    }

    /// The operands of an attribute that is an array.
    pub fn read_all(cursor: &Cursor, name: &str) -> Result<Vec<Operand>> {
        cursor.list(name, Operand::read)
    }
}

impl Named {
    const TYPES: &'static [(&'static str, Named)] = &[
        ("header", Named::Header),
        ("header_stack", Named::Stack),
        ("header_union", Named::Union),
        ("header_union_stack", Named::UnionStack),
        ("calculation", Named::Calculation),
        ("meter_array", Named::Meter),
        ("counter_array", Named::Counter),
        ("register_array", Named::Register),
        ("extern", Named::Extern),
    ];

    fn from_type(name: &str) -> Option<Named> {
        let found = Named::TYPES.iter().find(|(known, _)| *known == name)?;
        Some(found.1)
    }
}

/// A pair of a header and a field. The header is an expression where the index into its stack is not constant.
fn field(cursor: &Cursor) -> Result<Operand> {
    let pair = cursor.tuple(2)?;
    let header = if pair[0].is_object() {
        expression(&pair[0])?
    } else {
        Operand::Named(Named::Header, pair[0].text()?)
    };
    Ok(Operand::Field(Box::new(header), pair[1].text()?))
}

const UNARY: &[(&str, UnaryOp)] = &[
    ("not", UnaryOp::Not),
    ("~", UnaryOp::Invert),
    ("d2b", UnaryOp::DataToBool),
    ("b2d", UnaryOp::BoolToData),
    ("valid", UnaryOp::Valid),
    ("valid_union", UnaryOp::ValidUnion),
    ("last_stack_index", UnaryOp::LastIndex),
    ("size_stack", UnaryOp::Size),
];

const BINARY: &[(&str, BinaryOp)] = &[
    ("+", BinaryOp::Add),
    ("-", BinaryOp::Subtract),
    ("*", BinaryOp::Multiply),
    ("/", BinaryOp::Divide),
    ("%", BinaryOp::Modulo),
    ("<<", BinaryOp::ShiftLeft),
    (">>", BinaryOp::ShiftRight),
    ("==", BinaryOp::Equal),
    ("!=", BinaryOp::NotEqual),
    ("<", BinaryOp::Less),
    ("<=", BinaryOp::LessEqual),
    (">", BinaryOp::Greater),
    (">=", BinaryOp::GreaterEqual),
    ("and", BinaryOp::And),
    ("or", BinaryOp::Or),
    ("&", BinaryOp::BitAnd),
    ("|", BinaryOp::BitOr),
    ("^", BinaryOp::BitXor),
    ("two_comp_mod", BinaryOp::TwosComplement),
    ("sat_cast", BinaryOp::SaturateSigned),
    ("usat_cast", BinaryOp::SaturateUnsigned),
];

fn expression(cursor: &Cursor) -> Result<Operand> {
    let op = cursor.field("op")?;
    let name = op.text()?;
    let operand = |side: &str| Ok(Box::new(Operand::read(&cursor.field(side)?)?));
    let number = |side: &str| cursor.field(side)?.small();
    match name.as_str() {
        "?" => return Ok(Operand::Choice(operand("cond")?, operand("left")?, operand("right")?)),
        "+" if cursor.optional("left").is_none() => return Operand::read(&cursor.field("right")?),
        "-" if cursor.optional("left").is_none() => return Ok(Operand::Unary(UnaryOp::Negate, operand("right")?)),
        "dereference_header_stack" | "dereference_stack" | "dereference_union_stack" => {
            return Ok(Operand::Element(operand("left")?, operand("right")?));
        }
        "access_field" => return Ok(Operand::FieldAt(operand("left")?, number("right")?)),
        "access_union_header" => return Ok(Operand::MemberAt(operand("left")?, number("right")?)),
        _ => {}
    }
    if let Some((_, op)) = UNARY.iter().find(|(known, _)| *known == name) {
        return Ok(Operand::Unary(*op, operand("right")?));
    }
    match BINARY.iter().find(|(known, _)| *known == name) {
        Some((_, op)) => Ok(Operand::Binary(*op, operand("left")?, operand("right")?)),
        None => Err(op.error(format!("the operator `{name}` is not known"))),
    }
}
