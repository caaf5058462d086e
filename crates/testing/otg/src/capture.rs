//! Captures: frames that a port has received, as a pcap or a pcapng file.

use crate::packet::CHECK_SEQUENCE_BYTES;
use forebay_packet::pcap::{Direction, NgPacket, NgWriter, TimestampUnit, Writer};

/// Bytes that a capture keeps.
const BYTES_MAX: usize = 64 << 20;

/// Frames of a port, with their times.
#[derive(Default)]
pub struct Capture {
    is_on: bool,
    /// Whether the last frames are kept, not the first ones.
    overwrites: bool,
    /// Where frames are overwritten, half of what is kept: the part that goes as soon as the other one is full.
    older: Kept,
    newer: Kept,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    /// The time of each frame, and where it ends.
    frames: Vec<(u64, usize)>,
}

impl Kept {
    fn frames(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.frames.iter().map(|(_, end)| *end));
        self.frames
            .iter()
            .zip(starts)
            .map(|((time_ns, end), start)| (*time_ns, &self.bytes[start..*end]))
    }
}

impl Capture {
    /// Begins anew. When it is full, the oldest frames go, or no more frames are taken.
    pub fn start(&mut self, overwrites: bool) {
        *self = Capture {
            is_on: true,
            overwrites,
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
        let most = if self.overwrites { BYTES_MAX / 2 } else { BYTES_MAX };
        let is_full = self.newer.bytes.len() + frame.len() + CHECK_SEQUENCE_BYTES > most;
        if !self.is_on || is_full && !self.overwrites {
            return;
        }
        if is_full {
            self.older = std::mem::take(&mut self.newer);
        }
        let kept = &mut self.newer;
        kept.bytes.extend_from_slice(frame);
        kept.bytes.extend_from_slice(&crc32fast::hash(frame).to_le_bytes());
        kept.frames.push((time_ns, kept.bytes.len()));
    }

    /// The file.
    pub fn file(&self, port: &str, is_pcapng: bool) -> Vec<u8> {
        let written = if is_pcapng { self.pcapng(port) } else { self.pcap() };
        // Memory takes everything.
        written.unwrap_or_default()
    }

    fn frames(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.older.frames().chain(self.newer.frames())
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
        capture.start(true);
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

    /// 100 MB come.
    #[test]
    fn a_full_capture_keeps_the_last_frames_or_the_first_ones() {
        let frame = vec![0; 1 << 20];
        for overwrites in [true, false] {
            let mut capture = Capture::default();
            capture.start(overwrites);
            (0..100).for_each(|time_ns| capture.take(&frame, time_ns));
            let times: Vec<u64> = capture.frames().map(|(time_ns, _)| time_ns).collect();
            assert!(times.windows(2).all(|pair| pair[1] == pair[0] + 1), "{times:?}");
            if overwrites {
                assert!(times.len() >= 31 && times.last() == Some(&99), "{times:?}")
            } else {
                assert_eq!((times.len(), times[0]), (63, 0))
            }
        }
    }
}
