//! Expressions, and what they call.

use super::{ActionId, EnumId, ExternId, FunctionId, Instance, InstanceId, Param, TableId, Type, ValueSetId, VarId};
use forebay_syntax::ast::{BinaryOp, UnaryOp};
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use std::borrow::Cow;

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Which.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// A binary operator and its right operand; the left one is all before it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Operator.
    pub op: BinaryOp,
    /// Right operand.
    pub right: Expr,
    /// Type of the result; that of the last operator is the expression's.
    pub ty: Type,
    /// From the first operand of the chain to the right one.
    pub span: Span,
}

/// The operands of [`ExprKind::Binary`], in order.
pub fn operands<'a>(first: &'a Expr, links: &'a [Link]) -> impl Iterator<Item = &'a Expr> {
    std::iter::once(first).chain(links.iter().map(|link| &link.right))
}

impl Expr {
    /// `left op right`. A left operand with operators becomes part of the chain, so that long chains do not nest.
    pub fn binary(op: BinaryOp, left: Expr, right: Expr, ty: Type, span: Span) -> Expr {
        let link = Link {
            op,
            right,
            ty: ty.clone(),
            span,
        };
        let kind = match left.kind {
            ExprKind::Binary(first, mut links) => {
                links.push(link);
                ExprKind::Binary(first, links)
            }
            _ => ExprKind::Binary(Box::new(left), vec![link]),
        };
        Expr { kind, ty, span }
    }
}

/// Forms of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// An integer of type [`Type::Int`], [`Type::Bit`] or [`Type::Signed`] (in range of its type), or of a new type or
    /// enum with representation over one.
    Int(BigInt),
    /// A truth value.
    Bool(bool),
    /// A string.
    String(String),
    /// Member of an enum without representation: index into [`Enum::members`](super::Enum::members). (A member of one
    /// with representation too, until it is cast.)
    EnumMember(EnumId, usize),
    /// `error.X`: index into [`Program::errors`](super::Program::errors).
    Error(usize),
    /// A match kind: index into [`Program::match_kinds`](super::Program::match_kinds).
    MatchKind(usize),
    /// A variable or parameter.
    Var(VarId),
    /// An instance.
    Instance(InstanceId),
    /// A table object.
    Table(TableId),
    /// A value set.
    ValueSet(ValueSetId),
    /// `this` inside an abstract method's implementation.
    This,
    /// A field of a struct, header, header union or record: index in order of declaration.
    Field(Box<Expr>, usize),
    /// An element of a tuple.
    TupleElement(Box<Expr>, usize),
    /// An element of a stack or array; the index is of a `bit`/`int` type or a literal.
    Index(Box<Expr>, Box<Expr>),
    /// `stack.next`
    StackNext(Box<Expr>),
    /// `stack.last`
    StackLast(Box<Expr>),
    /// `stack.lastIndex` (type `bit<32>`)
    StackLastIndex(Box<Expr>),
    /// `e[hi:lo]`
    Slice(Box<Expr>, u32, u32),
    /// `e[lo +: width]` with an `lo` that is not constant.
    PlusSlice(Box<Expr>, Box<Expr>, u32),
    /// Operator on one operand, of the same type as the result.
    Unary(UnaryOp, Box<Expr>),
    /// Operators on two, from the left: the first operand, and each operator with its right one; there is at least one.
    /// Operands of arithmetic, bitwise and comparison operators have equal types.
    Binary(Box<Expr>, Vec<Link>),
    /// `c ? a : b`
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Conversion to [`Expr::ty`], explicit or implicit.
    Cast(Box<Expr>),
    /// A value of a struct, header, tuple, list or stack, element by element in order of declaration. For a header it
    /// is valid.
    Aggregate(Vec<Expr>),
    /// As [`ExprKind::Aggregate`], with elements whose values are not all constant, and which are written in another
    /// order: in this one, as indices of elements. They are evaluated in this order (§8).
    Reordered(Vec<Expr>, Vec<usize>),
    /// `{#}`: an invalid header, or a union without a valid member.
    InvalidHeader,
    /// `...`: the default value of the type (zero, false, invalid, `NoError`, first member).
    DefaultValue,
    /// A call.
    Call(Box<Call>),
    /// `T(args)` as a value: an anonymous instance, as constructor argument or table property.
    Construct(Box<Instance>),
    /// `t.apply().hit`; the operand is the apply call.
    TableHit(Box<Expr>),
    /// `t.apply().miss`
    TableMiss(Box<Expr>),
    /// Stands where an error was reported; lowering never sees it.
    Invalid,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// Type arguments, one for each type parameter of the function or method.
    pub type_args: Vec<Type>,
    /// One for each parameter, in order.
    pub args: Vec<Argument>,
    /// The order in which the arguments are written, as indices into `args`; empty when it is the order of the
    /// parameters.
    pub written: Vec<usize>,
}

impl Call {
    /// Parameters and arguments in the order in which the arguments are written. Arguments are evaluated and copied
    /// back in this order (§6.8).
    pub fn in_written_order<'a>(&'a self, params: &'a [Param]) -> (Cow<'a, [Param]>, Cow<'a, [Argument]>) {
        if self.written.is_empty() {
            return (params.into(), (&self.args[..]).into());
        }
        let written = || self.written.iter();
        (
            written().map(|index| params[*index].clone()).collect(),
            written().map(|index| self.args[*index].clone()).collect(),
        )
    }
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function, P4's own or extern.
    Function(FunctionId),
    /// An action, directly: all its parameters are given.
    Action(ActionId),
    /// A method of an extern object (its overload resolved).
    Method {
        /// The object: an instance, a parameter, `this`.
        receiver: Box<Expr>,
        /// Its type.
        extern_type: ExternId,
        /// Index into [`Extern::methods`](super::Extern::methods).
        method: usize,
    },
    /// `t.apply()`
    TableApply(Box<Expr>),
    /// `c.apply(..)` of a control or parser: an instance, or a constructor parameter.
    Apply(Box<Expr>),
    /// `h.isValid()`
    IsValid(Box<Expr>),
    /// `h.setValid()`
    SetValid(Box<Expr>),
    /// `h.setInvalid()`
    SetInvalid(Box<Expr>),
    /// `stack.push_front(n)`
    PushFront(Box<Expr>, Box<Expr>),
    /// `stack.pop_front(n)`
    PopFront(Box<Expr>, Box<Expr>),
}

/// An argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A value, or for `out` and `inout` an l-value.
    Value(Expr),
    /// `_` for an `out` parameter: the result is thrown away.
    Discard,
    /// Left out: an `@optional` parameter.
    Absent,
}
