//! The network functions that are there: folders with a program of the same name.

use crate::files;
use anyhow::{Context, Result, anyhow};
use forebay_syntax::diagnostic::closest_name;
use std::path::{Path, PathBuf};

/// The variable of the environment that names the folder.
const VARIABLE: &str = "FOREBAY_FUNCTIONS";

/// A network function.
#[derive(Clone)]
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
    named(&[(folder.to_owned(), all(folder)?)], name)
}

/// The function with this name, or the small program with it in the folder `programs` beside that of the functions.
///
/// # Errors
/// When there is none; the message names the functions and programs that there are.
pub fn find_with_programs(folder: &Path, name: &str) -> Result<Function> {
    let functions = (folder.to_owned(), all(folder)?);
    let programs = folder.join("../programs").canonicalize().ok();
    let programs = programs.and_then(|programs| Some((programs.clone(), all(&programs).ok()?)));
    let folders: Vec<(PathBuf, Vec<Function>)> = [Some(functions), programs].into_iter().flatten().collect();
    named(&folders, name)
}

/// The first function with this name.
fn named(folders: &[(PathBuf, Vec<Function>)], name: &str) -> Result<Function> {
    let functions = || folders.iter().flat_map(|(_, functions)| functions);
    if let Some(found) = functions().find(|function| function.name == name) {
        return Ok(found.clone());
    }
    let meant = closest_name(name, functions().map(|function| function.name.as_str()));
    let meant = meant
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default();
    let have = folders.iter().map(|(folder, functions)| {
        let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        format!("\n{} has {}", folder.display(), names.join(", "))
    });
    let have: String = have.collect();
    Err(anyhow!("there is no function `{name}`{meant}{have}"))
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

/// The text after the name in the heading `# NAME: …`.
fn about(readme: &Path, name: &str) -> String {
    let text = files::text(readme, "README").unwrap_or_default();
    let heading = text.lines().next().unwrap_or_default().trim_start_matches("# ");
    let behind = heading.strip_prefix(name).unwrap_or(heading);
    behind.trim_start_matches([':', ' ']).to_owned()
}
