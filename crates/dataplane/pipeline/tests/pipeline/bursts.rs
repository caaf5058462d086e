//! The verdicts on the packets of a burst on the fast path.

use crate::common::Blocks;
use forebay_packet::Packet;
use forebay_pipeline::{Arrival, DropReason, Engine, FastPath, Leaving, Options, PacketVerdict, VerdictRun};

/// Packets with 1 leave by port 1, those with 2 by port 2. Those with 3 are dropped in egress, and all others in
/// ingress.
const INGRESS: &str = "branch h.a == 8w0x2, block1, block2\nblock1:\nsm.egress_spec = 9w0x2\nreturn\n\
    block2:\nbranch (h.a == 8w0x1) | (h.a == 8w0x3), block3, block4\nblock3:\nsm.egress_spec = 9w0x1\nreturn\n\
    block4:\nsm.egress_spec = 9w0x1ff\nreturn";
const EGRESS: &str = "branch h.a == 8w0x3, block1, block2\nblock1:\nsm.egress_spec = 9w0x1ff\nreturn\nblock2:\nreturn";

/// Takes a burst of packets with these first bytes, followed by their index. Returns the verdicts, and the order of
/// the packets afterwards. Packets that leave among others have their numbers as ids.
fn pass(firsts: &[u8]) -> (Option<Leaving>, Vec<VerdictRun>, Vec<u8>) {
    let blocks = Blocks {
        ingress: INGRESS,
        egress: EGRESS,
        ..Blocks::default()
    };
    let mut switch = blocks.load_with(Options {
        engine: Engine::Jit,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    });
    assert!(switch.worker.has_fast_path());
    let packet = |(place, first): (u8, &u8)| Packet::from_bytes(&[*first, place]);
    let mut packets: Vec<Packet> = (0..).zip(firsts).map(packet).collect();
    let mut verdicts = Vec::new();
    let arrival = Arrival {
        first_packet: 1_000,
        ..Arrival::default()
    };
    let leaving = switch.worker.pass(&mut packets, arrival, 0, &mut verdicts);
    if let Some(Leaving { packets: first, .. }) = leaving
        && first < packets.len()
    {
        for packet in &packets[..first] {
            assert_eq!(packet.id, 1_000 + u64::from(packet.data()[1]));
        }
    }
    let dropped = verdicts.iter().filter(|run| run.verdict.drop_reason().is_some());
    let booked: u64 = switch.pipeline.drops().nonzero().iter().map(|(_, count)| count).sum();
    assert_eq!(booked, dropped.map(|run| run.packets as u64).sum::<u64>());
    let places = packets.iter().map(|packet| packet.data()[1]).collect();
    (leaving, verdicts, places)
}

fn run(verdict: PacketVerdict, packets: usize) -> VerdictRun {
    VerdictRun { verdict, packets }
}

#[test]
fn packets_that_leave_among_others_that_are_dropped_are_the_first_ones_then() {
    let (leaving, verdicts, places) = pass(&[0, 1, 0, 3, 1, 1, 0, 3, 1]);
    assert_eq!(leaving, Some(Leaving { port: 1, packets: 4 }));
    let runs = [
        run(PacketVerdict::Drop(DropReason::IngressDrop), 3),
        run(PacketVerdict::EgressDrop(1), 2),
    ];
    assert_eq!(verdicts, runs);
    assert_eq!(places[..4], [1, 4, 5, 8], "in order");
}

#[test]
fn all_leave_by_one_port() {
    let (leaving, verdicts, places) = pass(&[1, 1, 1]);
    assert_eq!((leaving, verdicts), (Some(Leaving { port: 1, packets: 3 }), vec![]));
    assert_eq!(places, [0, 1, 2]);
}

#[test]
fn packets_for_two_ports_stay_where_they_are() {
    let (leaving, verdicts, places) = pass(&[1, 0, 2, 2, 1]);
    let runs = [
        run(PacketVerdict::Transmit(1), 1),
        run(PacketVerdict::Drop(DropReason::IngressDrop), 1),
        run(PacketVerdict::Transmit(2), 2),
        run(PacketVerdict::Transmit(1), 1),
    ];
    assert_eq!(
        (leaving, &verdicts[..], &places[..]),
        (None, &runs[..], &[0, 1, 2, 3, 4][..])
    );
}

#[test]
fn packets_that_are_dropped_on_their_way_to_another_port_stay_where_they_are() {
    let (leaving, verdicts, places) = pass(&[2, 3, 2]);
    let runs = [
        run(PacketVerdict::Transmit(2), 1),
        run(PacketVerdict::EgressDrop(1), 1),
        run(PacketVerdict::Transmit(2), 1),
    ];
    assert_eq!((leaving, &verdicts[..], &places[..]), (None, &runs[..], &[0, 1, 2][..]));
}

#[test]
fn all_are_dropped() {
    let (leaving, verdicts, _) = pass(&[0, 3, 3]);
    let runs = [
        run(PacketVerdict::Drop(DropReason::IngressDrop), 1),
        run(PacketVerdict::EgressDrop(1), 2),
    ];
    assert_eq!((leaving, &verdicts[..]), (None, &runs[..]));
    assert_eq!(pass(&[]).1, []);
}
