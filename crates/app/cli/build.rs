//! Asks git for the commit that is built. It runs again only when the checked-out commit changes, so it causes no
//! rebuilds of its own; without git or a checkout the version stands alone.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FOREBAY_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    let commit = std::env::var("FOREBAY_COMMIT").ok().or_else(commit);
    let long = match commit {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_string(),
    };
    println!("cargo:rustc-env=FOREBAY_VERSION={long}");
}

/// Hash and date of the commit. A release build follows every commit; a debug build, which is made again and again,
/// only the first one after `cargo clean`.
fn commit() -> Option<String> {
    let commit = git(&["log", "-1", "--format=%h %cs"])?;
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        // What HEAD names lies in the common folder of all work trees; its log changes with each commit.
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
        let log = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?).join(log);
        if log.exists() {
            println!("cargo:rerun-if-changed={}", log.display());
        }
    }
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}
