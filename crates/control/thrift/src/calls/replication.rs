//! Calls about multicast and clone sessions.

use super::Answer;
use super::arguments::{Arguments, i32_in};
use crate::codes::Failure;
use crate::replication::Target;
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::wire::{Fields, Value};

pub(super) fn call<S: Switch>(runtime: &mut Runtime<S>, method: &str, arguments: &Arguments) -> Option<Answer> {
    let nothing = |done: Result<(), Failure>| done.map(|()| None);
    let two = |arguments: &Arguments| Ok((arguments.i32(2)?, arguments.i32(3)?));
    Some(match method {
        "bm_mc_mgrp_create" => create_group(runtime, arguments),
        "bm_mc_mgrp_destroy" => nothing(arguments.i32(2).and_then(|group| runtime.destroy_group_of_nodes(group))),
        "bm_mc_node_create" => create_node(runtime, arguments),
        "bm_mc_node_update" => nothing(update_node(runtime, arguments)),
        "bm_mc_node_destroy" => nothing(arguments.i32(2).and_then(|node| runtime.destroy_node(node))),
        "bm_mc_node_associate" => nothing(two(arguments).and_then(|(group, node)| runtime.associate_node(group, node))),
        "bm_mc_node_dissociate" => {
            nothing(two(arguments).and_then(|(group, node)| runtime.dissociate_node(group, node)))
        }
        "bm_mc_set_lag_membership" => nothing(set_lag(runtime, arguments)),
        "bm_mc_get_entries" => runtime
            .replication_as_json()
            .map(|json| Some(Value::text(json.to_string()))),
        "mirroring_session_add" => nothing(add_session(runtime, arguments)),
        "mirroring_session_delete" => nothing(arguments.i32(1).and_then(|session| runtime.delete_session(session))),
        "mirroring_session_get" => session(runtime, arguments),
        "mirroring_mapping_add" => Ok(status(add_mapping(runtime, arguments))),
        "mirroring_mapping_delete" => Ok(status(
            arguments.i32(1).and_then(|session| runtime.delete_session(session)),
        )),
        "mirroring_mapping_get_egress_port" => mapped_port(runtime, arguments),
        _ => return None,
    })
}

/// What the older methods give: 0 when it is done.
fn status(done: Result<(), Failure>) -> Option<Value> {
    Some(Value::I32(i32::from(done.is_err())))
}

fn create_group<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let group = arguments.i32(2)?;
    runtime.create_group_of_nodes(group)?;
    Ok(Some(Value::I32(group)))
}

fn create_node<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let (ports, lags) = (arguments.ports(3)?, arguments.ports(4).unwrap_or_default());
    Ok(Some(Value::I32(runtime.create_node(arguments.i32(2)?, &ports, &lags))))
}

fn update_node<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    let (ports, lags) = (arguments.ports(3)?, arguments.ports(4).unwrap_or_default());
    runtime.update_node(arguments.i32(2)?, &ports, &lags)
}

fn set_lag<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    // A 16-bit number without a sign.
    runtime.set_lag(arguments.i32(2)? as u32 & 0xffff, &arguments.ports(3)?)
}

fn add_session<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.fields(2)?;
    let number = |place: i16| i32_in(config, place).map(|number| number as u32);
    let target = Target {
        port: number(1),
        group: number(2),
    };
    runtime.set_session(arguments.i32(1)?, target)
}

fn add_mapping<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.set_session(arguments.i32(1)?, Target::port(arguments.i32(2)? as u32))
}

/// `MirroringSessionConfig`
fn session<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    let Target { port, group } = runtime.session(arguments.i32(1)?)?;
    let fields = [(1, port), (2, group)];
    let fields = fields
        .into_iter()
        .fold(Fields::default(), |fields, (place, number)| match number {
            Some(number) => fields.with(place, Value::I32(number as i32)),
            None => fields,
        });
    Ok(Some(Value::Struct(fields)))
}

fn mapped_port<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    Ok(Some(Value::I32(match runtime.session(arguments.i32(1)?) {
        Ok(Target { port: Some(port), .. }) => port as i32,
        _ => -1,
    })))
}
