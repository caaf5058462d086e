//! The programs of STF tests in the repository.

use forebay_driver::{FileSources, Options};
use forebay_entries::options;
use forebay_ir::Program;
use std::path::{Path, PathBuf};

/// Everything in a folder.
pub fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// The program of a test, compiled with the options of the test.
pub fn compile(test: &Path, text: &str) -> Program {
    let folder = test.parent().expect("a test stands in a folder");
    let (mut include_paths, mut defines) = (Vec::new(), Vec::new());
    for (_, line) in options(text) {
        let mut words = line.split_whitespace();
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            match option {
                "-D" => defines.push(value.to_string()),
                "-I" => include_paths.push(folder.join(value).to_string_lossy().into_owned()),
                other => panic!("{}: {other} is no option of the compilation", test.display()),
            }
        }
    }
    let provider = FileSources::new();
    let options = Options {
        provider: &provider,
        include_paths: &include_paths,
        defines: &defines,
    };
    let program = program_of(test);
    let compiled = forebay_driver::compile(&program.to_string_lossy(), &options);
    compiled.program.expect("a program without errors")
}

/// The folder's program with the longest name that begins the test's, or its only one.
fn program_of(test: &Path) -> PathBuf {
    let mut programs = files_of(test.parent().expect("a test stands in a folder"));
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "p4"));
    if programs.len() > 1 {
        let name = stem(test);
        programs.retain(|program| name.starts_with(&stem(program)));
    }
    let program = programs.into_iter().max_by_key(|program| stem(program).len());
    program.unwrap_or_else(|| panic!("{} has a program", test.display()))
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
