//! What the tests of the command share.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command};

/// What a run of the command left.
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// Its output.
    pub stderr: String,
}

/// Runs the command.
pub fn forebay(arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments)
        .output()
        .expect("the command runs");
    Ran {
        code: output.status.code().expect("it was not killed"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// What follows `prefix` in the first line of a process's standard error that begins with it. The following lines are
/// read and forgotten, so that the process can write them.
///
/// # Panics
/// With the lines that there are when the process ends without such a line.
pub fn announced(process: &mut Child, prefix: &str) -> String {
    let lines = BufReader::new(process.stderr.take().expect("it is piped")).lines();
    let mut lines = lines.map_while(Result::ok);
    let mut others = String::new();
    for line in &mut lines {
        if let Some(rest) = line.strip_prefix(prefix) {
            let rest = rest.to_owned();
            std::thread::spawn(move || lines.count());
            return rest;
        }
        others += &line;
    }
    let ended = process.wait().expect("it can be waited for");
    panic!("the process has ended without `{prefix}`, {ended}: {others}");
}

/// A program whose packets say what shall happen to them.
pub fn program() -> String {
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../dataplane/switch/tests/operations.ir"
    )
    .to_string()
}

/// Makes a file and gives its path.
pub fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path.to_string_lossy().into_owned()
}

/// A folder that goes away with the test.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}
