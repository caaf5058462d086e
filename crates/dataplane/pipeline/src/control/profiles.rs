//! Action profiles and selectors: members and groups.

use crate::control::convert;
use crate::control::names::resolve;
use crate::control::{Batch, EntryAction};
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use forebay_bits::Bits;
use forebay_ir::{ActionProfileId, TableId};
use forebay_tables::{ActionCall, ActionProfile, GroupId, MemberId, ProfileError};
use std::sync::Arc;

impl Pipeline {
    /// The action profile that a name denotes.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn action_profile(&self, name: &str) -> Result<&forebay_ir::ActionProfile, ControlError> {
        Ok(&self.program.action_profiles[self.profile_id(name)?.index()])
    }

    /// Adds a member to an action profile.
    ///
    /// # Errors
    /// When there is no such profile, it has this member already or is full, no table uses it, or its tables have no
    /// such action with such arguments for entries.
    pub fn insert_member(&self, profile: &str, member: u32, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        self.batch(|batch| batch.insert_member(profile, member, action, args))
    }

    /// Changes a member's action.
    ///
    /// # Errors
    /// When there is no such profile or member, or the profile's tables have no such action with such arguments for
    /// entries.
    pub fn modify_member(&self, profile: &str, member: u32, action: &str, args: &[Bits]) -> Result<(), ControlError> {
        self.batch(|batch| batch.modify_member(profile, member, action, args))
    }

    /// Removes a member that neither an entry nor a group uses.
    ///
    /// # Errors
    /// When there is no such profile or member, or the member is in use.
    pub fn delete_member(&self, profile: &str, member: u32) -> Result<(), ControlError> {
        self.batch(|batch| batch.delete_member(profile, member))
    }

    /// Adds a group of members with their weights to an action selector.
    ///
    /// # Errors
    /// When there is no such profile, it has no selector or has this group already, a member does not exist, is named
    /// twice or has the weight 0, or the weights add up to too much.
    pub fn insert_group(&self, profile: &str, group: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        self.batch(|batch| batch.insert_group(profile, group, members))
    }

    /// Changes a group's members.
    ///
    /// # Errors
    /// When there is no such profile or group, a member does not exist, is named twice or has the weight 0, or the
    /// weights add up to too much.
    pub fn modify_group(&self, profile: &str, group: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        self.batch(|batch| batch.modify_group(profile, group, members))
    }

    /// Removes a group that no entry uses.
    ///
    /// # Errors
    /// When there is no such profile or group, or the group is in use.
    pub fn delete_group(&self, profile: &str, group: u32) -> Result<(), ControlError> {
        self.batch(|batch| batch.delete_group(profile, group))
    }

    /// The members of an action profile in order of their numbers.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn members(&self, profile: &str) -> Result<Vec<(u32, EntryAction)>, ControlError> {
        let id = self.profile_id(profile)?;
        let snapshot = self.snapshot();
        let members = snapshot.profiles[id.index()].members();
        Ok(members
            .map(|(member, call)| (member.0, convert::call_to_control(&self.program, call)))
            .collect())
    }

    /// The members of a group with their weights.
    ///
    /// # Errors
    /// When there is no such profile or group.
    pub fn group(&self, profile: &str, group: u32) -> Result<Vec<(u32, u32)>, ControlError> {
        let id = self.profile_id(profile)?;
        let members = self.snapshot().profiles[id.index()].group(GroupId(group));
        let name = &self.program.action_profiles[id.index()].name;
        let members = members.ok_or_else(|| convert::profile_error(name, ProfileError::NoGroup(GroupId(group))))?;
        Ok(members.into_iter().map(|(member, weight)| (member.0, weight)).collect())
    }

    /// The numbers of a selector's groups, in order.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn groups(&self, profile: &str) -> Result<Vec<u32>, ControlError> {
        let id = self.profile_id(profile)?;
        let mut groups: Vec<u32> = self.snapshot().profiles[id.index()]
            .groups()
            .map(|group| group.0)
            .collect();
        groups.sort_unstable();
        Ok(groups)
    }

    fn profile_id(&self, name: &str) -> Result<ActionProfileId, ControlError> {
        let names = self.program.action_profiles.iter().map(|profile| profile.name.as_str());
        resolve(ObjectKind::ActionProfile, name, names).map(|index| ActionProfileId(index as u32))
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
}

