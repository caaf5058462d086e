//! Messages of GTP-U (TS 29.281) that the agent sends, and those that the switch hands to it.

use forebay_pfcp::wire::{OuterHeader, Reader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PORT: u16 = 2152;
const ETHERNET: usize = 14;

/// Types of messages (§6.1).
const ECHO_REQUEST: u8 = 1;
const ECHO_RESPONSE: u8 = 2;
const ERROR_INDICATION: u8 = 26;
const END_MARKER: u8 = 254;

/// Types of the elements of an Error Indication (§8.1).
const TEID_DATA: u8 = 16;
const PEER_ADDRESS: u8 = 133;

/// A message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A peer answers.
    EchoResponse(IpAddr),
    /// A peer does not know a tunnel.
    ErrorIndication(OuterHeader),
    /// Another UPF will send no more into a tunnel.
    EndMarker,
    /// Something else.
    Other,
}

/// Reads a frame with a message in it.
pub(crate) fn read(frame: &[u8]) -> Option<Message> {
    let (peer, packet) = udp_payload(frame)?;
    let mut reader = Reader::new(packet);
    let flags = reader.u8().ok()?;
    let kind = reader.u8().ok()?;
    reader.bytes(6).ok()?;
    if flags & 7 != 0 {
        let optional = reader.bytes(4).ok()?;
        skip_extensions(&mut reader, flags & 4 != 0, optional[3])?;
    }
    Some(match kind {
        ECHO_RESPONSE => Message::EchoResponse(peer),
        END_MARKER => Message::EndMarker,
        ERROR_INDICATION => error_indication(reader, peer).map_or(Message::Other, Message::ErrorIndication),
        _ => Message::Other,
    })
}

fn skip_extensions(reader: &mut Reader<'_>, has_extensions: bool, first: u8) -> Option<()> {
    let mut next = if has_extensions { first } else { 0 };
    while next != 0 {
        let words = usize::from(reader.u8().ok()?);
        let rest = reader.bytes((4 * words).checked_sub(1)?).ok()?;
        next = *rest.last()?;
    }
    Some(())
}

/// The sender of a frame, and what UDP carries.
fn udp_payload(frame: &[u8]) -> Option<(IpAddr, &[u8])> {
    let packet = frame.get(ETHERNET..)?;
    let (peer, udp) = match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 15) * 4;
            let source: [u8; 4] = packet.get(12..16)?.try_into().ok()?;
            (IpAddr::V4(Ipv4Addr::from(source)), packet.get(header..)?)
        }
        6 => {
            let source: [u8; 16] = packet.get(8..24)?.try_into().ok()?;
            (IpAddr::V6(Ipv6Addr::from(source)), packet.get(40..)?)
        }
        _ => return None,
    };
    Some((peer, udp.get(8..)?))
}

/// The tunnel of an Error Indication. Its address is the one that the peer names, which may differ from that of the
/// frame.
fn error_indication(mut reader: Reader<'_>, sender: IpAddr) -> Option<OuterHeader> {
    let (mut teid, mut peer) = (None, sender);
    while let Ok(kind) = reader.u8() {
        match kind {
            TEID_DATA => teid = Some(reader.u32().ok()?),
            PEER_ADDRESS => {
                let length = reader.u16().ok()?;
                let value = reader.bytes(usize::from(length)).ok()?;
                if let Ok(v4) = <[u8; 4]>::try_from(value) {
                    peer = IpAddr::from(v4);
                } else if let Ok(v6) = <[u8; 16]>::try_from(value) {
                    peer = IpAddr::from(v6);
                }
            }
            // Elements below 128 have a fixed length, which is not known of others.
            kind if kind >= 128 => {
                let length = reader.u16().ok()?;
                reader.bytes(usize::from(length)).ok()?;
            }
            _ => break,
        }
    }
    Some(OuterHeader { teid: teid?, peer })
}

/// An end marker for a tunnel, as a frame without MAC addresses; none when there is no own address of the family.
pub(crate) fn end_marker(own: IpAddr, tunnel: &OuterHeader) -> Option<Vec<u8>> {
    frame(own, tunnel.peer, &message(END_MARKER, tunnel.teid, None))
}

