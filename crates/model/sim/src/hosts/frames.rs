//! The frames of hosts: TCP segments, and messages of RoCE version 2.
//!
//! Payloads are zeros. A data segment of flow `n` has source port 10000 + n; what acknowledges it has that as
//! destination port, or, with RoCE, as source port too.

use forebay_packet::checksum::internet_checksum;
use std::net::Ipv4Addr;

/// The port that TCP data goes to: commplex-link.
const TCP_PORT: u16 = 5001;

/// UDP destination port of RoCE version 2 (InfiniBand Architecture Specification, annex 17).
const ROCE_PORT: u16 = 4791;

/// The source port of flow 0.
const FLOW_PORT: u16 = 10_000;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
/// Base transport header.
const BTH: usize = 12;
/// Invariant check value after the payload.
const ICRC: usize = 4;

/// Opcodes of reliable connections: a message in one packet, and an acknowledgement.
const SEND_ONLY: u8 = 0x04;
const ACKNOWLEDGE: u8 = 0x11;

/// TCP flags.
pub(super) const ACK: u8 = 0x10;
pub(super) const ECE: u8 = 0x40;
pub(super) const CWR: u8 = 0x80;

/// Congestion experienced.
const CE: u8 = 3;
/// ECN-capable transport.
const ECT0: u8 = 2;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// A TCP segment with or without data: sequence number, acknowledgement number, flags, bytes of data.
    Tcp {
        sequence: u32,
        acknowledges: u32,
        flags: u8,
        bytes: u32,
    },
    /// A message of RoCE: packet sequence number, bytes.
    Message { sequence: u32, bytes: u32 },
    /// The sequence number that is expected next, and whether one was missing.
    Acknowledge { sequence: u32, is_negative: bool },
}

/// A frame between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostFrame {
    pub(super) flow: u16,
    /// Whether it goes from the flow's source to its destination.
    pub(super) is_forward: bool,
    /// Whether a switch may mark it.
    pub(super) is_ecn_capable: bool,
    /// Whether one has.
    pub(super) is_marked: bool,
    pub(super) carried: Carried,
}

/// The addresses of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) ipv4: Ipv4Addr,
    pub(super) mac: [u8; 6],
}

