//! Bytes of files: a header, then records.
//!
//! ```text
//!   header     magic 8 │ version 4 │ generation 8 │ checksum of these 4
//!   record     length 8 │ checksum of length and number 4 │ content │ checksum of content 4
//!   version 1  length 4 │ the same
//! ```
//!
//! Numbers are little-endian, checksums CRC-32. Records are numbered from 0, so that one in another's place is seen.
//! Files of version 1 are read; every new file has version 2.

use crate::error::StateError;
use crate::names::Kind;
use std::path::Path;

/// Bytes of a header.
pub(crate) const HEADER: usize = 24;
/// What disks write at once, at least.
const SECTOR: usize = 512;
/// Bytes of a checksum.
const CHECKSUM: usize = 4;

/// How lengths are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// In 32 bits.
    One,
    /// In 64 bits.
    Two,
}

impl Version {
    pub(crate) const NEWEST: Version = Version::Two;

    pub(crate) fn number(self) -> u32 {
        match self {
            Version::One => 1,
            Version::Two => 2,
        }
    }

    /// Bytes of a length.
    fn length_bytes(self) -> usize {
        match self {
            Version::One => 4,
            Version::Two => 8,
        }
    }

    /// Bytes of a record before its content.
    pub(crate) fn head_bytes(self) -> usize {
        self.length_bytes() + CHECKSUM
    }

    /// The longest record.
    fn length_max(self) -> u64 {
        match self {
            Version::One => u64::from(u32::MAX),
            Version::Two => u64::MAX >> 1,
        }
    }
}

fn magic(kind: Kind) -> [u8; 8] {
    match kind {
        Kind::Snapshot => *b"forebayS",
        Kind::Log => *b"forebayL",
    }
}

/// The header of a new file.
pub(crate) fn header(kind: Kind, generation: u64) -> Vec<u8> {
    header_of(Version::NEWEST.number(), kind, generation)
}

