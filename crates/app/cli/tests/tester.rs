//! `forebay tester`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn forebay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments)
        .output()
        .expect("forebay runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn test_file(folder: &Path, more: &str) -> String {
    let programs = root().join("programs/l3fwd").canonicalize().expect("the program");
    let programs = programs.to_string_lossy();
    let file = folder.join("test.toml");
    let contents = format!(
        "description = \"l3fwd\"\nduration_s = 0.1\ntrials = 2\n[device]\nprogram = \"{programs}/l3fwd.p4\"\nentries = [\"{programs}/entries.stf\"]\n\
         check = true\n[[traffic]]\nname = \"a\"\nfrom = 1\npps = 5_000\nframe = {{ udp = {{ bytes = 60, destination = \"10.0.2.1\" }} }}\n{more}"
    );
    fs::write(&file, contents).expect("a test file");
    file.to_string_lossy().into_owned()
}

#[test]
fn a_test_runs_and_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = test_file(folder.path(), "");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (json, html) = (at("r.json"), at("r.html"));
    let output = forebay(&["tester", "run", &file, "--out", &json, "--html", &html]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(
        said.contains("lost 0 (0 %)") && said.contains("frames the same, 0 different"),
        "{said}"
    );
    assert!(fs::read_to_string(&html).expect("the page").contains("<svg"));
    let results: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).expect("results")).expect("JSON");
    assert_eq!(results["format"], "forebay-tester/1");
    // A machine that is busy may keep some of the 500 from being sent in time.
    let stream = &results["trials"][1]["streams"][0];
    let count = |value: &serde_json::Value| value.as_u64().expect("a number");
    assert_eq!(count(&stream["sent"]) + count(&stream["unsent"]), 500);
    assert_eq!(stream["paths"][0]["received"], stream["sent"]);
    assert_eq!(stream["check"]["same"], stream["sent"]);
    let output = forebay(&["tester", "compare", &json, &json]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).contains("within a trial"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn loss_is_exit_code_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = test_file(folder.path(), "[[impairment]]\nport = 3\nloss = 0.5\n");
    let output = forebay(&["tester", "run", &file, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

#[test]
fn mistakes_are_told_with_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = test_file(folder.path(), "[[impairment]]\nport = 9\n");
    let output = forebay(&["tester", "run", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("test.toml:14: no traffic uses port 9"),
        "{}",
        text(&output.stderr)
    );
    let file = test_file(folder.path(), "");
    let output = forebay(&[
        "tester",
        "run",
        &file,
        "--interface",
        "1@nosuchif",
        "--interface",
        "3@nosuchif2",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nosuchif"), "{}", text(&output.stderr));
    let output = forebay(&["tester", "compare", &file, &file]);
    assert!(
        text(&output.stderr).contains("is no result that"),
        "{}",
        text(&output.stderr)
    );
}

/// Neither the test file nor another output is lost by an output of the same name.
#[test]
fn outputs_have_files_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = test_file(folder.path(), "");
    let before = fs::read(&file).expect("the test file");
    let name = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let other = name("./test.toml");
    let (out, again) = (name("result"), name("./result"));
    for (options, why) in [
        (vec!["--out", &file], "is the test file; name another for results"),
        (vec!["--html", &other], "is the test file; name another for results"),
        (
            vec!["--out", &out, "--html", &again],
            "is named for two outputs; name a file for each",
        ),
    ] {
        let output = forebay(&[&["tester", "run", &file][..], &options[..]].concat());
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
        assert!(output.stdout.is_empty(), "nothing was measured");
    }
    assert_eq!(fs::read(&file).expect("the test file"), before);
    let nowhere = ["tester", "run", &file, "--out", "/dev/null", "--html", "/dev/null"];
    assert_eq!(forebay(&nowhere).status.code(), Some(0));
}

/// A result of another version is told by its format, not by a field that it lacks.
#[test]
fn other_formats_are_told_by_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later.json");
    fs::write(&file, "{ \"format\": \"forebay-tester/2\" }").expect("a file");
    let file = file.to_string_lossy();
    let output = forebay(&["tester", "compare", &file, &file]);
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "has the format \"forebay-tester/2\"; \"forebay-tester/1\" or \"forebay-evaluation/1\" is expected"
        ),
        "{said}"
    );
}

#[test]
fn results_of_evaluations_are_compared() {
    let experiments = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments");
    let record = |name: &str| {
        let path = experiments.join(name).join("result.json");
        path.to_string_lossy().into_owned()
    };
    let sizes = record("operable-table-size");
    let output = forebay(&["tester", "compare", &sizes, &sizes]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        said.contains("exact, operable size") && said.contains("operable rules"),
        "{said}"
    );
    let output = forebay(&["tester", "compare", &sizes, &record("update-responsiveness")]);
    assert!(
        text(&output.stderr).contains("nothing in common"),
        "{}",
        text(&output.stderr)
    );
    let folder = tempfile::tempdir().expect("a folder");
    let (file, result) = (test_file(folder.path(), ""), folder.path().join("result.json"));
    let result = result.to_string_lossy();
    forebay(&["tester", "run", &file, "--out", &result]);
    let output = forebay(&["tester", "compare", &result, &sizes]);
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("is of a test,"),
        "{said}"
    );
}

