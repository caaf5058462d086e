//! `docs/p4runtime.md` names a test for each demand of the specification: they exist.

const DOCUMENT: &str = include_str!("../../../../../docs/p4runtime.md");

/// The clients that `tests/clients/run.py` runs.
const CLIENTS: &str = include_str!("../../../../../tests/clients/run.py");

/// What tests are called in the document, and where they are.
const MODULES: &[(&str, &str)] = &[
    ("arbitration", include_str!("arbitration.rs")),
    ("bad_input", include_str!("bad_input.rs")),
    ("batches", include_str!("batches.rs")),
    ("constraints", include_str!("constraints.rs")),
    ("defaults", include_str!("defaults.rs")),
    ("objects", include_str!("objects.rs")),
    ("pipeline_config", include_str!("pipeline_config.rs")),
    ("profiles", include_str!("profiles.rs")),
    ("replication", include_str!("replication.rs")),
    ("save", include_str!("save.rs")),
    ("selectors", include_str!("selectors.rs")),
    ("streams", include_str!("streams.rs")),
    ("tables", include_str!("tables.rs")),
    ("translation", include_str!("translation.rs")),
    ("values", include_str!("values.rs")),
    (
        "cli/control_plane",
        include_str!("../../../../app/cli/src/control_plane.rs"),
    ),
    (
        "driver/golden",
        include_str!("../../../../compiler/driver/tests/golden.rs"),
    ),
    (
        "lower/lowering",
        include_str!("../../../../compiler/lower/tests/lowering/p4info.rs"),
    ),
    ("p4info/ids", include_str!("../../../../compiler/p4info/src/ids.rs")),
    (
        "pipeline/batch",
        include_str!("../../../../dataplane/pipeline/tests/pipeline/batch.rs"),
    ),
    (
        "pipeline/control",
        include_str!("../../../../dataplane/pipeline/tests/pipeline/control.rs"),
    ),
    (
        "pipeline/sections",
        include_str!("../../../../dataplane/pipeline/tests/pipeline/sections.rs"),
    ),
    (
        "pipeline/stress",
        include_str!("../../../../dataplane/pipeline/tests/pipeline/stress.rs"),
    ),
    (
        "pipeline/v1model",
        include_str!("../../../../dataplane/pipeline/tests/pipeline/v1model.rs"),
    ),
    (
        "protocol/descriptors",
        include_str!("../../../protocol/tests/descriptors.rs"),
    ),
    ("server/grpc", include_str!("../../../server/tests/grpc.rs")),
    ("server/refusals", include_str!("../../../server/tests/refusals.rs")),
];

#[test]
fn every_test_that_is_named_exists() {
    let (_, table) = DOCUMENT
        .split_once("| section | demand | test |")
        .expect("the table is there");
    let rows = table.lines().filter(|line| line.starts_with("| ")).collect::<Vec<_>>();
    for row in &rows {
        let named = row.rsplit('`').nth(1).unwrap_or_default();
        if let Some(client) = named.strip_prefix("client ") {
            assert!(CLIENTS.contains(&format!("\"{client}\":")), "no such client: {row}");
            continue;
        }
        let (module, test) = named.split_once("::").unwrap_or_else(|| panic!("no test: {row}"));
        let source = MODULES.iter().find(|(name, _)| *name == module);
        let (_, source) = source.unwrap_or_else(|| panic!("no such module: {row}"));
        assert!(is_test(source, test), "no such test: {row}");
    }
    assert!(rows.len() > 120, "the table has gone");
}

/// Whether a source has a test of this name.
fn is_test(source: &str, name: &str) -> bool {
    let position = source.find(&format!("fn {name}("));
    position.is_some_and(|position| {
        let before = source[..position].trim_end().trim_end_matches("async").trim_end();
        before.ends_with("#[test]") || before.ends_with("#[tokio::test(flavor = \"multi_thread\")]")
    })
}