/// A question to a peer whether it is there.
pub(crate) fn echo_request(own: IpAddr, peer: IpAddr, sequence: u16) -> Option<Vec<u8>> {
    frame(own, peer, &message(ECHO_REQUEST, 0, Some(sequence)))
}

fn message(kind: u8, teid: u32, sequence: Option<u16>) -> Vec<u8> {
    let (flags, length) = sequence.map_or((0x30, 0u16), |_| (0x32, 4));
    let mut bytes = vec![flags, kind];
    bytes.extend(length.to_be_bytes());
    bytes.extend(teid.to_be_bytes());
    if let Some(sequence) = sequence {
        bytes.extend(sequence.to_be_bytes());
        bytes.extend([0, 0]);
    }
    bytes
}

fn frame(own: IpAddr, peer: IpAddr, message: &[u8]) -> Option<Vec<u8>> {
    let length = (8 + message.len()) as u16;
    let mut udp = Vec::new();
    for number in [PORT, PORT, length, 0] {
        udp.extend(number.to_be_bytes());
    }
    udp.extend(message);
    let mut frame = vec![0; 12];
    match (own, peer) {
        (IpAddr::V4(own), IpAddr::V4(peer)) => {
            frame.extend([0x08, 0x00]);
            frame.extend(ipv4_header(own, peer, length));
        }
        (IpAddr::V6(own), IpAddr::V6(peer)) => {
            frame.extend([0x86, 0xdd]);
            let checksum = udp_checksum(own, peer, &udp);
            udp[6..8].copy_from_slice(&checksum.to_be_bytes());
            frame.extend([0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([17, 64]);
            frame.extend(own.octets());
            frame.extend(peer.octets());
        }
        _ => return None,
    }
    frame.extend(udp);
    Some(frame)
}

fn ipv4_header(own: Ipv4Addr, peer: Ipv4Addr, udp_length: u16) -> [u8; 20] {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&(20 + udp_length).to_be_bytes());
    header[6] = 0x40;
    header[8..10].copy_from_slice(&[64, 17]);
    header[12..16].copy_from_slice(&own.octets());
    header[16..20].copy_from_slice(&peer.octets());
    let checksum = !folded(sum(&header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// The checksum over IPv6, where it may be zero for tunnelled packets only.
fn udp_checksum(own: Ipv6Addr, peer: Ipv6Addr, udp: &[u8]) -> u16 {
    let pseudo = sum(&own.octets()) + sum(&peer.octets()) + 17 + udp.len() as u32;
    match !folded(pseudo + sum(udp)) {
        0 => 0xffff,
        checksum => checksum,
    }
}

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_written_and_read() {
        let own: IpAddr = "2001:db8::1".parse().expect("an address");
        let peer: IpAddr = "2001:db8::2".parse().expect("an address");
        let tunnel = OuterHeader { teid: 7, peer };
        let marker = end_marker(own, &tunnel).expect("one family");
        assert_eq!(read(&marker), Some(Message::EndMarker));
        let (source, udp) = (own, &marker[ETHERNET + 40..]);
        assert_eq!(udp_payload(&marker).map(|(source, _)| source), Some(source));
        let IpAddr::V6(own) = own else { unreachable!("IPv6") };
        let IpAddr::V6(peer) = peer else { unreachable!("IPv6") };
        let pseudo = sum(&own.octets()) + sum(&peer.octets()) + 17 + udp.len() as u32;
        assert_eq!(folded(pseudo + sum(udp)), 0xffff);
    }

    #[test]
    fn an_error_indication_names_its_tunnel() {
        let peer: IpAddr = "192.168.3.2".parse().expect("an address");
        let mut elements = vec![16, 0, 0, 0x20, 1, 133, 0, 4];
        elements.extend([192, 168, 3, 2]);
        let mut packet = vec![0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0];
        packet.extend(elements);
        let whole = frame(peer, "192.168.3.1".parse().expect("an address"), &packet).expect("one family");
        let tunnel = OuterHeader { teid: 0x2001, peer };
        assert_eq!(read(&whole), Some(Message::ErrorIndication(tunnel)));
        for length in 0..whole.len() {
            let _ = read(&whole[..length]);
        }
    }
}
