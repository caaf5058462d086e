//! pcapng and timelines of `trace`, `test` and `sim`, read by our own reader, and by tshark where it is installed.

use forebay_packet::pcap::{TimestampUnit, Writer, read_all};
use serde_json::Value;
use std::collections::HashMap;
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
    "0200000000fe02000000000108004500002600000000401164c50a0100010a000201000100020012000000000000000000000000";

/// The frame that these hexadecimal digits say.
fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("digits");
    digits.map(byte).collect()
}

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

/// The program drops a packet, then takes that back, and sends it to a port that there is not.
#[test]
fn a_drop_that_was_taken_back_has_no_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let program = "#include <core.p4>\n#include <v1model.p4>\nstruct hs {}\nstruct m {}\n\
        parser P(packet_in p, out hs h, inout m u, inout standard_metadata_t s) { state start { transition accept; } }\n\
        control N(inout hs h, inout m u) { apply {} }\n\
        control I(inout hs h, inout m u, inout standard_metadata_t s) { apply { mark_to_drop(s); s.mcast_grp = 7; s.egress_spec = 3; } }\n\
        control E(inout hs h, inout m u, inout standard_metadata_t s) { apply {} }\n\
        control D(packet_out p, in hs h) { apply {} }\n\
        V1Switch(P(), N(), I(), E(), N(), D()) main;\n";
    std::fs::write(path("back.p4"), program).expect("a file");
    let (program, capture) = (path("back.p4"), path("back.pcapng"));
    forebay(&["trace", &program, "--port", "1", "--hex", FRAME, "--pcapng", &capture]);
    let file = std::fs::read(&capture).expect("a capture");
    let comments = String::from_utf8_lossy(&file);
    assert!(
        comments.contains("drop: ") && !comments.contains("back.p4:"),
        "{comments}"
    );
}

/// A program sends packets to port 2 by the queue that their first byte names.
#[test]
fn what_leaves_has_its_queue() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let program = "#include <core.p4>\n#include <v1model.p4>\nheader b_t { bit<8> queue; bit<8> pad; }\n\
        struct hs { b_t b; }\nstruct m {}\n\
        parser P(packet_in p, out hs h, inout m u, inout standard_metadata_t s) { state start { p.extract(h.b); transition accept; } }\n\
        control N(inout hs h, inout m u) { apply {} }\n\
        control I(inout hs h, inout m u, inout standard_metadata_t s) { apply { s.egress_spec = 2; s.priority = h.b.queue[2:0]; } }\n\
        control E(inout hs h, inout m u, inout standard_metadata_t s) { apply {} }\n\
        control D(packet_out p, in hs h) { apply { p.emit(h); } }\n\
        V1Switch(P(), N(), I(), E(), N(), D()) main;\n";
    std::fs::write(path("queues.p4"), program).expect("a file");
    std::fs::write(
        path("queues.stf"),
        "packet 1 0500\nexpect 2 0500\npacket 1 0000\nexpect 2 0000\n",
    )
    .expect("a file");
    forebay(&["test", &path("queues.p4"), &path("queues.stf"), "--pcapng", &path("")]);
    let files = std::fs::read_dir(folder.path()).expect("a folder");
    let mut files = files.map(|file| file.expect("a file").path());
    let file = files.find(|file| file.extension().is_some_and(|kind| kind == "pcapng"));
    let expected = [None, Some(5), None, Some(0)];
    assert_eq!(
        queues_of(&std::fs::read(file.expect("a capture")).expect("a file")),
        expected
    );

    std::fs::write(path("in.pcap"), pcap(&[vec![5, 0], vec![0, 0]])).expect("a file");
    let (from, to) = (
        format!("1@pcap:{},", path("in.pcap")),
        format!("2@pcap:,{}", path("out.pcap")),
    );
    forebay(&[
        "run",
        &path("queues.p4"),
        "--capture",
        &path("run.pcapng"),
        "-i",
        &from,
        "-i",
        &to,
    ]);
    assert_eq!(queues_of(&std::fs::read(path("run.pcapng")).expect("a file")), expected);
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

