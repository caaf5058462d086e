//! `forebay demo` and `forebay traffic` as a user runs them: processes, sockets and, as root, network namespaces.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn forebay(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the demonstration into `folder`: exit code and figures.
fn demo(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let folder = folder.to_str().expect("a plain path");
    let output = forebay(&["demo", "--json", "--keep", folder])
        .args(arguments)
        .output()
        .expect("the command runs");
    let code = output.status.code().expect("it was not killed");
    let errors = String::from_utf8_lossy(&output.stderr);
    (
        code,
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}")),
    )
}

/// Namespaces of the demonstration that this process runs or ran.
fn namespaces(process: u32) -> usize {
    let name = format!("forebay-demo-{process}-");
    let names = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    names
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&name))
        .count()
}

fn assert_correct(figures: &Value, messages: u64) {
    assert_eq!(figures["correct"], true, "{figures:#}");
    let runs = figures["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run["messages"]["delivered"], messages, "{figures:#}");
        assert_eq!(run["link"]["with_aggregation"]["frames"], messages / 8);
        assert_eq!(run["link"]["without_aggregation"]["bytes"], messages * 64);
        for side in ["devices", "link", "server"] {
            let path = run["captures"][side].as_str().expect("a path");
            assert!(std::fs::metadata(path).is_ok_and(|file| file.len() > 24), "{path}");
        }
    }
}

#[test]
fn messages_cross_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, figures) = demo(folder.path(), &["--memory", "--messages", "2000"]);
    assert_eq!((code, &figures["place"]), (0, &Value::from("memory")));
    assert_correct(&figures, 2000);
}

#[test]
fn messages_cross_network_namespaces() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, figures) = demo(folder.path(), &["--messages", "2000"]);
    if figures["place"] == "memory" {
        eprintln!("SKIPPED: this test needs root to make network namespaces");
        return;
    }
    assert_eq!(code, 0, "{figures:#}");
    assert_correct(&figures, 2000);
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a plain path");
    let mut demo = forebay(&["demo", "--rate", "100", "--keep", folder])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let ready = Instant::now() + Duration::from_secs(20);
    let begun = ["resubmit/sender.log", "resubmit/link.pcap"].map(|name| Path::new(folder).join(name));
    while !begun.iter().any(|file| file.exists()) && Instant::now() < ready {
        std::thread::sleep(Duration::from_millis(20));
    }
    if namespaces(demo.id()) == 0 {
        eprintln!("SKIPPED: this test needs root to make network namespaces");
    }
    interrupt(&demo);
    let status = demo.wait().expect("it ends");
    let mut message = String::new();
    demo.stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut message)
        .expect("text");
    assert_eq!((status.code(), message.as_str()), (Some(2), "error: interrupted\n"));
    assert_eq!(namespaces(demo.id()), 0);
}

fn interrupt(process: &Child) {
    let status = Command::new("kill").args(["-INT", &process.id().to_string()]).status();
    assert!(status.expect("kill is there").success());
}

/// Sends `sent` messages to a server that expects 300: the server's exit code and last words.
fn exchange(sent: &str) -> (i32, String) {
    let mut server = forebay(&[
        "traffic",
        "iot-serve",
        "--bind",
        "127.0.0.1:0",
        "--expect",
        "300",
        "--flows",
        "3",
        "--timeout",
        "1",
    ])
    .stdout(Stdio::piped())
    .spawn()
    .expect("the command runs");
    let mut lines = BufReader::new(server.stdout.take().expect("a pipe"))
        .lines()
        .map_while(Result::ok);
    let first = lines.next().expect("a line");
    let to = first.strip_prefix("listening at ").expect("its address");
    let sender = forebay(&[
        "traffic",
        "iot-send",
        "--to",
        to,
        "--messages",
        sent,
        "--flows",
        "3",
        "--rate",
        "20000",
    ])
    .output()
    .expect("the command runs");
    assert!(String::from_utf8_lossy(&sender.stdout).starts_with(&format!("{sent} messages sent in ")));
    let last = lines.last().expect("a report");
    (server.wait().expect("it ends").code().expect("it was not killed"), last)
}

#[test]
fn sender_and_server_meet() {
    let (code, report) = exchange("300");
    assert_eq!(code, 0, "{report}");
    assert!(report.starts_with("300 of 300 messages delivered, 0 lost"), "{report}");
}

#[test]
fn the_server_misses_what_was_not_sent() {
    let (code, report) = exchange("299");
    assert_eq!(code, 1, "{report}");
    assert!(report.starts_with("299 of 300 messages delivered, 1 lost"), "{report}");
}

#[test]
fn wrong_numbers_are_refused() {
    for (arguments, word) in [
        (&["demo", "--memory", "--n", "3"][..], "1, 2, 4 or 8"),
        (
            &["demo", "--memory", "--method", "clone"],
            "resubmit, multicast or both",
        ),
        (
            &["traffic", "iot-send", "--to", "127.0.0.1:9", "--size", "10"],
            "12 to 1466",
        ),
        (
            &["traffic", "iot-send", "--to", "127.0.0.1:9", "--rate", "0"],
            "above 0",
        ),
        (&["traffic", "iot-serve", "--bind", "nowhere"], "HOST:PORT"),
    ] {
        let output = forebay(arguments).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(word), "{errors}");
    }
}
