//! Tables: entries and default actions.

use crate::control::convert;
use crate::control::learning::EntryKey;
use crate::control::names::resolve;
use crate::control::parts::{PART, Parts};
use crate::control::{Batch, EndedEntries, Entry, EntryAction, TableMemory};
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use forebay_bits::Bits;
use forebay_ir::{ActionProfileId, EntryMatch, TableId};
use forebay_tables::{ActionRef, EntryId, KeyMatch, NewEntry, Table, TableError};
use std::sync::Arc;

impl Pipeline {
    /// Adds a table entry. Its direct counter begins at 0, its direct meter is not configured.
    ///
    /// # Errors
    /// When there is no such table, the key, the priority or the action does not suit it, it has an entry with this key
    /// and priority, it is full, its entries are const, or there is no memory for another entry.
    pub fn insert_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        self.batch(|batch| batch.insert_entry(table, entry))
    }

    /// Changes the action of the entry with the same match and priority.
    ///
    /// # Errors
    /// When there is no such table or entry, the entry is const, or the action does not suit the table.
    pub fn modify_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        self.batch(|batch| batch.modify_entry(table, entry))
    }

    /// Removes the entry with this match and priority.
    ///
    /// # Errors
    /// When there is no such table or entry, or the entry is const.
    pub fn delete_entry(&self, table: &str, matches: &[EntryMatch], priority: i64) -> Result<(), ControlError> {
        self.batch(|batch| batch.delete_entry(table, matches, priority))
    }

    /// Removes all entries of a table except constant ones.
    ///
    /// # Errors
    /// When there is no such table, or the list of its entries is const.
    pub fn clear_entries(&self, table: &str) -> Result<(), ControlError> {
        self.batch(|batch| batch.clear_entries(table))
    }

    /// Changes the default action.
    ///
    /// # Errors
    /// When there is no such table, it has no such action with such arguments for packets that miss, or its default
    /// action is const.
    pub fn set_default_action(&self, table: &str, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        self.batch(|batch| batch.set_default_action(table, action, args))
    }

    /// Restores the default action that the program names.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn reset_default_action(&self, table: &str) -> Result<(), ControlError> {
        self.batch(|batch| batch.reset_default_action(table))
    }

    /// All entries of a table in the order in which they were added, those of the program first.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn entries(&self, table: &str) -> Result<Vec<Entry>, ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let mut entries = Vec::new();
        self.for_entries(id, |_, entry| {
            entries.push(convert::entry_to_control(&self.program, declared, entry));
        });
        Ok(entries)
    }

    /// An entry by its [`Record::id`](crate::Record::id), for the tracer of a packet: `None` also while the control
    /// plane is writing. A tracer must not wait for the control plane, which may be waiting for the packet's burst to
    /// end.
    pub fn entry_in_burst(&self, table: TableId, id: u64) -> Option<Entry> {
        let declared = &self.program.tables[table.index()];
        let control = self.try_control()?;
        let entry = control.tables[table.index()].get(EntryId(id))?;
        Some(convert::entry_to_control(&self.program, declared, &entry))
    }

    /// The entry that a key with these values, one for each key field, would hit now. This counts nothing. Tracers
    /// call [`Pipeline::entry_in_burst`] instead.
    pub fn entry_matching(&self, table: TableId, key: &[Bits]) -> Option<Entry> {
        let declared = &self.program.tables[table.index()];
        let control = self.control();
        let hit = control.tables[table.index()].lookup(key).hit?;
        Some(convert::entry_to_control(&self.program, declared, hit))
    }

    /// The current default action, or the member or group that takes its place.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn default_action(&self, table: &str) -> Result<EntryAction, ControlError> {
        let id = self.table_id(table)?;
        if let Some(profile) = self.program.tables[id.index()].implementation {
            let snapshot = self.snapshot();
            if let Some(action) = snapshot.profiles[profile.index()].default_of(id.0) {
                return Ok(convert::action_to_control(&self.program, action));
            }
        }
        Ok(convert::call_to_control(
            &self.program,
            self.control().tables[id.index()].default_action(),
        ))
    }

    /// The memory that each table needs, in the order of the program.
    pub fn table_memory(&self) -> Vec<TableMemory> {
        let control = self.control();
        let tables = self.program.tables.iter().zip(&control.tables);
        tables
            .map(|(declared, table)| TableMemory {
                table: declared.name.clone(),
                entries: table.len(),
                bytes: table.memory_bytes(),
            })
            .collect()
    }

    pub(super) fn table_id(&self, name: &str) -> Result<TableId, ControlError> {
        let names = self.program.tables.iter().map(|table| table.name.as_str());
        resolve(ObjectKind::Table, name, names).map(|index| TableId(index as u32))
    }

    pub(super) fn find(
        &self,
        table: &Table,
        id: TableId,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<Arc<forebay_tables::Entry>, ControlError> {
        let declared = &self.program.tables[id.index()];
        let key = convert::key_from_control(declared, matches)?;
        let priority = convert::priority(declared, priority)?;
        table
            .find(key, priority)
            .map_err(|error| convert::table_error(&self.program, declared, error))
    }

    /// The profile that an entry's action refers to, if it refers to one.
    fn profile_of(&self, table: TableId, action: ActionRef<'_>) -> Option<ActionProfileId> {
        match action {
            ActionRef::Call(_) => None,
            ActionRef::Member(_) | ActionRef::Group(_) => self.program.tables[table.index()].implementation,
        }
    }
}

