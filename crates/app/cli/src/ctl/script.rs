//! Commands from the standard input, a line each.

use super::session::{Next, Session, is_harmless};
use crate::commands::Status;
use crate::output;
use anyhow::{Context, Result};
use std::io::BufRead;

/// Does the commands of the standard input. A line that fails is told with its number; the script ends there unless it
/// is to keep going. What is gathered at its end is not done, which is a mistake too.
///
/// # Errors
/// When the switch is gone.
pub fn run_script(session: &mut Session, keeps_going: bool) -> Result<Status> {
    let mut status = Status::Good;
    for (index, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.context("cannot read the standard input")?;
        match perform(session, &line) {
            Ok(Next::Go) => {}
            Ok(Next::Quit) => break,
            Err(error) if is_harmless(&error) => {
                output::error(&format!("line {}: {line}: {error:#}", index + 1));
                status = Status::Bad;
                if !keeps_going {
                    return Ok(status);
                }
                session.miss();
            }
            Err(error) => return Err(error),
        }
    }
    if has_gathered(session) {
        status = Status::Bad;
    }
    Ok(status)
}

/// Whether changes still wait for `commit` at the end of a session. If so, an error is printed.
pub(super) fn has_gathered(session: &Session) -> bool {
    let changes = session.gathered_changes();
    if let Some(changes) = changes {
        output::error(&format!(
            "`begin` has no `commit`: {changes} changes after it were not made; end them with `commit`, or with `abort`"
        ));
    }
    changes.is_some()
}

/// Does a line; one without words does nothing.
pub(super) fn perform(session: &mut Session, line: &str) -> Result<Next> {
    let words = forebay_shell::split(line)?;
    if words.is_empty() {
        Ok(Next::Go)
    } else {
        session.perform(&words)
    }
}
