//! Writing classic pcap.

use std::io::{self, Write};

use super::classic::{MAGIC_MICROSECONDS, MAGIC_NANOSECONDS};
use super::{LINK_TYPE_ETHERNET, MAX_RECORD_BYTES};

/// The unit of the fraction of a second in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampUnit {
    /// What every tool reads.
    Microseconds,
    /// What every current tool reads, and loses nothing.
    #[default]
    Nanoseconds,
}

/// Writes Ethernet frames into a classic pcap file, little-endian.
pub struct Writer<W: Write> {
    output: W,
    unit: TimestampUnit,
}

impl<W: Write> Writer<W> {
    /// Writes the file header to `output`, which should be buffered.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn new(mut output: W, unit: TimestampUnit) -> io::Result<Writer<W>> {
        let magic = match unit {
            TimestampUnit::Microseconds => MAGIC_MICROSECONDS,
            TimestampUnit::Nanoseconds => MAGIC_NANOSECONDS,
        };
        let version_2_4 = 0x0004_0002;
        let snapshot_length = MAX_RECORD_BYTES as u32;
        for word in [magic, version_2_4, 0, 0, snapshot_length, u32::from(LINK_TYPE_ETHERNET)] {
            output.write_all(&word.to_le_bytes())?;
        }
        Ok(Writer { output, unit })
    }

    /// Writes a frame with its time (nanoseconds since the Unix epoch; years past 2106 saturate)
    /// and its original length. Data over [`MAX_RECORD_BYTES`] is cut.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn write(&mut self, time_ns: u64, data: &[u8], original_length: usize) -> io::Result<()> {
        let data = &data[..data.len().min(MAX_RECORD_BYTES)];
        let seconds = u32::try_from(time_ns / 1_000_000_000).unwrap_or(u32::MAX);
        let nanoseconds = (time_ns % 1_000_000_000) as u32;
        let fraction = match self.unit {
            TimestampUnit::Microseconds => nanoseconds / 1000,
            TimestampUnit::Nanoseconds => nanoseconds,
        };
        let original = u32::try_from(original_length).unwrap_or(u32::MAX);
        for word in [seconds, fraction, data.len() as u32, original] {
            self.output.write_all(&word.to_le_bytes())?;
        }
        self.output.write_all(data)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// What the file is written to.
    pub fn output(&self) -> &W {
        &self.output
    }

    /// The same, to take away what has been written to memory.
    pub fn output_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Flushes and gives the output back.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}
