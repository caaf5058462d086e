//! The small message of the aggregation experiments, and the N-packet that carries several.
//!
//! ```text
//!   message:  Ethernet 14 | IPv4 20 | UDP 8 | 0xfa, padding 5 | payload P
//!   N-packet: Ethernet 14 | IPv4 20 | UDP 8 | 0xfc, padding 5 | payload P × N
//!   payload:  flow 4 | sequence number 4 | pattern P − 8
//! ```
//!
//! The published tables count S = flag header + payload (22 to 46 bytes), so P = S − 6. The
//! pattern is a pseudo-random function of flow and sequence number: a receiver can tell a message
//! that was changed, or put together from two, without having seen the original. All integers are
//! big-endian.

use std::fmt;

use forebay_packet::SplitMix64;

/// Type byte of a message.
pub const MESSAGE_TYPE: u8 = 0xfa;

/// Type byte of an N-packet.
pub const AGGREGATE_TYPE: u8 = 0xfc;

/// Bytes of the flag header: type and 40 bits of padding.
pub const FLAG_HEADER: usize = 6;

/// Bytes of all headers before the payload: Ethernet, IPv4, UDP and flag header.
pub const MESSAGE_HEADERS: usize = 14 + 20 + 8 + FLAG_HEADER;

/// The shortest payload: flow, sequence number and a pattern of 32 bits.
pub const MINIMUM_PAYLOAD: usize = 12;

/// The longest payload that fits in a standard Ethernet frame.
pub const MAXIMUM_PAYLOAD: usize = 1500 - 20 - 8 - FLAG_HEADER;

/// The length of pattern and identity in a payload's head.
const IDENTITY: usize = 8;

/// Which message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// The device or flow that sent it.
    pub flow: u32,
    /// How many its flow had sent before.
    pub sequence: u32,
}

/// A payload length that messages cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatError {
    /// The requested length, in bytes.
    pub payload_bytes: usize,
}

impl fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a message payload has {MINIMUM_PAYLOAD} to {MAXIMUM_PAYLOAD} bytes, not {}",
            self.payload_bytes
        )
    }
}

impl std::error::Error for FormatError {}

/// What is wrong with a UDP payload that should be a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFault {
    /// Its length is not that of a message, or of whole messages.
    Length,
    /// Its type byte is neither that of a message nor of an N-packet.
    Type,
    /// The 40 bits of padding are not zero.
    Padding,
    /// The pattern does not belong to its flow and sequence number.
    Content,
}

impl fmt::Display for MessageFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            MessageFault::Length => "wrong length",
            MessageFault::Type => "wrong type byte",
            MessageFault::Padding => "padding is not zero",
            MessageFault::Content => "changed content",
        })
    }
}

/// The form of the messages of an experiment: how long their payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFormat {
    payload_bytes: usize,
}

impl MessageFormat {
    /// Messages with payloads of `payload_bytes`; 16 in the published experiment.
    ///
    /// # Errors
    /// When it is shorter than [`MINIMUM_PAYLOAD`] or longer than [`MAXIMUM_PAYLOAD`].
    pub fn new(payload_bytes: usize) -> Result<MessageFormat, FormatError> {
        match payload_bytes {
            MINIMUM_PAYLOAD..=MAXIMUM_PAYLOAD => Ok(MessageFormat { payload_bytes }),
            _ => Err(FormatError { payload_bytes }),
        }
    }

    /// Bytes of a payload (P).
    pub fn payload_bytes(self) -> usize {
        self.payload_bytes
    }

    /// Bytes of flag header and payload (S of the published tables): what UDP carries.
    pub fn message_bytes(self) -> usize {
        FLAG_HEADER + self.payload_bytes
    }

    /// Replaces `datagram` by the message: flag header and payload, for a UDP socket.
    pub fn write_message(self, id: MessageId, datagram: &mut Vec<u8>) {
        start_datagram(MESSAGE_TYPE, datagram);
        self.append_payload(id, datagram);
    }

    /// Replaces `datagram` by the N-packet of these messages, in order.
    pub fn write_aggregate(self, ids: &[MessageId], datagram: &mut Vec<u8>) {
        start_datagram(AGGREGATE_TYPE, datagram);
        for id in ids {
            self.append_payload(*id, datagram);
        }
    }

    /// Appends the payload of a message.
    pub fn append_payload(self, id: MessageId, to: &mut Vec<u8>) {
        to.extend(id.flow.to_be_bytes());
        to.extend(id.sequence.to_be_bytes());
        let mut pattern = Pattern::new(id);
        to.extend((IDENTITY..self.payload_bytes).map(|_| pattern.next_byte()));
    }

    /// Which message a payload (without flag header) is.
    ///
    /// # Errors
    /// When its length is wrong, or its pattern does not belong to its flow and sequence number.
    pub fn read_payload(self, payload: &[u8]) -> Result<MessageId, MessageFault> {
        if payload.len() != self.payload_bytes {
            return Err(MessageFault::Length);
        }
        let word = |at: usize| u32::from_be_bytes([payload[at], payload[at + 1], payload[at + 2], payload[at + 3]]);
        let id = MessageId {
            flow: word(0),
            sequence: word(4),
        };
        let mut pattern = Pattern::new(id);
        let intact = payload[IDENTITY..].iter().all(|byte| *byte == pattern.next_byte());
        if intact { Ok(id) } else { Err(MessageFault::Content) }
    }

