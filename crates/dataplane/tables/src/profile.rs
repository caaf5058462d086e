//! Action profiles and selectors: actions shared by the entries of tables.
//!
//! A *member* is an action with its data. An entry of a table with an action profile names a member. With an action
//! selector it may also name a *group*, from which a hash over the table's selector fields selects a member, in
//! proportion to the members' weights (P4Runtime §9.2). Several tables may share one profile.
//!
//! Members of a group are ordered by their ids, as in BMv2. Member `i` of weight `w` owns `w` consecutive places of
//! the `total weight` places. A hash selects place `hash mod total`. With weights of 1 this is BMv2's choice.
//!
//! # References
//!
//! A profile does not see the tables that use it. A caller that adds a table entry must call
//! [`ActionProfile::acquire`] for the member or group that the entry names, and [`ActionProfile::release`] when the
//! entry is removed. A member or group that is named cannot be deleted.

use std::collections::BTreeMap;
use std::fmt;

use crate::entry::{ActionCall, ActionRef, EntryAction, GroupId, MemberId};
use crate::shards::Shards;

/// Why a profile was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// The profile holds as many members as it can.
    ProfileFull {
        /// The largest number of members.
        size: usize,
    },
    /// There is already a member with this id.
    DuplicateMember(MemberId),
    /// There is already a group with this id.
    DuplicateGroup(GroupId),
    /// There is no such member.
    NoMember(MemberId),
    /// There is no such group.
    NoGroup(GroupId),
    /// A table entry or a group names the member.
    MemberInUse(MemberId),
    /// A table entry names the group.
    GroupInUse(GroupId),
    /// A group names a member twice.
    RepeatedMember(MemberId),
    /// A weight is zero.
    ZeroWeight(MemberId),
    /// The weights of a group add up to more than a group may have.
    GroupTooLarge {
        /// The sum of the weights.
        weight: u64,
        /// The largest sum.
        limit: u64,
    },
}

impl fmt::Display for ProfileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::ProfileFull { size } => {
                write!(formatter, "the action profile is full: its size is {size}")
            }
            ProfileError::DuplicateMember(id) => write!(formatter, "member {id} exists already"),
            ProfileError::DuplicateGroup(id) => write!(formatter, "group {id} exists already"),
            ProfileError::NoMember(id) => write!(formatter, "there is no member {id}"),
            ProfileError::NoGroup(id) => write!(formatter, "there is no group {id}"),
            ProfileError::MemberInUse(id) => write!(formatter, "member {id} is in use"),
            ProfileError::GroupInUse(id) => write!(formatter, "group {id} is in use"),
            ProfileError::RepeatedMember(id) => {
                write!(formatter, "the group names member {id} twice")
            }
            ProfileError::ZeroWeight(id) => write!(formatter, "the weight of member {id} is zero"),
            ProfileError::GroupTooLarge { weight, limit } => {
                write!(formatter, "the group's weights add up to {weight}, more than {limit}")
            }
        }
    }
}

impl std::error::Error for ProfileError {}

/// A member and its references from entries and groups.
#[derive(Clone, Debug)]
struct Member {
    call: ActionCall,
    references: usize,
}

/// A group and its references from entries.
#[derive(Clone, Debug, Default)]
struct Group {
    /// In order of member ids, each with the sum of the weights up to and including its own.
    places: Vec<(u64, MemberId)>,
    references: usize,
}

impl Group {
    fn total_weight(&self) -> u64 {
        self.places.last().map_or(0, |&(end, _)| end)
    }

    fn member_at(&self, hash: u64) -> Option<MemberId> {
        let place = hash.checked_rem(self.total_weight())?;
        let index = self.places.partition_point(|&(end, _)| end <= place);
        Some(self.places[index].1)
    }

    fn weights(&self) -> impl Iterator<Item = (MemberId, u32)> {
        let starts = std::iter::once(0).chain(self.places.iter().map(|&(end, _)| end));
        self.places
            .iter()
            .zip(starts)
            .map(|(&(end, member), start)| (member, (end - start) as u32))
    }
}

/// An action profile, or an action selector when it has groups. A copy shares members and groups that are not changed
/// afterwards.
#[derive(Clone, Debug)]
pub struct ActionProfile {
    size: usize,
    max_group_weight: u64,
    members: Shards<Member>,
    groups: Shards<Group>,
    /// By number of the table.
    defaults: BTreeMap<u32, EntryAction>,
}

