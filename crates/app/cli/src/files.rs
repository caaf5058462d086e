//! Files that the command line names: what is wrong with them, in words that say what to do.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Where a byte of zero tells a binary file.
const BEGINNING_BYTES: u64 = 1024;

/// Reads a file of text; `what` it should be stands in the message when it cannot.
pub fn text(path: &Path, what: &str) -> Result<String> {
    if path.is_dir() {
        bail!("{} is a folder; name the {what} in it", path.display());
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => bail!("{} is a binary file, not the text of a {what}", path.display()),
    }
}

/// Whether a program can be read: the front end asks for files by name and gets none for whatever reason, so only here the
/// reason can be said.
pub fn check_program(path: &Path) -> Result<()> {
    let cannot = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(cannot)?;
    let metadata = file.metadata().with_context(cannot)?;
    if metadata.is_dir() {
        bail!("{} is a folder; name the program in it", path.display());
    }
    if !metadata.is_file() {
        bail!("{} is no regular file", path.display());
    }
    let mut beginning = Vec::new();
    file.take(BEGINNING_BYTES)
        .read_to_end(&mut beginning)
        .with_context(cannot)?;
    if beginning.contains(&0) {
        bail!("{} is a binary file, not the text of a program", path.display());
    }
    Ok(())
}

/// Makes a folder, and those around it, unless it exists.
pub fn make_folder(path: &Path) -> Result<()> {
    if path.is_file() {
        bail!("{} is a file; name a folder to write to", path.display());
    }
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

/// Writes a file.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}
