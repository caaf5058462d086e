//! Writing pcapng (draft-ietf-opsawg-pcapng): an interface for each port, and for each packet what became of it.
//!
//! Four kinds of block are written: section header, interface description, enhanced packet, interface statistics.
//! Everything is little-endian, times are in nanoseconds.

use super::{LINK_TYPE_ETHERNET, MAX_RECORD_BYTES};
use std::io::{self, Write};

/// Types of blocks.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// What stands in a section header so that readers know the order of bytes.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Codes of options; 0 ends a list.
const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_TEXT: u16 = 3;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
const PACKET_ID: u16 = 5;
const QUEUE: u16 = 6;
const VERDICT: u16 = 7;
const RECEIVED: u16 = 4;
const DROPPED: u16 = 5;

/// Times are in units of 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// The kind of verdict: what an XDP program returns, which readers show by name.
const VERDICT_OF_XDP: u8 = 2;
const XDP_DROP: u64 = 1;
const XDP_REDIRECT: u64 = 4;

/// The longest comment in bytes; longer ones are cut.
const COMMENT_MAX: usize = 4096;

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It came in by the interface.
    In,
    /// It left by the interface.
    Out,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It left, or something that was made of it.
    Forwarded,
    /// It was dropped.
    Dropped,
}

/// A packet and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct NgPacket<'a> {
    /// As [`NgWriter::interface`] has numbered it.
    pub interface: u32,
    /// Nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// The frame; more than [`MAX_RECORD_BYTES`] is cut.
    pub data: &'a [u8],
    /// Which way it went.
    pub direction: Direction,
    /// A number that a packet that came shares with what was made of it.
    pub id: u64,
    /// The queue that it waited in.
    pub queue: Option<u32>,
    /// What became of it.
    pub verdict: Option<Verdict>,
    /// Words, of which readers show the first line.
    pub comment: &'a str,
}

/// Writes a section.
pub struct NgWriter<W: Write> {
    output: W,
    interfaces: u32,
    /// The body of the present block.
    body: Vec<u8>,
}

impl<W: Write> NgWriter<W> {
    /// Begins a section; `application` is what has written it.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn new(output: W, application: &str) -> io::Result<NgWriter<W>> {
        let mut writer = NgWriter {
            output,
            interfaces: 0,
            body: Vec::new(),
        };
        let version_1_0 = 1;
        writer.put(BYTE_ORDER);
        writer.put(version_1_0);
        // The length of the section is not known yet.
        writer.body.extend_from_slice(&u64::MAX.to_le_bytes());
        writer.option(USER_APPLICATION, application.as_bytes());
        writer.end_options();
        writer.block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Describes an interface, and numbers it from 0.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn interface(&mut self, name: &str, text: &str) -> io::Result<u32> {
        self.put(u32::from(LINK_TYPE_ETHERNET));
        self.put(MAX_RECORD_BYTES as u32);
        self.option(INTERFACE_NAME, name.as_bytes());
        if !text.is_empty() {
            self.option(INTERFACE_TEXT, text.as_bytes());
        }
        self.option(RESOLUTION, &[NANOSECONDS]);
        self.end_options();
        self.block(INTERFACE_DESCRIPTION)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes a packet of an interface that was described.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn packet(&mut self, packet: &NgPacket<'_>) -> io::Result<()> {
        let data = &packet.data[..packet.data.len().min(MAX_RECORD_BYTES)];
        self.put(packet.interface);
        self.put_time(packet.time_ns);
        self.put(data.len() as u32);
        self.put(packet.data.len() as u32);
        self.body.extend_from_slice(data);
        self.pad();
        if !packet.comment.is_empty() {
            let end = packet.comment.floor_char_boundary(COMMENT_MAX);
            self.option(COMMENT, &packet.comment.as_bytes()[..end]);
        }
        let flags: u32 = match packet.direction {
            Direction::In => 1,
            Direction::Out => 2,
        };
        self.option(FLAGS, &flags.to_le_bytes());
        self.option(PACKET_ID, &packet.id.to_le_bytes());
        if let Some(queue) = packet.queue {
            self.option(QUEUE, &queue.to_le_bytes());
        }
        if let Some(verdict) = packet.verdict {
            let action = match verdict {
                Verdict::Forwarded => XDP_REDIRECT,
                Verdict::Dropped => XDP_DROP,
            };
            let mut value = [VERDICT_OF_XDP; 9];
            value[1..].copy_from_slice(&action.to_le_bytes());
            self.option(VERDICT, &value);
        }
        self.end_options();
        self.block(ENHANCED_PACKET)
    }

    /// Writes how many packets an interface has received, and how many of them were dropped.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn statistics(&mut self, interface: u32, time_ns: u64, received: u64, dropped: u64) -> io::Result<()> {
        self.put(interface);
        self.put_time(time_ns);
        self.option(RECEIVED, &received.to_le_bytes());
        self.option(DROPPED, &dropped.to_le_bytes());
        self.end_options();
        self.block(INTERFACE_STATISTICS)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// What the section is written to.
    pub fn output(&self) -> &W {
        &self.output
    }

    fn put(&mut self, word: u32) {
        self.body.extend_from_slice(&word.to_le_bytes());
    }

    /// A time, its upper half first.
    fn put_time(&mut self, time_ns: u64) {
        self.put((time_ns >> 32) as u32);
        self.put(time_ns as u32);
    }

    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = value.len() as u16;
        self.body.extend_from_slice(&code.to_le_bytes());
        self.body.extend_from_slice(&length.to_le_bytes());
        self.body.extend_from_slice(value);
        self.pad();
    }

