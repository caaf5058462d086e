//! Members and groups of action profiles.

use crate::codes::{
    Failure, Family, GRP_STILL_USED, INVALID_ACTION_PROFILE_NAME, INVALID_GRP_HANDLE, INVALID_MBR_HANDLE,
    MBR_ALREADY_IN_GRP, MBR_NOT_IN_GRP, MBR_STILL_USED, NO_ACTION_PROFILE_SELECTION,
};
use crate::key::to_action;
use crate::runtime::{Runtime, update};
use crate::switch::Switch;
use crate::tables::{handle_of, number_of};
use forebay_p4runtime::Code;
use forebay_protocol::p4::config::v1::ActionProfile;
use forebay_protocol::p4::v1::action_profile_group::Member;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{Action, ActionProfileGroup, ActionProfileMember, Entity};
use forebay_shell::catalog::Named;
use std::collections::HashMap;

/// The numbers of the members, or of the groups, of profiles: by profile, where the lowest free one is looked for, so
/// that not all are read for each that is added. One below it that another interface takes away stays free.
#[derive(Debug, Default)]
pub(crate) struct FreeNumbers(HashMap<u32, u32>);

impl FreeNumbers {
    /// The lowest number that is not taken; numbers start at 1.
    ///
    /// # Errors
    /// The error of `is_taken`.
    fn lowest(&mut self, profile: u32, is_taken: impl Fn(u32) -> Result<bool, Failure>) -> Result<u32, Failure> {
        let lowest = self.0.entry(profile).or_insert(1);
        while is_taken(*lowest)? {
            *lowest += 1;
        }
        Ok(*lowest)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn give_back(&mut self, profile: u32, number: u32) {
        if let Some(lowest) = self.0.get_mut(&profile) {
            *lowest = number.min(*lowest);
        }
    }
}

impl<S: Switch> Runtime<S> {
    pub(crate) fn profile(&self, name: &str) -> Result<ActionProfile, Failure> {
        self.named(name, &self.catalog.info.action_profiles, INVALID_ACTION_PROFILE_NAME)
    }

    fn selector(&self, name: &str) -> Result<ActionProfile, Failure> {
        let profile = self.profile(name)?;
        if profile.with_selector {
            Ok(profile)
        } else {
            Err(NO_ACTION_PROFILE_SELECTION.because(format!("`{}` is no action selector", profile.name())))
        }
    }

    fn profile_action(&self, profile: &ActionProfile, name: &str, data: &[Vec<u8>]) -> Result<Action, Failure> {
        let info = self.action_among(&self.catalog.actions_of_profile(profile), name)?;
        to_action(&info, info.id(), data)
    }

    /// Adds a member; gives its handle.
    ///
    /// # Errors
    /// When there is no such profile or action, or the profile is full.
    pub fn add_member(&mut self, profile: &str, action: &str, data: &[Vec<u8>]) -> Result<i32, Failure> {
        let profile = self.profile(profile)?;
        let action = self.profile_action(&profile, action, data)?;
        let is_taken = |number| read_member(&*self.switch, &profile, number).map(|found| found.is_some());
        let member_id = self.free_members.lowest(profile.id(), is_taken)?;
        let member = ActionProfileMember {
            action_profile_id: profile.id(),
            member_id,
            action: Some(action),
        };
        self.write_one(Family::Table, Type::Insert, Kind::ActionProfileMember(member))?;
        Ok(handle_of(member_id))
    }

    /// Changes what a member does.
    ///
    /// # Errors
    /// When there is no such member or action.
    pub fn modify_member(&mut self, profile: &str, handle: i32, action: &str, data: &[Vec<u8>]) -> Result<(), Failure> {
        let profile = self.profile(profile)?;
        let member = ActionProfileMember {
            action_profile_id: profile.id(),
            member_id: number_of(handle),
            action: Some(self.profile_action(&profile, action, data)?),
        };
        self.write_member(Type::Modify, member)
    }

