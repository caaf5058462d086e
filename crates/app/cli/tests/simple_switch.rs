//! `simple_switch` and `simple_switch_grpc` are names of this program: they take BMv2's command lines and write its log.

use forebay_packet::pcap::{TimestampUnit, Writer, read_all};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");
const ENTRIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/entries.stf");

/// A folder that goes away with the test.
fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A command under one of BMv2's names, in a folder.
fn named(folder: &Path, name: &str) -> Command {
    let link = folder.join(name);
    symlink(env!("CARGO_BIN_EXE_forebay"), &link).expect("a link");
    let mut command = Command::new(link);
    command.current_dir(folder);
    command
}

fn capture(path: &Path, frames: &[&[u8]]) {
    let file = std::fs::File::create(path).expect("a file");
    let mut writer = Writer::new(file, TimestampUnit::Nanoseconds).expect("a capture");
    for frame in frames {
        writer.write(0, frame, frame.len()).expect("a packet");
    }
    writer.flush().expect("all is written");
}

#[test]
fn packets_from_files_are_logged_in_the_words_of_bmv2() {
    let folder = folder();
    capture(&folder.path().join("left_in.pcap"), &[&[1; 60], &[2; 64]]);
    capture(&folder.path().join("right_in.pcap"), &[&[3; 68]]);
    let output = named(folder.path(), "simple_switch")
        .args([
            "-i",
            "1@left",
            "2@right",
            "--use-files",
            "0",
            "--log-file",
            "log.txt",
            "-L",
            "debug",
        ])
        .args(["--dump-packet-data", "2", "--entries", ENTRIES, PROGRAM])
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sent = |name: &str| {
        let bytes = std::fs::read(folder.path().join(name)).expect("a capture");
        let packets = read_all(&bytes).expect("a capture");
        packets.iter().map(|packet| packet.data()[0]).collect::<Vec<_>>()
    };
    assert_eq!((sent("right_out.pcap"), sent("left_out.pcap")), (vec![1, 2], vec![3]));
    let log = std::fs::read_to_string(folder.path().join("log.txt")).expect("a log");
    for line in [
        "Received packet of length 60 on port 1: 0101",
        "Processing packet received on port 2",
        "Pipeline 'ingress': start",
        ": hit with handle ",
        "Action entry is ",
        "Egress port is 2",
        "Transmitting packet of size 60 out of port 2",
        "Sending packet of length 68 on port 1: 0303",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    let of_packet = |number: u32| {
        log.lines()
            .filter(|line| line.contains(&format!("[{number}.0] [cxt 0]")))
            .count()
    };
    assert_eq!(of_packet(0), of_packet(2), "the lines of a packet stand together");
    assert!(!log.contains("[T]"), "trace is not debug");
}

#[test]
fn refusals_end_before_anything_runs() {
    let folder = folder();
    let refused = named(folder.path(), "simple_switch_grpc")
        .args(["--no-p4", "--restore-state", "state.bin"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("--restore-state: ") && said.contains("--save-state"),
        "{said}"
    );
}

#[test]
fn a_log_that_cannot_be_written_is_named_before_anything_runs() {
    let folder = folder();
    let refused = named(folder.path(), "simple_switch_grpc")
        .args(["--no-p4", "--log-file", "none/log.txt"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("error: cannot write the log none/log.txt: "), "{said}");
    assert!(!said.contains("P4Runtime: "), "{said}");
}

#[test]
fn options_that_make_no_sense_are_one_error() {
    let folder = folder();
    let refused = named(folder.path(), "simple_switch_grpc")
        .args(["-i", "1@loopback:", PROGRAM, "--", "--cpu-port", "9999"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert_eq!(said.matches("error: ").count(), 1, "{said}");
}

/// Ends the process with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_call_of_thrift_is_answered() {
    let folder = folder();
    let free = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("its number");
    let switch = named(folder.path(), "simple_switch_grpc")
        .args(["--no-p4", "--thrift-port", &free.port().to_string()])
        .args(["--", "--grpc-server-addr", "unix:switch.sock"])
        .stderr(Stdio::null())
        .spawn();
    let _running = Running(switch.expect("the command runs"));
    let end = Instant::now() + Duration::from_secs(60);
    let mut client = loop {
        match TcpStream::connect(free) {
            Ok(client) => break client,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    client
        .write_all(b"\x80\x01\0\x01\0\0\0\x04test\0\0\0\x05\0")
        .expect("it is read");
    client.shutdown(Shutdown::Write).expect("no more comes");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("an answer");
    assert_eq!(answer[..16], *b"\x80\x01\0\x03\0\0\0\x04test\0\0\0\x05");
    assert!(String::from_utf8_lossy(&answer).contains("there is no method test"));
}
