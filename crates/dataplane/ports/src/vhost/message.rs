//! The messages of vhost-user (QEMU, `docs/interop/vhost-user`), as a back end receives and answers them.
//!
//! A message is a header of three 32-bit words (request, flags, bytes of the payload) and a payload, in the machine's
//! byte order. Descriptors come beside its first byte.

use super::memory::{REGIONS_MAX, RegionInfo};
use super::ring::Addresses;
use crate::link::Fault;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 12;

/// The longest payload that is taken: a table of regions.
pub(crate) const PAYLOAD_MAX: usize = 8 + 32 * REGIONS_MAX;

/// In the flags: the version, and what else may be there.
const VERSION_MASK: u32 = 3;
const VERSION: u32 = 1;
const IS_REPLY: u32 = 4;
const NEEDS_REPLY: u32 = 8;

/// In the number of a message that brings an event: there is none.
const NO_EVENT: u64 = 1 << 8;

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) request: u32,
    /// The peer wants to know whether it was done.
    pub(crate) needs_reply: bool,
    /// Bytes of the payload.
    pub(crate) bytes: usize,
}

/// Which event of a ring a message brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The driver rings it.
    Kick,
    /// The device rings it.
    Call,
    /// The device rings it when something is wrong.
    Error,
}

/// A request of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    GetFeatures,
    SetFeatures(u64),
    SetOwner,
    ResetOwner,
    SetMemoryTable(Vec<RegionInfo>),
    SetRingSize {
        ring: u32,
        size: u32,
    },
    SetRingAddresses {
        ring: u32,
        addresses: Addresses,
    },
    SetRingBase {
        ring: u32,
        base: u32,
    },
    GetRingBase {
        ring: u32,
    },
    SetRingEvent {
        kind: EventKind,
        ring: u32,
        has_event: bool,
    },
    GetProtocolFeatures,
    SetProtocolFeatures(u64),
    GetQueuePairs,
    EnableRing {
        ring: u32,
        is_on: bool,
    },
    GetMemorySlots,
    AddRegion(RegionInfo),
    RemoveRegion(RegionInfo),
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// When the version is another, or the payload too long.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Fault> {
        let flags = word32(bytes, 4)?;
        let length = word32(bytes, 8)? as usize;
        if flags & VERSION_MASK != VERSION || flags & IS_REPLY != 0 {
            return Err(Fault("a message is of another version, or an answer"));
        }
        if length > PAYLOAD_MAX {
            return Err(Fault("a message is too long"));
        }
        Ok(Header {
            request: word32(bytes, 0)?,
            needs_reply: flags & NEEDS_REPLY != 0,
            bytes: length,
        })
    }

    /// An answer with a payload.
    pub(crate) fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
        let words = [request, VERSION | IS_REPLY, payload.len() as u32];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(payload);
        bytes
    }
}

fn word32(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map(|word| u32::from_ne_bytes(*word))
        .ok_or(Fault("a message is too short"))
}

fn word64(bytes: &[u8], at: usize) -> Result<u64, Fault> {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map(|word| u64::from_ne_bytes(*word))
        .ok_or(Fault("a message is too short"))
}

fn region(bytes: &[u8], at: usize) -> Result<RegionInfo, Fault> {
    Ok(RegionInfo {
        guest_address: word64(bytes, at)?,
        bytes: word64(bytes, at + 8)?,
        user_address: word64(bytes, at + 16)?,
        file_offset: word64(bytes, at + 24)?,
    })
}

impl Request {
    /// Reads a request; none for one that is not served here.
    ///
    /// # Errors
    /// When the payload is too short for what it says.
    pub(crate) fn decode(request: u32, payload: &[u8]) -> Result<Option<Request>, Fault> {
        let event = |kind| -> Result<Request, Fault> {
            let number = word64(payload, 0)?;
            Ok(Request::SetRingEvent {
                kind,
                ring: (number & 0xFF) as u32,
                has_event: number & NO_EVENT == 0,
            })
        };
        let ring = || word32(payload, 0);
        Ok(Some(match request {
            1 => Request::GetFeatures,
            2 => Request::SetFeatures(word64(payload, 0)?),
            3 => Request::SetOwner,
            4 => Request::ResetOwner,
            5 => Request::SetMemoryTable(regions(payload)?),
            8 => Request::SetRingSize {
                ring: ring()?,
                size: word32(payload, 4)?,
            },
            9 => Request::SetRingAddresses {
                ring: ring()?,
                addresses: Addresses {
                    descriptors: word64(payload, 8)?,
                    device: word64(payload, 16)?,
                    driver: word64(payload, 24)?,
                },
            },
            10 => Request::SetRingBase {
                ring: ring()?,
                base: word32(payload, 4)?,
            },
            11 => Request::GetRingBase { ring: ring()? },
            12 => event(EventKind::Kick)?,
            13 => event(EventKind::Call)?,
            14 => event(EventKind::Error)?,
            15 => Request::GetProtocolFeatures,
            16 => Request::SetProtocolFeatures(word64(payload, 0)?),
            17 => Request::GetQueuePairs,
            18 => Request::EnableRing {
                ring: ring()?,
                is_on: word32(payload, 4)? != 0,
            },
            36 => Request::GetMemorySlots,
            37 => Request::AddRegion(region(payload, 8)?),
            38 => Request::RemoveRegion(region(payload, 8)?),
            _ => return Ok(None),
        }))
    }
}

fn regions(payload: &[u8]) -> Result<Vec<RegionInfo>, Fault> {
    let count = word32(payload, 0)? as usize;
    if count > REGIONS_MAX {
        return Err(Fault("there are too many regions of memory"));
    }
    (0..count).map(|index| region(payload, 8 + 32 * index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_table_of_regions_is_read() {
        let words: [u64; 9] = [2, 1, 2, 3, 4, 5, 6, 7, 8];
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let Ok(Some(Request::SetMemoryTable(regions))) = Request::decode(5, &payload) else {
            panic!("a table of two regions")
        };
        let info = |first| RegionInfo {
            guest_address: first,
            bytes: first + 1,
            user_address: first + 2,
            file_offset: first + 3,
        };
        assert_eq!(regions, [info(1), info(5)]);
        assert!(Request::decode(5, &payload[..71]).is_err());
    }

    #[test]
    fn headers_have_a_version_and_a_bounded_length() {
        let header = |flags: u32, bytes: u32| {
            let words: Vec<u8> = [1, flags, bytes].iter().flat_map(|word| word.to_ne_bytes()).collect();
            Header::decode(words.first_chunk().expect("twelve bytes"))
        };
        assert_eq!(
            header(9, 8).map(|header| (header.needs_reply, header.bytes)),
            Ok((true, 8))
        );
        assert!(header(2, 8).is_err() && header(5, 8).is_err());
        assert!(header(1, PAYLOAD_MAX as u32 + 1).is_err());
        assert_eq!(Header::reply(1, &[7])[4..], [5, 0, 0, 0, 1, 0, 0, 0, 7]);
    }

    proptest! {
        #[test]
        fn any_payload_is_read_or_refused(request in 0..50u32, payload in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Request::decode(request, &payload);
        }
    }
}
