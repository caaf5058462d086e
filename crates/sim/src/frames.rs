//! The frames that a stream repeats.

use crate::scenario::{FrameEntry, SizeEntry};
use forebay_packet::SplitMix64;
use forebay_traffic::{FrameSpec, MessageFormat, MessageId, Network, Transport};
use std::net::Ipv4Addr;

/// Frames that are made before the simulation when there are fewer flows: enough to tell messages apart.
const FRAMES: u32 = 64;

/// Frames that are made to have every size in every flow.
const FRAMES_MAX: u32 = 1 << 16;

/// UDP port of IoT traffic: see `programs/common/iot.p4`.
const IOT_PORT: u16 = 9000;

/// The server to which messages go.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// Sizes of "simple IMIX" without check sequence, in its proportions of 7 : 4 : 1.
const IMIX: [usize; 12] = [60, 60, 590, 60, 60, 590, 60, 1514, 590, 60, 60, 590];

/// UDP and the headers before it.
const UDP_HEADERS: usize = 14 + 20 + 8;

/// The frames of an entry, in order.
///
/// # Errors
/// When a length is impossible, in words; a capture file is the caller's business.
pub(crate) fn frames(
    entry: &FrameEntry,
    read: impl Fn(&str) -> Result<Vec<Vec<u8>>, String>,
) -> Result<Vec<Vec<u8>>, String> {
    match entry {
        FrameEntry::Udp {
            bytes,
            flows,
            destination_port,
            destination,
        } => {
            let sizes = sizes(bytes)?;
            let flow = |index: u32| udp_spec((index % (*flows).max(1)) as u16, *destination, *destination_port);
            let count = (*flows).max(sizes.len() as u32 * FRAMES.div_ceil(sizes.len() as u32));
            let frame = |index: u32| {
                let size = sizes[index as usize % sizes.len()];
                flow(index).build(&filling(index, size - UDP_HEADERS))
            };
            Ok((0..count).map(frame).collect())
        }
        FrameEntry::Message { payload_bytes, flows } => {
            let formats = payload_sizes(payload_bytes)?.into_iter().map(format);
            let formats: Vec<MessageFormat> = formats.collect::<Result<_, _>>()?;
            let flows = (*flows).max(1);
            let message = |index: u32| {
                let id = MessageId {
                    flow: index % flows,
                    sequence: index / flows,
                };
                let mut datagram = Vec::new();
                // Sizes change within a flow as well.
                let size = (index + index / flows) as usize % formats.len();
                formats[size].write_message(id, &mut datagram);
                iot_spec(id.flow).build(&datagram)
            };
            let all_sizes = flows.saturating_mul(formats.len() as u32).min(FRAMES_MAX);
            Ok((0..FRAMES.max(flows).max(all_sizes)).map(message).collect())
        }
        FrameEntry::NPacket {
            payload_bytes,
            messages,
        } => {
            let format = format(*payload_bytes)?;
            let packet = |index: u32| {
                let id = |sequence: usize| MessageId {
                    flow: 0,
                    sequence: index * *messages as u32 + sequence as u32,
                };
                let ids: Vec<MessageId> = (0..*messages).map(id).collect();
                let mut datagram = Vec::new();
                format.write_aggregate(&ids, &mut datagram);
                iot_spec(0).build(&datagram)
            };
            Ok((0..FRAMES).map(packet).collect())
        }
        FrameEntry::Pcap { file } => read(file),
    }
}

fn format(payload_bytes: usize) -> Result<MessageFormat, String> {
    MessageFormat::new(payload_bytes).map_err(|error| error.to_string())
}

/// Payloads of messages.
fn payload_sizes(entry: &SizeEntry) -> Result<Vec<usize>, String> {
    match entry {
        SizeEntry::Fixed(size) => Ok(vec![*size]),
        SizeEntry::Several(sizes) if !sizes.is_empty() => Ok(sizes.clone()),
        SizeEntry::Several(_) | SizeEntry::Named(_) => {
            Err("a payload's length is a number of bytes, or a list of them".to_string())
        }
    }
}

fn sizes(entry: &SizeEntry) -> Result<Vec<usize>, String> {
    let sizes = match entry {
        SizeEntry::Fixed(size) => vec![*size],
        SizeEntry::Several(sizes) => sizes.clone(),
        SizeEntry::Named(name) if name == "imix" => IMIX.to_vec(),
        SizeEntry::Named(name) => {
            return Err(format!(
                "{name:?} is no size; write a number of bytes, a list of them, or \"imix\""
            ));
        }
    };
    match sizes.iter().find(|size| !(UDP_HEADERS..=9_000).contains(*size)) {
        Some(size) => Err(format!("a UDP frame has {UDP_HEADERS} to 9000 bytes, not {size}")),
        None if sizes.is_empty() => Err("a list of sizes has at least one".to_string()),
        None => Ok(sizes),
    }
}

/// Bytes that differ from frame to frame.
fn filling(index: u32, length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(index.into());
    (0..length).map(|_| random.next_u64() as u8).collect()
}

fn udp_spec(flow: u16, destination: Ipv4Addr, destination_port: u16) -> FrameSpec {
    let [high, low] = flow.to_be_bytes();
    FrameSpec {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 0xfe],
        vlan: None,
        network: Network::Ipv4 {
            source: Ipv4Addr::new(10, 1, high, low),
            destination,
            time_to_live: 64,
            identification: flow,
            traffic_class: 0,
        },
        transport: Transport::Udp {
            source: 10_000,
            destination: destination_port,
        },
    }
}

fn iot_spec(device: u32) -> FrameSpec {
    udp_spec(device as u16, SERVER, IOT_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(entry: FrameEntry) -> Vec<usize> {
        let frames = frames(&entry, |_| Err(String::new())).unwrap();
        frames.iter().map(Vec::len).collect()
    }

    #[test]
    fn frames_have_the_lengths_that_are_asked_for() {
        let message = lengths(FrameEntry::Message {
            payload_bytes: SizeEntry::Fixed(16),
            flows: 1,
        });
        assert!(message.iter().all(|length| *length == 64));
        let mixed = lengths(FrameEntry::Message {
            payload_bytes: SizeEntry::Several(vec![12, 20, 31]),
            flows: 100,
        });
        let of_length = |length: usize| mixed.iter().filter(|other| **other == 48 + length).count();
        assert_eq!((mixed.len(), of_length(12), of_length(20)), (300, 100, 100));
        let packet = lengths(FrameEntry::NPacket {
            payload_bytes: 16,
            messages: 8,
        });
        assert!(packet.iter().all(|length| *length == 48 + 8 * 16));
        let udp = |bytes| FrameEntry::Udp {
            bytes,
            flows: 1,
            destination_port: 9,
            destination: SERVER,
        };
        assert!(
            lengths(udp(SizeEntry::Fixed(1500)))
                .iter()
                .all(|length| *length == 1500)
        );
        assert!(
            lengths(udp(SizeEntry::Named("imix".to_string())))
                .len()
                .is_multiple_of(12)
        );
        assert!(frames(&udp(SizeEntry::Named("big".to_string())), |_| Err(String::new())).is_err());
    }
}
