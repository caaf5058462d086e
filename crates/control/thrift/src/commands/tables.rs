//! Commands about tables and action profiles.

use super::listing::{self, data_of, key_of};
use super::words::{Words, number};
use super::{Form, Printed};
use crate::codes::Failure;
use crate::key::has_priorities;
use crate::key::to_match;
use crate::key::to_priority;
use crate::program::strongest;
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::tables::Does;
use forebay_protocol::p4::config::v1::{Action, Table};
use forebay_protocol::p4::v1::TableEntry;
use forebay_shell::catalog::{Named, by_id};

pub(super) const FORMS: &[Form] = &[
    ("show_tables", "", "tables with their keys"),
    ("show_actions", "", "actions with their parameters"),
    ("table_info", "TABLE", "a table's key and actions"),
    ("table_show_actions", "TABLE", "a table's actions"),
    (
        "table_add",
        "TABLE ACTION KEY... => DATA... [PRIORITY]",
        "adds an entry; prints its handle",
    ),
    (
        "table_modify",
        "TABLE ACTION HANDLE [DATA...]",
        "changes what an entry does",
    ),
    ("table_delete", "TABLE HANDLE", "deletes an entry"),
    ("table_clear", "TABLE", "deletes every entry that is not const"),
    ("table_num_entries", "TABLE", "how many entries a table has"),
    ("table_set_default", "TABLE ACTION [DATA...]", "sets the default action"),
    (
        "table_reset_default",
        "TABLE",
        "makes the default action that of the program again",
    ),
    (
        "table_set_timeout",
        "TABLE HANDLE MILLISECONDS",
        "when an entry that no packet hits is reported",
    ),
    ("table_dump", "TABLE", "the entries of a table"),
    ("table_dump_entry", "TABLE HANDLE", "one entry"),
    (
        "table_dump_entry_from_key",
        "TABLE KEY... [PRIORITY]",
        "one entry, by its key",
    ),
    (
        "table_indirect_add",
        "TABLE KEY... => MEMBER [PRIORITY]",
        "adds an entry with a member of the table's action profile",
    ),
    (
        "table_indirect_add_with_group",
        "TABLE KEY... => GROUP [PRIORITY]",
        "adds an entry with a group",
    ),
    ("table_indirect_delete", "TABLE HANDLE", "deletes such an entry"),
    ("table_indirect_set_default", "TABLE MEMBER", "sets the default member"),
    (
        "table_indirect_set_default_with_group",
        "TABLE GROUP",
        "sets the default group",
    ),
    (
        "table_indirect_reset_default",
        "TABLE",
        "makes the default that of the program again",
    ),
    (
        "act_prof_create_member",
        "PROFILE ACTION [DATA...]",
        "adds a member; prints its handle",
    ),
    (
        "act_prof_modify_member",
        "PROFILE ACTION MEMBER [DATA...]",
        "changes what a member does",
    ),
    ("act_prof_delete_member", "PROFILE MEMBER", "deletes a member"),
    ("act_prof_create_group", "PROFILE", "adds a group; prints its handle"),
    ("act_prof_delete_group", "PROFILE GROUP", "deletes a group"),
    (
        "act_prof_add_member_to_group",
        "PROFILE MEMBER GROUP",
        "adds a member to a group",
    ),
    (
        "act_prof_remove_member_from_group",
        "PROFILE MEMBER GROUP",
        "takes a member out of a group",
    ),
    ("act_prof_dump", "PROFILE", "members and groups"),
    ("act_prof_dump_member", "PROFILE MEMBER", "one member"),
    ("act_prof_dump_group", "PROFILE GROUP", "one group"),
];

