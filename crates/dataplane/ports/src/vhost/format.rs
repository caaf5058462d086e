//! The header of virtio-net before a frame (Virtual I/O Device 1.2 §5.1.6), as far as both sides have agreed on it.

use crate::system::OFFLOAD_HEADER;

/// The shortest frame, in bytes: an Ethernet header.
pub(super) const ETHERNET_HEADER: usize = 14;

/// The longest frame or super-frame, in bytes.
pub(super) const FRAME_MAX: usize = 65_550;

/// Bytes of the longer header, which ends with the number of chains that a frame takes.
pub(super) const LONG_HEADER: usize = OFFLOAD_HEADER + 2;

/// How frames stand in chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Frames stand after the longer header.
    pub(crate) has_long_header: bool,
    /// A frame to the guest may take several chains.
    pub(crate) is_mergeable: bool,
    /// Frames from the guest may be unfinished.
    pub(crate) may_be_unfinished: bool,
    /// The guest takes super-frames of TCP.
    pub(crate) takes_super_frames: bool,
}

impl Format {
    #[inline]
    pub(super) fn header_bytes(self) -> usize {
        if self.has_long_header {
            LONG_HEADER
        } else {
            OFFLOAD_HEADER
        }
    }
}
