//! Whatever the tests of `tests/stf` configure is there again after a restart.

use forebay_driver::{FileSources, Options};
use forebay_entries::Controller;
use forebay_p4runtime::{Device, Now, Settings};
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::config::v1::P4Info;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program as it was compiled.
struct Compiled {
    program: forebay_ir::Program,
    info: P4Info,
}

fn compile(path: &Path) -> Option<Compiled> {
    let provider = FileSources::new();
    let options = Options {
        provider: &provider,
        include_paths: &[],
        defines: &[],
    };
    let compiled = forebay_driver::compile(&path.to_string_lossy(), &options);
    let info = forebay_protocol::p4info::from_compiler(compiled.p4info.as_ref()?);
    Some(Compiled {
        program: compiled.program?,
        info,
    })
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.extension() {
            _ if path.is_dir() => files_below(&path, found),
            Some(extension) if extension == "stf" => found.push(path),
            _ => {}
        }
    }
}

fn settings(architecture: forebay_ir::Architecture) -> Settings {
    let cpu_port = match architecture {
        forebay_ir::Architecture::V1Model => 510,
        _ => 0xffff_fffd,
    };
    Settings {
        cpu_port: Some(cpu_port),
        keeps_state: true,
        keeps_learned: true,
        ..Settings::default()
    }
}

/// The snapshot of a switch that has begun with what a test configures, and that of the switch after a restart; nothing
/// for a test without a program of its name.
fn snapshots(test: &Path) -> Option<[Vec<u8>; 2]> {
    let test_text = std::fs::read_to_string(test).expect("a text");
    let commands = forebay_entries::parse(&test_text).ok()?.commands;
    let Compiled { program, info } = compile(&test.with_extension("p4"))?;
    let (blob, architecture) = (forebay_ir::text::write(&program).into_bytes(), program.architecture);
    let pipeline = Arc::new(Pipeline::load(program).expect("it was compiled"));
    let mut controller = Controller::new(Arc::clone(&pipeline));
    for command in commands.iter().filter(|command| !command.value.is_traffic()) {
        controller.apply(&command.value);
    }
    let mut device = Device::new(settings(architecture));
    device.adopt(info, blob, pipeline).expect("it is the program's P4Info");
    let before = device.snapshot();
    let restored = Device::restore(settings(architecture), &before, &[], Now::default());
    let restored = restored.unwrap_or_else(|error| panic!("{}: {error}", test.display()));
    Some([before, restored.snapshot()])
}

#[test]
fn every_configuration_of_the_corpus_survives_a_restart() {
    let mut tests = Vec::new();
    files_below(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf"),
        &mut tests,
    );
    let mut compared = 0;
    for test in &tests {
        if let Some([before, after]) = snapshots(test) {
            assert!(before == after, "{}", test.display());
            compared += 1;
        }
    }
    assert!(compared > 150, "only {compared} of {} tests", tests.len());
}
