//! The memory of a guest: regions that its process shares, found by the addresses of either.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::link::Fault;
use crate::system::shared::SharedMemory;

/// The most regions, as QEMU allows.
pub(crate) const REGIONS_MAX: usize = 64;

/// What a peer says of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegionInfo {
    /// Where it begins for the guest.
    pub(crate) guest_address: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// Where it begins for the peer's process.
    pub(crate) user_address: u64,
    /// Where it begins in the file.
    pub(crate) file_offset: u64,
}

/// A region that is mapped.
pub(crate) struct Region {
    info: RegionInfo,
    memory: SharedMemory,
}

/// Bytes of guest memory, checked: an index of a region, and where they lie in its mapping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) region: usize,
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

/// All regions.
#[derive(Default)]
pub(crate) struct GuestMemory {
    regions: Vec<Region>,
}

impl Region {
    /// Maps a region.
    ///
    /// # Errors
    /// When it is not in the file.
    pub(crate) fn map(info: RegionInfo, file: &OwnedFd) -> io::Result<Region> {
        let end = info.file_offset.checked_add(info.bytes);
        let end = end.and_then(|end| usize::try_from(end).ok());
        let in_range = |start: u64| start.checked_add(info.bytes).is_some();
        match end {
            Some(end) if info.bytes > 0 && in_range(info.guest_address) && in_range(info.user_address) => Ok(Region {
                info,
                // From the file's beginning on: an offset need not be one at which the system can map.
                memory: SharedMemory::map(file.as_fd(), 0, end)?,
            }),
            _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }

    /// Whether it is the region that is described.
    pub(crate) fn is(&self, info: &RegionInfo) -> bool {
        (self.info.guest_address, self.info.user_address, self.info.bytes)
            == (info.guest_address, info.user_address, info.bytes)
    }

    /// Bytes from an address on that lie in it, as many as `bytes` at most.
    #[inline]
    fn part(&self, index: usize, start: u64, address: u64, bytes: usize) -> Option<Part> {
        let distance = address.wrapping_sub(start);
        (distance < self.info.bytes).then(|| Part {
            region: index,
            at: (self.info.file_offset + distance) as usize,
            bytes: bytes.min((self.info.bytes - distance) as usize),
        })
    }
}

impl GuestMemory {
    /// The memory of a guest that has these regions.
    pub(crate) fn new(regions: Vec<Region>) -> GuestMemory {
        GuestMemory { regions }
    }

    /// Its regions, to make others of them.
    pub(crate) fn into_regions(self) -> Vec<Region> {
        self.regions
    }

    /// Whether a file was made shorter.
    pub(crate) fn is_lost(&self) -> bool {
        self.regions.iter().any(|region| region.memory.is_lost())
    }

    /// The memory in which a part lies.
    #[inline]
    pub(crate) fn of(&self, part: &Part) -> &SharedMemory {
        &self.regions[part.region].memory
    }

    /// Bytes at an address of the guest: all of them, or the first ones when the region ends before.
    #[inline]
    pub(crate) fn at_guest_address(&self, address: u64, bytes: usize) -> Option<Part> {
        let find = |(index, region): (usize, &Region)| region.part(index, region.info.guest_address, address, bytes);
        self.regions.iter().enumerate().find_map(find)
    }

    /// A table of exactly `bytes` bytes at an address of the guest.
    pub(crate) fn table_at_guest_address(&self, address: u64, bytes: usize) -> Result<Part, Fault> {
        let part = self.at_guest_address(address, bytes);
        let part = part.filter(|part| part.bytes == bytes && part.at.is_multiple_of(8));
        part.ok_or(Fault("a table of descriptors does not lie in the guest's memory"))
    }

    /// A table of exactly `bytes` bytes at an address of the peer's process.
    pub(crate) fn table_at_user_address(&self, address: u64, bytes: usize, alignment: usize) -> Result<Part, Fault> {
        let find = |(index, region): (usize, &Region)| region.part(index, region.info.user_address, address, bytes);
        let part = self.regions.iter().enumerate().find_map(find);
        let part = part.filter(|part| part.bytes == bytes && part.at.is_multiple_of(alignment));
        part.ok_or(Fault("a ring does not lie in the guest's memory"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> GuestMemory {
        let (_, file) = SharedMemory::create("guest", 3 << 12).expect("memory");
        let region = |guest_address, bytes, file_offset| {
            let info = RegionInfo {
                guest_address,
                bytes,
                user_address: guest_address + 0x7000_0000,
                file_offset,
            };
            Region::map(info, &file).expect("in the file")
        };
        GuestMemory::new(vec![region(0x1000, 4096, 0), region(0x8000, 8192, 4096)])
    }

    #[test]
    fn addresses_are_found_in_their_regions() {
        let memory = memory();
        let part = |region, at, bytes| Some(Part { region, at, bytes });
        assert_eq!(memory.at_guest_address(0x1000, 100), part(0, 0, 100));
        assert_eq!(memory.at_guest_address(0x1FFF, 100), part(0, 4095, 1));
        assert_eq!(memory.at_guest_address(0x9000, 5000), part(1, 8192, 4096));
        assert_eq!(memory.at_guest_address(0x2000, 1), None);
        assert_eq!(memory.at_guest_address(u64::MAX, 1), None);
        assert!(memory.table_at_guest_address(0x1FF8, 16).is_err());
        assert!(memory.table_at_user_address(0x7000_8010, 16, 16).is_ok());
        assert!(memory.table_at_user_address(0x7000_8008, 16, 16).is_err());
    }

    #[test]
    fn regions_must_be_in_their_file() {
        let (_, file) = SharedMemory::create("guest", 4096).expect("memory");
        for (guest_address, bytes, file_offset) in [
            (0, 0, 0),
            (0, 4097, 0),
            (0, 4096, 1),
            (u64::MAX, 4096, 0),
            (0, 4096, u64::MAX),
        ] {
            let info = RegionInfo {
                guest_address,
                bytes,
                user_address: 0,
                file_offset,
            };
            assert!(Region::map(info, &file).is_err(), "{info:?}");
        }
    }
}
