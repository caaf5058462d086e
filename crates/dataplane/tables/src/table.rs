//! Match-action tables: entries behind an engine, and a default action.
//!
//! A table is made from a [`TableSpec`] and keeps its entries in numbered *slots*. A [`Table`] is the side of the
//! single writer; any number of readers may look keys up in its [`TableView`] meanwhile. A clone is an independent
//! table: changes that must appear all at once are written into a clone, whose view is then published in place of the
//! original's.
//!
//! Which entry wins (P4_16 §14.2, P4Runtime §9.1):
//!
//! * all fields exact: the entry with that key, which is the only one;
//! * one prefix field, the others exact: the longest prefix among the entries that match;
//! * otherwise: the largest priority, and among equal ones the entry that was inserted first.
//!
//! An entry is identified by its key and, where priorities count, by its priority. Inserting a second entry with the
//! same identity is a [`TableError::Duplicate`].
//!
//! An entry that a packet has added ([`Table::learn`]) is stored as words: key, id and time-out, and the record that
//! look-ups read. An [`Entry`] is made of them on request.

use std::hash::BuildHasher;
use std::sync::Arc;

use forebay_bits::Bits;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::engine::{EngineEntry, EngineWriter, exact_key};
use crate::entry::{ActionCall, ActionRef, Entry, EntryAction, EntryId, NewEntry};
use crate::epoch::{Change, Domain, Limbo, Pin};
use crate::key::KeyMatch;
use crate::layout::{Key, NO_SLOT, RecordWords};
use crate::learned::Words;
use crate::order::Order;
use crate::packed::pack;
use crate::table_spec::{ActionError, ActionScope, TableError, TableSpec};
use crate::view::{DefaultAction, TableView};

/// The result of a look-up.
#[derive(Clone, Copy, Debug)]
pub struct LookupResult<'table> {
    /// The entry that won, or `None` for a miss.
    pub hit: Option<&'table Entry>,
    /// The action to run: that of the entry, or the default action.
    pub action: ActionRef<'table>,
}

/// A match-action table; see the [module documentation](self).
///
/// Two operations wait until no reader is in the middle of a burst: dropping a table, and inserting into a full table
/// right after a deletion. So a thread that writes must not hold a [`Pin`] of the table's domain.
#[derive(Debug)]
pub struct Table {
    view: Arc<TableView>,
    writer: EngineWriter,
    default_action: ActionCall,
    sealed: bool,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    order: Order,
    /// By canonical key and priority. Empty if all fields are exact, because the engine then finds entries by their
    /// keys.
    by_name: HashTable<Named>,
    /// Actions of entries, shared between entries with the same action.
    actions: HashTable<Arc<EntryAction>>,
    /// Calls of `sweep_actions` to skip before the next sweep.
    until_sweep: usize,
    hasher: DefaultHashBuilder,
    next_id: u64,
    gone: Limbo<Gone>,
    defaults: Limbo<Box<DefaultAction>>,
}

/// What is in a slot.
#[derive(Debug)]
enum Slot {
    Free,
    /// An entry, with the number of its record in the engine.
    Made {
        entry: Arc<Entry>,
        record: u32,
    },
    /// An entry that a packet has added, whose words the view has.
    Learned,
}

/// A slot, found by the name of its entry.
#[derive(Clone, Copy, Debug)]
struct Named {
    slot: u32,
    /// A part of the name's hash, so that growing the map needs no access to entries.
    hash: u32,
}

impl Named {
    fn new(slot: u32, hash: u64) -> Named {
        Named {
            slot,
            hash: (hash >> 32) as u32,
        }
    }

    /// The hash under which it is stored.
    fn spread(self) -> u64 {
        u64::from(self.hash).wrapping_mul(SPREAD)
    }
}

/// Spreads a half of a hash over all bits.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The most different actions to share. If there are more, further actions are not shared.
const SHARED_ACTIONS_MAX: usize = 4096;

/// What readers may still access.
#[derive(Debug)]
enum Gone {
    /// The previous version of a modified entry. This count keeps it alive.
    Modified(Arc<Entry>),
    /// A slot whose entry was deleted.
    Deleted(u32),
}

