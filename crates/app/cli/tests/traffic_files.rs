//! The tests of `tests/stf/traffic` by `forebay run`: their packets come from capture files, what leaves goes to
//! capture files, and the ports that a test names are the only ones. `docs/simple-switch-behaviour.md` says what each
//! shows.

mod support;

use forebay_entries::{Command, ExpectedPacket, Test};
use forebay_packet::pcap::{TimestampUnit, Writer, read_all};
use std::path::{Path, PathBuf};
use support::{folder, forebay, write};

fn tests() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/stf/traffic");
    let entries = std::fs::read_dir(folder).expect("the corpus");
    let mut tests: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    tests.retain(|path| path.extension().is_some_and(|extension| extension == "stf"));
    tests.sort();
    tests
}

/// The lines that configure a switch; none when some stand behind packets, which `run` takes together.
fn configuration(text: &str, test: &Test) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut configuration, mut packets) = (String::new(), 0);
    for command in &test.commands {
        match command.value {
            Command::Packet { .. } => packets += 1,
            Command::Expect { .. }
            | Command::NoPacket
            | Command::Wait { .. }
            | Command::CheckEntries { .. }
            | Command::CheckCounter { .. } => {}
            _ if packets > 0 => return None,
            _ => configuration += &format!("{}\n", lines[command.line as usize - 1]),
        }
    }
    Some(configuration)
}

fn packets_of(test: &Test, number: u32) -> Vec<&[u8]> {
    let commands = test.commands.iter().map(|command| &command.value);
    let of_port = |command| match command {
        &Command::Packet { port, ref data } if port == number => Some(&data[..]),
        _ => None,
    };
    commands.filter_map(of_port).collect()
}

fn expected_of(test: &Test, number: u32) -> Vec<Option<&ExpectedPacket>> {
    let commands = test.commands.iter().map(|command| &command.value);
    let of_port = |command| match command {
        &Command::Expect { port, ref packet } if port == number => Some(packet.as_ref()),
        _ => None,
    };
    commands.filter_map(of_port).collect()
}

fn write_capture(path: &Path, packets: &[&[u8]]) {
    let mut writer = Writer::new(Vec::new(), TimestampUnit::Nanoseconds).expect("memory");
    for packet in packets {
        writer.write(0, packet, packet.len()).expect("memory");
    }
    std::fs::write(path, writer.output()).expect("a folder");
}

/// What is wrong with the frames that left a port, in any order.
fn difference(mut expected: Vec<Option<&ExpectedPacket>>, sent: &[Vec<u8>]) -> Option<String> {
    // Expectations that accept any packet are compared last.
    expected.sort_by_key(Option::is_none);
    for frame in sent {
        let accepts = |wanted: &Option<&ExpectedPacket>| wanted.is_none_or(|wanted| wanted.accepts(frame));
        match expected.iter().position(accepts) {
            Some(place) => drop(expected.remove(place)),
            None => return Some(format!("has sent {}", forebay_entries::hex(frame))),
        }
    }
    (!expected.is_empty()).then(|| format!("has not sent {} packets", expected.len()))
}

/// Runs a test; none when it cannot be run in this way.
fn failures(path: &Path, folder: &Path) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("a test");
    let test = forebay_entries::parse(&text).expect("STF");
    let entries = write(folder, "entries.stf", &configuration(&text, &test)?);
    let file = |port: u32, direction: &str| folder.join(format!("{port}.{direction}"));
    let mut arguments = vec![
        "run".to_string(),
        path.with_extension("p4").to_string_lossy().into_owned(),
        "--entries".to_string(),
        entries,
        "--stats-interval=0".to_string(),
    ];
    for port in test.ports() {
        write_capture(&file(port, "in"), &packets_of(&test, port));
        let (input, output) = (file(port, "in"), file(port, "out"));
        arguments.push("-i".to_string());
        arguments.push(format!("{port}@pcap:{},{}", input.display(), output.display()));
    }
    let ran = forebay(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}: {}", path.display(), ran.stderr);
    let wrong = test.ports().into_iter().filter_map(|port| {
        let bytes = std::fs::read(file(port, "out")).expect("the switch has made it");
        let sent = read_all(&bytes).expect("a capture file");
        let sent: Vec<Vec<u8>> = sent.iter().map(|packet| packet.data().to_vec()).collect();
        let difference = difference(expected_of(&test, port), &sent)?;
        Some(format!("{}: port {port} {difference}", path.display()))
    });
    Some(wrong.collect())
}

#[test]
fn a_running_switch_does_what_the_tests_expect() {
    let folder = folder();
    let (mut ran, mut wrong) = (0, Vec::new());
    for path in tests() {
        if let Some(failures) = failures(&path, folder.path()) {
            ran += 1;
            wrong.extend(failures);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(ran > 50, "{ran} tests");
}
