//! From an `add` to an entry of the control plane.

use crate::names::{resolve, resolve_key};
use crate::{ActionCall, EntryName, Literal, Pattern};
use forebay_bits::Bits;
use forebay_ir::{Action, EntryMatch, MatchKind, Program, Table, TableKey};
use forebay_syntax::diagnostic::closest_name;
use num_bigint::BigUint;

/// The key of an entry: what identifies it to the control plane.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryKey {
    /// Index into the program's tables.
    pub table: usize,
    /// One for each key field that is not of kind `selector`.
    pub matches: Vec<EntryMatch>,
    /// The larger wins.
    pub priority: i64,
}

/// The index of the table that a name, or an unambiguous end of one, means.
///
/// # Errors
/// When no table or several are meant; the names are listed.
pub fn table_index(program: &Program, name: &str) -> Result<usize, String> {
    resolve("table", name, program.tables.iter().map(|table| table.name.as_str()))
}

/// What an entry matches.
///
/// # Errors
/// When a name means nothing, a value does not fit its field, an exact field is not written, or a field is given twice.
pub fn entry_key(program: &Program, entry: &EntryName) -> Result<EntryKey, String> {
    let index = table_index(program, &entry.table)?;
    let table = &program.tables[index];
    let keys: Vec<&TableKey> = table
        .keys
        .iter()
        .filter(|key| key.match_kind != MatchKind::Selector)
        .collect();
    let mut matches: Vec<Option<EntryMatch>> = vec![None; keys.len()];
    for written in &entry.matches {
        let at = resolve_key(&written.name, keys.iter().map(|key| key.name.as_str()))
            .map_err(|message| format!("table `{}`: {message}", table.name))?;
        let pattern = entry_match(keys[at], &written.pattern)
            .map_err(|message| format!("table `{}`, key field `{}`: {message}", table.name, keys[at].name))?;
        if matches[at].replace(pattern).is_some() {
            return Err(format!(
                "table `{}`: key field `{}` is given twice",
                table.name, keys[at].name
            ));
        }
    }
    for (key, matched) in keys.iter().zip(&mut matches) {
        if matched.is_none() {
            *matched = unwritten(key);
        }
    }
    Ok(EntryKey {
        table: index,
        matches: all_written(table, &keys, matches)?,
        priority: priority(&keys, entry.priority).map_err(|message| format!("table `{}`: {message}", table.name))?,
    })
}

/// What every key field matches. The error names those that have to be written and are not.
fn all_written(table: &Table, keys: &[&TableKey], matches: Vec<Option<EntryMatch>>) -> Result<Vec<EntryMatch>, String> {
    let unwritten = keys.iter().zip(&matches).filter(|(_, written)| written.is_none());
    let unwritten: Vec<String> = unwritten.map(|(key, _)| format!("`{}`", key.name)).collect();
    let (fields, example) = match &unwritten[..] {
        [] => return Ok(matches.into_iter().flatten().collect()),
        [only] => (format!("key field {only} is not written"), only.trim_matches('`')),
        [first, ..] => (
            format!("key fields {} are not written", unwritten.join(", ")),
            first.trim_matches('`'),
        ),
    };
    let table = &table.name;
    Err(format!(
        "table `{table}`: {fields}; an exact field needs a value: {example}:0x1"
    ))
}

/// The action's full name and its arguments in order of its parameters.
///
/// # Errors
/// When a name means nothing, or an argument is missing, is given twice, or does not fit.
pub fn action_call(program: &Program, table: &Table, call: &ActionCall) -> Result<(String, Vec<Bits>), String> {
    let actions: Vec<&Action> = table
        .actions
        .iter()
        .map(|listed| &program.actions[listed.action.index()])
        .collect();
    let index = resolve("action", &call.name, actions.iter().map(|action| action.name.as_str()))
        .map_err(|message| format!("table `{}`: {message}", table.name))?;
    let action = actions[index];
    let args = action_args(action, call).map_err(|message| format!("action `{}`: {message}", action.name))?;
    Ok((action.name.clone(), args))
}

