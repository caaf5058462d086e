//! Programs that were compiled before: by `forebay build` (ir.txt) or by p4c for BMv2 (.json).

use crate::program::Compilation;
use crate::{Error, text};
use forebay_driver::Format;
use forebay_protocol::p4::config::v1::P4Info;
use std::path::Path;

/// Reads a program that was compiled before; none when the file is P4 source.
///
/// # Errors
/// When the program cannot be read; what is wrong *with* it is in the report, painted when `colour` is set.
pub fn read_compiled(path: &Path, colour: bool) -> Result<Option<Compilation>, Error> {
    let format = format(path)?;
    if format == Format::P4 {
        return Ok(None);
    }
    let text = text(path, "program")?;
    let info = match format {
        Format::Bmv2 => p4info_beside(path)?,
        _ => None,
    };
    let known = info.as_ref().map(forebay_p4runtime::known);
    let read = forebay_driver::read_compiled(&path.display().to_string(), format, &text, known.as_ref());
    Ok(Some(Compilation::of_precompiled(read, colour)))
}

/// What the program in a file is written in.
fn format(path: &Path) -> Result<Format, Error> {
    Format::of_file(path, || text(path, "program"))
}

/// Whether a file holds what p4c writes for BMv2.
///
/// # Errors
/// When it cannot be read.
pub fn is_bmv2(path: &Path) -> Result<bool, Error> {
    Ok(format(path)? == Format::Bmv2)
}

/// The P4Info of a program that was compiled before: a file beside it, which `forebay build` or p4c has written.
///
/// # Errors
/// When there is a file, and it is no P4Info.
pub fn p4info_beside(path: &Path) -> Result<Option<P4Info>, Error> {
    let Some(beside) = forebay_bmv2::p4info_paths(path)
        .into_iter()
        .find(|beside| beside.exists())
    else {
        return Ok(None);
    };
    let text = text(&beside, "P4Info of the program")?;
    let info = forebay_protocol::p4info::read(&text);
    info.map(Some).map_err(|error| Error::P4Info(beside, error.to_string()))
}