/// A search whose least load the tester cannot send has found nothing, even when the device lost no frame.
#[test]
fn a_search_that_finds_nothing_is_exit_code_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = "[search]\ngoals = [\"ndr\"]\nmin_pps = 500_000_000\nmax_pps = 900_000_000\nduration_scale = 0.001\n";
    let file = test_file(folder.path(), search);
    let output = forebay(&["tester", "search", &file]);
    let said = text(&output.stdout);
    assert!(said.contains("limited by the tester"), "{said}{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
}

/// A command for another switch, without that switch, is not passed over.
#[test]
fn a_control_command_wants_interfaces() {
    let evaluation = root().join("experiments/update-responsiveness");
    let folder = evaluation.to_string_lossy();
    let output = forebay(&["tester", "evaluate", &folder, "--quick", "--control", "./set-rule"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("--interface"), "{said}");
}

#[test]
fn a_service_that_cannot_listen_or_encrypt_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let rubbish = folder.path().join("rubbish.pem");
    fs::write(&rubbish, "rubbish").expect("a file");
    let rubbish = rubbish.to_string_lossy();
    for (options, why) in [
        (
            vec!["--address", "unix:/tmp/tester"],
            "clients of this API reach HOST:PORT alone",
        ),
        (vec!["--address", "::1:8443"], "`[::1]:8443`"),
        (vec!["--cert", "/no/such/file", "--key", &rubbish], "/no/such/file"),
        (vec!["--cert", &rubbish, "--key", &rubbish], "has no certificate in PEM"),
        (vec!["--cert", &rubbish], "--key"),
    ] {
        let output = forebay(&[&["tester", "serve"][..], &options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(why), "{options:?}: {said}");
    }
}

/// A result that cannot be written is noticed before anything is sent.
#[test]
fn outputs_are_checked_before_traffic() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = test_file(folder.path(), "");
    for option in ["--out", "--html", "--timeline", "--parquet"] {
        let output = forebay(&["tester", "run", &file, option, "/no/such/folder/x"]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        let said = text(&output.stderr);
        assert!(
            said.contains("/no/such/folder/x") && !said.contains("100 %"),
            "{option}: {said}"
        );
        assert_eq!(text(&output.stdout), "", "{option}: nothing was measured");
    }
    let output = forebay(&["tester", "run", &file, "--plots", &file]);
    assert_eq!(output.status.code(), Some(2));
    let evaluation = root().join("experiments/update-responsiveness");
    let output = forebay(&[
        "tester",
        "evaluate",
        &evaluation.to_string_lossy(),
        "--quick",
        "--out",
        &file,
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("test.toml is a file"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(text(&output.stdout), "", "nothing was measured");
}

#[test]
fn what_is_simulated_is_no_evaluation() {
    let simulated = root().join("experiments/table-3");
    let output = forebay(&["tester", "evaluate", &simulated.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("it is simulated, by `forebay experiment run`"), "{said}");
}
