//! What can be wrong with a file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be used. Each message names it.
#[derive(Debug)]
pub enum Error {
    /// The system does not let it be read.
    Read(PathBuf, io::Error),
    /// The system does not let it be written.
    Write(PathBuf, io::Error),
    /// The system does not let the folder be made.
    MakeFolder(PathBuf, io::Error),
    /// It is a folder, and not what is named.
    IsFolder(PathBuf, String),
    /// It is a file where a folder is to be written to.
    IsFile(PathBuf),
    /// It is a device or a pipe.
    NotRegular(PathBuf),
    /// It is a device that does not end.
    Endless(PathBuf),
    /// It is not text; what it should be the text of is named.
    Binary(PathBuf, String),
    /// It is text, and a line of it is not UTF-8; what it should be the text of is named.
    NotUtf8(PathBuf, String, usize),
    /// It is a program whose path is not UTF-8: messages and `#include` know files by text.
    PathNotUtf8(PathBuf),
    /// It is an STF test where a program is named.
    IsTest(PathBuf),
    /// It is no P4Info, for this reason.
    P4Info(PathBuf, String),
}

impl Error {
    /// For `map_err`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |error| Error::Read(path.to_path_buf(), error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Error::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Error::MakeFolder(path, error) => write!(f, "cannot make the folder {}: {error}", path.display()),
            Error::IsFolder(path, wanted) => write!(f, "{} is a folder; name the {wanted} in it", path.display()),
            Error::IsFile(path) => write!(f, "{} is a file; name a folder to write to", path.display()),
            Error::NotRegular(path) => write!(f, "{} is no regular file", path.display()),
            Error::Endless(path) => write!(f, "{} is a device, not a file: it does not end", path.display()),
            Error::Binary(path, wanted) => {
                write!(
                    f,
                    "{} is a binary file; name the {wanted}, which is text",
                    path.display()
                )
            }
            Error::NotUtf8(path, wanted, line) => write!(
                f,
                "{}:{line}: a character is not in UTF-8; save the {wanted} in this encoding",
                path.display()
            ),
            Error::PathNotUtf8(path) => write!(
                f,
                "the path {} is not in UTF-8; rename the program, or the folder that it is in",
                path.display()
            ),
            Error::IsTest(path) => write!(
                f,
                "{} is an STF test, not a program; name the program before it",
                path.display()
            ),
            Error::P4Info(path, message) => write!(f, "{}: {message}", path.display()),
        }
    }
}

impl std::error::Error for Error {}
