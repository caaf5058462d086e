//! The syntax tree: what the parser read, before any name is resolved.
//!
//! Nodes follow the grammar of the P4_16 specification 1.2.5 (appendix "P4 grammar") and use its names. Every node
//! that a message may point at carries a [`Span`]. Nothing here is checked beyond syntax: types, widths and constants
//! are expressions until the checker has evaluated them.

use crate::source::Span;
use num_bigint::BigInt;
use std::collections::HashSet;

/// A whole program: its declarations in source order, those of included files among them.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Top-level declarations.
    pub declarations: Vec<Declaration>,
    /// The names in text that could not be parsed. They may be declared there, so their absence is not reported.
    pub lost_names: HashSet<String>,
}

/// An identifier with its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The text, as written.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// A name that may be absolute: `.foo` (looked up at top level) or `foo`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// Whether a dot stands before it.
    pub absolute: bool,
    /// The identifier.
    pub ident: Ident,
}

/// `@name`, `@name(...)` or `@name[...]` (§20).
#[derive(Clone, Debug)]
pub struct Annotation {
    /// The name without `@`.
    pub name: Ident,
    /// What stands in its brackets.
    pub body: AnnotationBody,
    /// What stands in the parentheses of an annotation of the register ([`crate::known`]) that takes values; empty for
    /// others. The checker puts the value of each expression in its place.
    pub arguments: Vec<AnnotationArgument>,
    /// From `@` to the closing bracket.
    pub span: Span,
}

/// A value in the parentheses of an annotation.
#[derive(Clone, Debug)]
pub enum AnnotationArgument {
    /// `e`
    Value(Expr),
    /// `key = e`
    Keyed(Ident, Expr),
    /// A type.
    Type(Type),
}

/// The three forms of an annotation's body.
#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// No brackets.
    Empty,
    /// `(...)`, or `@pragma` to the end of the line: any tokens with balanced brackets. The text of the tokens is
    /// kept; consumers that know the annotation parse it further (strings are already unescaped).
    Unstructured(Vec<AnnotationToken>),
    /// `[e, e, ...]`.
    ExpressionList(Vec<Expr>),
    /// `[k = v, ...]`.
    KeyValueList(Vec<(Ident, Expr)>),
}

/// A token in an unstructured annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationToken {
    /// What kind of token.
    pub kind: AnnotationTokenKind,
    /// Its text: unescaped without quotes for a string, as written otherwise.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of tokens that a consumer of annotations tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationTokenKind {
    /// A string literal.
    String,
    /// An integer literal.
    Integer,
    /// A name or keyword.
    Identifier,
    /// Anything else.
    Punctuation,
}

/// A declaration with its annotations.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// What is declared.
    pub kind: DeclarationKind,
    /// The whole of it.
    pub span: Span,
}

/// Every kind of declaration, at top level and inside parsers and controls.
#[derive(Clone, Debug)]
pub enum DeclarationKind {
    /// `const T N = e;`
    Constant(Constant),
    /// `error { A, B }`
    Error(Vec<Ident>),
    /// `match_kind { a, b }`
    MatchKind(Vec<Ident>),
    /// `extern T f<..>(..);`
    ExternFunction(FunctionPrototype),
    /// `extern E<..> { methods }`; `methods` is `None` for a forward declaration without a body.
    ExternObject(ExternObject),
    /// `action a(..) { .. }`
    Action(Action),
    /// `parser P<..>(..)(ctor) { .. }` or its type declaration (`body` is `None`).
    Parser(Parser),
    /// `control C<..>(..)(ctor) { .. }` or its type declaration.
    Control(Control),
    /// `package P<..>(..);`
    Package(Package),
    /// `struct`, `header` or `header_union`.
    Composite(Composite),
    /// `enum E {..}` or `enum bit<8> E {..}`
    Enum(Enum),
    /// `typedef T N;` and `type T N;`
    Typedef(Typedef),
    /// `T(args) name;` with an optional block of abstract-method implementations.
    Instantiation(Instantiation),
    /// `T f<..>(..) { .. }`
    Function(Function),
    /// `T v;` or `T v = e;` (in parsers, controls and blocks).
    Variable(Variable),
    /// `table t { .. }` (in controls).
    Table(Table),
    /// `value_set<T>(n) name;` (in parsers).
    ValueSet(ValueSet),
}

