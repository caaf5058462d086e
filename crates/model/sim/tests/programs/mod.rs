//! The library of scenarios in tests: programs of the repository by their names, and no other files.

use forebay_driver::FileSources;
use forebay_ir::Program;
use forebay_sim::Library;

pub struct Programs;

impl Library for Programs {
    fn program(&self, path: &str, defines: &[String]) -> Result<Program, String> {
        let path = format!("{}/../../../programs/{path}/{path}.p4", env!("CARGO_MANIFEST_DIR"));
        let provider = FileSources::new();
        let options = forebay_driver::Options {
            provider: &provider,
            include_paths: &[],
            defines,
        };
        let compiled = forebay_driver::compile(&path, &options);
        compiled.program.ok_or_else(|| format!("cannot compile {path}"))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        Err(format!("cannot read {path}"))
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("cannot read {path}"))
    }
}
