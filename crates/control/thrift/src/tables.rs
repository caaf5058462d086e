//! Tables: entries and default actions.

use crate::codes::{
    AGEING_DISABLED, DEFAULT_ACTION_IS_CONST, DEFAULT_ENTRY_IS_CONST, Declared, EXPIRED_HANDLE, Failure, Family,
    INVALID_ACTION_NAME, INVALID_HANDLE, INVALID_TABLE_NAME, TABLE_FULL, WRONG_TABLE_TYPE,
};
use crate::handles::{NoEntry, key_of};
use crate::key::{Said, to_action, to_match, to_priority};
use crate::runtime::{Runtime, update};
use crate::switch::Switch;
use forebay_p4runtime::Code;
use forebay_protocol::p4::config::v1::{Action as ActionInfo, Table};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::table_action;
use forebay_protocol::p4::v1::table_entry::IdleTimeout;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{TableAction, TableEntry};
use forebay_shell::catalog::{Named, find};

/// What an entry does.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// An action with its data.
    Action(String, Vec<Vec<u8>>),
    /// A member of the table's action profile.
    Member(i32),
    /// A group of it.
    Group(i32),
}

/// How a table finds its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableType {
    /// Entries have actions.
    Simple,
    /// Entries have members.
    Indirect,
    /// Entries have members or groups.
    IndirectWithSelector,
}

/// The members and groups of BMv2 are numbered from 0, P4Runtime has no 0.
pub(crate) fn number_of(handle: i32) -> u32 {
    (handle as u32).wrapping_add(1)
}

/// The other way round.
pub(crate) fn handle_of(number: u32) -> i32 {
    number.wrapping_sub(1) as i32
}

impl<S: Switch> Runtime<S> {
    pub(crate) fn table(&self, name: &str) -> Result<Table, Failure> {
        self.named(name, &self.catalog.info.tables, INVALID_TABLE_NAME)
    }

    pub(crate) fn table_type(&self, table: &Table) -> TableType {
        let mut profiles = self.catalog.info.action_profiles.iter();
        match profiles.find(|profile| profile.id() == table.implementation_id) {
            None => TableType::Simple,
            Some(profile) if profile.with_selector => TableType::IndirectWithSelector,
            Some(_) => TableType::Indirect,
        }
    }

    /// One of the actions, by its name or the end of it.
    pub(crate) fn action_among(&self, actions: &[&ActionInfo], name: &str) -> Result<ActionInfo, Failure> {
        let actions: Vec<ActionInfo> = actions.iter().map(|action| (*action).clone()).collect();
        let found = find(name, &actions).cloned();
        found.map_err(|mistake| INVALID_ACTION_NAME.because(mistake))
    }

    pub(crate) fn action_of(&self, table: &Table, name: &str) -> Result<ActionInfo, Failure> {
        self.action_among(&self.catalog.actions_of(table), name)
    }