/// `const T N = e;`
#[derive(Clone, Debug)]
pub struct Constant {
    /// Declared type.
    pub ty: Type,
    /// Name.
    pub name: Ident,
    /// Value.
    pub value: Expr,
}

/// A function's head: result, name, type parameters, parameters.
#[derive(Clone, Debug)]
pub struct FunctionPrototype {
    /// Result type; for a constructor of an extern object `None`.
    pub result: Option<Type>,
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Parameters.
    pub params: Vec<Param>,
}

/// A method or constructor of an extern object.
#[derive(Clone, Debug)]
pub struct Method {
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Whether it is `abstract`.
    pub is_abstract: bool,
    /// Its head.
    pub prototype: FunctionPrototype,
    /// The whole of it.
    pub span: Span,
}

/// `extern E<..> { methods }`
#[derive(Clone, Debug)]
pub struct ExternObject {
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Methods, constructors and abstract methods.
    pub methods: Vec<Method>,
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// No direction: compile-time or action data.
    None,
    /// `in`
    In,
    /// `out`
    Out,
    /// `inout`
    InOut,
}

/// A parameter of anything that has parameters.
#[derive(Clone, Debug)]
pub struct Param {
    /// Annotations (`@optional` among them).
    pub annotations: Vec<Annotation>,
    /// Direction.
    pub direction: Direction,
    /// Type.
    pub ty: Type,
    /// Name.
    pub name: Ident,
    /// Default value.
    pub default: Option<Expr>,
    /// The whole of it.
    pub span: Span,
}

/// `action a(..) { .. }`
#[derive(Clone, Debug)]
pub struct Action {
    /// Name.
    pub name: Ident,
    /// Parameters: directional ones first, then action data.
    pub params: Vec<Param>,
    /// Body.
    pub body: Block,
}

/// A parser or parser type declaration.
#[derive(Clone, Debug)]
pub struct Parser {
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Apply parameters.
    pub params: Vec<Param>,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// `None` for a type declaration.
    pub body: Option<ParserBody>,
}

/// What stands between a parser's braces.
#[derive(Clone, Debug)]
pub struct ParserBody {
    /// Local constants, variables, instances and value sets.
    pub locals: Vec<Declaration>,
    /// States.
    pub states: Vec<ParserState>,
}

/// `state s { statements transition ...; }`
#[derive(Clone, Debug)]
pub struct ParserState {
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Name.
    pub name: Ident,
    /// Statements.
    pub statements: Vec<Statement>,
    /// `None` when left out (implicit `reject`).
    pub transition: Option<Transition>,
    /// The whole of it.
    pub span: Span,
}

/// `transition s;` or `transition select(..) {..}`
#[derive(Clone, Debug)]
pub enum Transition {
    /// To one state.
    Direct(Ident),
    /// By cases.
    Select(Select),
}

/// `select(e, ...) { keyset: state; ... }`
#[derive(Clone, Debug)]
pub struct Select {
    /// What is matched.
    pub keys: Vec<Expr>,
    /// Cases in order.
    pub cases: Vec<SelectCase>,
    /// The whole of it.
    pub span: Span,
}

/// One case of a `select`.
#[derive(Clone, Debug)]
pub struct SelectCase {
    /// The keyset: an expression ([`ExprKind::Tuple`] for `(a, b)`, [`ExprKind::DontCare`] for `_`,
    /// [`ExprKind::Default`] for `default`).
    pub keyset: Expr,
    /// Target state.
    pub state: Ident,
    /// The whole of it.
    pub span: Span,
}

/// A control or control type declaration.
#[derive(Clone, Debug)]
pub struct Control {
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Apply parameters.
    pub params: Vec<Param>,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// `None` for a type declaration.
    pub body: Option<ControlBody>,
}

/// What stands between a control's braces.
#[derive(Clone, Debug)]
pub struct ControlBody {
    /// Local declarations: constants, variables, instances, actions, tables.
    pub locals: Vec<Declaration>,
    /// The `apply` block.
    pub apply: Block,
    /// Annotations of the `apply` block.
    pub apply_annotations: Vec<Annotation>,
}

/// `package P<..>(..);`
#[derive(Clone, Debug)]
pub struct Package {
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Constructor parameters.
    pub params: Vec<Param>,
}

