//! The invariants of programs, and the check that they hold.
//!
//! Lowering must establish the invariants below, passes must preserve them, and executors may rely on them. Each is a
//! [`Rule`], whose documentation states it exactly, and each has a test that breaks it.
//!
//! | about | rules |
//! |---|---|
//! | references | [`Rule::IdInRange`], [`Rule::FileInRange`], [`Rule::DuplicateName`] |
//! | widths | [`Rule::WidthLimit`], [`Rule::WidthMismatch`] |
//! | storage | [`Rule::HeaderSlot`], [`Rule::SlotOwner`], [`Rule::OneVarbit`], [`Rule::ErrorNames`], [`Rule::IntrinsicKind`] |
//! | architecture | [`Rule::StageMissing`], [`Rule::StageKind`] |
//! | graphs | [`Rule::EmptyBody`], [`Rule::UnreachableBlock`], [`Rule::NotAllowedHere`] |
//! | operations | [`Rule::ExtractVarbit`], [`Rule::DirectObject`], [`Rule::ElementNames`], [`Rule::DigestArity`], [`Rule::SelectArity`], [`Rule::ValueSetComponent`] |
//! | expressions | [`Rule::ExpressionDepth`], [`Rule::SliceRange`], [`Rule::ResizeDirection`], [`Rule::ParamOutsideAction`], [`Rule::ParamMismatch`] |
//! | actions and tables | [`Rule::ActionBody`], [`Rule::ActionScope`], [`Rule::CallArity`], [`Rule::EntryArity`], [`Rule::EntryMatchKind`], [`Rule::PrefixLength`], [`Rule::ConstEntries`], [`Rule::EmptyGroupAction`], [`Rule::MeterUnit`] |
//! | the architecture's graph | [`Rule::GraphEntry`], [`Rule::GraphPreserved`], [`Rule::GraphCycle`], [`Rule::GraphRun`], [`Rule::GraphFrame`], [`Rule::GraphReplica`], [`Rule::GraphArgument`], [`Rule::GraphRequest`], [`Rule::GraphCommit`] |
//!
//! The verifier itself relies on nothing: it accepts any program, even one read from an untrusted file.

mod body;
mod expr;
mod graph;
mod object;
mod storage;

use crate::{ActionId, BlockId, BodyId, Location, Program};
use std::fmt;

/// The widest value that a program may have, in bits.
pub const MAX_WIDTH: u32 = 1 << 16;

/// The largest depth of an expression: a constant or a slot has depth 1. So executors and passes may recurse over
/// expressions.
pub const MAX_EXPRESSION_DEPTH: usize = 400;

/// An invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Every id exists: slots, headers, bodies, blocks, actions, objects, and an action call's index into its table's
    /// actions.
    IdInRange,
    /// Every [`Location`] with a line names a file of [`Program::files`].
    FileInRange,
    /// Among tables, among action profiles, among registers, and so on, no two have the same name. Actions may,
    /// because they can be instances of one P4 action; so may digests of one struct type.
    DuplicateName,
    /// No value is wider than [`MAX_WIDTH`].
    WidthLimit,
    /// Values have the widths that [`crate::Op`], [`crate::Terminator`], [`crate::Expr`] and the objects require: both
    /// sides of an assignment, operands, conditions (1), action arguments, table entries, `hit` (1), `action_run`
    /// (32), `reject` (32), lengths and stack indexes (32), field list numbers (8), register elements.
    WidthMismatch,
    /// The slots that a header names have kinds that agree: its fields, its validity, its varbit's length.
    HeaderSlot,
    /// A slot whose kind says that it belongs to a header is named by that header exactly once.
    SlotOwner,
    /// A header has at most one varbit field.
    OneVarbit,
    /// Error 0 is `NoError`, no two errors have the same name, and those with which operations end parsers
    /// ([`crate::Op::parser_errors`]) exist.
    ErrorNames,
    /// Slots of [`Program::intrinsic`] are of kind [`crate::SlotKind::Intrinsic`].
    IntrinsicKind,
    /// Every role of the architecture has a body.
    StageMissing,
    /// Each role has a body of the right kind: parsers parse, deparsers deparse, the others are controls.
    StageKind,
    /// A body has at least its entry block.
    EmptyBody,
    /// Every block is reachable from the entry, whatever the conditions.
    UnreachableBlock,
    /// Operations are only used where they can be executed. Reading the packet, `reject` and value sets: parsers.
    /// Emitting: deparsers. Tables: controls. Clone, resubmit, recirculate, truncate: controls and actions. Checksums,
    /// digests and `exit`: everywhere except parsers. All others: anywhere.
    NotAllowedHere,
    /// `extract` has the length of the varbit field if and only if the header has one.
    ExtractVarbit,
    /// Arrays are used by index, and direct objects by tables, each by only one table.
    DirectObject,
    /// A counter has no names for its elements, or one for each; a direct counter has none.
    ElementNames,
    /// A digest is sent with a value for each of its fields.
    DigestArity,
    /// A select case has a keyset for each key.
    SelectArity,
    /// A value set is used at each key for a component that it has.
    ValueSetComponent,
    /// No expression is deeper than [`MAX_EXPRESSION_DEPTH`].
    ExpressionDepth,
    /// A slice lies within its operand: `lo <= hi < width`.
    SliceRange,
    /// Extensions do not make a value narrower, nor truncations wider.
    ResizeDirection,
    /// Action data is only read in bodies of actions, and the body belongs to an action.
    ParamOutsideAction,
    /// Action data that a body reads is a parameter, of that width, of every action with this body.
    ParamMismatch,
    /// The body of an action is of kind [`crate::BodyKind::Action`].
    ActionBody,
    /// No action of a table is both `@tableonly` and `@defaultonly`; the default action is not `@tableonly`; the action
    /// of an entry is not `@defaultonly`.
    ActionScope,
    /// An action call has an argument for each parameter.
    CallArity,
    /// An entry has a match for each key field that is not a selector.
    EntryArity,
    /// A match is of its key field's kind.
    EntryMatchKind,
    /// The prefix of an LPM match is not longer than the field.
    PrefixLength,
    /// When a table's entries are const, each of them is.
    ConstEntries,
    /// A table with an action of empty groups has an action selector.
    EmptyGroupAction,
    /// A meter measures packets or bytes, not both.
    MeterUnit,
    /// The entries to which the graph sends packets exist: mirrors lead to clone entries, `replicate` to replicas,
    /// `suspend` to dequeued packets.
    GraphEntry,
    /// Values that come with a packet are preserved by its entry.
    GraphPreserved,
    /// The graph has no cycle.
    GraphCycle,
    /// A parser runs only where no parser has read the frame, and has a `reject` edge; other bodies have none. At most
    /// one deparser runs before a `reframe`. Bodies of actions do not run.
    GraphRun,
    /// Frames as received are used, and packets are resubmitted, only before any `reframe` on their side of the queue;
    /// frames as deparsed only after one. Packets leave, and are resubmitted, on their side of the queue. No deparser
    /// output is pending when a packet enters a queue.
    GraphFrame,
    /// Copies are not replicated again before they leave a queue.
    GraphReplica,
    /// An argument is used only where it exists: those of replicas after `replicate`, of sessions after a mirror, of
    /// queues after `suspend`.
    GraphArgument,
    /// Only the graph names slots of the graph.
    GraphRequest,
    /// Digests are committed before the packet leaves the graph.
    GraphCommit,
}