/// A capture file with these frames.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, TimestampUnit::Nanoseconds).expect("memory");
    for (frame, time) in frames.iter().zip(0..) {
        writer.write(time, frame, frame.len()).expect("memory");
    }
    file
}

#[test]
fn a_switch_captures_what_became_of_every_packet() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let routed = bytes(FRAME);
    // Without a route to it: 192.0.2.1.
    let mut unknown = routed.clone();
    unknown[24..26].copy_from_slice(&[0xae, 0xc4]);
    unknown[30..34].copy_from_slice(&[192, 0, 2, 1]);
    std::fs::write(
        path("in.pcap"),
        pcap(&[routed.clone(), unknown.clone(), routed.clone()]),
    )
    .expect("a file");
    forebay(&[
        "run",
        "programs/l3fwd/l3fwd.p4",
        "--entries",
        "programs/l3fwd/entries.stf",
        "--capture",
        &path("all.pcapng"),
        "-i",
        &format!("1@pcap:{},", path("in.pcap")),
        "-i",
        &format!("2@pcap:,{}", path("out.pcap")),
        "-i",
        &format!("3@pcap:,{}", path("third.pcap")),
    ]);
    let read = |name: &str| read_all(&std::fs::read(path(name)).expect("a file")).expect("a capture");
    let captured = read("all.pcapng");
    let left: Vec<Vec<u8>> = ["out.pcap", "third.pcap"]
        .iter()
        .flat_map(|name| read(name))
        .map(|packet| packet.data().to_vec())
        .collect();
    let count = |frame: &[u8]| captured.iter().filter(|packet| packet.data() == frame).count();
    assert_eq!((count(&routed), count(&unknown)), (2, 1), "what entered");
    assert_eq!(captured.len(), 3 + left.len());
    assert!(
        !left.is_empty() && left.iter().all(|frame| count(frame) == left.len()),
        "what left"
    );
    let Some(found) = fields(
        Path::new(&path("all.pcapng")),
        &["frame.packet_id", "frame.interface_name", "frame.comment"],
    ) else {
        return;
    };
    let of = |id: &str| found.iter().filter(|packet| packet[0] == id).collect::<Vec<_>>();
    assert_eq!((of("1").len(), of("2").len(), of("3").len()), (2, 1, 2), "{found:?}");
    assert!(of("2")[0][2].contains("drop: ingress_drop l3fwd.p4:"), "{found:?}");
}

/// Each drop of traffic without a route has its line. The reference executor gives the results of machine code.
#[test]
fn drops_of_a_simulation_have_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let program = root().join("programs/l3fwd/l3fwd.p4");
    let scenario = format!(
        "description = \"No route\"
duration_us = 20
[[chip]]
name = \"switch\"
spec = \"tofino\"
program = {program:?}
[[traffic]]
name = \"in\"
to = [\"switch:1\", \"switch:2\"]
gbps = 10
frame = {{ udp = {{ bytes = 256 }} }}
"
    );
    std::fs::write(path("scenario.toml"), scenario).expect("a file");
    let (scenario, capture) = (path("scenario.toml"), path("all.pcapng"));
    let recorded = forebay(&["sim", &scenario, "--ignore-fit", "--json", "--pcapng", &capture]);
    let file = std::fs::read(&capture).expect("a file");
    let packets = read_all(&file).expect("a capture").len();
    let comments = String::from_utf8_lossy(&file);
    let (drops, with_line) = (
        comments.matches("drop: ").count(),
        comments.matches("drop: ingress_drop l3fwd.p4:").count(),
    );
    assert!(packets > 10, "{packets}");
    assert_eq!((drops, with_line), (packets, packets));
    let compiled = forebay(&["sim", &scenario, "--ignore-fit", "--json"]);
    assert_eq!(compiled.stdout, recorded.stdout);
}

