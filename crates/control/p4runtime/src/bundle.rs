//! A program in several files, as one blob: JSON that every client can write.
//!
//! ```json
//! {"main": "router.p4", "files": {"router.p4": "#include \"headers.p4\" …", "headers.p4": "…"}, "defines": ["N=8"]}
//! ```
//!
//! Files are named as they would be found from the place where the compiler runs: `#include "x.p4"` in `a/b.p4` is
//! `a/x.p4`.

use crate::status::Error;
use forebay_syntax::source::{MemorySources, SourceMap};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The name of the file to compile.
    pub main: String,
    /// Texts by name.
    pub files: BTreeMap<String, String>,
    /// Macros defined from outside, as `NAME` or `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defines: Vec<String>,
    /// Folders in which `#include` looks besides that of the including file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_paths: Vec<String>,
}

impl Bundle {
    /// The files that a program was compiled from, without those that every compiler has.
    pub fn of_sources(sources: &SourceMap, defines: &[String], include_paths: &[String]) -> Bundle {
        let files = sources.files().map(|(_, file)| file);
        let named: Vec<(String, String)> = files
            .filter(|file| !file.name.starts_with('<'))
            .map(|file| (file.name.to_string(), file.text.to_string()))
            .collect();
        Bundle {
            main: named.first().map(|(name, _)| name.clone()).unwrap_or_default(),
            files: named.into_iter().collect(),
            defines: defines.to_vec(),
            include_paths: include_paths.to_vec(),
        }
    }

    /// The blob.
    pub fn write(&self) -> String {
        serde_json::to_string(self).expect("strings and lists can be written as JSON")
    }

    /// Reads a blob; none when it is something else.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it is JSON with files that is not of this form.
    pub fn read(text: &str) -> Option<Result<Bundle, Error>> {
        let is_bundle = forebay_bmv2::is_json(text) && text.contains("\"files\"") && !text.contains("\"header_types\"");
        is_bundle.then(|| Bundle::parse(text))
    }

    fn parse(text: &str) -> Result<Bundle, Error> {
        let bundle: Bundle = serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("p4_device_config is no program in several files: {error}")))?;
        if bundle.files.contains_key(&bundle.main) {
            Ok(bundle)
        } else {
            Err(Error::invalid(format!(
                "p4_device_config: the main file `{}` is not among the files {}",
                bundle.main,
                bundle
                    .files
                    .keys()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )))
        }
    }

    /// The files, for the compiler.
    pub fn sources(&self) -> MemorySources {
        let files = self.files.iter();
        files.fold(MemorySources::new(), |sources, (name, text)| sources.with(name, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Bundle, String> {
        Bundle::read(text)
            .expect("it is a bundle")
            .map_err(|error| error.message)
    }

    #[test]
    fn there_and_back() {
        let bundle = Bundle {
            main: "a.p4".to_string(),
            files: [("a.p4".to_string(), "#include \"b.p4\"\n".to_string())].into(),
            defines: vec!["N=8".to_string()],
            include_paths: Vec::new(),
        };
        assert_eq!(read(&bundle.write()), Ok(bundle));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let absent = read(r#"{"main": "a.p4", "files": {"b.p4": ""}}"#).unwrap_err();
        assert!(absent.contains("`a.p4` is not among the files `b.p4`"), "{absent}");
        let unknown = read(r#"{"main": "a.p4", "files": {"a.p4": ""}, "macros": []}"#).unwrap_err();
        assert!(unknown.contains("unknown field `macros`"), "{unknown}");
        assert!(Bundle::read(r#"{"header_types": [], "files": 1}"#).is_none());
    }
}
