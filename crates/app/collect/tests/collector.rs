//! A collector between datagrams and files: the files have the reports that arrived, also after the process is killed.

mod support;

use forebay_collect::analysis::{BurstThresholds, Event};
use forebay_collect::query::{Answer, Cell, Filter, Order, Query, Question, ask};
use forebay_collect::store::{self, Rotation, Stored};
use forebay_collect::{Collector, Settings};
use std::collections::BTreeMap;
use std::path::Path;
use support::{Sent, datagram};

const SECOND: u64 = 1_000_000_000;

fn collector(folder: &Path, rows: usize) -> Collector {
    let settings = Settings {
        store: Some(folder.to_path_buf()),
        rotation: Rotation {
            rows,
            ..Rotation::default()
        },
        bursts: BurstThresholds {
            depth: 50,
            latency_ns: 1_000_000,
        },
        ..Settings::default()
    };
    Collector::new(settings).expect("a collector")
}

fn stored(folder: &Path) -> Vec<Stored> {
    let mut all = Vec::new();
    for path in store::files(folder).expect("a folder") {
        store::read(&path, |stored| {
            all.push(stored);
            true
        })
        .expect("a complete file");
    }
    all
}

/// Metrics without labels or with one, by name and value of the label.
fn metrics(collector: &Collector) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for family in collector.metrics()() {
        for sample in family.samples {
            let labels: Vec<String> = sample.labels.into_iter().map(|(_, value)| value).collect();
            if let forebay_telemetry::Value::Count(count) = sample.value {
                found.insert(
                    format!("{} {}", family.name, labels.join(",")).trim().to_string(),
                    count,
                );
            }
        }
    }
    found
}

fn question(question: Question) -> Query {
    Query {
        question,
        filter: Filter::default(),
        limit: 100,
        bursts: BurstThresholds {
            depth: 50,
            latency_ns: 1_000_000,
        },
    }
}

fn column(answer: &Answer, name: &str) -> Vec<Cell> {
    let place = answer.columns.iter().position(|own| *own == name).expect("a column");
    answer.rows.iter().map(|row| row[place].clone()).collect()
}

fn path_of<const N: usize>(nodes: [u64; N]) -> Cell {
    Cell::Hops(nodes.map(Some).to_vec())
}

#[test]
fn what_is_read_is_what_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut collector = collector(folder.path(), 10);
    let mut expected = Vec::new();
    for number in 0..25u32 {
        let sent = Sent {
            sequence: number,
            source_port: 1000 + number as u16 % 3,
            nodes: vec![1, 2],
            depth: number,
            ..Sent::default()
        };
        let received_ns = 10 * SECOND + u64::from(number);
        let bytes = datagram(&sent);
        forebay_collect::report::parse(&bytes, 32766, |report| expected.push(Stored { received_ns, report }))
            .expect("a good datagram");
        collector.receive(&bytes, received_ns);
        collector.settle(received_ns);
    }
    collector.finish(60 * SECOND);
    assert_eq!(stored(folder.path()), expected);
    assert!(
        store::files(folder.path()).expect("a folder").len() > 3,
        "files are rotated"
    );
    let metrics = metrics(&collector);
    assert_eq!(metrics["forebay_store_reports_total written"], 25);
    assert_eq!(metrics["forebay_int_reports_total 3,md"], 25);
    assert_eq!(metrics["forebay_store_waiting_reports"], 0);
}

#[test]
fn what_came_while_no_collector_was_there_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let send = |collector: &mut Collector, numbers: std::ops::Range<u32>| {
        for sequence in numbers {
            let sent = Sent {
                sequence,
                ..Sent::default()
            };
            collector.receive(&datagram(&sent), 20 * SECOND + u64::from(sequence));
        }
    };
    let mut first = collector(folder.path(), 1000);
    send(&mut first, 0..10);
    first.finish(21 * SECOND);
    // These are lost with the process, which is killed.
    send(&mut first, 10..14);
    drop(first);
    std::fs::write(
        folder.path().join("reports-20260101T000000.000000Z.parquet.part"),
        b"PAR1",
    )
    .expect("a file");

    let mut second = collector(folder.path(), 1000);
    send(&mut second, 30..31);
    assert_eq!(metrics(&second)["forebay_int_missing_datagrams_total 3"], 20);
    second.finish(22 * SECOND);
    assert_eq!(stored(folder.path()).len(), 11);
    let names = std::fs::read_dir(folder.path()).expect("a folder");
    assert!(
        names
            .flatten()
            .all(|entry| entry.file_name().to_string_lossy().ends_with(".parquet"))
    );
}

