//! Programs beside what p4c made of them. p4c writes the text of a program after its front end and after its mid end
//! (its own tests keep them), and JSON for BMv2. All mean the same, so they must do the same to packets as the program
//! that is compiled here: where they do not, one of the two compilers is wrong, or the program reads what has no value.

use crate::compare::same_frames;
use crate::given::case;
use crate::workers::run;
use forebay_ir::{Program, TableAction};
use forebay_pipeline::Engine;
use forebay_switch::Spread;
use std::path::{Path, PathBuf};

/// How the file of a twin is called after the program's name without `.p4`.
const ENDINGS: [&str; 3] = ["-frontend.p4", "-midend.p4", ".json"];

/// The twins of a program in `folder`, where they have the same place as the program has in `root`.
pub fn of(program: &Path, root: &Path, folder: &Path) -> Vec<PathBuf> {
    let place = program.strip_prefix(root).unwrap_or(program).with_extension("");
    let named = |ending| {
        let mut path = folder.join(&place).into_os_string();
        path.push(ending);
        PathBuf::from(path)
    };
    let twins = ENDINGS.into_iter().map(named);
    twins.filter(|twin| twin.is_file() && twin != program).collect()
}

/// Compares a program with a twin in the interpreter, with frames and entries that are made for the program. Returns how
/// many packets left it.
///
/// # Errors
/// What differs, for people.
pub fn compare(program: &Program, twin: &Program, seed: u64) -> Result<u64, String> {
    let case = case(program, seed);
    let frames = case.all_at_once();
    let [sent, by_twin] = [program, &with_scopes(twin, program)].map(|program| {
        let pipeline = case.load_with_entries(program, Engine::Interpreter);
        run(&pipeline, &frames, 1, &Spread::FiveTuple)
    });
    same_frames("the program and its twin", &sent, &by_twin)?;
    Ok(sent.values().map(|frames| frames.len() as u64).sum())
}

/// The twin with the scopes that actions have in tables of the program: JSON for BMv2 does not say which are
/// `@defaultonly`, and would take entries with them.
fn with_scopes(twin: &Program, program: &Program) -> Program {
    let mut twin = twin.clone();
    for table in &mut twin.tables {
        let Some(of_program) = program.tables.iter().find(|other| other.name == table.name) else {
            continue;
        };
        for listed in &mut table.actions {
            let name = &twin.actions[listed.action.index()].name;
            let is_same = |other: &&TableAction| program.actions[other.action.index()].name == *name;
            if let Some(other) = of_program.actions.iter().find(is_same) {
                (listed.table_only, listed.default_only) = (other.table_only, other.default_only);
            }
        }
    }
    twin
}
