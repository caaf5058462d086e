//! Conversions between the control plane's types and those of `forebay-tables`: values are fitted to their fields, and
//! numbers of fields and parameters become names in errors.

use crate::control::names::resolve;
use crate::control::{Entry, EntryAction};
use crate::error::{ControlError, ObjectKind};
use forebay_bits::Bits;
use forebay_ir::{EntryMatch, MatchKind, Program, Table, TableKey};
use forebay_jit::key_spec;
use forebay_tables::{
    ActionCall, ActionError, ActionId, GroupId, Implementation, KeyError, KeyMatch, MemberId, ProfileError, TableError,
};

/// The key fields that entries match: all except selectors.
pub(crate) fn matched_fields(table: &Table) -> impl Iterator<Item = &TableKey> {
    table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector)
}

/// A value in the width of its field.
pub(crate) fn fit(name: &str, field: &str, value: &Bits, width: u32) -> Result<Bits, ControlError> {
    let fitted = value.zext(width);
    if fitted.zext(value.width().max(width)) != value.zext(value.width().max(width)) {
        return Err(ControlError::ValueTooWide {
            name: name.to_string(),
            field: field.to_string(),
            width,
        });
    }
    Ok(fitted)
}

/// Match conditions for the fields of a table.
pub(crate) fn key_from_control(table: &Table, matches: &[EntryMatch]) -> Result<Vec<KeyMatch>, ControlError> {
    let expected = matched_fields(table).count();
    if matches.len() != expected {
        let what = "match fields";
        return Err(ControlError::WrongCount {
            name: table.name.clone(),
            what,
            expected,
            given: matches.len(),
        });
    }
    let fields = matched_fields(table).zip(matches);
    fields
        .map(|(field, given)| condition(&table.name, &field.name, field.width, given))
        .collect()
}

/// One condition, with its values in the width of the field.
pub(crate) fn condition(name: &str, field: &str, width: u32, given: &EntryMatch) -> Result<KeyMatch, ControlError> {
    let fit = |value: &Bits| fit(name, field, value, width);
    Ok(match given {
        EntryMatch::Exact(value) => KeyMatch::Exact(fit(value)?),
        EntryMatch::Lpm { value, prefix_length } => KeyMatch::Lpm {
            value: fit(value)?,
            prefix_len: *prefix_length,
        },
        EntryMatch::Ternary { value, mask } => KeyMatch::Ternary {
            value: fit(value)?,
            mask: fit(mask)?,
        },
        EntryMatch::Range { low, high } => KeyMatch::Range {
            lo: fit(low)?,
            hi: fit(high)?,
        },
        EntryMatch::Optional(value) => KeyMatch::Optional(value.as_ref().map(fit).transpose()?),
    })
}

/// A condition, converted for the control plane; `width` is the field's.
pub(crate) fn condition_to_control(condition: &KeyMatch, width: u32) -> EntryMatch {
    match condition {
        KeyMatch::Exact(value) => EntryMatch::Exact(value.clone()),
        KeyMatch::Lpm { value, prefix_len } => EntryMatch::Lpm {
            value: value.clone(),
            prefix_length: *prefix_len,
        },
        KeyMatch::Ternary { value, mask } => EntryMatch::Ternary {
            value: value.clone(),
            mask: mask.clone(),
        },
        KeyMatch::Range { lo, hi } => EntryMatch::Range {
            low: lo.clone(),
            high: hi.clone(),
        },
        KeyMatch::Optional(value) => EntryMatch::Optional(value.clone()),
        KeyMatch::DontCare => EntryMatch::Ternary {
            value: Bits::zero(width),
            mask: Bits::zero(width),
        },
    }
}

pub(crate) fn priority(table: &Table, given: i64) -> Result<i32, ControlError> {
    i32::try_from(given).map_err(|_| ControlError::Priority {
        name: table.name.clone(),
        given,
    })
}

