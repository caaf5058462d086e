//! Errors of loading a program and of control-plane requests. Every message names the P4 object and what would be
//! correct.

use crate::memory::{Demand, readable};
use std::fmt;

/// Why a program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// A programmable block of the architecture is missing.
    MissingBlock(&'static str),
    /// A field of the architecture's intrinsic metadata has no slot.
    MissingIntrinsic(&'static str),
    /// The program is not complete for its architecture.
    Architecture(forebay_arch::BuildError),
    /// A table or extern is larger than the limits of this implementation.
    TooLarge {
        /// P4 name.
        name: String,
        /// The requested size.
        size: u64,
    },
    /// The program's state needs more memory than the limit.
    TooMuchMemory {
        /// Bytes that the program's state needs.
        needed: u64,
        /// The limit in bytes.
        limit: u64,
        /// The largest objects, the largest first.
        largest: Vec<Demand>,
    },
    /// The program cannot be turned into machine code.
    Compile(forebay_jit::CompileError),
    /// An entry of the program does not fit its table.
    Entry {
        /// P4 name of the table.
        table: String,
        /// What is wrong with it.
        error: ControlError,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::MissingBlock(name) => write!(f, "the program has no {name}"),
            LoadError::MissingIntrinsic(name) => write!(
                f,
                "standard_metadata has no field `{name}`, so the program's architecture is not v1model: what is executed is v1model.p4, psa.p4 and pna.p4"
            ),
            LoadError::Architecture(error) => error.fmt(f),
            LoadError::TooLarge { name, size } => {
                write!(
                    f,
                    "`{name}` has size {size}, which needs more memory than one object may take"
                )
            }
            LoadError::TooMuchMemory { needed, limit, largest } => {
                write!(
                    f,
                    "its state needs {} of memory, and may have {} (--memory-limit); the largest objects: ",
                    readable(*needed),
                    readable(*limit)
                )?;
                for (index, demand) in largest.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(
                        f,
                        "{separator}{} `{}` {}",
                        demand.kind,
                        demand.name,
                        readable(demand.bytes)
                    )?;
                }
                Ok(())
            }
            LoadError::Compile(error) => error.fmt(f),
            LoadError::Entry { table, error } => write!(f, "entry of table `{table}`: {error}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// The kinds of objects that a control-plane name can denote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// Table.
    Table,
    /// Action of a table.
    Action,
    /// Action profile or selector.
    ActionProfile,
    /// Register array.
    Register,
    /// Counter array or direct counter.
    Counter,
    /// Meter array or direct meter.
    Meter,
    /// Parser value set.
    ValueSet,
    /// A hash whose parameters the control plane sets.
    Calculation,
    /// Multicast group.
    MulticastGroup,
    /// Clone session.
    CloneSession,
    /// Field of a header.
    HeaderField,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjectKind::Table => "table",
            ObjectKind::Action => "action",
            ObjectKind::ActionProfile => "action profile",
            ObjectKind::Register => "register",
            ObjectKind::Counter => "counter",
            ObjectKind::Meter => "meter",
            ObjectKind::ValueSet => "value set",
            ObjectKind::Calculation => "hash with parameters",
            ObjectKind::MulticastGroup => "multicast group",
            ObjectKind::CloneSession => "clone session",
            ObjectKind::HeaderField => "header field",
        })
    }
}

