//! Why a demonstration could not be done.

use std::fmt;
use std::path::Path;

/// Why a demonstration could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DemoError {
    /// The requested settings are not possible.
    Settings(String),
    /// A file, process, socket or interface of the system failed.
    System {
        /// What was being done.
        action: String,
        /// What the system said.
        detail: String,
    },
    /// A switch could not be started or ended early.
    Switch(String),
    /// The user ended it.
    Interrupted,
}

impl DemoError {
    /// A failure of the system while doing `action`.
    pub fn system(action: impl Into<String>, detail: impl fmt::Display) -> DemoError {
        DemoError::System {
            action: action.into(),
            detail: detail.to_string(),
        }
    }

    /// A file that cannot be written.
    pub fn file(path: &Path, detail: impl fmt::Display) -> DemoError {
        DemoError::system(format!("write {}", path.display()), detail)
    }
}

impl fmt::Display for DemoError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DemoError::Settings(message) | DemoError::Switch(message) => formatter.write_str(message),
            DemoError::System { action, detail } => write!(formatter, "cannot {action}: {detail}"),
            DemoError::Interrupted => formatter.write_str("interrupted"),
        }
    }
}

impl std::error::Error for DemoError {}
