//! Calls about action profiles.

use super::Answer;
use super::arguments::Arguments;
use super::tables::data;
use crate::codes::Failure;
use crate::key::from_action;
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::tables::handle_of;
use crate::wire::{Fields, Value};
use forebay_protocol::p4::v1::{ActionProfileGroup, ActionProfileMember};
use forebay_shell::catalog::Named;

pub(super) fn call<S: Switch>(runtime: &mut Runtime<S>, method: &str, arguments: &Arguments) -> Option<Answer> {
    let nothing = |done: Result<(), Failure>| done.map(|()| None);
    Some(match method {
        "bm_mt_act_prof_add_member" => add_member(runtime, arguments),
        "bm_mt_act_prof_modify_member" => nothing(modify_member(runtime, arguments)),
        "bm_mt_act_prof_delete_member" => {
            nothing(with_two(arguments, |name, handle| runtime.delete_member(name, handle)))
        }
        "bm_mt_act_prof_create_group" => create_group(runtime, arguments),
        "bm_mt_act_prof_delete_group" => {
            nothing(with_two(arguments, |name, handle| runtime.delete_group(name, handle)))
        }
        "bm_mt_act_prof_add_member_to_group" => nothing(add_to_group(runtime, arguments)),
        "bm_mt_act_prof_remove_member_from_group" => nothing(remove_from_group(runtime, arguments)),
        "bm_mt_act_prof_get_members" => members(runtime, arguments),
        "bm_mt_act_prof_get_member" => member(runtime, arguments),
        "bm_mt_act_prof_get_groups" => groups(runtime, arguments),
        "bm_mt_act_prof_get_group" => group(runtime, arguments),
        _ => return None,
    })
}

fn with_two(arguments: &Arguments, call: impl FnOnce(&str, i32) -> Result<(), Failure>) -> Result<(), Failure> {
    call(arguments.text(2)?, arguments.i32(3)?)
}

fn add_member<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let handle = runtime.add_member(arguments.text(2)?, arguments.text(3)?, &arguments.data(4)?)?;
    Ok(Some(Value::I32(handle)))
}

fn modify_member<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    let data = arguments.data(5)?;
    runtime.modify_member(arguments.text(2)?, arguments.i32(3)?, arguments.text(4)?, &data)
}

fn create_group<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let handle = runtime.create_group(arguments.text(2)?)?;
    Ok(Some(Value::I32(handle)))
}

fn add_to_group<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.add_to_group(arguments.text(2)?, arguments.i32(3)?, arguments.i32(4)?)
}

fn remove_from_group<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.remove_from_group(arguments.text(2)?, arguments.i32(3)?, arguments.i32(4)?)
}

fn members<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let profile = runtime.profile(arguments.text(2)?)?;
    let members = runtime.members(&profile)?;
    let written = members.iter().map(|member| written_member(runtime, member));
    Ok(Some(Value::List(written.collect())))
}

fn member<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let profile = runtime.profile(arguments.text(2)?)?;
    let found = runtime.member(&profile, arguments.i32(3)?)?;
    Ok(Some(written_member(runtime, &found)))
}

fn groups<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let profile = runtime.profile(arguments.text(2)?)?;
    let groups = runtime.groups(&profile)?;
    Ok(Some(Value::List(groups.iter().map(written_group).collect())))
}

fn group<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let profile = runtime.profile(arguments.text(2)?)?;
    let group = runtime.group(&profile, arguments.i32(3)?)?;
    Ok(Some(written_group(&group)))
}

/// `BmMtActProfMember`
fn written_member<S: Switch>(runtime: &Runtime<S>, member: &ActionProfileMember) -> Value {
    let action = member.action.clone().unwrap_or_default();
    let info = runtime.catalog.action_by_id(action.action_id);
    let fields = Fields::default()
        .with(1, Value::I32(handle_of(member.member_id)))
        .with(2, Value::text(info.map_or("", Named::name)))
        .with(3, data(info.map_or(Vec::new(), |info| from_action(info, &action))));
    Value::Struct(fields)
}

/// `BmMtActProfGroup`
fn written_group(group: &ActionProfileGroup) -> Value {
    let members = group
        .members
        .iter()
        .map(|member| Value::I32(handle_of(member.member_id)));
    let fields = Fields::default()
        .with(1, Value::I32(handle_of(group.group_id)))
        .with(2, Value::List(members.collect()));
    Value::Struct(fields)
}
