//! The commands of simple_switch_CLI, as files of them lie beside many programs (`s1-commands.txt`).
//!
//! What is printed is worded as there, since scripts look for it; a mistake has its reason beside its name.

mod listing;
mod objects;
mod tables;
mod words;

use crate::codes::Failure;
use crate::runtime::Runtime;
use crate::switch::Switch;
use words::Words;

/// What a command prints.
type Printed = Result<String, Failure>;

/// A command: its name, its arguments, what it does.
type Form = (&'static str, &'static str, &'static str);

/// A line of commands, as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u32,
    /// The line, without blanks at its ends.
    pub text: String,
}

/// The lines of a file that are commands: without empty ones and comments, which begin with `#` or `//`.
pub fn lines(text: &str) -> Vec<Line> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let is_command = |text: &str| !text.is_empty() && !begins_comment(text);
    lines
        .filter(|(_, text)| is_command(text))
        .map(|(number, text)| Line {
            number,
            text: text.to_string(),
        })
        .collect()
}

/// The words of a command, up to a comment.
fn words_of(line: &str) -> Vec<&str> {
    let words = line.split_whitespace();
    words.take_while(|word| !begins_comment(word)).collect()
}

/// Whether a comment begins with this word.
fn begins_comment(text: &str) -> bool {
    text.starts_with('#') || text.starts_with("//")
}

/// Whether a text is commands of simple_switch_CLI: one of its lines begins with the name of one.
pub fn are_commands(text: &str) -> bool {
    let first_word = |line: Line| line.text.split_whitespace().next().map(str::to_string);
    let mut names = lines(text).into_iter().filter_map(first_word);
    names.any(|name| form(&name).is_some() || other(&name).is_some())
}

/// Whether a command changes nothing.
pub fn only_shows(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or_default();
    [
        "show_",
        "table_dump",
        "table_info",
        "act_prof_dump",
        "get_time",
        "switch_info",
        "help",
    ]
    .iter()
    .any(|begin| name.starts_with(begin))
        || ["_read", "_get", "_get_rates", "_dump", "_num_entries", "_show_actions"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// What cannot be done here, and what can be done in its place.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("serialize_state", "the state is kept with --save-state DIR"),
    ("set_toeplitz_hash_key", "the key of Toeplitz hashes is fixed"),
    (
        "write_config_to_file",
        "the program is what `forebay ctl pipeline get FILE` writes",
    ),
];

/// Commands about the action profile of a table, and those that name the profile itself.
const BY_TABLE: &[(&str, &str)] = &[
    ("table_indirect_create_member", "act_prof_create_member"),
    ("table_indirect_modify_member", "act_prof_modify_member"),
    ("table_indirect_delete_member", "act_prof_delete_member"),
    ("table_indirect_create_group", "act_prof_create_group"),
    ("table_indirect_delete_group", "act_prof_delete_group"),
    ("table_indirect_add_member_to_group", "act_prof_add_member_to_group"),
    (
        "table_indirect_remove_member_from_group",
        "act_prof_remove_member_from_group",
    ),
    ("table_dump_member", "act_prof_dump_member"),
    ("table_dump_group", "act_prof_dump_group"),
];

fn form(name: &str) -> Option<&'static Form> {
    let mut forms = tables::FORMS.iter().chain(objects::FORMS);
    forms.find(|(known, _, _)| *known == name)
}

/// What is said of a command that is none of ours.
fn other(name: &str) -> Option<&'static str> {
    let mut known = UNSUPPORTED.iter().chain(BY_TABLE);
    known.find(|(known, _)| *known == name).map(|(_, said)| *said)
}

