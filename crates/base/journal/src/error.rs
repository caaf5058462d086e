//! Why state cannot be kept or loaded.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why state cannot be kept or loaded. The message names the file, and says what to do.
#[derive(Debug)]
pub enum StateError {
    /// A system call failed.
    Io {
        /// What was tried, such as "write".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A running switch uses the folder.
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
    /// A file is missing, although another file shows that it existed.
    Missing {
        /// The file that is missing.
        path: PathBuf,
        /// The file that belongs to it.
        beside: String,
    },
    /// A file was removed, moved or replaced while the store used it.
    Gone(PathBuf),
    /// An earlier batch could not be written: nothing can follow before the next snapshot.
    Behind(PathBuf),
    /// A record has more bytes than its format can say.
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes of the record.
        bytes: u64,
    },
    /// There is nothing that a repair could restore.
    Lost(PathBuf),
}

impl StateError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> StateError + use<> {
        let path = path.to_path_buf();
        move |error| StateError::Io {
            doing,
            path: path.clone(),
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

/// What to do about files that are damaged or missing.
fn remedy(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    format!(
        "Nothing was loaded: `forebay state check {folder}` says what is wrong, `forebay state repair {folder}` restores \
         what can be; or put a copy of the folder in its place, or move the folder away to begin without its state"
    )
}

impl fmt::Display for StateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Io { doing, path, error } => write!(formatter, "cannot {doing} {}: {error}", path.display()),
            StateError::InUse(path) => write!(
                formatter,
                "{} is used by a switch that runs: give each switch a folder of its own, or stop that one",
                path.display()
            ),
            StateError::Damaged { path, offset, problem } => write!(
                formatter,
                "{} is damaged at offset {offset}: {problem}. {}",
                path.display(),
                remedy(path)
            ),
            StateError::Missing { path, beside } => write!(
                formatter,
                "{} is missing, although {beside} is there. {}",
                path.display(),
                remedy(path)
            ),
            StateError::Gone(path) => write!(
                formatter,
                "{} was removed, moved or replaced while the switch uses it",
                path.display()
            ),
            StateError::Behind(path) => write!(
                formatter,
                "an earlier change is not in {}, so that nothing can follow it before the next snapshot",
                path.display()
            ),
            StateError::TooLong { path, bytes } => write!(
                formatter,
                "{bytes} bytes are more than a record of {} can have",
                path.display()
            ),
            StateError::Lost(path) => write!(
                formatter,
                "{} has no snapshot that can be loaded: nothing can be restored. Put a copy of the folder in its place, or \
                 move it away to begin without its state",
                path.display()
            ),
        }
    }
}

// No source: the message has what the system says.
impl std::error::Error for StateError {}
