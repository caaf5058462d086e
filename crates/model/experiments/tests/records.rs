//! The records of `experiments/` are what the model says today.

use forebay_experiments::Experiment;
use forebay_files::Folder;
use forebay_sim::Silent;
use std::path::Path;

/// `forebay experiment run NAME` would write the same record, byte for byte. The experiments are those that a debug build
/// simulates within seconds: traffic managers, recirculation, multicast, pauses and hosts are among what they use.
#[test]
fn records_are_what_the_model_says_today() {
    for name in [
        "p4qrs-figure-8",
        "network-pfc",
        "held-out/ascon-delay",
        "held-out/multicast",
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../experiments")
            .join(name);
        let recorded = std::fs::read_to_string(folder.join("result.json")).expect("a record");
        let experiment =
            Experiment::new(&Folder::new(folder), false, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        let outcomes: Vec<_> = (0..experiment.runs())
            .map(|run| experiment.simulate(run, &mut Silent))
            .collect();
        let found = serde_json::to_string_pretty(&experiment.report(&outcomes).json()).expect("JSON");
        assert_eq!(
            recorded.trim_end(),
            found,
            "{name}: its record is not what the model says; `forebay experiment run {name}` records it anew"
        );
    }
}
