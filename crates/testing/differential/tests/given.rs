//! Both engines do the same with the programs of this repository, with entries that packets hit.

use forebay_differential::given::{compare, read};
use std::path::{Path, PathBuf};

#[test]
fn engines_agree_on_the_programs_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let (mut compared, mut sent) = (0, 0);
    for folder in ["programs", "functions"] {
        for path in programs(&root.join(folder)) {
            let Some(program) = read(&path, &[], &[]) else {
                continue;
            };
            let found = compare(&program, 1, 2).unwrap_or_else(|difference| panic!("{}: {difference}", path.display()));
            compared += 1;
            sent += found.packets_out;
        }
    }
    assert!(compared >= 20, "only {compared} programs were compared");
    assert!(
        sent > 5 * compared,
        "{compared} programs drop nearly everything: {sent} packets left"
    );
}

/// The files of a folder's folders that have the names of these.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(folder).expect("a folder of the repository");
    let program = |path: PathBuf| {
        let name = path.file_name().expect("it has a name").to_owned();
        path.join(name).with_extension("p4")
    };
    let mut programs: Vec<PathBuf> = folders.map(|entry| program(entry.expect("an entry").path())).collect();
    programs.retain(|path| path.exists());
    programs.sort();
    programs
}
