//! Quotas.

use super::*;

#[test]
fn time_is_measured_from_the_first_packet_on() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 2, 0], 2);
    bench.pass(10);
    bench.use_bytes(seid, 0);
    assert!(bench.sent().is_none(), "no packet has come");
    bench.use_bytes(seid, 100);
    bench.pass(1);
    bench.use_bytes(seid, 100);
    assert!(bench.sent().is_none(), "a second is left");
    bench.pass(1);
    bench.use_bytes(seid, 100);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(report.flags(kind::USAGE_REPORT_TRIGGER), Ok(Some(triggers::TIME_QUOTA)));
    assert_eq!(report.mandatory::<u32>(kind::DURATION_MEASUREMENT), Ok(2));
}

#[test]
fn a_new_volume_quota_leaves_the_time_quota_as_it_is() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 3, 0], 2);
    bench.use_bytes(seid, 100);
    bench.pass(1);
    bench.renew_volume_quota(seid);
    bench.pass(1);
    bench.use_bytes(seid, 100);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(report.flags(kind::USAGE_REPORT_TRIGGER), Ok(Some(triggers::TIME_QUOTA)));
}

#[test]
fn a_used_up_quota_stops_packets_without_its_trigger() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 0, 0], 2);
    bench.use_bytes(seid, 100);
    bench.pass(2);
    bench.use_bytes(seid, 100);
    assert!(bench.sent().is_none(), "no report is wanted");
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
}

/// Packets do not pass until the next look at the counters.
#[test]
fn an_empty_quota_stops_packets_at_once() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 2, 0], 0);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_some(), "it is reported");
}

#[test]
fn a_quota_holds_while_the_smf_is_away() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    for _ in 0..4 {
        bench.pass(20);
    }
    while bench.sent().is_some() {}
    assert!(bench.node.associations().all(|(_, association)| association.is_lost));
    bench.use_bytes(seid, 4900);
    assert!(!bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    bench.use_bytes(seid, 5100);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    assert!(bench.sent().is_none());
    bench.ask(MessageType::HeartbeatRequest, None, |request| {
        request.u32_element(kind::RECOVERY_TIME_STAMP, 7)
    });
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    assert_eq!(reports_of(&request, kind::USAGE_REPORT), [(0, 5100)]);
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    let trigger = report.flags(kind::USAGE_REPORT_TRIGGER).expect("flags");
    assert_eq!(trigger, Some(triggers::VOLUME_THRESHOLD | triggers::VOLUME_QUOTA));
}
