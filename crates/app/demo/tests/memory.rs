//! The whole demonstration in memory: every size of N-packet, both methods.

use forebay_demo::{DemoError, Method, Options, memory, run, screen::Silent};
use forebay_packet::pcap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn options(folder: &Path) -> Options {
    Options {
        messages: 2_000,
        batch: 8,
        message_bytes: 22,
        methods: Method::ALL.to_vec(),
        flows: 10,
        rate: None,
        memory: true,
        folder: folder.to_path_buf(),
        executable: "unused in memory".into(),
    }
}

#[test]
fn every_message_arrives_once_and_unchanged() {
    for batch in [1, 2, 4, 8] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options {
            batch,
            ..options(folder.path())
        };
        let demonstration = run(&options, &mut Silent, &AtomicBool::new(false)).expect("it can be done");
        assert!(demonstration.is_correct(), "N = {batch}\n{}", demonstration.text());
        assert_eq!(demonstration.measurements().len(), 2);
        for run in demonstration.measurements() {
            assert_eq!(run.report.sent, 2_000);
            let link = run.with_aggregation();
            assert_eq!(
                link.frames,
                2_000 / u64::from(batch),
                "N = {batch}: every message is aggregated"
            );
            assert_eq!(link.bytes, link.frames * (48 + 16 * u64::from(batch)));
            assert_eq!(run.without_aggregation().bytes, 2_000 * 64);
            let captured = [
                (&run.captures.devices, 2_000),
                (&run.captures.link, link.frames),
                (&run.captures.server, 2_000),
            ];
            for (path, frames) in captured {
                let bytes = std::fs::read(path).expect("a capture");
                assert_eq!(pcap::read_all(&bytes).expect("a correct capture").len() as u64, frames);
            }
        }
    }
}

#[test]
fn other_sizes_and_many_flows() {
    for (message_bytes, flows, batch) in [(18, 1, 8), (46, 100, 4), (128, 1024, 2)] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options {
            message_bytes,
            flows,
            batch,
            ..options(folder.path())
        };
        let demonstration = run(&options, &mut Silent, &AtomicBool::new(false)).expect("it can be done");
        assert!(
            demonstration.is_correct(),
            "S = {message_bytes}, {flows} flows\n{}",
            demonstration.text()
        );
        for run in demonstration.measurements() {
            assert_eq!(run.with_aggregation().frames, run.report.sent / u64::from(batch));
        }
    }
}

#[test]
fn multicast_keeps_the_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        methods: vec![Method::Multicast],
        ..options(folder.path())
    };
    let demonstration = run(&options, &mut Silent, &AtomicBool::new(false)).expect("it can be done");
    assert!(demonstration.measurements()[0].report.is_perfect());
}

#[test]
fn it_can_be_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = forebay_demo::Settings::new(&options(folder.path())).expect("correct options");
    let ended = memory::measure(&settings, Method::Multicast, &mut Silent, &AtomicBool::new(true));
    assert_eq!(ended.err(), Some(DemoError::Interrupted));
}

#[test]
fn a_rate_holds_for_few_messages_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        messages: 64,
        flows: 1,
        rate: Some(1_000.0),
        methods: vec![Method::Multicast],
        ..options(folder.path())
    };
    let demonstration = run(&options, &mut Silent, &AtomicBool::new(false)).expect("it can be done");
    let seconds = demonstration.measurements()[0].seconds;
    assert!(seconds > 0.05, "{seconds} s for 64 messages at 1,000 a second");
}

#[test]
fn a_low_rate_can_be_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        rate: Some(0.01),
        ..options(folder.path())
    };
    let settings = forebay_demo::Settings::new(&options).expect("correct options");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        let ended = memory::measure(&settings, Method::Multicast, &mut Silent, &stop);
        assert_eq!(ended.err(), Some(DemoError::Interrupted));
    });
}
