//! Finds tests: STF files beside programs, each with the options with which its program must be compiled.

use crate::output;
use crate::program::CompileOptions;
use anyhow::{Context, Result, bail};
use clap::Parser;
use std::path::{Path, PathBuf};

/// The STF file that holds table entries for `forebay run`; it is no test.
const ENTRIES: &str = "entries";

/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 64;

/// Tests of one program compiled with one set of options.
pub struct Suite {
    /// The program.
    pub program: PathBuf,
    /// How to compile it, or what is wrong with the tests' options.
    pub options: Result<CompileOptions, String>,
    /// The STF files.
    pub tests: Vec<PathBuf>,
}

/// Groups the tests of a program by the options that they want, to which `common` is added.
pub fn suites(program: &Path, tests: Vec<PathBuf>, common: &CompileOptions) -> Vec<Suite> {
    let mut suites: Vec<Suite> = Vec::new();
    for test in tests {
        let options = options(&test, common).map_err(|error| format!("{error:#}"));
        match suites.iter_mut().find(|suite| suite.options == options) {
            Some(suite) => suite.tests.push(test),
            None => suites.push(Suite {
                program: program.to_path_buf(),
                options,
                tests: vec![test],
            }),
        }
    }
    suites
}

/// The options in comment lines of the file, as the command line has them.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct OptionLine {
    #[command(flatten)]
    options: CompileOptions,
    /// Read where the test is.
    #[arg(long)]
    lenient: bool,
}

/// The file's own options, then those of the command line. A file that cannot be read wants none: why it cannot is said
/// when it is to be run.
fn options(test: &Path, common: &CompileOptions) -> Result<CompileOptions> {
    // A pipe would be empty when the test itself is read.
    if test.exists() && !test.is_file() && !test.is_dir() {
        bail!("{} is no regular file; a test is read more than once", test.display());
    }
    let bytes = forebay_files::bytes(test).unwrap_or_default();
    let mut all = CompileOptions::default();
    for (line, text) in forebay_entries::options(&String::from_utf8_lossy(&bytes)) {
        let place = || {
            format!(
                "{}:{line}: what follows `# forebay:` are no options of the compilation",
                test.display()
            )
        };
        let OptionLine { options, lenient: _ } = OptionLine::try_parse_from(text.split_whitespace())
            .map_err(output::first_line)
            .with_context(place)?;
        let folder = folder_of(test);
        let relative = |include: String| folder.join(include).to_string_lossy().into_owned();
        all.include.extend(options.include.into_iter().map(relative));
        all.define.extend(options.define);
        all.strict |= options.strict;
    }
    all.include.extend(common.include.iter().cloned());
    all.define.extend(common.define.iter().cloned());
    all.strict |= common.strict;
    Ok(all)
}

/// The tests beside a program: those whose names begin with its own, and not with the longer name of another program;
/// all when it is the folder's only program, `entries.stf` excepted.
///
/// # Errors
/// When the folder cannot be listed, or there is no test.
pub fn tests_beside(program: &Path) -> Result<Vec<PathBuf>> {
    let folder = folder_of(program);
    let files = Listing::of(&folder)?.files;
    let found = tests_of(program, &files);
    if found.is_empty() {
        let stem = stem(program);
        bail!(
            "there is no test of {}: no file {stem}*.stf stands beside it; name the test files",
            program.display()
        );
    }
    Ok(found)
}

/// Every program below the folder that has tests beside it, with them. Tests that belong to no program are named in a
/// warning, since their absence from the results is taken for success.
///
/// # Errors
/// When a folder cannot be listed.
pub fn tests_below(folder: &Path) -> Result<Vec<(PathBuf, Vec<PathBuf>)>> {
    let mut found = Vec::new();
    collect_below(folder, MAX_DEPTH, &mut found)?;
    Ok(found)
}

