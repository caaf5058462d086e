//! The network functions that are there: folders with a program of the same name.

use crate::files;
use anyhow::{Context, Result, anyhow};
use forebay_syntax::diagnostic::closest_name;
use std::path::{Path, PathBuf};

/// The variable of the environment that names the folder.
const VARIABLE: &str = "FOREBAY_FUNCTIONS";

/// A network function.
pub struct Function {
    /// The name of its folder.
    pub name: String,
    /// What it is, from the heading of its README.
    pub about: String,
    /// The program.
    pub program: PathBuf,
    /// Entries of its demonstration, in STF.
    pub entries: Option<PathBuf>,
    /// Its control program.
    pub control: Option<PathBuf>,
    /// Its README.
    pub readme: PathBuf,
}

/// The folder of the functions: the one that is named, that of the environment, or the first place where it is.
///
/// # Errors
/// When it is nowhere; the message says where it was looked for.
pub fn folder(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(folder) = named {
        return Ok(folder.to_owned());
    }
    if let Some(folder) = std::env::var_os(VARIABLE) {
        return Ok(folder.into());
    }
    let places = places();
    let found = places.iter().find(|place| place.join("lib").is_dir());
    let found = found.map(|place| place.canonicalize().unwrap_or_else(|_| place.clone()));
    found.ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| format!("\n  {}", place.display())).collect();
        anyhow!(
            "the folder of the functions is not found; name it by --functions DIR or ${VARIABLE}. It is none of{}",
            places.concat()
        )
    })
}

/// Where the folder may be: beside the executable, in its installation, in the repository whose `target` has it, here.
fn places() -> Vec<PathBuf> {
    let executable = std::env::current_exe().ok();
    let beside = executable.as_deref().and_then(Path::parent);
    let of_executable = ["functions", "../share/forebay/functions", "../../functions"];
    let mut places: Vec<PathBuf> = beside
        .into_iter()
        .flat_map(|beside| of_executable.map(|place| beside.join(place)))
        .collect();
    places.push("functions".into());
    places
}

/// All functions of a folder, by name.
///
/// # Errors
/// When the folder cannot be read, or has none.
pub fn all(folder: &Path) -> Result<Vec<Function>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot read {}", folder.display()))?
            .path();
        found.extend(function(&path));
    }
    if found.is_empty() {
        return Err(anyhow!(
            "{} has no function: no folder NAME with NAME.p4",
            folder.display()
        ));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// The function with this name.
///
/// # Errors
/// When there is none; the message names those that there are.
pub fn find(folder: &Path, name: &str) -> Result<Function> {
    let mut all = all(folder)?;
    if let Some(index) = all.iter().position(|function| function.name == name) {
        return Ok(all.swap_remove(index));
    }
    let names: Vec<&str> = all.iter().map(|function| function.name.as_str()).collect();
    let meant = closest_name(name, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    Err(anyhow!(
        "there is no function `{name}`{}\n{} has {}",
        meant.unwrap_or_default(),
        folder.display(),
        names.join(", ")
    ))
}

/// The function with this name, or the small program with it in the folder `programs` beside that of the functions.
///
/// # Errors
/// When there is none; the message names the functions that there are.
pub fn find_with_programs(folder: &Path, name: &str) -> Result<Function> {
    find(folder, name).or_else(|error| {
        let program = folder.join("../programs").join(name);
        let program = program.canonicalize().ok().and_then(|program| function(&program));
        program.ok_or(error)
    })
}

/// The function of a folder, if it is one.
fn function(folder: &Path) -> Option<Function> {
    let name = folder.file_name()?.to_str()?.to_owned();
    let program = folder.join(&name).with_extension("p4");
    if !program.is_file() {
        return None;
    }
    let readme = folder.join("README.md");
    let present = |file: &str| Some(folder.join(file)).filter(|path| path.is_file());
    Some(Function {
        about: about(&readme, &name),
        entries: present("entries.stf"),
        control: present("control.py"),
        name,
        program,
        readme,
    })
}

/// What the heading `# NAME: …` says behind the name.
fn about(readme: &Path, name: &str) -> String {
    let text = files::text(readme, "README").unwrap_or_default();
    let heading = text.lines().next().unwrap_or_default().trim_start_matches("# ");
    let behind = heading.strip_prefix(name).unwrap_or(heading);
    behind.trim_start_matches([':', ' ']).to_owned()
}
