//! Source files, positions in them, and where their text comes from.
//!
//! A [`Span`] is three numbers: a file and a range of byte offsets. Everything the front end says about a
//! program carries spans; the [`SourceMap`] turns them into lines and columns when a message is
//! rendered, and it is also where `#line` directives are remembered, so that a generated program can
//! be blamed on the file it was generated from.
//!
//! The crate never opens a file. It asks a [`SourceProvider`] for the text behind a path, and decides
//! itself which paths to try ([`SourceSearch`]): for `#include "x"` the folder of the including file first,
//! then the user's search paths, then the library that is compiled into this crate ([`library`]).

use std::collections::HashMap;
use std::sync::Arc;

/// Names one file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A range of bytes in one source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of what no source text stands for (a built-in, or a message about the program as a whole).
    pub const NONE: Span = Span {
        file: FileId(u32::MAX),
        start: 0,
        end: 0,
    };

    /// A span from its parts.
    pub fn new(file: FileId, start: u32, end: u32) -> Span {
        Span { file, start, end }
    }

    /// Whether this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self.file == Span::NONE.file
    }

    /// The smallest span that covers both. Spans of different files cannot be joined: `self` is returned then.
    pub fn to(self, other: Span) -> Span {
        if self.is_none() {
            return other;
        }
        if self.file != other.file {
            return self;
        }
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The empty span just after this one.
    pub fn after(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }
}

/// A position as people count: both from one, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A position after `#line` directives were applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's name, as given or as a `#line` directive renamed it.
    pub file: Arc<str>,
    /// Line, from 1, as a `#line` directive renumbered it.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One file: its name, text and line table.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path it was read from, or a name in angle brackets for what has no path.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// Where the first `#include` of this file stands; none for the main program.
    pub included_from: Option<Span>,
    line_starts: Vec<u32>,
    line_directives: Vec<LineDirective>,
}

/// A `#line` directive: from `offset` on, lines are counted from `line` and belong to `file`.
#[derive(Clone, Debug)]
struct LineDirective {
    offset: u32,
    line: u32,
    file: Option<Arc<str>>,
}

impl SourceFile {
    fn new(name: Arc<str>, text: Arc<str>, included_from: Option<Span>) -> SourceFile {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(newlines.map(|(index, _)| index as u32 + 1))
            .collect();
        SourceFile {
            name,
            text,
            included_from,
            line_starts,
            line_directives: Vec::new(),
        }
    }

    /// The line (from 1) in which a byte offset lies.
    pub fn line_at(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|start| *start <= offset) as u32
    }

    /// The text of a line (from 1) without its line end; empty when there is no such line.
    pub fn line_text(&self, line: u32) -> &str {
        let start = self.line_start(line) as usize;
        let end = self.line_start(line.saturating_add(1)) as usize;
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// The offset of the first byte of a line (from 1), or the length of the text after the last line.
    pub fn line_start(&self, line: u32) -> u32 {
        let index = line.saturating_sub(1) as usize;
        self.line_starts.get(index).copied().unwrap_or(self.text.len() as u32)
    }

    /// Line and column of a byte offset, without regard to `#line`.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.line_at(offset);
        let start = self.line_start(line) as usize;
        let before = self
            .text
            .get(start..(offset as usize).min(self.text.len()))
            .unwrap_or("");
        LineColumn {
            line,
            column: before.chars().count() as u32 + 1,
        }
    }
}

/// All the files of a compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    by_name: HashMap<Arc<str>, FileId>,
}

impl SourceMap {
    /// A map without files.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a file and returns its id. A second file of the same name replaces the first in look-ups by name.
    pub fn add(&mut self, name: &str, text: String, included_from: Option<Span>) -> FileId {
        let id = FileId(self.files.len() as u32);
        let name: Arc<str> = name.into();
        self.by_name.insert(name.clone(), id);
        self.files.push(SourceFile::new(name, text.into(), included_from));
        id
    }

    /// The file that was added under this name.
    pub fn find(&self, name: &str) -> Option<FileId> {
        self.by_name.get(name).copied()
    }

