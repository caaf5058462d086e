//! Writing table entries (P4Runtime §9.1).

use super::{action, direct, key, one_shot};
use crate::change::{Change, Writer};
use crate::ledger::{EntryNotes, OneShot};
use crate::schema::{TableSchema, restriction};
use crate::status::{Code, Error};
use forebay_ir::EntryMatch;
use forebay_pipeline::{Entry, EntryAction, IdleTime, Record};
use forebay_protocol::p4::v1::table_action::Type as ActionType;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{TableAction, TableEntry};

/// Adds, changes or removes an entry.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &TableEntry) -> Result<(), Error> {
    let table = change.schema.table(entry.table_id)?;
    if entry.is_const {
        return Err(Error::invalid(format!(
            "table `{}`: is_const says what the program does, and cannot be written",
            table.name
        )));
    }
    if entry.is_default_action {
        return write_default(change, table, how, entry);
    }
    match how {
        Type::Insert => insert(change, table, entry),
        Type::Modify => modify(change, table, entry),
        Type::Delete => delete(change, table, entry),
        Type::Unspecified => Ok(()),
    }
}

fn insert(change: &mut Change<'_, '_>, table: &TableSchema, entry: &TableEntry) -> Result<(), Error> {
    if table.fields.is_empty() {
        return Err(Error::invalid(format!(
            "table `{}` has no key, so it has a default entry only",
            table.name
        )));
    }
    if table.is_const {
        return Err(Error::denied(format!("table `{}`: its entries are const", table.name)));
    }
    let matches = key::read(table, &entry.r#match)?;
    let priority = priority(table, entry, change.writer.writes_again)?;
    check(change, table, entry, 0)?;
    if change.writer.is_bound {
        restriction::check_entry(table, &matches, priority)?;
    }
    let written = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
    let written = written.ok_or_else(|| Error::invalid(format!("table `{}`: the entry has no action", table.name)))?;
    let resolved = resolve(change, table, written)?;
    let new = Entry {
        matches,
        priority,
        action: resolved.action,
    };
    let inserted = change
        .batch
        .insert_record(table.index, &new, idle_time(change.writer, entry));
    let (id, slot) = match inserted {
        Ok(inserted) => inserted,
        Err(error) => {
            forget_one_shot(change, table, resolved.one_shot)?;
            return Err(error.into());
        }
    };
    change.ledger.set_entry(table.id, id, notes(entry, resolved.one_shot));
    watch(change, table, id, idle_time(change.writer, entry));
    direct::initialise(change, table, slot, entry);
    Ok(())
}

fn modify(change: &mut Change<'_, '_>, table: &TableSchema, entry: &TableEntry) -> Result<(), Error> {
    if changes_itself(entry) {
        check_not_const(change, table, entry)?;
    }
    let found = find(change, table, entry)?;
    check(change, table, entry, found.idle.timeout_ns)?;
    if found.is_const {
        return modify_const(change, table, entry, &found);
    }
    if change.writer.is_bound {
        restriction::check_entry(table, &found.entry.matches, found.entry.priority)?;
    }
    let before = change
        .ledger
        .entry(table.id, found.id)
        .and_then(|notes| notes.one_shot.clone());
    let resolved = resolve_modified(change, table, entry, (found.entry.action, before.as_ref()))?;
    let new = Entry {
        action: resolved.action,
        ..found.entry
    };
    let idle = idle_time(change.writer, entry);
    let group = |one_shot: &Option<OneShot>| one_shot.as_ref().map(|one_shot| one_shot.group);
    let has_other_group = group(&before) != group(&resolved.one_shot);
    if let Err(error) = change.batch.modify_record(table.index, &new, idle) {
        if has_other_group {
            forget_one_shot(change, table, resolved.one_shot)?;
        }
        return Err(error.into());
    }
    change
        .ledger
        .set_entry(table.id, found.id, notes(entry, resolved.one_shot));
    if has_other_group {
        forget_one_shot(change, table, before)?;
    }
    watch(change, table, found.id, idle);
    direct::modify(change, table, found.slot, entry);
    Ok(())
}

/// An entry of the program that is const has a counter and a meter like others.
fn modify_const(
    change: &mut Change<'_, '_>,
    table: &TableSchema,
    entry: &TableEntry,
    found: &Record,
) -> Result<(), Error> {
    if changes_itself(entry) {
        return Err(Error::denied(format!(
            "table `{}`: the entry is const, so only its counter and meter can be changed",
            table.name
        )));
    }
    direct::modify(change, table, found.slot, entry);
    Ok(())
}

/// Notes when an entry is idle, unless the data plane deletes it then and says so.
fn watch(change: &mut Change<'_, '_>, table: &TableSchema, entry: u64, idle: IdleTime) {
    if !change.batch.deletes_idle(table.index) {
        change.timers.watch(table.id, entry, idle);
    }
}

/// Whether an update is about the entry itself, not about its counter and meter alone.
#[allow(deprecated, reason = "old controllers write controller_metadata")]
fn changes_itself(entry: &TableEntry) -> bool {
    let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
    action.is_some() || !entry.metadata.is_empty() || entry.controller_metadata != 0 || entry.idle_timeout_ns != 0
}

/// Refuses a change of a table whose entries are const, whether it has the entry or not.
fn check_not_const(change: &Change<'_, '_>, table: &TableSchema, entry: &TableEntry) -> Result<(), Error> {
    let matches = key::read(table, &entry.r#match);
    match matches.and_then(|matches| priority_of_present(change, table, entry, &matches)) {
        // A string that nothing names is a key like any other.
        Err(error) if error.code != Code::NotFound => return Err(error),
        _ => {}
    }
    if table.is_const {
        Err(Error::denied(format!("table `{}`: its entries are const", table.name)))
    } else {
        Ok(())
    }
}

fn delete(change: &mut Change<'_, '_>, table: &TableSchema, entry: &TableEntry) -> Result<(), Error> {
    check_not_const(change, table, entry)?;
    let found = match find(change, table, entry) {
        Err(_) if change.batch.take_ended(table.index, &key::read(table, &entry.r#match)?) => return Ok(()),
        found => found?,
    };
    change
        .batch
        .delete_entry(&table.name, &found.entry.matches, found.entry.priority)?;
    let notes = change.ledger.take_entry(table.id, found.id);
    change.later.retain(|later| !later.is_of(table.index, found.slot));
    forget_one_shot(change, table, notes.and_then(|notes| notes.one_shot))
}

/// The entry with the same key and priority.
pub(crate) fn find(change: &Change<'_, '_>, table: &TableSchema, entry: &TableEntry) -> Result<Record, Error> {
    let matches = key::read(table, &entry.r#match)?;
    let priority = priority_of_present(change, table, entry, &matches)?;
    Ok(change.batch.record(table.index, &matches, priority)?)
}

/// The priority of an entry that is there. Entries of the program may have 0, and are read with it.
fn priority_of_present(
    change: &Change<'_, '_>,
    table: &TableSchema,
    entry: &TableEntry,
    matches: &[EntryMatch],
) -> Result<i64, Error> {
    let is_there = || change.batch.record(table.index, matches, 0).is_ok();
    let may_be_0 = change.writer.writes_again || (entry.priority == 0 && is_there());
    priority(table, entry, may_be_0)
}

/// The priority of an entry: there if the table has priorities, not there if not. It may be 0 where an entry is meant
/// that the program begins with.
pub(crate) fn priority(table: &TableSchema, entry: &TableEntry, may_be_0: bool) -> Result<i64, Error> {
    let invalid = |problem: &str| Err(Error::invalid(format!("table `{}`: {problem}", table.name)));
    match (table.has_priorities, entry.priority) {
        (true, ..=-1) => invalid("priorities are positive"),
        (true, 0) if !may_be_0 => {
            invalid("an entry needs a priority, since a field is matched as ternary, range or optional")
        }
        (false, 1.. | ..=-1) => invalid("an entry has no priority, since all fields are matched as exact or lpm"),
        (_, priority) => Ok(priority.into()),
    }
}

/// What an entry says besides its key and action must suit the table. `present_ns` is the time-out that it has.
fn check(change: &Change<'_, '_>, table: &TableSchema, entry: &TableEntry, present_ns: u64) -> Result<(), Error> {
    let invalid = |problem: &str| Err(Error::invalid(format!("table `{}` {problem}", table.name)));
    // Packets give entries time-outs, which controllers read and so may write.
    let is_present = change.writer.writes_again || entry.idle_timeout_ns as u64 == present_ns;
    let is_of_packets = is_present && change.batch.deletes_idle(table.index);
    match entry.idle_timeout_ns {
        1.. if !table.supports_timeout && !is_of_packets => return invalid("has no idle time-outs"),
        ..=-1 => return invalid("is given a negative idle time-out"),
        _ => {}
    }
    if entry.time_since_last_hit.is_some() {
        return invalid("is given time_since_last_hit, which can only be read");
    }
    direct::check(table, entry)
}

fn idle_time(writer: Writer<'_>, entry: &TableEntry) -> IdleTime {
    IdleTime {
        timeout_ns: entry.idle_timeout_ns as u64,
        last_hit_ns: writer.now_ns,
    }
}

#[allow(deprecated, reason = "old controllers write controller_metadata")]
fn notes(entry: &TableEntry, one_shot: Option<OneShot>) -> EntryNotes {
    EntryNotes {
        metadata: entry.metadata.clone(),
        controller_metadata: entry.controller_metadata,
        one_shot,
    }
}

/// What an entry invokes, with the group that was made for it.
struct Resolved {
    action: EntryAction,
    one_shot: Option<OneShot>,
}

fn resolve(change: &mut Change<'_, '_>, table: &TableSchema, written: &ActionType) -> Result<Resolved, Error> {
    let plain = |action| Resolved { action, one_shot: None };
    match (written, table.profile) {
        (ActionType::Action(written), None) => {
            let call = action::read(change, table, written, action::Use::Entry)?;
            Ok(plain(EntryAction::Call {
                action: call.action,
                args: call.args,
            }))
        }
        (ActionType::ActionProfileMemberId(member), Some(profile)) => {
            by_number(change, profile, *member)?;
            Ok(plain(EntryAction::Member(*member)))
        }
        (ActionType::ActionProfileGroupId(group), Some(profile)) => {
            let declared = crate::schema::find(&change.schema.profiles, profile, "action profile")?;
            if !declared.has_selector {
                return Err(one_shot::without_selector(declared));
            }
            by_number(change, profile, *group)?;
            Ok(plain(EntryAction::Group(*group)))
        }
        (ActionType::ActionProfileActionSet(set), Some(profile)) => {
            let one_shot = one_shot::insert(change, table, profile, set)?;
            Ok(Resolved {
                action: EntryAction::Group(one_shot.group),
                one_shot: Some(one_shot),
            })
        }
        (_, None) => Err(Error::invalid(format!(
            "table `{}` has no action profile: its entries name an action",
            table.name
        ))),
        (ActionType::Action(_), Some(_)) => Err(Error::invalid(format!(
            "table `{}` has an action profile: its entries name a member, a group or a set of actions",
            table.name
        ))),
    }
}

/// What an entry invokes after an update: the same as before when the update names no action.
fn resolve_modified(
    change: &mut Change<'_, '_>,
    table: &TableSchema,
    entry: &TableEntry,
    (action, one_shot): (EntryAction, Option<&OneShot>),
) -> Result<Resolved, Error> {
    let written = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
    match (written, one_shot, table.profile) {
        (Some(ActionType::ActionProfileActionSet(set)), Some(before), Some(profile)) => {
            let one_shot = one_shot::modify(change, table, profile, before, set)?;
            Ok(Resolved {
                action: EntryAction::Group(one_shot.group),
                one_shot: Some(one_shot),
            })
        }
        (Some(written), ..) => resolve(change, table, written),
        (None, ..) => Ok(Resolved {
            action,
            one_shot: one_shot.cloned(),
        }),
    }
}

/// Checks the number of a member or group that an entry names.
fn by_number(change: &Change<'_, '_>, profile: u32, number: u32) -> Result<(), Error> {
    let profile_schema = crate::schema::find(&change.schema.profiles, profile, "action profile")?;
    if change.ledger.has_one_shots(profile) && !change.writer.writes_again {
        return Err(one_shot::mixed(&profile_schema.name));
    }
    if number > 0 || change.writer.writes_again {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{}`: 0 is no member and no group",
        profile_schema.name
    )))
}

fn forget_one_shot(change: &mut Change<'_, '_>, table: &TableSchema, one_shot: Option<OneShot>) -> Result<(), Error> {
    match (one_shot, table.profile) {
        (Some(one_shot), Some(profile)) => one_shot::delete(change, profile, &one_shot),
        _ => Ok(()),
    }
}

/// The default entry (§9.1.3): always there, so it can only be modified; without an action it is reset.
fn write_default(change: &mut Change<'_, '_>, table: &TableSchema, how: Type, entry: &TableEntry) -> Result<(), Error> {
    let invalid = |problem: &str| Err(Error::invalid(format!("table `{}`: {problem}", table.name)));
    if how != Type::Modify {
        return invalid("the default entry is always there; it can only be modified");
    }
    check_default(table, entry)?;
    if table.default_is_const {
        return Err(Error::denied(format!(
            "table `{}`: its default action is const",
            table.name
        )));
    }
    direct::check(table, entry)?;
    let slot = change.batch.default_slot(table.index);
    match &entry.action {
        None | Some(TableAction { r#type: None }) => {
            change.batch.reset_default_action(&table.name)?;
            change.ledger.take_default_entry(table.id);
            direct::reset(change, table, slot);
        }
        Some(TableAction {
            r#type: Some(ActionType::Action(written)),
        }) if table.profile.is_none() => {
            let call = action::read(change, table, written, action::Use::Default)?;
            change.batch.set_default_action(&table.name, &call.action, &call.args)?;
            change.ledger.set_default_entry(table.id, notes(entry, None));
            direct::modify(change, table, slot, entry);
        }
        Some(TableAction {
            r#type: Some(written @ (ActionType::ActionProfileMemberId(_) | ActionType::ActionProfileGroupId(_))),
        }) if change.writer.is_bmv2 => {
            let resolved = resolve(change, table, written)?;
            change.batch.set_default_entry(&table.name, &resolved.action)?;
            change.ledger.set_default_entry(table.id, notes(entry, None));
            direct::modify(change, table, slot, entry);
        }
        Some(_) if table.profile.is_some() => {
            return invalid("it has an action profile, so its default entry is the program's and can only be reset");
        }
        Some(_) => return invalid("its default entry names an action"),
    }
    Ok(())
}

/// Refuses what a default entry cannot have, in a write or a read: a key, a priority, an idle time-out.
pub(crate) fn check_default(table: &TableSchema, entry: &TableEntry) -> Result<(), Error> {
    let invalid = |problem: &str| Err(Error::invalid(format!("table `{}`: {problem}", table.name)));
    if !entry.r#match.is_empty() || entry.priority != 0 {
        return invalid("the default entry has no key and no priority");
    }
    if entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some() {
        return invalid("the default entry has no idle time-out");
    }
    Ok(())
}