fn header_of(version: u32, kind: Kind, generation: u64) -> Vec<u8> {
    let mut bytes = magic(kind).to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(generation.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// What stands before a record's content of this length; none when the format cannot say it.
pub(crate) fn head(version: Version, number: u64, length: u64) -> Option<Vec<u8>> {
    if length > version.length_max() {
        return None;
    }
    let mut bytes = length.to_le_bytes()[..version.length_bytes()].to_vec();
    let checksum = head_checksum(version, &bytes, number);
    bytes.extend(checksum);
    Some(bytes)
}

/// The bytes after a record's content.
pub(crate) fn tail(content: &[u8]) -> [u8; CHECKSUM] {
    tail_of(&[content])
}

/// The same for content in parts.
pub(crate) fn tail_of(parts: &[&[u8]]) -> [u8; CHECKSUM] {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().to_le_bytes()
}

/// A record; none when the format cannot say its length.
pub(crate) fn record(version: Version, number: u64, content: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = head(version, number, content.len() as u64)?;
    bytes.reserve(content.len() + CHECKSUM);
    bytes.extend(content);
    bytes.extend(tail(content));
    Some(bytes)
}

fn head_checksum(version: Version, length: &[u8], number: u64) -> [u8; CHECKSUM] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(length);
    hasher.update(&number.to_le_bytes()[..version.length_bytes()]);
    hasher.finalize().to_le_bytes()
}

/// The length that a record's head says; none when the head is damaged. `bytes` begin with the head.
pub(crate) fn length(version: Version, bytes: &[u8], number: u64) -> Option<u64> {
    let (length, checksum) = bytes.get(..version.head_bytes())?.split_at(version.length_bytes());
    if head_checksum(version, length, number) != *checksum {
        return None;
    }
    let mut whole = [0; 8];
    whole[..length.len()].copy_from_slice(length);
    Some(u64::from_le_bytes(whole))
}

/// Checks the header of a file.
pub(crate) fn check_header(path: &Path, bytes: &[u8], kind: Kind, generation: u64) -> Result<Version, StateError> {
    let has = |version: u32| bytes.get(..HEADER) == Some(&header_of(version, kind, generation)[..]);
    if let Some(version) = [Version::Two, Version::One]
        .into_iter()
        .find(|version| has(version.number()))
    {
        return Ok(version);
    }
    let newer = bytes
        .get(8..12)
        .and_then(|word| word.try_into().ok())
        .map(u32::from_le_bytes);
    if let Some(newer) = newer.filter(|newer| *newer > Version::NEWEST.number() && has(*newer)) {
        let problem = format!("its format has version {newer}; this forebay reads versions 1 and 2");
        return Err(StateError::damaged(path, 8, problem));
    }
    let expected = header(kind, generation);
    let differs = |(offset, byte): (usize, &u8)| (bytes.get(offset) != Some(byte)).then_some(offset);
    let offset = expected.iter().enumerate().find_map(differs).unwrap_or_default();
    Err(StateError::damaged(
        path,
        offset,
        "its header is not that of a state file",
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
pub(crate) fn find(version: Version, bytes: &[u8], offset: usize, number: u64) -> Found<'_> {
    let rest = &bytes[offset..];
    if rest.is_empty() {
        return Found::End;
    }
    if rest.len() < version.head_bytes() {
        return Found::Torn;
    }
    let Some(length) = length(version, rest, number) else {
        // The head stands in a sector that was never written, and nothing that was acknowledged is after it.
        let is_torn = is_empty(&bytes[offset..sector_end(bytes, offset)]);
        return if is_torn && records_after(version, bytes, offset, number) == 0 {
            Found::Torn
        } else {
            Found::Damaged(offset, "the length of a record does not match its checksum")
        };
    };
    let around = version.head_bytes() + CHECKSUM;
    if (rest.len() as u64) < length.saturating_add(around as u64) {
        return Found::Torn;
    }
    let end = around + length as usize;
    let content = &rest[version.head_bytes()..end - CHECKSUM];
    if tail(content) == rest[end - CHECKSUM..end] {
        return Found::Record(content, offset + end);
    }
    if rest.len() == end && has_empty_sector(bytes, offset) {
        Found::Torn
    } else {
        Found::Damaged(offset, "the content of a record does not match its checksum")
    }
}

/// Whole records after the one with this number, which is damaged, as far as they can be recognised.
pub(crate) fn records_after(version: Version, bytes: &[u8], damaged_at: usize, number: u64) -> u64 {
    let (mut offset, mut number, mut count) = (damaged_at + 1, number + 1, 0);
    while offset < bytes.len() {
        let end = whole_record(version, &bytes[offset..], number);
        match end {
            Some(end) => {
                count += 1;
                number += 1;
                offset += end;
            }
            None => offset += 1,
        }
    }
    count
}

/// Bytes of the record with this number, if it is whole and `bytes` begin with it.
fn whole_record(version: Version, bytes: &[u8], number: u64) -> Option<usize> {
    let length = usize::try_from(length(version, bytes, number)?).ok()?;
    let content = version.head_bytes()..version.head_bytes().checked_add(length)?;
    let end = content.end.checked_add(CHECKSUM)?;
    let is_whole = tail(bytes.get(content.clone())?) == *bytes.get(content.end..end)?;
    is_whole.then_some(end)
}

/// Whether a piece of the file from `offset` on that a disk writes at once has never been written: after a power
/// failure a file may be as long as it should be, with zeros in it.
fn has_empty_sector(bytes: &[u8], offset: usize) -> bool {
    let mut start = offset;
    while start < bytes.len() {
        let end = sector_end(bytes, start);
        if is_empty(&bytes[start..end]) {
            return true;
        }
        start = end;
    }
    false
}

fn sector_end(bytes: &[u8], offset: usize) -> usize {
    ((offset / SECTOR + 1) * SECTOR).min(bytes.len())
}

fn is_empty(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Version; 2] = [Version::One, Version::Two];

    fn written(version: Version, number: u64, content: &[u8]) -> Vec<u8> {
        record(version, number, content).unwrap()
    }

    #[test]
    fn records() {
        for version in BOTH {
            let mut bytes = written(version, 0, b"one");
            let first = bytes.len();
            bytes.extend(written(version, 1, b""));
            let all = bytes.len();
            assert_eq!(find(version, &bytes, 0, 0), Found::Record(b"one", first));
            assert_eq!(find(version, &bytes, first, 1), Found::Record(b"", all));
            assert_eq!(find(version, &bytes, all, 2), Found::End);
            assert_eq!(find(version, &bytes[..first + 5], first, 1), Found::Torn);
            assert!(
                matches!(find(version, &bytes, 0, 1), Found::Damaged(0, _)),
                "another record's place"
            );
            assert!(matches!(find(version, &bytes, 1, 0), Found::Damaged(1, _)));
        }
    }

    #[test]
    fn what_a_power_failure_leaves() {
        let version = Version::NEWEST;
        let mut bytes = written(version, 0, &[7; 2000]);
        bytes[600..].fill(0);
        assert_eq!(find(version, &bytes, 0, 0), Found::Torn, "the end was not written");
        let mut bytes = written(version, 0, &[7; 2000]);
        bytes[512..1024].fill(0);
        assert_eq!(find(version, &bytes, 0, 0), Found::Torn, "the middle was not written");
        let mut bytes = written(version, 0, &[7; 2000]);
        bytes[700] = 0;
        assert!(matches!(find(version, &bytes, 0, 0), Found::Damaged(..)));
        assert_eq!(find(version, &[0; 100], 0, 0), Found::Torn, "nothing was written");
    }

    /// Lengths around the limits of both versions: what is written is what is read, or it is refused.
    #[test]
    fn lengths_are_never_cut() {
        let four_gib = 1_u64 << 32;
        for length in [0, 1, four_gib - 1, four_gib, four_gib + 1, 5 * four_gib, 1 << 62] {
            let bytes = head(Version::Two, 3, length).unwrap();
            assert_eq!(super::length(Version::Two, &bytes, 3), Some(length));
            let old = head(Version::One, 3, length);
            assert_eq!(old.is_some(), length < four_gib, "{length}");
        }
        assert_eq!(head(Version::Two, 0, u64::MAX), None);
        let mut beginning = head(Version::Two, 0, four_gib + 5).unwrap();
        beginning.extend([0; 9]);
        assert_eq!(
            find(Version::Two, &beginning, 0, 0),
            Found::Torn,
            "4 GiB of it are missing"
        );
    }

    #[test]
    fn versions_of_headers() {
        let path = Path::new("log-00000007");
        for version in BOTH {
            let bytes = header_of(version.number(), Kind::Log, 7);
            assert_eq!(check_header(path, &bytes, Kind::Log, 7).unwrap(), version);
            assert!(check_header(path, &bytes, Kind::Log, 8).is_err());
            assert!(check_header(path, &bytes, Kind::Snapshot, 7).is_err());
        }
        let error = check_header(path, &header_of(3, Kind::Log, 7), Kind::Log, 7).unwrap_err();
        assert!(error.to_string().contains("its format has version 3"), "{error}");
    }
}