    fn does(&self, table: &Table, does: &Does) -> Result<TableAction, Failure> {
        let of_profile = self.table_type(table);
        let kind = match (does, of_profile) {
            (Does::Action(name, data), TableType::Simple) => {
                let info = self.action_of(table, name)?;
                table_action::Type::Action(to_action(&info, info.id(), data)?)
            }
            (Does::Member(handle), TableType::Indirect | TableType::IndirectWithSelector) => {
                table_action::Type::ActionProfileMemberId(number_of(*handle))
            }
            (Does::Group(handle), TableType::IndirectWithSelector) => {
                table_action::Type::ActionProfileGroupId(number_of(*handle))
            }
            _ => {
                let kind = match of_profile {
                    TableType::Simple => "has no action profile: its entries have actions",
                    TableType::Indirect => "has an action profile without a selector: its entries have members",
                    TableType::IndirectWithSelector => "has an action selector: its entries have members or groups",
                };
                return Err(WRONG_TABLE_TYPE.because(format!("table `{}` {kind}", table.name())));
            }
        };
        Ok(TableAction { r#type: Some(kind) })
    }

    /// Adds an entry; gives its handle. In a table without key, which always misses, it becomes the default action.
    ///
    /// # Errors
    /// When the table has no such key or action, or has such an entry already.
    pub fn add_entry(&mut self, table: &str, key: &[Said], does: &Does, priority: i32) -> Result<i32, Failure> {
        let table = self.table(table)?;
        let matches = to_match(&table, key)?;
        if table.match_fields.is_empty() {
            self.set_default(table.name(), does)?;
            return Ok(0);
        }
        let entry = TableEntry {
            table_id: table.id(),
            r#match: matches,
            priority: to_priority(&table, priority),
            action: Some(self.does(&table, does)?),
            meter_config: self.rates_of_entries.get(&table.id()).copied(),
            ..TableEntry::default()
        };
        self.look_at_entries(table.id())?;
        self.write_one(Family::Table, Type::Insert, Kind::TableEntry(entry.clone()))?;
        let handle = self.handles.entry(table.id()).or_default().of(&entry);
        handle.ok_or_else(|| TABLE_FULL.because("there are no more handles"))
    }

    /// Gives handles to what others have written before the first call about a table.
    fn look_at_entries(&mut self, table: u32) -> Result<(), Failure> {
        if !self.handles.contains_key(&table) {
            self.entries_of(table)?;
        }
        Ok(())
    }

    /// The entries of a table; their handles are up to date then.
    pub(crate) fn entries_of(&mut self, table_id: u32) -> Result<Vec<TableEntry>, Failure> {
        let table = self.catalog.table_by_id(table_id);
        let ages = table.is_some_and(|table| table.idle_timeout_behavior != 0);
        let wanted = TableEntry {
            table_id,
            time_since_last_hit: ages.then(IdleTimeout::default),
            ..TableEntry::default()
        };
        let read = self.read(Family::Table, Kind::TableEntry(wanted))?;
        let entries = read.into_iter().filter_map(|kind| match kind {
            Kind::TableEntry(entry) if !entry.is_default_action => Some(entry),
            _ => None,
        });
        let entries: Vec<TableEntry> = entries.collect();
        self.handles.entry(table_id).or_default().keep_only(&entries);
        Ok(entries)
    }

    pub(crate) fn handle_of_entry(&mut self, entry: &TableEntry) -> Result<i32, Failure> {
        let handle = self.handles.entry(entry.table_id).or_default().of(entry);
        handle.ok_or_else(|| TABLE_FULL.because("there are no more handles"))
    }

    /// The key of the entry with this handle.
    pub(crate) fn key_by_handle(&mut self, table: u32, handle: i32) -> Result<TableEntry, Failure> {
        self.look_at_entries(table)?;
        let found = self.handles.entry(table).or_default().key(handle);
        found.cloned().map_err(|reason| {
            let (declared, why): (Declared, _) = match reason {
                NoEntry::Invalid => (INVALID_HANDLE, "no entry has the handle"),
                NoEntry::Expired => (EXPIRED_HANDLE, "the entry is gone that had the handle"),
            };
            declared.because(format!("{why} {handle}"))
        })
    }

    /// The entry with this handle, as it is.
    pub(crate) fn entry_by_handle(&mut self, table: u32, handle: i32) -> Result<TableEntry, Failure> {
        let key = self.key_by_handle(table, handle)?;
        self.entry_by_key(key)
    }

    /// The entry with this key, as it is.
    pub(crate) fn entry_by_key(&mut self, key: TableEntry) -> Result<TableEntry, Failure> {
        let wanted = key_of(&key);
        // A key that mentions no field would mean all entries.
        let found = self
            .entries_with(&wanted)?
            .into_iter()
            .find(|entry| key_of(entry) == wanted);
        found.ok_or_else(|| INVALID_HANDLE.because("there is no such entry"))
    }

    fn entries_with(&mut self, key: &TableEntry) -> Result<Vec<TableEntry>, Failure> {
        if key.r#match.is_empty() {
            return self.entries_of(key.table_id);
        }
        let read = self.read(Family::Table, Kind::TableEntry(key.clone()))?;
        let entries = read.into_iter().filter_map(|kind| match kind {
            Kind::TableEntry(entry) => Some(entry),
            _ => None,
        });
        Ok(entries.collect())
    }

    /// Changes what an entry does.
    ///
    /// # Errors
    /// When there is no such entry, or the table has no such action.
    pub fn modify_entry(&mut self, table: &str, handle: i32, does: &Does) -> Result<(), Failure> {
        let table = self.table(table)?;
        let action = self.does(&table, does)?;
        let entry = self.entry_by_handle(table.id(), handle)?;
        let key = key_of(&entry);
        let entry = TableEntry {
            action: Some(action),
            idle_timeout_ns: entry.idle_timeout_ns,
            metadata: entry.metadata,
            meter_config: self.meter_config(&table, &key)?,
            ..key
        };
        self.write_one(Family::Table, Type::Modify, Kind::TableEntry(entry))
    }

    /// Deletes an entry.
    ///
    /// # Errors
    /// When there is none, or it is const.
    pub fn delete_entry(&mut self, table: &str, handle: i32) -> Result<(), Failure> {
        let table = self.table(table)?;
        let key = self.key_by_handle(table.id(), handle)?;
        self.write_one(Family::Table, Type::Delete, Kind::TableEntry(key.clone()))?;
        self.handles.entry(table.id()).or_default().forget(&key);
        Ok(())
    }

    /// Deletes all entries that are not const, and resets the default action if requested.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn clear_entries(&mut self, table: &str, resets_default: bool) -> Result<(), Failure> {
        let table = self.table(table)?;
        let entries = self.entries_of(table.id())?;
        let deleted: Vec<TableEntry> = (entries.iter())
            .filter(|entry| !entry.is_const && !table.is_const_table)
            .map(key_of)
            .collect();
        let updates = deleted
            .iter()
            .map(|key| update(Type::Delete, Kind::TableEntry(key.clone())));
        self.write(Family::Table, &updates.collect::<Vec<_>>())?;
        let handles = self.handles.entry(table.id()).or_default();
        deleted.iter().for_each(|key| handles.forget(key));
        if resets_default {
            self.reset_default(table.name())
        } else {
            Ok(())
        }
    }

