//! Why state cannot be kept or loaded.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why state cannot be kept or loaded. The message names the file, and says what to do.
#[derive(Debug)]
pub enum StateError {
    /// The system says no.
    Io {
        /// What was tried, such as "write".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another switch uses the folder.
    InUse(PathBuf),
    /// A file is damaged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, in bytes from its beginning.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
}

impl StateError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> StateError {
        move |error| StateError::Io {
            doing,
            path: path.to_path_buf(),
            error,
        }
    }

    pub(crate) fn damaged(path: &Path, offset: usize, problem: impl Into<String>) -> StateError {
        StateError::Damaged {
            path: path.to_path_buf(),
            offset: offset as u64,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Io { doing, path, error } => write!(formatter, "cannot {doing} {}: {error}", path.display()),
            StateError::InUse(path) => write!(
                formatter,
                "{} is used by another switch that runs: give each a folder of its own",
                path.display()
            ),
            StateError::Damaged { path, offset, problem } => write!(
                formatter,
                "{} is damaged at offset {offset}: {problem}. Nothing was loaded: put a copy of the folder in its place, \
                 or move the folder away to begin without its state",
                path.display()
            ),
        }
    }
}

impl std::error::Error for StateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StateError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
