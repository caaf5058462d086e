//! `forebay vnf` as a user runs it.

mod support;

use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Ran, folder, forebay};

#[test]
fn a_function_is_brought_up_looked_at_and_taken_down() {
    let folder = folder();
    let run_dir = folder.path().to_string_lossy().into_owned();
    let vnf = |words: &[&str]| forebay(&[&["vnf"], words, &["--run-dir", &run_dir]].concat());
    let up = |name: &str| {
        vnf(&[
            "up",
            "portfwd",
            "--name",
            name,
            "--uplink",
            "timer:10ms,1",
            "--downlink",
            "mem:",
        ])
    };
    good(&up("one"));
    let again = up("one");
    assert!(again.stderr.contains("`one` runs already"), "{}", again.stderr);

    let status = vnf(&["status", "--json"]);
    good(&status);
    let said: Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!((&said[0]["name"], &said[0]["running"]), (&"one".into(), &true.into()));
    assert_eq!(said[0]["statistics"]["ports"].as_array().map(Vec::len), Some(2));
    let started = said[0]["started"].as_str().expect("a time");
    assert!(started.starts_with("20") && started.ends_with('Z'), "{started}");
    let text = vnf(&["status", "one"]).stdout;
    assert!(
        text.starts_with("one: timer:10ms,1 -> mem:, running, ready\n"),
        "{text}"
    );

    // Statistics come by the log: without it, there is nothing to wait for.
    let log = folder.path().join("one.log");
    for is_replaced in [false, true] {
        std::fs::remove_file(&log).expect("a log");
        if is_replaced {
            std::fs::write(&log, "").expect("a file");
        }
        let begin = Instant::now();
        let text = vnf(&["status", "one"]).stdout;
        assert!(text.contains("running, state unknown: its log "), "{text}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
        std::fs::write(&log, "").expect("a file");
    }

    good(&vnf(&["down", "one"]));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let gone = vnf(&["status", "one"]);
    assert_eq!(gone.code, 2, "{}", gone.stderr);
    assert!(gone.stderr.contains("there is no function `one`"), "{}", gone.stderr);
}

#[test]
fn a_function_that_does_not_start_leaves_nothing() {
    let folder = folder();
    let run_dir = folder.path().to_string_lossy().into_owned();
    let words = [
        "--uplink",
        "pcap:missing.pcap,",
        "--downlink",
        "mem:",
        "--run-dir",
        &run_dir,
    ];
    let done = forebay(&[&["vnf", "up", "portfwd"], &words[..]].concat());
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert!(done.stderr.contains("missing.pcap"), "{}", done.stderr);
    assert!(!done.stderr.contains("\"error\":"), "it is said once: {}", done.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn a_function_that_is_interrupted_while_it_starts_is_down_again() {
    let folder = folder();
    let words = [
        "vnf",
        "up",
        "portfwd",
        "--uplink",
        "mem:",
        "--downlink",
        "timer:1s,1",
        "--run-dir",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(words)
        .arg(folder.path())
        .args(["--", "-i", "3@no-such-if", "--wait-interfaces", "100"])
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let started = Instant::now();
    while std::fs::read_dir(folder.path()).expect("a folder").count() < 2 {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it makes a record and a log"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signal.expect("kill is there").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

fn good(done: &Ran) {
    assert_eq!(done.code, 0, "{}", done.stderr);
}

#[test]
fn a_name_that_is_none_is_answered_with_functions_and_programs() {
    let done = forebay(&["vnf", "up", "portfwdd", "--uplink", "mem:", "--downlink", "mem:"]);
    assert_eq!(done.code, 2, "{}", done.stderr);
    for part in ["did you mean `portfwd`?", "nat44", "iot_aggregate"] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
}

#[test]
fn a_function_without_traffic_of_its_own_says_how_to_give_it_some() {
    let words = ["--uplink", "mem:", "--downlink", "mem:"];
    let done = forebay(&[&["vnf", "measure", "iot_mapping"], &words[..]].concat());
    assert_eq!(done.code, 2, "{}", done.stderr);
    for part in ["iot_mapping has no measure.toml", "--traffic TEST.toml", "${BYTES}"] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
}

#[test]
fn without_functions_the_status_says_so() {
    let folder = folder();
    let run_dir = folder.path().to_string_lossy().into_owned();
    let done = forebay(&["vnf", "status", "--run-dir", &run_dir]);
    assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{}", done.stderr);
    assert!(done.stderr.contains("no function is up"), "{}", done.stderr);
}
