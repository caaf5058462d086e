//! What a port has received.

use crate::packet::CHECK_SEQUENCE_BYTES;
use forebay_packet::pcap::{Direction, NgPacket, NgWriter, TimestampUnit, Writer};

/// Bytes that a capture keeps; what comes later is left out.
const BYTES_MAX: usize = 64 << 20;

/// Frames of a port, with their times.
#[derive(Default)]
pub struct Capture {
    is_on: bool,
    bytes: Vec<u8>,
    /// The time of each frame, and where it ends.
    frames: Vec<(u64, usize)>,
}

impl Capture {
    /// Begins anew.
    pub fn start(&mut self) {
        *self = Capture {
            is_on: true,
            ..Capture::default()
        };
    }

    /// Ends; what was captured stays.
    pub fn stop(&mut self) {
        self.is_on = false;
    }

    /// Whether frames are kept.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Keeps a frame, with its check sequence, as the API's captures have it (IEEE 802.3, 3.2.9).
    pub fn take(&mut self, frame: &[u8], time_ns: u64) {
        if self.is_on && self.bytes.len() + frame.len() + CHECK_SEQUENCE_BYTES <= BYTES_MAX {
            self.bytes.extend_from_slice(frame);
            self.bytes.extend_from_slice(&crc32fast::hash(frame).to_le_bytes());
            self.frames.push((time_ns, self.bytes.len()));
        }
    }

    /// The file.
    pub fn file(&self, port: &str, is_pcapng: bool) -> Vec<u8> {
        let written = if is_pcapng { self.pcapng(port) } else { self.pcap() };
        // Memory takes everything.
        written.unwrap_or_default()
    }

    fn frames(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.frames.iter().map(|(_, end)| *end));
        self.frames
            .iter()
            .zip(starts)
            .map(|((time_ns, end), start)| (*time_ns, &self.bytes[start..*end]))
    }

    fn pcapng(&self, port: &str) -> std::io::Result<Vec<u8>> {
        let mut file = Vec::new();
        let mut writer = NgWriter::new(&mut file, "forebay tester serve")?;
        let interface = writer.interface(port, "")?;
        for ((time_ns, data), id) in self.frames().zip(0..) {
            writer.packet(&NgPacket {
                interface,
                time_ns,
                data,
                direction: Direction::In,
                id,
                queue: None,
                verdict: None,
                comment: "",
            })?;
        }
        Ok(file)
    }

    fn pcap(&self) -> std::io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), TimestampUnit::Nanoseconds)?;
        for (time_ns, data) in self.frames() {
            writer.write(time_ns, data, data.len())?;
        }
        Ok(std::mem::take(writer.output_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_packet::pcap::read_all;

    #[test]
    fn both_formats_hold_the_frames() {
        let mut capture = Capture::default();
        capture.take(&[1; 60], 1);
        capture.start();
        capture.take(&[2; 60], 2);
        capture.take(&[3; 70], 3);
        capture.stop();
        capture.take(&[4; 60], 4);
        for is_pcapng in [true, false] {
            let read = read_all(&capture.file("a", is_pcapng)).expect("a capture file");
            let lengths: Vec<usize> = read.iter().map(|packet| packet.data().len()).collect();
            assert_eq!(lengths, [64, 74]);
        }
    }
}
