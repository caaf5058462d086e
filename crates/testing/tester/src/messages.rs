//! IoT messages as traffic: the published ones, whose payload of 16 bytes has no room for a tag.
//!
//! A message says its device and number itself (`forebay_traffic::message`). The times at which the last [`REMEMBERED`]
//! messages should be sent, and were, are kept here. A device's switch may put N messages into one packet; each of them
//! counts.

use crate::tag::TRIALS;
use forebay_traffic::{FrameSpec, MessageFormat, MessageId, inspect, mixed};
use std::net::Ipv4Addr;

/// Devices of a stream at most, as a power of two. Behind their bits a flow has 8 for the stream, then those of the
/// trial.
const DEVICES_BITS: u32 = 16;
const STREAM_BITS: u32 = 8;

/// Messages whose times are kept.
const REMEMBERED: usize = 1 << 20;

/// UDP port of IoT traffic: see `programs/common/iot.p4`.
const IOT_PORT: u16 = 9000;

/// The server to which messages go.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// Messages of a trial.
#[derive(Clone, Debug)]
pub struct Messages {
    format: MessageFormat,
    devices: u32,
    /// The flow of its first device: messages of other streams, and of earlier trials that come late, have others.
    first_flow: u32,
    times: Vec<(u64, u64)>,
    payload: Vec<u8>,
}

/// The Ethernet header of a message, and its addresses.
pub fn headers(device: u32, macs: ([u8; 6], [u8; 6])) -> FrameSpec {
    let [_, _, high, low] = device.to_be_bytes();
    let mut spec = FrameSpec::udp_ipv4((Ipv4Addr::new(10, 1, high, low), 10_000), (SERVER, IOT_PORT));
    (spec.source_mac, spec.destination_mac) = macs;
    spec
}

impl Messages {
    /// Messages of this many devices, of the stream with this index.
    pub fn new(format: MessageFormat, devices: u32, stream: u8, trial: u64) -> Messages {
        let trial = (trial % TRIALS) as u32;
        Messages {
            format,
            devices,
            first_flow: (trial << STREAM_BITS | u32::from(stream)) << DEVICES_BITS,
            times: vec![(0, 0); REMEMBERED],
            payload: Vec::new(),
        }
    }

    /// Writes the message with this number over that of its template, and remembers its times.
    pub fn write(&mut self, number: u64, times: (u64, u64), frame: &mut [u8]) {
        self.times[number as usize % REMEMBERED] = times;
        self.payload.clear();
        self.format.append_payload(self.id(number), &mut self.payload);
        let at = frame.len() - self.payload.len();
        frame[at..].copy_from_slice(&self.payload);
        let udp = at - forebay_traffic::message::FLAG_HEADER - 8;
        write_checksum(udp, frame);
    }

    fn id(&self, number: u64) -> MessageId {
        MessageId {
            flow: self.first_flow + (number % u64::from(self.devices)) as u32,
            sequence: (number / u64::from(self.devices)) as u32,
        }
    }

    /// The numbers of the messages in a frame, with their intended and sending times. `sent` messages were sent. None
    /// for those that are damaged, are of other streams or trials, or cannot have been sent.
    pub fn find(&self, frame: &[u8], sent: u64, mut each: impl FnMut(Option<(u64, u64, u64)>)) {
        let Ok(inspected) = inspect(frame) else { return };
        let datagram = &frame[inspected.payload];
        let payloads = match self.format.split(datagram) {
            Ok(payloads) => payloads.collect(),
            Err(_) => match mixed::payloads(datagram) {
                Ok(payloads) => payloads,
                Err(_) => return,
            },
        };
        for payload in payloads {
            let number = self.format.read_payload(payload).ok().and_then(|id| self.number(id));
            let known = number.filter(|number| *number < sent);
            each(known.map(|number| {
                let (intended, real) = self.times[number as usize % REMEMBERED];
                (number, intended, real)
            }));
        }
    }

    /// The number of a message; none when it is of another stream or trial.
    fn number(&self, id: MessageId) -> Option<u64> {
        let device = id.flow.checked_sub(self.first_flow)?;
        let number = u64::from(id.sequence) * u64::from(self.devices) + u64::from(device);
        (device < self.devices).then_some(number)
    }
}

/// Computes the checksum of a UDP header over IPv4 without options.
fn write_checksum(udp: usize, frame: &mut [u8]) {
    frame[udp + 6..udp + 8].fill(0);
    let address = |at: usize| Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
    let (source, destination) = (address(udp - 8), address(udp - 4));
    let length = (frame.len() - udp) as u16;
    let sum = forebay_packet::checksum::Sum::new()
        .add_ipv4_pseudo_header(source, destination, 17, length)
        .add_bytes(&frame[udp..]);
    frame[udp + 6..udp + 8].copy_from_slice(&sum.udp_checksum().to_be_bytes());
}

/// The templates of the messages of some devices.
pub fn templates(format: MessageFormat, devices: u32, macs: ([u8; 6], [u8; 6])) -> Vec<Vec<u8>> {
    let template = |device| {
        let mut datagram = Vec::new();
        let id = MessageId {
            flow: device,
            sequence: 0,
        };
        format.write_message(id, &mut datagram);
        headers(device, macs).build(&datagram)
    };
    (0..devices).map(template).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_messages_of_an_earlier_trial_are_not_of_this_one() {
        let format = MessageFormat::new(16).expect("a length of messages");
        let mut frame = templates(format, 3, ([2; 6], [4; 6])).swap_remove(1);
        let of_trial = |trial| Messages::new(format, 3, 255, trial);
        of_trial(TRIALS + 7).write(1, (10, 20), &mut frame);
        let found = |messages: Messages| {
            let mut found = Vec::new();
            messages.find(&frame, 2, |message| found.push(message));
            found
        };
        let mut own = of_trial(7);
        own.times[1] = (30, 40);
        assert_eq!(found(own), [Some((1, 30, 40))]);
        assert_eq!(found(of_trial(8)), [None]);
        assert_eq!(found(of_trial(TRIALS - 1)), [None]);
    }
}