fn action_args(action: &Action, call: &ActionCall) -> Result<Vec<Bits>, String> {
    if let Some((name, _)) = call
        .args
        .iter()
        .find(|(name, _)| action.params.iter().all(|param| param.name != *name))
    {
        let known: Vec<&str> = action.params.iter().map(|param| param.name.as_str()).collect();
        return Err(match closest_name(name, known.iter().copied()) {
            Some(near) => format!("it has no parameter `{name}`; did you mean `{near}`?"),
            None => format!(
                "it has no parameter `{name}`; its parameters are ({})",
                known.join(", ")
            ),
        });
    }
    let names: Vec<&str> = call.args.iter().map(|(name, _)| name.as_str()).collect();
    let twice = (1..names.len()).find(|&at| names[..at].contains(&names[at]));
    if let Some(at) = twice {
        return Err(format!("argument `{}` is given twice", names[at]));
    }
    action
        .params
        .iter()
        .map(|param| match call.args.iter().find(|(name, _)| *name == param.name) {
            Some((_, literal)) => {
                fitting(&literal.value, param.width).map_err(|e| format!("argument `{}`: {e}", param.name))
            }
            None => Err(format!("there is no argument for `{}`", param.name)),
        })
        .collect()
}

/// The largest priority of STF: that of the control plane is one larger, and has 31 bits.
const MAX_PRIORITY: u32 = i32::MAX as u32 - 1;

/// Tables whose match kinds can overlap need a priority of at least 1; STF begins at 0.
fn priority(keys: &[&TableKey], written: Option<u32>) -> Result<i64, String> {
    let overlapping = |key: &&TableKey| {
        matches!(
            key.match_kind,
            MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
        )
    };
    match written.unwrap_or(0) {
        _ if !keys.iter().any(overlapping) => Ok(0),
        written @ 0..=MAX_PRIORITY => Ok(i64::from(written) + 1),
        written => Err(format!("a priority is at most {MAX_PRIORITY}, not {written}")),
    }
}

/// What a key field matches that the test does not mention; nothing when it has to be mentioned.
fn unwritten(key: &TableKey) -> Option<EntryMatch> {
    let zero = Bits::zero(key.width);
    Some(match key.match_kind {
        MatchKind::Exact | MatchKind::Selector => return None,
        MatchKind::Lpm => EntryMatch::Lpm {
            value: zero,
            prefix_length: 0,
        },
        MatchKind::Ternary => EntryMatch::Ternary {
            mask: zero.clone(),
            value: zero,
        },
        MatchKind::Range => EntryMatch::Range {
            low: zero,
            high: Bits::ones(key.width),
        },
        MatchKind::Optional => EntryMatch::Optional(None),
    })
}

fn entry_match(key: &TableKey, pattern: &Pattern) -> Result<EntryMatch, String> {
    let width = key.width;
    match (key.match_kind, pattern) {
        (MatchKind::Exact | MatchKind::Selector, Pattern::Value(literal)) => {
            Ok(EntryMatch::Exact(exact(literal, width)?))
        }
        (MatchKind::Lpm, Pattern::Value(literal)) => lpm(literal, width),
        (MatchKind::Lpm, Pattern::Prefix(literal, length)) => prefix(literal, *length, width),
        (MatchKind::Ternary, Pattern::Value(literal)) => ternary(literal, width),
        (MatchKind::Ternary, Pattern::Prefix(literal, length)) => {
            let mask = prefix_mask(*length, width)?;
            Ok(EntryMatch::Ternary {
                value: exact(literal, width)?.and(&mask),
                mask,
            })
        }
        (MatchKind::Ternary, Pattern::Masked(value, mask)) => {
            let mask = exact(mask, width)?;
            Ok(EntryMatch::Ternary {
                value: exact(value, width)?.and(&mask),
                mask,
            })
        }
        (MatchKind::Range, Pattern::Value(literal)) => {
            let low = fitting(&literal.value, width)?;
            Ok(EntryMatch::Range {
                high: low.or(&low_wildcards(literal, width)?),
                low,
            })
        }
        (MatchKind::Range, Pattern::Range(low, high)) => Ok(EntryMatch::Range {
            low: exact(low, width)?,
            high: exact(high, width)?,
        }),
        (MatchKind::Optional, Pattern::Value(literal)) => optional(literal, width),
        (kind, _) => Err(format!(
            "a field that is matched as {} is written {}",
            kind.name(),
            how_to_write(kind)
        )),
    }
}