    /// Sets the default action.
    ///
    /// # Errors
    /// When the table has no such action, or its default action is const.
    pub fn set_default(&mut self, table: &str, does: &Does) -> Result<(), Failure> {
        let table = self.table(table)?;
        let action = self.does(&table, does)?;
        self.write_default(&table, Some(action))
    }

    /// Makes the default action that of the program again.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn reset_default(&mut self, table: &str) -> Result<(), Failure> {
        let table = self.table(table)?;
        self.write_default(&table, None)
    }

    fn write_default(&self, table: &Table, action: Option<TableAction>) -> Result<(), Failure> {
        let id = action.as_ref().and_then(|action| match &action.r#type {
            Some(table_action::Type::Action(call)) => Some(call.action_id),
            _ => None,
        });
        let entry = TableEntry {
            table_id: table.id(),
            is_default_action: true,
            action,
            ..TableEntry::default()
        };
        let updates = [update(Type::Modify, Kind::TableEntry(entry))];
        self.switch.write(&updates).map_err(|error| match error.code {
            Code::PermissionDenied if id.is_some_and(|id| id != table.const_default_action_id) => {
                DEFAULT_ACTION_IS_CONST.because(&error.message)
            }
            Code::PermissionDenied => DEFAULT_ENTRY_IS_CONST.because(&error.message),
            _ => Failure::refused(Family::Table, &error),
        })
    }

    /// What a table does with packets that no entry is for.
    pub(crate) fn default_action(&self, table: &Table) -> Result<Option<TableAction>, Failure> {
        let wanted = TableEntry {
            table_id: table.id(),
            is_default_action: true,
            ..TableEntry::default()
        };
        let read = self.read(Family::Table, Kind::TableEntry(wanted))?;
        Ok(read.into_iter().find_map(|kind| match kind {
            Kind::TableEntry(entry) => entry.action,
            _ => None,
        }))
    }

    /// Sets the time without a packet after which an entry is reported, in milliseconds; 0 for never.
    ///
    /// # Errors
    /// When there is no such entry, or entries of the table do not time out.
    pub fn set_timeout(&mut self, table: &str, handle: i32, milliseconds: i32) -> Result<(), Failure> {
        let table = self.table(table)?;
        if table.idle_timeout_behavior == 0 {
            return Err(AGEING_DISABLED.because(format!("table `{}` has no `support_timeout = true;`", table.name())));
        }
        let entry = self.entry_by_handle(table.id(), handle)?;
        let entry = TableEntry {
            idle_timeout_ns: i64::from(milliseconds.max(0)) * 1_000_000,
            time_since_last_hit: None,
            meter_config: self.meter_config(&table, &key_of(&entry))?,
            ..entry
        };
        self.write_one(Family::Table, Type::Modify, Kind::TableEntry(entry))
    }
}
