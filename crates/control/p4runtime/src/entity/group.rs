//! Groups of action selectors (P4Runtime §9.2.2).
//!
//! The pipeline has of a group only those members whose watch ports are up; the ledger has all. When a port goes down
//! or comes up, [`refresh`] brings the pipeline up to date. A group all of whose members are down is empty: packets
//! that hit it run no action.

use super::{member, one_shot};
use crate::change::{Change, Writer};
use crate::ledger::{Ledger, OneShot};
use crate::ports::{PortReader, Ports};
use crate::schema::dictionary::Dictionary;
use crate::schema::{ProfileSchema, Schema, find};
use crate::status::Error;
use forebay_pipeline::{Batch, GROUP_WEIGHT_MAX};
use forebay_protocol::p4::v1::ActionProfileGroup;
use forebay_protocol::p4::v1::action_profile_action::WatchKind as OneShotWatch;
use forebay_protocol::p4::v1::action_profile_group::Member;
use forebay_protocol::p4::v1::action_profile_group::member::WatchKind;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;
use std::collections::BTreeSet;

/// Adds, changes or removes a group.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, group: &ActionProfileGroup) -> Result<(), Error> {
    let profile = find(&change.schema.profiles, group.action_profile_id, "action profile")?;
    if !profile.has_selector {
        return Err(Error::invalid(format!(
            "`{}` is an action profile without selector: it has members, but no groups",
            profile.name
        )));
    }
    member::check_number(change, profile, "group", group.group_id)?;
    if change.ledger.has_one_shots(group.action_profile_id) {
        return Err(one_shot::mixed(&profile.name));
    }
    let key = (group.action_profile_id, group.group_id);
    if how == Type::Delete {
        change.batch.delete_group(&profile.name, group.group_id)?;
        change.ledger.groups_mut().remove(&key);
        return Ok(());
    }
    check_presence(profile, how, group, change.ledger.groups().get(&key))?;
    check(change, profile, group)?;
    let names = change.schema.port_names();
    let live = live_members(change.writer.ports, names, profile, group, port_reader(change.writer))?;
    match how {
        Type::Insert => change.batch.insert_group(&profile.name, group.group_id, &live)?,
        _ => change.batch.modify_group(&profile.name, group.group_id, &live)?,
    }
    let mut group = group.clone();
    for member in &mut group.members {
        if let Some(WatchKind::WatchPort(port)) = &mut member.watch_kind {
            *port = Ports::shortest(names, port);
        }
    }
    change.ledger.groups_mut().insert(key, group);
    Ok(())
}

/// Refuses a group that is there already, or is not, or has another size.
fn check_presence(
    profile: &ProfileSchema,
    how: Type,
    group: &ActionProfileGroup,
    before: Option<&ActionProfileGroup>,
) -> Result<(), Error> {
    let (name, number) = (&profile.name, group.group_id);
    match (how, before) {
        (Type::Insert, Some(_)) => Err(Error::already_exists(format!("`{name}` has already group {number}"))),
        (Type::Modify, None) => Err(Error::not_found(format!("`{name}` has no group {number}"))),
        (Type::Modify, Some(before)) if before.max_size != group.max_size => Err(Error::invalid(format!(
            "`{name}`: group {number} was made with max_size {}, which cannot be changed",
            before.max_size
        ))),
        _ => Ok(()),
    }
}

fn check(change: &Change<'_, '_>, profile: &ProfileSchema, group: &ActionProfileGroup) -> Result<(), Error> {
    let invalid = |problem: String| {
        Err(Error::invalid(format!(
            "`{}`: group {} {problem}",
            profile.name, group.group_id
        )))
    };
    let (limit, size) = (profile.max_group_size, group.max_size);
    if size < 0 || (limit > 0 && size > limit) {
        let allowed = match limit {
            1.. => format!("it must be from 1 to {limit}"),
            _ => "it must not be negative".to_string(),
        };
        return invalid(format!("has max_size {size}; {allowed}"));
    }
    // Clients that set no size mean the largest.
    let size = if size == 0 { limit } else { size };
    let mut seen = BTreeSet::new();
    for member in &group.members {
        if !seen.insert(member.member_id) {
            return invalid(format!(
                "has member {} twice; give it a larger weight",
                member.member_id
            ));
        }
        check_weight(profile, member.weight)?;
        if !change
            .ledger
            .members()
            .contains_key(&(group.action_profile_id, member.member_id))
        {
            return Err(Error::not_found(format!(
                "`{}` has no member {}",
                profile.name, member.member_id
            )));
        }
    }
    let weights = group.members.iter().map(|member| member.weight);
    check_total(profile, weights.clone())?;
    if size > 0 && group_size(profile, weights) > i64::from(size) {
        Err(Error::exhausted(format!(
            "`{}`: group {} would be larger than its max_size {size}",
            profile.name, group.group_id
        )))
    } else {
        Ok(())
    }
}

/// Refuses more weight than a group of the pipeline can have: all members are in it when their ports are up.
pub(crate) fn check_total(profile: &ProfileSchema, weights: impl Iterator<Item = i32>) -> Result<(), Error> {
    if sum_of_weights(weights) as u64 > GROUP_WEIGHT_MAX {
        Err(Error::exhausted(format!(
            "`{}`: a group's weights add up to {GROUP_WEIGHT_MAX} at most",
            profile.name
        )))
    } else {
        Ok(())
    }
}

