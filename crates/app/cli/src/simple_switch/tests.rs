//! Command lines of BMv2, and the list of its options in `docs/simple-switch.md`.

use super::*;
use clap::CommandFactory;

const DOCUMENT: &str = include_str!("../../../../../docs/simple-switch.md");

#[derive(Parser)]
#[command(name = "forebay simple-switch")]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn task(kind: Kind, line: &str) -> Result<Task, String> {
    let words = line.split(' ').filter(|word| !word.is_empty());
    let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
    read(&line.arguments, kind).map_err(|error| error.to_string())
}

fn plan_as(kind: Kind, line: &str) -> Plan {
    match task(kind, line) {
        Ok(Task::Run(plan)) => *plan,
        other => panic!("{line}: {other:?}"),
    }
}

fn plan(line: &str) -> Plan {
    plan_as(Kind::Grpc, line)
}

fn translated(line: &str) -> String {
    plan(line).lines.words.join(" ")
}

fn refusal(line: &str) -> String {
    task(Kind::Grpc, line).expect_err(line)
}

#[test]
fn a_line_of_mininet() {
    let line = "simple_switch_grpc -i 1@s1-eth1 -i 2@s1-eth2 --pcap pcaps --nanolog ipc:///tmp/bm-0-log.ipc --device-id 1 \
                program.json --debugger --log-console --thrift-port 9091 -- --grpc-server-addr 0.0.0.0:50051 --cpu-port \
                255 --priority-queues 3";
    let plan = plan(line);
    assert_eq!(
        plan.lines.words.join(" "),
        "forebay run --grpc 0.0.0.0:50051 --device-id 1 --stats-interval 0 --queue-depth 64 -i 1@shared:s1-eth1 -i 2@shared:s1-eth2 --cpu-port 255 \
         --queues 3 --thrift 0.0.0.0:9091 program.json"
    );
    assert_eq!(plan.captures, Some(PathBuf::from("pcaps")));
    assert!(!plan.wants_thrift);
    assert!(plan.log.is_some());
    assert_eq!(plan.lines.notes.len(), 2, "{:?}", plan.lines.notes);
}

#[test]
fn without_a_program() {
    let expected = "forebay run --grpc 0.0.0.0:9559 --device-id 0 --stats-interval 0 --queue-depth 64 -i 1@shared:a";
    assert_eq!(translated("simple_switch_grpc --no-p4 -i 1@a -L debug"), expected);
    assert!(refusal("simple_switch_grpc -i 1@a").contains("--no-p4"));
}

#[test]
fn without_ports() {
    let served = "forebay run --grpc 0.0.0.0:9559 --device-id 0 --stats-interval 0 --queue-depth 64 l3.json";
    assert_eq!(translated("simple_switch_grpc l3.json"), served);
    let Ok(Task::Run(plan)) = task(Kind::Plain, "simple_switch l3.json") else {
        panic!("BMv2 starts without ports");
    };
    assert!(matches!(plan.lines.notes[0], Note::Changed("-i", _)));
}

#[test]
fn ports_may_follow_one_another() {
    let expected = "forebay run --grpc 0.0.0.0:9559 --device-id 0 --stats-interval 0 --queue-depth 64 -i 2@shared:veth2 -i 3@shared:veth4 -i 4@shared:veth6 l3.json";
    for line in [
        "x -i 2@veth2 3@veth4 4@veth6 l3.json",
        "x -i2@veth2 3@veth4 l3.json 4@veth6",
        "x --interface=2@veth2 --interf 3@veth4 4@veth6 l3.json",
    ] {
        assert_eq!(translated(line), expected, "{line}");
    }
    assert!(refusal("x -i 1@a one.json two.json").contains("there is one program"));
}

#[test]
fn the_folder_of_captures_may_be_left_out() {
    for line in [
        "x -i 1@a --pcap l3.json",
        "x --pcap 1@a l3.json",
        "x -i 1@a l3.json --pcap",
    ] {
        let plan = plan(line);
        assert_eq!(plan.captures, Some(PathBuf::from(".")), "{line}");
        let words = plan.lines.words.join(" ");
        assert!(words.ends_with("-i 1@shared:a l3.json"), "{words}");
    }
}