/// A literal with `*` gives a prefix as long as the digits before them; one without gives the whole value.
fn lpm(literal: &Literal, width: u32) -> Result<EntryMatch, String> {
    let wildcards = low_wildcards(literal, width)?;
    let free = (0..width).take_while(|&bit| wildcards.bit(bit)).count() as u32;
    Ok(EntryMatch::Lpm {
        value: fitting(&literal.value, width)?,
        prefix_length: width - free,
    })
}

fn prefix(literal: &Literal, length: u32, width: u32) -> Result<EntryMatch, String> {
    let mask = prefix_mask(length, width)?;
    Ok(EntryMatch::Lpm {
        value: exact(literal, width)?.and(&mask),
        prefix_length: length,
    })
}

fn prefix_mask(length: u32, width: u32) -> Result<Bits, String> {
    if length > width {
        return Err(format!("a prefix of {length} bits is longer than the field's {width}"));
    }
    Ok(Bits::ones(width).shl(u64::from(width - length)))
}

/// Only bits that the literal's digits cover are compared, as the reference runner has it: `0x5` compares four bits.
fn ternary(literal: &Literal, width: u32) -> Result<EntryMatch, String> {
    let written = literal.written_bits.unwrap_or(width).min(width);
    let covered = Bits::ones(written).zext(width);
    let mask = covered.and(&Bits::from_biguint(width, &literal.wildcards).not());
    Ok(EntryMatch::Ternary {
        value: fitting(&literal.value, width)?.and(&mask),
        mask,
    })
}

/// The wildcards when they are the last digits and nothing else.
fn low_wildcards(literal: &Literal, width: u32) -> Result<Bits, String> {
    let next: BigUint = &literal.wildcards + 1u32;
    if &next & &literal.wildcards != BigUint::ZERO {
        return Err("`*` may stand only for the last digits here".to_string());
    }
    Ok(Bits::from_biguint(width, &literal.wildcards))
}

/// Wildcards alone match anything: p4testgen writes a field so that it leaves out.
fn optional(literal: &Literal, width: u32) -> Result<EntryMatch, String> {
    if literal.is_all_wildcards() {
        return Ok(EntryMatch::Optional(None));
    }
    Ok(EntryMatch::Optional(Some(exact(literal, width)?)))
}

fn exact(literal: &Literal, width: u32) -> Result<Bits, String> {
    if literal.has_wildcards() {
        return Err("`*` cannot stand in a value that is matched exactly".to_string());
    }
    fitting(&literal.value, width)
}

/// The value in `width` bits.
///
/// # Errors
/// When it does not fit.
pub fn fitting(value: &BigUint, width: u32) -> Result<Bits, String> {
    if value.bits() > u64::from(width) {
        return Err(format!("the value needs {} bits, there are {width}", value.bits()));
    }
    Ok(Bits::from_biguint(width, value))
}

