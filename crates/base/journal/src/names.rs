//! Names of files in the folder.

use std::path::{Path, PathBuf};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Snapshot,
    Log,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Snapshot => "snapshot",
            Kind::Log => "log",
        }
    }
}

/// The name of the file that is locked.
pub(crate) const LOCK: &str = "lock";

/// A file of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) kind: Kind,
    pub(crate) generation: u64,
    /// Whether it was not finished.
    pub(crate) is_temporary: bool,
}

impl Name {
    pub(crate) fn new(kind: Kind, generation: u64) -> Name {
        Name {
            kind,
            generation,
            is_temporary: false,
        }
    }

    pub(crate) fn temporary(self) -> Name {
        Name {
            is_temporary: true,
            ..self
        }
    }

    /// The file with this name, exactly as it is written by [`Name::text`]: every other file is another's.
    pub(crate) fn parse(text: &str) -> Option<Name> {
        let (rest, is_temporary) = match text.strip_suffix(".tmp") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (word, number) = rest.split_once('-')?;
        let kind = [Kind::Snapshot, Kind::Log]
            .into_iter()
            .find(|kind| kind.word() == word)?;
        let name = Name {
            kind,
            generation: number.parse().ok()?,
            is_temporary,
        };
        (name.text() == text).then_some(name)
    }

    pub(crate) fn text(self) -> String {
        let end = if self.is_temporary { ".tmp" } else { "" };
        format!("{}-{:08}{end}", self.kind.word(), self.generation)
    }

    pub(crate) fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_as_they_are_written_are_ours() {
        for text in [
            "snapshot-00000001",
            "log-00000012",
            "snapshot-123456789",
            "log-00000001.tmp",
        ] {
            assert_eq!(Name::parse(text).map(Name::text).as_deref(), Some(text));
        }
        for text in [
            "snapshot-abc",
            "snapshot-1",
            "log-+0000001",
            "snapshot-00000001.bak",
            "log-",
            "lock",
            "snapshot-000000001",
            "snapshot-00000001.tmp.tmp",
            "my-snapshot-00000001",
            "snapshot",
            "",
        ] {
            assert_eq!(Name::parse(text), None, "{text}");
        }
    }
}
