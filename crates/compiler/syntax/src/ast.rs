//! The syntax tree: what the parser read, before any name is resolved.
//!
//! Nodes follow the grammar of the P4_16 specification 1.2.5 (appendix "P4 grammar") and use its names. Every node
//! that a message may point at carries a [`Span`]. Nothing here is checked beyond syntax: types, widths and constants
//! are expressions until the checker has evaluated them.

mod expression;
mod statement;

pub use expression::{BinaryOp, Expr, ExprKind, IntLiteral, Link, Signedness, UnaryOp};
pub use statement::{Block, Branch, Statement, StatementKind, SwitchCase};

use crate::source::Span;
use std::collections::HashSet;

/// A whole program: its declarations in source order, those of included files among them.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Top-level declarations.
    pub declarations: Vec<Declaration>,
    /// The names in text that could not be parsed. They may be declared there, so their absence is not reported.
    pub lost_names: HashSet<String>,
    /// The structs, headers and header unions in which a field could not be parsed. Other fields may be missing.
    pub incomplete: HashSet<String>,
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
