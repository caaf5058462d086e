//! A running switch goes on when its environment fails, and reports the failures at its end.

mod support;

use forebay_packet::pcap::{TimestampUnit, Writer, read_all};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Ran, folder, forebay, program};

/// How long a test waits for what should come at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A capture of packets for port 1, at a distance in milliseconds.
fn capture(path: &Path, packets: u32, gap_ms: u64) {
    let mut writer = Writer::new(Vec::new(), TimestampUnit::Nanoseconds).expect("memory");
    for number in 0..packets {
        let mut frame = [0; 60];
        frame[1] = 1;
        frame[2..6].copy_from_slice(&number.to_be_bytes());
        let time_ns = u64::from(number) * gap_ms * 1_000_000;
        writer.write(time_ns, &frame, frame.len()).expect("memory");
    }
    std::fs::write(path, writer.output()).expect("a folder");
}

fn packets_in(path: &Path) -> usize {
    let bytes = std::fs::read(path).expect("the switch has made it");
    read_all(&bytes).expect("whole records").len()
}

/// The arguments of a switch from `in.pcap` to `out.pcap`.
fn arguments(folder: &Path, pace: &str) -> [String; 6] {
    let (input, output) = (folder.join("in.pcap"), folder.join("out.pcap"));
    [
        "run".to_string(),
        program(),
        "-i".to_string(),
        format!("0@pcap:{},{pace}", input.display()),
        "-i".to_string(),
        format!("1@pcap:,{}", output.display()),
    ]
}

