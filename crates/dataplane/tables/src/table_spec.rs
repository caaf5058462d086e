//! What a program declares about a table, what fits it, and why a change does not.

use std::fmt;

use forebay_bits::Bits;

use crate::entry::{ActionCall, ActionId, EntryAction, EntryId};
use crate::key::{KeyError, KeyMatch, KeySpec, MatchKind};

/// Where an action of a table may be used (`@tableonly`, `@defaultonly`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionScope {
    /// In entries and as the default action.
    TableAndDefault,
    /// In entries only.
    TableOnly,
    /// As the default action only.
    DefaultOnly,
}

/// An action that a table may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// The action.
    pub id: ActionId,
    /// The widths of its directionless parameters.
    pub parameter_widths: Vec<u32>,
    /// Where it may be used.
    pub scope: ActionScope,
}

impl ActionSpec {
    /// An action with parameters of these widths.
    pub fn new(id: ActionId, parameter_widths: Vec<u32>, scope: ActionScope) -> ActionSpec {
        ActionSpec {
            id,
            parameter_widths,
            scope,
        }
    }
}

/// Where the actions of a table's entries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// In the entries.
    Direct,
    /// In an action profile: entries name members.
    Profile,
    /// In an action selector: entries name members or groups.
    Selector,
}

/// What a program declares about a table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// The key, field by field, selectors included.
    pub keys: Vec<KeySpec>,
    /// The most entries that the table holds.
    pub size: usize,
    /// The actions that the table may run.
    pub actions: Vec<ActionSpec>,
    /// The action for packets that match no entry. The caller must make sure that it is one of `actions`.
    pub default_action: ActionCall,
    /// Whether the default action cannot be changed.
    pub const_default: bool,
    /// Where the entries' actions are kept.
    pub implementation: Implementation,
    /// Whether records have a memo, a word in which machine code caches the result of a look-up that depends on the
    /// record's data: see [`search`](crate::search).
    pub memo: bool,
    /// Whether packets add entries. Readers then do not remember that a key was missed, so a new entry does not change
    /// any result that they remember: see [`Table::insert_exact`](crate::Table::insert_exact).
    pub learns: bool,
}

impl TableSpec {
    /// Checks the action of an entry.
    pub(crate) fn check_entry_action(&self, action: &EntryAction) -> Result<(), ActionError> {
        match (self.implementation, action) {
            (Implementation::Direct, EntryAction::Call(call)) => self.check_call(call, ActionScope::TableOnly),
            (Implementation::Profile | Implementation::Selector, EntryAction::Member(_))
            | (Implementation::Selector, EntryAction::Group(_)) => Ok(()),
            (implementation, _) => Err(ActionError::Implementation(implementation)),
        }
    }

    /// Checks a call for use in entries (`TableOnly`) or as the default (`DefaultOnly`).
    pub(crate) fn check_call(&self, call: &ActionCall, usage: ActionScope) -> Result<(), ActionError> {
        let spec = self.actions.iter().find(|spec| spec.id == call.action);
        let spec = spec.ok_or(ActionError::Unknown(call.action))?;
        match spec.scope {
            ActionScope::TableAndDefault => {}
            scope if scope == usage => {}
            ActionScope::DefaultOnly => return Err(ActionError::DefaultOnly(spec.id)),
            ActionScope::TableOnly => return Err(ActionError::TableOnly(spec.id)),
        }
        check_arguments(&spec.parameter_widths, &call.args)
    }

    /// The canonical form of an entry's key.
    pub(crate) fn canonical_key(&self, key: Vec<KeyMatch>) -> Result<Vec<KeyMatch>, KeyError> {
        let fields = || self.keys.iter().filter(|key| key.kind != MatchKind::Selector);
        if key.len() != fields().count() {
            return Err(KeyError::FieldCount {
                expected: fields().count(),
                found: key.len(),
            });
        }
        // Most keys that programs learn are in canonical form already.
        if key
            .iter()
            .zip(fields())
            .all(|(condition, spec)| condition.is_exactly(*spec))
        {
            return Ok(key);
        }
        let conditions = key.into_iter().zip(fields()).enumerate();
        conditions
            .map(|(field, (condition, spec))| condition.canonical(field, *spec))
            .collect()
    }

