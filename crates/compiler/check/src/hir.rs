//! The typed program: what the checker makes of a syntax tree, and what lowering elaborates.
//!
//! Every name is resolved to an id, every expression has a type, every implicit cast is explicit, every call has its
//! arguments in parameter order with defaults filled in and its type arguments solved. Constants are folded: an
//! expression whose value is known without elaboration is a literal ([`ExprKind::Int`], [`ExprKind::Bool`], ...), also
//! where the source names a `const`. What may still be unknown are constructor parameters ([`VarKind::Constructor`])
//! and, inside generic declarations, type variables ([`Type::Var`]): elaboration knows both.
//!
//! Declarations live in vectors of [`Program`] and refer to one another by typed ids.

mod children;
mod expression;
mod statement;

pub use children::{Node, calls, nodes, walk};
pub use expression::{Argument, Call, Callee, Expr, ExprKind, Link, operands};
pub use statement::{Block, Branch, Statement, StatementKind};

use forebay_syntax::ast::{Annotation, CompositeKind, Direction};
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use std::rc::Rc;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into the program's vector of these.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids!(
    /// Index into [`Program::type_vars`].
    TypeVarId,
    /// Index into [`Program::composites`].
    CompositeId,
    /// Index into [`Program::enums`].
    EnumId,
    /// Index into [`Program::new_types`].
    NewTypeId,
    /// Index into [`Program::externs`].
    ExternId,
    /// Index into [`Program::functions`].
    FunctionId,
    /// Index into [`Program::actions`].
    ActionId,
    /// Index into [`Program::parsers`].
    ParserId,
    /// Index into [`Program::controls`].
    ControlId,
    /// Index into [`Program::packages`].
    PackageId,
    /// Index into [`Program::tables`].
    TableId,
    /// Index into [`Program::value_sets`].
    ValueSetId,
    /// Index into [`Program::instances`].
    InstanceId,
    /// Index into [`Program::vars`].
    VarId,
);

/// A checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Type variables of every generic declaration.
    pub type_vars: Vec<TypeVar>,
    /// Structs, headers, header unions.
    pub composites: Vec<Composite>,
    /// Enums with and without representation.
    pub enums: Vec<Enum>,
    /// `type T N;`
    pub new_types: Vec<NewType>,
    /// Extern objects.
    pub externs: Vec<Extern>,
    /// Functions: P4's own, extern ones (no body), implementations of abstract methods.
    pub functions: Vec<Function>,
    /// Actions, top-level and of controls.
    pub actions: Vec<Action>,
    /// Parsers and parser types.
    pub parsers: Vec<Parser>,
    /// Controls and control types.
    pub controls: Vec<Control>,
    /// Packages.
    pub packages: Vec<Package>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Instances with a name, and anonymous ones made by a direct application `C.apply()`.
    pub instances: Vec<Instance>,
    /// Variables and parameters.
    pub vars: Vec<Var>,
    /// All `error` members in order of declaration (`NoError` first).
    pub errors: Vec<String>,
    /// All `match_kind` members.
    pub match_kinds: Vec<String>,
    /// Top-level instances in order, `main` among them.
    pub top_instances: Vec<InstanceId>,
    /// Top-level actions in order.
    pub top_actions: Vec<ActionId>,
    /// The instance named `main`.
    pub main: Option<InstanceId>,
    /// Top-level typedef names in order: name and what it stands for (resolved), for P4Info and messages.
    pub typedefs: Vec<(String, Type)>,
}

/// Annotations as written; see [`crate::annotations`] for reading them.
pub type Annotations = Rc<Vec<Annotation>>;

/// A type parameter.
#[derive(Clone, Debug)]
pub struct TypeVar {
    /// Name.
    pub name: String,
}

/// A resolved type. `typedef`s are gone; widths are numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `void`
    Void,
    /// `bool`
    Bool,
    /// `int`: infinite precision, compile time only
    Int,
    /// `bit<W>`
    Bit(u32),
    /// `int<W>`
    Signed(u32),
    /// `varbit<W>`
    Varbit(u32),
    /// `string`
    String,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// Struct, header or header union with its type arguments.
    Composite(CompositeId, Rc<Vec<Type>>),
    /// Enum.
    Enum(EnumId),
    /// `type T N`
    NewType(NewTypeId),
    /// `T[n]`: a stack when T is a header or union, an array otherwise.
    Stack(Rc<Type>, u32),
    /// `tuple<...>`; also the type of `{a, b}` before it is known what it initialises.
    Tuple(Rc<Vec<Type>>),
    /// `list<T>`
    List(Rc<Type>),
    /// The type of `{f = a, ...}` before it is known what it initialises.
    Record(Rc<Vec<(String, Type)>>),
    /// `set<T>`: type of a keyset.
    Set(Rc<Type>),
    /// A type parameter.
    Var(TypeVarId),
    /// Extern object with its type arguments.
    Extern(ExternId, Rc<Vec<Type>>),
    /// Parser (or parser type) with its type arguments.
    Parser(ParserId, Rc<Vec<Type>>),
    /// Control (or control type) with its type arguments.
    Control(ControlId, Rc<Vec<Type>>),
    /// Package with its type arguments.
    Package(PackageId, Rc<Vec<Type>>),
    /// A table object.
    Table(TableId),
    /// Result of `t.apply()`.
    ApplyResult(TableId),
    /// `t.apply().action_run`.
    ActionRun(TableId),
    /// A parser value set.
    ValueSet(ValueSetId),
    /// `_`, or the unknown type of an expression with an error: fits everything, reported once.
    Unknown,
}

