//! Tables: entries and default actions.

use crate::control::convert;
use crate::control::names::resolve;
use crate::control::{Entry, EntryAction};
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use crate::objects::Control;
use forebay_bits::Bits;
use forebay_ir::{ActionProfileId, EntryMatch, TableId};
use forebay_tables::{ActionRef, NewEntry, Table};
use std::sync::Arc;

impl Pipeline {
    /// Adds a table entry. Its direct counter begins at 0, its direct meter is not configured.
    pub fn insert_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let key = convert::key_from_control(declared, &entry.matches)?;
        let priority = convert::priority(declared, entry.priority)?;
        let action = convert::action_from_control(&self.program, declared, &entry.action)?;
        let control = &mut *self.control();
        self.acquire(control, id, action.as_ref())?;
        let new = NewEntry::new(key, priority, action.clone());
        let reset = |slot| self.reset_direct_objects(id, slot as u64);
        control.tables[id.index()]
            .insert_prepared(new, reset)
            .map(drop)
            .map_err(|error| {
                self.release(control, id, action.as_ref());
                convert::table_error(&self.program, declared, error)
            })
    }

    /// Changes the action of the entry with the same match and priority.
    pub fn modify_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let action = convert::action_from_control(&self.program, declared, &entry.action)?;
        let control = &mut *self.control();
        let found = self.find(&control.tables[id.index()], id, &entry.matches, entry.priority)?;
        self.acquire(control, id, action.as_ref())?;
        match control.tables[id.index()].modify(found.id(), action.clone()) {
            Ok(()) => {
                self.release(control, id, found.action().as_ref());
                Ok(())
            }
            Err(error) => {
                self.release(control, id, action.as_ref());
                Err(convert::table_error(&self.program, declared, error))
            }
        }
    }

    /// Removes the entry with that match and priority.
    pub fn delete_entry(&self, table: &str, matches: &[EntryMatch], priority: i64) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let control = &mut *self.control();
        let found = self.find(&control.tables[id.index()], id, matches, priority)?;
        self.remove(control, id, found.id())
    }

    /// Removes all entries of a table but those that are constant.
    pub fn clear_entries(&self, table: &str) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        if self.program.tables[id.index()].entries_are_const {
            return Err(ControlError::Constant {
                name: self.program.tables[id.index()].name.clone(),
                what: "list of entries",
            });
        }
        let control = &mut *self.control();
        let changeable = control.tables[id.index()].entries().filter(|entry| !entry.is_const());
        let entries: Vec<_> = changeable.map(|entry| entry.id()).collect();
        entries
            .into_iter()
            .try_for_each(|entry| self.remove(control, id, entry))
    }

    /// All entries of a table in the order in which they were added, those of the program first.
    pub fn entries(&self, table: &str) -> Result<Vec<Entry>, ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let control = self.control();
        let entries = control.tables[id.index()].entries();
        Ok(entries
            .map(|entry| convert::entry_to_control(&self.program, declared, entry))
            .collect())
    }

    /// The entry that a key with these values, one for each key field, would hit now. Nothing is counted.
    pub fn entry_matching(&self, table: TableId, key: &[Bits]) -> Option<Entry> {
        let declared = &self.program.tables[table.index()];
        let control = self.control();
        let hit = control.tables[table.index()].lookup(key).hit?;
        Some(convert::entry_to_control(&self.program, declared, hit))
    }

    /// Changes the default action.
    pub fn set_default_action(&self, table: &str, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let call = convert::call_by_name(&self.program, declared, action, args)?;
        self.control().tables[id.index()]
            .set_default(call)
            .map_err(|error| convert::table_error(&self.program, declared, error))
    }

    /// Restores the default action that the program names.
    pub fn reset_default_action(&self, table: &str) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        self.control().tables[id.index()].reset_default();
        Ok(())
    }

    /// The present default action.
    pub fn default_action(&self, table: &str) -> Result<EntryAction, ControlError> {
        let id = self.table_id(table)?;
        Ok(convert::call_to_control(
            &self.program,
            self.control().tables[id.index()].default_action(),
        ))
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
            .cloned()
            .map_err(|error| convert::table_error(&self.program, declared, error))
    }

    fn remove(&self, control: &mut Control, id: TableId, entry: forebay_tables::EntryId) -> Result<(), ControlError> {
        let removed = control.tables[id.index()]
            .delete(entry)
            .map_err(|error| convert::table_error(&self.program, &self.program.tables[id.index()], error))?;
        self.release(control, id, removed.action().as_ref());
        Ok(())
    }

    /// Notes in the table's profile that an entry uses a member or group.
    fn acquire(&self, control: &mut Control, table: TableId, action: ActionRef<'_>) -> Result<(), ControlError> {
        let Some(profile) = self.profile_of(table, action) else {
            return Ok(());
        };
        let name = &self.program.action_profiles[profile.index()].name;
        let snapshot = Arc::make_mut(&mut control.snapshot);
        let acquired = Arc::make_mut(&mut snapshot.profiles[profile.index()]).acquire(action);
        acquired.map_err(|error| convert::profile_error(name, error))
    }

    fn release(&self, control: &mut Control, table: TableId, action: ActionRef<'_>) {
        if let Some(profile) = self.profile_of(table, action) {
            let snapshot = Arc::make_mut(&mut control.snapshot);
            Arc::make_mut(&mut snapshot.profiles[profile.index()]).release(action);
        }
    }

    /// The profile that an entry's action refers to, if it refers to one.
    fn profile_of(&self, table: TableId, action: ActionRef<'_>) -> Option<ActionProfileId> {
        match action {
            ActionRef::Call(_) => None,
            ActionRef::Member(_) | ActionRef::Group(_) => self.program.tables[table.index()].implementation,
        }
    }
}
