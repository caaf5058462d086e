//! What a client may change: whether a port is enabled. All of a request is checked before anything is done.
//!
//! A value is that of `config/enabled`, or an object of JSON for a container around it, as generated clients (ygot)
//! send. Of what an object holds beside `enabled`, `name` and `type` may be what they are.

use super::interfaces::Interface;
use super::leaves::{self, INTERFACE_TYPE, is_in_schema, steps, written};
use forebay_protocol::gnmi::typed_value::Value;
use forebay_protocol::gnmi::update_result::Operation;
use forebay_protocol::gnmi::{Path, PathElem, SetRequest, TypedValue, UpdateResult};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use tonic::Status;

/// The leaf that can be set.
const ENABLED: [&str; 2] = ["config", "enabled"];

/// A port is to be enabled or disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Enable {
    pub(crate) number: u32,
    pub(crate) is_enabled: bool,
}

/// What a request changes, and the answer for each of its parts.
///
/// # Errors
/// `INVALID_ARGUMENT`, `NOT_FOUND` or `UNIMPLEMENTED` when a part cannot be done; then none is.
pub(crate) fn read(request: &SetRequest, interfaces: &[Interface]) -> Result<(Vec<Enable>, Vec<UpdateResult>), Status> {
    if !request.union_replace.is_empty() {
        return Err(Status::unimplemented(
            "union_replace is not done here; replace and update are",
        ));
    }
    let (mut changes, mut results) = (Vec::new(), Vec::new());
    let prefix = request.prefix.as_ref();
    for path in &request.delete {
        changes.extend(delete(interfaces, &known(&steps(prefix, Some(path))?)?)?);
        results.push(result(Some(path), Operation::Delete));
    }
    for (updates, operation) in [
        (&request.replace, Operation::Replace),
        (&request.update, Operation::Update),
    ] {
        for update in updates {
            let steps = known(&steps(prefix, update.path.as_ref())?)?;
            let setting = Setting {
                interfaces,
                is_replaced: operation == Operation::Replace,
            };
            setting.read(&steps, update.val.as_ref(), &mut changes)?;
            results.push(result(update.path.as_ref(), operation));
        }
    }
    // What comes last holds: no port is enabled for a moment.
    let last: BTreeMap<u32, Enable> = changes.into_iter().map(|change| (change.number, change)).collect();
    Ok((last.into_values().collect(), results))
}

fn result(path: Option<&Path>, operation: Operation) -> UpdateResult {
    UpdateResult {
        path: path.cloned(),
        op: operation.into(),
        ..UpdateResult::default()
    }
}

/// A path of the schema (§3.4.7 has `NOT_FOUND` for others).
fn known(steps: &[PathElem]) -> Result<Vec<PathElem>, Status> {
    if is_in_schema(steps) {
        Ok(steps.to_vec())
    } else {
        Err(Status::not_found(format!("there is no {}", written(steps))))
    }
}

/// Deletes what is below a path: without a configuration of its own, a port is enabled. What is not there is deleted
/// already (§3.4.6).
fn delete(interfaces: &[Interface], steps: &[PathElem]) -> Result<Vec<Enable>, Status> {
    if !leaves::may_mean(steps, &ENABLED) {
        return Err(only_enabled(&written(steps)));
    }
    let is_meant = |interface: &&Interface| leaves::is_meant(steps, &interface.info.name, &ENABLED);
    let meant = interfaces.iter().filter(is_meant);
    Ok(meant
        .map(|interface| Enable {
            number: interface.info.number,
            is_enabled: true,
        })
        .collect())
}

fn only_enabled(path: &str) -> Status {
    Status::invalid_argument(format!(
        "{path} cannot be set; /interfaces/interface[name=NAME]/config/enabled can"
    ))
}

/// An update or a replacement.
struct Setting<'a> {
    interfaces: &'a [Interface],
    /// What an object does not name gets its default (§3.4.4).
    is_replaced: bool,
}