    /// The payloads in a message (one) or N-packet (one or more), not yet verified.
    ///
    /// # Errors
    /// When the flag header or the length is not that of either.
    pub fn split(self, datagram: &[u8]) -> Result<std::slice::ChunksExact<'_, u8>, MessageFault> {
        let (flag, payloads) = datagram
            .split_first_chunk::<FLAG_HEADER>()
            .ok_or(MessageFault::Length)?;
        let count = payloads.len() / self.payload_bytes;
        let whole = payloads.len() % self.payload_bytes == 0;
        match flag[0] {
            MESSAGE_TYPE if whole && count == 1 => {}
            AGGREGATE_TYPE if whole && count >= 1 => {}
            MESSAGE_TYPE | AGGREGATE_TYPE => return Err(MessageFault::Length),
            _ => return Err(MessageFault::Type),
        }
        if flag[1..] != [0; FLAG_HEADER - 1] {
            return Err(MessageFault::Padding);
        }
        Ok(payloads.chunks_exact(self.payload_bytes))
    }
}

fn start_datagram(message_type: u8, datagram: &mut Vec<u8>) {
    datagram.clear();
    datagram.extend([message_type, 0, 0, 0, 0, 0]);
}

/// The pseudo-random bytes of a message.
struct Pattern {
    random: SplitMix64,
    word: u64,
    left: u32,
}

impl Pattern {
    fn new(id: MessageId) -> Pattern {
        let seed = (u64::from(id.flow) << 32) | u64::from(id.sequence);
        Pattern {
            random: SplitMix64::new(seed),
            word: 0,
            left: 0,
        }
    }

    fn next_byte(&mut self) -> u8 {
        if self.left == 0 {
            self.word = self.random.next_u64();
            self.left = 8;
        }
        self.left -= 1;
        let byte = self.word as u8;
        self.word >>= 8;
        byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn format(payload_bytes: usize) -> MessageFormat {
        MessageFormat::new(payload_bytes).expect("an allowed length")
    }

    #[test]
    fn the_message_of_the_published_experiment() {
        let format = format(16);
        let mut datagram = Vec::new();
        format.write_message(
            MessageId {
                flow: 0x0102_0304,
                sequence: 5,
            },
            &mut datagram,
        );
        assert_eq!(datagram.len(), format.message_bytes());
        assert_eq!(format.message_bytes(), 22);
        assert_eq!(datagram[..14], [0xfa, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 5]);
        assert_eq!(MESSAGE_HEADERS + 16, 64);
    }

    #[test]
    fn lengths_out_of_bounds_are_refused() {
        for payload_bytes in [0, 11, 1467, usize::MAX] {
            assert_eq!(MessageFormat::new(payload_bytes), Err(FormatError { payload_bytes }));
        }
    }

    #[test]
    fn flag_headers_are_checked() {
        let format = format(12);
        let mut datagram = Vec::new();
        format.write_message(MessageId { flow: 1, sequence: 2 }, &mut datagram);
        let fault = |change: fn(&mut Vec<u8>)| {
            let mut changed = datagram.clone();
            change(&mut changed);
            format.split(&changed).map(|payloads| payloads.len())
        };
        assert_eq!(fault(|_| ()), Ok(1));
        assert_eq!(fault(|bytes| bytes[0] = 0xfb), Err(MessageFault::Type));
        assert_eq!(fault(|bytes| bytes[5] = 1), Err(MessageFault::Padding));
        assert_eq!(fault(|bytes| bytes.push(0)), Err(MessageFault::Length));
        assert_eq!(fault(|bytes| bytes.truncate(6)), Err(MessageFault::Length));
        assert_eq!(fault(|bytes| bytes.truncate(3)), Err(MessageFault::Length));
        assert_eq!(fault(|bytes| bytes.extend_from_within(6..)), Err(MessageFault::Length));
    }

    proptest! {
        #[test]
        fn aggregates_split_into_their_messages(
            payload_bytes in MINIMUM_PAYLOAD..=64usize,
            ids in proptest::collection::vec(any::<(u32, u32)>(), 1..9),
        ) {
            let format = format(payload_bytes);
            let ids: Vec<MessageId> =
                ids.into_iter().map(|(flow, sequence)| MessageId { flow, sequence }).collect();
            let mut datagram = Vec::new();
            format.write_aggregate(&ids, &mut datagram);
            prop_assert_eq!(datagram.len(), FLAG_HEADER + ids.len() * payload_bytes);
            let found: Result<Vec<_>, _> = format
                .split(&datagram)
                .expect("a correct N-packet")
                .map(|payload| format.read_payload(payload))
                .collect();
            prop_assert_eq!(found, Ok(ids));
        }

        #[test]
        fn any_changed_byte_is_found(
            flow in any::<u32>(),
            sequence in any::<u32>(),
            position in any::<usize>(),
            change in 1..=255u8,
        ) {
            let format = format(16);
            let mut payload = Vec::new();
            format.append_payload(MessageId { flow, sequence }, &mut payload);
            payload[position % 16] ^= change;
            prop_assert_eq!(format.read_payload(&payload), Err(MessageFault::Content));
        }

        #[test]
        fn no_datagram_panics(datagram in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(payloads) = format(16).split(&datagram) {
                for payload in payloads {
                    let _ = format(16).read_payload(payload);
                }
            }
        }
    }
}