fn run(arguments: &[String], more: &[&str]) -> Ran {
    let arguments = arguments.iter().map(String::as_str);
    forebay(&arguments.chain(more.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_standard_output_that_cannot_be_written_stops_no_packet() {
    let folder = folder();
    capture(&folder.path().join("in.pcap"), 8, 50);
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let (reader, closed) = std::io::pipe().expect("a pipe");
    drop(reader);
    for output in [Stdio::from(full), Stdio::from(closed)] {
        let ran = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(arguments(folder.path(), ",paced"))
            .args(["--stats-interval", "0.05"])
            .stdout(output)
            .stderr(Stdio::piped())
            .output()
            .expect("the command runs");
        let message = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{message}");
        assert_eq!(message.matches("no more statistics").count(), 1, "{message}");
        assert_eq!(packets_in(&folder.path().join("out.pcap")), 8);
    }
}

#[test]
fn many_ports_need_no_setting() {
    let folder = folder();
    let mut words = vec![program()];
    for number in 0..40 {
        let output = folder.path().join(format!("{number}.pcap"));
        words.extend(["-i".to_owned(), format!("{number}@pcap:,{}", output.display())]);
    }
    let ran = Command::new("sh")
        .args([
            "-c",
            "ulimit -Sn 32; exec \"$0\" run \"$@\"",
            env!("CARGO_BIN_EXE_forebay"),
        ])
        .args(words)
        .output()
        .expect("the shell is there");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn captures_on_a_full_disk_stop_no_packet() {
    let folder = folder();
    capture(&folder.path().join("in.pcap"), 8, 20);
    for (option, capture, file) in [
        ("--pcap", "captures", "captures/port0.pcap"),
        ("--capture", "all", "all"),
    ] {
        let full = folder.path().join(file);
        std::fs::create_dir_all(full.parent().expect("a folder")).expect("a folder");
        std::os::unix::fs::symlink("/dev/full", &full).expect("a folder");
        let option = [option, folder.path().join(capture).to_str().expect("UTF-8")].map(str::to_owned);
        let ran = run(&arguments(folder.path(), ",paced"), &[&option[0], &option[1]]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("is incomplete").count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
        assert_eq!(packets_in(&folder.path().join("out.pcap")), 8, "{}", ran.stderr);
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill is there").success());
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_for_users_end_nothing_and_the_first_shows_statistics() {
    let folder = folder();
    let (output, printed) = (folder.path().join("out.pcap"), folder.path().join("printed"));
    capture(&folder.path().join("in.pcap"), 2, 600_000);
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments(folder.path(), ",paced"))
        .args(["--stats-interval", "0"])
        .stdout(File::create(&printed).expect("a folder"))
        .spawn()
        .expect("the command runs");
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    wait_until("the first packet leaves", || length(&output) > 24);
    assert_eq!(length(&printed), 0, "statistics are off");
    signal(&child, "-USR2");
    signal(&child, "-USR1");
    wait_until("statistics are printed", || length(&printed) > 0);
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_switch_that_nohup_has_started_outlives_its_terminal() {
    let folder = folder();
    let output = folder.path().join("out.pcap");
    capture(&folder.path().join("in.pcap"), 2, 600_000);
    let mut child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments(folder.path(), ",paced"))
        .args(["--stats-interval", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nohup is there");
    wait_until("the first packet leaves", || {
        std::fs::metadata(&output).is_ok_and(|file| file.len() > 24)
    });
    signal(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().expect("it is a child"), None, "it has not ended");
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_damaged_input_is_told_and_is_no_success() {
    let folder = folder();
    let path = folder.path().join("in.pcap");
    capture(&path, 3, 0);
    let whole = std::fs::read(&path).expect("it was made");
    let mut nonsense = whole.clone();
    // The length of the second record.
    nonsense[24 + 76 + 8..][..4].copy_from_slice(&[0xff; 4]);
    for (damaged, packets, place) in [
        (&whole[..whole.len() - 1], 2, "at byte 176"),
        (&nonsense, 1, "at byte 100"),
    ] {
        std::fs::write(&path, damaged).expect("a folder");
        let ran = run(&arguments(folder.path(), ""), &["--json", "--stats-interval", "0"]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
        assert_eq!(packets_in(&folder.path().join("out.pcap")), packets);
        let last: serde_json::Value = serde_json::from_str(ran.stdout.lines().last().expect("a report")).expect("JSON");
        assert_eq!(last["totals"]["sent_packets"], packets);
        assert_eq!(
            (&last["ports"][0]["state"], &last["ports"][1]["state"]),
            (&"down".into(), &"up".into())
        );
    }
}

/// A limit of the size of files stands for a full disk.
#[test]
fn the_counts_of_a_full_disk_agree_with_the_file() {
    let folder = folder();
    capture(&folder.path().join("in.pcap"), 200, 0);
    let ran = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_forebay"),
        ])
        .args(arguments(folder.path(), ""))
        .args(["--json", "--stats-interval", "0"])
        .output()
        .expect("the command runs");
    let message = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{message}");
    assert_eq!(message.matches("cannot write its output").count(), 1, "{message}");
    let written = packets_in(&folder.path().join("out.pcap")) as u64;
    assert!((1..200).contains(&written), "{written}");
    let printed = String::from_utf8_lossy(&ran.stdout);
    let last: serde_json::Value = serde_json::from_str(printed.lines().last().expect("a report")).expect("JSON");
    assert_eq!(last["totals"]["sent_packets"], written);
    assert_eq!(last["totals"]["dropped_packets"], 200 - written);
    assert_eq!(last["ports"][1]["sent_packets"], written);
    assert_eq!(last["ports"][1]["drops"]["port_error"], 200 - written);
}

#[test]
fn there_is_a_weight_for_each_queue() {
    let folder = folder();
    capture(&folder.path().join("in.pcap"), 1, 0);
    let run = |options: &[&str]| run(&arguments(folder.path(), ""), options);
    for (options, says) in [
        (
            &["--queues", "3", "--queue-weights", "1,4"][..],
            "--queues 3 and --queue-weights with 2 values",
        ),
        (
            &["--queues", "2", "--queue-weights", "1,4,5,6"],
            "--queues 2 and --queue-weights with 4 values",
        ),
        (&["--queue-weights", "1,1,1,1,1,1,1,1,1"], "at most 8 queues"),
    ] {
        let ran = run(options);
        assert_eq!(ran.code, 2, "{options:?}");
        assert!(ran.stderr.contains(says), "{options:?}: {}", ran.stderr);
    }
    assert_eq!(run(&["--queues", "2", "--queue-weights", "1,strict"]).code, 0);
    assert_eq!(
        run(&["--queue-weights", "1,4,strict"]).code,
        0,
        "as many queues as weights"
    );
}

#[test]
fn the_help_is_wrapped() {
    let help = forebay(&["run", "--help"]).stdout;
    let longest = help.lines().max_by_key(|line| line.chars().count());
    let longest = longest.expect("there are lines");
    assert!(longest.chars().count() <= 120, "{longest}");
}

#[test]
fn the_help_names_every_kind_of_port() {
    let help = forebay(&["run", "--help"]).stdout;
    for kind in [
        "xdp:",
        "packet:",
        "tap:",
        "pcap:",
        "mem:",
        "loopback:",
        "timer:",
        "SIGUSR1",
        "--force",
    ] {
        assert!(help.contains(kind), "{kind}");
    }
}
