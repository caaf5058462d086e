//! One-shot action selectors (P4Runtime §9.2.3): an entry that brings its group and members with it.
//!
//! In the pipeline they are members and a group with numbers of their own; reads give back what was written. A selector
//! is used either with one-shots or with members and groups, never with both, so that numbers cannot meet.

use super::{action, group};
use crate::change::Change;
use crate::ledger::OneShot;
use crate::ports::{PortReader, Ports};
use crate::schema::dictionary::Dictionary;
use crate::schema::{ProfileSchema, TableSchema, find};
use crate::status::Error;
use forebay_protocol::p4::v1::ActionProfileActionSet;
use forebay_protocol::p4::v1::action_profile_action::WatchKind;
use forebay_protocol::p4::v1::action_profile_action_set::{ActionSelectionMode, SizeSemantics};

/// That a selector cannot be used in both ways.
pub(crate) fn mixed(profile: &str) -> Error {
    Error::invalid(format!(
        "`{profile}` is used either with sets of actions in its tables' entries, or with members and groups; not with both"
    ))
}

/// That an entry can name one member only.
pub(crate) fn without_selector(profile: &ProfileSchema) -> Error {
    Error::invalid(format!(
        "`{}` is an action profile without selector: an entry names one member",
        profile.name
    ))
}

/// Makes the members and the group.
pub(crate) fn insert(
    change: &mut Change<'_, '_>,
    table: &TableSchema,
    profile_id: u32,
    set: &ActionProfileActionSet,
) -> Result<OneShot, Error> {
    let (profile, calls) = calls(change, table, profile_id, set)?;
    let names = change.schema.port_names();
    let numbers = change.ledger.take_hidden(1 + calls.len());
    let mut one_shot = OneShot {
        set: canonical(names, set),
        group: numbers[0],
        members: Vec::new(),
    };
    let (ports, read) = (change.writer.ports, group::port_reader(change.writer));
    live_members(ports, names, profile, set, &vec![0; calls.len()], read)?;
    for (call, member) in calls.iter().zip(numbers[1..].iter().copied()) {
        let inserted = change
            .batch
            .insert_member(&profile.name, member, &call.action, &call.args);
        if let Err(error) = inserted {
            remove_members(change, &profile.name, &one_shot)?;
            return Err(error.into());
        }
        one_shot.members.push(member);
    }
    let live = live_members(ports, names, profile, set, &one_shot.members, read)?;
    if let Err(error) = change.batch.insert_group(&profile.name, one_shot.group, &live) {
        remove_members(change, &profile.name, &one_shot)?;
        return Err(error.into());
    }
    change.ledger.count_one_shot(profile_id, 1);
    Ok(one_shot)
}

/// Gives the group of an entry other members. There need not be room for them beside those of before.
pub(crate) fn modify(
    change: &mut Change<'_, '_>,
    table: &TableSchema,
    profile_id: u32,
    before: &OneShot,
    set: &ActionProfileActionSet,
) -> Result<OneShot, Error> {
    let (profile, calls) = calls(change, table, profile_id, set)?;
    let names = change.schema.port_names();
    let members = change.ledger.take_hidden(calls.len());
    let (ports, read) = (change.writer.ports, group::port_reader(change.writer));
    let live = live_members(ports, names, profile, set, &members, read)?;
    let new = members.iter().zip(&calls);
    let new = new.map(|(member, call)| (*member, call.action.as_str(), call.args.as_slice()));
    change
        .batch
        .exchange_members(&profile.name, before.group, &before.members, new, &live)?;
    Ok(OneShot {
        set: canonical(names, set),
        group: before.group,
        members,
    })
}