/// None when the command is of another kind.
pub(super) fn run<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Option<Printed> {
    let quietly = |done: Result<(), Failure>| done.map(|()| String::new());
    Some(match words.name {
        "show_tables" => Ok(listing::tables(&runtime.catalog)),
        "show_actions" => Ok(listing::actions(runtime.catalog.info.actions.iter())),
        "table_info" => table_info(runtime, words),
        "table_show_actions" => table_actions(runtime, words),
        "table_add" => add(runtime, words),
        "table_modify" => modify(runtime, words),
        "table_delete" | "table_indirect_delete" => delete(runtime, words),
        "table_clear" => quietly(words.exactly().and_then(|[table]| runtime.clear_entries(table, false))),
        "table_num_entries" => count(runtime, words),
        "table_set_default" => set_default(runtime, words),
        "table_reset_default" | "table_indirect_reset_default" => {
            quietly(words.exactly().and_then(|[table]| runtime.reset_default(table)))
        }
        "table_set_timeout" => set_timeout(runtime, words),
        "table_dump" => dump(runtime, words),
        "table_dump_entry" => dump_entry(runtime, words),
        "table_dump_entry_from_key" => dump_entry_from_key(runtime, words),
        "table_indirect_add" => add_indirect(runtime, words, Does::Member),
        "table_indirect_add_with_group" => add_indirect(runtime, words, Does::Group),
        "table_indirect_set_default" => set_indirect_default(runtime, words, Does::Member),
        "table_indirect_set_default_with_group" => set_indirect_default(runtime, words, Does::Group),
        "act_prof_create_member" => create_member(runtime, words),
        "act_prof_modify_member" => modify_member(runtime, words),
        "act_prof_delete_member" => with_handle(words, |profile, handle| runtime.delete_member(profile, handle)),
        "act_prof_create_group" => create_group(runtime, words),
        "act_prof_delete_group" => with_handle(words, |profile, handle| runtime.delete_group(profile, handle)),
        "act_prof_add_member_to_group" => with_two_handles(words, |profile, member, group| {
            runtime.add_to_group(profile, member, group)
        }),
        "act_prof_remove_member_from_group" => with_two_handles(words, |profile, member, group| {
            runtime.remove_from_group(profile, member, group)
        }),
        "act_prof_dump" => dump_profile(runtime, words),
        "act_prof_dump_member" => dump_member(runtime, words),
        "act_prof_dump_group" => dump_group(runtime, words),
        _ => return None,
    })
}

/// A handle, which is negative when its number was given before 128 times or more.
pub(super) fn handle(text: &str) -> Result<i32, Failure> {
    let number = number::<i64>(text, "handle")?;
    let handle = i32::try_from(number).ok();
    let handle = handle.or_else(|| u32::try_from(number).ok().map(|bits| bits as i32));
    handle.ok_or_else(|| Failure::undeclared(format!("`{text}` is no handle")))
}

fn with_handle(words: &Words, call: impl FnOnce(&str, i32) -> Result<(), Failure>) -> Printed {
    let [name, number] = words.exactly()?;
    call(name, handle(number)?).map(|()| String::new())
}

fn with_two_handles(words: &Words, call: impl FnOnce(&str, i32, i32) -> Result<(), Failure>) -> Printed {
    let [name, first, second] = words.exactly()?;
    call(name, handle(first)?, handle(second)?).map(|()| String::new())
}

fn table_info<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    let table = runtime.table(name)?;
    let actions = listing::actions(runtime.catalog.actions_of(&table).into_iter());
    Ok(format!(
        "{}{}\n{actions}",
        listing::table(&runtime.catalog, &table),
        "*".repeat(80)
    ))
}

fn table_actions<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    let table = runtime.table(name)?;
    Ok(listing::actions(runtime.catalog.actions_of(&table).into_iter()))
}

/// An action of a table by name, with data.
fn read_action<S: Switch, T: AsRef<str>>(
    runtime: &Runtime<S>,
    table: &Table,
    name: &str,
    data: &[T],
) -> Result<(Action, Vec<Vec<u8>>), Failure> {
    let action = runtime.action_of(table, name)?;
    let data = runtime.read_data(&action, data)?;
    Ok((action, data))
}