impl Table {
    /// An empty table with readers of its own.
    pub fn new(spec: TableSpec) -> Table {
        Table::in_domain(spec, &Domain::new())
    }

    /// An empty table whose readers are those of `domain`.
    pub fn in_domain(spec: TableSpec, domain: &Arc<Domain>) -> Table {
        Table::of_shared_spec(Arc::new(spec), domain, domain.next_group())
    }

    fn of_shared_spec(spec: Arc<TableSpec>, domain: &Arc<Domain>, group: usize) -> Table {
        let (view, writer) = TableView::new(Arc::clone(&spec), domain, group);
        Table {
            view: Arc::new(view),
            writer,
            default_action: spec.default_action.clone(),
            sealed: false,
            slots: Vec::new(),
            free_slots: Vec::new(),
            order: Order::default(),
            by_name: HashTable::new(),
            actions: HashTable::new(),
            until_sweep: 0,
            hasher: DefaultHashBuilder::default(),
            next_id: 0,
            gone: Limbo::default(),
            defaults: Limbo::default(),
        }
    }

    /// The view that readers in other threads use while this table is written.
    pub fn view(&self) -> &Arc<TableView> {
        &self.view
    }

    /// What the program declares about the table.
    pub fn spec(&self) -> &TableSpec {
        self.view.spec()
    }