fn collect_below(folder: &Path, depth: usize, found: &mut Vec<(PathBuf, Vec<PathBuf>)>) -> Result<()> {
    let Listing { files, folders } = Listing::of(folder)?;
    let before = found.len();
    for program in files.iter().filter(|file| has_extension(file, "p4")) {
        let tests = tests_of(program, &files);
        if !tests.is_empty() {
            found.push((program.clone(), tests));
        }
    }
    warn_of_the_others(&files, &found[before..]);
    for inner in folders.iter().filter(|_| depth > 0) {
        collect_below(inner, depth - 1, found)?;
    }
    Ok(())
}

/// Warns of tests in a folder that are not among those found there. A file of entries alone is no test.
fn warn_of_the_others(files: &[PathBuf], found: &[(PathBuf, Vec<PathBuf>)]) {
    let has_program = files.iter().any(|file| has_extension(file, "p4"));
    let tests = files.iter().filter(|file| has_extension(file, "stf"));
    let others = tests.filter(|test| !found.iter().any(|(_, tests)| tests.contains(test)));
    for test in others.filter(|test| stem(test) != ENTRIES && has_packets(test)) {
        let why = if has_program {
            "its name begins like that of no program beside it"
        } else {
            "no program stands beside it"
        };
        output::warning(&format!("{} is not run: {why}", test.display()));
    }
}

/// Whether a file sends or expects packets.
fn has_packets(test: &Path) -> bool {
    let bytes = if test.is_file() {
        forebay_files::bytes(test).unwrap_or_default()
    } else {
        Vec::new()
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut commands = text.lines().filter_map(|line| line.split_whitespace().next());
    commands.any(|command| matches!(command, "packet" | "expect"))
}

/// What is in a folder, in order of names.
struct Listing {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Listing {
    fn of(folder: &Path) -> Result<Listing> {
        let wrong = || format!("cannot list the folder {}", folder.display());
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(folder).with_context(wrong)? {
            let entry = entry.with_context(wrong)?;
            // A link to a folder is not followed, so that there is an end.
            let kind = entry.file_type().with_context(wrong)?;
            let path = entry.path();
            if kind.is_dir() { &mut folders } else { &mut files }
                .push(path.strip_prefix(".").map_or(path.clone(), Path::to_path_buf));
        }
        files.sort();
        folders.sort();
        Ok(Listing { files, folders })
    }
}

fn tests_of(program: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let tests = files.iter().filter(|file| has_extension(file, "stf"));
    let programs: Vec<String> = files
        .iter()
        .filter(|file| has_extension(file, "p4"))
        .map(|file| stem(file))
        .collect();
    let own = stem(program);
    let belongs = |test: &str| {
        if programs.len() == 1 {
            return test != ENTRIES;
        }
        let longer = programs
            .iter()
            .any(|other| other.len() > own.len() && test.starts_with(other.as_str()));
        test.starts_with(&own) && !longer
    };
    tests.filter(|test| belongs(&stem(test))).cloned().collect()
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_test_belongs_to_the_longest_name_that_begins_its_own() {
        let files = named(&[
            "select.p4",
            "select_enum.p4",
            "select.stf",
            "select-2.stf",
            "select_enum.stf",
            "x.stf",
        ]);
        assert_eq!(
            tests_of(Path::new("select.p4"), &files),
            named(&["select.stf", "select-2.stf"])
        );
        assert_eq!(
            tests_of(Path::new("select_enum.p4"), &files),
            named(&["select_enum.stf"])
        );
    }

    #[test]
    fn warnings_are_errors_when_the_command_line_or_the_test_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let test = folder.path().join("a.stf");
        let is_strict = |text: &str, strict: bool| {
            std::fs::write(&test, text).expect("a file");
            let common = CompileOptions {
                strict,
                ..CompileOptions::default()
            };
            options(&test, &common).expect("options").strict
        };
        assert!(is_strict("packet 0 00\n", true));
        assert!(is_strict("# forebay: --strict\n", false));
        assert!(!is_strict("# forebay: -D N=2\n", false));
    }

    #[test]
    fn all_tests_belong_to_the_only_program() {
        let files = named(&["router.p4", "n1.stf", "n2.stf", "entries.stf"]);
        assert_eq!(tests_of(Path::new("router.p4"), &files), named(&["n1.stf", "n2.stf"]));
    }
}