/// Why a control-plane request was refused. A refused request changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no such object.
    Unknown {
        /// The kind of object.
        kind: ObjectKind,
        /// The given name.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// The name is a suffix of several objects' names.
    Ambiguous {
        /// The kind of object.
        kind: ObjectKind,
        /// The given name.
        name: String,
        /// The candidates.
        candidates: Vec<String>,
    },
    /// The wrong number of match fields, arguments or components.
    WrongCount {
        /// P4 name of the object.
        name: String,
        /// What was counted.
        what: &'static str,
        /// The required number.
        expected: usize,
        /// The given number.
        given: usize,
    },
    /// A value has more bits than its field.
    ValueTooWide {
        /// P4 name of the object.
        name: String,
        /// The field or parameter.
        field: String,
        /// Its width in bits.
        width: u32,
    },
    /// The match does not suit the field's match kind.
    WrongMatchKind {
        /// P4 name of the table.
        name: String,
        /// The key field.
        field: String,
        /// Its match kind.
        expected: &'static str,
    },
    /// A prefix longer than the field, or a range whose bounds are reversed.
    InvalidMatch {
        /// P4 name of the table.
        name: String,
        /// The key field.
        field: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// A priority that is not a signed number of 32 bits.
    Priority {
        /// P4 name of the table.
        name: String,
        /// The given priority.
        given: i64,
    },
    /// The action may not be used there.
    ActionNotAllowed {
        /// P4 name of the table.
        name: String,
        /// P4 name of the action.
        action: String,
        /// Why.
        why: &'static str,
    },
    /// The object may not be changed (`const entries`, `const default_action`).
    Constant {
        /// P4 name of the table.
        name: String,
        /// What is constant.
        what: &'static str,
    },
    /// An entry, member or group with that key or number exists.
    AlreadyExists {
        /// P4 name of the object.
        name: String,
        /// What exists.
        what: String,
    },
    /// There is no such entry, member or group.
    NotFound {
        /// P4 name of the object.
        name: String,
        /// What does not exist.
        what: String,
    },
    /// The object is full.
    Full {
        /// P4 name of the object.
        name: String,
        /// The most items that it holds.
        size: u64,
    },
    /// Another entry would need more memory than the limit for the program's state.
    NoMemory {
        /// P4 name of the table.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The member is used by an entry or a group.
    InUse {
        /// P4 name of the object.
        name: String,
        /// What is in use.
        what: String,
    },
    /// An index beyond the array's end.
    OutOfRange {
        /// P4 name of the array.
        name: String,
        /// The index.
        index: u64,
        /// The array's size.
        size: u64,
    },
    /// The request does not suit the object: a member for a table without a profile, a direct counter of a table
    /// without one, or an array request to a direct counter.
    Unsuitable {
        /// P4 name of the object.
        name: String,
        /// What would be correct.
        expected: &'static str,
    },
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::Unknown { kind, name, known } => {
                write!(f, "there is no {kind} `{name}`")?;
                write_names(f, "; there is ", known)
            }
            ControlError::Ambiguous { kind, name, candidates } => {
                write!(f, "`{name}` may be several {kind}s")?;
                write_names(f, ": ", candidates)
            }
            ControlError::WrongCount {
                name,
                what,
                expected,
                given,
            } => {
                write!(f, "`{name}` has {expected} {what}, not {given}")
            }
            ControlError::ValueTooWide { name, field, width } => {
                write!(f, "`{name}`: the value for `{field}` does not fit in {width} bits")
            }
            ControlError::WrongMatchKind { name, field, expected } => {
                write!(f, "`{name}`: `{field}` is matched as {expected}")
            }
            ControlError::InvalidMatch { name, field, problem } => write!(f, "`{name}`: `{field}` {problem}"),
            ControlError::Priority { name, given } => {
                write!(f, "`{name}`: a priority is {} to {}, not {given}", i32::MIN, i32::MAX)
            }
            ControlError::ActionNotAllowed { name, action, why } => {
                write!(f, "`{name}` cannot use `{action}`: {why}")
            }
            ControlError::Constant { name, what } => write!(f, "`{name}`: its {what} is constant"),
            ControlError::AlreadyExists { name, what } => write!(f, "`{name}` has already {what}"),
            ControlError::NotFound { name, what } => write!(f, "`{name}` has no {what}"),
            ControlError::Full { name, size } => write!(f, "`{name}` is full: its size is {size}"),
            ControlError::NoMemory { name, limit } => write!(
                f,
                "`{name}`: there is no memory for another entry; the program's state may have {} (--memory-limit)",
                readable(*limit)
            ),
            ControlError::InUse { name, what } => write!(f, "`{name}`: {what} is in use"),
            ControlError::OutOfRange { name, index, size } => {
                write!(f, "`{name}` has {size} elements, so there is no index {index}")
            }
            ControlError::Unsuitable { name, expected } => write!(f, "`{name}` {expected}"),
        }
    }
}

impl std::error::Error for ControlError {}

/// The most names that a message lists.
const NAMES_LISTED_MAX: usize = 12;

fn write_names(f: &mut fmt::Formatter<'_>, intro: &str, names: &[String]) -> fmt::Result {
    for (index, name) in names.iter().take(NAMES_LISTED_MAX).enumerate() {
        write!(f, "{}`{name}`", if index == 0 { intro } else { ", " })?;
    }
    if names.len() > NAMES_LISTED_MAX {
        write!(f, " and {} more", names.len() - NAMES_LISTED_MAX)?;
    }
    Ok(())
}
