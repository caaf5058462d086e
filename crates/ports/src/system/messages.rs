//! Many messages in one system call: `recvmmsg` and `sendmmsg` on packet sockets (`man 7 packet`).

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use libc::{c_int, c_void, iovec, mmsghdr, msghdr, socklen_t};

use super::{OFFLOAD_HEADER, check, set_option};

/// How many messages a batch holds.
pub(crate) const BATCH: usize = 32;

/// Sets an integer option of a packet socket (`man 7 packet`).
pub(crate) fn set_packet_option(socket: BorrowedFd<'_>, option: c_int, value: c_int) -> io::Result<()> {
    set_option(socket, libc::SOL_PACKET, option, &value)
}

/// Asks for socket buffers of `bytes`; what the system grants may be less.
pub(crate) fn set_buffers(socket: BorrowedFd<'_>, bytes: c_int) {
    for (force, plain) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        // Forcing needs CAP_NET_ADMIN. Smaller buffers are not an error: losses are counted.
        if set_option(socket, libc::SOL_SOCKET, force, &bytes).is_err() {
            let _ = set_option(socket, libc::SOL_SOCKET, plain, &bytes);
        }
    }
}

/// Makes the interface deliver frames for other addresses too, as long as the socket is open.
pub(crate) fn set_promiscuous(socket: BorrowedFd<'_>, interface_index: c_int) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: interface_index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Binds a packet socket to an interface, for all protocols.
pub(crate) fn bind_to_interface(socket: BorrowedFd<'_>, interface_index: c_int) -> io::Result<()> {
    // SAFETY: plain old data, see the module.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface_index;
    let length = size_of::<libc::sockaddr_ll>() as socklen_t;
    let pointer = ptr::from_ref(&address).cast::<libc::sockaddr>();
    // SAFETY: the pointer and length describe `address`, which the kernel only reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), pointer, length) })?;
    Ok(())
}

/// How many packets the kernel dropped because the socket's buffer was full, since the last call.
pub(crate) fn take_kernel_drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: plain old data, see the module.
    let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as socklen_t;
    let pointer = ptr::from_mut(&mut statistics).cast::<c_void>();
    // SAFETY: the kernel writes at most `length` bytes to `statistics`.
    check(unsafe {
        let option = libc::PACKET_STATISTICS;
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, pointer, &mut length)
    })?;
    Ok(statistics.tp_drops)
}

/// Where one received message goes: up to three buffers, filled one after another.
pub(crate) struct ReceiveSlot<'a> {
    /// Takes the offload header.
    pub(crate) offload: &'a mut [u8; OFFLOAD_HEADER],
    /// Takes the beginning of the frame.
    pub(crate) frame: &'a mut [u8],
    /// Takes what does not fit in `frame`.
    pub(crate) overflow: &'a mut [u8],
}

/// What the kernel says of a received message.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReceivedMessage {
    /// Bytes written to the slot, offload header included.
    pub(crate) length: usize,
    /// Whether it was cut because it did not fit.
    pub(crate) truncated: bool,
    /// Whether it was on its way out of the machine.
    pub(crate) outgoing: bool,
    /// The VLAN tag that the kernel took out: protocol identifier and control information.
    pub(crate) vlan: Option<(u16, u16)>,
}

/// Room for the ancillary data of one message, aligned as the kernel wants it.
type Control = [u64; 8];