    /// Deletes a member.
    ///
    /// # Errors
    /// When there is none, or an entry or a group uses it.
    pub fn delete_member(&mut self, profile: &str, handle: i32) -> Result<(), Failure> {
        let profile = self.profile(profile)?;
        let member = ActionProfileMember {
            action_profile_id: profile.id(),
            member_id: number_of(handle),
            action: None,
        };
        self.write_member(Type::Delete, member)?;
        self.free_members.give_back(profile.id(), number_of(handle));
        Ok(())
    }

    fn write_member(&self, how: Type, member: ActionProfileMember) -> Result<(), Failure> {
        let updates = [update(how, Kind::ActionProfileMember(member))];
        self.switch.write(&updates).map_err(|error| match error.code {
            Code::NotFound => INVALID_MBR_HANDLE.because(&error.message),
            Code::FailedPrecondition => MBR_STILL_USED.because(&error.message),
            _ => Failure::refused(Family::Table, &error),
        })
    }

    pub(crate) fn members(&self, profile: &ActionProfile) -> Result<Vec<ActionProfileMember>, Failure> {
        let wanted = ActionProfileMember {
            action_profile_id: profile.id(),
            ..ActionProfileMember::default()
        };
        let read = self.read(Family::Table, Kind::ActionProfileMember(wanted))?;
        let members = read.into_iter().filter_map(|kind| match kind {
            Kind::ActionProfileMember(member) => Some(member),
            _ => None,
        });
        Ok(members.collect())
    }

    pub(crate) fn member(&self, profile: &ActionProfile, handle: i32) -> Result<ActionProfileMember, Failure> {
        let found = read_member(&*self.switch, profile, number_of(handle))?;
        found.ok_or_else(|| INVALID_MBR_HANDLE.because(format!("no member has the handle {handle}")))
    }

    pub(crate) fn groups(&self, profile: &ActionProfile) -> Result<Vec<ActionProfileGroup>, Failure> {
        let wanted = ActionProfileGroup {
            action_profile_id: profile.id(),
            ..ActionProfileGroup::default()
        };
        let read = self.read(Family::Table, Kind::ActionProfileGroup(wanted))?;
        let groups = read.into_iter().filter_map(|kind| match kind {
            Kind::ActionProfileGroup(group) => Some(group),
            _ => None,
        });
        Ok(groups.collect())
    }

    pub(crate) fn group(&self, profile: &ActionProfile, handle: i32) -> Result<ActionProfileGroup, Failure> {
        let found = read_group(&*self.switch, profile, number_of(handle))?;
        found.ok_or_else(|| INVALID_GRP_HANDLE.because(format!("no group has the handle {handle}")))
    }

    /// Adds an empty group; gives its handle.
    ///
    /// # Errors
    /// When there is no such selector.
    pub fn create_group(&mut self, profile: &str) -> Result<i32, Failure> {
        let profile = self.selector(profile)?;
        let is_taken = |number| read_group(&*self.switch, &profile, number).map(|found| found.is_some());
        let group_id = self.free_groups.lowest(profile.id(), is_taken)?;
        let group = ActionProfileGroup {
            action_profile_id: profile.id(),
            group_id,
            ..ActionProfileGroup::default()
        };
        self.write_one(Family::Table, Type::Insert, Kind::ActionProfileGroup(group))?;
        Ok(handle_of(group_id))
    }

    /// Deletes a group.
    ///
    /// # Errors
    /// When there is none, or an entry uses it.
    pub fn delete_group(&mut self, profile: &str, handle: i32) -> Result<(), Failure> {
        let profile = self.selector(profile)?;
        let group = self.group(&profile, handle)?;
        let updates = [update(Type::Delete, Kind::ActionProfileGroup(group))];
        self.switch.write(&updates).map_err(|error| match error.code {
            Code::FailedPrecondition => GRP_STILL_USED.because(&error.message),
            _ => Failure::refused(Family::Table, &error),
        })?;
        self.free_groups.give_back(profile.id(), number_of(handle));
        Ok(())
    }

