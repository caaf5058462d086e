//! A session with a person: a prompt with history and completion.

use super::script::{has_gathered, perform};
use super::session::{Next, Session, is_harmless};
use crate::commands::Status;
use crate::output;
use anyhow::{Context, Result};
use forebay_shell::Catalog;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Editor, Helper};
use std::path::PathBuf;

/// Takes lines from a person until the end of the input or `quit`.
///
/// # Errors
/// When the terminal or the switch is gone.
pub fn interact(session: &mut Session) -> Result<Status> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .auto_add_history(true)
        .build();
    let mut editor: Editor<Completion, FileHistory> = Editor::with_config(config).context("cannot use the terminal")?;
    let history = history_file();
    if let Some(path) = &history {
        // There is none the first time.
        let _ = editor.load_history(path);
    }
    output::message("`help` lists the commands, the tab key completes, ctrl-D ends\n");
    let result = converse(session, &mut editor);
    if let Some(path) = &history {
        // Not worth a message at the end of a session.
        let _ = editor.save_history(path);
    }
    result
}

fn converse(session: &mut Session, editor: &mut Editor<Completion, FileHistory>) -> Result<Status> {
    loop {
        editor.set_helper(Some(Completion {
            catalog: session.catalog.clone(),
        }));
        let line = match editor.readline("forebay> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error).context("cannot read from the terminal"),
        };
        match perform(session, &line) {
            Ok(Next::Go) => {}
            Ok(Next::Quit) => break,
            Err(error) if is_harmless(&error) => output::error(&format!("{error:#}")),
            Err(error) => return Err(error),
        }
    }
    if has_gathered(session) {
        Ok(Status::Bad)
    } else {
        Ok(Status::Good)
    }
}

/// Where lines are kept from session to session: below `$XDG_STATE_HOME`, or `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let folder = state.or_else(home)?.join("forebay");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("ctl_history"))
}

/// Completes words by the names of the program.
struct Completion {
    catalog: Catalog,
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..position];
        let start = start_of_word(before);
        // Within quotes nothing is completed.
        let mut words = forebay_shell::split(&before[..start]).unwrap_or_default();
        words.push(before[start..].to_string());
        let candidates = forebay_shell::complete(&self.catalog, &words).into_iter();
        let pairs = candidates.map(|word| Pair {
            replacement: if word.ends_with('=') {
                word.clone()
            } else {
                format!("{word} ")
            },
            display: word,
        });
        Ok((start, pairs.collect()))
    }
}

/// Where the last word of a text begins. A blank may have several bytes, as those that are copied from a web page.
fn start_of_word(text: &str) -> usize {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    text.len() - word.len()
}

impl Hinter for Completion {
    type Hint = String;
}
impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_after_any_blank() {
        assert_eq!(start_of_word("table du"), 6);
        assert_eq!(start_of_word("table\u{a0}du"), 7);
        assert_eq!(start_of_word("table "), 6);
        assert_eq!(start_of_word(""), 0);
    }
}
