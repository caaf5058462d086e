//! The file that a capture port writes: whole records, or none of a record.

use std::fs::File;
use std::io::{self, Write};

use forebay_packet::Packet;
use forebay_packet::pcap::{TimestampUnit, Writer};

use crate::OpenError;

/// A capture file that is written burst by burst.
pub(super) struct Output {
    file: File,
    /// Makes records, which are taken out of it and written.
    records: Writer<Vec<u8>>,
    /// Where each record of the present burst ends.
    ends: Vec<usize>,
    /// Bytes in the file: whole records.
    length: u64,
    /// Bytes after which a test has the disk full.
    #[cfg(test)]
    room: Option<usize>,
}

impl Output {
    /// Makes the file, or empties it, and writes its header.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub(super) fn create(path: &str) -> Result<Output, OpenError> {
        let cannot_write = |cause| OpenError::File {
            action: "write",
            path: path.to_owned(),
            cause,
        };
        let mut output = Output {
            file: File::create(path).map_err(cannot_write)?,
            records: Writer::new(Vec::new(), TimestampUnit::Nanoseconds).map_err(cannot_write)?,
            ends: Vec::new(),
            length: 0,
            #[cfg(test)]
            room: None,
        };
        output.ends.push(output.records.output().len());
        output.write_out().map_err(|(_, cause)| cannot_write(cause))?;
        Ok(output)
    }

    /// Writes packets, in one system call when the system takes them so. Returns how many: all.
    ///
    /// # Errors
    /// When the file cannot be written any more, with how many are in it. A part of a record is taken out again.
    pub(super) fn write(&mut self, packets: &[Packet], now_ns: u64) -> Result<usize, (usize, io::Error)> {
        for packet in packets {
            let written = self.records.write(now_ns, packet.data(), packet.len());
            written.map_err(|error| (0, error))?;
            self.ends.push(self.records.output().len());
        }
        self.write_out()
    }

    /// Writes the records that were made.
    fn write_out(&mut self) -> Result<usize, (usize, io::Error)> {
        let mut done = 0;
        let result = loop {
            let rest = &self.records.output()[done..];
            if rest.is_empty() {
                break Ok(());
            }
            #[cfg(test)]
            let rest = &rest[..rest.len().min(self.room.unwrap_or(usize::MAX))];
            match self.file.write(rest) {
                Ok(0) => break Err(io::Error::from(io::ErrorKind::StorageFull)),
                Ok(bytes) => {
                    done += bytes;
                    #[cfg(test)]
                    self.room.iter_mut().for_each(|room| *room -= bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        let whole = self.ends.iter().take_while(|end| **end <= done).count();
        let bytes = self.ends[..whole].last().map_or(0, |end| *end);
        self.length += bytes as u64;
        if bytes < done {
            // What is not a file (a pipe) keeps the part; its reader sees that the record is cut.
            let _ = self.file.set_len(self.length);
        }
        self.records.output_mut().clear();
        self.ends.clear();
        result.map(|()| whole).map_err(|error| (whole, error))
    }

    /// Simulates a disk that is full after `bytes` more bytes.
    #[cfg(test)]
    pub(super) fn limit_bytes(&mut self, bytes: usize) {
        self.room = Some(bytes);
    }
}
