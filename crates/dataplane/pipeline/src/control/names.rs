//! Resolves control-plane names to objects.

use crate::error::{ControlError, ObjectKind};

/// The index of the object that `name` denotes. The name is complete, or is a suffix after a dot that only one object
/// has.
pub(crate) fn resolve<'a, I>(kind: ObjectKind, name: &str, names: I) -> Result<usize, ControlError>
where
    I: Iterator<Item = &'a str> + Clone,
{
    if let Some(index) = names.clone().position(|known| known == name) {
        return Ok(index);
    }
    let is_suffix = |known: &str| known.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let found: Vec<(usize, &str)> = names
        .clone()
        .enumerate()
        .filter(|(_, known)| is_suffix(known))
        .collect();
    match found.as_slice() {
        [(index, _)] => Ok(*index),
        [] => Err(ControlError::Unknown {
            kind,
            name: name.to_string(),
            known: names.map(str::to_string).collect(),
        }),
        // Instances of one action have the same name: the first stands for all.
        [(index, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => Ok(*index),
        several => Err(ControlError::Ambiguous {
            kind,
            name: name.to_string(),
            candidates: several.iter().map(|(_, known)| known.to_string()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> Result<usize, ControlError> {
        resolve(
            ObjectKind::Table,
            name,
            ["I.acl", "E.acl", "I.sub.lpm", "top"].into_iter(),
        )
    }

    #[test]
    fn full_names_and_unambiguous_suffixes() {
        assert_eq!(find("E.acl"), Ok(1));
        assert_eq!(find("lpm"), Ok(2));
        assert_eq!(find("sub.lpm"), Ok(2));
        assert_eq!(find("top"), Ok(3));
    }

    #[test]
    fn messages_name_what_there_is() {
        assert_eq!(
            find("acl").unwrap_err().to_string(),
            "`acl` may be several tables: `I.acl`, `E.acl`"
        );
        let unknown = find("pm").unwrap_err().to_string();
        assert_eq!(
            unknown,
            "there is no table `pm`; there is `I.acl`, `E.acl`, `I.sub.lpm`, `top`"
        );
    }
}
