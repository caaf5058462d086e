//! `forebay upf` as a user runs it.

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::folder;

/// An address of this machine that no other test has.
const ADDRESS: &str = "127.18.44.5";

/// How long the agent waits for its switch, in seconds.
const WAIT: u64 = 120;

#[test]
fn an_agent_that_waits_for_its_switch_can_be_ended() {
    let folder = folder();
    let settings = folder.path().join("n4.toml");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../functions/upf/n4.toml");
    let example = std::fs::read_to_string(example).expect("it is there");
    std::fs::write(&settings, example.replace("192.168.4.1\"", &format!("{ADDRESS}\""))).expect("a folder");
    let nowhere = format!("unix:{}", folder.path().join("nowhere").display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .arg("upf")
        .arg(&settings)
        .args(["--grpc", &nowhere, "--wait", &WAIT.to_string()])
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().expect("it is a child"), None, "it waits");
    let since = Instant::now();
    let signal = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(signal.expect("kill is there").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(since.elapsed() < Duration::from_secs(WAIT / 4), "{:?}", since.elapsed());
}
