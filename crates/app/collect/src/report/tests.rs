//! Datagrams made by hand, by the layout of the specification.

use super::*;
use proptest::prelude::*;

/// A packet of Ethernet and IPv4 with a UDP header to a port.
fn udp(destination_port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![2; 12];
    packet.extend([
        0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ]);
    packet.extend(1111u16.to_be_bytes());
    packet.extend(destination_port.to_be_bytes());
    packet.extend([0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

const UDP: u8 = 17;
const TCP: u8 = 6;

/// Shim and INT-MD header with a stack of hops that have a node and ports.
fn int_md(npt: u8, original: u16, nodes: &[u32]) -> Vec<u8> {
    let mut bytes = vec![1 << 4 | npt << 2, 3 + 2 * nodes.len() as u8];
    bytes.extend(original.to_be_bytes());
    bytes.extend([0x20, 0, 2, 8, 0xc0, 0, 0, 0, 0, 0, 0, 0]);
    for node in nodes {
        bytes.extend(node.to_be_bytes());
        bytes.extend([0, 1, 0, 2]);
    }
    bytes
}

/// An individual report of type INT about an Ethernet frame.
fn individual(bits: u16, metadata: &[u8], packet: &[u8], flags: u8) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet.resize(packet.len().next_multiple_of(4), 0);
    let words = 2 + metadata.len() / 4 + packet.len() / 4;
    let mut bytes = vec![0x13, words as u8, (metadata.len() / 4) as u8, flags];
    bytes.extend(bits.to_be_bytes());
    bytes.extend([0; 6]);
    bytes.extend(metadata);
    bytes.extend(packet);
    bytes
}

fn datagram(reports: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = (2u32 << 28 | 5 << 22 | 77).to_be_bytes().to_vec();
    bytes.extend(3u32.to_be_bytes());
    bytes.extend(reports.concat());
    bytes
}

fn parsed(datagram: &[u8]) -> (Vec<Report>, Result<(), Malformed>) {
    let mut reports = Vec::new();
    let end = parse(datagram, INT_PORT, |report| reports.push(report));
    (reports, end)
}

#[test]
fn a_sink_reports_the_path_from_the_source_on() {
    let own = [0, 7, 0, 8, 0, 0, 0x27, 0x10, 4, 0, 0, 9];
    let packet = udp(INT_PORT, &int_md(1, 2222, &[2, 1]));
    let (reports, end) = parsed(&datagram(&[individual(0x7000, &own, &packet, 0b0110_0000)]));
    assert_eq!(end, Ok(()));
    let [report] = &reports[..] else {
        panic!("one report: {reports:?}")
    };
    assert_eq!(report.reporter, Reporter { node: 3, hardware: 5 });
    assert_eq!((report.sequence, report.mode), (77, Mode::Md));
    assert!(report.flags.tracked && report.flags.congested && !report.flags.dropped && report.is_whole);
    let nodes: Vec<_> = report.hops.iter().map(|hop| hop.node).collect();
    assert_eq!(nodes, [Some(1), Some(2), Some(3)]);
    let sink = report.hops[2];
    assert_eq!(
        (sink.ingress_port, sink.egress_port, sink.latency_ns),
        (Some(7), Some(8), Some(10_000))
    );
    assert_eq!((sink.queue, sink.queue_depth), (Some(4), Some(9)));
    let flow = report.flow.expect("a flow");
    assert_eq!(flow.to_string(), "UDP 10.0.0.1:1111 > 10.0.0.2:2222");
}

#[test]
fn the_transport_header_of_other_packets_stands_behind_int() {
    let mut payload = int_md(2, u16::from(TCP), &[1]);
    payload.extend([0x12, 0x34, 0, 80, 0, 0, 0, 0]);
    let (reports, end) = parsed(&datagram(&[individual(0, &[], &udp(INT_PORT, &payload), 0)]));
    assert_eq!(end, Ok(()));
    let flow = reports[0].flow.expect("a flow");
    assert_eq!(
        (flow.protocol, flow.source_port, flow.destination_port),
        (TCP, 0x1234, 80)
    );
    assert_eq!(flow.to_string(), "TCP 10.0.0.1:4660 > 10.0.0.2:80");
}

#[test]
fn a_packet_that_is_cut_off_has_no_flow_or_fewer_hops() {
    let whole = udp(INT_PORT, &int_md(1, 2222, &[3, 2, 1]));
    for length in (0..whole.len()).step_by(4) {
        let (reports, end) = parsed(&datagram(&[individual(0, &[], &whole[..length], 0)]));
        assert_eq!((end, reports.len()), (Ok(()), 1), "{length} bytes");
        assert!(reports[0].hops.len() <= 4);
    }
    let cut = whole.len() / 4 * 4 - 8;
    let (reports, _) = parsed(&datagram(&[individual(0, &[], &whole[..cut], 0)]));
    assert!(!reports[0].is_whole);
    assert_eq!(reports[0].hops.last().and_then(|hop| hop.node), Some(3));
}

#[test]
fn a_sink_may_have_its_metadata_in_the_stack() {
    let nodes = |bits, own: &[u8], stack: &[u32]| {
        let packet = udp(INT_PORT, &int_md(1, 2222, stack));
        let (reports, end) = parsed(&datagram(&[individual(bits, own, &packet, 0)]));
        assert_eq!(end, Ok(()));
        let nodes = reports[0].hops.iter().map(|hop| hop.node);
        nodes.collect::<Option<Vec<u32>>>()
    };
    assert_eq!(nodes(0, &[], &[3, 2, 1]), Some(vec![1, 2, 3]));
    assert_eq!(nodes(0, &[], &[2, 1]), Some(vec![1, 2, 3]));
    // It was met twice.
    assert_eq!(nodes(0x4000, &[0, 7, 0, 8], &[3, 1]), Some(vec![1, 3, 3]));
}

/// The hop count or the MTU was exceeded: there is no hop in the place of those that added nothing.
#[test]
fn hops_that_added_nothing_are_missing() {
    for (flag, is_whole) in [(0x08, true), (0x04, false), (0x02, false)] {
        let mut payload = int_md(2, u16::from(TCP), &[2, 1]);
        payload[4] |= flag;
        payload.extend([0x12, 0x34, 0, 80]);
        let (reports, end) = parsed(&datagram(&[individual(0, &[], &udp(INT_PORT, &payload), 0)]));
        assert_eq!((end, reports[0].hops.len()), (Ok(()), 3));
        assert_eq!(reports[0].is_whole, is_whole, "{flag:#x}");
        assert_eq!(reports[0].flow.map(|flow| flow.destination_port), Some(80));
    }
}

#[test]
fn drops_have_a_reason_and_all_ones_are_no_values() {
    let mut own = vec![0, 1, 0xff, 0xff];
    own.extend([0xff; 8]);
    own.extend([6, 4, 0, 0]);
    let (reports, end) = parsed(&datagram(&[individual(0x4801, &own, &udp(53, b"abcd"), 0x80)]));
    assert_eq!(end, Ok(()));
    let report = &reports[0];
    assert!(report.flags.dropped);
    assert_eq!((report.drop_reason, report.mode), (Some(4), Mode::Xd));
    let hop = report.hops[0];
    assert_eq!(
        (hop.ingress_port, hop.egress_port, hop.ingress_time_ns),
        (Some(1), None, None)
    );
    assert_eq!(hop.queue, Some(6));
}

#[test]
fn several_reports_stand_in_a_datagram() {
    let one = individual(0, &[], &udp(53, b"abcd"), 0);
    let (reports, end) = parsed(&datagram(&[one.clone(), one.clone(), one]));
    assert_eq!((reports.len(), end), (3, Ok(())));
}

#[test]
fn what_is_wrong_has_a_name() {
    let good = individual(0, &[], &udp(53, b"abcd"), 0);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut report = good.clone();
        change(&mut report);
        datagram(&[report])
    };
    let int = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut int = int_md(1, 2222, &[1, 2]);
        change(&mut int);
        datagram(&[individual(0, &[], &udp(INT_PORT, &int), 0)])
    };
    let mut other_version = datagram(std::slice::from_ref(&good));
    other_version[0] = 0x10;
    let cases = [
        (vec![0x20, 0, 0], Malformed::GroupHeader),
        (other_version, Malformed::Version),
        (datagram(&[]), Malformed::Empty),
        (datagram(&[vec![0x13]]), Malformed::ReportHeader),
        (with(&|report| report[1] = 200), Malformed::ReportLength),
        (with(&|report| report[0] = 0x23), Malformed::ReportType),
        (datagram(&[vec![0x13, 1, 0, 0, 0, 0, 0, 0]]), Malformed::MainContents),
        (with(&|report| report[2] = 100), Malformed::MetadataLength),
        (with(&|report| report[4] = 0x40), Malformed::MetadataLength),
        (with(&|report| report[0] = 0x17), Malformed::InnerType),
        (int(&|int| int[1] = 2), Malformed::IntHeader),
        (int(&|int| int[0] = 0x74), Malformed::IntHeader),
        (int(&|int| int[4] = 0x10), Malformed::IntHeader),
        (int(&|int| int[6] = 3), Malformed::IntStack),
        (int(&|int| int[6] = 1), Malformed::IntStack),
    ];
    for (datagram, expected) in cases {
        assert_eq!(parsed(&datagram).1, Err(expected), "{datagram:?}");
    }
    let names: std::collections::BTreeSet<_> = Malformed::ALL.iter().map(|malformed| malformed.name()).collect();
    assert_eq!(names.len(), Malformed::ALL.len());
}

proptest! {
    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), place in 0..120usize, value: u8) {
        let _ = parsed(&bytes);
        let mut damaged = datagram(&[individual(0x7c01, &[0; 32], &udp(INT_PORT, &int_md(1, 7, &[1, 2])), 0)]);
        let place = place % damaged.len();
        damaged[place] = value;
        let _ = parsed(&damaged);
        damaged.truncate(place);
        let _ = parsed(&damaged);
    }
}
