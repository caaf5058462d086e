//! `help`, `reload`, `quit`: the session itself.

use super::{Command, Form, Place, form_of, forms};
use crate::arguments::Arguments;
use crate::catalog::Catalog;
use crate::mistake::Mistake;
use std::fmt::Write;

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "help",
        arguments: "[COMMAND]",
        about: "all commands, or one",
        places: &[Place::Other],
        options: &[],
        read: help,
    },
    Form {
        words: "reload",
        arguments: "",
        about: "asks for the program's P4Info again, after another controller has pushed a program",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::Reload),
    },
    Form {
        words: "quit",
        arguments: "",
        about: "ends the session",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::Quit),
    },
];

/// How values are written, below the list of commands.
const VALUES: &str = "
Values are written as the field suggests: 10, 0x0a, 0b1010, 00:11:22:33:44:55, 10.0.0.1, 2001:db8::1.
Matches: a value; 10.0.0.0/8 (lpm, ternary); 0x0800&&&0xff00 (ternary); 80..443 (range); * for everything.
Names may be shortened to their last components. Keys and parameters may be given without names, in their order.
`help COMMAND` has the options of a command.
";

fn help(_: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    help_with(&arguments.words).map(Command::Help)
}

/// What `help` says of a command, or of those that begin with these words; without words every command.
///
/// # Errors
/// When no command begins with them.
pub fn help_with(words: &[String]) -> Result<String, Mistake> {
    if words.is_empty() {
        return Ok(overview());
    }
    if let Some((form, _)) = form_of(words) {
        return Ok(help_of(form));
    }
    let begins = words.join(" ") + " ";
    let matching: String = forms()
        .filter(|form| form.words.starts_with(&begins))
        .map(line)
        .collect();
    if matching.is_empty() {
        Err(super::unknown(words))
    } else {
        Ok(matching)
    }
}

/// Every command with what it does.
fn overview() -> String {
    forms().map(line).collect::<String>() + VALUES
}

fn line(form: &Form) -> String {
    let usage = format!("{} {}", form.words, form.arguments);
    format!("  {}\n      {}\n", usage.trim_end(), form.about)
}

/// A command with its options.
pub(super) fn help_of(form: &Form) -> String {
    let mut text = line(form);
    for (name, value) in form.options {
        let _ = writeln!(text, "      --{name} {}", value.unwrap_or_default());
    }
    text
}