#[test]
fn the_name_decides_about_grpc() {
    let plain = plan_as(Kind::Plain, "simple_switch -i 1@a l3.json");
    assert_eq!(
        plain.lines.words.join(" "),
        "forebay run --stats-interval 0 --queue-depth 64 -i 1@shared:a l3.json"
    );
    let asked = plan_as(Kind::Plain, "simple_switch -i 1@a l3.json -- --grpc-server-addr :7");
    assert!(
        asked.lines.words.join(" ").contains("--grpc *:7 "),
        "{:?}",
        asked.lines.words
    );
    assert_eq!(plan("x --no-grpc -i 1@a l3.json").lines.words, plain.lines.words);
    assert!(
        task(Kind::Plain, "simple_switch --no-p4")
            .unwrap_err()
            .contains("no controller could push")
    );
    assert_eq!(Kind::of_name("/usr/bin/simple_switch"), Some(Kind::Plain));
    assert_eq!(Kind::of_name("simple_switch_grpc"), Some(Kind::Grpc));
    assert_eq!(Kind::of_name("target/debug/forebay"), None);
}

#[test]
fn files_in_place_of_interfaces() {
    let plan = plan("x --use-files 2 -i 1@a -i 2@b --pcap . l3.json");
    let words = plan.lines.words.join(" ");
    assert!(
        words.ends_with("-i 1@pcap:a_in.pcap,a_out.pcap,merged -i 2@pcap:b_in.pcap,b_out.pcap,merged l3.json"),
        "{words}"
    );
    assert_eq!((plan.delay, plan.captures), (Duration::from_secs(2), None));
}

#[test]
fn certificates() {
    let ssl = "x --no-p4 -- --grpc-server-ssl --grpc-server-cert c --grpc-server-key k";
    assert!(translated(ssl).ends_with("--grpc-cert c --grpc-key k"));
    let mutual = format!("{ssl} --grpc-server-cacert ca --grpc-server-with-client-auth");
    assert!(translated(&mutual).ends_with("--grpc-cert c --grpc-key k --grpc-client-ca ca"));
    assert!(refusal("x --no-p4 -- --grpc-server-ssl").contains("needs --grpc-server-cert"));
    assert!(refusal(&format!("{ssl} --grpc-server-with-client-auth")).contains("needs --grpc-server-cacert"));
    assert_eq!(plan(&format!("{ssl} --grpc-server-cacert ca")).lines.notes.len(), 1);
}

#[test]
fn logs() {
    let log = |line: &str| plan(line).log;
    assert!(log("x --no-p4").is_none() && log("x --no-p4 --log-console -L off").is_none());
    let file = log("x --no-p4 --log-file f -Linfo --dump-packet-data 20 --log-flush").unwrap();
    assert_eq!((file.level, file.dump_bytes), (Level::Info, 20));
    assert!(matches!(
        file.destination,
        Destination::File(FileOptions {
            flush: true,
            max_bytes: 5_242_880,
            ..
        })
    ));
    assert!(refusal("x --no-p4 --log-console -L loud").contains("loud"));
    assert!(refusal("x --no-p4 --log-console --log-file f").contains("one of them"));
    assert!(refusal("x --no-p4 --log-file f --log-file-max-size 0").contains("--log-file-max-size"));
}

/// A row of the document: the option with a value, whether it stands after `--`, and what becomes of it.
struct Row {
    option: String,
    is_behind: bool,
    fate: String,
}

fn rows() -> Vec<Row> {
    let behind = DOCUMENT.find("## Behind").expect("the heading");
    let end = DOCUMENT.find("## The log").expect("the heading");
    let lines = DOCUMENT[..end].match_indices("\n| `--");
    let rows = lines.map(|(offset, _)| {
        let line = DOCUMENT[offset + 1..].lines().next().unwrap_or_default();
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        Row {
            option: cells[0].split('`').nth(1).unwrap_or_default().to_string(),
            is_behind: offset > behind,
            fate: cells[1].to_string(),
        }
    });
    rows.collect()
}

impl Row {
    fn name(&self) -> &str {
        self.option.split(' ').next().unwrap_or_default()
    }

