//! The receive ring of a packet socket (`man 7 packet`, Documentation/networking/packet_mmap.rst), in the second of its
//! three versions: slots of one size, each with a word that says whose it is.
//!
//! The third version packs frames of any length into large blocks, and a block that is not full is handed over after a
//! time of milliseconds: a packet that comes alone waits for it. With slots it is there at once.
//!
//! A frame that is longer than a slot comes in full by the socket's queue, and its slot says so.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, tpacket_req, tpacket2_hdr};

use super::mapping::Mapping;
use super::{OFFLOAD_HEADER, check, set_option};

/// Bytes of memory that the kernel allocates together.
const BLOCK_BYTES: usize = 1 << 16;

/// The sender's address stands after the slot's header, and in it, at this offset, which way the frame went.
const ADDRESS_AT: usize = size_of::<tpacket2_hdr>();
const PACKET_TYPE_AT: usize = 10;

/// A ring of slots.
pub(crate) struct ReceiveRing {
    mapping: Mapping,
    slot_bytes: usize,
    slots: usize,
    /// The slot that is filled next.
    next: usize,
}

/// A frame in a slot.
pub(crate) struct Slot<'a> {
    /// The frame, or its beginning.
    pub(crate) frame: &'a [u8],
    /// What stands before it: `struct virtio_net_hdr`.
    pub(crate) offload: &'a [u8; OFFLOAD_HEADER],
    /// The length of the whole frame in bytes.
    pub(crate) length: usize,
    /// Whether the whole frame is in the socket's queue.
    pub(crate) is_queued: bool,
    /// Whether it was on its way out of the machine.
    pub(crate) outgoing: bool,
    /// The VLAN tag that the kernel took out: protocol identifier and control information.
    pub(crate) vlan: Option<(u16, u16)>,
}

impl ReceiveRing {
    /// Gives a socket, not yet bound, whose frames come after offload headers, a ring of `slots` slots of
    /// `slot_bytes`: both powers of two, a slot of at most 65,536 bytes.
    pub(crate) fn open(socket: BorrowedFd<'_>, slots: usize, slot_bytes: usize) -> io::Result<ReceiveRing> {
        set_option(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as c_int),
        )?;
        // Any number but zero has frames that do not fit queued.
        set_option(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_COPY_THRESH,
            &(slot_bytes as c_int),
        )?;
        let request = tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (slots * slot_bytes / BLOCK_BYTES) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let mapping = Mapping::shared(socket, slots * slot_bytes, 0)?;
        Ok(ReceiveRing {
            mapping,
            slot_bytes,
            slots,
            next: 0,
        })
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the first word of a slot, within the mapping; both sides access it only atomically.
        unsafe { &*self.mapping.at::<AtomicU32>(self.next * self.slot_bytes) }
    }

    /// The frame that came first of those still here.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Slot<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let start = self.next * self.slot_bytes;
        // SAFETY: the header lies within the mapping; the slot is ours until `release`, which takes `&mut self`.
        let header = unsafe { self.mapping.at::<tpacket2_hdr>(start).read() };
        // SAFETY: as before; any byte is a valid packet type.
        let packet_type = unsafe { self.mapping.at::<u8>(start + ADDRESS_AT + PACKET_TYPE_AT).read() };
        let frame_at = usize::from(header.tp_mac);
        let offload_at = frame_at.saturating_sub(OFFLOAD_HEADER);
        let room = self.slot_bytes.saturating_sub(frame_at);
        let vlan =
            (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(match status & libc::TP_STATUS_VLAN_TPID_VALID {
                0 => (0x8100, header.tp_vlan_tci),
                _ => (header.tp_vlan_tpid, header.tp_vlan_tci),
            });
        // SAFETY: both lie within the slot, which lies within the mapping and is ours as long as the slices live.
        let (frame, offload) = unsafe {
            let frame = self.mapping.at::<u8>(start + frame_at);
            let offload = self.mapping.at::<[u8; OFFLOAD_HEADER]>(start + offload_at);
            (
                std::slice::from_raw_parts(frame, room.min(header.tp_snaplen as usize)),
                &*offload,
            )
        };
        Some(Slot {
            frame,
            offload,
            length: header.tp_len as usize,
            is_queued: status & libc::TP_STATUS_COPY != 0,
            outgoing: packet_type == libc::PACKET_OUTGOING,
            vlan,
        })
    }

    /// Gives the slot that [`ReceiveRing::peek`] showed back to the kernel.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) & (self.slots - 1);
    }
}

/// Takes a whole frame, after its offload header, from the socket's queue. Returns its length, header included, which
/// is more than `buffer` holds when it was cut.
pub(crate) fn receive_queued(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: pointer and length describe `buffer`, borrowed for the call.
    let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    check(length as c_int).map(|length| length as usize)
}