#[test]
fn a_store_that_cannot_be_written_is_told_and_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let inside = folder.path().join("store");
    let mut collector = collector(&inside, 2);
    std::fs::remove_dir(&inside).expect("it is empty");
    for sequence in 0..20 {
        let sent = Sent {
            sequence,
            ..Sent::default()
        };
        collector.receive(&datagram(&sent), SECOND);
    }
    collector.settle(SECOND);
    collector.time_passes(2 * SECOND);
    assert!(collector.problem().is_some());
    let counts = metrics(&collector);
    assert!(counts["forebay_store_reports_total lost"] > 0, "memory is bounded");
    std::fs::create_dir(&inside).expect("a folder");
    collector.time_passes(3 * SECOND);
    assert!(collector.problem().is_some(), "it waits some seconds");
    collector.time_passes(10 * SECOND);
    collector.settle(10 * SECOND);
    assert_eq!(collector.problem(), None);
    collector.finish(11 * SECOND);
    let counts = metrics(&collector);
    let lost = counts["forebay_store_reports_total lost"];
    assert_eq!(stored(&inside).len() as u64 + lost, 20);
}

#[test]
fn what_cannot_be_written_at_the_end_is_counted_as_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let inside = folder.path().join("store");
    let mut collector = collector(&inside, 1_000);
    std::fs::remove_dir(&inside).expect("it is empty");
    for sequence in 0..3 {
        let sent = Sent {
            sequence,
            ..Sent::default()
        };
        collector.receive(&datagram(&sent), SECOND);
    }
    collector.finish(2 * SECOND);
    assert!(collector.problem().is_some());
    let counts = metrics(&collector);
    assert_eq!(counts["forebay_store_reports_total lost"], 3);
    assert_eq!(collector.lost_reports(), 3);
    assert_eq!(counts["forebay_store_waiting_reports"], 0);
}

#[test]
fn a_damaged_file_keeps_no_collector_from_its_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let send = |collector: &mut Collector, sequence: u32| {
        let sent = Sent {
            sequence,
            ..Sent::default()
        };
        collector.receive(&datagram(&sent), 20 * SECOND + u64::from(sequence));
    };
    let mut first = collector(folder.path(), 1000);
    send(&mut first, 5);
    first.finish(21 * SECOND);
    let damaged = folder.path().join("reports-29990101T000000.000000Z.parquet");
    std::fs::write(&damaged, "rubbish").expect("a folder");

    let mut second = collector(folder.path(), 1000);
    let unread: Vec<String> = second.unread().iter().map(ToString::to_string).collect();
    assert!(unread.len() == 1 && unread[0].contains("29990101"), "{unread:?}");
    send(&mut second, 8);
    assert_eq!(metrics(&second)["forebay_int_missing_datagrams_total 3"], 2);
    second.finish(22 * SECOND);
    std::fs::remove_file(&damaged).expect("it is left alone");
    assert_eq!(stored(folder.path()).len(), 2);
}

#[test]
fn the_oldest_files_make_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        store: Some(folder.path().to_path_buf()),
        rotation: Rotation {
            rows: 1,
            bytes_max: Some(20_000),
            ..Rotation::default()
        },
        ..Settings::default()
    };
    let mut collector = Collector::new(settings).expect("a collector");
    for sequence in 0..30 {
        let sent = Sent {
            sequence,
            ..Sent::default()
        };
        collector.receive(&datagram(&sent), u64::from(sequence + 1) * SECOND);
        collector.settle(u64::from(sequence + 1) * SECOND);
    }
    let files = store::files(folder.path()).expect("a folder");
    let bytes: u64 = files.iter().map(|path| path.metadata().expect("a file").len()).sum();
    assert!(bytes <= 20_000 && !files.is_empty() && files.len() < 30, "{bytes}");
    let left = stored(folder.path());
    assert_eq!(
        left.last().map(|stored| stored.report.sequence),
        Some(29),
        "the newest stay"
    );
}