    /// A command line with the option.
    fn line(&self) -> String {
        let values = [
            ("PORT@INTERFACE", "1@veth1"),
            ("PORT", "9090"),
            ("SECONDS", "1"),
            ("BYTES", "20"),
            ("LEVEL", "debug"),
            (
                "ADDRESS",
                if self.name() == "--grpc-server-addr" {
                    ":1"
                } else {
                    "ipc:///tmp/x"
                },
            ),
            ("[DIR]", "."),
            ("N", "3"),
        ];
        let (name, value) = self.option.split_once(' ').unwrap_or((&self.option, ""));
        let value = values
            .iter()
            .find(|(written, _)| *written == value)
            .map_or(value, |(_, value)| value);
        let log = if name == "--log-console" || self.is_behind {
            ""
        } else {
            "--log-file log"
        };
        let log = if name == "--log-file" { "" } else { log };
        let program = if name == "--no-p4" { "" } else { "l3.json" };
        if self.is_behind {
            format!("x -i 1@a l3.json -- {name} {value}")
        } else {
            format!("x -i 1@a {program} {log} {name} {value}")
        }
    }
}

#[test]
fn every_option_does_what_the_document_says() {
    let (mut works, mut nothing, mut refused) = (0, 0, 0);
    for row in rows() {
        let (line, name) = (row.line(), row.name().to_string());
        let outcome = task(Kind::Grpc, &line);
        let notes = |task: &Task| match task {
            Task::Print(_) => Vec::new(),
            Task::Run(plan) => plan.lines.notes.iter().map(Note::to_string).collect::<Vec<_>>(),
        };
        match (row.fate.split([' ', ':', ';', ',']).next(), &outcome) {
            // Help ends the program before anything is read; what needs another option is tested elsewhere.
            (Some("works"), Err(_)) if ["--help", "--grpc-server-ssl", "--keep-going"].contains(&name.as_str()) => {
                works += 1
            }
            (Some("works"), Ok(task)) => {
                let expected = usize::from(row.fate.contains("otherwise does nothing"));
                assert_eq!(notes(task).len(), expected, "{line}: {:?}", notes(task));
                works += 1;
            }
            (Some("does"), Ok(task)) => {
                let notes = notes(task);
                assert!(
                    matches!(notes.as_slice(), [note] if note.starts_with(&format!("{name} does nothing"))),
                    "{line}: {notes:?}"
                );
                nothing += 1;
            }
            (Some("refused"), Err(reason)) => {
                assert!(reason.starts_with(&format!("{name}: ")), "{line}: {reason}");
                refused += 1;
            }
            _ => panic!("{line}: the document says {}, but {outcome:?}", row.fate),
        }
    }
    assert!(works > 20 && nothing > 9 && refused > 3, "{works} {nothing} {refused}");
}

#[test]
fn every_option_is_in_the_document() {
    let documented: Vec<String> = rows().iter().map(|row| row.name().to_string()).collect();
    let mut commands = [Line::command(), Target::command()];
    for command in &mut commands {
        command.build();
        for option in command.get_arguments().filter_map(|argument| argument.get_long()) {
            assert!(
                documented.contains(&format!("--{option}")),
                "--{option} is not in docs/simple-switch.md"
            );
        }
    }
}

/// What BMv2's `--help` lists, for either program.
#[test]
fn every_option_of_bmv2_is_in_the_document() {
    let options = [
        "help",
        "interface",
        "pcap",
        "use-files",
        "packet-in",
        "thrift-port",
        "device-id",
        "nanolog",
        "log-console",
        "log-file",
        "log-level",
        "log-flush",
        "log-file-max-size",
        "log-file-max-files",
        "notifications-addr",
        "debugger",
        "debugger-addr",
        "restore-state",
        "dump-packet-data",
        "version",
        "json-version",
        "no-p4",
        "max-port-count",
        "enable-swap",
        "disable-swap",
        "drop-port",
        "priority-queues",
        "max-mc-groups",
        "max-l1-entries",
        "max-l2-entries",
        "grpc-server-addr",
        "grpc-server-ssl",
        "grpc-server-cacert",
        "grpc-server-cert",
        "grpc-server-key",
        "grpc-server-with-client-auth",
        "cpu-port",
        "dp-grpc-server-addr",
        "load-modules",
    ];
    let documented = rows();
    for option in options {
        assert!(
            documented.iter().any(|row| row.name() == format!("--{option}")),
            "--{option}"
        );
    }
}
