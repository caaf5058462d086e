//! Files of table entries: what `--entries` takes.
//!
//! | file | told by |
//! |---|---|
//! | STF commands | anything else |
//! | commands of simple_switch_CLI | one of its lines is one: `table_add`, `mc_mgrp_create`, … |
//! | text of a P4Runtime `WriteRequest` | `.txtpb`, `.textproto`, `.pbtxt`, or one of its fields at its beginning: `updates {` |
//! | JSON as P4 tutorials have it: `table_entries`, `multicast_group_entries`, `clone_session_entries` | `.json`, or a `{` at its beginning |

use crate::control_plane::ControlOptions;
use crate::{files, output, runtime_json, stf_file, thrift};
use anyhow::{Result, anyhow, bail};
use forebay_daemon::{QueueControl, Start};
use forebay_protocol::p4::v1::{Update, WriteRequest};
use forebay_shell::Catalog;
use forebay_switch::QUEUES_MAX;
use std::path::{Path, PathBuf};

/// Options about entries.
#[derive(clap::Args)]
pub struct EntriesOptions {
    /// Table entries, clone sessions, multicast groups: an STF file, whose packets are passed over, the text of a
    /// P4Runtime WriteRequest, JSON with table_entries, or commands of simple_switch_CLI
    #[arg(long, value_name = "FILE")]
    pub entries: Option<PathBuf>,
    /// Do all commands of the entries' file that can be done, with a warning for each other one, as simple_switch_CLI
    /// does
    #[arg(long, requires = "entries")]
    pub keep_going: bool,
}

impl EntriesOptions {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// As [`Entries::read`].
    pub fn read(&self) -> Result<Option<Entries>> {
        let path = self.entries.as_deref();
        path.map(|path| Entries::read(path, self.keep_going)).transpose()
    }
}

/// A file of entries, read as far as is possible without the program.
pub struct Entries {
    path: PathBuf,
    contents: Contents,
    /// Whether commands that cannot be done are warnings.
    keep_going: bool,
}

enum Contents {
    Stf(forebay_entries::Test),
    Updates(Vec<Update>),
    Json(runtime_json::Document),
    Commands(Vec<forebay_thrift::Line>),
}

