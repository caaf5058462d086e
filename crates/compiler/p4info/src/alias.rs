//! Aliases: the shortest suffix of a name, in whole components, that no other name has.
//!
//! With `pipe.acl.t` and `pipe.routing.t` the aliases are `acl.t` and `routing.t`. Names of all kinds of objects count,
//! as in p4c: a table and a counter that both end in `x` both get longer aliases. A name that is itself the suffix of
//! another (`t` beside `a.t`) keeps all its components, there being no more of them.

use std::collections::{BTreeSet, HashMap};

/// Names, and how many of them end in each suffix.
#[derive(Clone, Debug, Default)]
pub struct SuffixSet {
    names: BTreeSet<String>,
    count: HashMap<String, u32>,
}

impl SuffixSet {
    /// Adds a name; a name that is there already changes nothing.
    pub fn insert(&mut self, name: &str) {
        if self.names.insert(name.to_owned()) {
            for suffix in suffixes(name) {
                *self.count.entry(suffix.to_owned()).or_default() += 1;
            }
        }
    }

    /// The shortest suffix of `name` that only one name has, or the whole name when there is none.
    pub fn alias<'a>(&self, name: &'a str) -> &'a str {
        suffixes(name)
            .find(|suffix| self.count.get(*suffix).is_none_or(|count| *count < 2))
            .unwrap_or(name)
    }
}

/// Suffixes in whole components, the shortest first, the name itself last.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let starts = name.rmatch_indices('.').map(|(dot, _)| dot + 1);
    starts.chain(std::iter::once(0)).map(|start| &name[start..])
}

#[cfg(test)]
mod tests {
    use super::SuffixSet;

    #[test]
    fn aliases_are_as_short_as_they_can_be() {
        let mut set = SuffixSet::default();
        let names = [
            "pipe.acl.t",
            "pipe.routing.t",
            "pipe.routing.u",
            "NoAction",
            "x",
            "a.x",
            "a.x",
        ];
        names.iter().for_each(|name| set.insert(name));
        let aliases: Vec<&str> = names.iter().map(|name| set.alias(name)).collect();
        assert_eq!(aliases, ["acl.t", "routing.t", "u", "NoAction", "x", "a.x", "a.x"]);
    }
}
