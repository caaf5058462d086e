//! `simple_switch` and `simple_switch_grpc` are names of this program: they take BMv2's command lines and write its
//! log.

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
            "log",
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
fn commands_set_the_parameters_of_hashes() {
    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hashes.p4");
    let folder = folder();
    let mut frame = [0; 60];
    frame[6..12].copy_from_slice(b"123456");
    let hashes = |commands: &str| {
        std::fs::write(folder.path().join("commands.txt"), commands).expect("a file");
        capture(&folder.path().join("left_in.pcap"), &[&frame]);
        capture(&folder.path().join("right_in.pcap"), &[]);
        let link = folder.path().join("simple_switch");
        let _ = std::fs::remove_file(link);
        let output = named(folder.path(), "simple_switch")
            .args(["-i", "1@left", "2@right", "--use-files", "0"])
            .args(["--entries", "commands.txt", PROGRAM])
            .output()
            .expect("the command runs");
        let sent = std::fs::read(folder.path().join("right_out.pcap")).unwrap_or_default();
        let sent = read_all(&sent).unwrap_or_default();
        let hashes = sent.first().map(|packet| packet.data()[14..24].to_vec());
        (hashes, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // Until they are set: CRC-32 twice, CRC-16/ARC.
    let (before, said) = hashes("# none\n");
    assert_eq!(before.expect(&said), *b"\x09\x72\xd3\x61\x09\x72\xd3\x61\x29\xe4");
    // CRC-32K, CRC-16/XMODEM.
    let (after, said) = hashes(
        "set_crc32_parameters calc_0 0x741B8CD7 0xFFFFFFFF 0xFFFFFFFF true True
         set_crc16_parameters calc_1 0x1021 0 0 false 0",
    );
    assert_eq!(after.expect(&said), *b"\x09\x72\xd3\x61\xdd\x89\x0f\xb1\x20\xe4");
    let (_, said) = hashes("set_crc32_parameters calc_1 1 0 0 true true\nset_crc16_parameters calc_2 1 0 0 true true");
    for expected in ["WRONG_TYPE_CALCULATION", "there is `calc`, `calc_0`, `calc_1`"] {
        assert!(said.contains(expected), "{said}");
    }
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
        .args(["--no-p4", "--log-file", "none/log"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("error: cannot write the log none/log.txt: "), "{said}");
    assert!(!said.contains("P4Runtime: "), "{said}");
}

#[test]
fn a_log_on_a_full_disk_says_why_it_ends_and_stops_no_packet() {
    let folder = folder();
    symlink("/dev/full", folder.path().join("log.txt")).expect("a link");
    capture(&folder.path().join("left_in.pcap"), &[&[1; 60]]);
    capture(&folder.path().join("right_in.pcap"), &[]);
    let output = named(folder.path(), "simple_switch")
        .args([
            "-i",
            "1@left",
            "2@right",
            "--use-files",
            "0",
            "--log-file",
            "log",
            "--entries",
            ENTRIES,
            PROGRAM,
        ])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("it ends here: No space left on device"), "{said}");
    let sent = std::fs::read(folder.path().join("right_out.pcap")).expect("a capture");
    assert_eq!(read_all(&sent).expect("a capture").len(), 1);
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