impl Entries {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is none of the kinds, or not written correctly; when it has no commands of which some may be left out.
    pub fn read(path: &Path, keep_going: bool) -> Result<Entries> {
        let text = files::text(path, "file of table entries")?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        let in_file = |error: String| anyhow!("{}: {error}", path.display());
        let contents = match extension {
            _ if matches!(extension, Some("txtpb" | "textproto" | "pbtxt")) || is_write_request(&text) => {
                let request: WriteRequest = forebay_protocol::text::read("p4.v1.WriteRequest", &text)
                    .map_err(|error| in_file(format!("this is no p4.v1.WriteRequest: {error}")))?;
                Contents::Updates(request.updates)
            }
            _ if extension == Some("json") || text.trim_start().starts_with('{') => {
                let document = runtime_json::Document::read(&text).map_err(in_file)?;
                if let Some(ignored) = document.ignored() {
                    output::note(&format!("{}: {ignored}", path.display()));
                }
                Contents::Json(document)
            }
            // STF has some of these commands too, and beside them others that tell the two apart.
            _ if forebay_thrift::are_commands(&text) && forebay_entries::parse(&text).is_err() => {
                Contents::Commands(forebay_thrift::lines(&text))
            }
            _ => {
                if let Some(kind) = other_kind(&text) {
                    bail!(
                        "{}: this is {kind}, not a file of table entries\n{KINDS}",
                        path.display()
                    );
                }
                Contents::Stf(stf_file::parse(path, &text)?)
            }
        };
        if keep_going && matches!(contents, Contents::Updates(_) | Contents::Json(_)) {
            bail!(
                "--keep-going: {} is written as a whole or not at all; files of commands can be done in part",
                path.display()
            );
        }
        Ok(Entries {
            path: path.to_path_buf(),
            contents,
            keep_going,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the program's P4Info is needed to write them.
    pub fn need_p4info(&self) -> bool {
        !matches!(self.contents, Contents::Stf(_))
    }

    /// Writes them into a program that no switch runs: no controllers come, and its queues have no limits.
    ///
    /// # Errors
    /// As [`Entries::apply`].
    pub fn fill(&self, start: &mut Start) -> Result<()> {
        self.apply(&ControlOptions::default(), start, &QueueControl::new(QUEUES_MAX, 1))
    }

    /// Writes them: all, or none unless it is a file of commands, which may have limits for queues too.
    ///
    /// # Errors
    /// When the program refuses one of them.
    pub fn apply(&self, options: &ControlOptions, start: &mut Start, queues: &QueueControl) -> Result<()> {
        let (places, updates): (Vec<String>, Vec<Update>) = match &self.contents {
            Contents::Stf(test) => return self.done(stf_file::apply(&self.path, test, &start.pipeline)),
            Contents::Commands(lines) => {
                let file = self.path.display().to_string();
                let settings = options.settings(start);
                let mistakes = start.edit(settings, |device| thrift::apply(&file, lines, device, queues))?;
                return self.done(mistakes);
            }
            Contents::Updates(updates) => {
                let places = (1..=updates.len()).map(|number| format!("update {number}"));
                (places.collect(), updates.clone())
            }
            Contents::Json(document) => {
                let Some((info, _)) = &start.known else {
                    bail!(
                        "{}: there is no program that the entries could be for",
                        self.path.display()
                    );
                };
                let updates = document.updates(&Catalog::new(info.clone()));
                let updates = updates.map_err(|error| anyhow!("{}: {error}", self.path.display()))?;
                updates.into_iter().unzip()
            }
        };
        options.configure(&self.path, &updates, &places, start)
    }

    /// What becomes of mistakes, of which each stands for a command that has not been done.
    fn done(&self, mistakes: Vec<String>) -> Result<()> {
        if mistakes.is_empty() {
            return Ok(());
        }
        if self.keep_going {
            mistakes.iter().for_each(|mistake| output::warning(mistake));
            return Ok(());
        }
        let listed = stf_file::listed(mistakes);
        bail!(
            "the entries do not suit the program{listed}\n  with --keep-going these are warnings, and the rest is done"
        )
    }
}

/// What may be given.
const KINDS: &str = "  expected STF commands (add TABLE KEY:VALUE ACTION(PARAMETER:VALUE)), commands of \
                     simple_switch_CLI, the text of a P4Runtime WriteRequest, or JSON with table_entries";

/// Whether a text begins as that of a `WriteRequest`. Such files have many names: `entries.pb.txt`, `entries.prototxt`.
fn is_write_request(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let is_field = |rest: &str| rest.trim_start().starts_with([':', '{']);
    first.is_some_and(|line| {
        let mut rests = REQUEST_FIELDS.iter().filter_map(|field| line.strip_prefix(*field));
        rests.any(is_field)
    })
}

/// The fields of `p4.v1.WriteRequest`.
const REQUEST_FIELDS: [&str; 6] = ["device_id", "role_id", "role", "election_id", "updates", "atomicity"];

/// What a file without any STF command is, if it is one of the files that lie beside programs.
fn other_kind(text: &str) -> Option<&'static str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let begins = |words: &[&str]| lines().any(|line| words.iter().any(|word| line.starts_with(word)));
    if begins(&["#include <", "control ", "parser ", "header ", "table "]) {
        return Some("a P4 program");
    }
    if begins(&["pkg_info", "tables {", "actions {"]) {
        return Some("a P4Info");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_lie_beside_programs_are_known() {
        assert_eq!(other_kind("#include <core.p4>\n"), Some("a P4 program"));
        assert_eq!(other_kind("pkg_info {\n}"), Some("a P4Info"));
        assert_eq!(other_kind("add t k:1 a()\n# table one\n"), None);
    }

    #[test]
    fn a_write_request_is_told_by_its_first_field() {
        assert!(is_write_request(
            "# proto-message: WriteRequest\n\nupdates {\n  type: INSERT\n}\n"
        ));
        assert!(is_write_request("device_id: 1\nupdates: {}\n"));
        assert!(!is_write_request("add updates k:1 a()\n"));
        assert!(!is_write_request("actions {\n}\n"));
        assert!(!is_write_request("{ \"table_entries\": [] }"));
        assert!(!is_write_request(""));
    }
}