impl HostFrame {
    /// The frame, from one host to another.
    pub(super) fn bytes(&self, from: Address, to: Address) -> Vec<u8> {
        let (protocol, payload) = match self.carried {
            Carried::Tcp { bytes, .. } => (6, TCP + bytes as usize),
            Carried::Message { bytes, .. } => (17, UDP + BTH + bytes as usize + ICRC),
            // An acknowledge extended transport header of four bytes.
            Carried::Acknowledge { .. } => (17, UDP + BTH + 4 + ICRC),
        };
        let mut frame = vec![0; ETHERNET + IPV4 + payload];
        frame[..6].copy_from_slice(&to.mac);
        frame[6..12].copy_from_slice(&from.mac);
        frame[12..14].copy_from_slice(&[8, 0]);
        let ecn = if self.is_ecn_capable { ECT0 } else { 0 };
        let length = (IPV4 + payload) as u16;
        let header = &mut frame[ETHERNET..ETHERNET + IPV4];
        header[..2].copy_from_slice(&[0x45, ecn]);
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[6..10].copy_from_slice(&[0x40, 0, 64, protocol]);
        header[12..16].copy_from_slice(&from.ipv4.octets());
        header[16..20].copy_from_slice(&to.ipv4.octets());
        let checksum = internet_checksum(header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        self.write_transport(&mut frame[ETHERNET + IPV4..], from, to);
        frame
    }

    fn write_transport(&self, transport: &mut [u8], from: Address, to: Address) {
        let own = FLOW_PORT + self.flow;
        let length = transport.len() as u16;
        match self.carried {
            Carried::Tcp {
                sequence,
                acknowledges,
                flags,
                ..
            } => {
                let (source, destination) = if self.is_forward {
                    (own, TCP_PORT)
                } else {
                    (TCP_PORT, own)
                };
                transport[..2].copy_from_slice(&source.to_be_bytes());
                transport[2..4].copy_from_slice(&destination.to_be_bytes());
                transport[4..8].copy_from_slice(&sequence.to_be_bytes());
                transport[8..12].copy_from_slice(&acknowledges.to_be_bytes());
                transport[12..16].copy_from_slice(&[0x50, flags, 0xff, 0xff]);
                // The payload is zero and adds nothing.
                let sum = forebay_packet::checksum::Sum::new()
                    .add_ipv4_pseudo_header(from.ipv4, to.ipv4, 6, length)
                    .add_bytes(&transport[..TCP]);
                transport[16..18].copy_from_slice(&sum.checksum().to_be_bytes());
            }
            Carried::Message { sequence, .. } => {
                write_bth(transport, own, SEND_ONLY, sequence);
            }
            Carried::Acknowledge { sequence, is_negative } => {
                write_bth(transport, own, ACKNOWLEDGE, sequence);
                // The syndrome: 0x60 is a negative one, a packet sequence error.
                transport[UDP + BTH] = if is_negative { 0x60 } else { 0 };
            }
        }
    }

    /// What a frame is; none when hosts do not send such frames.
    pub(super) fn parse(frame: &[u8]) -> Option<HostFrame> {
        let header = frame.get(ETHERNET..ETHERNET + IPV4)?;
        if frame[12..14] != [8, 0] || header[0] != 0x45 {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let transport = frame.get(ETHERNET + IPV4..ETHERNET + length)?;
        let word = |at: usize| Some(u32::from_be_bytes(transport.get(at..at + 4)?.try_into().ok()?));
        let ports = word(0)?;
        let (source, destination) = ((ports >> 16) as u16, ports as u16);
        let (is_forward, carried) = match header[9] {
            6 => {
                let bytes = transport.len().checked_sub(TCP)? as u32;
                let tcp = Carried::Tcp {
                    sequence: word(4)?,
                    acknowledges: word(8)?,
                    flags: *transport.get(13)?,
                    bytes,
                };
                (destination == TCP_PORT, tcp)
            }
            17 if destination == ROCE_PORT => roce(transport)?,
            _ => return None,
        };
        let port = if is_forward || header[9] == 17 {
            source
        } else {
            destination
        };
        Some(HostFrame {
            flow: port.checked_sub(FLOW_PORT)?,
            is_forward,
            is_ecn_capable: header[1] & CE != 0,
            is_marked: header[1] & CE == CE,
            carried,
        })
    }
}

fn write_bth(transport: &mut [u8], source: u16, opcode: u8, sequence: u32) {
    let length = transport.len() as u16;
    transport[..2].copy_from_slice(&source.to_be_bytes());
    transport[2..4].copy_from_slice(&ROCE_PORT.to_be_bytes());
    transport[4..6].copy_from_slice(&length.to_be_bytes());
    transport[UDP] = opcode;
    transport[UDP + 8..UDP + 12].copy_from_slice(&(sequence & 0x00ff_ffff).to_be_bytes());
}

fn roce(transport: &[u8]) -> Option<(bool, Carried)> {
    let sequence = transport.get(UDP + 8..UDP + 12)?;
    let sequence = u32::from_be_bytes(sequence.try_into().ok()?) & 0x00ff_ffff;
    match transport[UDP] {
        SEND_ONLY => {
            let bytes = transport.len().checked_sub(UDP + BTH + ICRC)? as u32;
            Some((true, Carried::Message { sequence, bytes }))
        }
        ACKNOWLEDGE => {
            let is_negative = *transport.get(UDP + BTH)? == 0x60;
            Some((false, Carried::Acknowledge { sequence, is_negative }))
        }
        _ => None,
    }
}

/// Bytes of a frame with `bytes` bytes of a RoCE message.
pub(super) fn roce_frame_bytes(bytes: u32) -> u32 {
    (ETHERNET + IPV4 + UDP + BTH + ICRC) as u32 + bytes
}

/// The number near to another one of which only the lowest bits are known.
pub(super) fn near(number: u64, low: u32, bits: u32) -> u64 {
    let size = 1u64 << bits;
    let candidate = number & !(size - 1) | u64::from(low);
    if candidate + size / 2 < number {
        candidate + size
    } else if candidate > number + size / 2 && candidate >= size {
        candidate - size
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Address = Address {
        ipv4: Ipv4Addr::new(10, 0, 0, 1),
        mac: [2, 0, 0, 0, 0, 1],
    };
    const THERE: Address = Address {
        ipv4: Ipv4Addr::new(10, 0, 0, 2),
        mac: [2, 0, 0, 0, 0, 2],
    };

    #[test]
    fn what_is_written_is_read() {
        let tcp = Carried::Tcp {
            sequence: 7,
            acknowledges: 9,
            flags: ACK | ECE,
            bytes: 1460,
        };
        let acknowledge = Carried::Acknowledge {
            sequence: 5,
            is_negative: true,
        };
        for (is_forward, carried) in [
            (true, tcp),
            (false, tcp),
            (
                true,
                Carried::Message {
                    sequence: 3,
                    bytes: 1024,
                },
            ),
            (false, acknowledge),
        ] {
            let frame = HostFrame {
                flow: 3,
                is_forward,
                is_ecn_capable: true,
                is_marked: false,
                carried,
            };
            let mut bytes = frame.bytes(HERE, THERE);
            assert_eq!(HostFrame::parse(&bytes), Some(frame));
            assert_eq!(internet_checksum(&bytes[14..34]), 0);
            bytes[15] |= CE;
            assert!(HostFrame::parse(&bytes).is_some_and(|frame| frame.is_marked));
        }
        assert_eq!(HostFrame::parse(&[0; 60]), None);
    }

    #[test]
    fn numbers_go_on_where_they_wrap() {
        assert_eq!(near(0xffff_fff0, 0x10, 32), 0x1_0000_0010);
        assert_eq!(near(0x1_0000_0010, 0xffff_fff0, 32), 0xffff_fff0);
        assert_eq!(near(5, 3, 32), 3);
    }
}
