//! What an entry does: the words after `do`, and `TableAction` messages (§9.1.2, §9.2.3).
//!
//! ```text
//!   do set_next_hop next_hop=1                  an action; parameters by name, or in order
//!   do member 3        do group 2               of an action profile
//!   do set_port port=1 weight:2 watch:1 or set_port port=2     a group of this entry's own (one-shot)
//! ```

use crate::arguments::number;
use crate::catalog::{Catalog, Named, by_id, find, select, select_of};
use crate::mistake::{Mistake, listed};
use crate::value;
use forebay_protocol::p4::config::v1::{Action as ActionInfo, ActionProfile, Table};
use forebay_protocol::p4::v1::action::Param;
use forebay_protocol::p4::v1::action_profile_action::WatchKind;
use forebay_protocol::p4::v1::table_action::Type;
use forebay_protocol::p4::v1::{Action, ActionProfileAction, ActionProfileActionSet, TableAction};

/// Words that separate the key from the action.
const SEPARATORS: &[&str] = &["do", "=>", "->"];

/// Whether a word separates the key from the action.
pub(crate) fn is_separator(word: &str) -> bool {
    SEPARATORS.contains(&word)
}

/// Splits words at `do`: what stands before it, and what after it.
pub fn split(words: &[String]) -> (&[String], Option<&[String]>) {
    let separator = words.iter().position(|word| is_separator(word));
    match separator {
        None => (words, None),
        Some(at) => (&words[..at], Some(&words[at + 1..])),
    }
}

/// Reads what an entry of a table does.
///
/// # Errors
/// When the words are no action that entries of this table may have.
pub fn read(catalog: &Catalog, table: &Table, words: &[String]) -> Result<TableAction, Mistake> {
    let profile = by_id(table.implementation_id, &catalog.info.action_profiles);
    let kind = match (profile, words) {
        (Some(_), [kind, id]) if kind == "member" => Type::ActionProfileMemberId(number(id, "member")?),
        (Some(_), [kind, id]) if kind == "group" => Type::ActionProfileGroupId(number(id, "group")?),
        (Some(profile), _) => Type::ActionProfileActionSet(read_one_shot(catalog, table, profile, words)?),
        (None, _) => Type::Action(read_action(catalog, &table_actions(catalog, table), words)?),
    };
    Ok(TableAction { r#type: Some(kind) })
}

/// The actions of a table, and what they are the actions of.
pub struct Choices<'a> {
    owner: String,
    actions: Vec<&'a ActionInfo>,
}

/// The actions that entries of a table may have.
pub fn table_actions<'a>(catalog: &'a Catalog, table: &Table) -> Choices<'a> {
    Choices {
        owner: format!("table `{}`", table.alias()),
        actions: catalog.actions_of(table),
    }
}

/// The actions that members of a profile may have.
pub fn profile_actions<'a>(catalog: &'a Catalog, profile: &ActionProfile) -> Choices<'a> {
    Choices {
        owner: format!("action profile `{}`", profile.alias()),
        actions: catalog.actions_of_profile(profile),
    }
}