    /// Checks that there is a value of the right width for each field.
    pub(crate) fn check_values(&self, values: &[Bits]) -> Result<(), KeyError> {
        if self.keys.len() != values.len() {
            return Err(KeyError::FieldCount {
                expected: self.keys.len(),
                found: values.len(),
            });
        }
        let mut fields = self.keys.iter().zip(values).enumerate();
        match fields.find(|(_, (key, value))| key.width != value.width()) {
            Some((field, (key, value))) => Err(KeyError::Width {
                field,
                expected: key.width,
                found: value.width(),
            }),
            None => Ok(()),
        }
    }
}

/// Why an action does not fit a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionError {
    /// The table does not have the action.
    Unknown(ActionId),
    /// The action may only be the default action.
    DefaultOnly(ActionId),
    /// The action may only be used in entries.
    TableOnly(ActionId),
    /// Too few or too many arguments.
    ArgumentCount {
        /// Parameters of the action.
        expected: usize,
        /// Arguments given.
        found: usize,
    },
    /// An argument is not as wide as its parameter.
    ArgumentWidth {
        /// The parameter, from 0.
        parameter: usize,
        /// Its width.
        expected: u32,
        /// The argument's width.
        found: u32,
    },
    /// An action, a member or a group is given to a table of another [`Implementation`].
    Implementation(Implementation),
}

impl fmt::Display for ActionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActionError::Unknown(action) => {
                write!(formatter, "the table has no action {action}")
            }
            ActionError::DefaultOnly(action) => {
                write!(formatter, "action {action} may only be the table's default action")
            }
            ActionError::TableOnly(action) => {
                write!(formatter, "action {action} may not be the default action")
            }
            ActionError::ArgumentCount { expected, found } => {
                write!(formatter, "the action takes {expected} arguments, {found} are given")
            }
            ActionError::ArgumentWidth {
                parameter,
                expected,
                found,
            } => write!(
                formatter,
                "parameter {parameter} is {expected} bits wide, the argument {found}"
            ),
            ActionError::Implementation(Implementation::Direct) => {
                formatter.write_str("the table's entries hold actions, not members or groups")
            }
            ActionError::Implementation(Implementation::Profile) => {
                formatter.write_str("the table's entries name members of an action profile")
            }
            ActionError::Implementation(Implementation::Selector) => {
                formatter.write_str("the table's entries name members or groups of an action selector")
            }
        }
    }
}

impl std::error::Error for ActionError {}

/// Why a table was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The table holds as many entries as it can.
    TableFull {
        /// The largest number of entries.
        size: usize,
    },
    /// There is already an entry with this key and priority.
    Duplicate(EntryId),
    /// There is no such entry.
    NotFound,
    /// The key does not fit the table.
    BadKey(KeyError),
    /// The action does not fit the table.
    BadAction(ActionError),
    /// The program made the default action `const`.
    ConstDefault,
    /// The program made the entry `const`.
    ConstEntry(EntryId),
    /// The program made all entries of the table `const`.
    ConstEntries,
}

impl fmt::Display for TableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::TableFull { size } => {
                write!(formatter, "the table is full: its size is {size}")
            }
            TableError::Duplicate(id) => {
                write!(formatter, "entry {id} has the same match key and the same priority")
            }
            TableError::NotFound => formatter.write_str("the table has no such entry"),
            TableError::BadKey(error) => error.fmt(formatter),
            TableError::BadAction(error) => error.fmt(formatter),
            TableError::ConstDefault => formatter.write_str("the default action is const"),
            TableError::ConstEntry(id) => write!(formatter, "entry {id} is const"),
            TableError::ConstEntries => formatter.write_str("the table's entries are const"),
        }
    }
}

impl std::error::Error for TableError {}

impl From<KeyError> for TableError {
    fn from(error: KeyError) -> TableError {
        TableError::BadKey(error)
    }
}

impl From<ActionError> for TableError {
    fn from(error: ActionError) -> TableError {
        TableError::BadAction(error)
    }
}

fn check_arguments(widths: &[u32], args: &[Bits]) -> Result<(), ActionError> {
    if widths.len() != args.len() {
        return Err(ActionError::ArgumentCount {
            expected: widths.len(),
            found: args.len(),
        });
    }
    let mut pairs = widths.iter().zip(args).enumerate();
    match pairs.find(|(_, (width, arg))| **width != arg.width()) {
        Some((parameter, (width, arg))) => Err(ActionError::ArgumentWidth {
            parameter,
            expected: *width,
            found: arg.width(),
        }),
        None => Ok(()),
    }
}