/// Packets go round until their first byte is 160 or more.
const ROUNDS: &str = "#include <core.p4>
#include <v1model.p4>
header b_t { bit<8> v; }
struct h_t { b_t b; }
struct m_t { @field_list(0) bit<8> round; }
parser P(packet_in p, out h_t h, inout m_t m, inout standard_metadata_t s) {
    state start { p.extract(h.b); transition accept; }
}
control V(inout h_t h, inout m_t m) { apply {} }
control I(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply { s.egress_spec = 2; } }
control E(inout h_t h, inout m_t m, inout standard_metadata_t s) {
    apply {
        if (h.b.v < 160) {
            h.b.v = h.b.v + 40;
            recirculate_preserving_field_list(0);
        }
    }
}
control D(packet_out p, in h_t h) { apply { p.emit(h.b); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

/// The first bytes of all packets that a switch with these options captures, when it gets packets that begin with
/// `first`.
fn first_bytes(first: &[u8], options: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("rounds.p4"), ROUNDS).expect("a file");
    let frames: Vec<Vec<u8>> = first.iter().map(|byte| vec![*byte; 60]).collect();
    std::fs::write(path("in.pcap"), pcap(&frames)).expect("a file");
    let (program, capture) = (path("rounds.p4"), path("all.pcapng"));
    let (input, output) = (
        format!("0@pcap:{},", path("in.pcap")),
        format!("2@pcap:,{}", path("out.pcap")),
    );
    let command = ["run", &program, "-i", &input, "-i", &output, "--capture", &capture];
    forebay(&[&command[..], options].concat());
    let captured = read_all(&std::fs::read(capture).expect("a file")).expect("a capture");
    captured.iter().map(|packet| packet.data()[0]).collect()
}

#[test]
fn what_leaves_stands_behind_the_packet_that_has_gone_round() {
    assert_eq!(first_bytes(&[0, 1, 2], &[]), [0, 160, 1, 161, 2, 162]);
}

#[test]
fn what_has_waited_in_a_queue_is_captured_too() {
    let mut found = first_bytes(&[200, 201, 202, 203], &["--queue-rate", "200"]);
    found.sort_unstable();
    assert_eq!(found, [200, 200, 201, 201, 202, 202, 203, 203]);
}

/// Slices that Perfetto drops, and ends of arrows that it joins with none. Its rules: times are whole nanoseconds, cut
/// in some versions and rounded in others; a slice that begins within another of its thread must end with it or before;
/// the end of an arrow belongs to a slice of its thread at its time.
fn lost_in_perfetto(events: &[Value]) -> (usize, usize) {
    let cut = |microseconds: f64| (microseconds * 1e3) as u64;
    let rounded = |microseconds: f64| (microseconds * 1e3).round() as u64;
    let lost = [cut as fn(f64) -> u64, rounded].map(|read| lost_when_read(events, read));
    lost.into_iter().max().expect("two ways")
}

fn lost_when_read(events: &[Value], read: fn(f64) -> u64) -> (usize, usize) {
    let time = |event: &Value, key: &str| read(event[key].as_f64().expect("a time"));
    let mut order: Vec<&Value> = events
        .iter()
        .filter(|event| event["ph"] != "M" && event["ph"] != "C")
        .collect();
    order.sort_by_key(|event| time(event, "ts"));
    let mut open: HashMap<u64, Vec<u64>> = HashMap::new();
    let (mut dropped, mut loose) = (0, 0);
    for event in order {
        let (now, stack) = (
            time(event, "ts"),
            open.entry(event["tid"].as_u64().expect("a thread")).or_default(),
        );
        if event["ph"] != "X" {
            loose += usize::from(stack.is_empty());
            continue;
        }
        while stack.last().is_some_and(|end| *end <= now) {
            stack.pop();
        }
        let end = now + time(event, "dur");
        if stack.iter().all(|other| end <= *other) {
            stack.push(end)
        } else {
            dropped += 1
        }
    }
    (dropped, loose)
}

/// The queue of each frame in a capture, as its option `epb_queue` has it.
fn queues_of(file: &[u8]) -> Vec<Option<u32>> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let half = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let (mut at, mut queues) = (0, Vec::new());
    while at < file.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        if kind == ENHANCED_PACKET {
            let mut option = at + 28 + (word(at + 20) as usize).next_multiple_of(4);
            let mut queue = None;
            while option < at + length - 4 && half(option) != 0 {
                if half(option) == QUEUE_OPTION {
                    queue = Some(word(option + 4));
                }
                option += 4 + half(option + 2).next_multiple_of(4);
            }
            queues.push(queue);
        }
        at += length;
    }
    queues
}