impl<'a> Choices<'a> {
    fn find(&self, catalog: &'a Catalog, name: &str) -> Result<&'a ActionInfo, Mistake> {
        let names: Vec<&str> = self.actions.iter().map(|action| action.name()).collect();
        let aliases = || self.actions.iter().map(|action| action.alias());
        if let Some(action) = self.actions.iter().find(|action| action.alias() == name) {
            return Ok(action);
        }
        select("action", name, &names, aliases())
            .map(|chosen| self.actions[chosen])
            .map_err(|mistake| match find(name, &catalog.info.actions) {
                Ok(other) => self.not_ours(other),
                Err(_) => mistake.within(&self.owner),
            })
    }

    fn not_ours(&self, action: &ActionInfo) -> Mistake {
        let ours: Vec<&str> = self.actions.iter().map(|action| action.alias()).collect();
        let mistake = Mistake::new(format!("`{}` is no action of {}", action.alias(), self.owner));
        mistake.help(format!("its actions are {}", listed(&ours)))
    }
}

/// Reads an action with its parameters.
///
/// # Errors
/// When it is none of the choices, or parameters are missing or wrong.
pub fn read_action(catalog: &Catalog, choices: &Choices<'_>, words: &[String]) -> Result<Action, Mistake> {
    let Some((name, words)) = words.split_first() else {
        let names: Vec<&str> = choices.actions.iter().map(|action| action.alias()).collect();
        let mistake = Mistake::new("the name of the action is missing");
        return Err(mistake.help(format!("write one of {}", listed(&names))));
    };
    let info = choices.find(catalog, name)?;
    let fields = catalog.parameters(info);
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let owner = format!("`{}`", info.alias());
    let mut values: Vec<Option<Vec<u8>>> = vec![None; fields.len()];
    for (position, word) in words.iter().enumerate() {
        let (index, text) = match word.split_once('=') {
            Some((name, text)) => (
                select_of(&owner, "parameter", name, &names, names.iter().copied())?,
                text,
            ),
            None if position < fields.len() => (position, word.as_str()),
            None => return Err(too_many(info, word, fields.len())),
        };
        if values[index].replace(fields[index].read(text)?).is_some() {
            return Err(Mistake::new(format!("parameter `{}` is given twice", names[index])));
        }
    }
    let params = fields.iter().zip(values).map(|(field, value)| {
        let missing = || {
            let mistake = Mistake::new(format!(
                "`{}` needs `{}` ({})",
                info.alias(),
                field.name,
                field.type_name()
            ));
            mistake.help(format!("add `{}=VALUE`, {}", field.name, field.wanted()))
        };
        Ok(Param {
            param_id: field.id,
            value: value.ok_or_else(missing)?,
        })
    });
    Ok(Action {
        action_id: info.id(),
        params: params.collect::<Result<_, Mistake>>()?,
    })
}

fn too_many(info: &ActionInfo, word: &str, count: usize) -> Mistake {
    let plural = if count == 1 { "" } else { "s" };
    Mistake::new(format!("`{word}`: `{}` has {count} parameter{plural}", info.alias()))
}

fn read_one_shot(
    catalog: &Catalog,
    table: &Table,
    profile: &ActionProfile,
    words: &[String],
) -> Result<ActionProfileActionSet, Mistake> {
    if !profile.with_selector {
        let mistake = Mistake::new(format!("entries of table `{}` name a member", table.alias()));
        return Err(mistake.help("write `do member N`; `profile member add` makes one"));
    }
    let choices = table_actions(catalog, table);
    let actions = words
        .split(|word| word == "or")
        .map(|words| read_choice(catalog, &choices, words));
    Ok(ActionProfileActionSet {
        action_profile_actions: actions.collect::<Result<_, _>>()?,
        ..ActionProfileActionSet::default()
    })
}

/// One action of a one-shot, with `weight:N` and `watch:PORT`.
fn read_choice(catalog: &Catalog, choices: &Choices<'_>, words: &[String]) -> Result<ActionProfileAction, Mistake> {
    let (mut weight, mut watch_kind, mut rest) = (1, None, Vec::new());
    for word in words {
        if let Some(text) = word.strip_prefix("weight:") {
            weight = number(text, "weight")?;
        } else if let Some(text) = word.strip_prefix("watch:") {
            watch_kind = Some(WatchKind::WatchPort(port(text)?));
        } else {
            rest.push(word.clone());
        }
    }
    Ok(ActionProfileAction {
        action: Some(read_action(catalog, choices, &rest)?),
        weight,
        watch_kind,
    })
}

/// A port as a byte string.
///
/// # Errors
/// When it is no number.
pub fn port(text: &str) -> Result<Vec<u8>, Mistake> {
    number::<u32>(text, "port").map(|port| value::bytes(&port.into()))
}

/// The number of a port; 0 for an empty string.
pub fn port_number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The name of an action, and its parameters as `(name, value)`.
pub fn written(catalog: &Catalog, action: &Action) -> (String, Vec<(String, String)>) {
    let Some(info) = catalog.action_by_id(action.action_id) else {
        return (format!("{:#010x}", action.action_id), Vec::new());
    };
    let fields = catalog.parameters(info);
    let parameters = action.params.iter().map(|parameter| {
        let field = fields.iter().find(|field| field.id == parameter.param_id);
        match field {
            Some(field) => (field.name.clone(), field.write(&parameter.value)),
            None => (parameter.param_id.to_string(), format!("{:?}", parameter.value)),
        }
    });
    (info.alias().to_string(), parameters.collect())
}

/// An action as it may be typed.
pub fn write_action(catalog: &Catalog, action: &Action) -> String {
    let (name, parameters) = written(catalog, action);
    let parameters = parameters.iter().map(|(name, value)| format!(" {name}={value}"));
    name + &parameters.collect::<String>()
}

/// What an entry does, as it may be typed after `do`.
pub fn write(catalog: &Catalog, action: &TableAction) -> String {
    match &action.r#type {
        Some(Type::Action(action)) => write_action(catalog, action),
        Some(Type::ActionProfileMemberId(id)) => format!("member {id}"),
        Some(Type::ActionProfileGroupId(id)) => format!("group {id}"),
        Some(Type::ActionProfileActionSet(set)) => {
            let choices = set
                .action_profile_actions
                .iter()
                .map(|choice| write_choice(catalog, choice));
            choices.collect::<Vec<_>>().join(" or ")
        }
        None => String::new(),
    }
}

fn write_choice(catalog: &Catalog, choice: &ActionProfileAction) -> String {
    let action = choice.action.as_ref().map(|action| write_action(catalog, action));
    let weight = match choice.weight {
        1 => String::new(),
        weight => format!(" weight:{weight}"),
    };
    let watch = match &choice.watch_kind {
        Some(WatchKind::WatchPort(port)) => format!(" watch:{}", port_number(port)),
        _ => String::new(),
    };
    action.unwrap_or_default() + &weight + &watch
}