/// Struct, header or header union.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Which.
    pub kind: CompositeKind,
    /// Name.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Fields in order.
    pub fields: Vec<Field>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Type (may name the composite's type parameters).
    pub ty: Type,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Name.
    pub name: String,
    /// Underlying type (`bit<W>`, `int<W>`), if it has a representation.
    pub representation: Option<Type>,
    /// Members; with a representation each has a value.
    pub members: Vec<(String, Option<BigInt>)>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// `type T N;`
#[derive(Clone, Debug)]
pub struct NewType {
    /// Name.
    pub name: String,
    /// What it wraps.
    pub ty: Type,
    /// Annotations (`@p4runtime_translation`).
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A variable or parameter.
#[derive(Clone, Debug)]
pub struct Var {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// What it is.
    pub kind: VarKind,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// Kinds of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarKind {
    /// Local variable (of a parser, control, block, loop).
    Local,
    /// Parameter of a parser, control, function, method or action. [`Direction::None`] on an action: action data.
    Param(Direction),
    /// Constructor parameter: known at elaboration.
    Constructor,
}

/// A parameter: its variable, and what callers need to know.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its variable (name, type, direction).
    pub var: VarId,
    /// Direction.
    pub direction: Direction,
    /// `@optional`: may be left out without a default.
    pub optional: bool,
    /// Default value.
    pub default: Option<Rc<Expr>>,
}

/// An extern object type.
#[derive(Clone, Debug)]
pub struct Extern {
    /// Name.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Constructors.
    pub constructors: Vec<Method>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A method or constructor.
#[derive(Clone, Debug)]
pub struct Method {
    /// Name.
    pub name: String,
    /// Its own type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Parameters.
    pub params: Vec<Param>,
    /// Result.
    pub result: Type,
    /// Whether the program must implement it.
    pub is_abstract: bool,
    /// Annotations.
    pub annotations: Annotations,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Parameters.
    pub params: Vec<Param>,
    /// Result.
    pub result: Type,
    /// `None` for an extern function.
    pub body: Option<Block>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// An action.
#[derive(Clone, Debug)]
pub struct Action {
    /// Name.
    pub name: String,
    /// The control that declares it.
    pub control: Option<ControlId>,
    /// Parameters.
    pub params: Vec<Param>,
    /// Body.
    pub body: Block,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A declaration local to a parser or control, in source order.
#[derive(Clone, Debug)]
pub enum Local {
    /// A variable with its initial value.
    Var(VarId, Option<Expr>),
    /// An instance.
    Instance(InstanceId),
    /// A value set (parsers).
    ValueSet(ValueSetId),
    /// An action (controls).
    Action(ActionId),
    /// A table (controls).
    Table(TableId),
}

/// A parser or parser type.
#[derive(Clone, Debug)]
pub struct Parser {
    /// Name.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Apply parameters.
    pub params: Vec<Param>,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// `None` for a type declaration.
    pub body: Option<ParserBody>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A parser's inside.
#[derive(Clone, Debug)]
pub struct ParserBody {
    /// Local declarations.
    pub locals: Vec<Local>,
    /// States.
    pub states: Vec<State>,
    /// Which of them is `start`.
    pub start: usize,
}

/// A parser state.
#[derive(Clone, Debug)]
pub struct State {
    /// Name.
    pub name: String,
    /// Statements.
    pub statements: Vec<Statement>,
    /// Transition.
    pub transition: Transition,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// Where a state goes.
#[derive(Clone, Debug)]
pub enum Transition {
    /// Always there.
    Direct(StateTarget),
    /// By cases; none matching is `reject` with `error.NoMatch`.
    Select {
        /// Keys.
        keys: Vec<Expr>,
        /// In order; each has one keyset for each key.
        cases: Vec<(Vec<KeySet>, StateTarget, Span)>,
        /// Place of the select.
        span: Span,
    },
}

/// A state or one of the two final ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateTarget {
    /// Index into [`ParserBody::states`].
    State(usize),
    /// `accept`
    Accept,
    /// `reject`
    Reject,
}

/// A set of values of one key; values have the key's type.
#[derive(Clone, Debug)]
pub enum KeySet {
    /// `_`, `default`
    Any,
    /// One value.
    Value(Expr),
    /// `value &&& mask`
    Mask(Expr, Expr),
    /// `low .. high`
    Range(Expr, Expr),
    /// A value set that covers all keys of the select: stands at each key.
    ValueSet(ValueSetId),
}

/// A control or control type.
#[derive(Clone, Debug)]
pub struct Control {
    /// Name.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Apply parameters.
    pub params: Vec<Param>,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// `None` for a type declaration.
    pub body: Option<ControlBody>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A control's inside.
#[derive(Clone, Debug)]
pub struct ControlBody {
    /// Local declarations.
    pub locals: Vec<Local>,
    /// The apply block.
    pub apply: Block,
}

/// A package type.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Constructor parameters.
    pub params: Vec<Param>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name.
    pub name: String,
    /// The control that declares it.
    pub control: ControlId,
    /// Key fields.
    pub keys: Vec<TableKey>,
    /// Actions, in order.
    pub actions: Vec<TableAction>,
    /// Default action, if the program names one.
    pub default_action: Option<DefaultAction>,
    /// The action for entries that name a group without members (`psa_empty_group_action`), if the program has one.
    pub empty_group_action: Option<DefaultAction>,
    /// Entries in order.
    pub entries: Vec<TableEntry>,
    /// Whether the list is `const entries`.
    pub entries_are_const: bool,
    /// `size`, when given (compile-time value; may name constructor parameters).
    pub size: Option<Expr>,
    /// Other properties: `implementation`, `counters`, `meters`, `support_timeout`, `largest_priority_wins`, ...
    pub properties: Vec<TableProperty>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// A key field.
#[derive(Clone, Debug)]
pub struct TableKey {
    /// Value.
    pub expr: Expr,
    /// Match kind by name.
    pub match_kind: String,
    /// The expression as written, the default of its control-plane name (`hdr.ipv4.dstAddr`, `hdr.a.isValid()`).
    pub source_text: String,
    /// Annotations.
    pub annotations: Annotations,
    /// Place.
    pub span: Span,
}

/// An action of a table's list.
#[derive(Clone, Debug)]
pub struct TableAction {
    /// Action.
    pub action: ActionId,
    /// Arguments bound to the directional parameters, in order.
    pub args: Vec<Expr>,
    /// The arguments in the order in which they are written, as indices into `args`: that of their evaluation (§6.8).
    pub written: Vec<usize>,
    /// Annotations.
    pub annotations: Annotations,
    /// Place.
    pub span: Span,
}

/// A default action, or that of empty groups.
#[derive(Clone, Debug)]
pub struct DefaultAction {
    /// Index into [`Table::actions`].
    pub action: usize,
    /// Action data: one for each directionless parameter (compile-time values).
    pub args: Vec<Expr>,
    /// Whether it is const.
    pub is_const: bool,
    /// Place.
    pub span: Span,
}

/// An entry in the program.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// One for each key.
    pub keysets: Vec<KeySet>,
    /// Index into [`Table::actions`].
    pub action: usize,
    /// Action data (compile-time values).
    pub args: Vec<Expr>,
    /// `priority = e :` if written.
    pub priority: Option<Expr>,
    /// Whether this one is `const`.
    pub is_const: bool,
    /// Annotations.
    pub annotations: Annotations,
    /// Place.
    pub span: Span,
}

/// A property of a table that the language does not know.
#[derive(Clone, Debug)]
pub struct TableProperty {
    /// Name.
    pub name: String,
    /// Value: an instance, a constructor call, a literal.
    pub value: Expr,
    /// Whether it is const.
    pub is_const: bool,
    /// Annotations (`@name` of an object made in place).
    pub annotations: Annotations,
    /// Place.
    pub span: Span,
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSet {
    /// Name.
    pub name: String,
    /// Element type.
    pub element: Type,
    /// Size (compile-time value).
    pub size: Expr,
    /// Annotations.
    pub annotations: Annotations,
    /// Place of the name.
    pub span: Span,
}

/// An instance of an extern, parser, control or package.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Name.
    pub name: String,
    /// What it is an instance of, with type arguments solved.
    pub ty: Type,
    /// For an extern: index into [`Extern::constructors`].
    pub constructor: Option<usize>,
    /// Constructor arguments in parameter order; `None` for an `@optional` one left out.
    pub args: Vec<Option<Expr>>,
    /// Implementations of abstract methods: method index and function.
    pub implementations: Vec<(usize, FunctionId)>,
    /// Annotations.
    pub annotations: Annotations,
    /// Whether it was made by a direct application: its name is the type's.
    pub is_direct: bool,
    /// Place.
    pub span: Span,
}
