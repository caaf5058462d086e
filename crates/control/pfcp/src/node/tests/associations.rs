//! Associations, and peers that are away or have restarted.

use super::*;

#[test]
fn an_association_is_set_up_updated_and_released() {
    let mut bench = Bench::associated();
    let answer = bench.ask(MessageType::AssociationUpdateRequest, None, write_node);
    assert_eq!(answer.cause(), 1);
    let seid = bench.session(1);
    assert_eq!(
        bench
            .ask(MessageType::AssociationReleaseRequest, None, write_node)
            .cause(),
        1
    );
    assert!(bench.plane.sessions.is_empty());
    assert_eq!(bench.modify(seid, |_| {}).cause(), Cause::SessionContextNotFound as u8);
    assert_eq!(
        bench
            .ask(MessageType::AssociationReleaseRequest, None, write_node)
            .cause(),
        Cause::NoAssociation as u8
    );
}

/// A peer that restarts begins its sequence numbers anew.
#[test]
fn a_request_with_a_used_number_and_other_contents_is_done() {
    let mut bench = Bench::associated();
    bench.session(1);
    bench.sequence = 0;
    bench.recovery += 1;
    assert_eq!(bench.associate(false).cause(), 1);
    assert!(bench.plane.sessions.is_empty());
    bench.session(1);
    assert_eq!(bench.plane.sessions.len(), 1, "the same words as in its former life");
}

#[test]
fn a_late_heartbeat_of_a_former_life_changes_nothing() {
    let mut bench = Bench::associated();
    bench.session(1);
    let heartbeat = |bench: &mut Bench, recovery: u32| {
        bench.ask(MessageType::HeartbeatRequest, None, |request| {
            request.u32_element(kind::RECOVERY_TIME_STAMP, recovery);
        });
        bench.plane.sessions.len()
    };
    assert_eq!(heartbeat(&mut bench, 6), 1);
    assert_eq!(heartbeat(&mut bench, 7), 1);
    assert_eq!(heartbeat(&mut bench, 8), 0, "it has restarted");
}

#[test]
fn a_peer_that_does_not_answer_keeps_its_sessions() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.pass(20);
    let heartbeat = bench.sent().expect("a heartbeat");
    assert_eq!(heartbeat.header.message, MessageType::HeartbeatRequest);
    bench.answer(&heartbeat, MessageType::HeartbeatResponse, |answer| {
        answer.u32_element(kind::RECOVERY_TIME_STAMP, 7)
    });
    bench.pass(19);
    assert!(bench.sent().is_none());
    bench.pass(1);
    let mut heartbeat = bench.sent();
    for _ in 0..3 {
        bench.pass(3);
        heartbeat = bench.sent().or(heartbeat);
    }
    assert!(bench.node.associations().all(|(_, association)| association.is_lost));
    assert!(bench.node.session(seid).is_some());
    // Usage adds up meanwhile.
    let number = bench.urr_number(seid);
    bench.plane.usage.insert(
        number,
        Usage {
            uplink_bytes: 2000,
            uplink_packets: 2,
            ..Usage::default()
        },
    );
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_none());
    bench.ask(MessageType::HeartbeatRequest, None, |request| {
        request.u32_element(kind::RECOVERY_TIME_STAMP, 7)
    });
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert_eq!(
        bench.sent().expect("a report").header.message,
        MessageType::SessionReportRequest
    );
}

#[test]
fn sessions_of_a_peer_that_has_restarted_end() {
    let mut bench = Bench::associated();
    bench.session(1);
    bench.ask(MessageType::HeartbeatRequest, None, |request| {
        request.u32_element(kind::RECOVERY_TIME_STAMP, 8)
    });
    assert!(bench.plane.sessions.is_empty());
    assert_eq!(
        bench.establish(|request| write_session(request, 1)).cause(),
        Cause::NoAssociation as u8
    );
}

#[test]
fn a_session_that_ends_while_the_switch_is_away_keeps_no_packets() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.plane.refuses = true;
    bench.associate(false);
    assert!(bench.node.session(seid).is_none());
    assert_eq!(bench.plane.dropped, [seid]);
}

#[test]
fn an_association_that_is_set_up_anew_ends_sessions_or_retains_them() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let answer = bench.associate(true);
    assert_eq!(answer.elements().mandatory::<u8>(kind::PFCPASRSP_FLAGS), Ok(1));
    assert!(bench.node.session(seid).is_some());
    assert!(!bench.associate(false).elements().has(kind::PFCPASRSP_FLAGS));
    assert!(bench.node.session(seid).is_none());
}

#[test]
fn a_peer_that_released_its_association_may_begin_anew_with_the_same_requests() {
    let mut bench = Bench::associated();
    bench.session(1);
    bench.ask(MessageType::AssociationReleaseRequest, None, write_node);
    assert!(bench.plane.sessions.is_empty());
    bench.sequence = 0;
    bench.recovery += 1;
    assert_eq!(bench.associate(false).cause(), 1);
    bench.session(1);
    assert_eq!(bench.plane.sessions.len(), 1, "the same words as in its former life");
}