    /// The entry and the action for a packet whose key expressions have these values.
    ///
    /// # Panics
    ///
    /// Unless there is one value per field of [`TableSpec::keys`], selectors included.
    pub fn lookup(&self, key: &[Bits]) -> LookupResult<'_> {
        let words = self.view.checked_words(key);
        let pin = self.writer_pin();
        let record = self.view.find(&words, self.view.hint(&words), &pin);
        // SAFETY: the slot is not emptied while the table is borrowed.
        let hit = record.map(|record| unsafe { self.view.entry_found(&words, record) });
        LookupResult {
            hit,
            action: match hit {
                Some(entry) => entry.action().as_ref(),
                None => ActionRef::Call(&self.default_action),
            },
        }
    }

    /// See [`TableView::selector_input`].
    pub fn selector_input(&self, key: &[Bits]) -> Vec<u8> {
        self.view.selector_input(key)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// When the key or the action does not suit the table, it has an entry with this key and priority, it is full, or
    /// its entries are const.
    pub fn insert(&mut self, new: NewEntry) -> Result<EntryId, TableError> {
        self.insert_prepared(new, |_| ())
    }

    /// Adds an entry; `prepare` is called with its slot before readers can find it.
    ///
    /// # Errors
    /// When the key or the action does not suit the table, it has an entry with this key and priority, it is full, or
    /// its entries are const.
    pub fn insert_prepared(&mut self, new: NewEntry, prepare: impl FnOnce(usize)) -> Result<EntryId, TableError> {
        if self.sealed {
            return Err(TableError::ConstEntries);
        }
        let key = self.spec().canonical_key(new.key)?;
        let priority = self.stored_priority(new.priority);
        self.spec().check_entry_action(&new.action)?;
        let packed = pack(&key);
        let existing = match self.exact_key(&key) {
            Some(words) => self.named_exactly(&words),
            None => self.named(self.name_hash(&packed, priority), &packed, priority),
        };
        self.check_is_new(existing)?;
        let slot = self.take_slot()?;
        let id = self.take_id();
        let action = self.shared(new.action);
        let entry = Entry::new((id, slot), (packed, priority), action, new.idle_timeout_ns);
        let entry = Arc::new(if new.is_const { entry.into_const() } else { entry });
        prepare(slot as usize);
        let change = self.begin_insertion();
        self.publish(&entry, &key);
        drop(change);
        if !self.is_exact() {
            let named = Named::new(slot, self.name_hash(entry.packed_key(), priority));
            self.by_name
                .insert_unique(named.spread(), named, |named| named.spread());
        }
        self.order.push(id, slot);
        Ok(id)
    }

    /// Adds an entry that matches exactly these values, like [`Table::insert_prepared`]. It is faster if all fields
    /// are exact.
    ///
    /// # Errors
    /// When the values or the call do not suit the table, it has an entry with this key, it is full, or its entries are
    /// const.
    pub fn insert_exact(
        &mut self,
        key: &[Bits],
        call: ActionCall,
        idle_timeout_ns: u64,
        prepare: impl FnOnce(usize),
    ) -> Result<EntryId, TableError> {
        if !self.is_exact() {
            let key = key.iter().cloned().map(KeyMatch::Exact).collect();
            let mut new = NewEntry::new(key, 0, EntryAction::Call(call));
            new.idle_timeout_ns = idle_timeout_ns;
            return self.insert_prepared(new, prepare);
        }
        if self.sealed {
            return Err(TableError::ConstEntries);
        }
        self.spec().check_values(key)?;
        let action = EntryAction::Call(call);
        self.spec().check_entry_action(&action)?;
        let words = self.view.key_layout().pack(key);
        let mut record = self.view.record_layout().encode(self.spec(), &action, 0);
        self.learn(&words, &mut record, idle_timeout_ns, prepare)
    }

    /// Adds an entry that a packet has requested, like [`Table::insert_prepared`]: with these words of its key and its
    /// [record](crate::RecordLayout), which gets the slot. The caller must make sure that the action may be used in
    /// entries. If all fields are exact, nothing is allocated for the entry alone.
    ///
    /// # Errors
    /// When the table has an entry with this key, it is full, or its entries are const.
    pub fn learn(
        &mut self,
        key: &[u64],
        record: &mut [u64],
        idle_timeout_ns: u64,
        prepare: impl FnOnce(usize),
    ) -> Result<EntryId, TableError> {
        if !self.is_exact() {
            let mut new = self.view.new_entry_of(key, record);
            new.idle_timeout_ns = idle_timeout_ns;
            return self.insert_prepared(new, prepare);
        }
        if self.sealed {
            return Err(TableError::ConstEntries);
        }
        self.check_is_new(self.named_exactly(key))?;
        let slot = self.take_slot()?;
        let id = self.take_id();
        prepare(slot as usize);
        record[0] |= u64::from(slot);
        let words = Words {
            id,
            idle_timeout_ns,
            key,
        };
        let change = self.begin_insertion();
        self.publish_words(slot, words, record);
        drop(change);
        self.order.push(id, slot);
        Ok(id)
    }

    /// Prefetches the memory that [`Table::learn`] for this key reads first, without waiting for it.
    pub fn prefetch_for_insertion(&self, key: &[u64]) {
        if self.is_exact() {
            self.view.prefetch(key, &self.writer_pin());
        }
    }

    /// An error if there is an entry in this slot already.
    fn check_is_new(&self, existing: Option<u32>) -> Result<(), TableError> {
        match existing.and_then(|slot| self.id_in_slot(slot)) {
            Some(existing) => Err(TableError::Duplicate(existing)),
            None => Ok(()),
        }
    }

    /// Whether adding this many entries may wait for readers to unpin, because it needs the places of deleted entries.
    pub fn waits_for_readers(&self, entries: usize) -> bool {
        let room = self.spec().size.saturating_sub(self.slots.len()) + self.free_slots.len();
        room < entries && self.gone.len() > 0
    }

    /// Begins an insertion. It counts as a change if it affects results that readers remember.
    fn begin_insertion(&self) -> Option<Change> {
        let is_change = !self.spec().learns || self.writer.insertion_moves(self.view.engine());
        is_change.then(|| self.view.begin_change())
    }

    fn take_id(&mut self) -> EntryId {
        let id = EntryId(self.next_id);
        self.next_id += 1;
        id
    }

    /// Whether all fields are exact.
    fn is_exact(&self) -> bool {
        self.writer.is_exact()
    }

    /// The words of a canonical key, if all fields are exact.
    fn exact_key(&self, key: &[KeyMatch]) -> Option<Key> {
        self.is_exact().then(|| exact_key(self.view.key_layout(), key))
    }

    /// The slot of the entry with a key of these words, if all fields are exact.
    fn named_exactly(&self, words: &[u64]) -> Option<u32> {
        let pin = self.writer_pin();
        Some(self.view.find(words, self.view.hint(words), &pin)?.slot())
    }

    fn name_hash(&self, key: &[u64], priority: i32) -> u64 {
        self.hasher.hash_one((key, priority))
    }

    /// An action, shared with entries that have the same one.
    fn shared(&mut self, action: EntryAction) -> Arc<EntryAction> {
        let has_data = |action: &EntryAction| matches!(action, EntryAction::Call(call) if !call.args.is_empty());
        if self.spec().learns && has_data(&action) {
            // Each flow has its own data.
            return Arc::new(action);
        }
        let hash = self.hasher.hash_one(&action);
        if let Some(known) = self.actions.find(hash, |known| **known == action) {
            return Arc::clone(known);
        }
        let action = Arc::new(action);
        if self.actions.len() >= SHARED_ACTIONS_MAX {
            self.sweep_actions();
        }
        if self.actions.len() < SHARED_ACTIONS_MAX {
            let hasher = &self.hasher;
            self.actions
                .insert_unique(hash, Arc::clone(&action), |known| hasher.hash_one(&**known));
        }
        action
    }

    /// Removes unused actions. It runs at most once in as many calls as there are actions, so that an insertion does
    /// not pay for all of them if each entry has a different action.
    fn sweep_actions(&mut self) {
        if self.until_sweep > 0 {
            self.until_sweep -= 1;
            return;
        }
        self.actions.retain(|known| Arc::strong_count(known) > 1);
        self.until_sweep = SHARED_ACTIONS_MAX;
    }

    /// Gives an entry another action; its key, slot and idle timeout stay.
    ///
    /// # Errors
    /// When there is no such entry, it is const, or the action does not suit the table.
    pub fn modify(&mut self, id: EntryId, action: EntryAction) -> Result<(), TableError> {
        self.modify_with_timeout(id, action, None)
    }

    /// Gives an entry another action and, if `timeout_ns` is given, another idle timeout.
    ///
    /// # Errors
    /// As for [`Table::modify`].
    pub fn modify_with_timeout(
        &mut self,
        id: EntryId,
        action: EntryAction,
        timeout_ns: Option<u64>,
    ) -> Result<(), TableError> {
        let entry = self.changeable(id)?;
        self.spec().check_entry_action(&action)?;
        self.collect();
        let action = self.shared(action);
        let modified = Arc::new(entry.with_action(action, timeout_ns.unwrap_or(entry.idle_timeout_ns())));
        let record = self.encode(&modified);
        let key = modified.key(&self.spec().keys);
        let entry_of_engine = engine_entry(&modified, &key, &record);
        let former = match self.slots[modified.slot()] {
            Slot::Made { record, .. } => record,
            Slot::Free | Slot::Learned => 0,
        };
        let _change = self.view.begin_change();
        if let Some(old) = self.view.set_entry(&modified) {
            self.gone.retire(self.view.domain(), Gone::Modified(old));
        }
        let (engine, layout) = (self.view.engine(), self.view.key_layout());
        let record = self.writer.replace(engine, layout, entry_of_engine, former);
        self.slots[modified.slot()] = Slot::Made {
            entry: Arc::clone(&modified),
            record,
        };
        Ok(())
    }

    /// Sets an entry's idle timeout, which does not affect look-ups. Clones of the table that share the entry see it,
    /// too, unless a packet has added it.
    ///
    /// # Errors
    /// When there is no such entry, or it is const.
    pub fn set_timeout(&mut self, id: EntryId, timeout_ns: u64) -> Result<(), TableError> {
        let slot = self.changeable_slot(id)?;
        match &self.slots[slot as usize] {
            Slot::Made { entry, .. } => entry.set_idle_timeout(timeout_ns),
            Slot::Learned | Slot::Free => self.view.learned().set_timeout(slot, timeout_ns),
        }
        Ok(())
    }

    /// Removes an entry and returns it.
    ///
    /// # Errors
    /// When there is no such entry, or it is const.
    pub fn delete(&mut self, id: EntryId) -> Result<Arc<Entry>, TableError> {
        let entry = self.changeable(id)?;
        self.collect();
        let slot = self.order.remove(id).ok_or(TableError::NotFound)?;
        let record = match std::mem::replace(&mut self.slots[slot as usize], Slot::Free) {
            Slot::Made { record, .. } => record,
            Slot::Free | Slot::Learned => 0,
        };
        if !self.is_exact() {
            let named = Named::new(slot, self.name_hash(entry.packed_key(), entry.priority()));
            if let Ok(found) = self.by_name.find_entry(named.spread(), |found| found.slot == slot) {
                found.remove();
            }
        }
        let key = entry.key(&self.spec().keys);
        let _change = self.view.begin_change();
        let (engine, layout) = (self.view.engine(), self.view.key_layout());
        self.writer
            .remove(engine, layout, engine_entry(&entry, &key, &[]), record);
        self.gone.retire(self.view.domain(), Gone::Deleted(slot));
        Ok(entry)
    }

    /// Makes all entries `const`: afterwards none can be added, changed or deleted.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    /// An entry by its id.
    pub fn get(&self, id: EntryId) -> Option<Arc<Entry>> {
        self.in_slot(self.order.slot(id)?)
    }

    /// The entry of a slot.
    pub fn in_slot(&self, slot: u32) -> Option<Arc<Entry>> {
        match self.slots.get(slot as usize)? {
            Slot::Free => None,
            Slot::Made { entry, .. } => Some(Arc::clone(entry)),
            Slot::Learned => self.made_of_words(slot),
        }
    }

    /// The id of the entry of a slot.
    pub fn id_in_slot(&self, slot: u32) -> Option<EntryId> {
        match self.slots.get(slot as usize)? {
            Slot::Free => None,
            Slot::Made { entry, .. } => Some(entry.id()),
            Slot::Learned => Some(self.view.learned().id(slot)),
        }
    }

    /// The idle timeout of the entry of a slot.
    pub fn timeout_in_slot(&self, slot: u32) -> Option<u64> {
        match self.slots.get(slot as usize)? {
            Slot::Free => None,
            Slot::Made { entry, .. } => Some(entry.idle_timeout_ns()),
            Slot::Learned => Some(self.view.learned().timeout_ns(slot)),
        }
    }

    /// The entry of a slot whose words the view has.
    fn made_of_words(&self, slot: u32) -> Option<Arc<Entry>> {
        let key = self.view.learned().key(slot);
        let pin = self.writer_pin();
        let record = self.view.find(&key, self.view.hint(&key), &pin)?;
        Some(Arc::new(self.view.entry_of_words(&key, record)))
    }

    /// The slot of the entry with a key of these words; `None` also when not all fields are exact.
    pub fn exact_slot(&self, key: &[u64]) -> Option<u32> {
        self.is_exact().then(|| self.named_exactly(key)).flatten()
    }

    /// The slot of the entry with this key and priority.
    fn find_slot(&self, key: Vec<KeyMatch>, priority: i32) -> Result<u32, TableError> {
        let key = self.spec().canonical_key(key)?;
        let slot = match self.exact_key(&key) {
            Some(words) => self.named_exactly(&words),
            None => {
                let (key, priority) = (pack(&key), self.stored_priority(priority));
                self.named(self.name_hash(&key, priority), &key, priority)
            }
        };
        slot.ok_or(TableError::NotFound)
    }

    /// The entry with this key and priority, which identify it for a control plane.
    ///
    /// # Errors
    /// When the key does not suit the table, or there is no such entry.
    pub fn find(&self, key: Vec<KeyMatch>, priority: i32) -> Result<Arc<Entry>, TableError> {
        let slot = self.find_slot(key, priority)?;
        self.in_slot(slot).ok_or(TableError::NotFound)
    }

    /// All entries in the order in which they were inserted.
    pub fn entries(&self) -> impl Iterator<Item = Arc<Entry>> {
        self.entries_after(None)
    }

    /// The id of the entry that is inserted next; those of all present entries are below.
    pub fn next_id(&self) -> EntryId {
        EntryId(self.next_id)
    }

    /// The entries that were added after the one with this id, which need not exist any more; all without one.
    pub fn entries_after(&self, id: Option<EntryId>) -> impl Iterator<Item = Arc<Entry>> {
        self.order.slots_after(id).filter_map(|slot| self.in_slot(slot))
    }

    /// Whether an entry has this slot.
    pub fn uses_slot(&self, slot: usize) -> bool {
        let used = |slot: &Slot| !matches!(slot, Slot::Free);
        self.slots.get(slot).is_some_and(used)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that look-ups read: the engine with its records, and a pointer per slot. The entries as the
    /// control plane sees them are not included.
    pub fn memory_bytes(&self) -> usize {
        let engine = self.writer.memory_bytes(self.view.engine(), &self.writer_pin());
        engine + self.view.entry_places_bytes()
    }

    /// The action for packets that match no entry.
    pub fn default_action(&self) -> &ActionCall {
        &self.default_action
    }

    /// Replaces the default action.
    ///
    /// # Errors
    /// When the table has no such action for packets that miss, the arguments do not suit it, or the default action is
    /// const.
    pub fn set_default(&mut self, action: ActionCall) -> Result<(), TableError> {
        if self.spec().const_default {
            return Err(TableError::ConstDefault);
        }
        self.spec().check_call(&action, ActionScope::DefaultOnly)?;
        self.publish_default(action);
        Ok(())
    }

    /// Restores the program's default action.
    pub fn reset_default(&mut self) {
        self.publish_default(self.spec().default_action.clone());
    }

    fn publish_default(&mut self, action: ActionCall) {
        let _change = self.view.begin_change();
        let old = self.view.set_default(action.clone());
        self.defaults.retire(self.view.domain(), old);
        self.default_action = action;
        self.collect();
    }

    /// Lets readers find an entry whose slot is empty.
    fn publish(&mut self, entry: &Arc<Entry>, key: &[KeyMatch]) {
        let record = self.encode(entry);
        self.view.set_entry(entry);
        let (engine, layout) = (self.view.engine(), self.view.key_layout());
        let record = self.writer.insert(engine, layout, engine_entry(entry, key, &record));
        self.slots[entry.slot()] = Slot::Made {
            entry: Arc::clone(entry),
            record,
        };
    }

    /// Lets readers find an entry that consists of words, in a table whose fields are all exact.
    fn publish_words(&mut self, slot: u32, words: Words<'_>, record: &[u64]) {
        self.view.set_words(slot, words);
        self.writer.insert_exact(self.view.engine(), words.key, record);
        self.slots[slot as usize] = Slot::Learned;
    }

    /// Puts an entry that consists of words into the same slot of a copy.
    fn copy_words(&self, slot: u32, copy: &mut Table) {
        let learned = self.view.learned();
        let key = learned.key(slot);
        let pin = self.writer_pin();
        let Some(record) = self.view.find(&key, self.view.hint(&key), &pin) else {
            return;
        };
        let words = Words {
            id: learned.id(slot),
            idle_timeout_ns: learned.timeout_ns(slot),
            key: &key,
        };
        copy.publish_words(slot, words, &self.view.words_of(record));
    }

    fn encode(&self, entry: &Entry) -> RecordWords {
        let layout = self.view.record_layout();
        layout.encode(self.spec(), entry.action(), entry.slot() as u32)
    }

    /// The slot of the entry with this canonical key and stored priority, whose hash is `hash`.
    fn named(&self, hash: u64, key: &[u64], priority: i32) -> Option<u32> {
        let wanted = Named::new(NO_SLOT, hash);
        let is_it = |entry: &Entry| entry.packed_key() == key && entry.priority() == priority;
        let has_name = |named: &Named| {
            let found = &self.slots[named.slot as usize];
            named.hash == wanted.hash && matches!(found, Slot::Made { entry, .. } if is_it(entry))
        };
        let found = self.by_name.find(wanted.spread(), has_name)?;
        Some(found.slot)
    }

    /// A pin for look-ups during which the borrow of `self` prevents writes.
    fn writer_pin(&self) -> Pin<'static> {
        // SAFETY: writes to this table borrow it mutably, and the pin is only used for this table, in methods that
        // borrow it.
        unsafe { Pin::of_writer(self.view.domain()) }
    }

    /// Frees what readers can no longer find.
    fn collect(&mut self) {
        let (view, free_slots) = (&self.view, &mut self.free_slots);
        self.gone.collect(view.domain(), |gone| match gone {
            Gone::Modified(entry) => drop(entry),
            Gone::Deleted(slot) => {
                view.clear_entry(slot);
                free_slots.push(slot);
            }
        });
        self.defaults.collect(view.domain(), drop);
    }

    /// Checks a call for use in an entry, a member or a group.
    ///
    /// # Errors
    /// When the table has no such action for entries, or the arguments do not suit it.
    pub fn check_entry_call(&self, call: &ActionCall) -> Result<(), ActionError> {
        self.spec().check_call(call, ActionScope::TableOnly)
    }

    fn stored_priority(&self, priority: i32) -> i32 {
        if self.writer.has_priorities() { priority } else { 0 }
    }

    /// The slot of an entry that may be changed.
    fn changeable_slot(&self, id: EntryId) -> Result<u32, TableError> {
        let slot = self.order.slot(id).ok_or(TableError::NotFound)?;
        if self.sealed {
            return Err(TableError::ConstEntries);
        }
        match &self.slots[slot as usize] {
            Slot::Made { entry, .. } if entry.is_const() => Err(TableError::ConstEntry(id)),
            _ => Ok(slot),
        }
    }

    fn changeable(&self, id: EntryId) -> Result<Arc<Entry>, TableError> {
        let slot = self.changeable_slot(id)?;
        self.in_slot(slot).ok_or(TableError::NotFound)
    }

    fn take_slot(&mut self) -> Result<u32, TableError> {
        self.collect();
        let full = TableError::TableFull { size: self.spec().size };
        let is_full = self.free_slots.is_empty() && self.slots.len() >= self.spec().size;
        if is_full && self.gone.len() > 0 {
            self.view.domain().synchronize();
            self.collect();
        }
        if let Some(slot) = self.free_slots.pop() {
            return Ok(slot);
        }
        let slot = self.slots.len() as u32;
        if self.slots.len() >= self.spec().size || slot >= NO_SLOT {
            return Err(full);
        }
        self.slots.push(Slot::Free);
        Ok(slot)
    }
}

