//! Parts of messages that several calls have: the paths, models and encodings of requests, and notifications.

use crate::leaves::{Leaf, Model, is_in_schema, is_of_a_model, steps, written};
use forebay_protocol::gnmi::{Encoding, ModelData, Notification, Path, PathElem, Update};
use tonic::Status;

/// Paths in a request.
const PATHS_MAX: usize = 1024;

/// Refuses requests with more paths than one may have.
pub(crate) fn check_paths(count: usize) -> Result<(), Status> {
    match count {
        ..=PATHS_MAX => Ok(()),
        _ => Err(Status::resource_exhausted(format!(
            "a request has at most {PATHS_MAX} paths, not {count}"
        ))),
    }
}

/// The steps of a path of the schema.
///
/// # Errors
/// `UNIMPLEMENTED` when there is no such thing here (§3.3.4, §3.5.2.4); others when it is no path. With the path of no
/// model ONOS asks whether a switch serves gNMI: one that says `UNIMPLEMENTED` does not.
pub(crate) fn known(prefix: Option<&Path>, path: Option<&Path>) -> Result<Vec<PathElem>, Status> {
    let steps = steps(prefix, path)?;
    if is_in_schema(&steps) {
        return Ok(steps);
    }
    let path = written(&steps);
    if is_of_a_model(&steps) {
        return Err(Status::unimplemented(format!("there is no {path} here")));
    }
    Err(Status::invalid_argument(format!("no model of OpenConfig has {path}")))
}

/// Leaves out what is not of the models that a client uses (§2.6); without any, all are.
pub(crate) fn keep_models(leaves: &mut Vec<Leaf>, used: &[ModelData]) -> Result<(), Status> {
    let find = |wanted: &ModelData| Model::ALL.into_iter().find(|model| model.name() == wanted.name);
    let mut models = Vec::new();
    for wanted in used {
        let unknown = || Status::unimplemented(format!("there is no model `{}` here", wanted.name));
        models.push(find(wanted).ok_or_else(unknown)?);
    }
    leaves.retain(|leaf| models.is_empty() || models.contains(&leaf.model));
    Ok(())
}

/// Values as they are at a time. Paths are whole; of the client's prefix the target is repeated (§2.2.2.1).
pub(crate) fn notification<'a>(
    leaves: impl Iterator<Item = &'a Leaf>,
    prefix: Option<&Path>,
    encoding: Encoding,
    timestamp: i64,
) -> Notification {
    let update = leaves.map(|leaf| Update {
        path: Some(leaf.path()),
        val: Some(leaf.typed_value(encoding)),
        ..Update::default()
    });
    let target = prefix.filter(|prefix| !prefix.target.is_empty());
    Notification {
        timestamp,
        update: update.collect(),
        prefix: target.map(|prefix| Path {
            target: prefix.target.clone(),
            ..Path::default()
        }),
        ..Notification::default()
    }
}

/// The encoding that a client wants.
pub(crate) fn encoding(number: i32) -> Result<Encoding, Status> {
    match Encoding::try_from(number) {
        Ok(Encoding::Bytes) | Err(_) => Err(Status::unimplemented("encodings are PROTO, JSON, JSON_IETF and ASCII")),
        Ok(encoding) => Ok(encoding),
    }
}
