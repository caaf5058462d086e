//! Keys, actions and values between Python and P4.

use forebay_bits::Bits;
use forebay_entries::{ActionCall, EntryKey, EntryName, KeyMatch, Literal, Pattern, action_call, entry_key};
use forebay_ir::{EntryMatch, Program, Table};
use forebay_pipeline::EntryAction;
use num_bigint::BigUint;
use pyo3::prelude::*;

/// What a key field must be: its name, `value`, `prefix`, `masked` or `range`, and one or two numbers.
pub(crate) type Field = (String, String, BigUint, Option<BigUint>);

/// What a key field must be, as it is read: `exact`, `lpm`, `ternary`, `range` or `optional`, and one or two numbers;
/// none for an optional field that is not compared.
pub(crate) type ReadField = (&'static str, Option<BigUint>, Option<BigUint>);

/// What an entry invokes.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Invoked {
    /// An action with its arguments by name.
    Call((String, Vec<(String, BigUint)>)),
    /// `member` or `group` of the table's action profile, with its number.
    OfProfile((String, u32)),
}

/// The key of an entry. Of a table whose fields may overlap the priority is at least 1, which it is when none is given.
pub(crate) fn key(
    program: &Program,
    table: &str,
    fields: Vec<Field>,
    priority: Option<i64>,
) -> Result<EntryKey, String> {
    let matches = fields.into_iter().map(|(name, kind, first, second)| {
        let pattern = pattern(&name, &kind, first, second)?;
        Ok(KeyMatch { name, pattern })
    });
    let name = EntryName {
        table: table.to_string(),
        priority: None,
        matches: matches.collect::<Result<_, String>>()?,
    };
    let mut key = entry_key(program, &name)?;
    if let Some(priority) = priority {
        key.priority = priority;
    }
    Ok(key)
}

fn pattern(name: &str, kind: &str, first: BigUint, second: Option<BigUint>) -> Result<Pattern, String> {
    let (first, second) = (literal(first), second);
    let length =
        |second: BigUint| u32::try_from(second).map_err(|_| format!("key field `{name}`: the prefix is too long"));
    Ok(match (kind, second) {
        ("prefix", Some(second)) => Pattern::Prefix(first, length(second)?),
        ("masked", Some(second)) => Pattern::Masked(first, literal(second)),
        ("range", Some(second)) => Pattern::Range(first, literal(second)),
        _ => Pattern::Value(first),
    })
}

fn literal(value: BigUint) -> Literal {
    Literal {
        value,
        wildcards: BigUint::ZERO,
        written_bits: None,
    }
}

/// What an entry of the table invokes, as the program executes it, with full names.
pub(crate) fn action(program: &Program, table: &Table, invoked: Invoked) -> Result<EntryAction, String> {
    match invoked {
        Invoked::OfProfile((kind, number)) if kind == "group" => Ok(EntryAction::Group(number)),
        Invoked::OfProfile((_, number)) => Ok(EntryAction::Member(number)),
        Invoked::Call((name, args)) => {
            let args = args.into_iter().map(|(name, value)| (name, literal(value)));
            let call = ActionCall {
                name,
                args: args.collect(),
            };
            let (action, args) = action_call(program, table, &call)?;
            Ok(EntryAction::Call { action, args })
        }
    }
}

/// What an entry invokes, as Python sees it.
pub(crate) fn invoked(program: &Program, action: &EntryAction) -> Invoked {
    match action {
        EntryAction::Member(member) => Invoked::OfProfile(("member".to_string(), *member)),
        EntryAction::Group(group) => Invoked::OfProfile(("group".to_string(), *group)),
        EntryAction::Call { action, args } => {
            let declared = program.actions.iter().find(|declared| declared.name == *action);
            let names = declared.into_iter().flat_map(|declared| &declared.params);
            let args = names
                .zip(args)
                .map(|(param, value)| (param.name.clone(), value.to_biguint()));
            Invoked::Call((action.clone(), args.collect()))
        }
    }
}

/// A key field as it is read.
pub(crate) fn read_field(field: &EntryMatch) -> ReadField {
    let number = |bits: &Bits| Some(bits.to_biguint());
    match field {
        EntryMatch::Exact(value) => ("exact", number(value), None),
        EntryMatch::Lpm { value, prefix_length } => ("lpm", number(value), Some(BigUint::from(*prefix_length))),
        EntryMatch::Ternary { value, mask } => ("ternary", number(value), number(mask)),
        EntryMatch::Range { low, high } => ("range", number(low), number(high)),
        EntryMatch::Optional(value) => ("optional", value.as_ref().and_then(number), None),
    }
}
