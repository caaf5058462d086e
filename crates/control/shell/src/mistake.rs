//! What is wrong with a command, and what would be right.

use forebay_syntax::diagnostic::closest_name;
use std::fmt;

/// A command that cannot be done. Nothing has been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    message: String,
    help: Option<String>,
}

impl Mistake {
    /// A mistake that is plain once it is named.
    pub fn new(message: impl Into<String>) -> Mistake {
        Mistake {
            message: message.into(),
            help: None,
        }
    }

    /// With what would be right.
    pub fn help(self, help: impl Into<String>) -> Mistake {
        Mistake {
            help: Some(help.into()),
            ..self
        }
    }

    /// With what would be right, if nothing was said yet.
    pub fn or_help(self, help: impl Into<String>) -> Mistake {
        Mistake {
            help: self.help.or_else(|| Some(help.into())),
            ..self
        }
    }

    /// With the thing in which something is wrong, named before it.
    pub fn within(self, place: &str) -> Mistake {
        Mistake {
            message: format!("{place}: {}", self.message),
            ..self
        }
    }

    /// A name that is not there: the nearest one is proposed, or all that there are.
    pub fn unknown<'a>(what: &str, written: &str, known: impl IntoIterator<Item = &'a str>) -> Mistake {
        let none = format!("there is no {what} at all");
        Mistake::new(format!("there is no {what} `{written}`")).with_known(written, known, none)
    }

    /// A name that its owner does not have, such as a key field of a table.
    pub fn unknown_of<'a>(owner: &str, what: &str, written: &str, known: impl IntoIterator<Item = &'a str>) -> Mistake {
        let none = format!("{owner} has no {what} at all");
        Mistake::new(format!("{owner} has no {what} `{written}`")).with_known(written, known, none)
    }

    fn with_known<'a>(self, written: &str, known: impl IntoIterator<Item = &'a str>, none: String) -> Mistake {
        let mistake = self;
        let known: Vec<&str> = known.into_iter().collect();
        match (closest_name(written, known.iter().copied()), known.as_slice()) {
            (Some(near), _) => mistake.help(format!("did you mean `{near}`?")),
            (None, []) => mistake.help(none),
            (None, known) => mistake.help(format!("there is {}", listed(known))),
        }
    }
}

/// ``` `a`, `b` ```; a long list is cut.
pub(crate) fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let rest = names.len().saturating_sub(SHOWN);
    match rest {
        0 => quoted.join(", "),
        _ => format!("{} and {rest} more", quoted.join(", ")),
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.help {
            None => Ok(()),
            Some(help) => write!(formatter, "\n  = help: {help}"),
        }
    }
}

impl std::error::Error for Mistake {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_proposed() {
        let mistake = Mistake::unknown("table", "ipv4_lmp", ["ipv4_lpm", "arp"]);
        assert_eq!(
            mistake.to_string(),
            "there is no table `ipv4_lmp`\n  = help: did you mean `ipv4_lpm`?"
        );
    }

    #[test]
    fn or_all_are_named() {
        let mistake = Mistake::unknown("table", "x", ["ipv4_lpm", "arp"]);
        assert!(mistake.to_string().ends_with("there is `ipv4_lpm`, `arp`"));
    }
}
