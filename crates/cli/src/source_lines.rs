//! Lines of a program's source, to be shown beside what they did.

use forebay_ir::{Location, Program};
use std::collections::HashMap;

/// Longest piece of a line that is shown, in characters.
const MAX_CHARACTERS: usize = 60;

/// The files of a program, read when they are first asked for. A compiled program's may be elsewhere by now; then there
/// is nothing to show.
#[derive(Default)]
pub struct SourceLines {
    files: HashMap<u32, Vec<String>>,
}

impl SourceLines {
    /// What stands in that line, without blanks around it and the brace at its end.
    pub fn get(&mut self, program: &Program, location: Location) -> Option<String> {
        let path = program.files.get(location.file as usize)?;
        let lines = self.files.entry(location.file).or_insert_with(|| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().map(plain).collect()
        });
        let line = lines.get((location.line as usize).checked_sub(1)?)?;
        let shown: String = line.chars().take(MAX_CHARACTERS).collect();
        Some(if shown.len() < line.len() { shown + "..." } else { shown })
    }
}

fn plain(line: &str) -> String {
    line.trim().trim_end_matches('{').trim_end().to_string()
}

/// `FILE:LINE`, without the file's folder.
pub fn place(program: &Program, location: Location) -> Option<String> {
    if location.line == 0 {
        return None;
    }
    let file = program.files.get(location.file as usize)?;
    let name = file.rsplit('/').next().unwrap_or(file);
    Some(format!("{name}:{}", location.line))
}