impl Batch<'_> {
    /// See [`Pipeline::insert_member`].
    pub fn insert_member(
        &mut self,
        profile: &str,
        member: u32,
        action: &str,
        args: &[Bits],
    ) -> Result<(), ControlError> {
        let call = self.member_call(profile, action, args)?;
        self.change_profile(profile, |profile| profile.insert_member(MemberId(member), call))
    }

    /// See [`Pipeline::modify_member`].
    pub fn modify_member(
        &mut self,
        profile: &str,
        member: u32,
        action: &str,
        args: &[Bits],
    ) -> Result<(), ControlError> {
        let call = self.member_call(profile, action, args)?;
        self.change_profile(profile, |profile| profile.modify_member(MemberId(member), call))
    }

    /// See [`Pipeline::delete_member`].
    pub fn delete_member(&mut self, profile: &str, member: u32) -> Result<(), ControlError> {
        self.change_profile(profile, |profile| profile.delete_member(MemberId(member)))
    }

    /// See [`Pipeline::insert_group`].
    pub fn insert_group(&mut self, profile: &str, group: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        self.pipeline.check_selector(profile)?;
        let members = weighted(members);
        self.change_profile(profile, |profile| profile.insert_group(GroupId(group), &members))
    }

    /// See [`Pipeline::modify_group`].
    pub fn modify_group(&mut self, profile: &str, group: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        let members = weighted(members);
        self.change_profile(profile, |profile| profile.modify_group(GroupId(group), &members))
    }

    /// Gives a group other members, of which `weights` names those that it picks. The `former` ones are removed in the
    /// same step, so that there need not be room for both.
    ///
    /// # Errors
    /// When there is no room for the new members, or a member, a group or a weight cannot be; nothing changes then.
    pub fn exchange_members<'c>(
        &mut self,
        profile: &str,
        group: u32,
        former: &[u32],
        members: impl Iterator<Item = (u32, &'c str, &'c [Bits])>,
        weights: &[(u32, u32)],
    ) -> Result<(), ControlError> {
        let mut calls = Vec::new();
        for (member, action, args) in members {
            calls.push((MemberId(member), self.member_call(profile, action, args)?));
        }
        let former: Vec<MemberId> = former.iter().copied().map(MemberId).collect();
        let weights = weighted(weights);
        self.change_profile(profile, |profile| {
            profile.exchange_members(GroupId(group), &former, calls, &weights)
        })
    }

    /// See [`Pipeline::delete_group`].
    pub fn delete_group(&mut self, profile: &str, group: u32) -> Result<(), ControlError> {
        self.change_profile(profile, |profile| profile.delete_group(GroupId(group)))
    }

    /// The call of a member, checked against the actions of the first table that uses the profile.
    fn member_call(&self, profile: &str, action: &str, args: &[Bits]) -> Result<ActionCall, ControlError> {
        let id = self.pipeline.profile_id(profile)?;
        let program = &self.pipeline.program;
        let tables = program.tables.iter().zip(0..);
        let mut users = tables.filter(|(table, _)| table.implementation == Some(id));
        let Some((declared, index)) = users.next() else {
            let name = program.action_profiles[id.index()].name.clone();
            return Err(ControlError::Unsuitable {
                name,
                expected: "is used by no table, so it can have no members",
            });
        };
        let call = convert::call_by_name(program, declared, action, args)?;
        let checked = self.table(TableId(index)).check_entry_call(&call);
        checked.map_err(|error| convert::action_error(program, declared, error))?;
        Ok(call)
    }

    fn change_profile(
        &mut self,
        profile: &str,
        change: impl FnOnce(&mut ActionProfile) -> Result<(), ProfileError>,
    ) -> Result<(), ControlError> {
        let id = self.pipeline.profile_id(profile)?;
        let name = &self.pipeline.program.action_profiles[id.index()].name;
        self.change(|snapshot| change(Arc::make_mut(&mut snapshot.profiles[id.index()])))
            .map_err(|error| convert::profile_error(name, error))
    }
}

fn weighted(members: &[(u32, u32)]) -> Vec<(MemberId, u32)> {
    members
        .iter()
        .map(|&(member, weight)| (MemberId(member), weight))
        .collect()
}