impl<S: Switch> Runtime<S> {
    /// Does a command; what it prints ends with a line break, or is nothing.
    ///
    /// # Errors
    /// When it is no command, is written wrongly, or cannot be done.
    pub fn command(&mut self, line: &str) -> Result<String, Failure> {
        self.look_at_program();
        let words = words_of(line);
        let Some((&name, arguments)) = words.split_first() else {
            return Ok(String::new());
        };
        if name == "help" {
            return help(arguments.first().copied());
        }
        let (name, arguments) = match BY_TABLE.iter().find(|(older, _)| *older == name) {
            Some((_, name)) => (*name, self.by_profile(arguments)?),
            None => (name, arguments.iter().map(ToString::to_string).collect()),
        };
        let Some((_, usage, _)) = form(name) else {
            return Err(unknown(name));
        };
        let words = Words {
            name,
            usage,
            words: arguments,
        };
        if usage.is_empty() && !words.words.is_empty() {
            return Err(words.usage());
        }
        match tables::run(self, &words) {
            Some(printed) => printed,
            None => objects::run(self, &words),
        }
    }

    /// The arguments, with the table's profile in place of the table.
    fn by_profile(&self, arguments: &[&str]) -> Result<Vec<String>, Failure> {
        let mut arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        if let Some(table) = arguments.first_mut() {
            *table = self.profile_of(&self.table(table)?)?;
        }
        Ok(arguments)
    }
}

fn unknown(name: &str) -> Failure {
    match other(name) {
        Some(instead) => Failure::undeclared(format!("{name} does nothing here: {instead}")),
        None => Failure::undeclared(format!("there is no command `{name}`; help lists all")),
    }
}

fn help(name: Option<&str>) -> Printed {
    let forms = tables::FORMS.iter().chain(objects::FORMS);
    let described = |(name, arguments, about): &Form| format!("{name} {arguments}\n    {about}\n");
    match name {
        None => Ok(forms.map(described).collect()),
        Some(name) => form(name).map(described).ok_or_else(|| unknown(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::testing::Idle;
    use forebay_protocol::p4::v1::ForwardingPipelineConfig;

    #[test]
    fn files_of_commands_are_known() {
        assert!(are_commands(
            "# routes\n\ntable_add ipv4_lpm forward 10.0.0.1/32 => 1\n"
        ));
        assert!(are_commands("set_queue_rate 100\n"));
        assert!(!are_commands("add ipv4_lpm ipv4.dst:1 forward(port:1)\n"));
        assert_eq!(lines("\n # a\n// b\n  x y \n").len(), 1);
        assert_eq!(lines("\n x y ")[0].number, 2);
        assert_eq!(
            words_of("set_queue_rate 300 2   //in pps"),
            ["set_queue_rate", "300", "2"]
        );
        assert_eq!(
            words_of("table_add t a 1 => fc00::1 # b"),
            ["table_add", "t", "a", "1", "=>", "fc00::1"]
        );
    }

    #[test]
    fn words_that_a_command_does_not_take_are_a_mistake() {
        let mut runtime = Runtime::new(Idle(ForwardingPipelineConfig::default()));
        let mut said = |line: &str| {
            runtime
                .command(line)
                .map_err(|failure| failure.to_string())
                .unwrap_or_else(|error| error)
        };
        let expected = "Error: wrong number of arguments; expected:";
        assert_eq!(
            said("register_read r 1 2"),
            format!("{expected} register_read REGISTER [INDEX]")
        );
        assert_eq!(said("show_tables t"), format!("{expected} show_tables"));
        assert_eq!(said("mc_dump 1"), format!("{expected} mc_dump"));
        assert_eq!(said("reset_state r"), format!("{expected} reset_state"));
        assert!(said("get_time_elapsed # since the start").ends_with('\n'));
    }

    #[test]
    fn some_commands_only_show() {
        for line in [
            "table_dump t",
            "register_read r 1",
            "mc_dump",
            "meter_get_rates m 1",
            "show_tables",
        ] {
            assert!(only_shows(line), "{line}");
        }
        for line in [
            "table_add t a 1 =>",
            "mirroring_add 1 2",
            "register_write r 1 2",
            "reset_state",
        ] {
            assert!(!only_shows(line), "{line}");
        }
    }
}