impl Clone for Table {
    /// An independent table with the same readers' domain, and with an engine and entries of its own. It costs as much
    /// as inserting all entries.
    fn clone(&self) -> Table {
        let mut copy = Table::of_shared_spec(Arc::clone(self.view.spec()), self.view.domain(), self.view.group());
        copy.publish_default(self.default_action.clone());
        copy.sealed = self.sealed;
        copy.slots.resize_with(self.slots.len(), || Slot::Free);
        for (number, slot) in (0..).zip(&self.slots) {
            match slot {
                Slot::Free => {}
                Slot::Made { entry, .. } => copy.publish(entry, &entry.key(&self.spec().keys)),
                Slot::Learned => self.copy_words(number, &mut copy),
            }
        }
        let is_free = |slot: &u32| !self.uses_slot(*slot as usize);
        copy.free_slots = (0..self.slots.len() as u32).rev().filter(is_free).collect();
        copy.order = self.order.clone();
        copy.by_name = self.by_name.clone();
        copy.actions = self.actions.clone();
        copy.hasher = self.hasher.clone();
        copy.next_id = self.next_id;
        copy
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // What is in limbo is freed with the table, but readers may still hold its view.
        self.view.domain().synchronize();
        self.collect();
    }
}

fn engine_entry<'a>(entry: &'a Entry, key: &'a [KeyMatch], record: &'a [u64]) -> EngineEntry<'a> {
    EngineEntry {
        id: entry.id().0,
        key,
        priority: entry.priority(),
        record,
    }
}
