//! What a switch takes before its sockets are open, and gives up once they are.

use anyhow::{Context, Result};

/// Rights that are not needed any more.
#[derive(clap::Args, Clone, Debug)]
pub struct SandboxOptions {
    /// Be this user once all ports and sockets are open
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Keep all capabilities and system calls
    #[arg(long)]
    no_sandbox: bool,
}

impl SandboxOptions {
    /// The user as which the switch will run; `None` if its user does not change.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Gives the rights up. Threads that are started later have none of them either.
    ///
    /// # Errors
    /// When there is no such user, or the system refuses.
    pub fn enter(&self) -> Result<()> {
        forebay_ports::confine(self.user.as_deref(), !self.no_sandbox)
            .context("the switch cannot give up its rights (--no-sandbox leaves them)")
    }
}

/// Takes the rights that the executable's file gives. A system that refuses says so when a port is opened.
pub fn take_rights() {
    let _ = forebay_ports::take_capabilities();
}
