//! Actions with their data (P4Runtime §9.1.2).

use crate::change::Change;
use crate::schema::{ActionSchema, ActionScope, Schema, TableSchema, restriction};
use crate::status::Error;
use forebay_bits::Bits;
use forebay_pipeline::EntryAction;
use forebay_protocol::p4::v1::Action;
use forebay_protocol::p4::v1::action::Param;

/// An action as the pipeline names it.
pub(crate) struct Call {
    pub(crate) action: String,
    pub(crate) args: Vec<Bits>,
}

/// What an action is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Entry,
    Default,
}

/// An action that a table may use. Hidden ones are used by what is written again, never by controllers.
pub(crate) fn read(
    change: &Change<'_, '_>,
    table: &TableSchema,
    action: &Action,
    for_what: Use,
) -> Result<Call, Error> {
    let schema = change.schema;
    let Some(scope) = table.scope(action.action_id) else {
        return Err(not_listed(schema, table, action.action_id));
    };
    let declared = schema.action(action.action_id)?;
    if declared.is_hidden && !change.writer.writes_again {
        return Err(not_listed(schema, table, action.action_id));
    }
    check_scope(table, declared, scope, for_what)?;
    check_params(declared, action)?;
    let what = |name: &str| format!("action `{}`: parameter `{name}`", declared.name);
    let args = declared.params.iter().map(|(id, name, value)| {
        let given = action.params.iter().find(|given| given.param_id == *id);
        let given = given.ok_or_else(|| Error::invalid(format!("{} is missing", what(name))))?;
        value.read(&given.value, || what(name))
    });
    let args = args.collect::<Result<Vec<_>, Error>>()?;
    if change.writer.is_bound {
        restriction::check_data(declared, &args)?;
    }
    Ok(Call {
        args,
        action: declared.name.clone(),
    })
}

fn check_scope(table: &TableSchema, action: &ActionSchema, scope: ActionScope, for_what: Use) -> Result<(), Error> {
    let why = match (scope, for_what) {
        (ActionScope::EntriesOnly, Use::Default) => "as its default action: it is @tableonly",
        (ActionScope::DefaultOnly, Use::Entry) => "in entries: it is @defaultonly",
        _ => return Ok(()),
    };
    Err(Error::denied(format!(
        "table `{}` cannot use `{}` {why}",
        table.name, action.name
    )))
}

/// Refuses parameters that the action does not have, and one that is given twice.
fn check_params(declared: &ActionSchema, action: &Action) -> Result<(), Error> {
    for (index, given) in action.params.iter().enumerate() {
        let is_same = |other: &Param| other.param_id == given.param_id;
        let problem = if !declared.params.iter().any(|(id, ..)| *id == given.param_id) {
            "does not exist"
        } else if action.params[..index].iter().any(is_same) {
            "is given twice"
        } else {
            continue;
        };
        return Err(Error::invalid(format!(
            "action `{}`: parameter {} {problem}",
            declared.name, given.param_id
        )));
    }
    Ok(())
}

fn not_listed(schema: &Schema, table: &TableSchema, action: u32) -> Error {
    let described = |id| schema.actions.get(id).filter(|action| !action.is_hidden);
    let known = table.actions.iter().filter_map(|(id, _)| described(id));
    let known: Vec<String> = known.map(|action| format!("`{}`", action.name)).collect();
    let given = match described(&action) {
        Some(action) => format!("`{}`", action.name),
        None => format!("with id {action:#010x}"),
    };
    Error::invalid(format!(
        "table `{}` has no action {given}; it has {}",
        table.name,
        known.join(", ")
    ))
}

/// A call in the form of the protocol; none when it is a member or a group.
pub(crate) fn write(schema: &Schema, action: &EntryAction) -> Option<Action> {
    let EntryAction::Call { action, args } = action else {
        return None;
    };
    let declared = schema.actions.get(schema.action_ids.get(action)?)?;
    let params = declared.params.iter().zip(args);
    Some(Action {
        action_id: declared.id,
        params: params
            .map(|((id, _, value), arg)| Param {
                param_id: *id,
                value: value.write(arg),
            })
            .collect(),
    })
}
