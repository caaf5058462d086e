//! Several writes of the control plane together, either at once for packets or one after another.
//!
//! Workers never wait for a writer, and a writer may change much. Packets meanwhile see:
//!
//! | call | a packet sees | costs |
//! |---|---|---|
//! | any write of [`Pipeline`] | all of it or nothing: the old or the new form of an entry | the entry |
//! | [`Pipeline::batch`] | some of the writes and not yet the others, in their order | the entries |
//! | [`Pipeline::atomically`] | all of the writes or none, across tables, too | a copy of each table that is written |
//!
//! *A packet* here is a packet between two queues: what a worker reads at the beginning of a burst holds for ingress,
//! or for egress, of all packets of the burst. A packet that waits in a queue meanwhile may pass ingress before an
//! atomic batch and egress after it, as in a switch of silicon.
//!
//! After a call has returned, every burst that begins later sees what it wrote. If [`Pipeline::atomically`] fails,
//! nothing has changed, neither for packets nor for the control plane.
//!
//! # Implementation
//!
//! A [`Batch`] holds the lock of the control plane. In the first two cases it writes into the tables that workers
//! read, entry by entry: `forebay_tables` publishes each with one store. An atomic batch writes into clones, and
//! publishes all of them with one store, that of the snapshot. The tables that they replace are freed when no burst
//! uses them any more.
//!
//! Entries name members of profiles, which are in the snapshot. A packet must never find an entry whose member is not
//! in its snapshot. So a write to a profile waits until all bursts that began before it have ended.
//!
//! # Not part of a batch
//!
//! Registers, counters and meters are changed at once, because they are words that packets share. The direct counter
//! and meter of a new entry are reset. If an atomic batch deletes an entry and inserts another one in its slot,
//! packets that hit the old entry while the batch is being published may be counted for the new one.

use crate::control::learning::{EntryKey, Hold};
use crate::control::parts::let_others_in;
use crate::error::ControlError;
use crate::load::Pipeline;
use crate::objects::{Control, Snapshot};
use forebay_ir::TableId;
use forebay_tables::{EntryId, KeyMatch, NewEntry, Table, TableError};
use parking_lot::MutexGuard;
use std::collections::HashSet;
use std::sync::Arc;

/// Writes to tables and all other data of the control plane, under one lock; see the [module](self).
#[derive(Debug)]
pub struct Batch<'a> {
    pub(super) pipeline: &'a Pipeline,
    control: MutexGuard<'a, Control>,
    /// The data to which an atomic batch writes.
    draft: Option<Draft>,
    /// What removed entries held.
    pub(super) released: Vec<Hold>,
    /// Entries that ended with a partner which a controller has deleted.
    pub(super) ended: EndedEntries,
}

/// Entries that ended because a controller deleted their partners.
#[derive(Debug, Default)]
pub struct EndedEntries(pub(super) HashSet<(TableId, Vec<KeyMatch>)>);

/// The data that an atomic batch will publish.
#[derive(Debug)]
struct Draft {
    snapshot: Arc<Snapshot>,
    /// By [`TableId`]: clones of the tables that the batch has touched.
    tables: Vec<Option<Table>>,
    /// See [`Control::state_bytes`].
    state_bytes: u64,
    /// Slots that held another entry before the batch, with the new time of the last hit. Their direct objects and
    /// that time are reset when the batch is published.
    reused_slots: Vec<(TableId, usize, u64)>,
    /// Entries that the batch has changed, those that it has removed (one of each pair), and the dates of the entries
    /// that it has added.
    changed: Vec<EntryKey>,
    removed: Vec<EntryKey>,
    dates: Vec<Date>,
}

/// An entry that may become idle, its time-out, and the beginning of that time.
#[derive(Clone, Copy, Debug)]
struct Date {
    entry: EntryKey,
    timeout_ns: u64,
    from_ns: u64,
}