/// The place where an invariant does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The program as a whole.
    Program,
    /// A declaration: its kind and name.
    Declaration(&'static str, String),
    /// Code.
    Code {
        /// Body.
        body: BodyId,
        /// Its name.
        name: String,
        /// Block; `None` for the body as a whole.
        block: Option<BlockId>,
        /// Statement of the block; `None` for its terminator, or for the block as a whole.
        statement: Option<usize>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Program => write!(formatter, "program"),
            Place::Declaration(kind, name) => write!(formatter, "{kind} {name}"),
            Place::Code {
                name, block, statement, ..
            } => {
                write!(formatter, "body {name}")?;
                if let Some(block) = block {
                    write!(formatter, ", block{}", block.0)?;
                }
                match statement {
                    Some(index) => write!(formatter, ", statement {index}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The rule.
    pub rule: Rule,
    /// The place.
    pub place: Place,
    /// What is wrong, in words.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} ({:?})", self.place, self.message, self.rule)
    }
}

impl std::error::Error for VerifyError {}

/// Checks every invariant; empty when all hold.
pub fn verify(program: &Program) -> Vec<VerifyError> {
    let mut verifier = Verifier::new(program);
    verifier.storage();
    verifier.objects();
    verifier.bodies();
    verifier.graph();
    verifier.errors
}

/// Checks the invariants of the graph of a program in which all others hold.
pub fn verify_graph(program: &Program) -> Vec<VerifyError> {
    let mut verifier = Verifier::new(program);
    verifier.graph();
    verifier.errors
}

/// The actions whose body each body is.
fn owners(program: &Program) -> Vec<Vec<ActionId>> {
    let mut owners = vec![Vec::new(); program.bodies.len()];
    for (index, action) in program.actions.iter().enumerate() {
        if let Some(owners) = owners.get_mut(action.body.index()) {
            owners.push(ActionId(index as u32));
        }
    }
    owners
}

/// The program, the current place, and the errors found.
struct Verifier<'a> {
    program: &'a Program,
    /// For each body, the actions whose body it is.
    owners: Vec<Vec<ActionId>>,
    place: Place,
    errors: Vec<VerifyError>,
}

impl<'a> Verifier<'a> {
    fn new(program: &'a Program) -> Verifier<'a> {
        Verifier {
            program,
            owners: owners(program),
            place: Place::Program,
            errors: Vec::new(),
        }
    }
}

impl Verifier<'_> {
    fn report(&mut self, rule: Rule, message: impl Into<String>) {
        self.errors.push(VerifyError {
            rule,
            place: self.place.clone(),
            message: message.into(),
        });
    }

    /// Reports `rule` unless `holds`; returns `holds`.
    fn require(&mut self, holds: bool, rule: Rule, message: impl FnOnce() -> String) -> bool {
        if !holds {
            self.report(rule, message());
        }
        holds
    }

    /// Whether an index is within a vector of `length`.
    fn in_range(&mut self, what: &str, index: u32, length: usize) -> bool {
        self.require((index as usize) < length, Rule::IdInRange, || {
            format!("there is no {what} {index}")
        })
    }

    fn width_limit(&mut self, width: u32) {
        self.require(width <= MAX_WIDTH, Rule::WidthLimit, || {
            format!("{width} bits are more than {MAX_WIDTH}")
        });
    }

    /// Requires two widths to be equal.
    fn same_width(&mut self, what: &str, width: u32, expected: u32) {
        self.require(width == expected, Rule::WidthMismatch, || {
            format!("{what} has {width} bits, expected {expected}")
        });
    }

    fn location(&mut self, location: Location) {
        let known = location.line == 0 || (location.file as usize) < self.program.files.len();
        self.require(known, Rule::FileInRange, || {
            format!("there is no file {}", location.file)
        });
    }
}
