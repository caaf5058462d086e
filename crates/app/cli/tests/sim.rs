//! `forebay sim` and `forebay experiment` as a user sees them.

mod support;

use std::process::{Command, Stdio};
use support::{folder, forebay, program, write};

/// A file of the repository.
fn repository(path: &str) -> String {
    format!("{}/../../../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_scenario_is_simulated() {
    let out = folder();
    let scenario = repository("experiments/table-3/scenario.toml");
    let results = out.path().join("results");
    let given = [
        "sim",
        &scenario,
        "--set",
        "N=2",
        "--set",
        "TRIAL=20",
        "--out",
        &results.to_string_lossy(),
    ];
    let ran = forebay(&given);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("chip switch (tofino-a0): "), "{}", ran.stdout);
    let json = std::fs::read_to_string(results.join("results.json")).expect("results.json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let sent = json[0]["results"]["sources"][0]["sent"].as_u64().expect("a number");
    let source = &json[0]["results"]["sources"][0];
    assert_eq!(
        (source["delivered"].as_u64(), source["copies"].as_u64()),
        (Some(sent), Some(sent))
    );
    assert!(sent > 200);
}

#[test]
fn a_reader_that_goes_takes_no_file_away() {
    let out = folder();
    let (scenario, results) = (
        repository("experiments/table-3/scenario.toml"),
        out.path().to_string_lossy(),
    );
    let mut process = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args([
            "sim", &scenario, "--set", "N=2,4", "--set", "TRIAL=20", "--out", &results,
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    drop(process.stdout.take());
    process.wait().expect("it ends");
    let json = std::fs::read_to_string(out.path().join("results.json")).expect("results.json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(2));
}

/// The results of a sweep, byte for byte, by a command that runs this one.
fn results_of_a_sweep(prefix: &[&str]) -> Vec<u8> {
    let out = folder();
    let scenario = repository("experiments/p4qrs-figure-7/scenario.toml");
    let mut command: Vec<&str> = prefix.to_vec();
    let results = out.path().to_string_lossy();
    command.extend([env!("CARGO_BIN_EXE_forebay"), "sim", &scenario, "--out", &results]);
    for given in ["GBPS=40,60,80", "n=6,8", "TRIAL=60", "WARM_UP=10"] {
        command.extend(["--set", given]);
    }
    let ran = Command::new(command[0]).args(&command[1..]).output().expect(command[0]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::read(out.path().join("results.json")).expect("results.json")
}

/// `taskset` is in util-linux, which every Linux distribution has.
#[test]
#[cfg(target_os = "linux")]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_processors() {
    let on_all = results_of_a_sweep(&[]);
    let on_one = results_of_a_sweep(&["taskset", "1"]);
    assert!(on_all == on_one, "one thread and several differ");
    assert!(on_all == results_of_a_sweep(&[]), "two runs differ");
}

#[test]
fn each_frame_that_leaves_is_a_line() {
    let out = folder();
    let scenario = repository("experiments/table-3/scenario.toml");
    let file = out.path().join("departures.csv");
    let departures = file.to_string_lossy();
    let given = [
        "sim",
        &scenario,
        "--set",
        "N=2,4",
        "--set",
        "TRIAL=20",
        "--json",
        "--departures",
        &departures,
    ];
    let ran = forebay(&given);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let results: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let text = std::fs::read_to_string(&file).expect("departures.csv");
    for case in results.as_array().expect("a list") {
        let outputs = case["results"]["outputs"].as_array().expect("a list");
        let frames: u64 = outputs.iter().filter_map(|output| output["frames"].as_u64()).sum();
        let name = format!("{},", case["case"].as_str().expect("text"));
        assert_eq!(
            text.lines().filter(|line| line.starts_with(&name)).count() as u64,
            frames
        );
    }
    let ran = forebay(&["sim", &scenario, "--find-max", "--departures", &departures]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
}

#[test]
fn a_mistake_in_a_scenario_has_its_line() {
    let out = folder();
    let scenario = write(
        out.path(),
        "wrong.toml",
        "description = \"wrong\"\nduration_us = 1\nduration = 2\n",
    );
    let ran = forebay(&["sim", &scenario]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("wrong.toml:3: there is no key `duration` here; did you mean `duration_us`?"),
        "{}",
        ran.stderr
    );
    let ran = forebay(&["sim", &program()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "a program is no scenario");
}

/// The line of the README: what depends on N follows it.
#[test]
fn a_value_on_the_command_line_changes_what_depends_on_it() {
    let scenario = repository("experiments/table-3/scenario.toml");
    let set = |value: &str| forebay(&["sim", &scenario, "--set", value, "--set", "TRIAL=20", "--json"]);
    let ran = set("N=4");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let source = &json[0]["results"]["sources"][0];
    let sent = source["sent"].as_u64().expect("a number");
    assert_eq!(
        (source["delivered"].as_u64(), source["copies"].as_u64()),
        (Some(sent), Some(3 * sent))
    );
    let lifted = json[0]["results"]["chips"][0]["lifted"][0]["rule"].as_str();
    assert_eq!(lifted, Some("tofino-a0 resubmits a packet at most once: here 4 times"));
}

#[test]
fn a_search_that_finds_nothing_says_so() {
    let scenario = repository("experiments/table-3/scenario.toml");
    let search = |more: &[&str]| {
        let mut given = vec![
            "sim",
            &scenario,
            "--find-max",
            "--set",
            "TRIAL=20",
            "--set",
            "TOLERANCE=5",
        ];
        given.extend(more);
        forebay(&given)
    };
    let found = search(&["--set", "N=2,4,8"]);
    assert_eq!(found.code, 0, "{}{}", found.stdout, found.stderr);
    assert_eq!(found.stdout.matches("Gbps without loss").count(), 3, "{}", found.stdout);
    // One resubmission is not enough for four messages.
    let nothing = search(&["--set", "N=4", "--set", "RESUBMISSIONS=1"]);
    assert_eq!(nothing.code, 1, "{}{}", nothing.stdout, nothing.stderr);
    assert!(
        nothing.stdout.contains("nothing found: at 1.000 Gbps"),
        "{}",
        nothing.stdout
    );
}

/// The executable in `bin` of an installation, whose experiments are beside it. No results go there.
#[test]
fn experiments_of_an_installation_are_found() {
    let prefix = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (bin, share) = (prefix.path().join("bin"), prefix.path().join("share/forebay"));
    let experiment = share.join("experiments/table-2");
    std::fs::create_dir_all(&bin).expect("a folder");
    std::fs::create_dir_all(&experiment).expect("a folder");
    let definition = repository("experiments/table-2/experiment.toml");
    std::fs::copy(definition, experiment.join("experiment.toml")).expect("a copy");
    std::fs::hard_link(env!("CARGO_BIN_EXE_forebay"), bin.join("forebay")).expect("a link");
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(bin.join("forebay"));
        let ran = command
            .arg("experiment")
            .args(words)
            .current_dir(prefix.path())
            .output();
        let ran = ran.expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    };
    let (code, listed, said) = run(&["list"]);
    assert!(code == Some(0) && listed.starts_with("table-2 "), "{listed}{said}");
    let (code, _, said) = run(&["run", "table-2"]);
    assert!(code == Some(2) && said.contains("cp -r "), "{said}");
}

#[test]
fn a_folder_with_mistakes_hides_no_other_experiment() {
    let folder = folder();
    for (name, text) in [
        ("bad", "title = 3\n"),
        (
            "good",
            "title = \"t\"\nsource = \"s\"\nx = \"N\"\nx_label = \"n\"\nunit = \"Gbps\"\n",
        ),
    ] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
        std::fs::write(folder.path().join(name).join("experiment.toml"), text).expect("a file");
    }
    let listed = forebay(&["experiment", "list", "--folder", &folder.path().to_string_lossy()]);
    assert!(listed.stderr.contains("experiment.toml:1"), "{}", listed.stderr);
    assert!(
        listed.code == 1 && listed.stdout.contains("good"),
        "{} {}",
        listed.code,
        listed.stdout
    );
}

#[test]
fn experiments_are_listed_and_run() {
    let experiments = repository("experiments");
    let listed = forebay(&["experiment", "list", "--folder", &experiments]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(listed.stdout.contains("table-6"), "{}", listed.stdout);
    assert!(listed.stdout.contains("held-out/multicast"), "{}", listed.stdout);
    let other = "processing delay: experiments/p4vnf-table-1/measure.py\n";
    assert!(listed.stdout.contains(other), "{}", listed.stdout);
    let of_a_script = forebay(&["experiment", "run", "p4vnf-chain", "--folder", &experiments]);
    let named = of_a_script.stderr.contains("`experiments/p4vnf-chain/measure.py`");
    assert!(of_a_script.code == 2 && named, "{}", of_a_script.stderr);
    let ran = forebay(&[
        "experiment",
        "run",
        "p4qrs-figure-8",
        "--quick",
        "--folder",
        &experiments,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("| lost | ≤ 0 | 0 | kept |"), "{}", ran.stdout);
    assert!(ran.stdout.contains("4 fitted constants: "), "{}", ran.stdout);
    let json = forebay(&[
        "experiment",
        "run",
        "p4qrs-figure-8",
        "--quick",
        "--json",
        "--folder",
        &experiments,
    ]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let report = &json[0]["report"];
    assert_eq!(report["provenance"]["fitted"].as_array().map(Vec::len), Some(4));
    assert!(
        report["losses"][0]["run"]["sent"]
            .as_u64()
            .is_some_and(|sent| sent > 100)
    );
    // Results that cannot be written are noticed before anything is simulated or read.
    let out = folder();
    std::fs::create_dir_all(out.path().join("x/result.md")).expect("a folder in the place of the file");
    write(&out.path().join("x"), "experiment.toml", "");
    let refused = forebay(&["experiment", "run", "x", "--folder", &out.path().to_string_lossy()]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("result.md"), "{}", refused.stderr);
    for (name, expected) in [
        ("tabel-3", "; did you mean table-3?"),
        ("zzzz", "; there are: aggregation-ring"),
    ] {
        let unknown = forebay(&["experiment", "run", name, "--folder", &experiments]);
        assert_eq!(unknown.code, 2);
        assert!(
            unknown.stderr.contains(&format!("there is no experiment {name} in ")),
            "{}",
            unknown.stderr
        );
        assert!(unknown.stderr.contains(expected), "{}", unknown.stderr);
    }
}
