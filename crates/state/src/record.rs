//! Bytes of files: a header, then records.
//!
//! ```text
//!   header   magic 8 │ version 4 │ generation 8 │ checksum of these 4
//!   record   length 4 │ checksum of length and number 4 │ content │ checksum of content 4
//! ```
//!
//! Numbers are little-endian, checksums CRC-32. Records are numbered from 0, so that one in another's place is seen.

use crate::error::StateError;
use std::path::Path;

/// Bytes of a header.
pub(crate) const HEADER: usize = 24;
/// Bytes of a record besides its content.
const AROUND: usize = 12;
const VERSION: u32 = 1;
/// What disks write at once, at least.
const SECTOR: usize = 512;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Snapshot,
    Log,
}

impl Kind {
    fn magic(self) -> [u8; 8] {
        match self {
            Kind::Snapshot => *b"forebayS",
            Kind::Log => *b"forebayL",
        }
    }
}

/// The header of a file.
pub(crate) fn header(kind: Kind, generation: u64) -> Vec<u8> {
    let mut bytes = kind.magic().to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(generation.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// A record.
pub(crate) fn record(number: u32, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_le_bytes();
    let mut bytes = Vec::with_capacity(content.len() + AROUND);
    bytes.extend(length);
    bytes.extend(head_checksum(length, number));
    bytes.extend(content);
    bytes.extend(crc32fast::hash(content).to_le_bytes());
    bytes
}

fn head_checksum(length: [u8; 4], number: u32) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(&number.to_le_bytes());
    hasher.finalize().to_le_bytes()
}

/// Checks the header of a file.
pub(crate) fn check_header(path: &Path, bytes: &[u8], kind: Kind, generation: u64) -> Result<(), StateError> {
    let expected = header(kind, generation);
    if bytes.get(..HEADER) == Some(&expected) {
        return Ok(());
    }
    let differs = |(offset, byte): (usize, &u8)| (bytes.get(offset) != Some(byte)).then_some(offset);
    let offset = expected.iter().enumerate().find_map(differs).unwrap_or_default();
    Err(StateError::damaged(
        path,
        offset,
        "its header is not that of a state file of this version",
    ))
}

/// What stands at a place of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A record, and the offset of what follows it.
    Record(&'a [u8], usize),
    /// The end of the file.
    End,
    /// The beginning of a record that was never written to its end.
    Torn,
    /// Something else.
    Damaged(usize, &'static str),
}

/// Looks at the record with this number, which begins at `offset`.
pub(crate) fn find(bytes: &[u8], offset: usize, number: u32) -> Found<'_> {
    let rest = &bytes[offset..];
    if rest.is_empty() {
        return Found::End;
    }
    let (Some(length), Some(checksum)) = (word(rest, 0), word(rest, 4)) else {
        return Found::Torn;
    };
    if head_checksum(length, number) != checksum {
        return match rest.iter().all(|byte| *byte == 0) {
            true => Found::Torn,
            false => Found::Damaged(offset, "the length of a record does not match its checksum"),
        };
    }
    let end = AROUND + u32::from_le_bytes(length) as usize;
    if rest.len() < end {
        return Found::Torn;
    }
    let content = &rest[8..end - 4];
    if Some(crc32fast::hash(content).to_le_bytes()) == word(rest, end - 4) {
        return Found::Record(content, offset + end);
    }
    match rest.len() == end && has_empty_sector(bytes, offset) {
        true => Found::Torn,
        false => Found::Damaged(offset, "the content of a record does not match its checksum"),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at + 4)?.try_into().ok()
}

/// Whether a piece of the file from `offset` on that a disk writes at once has never been written: after a power failure
/// a file may be as long as it should be, with zeros in it.
fn has_empty_sector(bytes: &[u8], offset: usize) -> bool {
    let mut start = offset;
    while start < bytes.len() {
        let end = ((start / SECTOR + 1) * SECTOR).min(bytes.len());
        if end - start >= 8 && bytes[start..end].iter().all(|byte| *byte == 0) {
            return true;
        }
        start = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records() {
        let mut bytes = record(0, b"one");
        bytes.extend(record(1, b""));
        assert_eq!(find(&bytes, 0, 0), Found::Record(b"one", 15));
        assert_eq!(find(&bytes, 15, 1), Found::Record(b"", 27));
        assert_eq!(find(&bytes, 27, 2), Found::End);
        assert_eq!(find(&bytes[..20], 15, 1), Found::Torn);
        assert!(
            matches!(find(&bytes, 0, 1), Found::Damaged(0, _)),
            "another record's place"
        );
        assert!(matches!(find(&bytes, 1, 0), Found::Damaged(1, _)));
    }

    #[test]
    fn what_a_power_failure_leaves() {
        let mut bytes = record(0, &[7; 2000]);
        bytes[600..].fill(0);
        assert_eq!(find(&bytes, 0, 0), Found::Torn, "the end was not written");
        let mut bytes = record(0, &[7; 2000]);
        bytes[512..1024].fill(0);
        assert_eq!(find(&bytes, 0, 0), Found::Torn, "the middle was not written");
        let mut bytes = record(0, &[7; 2000]);
        bytes[700] = 0;
        assert!(matches!(find(&bytes, 0, 0), Found::Damaged(..)));
        assert_eq!(find(&[0; 100], 0, 0), Found::Torn, "nothing was written");
    }
}