/// A call that is part of the program.
pub(crate) fn call_of_program(table: &Table, call: &forebay_ir::ActionCall) -> ActionCall {
    let action = table.actions[call.action as usize].action;
    ActionCall::new(ActionId(action.0), call.args.clone())
}

/// A call of one of a table's actions by name.
pub(crate) fn call_by_name(
    program: &Program,
    table: &Table,
    action: &str,
    args: &[Bits],
) -> Result<ActionCall, ControlError> {
    let names = table
        .actions
        .iter()
        .map(|listed| program.actions[listed.action.index()].name.as_str());
    let id = table.actions[resolve(ObjectKind::Action, action, names)?].action;
    let action = &program.actions[id.index()];
    if action.params.len() != args.len() {
        return Err(ControlError::WrongCount {
            name: action.name.clone(),
            what: "parameters",
            expected: action.params.len(),
            given: args.len(),
        });
    }
    let pairs = action.params.iter().zip(args);
    let args = pairs.map(|(param, arg)| fit(&action.name, &param.name, arg, param.width));
    Ok(ActionCall::new(ActionId(id.0), args.collect::<Result<_, _>>()?))
}

pub(crate) fn call_to_control(program: &Program, call: &ActionCall) -> EntryAction {
    EntryAction::Call {
        action: program.actions[call.action.0 as usize].name.clone(),
        args: call.args.clone(),
    }
}

pub(crate) fn action_from_control(
    program: &Program,
    table: &Table,
    action: &EntryAction,
) -> Result<forebay_tables::EntryAction, ControlError> {
    Ok(match action {
        EntryAction::Call { action, args } => {
            forebay_tables::EntryAction::Call(call_by_name(program, table, action, args)?)
        }
        EntryAction::Member(member) => forebay_tables::EntryAction::Member(MemberId(*member)),
        EntryAction::Group(group) => forebay_tables::EntryAction::Group(GroupId(*group)),
    })
}

pub(crate) fn action_to_control(program: &Program, action: &forebay_tables::EntryAction) -> EntryAction {
    match action {
        forebay_tables::EntryAction::Call(call) => call_to_control(program, call),
        forebay_tables::EntryAction::Member(member) => EntryAction::Member(member.0),
        forebay_tables::EntryAction::Group(group) => EntryAction::Group(group.0),
    }
}

/// The key of an entry, in canonical form.
pub(crate) fn key_of(table: &Table, entry: &forebay_tables::Entry) -> Vec<KeyMatch> {
    let keys: Vec<_> = table.keys.iter().map(key_spec).collect();
    entry.key(&keys)
}

pub(crate) fn entry_to_control(program: &Program, table: &Table, entry: &forebay_tables::Entry) -> Entry {
    let key = key_of(table, entry);
    let fields = matched_fields(table).zip(&key);
    Entry {
        matches: fields
            .map(|(field, condition)| condition_to_control(condition, field.width))
            .collect(),
        priority: entry.priority().into(),
        action: action_to_control(program, entry.action()),
    }
}

/// Converts an error of `forebay-tables`, which has numbers, to one with names.
pub(crate) fn table_error(program: &Program, table: &Table, error: TableError) -> ControlError {
    let name = table.name.clone();
    match error {
        TableError::TableFull { size } => ControlError::Full {
            name,
            size: size as u64,
        },
        TableError::Duplicate(_) => ControlError::AlreadyExists {
            name,
            what: "an entry with this key and priority".to_string(),
        },
        TableError::NotFound => ControlError::NotFound {
            name,
            what: "entry with this key and priority".to_string(),
        },
        TableError::BadKey(error) => key_error(table, error),
        TableError::BadAction(error) => action_error(program, table, error),
        TableError::ConstDefault => ControlError::Constant {
            name,
            what: "default action",
        },
        TableError::ConstEntry(_) => ControlError::Constant {
            name,
            what: "entry with this key",
        },
        TableError::ConstEntries => ControlError::Constant {
            name,
            what: "list of entries",
        },
    }
}