fn add<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name, action], rest) = words.first()?;
    let table = runtime.table(name)?;
    let entry = runtime.read_entry(&table, rest)?;
    let action = runtime.action_of(&table, action)?;
    let has_taken_one = has_priorities(&table) && entry.data.len() + 1 == action.params.len();
    let data = runtime.read_data(&action, &entry.data).map_err(|failure| {
        if has_taken_one {
            failure.and("; the last word is the priority of the entry")
        } else {
            entry.explained(failure)
        }
    })?;
    let does = Does::Action(action.name().to_string(), data.clone());
    let handle = runtime.add_entry(table.name(), &entry.key, &does, entry.priority)?;
    Ok(format!(
        "Adding entry to {} match table {name}\n{:<20} {}\n{:<20} {}\n{:<20} {}\nEntry has been added with handle {handle}\n",
        strongest(&table),
        "match key:",
        key_of(&entry.key),
        "action:",
        action.name(),
        "runtime data:",
        data_of(&data),
    ))
}

fn modify<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name, action, number], rest) = words.first()?;
    let rest = if rest.first() == Some(&"=>") { &rest[1..] } else { &rest };
    let table = runtime.table(name)?;
    let (action, data) = read_action(runtime, &table, action, rest)?;
    let handle = handle(number)?;
    runtime.modify_entry(table.name(), handle, &Does::Action(action.name().to_string(), data))?;
    Ok(format!(
        "Modifying entry {handle} for {} match table {name}\n",
        strongest(&table)
    ))
}

fn delete<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name, number] = words.exactly()?;
    let handle = handle(number)?;
    runtime.delete_entry(name, handle)?;
    Ok(format!("Deleting entry {handle} from {name}\n"))
}

fn count<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    let table = runtime.table(name)?;
    Ok(format!("{}\n", runtime.entries_of(table.id())?.len()))
}

fn set_default<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name, action], rest) = words.first()?;
    let rest = if rest.first() == Some(&"=>") { &rest[1..] } else { &rest };
    let table = runtime.table(name)?;
    let (action, data) = read_action(runtime, &table, action, rest)?;
    runtime.set_default(table.name(), &Does::Action(action.name().to_string(), data.clone()))?;
    Ok(format!(
        "Setting default action of {name}\n{:<20} {}\n{:<20} {}\n",
        "action:",
        action.name(),
        "runtime data:",
        data_of(&data)
    ))
}

fn set_timeout<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name, entry, time] = words.exactly()?;
    let (handle, time) = (handle(entry)?, number(time, "time in milliseconds")?);
    runtime.set_timeout(name, handle, time)?;
    Ok(format!("Setting a {time} ms timeout for entry {handle}\n"))
}

fn add_indirect<S: Switch>(runtime: &mut Runtime<S>, words: &Words, does: fn(i32) -> Does) -> Printed {
    let ([name], rest) = words.first()?;
    let table = runtime.table(name)?;
    let entry = runtime.read_entry(&table, rest)?;
    let [number] = &entry.data[..] else {
        return Err(entry.explained(words.usage()));
    };
    let handle = runtime.add_entry(table.name(), &entry.key, &does(handle(number)?), entry.priority)?;
    let name = table.name();
    Ok(format!(
        "Adding entry to indirect match table {name}\nEntry has been added with handle {handle}\n"
    ))
}

fn set_indirect_default<S: Switch>(runtime: &mut Runtime<S>, words: &Words, does: fn(i32) -> Does) -> Printed {
    let [name, number] = words.exactly()?;
    runtime
        .set_default(name, &does(handle(number)?))
        .map(|()| String::new())
}

fn create_member<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name, action], data) = words.first()?;
    let profile = runtime.profile(name)?;
    let action = runtime.action_among(&runtime.catalog.actions_of_profile(&profile), action)?;
    let data = runtime.read_data(&action, &data)?;
    let handle = runtime.add_member(profile.name(), action.name(), &data)?;
    Ok(format!("Member has been created with handle {handle}\n"))
}

fn modify_member<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name, action, number], rest) = words.first()?;
    let rest = if rest.first() == Some(&"=>") { &rest[1..] } else { &rest };
    let profile = runtime.profile(name)?;
    let action = runtime.action_among(&runtime.catalog.actions_of_profile(&profile), action)?;
    let data = runtime.read_data(&action, rest)?;
    runtime.modify_member(profile.name(), handle(number)?, action.name(), &data)?;
    Ok(String::new())
}

