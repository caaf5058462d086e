//! Packet sockets (`man 7 packet`): their options, and sending many frames in one system call.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use libc::{c_int, c_void, iovec, mmsghdr, socklen_t};

use super::{OFFLOAD_HEADER, check, set_option};

/// How many messages a batch holds.
pub(crate) const BATCH: usize = 32;

/// How many parts a frame that is sent in parts may have, its offload header included.
pub(crate) const PARTS: usize = 66;

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

/// What a packet socket receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receives {
    /// Frames of all protocols.
    Everything,
    /// Nothing: it is there to send.
    Nothing,
}

/// Binds a packet socket to an interface.
pub(crate) fn bind_to_interface(socket: BorrowedFd<'_>, interface_index: c_int, receives: Receives) -> io::Result<()> {
    // SAFETY: plain old data, see the module.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = match receives {
        Receives::Everything => (libc::ETH_P_ALL as u16).to_be(),
        Receives::Nothing => 0,
    };
    address.sll_ifindex = interface_index;
    let length = size_of::<libc::sockaddr_ll>() as socklen_t;
    let pointer = ptr::from_ref(&address).cast::<libc::sockaddr>();
    // SAFETY: the pointer and length describe `address`, which the kernel only reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), pointer, length) })?;
    Ok(())
}

/// Whether a bound packet socket still has its interface. The kernel takes that away when the interface is deleted or
/// moved to another network namespace, and does not give it back when it returns with the same number.
pub(crate) fn has_interface(socket: BorrowedFd<'_>) -> bool {
    // SAFETY: plain old data, see the module.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as socklen_t;
    let pointer = ptr::from_mut(&mut address).cast::<libc::sockaddr>();
    // SAFETY: the kernel writes at most `length` bytes to `address`.
    let asked = check(unsafe { libc::getsockname(socket.as_raw_fd(), pointer, &mut length) });
    asked.is_err() || address.sll_ifindex > 0
}

/// A group of packet sockets, among which the kernel divides what comes in by flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// A new one. The kernel gives it a number that no other program in this network namespace has.
    New,
    /// The one with this number.
    Number(u16),
}

/// Puts a bound packet socket into a group.
pub(crate) fn join_group(socket: BorrowedFd<'_>, group: Group) -> io::Result<()> {
    let (number, flags) = match group {
        Group::New => (0, libc::PACKET_FANOUT_FLAG_UNIQUEID as c_int),
        Group::Number(number) => (c_int::from(number), 0),
    };
    let kind = libc::PACKET_FANOUT_HASH as c_int | flags;
    set_packet_option(socket, libc::PACKET_FANOUT, number | kind << 16)
}

/// The number of a packet socket's group.
pub(crate) fn group_number(socket: BorrowedFd<'_>) -> io::Result<u16> {
    let mut group: u32 = 0;
    let mut length = size_of::<u32>() as socklen_t;
    let pointer = ptr::from_mut(&mut group).cast::<c_void>();
    // SAFETY: the kernel writes at most `length` bytes to `group`.
    check(unsafe {
        let option = libc::PACKET_FANOUT;
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, pointer, &mut length)
    })?;
    // Above stands what sort of group it is.
    Ok(group as u16)
}

/// Makes a socket refuse every frame, before it is put in the ring.
pub(crate) fn refuse_everything(socket: BorrowedFd<'_>) -> io::Result<()> {
    // A program of the older virtual machine (`man 7 socket`) that returns 0: take no byte of the frame.
    let mut refuse = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: 0,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: &raw mut refuse,
    };
    // The program lives beyond the call, in which the kernel copies it.
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Undoes [`refuse_everything`].
pub(crate) fn accept_everything(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0)
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

/// How much memory the frames have that were sent and that no device has taken yet, in bytes.
pub(crate) fn unsent_bytes(socket: BorrowedFd<'_>) -> io::Result<usize> {
    let mut bytes: c_int = 0;
    // SAFETY: the kernel writes one integer to `bytes`. For a socket TIOCOUTQ is SIOCOUTQ.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, ptr::from_mut(&mut bytes)) })?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Sends up to [`BATCH`] frames without blocking, each after the offload header if there is one. Returns how many went
/// (at least one), or why the first did not.
pub(crate) fn send_batch(
    socket: BorrowedFd<'_>,
    offload: Option<&[u8; OFFLOAD_HEADER]>,
    frames: &[&[u8]],
) -> io::Result<usize> {
    let count = frames.len().min(BATCH);
    // SAFETY: plain old data, see the module.
    let (mut headers, mut vectors): ([mmsghdr; BATCH], [[iovec; 2]; BATCH]) = unsafe { (zeroed(), zeroed()) };
    // An empty vector in place of no header.
    let header = constant_io_vector(offload.map_or(&[], |offload| offload));
    for (index, frame) in frames[..count].iter().enumerate() {
        vectors[index] = [header, constant_io_vector(frame)];
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

/// Sends one frame that is in several places, after its offload header, without blocking.
pub(crate) fn send_parts<'a>(
    socket: BorrowedFd<'_>,
    offload: &[u8; OFFLOAD_HEADER],
    parts: impl Iterator<Item = &'a [u8]>,
) -> io::Result<()> {
    // SAFETY: plain old data, see the module.
    let (mut header, mut vectors): (libc::msghdr, [iovec; PARTS]) = unsafe { (zeroed(), zeroed()) };
    vectors[0] = constant_io_vector(offload);
    let mut count = 1;
    for (vector, part) in vectors[1..].iter_mut().zip(parts) {
        *vector = constant_io_vector(part);
        count += 1;
    }
    header.msg_iov = vectors.as_mut_ptr();
    header.msg_iovlen = count as _;
    // SAFETY: the header points to `count` vectors on this stack frame, and these to bytes that are borrowed for the
    // whole call, with their true lengths. `sendmsg` only reads them.
    check(unsafe { libc::sendmsg(socket.as_raw_fd(), &header, libc::MSG_DONTWAIT) as c_int }).map(drop)
}

/// A vector that is only read through, whatever its type says.
fn constant_io_vector(bytes: &[u8]) -> iovec {
    iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}
