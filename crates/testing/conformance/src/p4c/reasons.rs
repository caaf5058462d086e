//! Why programs are not as p4c has them, where that is known and stays so.

/// The reason for a program, by its path in `testdata/`.
pub fn of(program: &str) -> Option<&'static str> {
    let known = REASONS.iter().find(|(path, _)| *path == program);
    known.map(|(_, reason)| *reason)
}

const REASONS: &[(&str, &str)] = &[
    (
        "p4_16_samples/extern-funcs-bmv2.p4",
        "the function is in a C++ library that BMv2 loads",
    ),
    ("p4_16_samples/minsize.p4", "a stack has at least one element"),
    (
        "p4_16_samples/issue2735-bmv2.p4",
        "p4c leaves out a register whose type is a typedef",
    ),
    (
        "p4_16_errors/array4.p4",
        "p4c expands computed indices into branches and has a limit of these",
    ),
    (
        "p4_16_errors/compound-assignment.p4",
        "p4c's back end divides constants only",
    ),
    ("p4_16_errors/div3.p4", "p4c's back end divides constants only"),
    (
        "p4_16_errors/issue1777-bmv2.p4",
        "registers of structs are executed here, by BMv2 not",
    ),
    (
        "p4_16_errors/issue2545.p4",
        "a limit of p4c's transformations; the program is correct",
    ),
    (
        "p4_16_errors/issue3299.p4",
        "`switch` in an action is executed here, by BMv2 not",
    ),
    (
        "p4_16_errors/issue3613.p4",
        "p4c makes a table of `switch`, for which it needs core.p4",
    ),
    (
        "p4_16_errors/issue532.p4",
        "`check` warns; `build` refuses the struct as action data",
    ),
    (
        "p4_16_errors/issue5703_header_union_stack.p4",
        "computed indices into stacks of unions are supported here",
    ),
    (
        "p4_16_errors/multicast-bmv2.p4",
        "two actions that the control plane can take for one earn a warning here; p4c refuses them only when it writes a P4Info",
    ),
    ("p4_16_errors/spec-ex32_e.p4", "`@length` is not an annotation of P4_16"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4c::record::Record;
    use crate::p4c::repository_root;

    #[test]
    fn each_program_that_is_recorded_as_not_fine_has_a_reason() {
        let record = Record::read(&repository_root().join("docs/conformance.json")).expect("the record");
        let outcomes = record.categories.values().flatten();
        let others: Vec<&String> = outcomes
            .filter(|(_, outcome)| !outcome.is_fine())
            .map(|(name, _)| name)
            .collect();
        let unknown: Vec<&&String> = others.iter().filter(|name| of(name).is_none()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        let fine: Vec<&str> = REASONS
            .iter()
            .map(|(path, _)| *path)
            .filter(|path| !others.iter().any(|name| name == path))
            .collect();
        assert!(fine.is_empty(), "these need no reason: {fine:?}");
    }
}
