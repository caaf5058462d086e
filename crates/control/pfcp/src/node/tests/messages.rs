//! Messages that come twice, or are none.

use super::*;

#[test]
fn a_repeated_request_is_done_once() {
    let mut bench = Bench::associated();
    let header = Header {
        message: MessageType::SessionEstablishmentRequest,
        seid: Some(0),
        sequence: 500,
    };
    let datagram = header.message(|request| {
        write_node(request);
        request.element(kind::F_SEID, |value| peer().write(value));
        write_session(request, 1);
    });
    bench.send(&datagram);
    let first = bench.sent().expect("an answer").body;
    bench.send(&datagram);
    assert_eq!(bench.sent().expect("the same answer").body, first);
    assert_eq!(bench.node.sessions().count(), 1);
    assert_eq!(bench.node.counters().repeated, 1);
}

#[test]
fn what_is_no_message_is_counted() {
    let mut bench = Bench::associated();
    bench.send(&[]);
    bench.send(&[0x20, 1, 0, 9, 0, 0, 0, 0]);
    bench.send(&[0x20, 99, 0, 4, 0, 0, 1, 0]);
    bench.send(&[0x20, 50, 0, 4, 0, 0, 1, 0]);
    assert_eq!(bench.node.counters().short, 2);
    assert_eq!(bench.node.counters().unknown, 2);
    bench.send(&[0x40, 5, 0, 4, 0, 0, 9, 0]);
    let (_, answer) = bench.node.next_output().expect("an answer");
    assert_eq!(answer, [0x20, 11, 0, 4, 0, 0, 9, 0]);
    bench.node.receive(
        bench.now,
        "203.0.113.1:8805".parse().expect("an address"),
        &[0x20],
        &mut bench.plane,
    );
    assert_eq!(bench.node.counters().not_allowed, 1);
    assert!(bench.sent().is_none());
}

/// TS 29.244 §7.6.3.
#[test]
fn a_request_that_is_shorter_than_it_says_is_refused() {
    let mut bench = Bench::associated();
    let header = Header {
        message: MessageType::SessionDeletionRequest,
        seid: Some(1),
        sequence: 900,
    };
    let mut cut = header.message(|_| {});
    cut[3] += 9;
    bench.send(&cut);
    let answer = bench.sent().expect("an answer");
    assert_eq!(answer.header.message, MessageType::SessionDeletionResponse);
    assert_eq!(answer.cause(), Cause::InvalidLength as u8);
    assert_eq!(bench.node.counters().short, 1);
}

#[test]
fn every_prefix_of_a_request_is_refused_or_counted() {
    let mut bench = Bench::associated();
    let header = Header {
        message: MessageType::SessionEstablishmentRequest,
        seid: Some(0),
        sequence: 900,
    };
    let whole = header.message(|request| {
        write_node(request);
        request.element(kind::F_SEID, |value| peer().write(value));
        write_session(request, 1);
    });
    for length in 16..whole.len() {
        let mut cut = whole[..length].to_vec();
        let said = (length - 4) as u16;
        cut[2..4].copy_from_slice(&said.to_be_bytes());
        cut[12..15].copy_from_slice(&(1000 + length as u32).to_be_bytes()[1..]);
        bench.send(&cut);
        if let Some(answer) = bench.sent() {
            assert!(answer.cause() == 1 || answer.cause() >= 64);
        }
        // A cut between two elements may leave a session that is whole.
        bench
            .node
            .end_sessions_of(&NodeId::Address([192, 0, 2, 2].into()), &mut bench.plane);
    }
    assert!(bench.plane.sessions.is_empty());
    assert!(FSeid::read(&mut Reader::new(&[0])).is_err());
}
