//! Messages of many flows, in turn.

use crate::frame::FrameSpec;
use crate::message::{MessageFormat, MessageId};

/// Gives out the messages of `flows` devices, one device after another, each with its own
/// sequence.
#[derive(Debug, Clone)]
pub struct MessageSource {
    format: MessageFormat,
    sent: Vec<u32>,
    turn: usize,
    datagram: Vec<u8>,
}

impl MessageSource {
    /// A source of the flows 0 to `flows` − 1 (at least one).
    pub fn new(format: MessageFormat, flows: u32) -> MessageSource {
        let sent = vec![0; flows.max(1) as usize];
        MessageSource {
            format,
            sent,
            turn: 0,
            datagram: Vec::new(),
        }
    }

    /// Which message is next. Sequence numbers start again after 2^32.
    pub fn next_message(&mut self) -> MessageId {
        let sent = &mut self.sent[self.turn];
        let id = MessageId {
            flow: self.turn as u32,
            sequence: *sent,
        };
        *sent = sent.wrapping_add(1);
        self.turn = (self.turn + 1) % self.sent.len();
        id
    }

    /// Replaces `datagram` by the next message, for a UDP socket.
    pub fn next_udp_payload(&mut self, datagram: &mut Vec<u8>) -> MessageId {
        let id = self.next_message();
        self.format.write_message(id, datagram);
        id
    }

    /// Replaces `frame` by the next message as a whole frame with these headers.
    pub fn next_frame(&mut self, headers: &FrameSpec, frame: &mut Vec<u8>) -> MessageId {
        let id = self.next_message();
        self.format.write_message(id, &mut self.datagram);
        headers.write(&self.datagram, frame);
        id
    }

    /// How many messages each flow has sent.
    pub fn sent(&self) -> &[u32] {
        &self.sent
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::inspect::inspect;

    #[test]
    fn flows_take_turns() {
        let format = MessageFormat::new(16).expect("the published length");
        let mut source = MessageSource::new(format, 2);
        let ids: Vec<_> = (0..5).map(|_| source.next_message()).collect();
        let pairs: Vec<_> = ids.iter().map(|id| (id.flow, id.sequence)).collect();
        assert_eq!(pairs, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]);
        assert_eq!(source.sent(), [3, 2]);
    }

    #[test]
    fn frames_are_64_bytes_and_correct() {
        let format = MessageFormat::new(16).expect("the published length");
        let headers = FrameSpec::udp_ipv4((Ipv4Addr::new(10, 0, 0, 1), 5000), (Ipv4Addr::new(10, 0, 0, 2), 6000));
        let (mut source, mut frame) = (MessageSource::new(format, 1), Vec::new());
        let id = source.next_frame(&headers, &mut frame);
        assert_eq!(frame.len(), 64);
        let inspected = inspect(&frame).expect("a correct frame");
        assert_eq!(format.read_payload(&frame[inspected.payload.start + 6..]), Ok(id));
        assert_eq!(frame[16..18], [0, 50], "IPv4 length of S = 22");
        assert_eq!(frame[38..40], [0, 30], "UDP length of S = 22");
    }
}