impl Batch<'_> {
    /// See [`Pipeline::insert_entry`].
    pub fn insert_entry(&mut self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        let id = self.pipeline.table_id(table)?;
        let declared = &self.pipeline.program.tables[id.index()];
        let key = convert::key_from_control(declared, &entry.matches)?;
        let priority = convert::priority(declared, entry.priority)?;
        let action = convert::action_from_control(&self.pipeline.program, declared, &entry.action)?;
        let new = NewEntry::new(key, priority, action);
        self.add(id, new, 0).map(drop)
    }

    /// Adds an entry at this time, and records what it uses.
    pub(super) fn add(&mut self, id: TableId, new: NewEntry, now_ns: u64) -> Result<EntryId, ControlError> {
        let declared = &self.pipeline.program.tables[id.index()];
        let timeout_ns = new.idle_timeout_ns;
        let named = match new.action.as_ref() {
            ActionRef::Call(_) => None,
            ActionRef::Member(member) => Some(ActionRef::Member(member)),
            ActionRef::Group(group) => Some(ActionRef::Group(group)),
        };
        if let Some(named) = named {
            self.acquire(id, named)?;
        }
        let claimed = self.claim_entry(id);
        let inserted = claimed.and_then(|()| {
            self.insert(id, new, now_ns).map_err(|error| {
                self.disclaim_entry(id);
                convert::table_error(&self.pipeline.program, declared, error)
            })
        });
        match inserted {
            Ok(entry) if timeout_ns > 0 => {
                let entry = self.entry_key(id, entry).expect("it was just added");
                self.note_date(entry, timeout_ns, now_ns);
            }
            Ok(_) => {}
            Err(_) => {
                if let Some(named) = named {
                    self.release(id, named);
                }
            }
        }
        inserted
    }

    /// See [`Pipeline::modify_entry`].
    pub fn modify_entry(&mut self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        let id = self.pipeline.table_id(table)?;
        let declared = &self.pipeline.program.tables[id.index()];
        let action = convert::action_from_control(&self.pipeline.program, declared, &entry.action)?;
        let found = self.pipeline.find(self.table(id), id, &entry.matches, entry.priority)?;
        self.acquire(id, action.as_ref())?;
        let modified = self.table_mut(id).modify(found.id(), action.clone());
        let unused = if modified.is_ok() { found.action() } else { &action };
        self.release(id, unused.as_ref());
        if modified.is_ok() {
            self.note_changed(EntryKey {
                table: id,
                slot: found.slot() as u32,
                id: found.id(),
            });
        }
        modified.map_err(|error| convert::table_error(&self.pipeline.program, declared, error))
    }

    /// See [`Pipeline::delete_entry`].
    pub fn delete_entry(&mut self, table: &str, matches: &[EntryMatch], priority: i64) -> Result<(), ControlError> {
        let id = self.pipeline.table_id(table)?;
        let found = match self.pipeline.find(self.table(id), id, matches, priority) {
            Err(_) if self.take_ended(id, matches) => return Ok(()),
            found => found?,
        };
        let partner = self.entry_key(id, found.id()).and_then(|entry| self.partner(entry));
        if let Some(partner) = partner.filter(|partner| self.holds(*partner)) {
            let key = self.matches_of(partner);
            self.ended.0.extend(key.map(|key| (partner.table, key)));
        }
        self.remove(id, found.id())
    }

    /// Whether this entry ended because the same controller has just deleted its partner. A controller that deletes all
    /// entries that it has read deletes both entries of a pair, so its second deletion must succeed. Returns true once
    /// for each such entry.
    pub fn take_ended(&mut self, table: TableId, matches: &[EntryMatch]) -> bool {
        let declared = &self.pipeline.program.tables[table.index()];
        let ended = &mut self.ended.0;
        !ended.is_empty() && convert::key_from_control(declared, matches).is_ok_and(|key| ended.remove(&(table, key)))
    }

    /// Exchanges the list of entries for [`Batch::take_ended`] with `ended`, to hand it from one batch to the next.
    pub fn swap_ended(&mut self, ended: &mut EndedEntries) {
        std::mem::swap(&mut self.ended, ended);
    }

    fn matches_of(&self, entry: EntryKey) -> Option<Vec<KeyMatch>> {
        let declared = &self.pipeline.program.tables[entry.table.index()];
        let present = self.table(entry.table).in_slot(entry.slot)?;
        Some(convert::key_of(declared, &present))
    }

    /// See [`Pipeline::clear_entries`]. Other writers may come in between, unless the batch is atomic.
    pub fn clear_entries(&mut self, table: &str) -> Result<(), ControlError> {
        let id = self.pipeline.table_id(table)?;
        let declared = &self.pipeline.program.tables[id.index()];
        if declared.entries_are_const {
            return Err(ControlError::Constant {
                name: declared.name.clone(),
                what: "list of entries",
            });
        }
        let mut parts = Parts::of(self.table(id));
        loop {
            let part = parts.next(self.table(id));
            for entry in part.iter().filter(|entry| !entry.is_const()) {
                // It may have been removed together with its partner.
                if self.table(id).id_in_slot(entry.slot() as u32) == Some(entry.id()) {
                    self.remove(id, entry.id())?;
                }
            }
            if part.len() < PART {
                return Ok(());
            }
            self.let_packets_add();
        }
    }

    /// See [`Pipeline::set_default_action`].
    pub fn set_default_action(&mut self, table: &str, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        let id = self.pipeline.table_id(table)?;
        let declared = &self.pipeline.program.tables[id.index()];
        let call = convert::call_by_name(&self.pipeline.program, declared, action, args)?;
        self.table_mut(id)
            .set_default(call)
            .map_err(|error| convert::table_error(&self.pipeline.program, declared, error))?;
        self.set_default_of_profile(id, None)
    }

    /// Gives packets that miss in a table an action, or a member or group of the table's action profile.
    ///
    /// # Errors
    /// When the table has no such action, or its profile no such member or group, or the default action is const.
    pub fn set_default_entry(&mut self, table: &str, action: &EntryAction) -> Result<(), ControlError> {
        if let EntryAction::Call { action, args } = action {
            return self.set_default_action(table, action, args);
        }
        let id = self.pipeline.table_id(table)?;
        let declared = &self.pipeline.program.tables[id.index()];
        if self.table(id).spec().const_default {
            let error = TableError::ConstDefault;
            return Err(convert::table_error(&self.pipeline.program, declared, error));
        }
        let action = convert::action_from_control(&self.pipeline.program, declared, action)?;
        self.set_default_of_profile(id, Some(action))
    }

    fn set_default_of_profile(
        &mut self,
        id: TableId,
        action: Option<forebay_tables::EntryAction>,
    ) -> Result<(), ControlError> {
        let declared = &self.pipeline.program.tables[id.index()];
        let Some(profile) = declared.implementation else {
            return match action {
                None => Ok(()),
                Some(_) => Err(ControlError::Unsuitable {
                    name: declared.name.clone(),
                    expected: "has no action profile: packets that miss get an action",
                }),
            };
        };
        let has_one = self.snapshot().profiles[profile.index()].default_of(id.0).is_some();
        if action.is_none() && !has_one {
            return Ok(());
        }
        let name = &self.pipeline.program.action_profiles[profile.index()].name;
        self.change(|snapshot| Arc::make_mut(&mut snapshot.profiles[profile.index()]).set_default(id.0, action))
            .map_err(|error| convert::profile_error(name, error))
    }

    /// See [`Pipeline::reset_default_action`].
    pub fn reset_default_action(&mut self, table: &str) -> Result<(), ControlError> {
        let id = self.pipeline.table_id(table)?;
        self.table_mut(id).reset_default();
        self.set_default_of_profile(id, None)
    }

    /// Removes an entry, its partner, and what they hold.
    pub(super) fn remove(&mut self, id: TableId, entry: EntryId) -> Result<(), ControlError> {
        let slot = self.remove_alone((id, entry))?;
        let removed = EntryKey {
            table: id,
            slot,
            id: entry,
        };
        if let Some(partner) = self.note_removed(removed)
            && self.holds(partner)
        {
            self.remove_alone((partner.table, partner.id))?;
        }
        Ok(())
    }

    /// Removes only this entry, and returns its slot.
    pub(super) fn remove_alone(&mut self, (id, entry): (TableId, EntryId)) -> Result<u32, ControlError> {
        let declared = &self.pipeline.program.tables[id.index()];
        let removed = self
            .table_mut(id)
            .delete(entry)
            .map_err(|error| convert::table_error(&self.pipeline.program, declared, error))?;
        self.release(id, removed.action().as_ref());
        self.disclaim_entry(id);
        Ok(removed.slot() as u32)
    }

    /// Records in the table's profile that an entry uses a member or group.
    pub(super) fn acquire(&mut self, table: TableId, action: ActionRef<'_>) -> Result<(), ControlError> {
        let Some(profile) = self.pipeline.profile_of(table, action) else {
            return Ok(());
        };
        let name = &self.pipeline.program.action_profiles[profile.index()].name;
        let acquired = Arc::make_mut(&mut self.unpublished().profiles[profile.index()]).acquire(action);
        acquired.map_err(|error| convert::profile_error(name, error))
    }

    pub(super) fn release(&mut self, table: TableId, action: ActionRef<'_>) {
        if let Some(profile) = self.pipeline.profile_of(table, action) {
            Arc::make_mut(&mut self.unpublished().profiles[profile.index()]).release(action);
        }
    }
}