impl Setting<'_> {
    fn read(&self, steps: &[PathElem], value: Option<&TypedValue>, changes: &mut Vec<Enable>) -> Result<(), Status> {
        let value = json_of(steps, value)?;
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        match names.as_slice() {
            [] => self.root(&value, changes),
            ["interfaces"] => self.interfaces(&value, changes),
            ["interfaces", "interface"] => self.interface(self.named(steps)?, &value, changes),
            ["interfaces", "interface", "config"] => self.config(self.named(steps)?, &value, changes),
            ["interfaces", "interface", "config", leaf] => self.leaf(self.named(steps)?, leaf, &value, changes),
            _ => Err(only_enabled(&written(steps))),
        }
    }

    /// The interface that a path names. A wildcard in an update would change ports that the client has not named.
    fn named(&self, steps: &[PathElem]) -> Result<&Interface, Status> {
        let name = steps.get(1).and_then(|step| step.key.get("name"));
        match name.map(String::as_str) {
            None => Err(Status::invalid_argument(
                "the interface is not named: /interfaces/interface[name=NAME]",
            )),
            Some("*") => Err(Status::invalid_argument(
                "`*` is for what is read and deleted: name the interface",
            )),
            Some(name) => self.find(name),
        }
    }

    fn find(&self, name: &str) -> Result<&Interface, Status> {
        let mut all = self.interfaces.iter();
        all.find(|interface| interface.info.name == name)
            .ok_or_else(|| Status::not_found(format!("there is no interface `{name}`")))
    }

    fn root(&self, value: &Json, changes: &mut Vec<Enable>) -> Result<(), Status> {
        self.begin_all(changes);
        for (name, value) in members("/", value)? {
            match name {
                "interfaces" => self.interfaces(value, changes)?,
                other => return Err(only_enabled(&format!("/{other}"))),
            }
        }
        Ok(())
    }

    /// The defaults of all interfaces, before those that a replacement names.
    fn begin_all(&self, changes: &mut Vec<Enable>) {
        let all = self.interfaces.iter().filter(|_| self.is_replaced);
        changes.extend(all.map(|interface| enable(interface, true)));
    }

    fn interfaces(&self, value: &Json, changes: &mut Vec<Enable>) -> Result<(), Status> {
        self.begin_all(changes);
        for (name, value) in members("/interfaces", value)? {
            let list = value.as_array().filter(|_| name == "interface");
            let list = list.ok_or_else(|| only_enabled(&format!("/interfaces/{name}")))?;
            for entry in list {
                let key = members("/interfaces/interface", entry)?.find(|(name, _)| *name == "name");
                let key = key.and_then(|(_, key)| key.as_str());
                let key = key.ok_or_else(|| Status::invalid_argument("an interface of the list has no `name`"))?;
                self.interface(self.find(key)?, entry, changes)?;
            }
        }
        Ok(())
    }

    fn interface(&self, interface: &Interface, value: &Json, changes: &mut Vec<Enable>) -> Result<(), Status> {
        let mut has_config = false;
        for (name, value) in members("/interfaces/interface", value)? {
            match name {
                "name" => is_same(name, &interface.info.name, value)?,
                "config" => {
                    has_config = true;
                    self.config(interface, value, changes)?;
                }
                other => return Err(only_enabled(&format!("/interfaces/interface/{other}"))),
            }
        }
        if self.is_replaced && !has_config {
            changes.push(enable(interface, true));
        }
        Ok(())
    }

    fn config(&self, interface: &Interface, value: &Json, changes: &mut Vec<Enable>) -> Result<(), Status> {
        let mut has_flag = false;
        for (name, value) in members("/interfaces/interface/config", value)? {
            has_flag |= name == "enabled";
            self.leaf(interface, name, value, changes)?;
        }
        if self.is_replaced && !has_flag {
            changes.push(enable(interface, true));
        }
        Ok(())
    }

    fn leaf(&self, interface: &Interface, name: &str, value: &Json, changes: &mut Vec<Enable>) -> Result<(), Status> {
        match name {
            "enabled" => {
                let flag = value.as_bool();
                let flag = flag.ok_or_else(|| Status::invalid_argument("config/enabled is true or false"))?;
                changes.push(enable(interface, flag));
                Ok(())
            }
            "name" => is_same(name, &interface.info.name, value),
            "type" => is_same(name, INTERFACE_TYPE, value),
            other => Err(only_enabled(&format!("/interfaces/interface/config/{other}"))),
        }
    }
}

