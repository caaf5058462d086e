//! Changes that are gathered from several lines and sent as one batch (P4Runtime §12.2).

use super::session::{self, Session};
use crate::files;
use crate::output;
use anyhow::{Context, Result};
use forebay_client::{CallError, SHOWN_MAX};
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{Entity, Update};
use forebay_shell::{Catalog, Command, Mistake, Modification};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// What was gathered so far.
pub(super) struct Gathered {
    atomicity: Atomicity,
    updates: Vec<Update>,
    /// The line that each update comes from.
    lines: Vec<String>,
    /// Lines that are wrong, of which nothing is gathered.
    wrong: usize,
    /// By entity: its last change, of the first `indexed` changes.
    known: HashMap<String, usize>,
    indexed: usize,
}

impl Gathered {
    /// Nothing yet.
    pub(super) fn new(atomicity: Atomicity) -> Gathered {
        Gathered {
            atomicity,
            updates: Vec::new(),
            lines: Vec::new(),
            wrong: 0,
            known: HashMap::new(),
            indexed: 0,
        }
    }

    /// A line is wrong.
    pub(super) fn miss(&mut self) {
        self.wrong += 1;
    }

    /// Whether it is what its lines have said, or need not be.
    fn check(&self) -> Result<(), Mistake> {
        if self.wrong == 0 || self.atomicity == Atomicity::ContinueOnError {
            return Ok(());
        }
        let lines = if self.wrong == 1 { "line is" } else { "lines are" };
        let mistake = Mistake::new(format!("nothing of the batch was done: {} {lines} wrong", self.wrong));
        Err(mistake.help("`begin --continue` does what can be done"))
    }

    /// How many changes there are.
    pub(super) fn changes(&self) -> usize {
        self.updates.len()
    }

    /// The entity that another change is about, as the changes so far say it; none when none is about it.
    pub(super) fn before(&mut self, modification: &Modification, catalog: &Catalog) -> Option<Entity> {
        for (index, update) in self.updates.iter().enumerate().skip(self.indexed) {
            let entity = update.entity.as_ref();
            let identity = entity.and_then(|entity| forebay_shell::identity(catalog, entity));
            self.known.extend(identity.map(|identity| (identity, index)));
        }
        self.indexed = self.updates.len();
        let index = *self.known.get(&modification.identity(catalog))?;
        self.updates[index].entity.clone()
    }

    /// Adds what a line changes.
    pub(super) fn add(&mut self, line: &str, updates: Vec<Update>) {
        self.lines.extend(updates.iter().map(|_| line.to_string()));
        self.updates.extend(updates);
    }
}

/// Does the changes that a file has on its lines.
pub(super) fn file(session: &mut Session, file: &str, atomicity: Atomicity) -> Result<()> {
    let text = files::text(Path::new(file), "batch")?;
    let mut gathered = Gathered::new(atomicity);
    for (number, line) in (1..).zip(text.lines()) {
        let words = forebay_shell::split(line).with_context(|| format!("{file}:{number}: {line}"))?;
        if !words.is_empty() {
            let updates =
                changes(session, &words, &mut gathered).with_context(|| format!("{file}:{number}: {line}"))?;
            gathered.add(&format!("{file}:{number}: {}", line.trim()), updates);
        }
    }
    commit(session, gathered)
}

fn changes(session: &mut Session, words: &[String], gathered: &mut Gathered) -> Result<Vec<Update>> {
    match session.read_command(words)? {
        Command::Write(updates) => Ok(updates),
        Command::Modify(modification) => {
            let update = session::modified(&mut session.client, &session.catalog, modification, Some(gathered))?;
            Ok(vec![update])
        }
        Command::Change(entities, change) => session.updates_of(entities, change),
        _ => Err(Mistake::new("this is no change that can be part of a batch").into()),
    }
}

/// Sends what was gathered. An error says which lines the switch has refused.
pub(super) fn commit(session: &mut Session, gathered: Gathered) -> Result<()> {
    gathered.check()?;
    let Gathered {
        atomicity,
        updates,
        lines,
        ..
    } = gathered;
    let count = updates.len();
    match session.client.write(updates, atomicity) {
        Ok(()) => session.format.changed(count, true),
        Err(error) if error.failures().next().is_some() => Err(refused(&error, &lines, atomicity).into()),
        Err(error) => Err(error.into()),
    }
}

/// Forgets what was gathered.
pub(super) fn abort(gathered: &Gathered) {
    output::message(&format!("{} changes are forgotten\n", gathered.updates.len()));
}

fn refused(error: &CallError, lines: &[String], atomicity: Atomicity) -> Mistake {
    let mut text = match atomicity {
        Atomicity::ContinueOnError => "part of the batch was not done",
        _ => "nothing of the batch was done",
    }
    .to_string();
    for (index, reason) in error.failures().take(SHOWN_MAX) {
        let line = lines.get(index).map_or("", String::as_str);
        let _ = write!(text, "\n  {line}\n    {reason}");
    }
    let more = error.failures().skip(SHOWN_MAX).count();
    if more > 0 {
        let _ = write!(text, "\n  and {more} more");
    }
    if let Some(words) = error.left_out() {
        let _ = write!(text, "\n  {words}");
    }
    Mistake::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_with_a_wrong_line_is_not_done() {
        let check = |atomicity, wrong| {
            let mut gathered = Gathered::new(atomicity);
            (0..wrong).for_each(|_| gathered.miss());
            gathered.check().map_err(|mistake| mistake.to_string())
        };
        assert_eq!(check(Atomicity::DataplaneAtomic, 0), Ok(()));
        assert_eq!(check(Atomicity::ContinueOnError, 2), Ok(()));
        let said = check(Atomicity::RollbackOnError, 2).expect_err("two are wrong");
        assert!(
            said.starts_with("nothing of the batch was done: 2 lines are wrong"),
            "{said}"
        );
    }
}