fn create_group<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    let handle = runtime.create_group(name)?;
    Ok(format!("Group has been created with handle {handle}\n"))
}

fn dump<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    let table = runtime.table(name)?;
    let mut text = String::from("==========\nTABLE ENTRIES\n");
    for entry in runtime.entries_of(table.id())? {
        text += "**********\n";
        text += &describe(runtime, &table, &entry)?;
    }
    if table.implementation_id != 0 {
        text += &profile_text(runtime, &runtime.profile_of(&table)?)?;
    }
    let default = runtime.default_action(&table)?;
    text += "==========\nDumping default entry\n";
    text += &listing::action(&runtime.catalog, default.as_ref());
    text += "==========\n";
    Ok(text)
}

fn describe<S: Switch>(runtime: &mut Runtime<S>, table: &Table, entry: &TableEntry) -> Printed {
    let handle = runtime.handle_of_entry(entry)?;
    Ok(listing::entry(&runtime.catalog, table, entry, handle))
}

fn dump_entry<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name, number] = words.exactly()?;
    let table = runtime.table(name)?;
    let entry = runtime.entry_by_handle(table.id(), handle(number)?)?;
    describe(runtime, &table, &entry)
}

fn dump_entry_from_key<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name], mut rest) = words.first()?;
    let table = runtime.table(name)?;
    let priority = if has_priorities(&table) {
        number(rest.pop().unwrap_or_default(), "priority")?
    } else {
        0
    };
    let key = runtime.read_key(&table, &rest)?;
    let entry = runtime.entry_by_key(TableEntry {
        table_id: table.id(),
        r#match: to_match(&table, &key)?,
        priority: to_priority(&table, priority),
        ..TableEntry::default()
    })?;
    describe(runtime, &table, &entry)
}

fn profile_text<S: Switch>(runtime: &Runtime<S>, name: &str) -> Printed {
    let profile = runtime.profile(name)?;
    let mut text = String::from("==========\nMEMBERS\n");
    for member in runtime.members(&profile)? {
        text += "**********\n";
        text += &listing::member(&runtime.catalog, &member);
    }
    if profile.with_selector {
        text += "==========\nGROUPS\n";
        for group in runtime.groups(&profile)? {
            text += "**********\n";
            text += &listing::group(&group);
        }
    }
    Ok(text)
}

fn dump_profile<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    profile_text(runtime, name)
}

fn dump_member<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let [name, number] = words.exactly()?;
    let member = runtime.member(&runtime.profile(name)?, handle(number)?)?;
    Ok(listing::member(&runtime.catalog, &member))
}

fn dump_group<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let [name, number] = words.exactly()?;
    let group = runtime.group(&runtime.profile(name)?, handle(number)?)?;
    Ok(listing::group(&group))
}

impl<S: Switch> Runtime<S> {
    /// The name of the action profile that a table uses.
    pub(super) fn profile_of(&self, table: &Table) -> Result<String, Failure> {
        let profile = by_id(table.implementation_id, &self.catalog.info.action_profiles);
        let profile = profile.map(|profile| profile.name().to_string());
        profile.ok_or_else(|| {
            crate::codes::WRONG_TABLE_TYPE.because(format!("table `{}` has no action profile", table.name()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::handle;

    #[test]
    fn every_handle_that_is_printed_is_read() {
        let read = |text| handle(text).ok();
        assert_eq!(read("16777216"), Some(1 << 24));
        assert_eq!(
            read("-2147483648"),
            Some(i32::MIN),
            "as it is printed when an entry is added"
        );
        assert_eq!(read("0x80000000"), Some(i32::MIN), "as table_dump prints it");
        assert_eq!(read("4294967295"), Some(-1));
        assert_eq!((read("4294967296"), read("-2147483649"), read("x")), (None, None, None));
    }
}