fn key_error(table: &Table, error: KeyError) -> ControlError {
    let name = table.name.clone();
    let field = |index: usize| {
        matched_fields(table)
            .nth(index)
            .map_or(String::new(), |field| field.name.clone())
    };
    match error {
        KeyError::FieldCount { expected, found } => ControlError::WrongCount {
            name,
            what: "match fields",
            expected,
            given: found,
        },
        KeyError::Width {
            field: index, expected, ..
        } => ControlError::ValueTooWide {
            name,
            field: field(index),
            width: expected,
        },
        KeyError::PrefixTooLong { field: index, .. } => ControlError::InvalidMatch {
            name,
            field: field(index),
            problem: "is shorter than the prefix",
        },
        KeyError::EmptyRange { field: index } => ControlError::InvalidMatch {
            name,
            field: field(index),
            problem: "is given a range whose ends are reversed",
        },
        KeyError::Kind { field: index, kind } => ControlError::WrongMatchKind {
            name,
            field: field(index),
            expected: kind.name(),
        },
    }
}

pub(crate) fn action_error(program: &Program, table: &Table, error: ActionError) -> ControlError {
    let name = table.name.clone();
    let action = |id: ActionId| program.actions[id.0 as usize].name.clone();
    match error {
        ActionError::Unknown(id) => ControlError::ActionNotAllowed {
            name,
            action: action(id),
            why: "it is not in its list of actions",
        },
        ActionError::DefaultOnly(id) => ControlError::ActionNotAllowed {
            name,
            action: action(id),
            why: "it is marked @defaultonly",
        },
        ActionError::TableOnly(id) => ControlError::ActionNotAllowed {
            name,
            action: action(id),
            why: "it is marked @tableonly",
        },
        ActionError::ArgumentCount { expected, found } => ControlError::WrongCount {
            name,
            what: "parameters",
            expected,
            given: found,
        },
        ActionError::ArgumentWidth {
            parameter, expected, ..
        } => ControlError::ValueTooWide {
            name,
            field: format!("parameter {parameter}"),
            width: expected,
        },
        ActionError::Implementation(implementation) => ControlError::Unsuitable {
            name,
            expected: match implementation {
                Implementation::Direct => "has no action profile: its entries name an action",
                Implementation::Profile => "has an action profile: its entries name a member",
                Implementation::Selector => "has an action selector: its entries name a member or a group",
            },
        },
    }
}

/// Converts an error of an action profile.
pub(crate) fn profile_error(name: &str, error: ProfileError) -> ControlError {
    let name = name.to_string();
    let member = |id: MemberId| format!("member {id}");
    let group = |id: GroupId| format!("group {id}");
    match error {
        ProfileError::ProfileFull { size } => ControlError::Full {
            name,
            size: size as u64,
        },
        ProfileError::DuplicateMember(id) => ControlError::AlreadyExists { name, what: member(id) },
        ProfileError::DuplicateGroup(id) => ControlError::AlreadyExists { name, what: group(id) },
        ProfileError::NoMember(id) => ControlError::NotFound { name, what: member(id) },
        ProfileError::NoGroup(id) => ControlError::NotFound { name, what: group(id) },
        ProfileError::MemberInUse(id) => ControlError::InUse { name, what: member(id) },
        ProfileError::GroupInUse(id) => ControlError::InUse { name, what: group(id) },
        ProfileError::RepeatedMember(_) => ControlError::Unsuitable {
            name,
            expected: "takes a member into a group once; give it a larger weight",
        },
        ProfileError::ZeroWeight(_) => ControlError::Unsuitable {
            name,
            expected: "needs weights of at least 1 for the members of a group",
        },
        ProfileError::GroupTooLarge { limit, .. } => ControlError::Full { name, size: limit },
    }
}