/// Which composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompositeKind {
    /// `struct`
    Struct,
    /// `header`
    Header,
    /// `header_union`
    HeaderUnion,
}

/// `struct S<..> { fields }` and its two siblings.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Which of the three.
    pub kind: CompositeKind,
    /// Name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<Ident>,
    /// Fields in order.
    pub fields: Vec<Field>,
}

/// A field of a composite.
#[derive(Clone, Debug)]
pub struct Field {
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Type.
    pub ty: Type,
    /// Name.
    pub name: Ident,
}

/// `enum E { A, B }` or `enum bit<8> E { A = 1 }`
#[derive(Clone, Debug)]
pub struct Enum {
    /// Name.
    pub name: Ident,
    /// Underlying type, for an enum with representation.
    pub representation: Option<Type>,
    /// Members, with values when there is a representation.
    pub members: Vec<(Ident, Option<Expr>)>,
}

/// `typedef T N;` (an alias) or `type T N;` (a new type).
#[derive(Clone, Debug)]
pub struct Typedef {
    /// Whether it is `type`.
    pub is_new: bool,
    /// What it stands for: a type, or (for `typedef`) a composite declared on the spot.
    pub ty: TypedefTarget,
    /// New name.
    pub name: Ident,
}

/// What a `typedef` names.
#[derive(Clone, Debug)]
pub enum TypedefTarget {
    /// A type.
    Type(Type),
    /// A declaration in place: `typedef struct S {..} T;`
    Declaration(Box<Declaration>),
}

/// `T(args) name = { .. };`
#[derive(Clone, Debug)]
pub struct Instantiation {
    /// Type of the object.
    pub ty: Type,
    /// Constructor arguments.
    pub args: Vec<Arg>,
    /// Name.
    pub name: Ident,
    /// Implementations of abstract methods, if a block follows.
    pub initializer: Option<Vec<Declaration>>,
}

/// `T f<..>(..) { .. }`
#[derive(Clone, Debug)]
pub struct Function {
    /// Head.
    pub prototype: FunctionPrototype,
    /// Body.
    pub body: Block,
}

/// `T v = e;`
#[derive(Clone, Debug)]
pub struct Variable {
    /// Type.
    pub ty: Type,
    /// Name.
    pub name: Ident,
    /// Initial value.
    pub value: Option<Expr>,
}

/// `value_set<T>(size) name;`
#[derive(Clone, Debug)]
pub struct ValueSet {
    /// Type of its elements.
    pub ty: Type,
    /// Number of elements.
    pub size: Expr,
    /// Name.
    pub name: Ident,
}

/// `table t { properties }`
#[derive(Clone, Debug)]
pub struct Table {
    /// Name.
    pub name: Ident,
    /// Properties in order.
    pub properties: Vec<TableProperty>,
}

/// One property of a table.
#[derive(Clone, Debug)]
pub struct TableProperty {
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Whether `const` stands before it.
    pub is_const: bool,
    /// Name as written: `key`, `actions`, `entries`, `default_action`, `size`, ...
    pub name: Ident,
    /// Value.
    pub value: TablePropertyValue,
    /// The whole of it.
    pub span: Span,
}

/// Values of table properties.
#[derive(Clone, Debug)]
pub enum TablePropertyValue {
    /// `key = { e : kind; ... }`
    Key(Vec<KeyElement>),
    /// `actions = { a; b(x); ... }`
    Actions(Vec<ActionRef>),
    /// `entries = { ... }`
    Entries(Vec<Entry>),
    /// Any other: `name = expression;`
    Expr(Expr),
    /// `implementation = T(args) { .. }`-like instantiation in place is an [`ExprKind::Call`]; this is a bare list
    /// `name = { e, e };` handled as an expression too. Kept for `name;` without value.
    Flag,
}

/// `e : match_kind @annotations;`
#[derive(Clone, Debug)]
pub struct KeyElement {
    /// Expression.
    pub expr: Expr,
    /// Match kind name.
    pub match_kind: Name,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// An element of `actions`.
#[derive(Clone, Debug)]
pub struct ActionRef {
    /// Annotations (`@tableonly`, `@defaultonly`).
    pub annotations: Vec<Annotation>,
    /// Action.
    pub name: Name,
    /// Arguments for the directional parameters; `None` without parentheses.
    pub args: Option<Vec<Arg>>,
    /// The whole of it.
    pub span: Span,
}

/// One entry of `entries`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Annotations (`@priority`, `@name`).
    pub annotations: Vec<Annotation>,
    /// Whether `const` stands before it.
    pub is_const: bool,
    /// `priority = e :` before the keyset.
    pub priority: Option<Expr>,
    /// Keyset, as in [`SelectCase::keyset`].
    pub keyset: Expr,
    /// Action with its arguments.
    pub action: ActionRef,
    /// The whole of it.
    pub span: Span,
}

