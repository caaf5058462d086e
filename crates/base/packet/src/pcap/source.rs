//! An input that knows its offset and turns every early end into a located error.

use std::io::{self, Read};

use super::error::{PcapError, Problem};
use crate::Packet;

/// A reader with its offset, and the offset where the current record began.
pub(super) struct Source<R> {
    input: R,
    offset: u64,
    record_start: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Source<R> {
        Source {
            input,
            offset: 0,
            record_start: 0,
        }
    }

    /// An error at the start of the current record.
    pub(super) fn error(&self, problem: Problem) -> PcapError {
        PcapError {
            offset: self.record_start,
            problem,
        }
    }

    /// Begins a record: false when the file ends cleanly here, with `first` filled otherwise.
    pub(super) fn begin<const N: usize>(&mut self) -> Result<Option<[u8; N]>, PcapError> {
        self.record_start = self.offset;
        let mut first = [0; N];
        match self.fill(&mut first)? {
            0 => Ok(None),
            count if count == N => Ok(Some(first)),
            _ => Err(self.error(Problem::Truncated)),
        }
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], PcapError> {
        let mut bytes = [0; N];
        self.exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes`.
    pub(super) fn exact(&mut self, bytes: &mut [u8]) -> Result<(), PcapError> {
        let count = self.fill(bytes)?;
        match count {
            _ if count == bytes.len() => Ok(()),
            0 if self.offset == 0 => Err(self.error(Problem::Empty)),
            _ => Err(self.error(Problem::Truncated)),
        }
    }

    /// Replaces the data of `packet` by the next `length` bytes. The caller has bounded `length`.
    pub(super) fn packet(&mut self, packet: &mut Packet, length: usize) -> Result<(), PcapError> {
        packet.reset();
        let mut chunk = [0; 2048];
        while packet.len() < length {
            let count = chunk.len().min(length - packet.len());
            self.exact(&mut chunk[..count])?;
            packet.append(&chunk[..count]);
        }
        Ok(())
    }

    /// Skips `length` bytes.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), PcapError> {
        let mut left = length;
        let mut chunk = [0; 2048];
        while left > 0 {
            let count = left.min(chunk.len() as u64) as usize;
            self.exact(&mut chunk[..count])?;
            left -= count as u64;
        }
        Ok(())
    }

    /// Reads until `bytes` is full or the input ends; returns how many bytes came.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, PcapError> {
        let mut count = 0;
        while count < bytes.len() {
            match self.input.read(&mut bytes[count..]) {
                Ok(0) => break,
                Ok(some) => count += some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(self.error(Problem::Io {
                        detail: error.to_string(),
                    }));
                }
            }
        }
        self.offset += count as u64;
        Ok(count)
    }
}

/// The byte order of a file's integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }

    /// The `index`-th 32-bit word of a header.
    pub(super) fn word<const N: usize>(self, header: &[u8; N], index: usize) -> u32 {
        let at = index * 4;
        self.u32([header[at], header[at + 1], header[at + 2], header[at + 3]])
    }
}
