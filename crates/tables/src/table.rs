//! Match-action tables: entries behind an engine, and a default action.
//!
//! A table is made from a [`TableSpec`] and keeps its entries in numbered *slots*; the engine maps
//! a key to a slot. A clone shares all entries with its original, so a snapshot costs one pointer
//! per entry and no copies of keys or action data beyond the engine's own.
//!
//! Which entry wins (P4_16 §14.2, P4Runtime §9.1):
//!
//! * all fields exact: the entry with that key, which is the only one;
//! * one prefix field, the others exact: the longest prefix among the entries that match;
//! * otherwise: the largest priority, and among equal ones the entry that was inserted first.
//!
//! An entry is named by its key and, where priorities count, by its priority: a second one of the
//! same name is a [`TableError::Duplicate`].

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use forebay_bits::Bits;

use crate::engine::Engine;
use crate::entry::{ActionCall, ActionId, ActionRef, Entry, EntryAction, EntryId, NewEntry};
use crate::hash;
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

/// What a program says about a table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// The key, field by field, selectors included.
    pub keys: Vec<KeySpec>,
    /// The most entries that the table holds.
    pub size: usize,
    /// The actions that the table may run.
    pub actions: Vec<ActionSpec>,
    /// What a packet gets that no entry matches. The program is trusted to name one of `actions`.
    pub default_action: ActionCall,
    /// Whether the default action cannot be changed.
    pub const_default: bool,
    /// Where the entries' actions are kept.
    pub implementation: Implementation,
}

/// Why an action does not fit a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionError {
    /// The table does not have the action.
    Unknown(ActionId),
    /// The action may only be the default action.
    DefaultOnly(ActionId),
    /// The action may only stand in entries.
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
            ActionError::DefaultOnly(action) => write!(
                formatter,
                "action {action} may only be the table's default action"
            ),
            ActionError::TableOnly(action) => {
                write!(formatter, "action {action} may not be the default action")
            }
            ActionError::ArgumentCount { expected, found } => {
                write!(
                    formatter,
                    "the action takes {expected} arguments, {found} are given"
                )
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
            ActionError::Implementation(Implementation::Selector) => formatter
                .write_str("the table's entries name members or groups of an action selector"),
        }
    }
}

impl std::error::Error for ActionError {}

/// Why a table was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The table holds as many entries as it can.
    TableFull {
        /// How many that are.
        size: usize,
    },
    /// There is an entry with this key and priority.
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
                write!(
                    formatter,
                    "entry {id} has the same match key and the same priority"
                )
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

/// What a lookup found.
#[derive(Clone, Copy, Debug)]
pub struct LookupResult<'table> {
    /// The entry that won, or `None` for a miss.
    pub hit: Option<&'table Entry>,
    /// What to do: the entry's action, or the default action.
    pub action: ActionRef<'table>,
}

/// A match-action table; see the [module documentation](self).
#[derive(Clone, Debug)]
pub struct Table {
    spec: Arc<TableSpec>,
    /// The fields of the key that are matched.
    fields: Arc<[KeySpec]>,
    default_action: ActionCall,
    sealed: bool,
    engine: Engine,
    slots: Vec<Option<Arc<Entry>>>,
    free_slots: Vec<u32>,
    /// In order of insertion.
    by_id: BTreeMap<EntryId, u32>,
    /// By canonical key and priority.
    by_name: HashMap<(Box<[KeyMatch]>, i32), EntryId>,
    next_id: u64,
}

impl Table {
    /// An empty table.
    pub fn new(spec: TableSpec) -> Table {
        let fields: Arc<[KeySpec]> = spec
            .keys
            .iter()
            .filter(|key| key.kind != MatchKind::Selector)
            .copied()
            .collect();
        Table {
            default_action: spec.default_action.clone(),
            engine: Engine::new(&fields),
            fields,
            spec: Arc::new(spec),
            sealed: false,
            slots: Vec::new(),
            free_slots: Vec::new(),
            by_id: BTreeMap::new(),
            by_name: HashMap::new(),
            next_id: 0,
        }
    }

