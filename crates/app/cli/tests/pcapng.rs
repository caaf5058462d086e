//! pcapng and timelines of `trace`, `test` and `sim`, read by our own reader, and by tshark where it is installed.

use forebay_packet::pcap::read_all;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn forebay(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments)
        .current_dir(root())
        .output();
    let output = command.expect("forebay runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    output
}

/// Fields of every packet as tshark reads them; none where it is not installed.
fn fields(file: &Path, names: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-T", "fields"]);
    names.iter().for_each(|name| {
        command.args(["-e", name]);
    });
    let output = command.output().ok()?;
    assert!(
        output.status.success(),
        "tshark: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(
        text.lines()
            .map(|line| line.split('\t').map(str::to_string).collect())
            .collect(),
    )
}

const FRAME: &str =
    "0200000000fe0200000000010800450000260000000040116c9d0a0100010a000201000100020012000000000000000000000000";

#[test]
fn a_dropped_packet_names_the_line_that_drops_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.pcapng");
    let path = file.to_string_lossy().into_owned();
    forebay(&[
        "trace",
        "programs/l3fwd/l3fwd.p4",
        "--port",
        "1",
        "--hex",
        FRAME,
        "--pcapng",
        &path,
    ]);
    assert_eq!(
        read_all(&std::fs::read(&file).expect("a file")).expect("pcapng").len(),
        1
    );
    let Some(found) = fields(&file, &["frame.interface_name", "frame.packet_id", "frame.comment"]) else {
        return;
    };
    assert_eq!(found.len(), 1);
    assert_eq!(found[0][..2], ["port 1".to_string(), "1".to_string()]);
    assert!(found[0][2].contains("drop: ingress_drop l3fwd.p4:"), "{found:?}");
}

#[test]
fn a_packet_and_what_is_made_of_it_have_one_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_string_lossy().into_owned();
    forebay(&["test", "programs/l3fwd/l3fwd.p4", "--pcapng", &path]);
    let file = std::fs::read_dir(folder.path())
        .expect("a folder")
        .next()
        .expect("a file")
        .expect("a file")
        .path();
    assert!(
        !read_all(&std::fs::read(&file).expect("a file"))
            .expect("pcapng")
            .is_empty()
    );
    let Some(found) = fields(&file, &["frame.packet_id", "frame.p2p_dir", "frame.interface_name"]) else {
        return;
    };
    let of = |id: &str| found.iter().filter(|packet| packet[0] == id).count();
    assert!(found.iter().any(|packet| of(&packet[0]) == 2), "in and out: {found:?}");
}

#[test]
fn a_simulation_is_recorded_packet_by_packet() {
    let folder = tempfile::tempdir().expect("a folder");
    let (frames, timeline) = (folder.path().join("sim.pcapng"), folder.path().join("sim.json"));
    let (frames_path, timeline_path) = (
        frames.to_string_lossy().into_owned(),
        timeline.to_string_lossy().into_owned(),
    );
    let scenario = [
        "sim",
        "experiments/table-4/scenario.toml",
        "--set",
        "N=2",
        "--set",
        "S=22",
        "--set",
        "TRIAL=5",
    ];
    let recorded = [&scenario[..], &["--pcapng", &frames_path, "--timeline", &timeline_path]].concat();
    let plain = forebay(&scenario).stdout;
    assert_eq!(forebay(&recorded).stdout, plain, "recording changes nothing");
    let read = read_all(&std::fs::read(&frames).expect("a file")).expect("pcapng");
    assert!(read.len() > 10);
    let document: Value = serde_json::from_slice(&std::fs::read(&timeline).expect("a file")).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    for part in ["ingress", "queue", "egress", "wire"] {
        assert!(names.iter().any(|name| name.ends_with(part)), "{part}: {names:?}");
    }
    assert!(events.iter().any(|event| event["ph"] == "s"), "arrows");
    if let Some(found) = fields(&frames, &["frame.packet_id"]) {
        assert_eq!(found.len(), read.len());
    }
}