    /// Adds a member to a group.
    ///
    /// # Errors
    /// When there is no such member or group, or it is in it already.
    pub fn add_to_group(&mut self, profile: &str, member: i32, group: i32) -> Result<(), Failure> {
        let profile = self.selector(profile)?;
        let mut changed = self.group(&profile, group)?;
        let member_id = number_of(member);
        if changed.members.iter().any(|known| known.member_id == member_id) {
            return Err(MBR_ALREADY_IN_GRP.because(format!("member {member} is in group {group}")));
        }
        self.member(&profile, member)?;
        changed.members.push(Member {
            member_id,
            weight: 1,
            watch_kind: None,
        });
        self.write_one(Family::Table, Type::Modify, Kind::ActionProfileGroup(changed))
    }

    /// Takes a member out of a group.
    ///
    /// # Errors
    /// When it is not in it.
    pub fn remove_from_group(&mut self, profile: &str, member: i32, group: i32) -> Result<(), Failure> {
        let profile = self.selector(profile)?;
        let mut changed = self.group(&profile, group)?;
        let members = changed.members.len();
        changed.members.retain(|known| known.member_id != number_of(member));
        if changed.members.len() == members {
            return Err(MBR_NOT_IN_GRP.because(format!("member {member} is not in group {group}")));
        }
        self.write_one(Family::Table, Type::Modify, Kind::ActionProfileGroup(changed))
    }
}

/// The member of this number, if there is one.
fn read_member(
    switch: &impl Switch,
    profile: &ActionProfile,
    member_id: u32,
) -> Result<Option<ActionProfileMember>, Failure> {
    let wanted = ActionProfileMember {
        action_profile_id: profile.id(),
        member_id,
        action: None,
    };
    let read = read_numbered(switch, member_id, Kind::ActionProfileMember(wanted))?;
    Ok(read.and_then(|kind| match kind {
        Kind::ActionProfileMember(member) => Some(member),
        _ => None,
    }))
}

/// The group of this number, if there is one.
fn read_group(
    switch: &impl Switch,
    profile: &ActionProfile,
    group_id: u32,
) -> Result<Option<ActionProfileGroup>, Failure> {
    let wanted = ActionProfileGroup {
        action_profile_id: profile.id(),
        group_id,
        ..ActionProfileGroup::default()
    };
    let read = read_numbered(switch, group_id, Kind::ActionProfileGroup(wanted))?;
    Ok(read.and_then(|kind| match kind {
        Kind::ActionProfileGroup(group) => Some(group),
        _ => None,
    }))
}

/// What has this number, which is that of `wanted`: 0, which nothing has, would mean all there.
fn read_numbered(switch: &impl Switch, number: u32, wanted: Kind) -> Result<Option<Kind>, Failure> {
    if number == 0 {
        return Ok(None);
    }
    match switch.read(&[Entity { entity: Some(wanted) }]) {
        Ok(read) => Ok(read.into_iter().find_map(|entity| entity.entity)),
        Err(error) if error.code == Code::NotFound => Ok(None),
        Err(error) => Err(Failure::refused(Family::Table, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn the_lowest_free_number_is_taken() {
        let cases: [(&[u32], u32); 4] = [(&[], 1), (&[1, 2, 4], 3), (&[2], 1), (&[1, 2], 3)];
        for (taken, lowest) in cases {
            let found = FreeNumbers::default().lowest(1, |number| Ok(taken.contains(&number)));
            assert_eq!(found, Ok(lowest), "{taken:?}");
        }
    }

    /// Thousands of members are made one by one.
    #[test]
    fn numbers_that_were_taken_are_not_asked_for_again() {
        let mut free = FreeNumbers::default();
        let asked = RefCell::new(Vec::new());
        let lowest = |free: &mut FreeNumbers, taken: u32| {
            asked.borrow_mut().clear();
            let found = free.lowest(1, |number| {
                asked.borrow_mut().push(number);
                Ok(number <= taken)
            });
            (found, asked.borrow().clone())
        };
        assert_eq!(lowest(&mut free, 0), (Ok(1), vec![1]));
        assert_eq!(lowest(&mut free, 1), (Ok(2), vec![1, 2]));
        assert_eq!(lowest(&mut free, 2), (Ok(3), vec![2, 3]));
        free.give_back(1, 2);
        assert_eq!(lowest(&mut free, 1), (Ok(2), vec![2]));
        free.give_back(1, 7);
        assert_eq!(lowest(&mut free, 2), (Ok(3), vec![2, 3]));
    }
}
