//! Any bytes as datagrams of an SMF: each ends in an answer or a counter. What is left is saved and restored, and is
//! the same.
//!
//! A datagram stands behind its length (two bytes). One that begins with a byte below 0x20 is the elements of a
//! message, which the byte chooses, and gets a header that suits: so rules of sessions are reached.

#![no_main]

use forebay_pfcp::rules::Network;
use forebay_pfcp::wire::{Addresses, Header, MessageType, NodeId, OuterHeader, Refusal, Usage};
use forebay_pfcp::{Limits, Node, Pools, Session, Settings, UserPlane};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

const MESSAGES: [MessageType; 8] = [
    MessageType::AssociationSetupRequest,
    MessageType::SessionEstablishmentRequest,
    MessageType::SessionModificationRequest,
    MessageType::SessionDeletionRequest,
    MessageType::SessionReportResponse,
    MessageType::HeartbeatRequest,
    MessageType::AssociationUpdateRequest,
    MessageType::AssociationReleaseRequest,
];

/// A data plane that takes every rule and has counted a lot.
struct Plane(u64);

impl UserPlane for Plane {
    fn change(&mut self, _: Option<&Session>, _: Option<&Session>) -> Result<(), Refusal> {
        Ok(())
    }

    fn counters(&mut self, urrs: &[u32]) -> Result<Vec<Usage>, String> {
        self.0 += 1_000_000;
        let usage = Usage {
            uplink_bytes: self.0,
            uplink_packets: 1,
            ..Usage::default()
        };
        Ok(vec![usage; urrs.len()])
    }

    fn send_end_markers(&mut self, _: &[OuterHeader]) {}

    fn drop_buffered(&mut self, _: &Session) {}
}

fn settings() -> Settings {
    let address = IpAddr::from([192, 0, 2, 1]);
    Settings {
        node: NodeId::Address(address),
        address,
        tunnels_at: Addresses::from(address),
        pools: Pools {
            v4: Some(([10, 0, 0, 1].into(), 4)),
            v6: Some(("2001:db8::".parse().expect("an address"), 4)),
        },
        limits: Limits {
            sessions: 8,
            fars: 32,
            qers: 32,
            urrs: 32,
        },
        first_sequence: 1,
        recovery: 1,
        retry: Duration::from_secs(1),
        attempts: 2,
        heartbeat: Duration::from_secs(2),
        peers: Vec::<Network>::new(),
    }
}

/// The SEID of the first session of this node, which modifications are about.
const FIRST: u64 = 1 << 32 | 1;

fn datagram(bytes: &[u8], sequence: u32) -> Vec<u8> {
    match bytes.split_first() {
        Some((choice, elements)) if *choice < 0x20 => {
            let message = MESSAGES[usize::from(*choice) % MESSAGES.len()];
            let seid = message.is_of_session().then_some(FIRST);
            Header { message, seid, sequence }.message(|writer| writer.bytes(elements))
        }
        _ => bytes.to_vec(),
    }
}

fuzz_target!(|data: &[u8]| {
    let from: SocketAddr = "192.0.2.2:8805".parse().expect("an address");
    let (mut node, mut plane) = (Node::new(settings()), Plane(0));
    let (mut rest, mut now, mut sequence) = (data, Duration::from_secs(1_800_000_000), 0);
    while let Some((length, following)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(following.len());
        let (bytes, following) = following.split_at(length);
        rest = following;
        sequence += 1;
        node.receive(now, from, &datagram(bytes, sequence), &mut plane);
        now += Duration::from_secs(1);
        node.tick(now);
        node.report_usage(now, &mut plane);
        node.downlink_data(now, FIRST, 2);
        while let Some((_, sent)) = node.next_output() {
            Header::read(&sent).expect("what is sent is a message");
        }
        while node.next_event().is_some() {}
    }
    let mut other = Node::new(settings());
    other.restore(&node.save(), &[]).expect("what was saved is read");
    for session in node.sessions() {
        assert_eq!(other.session(session.seid), Some(session));
    }
    let _ = Node::new(settings()).restore(data, &[]);
});
