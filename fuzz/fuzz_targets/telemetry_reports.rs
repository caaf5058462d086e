//! Datagrams for the collector: nothing that is sent makes it fail, and every datagram is counted as good or by what is
//! wrong with it.
//!
//! The input is datagrams, each after its length in two bytes.

#![no_main]

use forebay_collect::report::{self, INT_PORT};
use forebay_collect::{Collector, Settings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut collector = Collector::new(Settings::default()).expect("a collector without a store");
    let mut rest = data;
    let mut now_ns = 1_000_000_000;
    while let [high, low, behind @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        let (datagram, next) = behind.split_at(length);
        rest = next;
        now_ns += 1_000_000;
        collector.receive(datagram, now_ns);
        collector.time_passes(now_ns);
        let mut reports = 0;
        let parsed = report::parse(datagram, INT_PORT, |report| {
            assert!(!report.hops.is_empty() && report.hops.len() <= 256);
            reports += 1;
        });
        assert!(reports > 0 || parsed.is_err());
    }
    collector.finish(now_ns);
    assert!(!collector.metrics()().is_empty());
});