/// Numbers of a block and an option of pcapng.
const ENHANCED_PACKET: u32 = 6;
const QUEUE_OPTION: usize = 6;

#[test]
fn a_simulation_is_recorded_packet_by_packet() {
    let folder = tempfile::tempdir().expect("a folder");
    let (frames, timeline) = (folder.path().join("sim.pcapng"), folder.path().join("sim.json"));
    let (frames_path, timeline_path) = (
        frames.to_string_lossy().into_owned(),
        timeline.to_string_lossy().into_owned(),
    );
    // A published table at a load at which packets wait, with samples of the buffer.
    let published = root().join("experiments/table-4");
    let text = std::fs::read_to_string(published.join("scenario.toml")).expect("a scenario");
    let text = text.replace("../../", &format!("{}/", root().to_string_lossy()));
    let text = text.replace("\"group_", &format!("\"{}/group_", published.to_string_lossy()));
    let sampled = format!(
        "{}\n[measure]\nsample_us = 1\n",
        text.replace("gbps = 10\n", "gbps = 100\n")
    );
    let scenario_path = folder.path().join("scenario.toml");
    std::fs::write(&scenario_path, sampled).expect("a file");
    let scenario_path = scenario_path.to_string_lossy().into_owned();
    let scenario = [
        "sim",
        &scenario_path,
        "--set",
        "N=2",
        "--set",
        "S=22",
        "--set",
        "TRIAL=5",
    ];
    let departures = folder.path().join("departures.csv");
    let departures_path = departures.to_string_lossy().into_owned();
    let outputs = [
        "--pcapng",
        &frames_path,
        "--timeline",
        &timeline_path,
        "--departures",
        &departures_path,
    ];
    let recorded = [&scenario[..], &outputs].concat();
    let plain = forebay(&scenario).stdout;
    assert_eq!(forebay(&recorded).stdout, plain, "recording changes nothing");
    let read = read_all(&std::fs::read(&frames).expect("a file")).expect("pcapng");
    assert!(read.len() > 10);
    let left = std::fs::read_to_string(&departures).expect("departures");
    assert!(left.lines().count() > 5, "{left}");
    let document: Value = serde_json::from_slice(&std::fs::read(&timeline).expect("a file")).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    for part in ["parser", "ingress", "queue 0", "egress", "wire"] {
        assert!(names.iter().any(|name| name.ends_with(part)), "{part}: {names:?}");
    }
    assert!(events.iter().any(|event| event["ph"] == "s"), "arrows");
    assert_eq!(lost_in_perfetto(events), (0, 0), "slices, ends of arrows");
    let queues = queues_of(&std::fs::read(&frames).expect("a file"));
    let has_left = queues.iter().filter(|queue| **queue == Some(0)).count();
    assert!(
        has_left > 0 && has_left < queues.len(),
        "frames that leave have waited in a queue, those that come have not"
    );
    let of = |name: &str| -> Vec<u64> {
        let counter = events
            .iter()
            .filter(|event| event["ph"] == "C" && event["name"] == name);
        counter.filter_map(|event| event["args"]["value"].as_u64()).collect()
    };
    let waiting = events
        .iter()
        .filter(|event| event["ph"] == "C" && event["name"].as_str().is_some_and(|name| name.ends_with("(packets)")));
    let waiting = waiting.filter_map(|event| event["args"]["value"].as_u64()).max();
    assert!(waiting > Some(1), "packets that wait overlap: {waiting:?}");
    let (bytes, cells) = (of("buffer (bytes)"), of("buffer (cells)"));
    assert!(cells.iter().any(|cells| *cells > 0), "{cells:?}");
    // A cell of the chip has 80 bytes.
    assert_eq!(bytes, cells.iter().map(|cells| 80 * cells).collect::<Vec<_>>());
    if let Some(found) = fields(&frames, &["frame.packet_id"]) {
        assert_eq!(found.len(), read.len());
    }
}
