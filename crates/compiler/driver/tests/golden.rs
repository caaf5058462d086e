//! Every program of tests/errors against the messages that stand beside it.
//!
//! `NAME.p4` has one mistake, or earns a warning; `NAME.txt` is what a user reads about it. `cargo xtask bless`
//! rewrites the latter. Most programs are fragments without `main`; that this is missing must not be the only thing to
//! say about them.

use forebay_driver::{FileSources, Options, compile};
use forebay_syntax::render::render_all;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .canonicalize()
        .expect("the repository")
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("tests/errors can be read") {
        let path = entry.expect("tests/errors can be read").path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "p4") {
            found.push(path);
        }
    }
}

/// What a user reads; none when there is nothing to read. Paths are below the repository, so that the text is the same
/// everywhere.
fn messages(program: &Path) -> Option<String> {
    use forebay_syntax::source::SourceProvider;
    let root = root();
    let below = program
        .strip_prefix(&root)
        .expect("below the repository")
        .display()
        .to_string();
    let provider = move |path: &str| FileSources::new().read(&root.join(path).display().to_string());
    let compiled = compile(&below, &Options::new(&provider));
    assert!(
        compiled.program.is_some() || compiled.diagnostics.has_errors(),
        "{below} is rejected without an error"
    );
    (!compiled.diagnostics.is_empty()).then(|| render_all(&compiled.diagnostics, &compiled.sources))
}

/// The programs whose mistake is that they have no `main`.
const WITHOUT_MAIN: [&str; 2] = ["program_without_main.p4", "main_misspelt.p4"];

/// Whether a program's messages are as recorded, or what is wrong with them. Blessing records them.
fn compare(program: &Path, bless: bool) -> Result<(), String> {
    let text = messages(program).ok_or_else(|| format!("{} is accepted without a word", program.display()))?;
    let is_meant = WITHOUT_MAIN.iter().any(|name| program.ends_with(name));
    if text.contains("[E0803]") && !is_meant {
        return Err(format!("{} has no mistake, only no main", program.display()));
    }
    let golden = program.with_extension("txt");
    if bless {
        std::fs::write(&golden, text).expect("the golden file can be written");
    } else if std::fs::read_to_string(&golden).ok().as_deref() != Some(text.as_str()) {
        return Err(format!("{}:\n{text}", program.display()));
    }
    Ok(())
}

#[test]
fn messages_are_as_recorded() {
    let mut found = Vec::new();
    programs(&root().join("tests/errors"), &mut found);
    found.sort();
    assert!(found.len() >= 120, "only {} programs", found.len());
    let bless = std::env::var_os("BLESS").is_some();
    let different: Vec<String> = found
        .iter()
        .filter_map(|program| compare(program, bless).err())
        .collect();
    assert!(
        different.is_empty(),
        "cargo xtask bless rewrites these:\n{}",
        different.join("\n")
    );
}