#[test]
fn questions_have_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut collector = collector(folder.path(), 7);
    let mut now_ns = 100 * SECOND;
    let mut events: Vec<&'static str> = Vec::new();
    let mut send = |collector: &mut Collector, sent: Sent| {
        now_ns += 1_000_000;
        let found = collector.receive(&datagram(&sent), now_ns);
        events.extend(found.iter().map(Event::kind));
        collector.settle(now_ns);
    };
    for number in 0..10u16 {
        // Flow 1 is slow, flow 2 has more reports.
        let (source_port, latency_ns) = if number % 3 == 0 { (1, 50_000) } else { (2, 1_000) };
        send(
            &mut collector,
            Sent {
                sequence: u32::from(number),
                source_port,
                latency_ns,
                nodes: vec![1, 2],
                ..Sent::default()
            },
        );
    }
    send(
        &mut collector,
        Sent {
            sequence: 10,
            source_port: 2,
            nodes: vec![1, 4],
            ..Sent::default()
        },
    );
    send(
        &mut collector,
        Sent {
            sequence: 11,
            source_port: 5,
            nodes: vec![1, 2, 1],
            ..Sent::default()
        },
    );
    for (sequence, depth) in [(12, 60), (13, 90), (14, 0)] {
        send(
            &mut collector,
            Sent {
                sequence,
                source_port: 2,
                depth,
                nodes: vec![1, 4],
                ..Sent::default()
            },
        );
    }
    send(
        &mut collector,
        Sent {
            sequence: 15,
            source_port: 6,
            drop_reason: Some(3),
            ..Sent::default()
        },
    );
    assert_eq!(events, ["path_change", "loop", "microburst"]);
    collector.finish(now_ns);

    let ask = |query: &Query| ask(folder.path(), query).expect("an answer");
    let flows = ask(&question(Question::Flows(Order::Reports)));
    assert_eq!(
        column(&flows, "flow")[0],
        Cell::Text("UDP 10.0.0.1:2 > 10.0.0.2:2222".to_string())
    );
    assert_eq!(column(&flows, "reports")[0], Cell::Whole(10));
    let slow = ask(&question(Question::Flows(Order::Latency)));
    assert_eq!(
        column(&slow, "flow")[0],
        Cell::Text("UDP 10.0.0.1:1 > 10.0.0.2:2222".to_string())
    );
    assert_eq!(column(&slow, "latency_max_ns")[0], Cell::Whole(50_000));
    let hops = ask(&question(Question::Hops));
    assert_eq!(column(&hops, "node"), [1, 2, 3, 4].map(Cell::Whole));
    let drops = ask(&question(Question::Drops));
    assert_eq!(
        (column(&drops, "node"), column(&drops, "reason")),
        (vec![Cell::Whole(3)], vec![Cell::Whole(3)])
    );
    let loops = ask(&question(Question::Loops));
    assert_eq!(column(&loops, "path"), [path_of([1, 2, 1, 3])]);
    let paths = ask(&question(Question::Paths));
    assert_eq!(column(&paths, "path"), [path_of([1, 4, 3])]);
    let bursts = ask(&question(Question::Bursts));
    assert_eq!(
        (column(&bursts, "depth_max"), column(&bursts, "packets")),
        (vec![Cell::Whole(90)], vec![Cell::Whole(2)])
    );
    let few = Query {
        filter: Filter {
            port: Some(2),
            from_ns: Some(100 * SECOND + 11_500_000),
            ..Filter::default()
        },
        ..question(Question::Reports)
    };
    assert_eq!(ask(&few).rows.len(), 3);
    let none = Query {
        filter: Filter {
            address: Some([192, 168, 0, 1].into()),
            ..Filter::default()
        },
        ..question(Question::Flows(Order::Reports))
    };
    assert!(ask(&none).rows.is_empty());
}

#[test]
fn of_many_events_the_newest_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut collector = collector(folder.path(), 1_000);
    for sequence in 0..5u32 {
        let sent = Sent {
            sequence,
            nodes: vec![1, 10 + sequence],
            ..Sent::default()
        };
        collector.receive(&datagram(&sent), SECOND + u64::from(sequence));
    }
    collector.finish(2 * SECOND);
    let newest = Query {
        limit: 2,
        ..question(Question::Paths)
    };
    let answer = ask(folder.path(), &newest).expect("an answer");
    assert_eq!(column(&answer, "path"), [path_of([1, 13, 3]), path_of([1, 14, 3])]);
}

#[test]
fn rubbish_is_counted_by_name() {
    let mut collector = Collector::new(Settings::default()).expect("a collector");
    for length in 0..64usize {
        collector.receive(&datagram(&Sent::default())[..length], SECOND);
    }
    collector.receive(&[0x10; 100], SECOND);
    let counts = metrics(&collector);
    assert_eq!(counts["forebay_collect_datagrams_total"], 65);
    assert_eq!(counts["forebay_collect_malformed_datagrams_total group_header"], 8);
    assert_eq!(counts["forebay_collect_malformed_datagrams_total version"], 1);
    assert!(counts["forebay_collect_malformed_datagrams_total report_length"] > 40);
}
