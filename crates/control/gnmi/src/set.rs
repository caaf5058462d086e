//! What a client may change: whether a port is enabled. All of a request is checked before anything is done.

use super::interfaces::Interface;
use super::leaves::steps;
use forebay_protocol::gnmi::typed_value::Value;
use forebay_protocol::gnmi::update_result::Operation;
use forebay_protocol::gnmi::{Path, PathElem, SetRequest, TypedValue, UpdateResult};
use tonic::Status;

/// A port is to be enabled or disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Enable {
    pub(crate) number: u32,
    pub(crate) is_enabled: bool,
}

/// What a request changes, and the answer for each of its parts.
///
/// # Errors
/// `INVALID_ARGUMENT` or `NOT_FOUND` when a part cannot be done; then none is.
pub(crate) fn read(request: &SetRequest, interfaces: &[Interface]) -> Result<(Vec<Enable>, Vec<UpdateResult>), Status> {
    let (mut changes, mut results) = (Vec::new(), Vec::new());
    let prefix = request.prefix.as_ref();
    for path in &request.delete {
        // Without a configuration of its own, a port is enabled.
        changes.extend(enable(interfaces, &steps(prefix, Some(path)), true)?);
        results.push(result(Some(path), Operation::Delete));
    }
    for (updates, operation) in [
        (&request.replace, Operation::Replace),
        (&request.update, Operation::Update),
        (&request.union_replace, Operation::UnionReplace),
    ] {
        for update in updates {
            let is_enabled = flag(update.val.as_ref())?;
            changes.extend(enable(interfaces, &steps(prefix, update.path.as_ref()), is_enabled)?);
            results.push(result(update.path.as_ref(), operation));
        }
    }
    Ok((changes, results))
}

fn result(path: Option<&Path>, operation: Operation) -> UpdateResult {
    UpdateResult {
        path: path.cloned(),
        op: operation.into(),
        ..UpdateResult::default()
    }
}

/// The ports that a path `interfaces/interface[name=…]/config/enabled` means.
fn enable(interfaces: &[Interface], steps: &[PathElem], is_enabled: bool) -> Result<Vec<Enable>, Status> {
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    if names != ["interfaces", "interface", "config", "enabled"] {
        return Err(Status::invalid_argument(format!(
            "/{} cannot be set; /interfaces/interface[name=NAME]/config/enabled can",
            names.join("/")
        )));
    }
    let wanted = steps[1].key.get("name").map_or("", String::as_str);
    let meant = interfaces
        .iter()
        .filter(|interface| wanted == "*" || interface.info.name == wanted);
    let changes: Vec<Enable> = meant
        .map(|interface| Enable {
            number: interface.info.number,
            is_enabled,
        })
        .collect();
    match changes.is_empty() {
        true => Err(Status::not_found(format!("there is no interface `{wanted}`"))),
        false => Ok(changes),
    }
}

fn flag(value: Option<&TypedValue>) -> Result<bool, Status> {
    let wrong = || Status::invalid_argument("config/enabled is true or false");
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::BoolVal(flag)) => Ok(*flag),
        Some(Value::JsonVal(text) | Value::JsonIetfVal(text)) => match text.trim_ascii() {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::interfaces::{Interfaces, PortInfo};
    use super::super::leaves::tests::path;
    use super::*;
    use forebay_protocol::gnmi::Update;
    use tonic::Code;

    fn set(text: &str, value: Value) -> Result<Vec<Enable>, Code> {
        let info = PortInfo {
            number: 3,
            name: "eth3".to_string(),
            ..PortInfo::default()
        };
        let interfaces = Interfaces::new(vec![info], 0).all();
        let request = SetRequest {
            update: vec![Update {
                path: Some(path(text)),
                val: Some(TypedValue { value: Some(value) }),
                ..Update::default()
            }],
            ..SetRequest::default()
        };
        let changes = read(&request, &interfaces).map(|(changes, _)| changes);
        changes.map_err(|status| status.code())
    }

    #[test]
    fn ports_are_disabled() {
        let disabled = Ok(vec![Enable {
            number: 3,
            is_enabled: false,
        }]);
        assert_eq!(
            set("interfaces/interface[name=eth3]/config/enabled", Value::BoolVal(false)),
            disabled
        );
        let json = Value::JsonIetfVal(b"false".to_vec());
        assert_eq!(set("interfaces/interface[name=*]/config/enabled", json), disabled);
    }

    #[test]
    fn nothing_else_can_be_set() {
        let flag = || Value::BoolVal(false);
        let enabled = "interfaces/interface[name=eth3]/config/enabled";
        assert_eq!(
            set("interfaces/interface[name=eth3]/config/mtu", flag()),
            Err(Code::InvalidArgument)
        );
        assert_eq!(
            set("interfaces/interface[name=eth4]/config/enabled", flag()),
            Err(Code::NotFound)
        );
        assert_eq!(set(enabled, Value::UintVal(1)), Err(Code::InvalidArgument));
    }
}