impl ActionProfile {
    /// A profile for at most `size` members, whose groups may have weights that add up to
    /// `max_group_weight`.
    pub fn new(size: usize, max_group_weight: u64) -> ActionProfile {
        ActionProfile {
            size,
            max_group_weight,
            members: Shards::new(),
            groups: Shards::new(),
            defaults: BTreeMap::new(),
        }
    }

    /// Adds a member. The caller must have checked the call for the tables that use the profile
    /// ([`Table::check_entry_call`](crate::Table::check_entry_call)).
    ///
    /// # Errors
    /// When there is such a member already, or the profile is full.
    pub fn insert_member(&mut self, id: MemberId, call: ActionCall) -> Result<(), ProfileError> {
        if self.members.contains(id.0) {
            return Err(ProfileError::DuplicateMember(id));
        }
        if self.members.len() >= self.size {
            return Err(ProfileError::ProfileFull { size: self.size });
        }
        let references = 0;
        self.members.insert(id.0, Member { call, references });
        Ok(())
    }

    /// Gives a member another action.
    ///
    /// # Errors
    /// When there is no such member.
    pub fn modify_member(&mut self, id: MemberId, call: ActionCall) -> Result<(), ProfileError> {
        self.member_mut(id)?.call = call;
        Ok(())
    }

    /// Removes a member that is not in use.
    ///
    /// # Errors
    /// When there is no such member, or an entry or a group names it.
    pub fn delete_member(&mut self, id: MemberId) -> Result<(), ProfileError> {
        if self.member_mut(id)?.references > 0 {
            return Err(ProfileError::MemberInUse(id));
        }
        self.members.remove(id.0);
        Ok(())
    }

    /// The action of a member.
    pub fn member(&self, id: MemberId) -> Option<&ActionCall> {
        self.members.get(id.0).map(|member| &member.call)
    }

