//! `forebay man`: manual pages, one for each command.

use super::Status;
use crate::{files, output};
use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Arguments of `forebay man`.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  forebay man /usr/local/share/man/man1 && man forebay-run")]
pub struct Arguments {
    /// The folder to write to; made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages, and says which.
pub fn run(arguments: &Arguments) -> Result<Status> {
    files::make_folder(&arguments.folder)?;
    let mut all = crate::command_line();
    all.build();
    let mut written = write(&all, "forebay", &arguments.folder)?;
    for command in all.get_subcommands().filter(|command| !command.is_hide_set()) {
        written += &write(command, &format!("forebay-{}", command.get_name()), &arguments.folder)?;
    }
    output::print(&written)?;
    Ok(Status::Good)
}

fn write(command: &Command, name: &str, folder: &Path) -> Result<String> {
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    // A page's name is one word. The library wants it to live for ever, and there is one for each command.
    let name: &'static str = name.to_string().leak();
    Man::new(command.clone().name(name))
        .render(&mut page)
        .with_context(|| format!("cannot write {}", path.display()))?;
    files::write(&path, page)?;
    Ok(format!("{}\n", path.display()))
}
