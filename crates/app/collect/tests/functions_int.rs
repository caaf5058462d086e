//! The reports that the tests of `functions/int` expect, which scapy has made, are understood: every one, with what it
//! says.

use forebay_collect::report::{self, INT_PORT, Mode, Report};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of the headers of Ethernet, IPv4 and UDP before a report.
const HEADERS: usize = 14 + 20 + 8;

/// The reports that a test expects at the collector's port.
fn reports_of(path: &Path) -> Vec<Report> {
    let text = std::fs::read_to_string(path).expect("a test");
    let mut reports = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["expect", "9", bytes @ ..] = &words[..] else {
            continue;
        };
        // What a test leaves open is zero.
        let digits = bytes.concat().replace('*', "0");
        let digits = digits.trim_end_matches('$');
        let byte = |place| u8::from_str_radix(&digits[place..place + 2], 16).expect("hexadecimal digits");
        let frame: Vec<u8> = (0..digits.len() / 2 * 2).step_by(2).map(byte).collect();
        report::parse(&frame[HEADERS..], INT_PORT, |report| reports.push(report))
            .unwrap_or_else(|malformed| panic!("{}: {malformed:?}: {line}", path.display()));
    }
    reports
}

fn all() -> BTreeMap<String, Vec<Report>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../functions/int");
    let files = std::fs::read_dir(folder).expect("functions/int").flatten();
    let tests = files.filter(|file| file.path().extension().is_some_and(|end| end == "stf"));
    tests
        .map(|test| {
            (
                test.file_name().to_string_lossy().into_owned(),
                reports_of(&test.path()),
            )
        })
        .collect()
}

#[test]
fn every_report_is_understood() {
    let tests = all();
    let reports: Vec<&Report> = tests.values().flatten().collect();
    assert!(reports.len() > 60, "{}", reports.len());
    for report in &reports {
        assert_eq!(report.reporter.node, 0x0a0b_0c0d);
        assert!(
            report.flow.is_some() || report.flags.dropped || !report.is_whole,
            "{report:?}"
        );
    }
    let of_sink = &tests["int_sink.stf"];
    let longest = of_sink.iter().map(|report| report.hops.len()).max();
    assert_eq!(longest, Some(4), "three hops before the sink");
    assert!(of_sink.iter().any(|report| report.mode == Mode::Mx));
    assert!(
        tests["int_export.stf"]
            .iter()
            .all(|report| report.mode == Mode::Xd && report.hops.len() == 1)
    );
    let reasons: Vec<Option<u8>> = tests["int_drops.stf"].iter().map(|report| report.drop_reason).collect();
    assert_eq!(reasons[..3], [Some(3), Some(2), Some(3)]);
    for report in &tests["int_drops.stf"] {
        let hop = report.hops.last().expect("the reporter");
        assert!(hop.ingress_port.is_some() && hop.egress_port.is_none(), "{hop:?}");
    }
}
