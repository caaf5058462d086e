//! A switch gives up what it does not need, and works all the same.

mod support;

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{folder, forebay, program};

const PORTFWD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");

/// A switch that runs until it is killed: one with controllers does not end when its ports have no more input.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(options: &[&str]) -> Running {
    let child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args([
            "run",
            PORTFWD,
            "-i",
            "1@loopback:",
            "-i",
            "2@timer:1s,1",
            "--stats-interval",
            "0",
            "--grpc",
            "127.0.0.1:0",
        ])
        .args(options)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    Running(child.expect("the command runs"))
}

/// A field of /proc/PID/status.
fn status(running: &Running, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/status", running.0.id())).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("the system knows this").trim().to_string()
}

/// Waits until a field of the status has a value.
fn wait_for(running: &Running, name: &str, expected: &str) {
    let since = Instant::now();
    while status(running, name) != expected {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "{name} is {}",
            status(running, name)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_switch_has_no_new_privileges_and_a_filter_of_calls() {
    for options in [&[][..], &["--workers", "2"]] {
        let running = run(options);
        wait_for(&running, "Seccomp", "2");
        assert_eq!(status(&running, "NoNewPrivs"), "1");
        let kept = u64::from_str_radix(&status(&running, "CapPrm"), 16).expect("a number");
        assert_eq!(kept & !(1 << 12 | 1 << 13 | 1 << 14 | 1 << 39), 0, "{kept:x}");
    }
}

#[test]
fn without_a_sandbox_nothing_is_given_up() {
    let running = run(&["--no-sandbox", "--duration", "1"]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(status(&running, "NoNewPrivs"), "0");
}

#[test]
fn packets_go_through_a_switch_in_a_sandbox() {
    let folder = folder();
    let (input, output) = (folder.path().join("in.pcap"), folder.path().join("out.pcap"));
    let mut file = std::fs::File::create(&input).expect("a file");
    let frame = [0; 64];
    let header: [u32; 6] = [0xA1B2_C3D4, 0x0004_0002, 0, 0, 65_535, 1];
    let words = header.iter().chain(&[1, 0, 64, 64]).flat_map(|word| word.to_le_bytes());
    file.write_all(&words.chain(frame).collect::<Vec<u8>>())
        .expect("it is written");
    let port = format!("1@pcap:{},{}", input.display(), output.display());
    let ran = forebay(&["run", &program(), "-i", &port, "--json", "--stats-interval", "0"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("\"received_packets\":1"), "{}", ran.stdout);
}

#[test]
fn a_user_who_does_not_exist_is_an_error() {
    let ran = forebay(&[
        "run",
        &program(),
        "-i",
        "1@loopback:",
        "--user",
        "no-such-user",
        "--duration",
        "1",
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there is no user `no-such-user`"), "{}", ran.stderr);
}

#[test]
fn the_state_is_that_of_the_user_that_a_switch_becomes() {
    use std::os::unix::fs::MetadataExt;
    let folder = folder();
    if std::fs::metadata(folder.path()).expect("it is there").uid() != 0 {
        eprintln!("SKIPPED: only root becomes another user");
        return;
    }
    // Others may go through it.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let state = folder.path().join("state");
    let state = state.to_str().expect("a text");
    let run = |user: &[&str]| {
        let words = [
            "run",
            PORTFWD,
            "-i",
            "1@loopback:",
            "--grpc",
            "127.0.0.1:0",
            "--stats-interval",
            "0",
        ];
        let of_state = ["--save-state", state, "--save-interval", "0.1", "--duration", "0.5"];
        forebay(&[&words[..], &of_state, user].concat())
    };
    for _ in 0..2 {
        let ran = run(&["--user", "nobody"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!ran.stderr.contains("not saved"), "{}", ran.stderr);
        let owner = |path: &std::path::Path| std::fs::metadata(path).expect("it is there").uid();
        let nobody = owner(std::path::Path::new(state));
        assert_ne!(nobody, 0);
        for file in std::fs::read_dir(state).expect("a folder") {
            let path = file.expect("a file").path();
            assert_eq!(owner(&path), nobody, "{}", path.display());
        }
    }
    let ran = run(&["--user", "daemon"]);
    assert_eq!(ran.code, 2);
    let advice = format!("chown -R daemon {state}");
    assert!(ran.stderr.contains(&advice), "{}", ran.stderr);
}
