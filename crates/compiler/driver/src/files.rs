//! P4 sources from the file system.
//!
//! The front end opens no file: it reads through a [`SourceProvider`]. This is the one that the command and the
//! development tools give it.

use forebay_syntax::source::SourceProvider;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

/// A file larger than this is not taken for a source. The largest P4 programs known have some hundred kilobytes.
pub const SIZE_LIMIT_BYTES: u64 = 64 << 20;

/// Reads sources from the file system.
#[derive(Clone, Debug, Default)]
pub struct FileSources {
    /// Files that are treated as if they did not exist.
    hidden: Vec<PathBuf>,
}

impl FileSources {
    /// Reads any file.
    pub fn new() -> FileSources {
        FileSources::default()
    }

    /// Treats a file as if it did not exist, so that the search for an include goes on.
    pub fn hide(mut self, path: impl Into<PathBuf>) -> FileSources {
        self.hidden.push(path.into());
        self
    }
}

impl SourceProvider for FileSources {
    /// The file's text; none when it cannot be read, is no regular file, or is larger than [`SIZE_LIMIT_BYTES`]. Bytes
    /// that are not UTF-8 are replaced, and reported by the lexer if they stand outside a comment.
    fn read(&self, path: &str) -> Option<String> {
        if self.hidden.iter().any(|hidden| hidden.as_os_str() == path) {
            return None;
        }
        // A pipe without a writer would wait when it is opened.
        let metadata = fs::metadata(path).ok()?;
        if !metadata.is_file() || metadata.len() > SIZE_LIMIT_BYTES {
            return None;
        }
        let file = File::open(path).ok()?;
        let mut bytes = Vec::new();
        file.take(SIZE_LIMIT_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn has_folder(&self, path: &str) -> bool {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_files_only() {
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/src/files.rs");
        assert!(FileSources::new().read(this).is_some());
        assert!(FileSources::new().hide(this).read(this).is_none());
        assert!(FileSources::new().read(env!("CARGO_MANIFEST_DIR")).is_none());
        assert!(FileSources::new().read("/no/such/file").is_none());
    }

    /// A folder of `-I` that is misspelt is the likeliest reason why a file is not found.
    #[test]
    fn folders_that_are_missing_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let (there, missing) = (folder.path().display().to_string(), "/no/such/folder".to_string());
        let program = folder.path().join("a.p4");
        std::fs::write(&program, "#include \"b.p4\"\n").expect("a file");
        let provider = FileSources::new();
        let options = crate::Options {
            provider: &provider,
            include_paths: &[missing, there.clone()],
            defines: &[],
        };
        let found = crate::check(&program.display().to_string(), &options);
        let notes: Vec<&str> = found
            .diagnostics
            .iter()
            .flat_map(|found| &found.notes)
            .map(String::as_str)
            .collect();
        let expected = format!("folders searched: /no/such/folder (there is no such folder), {there}");
        assert_eq!(notes, [expected]);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo is there").success());
        assert!(FileSources::new().read(&pipe.display().to_string()).is_none());
    }
}
