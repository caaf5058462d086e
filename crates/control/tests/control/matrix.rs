//! `docs/p4runtime.md` names a test for each demand of the specification: they exist.

const DOCUMENT: &str = include_str!("../../../../docs/p4runtime.md");

const MODULES: &[(&str, &str)] = &[
    ("arbitration", include_str!("arbitration.rs")),
    ("bad_input", include_str!("bad_input.rs")),
    ("constraints", include_str!("constraints.rs")),
    ("save", include_str!("save.rs")),
    ("batches", include_str!("batches.rs")),
    ("objects", include_str!("objects.rs")),
    ("pipeline_config", include_str!("pipeline_config.rs")),
    ("profiles", include_str!("profiles.rs")),
    ("replication", include_str!("replication.rs")),
    ("streams", include_str!("streams.rs")),
    ("tables", include_str!("tables.rs")),
];

#[test]
fn every_test_that_is_named_exists() {
    let rows = DOCUMENT
        .lines()
        .filter(|line| (line.starts_with("| §") || line.starts_with("| p4-constraints")) && line.contains("::"));
    let mut count = 0;
    for row in rows {
        let named = row.rsplit('`').nth(1).unwrap_or_default();
        let (module, test) = named.split_once("::").unwrap_or_else(|| panic!("no test: {row}"));
        let source = MODULES.iter().find(|(name, _)| *name == module);
        let (_, source) = source.unwrap_or_else(|| panic!("no such module: {row}"));
        assert!(source.contains(&format!("#[test]\nfn {test}(")), "no such test: {row}");
        count += 1;
    }
    assert!(count > 70, "the table has gone");
}
