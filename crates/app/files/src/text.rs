//! Files that a user names: what is wrong with them, in words that say what to do.

use crate::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// A file with a zero byte among its first bytes, as many as this, is taken for a binary file.
const BEGINNING_BYTES: u64 = 1024;

/// What is read of a device: enough for what a person types into a terminal. `/dev/zero` and disks have more.
const DEVICE_BYTES: u64 = 16 << 20;

/// Reads a file. A device that does not end is an error, and does not fill the memory.
///
/// # Errors
/// When it cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let mut file = File::open(path).map_err(Error::read(path))?;
    let kind = file.metadata().map_err(Error::read(path))?.file_type();
    let mut bytes = Vec::new();
    if !kind.is_char_device() && !kind.is_block_device() {
        file.read_to_end(&mut bytes).map_err(Error::read(path))?;
        return Ok(bytes);
    }
    file.take(DEVICE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(Error::read(path))?;
    if bytes.len() as u64 > DEVICE_BYTES {
        Err(Error::Endless(path.to_path_buf()))
    } else {
        Ok(bytes)
    }
}

/// The mark with which some editors begin a text (U+FEFF); it is no part of it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads a file of text, without a byte order mark; `what` it should be stands in the message when it cannot.
///
/// # Errors
/// When it cannot be read, or is no text.
pub fn text(path: &Path, what: &str) -> Result<String, Error> {
    if path.is_dir() {
        return Err(Error::IsFolder(path.to_path_buf(), what.to_string()));
    }
    let bytes = bytes(path)?;
    if bytes.contains(&0) {
        return Err(Error::Binary(path.to_path_buf(), what.to_string()));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Error::NotUtf8(path.to_path_buf(), what.to_string(), line)
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

/// Whether a program can be read: the front end requests files by name and does not learn why one is missing, so the
/// reason is found here.
///
/// # Errors
/// When it cannot.
pub fn check_program(path: &Path) -> Result<(), Error> {
    // A pipe without a writer would wait when it is opened.
    let metadata = fs::metadata(path).map_err(Error::read(path))?;
    if metadata.is_dir() {
        return Err(Error::IsFolder(path.to_path_buf(), "program".to_string()));
    }
    if !metadata.is_file() {
        return Err(Error::NotRegular(path.to_path_buf()));
    }
    let file = File::open(path).map_err(Error::read(path))?;
    let mut beginning = Vec::new();
    file.take(BEGINNING_BYTES)
        .read_to_end(&mut beginning)
        .map_err(Error::read(path))?;
    if beginning.contains(&0) {
        return Err(Error::Binary(path.to_path_buf(), "program".to_string()));
    }
    if path.extension().is_some_and(|extension| extension == "stf") {
        return Err(Error::IsTest(path.to_path_buf()));
    }
    if path.to_str().is_none() {
        return Err(Error::PathNotUtf8(path.to_path_buf()));
    }
    Ok(())
}

/// Whether a path may name a folder: there is one, or nothing yet.
///
/// # Errors
/// When something else is there.
pub fn check_folder(path: &Path) -> Result<(), Error> {
    if path.exists() && !path.is_dir() {
        Err(Error::IsFile(path.to_path_buf()))
    } else {
        Ok(())
    }
}

/// Makes a folder, and those around it, unless it exists.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    check_folder(path)?;
    fs::create_dir_all(path).map_err(|error| Error::MakeFolder(path.to_path_buf(), error))
}

/// Whether a file can be written, before the work whose result it is to have. What is there stays as it is.
///
/// # Errors
/// When it cannot.
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let failed = |error| Error::Write(path.to_path_buf(), error);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            let opened = fs::OpenOptions::new().append(true).open(path);
            opened.map(|_| ()).map_err(failed)
        }
        Ok(metadata) if metadata.is_dir() => Err(failed(ErrorKind::IsADirectory.into())),
        // A pipe waits for its reader when it is opened.
        Ok(_) => Ok(()),
        Err(_) => {
            File::create_new(path).map_err(failed)?;
            fs::remove_file(path).map_err(failed)
        }
    }
}

/// Writes a file: a regular one as a whole or not at all, so that what was there stays when there is no room.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Error> {
    let contents = contents.as_ref();
    let written = match beside(path) {
        Some((file, beside)) => replace(path, (file, &beside), contents),
        None => fs::write(path, contents),
    };
    written.map_err(|error| Error::Write(path.to_path_buf(), error))
}

/// A new file beside the one that is to be written; none where only the file itself can be.
fn beside(path: &Path) -> Option<(File, PathBuf)> {
    let is_replaceable = match fs::symlink_metadata(path) {
        Ok(metadata) => {
            let is_plain = metadata.is_file() && metadata.nlink() == 1;
            is_plain && fs::OpenOptions::new().append(true).open(path).is_ok()
        }
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    let mut name = OsString::from(".");
    name.push(path.file_name().filter(|_| is_replaceable)?);
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    Some((File::create_new(&beside).ok()?, beside))
}

/// Writes the file beside another one, and puts it in the place of that, with its owner and mode.
fn replace(path: &Path, (mut file, beside): (File, &Path), contents: &[u8]) -> io::Result<()> {
    let written = file.write_all(contents);
    if written.is_ok() {
        if let Ok(before) = fs::metadata(path) {
            // What cannot be kept is as for any new file.
            let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
            let _ = file.set_permissions(before.permissions());
        }
        if fs::rename(beside, path).is_ok() {
            return Ok(());
        }
    }
    let _ = fs::remove_file(beside);
    written.and_then(|()| fs::write(path, contents))
}
