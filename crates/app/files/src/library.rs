//! What scenarios name, from the file system.

use crate::{CompileOptions, bytes, compile_file, text};
use forebay_ir::Program;
use forebay_sim::Library;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A program, the macros that it is compiled with, and the folders of what it includes.
type Compiled = (String, Vec<String>, Vec<String>);

/// Files by their paths relative to a folder. A program is compiled once, however many scenarios name it.
pub struct Folder {
    folder: PathBuf,
    programs: Mutex<HashMap<Compiled, Program>>,
}

impl Folder {
    /// Paths are relative to this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Folder {
        Folder {
            folder: folder.into(),
            programs: Mutex::new(HashMap::new()),
        }
    }

    fn compile(&self, path: &str, defines: &[String], include: &[String]) -> Result<Program, String> {
        let include = include.iter().map(|folder| self.folder.join(folder));
        let options = CompileOptions {
            include: include.map(|folder| folder.to_string_lossy().into_owned()).collect(),
            define: defines.to_vec(),
            ..CompileOptions::default()
        };
        let compiled = compile_file(&self.folder.join(path), &options).map_err(|error| error.to_string())?;
        compiled.program.ok_or(compiled.report.messages)
    }
}

impl Library for Folder {
    fn program(&self, path: &str, defines: &[String]) -> Result<Program, String> {
        self.program_including(path, defines, &[])
    }

    fn program_including(&self, path: &str, defines: &[String], include: &[String]) -> Result<Program, String> {
        let key = (path.to_string(), defines.to_vec(), include.to_vec());
        let known = || self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = known().get(&key) {
            return Ok(program.clone());
        }
        let program = self.compile(path, defines, include)?;
        known().insert(key, program.clone());
        Ok(program)
    }

    fn text(&self, path: &str) -> Result<String, String> {
        text(&self.folder.join(path), "scenario").map_err(|error| error.to_string())
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        bytes(&self.folder.join(path)).map_err(|error| error.to_string())
    }
}
