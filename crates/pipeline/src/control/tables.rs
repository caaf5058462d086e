//! Tables, their direct objects, action profiles and value sets.

use crate::control::convert;
use crate::control::names::resolve;
use crate::control::objects::{meter_error, rates_from_tables, rates_to_tables};
use crate::control::{Entry, EntryAction, MeterRates};
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use crate::objects::Snapshot;
use forebay_bits::Bits;
use forebay_ir::{ActionProfileId, CounterId, EntryMatch, MeterId, TableId};
use forebay_tables::{
    ActionCall, ActionProfile, ActionRef, CounterValue, GroupId, MemberId, NewEntry, ProfileError, Table,
};
use std::sync::Arc;

impl Pipeline {
    /// Adds a table entry. Its direct counter begins at 0, its direct meter is not configured.
    pub fn insert_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let key = convert::key_from_control(declared, &entry.matches)?;
        let priority = convert::priority(declared, entry.priority)?;
        let action = convert::action_from_control(&self.program, declared, &entry.action)?;
        let mut guard = self.snapshot_mut();
        let snapshot = Arc::make_mut(&mut guard);
        self.acquire(snapshot, id, action.as_ref())?;
        let table = Arc::make_mut(&mut snapshot.tables[id.index()]);
        match table.insert(NewEntry::new(key, priority, action.clone())) {
            Ok(entry) => {
                let slot = table.get(entry).map_or(0, |entry| entry.slot() as u64);
                self.reset_direct_objects(id, slot);
                Ok(())
            }
            Err(error) => {
                self.release(snapshot, id, action.as_ref());
                Err(convert::table_error(&self.program, declared, error))
            }
        }
    }

    /// Changes the action of the entry with the same match and priority.
    pub fn modify_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let action = convert::action_from_control(&self.program, declared, &entry.action)?;
        let mut guard = self.snapshot_mut();
        let snapshot = Arc::make_mut(&mut guard);
        let found = self.find(&snapshot.tables[id.index()], id, &entry.matches, entry.priority)?;
        self.acquire(snapshot, id, action.as_ref())?;
        let table = Arc::make_mut(&mut snapshot.tables[id.index()]);
        match table.modify(found.id(), action.clone()) {
            Ok(()) => {
                self.release(snapshot, id, found.action().as_ref());
                Ok(())
            }
            Err(error) => {
                self.release(snapshot, id, action.as_ref());
                Err(convert::table_error(&self.program, declared, error))
            }
        }
    }

    /// Removes the entry with that match and priority.
    pub fn delete_entry(&self, table: &str, matches: &[EntryMatch], priority: i64) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let mut guard = self.snapshot_mut();
        let snapshot = Arc::make_mut(&mut guard);
        let found = self.find(&snapshot.tables[id.index()], id, matches, priority)?;
        self.remove(snapshot, id, found.id())
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
        let mut guard = self.snapshot_mut();
        let snapshot = Arc::make_mut(&mut guard);
        let changeable = snapshot.tables[id.index()].entries().filter(|entry| !entry.is_const());
        let entries: Vec<_> = changeable.map(|entry| entry.id()).collect();
        entries
            .into_iter()
            .try_for_each(|entry| self.remove(snapshot, id, entry))
    }

    /// All entries of a table in the order in which they were added, those of the program first.
    pub fn entries(&self, table: &str) -> Result<Vec<Entry>, ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let snapshot = self.snapshot();
        let entries = snapshot.tables[id.index()].entries();
        Ok(entries
            .map(|entry| convert::entry_to_control(&self.program, declared, entry))
            .collect())
    }

    /// Changes the default action.
    pub fn set_default_action(&self, table: &str, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let call = convert::call_by_name(&self.program, declared, action, args)?;
        let mut guard = self.snapshot_mut();
        let table = Arc::make_mut(&mut Arc::make_mut(&mut guard).tables[id.index()]);
        table
            .set_default(call)
            .map_err(|error| convert::table_error(&self.program, declared, error))
    }

    /// Restores the default action that the program names.
    pub fn reset_default_action(&self, table: &str) -> Result<(), ControlError> {
        let id = self.table_id(table)?;
        let mut guard = self.snapshot_mut();
        Arc::make_mut(&mut Arc::make_mut(&mut guard).tables[id.index()]).reset_default();
        Ok(())
    }

    /// The present default action.
    pub fn default_action(&self, table: &str) -> Result<EntryAction, ControlError> {
        let id = self.table_id(table)?;
        let snapshot = self.snapshot();
        Ok(convert::call_to_control(
            &self.program,
            snapshot.tables[id.index()].default_action(),
        ))
    }

    /// Adds a member to an action profile.
    pub fn insert_member(&self, profile: &str, member: u32, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        let call = self.member_call(profile, action, args)?;
        self.change_profile(profile, |profile| profile.insert_member(MemberId(member), call))
    }

    /// Changes a member's action.
    pub fn modify_member(&self, profile: &str, member: u32, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        let call = self.member_call(profile, action, args)?;
        self.change_profile(profile, |profile| profile.modify_member(MemberId(member), call))
    }

    /// Removes a member that neither an entry nor a group uses.
    pub fn delete_member(&self, profile: &str, member: u32) -> Result<(), ControlError> {
        self.change_profile(profile, |profile| profile.delete_member(MemberId(member)))
    }

    /// Adds a group of members with their weights to an action selector.
    pub fn insert_group(&self, profile: &str, group: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        self.check_selector(profile)?;
        let members = weighted(members);
        self.change_profile(profile, |profile| profile.insert_group(GroupId(group), &members))
    }

    /// Changes a group's members.
    pub fn modify_group(&self, profile: &str, group: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        let members = weighted(members);
        self.change_profile(profile, |profile| profile.modify_group(GroupId(group), &members))
    }

    /// Removes a group that no entry uses.
    pub fn delete_group(&self, profile: &str, group: u32) -> Result<(), ControlError> {
        self.change_profile(profile, |profile| profile.delete_group(GroupId(group)))
    }

    /// The members of an action profile in order of their numbers.
    pub fn members(&self, profile: &str) -> Result<Vec<(u32, EntryAction)>, ControlError> {
        let id = self.profile_id(profile)?;
        let snapshot = self.snapshot();
        let members = snapshot.profiles[id.index()].members();
        Ok(members
            .map(|(member, call)| (member.0, convert::call_to_control(&self.program, call)))
            .collect())
    }

    /// The members of a group with their weights.
    pub fn group(&self, profile: &str, group: u32) -> Result<Vec<(u32, u32)>, ControlError> {
        let id = self.profile_id(profile)?;
        let members = self.snapshot().profiles[id.index()].group(GroupId(group));
        let name = &self.program.action_profiles[id.index()].name;
        let members = members.ok_or_else(|| convert::profile_error(name, ProfileError::NoGroup(GroupId(group))))?;
        Ok(members.into_iter().map(|(member, weight)| (member.0, weight)).collect())
    }

    /// The direct counter of an entry.
    pub fn read_direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<CounterValue, ControlError> {
        let (counter, slot) = self.direct_counter(table, matches, priority)?;
        Ok(self.stateful.counters[counter.index()].read(slot))
    }

    /// Changes the direct counter of an entry.
    pub fn write_direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
        value: CounterValue,
    ) -> Result<(), ControlError> {
        let (counter, slot) = self.direct_counter(table, matches, priority)?;
        self.stateful.counters[counter.index()].write(slot, value);
        Ok(())
    }

    /// Sets the rates of an entry's direct meter; without rates it is always green.
    pub fn configure_direct_meter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
        rates: Option<MeterRates>,
    ) -> Result<(), ControlError> {
        let (meter, slot) = self.direct_meter(table, matches, priority)?;
        let name = &self.program.meters[meter.index()].name;
        let configured = self.stateful.meters[meter.index()].configure(slot, rates.map(rates_to_tables));
        configured.map_err(|error| meter_error(name, slot, error))
    }

    /// The rates of an entry's direct meter, if it was configured.
    pub fn direct_meter_rates(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<Option<MeterRates>, ControlError> {
        let (meter, slot) = self.direct_meter(table, matches, priority)?;
        Ok(self.stateful.meters[meter.index()].config(slot).map(rates_from_tables))
    }

    /// Replaces the elements of a parser value set; each has one match per component.
    pub fn set_value_set(&self, set: &str, elements: &[Vec<EntryMatch>]) -> Result<(), ControlError> {
        let index = self.value_set_index(set)?;
        let declared = &self.program.value_sets[index];
        if elements.len() as u64 > declared.size {
            return Err(ControlError::Full {
                name: declared.name.clone(),
                size: declared.size,
            });
        }
        let converted = elements.iter().map(|element| value_set_element(declared, element));
        let converted = Arc::new(converted.collect::<Result<Vec<_>, _>>()?);
        Arc::make_mut(&mut self.snapshot_mut()).value_sets[index] = converted;
        Ok(())
    }

    /// The elements of a parser value set.
    pub fn value_set(&self, set: &str) -> Result<Vec<Vec<EntryMatch>>, ControlError> {
        let index = self.value_set_index(set)?;
        let components = &self.program.value_sets[index].components;
        let snapshot = self.snapshot();
        let element = |element: &Vec<forebay_tables::KeyMatch>| {
            let pairs = components.iter().zip(element);
            pairs
                .map(|(component, given)| convert::condition_to_control(given, component.width))
                .collect()
        };
        Ok(snapshot.value_sets[index].iter().map(element).collect())
    }

    fn table_id(&self, name: &str) -> Result<TableId, ControlError> {
        let names = self.program.tables.iter().map(|table| table.name.as_str());
        resolve(ObjectKind::Table, name, names).map(|index| TableId(index as u32))
    }

    fn profile_id(&self, name: &str) -> Result<ActionProfileId, ControlError> {
        let names = self.program.action_profiles.iter().map(|profile| profile.name.as_str());
        resolve(ObjectKind::ActionProfile, name, names).map(|index| ActionProfileId(index as u32))
    }

    fn value_set_index(&self, name: &str) -> Result<usize, ControlError> {
        let names = self.program.value_sets.iter().map(|set| set.name.as_str());
        resolve(ObjectKind::ValueSet, name, names)
    }

    fn find(
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

    fn remove(&self, snapshot: &mut Snapshot, id: TableId, entry: forebay_tables::EntryId) -> Result<(), ControlError> {
        let removed = Arc::make_mut(&mut snapshot.tables[id.index()])
            .delete(entry)
            .map_err(|error| convert::table_error(&self.program, &self.program.tables[id.index()], error))?;
        self.release(snapshot, id, removed.action().as_ref());
        Ok(())
    }

    /// Notes in the table's profile that an entry uses a member or group.
    fn acquire(&self, snapshot: &mut Snapshot, table: TableId, action: ActionRef<'_>) -> Result<(), ControlError> {
        let Some(profile) = self.profile_of(table, action) else {
            return Ok(());
        };
        let name = &self.program.action_profiles[profile.index()].name;
        let acquired = Arc::make_mut(&mut snapshot.profiles[profile.index()]).acquire(action);
        acquired.map_err(|error| convert::profile_error(name, error))
    }

    fn release(&self, snapshot: &mut Snapshot, table: TableId, action: ActionRef<'_>) {
        if let Some(profile) = self.profile_of(table, action) {
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

    fn reset_direct_objects(&self, table: TableId, slot: u64) {
        let declared = &self.program.tables[table.index()];
        if let Some(counter) = declared.direct_counter {
            self.stateful.counters[counter.index()].write(slot, CounterValue::default());
        }
        if let Some(direct) = declared.direct_meter {
            // A slot of the table is always an index of its meter.
            let _ = self.stateful.meters[direct.meter.index()].configure(slot, None);
        }
    }

    /// The call of a member: by the list of actions of the first table that uses the profile.
    fn member_call(&self, profile: &str, action: &str, args: &[Bits]) -> Result<ActionCall, ControlError> {
        let id = self.profile_id(profile)?;
        let mut users = self
            .program
            .tables
            .iter()
            .enumerate()
            .filter(|(_, table)| table.implementation == Some(id));
        let Some((index, declared)) = users.next() else {
            let name = self.program.action_profiles[id.index()].name.clone();
            return Err(ControlError::Unsuitable {
                name,
                expected: "is used by no table, so it can have no members",
            });
        };
        let call = convert::call_by_name(&self.program, declared, action, args)?;
        let checked = self.snapshot().tables[index].check_entry_call(&call);
        checked.map_err(|error| convert::action_error(&self.program, declared, error))?;
        Ok(call)
    }

    fn check_selector(&self, profile: &str) -> Result<(), ControlError> {
        let declared = &self.program.action_profiles[self.profile_id(profile)?.index()];
        match declared.selector {
            Some(_) => Ok(()),
            None => Err(ControlError::Unsuitable {
                name: declared.name.clone(),
                expected: "is an action profile without selector: it has members, but no groups",
            }),
        }
    }

    fn change_profile(
        &self,
        profile: &str,
        change: impl FnOnce(&mut ActionProfile) -> Result<(), ProfileError>,
    ) -> Result<(), ControlError> {
        let id = self.profile_id(profile)?;
        let name = &self.program.action_profiles[id.index()].name;
        let mut guard = self.snapshot_mut();
        let profile = Arc::make_mut(&mut Arc::make_mut(&mut guard).profiles[id.index()]);
        change(profile).map_err(|error| convert::profile_error(name, error))
    }

    /// The element of the direct counter that belongs to an entry.
    fn direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<(CounterId, u64), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let counter = declared.direct_counter.ok_or_else(|| ControlError::Unsuitable {
            name: declared.name.clone(),
            expected: "has no direct counter",
        })?;
        let entry = self.find(&self.snapshot().tables[id.index()], id, matches, priority)?;
        Ok((counter, entry.slot() as u64))
    }

    /// The element of the direct meter that belongs to an entry.
    fn direct_meter(&self, table: &str, matches: &[EntryMatch], priority: i64) -> Result<(MeterId, u64), ControlError> {
        let id = self.table_id(table)?;
        let declared = &self.program.tables[id.index()];
        let direct = declared.direct_meter.ok_or_else(|| ControlError::Unsuitable {
            name: declared.name.clone(),
            expected: "has no direct meter",
        })?;
        let entry = self.find(&self.snapshot().tables[id.index()], id, matches, priority)?;
        Ok((direct.meter, entry.slot() as u64))
    }
}

fn weighted(members: &[(u32, u32)]) -> Vec<(MemberId, u32)> {
    members
        .iter()
        .map(|&(member, weight)| (MemberId(member), weight))
        .collect()
}

fn value_set_element(
    declared: &forebay_ir::ValueSet,
    element: &[EntryMatch],
) -> Result<Vec<forebay_tables::KeyMatch>, ControlError> {
    let expected = declared.components.len();
    if element.len() != expected {
        let what = "components";
        return Err(ControlError::WrongCount {
            name: declared.name.clone(),
            what,
            expected,
            given: element.len(),
        });
    }
    let pairs = declared.components.iter().zip(element);
    pairs
        .map(|(component, given)| convert::condition(&declared.name, &component.name, component.width, given))
        .collect()
}