/// Receives up to [`BATCH`] messages into `slots`, one each, without blocking. Returns how many came; their
/// descriptions are in `messages`.
pub(crate) fn receive_batch<'a>(
    socket: BorrowedFd<'_>,
    slots: impl Iterator<Item = ReceiveSlot<'a>>,
    messages: &mut [ReceivedMessage; BATCH],
) -> io::Result<usize> {
    // SAFETY: plain old data, see the module.
    let (mut headers, mut vectors, mut addresses): ([mmsghdr; BATCH], [[iovec; 3]; BATCH], [libc::sockaddr_ll; BATCH]) =
        unsafe { (zeroed(), zeroed(), zeroed()) };
    let mut controls: [Control; BATCH] = [[0; 8]; BATCH];
    let mut count = 0;
    for (index, slot) in slots.take(BATCH).enumerate() {
        vectors[index] = [
            io_vector(slot.offload.as_mut_slice()),
            io_vector(slot.frame),
            io_vector(slot.overflow),
        ];
        let header = &mut headers[index].msg_hdr;
        header.msg_iov = vectors[index].as_mut_ptr();
        header.msg_iovlen = 3;
        header.msg_name = ptr::from_mut(&mut addresses[index]).cast();
        header.msg_namelen = size_of::<libc::sockaddr_ll>() as socklen_t;
        header.msg_control = controls[index].as_mut_ptr().cast();
        header.msg_controllen = size_of::<Control>() as _;
        count += 1;
    }
    // SAFETY: each of the `count` headers points to arrays on this stack frame and to the slots'
    // buffers, which are borrowed mutably for `'a`, beyond this call, with their true lengths.
    let received = check(unsafe {
        let flags = libc::MSG_DONTWAIT as _;
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count as _,
            flags,
            ptr::null_mut(),
        )
    })? as usize;
    for index in 0..received {
        let header = &headers[index].msg_hdr;
        messages[index] = ReceivedMessage {
            length: headers[index].msg_len as usize,
            truncated: header.msg_flags & libc::MSG_TRUNC != 0,
            outgoing: addresses[index].sll_pkttype == libc::PACKET_OUTGOING,
            // SAFETY: the kernel has filled this header and the control room it points to, both
            // alive on this stack frame.
            vlan: unsafe { removed_vlan_tag(header) },
        };
    }
    Ok(received)
}

/// The VLAN tag told in the ancillary data of a message (PACKET_AUXDATA).
///
/// # Safety
/// `header` must have been filled by `recvmmsg`, and its control room must still be alive.
unsafe fn removed_vlan_tag(header: &msghdr) -> Option<(u16, u16)> {
    // SAFETY: the caller's promise is what the CMSG functions need; a message of this level and
    // type that is long enough holds a `tpacket_auxdata`, read unaligned.
    let auxiliary = unsafe {
        let message = libc::CMSG_FIRSTHDR(header);
        let needed = libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) as usize;
        let is_auxiliary = !message.is_null()
            && (*message).cmsg_level == libc::SOL_PACKET
            && (*message).cmsg_type == libc::PACKET_AUXDATA
            && (*message).cmsg_len as usize >= needed;
        if !is_auxiliary {
            return None;
        }
        libc::CMSG_DATA(message)
            .cast::<libc::tpacket_auxdata>()
            .read_unaligned()
    };
    let protocol = match auxiliary.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => 0x8100,
        _ => auxiliary.tp_vlan_tpid,
    };
    (auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID != 0).then_some((protocol, auxiliary.tp_vlan_tci))
}

/// Sends up to [`BATCH`] frames, each behind an offload header that says "nothing to do", without
/// blocking. Returns how many went (at least one), or why the first did not.
pub(crate) fn send_batch(socket: BorrowedFd<'_>, frames: &[&[u8]]) -> io::Result<usize> {
    let count = frames.len().min(BATCH);
    let offload = [0u8; OFFLOAD_HEADER];
    // SAFETY: plain old data, see the module.
    let (mut headers, mut vectors): ([mmsghdr; BATCH], [[iovec; 2]; BATCH]) = unsafe { (zeroed(), zeroed()) };
    for (index, frame) in frames[..count].iter().enumerate() {
        vectors[index] = [constant_io_vector(&offload), constant_io_vector(frame)];
        headers[index].msg_hdr.msg_iov = vectors[index].as_mut_ptr();
        headers[index].msg_hdr.msg_iovlen = 2;
    }
    // SAFETY: each of the `count` headers points to arrays on this stack frame and to the frames,
    // which are borrowed for the whole call, with their true lengths. `sendmmsg` only reads them.
    let sent = check(unsafe {
        let flags = libc::MSG_DONTWAIT as _;
        libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count as _, flags)
    })?;
    Ok(sent as usize)
}

fn io_vector(bytes: &mut [u8]) -> iovec {
    iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    }
}

/// A vector that is only read through, whatever its type says.
fn constant_io_vector(bytes: &[u8]) -> iovec {
    iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}
