//! `cargo xtask release`: an archive of what `make install` installs, with its checksum.
//!
//! It refuses to build one when the version differs from that of the workspace, when CHANGELOG.md has no finished
//! section for it, when the tag names another commit, or when files differ from the commit.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Where the archive is meant to be unpacked: the unit of systemd in it names the executable there.
const UNPACKED_IN: &str = "/usr/local";

/// Arguments of `cargo xtask release`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The version, as in Cargo.toml and CHANGELOG.md
    #[arg(long)]
    version: String,
    /// The stripped executable, which `make build` has made
    #[arg(long, default_value = "target/release/forebay")]
    binary: PathBuf,
    /// The folder for the archive
    #[arg(long, default_value = "target/dist")]
    out: PathBuf,
    /// Build the archive for a version that is not tagged yet, from files as they are
    #[arg(long)]
    dry_run: bool,
}

/// Checks the version and builds the archive.
///
/// # Errors
/// What keeps the version from being released.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let version = &arguments.version;
    check_manifest(version, &read("Cargo.toml")?)?;
    check_changelog(version, &read("CHANGELOG.md")?, arguments.dry_run)?;
    if !arguments.dry_run {
        check_tag(version)?;
    }
    let name = format!("forebay-{version}-{}-linux", std::env::consts::ARCH);
    let folder = arguments.out.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fill(&folder, &arguments.binary)?;
    let archive = format!("{name}.tar.gz");
    let sorted = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf"];
    output(
        Command::new("tar")
            .args(sorted)
            .args([&archive, &name])
            .current_dir(&arguments.out),
    )?;
    let sums = output(Command::new("sha256sum").arg(&archive).current_dir(&arguments.out))?;
    let beside = arguments.out.join(format!("{archive}.sha256"));
    fs::write(&beside, &sums).with_context(|| format!("cannot write {}", beside.display()))?;
    println!("{}", arguments.out.join(&archive).display());
    print!("{sums}");
    Ok(ExitCode::SUCCESS)
}

/// Puts everything that is installed into the folder that becomes the archive.
fn fill(folder: &Path, binary: &Path) -> Result<()> {
    ensure!(
        binary.is_file(),
        "there is no {}; run `make build` first",
        binary.display()
    );
    let mut install = Command::new("python3");
    install.arg("packaging/tree.py").arg("--binary").arg(binary);
    install.args(["--prefix", "/", "--unit-prefix", UNPACKED_IN, "--destdir"]);
    output(install.arg(folder)).map(drop)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// What a command writes to its standard output.
fn output(command: &mut Command) -> Result<String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        bail!("{shown} has failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn check_manifest(version: &str, manifest: &str) -> Result<()> {
    let line = format!("version = \"{version}\"");
    ensure!(
        manifest.lines().any(|own| own == line),
        "Cargo.toml has another version than {version}"
    );
    Ok(())
}

/// The section of a version begins with `## VERSION (DATE)`; while it is unreleased, no archive but a dry run's is
/// built.
fn check_changelog(version: &str, changelog: &str, dry_run: bool) -> Result<()> {
    let heading = format!("## {version} (");
    let section = changelog.lines().find(|line| line.starts_with(&heading));
    let section = section.with_context(|| format!("CHANGELOG.md has no section `## {version} (DATE)`"))?;
    ensure!(
        dry_run || !section.contains("unreleased"),
        "CHANGELOG.md still calls {version} unreleased; write its date"
    );
    Ok(())
}

/// The tag `vVERSION` must name the commit that is checked out, and no file may differ from it.
fn check_tag(version: &str) -> Result<()> {
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments));
    let tag = format!("v{version}");
    let tagged = git(&["rev-list", "-n", "1", &tag]).with_context(|| format!("there is no tag {tag}"))?;
    ensure!(
        tagged == git(&["rev-parse", "HEAD"])?,
        "the tag {tag} names another commit than the one that is checked out"
    );
    ensure!(
        git(&["status", "--porcelain"])?.is_empty(),
        "files differ from the commit that is checked out"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_needs_a_finished_section() {
        let changelog = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- x\n\n## 0.1.0 (2026-11-25)\n";
        assert!(check_changelog("0.1.0", changelog, false).is_ok());
        assert!(check_changelog("0.2.0", changelog, false).is_err());
        assert!(check_changelog("0.2.0", changelog, true).is_ok());
        assert!(check_changelog("0.3.0", changelog, true).is_err());
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n";
        assert!(check_manifest("0.1.0", manifest).is_ok());
        assert!(check_manifest("0.1", manifest).is_err());
    }
}
