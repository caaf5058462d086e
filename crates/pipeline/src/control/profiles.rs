//! Action profiles and selectors: members and groups.

use crate::control::EntryAction;
use crate::control::convert;
use crate::control::names::resolve;
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use forebay_bits::Bits;
use forebay_ir::ActionProfileId;
use forebay_tables::{ActionCall, ActionProfile, GroupId, MemberId, ProfileError};
use std::sync::Arc;

impl Pipeline {
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

    fn profile_id(&self, name: &str) -> Result<ActionProfileId, ControlError> {
        let names = self.program.action_profiles.iter().map(|profile| profile.name.as_str());
        resolve(ObjectKind::ActionProfile, name, names).map(|index| ActionProfileId(index as u32))
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
        let checked = self.control().tables[index].check_entry_call(&call);
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
        let changed = change(profile);
        drop(guard);
        // An entry that is inserted later and names what is new now must find it in every burst.
        self.readers.synchronize();
        changed.map_err(|error| convert::profile_error(name, error))
    }
}

fn weighted(members: &[(u32, u32)]) -> Vec<(MemberId, u32)> {
    members
        .iter()
        .map(|&(member, weight)| (MemberId(member), weight))
        .collect()
}
