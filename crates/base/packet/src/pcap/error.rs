//! What can be wrong with a capture file.

use crate::FRAME_BYTES_MAX;
use std::fmt;

/// A capture file that cannot be read, with the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PcapError {
    /// Offset in the file of the header, record or block at fault, in bytes.
    pub offset: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a capture file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The file is empty.
    Empty,
    /// The first four bytes are of no known format.
    NotACapture {
        /// The bytes found.
        magic: [u8; 4],
    },
    /// The file ends within a header, record or block.
    Truncated,
    /// The packets are not Ethernet frames.
    LinkType {
        /// The link type found.
        found: u16,
    },
    /// A length that the format does not allow here, or that is over the limit.
    Length {
        /// What has this length.
        what: &'static str,
        /// The length in bytes.
        length: u64,
    },
    /// A packet that is too long for a frame that a port receives.
    FrameTooLong {
        /// The number of the packet in the file, from 1.
        number: usize,
        /// Its length in bytes.
        bytes: usize,
    },
    /// A pcapng block that contradicts itself or its place.
    Block {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The system could not read.
    Io {
        /// What it said.
        detail: String,
    },
}

/// A capture without packets has a header.
const EMPTY: &str = "the file is empty, without the header of a capture: the program that was to write it was killed, or \
                     still holds everything back (`tcpdump -U` does not)";

impl fmt::Display for PcapError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.problem != Problem::Empty {
            write!(formatter, "at byte {}: ", self.offset)?;
        }
        match &self.problem {
            Problem::Empty => formatter.write_str(EMPTY),
            Problem::Truncated if self.offset == 0 => formatter.write_str("the file ends within its header"),
            Problem::NotACapture { magic: [a, b, c, d] } => write!(
                formatter,
                "not a pcap or pcapng file (it starts with {a:02x} {b:02x} {c:02x} {d:02x})"
            ),
            Problem::Truncated => formatter.write_str("the file ends in the middle of a record"),
            Problem::LinkType { found } => write!(
                formatter,
                "the packets are of link type {found}; only Ethernet (1) can be read"
            ),
            Problem::Length { what, length } => {
                write!(formatter, "{what} of {length} bytes: the file is damaged")
            }
            Problem::FrameTooLong { number, bytes } => write!(
                formatter,
                "packet {number} has {bytes} bytes; a switch receives at most {FRAME_BYTES_MAX} (captures of a host have \
                 longer packets when its network card segments them: `ethtool -K INTERFACE tso off gso off gro off`)"
            ),
            Problem::Block { what } => write!(formatter, "damaged pcapng block: {what}"),
            Problem::Io { detail } => write!(formatter, "cannot read: {detail}"),
        }
    }
}

impl std::error::Error for PcapError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_whole_header() {
        let said = |problem, offset| PcapError { offset, problem }.to_string();
        assert!(said(Problem::Empty, 0).starts_with("the file is empty, without the header of a capture"));
        assert_eq!(
            said(Problem::Truncated, 0),
            "at byte 0: the file ends within its header"
        );
        let later = "at byte 24: the file ends in the middle of a record";
        assert_eq!(said(Problem::Truncated, 24), later);
    }
}
