//! What the TOML reader says, in the words of a person who writes scenarios.

use crate::suggestion::nearest;

/// A message of the TOML reader in plain words; one that is not known stays as it is.
pub(crate) fn plain(message: &str) -> String {
    let message = message.trim();
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown_key(rest);
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let names = quoted(rest);
        let (found, known) = names
            .split_first()
            .map_or(("", &[][..]), |(first, rest)| (*first, rest));
        return format!("{found:?} is none of: {}", known.join(", "));
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("the key {name} is missing");
    }
    if message == "wanted string or table" {
        return "a name in quotes, or a table with one, is expected here".to_string();
    }
    if message.starts_with("wanted exactly 1 element") {
        return "a table with exactly one name is expected here, as in { NAME = { KEY = VALUE } }".to_string();
    }
    for kind in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((found, expected)) = message
            .strip_prefix(kind)
            .and_then(|rest| rest.split_once(", expected "))
        {
            return format!(
                "{} is expected here, not {}",
                range_words(expected, found).unwrap_or_else(|| expected_words(expected).to_string()),
                found_words(found)
            );
        }
    }
    if [
        "string values must be quoted",
        "expected `false`",
        "expected `true`",
        "expected `nan`",
        "expected `inf`",
    ]
    .iter()
    .any(|known| message.contains(known))
    {
        return "this is neither a number, nor true or false, nor a text in quotes".to_string();
    }
    message.to_string()
}

/// Numbers of more characters are shown with an exponent.
const LONG_NUMBER: usize = 24;

/// A number as a person writes it: very large and very small ones with an exponent.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 && size.is_finite() || size > 0.0 && size < 1e-6 => format!("{value:e}"),
        _ => value.to_string(),
    }
}

fn unknown_key(rest: &str) -> String {
    let names = quoted(rest);
    let (found, known) = names
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (*first, rest));
    match nearest(found, known.iter().copied()) {
        Some(meant) => format!("there is no key `{found}` here; did you mean `{meant}`?"),
        None => format!("there is no key `{found}` here; there are: {}", known.join(", ")),
    }
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The range of a whole number's type, when the number that was found is beyond it.
fn range_words(expected: &str, found: &str) -> Option<String> {
    let most = match expected {
        "u8" => i128::from(u8::MAX),
        "u16" => i128::from(u16::MAX),
        "u32" => i128::from(u32::MAX),
        _ => return None,
    };
    let number: i128 = found.strip_prefix("integer ")?.trim_matches('`').parse().ok()?;
    (number > most).then(|| format!("a whole number from 0 to {most}"))
}

fn expected_words(expected: &str) -> &str {
    match expected {
        "f64" | "f32" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        "unit variant" => "a name alone in quotes",
        // Of a value in place of the table, the name of the type follows.
        variant if variant.starts_with("struct variant") => {
            "a table with the values of this kind, as in { NAME = { KEY = VALUE } },"
        }
        other => other,
    }
}

fn found_words(found: &str) -> String {
    let number = found
        .strip_prefix("integer ")
        .or_else(|| found.strip_prefix("floating point "))
        .or_else(|| found.strip_prefix("boolean "));
    match (number, found.strip_prefix("string ")) {
        (Some(number), _) => number_words(quoted(number).first().unwrap_or(&number)),
        (_, Some(text)) if text.trim_matches('"').parse::<f64>().is_ok() => {
            format!("the text {text}: write it without quotes, parameters (`${{NAME}}`) too")
        }
        (_, Some(text)) => format!("the text {text}"),
        _ if found == "sequence" => "a list".to_string(),
        _ if found == "map" => "a table".to_string(),
        _ if found == "unit variant" => "its name alone".to_string(),
        _ if found == "struct variant" || found == "newtype variant" => "a table".to_string(),
        _ if found.parse::<u64>().is_ok_and(|values| values != 1) => format!("{found} of them"),
        _ if found == "1" => "one".to_string(),
        _ => found.to_string(),
    }
}

/// A number that was found; one of very many digits with an exponent.
fn number_words(written: &str) -> String {
    match written.parse::<f64>() {
        Ok(value) if written.len() > LONG_NUMBER => number(value),
        _ => written.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_plain_words() {
        for (said, expected) in [
            (
                "unknown field `quantum`, expected `quantum_bytes` or `capacity_bytes`",
                "there is no key `quantum` here; there are: quantum_bytes, capacity_bytes",
            ),
            (
                "unknown field `quantum_byte`, expected `quantum_bytes` or `capacity_bytes`",
                "there is no key `quantum_byte` here; did you mean `quantum_bytes`?",
            ),
            ("missing field `description`", "the key `description` is missing"),
            (
                "invalid type: string \"fast\", expected f64",
                "a number is expected here, not the text \"fast\"",
            ),
            (
                "invalid type: string \"10\", expected f64",
                "a number is expected here, not the text \"10\": write it without quotes, parameters (`${NAME}`) too",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "a whole number that is not negative is expected here, not -1",
            ),
            (
                "invalid value: integer `70000`, expected u16",
                "a whole number from 0 to 65535 is expected here, not 70000",
            ),
            (
                "unknown variant `normal`, expected one of `constant`, `poisson`, `bursts`",
                "\"normal\" is none of: constant, poisson, bursts",
            ),
            (
                "expected `false`",
                "this is neither a number, nor true or false, nor a text in quotes",
            ),
            (
                "invalid type: integer `99999999999999999999` as i128, expected f64",
                "a number is expected here, not 99999999999999999999",
            ),
            (
                "invalid type: floating point `100000000000000000000000000000.0`, expected u32",
                "a whole number that is not negative is expected here, not 1e29",
            ),
            (
                "invalid type: unit variant, expected struct variant",
                "a table with the values of this kind, as in { NAME = { KEY = VALUE } }, is expected here, not its name alone",
            ),
            (
                "invalid type: integer `32`, expected struct variant ArrivalsEntry::Bursts",
                "a table with the values of this kind, as in { NAME = { KEY = VALUE } }, is expected here, not 32",
            ),
            (
                "invalid length 3, expected a list of two values",
                "a list of two values is expected here, not 3 of them",
            ),
            (
                "wanted exactly 1 element, found 0 elements",
                "a table with exactly one name is expected here, as in { NAME = { KEY = VALUE } }",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(plain(said), expected);
        }
    }
}
