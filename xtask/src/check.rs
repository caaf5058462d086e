//! `cargo xtask check`: format, lints and unit tests of what was changed, for the minutes between two commits.
//!
//! A crate is changed if a file in its folder differs from the base, committed or not. Lints are those of the whole
//! workspace, of which cargo does again what a change concerns; named crates would have other features of their
//! dependencies, and everything would be compiled twice. Tests are those of the changed crates.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Arguments of `cargo xtask check`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Compare with where this branch left the current one
    #[arg(long, value_name = "REVISION", default_value = "main")]
    base: String,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// Files at the root on which every crate's lints depend.
const OF_ALL: [&str; 5] = [
    "Cargo.lock",
    "Cargo.toml",
    "clippy.toml",
    "rust-toolchain.toml",
    "rustfmt.toml",
];

/// A crate of the workspace.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: String,
    /// Its folder, from the root on.
    folder: PathBuf,
    /// Whether it has a library; `cargo test --lib` fails otherwise.
    has_library: bool,
    has_binaries: bool,
}

/// What is to be done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Work {
    /// Crates whose unit tests run.
    changed: BTreeSet<String>,
    /// Whether lints run.
    linted: bool,
    /// Whether the rules of the repository are to be checked.
    repository: bool,
}

/// Does it.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = root();
    let packages = packages(&root)?;
    let files = changed_files(&root, &arguments.base)?;
    let work = work(&packages, &files);
    let changed: Vec<&str> = work.changed.iter().map(String::as_str).collect();
    println!("changed: {}", changed.join(" "));
    if work == Work::default() {
        println!("nothing to check: no file of a crate differs from {}", arguments.base);
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let begin = Instant::now();
    for mut command in commands(&packages, &work) {
        command.current_dir(&root);
        println!("+ {}", words(&command));
        if !command.status().context("cannot start cargo")?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    println!("checked in {:.0} s", begin.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask stands in the repository").to_path_buf()
}

fn words(command: &Command) -> String {
    let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    format!("cargo {}", arguments.join(" "))
}

/// What a program prints.
fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The crates of the workspace.
fn packages(root: &Path) -> Result<Vec<Package>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&output(cargo.current_dir(root))?).context("cargo metadata")?;
    let list = metadata["packages"]
        .as_array()
        .context("cargo metadata has no packages")?;
    list.iter().map(|package| read_package(root, package)).collect()
}

fn read_package(root: &Path, package: &Value) -> Result<Package> {
    let text = |value: &Value| value.as_str().map(str::to_string).context("cargo metadata has no name");
    let manifest = PathBuf::from(text(&package["manifest_path"])?);
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let kinds = package["targets"].as_array().into_iter().flatten();
    let kinds: BTreeSet<&str> = kinds
        .flat_map(|target| target["kind"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    Ok(Package {
        name: text(&package["name"])?,
        folder: folder.context("a crate outside of the workspace")?.to_path_buf(),
        has_library: kinds.contains("lib"),
        has_binaries: kinds.contains("bin"),
    })
}

/// Files that differ from where the branch left its base, and new ones, from the root on.
fn changed_files(root: &Path, base: &str) -> Result<BTreeSet<PathBuf>> {
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(root));
    // Without such a branch, what is not committed is what was changed.
    let since = git(&["merge-base", "HEAD", base]).unwrap_or_else(|_| "HEAD".to_string());
    let mut names = git(&["diff", "--name-only", since.trim()])?;
    names += &git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(names.lines().map(PathBuf::from).collect())
}

/// What changed files make necessary.
fn work(packages: &[Package], files: &BTreeSet<PathBuf>) -> Work {
    let owner = |file: &PathBuf| packages.iter().find(|package| file.starts_with(&package.folder));
    let changed: BTreeSet<String> = files
        .iter()
        .filter_map(owner)
        .map(|package| package.name.clone())
        .collect();
    let concerns_all = files
        .iter()
        .any(|file| OF_ALL.iter().any(|name| file.as_path() == Path::new(name)));
    let is_rule = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("md" | "toml"))
    };
    Work {
        linted: concerns_all || !changed.is_empty(),
        changed,
        repository: files.iter().any(is_rule),
    }
}

/// The calls of cargo, in order: what fails fast comes first.
fn commands(packages: &[Package], work: &Work) -> Vec<Command> {
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(arguments);
        command
    };
    let with = |mut command: Command, names: &mut dyn Iterator<Item = &str>| {
        for name in names {
            command.args(["-p", name]);
        }
        command
    };
    let mut commands = vec![cargo(&["fmt", "--all", "--check"])];
    if work.linted {
        commands.push(cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]));
    }
    let tested = |has: fn(&Package) -> bool| {
        let changed = packages.iter().filter(|package| work.changed.contains(&package.name));
        changed
            .filter(move |package| has(package))
            .map(|package| package.name.as_str())
    };
    for (target, has) in [
        (
            "--lib",
            (|package: &Package| package.has_library) as fn(&Package) -> bool,
        ),
        ("--bins", |package: &Package| package.has_binaries),
    ] {
        if tested(has).next().is_some() {
            let test = cargo(&["test", "--quiet", target]);
            commands.push(with(test, &mut tested(has)));
        }
    }
    if work.repository {
        commands.push(cargo(&["test", "--quiet", "-p", "xtask", "--test", "repository"]));
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages() -> Vec<Package> {
        let package = |name: &str, has_library| Package {
            name: name.to_string(),
            folder: PathBuf::from(format!("crates/{name}")),
            has_library,
            has_binaries: !has_library,
        };
        vec![package("bits", true), package("ir", true), package("cli", false)]
    }

    fn work_of(files: &[&str]) -> Work {
        work(&packages(), &files.iter().map(PathBuf::from).collect())
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn all_is_linted_and_changed_crates_are_tested() {
        let found = work_of(&["crates/ir/src/lib.rs", "programs/x.p4"]);
        assert_eq!(found.changed, names(&["ir"]));
        assert!(!found.repository);
        let commands: Vec<String> = commands(&packages(), &found).iter().map(words).collect();
        assert_eq!(
            commands,
            [
                "cargo fmt --all --check",
                "cargo clippy --workspace --all-targets --quiet -- -D warnings",
                "cargo test --quiet --lib -p ir",
            ]
        );
    }

    #[test]
    fn documents_are_checked_by_the_rules_of_the_repository() {
        let found = work_of(&["docs/stf.md"]);
        assert!(found.repository && found.changed.is_empty() && !found.linted);
        assert_eq!(commands(&packages(), &found).len(), 2);
    }

    #[test]
    fn what_all_crates_depend_on_concerns_all() {
        let found = work_of(&["Cargo.toml"]);
        assert!(found.linted && found.changed.is_empty() && found.repository);
        assert!(work_of(&["clippy.toml"]).linted && work_of(&["Cargo.lock"]).linted);
        assert_eq!(work_of(&[]), Work::default());
    }
}