    /// A file by its id; none for the file of [`Span::NONE`].
    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// Every file, in the order in which they were first read.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .enumerate()
            .map(|(index, file)| (FileId(index as u32), file))
    }

    /// The text that a span covers; empty for [`Span::NONE`].
    pub fn text(&self, span: Span) -> &str {
        let file = self.file(span.file);
        file.and_then(|file| file.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }

    /// Where a span begins, for messages: `#line` directives are applied. None for [`Span::NONE`].
    ///
    /// The column is found by reading the line from its beginning; [`SourceMap::line`] is for what asks of every piece
    /// of a program, whose lines may be very long.
    pub fn location(&self, span: Span) -> Option<Location> {
        let (file, line) = self.line(span)?;
        let column = self.file(span.file)?.line_column(span.start).column;
        Some(Location { file, line, column })
    }

    /// File and line of a [location](SourceMap::location).
    pub fn line(&self, span: Span) -> Option<(Arc<str>, u32)> {
        let file = self.file(span.file)?;
        let line = file.line_at(span.start);
        let index = file
            .line_directives
            .partition_point(|directive| directive.offset <= span.start);
        let Some(directive) = index.checked_sub(1).and_then(|index| file.line_directives.get(index)) else {
            return Some((file.name.clone(), line));
        };
        let distance = line - file.line_at(directive.offset);
        let name = directive.file.clone().unwrap_or_else(|| file.name.clone());
        Some((name, directive.line.saturating_add(distance)))
    }

    /// Records a `#line` directive: the text from `offset` on counts from `line`, in `name` if that is given.
    ///
    /// A directive without a name keeps the name of the directive before it.
    pub fn add_line_directive(&mut self, file: FileId, offset: u32, line: u32, name: Option<&str>) {
        let Some(file) = self.files.get_mut(file.0 as usize) else {
            return;
        };
        let index = file
            .line_directives
            .partition_point(|directive| directive.offset < offset);
        if file
            .line_directives
            .get(index)
            .is_some_and(|directive| directive.offset == offset)
        {
            return;
        }
        let inherited = index
            .checked_sub(1)
            .and_then(|before| file.line_directives[before].file.clone());
        let name = name.map(Arc::from).or(inherited);
        file.line_directives.insert(
            index,
            LineDirective {
                offset,
                line,
                file: name,
            },
        );
    }
}

/// Where the text of a path comes from.
///
/// The command-line tool reads the file system; tests and the Python package give files in memory.
pub trait SourceProvider {
    /// The text of the file at exactly this path, or none if there is no such file.
    fn read(&self, path: &str) -> Option<String>;

    /// Whether there is a folder with this path, as far as that is known: messages name those that are missing.
    fn has_folder(&self, _path: &str) -> bool {
        true
    }
}

impl<F: Fn(&str) -> Option<String>> SourceProvider for F {
    fn read(&self, path: &str) -> Option<String> {
        self(path)
    }
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct MemorySources {
    files: HashMap<String, String>,
}

impl MemorySources {
    /// No files.
    pub fn new() -> MemorySources {
        MemorySources::default()
    }

    /// Adds a file.
    pub fn with(mut self, path: &str, text: &str) -> MemorySources {
        self.files.insert(path.to_string(), text.to_string());
        self
    }
}

impl SourceProvider for MemorySources {
    fn read(&self, path: &str) -> Option<String> {
        self.files.get(path).cloned()
    }
}

/// How an `#include` is resolved: which paths are tried, in which order.
pub struct SourceSearch<'a> {
    /// Reads a path.
    pub provider: &'a dyn SourceProvider,
    /// Folders to search, before the built-in library.
    pub include_paths: &'a [String],
}

