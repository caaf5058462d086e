//! `forebay man`: manual pages, one for each command and each of its own commands.

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
    output::print(&write_all(&all, "forebay", &arguments.folder)?)?;
    Ok(Status::Good)
}

/// Writes the page of a command, and those of the commands below it.
fn write_all(command: &Command, name: &str, folder: &Path) -> Result<String> {
    let mut written = write(command, name, folder)?;
    // `help` stands for `--help`.
    let has_page = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
    for below in command.get_subcommands().filter(has_page) {
        written += &write_all(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(written)
}

fn write(command: &Command, name: &str, folder: &Path) -> Result<String> {
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    // A page's name is one word. The library requires the name to live for the whole program, and there is one for each
    // command.
    let name: &'static str = name.to_string().leak();
    Man::new(command.clone().name(name))
        .render(&mut page)
        .with_context(|| format!("cannot write {}", path.display()))?;
    files::write(&path, page)?;
    Ok(format!("{}\n", path.display()))
}