    fn end_options(&mut self) {
        self.put(0);
    }

    /// Writes the body as a block: its length stands before and after it.
    fn block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.body.len() + 12) as u32;
        self.output.write_all(&kind.to_le_bytes())?;
        self.output.write_all(&length.to_le_bytes())?;
        self.output.write_all(&self.body)?;
        self.output.write_all(&length.to_le_bytes())?;
        self.body.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::read_all;

    #[test]
    fn what_is_written_can_be_read() {
        let mut file = Vec::new();
        let mut writer = NgWriter::new(&mut file, "a test").expect("memory");
        let first = writer.interface("port 1", "").expect("memory");
        let second = writer.interface("port 2", "veth0").expect("memory");
        let frames = [vec![7u8; 61], vec![8u8; 1514]];
        for (interface, data) in [(first, &frames[0]), (second, &frames[1])] {
            let packet = NgPacket {
                interface,
                time_ns: 1_700_000_000_123_456_789,
                data,
                direction: Direction::In,
                id: 5,
                queue: Some(3),
                verdict: Some(Verdict::Dropped),
                comment: "drop: ingress_drop x.p4:63",
            };
            writer.packet(&packet).expect("memory");
        }
        writer.statistics(second, 0, 1, 1).expect("memory");
        assert!(file.len().is_multiple_of(4));
        let read = read_all(&file).expect("pcapng");
        assert_eq!(
            read.iter().map(|packet| packet.data().to_vec()).collect::<Vec<_>>(),
            frames
        );
        assert_eq!(read[0].timestamp_ns, 1_700_000_000_123_456_789);
    }

    #[test]
    fn a_long_comment_is_cut_between_characters() {
        let mut file = Vec::new();
        let mut writer = NgWriter::new(&mut file, "a test").expect("memory");
        let interface = writer.interface("port 1", "").expect("memory");
        let packet = NgPacket {
            interface,
            time_ns: 0,
            data: &[0; 60],
            direction: Direction::Out,
            id: 0,
            queue: None,
            verdict: None,
            comment: &"µ".repeat(40_000),
        };
        writer.packet(&packet).expect("memory");
        assert_eq!(read_all(&file).expect("pcapng").len(), 1);
    }
}
