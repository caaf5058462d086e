//! The readers' side of a table: look-ups that never wait while the [`Table`](crate::Table) is written.
//!
//! There are two ways to look a key up. [`TableView::lookup`] takes a value per field and returns the entry. Machine
//! code works with words: it packs the key as described in [`KeyLayout`], calls [`TableView::prefetch`] for all
//! packets of a burst, then [`TableView::find`] for each packet, and reads action and data from the [`Record`] as
//! described in [`RecordLayout`]:
//!
//! ```
//! # use forebay_bits::Bits;
//! # use forebay_tables::*;
//! # let call = |port| ActionCall::new(ActionId(7), vec![Bits::new(9, port)]);
//! # let mut table = Table::new(TableSpec {
//! #     keys: vec![KeySpec { width: 48, kind: MatchKind::Exact }],
//! #     size: 1024,
//! #     actions: vec![ActionSpec::new(ActionId(7), vec![9], ActionScope::TableAndDefault)],
//! #     default_action: call(0),
//! #     const_default: false,
//! #     implementation: Implementation::Direct,
//! #     memo: false,
//! #     learns: false,
//! # });
//! # let address = KeyMatch::Exact(Bits::new(48, 0x0200_0000_0001));
//! table.insert(NewEntry::new(vec![address], 0, EntryAction::Call(call(3))))?;
//! let view = table.view().clone();
//! let mut reader = view.domain().reader();
//!
//! let pin = reader.pin();
//! let key = view.key_layout().pack(&[Bits::new(48, 0x0200_0000_0001)]);
//! let hint = view.prefetch(&key, &pin);
//! let record = view.find(&key, hint, &pin).expect("a hit");
//! let port = view.record_layout().data(0)[0];
//! assert_eq!(record.word(port.word) >> port.shift & 0x1FF, 3);
//! # drop(pin);
//! # Ok::<(), TableError>(())
//! ```
//!
//! A write is seen by look-ups that begin after it. A look-up that runs at the same time sees either all of the write
//! or nothing of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use forebay_bits::Bits;

use crate::arena::Rows;
use crate::batch_lookup::OnePlace;
use crate::engine::{Engine, EngineWriter};
use crate::entry::{ActionCall, ActionRef, Entry, EntryAction, NewEntry};
use crate::epoch::{Change, Domain, Groups, Pin, Shared};
use crate::hash;
use crate::key::{KeyMatch, KeySpec, MatchKind};
use crate::layout::{Key, KeyLayout, NO_SLOT, Record, RecordLayout, RecordWords};
use crate::learned::{LearnedWords, Words};
use crate::packed::pack_exact;
use crate::search::Location;
use crate::sync::AtomicU64;
use crate::table::LookupResult;
use crate::table_spec::TableSpec;

/// A default action in both forms.
#[derive(Debug)]
pub(crate) struct DefaultAction {
    call: ActionCall,
    record: Box<[AtomicU64]>,
}

/// A table as its readers see it; see the [module documentation](self).
#[derive(Debug)]
pub struct TableView {
    domain: Arc<Domain>,
    /// See [`TableView::group`].
    group: usize,
    spec: Arc<TableSpec>,
    keys: KeyLayout,
    records: RecordLayout,
    engine: Engine,
    /// By slot. Each pointer holds a count of its entry. Null for an entry that consists of words, until a reader
    /// requests the entry.
    entries: Rows<AtomicPtr<Entry>>,
    learned: LearnedWords,
    default: Shared<DefaultAction>,
}

impl TableView {
    /// The view of an empty table, and its engine's writer.
    pub(crate) fn new(spec: Arc<TableSpec>, domain: &Arc<Domain>, group: usize) -> (TableView, EngineWriter) {
        let matched = spec.keys.iter().filter(|key| key.kind != MatchKind::Selector);
        let fields: Vec<KeySpec> = matched.copied().collect();
        let keys = KeyLayout::new(&spec.keys);
        let records = RecordLayout::new(&spec);
        let (engine, writer) = Engine::new(domain, &fields, &keys, &records, spec.learns);
        let default = default_action(&spec, &records, spec.default_action.clone());
        let view = TableView {
            domain: Arc::clone(domain),
            group,
            entries: Rows::new(1),
            learned: LearnedWords::new(keys.words()),
            keys,
            records,
            engine,
            default: Shared::new(default),
            spec,
        };
        (view, writer)
    }

    /// The domain of the table's readers and writers.
    pub fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// The group of the domain's tables to which the table belongs: see [`Version`](crate::Version). A clone of the
    /// table is in the same group.
    pub fn group(&self) -> usize {
        self.group
    }

    /// Begins a change of what readers find: see [`Domain::begin_change`].
    pub(crate) fn begin_change(&self) -> Change {
        self.domain.begin_change(Groups::of(self.group))
    }

    /// What the program declares about the table.
    pub fn spec(&self) -> &Arc<TableSpec> {
        &self.spec
    }

    /// How keys are packed into words.
    pub fn key_layout(&self) -> &KeyLayout {
        &self.keys
    }

