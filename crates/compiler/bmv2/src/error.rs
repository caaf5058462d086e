//! What is wrong with a JSON.

use std::fmt;

/// Why a JSON is no program that can be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where in the JSON: `pipelines[0].tables[2].key[1]`; empty for the JSON as a whole.
    pub at: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// What reading and translating return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error whose place is not known yet.
    pub fn new(message: impl Into<String>) -> Error {
        Error {
            at: String::new(),
            message: message.into(),
        }
    }

    /// The error at a place, unless it has one, which then is nearer.
    pub fn or_at(mut self, at: &str) -> Error {
        if self.at.is_empty() {
            self.at = at.to_owned();
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => write!(formatter, "{}", self.message),
            at => write!(formatter, "{at}: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}

/// Gives errors a place.
pub trait At<T> {
    /// See [`Error::or_at`].
    fn at(self, place: &str) -> Result<T>;
}

impl<T> At<T> for Result<T> {
    fn at(self, place: &str) -> Result<T> {
        self.map_err(|error| error.or_at(place))
    }
}

/// `one of `a`, `b`, `c``, for messages that say what would be right.
pub fn options<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().take(20).map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "there is none".to_owned(),
        names => format!("there is {}", names.join(", ")),
    }
}