    /// What the program says about the table.
    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// The entry and the action for a packet whose key expressions have these values.
    ///
    /// # Panics
    ///
    /// Unless there is one value per field of [`TableSpec::keys`], selectors included.
    pub fn lookup(&self, key: &[Bits]) -> LookupResult<'_> {
        assert_eq!(key.len(), self.spec.keys.len(), "one value per key field");
        let slot = self.engine.lookup(&self.matched_fields(key));
        let hit = slot.and_then(|slot| self.slots[slot as usize].as_deref());
        LookupResult {
            hit,
            action: match hit {
                Some(entry) => entry.action().as_ref(),
                None => ActionRef::Call(&self.default_action),
            },
        }
    }

    /// The bytes that a selector's hash is computed over: the values of the selector fields, one
    /// after the other, in network order.
    pub fn selector_input(&self, key: &[Bits]) -> Vec<u8> {
        let selectors = self.spec.keys.iter().zip(key);
        hash::pack(
            selectors
                .filter(|(spec, _)| spec.kind == MatchKind::Selector)
                .map(|(_, value)| value),
        )
    }

    /// Adds an entry.
    pub fn insert(&mut self, mut new: NewEntry) -> Result<EntryId, TableError> {
        if self.sealed {
            return Err(TableError::ConstEntries);
        }
        new.key = self.canonical_key(new.key)?;
        new.priority = self.stored_priority(new.priority);
        self.check_entry_action(&new.action)?;
        let name = (new.key.clone().into_boxed_slice(), new.priority);
        if let Some(existing) = self.by_name.get(&name) {
            return Err(TableError::Duplicate(*existing));
        }
        let slot = self.take_slot()?;
        let id = EntryId(self.next_id);
        self.next_id += 1;
        let entry = Entry::new(id, slot, new);
        self.engine.insert(&entry);
        self.by_name.insert(name, id);
        self.by_id.insert(id, slot);
        self.slots[slot as usize] = Some(Arc::new(entry));
        Ok(id)
    }

    /// Gives an entry another action; its key, slot and idle time stay.
    pub fn modify(&mut self, id: EntryId, action: EntryAction) -> Result<(), TableError> {
        let entry = self.changeable(id)?;
        self.check_entry_action(&action)?;
        let slot = entry.slot();
        self.slots[slot] = Some(Arc::new(entry.with_action(action)));
        Ok(())
    }

    /// Removes an entry and returns it.
    pub fn delete(&mut self, id: EntryId) -> Result<Arc<Entry>, TableError> {
        let entry = Arc::clone(self.changeable(id)?);
        self.engine.remove(&entry);
        self.by_name.remove(&(entry.key().into(), entry.priority()));
        self.by_id.remove(&id);
        self.slots[entry.slot()] = None;
        self.free_slots.push(entry.slot() as u32);
        Ok(entry)
    }

    /// Makes all entries `const`: from now on none can be added, changed or deleted.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    /// An entry by its id.
    pub fn get(&self, id: EntryId) -> Option<&Arc<Entry>> {
        let slot = *self.by_id.get(&id)?;
        self.slots[slot as usize].as_ref()
    }

    /// The entry with this key and priority, as a control plane names it.
    pub fn find(&self, key: Vec<KeyMatch>, priority: i32) -> Result<&Arc<Entry>, TableError> {
        let name = (
            self.canonical_key(key)?.into_boxed_slice(),
            self.stored_priority(priority),
        );
        let id = self.by_name.get(&name).ok_or(TableError::NotFound)?;
        self.get(*id).ok_or(TableError::NotFound)
    }

    /// All entries in the order in which they were inserted.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.by_id
            .values()
            .filter_map(|&slot| self.slots[slot as usize].as_ref())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// What a packet gets that no entry matches.
    pub fn default_action(&self) -> &ActionCall {
        &self.default_action
    }

    /// Replaces the default action.
    pub fn set_default(&mut self, action: ActionCall) -> Result<(), TableError> {
        if self.spec.const_default {
            return Err(TableError::ConstDefault);
        }
        self.check_call(&action, ActionScope::DefaultOnly)?;
        self.default_action = action;
        Ok(())
    }

    /// Goes back to the program's default action.
    pub fn reset_default(&mut self) {
        self.default_action = self.spec.default_action.clone();
    }

    /// Checks a call as an entry, a member or a group would make it.
    pub fn check_entry_call(&self, call: &ActionCall) -> Result<(), ActionError> {
        self.check_call(call, ActionScope::TableOnly)
    }

    fn check_entry_action(&self, action: &EntryAction) -> Result<(), ActionError> {
        match (self.spec.implementation, action) {
            (Implementation::Direct, EntryAction::Call(call)) => self.check_entry_call(call),
            (Implementation::Profile | Implementation::Selector, EntryAction::Member(_))
            | (Implementation::Selector, EntryAction::Group(_)) => Ok(()),
            (implementation, _) => Err(ActionError::Implementation(implementation)),
        }
    }

    /// Checks a call for use in entries (`TableOnly`) or as the default (`DefaultOnly`).
    fn check_call(&self, call: &ActionCall, usage: ActionScope) -> Result<(), ActionError> {
        let spec = self
            .spec
            .actions
            .iter()
            .find(|spec| spec.id == call.action)
            .ok_or(ActionError::Unknown(call.action))?;
        match spec.scope {
            ActionScope::TableAndDefault => {}
            scope if scope == usage => {}
            ActionScope::DefaultOnly => return Err(ActionError::DefaultOnly(spec.id)),
            ActionScope::TableOnly => return Err(ActionError::TableOnly(spec.id)),
        }
        check_arguments(&spec.parameter_widths, &call.args)
    }

    fn canonical_key(&self, key: Vec<KeyMatch>) -> Result<Vec<KeyMatch>, KeyError> {
        if key.len() != self.fields.len() {
            return Err(KeyError::FieldCount {
                expected: self.fields.len(),
                found: key.len(),
            });
        }
        key.into_iter()
            .zip(self.fields.iter())
            .enumerate()
            .map(|(field, (condition, spec))| condition.canonical(field, *spec))
            .collect()
    }

    fn stored_priority(&self, priority: i32) -> i32 {
        if self.engine.has_priorities() {
            priority
        } else {
            0
        }
    }

    fn changeable(&self, id: EntryId) -> Result<&Arc<Entry>, TableError> {
        let entry = self.get(id).ok_or(TableError::NotFound)?;
        if self.sealed {
            return Err(TableError::ConstEntries);
        }
        if entry.is_const() {
            return Err(TableError::ConstEntry(id));
        }
        Ok(entry)
    }

    fn take_slot(&mut self) -> Result<u32, TableError> {
        if let Some(slot) = self.free_slots.pop() {
            return Ok(slot);
        }
        let full = TableError::TableFull {
            size: self.spec.size,
        };
        if self.slots.len() >= self.spec.size {
            return Err(full);
        }
        let slot = u32::try_from(self.slots.len()).map_err(|_| full)?;
        self.slots.push(None);
        Ok(slot)
    }

    /// The key without its selector fields.
    fn matched_fields<'key>(&self, key: &'key [Bits]) -> Cow<'key, [Bits]> {
        if self.fields.len() == key.len() {
            return Cow::Borrowed(key);
        }
        let fields = self.spec.keys.iter().zip(key);
        fields
            .filter(|(spec, _)| spec.kind != MatchKind::Selector)
            .map(|(_, value)| value.clone())
            .collect()
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