/// A file that was found: the name under which it is known, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSource {
    /// The path, or `<name>` for a file of the built-in library.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl SourceSearch<'_> {
    /// Finds the file meant by `#include "path"` (or `<path>` when `system`) in the file `from`.
    pub fn find(&self, path: &str, from: &str, system: bool) -> Option<FoundSource> {
        let beside = (!system && !from.starts_with('<')).then(|| folder_of(from));
        let absolute = path.starts_with('/').then_some("");
        let folders = absolute
            .into_iter()
            .chain(beside)
            .chain(self.include_paths.iter().map(String::as_str));
        for folder in folders {
            let name = join(folder, path);
            if let Some(text) = self.provider.read(&name) {
                return Some(FoundSource { name, text });
            }
        }
        library_file(path)
    }

    /// The folders that are searched, those that are missing marked.
    pub(crate) fn folders_in_words(&self) -> String {
        let words = |folder: &String| {
            let missing = if self.provider.has_folder(folder) {
                ""
            } else {
                " (there is no such folder)"
            };
            format!("{folder}{missing}")
        };
        self.include_paths.iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

/// A file of the P4 library, as it is found.
pub fn library_file(path: &str) -> Option<FoundSource> {
    Some(FoundSource {
        name: format!("<{path}>"),
        text: library(path)?.to_string(),
    })
}

/// The files of the P4 library that are part of this crate, as `#include <name>` finds them.
///
/// The portable architectures are also found under the names under which p4c installs them for its targets.
pub fn library(name: &str) -> Option<&'static str> {
    match name {
        "core.p4" => Some(include_str!("../../../../p4include/core.p4")),
        "v1model.p4" => Some(include_str!("../../../../p4include/v1model.p4")),
        "psa.p4" | "bmv2/psa.p4" | "dpdk/psa.p4" => Some(include_str!("../../../../p4include/psa.p4")),
        "pna.p4" | "dpdk/pna.p4" => Some(include_str!("../../../../p4include/pna.p4")),
        "forebay.p4" => Some(include_str!("../../../../p4include/forebay.p4")),
        "tc/pna.p4" => Some(include_str!("../../../../p4include/tc/pna.p4")),
        _ => None,
    }
}

fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash.max(1)])
}

/// Joins a folder and a path and takes `.` and `a/..` out of the result.
fn join(folder: &str, path: &str) -> String {
    let full = if folder.is_empty() {
        path.to_string()
    } else {
        format!("{folder}/{path}")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if full.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let mut map = SourceMap::new();
        let id = map.add("a.p4", "ab\nc\u{e9}d\n".to_string(), None);
        let file = map.file(id).unwrap();
        assert_eq!(file.line_column(0), LineColumn { line: 1, column: 1 });
        assert_eq!(file.line_column(3), LineColumn { line: 2, column: 1 });
        assert_eq!(file.line_column(6), LineColumn { line: 2, column: 3 });
        assert_eq!(file.line_text(2), "c\u{e9}d");
        assert_eq!(file.line_text(9), "");
    }

    #[test]
    fn line_directives_rename_what_follows() {
        let mut map = SourceMap::new();
        let id = map.add("a.p4", "one\n#line 40 \"b.p4\"\ntwo\nthree\n".to_string(), None);
        map.add_line_directive(id, 20, 40, Some("b.p4"));
        let location = map.location(Span::new(id, 24, 25)).unwrap();
        assert_eq!((&*location.file, location.line), ("b.p4", 41));
        assert_eq!(map.location(Span::new(id, 0, 1)).unwrap().line, 1);
    }

    #[test]
    fn quoted_includes_look_beside_the_file_first() {
        let sources = MemorySources::new()
            .with("dir/x.p4", "beside")
            .with("inc/x.p4", "searched");
        let paths = ["inc".to_string()];
        let search = SourceSearch {
            provider: &sources,
            include_paths: &paths,
        };
        assert_eq!(search.find("x.p4", "dir/main.p4", false).unwrap().text, "beside");
        assert_eq!(search.find("x.p4", "dir/main.p4", true).unwrap().text, "searched");
        assert_eq!(
            search.find("../inc/x.p4", "dir/main.p4", false).unwrap().name,
            "inc/x.p4"
        );
        assert!(
            search
                .find("core.p4", "dir/main.p4", false)
                .unwrap()
                .text
                .contains("packet_in")
        );
        assert_eq!(search.find("missing.p4", "dir/main.p4", false), None);
    }
}