    /// All members in order of their ids.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, &ActionCall)> {
        self.members.iter().map(|(id, member)| (MemberId(id), &member.call))
    }

    /// Adds a group of members with their weights; it may be empty.
    ///
    /// # Errors
    /// When there is such a group already, a member does not exist, is named twice or has the weight 0, or the weights
    /// add up to too much.
    pub fn insert_group(&mut self, id: GroupId, members: &[(MemberId, u32)]) -> Result<(), ProfileError> {
        if self.groups.contains(id.0) {
            return Err(ProfileError::DuplicateGroup(id));
        }
        let places = self.places(members)?;
        self.count_references(&places);
        let references = 0;
        self.groups.insert(id.0, Group { places, references });
        Ok(())
    }

    /// Replaces the members of a group.
    ///
    /// # Errors
    /// When there is no such group, a member does not exist, is named twice or has the weight 0, or the weights add up
    /// to too much.
    pub fn modify_group(&mut self, id: GroupId, members: &[(MemberId, u32)]) -> Result<(), ProfileError> {
        self.group_mut(id)?;
        let places = self.places(members)?;
        self.count_references(&places);
        let former = std::mem::replace(&mut self.group_mut(id)?.places, places);
        self.discount_references(&former);
        Ok(())
    }

    /// Gives a group other members. Those of before, which nothing else may name, are removed in the same step, so that
    /// there need not be room for both. An error changes nothing.
    ///
    /// # Errors
    /// When there is no such group, a former member is still named by something else, or a new one cannot be added or
    /// named by the group.
    pub fn exchange_members(
        &mut self,
        id: GroupId,
        former: &[MemberId],
        members: Vec<(MemberId, ActionCall)>,
        weights: &[(MemberId, u32)],
    ) -> Result<(), ProfileError> {
        let mut changed = self.clone();
        changed.modify_group(id, &[])?;
        for member in former {
            changed.delete_member(*member)?;
        }
        for (member, call) in members {
            changed.insert_member(member, call)?;
        }
        changed.modify_group(id, weights)?;
        *self = changed;
        Ok(())
    }

    /// Removes a group that is not in use.
    ///
    /// # Errors
    /// When there is no such group, or an entry names it.
    pub fn delete_group(&mut self, id: GroupId) -> Result<(), ProfileError> {
        let group = self.group_mut(id)?;
        if group.references > 0 {
            return Err(ProfileError::GroupInUse(id));
        }
        let former = std::mem::take(&mut group.places);
        self.discount_references(&former);
        self.groups.remove(id.0);
        Ok(())
    }

    /// The members of a group with their weights, in order of their ids.
    pub fn group(&self, id: GroupId) -> Option<Vec<(MemberId, u32)>> {
        Some(self.groups.get(id.0)?.weights().collect())
    }

    /// The ids of all groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = GroupId> {
        self.groups.iter().map(|(id, _)| GroupId(id))
    }

    /// The member of a group that a hash selects, or `None` when the group is empty or unknown.
    pub fn select(&self, group: GroupId, hash: u64) -> Option<MemberId> {
        self.groups.get(group.0)?.member_at(hash)
    }

    /// The call for a look-up's action. `None` when the action names an empty group, or a member or group that does
    /// not exist; the packet then gets no action.
    pub fn resolve<'a>(&'a self, action: ActionRef<'a>, hash: u64) -> Option<&'a ActionCall> {
        match action {
            ActionRef::Call(call) => Some(call),
            ActionRef::Member(member) => self.member(member),
            ActionRef::Group(group) => self.member(self.select(group, hash)?),
        }
    }

    /// The member or group for packets that miss in this table; without one they get the table's default action.
    pub fn default_of(&self, table: u32) -> Option<&EntryAction> {
        self.defaults.get(&table)
    }

    /// Changes the member or group for packets that miss in this table. It cannot be deleted meanwhile.
    ///
    /// # Errors
    /// When there is no such member or group.
    pub fn set_default(&mut self, table: u32, action: Option<EntryAction>) -> Result<(), ProfileError> {
        if let Some(action) = &action {
            self.acquire(action.as_ref())?;
        }
        let former = match action {
            Some(action) => self.defaults.insert(table, action),
            None => self.defaults.remove(&table),
        };
        if let Some(former) = former {
            self.release(former.as_ref());
        }
        Ok(())
    }

    /// Records that a table entry names this member or group.
    ///
    /// # Errors
    /// When there is no such member or group.
    pub fn acquire(&mut self, action: ActionRef<'_>) -> Result<(), ProfileError> {
        match action {
            ActionRef::Call(_) => {}
            ActionRef::Member(id) => self.member_mut(id)?.references += 1,
            ActionRef::Group(id) => self.group_mut(id)?.references += 1,
        }
        Ok(())
    }

    /// Undoes one [`ActionProfile::acquire`].
    pub fn release(&mut self, action: ActionRef<'_>) {
        let references = match action {
            ActionRef::Call(_) => None,
            ActionRef::Member(id) => self.members.get_mut(id.0).map(|m| &mut m.references),
            ActionRef::Group(id) => self.groups.get_mut(id.0).map(|g| &mut g.references),
        };
        if let Some(references) = references {
            *references = references.saturating_sub(1);
        }
    }

    /// Sorts a group's members and adds up their weights.
    fn places(&self, members: &[(MemberId, u32)]) -> Result<Vec<(u64, MemberId)>, ProfileError> {
        let mut sorted = BTreeMap::new();
        for &(id, weight) in members {
            if !self.members.contains(id.0) {
                return Err(ProfileError::NoMember(id));
            }
            if weight == 0 {
                return Err(ProfileError::ZeroWeight(id));
            }
            if sorted.insert(id, weight).is_some() {
                return Err(ProfileError::RepeatedMember(id));
            }
        }
        let mut end = 0;
        let places = sorted
            .into_iter()
            .map(|(id, weight)| {
                end += u64::from(weight);
                (end, id)
            })
            .collect();
        if end > self.max_group_weight {
            return Err(ProfileError::GroupTooLarge {
                weight: end,
                limit: self.max_group_weight,
            });
        }
        Ok(places)
    }

    fn count_references(&mut self, places: &[(u64, MemberId)]) {
        for (_, id) in places {
            if let Some(member) = self.members.get_mut(id.0) {
                member.references += 1;
            }
        }
    }

    fn discount_references(&mut self, places: &[(u64, MemberId)]) {
        for &(_, id) in places {
            self.release(ActionRef::Member(id));
        }
    }

    fn member_mut(&mut self, id: MemberId) -> Result<&mut Member, ProfileError> {
        self.members.get_mut(id.0).ok_or(ProfileError::NoMember(id))
    }

    fn group_mut(&mut self, id: GroupId) -> Result<&mut Group, ProfileError> {
        self.groups.get_mut(id.0).ok_or(ProfileError::NoGroup(id))
    }
}