/// `{ statements }`
#[derive(Clone, Debug)]
pub struct Block {
    /// Annotations before the brace (`@atomic`, ...).
    pub annotations: Vec<Annotation>,
    /// Statements and declarations in order.
    pub statements: Vec<Statement>,
    /// The whole of it.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// The whole of it.
    pub span: Span,
}

/// Every kind of statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `;`
    Empty,
    /// `l = e;` or `l op= e;`
    Assign {
        /// Left side.
        target: Expr,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// Right side.
        value: Expr,
    },
    /// A call as a statement; the expression is an [`ExprKind::Call`].
    Call(Expr),
    /// `T.apply(args);` where T is a type: instantiated on the spot.
    DirectApply {
        /// Type of the control or parser.
        ty: Type,
        /// Arguments of `apply`.
        args: Vec<Arg>,
    },
    /// `if (c) s else if (c) s else s`. A chain of `else if` is one statement, so that long ones do not nest.
    If {
        /// In order; there is at least one.
        branches: Vec<Branch>,
        /// What follows the last `else`.
        otherwise: Option<Box<Statement>>,
    },
    /// `{ .. }`
    Block(Block),
    /// `switch (e) { cases }`
    Switch {
        /// What is switched on.
        expr: Expr,
        /// Cases in order.
        cases: Vec<SwitchCase>,
    },
    /// `return;` or `return e;`
    Return(Option<Expr>),
    /// `exit;`
    Exit,
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `for (init; cond; update) body`
    For {
        /// Annotations (`@unroll`).
        annotations: Vec<Annotation>,
        /// Initial statements and declarations.
        init: Vec<Statement>,
        /// Condition.
        condition: Expr,
        /// Updates.
        update: Vec<Statement>,
        /// Body.
        body: Box<Statement>,
    },
    /// `for (T x in collection) body`
    ForIn {
        /// Annotations.
        annotations: Vec<Annotation>,
        /// Type of a variable declared here; `None` when an existing one is named.
        ty: Option<Type>,
        /// Variable.
        variable: Ident,
        /// Range `a .. b`, list, stack.
        collection: Expr,
        /// Body.
        body: Box<Statement>,
    },
    /// A local constant, variable or instantiation.
    Declaration(Box<Declaration>),
}

/// A condition, and what is executed when it holds and none before it does.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Condition.
    pub condition: Expr,
    /// What it guards.
    pub body: Statement,
    /// From `if` to the end of the body.
    pub span: Span,
}

/// A case of a `switch`: one label with its block; a label without block falls through to the next.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// The label: an expression, [`ExprKind::Default`] for `default`.
    pub label: Expr,
    /// The block; `None` when it falls through.
    pub body: Option<Block>,
    /// The whole of it.
    pub span: Span,
}

/// An argument, possibly named, possibly `_`.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Name in `name = e`.
    pub name: Option<Ident>,
    /// Value; [`ExprKind::DontCare`] for `_`.
    pub value: Expr,
    /// The whole of it.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct Type {
    /// Which.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// Forms of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `void`
    Void,
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `string`
    String,
    /// `int` of infinite precision
    Int,
    /// `bit<w>`; `bit` alone is `bit<1>`
    Bit(Box<Expr>),
    /// `int<w>`
    SignedInt(Box<Expr>),
    /// `varbit<w>`
    Varbit(Box<Expr>),
    /// `N` or `N<args>`
    Named {
        /// Name.
        name: Name,
        /// Type arguments; empty without angle brackets.
        args: Vec<Type>,
    },
    /// `T[n]`
    Stack {
        /// Element type.
        element: Box<Type>,
        /// Number of elements.
        size: Box<Expr>,
    },
    /// `tuple<T, ...>`
    Tuple(Vec<Type>),
    /// `list<T>`
    List(Box<Type>),
    /// `_` as a type argument
    DontCare,
}

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
