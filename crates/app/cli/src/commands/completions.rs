//! `forebay completions`: what a shell needs to complete command lines of `forebay`.

use super::Status;
use crate::output;
use anyhow::Result;
use clap_complete::Shell;

/// Arguments of `forebay completions`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay completions bash > /etc/bash_completion.d/forebay
  forebay completions zsh > ~/.zfunc/_forebay
  forebay completions fish > ~/.config/fish/completions/forebay.fish")]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command_line(), "forebay", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Good)
}
