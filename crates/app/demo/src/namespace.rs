//! Network namespaces and the virtual wires between them, made with `ip` (iproute2).

use crate::DemoError;
use std::path::Path;
use std::process::Command;

/// A named network namespace, which is deleted when this is dropped; interfaces in it vanish with it.
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// A new namespace with IPv6 off, whose announcements would disturb the counts.
    pub(crate) fn new(purpose: &str) -> Result<Namespace, DemoError> {
        let name = format!("forebay-demo-{}-{purpose}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Namespace { name };
        let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 2>/dev/null || true";
        ip(&["netns", "exec", &namespace.name, "sh", "-c", quiet])?;
        Ok(namespace)
    }

    /// Runs `ip` with these arguments in it.
    pub(crate) fn ip(&self, arguments: &str) -> Result<(), DemoError> {
        let words: Vec<&str> = ["-n", &self.name]
            .into_iter()
            .chain(arguments.split_whitespace())
            .collect();
        ip(&words)
    }

    /// A command in it, of which only the arguments are missing.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// A wire from an interface `near` in this namespace to an interface `far` in another or the same, both up.
    pub(crate) fn wire(&self, near: &str, other: &Namespace, far: &str) -> Result<(), DemoError> {
        self.ip(&format!(
            "link add {near} type veth peer name {far} netns {}",
            other.name
        ))?;
        self.ip(&format!("link set {near} up"))?;
        other.ip(&format!("link set {far} up"))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), DemoError> {
    let action = || format!("run `ip {}`", arguments.join(" "));
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| DemoError::system(action(), error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(DemoError::system(
        action(),
        String::from_utf8_lossy(&output.stderr).trim(),
    ))
}
