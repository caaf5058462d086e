//! Packets that wait, errors of tunnels, end markers.

use super::*;

#[test]
fn the_smf_is_told_once_that_packets_wait() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.node.downlink_data(bench.now, seid, 2);
    assert!(bench.sent().is_none(), "the FAR forwards");
    bench.modify(seid, |request| update_far(request, 12, 0x2001, 0));
    for _ in 0..3 {
        bench.node.downlink_data(bench.now, seid, 2);
    }
    let request = bench.sent().expect("a report");
    let report = request
        .elements()
        .mandatory_group(kind::DOWNLINK_DATA_REPORT)
        .expect("a report");
    assert_eq!(report.mandatory::<u16>(kind::PDR_ID), Ok(2));
    assert!(bench.sent().is_none());
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    bench.modify(seid, |request| update_far(request, 2, 0x2001, 0));
    bench.modify(seid, |request| update_far(request, 12, 0x2001, 0));
    bench.node.downlink_data(bench.now, seid, 2);
    assert!(bench.sent().is_some(), "idle once more");
}

#[test]
fn the_smf_is_told_again_after_it_had_packets_dropped() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.modify(seid, |request| update_far(request, 12, 0x2001, 0));
    bench.node.downlink_data(bench.now, seid, 2);
    let request = bench.sent().expect("a report");
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted);
        answer.u8_element(kind::PFCPSRRSP_FLAGS, 1);
    });
    bench.node.downlink_data(bench.now, seid, 2);
    assert!(bench.sent().is_some(), "no packet waited");
}

#[test]
fn a_session_that_its_smf_does_not_know_ends() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.node.error_indication(bench.now, &gnb(0x9999));
    assert!(bench.sent().is_none(), "no session sends there");
    bench.node.error_indication(bench.now, &gnb(0x2001));
    let request = bench.sent().expect("a report");
    let report = request
        .elements()
        .mandatory_group(kind::ERROR_INDICATION_REPORT)
        .expect("a report");
    let addresses = Addresses::from(gnb(0).peer);
    assert_eq!(
        report.mandatory::<FTeid>(kind::F_TEID),
        Ok(FTeid::Given {
            teid: 0x2001,
            addresses
        })
    );
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::SessionContextNotFound)
    });
    assert!(bench.node.session(seid).is_none() && bench.plane.sessions.is_empty());
}

#[test]
fn an_end_marker_goes_into_the_tunnel_that_is_left() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.modify(seid, |request| update_far(request, 2, 0x2001, 2));
    assert!(bench.plane.end_markers.is_empty(), "the tunnel is the same");
    bench.modify(seid, |request| update_far(request, 2, 0x2002, 2));
    assert_eq!(bench.plane.end_markers, [gnb(0x2001)]);
}

/// Some SMFs write the QFI 0 into the QER of the session, which comes first.
#[test]
fn packets_that_wait_are_of_the_flow_that_has_a_number() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.modify(seid, |request| {
        update_far(request, 12, 0x2001, 0);
        request.element(kind::CREATE_QER, |qer| {
            qer.u32_element(kind::QER_ID, 2);
            qer.u8_element(kind::GATE_STATUS, 0);
            qer.u8_element(kind::QFI, 0);
        });
        request.element(kind::UPDATE_PDR, |pdr| {
            pdr.u16_element(kind::PDR_ID, 2);
            pdr.u32_element(kind::QER_ID, 2);
            pdr.u32_element(kind::QER_ID, 1);
        });
    });
    bench.node.downlink_data(bench.now, seid, 2);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::DOWNLINK_DATA_REPORT);
    let report = report.expect("a report");
    assert_eq!(report.find(kind::DOWNLINK_DATA_SERVICE_INFORMATION), Some(&[2, 9][..]));
}
