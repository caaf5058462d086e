//! The programs of `programs/` and `functions/`, and that of the tutorial: the compiler has nothing to say about them.
//! A warning about a program that others learn from teaches them to pass warnings over.

use forebay_driver::{FileSources, Options, compile};
use forebay_syntax::render::render_all;
use std::path::{Path, PathBuf};

/// Variants that other tests compile, too: what a macro leaves out may be what gives a variable its value.
const VARIANTS: &[(&str, &str)] = &[
    ("programs/aes/aes.p4", "PORT_BITS=2"),
    (
        "programs/iot_disaggregate_tofino/iot_disaggregate_tofino.p4",
        "METHOD=METHOD_MULTICAST",
    ),
    (
        "programs/iot_disaggregate_tofino/iot_disaggregate_tofino.p4",
        "METHOD=METHOD_SPREAD",
    ),
    ("programs/p4qrs/p4qrs.p4", "KEEP_ORDER=1"),
    ("programs/payloadpark/payloadpark.p4", "COMPUTATION=2"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// `NAME/NAME.p4` below the two folders.
fn programs() -> Vec<PathBuf> {
    let mut found = vec![root().join("docs/tutorial/filter.p4")];
    for folder in ["programs", "functions"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("the folder can be read") {
            let folder = entry.expect("the folder can be read").path();
            let name = folder.file_name().expect("a folder has a name");
            let program = folder.join(name).with_extension("p4");
            if program.is_file() {
                found.push(program);
            }
        }
    }
    found
}

/// What the compiler says about a program.
fn messages(program: &Path, defines: &[String]) -> String {
    let sources = FileSources::new();
    let options = Options {
        defines,
        ..Options::new(&sources)
    };
    let compiled = compile(&program.to_string_lossy(), &options);
    if compiled.diagnostics.is_empty() {
        return String::new();
    }
    render_all(&compiled.diagnostics, &compiled.sources)
}

#[test]
fn programs_have_no_warnings() {
    let programs = programs();
    assert!(programs.len() > 20, "{programs:?}");
    for program in programs {
        let said = messages(&program, &[]);
        assert!(said.is_empty(), "{}\n{said}", program.display());
    }
}

#[test]
fn variants_have_no_warnings() {
    for (program, define) in VARIANTS {
        let said = messages(&root().join(program), &[define.to_string()]);
        assert!(said.is_empty(), "{program} -D {define}\n{said}");
    }
}
