//! Actions: one of the program for each that a table lists, or its primitives in place.

use super::{ActionData, Translator};
use crate::error::{At, Error, Result};
use crate::model::{self, Table};
use forebay_bits::Bits;
use forebay_ir::{Action, ActionId, ActionParam, BodyKind};
use num_bigint::BigInt;

/// The name of the action that does nothing, which a table has on a miss when the program says nothing else.
const NO_ACTION: &str = "NoAction";

impl<'a> Translator<'a> {
    /// An action of the JSON.
    pub(super) fn json_action(&self, id: u32) -> Result<&'a model::Action> {
        let found = self.json.actions.iter().find(|action| action.id == id);
        found.ok_or_else(|| Error::new(format!("there is no action with id {id}")))
    }

    /// The actions of a table, in order.
    pub(super) fn actions_of(&self, table: &Table) -> Result<Vec<&'a model::Action>> {
        if !table.actions.is_empty() {
            return table.actions.iter().map(|id| self.json_action(*id)).collect();
        }
        let by_name = table.action_names.iter().map(|name| {
            let found = self.json.actions.iter().find(|action| action.name == *name);
            found.ok_or_else(|| Error::new(format!("there is no action `{name}`")))
        });
        by_name.collect()
    }

    /// The program's action for one of the JSON, made when a table first lists it.
    pub(super) fn action(&mut self, action: &model::Action) -> Result<ActionId> {
        if let Some(known) = self.actions.get(&action.id) {
            return Ok(*known);
        }
        let widths = action.parameters.iter().map(|parameter| parameter.width).collect();
        let outer = std::mem::replace(&mut self.data, ActionData::Parameters(widths));
        let body = self.build(&action.name, BodyKind::Action, |this| {
            this.primitives(&action.primitives)
        });
        self.data = outer;
        let body = body.at(&action.at)?;
        let params = action.parameters.iter().map(|parameter| ActionParam {
            name: parameter.name.clone(),
            width: parameter.width,
            signed: false,
        });
        let added = Action {
            name: action.name.clone(),
            params: params.collect(),
            body: self.add_body(body),
        };
        let id = self.add_action(added);
        self.actions.insert(action.id, id);
        Ok(id)
    }

    fn add_action(&mut self, action: Action) -> ActionId {
        let id = ActionId(self.program.actions.len() as u32);
        self.program.actions.push(action);
        id
    }

    /// An action that does nothing.
    pub(super) fn no_action(&mut self) -> Result<ActionId> {
        let is_it = |action: &Action| action.name == NO_ACTION && action.params.is_empty();
        if let Some(index) = self.program.actions.iter().position(is_it) {
            return Ok(ActionId(index as u32));
        }
        let body = self.build(NO_ACTION, BodyKind::Action, |_| Ok(()))?;
        let body = self.add_body(body);
        Ok(self.add_action(Action {
            name: NO_ACTION.to_owned(),
            params: Vec::new(),
            body,
        }))
    }

    /// Appends what an action does with these data.
    pub(super) fn run_action(&mut self, action: &model::Action, data: &[BigInt]) -> Result<()> {
        let data = action_data(action, data)?;
        let outer = std::mem::replace(&mut self.data, ActionData::Constants(data));
        let done = self.primitives(&action.primitives);
        self.data = outer;
        done.at(&action.at)
    }
}

/// Data for an action, each in the width of its parameter.
pub fn action_data(action: &model::Action, data: &[BigInt]) -> Result<Vec<Bits>> {
    let (given, wanted) = (data.len(), action.parameters.len());
    if given != wanted {
        return Err(Error::new(format!(
            "the action `{}` takes {wanted} data, not {given}",
            action.name
        )));
    }
    let data = data.iter().zip(&action.parameters);
    Ok(data
        .map(|(value, parameter)| Bits::from_bigint(parameter.width, value))
        .collect())
}
