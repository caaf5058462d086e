//! Reports of usage.

use super::*;

#[test]
fn usage_is_reported_at_thresholds_and_a_used_up_quota_stops() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let number = bench.urr_number(seid);
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_none());
    let mut usage = Usage {
        uplink_bytes: 900,
        uplink_packets: 9,
        downlink_bytes: 200,
        downlink_packets: 2,
    };
    bench.plane.usage.insert(number, usage);
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    assert_eq!(request.header.seid, Some(0x77));
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(
        report.flags(kind::USAGE_REPORT_TRIGGER),
        Ok(Some(triggers::VOLUME_THRESHOLD))
    );
    let volume = report.find(kind::VOLUME_MEASUREMENT).expect("a volume");
    assert_eq!(Reader::new(&volume[1..]).u64(), Ok(1100));
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    // The quota: packets are stopped, which is told once.
    usage.downlink_bytes = 5000;
    bench.plane.usage.insert(number, usage);
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    let trigger = report
        .flags(kind::USAGE_REPORT_TRIGGER)
        .expect("flags")
        .expect("a trigger");
    assert_ne!(trigger & triggers::VOLUME_QUOTA, 0);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_none());
    bench.renew_volume_quota(seid);
    assert!(!bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
}

#[test]
fn a_report_without_an_answer_is_sent_again_as_it_was() {
    let (mut bench, seid) = Bench::unanswered_report();
    bench.use_bytes(seid, 2600);
    let again = bench.sent().expect("the same report");
    assert_eq!(reports_of(&again, kind::USAGE_REPORT), [(0, 1500)]);
    let next = bench.sent().expect("the next report");
    assert_eq!(reports_of(&next, kind::USAGE_REPORT), [(1, 1100)]);
    for request in [&again, &next] {
        bench.answer(request, MessageType::SessionReportResponse, |answer| {
            answer.cause(Cause::Accepted)
        });
    }
    assert!(bench.node.session(seid).expect("a session").reports.is_empty());
}

/// The first report is given up, and goes out once more beside the second; then the request with the second alone is
/// given up.
#[test]
fn a_request_without_reports_is_never_sent() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.use_bytes(seid, 1500);
    bench.pass(1);
    bench.use_bytes(seid, 2600);
    for _ in 0..8 {
        bench.pass(1);
    }
    assert_eq!(bench.node.counters().unanswered, 1, "the first has been given up");
    while bench.sent().is_some() {}
    bench.node.report_usage(bench.now, &mut bench.plane);
    let both = bench.sent().expect("both reports");
    assert_eq!(reports_of(&both, kind::USAGE_REPORT), [(0, 1500), (1, 1100)]);
    bench.pass(1);
    assert_eq!(bench.node.counters().unanswered, 2, "so has the second");
    bench.answer(&both, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_none(), "there is nothing to report");
}

#[test]
fn reports_without_an_answer_survive_a_restart() {
    let (bench, seid) = Bench::unanswered_report();
    let saved = bench.node.save();
    let mut bench = Bench::new();
    bench.node.restore(&saved, &[]).expect("what was saved");
    bench.use_bytes(seid, 1500);
    let again = bench.sent().expect("the same report");
    assert_eq!(reports_of(&again, kind::USAGE_REPORT), [(0, 1500)]);
}

#[test]
fn reports_without_an_answer_are_in_that_of_the_end() {
    let (mut bench, seid) = Bench::unanswered_report();
    bench.use_bytes(seid, 1600);
    bench.sent().expect("the same report");
    let answer = bench.ask(MessageType::SessionDeletionRequest, Some(seid), |_| {});
    assert_eq!(reports_of(&answer, kind::USAGE_REPORT_DELETION), [(0, 1500), (1, 100)]);
}

#[test]
fn a_query_that_finds_no_counters_does_not_report_usage_twice() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.use_bytes(seid, 1500);
    let request = bench.sent().expect("a report");
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    let query = |request: &mut Writer| {
        request.element(kind::QUERY_URR, |urr| urr.u32_element(kind::URR_ID, 1));
    };
    bench.plane.is_unreadable = true;
    let answer = bench.modify(seid, query);
    assert_eq!(reports_of(&answer, kind::USAGE_REPORT_MODIFICATION), [(1, 0)]);
    bench.plane.is_unreadable = false;
    bench.use_bytes(seid, 1600);
    let answer = bench.modify(seid, query);
    assert_eq!(reports_of(&answer, kind::USAGE_REPORT_MODIFICATION), [(2, 100)]);
}

/// The report of the first packet has no measurement: what is counted until then is in the next one.
#[test]
fn usage_before_the_report_of_the_first_packet_is_reported() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0x12, 1, 0], 1000);
    bench.use_bytes(seid, 500);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(report.flags(kind::USAGE_REPORT_TRIGGER), Ok(Some(triggers::START)));
    assert!(!report.has(kind::VOLUME_MEASUREMENT));
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    bench.use_bytes(seid, 1200);
    let request = bench.sent().expect("a report");
    assert_eq!(reports_of(&request, kind::USAGE_REPORT), [(1, 1200)]);
}

#[test]
fn counters_that_begin_again_are_counted_from_what_they_are() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let number = bench.urr_number(seid);
    let uplink = |uplink_bytes| Usage {
        uplink_bytes,
        uplink_packets: uplink_bytes / 100,
        ..Usage::default()
    };
    bench.plane.usage.insert(number, uplink(3000));
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    // The switch has been restarted, with counters that it had saved before.
    bench.plane.usage.insert(number, uplink(2900));
    bench.node.save_changes();
    bench.node.counters_restarted(&mut bench.plane);
    let changes = bench.node.save_changes().expect("where measuring goes on");
    let mut restarted = Node::new(settings());
    restarted.restore(&changes, &[]).expect("what was saved");
    assert_eq!(restarted.session(seid), bench.node.session(seid));
    bench.plane.usage.insert(number, uplink(4000));
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(
        Reader::new(&report.find(kind::VOLUME_MEASUREMENT).expect("a volume")[1..]).u64(),
        Ok(1100)
    );
}
