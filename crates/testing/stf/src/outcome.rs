//! How a test ended.

use std::fmt;

/// How a test ended: passed when nothing failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What failed, in the order of the file; what belongs to no line comes last.
    pub failures: Vec<Failure>,
    /// What commands had to say (`register_read`), and what is worth knowing beyond the verdict.
    pub notes: Vec<Note>,
    /// Packets that the test sent.
    pub packets_in: u64,
    /// Packets that left the switch.
    pub packets_out: u64,
}

impl Outcome {
    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// Whether the test does not suit the program, whatever the program does.
    pub fn is_invalid(&self) -> bool {
        self.failures.iter().any(|failure| failure.kind == FailureKind::Refused)
    }
}

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the command that was not fulfilled, or of the packet that led to one not expected.
    pub line: Option<u32>,
    /// What failed.
    pub kind: FailureKind,
    /// For people; may have several lines.
    pub message: String,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The program cannot do the command: no such table, a value that does not fit.
    Refused,
    /// A packet came that differs from what is expected.
    Different,
    /// No packet came.
    Missing,
    /// A packet came that is not expected.
    Unexpected,
    /// A counter is not as expected.
    Counter,
    /// A packet goes round in the switch without end.
    Endless,
    /// Two engines did not do the same.
    Engine,
}

impl FailureKind {
    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Refused => "refused",
            FailureKind::Different => "different",
            FailureKind::Missing => "missing",
            FailureKind::Unexpected => "unexpected",
            FailureKind::Counter => "counter",
            FailureKind::Endless => "endless",
            FailureKind::Engine => "engine",
        }
    }
}

impl Failure {
    /// The message after its place in the test's file: `router.stf:14: port 2 has not sent this packet`.
    pub fn in_file(&self, file: &str) -> String {
        in_file(file, self.line, self.message.trim_end())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(self.message.trim_end())
    }
}

fn in_file(file: &str, line: Option<u32>, message: &str) -> String {
    match line {
        Some(line) => format!("{file}:{line}: {message}"),
        None => format!("{file}: {message}"),
    }
}

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the command that said it.
    pub line: Option<u32>,
    /// For people.
    pub message: String,
}

impl Note {
    /// As [`Failure::in_file`]; without the file when it belongs to no line.
    pub fn in_file(&self, file: &str) -> String {
        match self.line {
            Some(_) => in_file(file, self.line, &self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
