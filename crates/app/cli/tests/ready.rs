//! Whether a switch carries traffic: `forebay ctl ready`, `/ready`, and the notifications to systemd.

mod support;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Ran, announced, folder, forebay};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");
const LACKS: &str = "table `PortForwardIngress.ports` has 0 of at least 1 entries";

/// A running switch with a notification socket, as systemd gives one.
struct Switch {
    process: Child,
    manager: UnixDatagram,
    grpc: String,
    metrics: String,
}

impl Switch {
    fn start(folder: &Path) -> Switch {
        let notify = folder.join("notify");
        let manager = UnixDatagram::bind(&notify).expect("a socket");
        manager
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        let grpc = format!("unix:{}", folder.join("grpc").display());
        let mut process = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["run", PROGRAM, "-i", "1@mem:", "-i", "2@mem:", "--stats-interval", "0"])
            .args(["--metrics", "0", "--ready-entries", "ports", "--grpc", &grpc])
            .env("NOTIFY_SOCKET", &notify)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the command runs");
        let page = announced(&mut process, "metrics: http://");
        let metrics = page.strip_suffix("/metrics").expect("the page of metrics").to_owned();
        Switch {
            process,
            manager,
            grpc,
            metrics,
        }
    }

    /// The next message to systemd.
    fn told(&self) -> String {
        let mut bytes = [0; 512];
        let length = self.manager.recv(&mut bytes).expect("systemd is told");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    fn ctl(&self, words: &[&str]) -> Ran {
        forebay(&[&["ctl", "--grpc", &self.grpc], words].concat())
    }

    /// The status of `/ready`, and its body.
    fn page(&self, accept: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.metrics).expect("it listens");
        let request = format!("GET /ready HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        (status.to_owned(), body.to_owned())
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_switch_is_ready_when_its_table_has_the_entries() {
    let folder = folder();
    let switch = Switch::start(folder.path());
    assert_eq!(switch.told(), format!("READY=1\nSTATUS=not ready: {LACKS}"));
    let ready = switch.ctl(&["--json", "ready"]);
    assert_eq!(ready.code, 1, "{}", ready.stderr);
    assert!(ready.stderr.contains(LACKS), "{}", ready.stderr);
    let said: Value = serde_json::from_str(&ready.stdout).expect("JSON");
    assert_eq!(said, json!({ "ready": false, "lacks": [LACKS], "entries": null }));
    let (status, body) = switch.page("application/json");
    assert_eq!((status.as_str(), serde_json::from_str(&body).ok()), ("503", Some(said)));

    let entry = ["table", "add", "ports", "1", "do", "forward", "2"];
    assert_eq!(switch.ctl(&entry).code, 0);
    let ready = switch.ctl(&["--wait", "20", "ready"]);
    assert_eq!((ready.code, ready.stdout.as_str()), (0, "ready\n"));
    assert_eq!(switch.page("*/*"), ("200".to_owned(), "ready\n".to_owned()));
    assert_eq!(switch.told(), "READY=1\nSTATUS=ready");
}

#[test]
fn a_switch_that_ends_is_not_waited_for() {
    let folder = folder();
    let switch = Switch::start(folder.path());
    let mut ctl = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["ctl", "--grpc", &switch.grpc, "--wait", "600", "ready"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the command runs");
    let mut stderr = BufReader::new(ctl.stderr.take().expect("it is a pipe"));
    let mut said = String::new();
    stderr.read_line(&mut said).expect("a line");
    assert!(
        said.starts_with(&format!("note: not ready: {LACKS}; waiting ")),
        "{said}"
    );
    drop(switch);
    assert_eq!(ctl.wait().expect("it ends").code(), Some(2));
    said.clear();
    stderr.read_to_string(&mut said).expect("the rest");
    assert!(said.contains("the switch has ended while it was waited for"), "{said}");
}

#[test]
fn a_table_that_the_program_does_not_have_is_refused() {
    let words = ["run", PROGRAM, "-i", "1@mem:", "-i", "2@mem:", "--duration", "0.1"];
    let ran = forebay(&[&words[..], &["--ready-entries", "portss"]].concat());
    assert_eq!(ran.code, 2);
    let message = "--ready-entries: the program has no table `portss`";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}

#[test]
fn a_port_without_a_peer_is_named() {
    let folder = folder();
    let grpc = format!("unix:{}", folder.path().join("grpc").display());
    let port = format!("2@memif:{}", folder.path().join("memif").display());
    let mut process = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["run", PROGRAM, "-i", "1@mem:", "-i", &port, "--grpc", &grpc])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the command runs");
    assert_eq!(forebay(&["ctl", "--grpc", &grpc, "--wait", "30", "info"]).code, 0);
    let ready = forebay(&["ctl", "--grpc", &grpc, "--wait", "0", "ready"]);
    let _ = process.kill();
    let _ = process.wait();
    assert_eq!(ready.code, 1, "{}", ready.stderr);
    assert!(
        ready.stderr.contains("is down: no peer has connected yet"),
        "{}",
        ready.stderr
    );
}
