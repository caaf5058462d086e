//! Entries (`add`, `delete`, `remove`, `setdefault`, `check_entries`), and the time that they live (`wait`).

use super::{ParseError, line::Line};
use crate::{ActionCall, AddEntry, Command, EntryName, KeyMatch, Literal, Pattern};

/// Longest time of one `wait`, in seconds. A test goes through it second by second, in which entries may expire.
const MAX_WAIT_SECONDS: u64 = 1_000_000;

pub fn add(line: &mut Line) -> Result<Command, ParseError> {
    let table = line.qualified_name("a table's name")?;
    let has_priority = line.peek().is_some_and(|c| c.is_ascii_digit());
    let priority = if has_priority {
        Some(line.number_u32("a priority")?)
    } else {
        None
    };
    let mut matches = Vec::new();
    // A key field and the action both begin with a name; what follows tells which it is.
    let action = loop {
        let name = line.qualified_name("a key field or an action")?;
        match line.peek() {
            Some(':') => matches.push(KeyMatch {
                name,
                pattern: pattern(line)?,
            }),
            Some('(') => {
                break ActionCall {
                    name,
                    args: arguments(line)?,
                };
            }
            _ => return Err(line.expected("`:` after a key field or `(` after an action")),
        }
    };
    let handle = if line.accept("=") {
        Some(line.qualified_name("a name for the entry")?)
    } else {
        None
    };
    Ok(Command::Add(AddEntry {
        entry: EntryName {
            table,
            priority,
            matches,
        },
        action,
        handle,
    }))
}

pub fn set_default(line: &mut Line) -> Result<Command, ParseError> {
    let table = line.qualified_name("a table's name")?;
    let name = line.qualified_name("an action's name")?;
    let args = arguments(line)?;
    Ok(Command::SetDefault {
        table,
        action: ActionCall { name, args },
    })
}

pub fn delete(line: &mut Line) -> Result<Command, ParseError> {
    let table = line.qualified_name("a table's name")?;
    let has_priority = line.peek().is_some_and(|c| c.is_ascii_digit());
    let priority = has_priority.then(|| line.number_u32("a priority")).transpose()?;
    let mut matches = Vec::new();
    while !line.at_end() {
        let name = line.qualified_name("a key field")?;
        let pattern = pattern(line)?;
        matches.push(KeyMatch { name, pattern });
    }
    Ok(Command::Delete(EntryName {
        table,
        priority,
        matches,
    }))
}

pub fn check_entries(line: &mut Line) -> Result<Command, ParseError> {
    let table = line.qualified_name("a table's name")?;
    let number = line.number_u64("a number of entries")?;
    Ok(Command::CheckEntries { table, number })
}

pub fn wait(line: &mut Line) -> Result<Command, ParseError> {
    if line.at_end() {
        return Ok(Command::Wait { seconds: 0 });
    }
    let column = line.column();
    let seconds = line.number_u64("a number of seconds")?;
    if seconds > MAX_WAIT_SECONDS {
        let message = format!("a test waits for at most {MAX_WAIT_SECONDS} seconds at a time");
        return Err(line.error_at(column, message));
    }
    Ok(Command::Wait { seconds })
}

pub fn remove(line: &mut Line) -> Result<Command, ParseError> {
    let handle = line.qualified_name("`all` or the name of an entry")?;
    if handle.eq_ignore_ascii_case("all") {
        return Ok(Command::RemoveAll);
    }
    Ok(Command::Remove { handle })
}

fn pattern(line: &mut Line) -> Result<Pattern, ParseError> {
    line.symbol(":")?;
    let value = line.literal("a value")?;
    if line.accept("/") {
        return Ok(Pattern::Prefix(value, line.number_u32("the length of a prefix")?));
    }
    if line.accept("&&&") {
        return Ok(Pattern::Masked(plain(line, value)?, line.plain_literal("a mask")?));
    }
    if line.accept("->") {
        return Ok(Pattern::Range(
            plain(line, value)?,
            line.plain_literal("the range's upper end")?,
        ));
    }
    Ok(Pattern::Value(value))
}

fn arguments(line: &mut Line) -> Result<Vec<(String, Literal)>, ParseError> {
    line.symbol("(")?;
    let mut args = Vec::new();
    if line.accept(")") {
        return Ok(args);
    }
    loop {
        let name = line.qualified_name("a parameter as NAME:VALUE, or `)`")?;
        line.symbol(":")?;
        args.push((name, line.plain_literal("an argument's value")?));
        if line.accept(")") {
            return Ok(args);
        }
        line.symbol(",")?;
    }
}

fn plain(line: &Line, literal: Literal) -> Result<Literal, ParseError> {
    if literal.has_wildcards() {
        return Err(line.error("a value before `&&&` or `->` has no `*`"));
    }
    Ok(literal)
}
