//! The parser: a line is a command.
//!
//! p4c's grammar (`tools/stf`, `backends/bmv2/bmv2stf.py`) is followed, keywords in any case, `#` begins a comment.
//! What goes beyond it is small: `VALUE&&&MASK` and `LOW->HIGH` for key fields, `remove HANDLE`, a length after
//! `mirroring_add`, `no_packet`. Every line is read even when an earlier one is wrong, so that all mistakes are
//! reported at once.

mod entry;
mod line;
mod objects;
mod options;
mod packet;

use crate::{Command, Located, Test, UnnamedPorts};
use line::Line;
use std::fmt;

pub use options::options;

/// A mistake in an STF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The option of a comment line by which packets on ports that the test does not name are only noted.
const LENIENT: &str = "--lenient";

/// Mistakes after which the rest of the file is no longer read.
const MAX_ERRORS: usize = 50;

/// Reads an STF file.
///
/// # Errors
/// Every line that is wrong (up to fifty), in order.
pub fn parse(text: &str) -> Result<Test, Vec<ParseError>> {
    let mut test = Test::default();
    if options(text).any(|(_, words)| words.split_whitespace().any(|word| word == LENIENT)) {
        test.unnamed_ports = UnnamedPorts::Noted;
    }
    let mut errors = Vec::new();
    for (index, text) in text.lines().enumerate() {
        match parse_line(text, index as u32 + 1) {
            Ok(None) => {}
            Ok(Some(command)) => test.commands.push(command),
            Err(error) => errors.push(error),
        }
        if errors.len() == MAX_ERRORS {
            break;
        }
    }
    if errors.is_empty() { Ok(test) } else { Err(errors) }
}

/// Whether at least half of a text's lines begin with a command, or with a word like one. What is wrong with such a text is
/// wrong with its lines; another one is no STF file.
pub fn are_commands(text: &str) -> bool {
    let keywords = text.lines().filter_map(|text| {
        let mut line = Line::new(text, 0);
        (!line.at_end()).then(|| line.keyword().ok())
    });
    let (mut lines, mut commands) = (0, 0);
    for keyword in keywords {
        lines += 1;
        commands += usize::from(keyword.is_some_and(|keyword| like(&keyword).is_some()));
    }
    lines > 0 && 2 * commands >= lines
}

fn parse_line(text: &str, number: u32) -> Result<Option<Located<Command>>, ParseError> {
    let mut line = Line::new(text, number);
    if line.at_end() {
        return Ok(None);
    }
    let column = line.column();
    let keyword = line.keyword()?;
    let value = parse_command(&keyword, column, &mut line)?;
    line.end()?;
    Ok(Some(Located {
        line: number,
        column,
        value,
    }))
}

fn parse_command(keyword: &str, column: u32, line: &mut Line) -> Result<Command, ParseError> {
    match keyword {
        "add" => entry::add(line),
        "setdefault" => entry::set_default(line),
        "remove" => entry::remove(line),
        "packet" => packet::packet(line),
        "expect" => packet::expect(line),
        "no_packet" => Ok(Command::NoPacket),
        "wait" => entry::wait(line),
        "delete" => entry::delete(line),
        "check_entries" => entry::check_entries(line),
        "check_counter" => objects::check_counter(line),
        "counter_read" => objects::counter_read(line),
        "counter_write" => objects::counter_write(line),
        "register_read" => objects::register_read(line),
        "register_write" => objects::register_write(line),
        "register_reset" => objects::register_reset(line),
        "meter_get_rates" => objects::meter_get_rates(line),
        "meter_set_rates" => objects::meter_set_rates(line),
        "meter_array_set_rates" => objects::meter_array_set_rates(line),
        "mirroring_add" => objects::mirroring_add(line),
        "mirroring_add_mc" => objects::mirroring_add_mc(line),
        "mirroring_delete" => objects::mirroring_delete(line),
        "mirroring_get" => objects::mirroring_get(line),
        "mc_mgrp_create" => objects::mc_mgrp_create(line),
        "mc_node_create" => objects::mc_node_create(line),
        "mc_node_update" => objects::mc_node_update(line),
        "mc_node_associate" => objects::mc_node_associate(line),
        _ => Err(line.error_at(column, unknown_command(keyword))),
    }
}

/// Letters that two names begin with when one may be meant for the other.
const MIN_COMMON: usize = 2;

/// Every command, for the message about one that does not exist.
const COMMANDS: &[&str] = &[
    "add",
    "setdefault",
    "remove",
    "packet",
    "expect",
    "no_packet",
    "wait",
    "delete",
    "check_entries",
    "check_counter",
    "counter_read",
    "counter_write",
    "register_read",
    "register_write",
    "register_reset",
    "meter_get_rates",
    "meter_set_rates",
    "meter_array_set_rates",
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "mirroring_get",
    "mc_mgrp_create",
    "mc_node_create",
    "mc_node_update",
    "mc_node_associate",
];

fn unknown_command(keyword: &str) -> String {
    match like(keyword) {
        Some(like) => format!("there is no command `{keyword}`; did you mean `{like}`?"),
        None => format!("there is no command `{keyword}`; the commonest are add, setdefault, packet and expect"),
    }
}

/// The command that is most like a word, if there is one that may be meant.
fn like(keyword: &str) -> Option<&'static str> {
    let common = |command: &str| command.bytes().zip(keyword.bytes()).take_while(|(a, b)| a == b).count();
    let like = COMMANDS.iter().max_by_key(|command| common(command))?;
    (common(like) >= MIN_COMMON).then_some(*like)
}
