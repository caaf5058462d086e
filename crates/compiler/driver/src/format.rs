//! What a program is written in.

use std::path::Path;

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// P4_16 source.
    P4,
    /// The text form of the IR, which `forebay build` writes (`ir.txt`).
    Ir,
    /// JSON that p4c has compiled for BMv2.
    Bmv2,
}

impl Format {
    /// The format of a text. The IR begins with the word `program`, with which no P4 source begins.
    pub fn of_text(text: &str) -> Format {
        if forebay_bmv2::is_json(text) {
            return Format::Bmv2;
        }
        match text.split_whitespace().next() {
            Some("program") => Format::Ir,
            _ => Format::P4,
        }
    }

    /// The format of a file by its name: `.ir` and `.txt` hold the IR. Files named `.json`, as BMv2's are, may hold any
    /// format, for tools that know no other name; `text` reads them. Everything else is P4 source.
    ///
    /// # Errors
    /// What `text` returns.
    pub fn of_file<E>(path: &Path, text: impl FnOnce() -> Result<String, E>) -> Result<Format, E> {
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("ir" | "txt") => Format::Ir,
            Some("json") => match text()? {
                // What a compiler leaves that was interrupted.
                blank if blank.trim().is_empty() => Format::Bmv2,
                text => Format::of_text(&text),
            },
            _ => Format::P4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_texts() {
        assert_eq!(Format::of_text("\n program v1model\n"), Format::Ir);
        assert_eq!(Format::of_text("#include <v1model.p4>\n"), Format::P4);
        assert_eq!(Format::of_text("typedef bit<8> programs;"), Format::P4);
        assert_eq!(Format::of_text(" {\"program\": \"x.p4\"}"), Format::Bmv2);
        assert_eq!(Format::of_text(""), Format::P4);
    }

    #[test]
    fn only_files_with_an_ambiguous_name_are_read() {
        let of = |name, text: Result<&str, ()>| Format::of_file(Path::new(name), || text.map(str::to_owned));
        assert_eq!(of("out/ir.txt", Err(())), Ok(Format::Ir));
        assert_eq!(of("a.p4", Err(())), Ok(Format::P4));
        assert_eq!(of("a", Err(())), Ok(Format::P4));
        assert_eq!(of("a.json", Ok("{}")), Ok(Format::Bmv2));
        assert_eq!(of("a.json", Ok("program v1model")), Ok(Format::Ir));
        assert_eq!(of("a.json", Ok("\n")), Ok(Format::Bmv2));
        assert_eq!(of("a.json", Err(())), Err(()));
    }
}
