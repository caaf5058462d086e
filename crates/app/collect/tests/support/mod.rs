//! Datagrams as a sink sends them, by the layout of the specification.

/// The contents of a datagram. The reporter is node 3.
#[derive(Clone, Debug)]
pub struct Sent {
    pub sequence: u32,
    pub source_port: u16,
    /// Nodes before the reporter, from the source on; without any there is no INT in the packet.
    pub nodes: Vec<u32>,
    /// Of the reporter.
    pub latency_ns: u32,
    pub depth: u32,
    pub drop_reason: Option<u8>,
}

impl Default for Sent {
    fn default() -> Sent {
        Sent {
            sequence: 0,
            source_port: 1111,
            nodes: vec![1, 2],
            latency_ns: 1_000,
            depth: 0,
            drop_reason: None,
        }
    }
}

/// A datagram with a report about a UDP packet from 10.0.0.1 to 10.0.0.2:2222.
pub fn datagram(sent: &Sent) -> Vec<u8> {
    let mut packet = vec![2; 12];
    packet.extend([
        0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ]);
    packet.extend(sent.source_port.to_be_bytes());
    packet.extend(if sent.nodes.is_empty() { 2222u16 } else { 32766 }.to_be_bytes());
    packet.extend([0; 4]);
    if !sent.nodes.is_empty() {
        packet.extend([0x14, 3 + sent.nodes.len() as u8]);
        packet.extend(2222u16.to_be_bytes());
        packet.extend([0x20, 0, 1, 8, 0x80, 0, 0, 0, 0, 0, 0, 0]);
        // The latest hop stands first.
        sent.nodes
            .iter()
            .rev()
            .for_each(|node| packet.extend(node.to_be_bytes()));
    }
    packet.extend([0; 6]);
    packet.truncate(packet.len() / 4 * 4);
    let (bits, metadata) = match sent.drop_reason {
        Some(reason) => (0x4001u16, vec![0, 1, 0, 0, 0, reason, 0, 0]),
        None => {
            let mut metadata = vec![0, 1, 0, 2];
            metadata.extend(sent.latency_ns.to_be_bytes());
            metadata.extend(sent.depth.to_be_bytes());
            (0x7000, metadata)
        }
    };
    let words = 2 + metadata.len() / 4 + packet.len() / 4;
    let mut bytes = (2u32 << 28 | sent.sequence).to_be_bytes().to_vec();
    bytes.extend(3u32.to_be_bytes());
    let flags = if sent.drop_reason.is_some() { 0xa0 } else { 0x20 };
    bytes.extend([0x13, words as u8, (metadata.len() / 4) as u8, flags]);
    bytes.extend(bits.to_be_bytes());
    bytes.extend([0; 6]);
    bytes.extend(metadata);
    bytes.extend(packet);
    bytes
}
