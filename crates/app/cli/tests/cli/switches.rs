//! Switches that run.

use crate::support::{folder, forebay, program, write};
use crate::{capture, capture_at};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_switch_between_capture_files() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0, 1, 7], &[0, 1, 8], &[7, 1], &[1, 0]]);
    let output = folder.path().join("out.pcap").to_string_lossy().into_owned();
    let entries = write(
        folder.path(),
        "entries.stf",
        "packet 0 00\nadd choose argument:0x01 forward(port:1)\n",
    );
    let ports = [format!("0@pcap:{input}"), format!("1@pcap:,{output}")];
    let ran = forebay(&[
        "run",
        &program(),
        "-i",
        &ports[0],
        "-i",
        &ports[1],
        "--entries",
        &entries,
        "--stats-interval",
        "0",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("ingress_drop 1"), "{}", ran.stdout);
    let totals = "4 packets received, 0 copies made, 3 sent, 1 dropped\n";
    assert!(ran.stdout.contains(totals), "{}", ran.stdout);
    assert_eq!(
        std::fs::read(output).expect("the output").len(),
        24 + 3 * 16 + 3 + 3 + 2
    );
}

/// A run can be repeated, with another engine too, though its program draws random numbers.
#[test]
fn a_seed_makes_random_numbers_the_same() {
    let folder = folder();
    let frame = [0; 60];
    let input = capture(folder.path(), "in.pcap", &[&frame[..]; 100]);
    let drawing = include_str!("../save_state.p4").replace(
        "addresses.apply();",
        "random(hdr.ethernet.dst_addr, 48w0, 48w0xFFFFFFFFFFFF); standard_metadata.egress_spec = 1;",
    );
    let program = write(folder.path(), "drawing.p4", &drawing);
    let sent = |options: &[&str]| {
        let output = folder.path().join("out.pcap").to_string_lossy().into_owned();
        let ports = [format!("0@pcap:{input}"), format!("1@pcap:,{output}")];
        let common = [
            "run",
            &program,
            "-i",
            &ports[0],
            "-i",
            &ports[1],
            "--stats-interval",
            "0",
        ];
        let ran = forebay(&[&common[..], options].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        // Records of 16 and 60 bytes, which begin with the time.
        let records = std::fs::read(output).expect("the output").split_off(24);
        let frames = records.chunks(76).flat_map(|record| record[16..].to_vec());
        frames.collect::<Vec<u8>>()
    };
    let first = sent(&["--seed", "7"]);
    assert_eq!(first, sent(&["--seed", "7"]));
    assert_eq!(first, sent(&["--seed", "7", "--engine", "interp"]));
    assert_ne!(first, sent(&["--seed", "8"]));
}

/// Several workers, few and short queues: the reports about them, and that every loss has a named counter.
#[test]
fn a_switch_with_workers_and_queues() {
    let folder = folder();
    let frames: Vec<[u8; 3]> = (0..200).map(|number| [9, number % 8, number]).collect();
    let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
    let input = capture(folder.path(), "in.pcap", &frames);
    let output = folder.path().join("out.pcap").to_string_lossy().into_owned();
    let ports = [format!("0@pcap:{input}"), format!("1@pcap:,{output}")];
    let ran = forebay(&[
        "run",
        &program(),
        "-i",
        &ports[0],
        "-i",
        &ports[1],
        "--workers",
        "3",
        "--rss",
        "h.argument",
        "--queues",
        "2",
        "--queue-weights",
        "1,strict",
        "--queue-depth",
        "64",
        "--json",
        "--stats-interval",
        "0",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let last: serde_json::Value = serde_json::from_str(ran.stdout.trim()).expect("JSON");
    let totals = &last["totals"];
    assert_eq!(
        (&totals["received_packets"], &totals["sent_packets"]),
        (&200.into(), &200.into())
    );
    let queues = last["queues"].as_array().expect("a list");
    let taken: Vec<_> = queues.iter().map(|queue| queue["taken_packets"].as_u64()).collect();
    assert_eq!(taken, [Some(25), Some(175)], "{queues:?}");
    assert_eq!(last["tables"][0]["entries"], 0);
    assert_eq!(last["ports"][1]["sent_packets"], 200);
    assert_eq!(std::fs::read(output).expect("the output").len(), 24 + 200 * (16 + 3));
}

#[test]
fn a_running_switch_stops_on_a_signal() {
    let folder = folder();
    let hour_long = capture_at(folder.path(), "in.pcap", &[(1, &[0, 1]), (3601, &[0, 1])]);
    let port = format!("0@pcap:{hour_long},,paced");
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["run", &program(), "-i", &port, "--json", "--stats-interval", "0.01"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut first_line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut stdout, &mut first_line).expect("a line");
    let json: serde_json::Value = serde_json::from_str(&first_line).expect("JSON");
    assert_eq!(json["ports"][0]["port"], 0);
    assert!(
        child.try_wait().expect("it can be asked").is_none(),
        "it runs until it is told to stop"
    );
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(killed.success());
    std::io::copy(&mut stdout, &mut std::io::sink()).expect("the rest");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_running_switch_captures_its_ports() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0, 1, 7]]);
    let captures = folder.path().join("captures").to_string_lossy().into_owned();
    let port = format!("0@pcap:{input}");
    let ran = forebay(&[
        "run",
        &program(),
        "-i",
        &port,
        "-i",
        "1@pcap:,/dev/null",
        "--pcap",
        &captures,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for port in ["port0.pcap", "port1.pcap"] {
        let length = std::fs::metadata(Path::new(&captures).join(port))
            .expect("a capture")
            .len();
        assert_eq!(length, 24 + 16 + 3, "{port}");
    }
}

#[test]
fn a_capture_does_not_empty_the_input_of_a_port() {
    let folder = folder();
    let input = capture(folder.path(), "port0.pcap", &[&[0, 1, 7]]);
    let content = std::fs::read(&input).expect("the input");
    let (source, port) = (program(), format!("0@pcap:{input}"));
    let captures = folder.path().to_string_lossy().into_owned();
    let arguments = ["run", source.as_str(), "-i", port.as_str()];
    for options in [["--pcap", captures.as_str()], ["--capture", input.as_str()]] {
        let ran = forebay(&[&arguments[..], &options].concat());
        assert_eq!(ran.code, 2, "{options:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("would empty a file of port 0@pcap:"),
            "{}",
            ran.stderr
        );
        assert_eq!(std::fs::read(&input).expect("the input"), content, "{options:?}");
    }
}

#[test]
fn passes_after_the_first_one_are_counted() {
    let folder = folder();
    // A program that also resubmits: recirculated packets of others may take the fast path once it is compiled.
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/stf/psa/resubmit_after_recirculation.p4"
    );
    let packets: Vec<&[u8]> = vec![&[0, 1, 2, 3], &[1, 1, 2, 3], &[3, 1, 2, 3]];
    let input = format!("1@pcap:{},", capture(folder.path(), "in.pcap", &packets));
    let arguments = ["run", program, "-i", &input, "-i", "2@mem:", "-i", "3@mem:"];
    let ran = forebay(&arguments);
    let expected = "; further passes: 3 of resubmitted and 3 of recirculated packets, 0 of them on the fast path\n";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    let ran = forebay(&[&arguments[..], &["--json", "--stats-interval", "0"]].concat());
    let last = ran.stdout.lines().last().expect("a line");
    let report: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let expected = serde_json::json!({ "resubmitted": 3, "recirculated": 3, "fast": 0 });
    assert_eq!(report["paths"]["further_passes"], expected);
}

#[test]
fn the_fast_path_is_counted_and_so_is_what_leaves_it() {
    let folder = folder();
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/slow_path/copies_and_digests.p4"
    );
    let packets: Vec<&[u8]> = vec![&[1, 0, 0], &[1, 1, 0], &[1, 2, 0], &[1]];
    let input = capture(folder.path(), "in.pcap", &packets);
    let arguments = [
        "run",
        program,
        "-i",
        &format!("1@pcap:{input},"),
        "-i",
        "2@mem:",
        "--json",
    ];
    let ran = forebay(&[&arguments[..], &["--stats-interval", "0"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let last = ran.stdout.lines().last().expect("a line");
    let report: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let sum = |value: &serde_json::Value| -> u64 {
        let counts = value.as_object().expect("an object").values();
        counts.map(|count| count.as_u64().expect("a number")).sum()
    };
    let paths = &report["paths"];
    assert_eq!(
        sum(&paths["fast_packets"]) + sum(&paths["slow_packets"]),
        4,
        "each packet once: {paths}"
    );
    let kinds = report["slow_path"].as_array().expect("a list");
    assert!(kinds.iter().all(|obstacle| obstacle["kind"] == "leaves"), "{kinds:?}");
    let ran = forebay(&[&arguments[..6], &["--engine", "interp"]].concat());
    let expected = "packets on the fast path: 0; on the slow path: 4 (4 of a program without a fast path)";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
}

#[test]
fn a_configuration_file_has_the_options_of_run() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0, 3, 9]]);
    let config = |more: &str| {
        let text = format!(
            "program = {:?}\ninterfaces = [{:?}, \"3@mem:\"]\nstats-interval = 0\n{more}\n",
            program(),
            format!("0@pcap:{input},")
        );
        write(folder.path(), "switch.toml", &text)
    };
    let ran = forebay(&["run", "--config", &config("json = true")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["totals"]["sent_packets"], 1);
    let ran = forebay(&["run", "--config", &config("log-format = \"json\"\nworkers = 0")]);
    assert_eq!(ran.code, 2);
    let path = config("log-format = \"json\"\nlog = \"info\"\nqueues = 3\nqueue-weights = \"1\"");
    let ran = forebay(&["run", "--config", &path]);
    assert_eq!(ran.code, 2);
    let message: serde_json::Value = serde_json::from_str(&ran.stderr).expect("a message as JSON");
    assert_eq!(message["level"], "error");
    let path = config("wrokers = 2");
    let ran = forebay(&["run", "--config", &path]);
    assert_eq!(ran.code, 2);
    let expected = format!("error: {path}:4: `forebay run` has no option `wrokers`; did you mean `workers`?\n");
    assert_eq!(ran.stderr, expected);
    let path = config("workers = \"two\"");
    let ran = forebay(&["run", "--config", &path]);
    let expected = format!("error: {path}:4: `workers`: invalid value 'two': expected a whole number\n");
    assert_eq!(ran.stderr, expected);
}

#[test]
fn ports_of_interfaces_and_of_controllers_differ() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");
    let words = [
        "run",
        program,
        "-i",
        "7@mem:",
        "--cpu-port",
        "7",
        "--grpc",
        "127.0.0.1:0",
        "--duration",
        "0.1",
    ];
    let ran = forebay(&words);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("port 7 is an interface's, and that of the controllers"),
        "{}",
        ran.stderr
    );
}

/// Port forwarding has no header for controllers, and here no controller either.
#[test]
fn a_port_for_controllers_is_explained() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");
    let said = |more: &[&str]| {
        let words = ["run", program, "-i", "1@mem:", "--duration", "0.1", "--cpu-port", "7"];
        let ran = forebay(&[&words[..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr
    };
    let expected = "warning: --cpu-port 7 has no effect: no controller can be connected without --grpc or --thrift\n";
    let stderr = said(&[]);
    assert!(stderr.contains(expected), "{stderr}");
    let expected = "note: port 7 of the controllers: the program has no header with @controller_header";
    let stderr = said(&["--grpc", "127.0.0.1:0"]);
    assert!(stderr.contains(expected), "{stderr}");
}