/// The selector, and what a set does there.
fn calls<'a>(
    change: &Change<'a, '_>,
    table: &TableSchema,
    profile_id: u32,
    set: &ActionProfileActionSet,
) -> Result<(&'a ProfileSchema, Vec<action::Call>), Error> {
    let profile = find(&change.schema.profiles, profile_id, "action profile")?;
    if !profile.has_selector {
        return Err(without_selector(profile));
    }
    let has_others = change.ledger.has_members(profile_id) || change.ledger.has_groups(profile_id);
    if has_others && !change.writer.writes_again {
        return Err(mixed(&profile.name));
    }
    check(profile, set)?;
    let calls = set.action_profile_actions.iter().map(|listed| {
        let written = listed.action.as_ref();
        let written = written.ok_or_else(|| Error::invalid(format!("`{}`: an action is missing", profile.name)))?;
        action::read(change, table, written, action::Use::Entry)
    });
    Ok((profile, calls.collect::<Result<Vec<_>, Error>>()?))
}

/// The set as it is read: watch ports in their shortest form.
fn canonical(names: Option<&Dictionary>, set: &ActionProfileActionSet) -> ActionProfileActionSet {
    let mut set = set.clone();
    for listed in &mut set.action_profile_actions {
        if let Some(WatchKind::WatchPort(port)) = &mut listed.watch_kind {
            *port = Ports::shortest(names, port);
        }
    }
    set
}

/// Removes the group and the members; no entry names the group any more.
pub(crate) fn delete(change: &mut Change<'_, '_>, profile_id: u32, one_shot: &OneShot) -> Result<(), Error> {
    let profile = find(&change.schema.profiles, profile_id, "action profile")?;
    change.batch.delete_group(&profile.name, one_shot.group)?;
    change.ledger.count_one_shot(profile_id, -1);
    remove_members(change, &profile.name, one_shot)
}

fn remove_members(change: &mut Change<'_, '_>, profile: &str, one_shot: &OneShot) -> Result<(), Error> {
    let mut members = one_shot.members.iter();
    members.try_for_each(|member| Ok(change.batch.delete_member(profile, *member)?))
}

fn check(profile: &ProfileSchema, set: &ActionProfileActionSet) -> Result<(), Error> {
    let (mode, semantics) = (set.action_selection_mode, set.size_semantics);
    if ActionSelectionMode::try_from(mode).is_err() {
        let message = format!("`{}`: there is no action_selection_mode {mode}", profile.name);
        return Err(Error::invalid(message));
    }
    if SizeSemantics::try_from(semantics).is_err() {
        let message = format!("`{}`: there is no size_semantics {semantics}", profile.name);
        return Err(Error::invalid(message));
    }
    let unimplemented = |what: &str| Err(Error::unimplemented(format!("`{}`: {what}", profile.name)));
    if set.action_selection_mode() == ActionSelectionMode::Random {
        return unimplemented("a member is picked by a hash, not at random");
    }
    if set.group_action.is_some() {
        return unimplemented("a group has no action of its own");
    }
    let actions = &set.action_profile_actions;
    actions
        .iter()
        .try_for_each(|listed| group::check_weight(profile, listed.weight))?;
    let weights = actions.iter().map(|listed| listed.weight);
    group::check_total(profile, weights.clone())?;
    let size = match set.size_semantics() {
        SizeSemantics::DefaultSizeDeterminedByActionSelector => group::group_size(profile, weights),
        SizeSemantics::SumOfMembers => weights.count() as i64,
        SizeSemantics::SumOfWeights => group::sum_of_weights(weights),
    };
    match profile.max_group_size {
        limit @ 1.. if size > i64::from(limit) => Err(Error::invalid(format!(
            "`{}`: a group has a size of at most {limit}, not {size}",
            profile.name
        ))),
        _ => Ok(()),
    }
}

/// Members with weights, without those whose watch port is down.
pub(crate) fn live_members(
    ports: &Ports,
    names: Option<&Dictionary>,
    profile: &ProfileSchema,
    set: &ActionProfileActionSet,
    members: &[u32],
    read: PortReader,
) -> Result<Vec<(u32, u32)>, Error> {
    let mut live = Vec::with_capacity(members.len());
    for (listed, member) in set.action_profile_actions.iter().zip(members) {
        let watch = listed.watch_kind.as_ref();
        let is_up = match group::watched_by_one_shot(ports, names, profile, watch, read)? {
            Some(port) => ports.is_up(port),
            None => true,
        };
        if is_up {
            live.push((*member, listed.weight.max(1) as u32));
        }
    }
    Ok(live)
}
