//! Table entries and the actions they name.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_bits::Bits;

use crate::key::{KeyMatch, KeySpec};
use crate::packed::{PackedKey, unpack};

macro_rules! identifiers {
    ($($(#[$meta:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )*};
}

identifiers! {
    /// An action of the program.
    ActionId(u32);
    /// An entry of one table. Ids are never reused, and later entries have larger ids.
    EntryId(u64);
    /// A member of an action profile, numbered by the control plane.
    MemberId(u32);
    /// A group of an action selector, numbered by the control plane.
    GroupId(u32);
}

/// An action with the arguments for its directionless parameters, the action data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ActionCall {
    /// The action.
    pub action: ActionId,
    /// One argument per parameter, of the parameter's width.
    pub args: Vec<Bits>,
}

impl ActionCall {
    /// A call of `action` with `args`.
    pub fn new(action: ActionId, args: Vec<Bits>) -> ActionCall {
        ActionCall { action, args }
    }
}

/// What a table entry does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryAction {
    /// Runs an action: tables without an implementation property.
    Call(ActionCall),
    /// Runs the action of a member of the table's action profile or selector.
    Member(MemberId),
    /// Runs the action of one of a group's members, selected by a hash.
    Group(GroupId),
}

impl EntryAction {
    /// The action, borrowed.
    pub fn as_ref(&self) -> ActionRef<'_> {
        match self {
            EntryAction::Call(call) => ActionRef::Call(call),
            EntryAction::Member(member) => ActionRef::Member(*member),
            EntryAction::Group(group) => ActionRef::Group(*group),
        }
    }
}

/// A borrowed [`EntryAction`], as a lookup returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionRef<'table> {
    /// See [`EntryAction::Call`].
    Call(&'table ActionCall),
    /// See [`EntryAction::Member`].
    Member(MemberId),
    /// See [`EntryAction::Group`].
    Group(GroupId),
}

/// An entry to be passed to [`Table::insert`](crate::Table::insert).
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// One condition per key field, selector fields left out.
    pub key: Vec<KeyMatch>,
    /// Larger numbers win (P4Runtime §9.1); ignored by tables whose engine needs no priority.
    pub priority: i32,
    /// What the entry does.
    pub action: EntryAction,
    /// Whether the program declares the entry `const`, so that it can be neither changed nor deleted.
    pub is_const: bool,
    /// Nanoseconds without a hit after which the entry is idle; 0 for never. [`HitTimes`](crate::HitTimes) has the
    /// times of hits.
    pub idle_timeout_ns: u64,
}

impl NewEntry {
    /// An entry that can be changed and never becomes idle.
    pub fn new(key: Vec<KeyMatch>, priority: i32, action: EntryAction) -> NewEntry {
        NewEntry {
            key,
            priority,
            action,
            is_const: false,
            idle_timeout_ns: 0,
        }
    }
}

/// An entry in a table, which all snapshots of the table share.
#[derive(Debug)]
pub struct Entry {
    id: EntryId,
    key: PackedKey,
    /// Shared by entries with the same action.
    action: Arc<EntryAction>,
    idle_timeout_ns: AtomicU64,
    slot: u32,
    priority: i32,
    is_const: bool,
}

impl Entry {
    /// An entry that can be changed. The action may be shared.
    pub(crate) fn new(
        (id, slot): (EntryId, u32),
        (key, priority): (PackedKey, i32),
        action: Arc<EntryAction>,
        idle_timeout_ns: u64,
    ) -> Entry {
        Entry {
            id,
            slot,
            key,
            priority,
            action,
            is_const: false,
            idle_timeout_ns: AtomicU64::new(idle_timeout_ns),
        }
    }

    /// The entry, made `const`.
    pub(crate) fn into_const(self) -> Entry {
        Entry { is_const: true, ..self }
    }

    /// This entry with another action and another idle timeout.
    pub(crate) fn with_action(&self, action: Arc<EntryAction>, idle_timeout_ns: u64) -> Entry {
        Entry {
            id: self.id,
            slot: self.slot,
            key: self.key.clone(),
            priority: self.priority,
            action,
            is_const: self.is_const,
            idle_timeout_ns: AtomicU64::new(idle_timeout_ns),
        }
    }

    /// The entry's name within its table.
    pub fn id(&self) -> EntryId {
        self.id
    }

    /// The index of this entry's element in the table's direct counters, meters and registers.
    ///
    /// It is below the table's size, stays the same while the entry lives, and is reused after the entry's deletion. A
    /// caller that inserts an entry must reset the elements of its slot.
    pub fn slot(&self) -> usize {
        self.slot as usize
    }

    /// One condition per matched key field, in canonical form. `keys` are those of the table.
    pub fn key(&self, keys: &[KeySpec]) -> Vec<KeyMatch> {
        unpack(&self.key, keys)
    }

    /// The key as words that are equal for equal keys.
    pub(crate) fn packed_key(&self) -> &[u64] {
        &self.key
    }

    /// The priority; 0 in tables whose engine needs none.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// What the entry does.
    pub fn action(&self) -> &EntryAction {
        &self.action
    }

    /// Whether the program forbids changing or deleting the entry.
    pub fn is_const(&self) -> bool {
        self.is_const
    }

    /// Nanoseconds without a hit after which the entry is idle; 0 for never.
    pub fn idle_timeout_ns(&self) -> u64 {
        self.idle_timeout_ns.load(Ordering::Relaxed)
    }

    /// Sets the idle timeout of the entry in all tables that share it.
    pub(crate) fn set_idle_timeout(&self, timeout_ns: u64) {
        self.idle_timeout_ns.store(timeout_ns, Ordering::Relaxed);
    }
}