impl Pipeline {
    /// Makes several writes without another writer between them; only [`Batch::clear_entries`] lets others in. Packets
    /// may see some before others. What was written before an error stays.
    pub fn batch<R>(&self, writes: impl FnOnce(&mut Batch<'_>) -> R) -> R {
        let mut batch = Batch::of(self, self.control());
        let result = writes(&mut batch);
        batch.give_released_back();
        result
    }

    /// Does the same for a worker that has pinned the tables and so must not wait for another writer; `writes` must
    /// not wait either. The caller must give back what removed entries held, after it has unpinned. `None` if there is
    /// another writer.
    pub(super) fn batch_beside_pin<R>(&self, writes: impl FnOnce(&mut Batch<'_>) -> R) -> Option<(R, Vec<Hold>)> {
        let mut batch = Batch::of(self, self.try_control()?);
        let result = writes(&mut batch);
        Some((result, std::mem::take(&mut batch.released)))
    }

    /// Makes several writes that packets see all at once, or not at all if `writes` fails. This costs a copy of every
    /// table that is written. A single write is always atomic and needs no copy.
    ///
    /// # Errors
    /// The errors of `writes`.
    pub fn atomically<R, E>(&self, writes: impl FnOnce(&mut Batch<'_>) -> Result<R, E>) -> Result<R, E> {
        let control = self.control();
        let draft = Draft {
            snapshot: Arc::clone(&control.snapshot),
            tables: control.tables.iter().map(|_| None).collect(),
            state_bytes: control.state_bytes,
            reused_slots: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
            dates: Vec::new(),
        };
        let mut batch = Batch {
            pipeline: self,
            control,
            draft: Some(draft),
            released: Vec::new(),
            ended: EndedEntries::default(),
        };
        let result = writes(&mut batch)?;
        batch.commit();
        Ok(result)
    }
}

impl<'a> Batch<'a> {
    /// A batch that is not atomic.
    fn of(pipeline: &'a Pipeline, control: MutexGuard<'a, Control>) -> Batch<'a> {
        Batch {
            pipeline,
            control,
            draft: None,
            released: Vec::new(),
            ended: EndedEntries::default(),
        }
    }
}

impl Batch<'_> {
    /// The control plane's data. For an atomic batch, this is the data without the batch.
    pub(super) fn control_mut(&mut self) -> &mut Control {
        &mut self.control
    }

    /// Lets packets that wait add their entries before the next write, unless the batch is atomic.
    pub(super) fn let_packets_add(&mut self) {
        if self.draft.is_none() {
            let_others_in(&mut self.control);
        }
    }

    /// Records when an entry may expire, from the time when packets see it.
    pub(super) fn note_date(&mut self, entry: EntryKey, timeout_ns: u64, from_ns: u64) {
        let date = Date {
            entry,
            timeout_ns,
            from_ns,
        };
        match &mut self.draft {
            Some(draft) => draft.dates.push(date),
            None => self.begin_date(date),
        }
    }

    fn begin_date(&mut self, date: Date) {
        let Date {
            entry,
            timeout_ns,
            from_ns,
        } = date;
        if self.holds(entry) {
            let slot = entry.slot as usize;
            self.pipeline.stateful.begin_time(entry.table, slot, from_ns);
        }
        self.watch(entry, timeout_ns, from_ns);
    }

    /// The key of an entry in the [`Book`](super::learning::Book).
    pub(super) fn entry_key(&self, table: TableId, id: EntryId) -> Option<EntryKey> {
        let slot = self.table(table).get(id)?.slot() as u32;
        Some(EntryKey { table, slot, id })
    }

    /// Whether an entry still exists.
    pub(super) fn holds(&self, entry: EntryKey) -> bool {
        self.table(entry.table).id_in_slot(entry.slot) == Some(entry.id)
    }

    /// The entry that ends together with this one.
    pub(super) fn partner(&self, entry: EntryKey) -> Option<EntryKey> {
        self.control.book.partner(entry)
    }

    /// Records that a controller has changed an entry.
    pub(super) fn note_changed(&mut self, entry: EntryKey) {
        match &mut self.draft {
            Some(draft) => draft.changed.push(entry),
            None => self.control.book.adopt(entry),
        }
    }

    /// Records that an entry was removed. Returns its partner, which must be removed, too.
    pub(super) fn note_removed(&mut self, entry: EntryKey) -> Option<EntryKey> {
        let partner = self.partner(entry);
        match &mut self.draft {
            Some(draft) => draft.removed.push(entry),
            None => self.control.book.forget(entry, &mut self.released),
        }
        partner
    }

    /// Gives back what removed entries held.
    fn give_released_back(&mut self) {
        if !self.released.is_empty() {
            let pipeline = self.pipeline;
            pipeline.stateful.give_back(&pipeline.readers, self.released.drain(..));
        }
    }

    /// A table with what the batch has written so far.
    pub(super) fn table(&self, id: TableId) -> &Table {
        let draft = self.draft.as_ref();
        let touched = draft.and_then(|draft| draft.tables[id.index()].as_ref());
        touched.unwrap_or(&self.control.tables[id.index()])
    }

    /// A table, to be written to.
    pub(super) fn table_mut(&mut self, id: TableId) -> &mut Table {
        let present = &mut self.control.tables[id.index()];
        match &mut self.draft {
            None => present,
            Some(draft) => draft.tables[id.index()].get_or_insert_with(|| {
                // Afterwards, packets no longer count for slots that are free.
                self.pipeline.readers.synchronize();
                present.clone()
            }),
        }
    }

    /// The snapshot with what the batch has written so far.
    pub(super) fn snapshot(&self) -> &Snapshot {
        match &self.draft {
            None => &self.control.snapshot,
            Some(draft) => &draft.snapshot,
        }
    }

    /// The snapshot, for changes that packets need not see.
    pub(super) fn unpublished(&mut self) -> &mut Snapshot {
        match &mut self.draft {
            None => Arc::make_mut(&mut self.control.snapshot),
            Some(draft) => Arc::make_mut(&mut draft.snapshot),
        }
    }

    /// Changes the snapshot, and publishes it unless the batch is atomic.
    pub(super) fn change<R>(&mut self, change: impl FnOnce(&mut Snapshot) -> R) -> R {
        let result = change(self.unpublished());
        if self.draft.is_none() {
            self.publish();
        }
        result
    }

    /// Adds an entry, and resets its direct objects. `from_ns` is the initial time of its last hit.
    pub(super) fn insert(&mut self, id: TableId, new: NewEntry, from_ns: u64) -> Result<EntryId, TableError> {
        let pipeline = self.pipeline;
        if self.draft.is_none() {
            let reset = |slot| pipeline.reset_direct_objects(id, slot, from_ns);
            return self.table_mut(id).insert_prepared(new, reset);
        }
        let mut taken = 0;
        let entry = self.table_mut(id).insert_prepared(new, |slot| taken = slot)?;
        match &mut self.draft {
            Some(draft) if self.control.tables[id.index()].uses_slot(taken) => {
                draft.reused_slots.push((id, taken, from_ns))
            }
            _ => pipeline.reset_direct_objects(id, taken, from_ns),
        }
        Ok(entry)
    }

    /// Reserves memory for another entry.
    ///
    /// # Errors
    /// If there is no more memory.
    pub(super) fn claim_entry(&mut self, id: TableId) -> Result<(), ControlError> {
        let pipeline = self.pipeline;
        let needed = self.state_bytes_mut().saturating_add(pipeline.entry_bytes[id.index()]);
        match pipeline.options.memory_limit {
            Some(limit) if needed > limit => Err(ControlError::NoMemory {
                name: pipeline.program.tables[id.index()].name.clone(),
                limit,
            }),
            _ => {
                *self.state_bytes_mut() = needed;
                Ok(())
            }
        }
    }

    /// Releases the memory of an entry that was reserved with [`Batch::claim_entry`].
    pub(super) fn disclaim_entry(&mut self, id: TableId) {
        let bytes = self.pipeline.entry_bytes[id.index()];
        let state_bytes = self.state_bytes_mut();
        *state_bytes = state_bytes.saturating_sub(bytes);
    }

    fn state_bytes_mut(&mut self) -> &mut u64 {
        match &mut self.draft {
            None => &mut self.control.state_bytes,
            Some(draft) => &mut draft.state_bytes,
        }
    }

    fn publish(&self) {
        let (program, present) = (&self.pipeline.program, &self.control.snapshot);
        let changed = |former: &Snapshot| present.changed_since(former, program);
        self.pipeline.published.publish(Arc::clone(present), changed);
        // An entry that is inserted later and names what is new now must find it in every burst.
        self.pipeline.readers.synchronize();
        // Former tables and profiles may be large.
        self.pipeline.published.collect();
    }

    /// Resets what belongs to slots whose former entries packets may still hit.
    fn reset_reused(&self, slots: &[(TableId, usize, u64)]) {
        if slots.is_empty() {
            return;
        }
        let pipeline = self.pipeline;
        let _guest = pipeline.stateful.sections.guest(&pipeline.readers);
        for (table, slot, from_ns) in slots {
            pipeline.reset_direct_objects(*table, *slot, *from_ns);
        }
    }

    fn commit(mut self) {
        let Some(mut draft) = self.draft.take() else { return };
        let snapshot = Arc::make_mut(&mut draft.snapshot);
        let touched = draft.tables.into_iter().enumerate();
        let touched = touched.filter_map(|(index, table)| Some((index, table?)));
        let mut replaced = Vec::new();
        for (index, table) in touched {
            snapshot.tables[index] = Arc::clone(table.view());
            replaced.push(std::mem::replace(&mut self.control.tables[index], table));
        }
        self.reset_reused(&draft.reused_slots);
        self.control.snapshot = draft.snapshot;
        self.control.state_bytes = draft.state_bytes;
        self.publish();
        for entry in draft.changed {
            self.control.book.adopt(entry);
        }
        for entry in draft.removed {
            self.control.book.forget(entry, &mut self.released);
        }
        for date in draft.dates {
            self.begin_date(date);
        }
        self.give_released_back();
    }
}