/// Whether a member may have this weight.
pub(crate) fn check_weight(profile: &ProfileSchema, weight: i32) -> Result<(), Error> {
    let invalid = |problem: String| Err(Error::invalid(format!("`{}`: {problem}", profile.name)));
    match (profile.weights_disallowed, weight) {
        (true, 0) => Ok(()),
        (true, _) => invalid("its members have no weights".to_string()),
        (false, ..=0) => invalid("a member needs a weight of at least 1".to_string()),
        (false, _) => match profile.max_member_weight {
            Some(limit @ 1..) if weight > limit => invalid(format!("a member's weight is at most {limit}")),
            _ => Ok(()),
        },
    }
}

/// The size of a group, by the program's choice of what it counts.
pub(crate) fn group_size(profile: &ProfileSchema, weights: impl Iterator<Item = i32>) -> i64 {
    match profile.max_member_weight {
        Some(_) => weights.count() as i64,
        None => sum_of_weights(weights),
    }
}

/// The size of a group that counts weights; members without weights count as 1.
pub(crate) fn sum_of_weights(weights: impl Iterator<Item = i32>) -> i64 {
    weights.map(|weight| i64::from(weight.max(1))).sum()
}

/// How watch ports are read that are written: they must exist, unless they did when they were written first.
pub(crate) fn port_reader(writer: Writer<'_>) -> PortReader {
    if writer.writes_again {
        Ports::read
    } else {
        Ports::watched
    }
}

/// Members with weights, without those whose watch port is down.
fn live_members(
    ports: &Ports,
    names: Option<&Dictionary>,
    profile: &ProfileSchema,
    group: &ActionProfileGroup,
    read: PortReader,
) -> Result<Vec<(u32, u32)>, Error> {
    let mut live = Vec::with_capacity(group.members.len());
    for member in &group.members {
        let is_up = match watched(ports, names, profile, member, read)? {
            Some(port) => ports.is_up(port),
            None => true,
        };
        if is_up {
            live.push((member.member_id, member.weight.max(1) as u32));
        }
    }
    Ok(live)
}

#[allow(deprecated, reason = "old controllers write watch")]
fn watched(
    ports: &Ports,
    names: Option<&Dictionary>,
    profile: &ProfileSchema,
    member: &Member,
    read: PortReader,
) -> Result<Option<u32>, Error> {
    let what = || format!("`{}`: watch port of member {}", profile.name, member.member_id);
    match &member.watch_kind {
        Some(WatchKind::WatchPort(port)) if !port.is_empty() => read(ports, names, port, &what()).map(Some),
        Some(WatchKind::Watch(port)) if *port > 0 => ports.check(*port as u64, &what()).map(Some),
        _ => Ok(None),
    }
}

/// The port that an action of a one-shot watches.
#[allow(deprecated, reason = "old controllers write watch")]
pub(crate) fn watched_by_one_shot(
    ports: &Ports,
    names: Option<&Dictionary>,
    profile: &ProfileSchema,
    watch: Option<&OneShotWatch>,
    read: PortReader,
) -> Result<Option<u32>, Error> {
    let what = || format!("`{}`: watch port", profile.name);
    match watch {
        Some(OneShotWatch::WatchPort(port)) if !port.is_empty() => read(ports, names, port, &what()).map(Some),
        Some(OneShotWatch::Watch(port)) if *port > 0 => ports.check(*port as u64, &what()).map(Some),
        _ => Ok(None),
    }
}

/// Gives the pipeline the members whose watch ports are up now, after a port has changed.
pub(crate) fn refresh(schema: &Schema, ledger: &Ledger, ports: &Ports, batch: &mut Batch<'_>) -> Result<(), Error> {
    for ((profile, number), group) in ledger.groups() {
        let profile = find(&schema.profiles, *profile, "action profile")?;
        if group.members.iter().any(|member| member.watch_kind.is_some()) {
            let live = live_members(ports, schema.port_names(), profile, group, Ports::read)?;
            batch.modify_group(&profile.name, *number, &live)?;
        }
    }
    for (table, one_shot) in ledger.one_shots() {
        refresh_one_shot(schema, ports, batch, table, one_shot)?;
    }
    Ok(())
}

fn refresh_one_shot(
    schema: &Schema,
    ports: &Ports,
    batch: &mut Batch<'_>,
    table: u32,
    one_shot: &OneShot,
) -> Result<(), Error> {
    let actions = &one_shot.set.action_profile_actions;
    let profile = schema.table(table)?.profile.unwrap_or_default();
    let profile = find(&schema.profiles, profile, "action profile")?;
    if actions.iter().any(|action| action.watch_kind.is_some()) {
        let (names, set, members) = (schema.port_names(), &one_shot.set, &one_shot.members);
        let live = one_shot::live_members(ports, names, profile, set, members, Ports::read)?;
        batch.modify_group(&profile.name, one_shot.group, &live)?;
    }
    Ok(())
}

/// One group, all of a selector, or all.
pub(crate) fn read(
    schema: &Schema,
    ledger: &Ledger,
    wanted: &ActionProfileGroup,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    let groups = ledger.groups();
    match (wanted.action_profile_id, wanted.group_id) {
        (0, _) => groups
            .values()
            .for_each(|group| sink(Entity::ActionProfileGroup(group.clone()))),
        (profile, group) => {
            let declared = find(&schema.profiles, profile, "action profile")?;
            let range = if group == 0 {
                (profile, 0)..=(profile, u32::MAX)
            } else {
                (profile, group)..=(profile, group)
            };
            let mut found = groups.range(range).peekable();
            if group != 0 && found.peek().is_none() {
                return Err(Error::not_found(format!("`{}` has no group {group}", declared.name)));
            }
            found.for_each(|(_, group)| sink(Entity::ActionProfileGroup(group.clone())));
        }
    }
    Ok(())
}