fn enable(interface: &Interface, is_enabled: bool) -> Enable {
    Enable {
        number: interface.info.number,
        is_enabled,
    }
}

/// Checks a value that is what it is: of an identity, the name of its module may be missing.
fn is_same(name: &str, own: &str, value: &Json) -> Result<(), Status> {
    let short = own.rsplit(':').next().unwrap_or_default();
    match value.as_str() {
        Some(text) if text == own || text == short => Ok(()),
        _ => Err(Status::invalid_argument(format!(
            "config/{name} is `{own}` and cannot be changed"
        ))),
    }
}

/// The members of an object, without the names of YANG modules.
fn members<'a>(path: &str, value: &'a Json) -> Result<impl Iterator<Item = (&'a str, &'a Json)>, Status> {
    let object = value.as_object();
    let object = object.ok_or_else(|| Status::invalid_argument(format!("{path} is an object of JSON")))?;
    Ok(object
        .iter()
        .map(|(name, value)| (name.rsplit(':').next().unwrap_or_default(), value)))
}

/// A value of any encoding as JSON.
fn json_of(steps: &[PathElem], value: Option<&TypedValue>) -> Result<Json, Status> {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::BoolVal(flag)) => Ok(Json::Bool(*flag)),
        Some(Value::StringVal(text)) => Ok(Json::String(text.clone())),
        Some(Value::JsonVal(text) | Value::JsonIetfVal(text)) => serde_json::from_slice(text)
            .map_err(|error| Status::invalid_argument(format!("the value of {} is no JSON: {error}", written(steps)))),
        Some(_) => Err(Status::invalid_argument(format!(
            "the value of {} is true, false, or JSON",
            written(steps)
        ))),
        None => Err(Status::invalid_argument(format!(
            "there is no value for {}",
            written(steps)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::interfaces::{Interfaces, PortInfo};
    use super::super::leaves::tests::path;
    use super::*;
    use forebay_protocol::gnmi::Update;
    use tonic::Code;

    fn interfaces() -> Vec<Interface> {
        let info = |number: u32| PortInfo {
            number,
            name: format!("eth{number}"),
            ..PortInfo::default()
        };
        Interfaces::new(vec![info(3), info(4)], 0).all().to_vec()
    }

    fn changes(request: &SetRequest) -> Result<Vec<(u32, bool)>, Code> {
        let changes = read(request, &interfaces()).map_err(|status| status.code())?;
        Ok(changes.0.iter().map(|one| (one.number, one.is_enabled)).collect())
    }

    fn update(text: &str, value: Value) -> Update {
        Update {
            path: Some(path(text)),
            val: Some(TypedValue { value: Some(value) }),
            ..Update::default()
        }
    }

    fn set(text: &str, value: Value) -> Result<Vec<(u32, bool)>, Code> {
        changes(&SetRequest {
            update: vec![update(text, value)],
            ..SetRequest::default()
        })
    }

    fn set_json(text: &str, value: &str) -> Result<Vec<(u32, bool)>, Code> {
        set(text, Value::JsonIetfVal(value.as_bytes().to_vec()))
    }

    fn delete(text: &str) -> Result<Vec<(u32, bool)>, Code> {
        changes(&SetRequest {
            delete: vec![path(text)],
            ..SetRequest::default()
        })
    }

    #[test]
    fn ports_are_disabled() {
        let enabled = "interfaces/interface[name=eth3]/config/enabled";
        assert_eq!(set(enabled, Value::BoolVal(false)), Ok(vec![(3, false)]));
        assert_eq!(set_json(enabled, "false"), Ok(vec![(3, false)]));
    }

    #[test]
    fn containers_come_as_objects() {
        let config =
            r#"{"openconfig-interfaces:name": "eth3", "enabled": false, "type": "iana-if-type:ethernetCsmacd"}"#;
        let interface = format!(r#"{{"name": "eth3", "openconfig-interfaces:config": {config}}}"#);
        let disabled = Ok(vec![(3, false)]);
        assert_eq!(set_json("interfaces/interface[name=eth3]/config", config), disabled);
        assert_eq!(set_json("interfaces/interface[name=eth3]", &interface), disabled);
        assert_eq!(
            set_json("interfaces", &format!(r#"{{"interface": [{interface}]}}"#)),
            disabled
        );
        for wrong in [
            r#"{"enabled": 1}"#,
            r#"{"name": "eth4"}"#,
            r#"{"mtu": 9000}"#,
            "[]",
            "{",
        ] {
            assert_eq!(
                set_json("interfaces/interface[name=eth3]/config", wrong),
                Err(Code::InvalidArgument),
                "{wrong}"
            );
        }
    }

    #[test]
    fn what_a_replacement_does_not_name_gets_its_default() {
        let replace = |text: &str, value: &str| {
            changes(&SetRequest {
                replace: vec![update(text, Value::JsonVal(value.as_bytes().to_vec()))],
                ..SetRequest::default()
            })
        };
        let config = "interfaces/interface[name=eth4]/config";
        assert_eq!(replace(config, r#"{"name": "eth4"}"#), Ok(vec![(4, true)]));
        assert_eq!(replace(config, r#"{"enabled": false}"#), Ok(vec![(4, false)]));
        assert_eq!(set_json(config, r#"{"name": "eth4"}"#), Ok(vec![]));
        let one = r#"{"interface": [{"name": "eth3", "config": {"enabled": false}}]}"#;
        assert_eq!(replace("interfaces", one), Ok(vec![(3, false), (4, true)]));
        assert_eq!(set_json("interfaces", one), Ok(vec![(3, false)]));
        assert_eq!(replace("interfaces", "{}"), Ok(vec![(3, true), (4, true)]));
    }

    #[test]
    fn deletes_are_recursive_and_take_wildcards() {
        let both = Ok(vec![(3, true), (4, true)]);
        for all in [
            "interfaces",
            "interfaces/interface/config/enabled",
            "interfaces/interface[name=*]/config",
        ] {
            assert_eq!(delete(all), both, "{all}");
        }
        assert_eq!(delete("interfaces/interface[name=eth4]"), Ok(vec![(4, true)]));
        assert_eq!(delete("interfaces/interface[name=away]/config"), Ok(vec![]));
        assert_eq!(delete("interfaces/interface/state"), Err(Code::InvalidArgument));
        assert_eq!(delete("system/config/hostname"), Err(Code::NotFound));
    }

    #[test]
    fn nothing_else_can_be_set() {
        let flag = || Value::BoolVal(false);
        let enabled = "interfaces/interface[name=eth3]/config/enabled";
        for (text, code) in [
            ("interfaces/interface[name=eth3]/state/enabled", Code::InvalidArgument),
            ("interfaces/interface[name=eth3]/config/mtu", Code::NotFound),
            ("interfaces/interface[name=away]/config/enabled", Code::NotFound),
            ("interfaces/interface[name=*]/config/enabled", Code::InvalidArgument),
            ("interfaces/interface/config/enabled", Code::InvalidArgument),
        ] {
            assert_eq!(set(text, flag()), Err(code), "{text}");
        }
        assert_eq!(set(enabled, Value::UintVal(1)), Err(Code::InvalidArgument));
        let union_replace = SetRequest {
            union_replace: vec![update(enabled, flag())],
            ..SetRequest::default()
        };
        assert_eq!(changes(&union_replace), Err(Code::Unimplemented));
    }
}
