//! Parses every `.p4` file of a folder, lists those with errors, and says how many there were and how long it took.
//!
//! ```text
//! cargo run -p forebay-syntax --example parse_all -- [-v] [-I FOLDER]... [-D MACRO]... FOLDER|FILE...
//! ```

use forebay_syntax::{ParseOptions, parse_program, render};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() -> std::io::Result<()> {
    let mut include_paths = Vec::new();
    let mut defines = Vec::new();
    let mut roots = Vec::new();
    let mut verbose = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-I" => include_paths.extend(arguments.next()),
            "-D" => defines.extend(arguments.next()),
            "-v" => verbose = true,
            _ => roots.push(PathBuf::from(argument)),
        }
    }
    let mut files = Vec::new();
    for root in &roots {
        if root.is_file() {
            files.push(root.clone())
        } else {
            collect(root, &mut files)?
        }
    }
    files.sort();
    let read = |path: &str| {
        std::fs::read(path)
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let (mut failed, mut slowest) = (0, (Duration::ZERO, PathBuf::new()));
    for file in &files {
        let begin = Instant::now();
        let options = ParseOptions {
            include_paths: &include_paths,
            defines: &defines,
            ..ParseOptions::new(&read)
        };
        let parsed = parse_program(&file.to_string_lossy(), &options);
        slowest = slowest.max((begin.elapsed(), file.clone()));
        if parsed.diagnostics.has_errors() {
            failed += 1;
            let first = parsed.diagnostics.iter().find(|one| one.severity.as_str() == "error");
            println!("{}: {}", file.display(), first.map_or("", |one| &one.message));
            if verbose {
                println!("{}", render::render_all(&parsed.diagnostics, &parsed.sources));
            }
        }
    }
    println!(
        "{} files, {failed} with errors; slowest {:?}: {}",
        files.len(),
        slowest.0,
        slowest.1.display()
    );
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "p4") {
            files.push(path);
        }
    }
    Ok(())
}
