//! Expressions.

use super::{Arg, Ident, Name, Type};
use crate::source::Span;
use num_bigint::BigInt;

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Which.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// An integer literal: value, and width when written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IntLiteral {
    /// Value as written (not yet reduced to the width).
    pub value: BigInt,
    /// Width and signedness of `8w..` and `8s..`.
    pub width: Option<(u32, Signedness)>,
}

/// `w` or `s` of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signedness {
    /// `w`
    Unsigned,
    /// `s`
    Signed,
}

/// Forms of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// An integer literal.
    Int(IntLiteral),
    /// `true`, `false`
    Bool(bool),
    /// A string literal, unescaped.
    String(String),
    /// A name of a value, function, action, instance.
    Name(Name),
    /// A type used in an expression: before `.member` (`E.A`, `error.X`, `T.apply()`) or before constructor arguments
    /// `T<..>(..)`.
    Type(Box<Type>),
    /// `this`
    This,
    /// `e.member`
    Member {
        /// Before the dot.
        base: Box<Expr>,
        /// After it.
        member: Ident,
    },
    /// `e[i]`
    Index {
        /// Array, tuple or stack.
        base: Box<Expr>,
        /// Index.
        index: Box<Expr>,
    },
    /// `e[hi:lo]`
    Slice {
        /// What is sliced.
        base: Box<Expr>,
        /// Highest bit.
        hi: Box<Expr>,
        /// Lowest bit.
        lo: Box<Expr>,
    },
    /// `e[lo +: width]`
    PlusSlice {
        /// What is sliced.
        base: Box<Expr>,
        /// Lowest bit.
        lo: Box<Expr>,
        /// Width.
        width: Box<Expr>,
    },
    /// `op e`
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `a op b op c`, read from the left. A chain is one expression, so that long ones do not nest; what binds more
    /// tightly is an operand.
    Binary {
        /// First operand.
        first: Box<Expr>,
        /// Operators with their right operands, in order; there is at least one.
        links: Vec<Link>,
    },
    /// `c ? a : b`
    Ternary {
        /// Condition.
        condition: Box<Expr>,
        /// When true.
        then_value: Box<Expr>,
        /// When false.
        else_value: Box<Expr>,
    },
    /// `(T) e`
    Cast {
        /// Type.
        ty: Box<Type>,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `f<T>(args)`: function, method, action, `apply`; or a constructor when `callee` is [`ExprKind::Type`].
    Call {
        /// What is called.
        callee: Box<Expr>,
        /// Type arguments (of a function or method; those of a constructor are in its type).
        type_args: Vec<Type>,
        /// Arguments.
        args: Vec<Arg>,
    },
    /// `{ a, b, c }` or `{ a, b, ... }` (then `has_default`)
    List {
        /// Elements.
        elements: Vec<Expr>,
        /// Whether `...` ends it.
        has_default: bool,
    },
    /// `{ f = a, g = b }`, possibly with `...`
    Struct {
        /// Fields.
        fields: Vec<(Ident, Expr)>,
        /// Whether `...` ends it.
        has_default: bool,
    },
    /// `(a, b)` in keysets and labels: two or more elements.
    Tuple(Vec<Expr>),
    /// `{#}`: an invalid header, union or empty.
    InvalidHeader,
    /// `a &&& m`
    Mask {
        /// Value.
        value: Box<Expr>,
        /// Mask.
        mask: Box<Expr>,
    },
    /// `a .. b`
    Range {
        /// Low end, inclusive.
        low: Box<Expr>,
        /// High end, inclusive.
        high: Box<Expr>,
    },
    /// `_`
    DontCare,
    /// `default` as a keyset or label, `...` as a whole initialiser.
    Default,
    /// Stands where a syntax error was reported.
    Error,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `+`
    Plus,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// A binary operator and its right operand; the left one is all before it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Operator.
    pub op: BinaryOp,
    /// Right operand.
    pub right: Expr,
    /// From the first operand of the chain to the right one.
    pub span: Span,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `|+|`
    SatAdd,
    /// `|-|`
    SatSub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `++`
    Concat,
}