fn how_to_write(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact | MatchKind::Optional | MatchKind::Selector => "`VALUE`",
        MatchKind::Lpm => "`VALUE/LENGTH`",
        MatchKind::Ternary => "`0x12**` or `VALUE&&&MASK`",
        MatchKind::Range => "`LOW->HIGH`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_ir::Expr;

    fn key(match_kind: MatchKind, width: u32) -> TableKey {
        TableKey {
            name: "k".to_string(),
            expr: Expr::Const(Bits::zero(width)),
            width,
            match_kind,
        }
    }

    fn value(text: &str) -> Pattern {
        Pattern::Value(Literal::parse(text).expect("a literal"))
    }

    fn ternary_of(text: &str, width: u32) -> (u64, u64) {
        match entry_match(&key(MatchKind::Ternary, width), &value(text)).expect("a match") {
            EntryMatch::Ternary { value, mask } => (value.to_u64(), mask.to_u64()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ternary_compares_what_is_written() {
        assert_eq!(ternary_of("0x0202****", 32), (0x0202_0000, 0xffff_0000));
        assert_eq!(ternary_of("0x5", 8), (5, 0xf));
        assert_eq!(ternary_of("5", 8), (5, 0xff));
        assert_eq!(ternary_of("0b1*", 8), (2, 2));
        assert_eq!(
            ternary_of("0x01", 1),
            (1, 1),
            "leading zeros beyond the field are no matter"
        );
    }

    #[test]
    fn lpm_from_wildcards_and_lengths() {
        let lpm = |text: &str| entry_match(&key(MatchKind::Lpm, 32), &value(text));
        assert_eq!(
            lpm("0x0a01****"),
            Ok(EntryMatch::Lpm {
                value: Bits::new(32, 0x0a01_0000),
                prefix_length: 16
            })
        );
        assert_eq!(
            lpm("0x0a010203"),
            Ok(EntryMatch::Lpm {
                value: Bits::new(32, 0x0a01_0203),
                prefix_length: 32
            })
        );
        assert!(lpm("0x0a**0203").is_err());
        let literal = Literal::parse("0x0a0102ff").expect("a literal");
        let with_length = entry_match(&key(MatchKind::Lpm, 32), &Pattern::Prefix(literal, 24));
        assert_eq!(
            with_length,
            Ok(EntryMatch::Lpm {
                value: Bits::new(32, 0x0a01_0200),
                prefix_length: 24
            })
        );
    }

    #[test]
    fn an_optional_field_of_wildcards_matches_anything() {
        let optional = |text: &str| entry_match(&key(MatchKind::Optional, 9), &value(text));
        assert_eq!(optional("0b*********"), Ok(EntryMatch::Optional(None)));
        assert_eq!(optional("0x***"), Ok(EntryMatch::Optional(None)));
        assert_eq!(optional("0x011"), Ok(EntryMatch::Optional(Some(Bits::new(9, 0x11)))));
        assert!(optional("0x01*").is_err());
    }

    #[test]
    fn priorities_begin_at_0() {
        let of = |kind, written| priority(&[&key(kind, 8)], written);
        assert_eq!(of(MatchKind::Ternary, None), Ok(1));
        assert_eq!(of(MatchKind::Range, Some(2_147_483_646)), Ok(i64::from(i32::MAX)));
        assert_eq!(of(MatchKind::Exact, Some(u32::MAX)), Ok(0), "it has none");
        let message = of(MatchKind::Optional, Some(2_147_483_647)).unwrap_err();
        assert_eq!(message, "a priority is at most 2147483646, not 2147483647");
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let message = entry_match(&key(MatchKind::Exact, 8), &value("0x100")).unwrap_err();
        assert_eq!(message, "the value needs 9 bits, there are 8");
        let message = entry_match(&key(MatchKind::Exact, 8), &value("0x1*")).unwrap_err();
        assert_eq!(message, "`*` cannot stand in a value that is matched exactly");
        let one = Literal::parse("1").expect("a literal");
        let message = entry_match(&key(MatchKind::Exact, 8), &Pattern::Prefix(one, 3)).unwrap_err();
        assert_eq!(message, "a field that is matched as exact is written `VALUE`");
    }
}