    /// The positions of action and action data in records.
    pub fn record_layout(&self) -> &RecordLayout {
        &self.records
    }

    /// The entry and the action for a packet whose key expressions have these values.
    ///
    /// # Panics
    ///
    /// Unless there is one value per field of [`TableSpec::keys`], selectors included, and the pin belongs to the
    /// table's [domain](TableView::domain).
    pub fn lookup<'a>(&'a self, key: &[Bits], pin: &'a Pin<'_>) -> LookupResult<'a> {
        self.lookup_words(&self.checked_words(key), pin)
    }

    /// The words of a key with a value per field.
    pub(crate) fn checked_words(&self, key: &[Bits]) -> Key {
        assert_eq!(key.len(), self.spec.keys.len(), "one value per key field");
        self.keys.pack(key)
    }

    /// The entry and the action for a key given as words: see [`TableView::find`].
    ///
    /// # Panics
    ///
    /// Unless the pin belongs to the table's domain.
    pub fn lookup_words<'a>(&'a self, key: &[u64], pin: &'a Pin<'_>) -> LookupResult<'a> {
        match self.find(key, self.engine.hint(key), pin) {
            Some(record) => {
                // SAFETY: the record was found under the pin, before the end of which its slot is not emptied.
                let entry = unsafe { self.entry_found(key, record) };
                LookupResult {
                    hit: Some(entry),
                    action: entry.action().as_ref(),
                }
            }
            None => LookupResult {
                hit: None,
                action: ActionRef::Call(&self.default.load(pin).call),
            },
        }
    }

    /// Prefetches the memory that a look-up of this key reads first, without waiting for it. The result must be passed
    /// to [`TableView::find`] with the same key.
    ///
    /// # Panics
    ///
    /// Unless the pin belongs to the table's domain.
    #[inline]
    pub fn prefetch(&self, key: &[u64], pin: &Pin<'_>) -> Hint {
        pin.assert_guards(&self.domain);
        self.engine.prefetch(key, pin)
    }

    /// The record of the entry that wins, or `None` for a miss. `key` has [`KeyLayout::words`] words; bits that belong
    /// to no field are zero.
    ///
    /// # Panics
    ///
    /// Unless the pin belongs to the table's domain.
    #[inline]
    pub fn find<'a>(&'a self, key: &[u64], hint: Hint, pin: &'a Pin<'_>) -> Option<Record<'a>> {
        pin.assert_guards(&self.domain);
        self.engine.find(key, hint, pin).map(Record::new)
    }

    /// Looks several keys up, so that their memory accesses overlap. Calls `found` for each key with the record, or
    /// `None` for a miss. `key` returns the words of a key by its index, as for [`TableView::find`]. At most
    /// [`FIND_MAX`] keys.
    ///
    /// # Panics
    ///
    /// Unless the pin belongs to the table's domain, and if there are more keys.
    #[inline]
    pub fn find_all<'a, 'k>(
        &'a self,
        count: usize,
        key: impl Fn(usize) -> &'k [u64],
        mut found: impl FnMut(usize, Option<Record<'a>>),
        pin: &'a Pin<'_>,
    ) {
        pin.assert_guards(&self.domain);
        assert!(count <= FIND_MAX, "{count} keys are looked up at once");
        let found = |index, record: Option<&'a [AtomicU64]>| found(index, record.map(Record::new));
        self.engine.find_all(count, key, found, pin);
    }

    /// The table for [`find_together`](crate::find_together), if a look-up makes a single memory access at an address
    /// that the key determines. If slots are not needed, this may be a smaller copy of the table without slots.
    ///
    /// # Panics
    ///
    /// Unless the pin belongs to the table's domain.
    #[inline]
    pub fn one_place<'a>(&'a self, needs_slots: bool, pin: &'a Pin<'_>) -> Option<OnePlace<'a>> {
        pin.assert_guards(&self.domain);
        self.engine.one_place(needs_slots, pin)
    }

    /// A hint for look-ups without a [`TableView::prefetch`].
    #[inline]
    pub fn hint(&self, key: &[u64]) -> Hint {
        self.engine.hint(key)
    }

    /// The record of the default action. Its slot has no meaning.
    #[inline]
    pub fn default_record<'a>(&'a self, pin: &'a Pin<'_>) -> Record<'a> {
        pin.assert_guards(&self.domain);
        Record::new(&self.default.load(pin).record)
    }

    /// The table's location, for machine code that searches it as [`Search`](crate::Search) says. Valid while the pin
    /// lives.
    ///
    /// # Panics
    ///
    /// Unless the pin belongs to the table's domain.
    #[inline]
    pub fn location(&self, pin: &Pin<'_>) -> Location {
        self.engine.location(self.default_record(pin).as_ptr(), pin)
    }

    /// The entry of a record that a look-up of this key found. If it consists of words, it is made now, and then stays
    /// as long as its slot.
    ///
    /// # Safety
    ///
    /// The slot is not emptied during `'a`.
    pub(crate) unsafe fn entry_found<'a>(&'a self, key: &[u64], record: Record<'_>) -> &'a Entry {
        let place = &self.entries.row(record.slot())[0];
        let mut entry = place.load(Ordering::Acquire);
        if entry.is_null() {
            let made = Arc::into_raw(Arc::new(self.entry_of_words(key, record))).cast_mut();
            entry = match place.compare_exchange(entry, made, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => made,
                Err(other) => {
                    // SAFETY: the pointer came from `Arc::into_raw`, and is nowhere else.
                    drop(unsafe { Arc::from_raw(made) });
                    other
                }
            };
        }
        // SAFETY: the pointer is that of an `Arc` of which this slot holds a count, until it is emptied.
        unsafe { &*entry }
    }

    /// The entry that consists of these words, in a table whose fields are all exact.
    pub(crate) fn entry_of_words(&self, key: &[u64], record: Record<'_>) -> Entry {
        let (values, call) = self.values_of(key, &self.words_of(record));
        let slot = record.slot();
        let id = self.learned.id(slot);
        let action = Arc::new(EntryAction::Call(call));
        Entry::new(
            (id, slot),
            (pack_exact(&values), 0),
            action,
            self.learned.timeout_ns(slot),
        )
    }

    /// An entry with the key and the action that these words stand for.
    pub(crate) fn new_entry_of(&self, key: &[u64], record: &[u64]) -> NewEntry {
        let (values, call) = self.values_of(key, record);
        let key = values.into_iter().map(KeyMatch::Exact).collect();
        NewEntry::new(key, 0, EntryAction::Call(call))
    }

    fn values_of(&self, key: &[u64], record: &[u64]) -> (Vec<Bits>, ActionCall) {
        let values = self.keys.matched().map(|place| place.get(key)).collect();
        let place = self.records.action();
        let action = place.limbs(|index| record[index]).next().unwrap_or(0) as usize;
        let args = self.records.data(action).iter().map(|place| place.get(record));
        (values, ActionCall::new(self.spec.actions[action].id, args.collect()))
    }

    /// The words of a record.
    pub(crate) fn words_of(&self, record: Record<'_>) -> RecordWords {
        (0..self.records.words()).map(|index| record.word(index)).collect()
    }

    /// The bytes over which a selector's hash is computed: the values of the selector fields, one after another, in
    /// network order.
    pub fn selector_input(&self, key: &[Bits]) -> Vec<u8> {
        let selectors = self.spec.keys.iter().zip(key);
        hash::pack(
            selectors
                .filter(|(spec, _)| spec.kind == MatchKind::Selector)
                .map(|(_, value)| value),
        )
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The entries that packets have added.
    pub(crate) fn learned(&self) -> &LearnedWords {
        &self.learned
    }

    /// Lets readers make an entry of its words. Its slot must be empty.
    pub(crate) fn set_words(&self, slot: u32, words: Words<'_>) {
        self.entries.make(slot);
        self.learned.set(slot, words);
    }

    /// Lets readers find an entry by its slot. Returns the previous entry of the slot.
    pub(crate) fn set_entry(&self, entry: &Arc<Entry>) -> Option<Arc<Entry>> {
        let place = &self.entries.make(entry.slot() as u32)[0];
        let old = place.swap(Arc::into_raw(Arc::clone(entry)).cast_mut(), Ordering::AcqRel);
        // SAFETY: the pointer came from `Arc::into_raw`, and the place held its count.
        (!old.is_null()).then(|| unsafe { Arc::from_raw(old) })
    }

    /// Empties a slot that readers cannot find.
    pub(crate) fn clear_entry(&self, slot: u32) {
        release(&self.entries.row(slot)[0]);
    }

    pub(crate) fn set_default(&self, call: ActionCall) -> Box<DefaultAction> {
        self.default.replace(default_action(&self.spec, &self.records, call))
    }

    /// Bytes that are independent of the engine: the pointers to the entries.
    pub(crate) fn entry_places_bytes(&self) -> usize {
        self.entries.memory_bytes()
    }
}

/// See [`TableView::prefetch`].
pub type Hint = u64;

/// The most keys for one call of [`TableView::find_all`].
pub const FIND_MAX: usize = 64;

fn default_action(spec: &TableSpec, records: &RecordLayout, call: ActionCall) -> DefaultAction {
    // In a table with members or groups, the default is still an action.
    let direct = TableSpec {
        implementation: crate::table_spec::Implementation::Direct,
        ..spec.clone()
    };
    let layout = match spec.implementation {
        crate::table_spec::Implementation::Direct => records.clone(),
        _ => RecordLayout::new(&direct),
    };
    let words = layout.encode(&direct, &EntryAction::Call(call.clone()), NO_SLOT);
    DefaultAction {
        call,
        record: words.iter().map(|&word| AtomicU64::new(word)).collect(),
    }
}

/// Releases the count that a slot's pointer holds.
fn release(place: &AtomicPtr<Entry>) {
    let entry = place.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if !entry.is_null() {
        // SAFETY: the pointer came from `Arc::into_raw`, and the place held its count.
        drop(unsafe { Arc::from_raw(entry) });
    }
}

impl Drop for TableView {
    fn drop(&mut self) {
        self.entries.elements().for_each(release);
    }
}
