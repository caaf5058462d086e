//! Frames for rules.

use crate::rules::{Kind, rule};
use forebay_tester::frames::Frames;
use forebay_tester::schedule::{Arrivals, Shape};
use forebay_tester::stream::{Rate, Stream};
use forebay_tester::tag::Tag;
use forebay_traffic::{FrameSpec, Network, Transport};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Bytes of the check sequence, which sizes of frames include here as in the papers and in RFC 2544.
pub const CHECK_SEQUENCE_BYTES: usize = 4;

/// What stands in the place of the tag.
const NO_TAG: Tag = Tag {
    trial: 0,
    stream: 0,
    number: 0,
    intended_ns: 0,
    lateness_ns: 0,
};

/// A frame to an address, of this length with its check sequence.
pub fn frame(address: u32, bytes: usize) -> Vec<u8> {
    let spec = FrameSpec {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 0xfe],
        vlan: None,
        network: Network::Ipv4 {
            source: Ipv4Addr::new(10, 255, 0, 1),
            destination: Ipv4Addr::from(address),
            time_to_live: 64,
            identification: 0,
            traffic_class: 0,
        },
        transport: Transport::Udp {
            source: 1024,
            destination: 1024,
        },
    };
    let mut payload = vec![0; bytes - CHECK_SEQUENCE_BYTES - spec.header_bytes()];
    NO_TAG.write(&mut payload);
    spec.build(&payload)
}

/// A stream of as many flows, which hit rules that are evenly distributed among `rules`.
pub fn stream(kind: Kind, rules: u32, flows: u32, bytes: usize, rate: Rate) -> Stream {
    let hit = |flow: u32| (u64::from(flow) * u64::from(rules) / u64::from(flows)) as u32;
    let templates = (0..flows).map(|flow| frame(rule(kind, hit(flow)).address, bytes));
    Stream {
        name: format!("{flows} flows"),
        from: crate::router::PORTS[0],
        to: Some(crate::router::PORTS[1]),
        frames: Arc::new(Frames::in_turn(templates.collect())),
        rate,
        arrivals: Arrivals::Constant,
        shape: Shape::flat(),
        messages: None,
    }
}
